/* A binary heap: no event is before the one at half its index. */
#include "core/events.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/memory.h"

static bool earlier(const struct cc_event *a, const struct cc_event *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    return a->who != b->who ? a->who < b->who : a->order < b->order;
}

void cc_events_free(struct cc_events *q)
{
    free(q->heap);
    *q = (struct cc_events){0};
}

int cc_events_reserve(struct cc_events *q, size_t count, struct cc_error *e)
{
    return CC_GROW(q->heap, &q->capacity, count, e);
}

int cc_events_add(struct cc_events *q, struct cc_event v, struct cc_error *e)
{
    CC_TRY(cc_events_reserve(q, q->count + 1, e));
    v.order = q->added++;
    size_t i = q->count++;
    for (; i > 0 && earlier(&v, &q->heap[(i - 1) / 2]); i = (i - 1) / 2)
        q->heap[i] = q->heap[(i - 1) / 2];
    q->heap[i] = v;
    return CC_OK;
}

struct cc_event cc_events_take(struct cc_events *q)
{
    const struct cc_event first = q->heap[0], last = q->heap[--q->count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child + 1 < q->count && earlier(&q->heap[child + 1], &q->heap[child]))
            child++;
        if (child >= q->count || !earlier(&q->heap[child], &last))
            break;
        q->heap[i] = q->heap[child];
        i = child;
    }
    q->heap[i] = last;
    return first;
}
