/* instructions VALUES SPEC...: encodes, decodes and adds a tensor of VALUES values with each
 * scheme on each instruction set, or on that of COMMCOMP_ISA alone. arm.sh and x86.py tell what
 * that takes: before each call there is a line SPEC ISA WHAT VALUES on standard error, and
 * sched_yield is called before and after it, where a plugin of qemu prints its count, and steps.c
 * begins and ends. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/isa.h"
#include "core/memory.h"
#include "schemes/codec_set.h"
#include "tests/lib/data.h"

enum { STEPS = 2, ROWS = 512 };

/* Around a call: what is done once in a process is done before the last step. */
static void begin(const char *spec, const char *what, size_t values, bool counts)
{
    if (!counts)
        return;
    (void)fprintf(stderr, "%s %s %s %zu\n", spec, cc_isa_name(cc_isa()), what, values);
    (void)sched_yield();
}

static void end(bool counts)
{
    if (counts)
        (void)sched_yield();
}

static int measure(const char *text, float *x, float *y, size_t values, struct cc_error *e)
{
    static const struct cc_codec_memory memory = {
        .state = true, .scratch = CC_SHARED, .payload = CC_SHARED};
    const struct cc_shape shape = {.n = values, .dim = {ROWS, values / ROWS}, .ndim = 2};
    struct cc_codec_set set = {0};
    struct cc_spec *spec = NULL;
    size_t len = 0;
    int status = CC_OK;
    CC_TRY_OUT(cc_spec_parse(text, &spec, e));
    CC_TRY_OUT(cc_codec_set_single(&set, spec, &shape, &memory, e));
    for (uint64_t step = 0; step <= STEPS; step++) {
        const struct cc_context ctx = {.seed = 1, .name = "t", .step = step};
        const bool counts = step == STEPS;
        data_fill(DATA_LAPLACE, step, x, values);
        begin(text, "encode", values, counts);
        CC_TRY_OUT(
            cc_encode(&set.item->codec, &ctx, x, set.item->payload, set.item->bound, &len, e));
        end(counts);
        begin(text, "decode", values, counts);
        CC_TRY_OUT(cc_decode(&set.item->codec, &ctx, set.item->payload, len, y, e));
        end(counts);
        begin(text, "add", values, counts);
        CC_TRY_OUT(cc_decode_add(&set.item->codec, &ctx, set.item->payload, len, 0.5f, y, e));
        end(counts);
    }
out:
    cc_codec_set_free(&set);
    cc_spec_free(spec);
    return status;
}

int main(int argc, char **argv)
{
    struct cc_error e = {.text = ""};
    const bool one = getenv("COMMCOMP_ISA") != NULL;
    const size_t values = argc > 1 ? strtoul(argv[1], NULL, 10) / ROWS * ROWS : 0;
    float *x = cc_alloc0(values * sizeof *x, &e), *y = cc_alloc0(values * sizeof *y, &e);
    int status = x != NULL && y != NULL ? cc_isa_init(&e) : CC_FAIL;
    const enum cc_isa chosen = cc_isa();
    for (int i = 2; i < argc && status == CC_OK; i++)
        for (int isa = 0; isa < CC_ISAS && status == CC_OK; isa++) {
            if (!cc_isa_has((enum cc_isa)isa) || (one && isa != (int)chosen))
                continue;
            cc_isa_force((enum cc_isa)isa);
            status = measure(argv[i], x, y, values, &e);
        }
    if (status != CC_OK)
        (void)fprintf(stderr, "%s\n", e.text);
    free(x);
    free(y);
    return status == CC_OK ? 0 : 1;
}
