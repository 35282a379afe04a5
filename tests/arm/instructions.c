/* instructions SPEC...: encodes, decodes and adds a tensor with each scheme on each instruction
 * set, for tests/arm/instructions.sh, which counts the instructions. Prints to standard error a
 * line SPEC ISA WHAT VALUES before each of them, and calls sched_yield before and after it, where
 * the plugin prints its count. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/isa.h"
#include "core/memory.h"
#include "schemes/codec_set.h"
#include "tests/lib/data.h"

enum { VALUES = 1 << 18, STEPS = 2 };

static void begin(const char *spec, const char *what)
{
    (void)fprintf(stderr, "%s %s %s %d\n", spec, cc_isa_name(cc_isa()), what, VALUES);
    (void)sched_yield();
}

static int measure(const char *text, float *x, float *y, struct cc_error *e)
{
    static const struct cc_codec_memory memory = {
        .state = true, .scratch = CC_SHARED, .payload = CC_SHARED};
    const struct cc_shape shape = {.n = VALUES, .dim = {512, VALUES / 512}, .ndim = 2};
    struct cc_codec_set set = {0};
    struct cc_spec *spec = NULL;
    size_t len = 0;
    int status = CC_OK;
    CC_TRY_OUT(cc_spec_parse(text, &spec, e));
    CC_TRY_OUT(cc_codec_set_single(&set, spec, &shape, &memory, e));
    for (uint64_t step = 0; step <= STEPS; step++) {
        const struct cc_context ctx = {.seed = 1, .name = "t", .step = step};
        data_fill(DATA_LAPLACE, step, x, VALUES);
        if (step == STEPS)
            begin(text, "encode");
        CC_TRY_OUT(
            cc_encode(&set.item->codec, &ctx, x, set.item->payload, set.item->bound, &len, e));
        if (step < STEPS)
            continue;
        (void)sched_yield();
        begin(text, "decode");
        CC_TRY_OUT(cc_decode(&set.item->codec, &ctx, set.item->payload, len, y, e));
        (void)sched_yield();
        begin(text, "add");
        CC_TRY_OUT(cc_decode_add(&set.item->codec, &ctx, set.item->payload, len, 0.5f, y, e));
        (void)sched_yield();
    }
out:
    cc_codec_set_free(&set);
    cc_spec_free(spec);
    return status;
}

int main(int argc, char **argv)
{
    struct cc_error e = {.text = ""};
    float *x = cc_alloc0(VALUES * sizeof *x, &e), *y = cc_alloc0(VALUES * sizeof *y, &e);
    int status = x != NULL && y != NULL ? CC_OK : CC_FAIL;
    for (int i = 1; i < argc && status == CC_OK; i++)
        for (int isa = 0; isa < CC_ISAS && status == CC_OK; isa++) {
            if (!cc_isa_has((enum cc_isa)isa))
                continue;
            cc_isa_force((enum cc_isa)isa);
            status = measure(argv[i], x, y, &e);
        }
    if (status != CC_OK)
        (void)fprintf(stderr, "%s\n", e.text);
    free(x);
    free(y);
    return status == CC_OK ? 0 : 1;
}
