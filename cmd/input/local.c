/* --local-steps and the options that go with it. */
#include "cmd/input/cluster.h"

int cc_cluster_local(const struct cc_cluster_args *c, size_t local_steps,
                     struct cc_local_timing *out, struct cc_error *e)
{
    const size_t parts = c->stream_parts;
    *out = (struct cc_local_timing){0};
    if (local_steps == 0)
        return CC_OK;
    if (local_steps % parts != 0)
        return cc_usage(e,
                        "--stream-parts %zu: the parts take turns within --local-steps %zu, which "
                        "must be a multiple",
                        parts, local_steps);
    *out = (struct cc_local_timing){.steps = local_steps / parts, .parts = parts};
    out->delay = c->stream_delay > 0 ? c->stream_delay : out->steps;
    return CC_OK;
}

int cc_cluster_choose_local(struct cc_cluster_args *out, struct cc_error *e)
{
    struct cc_timing *t = &out->setting.timing;
    const void *const others[] = {&out->stream_parts, &out->stream_delay, NULL};
    const char *given = cc_given_of(out, others);
    if (out->local_counts == 0)
        return given == NULL ? CC_OK : cc_usage(e, "--%s goes with --local-steps", given);
    if (cc_given(out, &t->mode) == NULL)
        t->mode = CC_SEQUENTIAL;
    if (t->mode != CC_OVERLAP && cc_given(out, &out->stream_delay) != NULL)
        return cc_usage(e, "--stream-delay goes with --mode overlap: otherwise workers wait for "
                           "results");
    if (cc_given(out, &t->fuse_bytes) == NULL)
        t->fuse_bytes = t->first_fuse_bytes = -1;
    else if (out->stream_parts > 1 || t->mode == CC_OVERLAP)
        return cc_usage(e, "--fuse: not with --stream-parts or with --mode overlap of local steps, "
                           "where a part of the net is a message");
    return cc_cluster_local(out, out->local_steps[0], &t->local, e);
}
