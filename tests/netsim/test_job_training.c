/* Jobs of trainings: what is written is read back, and what the reader refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/system.h"
#include "netsim/inprocess/training_job.h"
#include "netsim/job/training.h"
#include "tests/lib/text.h"

static const struct cc_tensor_info tensors[] = {{"w", {12, {3, 4}, 2}}, {"b", {5, {5}, 1}}};
static const double share[] = {0.75, 0.25};

static struct cc_spec *parse(const char *text)
{
    struct cc_spec *spec = NULL;
    assert_int_equal(cc_spec_parse(text, &spec, NULL), CC_OK);
    return spec;
}

/* Every member differs from its default. */
static struct cc_training_config usual(void)
{
    static char name[] = "digits";
    static const struct cc_data data = {.name = name};
    return (struct cc_training_config){.task = {.net = "mlp:3",
                                                .data = &data,
                                                .height = 7,
                                                .width = 9,
                                                .workers = 3,
                                                .batch = 11,
                                                .by_class = 2,
                                                .flip = true,
                                                .shift = 1,
                                                .seed = 123456789},
                                       .exchange = CC_PS,
                                       .servers = 2,
                                       .mode = CC_OVERLAP,
                                       .deltas = true,
                                       .spec = parse("3lc"),
                                       .pull = parse("int8"),
                                       .optimizer = {.kind = CC_ADAMW,
                                                     .momentum = 0.1f,
                                                     .nesterov = true,
                                                     .decay = 0.2f,
                                                     .beta = {0.3f, 0.7f},
                                                     .small = 1e-7f},
                                       .rate = {.kind = CC_RATE_STEP,
                                                .rate = 0.3,
                                                .last = 0.01,
                                                .factor = 0.25,
                                                .steps = 50,
                                                .warmup = 5,
                                                .drops = {20, 30, 40},
                                                .drop_count = 3},
                                       .steps = 50,
                                       .eval_every = 7,
                                       .min_size = 6};
}

static void free_config(struct cc_training_config *c)
{
    cc_spec_free((struct cc_spec *)(uintptr_t)c->spec);
    cc_spec_free((struct cc_spec *)(uintptr_t)c->pull);
}

static char *text_of(const struct cc_training_config *c, double compute_s)
{
    struct cc_job job = {0};
    struct cc_error e = {""};
    if (cc_training_job(c, tensors, 2, &job, &e) != CC_OK ||
        cc_training_job_for_ranks(c, compute_s, share, &job, &e) != CC_OK)
        fail_msg("%s", e.text);
    char *text = cc_job_text(&job, &e);
    assert_non_null(text);
    cc_job_free(&job);
    return text;
}

static struct cc_job read_back(const struct cc_training_config *c, double compute_s)
{
    struct cc_job job;
    struct cc_error e = {""};
    char *text = text_of(c, compute_s);
    if (cc_job_parse(text, strlen(text), &job, &e) != CC_OK)
        fail_msg("%s", e.text);
    free(text);
    return job;
}

