/* commcomp validate: what a step takes by formula, simulated and measured, and where they differ,
 * why. */
#include "cmd/validate/validate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/interrupt.h"
#include "core/units.h"
#include "netsim/message/sizes.h"

/* clang-format off */
static const struct cc_column columns[] = {
    CC_SETTING_COLUMNS,
    {"fidelity", "fidelity", "", NULL, 0, "how closely the network is simulated"},
    {"burst_bytes", NULL, "", "%.0f", 0,
     "of the token buckets that shape the run's links; 0: none. The simulation has none"},
    {"oversubscribed", "oversubscribed", "", NULL, 0,
     "the run had more busy ranks than cores; empty on a cluster, and without a run"},
    {"payload_bytes", NULL, "B", "%.0f", 0,
     "bytes of a worker's push per step, scale factors included: the run's; without one, the "
     "simulation's. Likewise the next seven"},
    {"bits_per_value", "bits/value", "bits", "%.3f", 0, "8 x payload bytes / values"},
    {"ratio", NULL, "", "%.1f", 0, "32 / bits per value"},
    {"bits_push", NULL, "bits", "%.3f", 0, "bits per value from worker to server, or to the others"},
    {"bits_pull", NULL, "bits", "%.3f", 0, "bits per value from server to worker; empty but for ps"},
    {"compute_s", NULL, "s", "%.6g", 0,
     "forward and backward pass (of the slowest worker), and the update"},
    {"codec_s", NULL, "s", "%.6g", 0,
     "encoding and decoding, hidden or not: worker, every hop, server, worker"},
    {"comm_s", NULL, "s", "%.6g", 0, "the step less compute_s and codec_s"},
    {"step_s_forecast", "forecast", "ms", "%.1f", 1e3,
     "what the formulas say beforehand, from the codecs' profile: `commcomp model`"},
    {"step_s_model", "model", "ms", "%.1f", 1e3,
     "what the formulas say, given the run's payload sizes and codec times; without a run, the "
     "simulation's"},
    {"step_s_sim", "sim", "ms", "%.1f", 1e3,
     "the same job simulated, with the run's codec times; without a run, the profile's"},
    {"step_s", "run", "ms", "%.1f", 1e3, "measured"},
    {"step_s_sd", "+-", "ms", "%.1f", 1e3,
     "standard deviation of the measured steps (over whole periods of the scheme); empty if one "
     "was counted"},
    {"speedup", NULL, "", "%.2f", 0, "measured step time of fp32 / step_s; empty without a run of fp32"},
    {"model_error", "run-model", "%", "%+.1f", 100, "(step_s - step_s_model) / step_s"},
    {"sim_error", "run-sim", "%", "%+.1f", 100, "(step_s - step_s_sim) / step_s"},
    {"model_sim", "sim-model", "%", "%+.1f", 100, "(step_s_sim - step_s_model) / step_s_sim"},
    {"forecast_error", "run-forecast", "%", "%+.1f", 100,
     "(step_s - step_s_forecast) / step_s; without a run, of step_s_sim"},
    {"agree", "agree", "", NULL, 0,
     "no two of model, sim and run differ by more than --tolerance; empty if there is but one"},
    {"suspect", "suspect", "", NULL, 0, "which assumption is suspect where they do"},
    {"forecast_suspect", "of the forecast", "", NULL, 0,
     "and which, where the forecast differs by more than that"},
    {"why", NULL, "", NULL, 0, "the figures behind suspect"},
    {"forecast_why", NULL, "", NULL, 0, "those behind forecast_suspect"},
    {"codec_s_forecast", NULL, "s", "%.6g", 0, "codec_s as the profile has it"},
    {"codec_s_sim", NULL, "s", "%.6g", 0, "as the simulation took it"},
    {"payload_bytes_forecast", NULL, "B", "%.0f", 0, "payload_bytes as the profile has it"},
    {"payload_bytes_sim", NULL, "B", "%.0f", 0, "as the simulation sent it"},
    {"wire_bytes", NULL, "B", "%.0f", 0,
     "sent per step by the busiest host, as its interface counted them"},
    {"wire_bytes_model", NULL, "B", "%.0f", 0, "what that should be"},
    {"burst_share", NULL, "", "%.4f", 0,
     "burst_bytes / what the busiest link carries in a phase: how much of it passes unshaped"},
    {"warmup", NULL, "", "%.0f", 0, "steps before those that count"},
    {"steps", NULL, "", "%.0f", 0, "steps that count"},
    {"row_s", "takes", "s", "%.1f", 0, "of a dry run: the measured row, warm-up included"},
    {"row_bytes", "moves", "MB", "%.1f", 1e-6,
     "of a dry run: bytes of the row on the links of all hosts"},
    {.key = NULL},
};

