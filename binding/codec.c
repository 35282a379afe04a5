/* Codecs for programs: a handle holds a spec, one codec with its memory, and the context that its
 * next call gets. */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/isa.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/tensor.h"
#include "core/utf8.h"
#include "binding/impl.h"

_Static_assert((int)COMMCOMP_PUSH == (int)CC_PUSH && (int)COMMCOMP_PULL == (int)CC_PULL,
               "the same directions");
_Static_assert((int)COMMCOMP_MAX_DIMS == CC_MAX_DIMS, "the same shapes");

static struct cc_error isa_error;
static int isa_status;

static void choose_isa(void)
{
    isa_status = cc_isa_init(&isa_error);
}

int cc_library_begin(struct cc_error *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, choose_isa);
    return isa_status == CC_OK ? CC_OK : cc_fail(e, "%s", isa_error.text);
}

int cc_sender_check(int64_t rank, int direction, struct cc_error *e)
{
    if (rank < -1)
        return cc_usage(e, "rank %lld: -1 is the server, and workers count from 0",
                        (long long)rank);
    if (direction != COMMCOMP_PUSH && direction != COMMCOMP_PULL)
        return cc_usage(e, "direction %d: 0 is push and 1 is pull", direction);
    return CC_OK;
}

int commcomp_codec_new(const char *scheme, const size_t *dims, int ndim,
                       struct commcomp_codec **out, char *error)
{
    static const struct cc_codec_memory memory = {.state = true, .scratch = CC_SHARED};
    struct cc_error *e = cc_error_of(error);
    struct cc_shape shape;
    int status = CC_OK;
    CC_TRY(cc_library_begin(e));
    CC_TRY(cc_shape_make(dims, ndim, &shape, e));
    struct commcomp_codec *c;
    CC_TRY(CC_NEW(c, 1, e));
    c->ctx.seed = 1;
    CC_TRY_OUT(cc_spec_parse(scheme, &c->spec, e));
    CC_TRY_OUT(cc_codec_set_single(&c->set, c->spec, &shape, &memory, e));
    if (c->set.item->bound == SIZE_MAX)
        CC_TRY_OUT(cc_fail(e, "%s: %zu values are too many", c->spec->name, shape.n));
    c->scratch_bytes = c->set.scratch_bytes;
    *out = c;
out:
    if (status != CC_OK)
        commcomp_codec_free(c);
    return status;
}

void commcomp_codec_free(struct commcomp_codec *c)
{
    if (c == NULL)
        return;
    cc_codec_set_free(&c->set);
    cc_spec_free(c->spec);
    free(c->scratch);
    free(c->name);
    free(c);
}

static const struct cc_codec *codec_of(const struct commcomp_codec *c)
{
    return &c->set.item->codec;
}

const char *commcomp_codec_name(const struct commcomp_codec *c)
{
    return c->spec->name;
}

size_t commcomp_codec_values(const struct commcomp_codec *c)
{
    return codec_of(c)->shape.n;
}

unsigned commcomp_codec_flags(const struct commcomp_codec *c)
{
    return cc_spec_flags(c->spec);
}

int commcomp_codec_kind(const struct commcomp_codec *c)
{
    return (int)c->spec->scheme->kind;
}

int commcomp_codec_has_feedback(const struct commcomp_codec *c)
{
    return cc_spec_has_feedback(c->spec);
}

size_t commcomp_codec_period(const struct commcomp_codec *c)
{
    return cc_period(c->spec->scheme, c->spec->params);
}

size_t commcomp_codec_bound(const struct commcomp_codec *c)
{
    return c->set.item->bound;
}

int commcomp_codec_sender(struct commcomp_codec *c, uint64_t seed, int64_t rank, int direction,
                          char *error)
{
    struct cc_error *e = cc_error_of(error);
    CC_TRY(cc_sender_check(rank, direction, e));
    CC_TRY(cc_codec_take(c, e));
    c->ctx.seed = seed;
    c->ctx.rank = rank;
    c->ctx.direction = (enum cc_direction)direction;
    return cc_codec_end(c, CC_OK);
}

