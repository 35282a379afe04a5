/* --paper sparcml-figure4: the axes of SparCML's Figure 4, simulated on the links of the clusters
 * on which the paper measured, beside the formulas.
 *
 * A call is what SparCML times: it begins with streams, so that encoding the gradients and adding
 * the mean to the model are not part of it. Three times stand side by side: as simulated, by the
 * formulas of the ranks' exchanges, and by the formulas that the paper prints. Every density is a
 * simulation of its own; one more has the dense allreduce. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/sim/sim.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/units.h"
#include "models/paper/paper.h"

#define DENSITIES "0.0001%,0.001%,0.01%,0.1%,1%,5%,10%,20%"

enum source { SIMULATED, FORMULAS, PRINTED, SOURCES };

/* A point of the figure. */
struct point {
    enum cc_exchange exchange;
    struct cc_link link;
    int workers;
    double density; /* NaN: dense */
    double call_s[SOURCES];
};

struct figure {
    struct cc_args *args;
    struct point *point;
    size_t points, capacity;
    double *density; /* ascending */
    size_t densities;
    bool left_out; /* smaller ones, of the default */
};

/* --- the set-up --- */

static void set_default(struct cc_args *args, const char *option, const char *value)
{
    if (cc_arg(args, option) == NULL)
        cc_arg_set(args, option, value);
}

/* Sets N and P, which the caption gives, where the options do not. */
static int set_size(struct cc_args *args, struct cc_error *e)
{
    struct cc_paper *p;
    static char values[24], workers[12]; /* they outlive the arguments */
    CC_TRY(cc_paper_open(cc_arg(args, "paper"), &p, e));
    (void)snprintf(values, sizeof values, "%.0f", cc_paper_constant_value(p, "values"));
    (void)snprintf(workers, sizeof workers, "%.0f", cc_paper_constant_value(p, "workers"));
    cc_paper_free(p);
    set_default(args, "values", values);
    set_default(args, "workers", workers);
    return CC_OK;
}

/* Options that leave the figure what it is: its size, the links and the platform, the forms of the
 * streams, and where codecs' sizes and times come from. --indices is not among them, since the
 * unions are those of indices that are drawn uniformly. */
static bool is_open(const char *option)
{
    static const char *const open[] = {
        "paper",        "values",     "nonzeros",   "workers",  "bw",       "latency",
        "message-cost", "wire",       "dense-bits", "overhead", "topology", "slow-links",
        "platform",     "slow-hosts", "seed",       "profile",  "fidelity", "smpirun"};
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
        if (strcmp(option, open[i]) == 0)
            return true;
    for (const struct cc_topology_option *o = cc_topology_options; o->name != NULL; o++)
        if (strcmp(option, o->name) == 0)
            return true;
    return false;
}

/* Refuses --scheme, and all others of sim's own options. */
static int refuse_others(const struct cc_args *args, struct cc_error *e)
{
    if (args->schemes.count > 0)
        return cc_usage(e, "--paper and --scheme exclude each other: SparCML sends index-value "
                           "pairs, and its baseline 32-bit floats");
    for (size_t i = 0; i < cc_option_own(args->command); i++) {
        const struct cc_option option = cc_option_at(args->command, i), *o = &option;
        if (cc_arg(args, o->name) == NULL || is_open(o->name))
            continue;
        if (o->group == CC_GROUP_OUTPUT || strcmp(o->name, "dry-run") == 0)
            return cc_usage(e,
                            "--paper and --%s exclude each other: the figure has a simulation for "
                            "each density, and --%s is of a single one",
                            o->name, o->name);
        return cc_usage(e,
                        "--paper and --%s exclude each other: the figure fixes all but its size "
                        "(--values, --nonzeros, --workers), links and platform, --wire and "
                        "--dense-bits",
                        o->name);
    }
    if (cc_arg(args, "platform") != NULL && cc_arg(args, "bw") == NULL)
        return cc_usage(e, "--paper with --platform: give --bw, the rate of the file's links, for "
                           "the formulas beside the simulation");
    return CC_OK;
}