static const struct cc_option options[] = {
    {.name = "tolerance", .value = "SHARE", .def = "0.03",
     .help = "by how much any two of model, sim and run may differ"},
    CC_CLUSTER_OPTIONS,
    CC_EXPERIMENT_OPTIONS,
    {.name = "steps", .value = "N", .def = "3 s of them, or one period",
     .help = "steps that count, of each row; rounded up to whole periods of the scheme"},
    {.name = "warmup", .value = "N", .def = "0 to 3 periods; up to 32 where residuals fill",
     .help = "steps before them, of which only the last period computes"},
    {.name = "dry-run", .help = "only say what would be done, and how long it takes"},
    CC_FIDELITY_OPTION("tc"),
    CC_PLATFORM_OPTIONS,
    CC_HOSTS_OPTIONS,
    {.name = "tc-dev", .value = "DEV",
     .help = "shape this interface of the cluster's hosts to --bw (as root; undone at the end), and "
             "count its bytes"},
    {.name = NULL},
};
/* clang-format on */

/* --- opening --- */

static int parse_tolerance(struct validate *v, struct cc_error *e)
{
    v->tolerance = 0.03;
    int status = cc_arg_real(v->args, "tolerance", &v->tolerance, e);
    if (status == CC_OK && !(v->tolerance > 0 && v->tolerance < 1))
        status = cc_usage(e, "--tolerance: %.9g is not between 0 and 1: 0.03 is 3%%", v->tolerance);
    return status;
}

/* A lab has one switch, and hosts that are alike. Said before anything is measured. */
static int check_platform(const struct cc_args *args, struct cc_error *e)
{
    static const char *const names[] = {"topology", "slow-links", "slow-hosts", "platform"};
    struct run_options o;
    int status = cc_run_options_parse(args, &o, e);
    bool lab = o.hosts.lab;
    cc_run_options_free(&o);
    if (status != CC_OK || !lab)
        return status;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (cc_arg(args, names[i]) != NULL)
            return cc_usage(e,
                            "--%s is of a simulated cluster: a lab has one switch and hosts that "
                            "are alike; --hostfile or --hosts say where such a cluster is",
                            names[i]);
    return CC_OK;
}

/* Of a platform whose links no option describes the formulas know nothing; nor, then, of the
 * cluster that it stands for. */
static void share_ignorance(struct validate *v)
{
    for (size_t i = 0; i < v->sim.plan.settings; i++) {
        const struct cc_experiment_setting *from = &v->sim.plan.setting[i];
        if (from->formula != CC_NO_FORMULA)
            continue;
        v->run.plan.setting[i].formula = CC_NO_FORMULA;
        memcpy(v->run.plan.setting[i].setting.link.name, from->setting.link.name,
               sizeof from->setting.link.name);
    }
}