static void reads_back(void **state)
{
    struct cc_training_config c = usual();
    (void)state;
    struct cc_job job = read_back(&c, 0.125);
    const struct cc_task_config task = cc_job_task(&job, NULL);
    assert_string_equal(task.net, c.task.net);
    assert_string_equal(job.training.data, "digits");
    assert_int_equal(task.height, 7);
    assert_int_equal(task.width, 9);
    assert_int_equal(task.workers, 3);
    assert_int_equal(task.batch, 11);
    assert_int_equal(task.by_class, 2);
    assert_int_equal(task.shift, 1);
    assert_true(task.flip);
    assert_int_equal(task.seed, 123456789);

    const struct cc_learner_config l = cc_job_learner(&job, &job.row[0]);
    assert_int_equal(l.optimizer.kind, CC_ADAMW);
    assert_true(l.optimizer.nesterov);
    assert_true(l.optimizer.momentum == c.optimizer.momentum);
    assert_true(l.optimizer.decay == c.optimizer.decay);
    assert_true(l.optimizer.beta[0] == c.optimizer.beta[0]);
    assert_true(l.optimizer.beta[1] == c.optimizer.beta[1]);
    assert_true(l.optimizer.small == c.optimizer.small);
    for (uint64_t step = 0; step < 50; step++)
        assert_true(cc_rate_at(&l.rate, step) == cc_rate_at(&c.rate, step));

    assert_true(job.training.deltas && job.training.emulated);
    assert_true(job.compute_s == 0.125);
    assert_string_equal(job.training.pull, "int8");
    assert_int_equal(job.training.eval_every, 7);
    assert_int_equal(job.servers, 2);
    assert_int_equal(job.tensor[0].server, -1);
    assert_false(job.tensor[0].raw);
    assert_true(job.tensor[1].raw);
    assert_string_equal(job.row[0].scheme, "3lc");
    assert_int_equal(job.row[0].steps, 50);
    /* Overlapped: a message for each tensor, the last one first. */
    assert_int_equal(job.row[0].messages, 2);
    assert_int_equal(job.row[0].message[0].first, 1);
    assert_int_equal(job.row[0].message[1].last, 0);
    cc_job_free(&job);

    /* Without servers; what computing really takes; any number of steps of a scheme that sends in
     * every second one. */
    struct cc_spec *local = parse("local:every=2");
    const struct cc_spec *spec = c.spec;
    c.exchange = CC_RING;
    c.mode = CC_SEQUENTIAL;
    c.deltas = false;
    c.spec = local;
    c.steps = 7;
    job = read_back(&c, NAN);
    assert_false(job.training.emulated);
    assert_true(job.training.pull == NULL);
    assert_int_equal(job.servers, 0);
    assert_int_equal(job.row[0].period, 2);
    assert_int_equal(job.row[0].steps, 7);
    assert_int_equal(job.row[0].messages, 1);
    cc_job_free(&job);

    c.exchange = CC_TWOSHOT;
    c.shards = CC_SHARDS_DIFFERENCES;
    c.gather = "int8";
    job = read_back(&c, NAN);
    assert_int_equal(job.training.shards, CC_SHARDS_DIFFERENCES);
    assert_string_equal(job.gather, "int8");
    cc_job_free(&job);
    c.collectives = cc_systems[CC_SYSTEM_HSDP].collectives;
    job = read_back(&c, NAN);
    assert_string_equal(job.sharded.weights, "int8");
    assert_true(job.gather == NULL && job.sharded.collectives == 4);
    assert_memory_equal(job.sharded.collective, c.collectives.item, 4 * sizeof *c.collectives.item);
    cc_job_free(&job);
    c.collectives.count = 0;
    c.exchange = CC_RING;
    c.shards = CC_SHARDS_NONE;
    c.gather = NULL;

    c.mode = CC_PIPE;
    c.depth = 5;
    c.sync_steps = 2;
    job = read_back(&c, NAN);
    assert_int_equal(job.training.depth, 5);
    assert_int_equal(job.training.sync_steps, 2);
    assert_int_equal(job.row[0].messages, 1);
    /* None in the synchronous steps, then one more after each, up to K - 1; all are applied at the
     * end. */
    static const size_t delayed[] = {0, 0, 0, 1, 2, 3, 4, 0};
    for (uint64_t ended = 0; ended <= 7; ended++)
        assert_int_equal(cc_job_delayed(&job, job.row, ended), delayed[ended]);
    cc_job_free(&job);
    c.spec = spec;
    cc_spec_free(local);
    free_config(&c);
}

/* Shards take what whole steps bring, and the parts of an exchange with stages. */
static void shards_are_refused(void **state)
{
    static const struct {
        const char *from, *to, *message;
    } list[] = {
        {"\"mode\": \"sequential\"", "\"mode\": \"pipe\"", "\"depth\" is missing"},
        {"\"emulated\"", "\"depth\": 2, \"emulated\"", "\"depth\" can only be there"},
        {"\"shards\": \"weights\"", "\"shards\": \"weight\"", "did you mean \"weights\""},
        {"\"exchange\": \"twoshot\"", "\"exchange\": \"ring\"",
         "can only be there if the exchange has stages"},
        {"\"drop\"",
         "\"local_steps\": 2, \"local_parts\": 1, \"local_delay\": 0, \"local_mix\": 0, "
         "\"outer_rate\": 1, \"outer_momentum\": 0, \"outer_nesterov\": false, \"drop\"",
         "\"shards\" are \"weights\": not with \"local_steps\""},
    };
    struct cc_training_config c = usual();
    (void)state;
    c.exchange = CC_TWOSHOT;
    c.mode = CC_SEQUENTIAL;
    c.deltas = false;
    c.shards = CC_SHARDS_WEIGHTS;
    c.gather = "int8";
    char *text = text_of(&c, 0.125);
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct cc_job job;
        struct cc_error e = {""};
        const char *at = strstr(text, list[i].from);
        char other[8192];
        if (at == NULL)
            fail_msg("no '%s' in %s", list[i].from, text);
        (void)snprintf(other, sizeof other, "%.*s%s%s", (int)(at - text), text, list[i].to,
                       at + strlen(list[i].from));
        assert_int_equal(cc_job_parse(other, strlen(other), &job, &e), CC_FAIL);
        assert_contains(e.text, list[i].message);
    }
    free(text);
    free_config(&c);
}

