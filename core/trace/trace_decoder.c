#include "core/trace/trace_decoder.h"

#include <stdlib.h>
#include <string.h>

#include "core/format/contents.h"
#include "core/memory.h"

static cc_trace_decoder *decode;

void cc_trace_decode_by(cc_trace_decoder *decoder)
{
    decode = decoder;
}

void cc_held_close(struct cc_held_file *h)
{
    if (h->open)
        cc_container_free(&h->container);
    cc_bytes_free(&h->data);
    *h = (struct cc_held_file){.open = false};
}

static int hold(struct cc_held_file *h, size_t index, const struct cc_infile *in, const char *path,
                struct cc_error *e)
{
    if (h->open && h->index == index)
        return CC_OK;
    cc_held_close(h);
    CC_TRY(cc_contents_read_head(in, path, CC_COMPRESSED, &h->data, e));
    int status = cc_container_read(h->data.data, h->data.size, &h->container, e);
    if (status != CC_OK) {
        cc_bytes_free(&h->data);
        return cc_status_in(status, e, "%s", path);
    }
    h->index = index;
    h->open = true;
    return CC_OK;
}

int cc_held_load(struct cc_held_file *h, size_t index, const struct cc_infile *in, const char *path,
                 size_t tensor, size_t all, size_t n, float *x, struct cc_error *e)
{
    float *whole = NULL;
    if (decode == NULL)
        return cc_fail(e, "%s: this program reads no compressed files; run `commcomp decode`",
                       path);
    CC_TRY(hold(h, index, in, path, e));
    /* The file may have changed since its tensors were read. */
    if (tensor >= h->container.tensor_count || h->container.tensors[tensor].shape.n != all)
        return cc_fail(e, "%s: it has changed since the trace was opened", path);
    if (n < all)
        CC_TRY(CC_NEW(whole, all, e));
    const int status = decode(&h->container, tensor, whole != NULL ? whole : x, e);
    if (status == CC_OK && whole != NULL)
        memcpy(x, whole, n * sizeof *x);
    free(whole);
    return cc_status_in(status, e, "%s", path);
}