static int open_both(struct validate *v, struct cc_error *e)
{
    struct cc_args *args = v->args;
    if (cc_arg(args, "fidelity") == NULL)
        cc_arg_set(args, "fidelity", cc_fidelity_names[CC_FIDELITY_TC]);
    int status = check_platform(args, e);
    if (status == CC_OK)
        status = cc_run_open(&v->run, args, &v->measured, e);
    if (status != CC_OK)
        return status;
    cc_arg_set(args, "remeasure", NULL); /* once is enough */
    status = cc_sim_open(&v->sim, args, &v->simulated, e);
    if (status == CC_OK)
        share_ignorance(v);
    return status;
}

/* --- the answers --- */

/* As many steps as the run counts. Simulated time does not scatter: where each step is as long as
 * the one before, because no payload's size depends on gradients, a few do. */
static int choose_steps(const struct validate *v, const struct cc_experiment_setting *s,
                        const struct cc_experiment_row *run, struct cc_experiment_row *sim,
                        struct cc_error *e)
{
    enum { FEW = 16 };
    size_t few = (FEW + run->period - 1) / run->period * run->period;
    bool fixed;
    if (cc_sizes_fixed(v->args->schemes.item[run->scheme], &fixed, e) != CC_OK)
        return CC_FAIL;
    bool alike = fixed && s->setting.timing.straggler == CC_STEADY;
    sim->steps = alike && run->steps > few ? few : run->steps;
    sim->warmup = run->warmup;
    return CC_OK;
}

/* The job of the run: its gradients and steps, and, where they were measured, its codec times. */
static int follow(struct validate *v, struct cc_error *e)
{
    size_t at = 0;
    for (size_t i = 0; i < v->sim.plan.settings; i++) {
        const struct cc_experiment_setting *run = &v->run.plan.setting[i];
        v->sim.plan.setting[i].data = true;
        for (size_t k = 0; k < run->rows; k++, at++) {
            struct cc_experiment_row *row = &v->sim.plan.setting[i].row[k];
            if (choose_steps(v, run, &run->row[k], row, e) != CC_OK)
                return CC_FAIL;
            if (at >= v->measured.row_count)
                continue;
            row->timed = true;
            row->took = (struct cc_codec_times){
                .encode_s = cc_experiment_number(&v->measured, at, "encode_s"),
                .hop_s = cc_experiment_number(&v->measured, at, "hop_codec_s"),
                .server_s = cc_experiment_number(&v->measured, at, "server_codec_s"),
                .decode_s = cc_experiment_number(&v->measured, at, "decode_s")};
        }
    }
    return CC_OK;
}

/* That one of the two is not to be had leaves its column empty. */
static int answer(struct validate *v, struct cc_error *e)
{
    int ran = cc_run_all(&v->run, &v->no_run), simulated = CC_OK;
    int status = follow(v, e);
    if (status != CC_OK)
        return status;
    if (!cc_interrupted())
        simulated = cc_sim_all(&v->sim, &v->no_sim);
    if (cc_interrupted()) /* main says it */
        v->no_run.text[0] = v->no_sim.text[0] = '\0';
    v->run.plan.record = v->run.plan.forecast.record = v->record;
    (void)snprintf(v->record->mpi, sizeof v->record->mpi, "%s", v->measured.mpi);
    if (ran != CC_OK && simulated != CC_OK && v->measured.row_count + v->simulated.row_count == 0)
        return cc_fail(e, "nothing to hold the model against. No run: %s. No simulation: %s",
                       v->no_run.text, v->no_sim.text);
    status = cc_validate_rows(v, e);
    return status == CC_OK ? cc_validate_notes(v, e) : status;
}

