/* Buffers of a rank's own, and those that the ranks of one process share. */
#include "netsim/exchange/data.h"

#include <stdlib.h>

#include "core/memory.h"

int cc_data_alloc(const struct cc_job *job, size_t bytes, uint8_t **out, struct cc_error *e)
{
    *out = job->data ? cc_alloc(bytes, e) : NULL;
    return *out == NULL && job->data ? CC_FAIL : CC_OK;
}

int cc_inbox_alloc(const struct cc_rank_state *s, size_t bytes, uint8_t **out, struct cc_error *e)
{
    *out = NULL;
    return s->transport->ops->lends ? CC_OK : cc_data_alloc(s->job, bytes, out, e);
}

struct cc_room {
    size_t index, bytes;
    int what;
    uint8_t *at;
    struct cc_room *next;
};

int cc_room_alloc(const struct cc_rank_state *s, size_t index, int what, size_t bytes,
                  uint8_t **out, struct cc_error *e)
{
    *out = NULL;
    if (!s->job->data)
        return CC_OK;
    if (s->shared == NULL)
        return (*out = cc_alloc0(bytes, e)) != NULL ? CC_OK : CC_FAIL;
    for (const struct cc_room *room = s->shared->rooms; room != NULL; room = room->next)
        if (room->index == index && room->what == what && room->bytes >= bytes) {
            *out = room->at;
            return CC_OK;
        }
    struct cc_room *room;
    CC_TRY(CC_NEW(room, 1, e));
    *room = (struct cc_room){.index = index,
                             .bytes = bytes,
                             .what = what,
                             .at = cc_alloc0(bytes, e),
                             .next = s->shared->rooms};
    s->shared->rooms = room;
    *out = room->at;
    return room->at != NULL ? CC_OK : CC_FAIL;
}

void cc_room_free(const struct cc_rank_state *s, uint8_t *room)
{
    if (s->shared == NULL)
        free(room);
}

void cc_rooms_free(struct cc_shared *shared)
{
    for (struct cc_room *room = shared->rooms, *next; room != NULL; room = next) {
        next = room->next;
        free(room->at);
        free(room);
    }
    shared->rooms = NULL;
}