/* Sets the options that are part of the set-up, and defaults. */
static int set_options(struct cc_args *args, struct cc_error *e)
{
    static const struct {
        const char *name, *value;
    } all[] = {{"compute", "0s"}, {"update", "0s"}, {"union", "expected"},
               {"steps", "1"},    {"warmup", "0"},  {"data", "off"}};
    CC_TRY(refuse_others(args, e));
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        cc_arg_set(args, all[i].name, all[i].value);
    set_default(args, "bw", "sparcml-daint,sparcml-greina-ge");
    return set_size(args, e);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The densities of --nonzeros, each once; or the default ones at which there is a pair to send. */
static int parse_densities(struct figure *f, struct cc_error *e)
{
    const char *given = cc_arg(f->args, "nonzeros");
    struct cc_source_options source;
    uint64_t values = 0;
    size_t kept = 0;
    set_default(f->args, "nonzeros", DENSITIES);
    CC_TRY(cc_source_read(f->args, &source, e));
    f->density = source.nonzeros;
    f->densities = source.shares;
    CC_TRY(cc_parse_count(source.values, &values, e));
    qsort(f->density, f->densities, sizeof *f->density, by_size);
    for (size_t i = 0; i < f->densities; i++) {
        const double d = f->density[i];
        const bool none = d * (double)values < 1 - 1e-9;
        if (d <= 0)
            return cc_usage(e, "--nonzeros: a density of 0 has no place on a logarithmic axis");
        if (none && given != NULL)
            return cc_usage(e, "--nonzeros: %.9g%% of %s values is less than one value", 100 * d,
                            cc_arg(f->args, "values"));
        if (!none && (kept == 0 || d > f->density[kept - 1]))
            f->density[kept++] = d;
    }
    f->left_out = kept < f->densities && given == NULL;
    f->densities = kept;
    return kept > 0 ? CC_OK
                    : cc_usage(e,
                               "--values %s: so few that at the figure's densities not one "
                               "differs from zero; give more, or --nonzeros",
                               cc_arg(f->args, "values"));
}

/* --- simulating --- */

/* Takes the codecs' times out of the payloads, so that a step is the exchange alone. Returns the
 * time that a worker would have encoded for. */
static double take_codecs(struct cc_step_payloads *p)
{
    const double encode_s = p->total.push_encode_s;
    for (size_t i = 0; i <= p->count; i++) {
        struct cc_payload_cost *c = i < p->count ? &p->each[i] : &p->total;
        c->push_encode_s = c->push_decode_s = c->push_add_s = 0;
    }
    return encode_s;
}

static int add_row(struct figure *f, const struct point *p, const struct cc_measured_row *m,
                   double encode_s, struct cc_error *e)
{
    struct cc_record *r = &f->args->record;
    const struct cc_number_column all[] = {
        {CC_KEY(workers), p->workers},
        {CC_KEY(bw_bps), p->link.bw_bps},
        {CC_KEY(latency_s), p->link.latency_s},
        {CC_KEY(values), (double)m->setting->setting.net->values},
        {CC_KEY(nonzeros), p->density},
        {CC_KEY(call_s), p->call_s[SIMULATED]},
        {CC_KEY(call_s_model), p->call_s[FORMULAS]},
        {CC_KEY(call_s_paper), p->call_s[PRINTED]},
        {CC_KEY(encode_s), encode_s},
        {CC_KEY(messages), m->messages},
        {CC_KEY(wire_bytes), round(m->wire_bytes)},
        {CC_KEY(sim_wall_s), m->wall_s},
        {CC_KEY(sim_memory_bytes), m->peak_bytes}};
    const size_t at = cc_record_add(r, e);
    if (at == SIZE_MAX)
        return CC_FAIL;
    cc_record_numbers(r, at, all, sizeof all / sizeof all[0]);
    CC_TRY(cc_record_text(r, at, CC_KEY(scheme), isnan(p->density) ? "fp32" : "pairs", e));
    return cc_record_text(r, at, CC_KEY(exchange), cc_exchange_names[p->exchange], e);
}

static int add_points(struct figure *f, const struct sim *s, double density, double encode_s,
                      struct cc_error *e)
{
    const struct cc_experiment *x = &s->experiment;
    for (size_t i = 0; i < x->measured_rows; i++) {
        const struct cc_measured_row *m = &x->measured[i];
        const struct cc_setting *c = &m->setting->setting;
        const double n = (double)c->net->values, pairs = isnan(density) ? 0 : density * n;
        struct cc_link plain = c->link;
        plain.message_bytes = 0; /* SMPI's, which the paper does not know */
        const struct point p = {.exchange = c->exchange,
                                .link = c->link,
                                .workers = c->cluster.workers,
                                .density = density,
                                .call_s = {[SIMULATED] = m->step_s,
                                           [FORMULAS] = m->row->forecast.step_s,
                                           [PRINTED] = cc_paper_sparcml_s(
                                               c->exchange, c->cluster.workers, &plain, n, pairs)}};
        CC_TRY(CC_GROW(f->point, &f->capacity, f->points + 1, e));
        f->point[f->points++] = p;
        CC_TRY(add_row(f, &p, m, encode_s, e));
    }
    return CC_OK;
}

/* Simulates one density, or the dense allreduce, on all links and for all numbers of workers. */
static int simulate(struct figure *f, double density, struct cc_error *e)
{
    struct cc_experiment_input input = {.steps = 0};
    struct sim s = {.program = NULL};
    const bool dense = isnan(density);
    int status = CC_OK;
    static char share[32]; /* it outlives the arguments */
    (void)snprintf(share, sizeof share, "%.17g", dense ? 1 : density);
    cc_arg_set(f->args, "nonzeros", share);
    cc_arg_set(f->args, "exchange",
               dense ? "rabenseifner" : "ssar-recdouble,ssar-split,dsar-split");
    cc_spec_list_free(&f->args->schemes);
    CC_TRY(cc_spec_list_parse(dense ? "fp32" : "pairs", &f->args->schemes, e));
    CC_TRY_OUT(cc_sim_parse(f->args, &s, e));
    CC_TRY_OUT(cc_experiment_parse(f->args, &input, e));
    /* Instead of the training system, whose steps these are not. */
    cc_record_title(&f->args->record,
                    "SparCML, Figure 4: the time of an exchange at each density of "
                    "non-zeros, simulated and by formulas");
    CC_TRY_OUT(cc_sim_check(&s, &input, e));
    CC_TRY_OUT(cc_experiment_load(&input, true, e));
    const double encode_s = take_codecs(&input.forecast.payloads[0]);
    CC_TRY_OUT(cc_sim_prepare(&s, &input, NULL, e));
    status = cc_sim_all(&s, e);
    if (add_points(f, &s, density, encode_s, e) != CC_OK)
        status = CC_FAIL;
out:
    cc_sim_free(&s);
    cc_experiment_input_free(&input);
    return status;
}

/* --- where curves cross --- */

static bool same_place(const struct point *a, const struct point *b)
{
    return a->workers == b->workers && a->link.bw_bps == b->link.bw_bps &&
           a->link.latency_s == b->link.latency_s;
}

/* The time of an exchange where `at` is; the dense allreduce has one for all densities. */
static double call_s(const struct figure *f, const struct point *at, enum cc_exchange x,
                     double density, enum source by)
{
    for (size_t i = 0; i < f->points; i++) {
        const struct point *p = &f->point[i];
        if (same_place(p, at) && p->exchange == x && (isnan(p->density) || p->density == density))
            return p->call_s[by];
    }
    return NAN;
}

/* The density between two neighbours at which the logarithm of y's time over x's is 0: straight
 * lines between points on logarithmic axes, as in the figure. */
static double crossing(double from, double ahead_from, double to, double ahead_to)
{
    return exp(log(from) + ahead_from / (ahead_from - ahead_to) * (log(to) - log(from)));
}

/* Writes at which densities x is faster than y: "up to 1%", "from 0.1% to 1%", ... */
static void write_range(const struct figure *f, const struct point *at, enum cc_exchange x,
                        enum cc_exchange y, enum source by, char *out, size_t cap)
{
    size_t used = 0, ahead_at = 0;
    double before = NAN;
    out[0] = '\0';
    for (size_t i = 0; i < f->densities && used < cap; i++) {
        const double d = f->density[i], last = i > 0 ? f->density[i - 1] : d;
        const double ahead = log(call_s(f, at, y, d, by) / call_s(f, at, x, d, by));
        const double meet = 100 * crossing(last, before, d, ahead);
        ahead_at += ahead > 0;
        if (i > 0 && before <= 0 && ahead > 0)
            used += (size_t)snprintf(out + used, cap - used, "%sfrom %.2g%%", used > 0 ? ", " : "",
                                     meet);
        else if (i > 0 && before > 0 && ahead <= 0)
            used += (size_t)snprintf(out + used, cap - used, "%sup to %.2g%%", used > 0 ? " " : "",
                                     meet);
        before = ahead;
    }
    if (used == 0)
        (void)snprintf(out, cap,
                       isnan(before)  ? "where is not known"
                       : ahead_at > 0 ? "everywhere"
                                      : "nowhere");
}

static int note_crossings(const struct figure *f, const struct point *at, struct cc_error *e)
{
    static const enum cc_exchange pairs[][2] = {{CC_SSAR_RECDOUBLE, CC_SSAR_SPLIT},
                                                {CC_SSAR_SPLIT, CC_DSAR_SPLIT},
                                                {CC_SSAR_RECDOUBLE, CC_RABENSEIFNER},
                                                {CC_SSAR_SPLIT, CC_RABENSEIFNER},
                                                {CC_DSAR_SPLIT, CC_RABENSEIFNER}};
    char rate[32];
    cc_print_rate(at->link.bw_bps, rate, sizeof rate);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char text[SOURCES][80];
        for (int by = 0; by < SOURCES; by++)
            write_range(f, at, pairs[i][0], pairs[i][1], (enum source)by, text[by],
                        sizeof text[by]);
        CC_TRY(cc_record_note(
            &f->args->record, e,
            "%s, %d workers: %s is faster than %s %s as simulated, %s by the formulas, %s by the "
            "paper's",
            rate, at->workers, cc_exchange_names[pairs[i][0]], cc_exchange_names[pairs[i][1]],
            text[SIMULATED], text[FORMULAS], text[PRINTED]));
    }
    return CC_OK;
}

