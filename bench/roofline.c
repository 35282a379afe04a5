/* How a limit is found.
 *
 * A pattern (bench/roofline.h) is turned into the passes of bench/memory.h over streams of floats,
 * which all patterns share. When a pattern is added, each of some twenty loops runs it a few times,
 * and the KEPT fastest stay. Each later sample times all kept loops, and the limit is the best of
 * their medians: a few trials do not tell which of several close loops wins. */
#include "bench/roofline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/stats.h"

enum { KEPT = 3, TRIALS = 2, TRIALS_IN_CACHE = 10, LINE = 64, MOST_VALUES = 1 << 25 };

/* The loops that were the fastest for some pattern in a wider search: blocks of 256 bytes to 16
 * MiB, prefetching 0 to 8 KiB ahead. */
static const struct cc_copy_loop loops[] = {
    {256, 0, true, false},      {256, 4096, true, false},     {256, 8192, true, false},
    {1024, 0, true, false},     {1024, 2048, true, false},    {1024, 4096, true, false},
    {4096, 8192, true, false},  {16384, 2048, false, false},  {1024, 2048, false, false},
    {1 << 20, 0, true, false},  {1 << 20, 2048, true, false}, {1 << 20, 8192, false, false},
    {1 << 20, 0, false, false}, {1024, 0, false, false},      {1024, 0, true, true},
    {4096, 0, true, true},      {4096, 0, false, true},       {4096, 2048, true, true},
    {1024, 4096, true, true},
};

/* For lists, where the distance is in lines. Where a list has many of a stream's lines, it may be
 * faster to move all of them, so that the loops above are tried as well. */
static const struct cc_copy_loop list_loops[] = {
    {.ahead = 0},
    {.ahead = 8},
    {.ahead = 16},
    {.ahead = 32},
    {.ahead = CC_LINES_FAR},
    {.ahead = 4 * CC_LINES_FAR},
};

enum {
    LOOPS = sizeof loops / sizeof loops[0],
    LIST_LOOPS = sizeof list_loops / sizeof list_loops[0]
};

/* A loop for a pattern. */
struct candidate {
    struct cc_copy_loop loop;
    bool whole; /* moves the whole stream, although the pattern has a list of lines to update */
};

struct limit {
    struct cc_pattern pattern; /* the list is owned */
    uint8_t *filled;           /* one bit per line: not all zeros; NULL unless it writes zeros */
    struct candidate kept[KEPT];
    double *seconds; /* sample i of kept[k]: seconds[k * most + i] */
    size_t taken;    /* samples */
};

struct cc_roofline {
    size_t values, most;
    size_t repeats; /* 0: cold caches */
    int threads;
    unsigned char *stream[CC_STREAMS], *payload;
    size_t payload_bytes;
    const struct k_memory *kernel;
    struct cc_cache_flush flush;
    struct limit *limit;
    size_t limits, capacity;
    volatile unsigned sink;
};

/* --- patterns --- */

struct cc_pattern cc_pattern_encode(const struct cc_traffic *t, enum cc_element type,
                                    double payload)
{
    struct cc_pattern p = {
        .passes = t->passes, .half = type != CC_ELEMENT_FP32, .payload = payload};
    for (unsigned i = 0; i < t->passes; i++) {
        p.pass[i].reads = t->pass[i].reads;
        p.pass[i].updates = t->pass[i].updates;
    }
    return p;
}

struct cc_pattern cc_pattern_decode(bool add, double payload)
{
    return (struct cc_pattern){.passes = 1,
                               .pass = {{.updates = add, .writes = !add}},
                               .payload = payload,
                               .payload_in = true};
}

static bool same_pattern(const struct cc_pattern *a, const struct cc_pattern *b)
{
    return a->line == NULL && b->line == NULL && a->passes == b->passes &&
           memcmp(a->pass, b->pass, sizeof a->pass) == 0 && a->half == b->half &&
           a->payload == b->payload && a->payload_in == b->payload_in;
}

/* --- moving --- */

struct task {
    const struct cc_roofline *r;
    const struct cc_pattern *p;
    const uint8_t *filled;
    const struct candidate *candidate;
    unsigned pass, sink[CC_PARTS_MAX];
};

