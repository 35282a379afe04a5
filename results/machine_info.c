#include "results/machine_info.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "core/isa.h"
#include "core/version.h"

#ifdef __clang__
#define COMPILER __VERSION__ /* begins with "Clang" */
#else
#define COMPILER "gcc " __VERSION__
#endif

/* The model name of the first processor in /proc/cpuinfo; other machines than x86 have none. */
static void read_cpu(char *out, size_t cap, const char *otherwise)
{
    (void)snprintf(out, cap, "%s", otherwise);
    FILE *f = fopen("/proc/cpuinfo", "re");
    if (f == NULL)
        return;
    char line[512];
    while (fgets(line, sizeof line, f) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL)
            continue;
        char *name = colon + 1 + strspn(colon + 1, " \t");
        name[strcspn(name, "\n")] = '\0';
        (void)snprintf(out, cap, "%s", name);
        break;
    }
    (void)fclose(f);
}

/* The cores that this process may use. */
static int usable_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

void cc_machine_info_read(struct cc_machine_info *h)
{
    struct utsname name;
    if (uname(&name) != 0)
        name = (struct utsname){.sysname = "unknown", .machine = "unknown"};
    *h = (struct cc_machine_info){.cores = usable_cores(),
                                  .isa = cc_isa_name(cc_isa()),
                                  .compiler = COMPILER,
                                  .version = cc_version()};
    read_cpu(h->cpu, sizeof h->cpu, name.machine);
    (void)snprintf(h->kernel, sizeof h->kernel, "%.40s %.80s %.36s", name.sysname, name.release,
                   name.machine);
    /* All documents of a run have the same time. */
    static time_t now;
    now = now == 0 ? time(NULL) : now;
    struct tm utc;
    (void)strftime(h->time, sizeof h->time, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
}
