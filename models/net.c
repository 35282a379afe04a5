/* Making nets, tensor by tensor. net_file.c and net_open.c read them from files. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/format/contents.h"
#include "core/memory.h"
#include "models/net_impl.h"

void cc_net_free(struct cc_net *net)
{
    if (net == NULL)
        return;
    for (size_t i = 0; i < net->count; i++)
        free((char *)(uintptr_t)net->tensors[i].name);
    free(net->tensors);
    free(net->share);
    for (size_t i = 0; i < net->paper_count; i++) {
        free(net->papers[i].paper);
        free(net->papers[i].says);
    }
    free(net->papers);
    free(net->name);
    free(net->reference);
    free(net->compute_source);
    free(net);
}

struct cc_net *cc_net_new(size_t capacity, struct cc_error *e)
{
    struct cc_net *net = cc_alloc(sizeof *net, e);
    if (net == NULL)
        return NULL;
    *net = (struct cc_net){.tensors = cc_alloc0(capacity * sizeof *net->tensors, e),
                           .share = cc_alloc0(capacity * sizeof *net->share, e)};
    if (net->tensors == NULL || net->share == NULL) {
        cc_net_free(net);
        return NULL;
    }
    return net;
}

int cc_net_add(struct cc_net *net, const char *name, const struct cc_shape *shape, double compute,
               struct cc_error *e)
{
    size_t values;
    if (__builtin_add_overflow(net->values, shape->n, &values) || values > SIZE_MAX / 64)
        return cc_fail(e, "the number of values of all tensors is too large");
    char *copy = cc_strdup(name, e);
    if (copy == NULL)
        return CC_FAIL;
    net->tensors[net->count] = (struct cc_tensor_info){.name = copy, .shape = *shape};
    net->share[net->count++] = compute;
    net->values = values;
    net->largest = shape->n > net->largest ? shape->n : net->largest;
    return CC_OK;
}

int cc_net_set_texts(struct cc_net *net, const char *name, const char *reference,
                     const char *compute_source, struct cc_error *e)
{
    net->name = cc_strdup(name, e);
    net->reference = cc_strdup(reference != NULL ? reference : "", e);
    net->compute_source = cc_strdup(compute_source != NULL ? compute_source : "", e);
    return net->name != NULL && net->reference != NULL && net->compute_source != NULL ? CC_OK
                                                                                      : CC_FAIL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_names(const struct cc_net *net, struct cc_error *e)
{
    const char **names = cc_alloc0((net->count + 1) * sizeof *names, e);
    if (names == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < net->count; i++)
        names[i] = net->tensors[i].name;
    qsort(names, net->count, sizeof *names, by_text);
    int status = CC_OK;
    for (size_t i = 1; i < net->count && status == CC_OK; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            status = cc_fail(e, "two tensors are named \"%.200s\"; names must differ", names[i]);
    free(names);
    return status;
}

int cc_net_finish(struct cc_net *net, struct cc_error *e)
{
    double sum = 0;
    if (net->count == 0)
        return cc_fail(e, "no tensors of floats in it");
    for (size_t i = 0; i < net->count; i++)
        sum += net->share[i];
    net->compute = sum;
    for (size_t i = 0; i < net->count; i++)
        net->share[i] =
            sum > 0 ? net->share[i] / sum : (double)net->tensors[i].shape.n / (double)net->values;
    return check_names(net, e);
}

int cc_net_flat(const char *label, size_t n, struct cc_net **out, struct cc_error *e)
{
    const struct cc_tensor_info tensor = {.name = CC_ONLY_TENSOR, .shape = cc_shape_flat(n)};
    return n > 0 ? cc_net_of(label, &tensor, 1, out, e) : cc_fail(e, "a net of no values");
}

int cc_net_of(const char *label, const struct cc_tensor_info *tensors, size_t count,
              struct cc_net **out, struct cc_error *e)
{
    struct cc_net *net = cc_net_new(count, e);
    int status = CC_OK;
    if (net == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < count; i++) {
        const struct cc_tensor_info *t = &tensors[i];
        if (t->shape.n == 0) {
            status = cc_fail(e, "tensor \"%.200s\" has no values", t->name);
            goto out;
        }
        CC_TRY_OUT(cc_net_add(net, t->name, &t->shape, (double)t->shape.n, e));
    }
    CC_TRY_OUT(cc_net_set_texts(net, label, NULL, NULL, e));
    CC_TRY_OUT(cc_net_finish(net, e));
    *out = net;
    net = NULL;
out:
    cc_net_free(net);
    return status;
}
