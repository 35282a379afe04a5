/* Building a model. Memory belongs to the model. Buffers of gradients are planned last, along the
 * backward pass: once no layer reads a gradient any more, the next one of the same layout takes its
 * buffer. */
#include "train/build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

void *cc_build_memory(struct cc_build *b, size_t count, size_t bytes)
{
    struct cc_model *m = b->model;
    size_t total;
    if (b->status != CC_OK)
        return NULL;
    b->status = CC_GROW(m->memory, &m->capacity_memory, m->memory_count + 1, b->e);
    if (b->status != CC_OK)
        return NULL;
    if (!cc_mul(count, bytes, &total))
        b->status = cc_fail(b->e, "the net is too large: it takes more memory than can be counted");
    void *p = b->status == CC_OK ? cc_alloc0(total, b->e) : NULL;
    if (p == NULL) {
        b->status = CC_FAIL;
        return NULL;
    }
    m->memory[m->memory_count++] = p;
    m->bytes += total;
    return p;
}

/* Lets a list have `count` elements; true if memory runs out, or a call failed before. */
#define LACKS(b, list, capacity, count)                                                            \
    ((b)->status != CC_OK || ((b)->status = CC_GROW(list, capacity, count, (b)->e)) != CC_OK)

static struct cc_act *add_act(struct cc_build *b, const struct cc_act *like)
{
    /* Stands for the output of a layer that failed. */
    static struct cc_act none = {.channels = 1, .height = 1, .width = 1, .places = 1};
    struct cc_model *m = b->model;
    struct cc_act *act = cc_build_memory(b, 1, sizeof *act);
    if (act == NULL || LACKS(b, m->acts, &m->capacity_acts, m->act_count + 1))
        return &none;
    *act = *like;
    m->acts[m->act_count++] = act;
    act->value = cc_build_memory(b, act->size, sizeof(float));
    return act;
}

struct cc_act *cc_build_blocks(struct cc_build *b, size_t channels, size_t height, size_t width)
{
    struct cc_act like = {
        .channels = channels, .height = height, .width = width, .blocks = true, .places = 1};
    like.size = b->model->config.batch * cc_act_image(&like);
    return add_act(b, &like);
}

struct cc_act *cc_build_columns(struct cc_build *b, size_t features, size_t places)
{
    struct cc_act like = {.channels = features, .height = 1, .width = 1, .places = places};
    like.size = features * places * b->model->pass.stride;
    return add_act(b, &like);
}

void *cc_build_layer(struct cc_build *b, size_t bytes, const struct cc_layer_ops *ops,
                     struct cc_act *in, struct cc_act *out)
{
    struct cc_model *m = b->model;
    struct cc_layer *l = cc_build_memory(b, 1, bytes);
    if (l == NULL || LACKS(b, m->layers, &m->capacity_layers, m->layer_count + 1))
        return NULL;
    m->layers[m->layer_count++] = l;
    l->ops = ops;
    l->in = in;
    l->out = out;
    l->tensor = m->tensor_count;
    l->stats = m->layout.stats;
    return l;
}

void cc_build_tensor(struct cc_build *b, const char *layer, const char *suffix, const size_t *dim,
                     int ndim, enum cc_tensor_role role, double bound, double start)
{
    struct cc_model *m = b->model;
    struct cc_shape shape;
    size_t length = strlen(layer) + strlen(suffix) + 1, i = m->tensor_count;
    char *name = cc_build_memory(b, length, 1);
    if (name == NULL || LACKS(b, m->tensors, &m->capacity_tensors, i + 1) ||
        LACKS(b, m->offset, &m->capacity_offset, i + 2) ||
        LACKS(b, m->role, &m->capacity_role, i + 1) ||
        LACKS(b, m->initial, &m->capacity_initial, i + 1))
        return;
    b->status = cc_shape_make(dim, ndim, &shape, b->e);
    if (b->status != CC_OK)
        return;
    (void)snprintf(name, length, "%s%s", layer, suffix);
    m->tensors[i] = (struct cc_tensor_info){.name = name, .shape = shape};
    m->offset[i] = m->layout.values;
    m->role[i] = role;
    m->initial[i] = (struct cc_initial){(float)bound, (float)start};
    m->layout.values += shape.n;
    m->offset[i + 1] = m->layout.values;
    m->tensor_count++;
    m->layers[m->layer_count - 1]->tensors++;
}

