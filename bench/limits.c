/* Limits of memory. A scheme's calls become patterns from its traffic and the size of its payload:
 * encoding reads and updates streams and writes the payload, decoding reads the payload and writes
 * or updates values, for sparse payloads only the lines that they touch. Each sample times the
 * pattern beside the codec, and the best median is the limit. */
#include "bench/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/l1.h"
#include "core/memory.h"
#include "core/parallel.h"

enum { LINE_VALUES = CC_ALIGN / sizeof(float) };

/* A decode_add that touches fewer bytes than this is not limited by memory, or the second-level
 * cache, but by the cost of the call itself. */
enum { LEAST_BYTES = 1 << 20, LEAST_BYTES_IN_L2 = 1 << 14 };

const char *const cc_limit_place_names[] = {"cache", "L2", "memory"};

/* The patterns of a scheme's calls. */
struct patterns {
    bool known;
    size_t index[CC_CALLS]; /* in the roofline; SIZE_MAX: none */
    bool lists[CC_CALLS];   /* it depends on a list of lines, which differs from step to step */
};

struct cc_limits {
    const struct cc_bench_config *config;
    struct cc_roofline *roofline;
    struct cc_l1 *l1;         /* NULL: not measured */
    struct patterns *pattern; /* one per scheme */
    enum cc_limit_place place;
    size_t largest; /* the largest tensor */
    uint32_t *line; /* its lines that are not all zero, as decoded last */
    size_t lines;
};

static size_t largest_tensor(const struct cc_trace *trace)
{
    size_t largest = 0;
    for (size_t t = 1; t < cc_trace_tensors(trace); t++)
        if (cc_trace_tensor(trace, t)->shape.n > cc_trace_tensor(trace, largest)->shape.n)
            largest = t;
    return largest;
}

enum cc_limit_place cc_limits_place(const struct cc_trace *trace)
{
    const double all = (double)cc_trace_values(trace);
    size_t large = 0, most = 0;
    for (size_t t = 0; t < cc_trace_tensors(trace); t++) {
        const size_t n = cc_trace_tensor(trace, t)->shape.n;
        large += cc_memory_limits(n) ? n : 0;
        most = n > most ? n : most;
    }
    if (large > 0 && (double)large >= 0.9 * all)
        return CC_IN_MEMORY;
    if (all <= (double)cc_l2_values() && most >= cc_l2_values() / 8 && (double)most >= 0.9 * all)
        return CC_IN_L2;
    return CC_IN_CACHE;
}

int cc_limits_open(const struct cc_bench_config *config, size_t most, struct cc_limits **out,
                   struct cc_error *e)
{
    *out = NULL;
    const enum cc_limit_place place = cc_limits_place(config->trace);
    if (place == CC_IN_CACHE)
        return CC_OK;
    const size_t largest = largest_tensor(config->trace),
                 largest_values = cc_trace_tensor(config->trace, largest)->shape.n;
    struct cc_limits *l = cc_alloc0(sizeof *l, e);
    if (l == NULL)
        return CC_FAIL;
    l->config = config;
    l->place = place;
    l->largest = largest;
    l->pattern = cc_alloc0(config->schemes->count * sizeof *l->pattern, e);
    l->line = cc_alloc((largest_values / LINE_VALUES + 1) * sizeof *l->line, e);
    l->roofline =
        place == CC_IN_MEMORY
            ? cc_roofline_new(largest_values, config->threads, 0, most, e)
            : cc_roofline_new(largest_values,
                              cc_parts(config->threads, largest_values, CC_PART_VALUES),
                              cc_batch_values(largest_values) / largest_values + 1, most, e);
    if (l->pattern == NULL || l->line == NULL || l->roofline == NULL) {
        cc_limits_free(l);
        return CC_FAIL;
    }
    if (cc_l1_open(config, largest, most, &l->l1, e) != CC_OK) {
        cc_limits_free(l);
        return CC_FAIL;
    }
    *out = l;
    return CC_OK;
}

void cc_limits_free(struct cc_limits *l)
{
    if (l == NULL)
        return;
    cc_roofline_free(l->roofline);
    cc_l1_free(l->l1);
    free(l->pattern);
    free(l->line);
    free(l);
}

void cc_limits_on_decoded(void *limits, size_t tensor, const float *decoded)
{
    struct cc_limits *l = limits;
    if (tensor != l->largest)
        return;
    size_t n = cc_trace_tensor(l->config->trace, tensor)->shape.n;
    l->lines = 0;
    for (size_t i = 0; i < n; i += LINE_VALUES) {
        bool changes = false;
        for (size_t k = i; k < n && k < i + LINE_VALUES; k++)
            changes |= decoded[k] != 0;
        l->line[l->lines] = (uint32_t)(i / LINE_VALUES);
        l->lines += changes;
    }
}

/* The scheme that the largest tensor travels under. */
static const struct cc_spec *spec_of(const struct cc_limits *l, size_t scheme)
{
    return cc_bench_spec(l->config, scheme, l->largest);
}

