/* Containers for programs: a writer encodes tensor by tensor into a file that is complete or absent
 * at the end; a reader keeps the whole file in memory and decodes any tensor of it. */
#include <stdio.h>
#include <stdlib.h>

#include "binding/impl.h"
#include "core/format/compressed.h"
#include "core/format/container.h"
#include "core/infile.h"
#include "core/memory.h"
#include "schemes/unpack.h"

struct commcomp_container_writer {
    atomic_bool turn;
    struct cc_container_writer *file;
    struct cc_names names; /* the tensors that were added */
    struct cc_spec *spec;
    struct cc_codec_set set; /* one codec, replaced for each tensor */
    struct cc_context ctx;   /* for the next tensor */
};

int commcomp_container_begin(const char *path, const char *scheme, uint64_t seed, int64_t rank,
                             int direction, uint64_t step, size_t tensors,
                             struct commcomp_container_writer **out, char *error)
{
    struct cc_error *e = cc_error_of(error);
    int status = CC_OK;
    CC_TRY(cc_library_begin(e));
    CC_TRY(cc_sender_check(rank, direction, e));
    struct commcomp_container_writer *w;
    CC_TRY(CC_NEW(w, 1, e));
    struct cc_container_head head = {
        .seed = seed, .rank = rank, .direction = (enum cc_direction)direction, .step = step};
    w->ctx =
        (struct cc_context){.seed = seed, .rank = rank, .direction = head.direction, .step = step};
    CC_TRY_OUT(cc_spec_parse(scheme, &w->spec, e));
    (void)snprintf(head.scheme, sizeof head.scheme, "%s", w->spec->name);
    CC_TRY_OUT(cc_container_begin(path, &head, tensors, &w->file, e));
    *out = w;
out:
    if (status != CC_OK)
        commcomp_container_abandon(w);
    return status;
}

static int add(struct commcomp_container_writer *w, const char *name, const size_t *dims, int ndim,
               const float *x, struct cc_error *e)
{
    struct cc_shape shape;
    size_t bytes;
    CC_TRY(cc_shape_make(dims, ndim, &shape, e));
    CC_TRY(cc_codec_set_single(&w->set, w->spec, &shape, &cc_memory_in_turn, e));
    const struct cc_codec_item *item = w->set.item;
    w->ctx.name = name;
    CC_TRY(cc_encode(&item->codec, &w->ctx, x, item->payload, item->bound, &bytes, e));
    CC_TRY(cc_names_add(&w->names, name, e));
    w->ctx.tensor++;
    return cc_container_add(w->file, name, &shape, item->payload, bytes, e);
}

int commcomp_container_add(struct commcomp_container_writer *w, const char *name,
                           const size_t *dims, int ndim, const float *x, char *error)
{
    struct cc_error *e = cc_error_of(error);
    CC_TRY(cc_turn_take(&w->turn, "writer of a container of", w->spec->name, e));
    return cc_turn_end(&w->turn, add(w, name, dims, ndim, x, e));
}

int commcomp_container_finish(struct commcomp_container_writer *w, char *error)
{
    uint64_t bytes;
    const int status = cc_container_finish(w->file, &bytes, cc_error_of(error));
    w->file = NULL;
    commcomp_container_abandon(w);
    return status;
}

void commcomp_container_abandon(struct commcomp_container_writer *w)
{
    if (w == NULL)
        return;
    cc_container_abandon(w->file);
    cc_names_free(&w->names);
    cc_codec_set_free(&w->set);
    cc_spec_free(w->spec);
    free(w);
}

struct commcomp_container {
    atomic_bool turn; /* of calls that decode; all else is as the file has it */
    struct cc_bytes bytes;
    struct cc_container file;
    struct cc_spec *spec;
    struct cc_codec_set set; /* one codec, replaced for each tensor */
};

/* Parses and checks the bytes of *c; messages are without the path. */
static int parse(struct commcomp_container *c, uint64_t max_values, struct cc_error *e)
{
    const uint64_t limit = max_values > 0 ? max_values : cc_container_limit(c->bytes.size);
    CC_TRY(cc_container_read(c->bytes.data, c->bytes.size, &c->file, e));
    CC_TRY(cc_container_no_base(&c->file, e));
    if (cc_spec_parse(c->file.head.scheme, &c->spec, e) != CC_OK) {
        cc_error_in(e, "byte 44");
        return CC_FAIL;
    }
    return cc_container_check(&c->file, c->bytes.size, limit, "allow max_values", e);
}

int commcomp_container_open(const char *path, uint64_t max_values, struct commcomp_container **out,
                            char *error)
{
    struct cc_error *e = cc_error_of(error);
    int status = CC_OK;
    CC_TRY(cc_library_begin(e));
    struct commcomp_container *c;
    CC_TRY(CC_NEW(c, 1, e));
    CC_TRY_OUT(cc_file_read(path, &c->bytes, e));
    status = parse(c, max_values, e);
    if (status == CC_OK)
        *out = c;
    else
        cc_error_in(e, "%s", path);
out:
    if (status != CC_OK)
        commcomp_container_close(c);
    return status;
}

void commcomp_container_close(struct commcomp_container *c)
{
    if (c == NULL)
        return;
    cc_codec_set_free(&c->set);
    cc_spec_free(c->spec);
    cc_container_free(&c->file);
    cc_bytes_free(&c->bytes);
    free(c);
}

const char *commcomp_container_scheme(const struct commcomp_container *c)
{
    return c->spec->name;
}

uint64_t commcomp_container_seed(const struct commcomp_container *c)
{
    return c->file.head.seed;
}

int64_t commcomp_container_rank(const struct commcomp_container *c)
{
    return c->file.head.rank;
}

int commcomp_container_direction(const struct commcomp_container *c)
{
    return (int)c->file.head.direction;
}

uint64_t commcomp_container_step(const struct commcomp_container *c)
{
    return c->file.head.step;
}

size_t commcomp_container_tensors(const struct commcomp_container *c)
{
    return c->file.tensor_count;
}

const char *commcomp_container_name(const struct commcomp_container *c, size_t tensor)
{
    return c->file.tensors[tensor].name;
}

int commcomp_container_shape(const struct commcomp_container *c, size_t tensor,
                             size_t dims[COMMCOMP_MAX_DIMS])
{
    const struct cc_shape *shape = &c->file.tensors[tensor].shape;
    for (int i = 0; i < shape->ndim; i++)
        dims[i] = shape->dim[i];
    return shape->ndim;
}

const void *commcomp_container_payload(const struct commcomp_container *c, size_t tensor,
                                       size_t *bytes)
{
    *bytes = c->file.tensors[tensor].payload_bytes;
    return c->file.tensors[tensor].payload;
}

int commcomp_container_decode(struct commcomp_container *c, size_t tensor, float *y, char *error)
{
    static const struct cc_codec_memory memory = {.scratch = CC_SHARED};
    struct cc_error *e = cc_error_of(error);
    const struct cc_container_tensor *t = &c->file.tensors[tensor];
    const struct cc_context ctx = cc_unpack_context(&c->file, tensor);
    CC_TRY(cc_turn_take(&c->turn, "container of", c->spec->name, e));
    int status = cc_codec_set_single(&c->set, c->spec, &t->shape, &memory, e);
    if (status == CC_OK)
        status = cc_decode(&c->set.item->codec, &ctx, t->payload, t->payload_bytes, y, e);
    if (status != CC_OK)
        cc_error_in(e, "tensor '%.200s' (payload at byte %zu)", t->name, t->offset);
    return cc_turn_end(&c->turn, status);
}
