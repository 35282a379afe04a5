/* exponent: sign and mantissa as they are, exponents coded; nothing is lost. Exponents of gradients
 * and parameters have 2.5 to 3 bits of entropy, signs and mantissas none less than their size, so
 * this is what lossless compression can do with them, at the speed of memory instead of that of an
 * entropy coder.
 *
 * A group of 128 exponents has a base, their mean; the differences from it are ranked in a constant
 * order of frequency, and the ranks are coded by a cascade of stages of 2 bits, or in a window of 4
 * bits, which is larger and of nearly constant size. The mean of a group follows the scale of the
 * values, so that a constant code does as well as one that is fitted to a block. Blocks of 8,192
 * values are coded apart (exponent_block.c), so threads share them.
 *
 * A payload that would not be shorter than the values is the values. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "core/bytes.h"
#include "core/cache.h"
#include "core/copy.h"
#include "core/parallel.h"
#include "schemes/exponent_block.h"
#include "schemes/floats.h"

static const char *const coders[] = {"cascade", "window", NULL};

struct params {
    int64_t coder, type;
};

static const struct cc_param table[] = {
    CC_PARAM_CHOICE(struct params, coder, 0, coders,
                    "cascade: fewest bits; window: 4 bits for each exponent, seldom more"),
    CC_PARAM_CHOICE(struct params, type, 0, cc_number_choices, CC_NUMBER_TYPE_HELP " of a block"),
    {.name = NULL},
};

static struct cc_exponent_form form_of(const void *params, bool any)
{
    const struct params *p = params;
    return (struct cc_exponent_form){
        .type = cc_number_chosen(p->type),
        .coder = (enum cc_exponent_coder)(CC_EXPONENT_CASCADE + p->coder),
        .any = any,
    };
}

static size_t blocks_of(size_t n)
{
    return n / CC_EXPONENT_BLOCK + (n % CC_EXPONENT_BLOCK != 0);
}

/* The sizes of all blocks but the last, u32 each, precede the blocks. */
static size_t table_bytes(size_t n)
{
    return sizeof(uint32_t) * (blocks_of(n) - 1);
}

static size_t bound(const void *params, const struct cc_shape *shape)
{
    (void)params;
    const size_t blocks = blocks_of(shape->n);
    return cc_bytes_sum(cc_float_bytes(shape->n), cc_bytes_product(blocks, 1 + sizeof(uint32_t)));
}

/* Blocks that a thread encodes at a time, where several do. Fewer are copied to their places more
 * often; more need more scratch memory, and leave the second-level cache. */
#define RUN        4
#define RUN_VALUES ((size_t)RUN * CC_EXPONENT_BLOCK)

/* How often a thread looks whether its turn has come before it gives its core away: about twice as
 * long as a run takes. Where cores are wanted by others, giving it away costs milliseconds. */
#define PATIENCE 100000

/* Scratch memory of a thread: for a block, and for the bytes of a run. */
struct desk {
    struct cc_exponent_room room;
    alignas(CC_ALIGN) uint8_t run[RUN * (1 + CC_EXPONENT_BLOCK * sizeof(float))];
};

static int most_parts(size_t n)
{
    return cc_parts(CC_PARTS_MAX, n, CC_PART_VALUES);
}

/* For any number of threads, as sizes must not depend on it. A tensor of one part has no runs. */
static size_t scratch_bytes(const void *params, const struct cc_shape *shape)
{
    (void)params;
    return most_parts(shape->n) == 1 ? sizeof(struct cc_exponent_room)
                                     : sizeof(struct desk) * (size_t)most_parts(shape->n);
}

/* The scratch memory for a block of a thread. */
static struct cc_exponent_room *room_of(void *scratch, int part)
{
    return &((struct desk *)scratch)[part].room;
}

/* --- encoding --- */

struct encoding {
    struct cc_exponent_form form;
    bool large; /* than the cache */
    struct cc_elements x;
    uint8_t *out;
    void *scratch;
    size_t n;
    atomic_size_t next;  /* run, which no thread has begun */
    atomic_size_t ready; /* runs whose place is known */
    size_t end;          /* of these */
    atomic_bool refused;
};

