/* demo: the largest cosine coefficients of each chunk of a matrix, with momentum as residual.
 *
 * The state is the momentum m. In each step m = decay m + gradient; the DCT-II of each chunk of up
 * to side x side values (cells.h) has k coefficients of largest magnitude, which are sent; and what
 * they decode to is taken out of m. So the slow, large components of the momentum leave at once,
 * and the rest stays until it has grown or decayed. signs=1 sends signs, and the chunk's mean
 * magnitude instead of each.
 *
 * Decoding sums over few rows of coefficients and is fast; encoding computes 64 products a value
 * (kernels/cosine.h). The optimizer's share of DeMo, the sign of the workers' mean, is the
 * optimizer's here, too (signum).
 *
 * Source: Peng, Quesnelle, Kingma, Decoupled Momentum Optimization, 2024, algorithm 1 (decay 0.999,
 * chunks of 64, k = 32). Chunks of a shorter side than 64 send a share of k in proportion. */
#include "core/memory.h"
#include "core/reduce.h"
#include "schemes/basis.h"
#include "schemes/cells.h"
#include "schemes/kernels/bitarray.h"
#include "schemes/kernels/stream.h"
#include "schemes/places.h"
#include "schemes/scheme.h"

struct params {
    int64_t k, side, signs, index;
    double decay;
};

static const struct cc_param table[] = {
    CC_PARAM_INT(struct params, k, 32, 1, CC_CELL, "coefficients",
                 "coefficients sent of a chunk of side x side, and in proportion of smaller ones"),
    CC_PARAM_INT(struct params, side, 64, 2, CC_BASIS, "values", "the longest side of a chunk"),
    CC_PARAM_REAL(struct params, decay, 0.999, 0, 1, "", "the momentum's factor in each step"),
    CC_PARAM_FLAG(struct params, signs, 0,
                  "send signs, and the chunk's mean magnitude instead of each"),
    CC_PARAM_PLACES(struct params),
    {.name = NULL},
};

static int check(const void *params, struct cc_error *e)
{
    const struct params *p = params;
    if (p->k <= p->side * p->side)
        return CC_OK;
    return cc_usage(e, "k=%lld is more than a chunk of %lld x %lld has; lower k or raise side",
                    (long long)p->k, (long long)p->side, (long long)p->side);
}

/* --- bases --- */

/* Parts of a side have at most two lengths. */
struct bases {
    struct cc_basis of[4];
};

static void make_bases(struct bases *b, const struct cc_cells *c)
{
    cc_basis_make(&b->of[0], c->down.length);
    cc_basis_make(&b->of[2], c->across.length);
    if (c->down.longer > 0)
        cc_basis_make(&b->of[1], c->down.length + 1);
    if (c->across.longer > 0)
        cc_basis_make(&b->of[3], c->across.length + 1);
}

struct job {
    const struct params *p;
    struct cc_cells cells;
    struct bases *bases;
    struct cc_elements x; /* encode */
    float *momentum;
    const float *scale; /* decode; NULL: values are set */
    float *y;
};

static const struct cc_basis *down_of(const struct job *j, const struct cc_cell *c)
{
    return &j->bases->of[c->rows != j->cells.down.length];
}

static const struct cc_basis *across_of(const struct job *j, const struct cc_cell *c)
{
    return &j->bases->of[2 + (c->cols != j->cells.across.length)];
}

/* --- payload --- */

static size_t count_of(const struct params *p, size_t values)
{
    return cc_cell_share((size_t)p->k, values, (size_t)(p->side * p->side));
}

/* Before the places. */
static size_t value_bytes(const struct params *p, size_t count)
{
    return p->signs == 0 ? count * sizeof(float) : sizeof(float) + cc_bit_bytes(count);
}

static size_t cell_bytes(const void *arg, size_t values)
{
    const struct params *p = ((const struct job *)arg)->p;
    const size_t count = count_of(p, values);
    return value_bytes(p, count) + cc_places_bound((enum cc_places)p->index, count, values);
}

/* Writes the coefficients, and sets them to what they decode to. */
static void put_values(const struct params *p, float *q, size_t count, uint8_t *out)
{
    if (p->signs == 0) {
        memcpy(out, q, count * sizeof *q);
        return;
    }
    double sum = 0;
    for (size_t j = 0; j < count; j++)
        sum += (double)__builtin_fabsf(q[j]);
    const float mean = (float)(sum / (double)count);
    cc_put_f32(out, mean);
    out += sizeof mean;
    memset(out, 0, cc_bit_bytes(count));
    for (size_t j = 0; j < count; j++) {
        const unsigned bit = q[j] >= 0;
        out[j / 8] = (uint8_t)(out[j / 8] | bit << j % 8);
        q[j] = bit ? mean : -mean;
    }
}

