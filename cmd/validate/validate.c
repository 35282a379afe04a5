/* commcomp validate: the time of a step by formula, simulated and measured, and the causes of
 * differences. The command line is parsed once; run and simulation share its net, trace, schemes
 * and profile, and the simulation and the formulas take the run's payload sizes and codec times. */
#include "cmd/validate/validate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/interrupt.h"
#include "core/units.h"
#include "netsim/exchange/pack/sizes.h"

/* clang-format off */
static const struct cc_column columns[] = {
    CC_SETTING_COLUMNS,
    CC_COLUMN(fidelity, CC_SETTING),
    CC_COLUMN(burst_bytes, CC_SETTING, .hidden = true),
    CC_COLUMN(oversubscribed, CC_SETTING, .note = "of the run"),
    CC_COLUMN(links_before_bps, CC_PART),
    CC_COLUMN(links_after_bps, CC_PART),
    CC_COLUMN(payload_bytes, CC_DETAIL, .hidden = true, .note = "the run's; without one, the simulation's, as in the next eight columns"),
    CC_COLUMN(bits_per_value, CC_MAIN),
    CC_COLUMN(ratio, CC_DETAIL, .hidden = true),
    CC_COLUMN(bits_push, CC_DETAIL, .hidden = true),
    CC_COLUMN(bits_pull, CC_DETAIL, .hidden = true),
    CC_COLUMN(compute_s, CC_DETAIL, .hidden = true, .by_row = true),
    CC_COLUMN(codec_s, CC_DETAIL, .hidden = true, .by_row = true),
    CC_COLUMN(comm_s, CC_DETAIL, .hidden = true, .by_row = true, .note = "step_s less compute_s and codec_s"),
    CC_COLUMN(exposed_s, CC_DETAIL, .hidden = true, .by_row = true),
    CC_COLUMN(comm_busy_s, CC_DETAIL, .hidden = true, .by_row = true),
    CC_COLUMN(step_s_forecast, CC_MAIN),
    CC_COLUMN(step_s_model, CC_ANSWER, .note = "from the run's; without a run, from the simulation's"),
    CC_COLUMN(step_s_sim, CC_ANSWER),
    CC_COLUMN(step_s, CC_ANSWER, .origin = CC_ORIGIN_MEASURED, .note = "of the run"),
    CC_COLUMN(cu_model, CC_ANSWER, .note = "with --local-steps, as the next two"),
    CC_COLUMN(cu_sim, CC_ANSWER),
    CC_COLUMN(cu, CC_ANSWER, .origin = CC_ORIGIN_MEASURED, .note = "of the run"),
    CC_COLUMN(step_s_q25, CC_DETAIL),
    CC_COLUMN(step_s_q75, CC_DETAIL),
    CC_COLUMN(step_s_sd, CC_DETAIL, .hidden = true, .origin = CC_ORIGIN_MEASURED, .note = "empty if one was counted"),
    CC_COLUMN(burst_saved_s, CC_DETAIL),
    CC_COLUMN(speedup, CC_DETAIL, .hidden = true, .origin = CC_ORIGIN_MEASURED, .note = "of the run"),
    CC_COLUMN(model_error, CC_ANSWER),
    CC_COLUMN(sim_error, CC_ANSWER),
    CC_COLUMN(model_error_q25, CC_DETAIL),
    CC_COLUMN(sim_error_q25, CC_DETAIL),
    CC_COLUMN(model_sim, CC_PART),
    CC_COLUMN(added_s, CC_PART, .by_row = true, .note = "without a run, of step_s_sim"),
    CC_COLUMN(added_model_error, CC_PART),
    CC_COLUMN(added_sim_error, CC_PART),
    CC_COLUMN(added_model_sim, CC_DETAIL),
    CC_COLUMN(forecast_error, CC_PART),
    CC_COLUMN(agree, CC_ANSWER),
    CC_COLUMN(tolerance, CC_DETAIL),
    CC_COLUMN(suspect, CC_MAIN),
    CC_COLUMN(forecast_suspect, CC_PART),
    CC_COLUMN(why, CC_DETAIL),
    CC_COLUMN(forecast_why, CC_DETAIL),
    CC_COLUMN(codec_s_forecast, CC_DETAIL),
    CC_COLUMN(codec_s_sim, CC_DETAIL),
    CC_COLUMN(payload_bytes_forecast, CC_DETAIL),
    CC_COLUMN(payload_bytes_sim, CC_DETAIL),
    CC_COLUMN(wire_bytes, CC_DETAIL, .origin = CC_ORIGIN_MEASURED, .note = "as its interface counted them"),
    CC_COLUMN(wire_bytes_model, CC_DETAIL),
    CC_COLUMN(burst_share, CC_DETAIL),
    CC_COLUMN(core_wait_s, CC_DETAIL),
    CC_COLUMN(other_cores, CC_DETAIL),
    CC_COLUMN(warmup, CC_SETTING),
    CC_COLUMN(steps, CC_SETTING, .hidden = true),
    CC_COLUMN(row_s, CC_PART),
    CC_COLUMN(row_bytes, CC_PART),
    {.key = NULL},
};

