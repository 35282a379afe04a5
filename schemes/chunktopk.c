/* chunktopk: the largest values of each chunk of a matrix, in two bits each.
 *
 * A chunk has 64 x 64 values, or 4,096 of a vector (cells.h), of which the k largest magnitudes
 * are sent: their signs, and whether they are above or below the mean of the chunk's k magnitudes,
 * for which the means of the two classes are decoded. With 12 bits a place, k = 64 take 0.227 bits
 * a value; Rice codes of the distances 0.16. The residual keeps the rest, times decay at the next
 * step: with decay = 0.95, SparseLoCo's error feedback.
 *
 * Threads share the chunks. Payloads of Rice codes differ in length: they are decoded one after the
 * other.
 *
 * Source: Sarfi et al., Communication Efficient LLM Pre-training with SparseLoCo, 2025, section 3:
 * k = 64 of 4,096 by chunks of 64 x 64, values of 2 bits, indices of 12. Its values are quantized
 * to four levels of the whole tensor's distribution; two magnitudes for each chunk are ours. */
#include "core/memory.h"
#include "core/reduce.h"
#include "schemes/cells.h"
#include "schemes/kernels/stream.h"
#include "schemes/pairs.h"
#include "schemes/places.h"
#include "schemes/residual.h"
#include "schemes/scheme.h"

struct params {
    int64_t ef, k, index;
    double decay;
};

static const struct cc_param table[] = {
    CC_PARAM_INT(struct params, k, 64, 1, CC_CELL, "values",
                 "values sent of a chunk of 4,096, and in proportion of smaller ones"),
    CC_PARAM_PLACES(struct params),
    CC_PARAM_REAL(struct params, decay, 1, 0, 1, "",
                  "what the residual is multiplied with in each step (SparseLoCo: 0.95)"),
    CC_PARAM_EF(1, "error feedback: keep what was not sent in a residual"),
    {.name = NULL},
};

#define HEAD 4 /* the two magnitudes */

/* A code: its sign and its class. */
#define NEGATIVE 1u
#define LARGE    2u

static size_t code_bytes(size_t count)
{
    return count / 4 + (count % 4 != 0);
}

static size_t count_of(const struct params *p, size_t values)
{
    return cc_cell_share((size_t)p->k, values, CC_CELL);
}

struct job {
    const struct params *p;
    size_t cols;
    struct cc_elements x; /* encode */
    float *residual;
    const float *scale; /* decode; NULL: values are set */
    float *y;
    struct cc_index_value *pairs; /* to_pairs */
};

static size_t cell_bytes(const void *arg, size_t values)
{
    const struct params *p = ((const struct job *)arg)->p;
    const size_t count = count_of(p, values);
    return HEAD + code_bytes(count) + cc_places_bound((enum cc_places)p->index, count, values);
}

/* --- encoding --- */

/* The two magnitudes: means of those below the mean of all, and of the others. */
struct levels {
    double mean;
    float magnitude[2];
};

static float mean_of(double sum, size_t count)
{
    return count == 0 ? 0
                      : cc_from_bf16(cc_nearest_bf16(cc_f32_bits((float)(sum / (double)count))));
}

static struct levels levels_of(const float *v, const uint16_t *place, size_t count)
{
    double all = 0, sum[2] = {0, 0};
    size_t large = 0;
    for (size_t j = 0; j < count; j++)
        all += (double)__builtin_fabsf(v[place[j]]);
    const double mean = all / (double)count;
    for (size_t j = 0; j < count; j++) {
        const double m = (double)__builtin_fabsf(v[place[j]]);
        sum[m >= mean] += m;
        large += m >= mean;
    }
    return (struct levels){mean, {mean_of(sum[0], count - large), mean_of(sum[1], large)}};
}

static float decoded(const float *magnitude, unsigned code)
{
    const float m = magnitude[(code & LARGE) != 0];
    return (code & NEGATIVE) != 0 ? -m : m;
}

