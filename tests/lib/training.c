#include "tests/lib/training.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

struct cc_spec *training_spec(const char *text)
{
    struct cc_spec *spec = NULL;
    struct cc_error e = {""};
    if (cc_spec_parse(text, &spec, &e) != CC_OK)
        fail_msg("%s", e.text);
    return spec;
}

static void count_steps(void *arg, const char *scheme, size_t steps, double loss, double accuracy)
{
    (void)scheme, (void)loss, (void)accuracy;
    *(size_t *)arg += steps;
}

struct cc_data *training_digits;

int training_setup(void **state)
{
    (void)state;
    return cc_data_open("digits", &training_digits, NULL);
}

int training_teardown(void **state)
{
    (void)state;
    cc_data_free(training_digits);
    return 0;
}

struct cc_training_config training_usual(const char *scheme, size_t *steps)
{
    const struct cc_data *data = training_digits;
    struct cc_training_config c = {
        .task = {.net = "mlp:32",
                 .data = data,
                 .height = data->height,
                 .width = data->width,
                 .workers = 4,
                 .batch = 16,
                 .seed = 7,
                 .threads = 1},
        .exchange = CC_PS,
        .servers = 1,
        .dense_bits = 32,
        .deltas = true,
        .spec = training_spec(scheme),
        .raw = training_spec("fp32"),
        .optimizer = {.momentum = 0.9f},
        .rate = {.kind = CC_RATE_COSINE, .rate = 0.1, .steps = 40, .warmup = 4},
        .steps = 40,
        .eval_every = 20,
        .progress = count_steps,
        .arg = steps};
    c.pull = c.spec;
    return c;
}

void training_free(struct cc_training_config *c)
{
    cc_spec_free((struct cc_spec *)(uintptr_t)c->spec);
    cc_spec_free((struct cc_spec *)(uintptr_t)c->raw);
}

struct cc_training_result training_result(const struct cc_training_config *c)
{
    struct cc_training_result r = {0};
    struct cc_error e = {""};
    if (cc_training_run(c, &r, &e) != CC_OK)
        fail_msg("%s", e.text);
    return r;
}