/* Whether the check holds. What was begun and broke off is an error too. */
static int conclude(const struct validate *v, struct cc_error *e)
{
    size_t beyond = 0, compared = 0;
    for (size_t i = 0; i < v->rows; i++) {
        beyond += !v->row[i].diagnosis.agree;
        compared += v->row[i].diagnosis.answers > 1;
    }
    if (v->no_run.text[0] != '\0' && v->measured.row_count > 0)
        return cc_fail(e, "%s", v->no_run.text);
    if (v->no_sim.text[0] != '\0' && v->simulated.row_count > 0)
        return cc_fail(e, "%s", v->no_sim.text);
    if (v->rows > 0 && compared == 0 && !cc_interrupted())
        return cc_fail(e,
                       "nothing to hold together: %s is the only answer, and without --bw "
                       "--platform leaves the formulas without one",
                       v->measured.row_count > 0 ? "the run" : "the simulation");
    if (beyond == 0)
        return CC_OK;
    return cc_fail(e, "%zu of %zu row%s beyond --tolerance %.9g", beyond, v->rows,
                   v->rows == 1 ? " is" : "s are", v->tolerance);
}

/* --- a dry run --- */

static int dry(struct validate *v, struct cc_error *e)
{
    double seconds = 0;
    char time[32];
    v->run.plan.record = v->run.plan.forecast.record = v->record;
    int status = cc_run_dry(&v->run, e);
    if (status == CC_OK)
        status = follow(v, e);
    for (size_t i = 0; i < v->sim.plan.settings; i++)
        for (size_t k = 0; k < v->sim.plan.setting[i].rows; k++)
            seconds += cc_sim_row_s(&v->sim.plan.setting[i], &v->sim.plan.setting[i].row[k]);
    cc_print_si(seconds, "s", time, sizeof time);
    return status == CC_OK
               ? cc_record_note(v->record, e, "that is the run; the simulation then takes about %s",
                                time)
               : status;
}

/* --- the command --- */

static int run(struct cc_args *args, struct cc_error *e)
{
    struct validate v = {.args = args, .record = &args->record};
    cc_record_init(&v.measured, "run", cc_command_run.columns, args->argc,
                   (const char *const *)args->argv);
    cc_record_init(&v.simulated, "sim", cc_command_sim.columns, args->argc,
                   (const char *const *)args->argv);
    int status = parse_tolerance(&v, e);
    if (status == CC_OK)
        status = open_both(&v, e);
    if (status == CC_OK)
        status = v.run.plan.options.dry_run ? dry(&v, e) : answer(&v, e);
    if (status == CC_OK)
        status = conclude(&v, e);
    args->record.partial = cc_interrupted();
    cc_run_close(&v.run);
    cc_sim_close(&v.sim);
    cc_record_free(&v.measured);
    cc_record_free(&v.simulated);
    free(v.row);
    return status;
}

const struct cc_command cc_command_validate = {
    .name = "validate",
    .summary = "three answers held together: model, sim and run of the same rows",
    .operands = "",
    .description =
        "Measures a step as `run` does, simulates the same job as `sim` does, and asks the "
        "formulas "
        "of `model`; prints the three answers with their differences, marks rows in which any two "
        "differ by more than --tolerance, and says which assumption is suspect, with the figures "
        "for it and what to do. The forecast is what `model` says beforehand, from the codecs' "
        "profile; model and sim are given the payload sizes and codec times that the run measured, "
        "so that they answer for the network and for how the parts make up a step.\n\nThe options "
        "are those of `run`. Where no lab can be made, or no SimGrid is installed, that column "
        "stays empty, and a note says why. Exit code 1 if a row is beyond the tolerance. "
        "docs/validate.md has the rules.",
    .examples =
        "  commcomp validate --workers 2 --bw 100mbps --scheme fp32,int8,3lc\n"
        "  commcomp validate --scheme paper --bw 10mbps,100mbps,1gbps --dry-run\n"
        "  commcomp validate --scheme paper --bw 10mbps,100mbps -o validate.json\n"
        "  commcomp validate --exchange ring,allgather --workers 4 --scheme fp32,3lc --bw 100mbps\n"
        "  commcomp validate --mode overlap --scheme fp32 --bw 100mbps --tolerance 0.05\n"
        "  commcomp validate --hostfile hosts --workers 8 --calibration link.json --scheme fp32\n",
    .options = options,
    .columns = columns,
    .takes_schemes = CC_SCHEMES,
    .run = run,
};
