#include "tests/lib/bench_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "core/trace/synth.h"
#include "tests/lib/scratch.h"

const float gradients[STEPS][VALUES] = {
    {127, 1.25F, -2.5F, 3.5F, 0, -64, -127, 8, 0.25F},
    {-127, 2, 3, 0, 5, 6, 127, -7, 1},
    {127, -3, 1, 1, -5, 32, 127, 0, 2},
};

void write_step(void **state, const char *direction, int rank, int step, const float *x)
{
    char header[512], name[64];
    (void)snprintf(header, sizeof header,
                   "{\"__metadata__\":{\"schema\":\"commcomp-trace/1\",\"direction\":\"%s\","
                   "\"rank\":\"%d\",\"step\":\"%d\",\"order\":\"weights\\nbias\"},"
                   "\"weights\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
                   "\"bias\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[24,36]}}",
                   direction, rank, step);
    (void)snprintf(name, sizeof name, "%s%d.safetensors", direction, step);
    scratch_safetensors(state, name, header, x, VALUES * sizeof *x);
}

void open_config(struct fixture *f, struct cc_trace *trace, const char *schemes)
{
    struct cc_error e = {""};
    *f = (struct fixture){.schemes = {0}};
    if (cc_spec_list_parse(schemes, &f->schemes, &e) != CC_OK ||
        cc_spec_parse("fp32", &f->raw, &e) != CC_OK)
        fail_msg("%s", e.text);
    assert_true(f->schemes.count <= sizeof f->failed / sizeof f->failed[0]);
    f->config = (struct cc_bench_config){.trace = trace,
                                         .schemes = &f->schemes,
                                         .raw = f->raw,
                                         .steps = cc_trace_steps(trace, 0),
                                         .seed = 42,
                                         .threads = 1,
                                         .failed = f->failed};
}

void close_config(struct fixture *f)
{
    cc_trace_close(f->config.trace);
    cc_spec_free(f->raw);
    cc_spec_list_free(&f->schemes);
}

struct cc_trace *open_trace(const char *path)
{
    struct cc_trace *t;
    struct cc_error e = {""};
    if (cc_trace_open(path, &t, &e) != CC_OK)
        fail_msg("%s", e.text);
    return t;
}

struct cc_trace *make_trace(const struct cc_tensor_info *tensors, size_t count, size_t steps)
{
    const struct cc_synth config = {
        .distribution = CC_LAPLACE, .seed = 5, .steps = steps, .ranks = 1, .decay = 0.5};
    struct cc_trace *t;
    struct cc_error e = {""};
    if (cc_trace_synth(&config, tensors, count, "test", &t, &e) != CC_OK)
        fail_msg("%s", e.text);
    return t;
}

void open_gradients(struct fixture *f, void **state, const char *schemes)
{
    for (int i = 0; i < STEPS; i++)
        write_step(state, "push", 3, 10 * (i + 1), gradients[i]);
    open_config(f, open_trace(*state), schemes);
}

void open_huge(struct fixture *f, void **state, const char *schemes)
{
    float huge[VALUES];
    memcpy(huge, gradients[0], sizeof huge);
    huge[WEIGHTS + 1] = 0.75F * FLT_MAX;
    write_step(state, "push", 3, 10, huge);
    write_step(state, "push", 3, 20, huge);
    open_config(f, open_trace(*state), schemes);
}

void assert_gave_up(const struct fixture *f, const char *path, size_t scheme)
{
    char start[600];
    for (size_t s = 0; s < f->schemes.count; s++)
        assert_int_equal(cc_bench_failed(&f->config, s), s == scheme);
    const char *text = f->failed[scheme].text;
    (void)snprintf(start, sizeof start, "%s, push 3, step 20, local: ", path);
    if (strncmp(text, start, strlen(start)) != 0 || strstr(text, "bias") == NULL ||
        strstr(text, "index 1") == NULL)
        fail_msg("\"%s\" does not say what failed where", text);
}
