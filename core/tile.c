#include "core/tile.h"

#include <string.h>

#include "core/cache.h"

/* Bytes that cc_copy_out prefetches together: with 1,024 it is a tenth slower. */
#define COPIED 256

void cc_sink_open(struct cc_sink *s, void *to, size_t traffic)
{
    s->to = to;
    s->out = cc_use_nontemporal(traffic) ? k_copy() : NULL;
    s->begin = s->end = (uintptr_t)to % CC_ALIGN;
}

void cc_sink_put(struct cc_sink *s, size_t bytes)
{
    if (s->out == NULL) {
        s->to += bytes;
        return;
    }
    s->end += bytes;
    size_t whole = s->end / CC_ALIGN * CC_ALIGN;
    if (whole == 0)
        return;
    s->out->nontemporal(s->to, s->tile + s->begin, whole - s->begin);
    s->to += whole - s->begin;
    if ((uintptr_t)s->to % CC_PAGE < whole)
        cc_fetch_page(s->to);
    s->end -= whole;
    s->begin = 0;
    if (s->end > 0)
        memcpy(s->tile, s->tile + whole, s->end);
}

void cc_sink_close(struct cc_sink *s)
{
    if (s->out == NULL)
        return;
    memcpy(s->to, s->tile + s->begin, s->end - s->begin);
    s->out->fence();
}

void cc_copy_out(void *to, const void *from, size_t bytes, size_t traffic)
{
    if (!cc_use_nontemporal(traffic)) {
        memcpy(to, from, bytes);
        return;
    }
    const uint8_t *in = from;
    uint8_t *out = to;
    for (size_t i = 0, m; i < bytes; i += m) {
        m = COPIED - (uintptr_t)(out + i) % COPIED; /* whole lines of the output */
        m = bytes - i < m ? bytes - i : m;
        for (size_t k = 0; k < m; k += CC_ALIGN)
            cc_fetch_page(in + i + k);
        k_copy()->nontemporal(out + i, in + i, m);
    }
    k_copy()->fence();
}
