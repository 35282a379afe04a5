#include "netsim/rank/context.h"

int cc_rank_report(struct cc_rank *r, const struct cc_report *what, struct cc_error *e)
{
    return r->rank == 0 ? cc_report_print(what, r->out, e) : CC_OK;
}
