#include "core/open_files.h"

#include <sys/resource.h>

int cc_open_files_need(const char *program, size_t count, struct cc_error *e)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count)
        return CC_OK;
    limit.rlim_cur = limit.rlim_max < count ? limit.rlim_max : count;
    if (limit.rlim_cur == count && setrlimit(RLIMIT_NOFILE, &limit) == 0)
        return CC_OK;
    return cc_fail(e,
                   "%s needs up to %zu open files at a time, and this process may have %llu: raise "
                   "the hard limit (ulimit -Hn)",
                   program, count, (unsigned long long)limit.rlim_max);
}