static const struct cc_option own_options[] = {
    {.name = "tolerance", CC_OPTION_AT(struct validate_options, tolerance), .kind = CC_TAKES_REAL,
     .value = "SHARE", .def = "0.03", .group = CC_GROUP_RUN,
     .help = "by how much any two of model, sim and run may differ, of the step and of what network and "
             "codecs add to its computing"},
    {.name = NULL},
};

static const struct cc_option_use options[] = {
    {.rows = own_options},
    {.rows = cc_link_options, .names = "intra-bw", .own = {.def = "shm"}},
    CC_CLUSTER_OPTIONS,
    CC_GRADIENT_OPTIONS,
    {.rows = cc_experiment_options, .names = "steps"},
    {.rows = cc_experiment_options, .names = "warmup",
     .own = {.otherwise = "0 to 3 periods; up to 32 where residuals fill"}},
    {.rows = cc_experiment_options, .names = "dry-run"},
    {.rows = cc_sim_options, .names = "fidelity", .own = {.def = "tc"}},
    {.rows = cc_sim_options, .names = CC_PLATFORM_OPTION_NAMES},
    {.rows = cc_hosts_options},
    {.rows = cc_run_options, .names = "ping tc-dev"},
    {.rows = NULL},
};
/* clang-format on */

/* --- preparing --- */

/* A lab has one switch, and equal hosts. */
static int check_platform(const struct sim_options *o, const struct run *run, struct cc_error *e)
{
    const void *const simulated[] = {&o->config.topology, &o->slow_links, &o->slow_hosts,
                                     &o->platform, NULL};
    const char *name = cc_given_of(o, simulated);
    return name == NULL || !run->options.hosts.lab
               ? CC_OK
               : cc_usage(e,
                          "--%s is of a simulated cluster: a lab has one switch and hosts that "
                          "are alike; --hostfile or --hosts say where such a cluster is",
                          name);
}

/* Where no option describes the links of a platform, the formulas have no answer, neither for the
 * simulation nor for the cluster that the platform stands for. */
static void copy_formulas(struct validate *v)
{
    for (size_t i = 0; i < v->sim.experiment.settings; i++) {
        const struct cc_experiment_setting *from = &v->sim.experiment.setting[i];
        struct cc_experiment_setting *to = &v->run.experiment.setting[i];
        if (from->formula != CC_NO_FORMULA)
            continue;
        to->formula = CC_NO_FORMULA;
        memcpy(to->setting.link.name, from->setting.link.name, sizeof to->setting.link.name);
    }
}

static int prepare(struct validate *v, struct cc_args *args, struct cc_error *e)
{
    struct cc_experiment_input *in = &v->input;
    CC_TRY(cc_options_read(args, own_options, &v->options, e));
    const double tolerance = v->options.tolerance;
    if (!(tolerance > 0 && tolerance < 1))
        return cc_usage(e, "--tolerance: %.9g is not between 0 and 1: 0.03 is 3%%", tolerance);
    CC_TRY(cc_run_parse(args, &v->run, e));
    CC_TRY(cc_sim_parse(args, &v->sim, e));
    CC_TRY(check_platform(&v->sim.options, &v->run, e));
    in->forecast.cluster.slots = &v->run.options.hosts.cluster.slots;
    CC_TRY(cc_experiment_parse(args, in, e));
    CC_TRY(cc_experiment_need_code(in, "`validate`", e));
    CC_TRY(cc_run_check(&v->run, &in->forecast.cluster, e));
    CC_TRY(cc_sim_check(&v->sim, in, e));
    CC_TRY(cc_experiment_load(in, false, e));
    CC_TRY(cc_run_prepare(&v->run, in, NULL, e));
    CC_TRY(cc_sim_prepare(&v->sim, in, NULL, e));
    copy_formulas(v);
    return CC_OK;
}

