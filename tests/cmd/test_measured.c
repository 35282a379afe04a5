/* The numbers of measured rows, worked out by hand from reports, and validate's notes on rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/measure/experiment.h"
#include "cmd/validate/validate.h"
#include "tests/lib/text.h"

static void assert_near(double is, double want)
{
    if (!(fabs(is - want) <= 1e-9 * fabs(want)))
        fail_msg("%.12g instead of %.12g", is, want);
}

static const struct cc_column columns[] = {
    CC_STEP_COLUMNS(CC_ORIGIN_MEASURED), CC_MODEL_COLUMNS, {.key = NULL}};

/* --- measured rows --- */

/* Two rows, fp32 and int8, of a net of 1000 values, as after cc_experiment_prepare. */
struct fixture {
    struct cc_net net;
    struct cc_experiment_row row[2];
    struct cc_experiment_setting setting;
    struct cc_forecast forecast;
    struct cc_step_payloads payloads[2];
    struct cc_spec_list schemes;
    struct cc_experiment_ops ops;
    struct cc_experiment x;
};

static void set_up(struct fixture *f, enum cc_straggler straggler)
{
    *f = (struct fixture){
        .net = {.values = 1000},
        .row = {{.scheme = 0, .period = 2, .steps = 8}, {.scheme = 1, .period = 2, .steps = 8}},
        .setting = {.rows = 2, .formula = CC_FORMULA_LACKS}};
    assert_int_equal(cc_spec_list_parse("fp32,int8", &f->schemes, NULL), CC_OK);
    cc_setting_defaults(&f->net, &f->setting.setting);
    f->setting.setting.timing.straggler = straggler;
    f->setting.setting.timing.consistency = CC_STALE;
    f->setting.row = f->row;
    f->forecast.schemes = &f->schemes;
    f->forecast.payloads = f->payloads;
    f->x = (struct cc_experiment){.forecast = &f->forecast, .ops = &f->ops};
}

static void tear_down(struct fixture *f)
{
    for (size_t i = 0; i < f->x.measured_rows; i++)
        free(f->x.measured[i].staleness_counts);
    free(f->x.measured);
    cc_spec_list_free(&f->schemes);
}

static struct cc_measured_row *add(struct fixture *f, const struct cc_report_row *got)
{
    struct cc_measured_row *m;
    assert_int_equal(cc_experiment_add_measured(&f->x, &f->setting, got, &m, NULL), CC_OK);
    return m;
}

/* The means of periods of two steps are 2, 3, 4 and 12. Their quartiles are 2.75 and 6: 12 is
 * further from them than these from each other, and of the rest the mean is 3, the sum of squares
 * 2, and the mean's standard error sqrt(2 / 3 / 3). */
static double step_s[] = {1, 3, 2, 4, 3, 5, 4, 20};
static double halved_s[] = {.5, 1.5, 1, 2, 1.5, 2.5, 2, 10};
static double applied_error[] = {.25, .125};

static const struct cc_report_row first = {.row = 0,
                                           .steps = 8,
                                           .step_s = step_s,
                                           .compute_s = .5,
                                           .update_s = .25,
                                           .encode_s = .125,
                                           .hop_s = .0625,
                                           .server_s = .03125,
                                           .decode_s = .03125,
                                           .push_bytes = 500,
                                           .pull_bytes = 250,
                                           .applied_errors = 2,
                                           .applied_error = applied_error};

static void steps_are_averaged(void **state)
{
    (void)state;
    struct fixture f;
    set_up(&f, CC_STEADY);
    const struct cc_measured_row *m = add(&f, &first);
    assert_near(m->step_s, 3);
    assert_near(m->step_s_error, sqrt(2) / 3);
    assert_near(m->step_s_q25, 2.75);
    assert_near(m->step_s_q75, 6);
    assert_near(m->step_s_sd, sqrt(62.75 / 3)); /* from 5.25: 3.25², 2.25², 1.25², 6.75² */
    assert_near(m->compute_s, .75);
    assert_near(m->codec_s, .1875);
    assert_near(m->comm_s, 2.0625); /* adding floats on the way is the network's */
    assert_near(m->reduce_s, .0625);
    assert_near(m->speedup, 1);
    struct cc_report_row second = first;
    second.row = 1;
    second.step_s = halved_s;
    m = add(&f, &second);
    assert_near(m->step_s, 1.5);
    assert_near(m->speedup, 2);
    tear_down(&f);
}

/* With stragglers every step counts. */
static void stragglers_count(void **state)
{
    (void)state;
    struct fixture f;
    set_up(&f, CC_UNIFORM);
    const struct cc_measured_row *m = add(&f, &first);
    assert_near(m->step_s, 5.25);
    assert_near(m->step_s_error, sqrt(62.75 / 3) / 2);
    tear_down(&f);
}

/* 90 updates are fresh, five are three versions old and five four. */
static void staleness_is_counted(void **state)
{
    (void)state;
    static double age[] = {90, 0, 0, 5, 5};
    struct fixture f;
    struct cc_report_row got = first;
    set_up(&f, CC_STEADY);
    got.ages = 5;
    got.age = age;
    got.updates_per_s = 12;
    got.held_s = .375;
    const struct cc_measured_row *m = add(&f, &got);
    assert_near(m->staleness, .35);
    assert_near(m->staleness_p95, 3);
    assert_near(m->updates_per_s, 12);
    assert_near(m->bound_wait_s, .375);
    assert_string_equal(m->staleness_counts, "90, 0, 0, 5, 5");
    tear_down(&f);
}

