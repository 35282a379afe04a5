#include "core/tile.h"

#include <string.h>

#include "core/cache.h"

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
        cc_next_page(s->to);
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
