/* Opening and closing requests: the same in both runtimes. */
#include <stdlib.h>

#include "core/memory.h"
#include "netsim/transport/runtime.h"

int cc_requests_open(struct cc_waits *w, size_t count, struct cc_requests *out, struct cc_error *e)
{
    struct cc_requests r = {.count = count,
                            .request = cc_alloc(count * sizeof(MPI_Request), e),
                            .status = cc_alloc(count * sizeof *r.status, e),
                            .over = cc_alloc0(count * sizeof *r.over, e),
                            .waits = w,
                            .next = w->first};
    if (r.request == NULL || r.status == NULL || r.over == NULL) {
        free(r.request);
        free(r.status);
        free(r.over);
        return CC_FAIL;
    }
    for (size_t i = 0; i < count; i++)
        r.request[i] = MPI_REQUEST_NULL;
    *out = r;
    w->first = out;
    return CC_OK;
}

/* Requests are still under way only after an error, and then the program ends. */
void cc_requests_close(struct cc_requests *r)
{
    if (r->waits == NULL)
        return;
    for (size_t i = 0; i < r->count; i++)
        if (r->request[i] != MPI_REQUEST_NULL) {
            (void)MPI_Cancel(&r->request[i]);
            (void)MPI_Request_free(&r->request[i]);
        }
    struct cc_requests **at = &r->waits->first;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    free(r->request);
    free(r->status);
    free(r->over);
    *r = (struct cc_requests){0};
}