/* --- the answers --- */

/* The simulation has as many steps as the run. Simulated time does not scatter, though: where every
 * step takes as long as the one before, because no payload's size depends on gradients, a few are
 * enough. */
static int choose_steps(const struct validate *v, const struct cc_experiment_setting *s,
                        const struct cc_experiment_row *run, struct cc_experiment_row *sim,
                        struct cc_error *e)
{
    enum { FEW = 16 };
    const size_t few = cc_experiment_periods(FEW, run->period) * run->period;
    bool fixed;
    CC_TRY(cc_sizes_fixed(v->input.forecast.schemes->item[run->scheme], &fixed, e));
    const bool equal = fixed && s->setting.timing.straggler == CC_STEADY;
    sim->steps = equal && run->steps > few ? few : run->steps;
    sim->warmup = run->warmup;
    return CC_OK;
}

/* Gives the simulation of a setting what the run's hosts needed for messages: the mean over the
 * setting's rows, since they share a platform. */
static void copy_hosts(const struct cc_measured_row *row, size_t rows, struct cc_setting *s)
{
    double waking_s = 0, message_s = 0;
    for (size_t i = 0; i < rows; i++) {
        waking_s += row[i].waking_s / (double)rows;
        message_s += row[i].message_s / (double)rows;
    }
    cc_experiment_use_host(waking_s, message_s, s);
}

/* Gives the simulation the run's gradients and steps, and, where they were measured, its codec
 * times and its hosts' times for messages. */
static int copy_run(struct validate *v, struct cc_error *e)
{
    const struct cc_experiment *run = &v->run.experiment;
    size_t at = 0;
    for (size_t i = 0; i < v->sim.experiment.settings; i++) {
        const struct cc_experiment_setting *from = &run->setting[i];
        if (at + from->rows <= run->measured_rows)
            copy_hosts(&run->measured[at], from->rows, &v->sim.experiment.setting[i].setting);
        v->sim.experiment.setting[i].data = true;
        for (size_t k = 0; k < from->rows; k++, at++) {
            struct cc_experiment_row *row = &v->sim.experiment.setting[i].row[k];
            CC_TRY(choose_steps(v, from, &from->row[k], row, e));
            if (at >= run->measured_rows)
                continue;
            row->codec_measured = true;
            row->codec = run->measured[at].codec;
            row->update_s = run->measured[at].update_s;
        }
    }
    return CC_OK;
}

/* The exit code where the answers could not be had, and none is known to differ. The message is
 * set. */
enum { NOT_MEASURED = 3 };

/* If only one of run and simulation fails, its columns stay empty. */
static int answer(struct validate *v, struct cc_error *e)
{
    const struct cc_experiment *run = &v->run.experiment, *sim = &v->sim.experiment;
    int simulated = CC_OK;
    const int ran = cc_experiment_all(&v->run.experiment, &v->no_run);
    CC_TRY(copy_run(v, e));
    if (!cc_interrupted())
        simulated = cc_sim_all(&v->sim, &v->no_sim);
    if (cc_interrupted()) /* main reports it */
        v->no_run.text[0] = v->no_sim.text[0] = '\0';
    (void)snprintf(v->record->mpi, sizeof v->record->mpi, "%s", run->mpi);
    if (ran != CC_OK && simulated != CC_OK && run->measured_rows + sim->measured_rows == 0) {
        cc_error_set(e, "nothing to hold the model against. No run: %s. No simulation: %s",
                     v->no_run.text, v->no_sim.text);
        return NOT_MEASURED;
    }
    CC_TRY(cc_validate_rows(v, e));
    return cc_validate_notes(v, e);
}

/* Fails if a row is beyond the tolerance; otherwise it is NOT_MEASURED if the run or the simulation
 * began and failed. Where one could not begin, as there is no lab or no SimGrid, the others are
 * compared. */