static int add_notes(const struct figure *f, struct cc_error *e)
{
    CC_TRY(cc_record_note(
        &f->args->record, e,
        "SparCML, Figure 4 is drawn, without numbers. Its text has SSAR_Recursive_Double (here "
        "ssar-recdouble) first for a small amount of data, SSAR_Split_AllGather (ssar-split) "
        "before "
        "DSAR_Split_AllGather (dsar-split) while non-zeros are few, and sparse before dense on "
        "Gigabit Ethernet; a dense ring is ahead by less than 30%% on Piz Daint (`commcomp paper "
        "sparcml-figure4`)"));
    if (f->left_out)
        CC_TRY(cc_record_note(&f->args->record, e,
                              "densities of less than one of %s values are left out",
                              cc_arg(f->args, "values")));
    for (size_t i = 0; i < f->points; i++) {
        bool first = f->densities > 1;
        for (size_t k = 0; k < i; k++)
            first = first && !same_place(&f->point[k], &f->point[i]);
        if (first)
            CC_TRY(note_crossings(f, &f->point[i], e));
    }
    return CC_OK;
}

int cc_sim_paper(struct cc_args *args, struct cc_error *e)
{
    struct figure f = {.args = args};
    int status = CC_OK;
    CC_TRY_OUT(set_options(args, e));
    CC_TRY_OUT(parse_densities(&f, e));
    CC_TRY_OUT(simulate(&f, (double)NAN, e));
    for (size_t i = 0; i < f.densities && !cc_interrupted(); i++)
        CC_TRY_OUT(simulate(&f, f.density[i], e));
    status = add_notes(&f, e);
out:
    args->record.partial = cc_interrupted();
    free(f.point);
    free(f.density);
    return status;
}
