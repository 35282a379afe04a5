#include "schemes/zeros.h"

#include <string.h>

void cc_zeros_open(struct cc_zeros *z, float *at, size_t traffic)
{
    cc_sink_open(&z->sink, at, traffic);
    z->filled = 0;
}

/* Not inline: if the compiler knew that n is small, it would emit the same slow rep stos. */
float *cc_zeros_next(struct cc_zeros *z, size_t n)
{
    if (z->filled > 0)
        cc_sink_put(&z->sink, z->filled);
    z->filled = n * sizeof(float);
    return memset(cc_sink_room(&z->sink), 0, z->filled);
}

void cc_zeros_close(struct cc_zeros *z)
{
    if (z->filled > 0)
        cc_sink_put(&z->sink, z->filled);
    cc_sink_close(&z->sink);
}