/* Encodes the blocks from value `begin` on to `out`; returns their bytes, 0: a value is refused. */
static size_t encode_blocks(const struct encoding *w, size_t begin, size_t end,
                            struct cc_exponent_room *room, uint8_t *out)
{
    uint8_t *at = out;
    for (size_t i = begin; i < end; i += CC_EXPONENT_BLOCK) {
        const size_t n = cc_smaller(end - i, CC_EXPONENT_BLOCK);
        const struct cc_elements x = cc_elements_from(w->x, i);
        const size_t bytes = x.type == CC_ELEMENT_FP32
                                 ? cc_exponent_put_block(&w->form, x.at, n, w->large, room, at)
                                 : cc_exponent_put_half(&w->form, x, n, w->large, room, at);
        if (bytes == 0)
            return 0;
        if (i + n < w->n)
            cc_put_u32(w->out + i / CC_EXPONENT_BLOCK * sizeof(uint32_t), (uint32_t)bytes);
        at += bytes;
    }
    return (size_t)(at - out);
}

/* Waits until the places of the runs before are known, and takes the place after them. Their
 * threads are at work, as runs are begun in order, so that this takes no longer than a run. */
static size_t take_place(struct encoding *w, size_t run, size_t bytes)
{
    for (size_t looks = 0; atomic_load_explicit(&w->ready, memory_order_acquire) != run; looks++)
        if (looks > PATIENCE)
            (void)sched_yield();
    const size_t at = w->end;
    w->end += bytes;
    atomic_store_explicit(&w->ready, run + 1, memory_order_release);
    return at;
}

/* Encodes runs, each in the cache, from where it is copied to its place: blocks differ in size, so
 * that is known when those before are encoded. Measured (Zen 5, two threads, 64 MB of float32, a
 * copy at 39 GB/s): 25 GB/s, and 20 if the copies are non-temporal, or if each thread encodes one
 * half in place and the second half is then moved. One thread is faster in place: 16 GB/s, and 14
 * by copies (a copy: 21). */
static void encode_runs(void *arg, int part)
{
    struct encoding *w = arg;
    struct desk *desk = (struct desk *)w->scratch + part;
    for (;;) {
        const size_t run = atomic_fetch_add(&w->next, 1), begin = run * RUN_VALUES;
        if (begin >= w->n)
            break;
        const size_t end = cc_smaller(w->n - begin, RUN_VALUES) + begin;
        const size_t bytes =
            atomic_load(&w->refused) ? 0 : encode_blocks(w, begin, end, &desk->room, desk->run);
        if (bytes == 0)
            atomic_store(&w->refused, true);
        memcpy(w->out + take_place(w, run, bytes), desk->run, bytes);
    }
}

static int encode_from(const struct cc_codec *c, const struct cc_context *ctx, struct cc_elements x,
                       uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    (void)cap;
    const size_t n = c->shape.n;
    const int parts = cc_parts(c->threads, n, CC_PART_VALUES);
    struct encoding w = {.form = form_of(c->params, cc_passes(c, ctx)),
                         .large = cc_use_nontemporal(2 * cc_elements_bytes(x, n)),
                         .x = x,
                         .out = out,
                         .scratch = c->scratch,
                         .n = n,
                         .end = table_bytes(n)};
    if (parts > 1) {
        cc_parallel(parts, encode_runs, &w);
    } else {
        const size_t bytes = encode_blocks(&w, 0, n, c->scratch, out + w.end);
        w.end += bytes;
        atomic_store(&w.refused, bytes == 0);
    }
    if (atomic_load(&w.refused))
        return cc_refuse_from(ctx, x, NULL, n, e);
    *len = w.end;
    return w.end < cc_float_bytes(n)
               ? CC_OK
               : cc_floats_encode(k_stream(), sizeof(float), c, ctx, x, out, len, e);
}

/* --- decoding --- */

struct decoding {
    const uint8_t *in;
    const float *scale;
    float *y;
    void *scratch;
    size_t len, n;
    bool large; /* than the cache */
    int parts;
    size_t bad[CC_PARTS_MAX]; /* the first value of the first bad block; n: none */
};

/* The bytes of the block of value i, which begins at payload[at]. */
static size_t block_bytes(const struct decoding *w, size_t i, size_t at)
{
    if (w->n - i <= CC_EXPONENT_BLOCK)
        return w->len - at;
    return cc_once(cc_get_u32(w->in + i / CC_EXPONENT_BLOCK * sizeof(uint32_t)));
}

