#include "netsim/message/pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/message/pack_virtual.h"
#include "netsim/message/size_index.h"

/* The head's first byte. */
enum { BOUNDS = 0, TABLE = 1 };

/* A length as LEB128: seven bits a byte, the lowest first, the top bit set in all but the last. */
enum { MOST_LEB = 10 };

struct part {
    struct cc_codec codec;
    struct cc_context ctx; /* without the step */
    size_t at;             /* in x and y */
    size_t bound, len;     /* bytes of the payload: at most, and as encoded last */
    bool raw;
};

struct loaded {
    struct cc_pack base;
    struct part *part;
    size_t parts, values;
    size_t payload_bound; /* of all */
    size_t table_bound;
    bool decodes_only;
    void *states, *scratch;
};

/* --- pieces --- */

size_t cc_part_at(size_t from, size_t to, size_t part, size_t parts)
{
    const size_t unit = 512, n = to - from;
    if (part >= parts)
        return to;
    /* The first of n mod parts parts are one longer; then down to whole units. */
    size_t each = n / parts, rest = n % parts;
    size_t begin = each * part + (part < rest ? part : rest);
    return from + begin / unit * unit;
}

/* What tensor i has of [from, to). */
static struct cc_slice piece_of(const struct cc_job *job, size_t i, size_t from, size_t to)
{
    size_t begin = job->offset[i], end = job->offset[i + 1];
    size_t low = begin > from ? begin : from, high = end < to ? end : to;
    return (struct cc_slice){
        .tensor = i, .begin = low - begin, .count = high > low ? high - low : 0};
}

