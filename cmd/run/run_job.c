/* The job of a setting in a lab or on a cluster. */
#include "cmd/run/run.h"
#include "core/memory.h"

int cc_run_job(struct run *r, const struct cc_experiment_setting *s, struct cc_job *out,
               struct cc_error *e)
{
    const char *device = r->options.hosts.lab ? CC_LAB_DEVICE : r->options.device;
    int status = cc_experiment_job(&r->plan, s, out, e);
    if (status != CC_OK || device == NULL)
        return status;
    if (!r->options.hosts.lab)
        out->shaping =
            (struct cc_job_shaping){s->shaped_bps, (size_t)s->setting.link.burst_bytes,
                                    cc_lab_limit(s->shaped_bps, out->workers + out->servers)};
    out->device = cc_strdup(device, e);
    return out->device != NULL ? CC_OK : CC_FAIL;
}