static void move_part(void *arg, int part)
{
    struct task *j = arg;
    const struct cc_roofline *r = j->r;
    const struct cc_pattern *p = j->p;
    size_t payload = j->pass + 1 == p->passes ? (size_t)(p->payload * (double)r->values) : 0;
    bool updates_lines = p->line != NULL && j->filled == NULL && !j->candidate->whole;
    size_t list = updates_lines ? p->lines * sizeof *p->line : 0;
    payload = payload > list ? (payload - list) / LINE : 0;
    size_t begin = cc_part_begin(r->values, r->threads, part, LINE / sizeof(float));
    size_t end = cc_part_begin(r->values, r->threads, part + 1, LINE / sizeof(float));
    size_t payload_begin = cc_part_begin(payload, r->threads, part, 1) * LINE;
    size_t line_begin = cc_part_begin(p->lines, r->threads, part, 1);
    struct cc_moves m = {
        .reads = p->pass[j->pass].reads,
        .updates = p->pass[j->pass].updates,
        .writes = p->pass[j->pass].writes,
        .half = p->half,
        .stream_bytes = (end - begin) * sizeof(float),
        .payload = r->payload + payload_begin,
        .payload_bytes = cc_part_begin(payload, r->threads, part + 1, 1) * LINE - payload_begin,
        .payload_in = p->payload_in,
        .line = updates_lines ? p->line + line_begin : NULL,
        .line_count = cc_part_begin(p->lines, r->threads, part + 1, 1) - line_begin,
        .filled = j->filled,
        .first_bit = begin / (LINE / sizeof(float)),
    };
    for (unsigned s = 0; s < CC_STREAMS; s++)
        if (r->stream[s] != NULL)
            m.stream[s] = r->stream[s] + (updates_lines      ? 0
                                          : s == 0 && m.half ? begin * sizeof(uint16_t)
                                                             : begin * sizeof(float));
    j->sink[part] = r->kernel->move(&m, &j->candidate->loop);
}

static unsigned move(const struct cc_roofline *r, const struct limit *l,
                     const struct candidate *candidate)
{
    const struct cc_pattern *p = &l->pattern;
    struct task j = {.r = r, .p = p, .filled = l->filled, .candidate = candidate};
    unsigned all = 0;
    for (j.pass = 0; j.pass < p->passes; j.pass++) {
        cc_parallel(r->threads, move_part, &j);
        for (int i = 0; i < r->threads; i++)
            all |= j.sink[i];
    }
    return all;
}

static double seconds_of(struct cc_roofline *r, const struct limit *l,
                         const struct candidate *candidate)
{
    double (*const now)(void) = r->threads == 1 ? cc_thread_now : cc_now; /* as codecs are timed */
    const size_t turns = r->repeats > 0 ? r->repeats : 1;
    if (r->repeats == 0)
        cc_cache_flush_run(&r->flush);
    double begin = now();
    for (size_t i = 0; i < turns; i++)
        r->sink = move(r, l, candidate);
    return (now() - begin) / (double)turns;
}

/* --- opening and closing --- */

struct cc_roofline *cc_roofline_new(size_t values, int threads, size_t repeats, size_t most,
                                    struct cc_error *e)
{
    struct cc_roofline *r;
    if (CC_NEW(r, 1, e) != CC_OK)
        return NULL;
    values = values < MOST_VALUES ? values : MOST_VALUES;
    r->values = values / (LINE / sizeof(float)) * (LINE / sizeof(float));
    r->threads = threads < CC_PARTS_MAX ? threads : CC_PARTS_MAX;
    r->repeats = repeats;
    r->most = most;
    r->kernel = cc_memory_best();
    if (repeats > 0 || cc_cache_flush_open(&r->flush, e) == CC_OK)
        return r;
    cc_roofline_free(r);
    return NULL;
}

static void free_limit(struct limit *l)
{
    free((void *)(uintptr_t)l->pattern.line);
    free(l->filled);
    free(l->seconds);
}

void cc_roofline_free(struct cc_roofline *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->limits; i++)
        free_limit(&r->limit[i]);
    for (unsigned s = 0; s < CC_STREAMS; s++)
        free(r->stream[s]);
    cc_cache_flush_close(&r->flush);
    free(r->payload);
    free(r->limit);
    free(r);
}

/* Allocates and touches the memory of a pattern, in the same way as a codec's. */
static int reserve(struct cc_roofline *r, const struct cc_pattern *p, struct cc_error *e)
{
    unsigned streams = 1;
    size_t payload = (size_t)(p->payload * (double)r->values) + LINE;
    for (unsigned i = 0; i < p->passes; i++) {
        unsigned here = p->pass[i].reads + p->pass[i].updates + p->pass[i].writes;
        streams = (unsigned)cc_larger(streams, here);
    }
    for (unsigned s = 0; s < streams; s++) {
        if (r->stream[s] == NULL)
            r->stream[s] = cc_alloc_parts(r->values * sizeof(float), r->threads, e);
        if (r->stream[s] == NULL)
            return CC_FAIL;
    }
    if (r->payload_bytes < payload) {
        free(r->payload);
        r->payload = cc_alloc_parts(payload, r->threads, e);
        r->payload_bytes = r->payload != NULL ? payload : 0;
    }
    return r->payload != NULL ? CC_OK : CC_FAIL;
}

