#include "schemes/zeros.h"

#include <string.h>

#include "core/copy.h"

void cc_zeros_begin(struct cc_zeros *z, float *at, bool past)
{
    z->at = at;
    z->filled = 0;
    z->past = past;
}

static void write_block(struct cc_zeros *z)
{
    k_copy()->past(z->at, z->block, z->filled * sizeof(float));
    z->at += z->filled;
}

float *cc_zeros_next(struct cc_zeros *z, size_t n)
{
    float *block = z->block;
    if (z->past) {
        write_block(z);
        z->filled = n;
    } else {
        block = z->at;
        z->at += n;
    }
    memset(block, 0, n * sizeof(float));
    return block;
}

void cc_zeros_end(struct cc_zeros *z)
{
    if (!z->past)
        return;
    write_block(z);
    k_copy()->fence();
}
