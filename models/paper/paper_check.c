/* The inputs of each formula, and the check that a table provides them. */
#include <math.h>
#include <string.h>

#include "core/nearest.h"
#include "models/paper/paper_formula.h"

/* Workers of an exchange; a net's are bounded in the same way (setting.c). */
enum { MOST_WORKERS = 1000000 };
#define MOST 1e30

/* Counts; amounts from 0; amounts above it, by which something is divided; shares of a whole. */
#define WHOLE(n, lo, hi)                                                                           \
    {                                                                                              \
        .name = n, .type = CC_INT, .min = lo, .max = hi                                            \
    }
#define REAL(n)                                                                                    \
    {                                                                                              \
        .name = n, .type = CC_REAL, .min = 0, .max = MOST                                          \
    }
#define ABOVE(n)                                                                                   \
    {                                                                                              \
        .name = n, .type = CC_REAL, .min = 1 / MOST, .max = MOST                                   \
    }
/* Inputs that become part of a link or a time: wider than the bounds of setting.c. */
#define SPAN(n, lo, hi)                                                                            \
    {                                                                                              \
        .name = n, .type = CC_REAL, .min = lo, .max = hi                                           \
    }
#define SHARE(n)                                                                                   \
    {                                                                                              \
        .name = n, .type = CC_REAL, .min = 0, .max = 1                                             \
    }
#define FLAG(n)                                                                                    \
    {                                                                                              \
        .name = n, .type = CC_INT, .min = 0, .max = 1                                              \
    }
#define INPUTS(...)     ((const struct cc_param[]){__VA_ARGS__, {.name = NULL}})
#define QUANTITIES(...) ((const char *const[]){__VA_ARGS__, NULL})

const struct cc_paper_formula cc_paper_formulas[] = {
    {"shared-port", cc_formula_shared_port, QUANTITIES("speedup"),
     INPUTS(ABOVE("baseline_bits"), REAL("bits"), ABOVE("mbps"), REAL("compute"), SHARE("overlap"),
            SHARE("residue"), REAL("averaging"), FLAG("averages"))},
    {"zero-runs", cc_formula_zero_runs, QUANTITIES("ratio", "bits"),
     INPUTS({.name = "s", .type = CC_REAL, .min = 0, .max = 2}, SHARE("tail"), REAL("steepness"))},
    {"traffic", cc_formula_traffic, QUANTITIES("values", "bps"), INPUTS(REAL("steps_per_s"))},
    {"gpu-sum", cc_formula_gpu_sum, QUANTITIES("values", "speedup"),
     INPUTS(REAL("bits"), ABOVE("bucket"), REAL("value_cost"), REAL("codec"))},
    {"amdahl", cc_formula_amdahl, QUANTITIES("comm_speedup", "speedup"),
     INPUTS(REAL("bits"), ABOVE("bucket"), SHARE("comm_share"), ABOVE("comm_gain"))},
    {"pipeline", cc_formula_pipeline,
     QUANTITIES("ps_sync", "sync_pipe", "sync_pipe_small", "speedup", "over_ps", "comm_ratio"),
     INPUTS(WHOLE("workers", 1, MOST_WORKERS), REAL("ps_factor"), ABOVE("gain"), FLAG("convex"),
            FLAG("slow_to_gain"), REAL("convex_comm"), REAL("low_comm"), REAL("high_comm"))},
    {"sparse-pass", cc_formula_sparse_pass,
     QUANTITIES("dense_s", "sparse_s", "comm_speedup", "speedup"),
     INPUTS(WHOLE("workers", 1, MOST_WORKERS), WHOLE("network", 0, 3), FLAG("dataset"),
            FLAG("split"), REAL("values"), REAL("samples"), REAL("compute_s"), ABOVE("batch"),
            REAL("daint_s"), REAL("ib_s"), REAL("gige_s"), ABOVE("daint8_gbps"),
            ABOVE("daint32_gbps"), ABOVE("ib_gbps"), ABOVE("gige_gbps"), REAL("webspam_pairs"),
            REAL("url_pairs"), REAL("pass_ns"))},
    {"low-precision", cc_formula_low_precision, QUANTITIES("comm_speedup", "speedup"),
     INPUTS(WHOLE("workers", 1, MOST_WORKERS), REAL("bits"), ABOVE("bucket"), ABOVE("gbps"),
            REAL("latency_s"), SHARE("top"), ABOVE("dense_min"), REAL("dense_comm_min"))},
    {"sparse-order", cc_formula_sparse_order,
     QUANTITIES("doubling_fastest", "split_over_dsar", "sparse_faster", "doubling_ms", "split_ms",
                "dsar_ms", "dense_ms"),
     INPUTS(WHOLE("workers", 1, MOST_WORKERS), ABOVE("gbps"), REAL("latency_s"), ABOVE("values"),
            SHARE("density"))},
    {"utility", cc_formula_utility, QUANTITIES("speedup", "settings", "gains", "gains_free"),
     INPUTS(WHOLE("workers", 1, MOST_WORKERS), SPAN("gbps", 1e-9, 1e8), SPAN("latency_s", 0, 1e6),
            SPAN("overhead", 0, 1e6), SPAN("samples_per_s", 1e-3, 1e9), SPAN("batch", 1e-6, 1e6),
            WHOLE("rank", 1, 1 << 20), SPAN("top", 1e-9, 1), SPAN("bits", 1e-9, 64),
            SPAN("index_bits", 0, 64), SPAN("codec_ms", 0, 1e6), SPAN("codec_scale", 0, 1e6),
            SPAN("codec_values", 1, 1e12))},
    {"placement", cc_formula_placement,
     QUANTITIES("split_slowest", "split_fastest", "lpt_faster", "lpt_more_even"),
     INPUTS(WHOLE("machines", 1, CC_MOST_SERVERS), REAL("message_bytes"))},
    {"combined", cc_formula_combined, QUANTITIES("overlap_gain", "speedup"),
     INPUTS(WHOLE("machines", 2, CC_MOST_SERVERS), SPAN("gbps", 1e-9, 1e8),
            SPAN("latency_s", 0, 1e6), SPAN("overhead", 0, 1e6), SPAN("steps_per_s", 1e-6, 1e6),
            REAL("top_bits"))},
    {NULL, NULL, NULL, NULL},
};