void cc_build_stats(struct cc_build *b, size_t channels)
{
    b->model->layout.stats += 2 * channels;
}

void cc_build_scratch(struct cc_build *b, size_t floats)
{
    b->model->scratch = floats > b->model->scratch ? floats : b->model->scratch;
}

bool cc_build_width(const char *rest, size_t *width)
{
    unsigned value = 0;
    int length = 0;
    if (rest[0] == '\0')
        return true;
    if (strncmp(rest, ":width=", 7) != 0 || rest[7] < '1' || rest[7] > '9' ||
        sscanf(rest + 7, "%4u%n", &value, &length) != 1 || rest[7 + length] != '\0')
        return false;
    *width = value;
    return true;
}

/* --- the gradients' buffers --- */

/* Buffers that wait for another activation of the same layout. */
struct spare {
    struct cc_act **acts; /* whose gradient is not read any more */
    size_t count;
};

/* Borders of blocks must stay zeros: buffers are for one layout alone. */
static bool same_layout(const struct cc_act *a, const struct cc_act *b)
{
    return a->blocks == b->blocks && a->size == b->size && a->height == b->height &&
           a->width == b->width;
}

/* Gives the activation's gradient a buffer; returns whether it had one. */
static bool take(struct cc_build *b, struct spare *spare, struct cc_act *a)
{
    if (a->grad != NULL)
        return true;
    for (size_t i = 0; i < spare->count; i++)
        if (same_layout(spare->acts[i], a)) {
            a->grad = spare->acts[i]->grad;
            spare->acts[i] = spare->acts[--spare->count];
            return false;
        }
    a->grad = cc_build_memory(b, a->size, sizeof(float));
    return false;
}

/* Goes through the backward pass. A layer writes the gradients of `side` and `in`, in this order,
 * then nobody reads that of `out` any more. */
static void plan_gradients(struct cc_build *b)
{
    struct cc_model *m = b->model;
    struct spare spare = {.acts = cc_build_memory(b, m->act_count + 1, sizeof(void *))};
    for (size_t i = m->layer_count; i > 0 && b->status == CC_OK; i--) {
        struct cc_layer *l = m->layers[i - 1];
        if (l->ops->backward == NULL && l->ops->backward_images == NULL)
            continue;
        l->in_wanted = i > 1 && m->layers[0]->out != l->in;
        if (l->side != NULL && l->side->grad == NULL && same_layout(l->side, l->out)) {
            l->side->grad = l->out->grad;
            l->side_shares = true;
        } else if (l->side != NULL) {
            l->side_adds = take(b, &spare, l->side);
        }
        if (l->in_wanted)
            l->in_adds = take(b, &spare, l->in);
        if (l->in_adds && l->in != l->out && !l->ops->adds)
            b->status =
                cc_fail(b->e,
                        "layer %zu of the net: its input is read by another layer, too, and "
                        "its gradient cannot be added to that one's",
                        i - 1);
        if (l->out != NULL && l->out != l->in && !l->side_shares)
            spare.acts[spare.count++] = l->out;
    }
}

int cc_build_finish(struct cc_build *b)
{
    struct cc_model *m = b->model;
    if (b->status != CC_OK)
        return b->status;
    plan_gradients(b);
    m->pass.scratch = cc_build_memory(b, m->scratch, sizeof(float));
    m->layout.tensors = m->tensors;
    m->layout.offset = m->offset;
    m->layout.role = m->role;
    m->layout.count = m->tensor_count;
    for (size_t i = 0; i < m->layer_count; i++)
        m->layers[i]->offset = m->offset + m->layers[i]->tensor;
    return b->status;
}
