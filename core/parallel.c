#include "core/parallel.h"

int cc_parts(int threads, size_t n, size_t least)
{
    size_t parts = n / (least > 0 ? least : 1);
    size_t most = threads < 1 ? 1 : threads < CC_PARTS_MAX ? (size_t)threads : CC_PARTS_MAX;
    parts = parts < most ? parts : most;
    return parts > 1 ? (int)parts : 1;
}

size_t cc_part_begin(size_t n, int parts, int part, size_t multiple)
{
    if (part >= parts)
        return n;
    /* Parts have n / parts units, and the first n mod parts of them one more. */
    size_t each = n / (size_t)parts, rest = n % (size_t)parts, p = (size_t)part;
    size_t begin = each * p + (p < rest ? p : rest);
    return begin / multiple * multiple;
}

void cc_parallel(int parts, void (*work)(void *arg, int part), void *arg)
{
    if (parts == 1) {
        work(arg, 0);
        return;
    }
#pragma omp parallel for schedule(static, 1) num_threads(parts)
    for (int part = 0; part < parts; part++)
        work(arg, part);
}