static double number(const struct cc_record *r, const struct cc_result_key *key)
{
    const struct cc_value *v = cc_record_value(r, 0, key);
    assert_int_equal(v->kind, CC_NUMBER);
    return v->number;
}

static void columns_have_their_units(void **state)
{
    (void)state;
    struct fixture f;
    struct cc_record r;
    size_t at;
    set_up(&f, CC_STEADY);
    const struct cc_measured_row *m = add(&f, &first);
    cc_record_init(&r, "run", columns, 0, NULL);
    assert_int_equal(cc_record_add(&r, &at, NULL), CC_OK);
    cc_experiment_print_parts(&r, at, m);
    assert_near(number(&r, CC_KEY(payload_bytes)), 500);
    assert_near(number(&r, CC_KEY(bits_per_value)), 4);
    assert_near(number(&r, CC_KEY(ratio)), 8);
    assert_near(number(&r, CC_KEY(bits_push)), 4);
    assert_near(number(&r, CC_KEY(bits_pull)), 2);
    assert_near(number(&r, CC_KEY(compute_s)), .75);
    assert_near(number(&r, CC_KEY(codec_s)), .1875);
    assert_near(number(&r, CC_KEY(comm_s)), 2.0625);
    assert_near(m->applied_error, .25);
    assert_near(m->applied_error_settled, .125);
    cc_record_free(&r);
    tear_down(&f);
}

/* --- validate's notes --- */

static void check_notes(const struct validated *rows, size_t count, const char *agreement,
                        const char *remedy)
{
    struct fixture f;
    struct cc_record r;
    struct cc_step_payloads payloads[2] = {{.reduction = CC_REDUCE_DECODED}};
    struct validate v = {.options = {.tolerance = .03}};
    set_up(&f, CC_STEADY);
    (void)strcpy(f.setting.setting.link.name, "1gbps");
    struct validated *row = malloc(count * sizeof *row);
    assert_non_null(row);
    for (size_t i = 0; i < count; i++) {
        row[i] = rows[i];
        row[i].setting = &f.setting;
        row[i].row = &f.row[0];
    }
    cc_record_init(&r, "validate", columns, 0, NULL);
    v.record = &r;
    v.row = row;
    v.rows = count;
    v.input.forecast.schemes = &f.schemes;
    v.input.forecast.payloads = payloads;
    v.input.forecast.codec_models.source = (char[]){"none"};
    v.input.forecast.codec_models.profile =
        (struct cc_profile){.trace = "", .cpu = "", .isa = "", .time = ""};
    v.input.forecast.cluster.net = &f.net;
    v.input.forecast.cluster.compute_given = true;
    v.run.experiment.input = v.sim.experiment.input = &v.input;
    assert_int_equal(cc_validate_notes(&v, NULL), CC_OK);
    assert_contains(r.notes[0], agreement);
    if (remedy != NULL)
        assert_contains(r.notes[row->diagnosis.adds ? 1 : 2], remedy);
    cc_record_free(&r);
    free(row);
    tear_down(&f);
}

/* Twice the standard error is within 3% of a step of 0.1 s if sd / sqrt(n) is 1.5 ms: n is 16
 * periods of 3 steps for an sd of 6 ms; and if 60 ms of the step are computing, within 3% of 40 ms
 * for n = 100. */
static void enough_steps_are_asked_for(void **state)
{
    (void)state;
    static const struct cc_experiment_row three = {.period = 3};
    const struct cc_experiment_setting every_step = {.rows = 1};
    struct cc_measured_row m = {.row = &three,
                                .setting = &every_step,
                                .step_s = .1,
                                .compute_s = .06,
                                .step_s_sd = .0059999};
    struct validated row = {.run = &m,
                            .diagnosis = {.answers = 2,
                                          .off = {.forecast = NAN},
                                          .cause = {{.kind = CC_CAUSE_SCATTER, .why = "so"}}}};
    check_notes(&row, 1, "0 of 1 row agree within 3%", ": so. Remedy: --steps 48");
    row.diagnosis.adds = true;
    check_notes(&row, 1, "0 of 1 row agree within 3%", ": so. Remedy: --steps 300");
}

static void agreeing_rows_are_counted(void **state)
{
    (void)state;
    const struct validated rows[] = {
        {.diagnosis = {.answers = 2, .agree = true, .off = {.model_run = .01}}},
        {.diagnosis = {.answers = 3,
                       .agree = false,
                       .off = {.model_run = -.25, .sim_run = .125, .model_sim = .0625}}},
        {.diagnosis = {.answers = 2, .agree = true, .off = {.sim_run = .02}}}};
    check_notes(rows, 3,
                "2 of 3 rows agree within 3%; the largest difference of two answers is 25.0%",
                NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_averaged),         cmocka_unit_test(stragglers_count),
        cmocka_unit_test(staleness_is_counted),       cmocka_unit_test(columns_have_their_units),
        cmocka_unit_test(enough_steps_are_asked_for), cmocka_unit_test(agreeing_rows_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