static size_t put(void *arg, const struct cc_cell *c, uint32_t *guess, uint8_t *out)
{
    const struct job *j = arg;
    const struct params *p = j->p;
    const struct cc_basis *down = down_of(j, c), *across = across_of(j, c);
    const size_t n = c->rows * c->cols, count = count_of(p, n);
    float v[CC_CELL], y[CC_CELL], q[CC_CELL];
    uint16_t place[CC_CELL];
    if (!cc_finite_bits(cc_cell_load(c, j->cells.cols, j->x, j->momentum, (float)p->decay, v)))
        return 0;
    k_cosine()->forward(down, across, v, y);
    const uint32_t most = k_reduce()->absmax(y, n);
    if (!cc_finite_bits(most))
        return 0;
    cc_cell_pick(y, n, count, most, guess, place);
    for (size_t i = 0; i < count; i++)
        q[i] = y[place[i]];
    put_values(p, q, count, out);
    k_cosine()->inverse(down, across, place, q, count, y);
    k_stream()->add((const uint8_t *)y, -1.0f, v, n);
    if (!cc_finite_bits(k_reduce()->absmax(v, n)))
        return 0;
    cc_cell_store(c, j->cells.cols, v, j->momentum);
    const size_t head = value_bytes(p, count);
    return head + cc_places_put((enum cc_places)p->index, place, count, n, out + head);
}

/* Reads `count` coefficients; false with a message if they are refused. */
static bool get_values(const struct params *p, size_t count, const uint8_t *in, size_t at, float *q,
                       struct cc_error *e)
{
    if (p->signs == 0) {
        memcpy(q, in + at, count * sizeof *q);
        return true;
    }
    const float mean = cc_get_f32(in + at);
    if (!cc_finite(mean) || mean < 0) {
        (void)cc_bad_payload(at, e, "the mean magnitude is %g", (double)mean);
        return false;
    }
    const uint8_t *bits = in + at + sizeof mean;
    for (size_t j = 0; j < count; j++)
        q[j] = (bits[j / 8] >> j % 8 & 1) != 0 ? mean : -mean;
    return true;
}

static void put_cell(const struct job *j, const struct cc_cell *c, const float *y)
{
    const size_t cols = j->cells.cols;
    if (j->scale == NULL) {
        cc_cell_store(c, cols, y, j->y);
        return;
    }
    for (size_t i = 0; i < c->rows; i++)
        k_stream()->add((const uint8_t *)(y + i * c->cols), *j->scale, j->y + c->at + i * cols,
                        c->cols);
}

static size_t get(void *arg, const struct cc_cell *c, const uint8_t *in, size_t at, size_t len,
                  struct cc_error *e)
{
    const struct job *j = arg;
    const struct params *p = j->p;
    const size_t n = c->rows * c->cols, count = count_of(p, n), head = value_bytes(p, count);
    float y[CC_CELL], q[CC_CELL];
    uint16_t place[CC_CELL];
    if (len - at < head) {
        (void)cc_bad_payload(len, e, "the payload ends within a chunk");
        return 0;
    }
    if (!get_values(p, count, in, at, q, e))
        return 0;
    const size_t end =
        cc_places_read((enum cc_places)p->index, in, at + head, len, count, n, place, e);
    if (end == 0)
        return 0;
    k_cosine()->inverse(down_of(j, c), across_of(j, c), place, q, count, y);
    put_cell(j, c, y);
    return end;
}

/* --- the descriptor's functions --- */

static struct cc_cell_loop loop_of(struct job *j, const void *params, const struct cc_shape *shape,
                                   int threads)
{
    const struct params *p = params;
    j->p = p;
    j->cells = cc_cells_make(shape, (size_t)p->side);
    return (struct cc_cell_loop){.cells = j->cells,
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

static struct cc_traffic traffic(const void *params)
{
    (void)params;
    return cc_traffic_one(1);
}

static size_t state_bytes(const void *params, const struct cc_shape *shape)
{
    (void)params;
    return cc_float_bytes(shape->n);
}

static size_t residual_at(const void *params, const struct cc_shape *shape)
{
    (void)params;
    (void)shape;
    return 0;
}

static size_t scratch_bytes(const void *params, const struct cc_shape *shape)
{
    (void)params;
    (void)shape;
    return sizeof(struct bases);
}

static int encode_from(const struct cc_codec *c, const struct cc_context *ctx, struct cc_elements x,
                       uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    struct job j = {.x = x, .momentum = c->state, .bases = c->scratch};
    const struct cc_cell_loop loop = loop_of(&j, c->params, &c->shape, c->threads);
    make_bases(j.bases, &j.cells);
    return cc_cells_encode(&loop, out, len) ? CC_OK
                                            : cc_refuse_from(ctx, x, j.momentum, c->shape.n, e);
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    struct job j = {.scale = scale, .y = y, .bases = c->scratch};
    const struct cc_cell_loop loop = loop_of(&j, c->params, &c->shape, c->threads);
    make_bases(j.bases, &j.cells);
    return cc_cells_decode(&loop, in, len, e);
}

const struct cc_scheme cc_scheme_demo = {
    .id = "demo",
    .title = "the largest cosine coefficients of each chunk",
    .reference = "Peng, Quesnelle, Kingma, Decoupled Momentum Optimization, 2024, algorithm 1",
    .layout = "per chunk: c x f32, or f32 mean magnitude and c signs; c places of 12 bits or as "
              "Rice codes",
    .flags = CC_LOSSY | CC_FEEDBACK,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .check = check,
    .bound = bound,
    .sized_by_shape = sized_by_shape,
    .traffic = traffic,
    .state_bytes = state_bytes,
    .scratch_bytes = scratch_bytes,
    .encode_from = encode_from,
    .decode = decode,
    .residual_at = residual_at,
};