/* The tensor in which value `at` of the step is; of several that begin there, any. */
static size_t tensor_at(const struct cc_job *job, size_t at)
{
    size_t low = 0, high = job->tensors;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (job->offset[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int cc_slices(const struct cc_job *job, size_t from, size_t to, struct cc_slice **out,
              size_t *count, struct cc_error *e)
{
    size_t k = 0;
    if (from > to || to > cc_job_values(job))
        return cc_fail(e, "values %zu to %zu of a step of %zu", from, to, cc_job_values(job));
    const size_t first = tensor_at(job, from);
    size_t end = first;
    while (end < job->tensors && job->offset[end] < to)
        end++;
    struct cc_slice *slice = cc_alloc((end - first) * sizeof *slice, e);
    if (slice == NULL)
        return CC_FAIL;
    for (size_t i = first; i < end; i++) {
        struct cc_slice p = piece_of(job, i, from, to);
        if (p.count > 0)
            slice[k++] = p;
    }
    *out = slice;
    *count = k;
    return CC_OK;
}

/* --- making --- */

static int set_part(const struct cc_pack_config *config, const struct cc_slice *p,
                    struct part *part, struct cc_error *e)
{
    const struct cc_job *job = config->job;
    if (p->tensor >= job->tensors)
        return cc_fail(e, "a piece of tensor %zu of %zu", p->tensor, job->tensors);
    const struct cc_job_tensor *t = &job->tensor[p->tensor];
    if (p->begin > t->shape.n || p->count > t->shape.n - p->begin)
        return cc_fail(e, "tensor '%s': a piece from value %zu to %zu of %zu", t->name, p->begin,
                       p->begin + p->count, t->shape.n);
    const size_t at = job->offset[p->tensor] + p->begin;
    if (at < config->origin)
        return cc_fail(e, "tensor '%s': a piece at value %zu of the step, which begins at %zu",
                       t->name, at, config->origin);
    const struct cc_spec *spec = t->raw ? config->raw : config->spec;
    part->codec = (struct cc_codec){
        .scheme = spec->scheme,
        .params = spec->params,
        .shape = p->count == t->shape.n ? t->shape : cc_shape_flat(p->count),
    };
    part->ctx = (struct cc_context){.seed = config->seed,
                                    .rank = config->rank,
                                    .direction = config->direction,
                                    .tensor = p->tensor,
                                    .offset = p->begin,
                                    .name = t->name};
    part->at = at - config->origin;
    part->raw = t->raw;
    part->bound = cc_bound(&part->codec);
    return CC_OK;
}

/* The sums of the sizes, and in *states and *scratch the bytes that the codecs need. */
static int add_up(struct loaded *c, size_t *states, size_t *scratch, struct cc_error *e)
{
    bool over = false;
    *states = *scratch = 0;
    for (size_t i = 0; i < c->parts; i++) {
        const struct part *p = &c->part[i];
        size_t room = cc_scratch_bytes(&p->codec), state = cc_state_bytes(&p->codec);
        c->values += p->codec.shape.n;
        c->table_bound += cc_leb_bytes(p->bound);
        over |= __builtin_add_overflow(c->payload_bound, p->bound, &c->payload_bound);
        over |= __builtin_add_overflow(state, CC_ALIGN - 1, &state);
        over |= __builtin_add_overflow(*states, state / CC_ALIGN * CC_ALIGN, states);
        *scratch = room > *scratch ? room : *scratch;
    }
    size_t all;
    if (over || __builtin_add_overflow(c->payload_bound, 1 + c->table_bound, &all))
        return cc_fail(e, "the payloads of %zu values have no bound that fits into memory",
                       c->values);
    return CC_OK;
}

static int give_memory(struct loaded *c, size_t states, size_t scratch, struct cc_error *e)
{
    c->scratch = cc_alloc(scratch, e);
    if (c->scratch == NULL)
        return CC_FAIL;
    c->states = c->decodes_only ? NULL : cc_alloc0(states, e);
    if (c->states == NULL && !c->decodes_only)
        return CC_FAIL;
    char *at = c->states;
    for (size_t i = 0; i < c->parts; i++) {
        struct cc_codec *codec = &c->part[i].codec;
        size_t bytes = cc_state_bytes(codec);
        codec->scratch = c->scratch;
        if (c->decodes_only)
            continue;
        codec->state = bytes > 0 ? at : NULL;
        at += (bytes + CC_ALIGN - 1) / CC_ALIGN * CC_ALIGN;
        cc_codec_reset(codec);
    }
    return CC_OK;
}

/* In proportion to the values. A pull is decoded onto the model only. */
static void add_costs(const struct cc_pack_config *config, const struct cc_slice *slice,
                      size_t slices, double *cost)
{
    const bool pull = config->direction == CC_PULL,
               known = config->row != NULL && config->row->cost != NULL;
    for (int op = 0; op < CC_PACK_OPS; op++)
        cost[op] = known ? 0 : (double)NAN;
    for (size_t i = 0; i < slices && known; i++) {
        const struct cc_job_cost *whole = &config->row->cost[slice[i].tensor];
        const size_t n = config->job->tensor[slice[i].tensor].shape.n;
        const double part = n > 0 ? (double)slice[i].count / (double)n : 0;
        cost[CC_PACK_ENCODE] += part * (pull ? whole->pull_encode_s : whole->encode_s);
        cost[CC_PACK_DECODE] += part * (pull ? whole->pull_decode_s : whole->decode_s);
        cost[CC_PACK_ADD] += part * (pull ? whole->pull_decode_s : whole->add_s);
    }
}

static int make_loaded(const struct cc_pack_config *config, const struct cc_slice *slice,
                       size_t slices, struct cc_pack **out, struct cc_error *e)
{
    size_t states, scratch;
    struct loaded *c = cc_alloc0(sizeof *c, e);
    if (c == NULL)
        return CC_FAIL;
    c->decodes_only = config->decodes_only;
    c->parts = slices;
    c->part = cc_alloc0(slices * sizeof *c->part, e);
    int status = c->part == NULL ? CC_FAIL : CC_OK;
    for (size_t i = 0; i < slices && status == CC_OK; i++)
        status = set_part(config, &slice[i], &c->part[i], e);
    if (status == CC_OK)
        status = add_up(c, &states, &scratch, e);
    if (status == CC_OK)
        status = give_memory(c, states, scratch, e);
    if (status == CC_OK)
        *out = &c->base;
    else
        cc_pack_free(&c->base);
    return status;
}

int cc_pack_make(const struct cc_pack_config *config, const struct cc_slice *slice, size_t slices,
                 struct cc_pack **out, struct cc_error *e)
{
    int status = config->job->data ? make_loaded(config, slice, slices, out, e)
                                   : cc_virtual_pack_make(config, slice, slices, out, e);
    if (status == CC_OK)
        add_costs(config, slice, slices, (*out)->cost);
    return status;
}

void cc_pack_free(struct cc_pack *c)
{
    if (c != NULL && !c->sized) {
        struct loaded *l = (struct loaded *)c;
        free(l->part);
        free(l->states);
        free(l->scratch);
    }
    free(c);
}

static const struct loaded *loaded_of(const struct cc_pack *c)
{
    return (const struct loaded *)c;
}

size_t cc_pack_bound(const struct cc_pack *c)
{
    return c->sized ? cc_virtual_pack_bound(c)
                    : loaded_of(c)->payload_bound + 1 + loaded_of(c)->table_bound;
}

size_t cc_pack_size(const struct cc_pack *c, int64_t rank, uint64_t step)
{
    return c->sized ? cc_virtual_pack_bytes(c, rank, step) : 0;
}

double cc_pack_cost(const struct cc_pack *c, enum cc_pack_op op)
{
    return c->cost[op];
}

/* --- encoding --- */

static size_t put_leb(uint8_t *out, size_t v)
{
    size_t at = 0;
    for (; v >= 0x80; v >>= 7)
        out[at++] = (uint8_t)(v | 0x80);
    out[at++] = (uint8_t)v;
    return at;
}

/* Payloads one after the other; *full: all were as long as their bounds. */
static int encode_parts(struct loaded *c, uint64_t step, const float *x, uint8_t *out, size_t *len,
                        bool *full, struct cc_error *e)
{
    int status = CC_OK;
    *len = 0;
    *full = true;
    for (size_t i = 0; i < c->parts && status == CC_OK; i++) {
        struct part *p = &c->part[i];
        struct cc_context ctx = p->ctx;
        ctx.step = step;
        status = cc_encode(&p->codec, &ctx, x + p->at, out + *len, p->bound, &p->len, e);
        *len += p->len;
        *full = *full && p->len == p->bound;
    }
    return status;
}

static int refuse_stateless(struct cc_error *e)
{
    return cc_fail(e, "a crate that only decodes was asked to encode");
}

/* Puts the table before the payloads, which lie behind the head's first byte. */
static size_t insert_table(const struct loaded *c, uint8_t *out, size_t payloads)
{
    size_t table = 0;
    for (size_t i = 0; i < c->parts; i++)
        table += cc_leb_bytes(c->part[i].len);
    memmove(out + 1 + table, out + 1, payloads);
    size_t at = 1;
    for (size_t i = 0; i < c->parts; i++)
        at += put_leb(out + at, c->part[i].len);
    return at;
}

int cc_pack_encode(struct cc_pack *of, uint64_t step, const float *x, uint8_t *out, size_t *len,
                   size_t *head, struct cc_error *e)
{
    struct loaded *c = (struct loaded *)of;
    bool full;
    size_t payloads;
    if (of->sized) {
        cc_virtual_pack_encode(of, step, len, head);
        return CC_OK;
    }
    if (c->decodes_only)
        return refuse_stateless(e);
    int status = encode_parts(c, step, x, out + 1, &payloads, &full, e);
    if (status != CC_OK)
        return status;
    out[0] = full ? BOUNDS : TABLE;
    *head = full ? 1 : insert_table(c, out, payloads);
    *len = *head + payloads;
    return CC_OK;
}

void cc_pack_count(const struct cc_pack *of, uint64_t *tensor_bytes)
{
    const struct loaded *c = loaded_of(of);
    if (of->sized) {
        cc_virtual_pack_count(of, tensor_bytes);
        return;
    }
    for (size_t i = 0; i < c->parts; i++)
        tensor_bytes[c->part[i].ctx.tensor] += c->part[i].len;
}

/* --- decoding --- */

/* A crate as it is read: what comes next of the table and of the payloads. */
struct reader {
    const uint8_t *in;
    size_t len;
    size_t table, payload; /* offsets */
    bool listed;           /* or else all payloads are as long as their bounds */
};

static int bad_head(size_t offset, struct cc_error *e, const char *what)
{
    return cc_fail(e, "crate, byte %zu: %s", offset, what);
}

static int get_leb(const uint8_t *in, size_t len, size_t *at, size_t *out, struct cc_error *e)
{
    const size_t begin = *at;
    uint64_t v = 0;
    for (unsigned i = 0; i < MOST_LEB && *at < len; i++) {
        uint8_t byte = in[(*at)++];
        if (i == MOST_LEB - 1 && byte > 1)
            return bad_head(begin, e, "a length beyond 64 bits");
        v |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte == 0 && i > 0)
            return bad_head(begin, e, "a length that is longer than it needs to be");
        if (byte < 0x80) {
            *out = v;
            return CC_OK;
        }
    }
    return bad_head(begin, e, "the table of lengths is cut off");
}

static int bad_total(const struct reader *r, size_t want, struct cc_error *e)
{
    return cc_fail(e, "crate, byte %zu: %zu bytes of payload, not %zu", r->payload,
                   r->len - r->payload, want);
}

static int open_table(const struct loaded *c, struct reader *r, struct cc_error *e)
{
    size_t at = 1, total = 0;
    for (size_t i = 0; i < c->parts; i++) {
        const struct part *p = &c->part[i];
        size_t begin = at, n = 0;
        int status = get_leb(r->in, r->len, &at, &n, e);
        if (status == CC_OK && n > p->bound)
            status = cc_fail(e, "crate, byte %zu: a payload of %zu bytes where %zu are the most",
                             begin, n, p->bound);
        if (status != CC_OK) {
            cc_error_in(e, "tensor '%s' from value %llu", p->ctx.name,
                        (unsigned long long)p->ctx.offset);
            return status;
        }
        total += n; /* at most payload_bound */
    }
    r->listed = true;
    r->table = 1;
    r->payload = at;
    return total == r->len - at ? CC_OK : bad_total(r, total, e);
}

static int open_reader(const struct loaded *c, const uint8_t *in, size_t len, struct reader *r,
                       struct cc_error *e)
{
    *r = (struct reader){.in = in, .len = len, .payload = 1};
    if (len == 0)
        return bad_head(0, e, "it is empty");
    if (in[0] == TABLE)
        return open_table(c, r, e);
    if (in[0] != BOUNDS)
        return cc_fail(e, "crate, byte 0: %u, which is neither %d nor %d", in[0], BOUNDS, TABLE);
    return len - 1 == c->payload_bound ? CC_OK : bad_total(r, c->payload_bound, e);
}

/* How long the payload of the next part is; the table was checked. */
static size_t next_length(struct reader *r, const struct part *p)
{
    size_t n = 0;
    if (!r->listed)
        return p->bound;
    (void)get_leb(r->in, r->payload, &r->table, &n, NULL);
    return n;
}

/* Decodes onto y, or in its place. */
static int decode_parts(const struct loaded *c, uint64_t step, struct reader *r, const float *scale,
                        float *y, struct cc_error *e)
{
    for (size_t i = 0; i < c->parts; i++) {
        const struct part *p = &c->part[i];
        struct cc_context ctx = p->ctx;
        ctx.step = step;
        const size_t n = next_length(r, p);
        const uint8_t *in = r->in + r->payload;
        int status = scale == NULL ? cc_decode(&p->codec, &ctx, in, n, y + p->at, e)
                                   : cc_decode_add(&p->codec, &ctx, in, n, *scale, y + p->at, e);
        if (status != CC_OK) {
            cc_error_in(e, "tensor '%s' from value %llu", p->ctx.name,
                        (unsigned long long)p->ctx.offset);
            return status;
        }
        r->payload += n;
    }
    return CC_OK;
}

int cc_pack_decode(const struct cc_pack *of, uint64_t step, const uint8_t *in, size_t len, float *y,
                   struct cc_error *e)
{
    struct reader r;
    const struct loaded *c = loaded_of(of);
    int status = of->sized ? CC_OK : open_reader(c, in, len, &r, e);
    return status != CC_OK || of->sized ? status : decode_parts(c, step, &r, NULL, y, e);
}

int cc_pack_decode_add(const struct cc_pack *of, uint64_t step, const uint8_t *in, size_t len,
                       float scale, float *y, struct cc_error *e)
{
    struct reader r;
    const struct loaded *c = loaded_of(of);
    int status = of->sized ? CC_OK : open_reader(c, in, len, &r, e);
    return status != CC_OK || of->sized ? status : decode_parts(c, step, &r, &scale, y, e);
}

/* --- rounds --- */

size_t cc_pack_rounds(const struct cc_pack *of)
{
    const struct loaded *c = loaded_of(of);
    size_t most = 1;
    if (of->sized)
        return cc_virtual_pack_rounds(of);
    for (size_t i = 0; i < c->parts; i++) {
        size_t rounds = cc_sum_rounds(c->part[i].codec.scheme, c->part[i].codec.params);
        if (rounds == 0)
            return 0;
        most = rounds > most ? rounds : most;
    }
    return most;
}

int cc_pack_encode_round(struct cc_pack *of, uint64_t step, size_t round, const float *x,
                         uint8_t *out, size_t *len, struct cc_error *e)
{
    struct loaded *c = (struct loaded *)of;
    if (of->sized) {
        cc_virtual_pack_encode_round(of, step, round, len);
        return CC_OK;
    }
    int status = c->decodes_only ? refuse_stateless(e) : CC_OK;
    *len = 0;
    for (size_t i = 0; i < c->parts && status == CC_OK; i++) {
        struct part *p = &c->part[i];
        struct cc_context ctx = p->ctx;
        ctx.step = step;
        status =
            cc_encode_round(&p->codec, &ctx, round, x + p->at, out + *len, p->bound, &p->len, e);
        *len += p->len;
    }
    return status;
}

/* Whether all pieces have their bytes, or, where the rest is silent, only the raw ones. */
static int check_round(const struct loaded *c, size_t round, size_t len, bool *full,
                       struct cc_error *e)
{
    size_t all = 0, raw = 0;
    for (size_t i = 0; i < c->parts; i++) {
        size_t bytes = cc_round_bytes(&c->part[i].codec, round);
        all += bytes;
        raw += c->part[i].raw ? bytes : 0;
    }
    *full = len == all;
    return len == all || len == raw
               ? CC_OK
               : cc_fail(e, "round %zu: %zu bytes of payload, not %zu", round, len, all);
}

int cc_pack_absorb(struct cc_pack *of, uint64_t step, size_t round, const uint8_t *in, size_t len,
                   float scale, float *y, struct cc_error *e)
{
    const struct loaded *c = loaded_of(of);
    if (of->sized)
        return CC_OK;
    bool full = true;
    int status = c->decodes_only ? refuse_stateless(e) : check_round(c, round, len, &full, e);
    for (size_t i = 0; i < c->parts && status == CC_OK; i++) {
        const struct part *p = &c->part[i];
        struct cc_context ctx = p->ctx;
        ctx.step = step;
        size_t n = full || p->raw ? cc_round_bytes(&p->codec, round) : 0;
        status = cc_absorb(&p->codec, &ctx, round, in, n, scale, y + p->at, e);
        if (status != CC_OK)
            cc_error_in(e, "tensor '%s' from value %llu", p->ctx.name,
                        (unsigned long long)p->ctx.offset);
        in += n;
    }
    return status;
}