/* Refuses a word that is not in the list, naming the nearest one or all. */
static int refuse_unknown(const char *what, const char *word, const char *const *words,
                          struct cc_error *e)
{
    char all[256] = "";
    const char *near = cc_nearest(word, words);
    if (near != NULL)
        return cc_fail(e, "%s \"%.60s\" is unknown: did you mean \"%s\"?", what, word, near);
    for (size_t used = 0; *words != NULL && used + strlen(*words) + 2 < sizeof all; words++) {
        if (used > 0) {
            memcpy(all + used, ", ", 3);
            used += 2;
        }
        memcpy(all + used, *words, strlen(*words) + 1);
        used += strlen(*words);
    }
    return cc_fail(e, "%s \"%.60s\" is unknown; there are %s", what, word, all);
}

/* Finds a name in the formula's table of inputs; CC_FAIL if it is not there. */
static int find_param(const struct cc_param *inputs, const char *name, const struct cc_param **out,
                      struct cc_error *e)
{
    const char *names[32] = {NULL};
    *out = cc_param_find(inputs, name);
    if (*out != NULL)
        return CC_OK;
    for (size_t i = 0; inputs[i].name != NULL && i + 1 < sizeof names / sizeof names[0]; i++)
        names[i] = inputs[i].name;
    return refuse_unknown("input", name, names, e);
}

static int check_range(const struct cc_param *p, double value, struct cc_error *e)
{
    if (value >= p->min && value <= p->max && (p->type != CC_INT || value == floor(value)))
        return CC_OK;
    return cc_fail(e, "\"%s\" is %s from %.9g to %.9g, not %.9g", p->name,
                   p->type == CC_INT ? "a whole number" : "a number", p->min, p->max, value);
}

static int check_inputs(const struct cc_paper_inputs *in, const struct cc_param *table,
                        struct cc_error *e)
{
    const struct cc_param *p;
    for (size_t i = 0; i < in->count; i++)
        if (find_param(table, in->item[i].name, &p, e) != CC_OK ||
            check_range(p, in->item[i].value, e) != CC_OK)
            return CC_FAIL;
    return CC_OK;
}

/* Checks a constant; a fitted one by its bounds, as it takes every value between them. */
static int check_constant(const struct cc_paper_constant *c, const struct cc_param *table,
                          struct cc_error *e)
{
    const struct cc_param *p;
    if (find_param(table, c->name, &p, e) != CC_OK)
        return CC_FAIL;
    if (c->origin != CC_FITTED)
        return check_range(p, c->value, e);
    if (p->type == CC_INT)
        return cc_fail(e, "\"%s\" is a whole number, which cannot be fitted", c->name);
    return check_range(p, c->min, e) == CC_OK ? check_range(p, c->max, e) : CC_FAIL;
}

static int check_column(const struct cc_paper_column *c, const struct cc_paper_formula *f,
                        struct cc_error *e)
{
    for (size_t i = 0; f->quantities[i] != NULL; i++)
        if (strcmp(f->quantities[i], c->quantity) == 0)
            return check_inputs(&c->inputs, f->inputs, e);
    return refuse_unknown("quantity", c->quantity, f->quantities, e);
}

int cc_paper_check(const struct cc_paper *p, const struct cc_paper_formula *f, struct cc_error *e)
{
    const char *what = NULL, *name = NULL;
    int status = CC_OK;
    for (size_t i = 0; i < p->constants && status == CC_OK; i++) {
        status = check_constant(&p->constant[i], f->inputs, e);
        what = "constant";
        name = p->constant[i].name;
    }
    for (size_t i = 0; i < p->columns && status == CC_OK; i++) {
        status = check_column(&p->column[i], f, e);
        what = "column";
        name = p->column[i].name;
    }
    for (size_t i = 0; i < p->rows && status == CC_OK; i++) {
        status = check_inputs(&p->row[i].inputs, f->inputs, e);
        what = "row";
        name = p->row[i].name;
    }
    if (status != CC_OK)
        cc_error_in(e, "%s \"%.60s\": formula '%s'", what, name, f->name);
    return status;
}
