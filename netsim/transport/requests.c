/* Opening and closing requests: the same in all transports. */
#include "netsim/transport/transport.h"

int cc_requests_open(struct cc_transport *t, size_t count, struct cc_requests *out,
                     struct cc_error *e)
{
    struct cc_requests r = {.transport = t, .count = count, .next = t->first};
    CC_TRY(t->ops->open(&r, e));
    *out = r;
    t->first = out;
    return CC_OK;
}

void cc_requests_close(struct cc_requests *r)
{
    if (r->transport == NULL)
        return;
    r->transport->ops->close(r);
    struct cc_requests **at = &r->transport->first;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    *r = (struct cc_requests){0};
}
