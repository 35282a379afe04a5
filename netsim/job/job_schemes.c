#include "netsim/job/job.h"

#include "core/memory.h"
#include "schemes/plugin_load.h"
#include "schemes/profiled.h"

static int add(struct cc_job *job, size_t *capacity, const char *plugin, const char *profiled,
               struct cc_error *e)
{
    CC_TRY(CC_GROW(job->scheme, capacity, job->schemes + 1, e));
    struct cc_job_scheme *s = &job->scheme[job->schemes++];
    *s = (struct cc_job_scheme){.plugin = plugin != NULL ? cc_strdup(plugin, e) : NULL,
                                .profiled = profiled != NULL ? cc_strdup(profiled, e) : NULL};
    return s->plugin != NULL || s->profiled != NULL ? CC_OK : CC_FAIL;
}

int cc_job_schemes_take(struct cc_job *job, struct cc_error *e)
{
    size_t capacity = 0;
    for (size_t i = 0; cc_plugin_path(i) != NULL; i++)
        CC_TRY(add(job, &capacity, cc_plugin_path(i), NULL, e));
    for (size_t i = 0; cc_schemes[i] != NULL; i++)
        if (!cc_scheme_runs(cc_schemes[i]))
            CC_TRY(add(job, &capacity, NULL, cc_schemes[i]->id, e));
    return CC_OK;
}

int cc_job_schemes_add(const struct cc_job *job, struct cc_error *e)
{
    for (size_t i = 0; i < job->schemes; i++) {
        const struct cc_job_scheme *s = &job->scheme[i];
        CC_TRY(s->plugin != NULL ? cc_plugin_load(s->plugin, e)
                                 : cc_profiled_add(s->profiled, CC_LOSSY, e));
    }
    return CC_OK;
}
