/* --paper thesis-5.1, thesis-5.4 and thesis-5.5: the speedups of the thesis on the modularized
 * parameter server (section 5), simulated: its machines are workers and servers at once, on links
 * of 1 Gbit/s, and compute for as long as one of them does in its Table 1.1. A speedup is over one
 * machine: workers x computation / step. Codecs take no time, which the thesis does not have.
 *
 * Each bar is a simulation of its own. Figures are drawn; beside stand the numbers of the text. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/sim/sim.h"
#include "core/interrupt.h"

#define TOP "sparse:density=0.01,select=exact,index=u32"

/* The nets, and how many steps a second one machine makes (Table 1.1); what the text of Figure 5.4
 * has: the speedup of all optimizations on 4 machines, and of wait-free over traditional steps. */
static const struct {
    const char *name;
    double steps_per_s, combined, overlap;
} nets[] = {{"resnet110", 13.5, 3.91, 1.54}, {"inception-v4", 1.47, 3.78, 1.29}};
enum { NETS = sizeof nets / sizeof nets[0] };

struct bar {
    const char *name, *mode, *placement, *scheme, *consistency;
};
/* clang-format off */
static const struct bar
    placements[] = {{"uniform split", "overlap", "split", "fp32", "bulk"},
                    {"round-robin", "overlap", "round-robin", "fp32", "bulk"},
                    {"heuristic", "overlap", "lpt", "fp32", "bulk"}},
    optimizations[] = {{"traditional", "sequential", "lpt", "fp32", "bulk"},
                       {"wait-free", "overlap", "lpt", "fp32", "bulk"},
                       {"wait-free, top 1%", "overlap", "lpt", TOP, "bulk"},
                       {"wait-free, stale", "overlap", "lpt", "fp32", "stale"},
                       {"all together", "overlap", "lpt", TOP, "stale"}},
    scaling[] = {{"wait-free", "overlap", "lpt", "fp32", "bulk"},
                 {"all together", "overlap", "lpt", TOP, "stale"}};
/* clang-format on */

struct thesis {
    const char *name, *title;
    const struct bar *bar;
    size_t bars;
    const char *workers[5]; /* ends with NULL */
    const char *says;
};
static const struct thesis figures[] = {
    {"thesis-5.1",
     "Figure 5.1: speedup of placements",
     placements,
     3,
     {"4"},
     "uniform split is the slowest on ResNet, with many small layers, and the fastest on "
     "Inception-v4, with many large ones; the heuristic is best on average"},
    {"thesis-5.4",
     "Figure 5.4: speedup of optimizations",
     optimizations,
     5,
     {"4"},
     "the consistency gains more than the compression on ResNet, and less on Inception-v4"},
    {"thesis-5.5",
     "Figure 5.5: scalability",
     scaling,
     2,
     {"2", "3", "4", "16"},
     "all together is near-linear to 4 machines, all that the thesis has; original TensorFlow is "
     "not"},
};

static const struct thesis *find(const char *name)
{
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        if (strcmp(figures[i].name, name) == 0)
            return &figures[i];
    return NULL;
}

bool cc_sim_is_thesis(const char *figure)
{
    return find(figure) != NULL;
}

/* --- the set-up --- */

/* The links, the platform and stragglers may be others. */
static int refuse_others(const struct cc_args *args, struct cc_error *e)
{
    static const char *const open[] = {
        "paper",        "bw",    "latency",  "overhead",   "staleness", "stragglers",
        "spread",       "seed",  "topology", "slow-hosts", "fidelity",  "smpirun",
        "message-cost", "steps", "warmup",   "net",        "profile"};
    if (args->schemes.count > 0)
        return cc_usage(e, "--paper and --scheme exclude each other: the thesis has fp32 and the "
                           "largest 1%%");
    for (size_t k = 0; k < cc_option_own(args->command); k++) {
        const struct cc_option o = cc_option_at(args->command, k);
        bool known = cc_arg(args, o.name) == NULL;
        for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
            known = known || strcmp(o.name, open[i]) == 0;
        if (!known)
            return cc_usage(e,
                            "--paper and --%s exclude each other: the figure fixes all but net, "
                            "links, stragglers, steps and --staleness",
                            o.name);
    }
    return CC_OK;
}

