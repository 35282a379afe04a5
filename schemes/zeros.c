#include "schemes/zeros.h"

#include <string.h>

#include "core/cache.h"
#include "core/tile.h"

/* With more of the values set, clearing a whole tile is faster than clearing their places. */
#define DENSITY_FEW 0.1

void cc_zeros_open(struct cc_zeros *z, float *at, size_t traffic, double density)
{
    z->to = at;
    z->few = density < DENSITY_FEW;
    z->out = cc_use_nontemporal(traffic) ? k_copy() : NULL;
    z->turn = 0;
    for (size_t i = 0; i < 2; i++) {
        z->tile[i].n = z->tile[i].filled = 0;
        if (z->out != NULL)
            memset(z->tile[i].y, 0, sizeof z->tile[i].y);
    }
}

/* Copies a tile out and makes it all zeros again. */
static void empty_tile(const struct cc_zeros *z, struct cc_zeros_tile *t)
{
    if ((uintptr_t)t->to % CC_PAGE < t->n * sizeof(float))
        cc_fetch_page(t->to);
    z->out->nontemporal(t->to, t->y, t->n * sizeof(float));
    if (!z->few)
        memset(t->y, 0, t->n * sizeof(float));
    for (size_t i = 0; i < t->filled && z->few; i++)
        t->y[t->place[i]] = 0;
    t->n = t->filled = 0;
}

struct cc_zeros_block cc_zeros_next(struct cc_zeros *z, size_t n)
{
    struct cc_zeros_tile *t = &z->tile[z->turn ^= 1];
    float *to = z->to;
    z->to += n;
    if (z->out == NULL)
        return (struct cc_zeros_block){.y = memset(to, 0, n * sizeof *to), .place = t->place};
    if (t->n > 0)
        empty_tile(z, t);
    t->to = to;
    t->n = n;
    return (struct cc_zeros_block){.y = t->y, .place = t->place, .listed = z->few};
}

void cc_zeros_close(struct cc_zeros *z)
{
    if (z->out == NULL)
        return;
    for (size_t i = 1; i <= 2; i++)
        if (z->tile[(z->turn + i) % 2].n > 0)
            empty_tile(z, &z->tile[(z->turn + i) % 2]);
    z->out->fence();
}