/* Writes the codes of the values, and subtracts from them what they decode to. */
static void put_codes(float *v, const uint16_t *place, size_t count, uint8_t *out)
{
    const struct levels l = levels_of(v, place, count);
    cc_put_u16(out, (uint16_t)(cc_f32_bits(l.magnitude[0]) >> 16));
    cc_put_u16(out + 2, (uint16_t)(cc_f32_bits(l.magnitude[1]) >> 16));
    out += HEAD;
    memset(out, 0, code_bytes(count));
    for (size_t j = 0; j < count; j++) {
        float *at = &v[place[j]];
        const unsigned code =
            (*at < 0 ? NEGATIVE : 0) | ((double)__builtin_fabsf(*at) >= l.mean ? LARGE : 0);
        out[j / 4] = (uint8_t)(out[j / 4] | code << 2 * (j % 4));
        *at -= decoded(l.magnitude, code);
    }
}

static size_t put(void *arg, const struct cc_cell *c, uint32_t *guess, uint8_t *out)
{
    const struct job *j = arg;
    const size_t n = c->rows * c->cols, count = count_of(j->p, n);
    float v[CC_CELL];
    uint16_t place[CC_CELL];
    const uint32_t most = cc_cell_load(c, j->cols, j->x, j->residual, (float)j->p->decay, v);
    if (!cc_finite_bits(most))
        return 0;
    cc_cell_pick(v, n, count, most, guess, place);
    put_codes(v, place, count, out);
    if (j->residual != NULL)
        cc_cell_store(c, j->cols, v, j->residual);
    const size_t head = HEAD + code_bytes(count);
    return head + cc_places_put((enum cc_places)j->p->index, place, count, n, out + head);
}

/* --- decoding --- */

/* A chunk's payload, read once. */
struct cell_values {
    size_t count;
    uint16_t place[CC_CELL];
    float value[CC_CELL];
};

/* Returns where the payload ends; 0 with a message if it is refused. */
static size_t get_values(const struct params *p, size_t n, const uint8_t *in, size_t at, size_t len,
                         struct cell_values *to, struct cc_error *e)
{
    float magnitude[2];
    const size_t count = count_of(p, n), head = HEAD + code_bytes(count);
    to->count = 0;
    if (len - at < head) {
        (void)cc_bad_payload(len, e, "the payload ends within a chunk");
        return 0;
    }
    for (size_t i = 0; i < 2; i++) {
        magnitude[i] = cc_from_bf16(cc_get_u16(in + at + 2 * i));
        if (!cc_finite(magnitude[i]) || magnitude[i] < 0) {
            (void)cc_bad_payload(at + 2 * i, e, "the magnitude is %g", (double)magnitude[i]);
            return 0;
        }
    }
    for (size_t j = 0; j < count; j++)
        to->value[j] = decoded(magnitude, (unsigned)in[at + HEAD + j / 4] >> 2 * (j % 4));
    to->count = count;
    return cc_places_read((enum cc_places)p->index, in, at + head, len, count, n, to->place, e);
}

static size_t get(void *arg, const struct cc_cell *c, const uint8_t *in, size_t at, size_t len,
                  struct cc_error *e)
{
    const struct job *j = arg;
    struct cell_values values;
    const size_t end = get_values(j->p, c->rows * c->cols, in, at, len, &values, e);
    float *y = j->y + c->at;
    for (size_t i = 0; i < c->rows && end > 0 && j->scale == NULL; i++)
        memset(y + i * j->cols, 0, c->cols * sizeof *y);
    for (size_t i = 0; end > 0 && i < values.count; i++) {
        const size_t place = values.place[i];
        float *to = y + place / c->cols * j->cols + place % c->cols;
        *to = j->scale == NULL ? values.value[i] : cc_add_scaled(*to, *j->scale, values.value[i]);
    }
    return end;
}

/* --- the descriptor's functions --- */

