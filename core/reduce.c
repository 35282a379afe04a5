#include "core/reduce.h"

#include "core/parallel.h"

struct job {
    const float *x, *r;
    size_t n;
    int parts;
    uint32_t most[CC_PARTS_MAX];
};

static void absmax_part(void *arg, int part)
{
    struct job *j = arg;
    size_t i = cc_part_begin(j->n, j->parts, part, CC_SUM_BLOCK);
    size_t m = cc_part_begin(j->n, j->parts, part + 1, CC_SUM_BLOCK) - i;
    j->most[part] = j->r == NULL ? k_reduce()->absmax(j->x + i, m)
                                 : k_reduce()->absmax_add(j->x + i, j->r + i, m);
}

uint32_t cc_absmax(const float *x, const float *r, size_t n, int threads)
{
    struct job j = {.x = x, .r = r, .n = n, .parts = cc_parts(threads, n, CC_PART_VALUES)};
    cc_parallel(j.parts, absmax_part, &j);
    uint32_t most = 0;
    for (int p = 0; p < j.parts; p++)
        most = j.most[p] > most ? j.most[p] : most;
    return most;
}
