/* Writes the seeds of fuzz_decode: for each setting a few payloads as its encoder makes them.
 * Usage: seeds_decode DIRECTORY */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "tests/lib/data.h"
#include "tests/lib/settings.h"

static int write_seed(const char *directory, size_t setting, const struct cc_spec *s, size_t n,
                      size_t rows)
{
    enum { STEP = 5 }; /* in which every setting sends a payload */
    struct cc_codec c = {.scheme = s->scheme, .params = s->params, .shape = cc_shape_flat(n)};
    if (rows > 1)
        c.shape = (struct cc_shape){.n = n, .dim = {rows, n / rows}, .ndim = 2};
    const struct cc_context ctx = {
        .seed = 42, .rank = 3, .step = STEP, .tensor = 5, .name = "fuzz"};
    const size_t bound = cc_bound(&c);
    float *x = malloc(n * sizeof *x);
    uint8_t *out = malloc(bound);
    char path[512];
    size_t len;
    struct cc_error e;
    c.state = cc_alloc(cc_state_bytes(&c), NULL);
    c.scratch = cc_alloc(cc_scratch_bytes(&c), NULL);
    cc_codec_reset(&c);
    data_fill(DATA_TIES, setting, x, n);
    int status = cc_encode(&c, &ctx, x, out, bound, &len, &e);
    (void)snprintf(path, sizeof path, "%s/%02zu-%s-%zu", directory, setting, s->scheme->id, n);
    FILE *f = status == CC_OK ? fopen(path, "wb") : NULL;
    const uint8_t header[] = {(uint8_t)setting, (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)rows, STEP};
    if (f == NULL || fwrite(header, 1, sizeof header, f) != sizeof header ||
        fwrite(out, 1, len, f) != len || fclose(f) != 0) {
        fprintf(stderr, "%s: %s\n", path, status == CC_OK ? "cannot be written" : e.text);
        status = CC_FAIL;
    }
    free(x);
    free(out);
    free(c.state);
    free(c.scratch);
    return status;
}

int main(int argc, char **argv)
{
    int status = CC_OK;
    for (size_t i = 0; argc == 2 && settings[i] != NULL && status == CC_OK; i++) {
        struct cc_spec *s = setting_open(settings[i]);
        if (s == NULL)
            continue;
        status = write_seed(argv[1], i, s, 3, 0);
        if (status == CC_OK)
            status = write_seed(argv[1], i, s, 90, 0);
        if (status == CC_OK)
            status = write_seed(argv[1], i, s, 180, 12);
        cc_spec_free(s);
    }
    return argc == 2 ? status : CC_USAGE;
}