static struct cc_cell_loop loop_of(struct job *j, const void *params, const struct cc_shape *shape,
                                   int threads)
{
    const struct params *p = params;
    const struct cc_cells cells = cc_cells_make(shape, 0);
    j->p = p;
    j->cols = cells.cols;
    return (struct cc_cell_loop){.cells = cells,
                                 .n = shape->n,
                                 .threads = threads,
                                 .varies = p->index == CC_PLACES_RICE,
                                 .arg = j,
                                 .bytes = cell_bytes,
                                 .put = put,
                                 .get = get};
}

static size_t bound(const void *params, const struct cc_shape *shape)
{
    struct job j;
    const struct cc_cell_loop loop = loop_of(&j, params, shape, 1);
    return cc_cells_bound(&loop);
}

static bool sized_by_shape(const void *params)
{
    return ((const struct params *)params)->index == CC_PLACES_U12;
}

static int encode_from(const struct cc_codec *c, const struct cc_context *ctx, struct cc_elements x,
                       uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    struct job j = {.x = x, .residual = cc_ef_residual(c)};
    const struct cc_cell_loop loop = loop_of(&j, c->params, &c->shape, c->threads);
    return cc_cells_encode(&loop, out, len) ? CC_OK
                                            : cc_refuse_from(ctx, x, j.residual, c->shape.n, e);
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    struct job j = {.scale = scale, .y = y};
    const struct cc_cell_loop loop = loop_of(&j, c->params, &c->shape, c->threads);
    return cc_cells_decode(&loop, in, len, e);
}

static struct cc_pair_cost pair_cost(const void *params)
{
    const struct params *p = params;
    const enum cc_places code = (enum cc_places)p->index;
    return (struct cc_pair_cost){.pair_bits = 2 + cc_places_least(code, (size_t)p->k, CC_CELL)};
}

static size_t cell_count(const void *arg, size_t values)
{
    return count_of(((const struct job *)arg)->p, values);
}

/* Appends a chunk's pairs, with indices in the tensor. */
static size_t get_pairs(void *arg, const struct cc_cell *c, const uint8_t *in, size_t at,
                        size_t len, struct cc_error *e)
{
    struct job *j = arg;
    struct cell_values values;
    const size_t end = get_values(j->p, c->rows * c->cols, in, at, len, &values, e);
    for (size_t i = 0; i < values.count && end > 0; i++) {
        const size_t place = values.place[i];
        *j->pairs++ = (struct cc_index_value){
            (uint32_t)(c->at + place / c->cols * j->cols + place % c->cols), values.value[i]};
    }
    return end;
}

static int to_pairs(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                    size_t len, uint32_t base, struct cc_index_value *out, size_t cap,
                    size_t *count, struct cc_error *e)
{
    (void)ctx;
    struct job j = {.pairs = out};
    struct cc_cell_loop loop = loop_of(&j, c->params, &c->shape, 1);
    const size_t all = cc_cells_bytes(&loop.cells, loop.cells.count, cell_count, &j);
    loop.get = get_pairs;
    CC_TRY(cc_check_pairs_room(all, cap, e));
    CC_TRY(cc_cells_decode(&loop, in, len, e));
    cc_pairs_sort(out, all, c->shape.n);
    for (size_t i = 0; i < all; i++)
        out[i].index += base;
    *count = all;
    return CC_OK;
}

const struct cc_scheme cc_scheme_chunktopk = {
    .id = "chunktopk",
    .title = "the largest of each 64 x 64 chunk, in two bits",
    .reference = "Sarfi et al., SparseLoCo, 2025, section 3 (k = 64 of 4,096)",
    .layout = "per chunk: two bf16 magnitudes, c x 2 bits (sign, class), c places of 12 bits or as "
              "Rice codes",
    .flags = CC_LOSSY | CC_FEEDBACK | CC_SPARSE,
    .kind = CC_PAIRS,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = bound,
    .sized_by_shape = sized_by_shape,
    .traffic = cc_ef_once,
    .state_bytes = cc_ef_state_bytes,
    .encode_from = encode_from,
    .decode = decode,
    .pair_cost = pair_cost,
    .to_pairs = to_pairs,
    .residual_at = cc_ef_residual_at,
};