static size_t list_candidates(const struct cc_roofline *r, const struct limit *l,
                              struct candidate out[LIST_LOOPS + LOOPS])
{
    const bool updates_lines = l->pattern.line != NULL && l->filled == NULL;
    const size_t all = r->values * sizeof(float) / LINE;
    size_t count = 0;
    for (size_t i = 0; updates_lines && i < LIST_LOOPS; i++)
        out[count++] = (struct candidate){.loop = list_loops[i]};
    for (size_t i = 0; i < LOOPS && (!updates_lines || l->pattern.lines > all / 4); i++)
        out[count++] = (struct candidate){.loop = loops[i], .whole = updates_lines};
    return count;
}

/* Keeps the loops with the best times of a few trials. */
static void choose_loops(struct cc_roofline *r, struct limit *l)
{
    struct candidate from[LIST_LOOPS + LOOPS];
    const size_t count = list_candidates(r, l, from);
    double best[LIST_LOOPS + LOOPS];
    for (size_t i = 0; i < count; i++)
        best[i] = INFINITY;
    for (size_t trial = 0; trial < (r->repeats > 0 ? TRIALS_IN_CACHE : TRIALS); trial++)
        for (size_t i = 0; i < count; i++)
            best[i] = fmin(best[i], seconds_of(r, l, &from[i]));
    for (size_t k = 0; k < KEPT; k++) {
        size_t fastest = 0;
        for (size_t i = 1; i < count; i++)
            fastest = best[i] < best[fastest] ? i : fastest;
        l->kept[k] = from[fastest];
        best[fastest] = INFINITY;
    }
}

/* Copies the part of the list that lies within the streams; turns it into bits if the pattern
 * writes zeros. */
static int copy_lines(const struct cc_roofline *r, struct limit *l, struct cc_error *e)
{
    struct cc_pattern *p = &l->pattern;
    const uint32_t *from = p->line;
    size_t all = r->values * sizeof(float) / LINE;
    if (from == NULL)
        return CC_OK;
    while (p->lines > 0 && from[p->lines - 1] >= all)
        p->lines--;
    uint32_t *copy;
    p->line = NULL;
    CC_TRY(CC_NEW(copy, p->lines, e));
    p->line = copy;
    memcpy(copy, from, p->lines * sizeof *copy);
    if (p->pass[0].writes == 0)
        return CC_OK;
    CC_TRY(CC_NEW(l->filled, all / 8 + 1, e));
    for (size_t i = 0; i < p->lines; i++)
        l->filled[copy[i] / 8] |= (uint8_t)(1U << copy[i] % 8);
    return CC_OK;
}

int cc_roofline_add(struct cc_roofline *r, const struct cc_pattern *p, size_t *index,
                    struct cc_error *e)
{
    struct limit l = {.pattern = *p};
    l.pattern.payload = floor(p->payload * 16) / 16;
    for (size_t i = 0; i < r->limits; i++) {
        if (same_pattern(&r->limit[i].pattern, &l.pattern)) {
            *index = i;
            return CC_OK;
        }
    }
    CC_TRY(reserve(r, &l.pattern, e));
    CC_TRY(CC_GROW(r->limit, &r->capacity, r->limits + 1, e));
    int status = copy_lines(r, &l, e);
    if (status == CC_OK)
        status = CC_NEW(l.seconds, KEPT * r->most, e);
    if (status != CC_OK) {
        free_limit(&l);
        return status;
    }
    choose_loops(r, &l);
    *index = r->limits;
    r->limit[r->limits++] = l;
    return CC_OK;
}

int cc_roofline_renew(struct cc_roofline *r, size_t index, const uint32_t *line, size_t lines,
                      struct cc_error *e)
{
    struct limit *l = &r->limit[index];
    free((void *)(uintptr_t)l->pattern.line);
    free(l->filled);
    l->filled = NULL;
    l->pattern.line = line;
    l->pattern.lines = lines;
    return copy_lines(r, l, e);
}

void cc_roofline_sample(struct cc_roofline *r, size_t index, size_t sample)
{
    struct limit *l = &r->limit[index];
    if (sample < l->taken)
        return;
    l->taken = sample + 1;
    for (size_t k = 0; k < KEPT; k++)
        l->seconds[k * r->most + sample] = seconds_of(r, l, &l->kept[k]);
}

double cc_roofline_limit(struct cc_roofline *r, size_t index, size_t samples)
{
    double best = INFINITY;
    for (size_t k = 0; k < KEPT && samples > 0; k++)
        best = fmin(best, cc_stats_of(&r->limit[index].seconds[k * r->most], samples).median);
    return samples > 0 ? 4e-9 * (double)r->values / best : 0;
}

double cc_roofline_bytes(const struct cc_roofline *r, size_t index)
{
    const struct cc_pattern *p = &r->limit[index].pattern;
    double bytes = p->line != NULL ? (double)NAN : p->payload;
    for (unsigned i = 0; i < p->passes; i++)
        bytes += 4 * (p->pass[i].reads + 2 * p->pass[i].updates + p->pass[i].writes) -
                 (p->half && p->pass[i].reads > 0 ? 2 : 0);
    return bytes;
}