int commcomp_codec_tensor(struct commcomp_codec *c, uint64_t index, const char *name, char *error)
{
    struct cc_error *e = cc_error_of(error);
    char *copy = NULL;
    if (name != NULL)
        CC_TRY(cc_text(&copy, e, "%s", name));
    const int status = cc_codec_take(c, e);
    if (status != CC_OK) {
        free(copy);
        return status;
    }
    free(c->name);
    c->name = copy;
    c->ctx.name = copy;
    c->ctx.tensor = index;
    return cc_codec_end(c, CC_OK);
}

int commcomp_codec_threads(struct commcomp_codec *c, int threads, char *error)
{
    struct cc_error *e = cc_error_of(error);
    if (threads < 1)
        return cc_usage(e, "%d threads: at least 1 is needed", threads);
    CC_TRY(cc_parallel_check(threads, e));
    CC_TRY(cc_codec_take(c, e));
    c->set.item->codec.threads = threads;
    return cc_codec_end(c, CC_OK);
}

/* --- steps --- */

static struct cc_context context_of(const struct commcomp_codec *c, uint64_t step)
{
    struct cc_context ctx = c->ctx;
    ctx.step = step;
    return ctx;
}

/* Prepares the codec for gradients of the type: they may need more scratch memory. */
static int set_input(struct commcomp_codec *c, enum cc_element type, struct cc_error *e)
{
    struct cc_codec wanted = *codec_of(c);
    wanted.input = type;
    const size_t bytes = cc_scratch_bytes(&wanted);
    if (bytes > c->scratch_bytes) {
        void *scratch = cc_alloc(bytes, e);
        if (scratch == NULL)
            return CC_FAIL;
        free(c->scratch);
        c->scratch = scratch;
        c->scratch_bytes = bytes;
        wanted.scratch = scratch;
    }
    c->set.item->codec = wanted;
    return CC_OK;
}

static int encode_from(struct commcomp_codec *c, uint64_t step, struct cc_elements x, void *payload,
                       size_t room, size_t *bytes, struct cc_error *e)
{
    const struct cc_context ctx = context_of(c, step);
    if (x.type != CC_ELEMENT_FP32 && x.type != codec_of(c)->input)
        CC_TRY(set_input(c, x.type, e));
    return cc_encode_from(codec_of(c), &ctx, x, payload, room, bytes, e);
}

int commcomp_encode(struct commcomp_codec *c, uint64_t step, const float *x, void *payload,
                    size_t room, size_t *bytes, char *error)
{
    return commcomp_encode_from(c, step, COMMCOMP_F32, x, payload, room, bytes, error);
}

int commcomp_encode_from(struct commcomp_codec *c, uint64_t step, int dtype, const void *x,
                         void *payload, size_t room, size_t *bytes, char *error)
{
    static const enum cc_element types[] = {[COMMCOMP_F32] = CC_ELEMENT_FP32,
                                            [COMMCOMP_F16] = CC_ELEMENT_FP16,
                                            [COMMCOMP_BF16] = CC_ELEMENT_BF16};
    struct cc_error *e = cc_error_of(error);
    if (dtype < 0 || (size_t)dtype >= sizeof types / sizeof *types)
        return cc_usage(e, "dtype %d is none of float32, float16, bfloat16", dtype);
    CC_TRY(cc_codec_take(c, e));
    const struct cc_elements from = {x, types[dtype]};
    return cc_codec_end(c, encode_from(c, step, from, payload, room, bytes, e));
}

int commcomp_decode(struct commcomp_codec *c, uint64_t step, const void *payload, size_t bytes,
                    float *y, char *error)
{
    struct cc_error *e = cc_error_of(error);
    CC_TRY(cc_codec_take(c, e));
    const struct cc_context ctx = context_of(c, step);
    return cc_codec_end(c, cc_decode(codec_of(c), &ctx, payload, bytes, y, e));
}

