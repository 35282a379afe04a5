/* threshold: a fixed step of size tau for each value that has reached it.
 *
 * Every value of gradient + residual whose magnitude is at least tau is sent as +tau or -tau, in
 * one code u32 = 2 index + sign, and the residual keeps the difference: what is above tau is sent
 * in later steps. tau is a magnitude of the gradient itself, so the payload's size depends on the
 * scale of the gradients (see absolute_param) and can reach n codes.
 *
 * Each part of the tensor writes its codes where they would lie if every value before had one; then
 * the parts are moved together. Decoding is that of codes in pairs.h.
 *
 * Source: Strom, Scalable Distributed DNN Training Using Commodity GPU Cloud Computing, Interspeech
 * 2015, section 3. */
#include "core/memory.h"
#include "core/parallel.h"
#include "core/reduce.h"
#include "core/tile.h"
#include "schemes/kernels/pick.h"
#include "schemes/pairs.h"
#include "schemes/residual.h"
#include "schemes/scheme.h"
#include "schemes/selection.h"

struct params {
    int64_t ef;
    double tau;
};

static const struct cc_param table[] = {
    CC_PARAM_REAL(struct params, tau, 0.01, 1e-37, 1e37, "",
                  "values of at least this magnitude are sent, and count as this magnitude"),
    CC_PARAM_EF(1, "error feedback: keep what was not sent in a residual"),
    {.name = NULL},
};

#define VALUES_MOST (UINT64_C(1) << 31)
#define HEAD_BYTES  4

static size_t bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    return cc_bytes_sum(cc_bytes_product(shape->n, CC_CODE_BYTES), HEAD_BYTES);
}

/* Part p finds the codes of values [border(p), border(p + 1)). */
struct job {
    const float *x;
    float *residual;
    size_t n;
    float tau;
    int parts;
    uint8_t *codes;
    size_t count[CC_PARTS_MAX], before[CC_PARTS_MAX];
    size_t bad[CC_PARTS_MAX]; /* the first block with a value that is not finite; n: none */
};

static size_t border(const struct job *j, int part)
{
    return cc_part_begin(j->n, j->parts, part, CC_PICK_BLOCK);
}

static void encode_part(void *arg, int part)
{
    struct job *j = arg;
    size_t begin = border(j, part), end = border(j, part + 1), count = 0;
    const size_t ahead = cc_read_ahead(j->n * sizeof(float));
    j->bad[part] = j->n;
    for (size_t i = begin; i < end; i += CC_PICK_BLOCK) {
        uint32_t most;
        count += k_pick()->codes(j->x + i, j->residual != NULL ? j->residual + i : NULL,
                                 cc_smaller(end - i, CC_PICK_BLOCK), ahead, j->tau, (uint32_t)i,
                                 j->codes + CC_CODE_BYTES * (begin + count), &most);
        if (!cc_finite_bits(most)) {
            j->bad[part] = i;
            break;
        }
    }
    j->count[part] = count;
}

static void move_part(void *arg, int part)
{
    struct job *j = arg;
    memmove(j->codes + CC_CODE_BYTES * j->before[part], j->codes + CC_CODE_BYTES * border(j, part),
            CC_CODE_BYTES * j->count[part]);
}

/* Moves the codes of all parts together; returns their number. */
static size_t join_parts(struct job *j)
{
    size_t total = 0;
    for (int p = 0; p < j->parts; p++) {
        j->before[p] = total;
        total += j->count[p];
    }
    /* All parts may move at once if the result fits where part 0 wrote: nobody overwrites codes
     * that have yet to move. */
    if (total <= border(j, 1))
        cc_parallel(j->parts, move_part, j);
    else
        for (int p = 1; p < j->parts; p++)
            move_part(j, p);
    return total;
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    const struct params *p = c->params;
    size_t n = c->shape.n;
    if (n > VALUES_MOST)
        return cc_fail(e, "tensor '%s': threshold has indices for 2^31 values only; cut the tensor",
                       ctx->name != NULL ? ctx->name : "?");
    struct job j = {.x = x,
                    .residual = cc_ef_residual(c),
                    .n = n,
                    .tau = (float)p->tau,
                    .parts = cc_parts(c->threads, n, CC_PART_VALUES),
                    .codes = out + HEAD_BYTES};
    cc_put_f32(out, j.tau);
    cc_parallel(j.parts, encode_part, &j);
    const float *sum = j.residual != NULL ? j.residual : x;
    for (int part = 0; part < j.parts; part++) {
        size_t i = j.bad[part];
        if (i < n)
            return cc_refuse_sum(ctx, cc_elements_f32(x + i), sum + i, i,
                                 cc_smaller(n - i, CC_PICK_BLOCK), e);
    }
    *len = HEAD_BYTES + CC_CODE_BYTES * join_parts(&j);
    return CC_OK;
}

/* Checks the threshold, and points *codes, which refers to *tau, to the codes. */
static int open_payload(const struct cc_codec *c, const uint8_t *in, size_t len, float *tau,
                        struct cc_indexed *codes, struct cc_error *e)
{
    if (len < HEAD_BYTES)
        return cc_bad_payload(len, e, "the payload ends in its threshold");
    *tau = cc_get_f32(in);
    if (!cc_finite(*tau) || *tau < 0)
        return cc_bad_payload(0, e, "the threshold is %g; it must be finite and not negative",
                              (double)*tau);
    *codes = (struct cc_indexed){
        .payload = in, .begin = HEAD_BYTES, .end = len, .tau = tau, .n = c->shape.n};
    return CC_OK;
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    float tau;
    struct cc_indexed codes;
    CC_TRY(open_payload(c, in, len, &tau, &codes, e));
    return cc_indexed_decode(&codes, c->threads, scale, y, e);
}

static struct cc_pair_cost pair_cost(const void *params)
{
    (void)params;
    return (struct cc_pair_cost){.pair_bits = 8 * CC_CODE_BYTES};
}

static int to_pairs(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, uint32_t base, struct cc_index_value *out, size_t cap,
                    size_t *count, struct cc_error *e)
{
    (void)ctx;
    float tau;
    struct cc_indexed codes;
    CC_TRY(open_payload(c, in, len, &tau, &codes, e));
    return cc_indexed_to_pairs(&codes, base, out, cap, count, e);
}

const struct cc_scheme cc_scheme_threshold = {
    .id = "threshold",
    .title = "fixed-threshold quantization",
    .reference = "Strom, Scalable Distributed DNN Training Using Commodity GPU Cloud Computing, "
                 "Interspeech 2015, section 3",
    .layout = "f32 tau, then u32 = 2 x index + sign (1 = negative) for each value that reaches it",
    .flags = CC_LOSSY | CC_FEEDBACK | CC_SPARSE,
    .kind = CC_PAIRS,
    .params = table,
    .params_bytes = sizeof(struct params),
    .absolute_param = "tau",
    .bound = bound,
    .traffic = cc_ef_once,
    .state_bytes = cc_ef_state_bytes,
    .encode = encode,
    .decode = decode,
    .pair_cost = pair_cost,
    .to_pairs = to_pairs,
    .residual_at = cc_ef_residual_at,
};
