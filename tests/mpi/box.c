#include "tests/mpi/box.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"

void box_die(const char *what)
{
    fprintf(stderr, "the serial reference: %s\n", what);
    exit(1);
}

void *box_room(size_t bytes)
{
    void *p = cc_alloc0(bytes, NULL);
    if (p == NULL)
        box_die("no memory");
    return p;
}

struct box box_new(const struct cc_job *job, const struct cc_spec *scheme,
                   const struct cc_spec *raw, size_t from, size_t to, int64_t rank, uint64_t salt)
{
    struct box b = {.bit = box_room(job->tensors * sizeof *b.bit), .from = from, .to = to};
    for (size_t i = 0; i < job->tensors; i++) {
        const struct cc_job_tensor *tensor = &job->tensor[i];
        size_t begin = job->offset[i] > from ? job->offset[i] : from;
        size_t end = job->offset[i + 1] < to ? job->offset[i + 1] : to;
        if (begin >= end)
            continue;
        const struct cc_spec *spec = tensor->raw ? raw : scheme;
        struct bit *t = &b.bit[b.bits++];
        t->at = begin;
        t->codec = (struct cc_codec){.scheme = spec->scheme, .params = spec->params};
        t->codec.shape =
            end - begin == tensor->shape.n ? tensor->shape : cc_shape_flat(end - begin);
        t->codec.state = box_room(cc_state_bytes(&t->codec));
        t->codec.scratch = box_room(cc_scratch_bytes(&t->codec));
        cc_codec_reset(&t->codec);
        t->payload = box_room(cc_bound(&t->codec));
        t->ctx = (struct cc_context){.seed = job->seed + salt,
                                     .rank = rank,
                                     .tensor = i,
                                     .offset = begin - job->offset[i],
                                     .name = tensor->name};
    }
    return b;
}

void box_free(struct box *b)
{
    for (size_t i = 0; i < b->bits; i++) {
        free(b->bit[i].codec.state);
        free(b->bit[i].codec.scratch);
        free(b->bit[i].payload);
    }
    free(b->bit);
}

size_t box_encode(struct box *b, uint64_t step, const float *x)
{
    struct cc_error e = {""};
    size_t bytes = 0;
    for (size_t i = 0; i < b->bits; i++) {
        struct bit *t = &b->bit[i];
        t->ctx.step = step;
        if (cc_encode(&t->codec, &t->ctx, x + t->at, t->payload, cc_bound(&t->codec), &t->len,
                      &e) != CC_OK)
            box_die(e.text);
        bytes += t->len;
    }
    return bytes;
}

void box_decode(const struct box *b, float *y)
{
    struct cc_error e = {""};
    for (size_t i = 0; i < b->bits; i++) {
        const struct bit *t = &b->bit[i];
        if (cc_decode(&t->codec, &t->ctx, t->payload, t->len, y + t->at, &e) != CC_OK)
            box_die(e.text);
    }
}

void box_add(const struct box *b, float scale, float *y)
{
    struct cc_error e = {""};
    for (size_t i = 0; i < b->bits; i++) {
        const struct bit *t = &b->bit[i];
        if (cc_decode_add(&t->codec, &t->ctx, t->payload, t->len, scale, y + t->at, &e) != CC_OK)
            box_die(e.text);
    }
}