/* The list of a training is that of parameters that are divided. */
static void lists_are_refused(void **state)
{
    struct cc_training_config c = usual();
    const struct cc_collectives good = cc_systems[CC_SYSTEM_FSDP].collectives;
    const struct cc_collectives inside = cc_systems[CC_SYSTEM_HSDP].collectives;
    struct cc_error e = {""};
    struct cc_job job;
    (void)state;
    c.exchange = CC_TWOSHOT;
    c.deltas = false;
    c.shards = CC_SHARDS_WEIGHTS;
    c.gather = "int8";
    c.mode = CC_SEQUENTIAL;
    for (int i = 0; i < 8; i++) {
        const char *message = "\"sharded\": a training gathers parameters before the forward pass";
        c.collectives = i == 5 ? inside : good;
        if (i == 0)
            c.collectives.item[0].when = CC_WHEN_UPDATED;
        else if (i == 1)
            c.collectives.item[1].among = CC_AMONG_HOST;
        else if (i == 2)
            c.collectives.item[2].levels = true;
        else if (i == 3)
            c.collectives.item[0].role = CC_ROLE_PLAIN;
        else if (i == 4)
            c.collectives.count = 2;
        else if (i == 5)
            c.collectives.count = 3;
        else if (i == 6)
            c.collectives = cc_systems[CC_SYSTEM_SDP4BIT].collectives;
        else {
            c.shards = CC_SHARDS_NONE;
            message = "it has \"shards\", the exchange twoshot";
        }
        char *text = text_of(&c, 0.125);
        assert_int_equal(cc_job_parse(text, strlen(text), &job, &e), CC_FAIL);
        assert_contains(e.text, message);
        free(text);
    }
    free_config(&c);
}

static void refusals(void **state)
{
    static const struct {
        const char *from, *to, *message;
    } list[] = {
        {"\"net\": \"mlp:3\", ", "", "\"training\": \"net\" is missing"},
        {"\"batch\": 11", "\"batch\": 0", "\"training\": \"batch\" must be"},
        {"\"height\": 7", "\"height\": -7", "\"training\": \"height\" must be"},
        {"\"adamw\"", "\"adamx\"", "did you mean \"adam"},
        {"\"step\", \"rate\"", "\"stop\", \"rate\"", "did you mean \"step\""},
        {"\"eval_every\": 7", "\"eval_every\": 0", "\"eval_every\" must be"},
        {"\"emulated\": true", "\"emulated\": 1", "\"emulated\" must be true or false"},
        {"\"overlap\"", "\"pipe\"", "\"depth\" is missing"},
        {"\"eval_every\"", "\"depth\": 2, \"eval_every\"",
         "\"depth\" can only be there with `mode`"},
        {"\"tensors\"", "\"trace\": \"x\", \"tensors\"",
         "\"trace\" can only be there in a replay without `training`"},
        {"\"tensors\"", "\"distribution\": \"mixture\", \"tensors\"",
         "\"distribution\" can only be there in a replay without `training` and"},
        {"\"warmup\": 0, \"steps\"", "\"warmup\": 3, \"steps\"", "a training counts every step"},
        {"\"drop\": [20, 30, 40]", "\"drop\": [1, 2, 3, 4, 5, 6, 7, 8, 9]",
         "9 numbers, and 8 are the most"},
    };
    struct cc_training_config c = usual();
    (void)state;
    char *text = text_of(&c, 0.125);
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct cc_job job;
        struct cc_error e = {""};
        const char *at = strstr(text, list[i].from);
        char other[8192];
        if (at == NULL)
            fail_msg("no '%s' in %s", list[i].from, text);
        (void)snprintf(other, sizeof other, "%.*s%s%s", (int)(at - text), text, list[i].to,
                       at + strlen(list[i].from));
        assert_int_equal(cc_job_parse(other, strlen(other), &job, &e), CC_FAIL);
        assert_contains(e.text, list[i].message);
    }
    free(text);
    free_config(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_back),
        cmocka_unit_test(refusals),
        cmocka_unit_test(shards_are_refused),
        cmocka_unit_test(lists_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