int commcomp_decode_add(struct commcomp_codec *c, uint64_t step, const void *payload, size_t bytes,
                        float scale, float *y, char *error)
{
    struct cc_error *e = cc_error_of(error);
    CC_TRY(cc_codec_take(c, e));
    const struct cc_context ctx = context_of(c, step);
    return cc_codec_end(c, cc_decode_add(codec_of(c), &ctx, payload, bytes, scale, y, e));
}

size_t commcomp_rounds(const struct commcomp_codec *c)
{
    return cc_sum_rounds(c->spec->scheme, c->spec->params);
}

size_t commcomp_round_bytes(const struct commcomp_codec *c, size_t round)
{
    return cc_round_bytes(codec_of(c), round);
}

/* Fails unless a round is next, to be encoded or to be absorbed; round 0 begins a step any time. */
static int check_next(const struct commcomp_codec *c, uint64_t step, size_t round, bool encoded,
                      struct cc_error *e)
{
    const size_t rounds = commcomp_rounds(c);
    if (rounds == 0)
        return CC_OK; /* which the call refuses */
    if (round >= rounds)
        return cc_usage(e, "round %zu: a step of %s has %zu, counted from 0", round, c->spec->name,
                        rounds);
    if ((round == 0 && !encoded) ||
        (c->rounds.step == step && c->rounds.done == round && c->rounds.encoded == encoded))
        return CC_OK;
    return cc_usage(e,
                    "round %zu of step %llu cannot be %s now: each round of a step, from 0, is "
                    "encoded and then absorbed before the next",
                    round, (unsigned long long)step, encoded ? "absorbed" : "encoded");
}

static int encode_round(struct commcomp_codec *c, uint64_t step, size_t round, const float *x,
                        void *payload, size_t room, size_t *bytes, struct cc_error *e)
{
    const struct cc_context ctx = context_of(c, step);
    CC_TRY(check_next(c, step, round, false, e));
    c->rounds.encoded = false;
    CC_TRY(cc_encode_round(codec_of(c), &ctx, round, x, payload, room, bytes, e));
    c->rounds.step = step;
    c->rounds.done = round;
    c->rounds.encoded = true;
    return CC_OK;
}

static int absorb(struct commcomp_codec *c, uint64_t step, size_t round, const void *sum,
                  size_t bytes, float scale, float *y, struct cc_error *e)
{
    const struct cc_context ctx = context_of(c, step);
    CC_TRY(check_next(c, step, round, true, e));
    CC_TRY(cc_absorb(codec_of(c), &ctx, round, sum, bytes, scale, y, e));
    c->rounds.done++;
    c->rounds.encoded = false;
    return CC_OK;
}

int commcomp_encode_round(struct commcomp_codec *c, uint64_t step, size_t round, const float *x,
                          void *payload, size_t room, size_t *bytes, char *error)
{
    struct cc_error *e = cc_error_of(error);
    CC_TRY(cc_codec_take(c, e));
    return cc_codec_end(c, encode_round(c, step, round, x, payload, room, bytes, e));
}

int commcomp_absorb(struct commcomp_codec *c, uint64_t step, size_t round, const void *sum,
                    size_t bytes, float scale, float *y, char *error)
{
    struct cc_error *e = cc_error_of(error);
    CC_TRY(cc_codec_take(c, e));
    return cc_codec_end(c, absorb(c, step, round, sum, bytes, scale, y, e));
}

/* --- names that a handle keeps for its user --- */

int cc_names_add(struct cc_names *n, const char *name, struct cc_error *e)
{
    size_t bad;
    CC_TRY(cc_tensor_name_check(name, e));
    if (!cc_utf8_valid((const uint8_t *)name, strlen(name), &bad))
        return cc_fail(e, "tensor '%.200s': its name is not UTF-8", name);
    for (size_t i = 0; i < n->count; i++)
        if (strcmp(n->name[i], name) == 0)
            return cc_fail(e, "tensor '%.200s' is there twice", name);
    CC_TRY(CC_GROW(n->name, &n->capacity, n->count + 1, e));
    CC_TRY(cc_text(&n->name[n->count], e, "%s", name));
    n->count++;
    return CC_OK;
}

void cc_names_free(struct cc_names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->name[i]);
    free(n->name);
}