static void set_bar(struct cc_args *args, const struct bar *b, const char *net, const char *workers,
                    const char *compute, const char *staleness)
{
    const bool stale = strcmp(b->consistency, "stale") == 0;
    const struct {
        const char *name, *value;
    } all[] = {{"net", net},
               {"workers", workers},
               {"servers", workers},
               {"colocate", ""},
               {"exchange", "ps"},
               {"compute", compute},
               {"mode", b->mode},
               {"placement", b->placement},
               {"consistency", b->consistency},
               {"data", "off"},
               {"staleness", stale ? staleness : NULL}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        cc_arg_set(args, all[i].name, all[i].value);
}

/* --- simulating --- */

/* Codecs take no time. */
static void clear_codec_times(struct cc_step_payloads *p)
{
    for (size_t i = 0; i <= p->count; i++) {
        struct cc_payload_cost *c = i < p->count ? &p->each[i] : &p->total;
        c->push_encode_s = c->push_decode_s = c->push_add_s = 0;
        c->pull_encode_s = c->pull_decode_s = 0;
    }
}

/* The speedup that the text has of the bar: NaN if none. */
static double printed(const struct thesis *t, const struct bar *b, size_t net, int workers)
{
    const bool all = strcmp(b->name, "all together") == 0;
    return t->bar != placements && workers == 4 && all ? nets[net].combined : NAN;
}

static int add_row(struct cc_args *args, const struct thesis *t, const struct bar *b, size_t net,
                   const struct cc_measured_row *m, double *traditional_s, struct cc_error *e)
{
    struct cc_record *r = &args->record;
    const struct cc_setting *s = &m->setting->setting;
    const int workers = s->cluster.workers;
    const bool wait_free = strcmp(b->name, "wait-free") == 0 && t->bar == optimizations;
    if (strcmp(b->name, "traditional") == 0)
        *traditional_s = m->step_s;
    const struct cc_number_column all[] = {
        {CC_KEY(workers), workers},
        {CC_KEY(servers), s->cluster.servers},
        {CC_KEY(bw_bps), s->link.bw_bps},
        {CC_KEY(latency_s), s->link.latency_s},
        {CC_KEY(compute_s), m->compute_s},
        {CC_KEY(step_s), m->step_s},
        {CC_KEY(speedup_machine), workers * s->timing.compute_s / m->step_s},
        {CC_KEY(speedup_machine_paper), printed(t, b, net, workers)},
        {CC_KEY(overlap_gain), *traditional_s / m->step_s},
        {CC_KEY(overlap_gain_paper), wait_free ? nets[net].overlap : NAN},
        {CC_KEY(messages), m->messages},
        {CC_KEY(sim_wall_s), m->wall_s},
        {CC_KEY(sim_memory_bytes), m->peak_bytes}};
    const size_t at = cc_record_add(r, e);
    if (at == SIZE_MAX)
        return CC_FAIL;
    cc_record_numbers(r, at, all, sizeof all / sizeof all[0]);
    if (!wait_free)
        cc_record_number(r, at, CC_KEY(overlap_gain), NAN);
    CC_TRY(cc_record_text(r, at, CC_KEY(optimization), b->name, e));
    CC_TRY(cc_record_text(r, at, CC_KEY(net), s->net->name, e));
    CC_TRY(cc_record_text(r, at, CC_KEY(exchange), cc_exchange_names[s->exchange], e));
    CC_TRY(cc_record_text(r, at, CC_KEY(mode), b->mode, e));
    return cc_record_text(r, at, CC_KEY(scheme), args->schemes.item[0]->name, e);
}

static int simulate(struct cc_args *args, const struct thesis *t, const struct bar *b, size_t net,
                    double *traditional_s, struct cc_error *e)
{
    struct cc_experiment_input input = {.steps = 0};
    struct sim s = {.program = NULL};
    int status = CC_OK;
    cc_spec_list_free(&args->schemes);
    CC_TRY(cc_spec_list_parse(b->scheme, &args->schemes, e));
    CC_TRY_OUT(cc_sim_parse(args, &s, e));
    CC_TRY_OUT(cc_experiment_parse(args, &input, e));
    cc_record_title(&args->record, "The thesis, %s, simulated", t->title);
    CC_TRY_OUT(cc_sim_check(&s, &input, e));
    CC_TRY_OUT(cc_experiment_load(&input, e));
    clear_codec_times(&input.forecast.payloads[0]);
    CC_TRY_OUT(cc_sim_prepare(&s, &input, NULL, e));
    CC_TRY_OUT(cc_sim_all(&s, e));
    for (size_t i = 0; i < s.experiment.measured_rows && status == CC_OK; i++)
        status = add_row(args, t, b, net, &s.experiment.measured[i], traditional_s, e);
out:
    cc_sim_free(&s);
    cc_experiment_input_free(&input);
    return status;
}

static int simulate_net(struct cc_args *args, const struct thesis *t, size_t net,
                        const char *staleness, struct cc_error *e)
{
    static char compute[40]; /* it outlives the arguments */
    double traditional_s = NAN;
    (void)snprintf(compute, sizeof compute, "%.17gs", 1 / nets[net].steps_per_s);
    for (const char *const *workers = t->workers; *workers != NULL; workers++)
        for (size_t i = 0; i < t->bars && !cc_interrupted(); i++) {
            set_bar(args, &t->bar[i], nets[net].name, *workers, compute, staleness);
            CC_TRY(simulate(args, t, &t->bar[i], net, &traditional_s, e));
        }
    return CC_OK;
}

int cc_sim_thesis(struct cc_args *args, struct cc_error *e)
{
    const struct thesis *t = find(cc_arg(args, "paper"));
    const char *net = cc_arg(args, "net"), *staleness = cc_arg(args, "staleness");
    bool found = false;
    CC_TRY(refuse_others(args, e));
    if (cc_arg(args, "bw") == NULL)
        cc_arg_set(args, "bw", "1gbps");
    if (cc_arg(args, "steps") == NULL)
        cc_arg_set(args, "steps", "16");
    if (cc_arg(args, "overhead") == NULL)
        cc_arg_set(args, "overhead", "ethernet");
    CC_TRY(cc_record_choose_usual(
        &args->record,
        "net,workers,servers,bw_bps,mode,scheme,optimization,step_s,"
        "speedup_machine,speedup_machine_paper,overlap_gain,overlap_gain_paper",
        e));
    for (size_t i = 0; i < NETS && !cc_interrupted(); i++)
        if (net == NULL || strcmp(net, nets[i].name) == 0) {
            found = true;
            CC_TRY(simulate_net(args, t, i, staleness != NULL ? staleness : "5", e));
        }
    if (!found)
        return cc_usage(e, "--net %s: the thesis' Table 1.1 has %s and %s", net, nets[0].name,
                        nets[1].name);
    args->record.partial = cc_interrupted();
    return cc_record_note(&args->record, e, "the thesis' text: %s", t->says);
}