static int conclude(const struct validate *v, struct cc_error *e)
{
    const size_t ran = v->run.experiment.measured_rows;
    size_t beyond = 0, compared = 0;
    for (size_t i = 0; i < v->rows; i++) {
        beyond += !v->row[i].diagnosis.agree;
        compared += v->row[i].diagnosis.answers > 1;
    }
    const bool no_run = v->no_run.text[0] != '\0' && v->run.experiment.launched;
    const bool no_sim = v->no_sim.text[0] != '\0' && v->sim.experiment.launched;
    const bool alone = v->rows > 0 && compared == 0 && !cc_interrupted();
    if (no_run)
        cc_error_set(e, "the run failed: %s", v->no_run.text);
    else if (no_sim)
        cc_error_set(e, "the simulation failed: %s", v->no_sim.text);
    else if (alone)
        cc_error_set(e,
                     "nothing to compare: %s is the only answer, and without --bw --platform "
                     "leaves the formulas without one",
                     ran > 0 ? "the run" : "the simulation");
    if (no_run || no_sim || alone)
        return beyond > 0 ? CC_FAIL : NOT_MEASURED;
    if (beyond == 0)
        return CC_OK;
    return cc_fail(e, "%zu of %zu row%s %s beyond --tolerance %.9g", beyond, v->rows,
                   v->rows == 1 ? "" : "s", beyond == 1 ? "is" : "are", v->options.tolerance);
}

/* --- a dry run --- */

static int dry(struct validate *v, struct cc_error *e)
{
    char time[32];
    CC_TRY(cc_run_dry(&v->run, v->record, e));
    CC_TRY(copy_run(v, e));
    cc_print_si(ceil(cc_sim_all_s(&v->sim)), "s", time, sizeof time);
    return cc_record_note_at(v->record, CC_NOTE_ANSWER, e,
                             "validate: this is the run's time; its simulation adds about %s",
                             time);
}

/* --- the command --- */

static int run(struct cc_args *args, struct cc_error *e)
{
    struct validate v = {.record = &args->record};
    int status = CC_OK;
    CC_TRY_OUT(prepare(&v, args, e));
    CC_TRY_OUT(v.input.dry_run ? dry(&v, e) : answer(&v, e));
    CC_TRY_OUT(conclude(&v, e));
out:
    args->record.partial = cc_interrupted();
    cc_run_free(&v.run);
    cc_sim_free(&v.sim);
    cc_experiment_input_free(&v.input);
    free(v.row);
    return status;
}

const struct cc_command cc_command_validate = {
    .name = "validate",
    .summary = "model, sim and run of the same rows, compared",
    .operands = "",
    .description =
        "Measures a step as `run` does, simulates the same job as `sim` does, and computes it by "
        "the formulas of `model`. Prints the three answers with their differences, marks the "
        "rows in which any two differ by more than --tolerance, and names the assumption that is "
        "suspect, with the figures for it and a remedy. The forecast is the answer of `model` "
        "before the run, from the codecs' profile; model and sim are given the payload sizes and "
        "codec times that the run measured, and so answer for the network and for the "
        "composition of the step only.\n\nThe options are those of `run`. Where no lab can be "
        "made, or SimGrid is not installed, its column stays empty, and a note gives the reason. "
        "The exit code is 1 if a row is beyond the tolerance, and 3 if the run or the simulation "
        "began and failed, or nothing could be compared. docs/validate.md has the rules.",
    .examples =
        "  commcomp validate --workers 2 --bw 100mbps --scheme fp32,int8,3lc\n"
        "  commcomp validate --scheme paper --bw 10mbps,100mbps,1gbps --dry-run\n"
        "  commcomp validate --scheme paper --bw 10mbps,100mbps -o validate.json\n"
        "  commcomp validate --exchange ring,allgather --workers 4 --scheme fp32,3lc --bw 100mbps\n"
        "  commcomp validate --mode overlap --scheme fp32 --bw 100mbps --tolerance 0.05\n"
        "  commcomp validate --hostfile hosts --workers 8 --calibration link.json --scheme fp32\n",
    .page = "docs/validate.md",
    .options = options,
    .columns = columns,
    .takes_schemes = CC_SCHEMES,
    .run = run,
};