/* The bytes that encode must move; no passes: the scheme does not tell. */
static struct cc_traffic traffic_of(const struct cc_limits *l, size_t scheme)
{
    const struct cc_spec *s = spec_of(l, scheme);
    return s->scheme->traffic != NULL ? s->scheme->traffic(s->params)
                                      : (struct cc_traffic){.passes = 0};
}

/* If more than an eighth of the lines are all zero, decoding is held against a loop that writes
 * zeros there. */
static void list_zero_lines(const struct cc_limits *l, struct cc_pattern *decode)
{
    size_t all = cc_trace_tensor(l->config->trace, l->largest)->shape.n / LINE_VALUES;
    if (l->lines > all / 8 * 7)
        return;
    decode->line = l->line;
    decode->lines = l->lines;
}

static int find_patterns(struct cc_limits *l, size_t scheme, double bytes, struct cc_error *e)
{
    struct patterns *found = &l->pattern[scheme];
    struct cc_traffic t = traffic_of(l, scheme);
    double payload = bytes / (double)cc_trace_values(l->config->trace);
    const struct cc_pattern encode = cc_pattern_encode(&t, payload);
    struct cc_pattern decode = cc_pattern_decode(payload), add = cc_pattern_decode_add(payload);
    list_zero_lines(l, &decode);
    if ((spec_of(l, scheme)->scheme->flags & CC_SPARSE) != 0) {
        add.line = l->line;
        add.lines = l->lines;
    }
    CC_TRY(cc_roofline_add(l->roofline, &encode, &found->index[CC_ENCODE], e));
    CC_TRY(cc_roofline_add(l->roofline, &decode, &found->index[CC_DECODE], e));
    found->index[CC_DECODE_ADD] = SIZE_MAX;
    const double least = l->place == CC_IN_L2 ? LEAST_BYTES_IN_L2 : LEAST_BYTES;
    if (add.line == NULL || bytes + CC_ALIGN * (double)add.lines > least)
        CC_TRY(cc_roofline_add(l->roofline, &add, &found->index[CC_DECODE_ADD], e));
    found->lists[CC_DECODE] = decode.line != NULL;
    found->lists[CC_DECODE_ADD] = add.line != NULL && found->index[CC_DECODE_ADD] != SIZE_MAX;
    found->known = true;
    return CC_OK;
}

/* Gives the patterns the list of the step that was just timed. */
static int renew_lists(struct cc_limits *l, const struct patterns *p, struct cc_error *e)
{
    for (int call = 0; call < CC_CALLS; call++)
        if (p->lists[call])
            CC_TRY(cc_roofline_renew(l->roofline, p->index[call], l->line, l->lines, e));
    return CC_OK;
}

bool cc_limits_wants_decoded(const struct cc_limits *l, size_t scheme)
{
    const struct patterns *p = &l->pattern[scheme];
    return !p->known || p->lists[CC_DECODE] || p->lists[CC_DECODE_ADD];
}

int cc_limits_sample(struct cc_limits *l, size_t scheme, double bytes, size_t sample,
                     struct cc_error *e)
{
    struct patterns *p = &l->pattern[scheme];
    if (cc_bench_failed(l->config, scheme))
        return CC_OK;
    if (l->l1 != NULL)
        cc_l1_sample(l->l1, scheme, sample);
    if (traffic_of(l, scheme).passes == 0)
        return CC_OK;
    CC_TRY(p->known ? renew_lists(l, p, e) : find_patterns(l, scheme, bytes, e));
    for (int call = 0; call < CC_CALLS; call++)
        if (p->index[call] != SIZE_MAX)
            cc_roofline_sample(l->roofline, p->index[call], sample);
    return CC_OK;
}

void cc_limits_round(struct cc_limits *l)
{
    cc_roofline_round(l->roofline);
}

double cc_limits_of(struct cc_limits *l, size_t scheme, enum cc_call call, size_t samples)
{
    const struct patterns *p = &l->pattern[scheme];
    bool has = p->known && p->index[call] != SIZE_MAX;
    return has ? cc_roofline_limit(l->roofline, p->index[call], samples) : 0;
}

double cc_limits_bytes(const struct cc_limits *l, size_t scheme, enum cc_call call)
{
    const struct patterns *p = &l->pattern[scheme];
    bool has = p->known && p->index[call] != SIZE_MAX;
    return has ? cc_roofline_bytes(l->roofline, p->index[call]) : (double)NAN;
}

double cc_limits_l1_of(struct cc_limits *l, size_t scheme, enum cc_call call, size_t samples)
{
    return l->l1 != NULL ? cc_l1_speed(l->l1, scheme, call, samples) : 0;
}

double cc_limits_clock(struct cc_limits *l, size_t scheme, size_t samples)
{
    return l->l1 != NULL ? cc_l1_clock(l->l1, scheme, samples) : 0;
}
