/* Any sums of a round are either absorbed or refused, with the same mean on every instruction set.
 *
 * Input: u8 rows (modulo 20, plus 1), u8 columns (likewise), u8 rank (modulo 4, plus 1; 128 and
 * above: inside local), then for each round u16, the length of the sum, and the sum. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/isa.h"
#include "core/memory.h"
#include "tests/lib/data.h"
#include "tests/lib/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER = 3, MOST_N = 400 };

static void check(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* Takes the bytes of the next round into memory of exactly their number. */
static uint8_t *next(const uint8_t **data, size_t *size, size_t *len)
{
    size_t n = *size < 2 ? 0 : (size_t)(*data)[0] | (size_t)(*data)[1] << 8,
           skip = *size < 2 ? 0 : 2;
    *len = n < *size - skip ? n : *size - skip;
    uint8_t *bytes = malloc(*len > 0 ? *len : 1);
    check(bytes != NULL, "no memory");
    if (*len > 0)
        memcpy(bytes, *data + skip, *len);
    *data += skip + *len;
    *size -= skip + *len;
    return bytes;
}

/* Runs two steps, whose sums are taken from the input. */
static int run(const struct cc_codec *c, const uint8_t *data, size_t size, const float *x, float *y)
{
    const struct cc_context ctx = {.name = "w"};
    struct cc_error e = {""};
    int status = CC_OK;
    cc_codec_reset(c);
    for (size_t round = 0; round < 4 && status == CC_OK; round++) {
        size_t room = cc_round_bytes(c, round % 2), encoded, len;
        uint8_t *out = malloc(room > 0 ? room : 1), *bytes = next(&data, &size, &len);
        check(out != NULL, "no memory");
        status = cc_encode_round(c, &ctx, round % 2, x, out, room, &encoded, &e);
        check(status == CC_OK || strncmp(e.text, "tensor 'w'", 10) == 0, e.text);
        check(status != CC_OK || encoded == room, "a length that was not foreseen");
        if (status == CC_OK) {
            status = cc_absorb(c, &ctx, round % 2, bytes, len, 0.5f, y, &e);
            check(status == CC_OK || strncmp(e.text, "payload, byte ", 14) == 0 ||
                      strncmp(e.text, "tensor 'w'", 10) == 0,
                  e.text);
        }
        free(out);
        free(bytes);
    }
    return status;
}

static void on_every_isa(struct cc_codec *c, const uint8_t *data, size_t size)
{
    const enum cc_isa best = cc_isa();
    const size_t n = c->shape.n;
    float x[MOST_N], first[MOST_N] = {0};
    int status = -1;
    data_fill(DATA_LAPLACE, size, x, n);
    for (int isa = 0; isa < CC_ISAS; isa++) {
        float y[MOST_N] = {0};
        if (!cc_isa_has((enum cc_isa)isa))
            continue;
        cc_isa_force((enum cc_isa)isa);
        int now = run(c, data, size, x, y);
        check(status == -1 || now == status, "absorbed or not, by the instruction set");
        check(now != CC_OK || status == -1 || memcmp(y, first, n * sizeof *y) == 0,
              "another mean on another instruction set");
        status = now;
        memcpy(first, y, sizeof first);
    }
    cc_isa_force(best);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[64];
    if (size < HEADER)
        return 0;
    size_t rows = data[0] % 20u + 1, cols = data[1] % 20u + 1;
    snprintf(text, sizeof text, "%spowersgd:rank=%d%s",
             data[2] < 128 ? "" : "local:every=1,inner=(", data[2] % 4 + 1,
             data[2] < 128 ? "" : ")");
    struct cc_spec *spec = setting_open(text);
    struct cc_codec c = {.scheme = spec->scheme, .params = spec->params};
    c.shape = (struct cc_shape){.n = rows * cols, .dim = {rows, cols}, .ndim = 2};
    c.scratch = cc_alloc(cc_scratch_bytes(&c) + 1, NULL);
    c.state = cc_alloc(cc_state_bytes(&c) + 1, NULL);
    check(c.scratch != NULL && c.state != NULL, "no memory");
    on_every_isa(&c, data + HEADER, size - HEADER);
    free(c.scratch);
    free(c.state);
    cc_spec_free(spec);
    return 0;
}