/* Where the block of value i begins; SIZE_MAX if that is not in the payload. */
static size_t block_begin(const struct decoding *w, size_t i)
{
    size_t at = table_bytes(w->n);
    for (size_t b = 0; b < i; b += CC_EXPONENT_BLOCK)
        at = cc_bytes_sum(at, block_bytes(w, b, at));
    return at <= w->len ? at : SIZE_MAX;
}

static int decode_block(const struct decoding *w, size_t i, size_t *at, int part,
                        struct cc_error *e)
{
    const size_t n = cc_smaller(w->n - i, CC_EXPONENT_BLOCK), bytes = block_bytes(w, i, *at);
    if (bytes > w->len - *at)
        return cc_bad_payload(i / CC_EXPONENT_BLOCK * sizeof(uint32_t), e,
                              "a block of %zu bytes, but only %zu follow", bytes, w->len - *at);
    CC_TRY(cc_exponent_get_block(w->in, *at, bytes, n, w->scale, w->large,
                                 room_of(w->scratch, part), w->y + i, e));
    *at += bytes;
    return CC_OK;
}

static void decode_part(void *arg, int part)
{
    struct decoding *w = arg;
    const size_t begin = cc_part_begin(w->n, w->parts, part, CC_EXPONENT_BLOCK);
    const size_t end = cc_part_begin(w->n, w->parts, part + 1, CC_EXPONENT_BLOCK);
    size_t at = block_begin(w, begin), i = begin;
    if (at != SIZE_MAX)
        while (i < end && decode_block(w, i, &at, part, NULL) == CC_OK)
            i += CC_EXPONENT_BLOCK;
    w->bad[part] = i < end ? i : w->n;
    k_copy()->fence();
}

/* Decodes the blocks up to the first bad one again, for its message. */
static int refuse_bad(struct decoding *w, struct cc_error *e)
{
    size_t at = table_bytes(w->n), bad = w->n;
    for (int p = 0; p < w->parts; p++)
        bad = cc_smaller(bad, w->bad[p]);
    if (bad == w->n)
        return CC_OK;
    for (size_t i = 0; i < bad; i += CC_EXPONENT_BLOCK) {
        const size_t bytes = block_bytes(w, i, at);
        if (bytes > w->len - at)
            return cc_bad_payload(i / CC_EXPONENT_BLOCK * sizeof(uint32_t), e,
                                  "a block of %zu bytes, but only %zu follow", bytes, w->len - at);
        at += bytes;
    }
    CC_TRY(decode_block(w, bad, &at, 0, e));
    return cc_changed_payload(e);
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    (void)ctx;
    const size_t n = c->shape.n;
    if (len == n * sizeof *y)
        return cc_floats_decode(k_stream(), sizeof *y, c, in, len, scale, y, e);
    if (len < table_bytes(n))
        return cc_bad_payload(len, e, "the payload ends in the sizes of the blocks");
    struct decoding w = {.in = in,
                         .scale = scale,
                         .y = y,
                         .scratch = c->scratch,
                         .len = len,
                         .n = n,
                         .large = cc_use_nontemporal(n * sizeof *y + len),
                         .parts = cc_parts(c->threads, n, CC_PART_VALUES)};
    cc_parallel(w.parts, decode_part, &w);
    return refuse_bad(&w, e);
}

static double entropy(const void *params, const float *x, size_t n)
{
    return cc_exponent_entropy(form_of(params, false).type, x, n);
}

const struct cc_scheme cc_scheme_exponent = {
    .id = "exponent",
    .title = "lossless: exponents coded, the rest as it is",
    .reference = "after Hershcovitch et al. 2024, ZipNN, section 3",
    .layout = "per 8,192 values: signs and mantissas, bases of 128 exponents, codes, escapes",
    .flags = 0,
    .kind = CC_OPAQUE,
    .params = table,
    .params_bytes = sizeof(struct params),
    .bound = bound,
    .scratch_bytes = scratch_bytes,
    .traffic = cc_reads_once,
    .encode_from = encode_from,
    .decode = decode,
    .entropy = entropy,
};
