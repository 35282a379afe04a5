/* How the profile is completed.
 *
 * A cell is a scheme at a size. Cells that are missing, or that were measured on a busy machine and
 * the machine is quieter now, are measured size by size, small ones first and once more at the end,
 * and the file is written after each size, so that an interrupt loses one size at most. Meanwhile
 * the folder is locked: a second process waits, and then finds the cells there. Before a write, the
 * file is read again and its other cells are kept, so that nothing is lost where locks do not work.
 * A file that cannot be read is left as it is. */
#include "cmd/input/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench/load.h"
#include "bench/profile.h"
#include "cmd/cli/terminal.h"
#include "core/clock.h"
#include "core/format/crc32.h"
#include "core/interrupt.h"
#include "core/isa.h"
#include "core/memory.h"
#include "core/trace/synth.h"
#include "core/units.h"
#include "results/machine_info.h"
#include "schemes/plugin_load.h"

enum { PATH_CAP = 1024 };

/* Seconds to wait for another process that measures, which takes ten or twenty. */
enum { MOST_WAIT_S = 60 };

static const enum cc_distribution distribution = CC_MIXTURE;

struct cache {
    const struct cc_cache_request *request;
    struct cc_machine_info host;
    char path[PATH_CAP];
    bool kept; /* there is a place for the file, and it may be written */
    int lock;  /* the folder's descriptor, or -1 */
    struct cc_profile profile;
};

/* A remark on stderr, for which nothing stops. */
static void remark(const struct cache *c, const char *what, const char *why)
{
    if (!c->request->quiet)
        cc_say("%s%s%s", what, why[0] != '\0' ? ": " : "", why);
}

/* --- the file --- */

void cc_cache_folders(const char *path)
{
    char folder[PATH_CAP];
    for (const char *p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(p - path), path);
        (void)mkdir(folder, 0777);
    }
}

bool cc_cache_path(const char *name, char *out, size_t cap)
{
    const char *base = getenv("XDG_CACHE_HOME"), *between = "";
    if (base == NULL || base[0] != '/') {
        base = getenv("HOME");
        between = "/.cache";
    }
    if (base == NULL || base[0] != '/')
        return false;
    return (size_t)snprintf(out, cap, "%s%s/commcomp/%s", base, between, name) < cap;
}

/* The path of the profile; false if the environment names no place for it. */
static bool find_path(const struct cc_machine_info *h, enum cc_element dtype, char out[PATH_CAP])
{
    char name[128];
    uint32_t key = cc_crc32(0, h->cpu, strlen(h->cpu));
    key = cc_crc32(key, h->version, strlen(h->version));
    (void)snprintf(name, sizeof name, "profile-%s-%s-%s-%08x.json", h->isa,
                   cc_distribution_names[distribution], cc_element_names[dtype], key);
    return cc_cache_path(name, out, PATH_CAP);
}

/* The codec's name in the file. Measurements of a plugin hold for its file alone, whose
 * checksum follows the name: cyclic:k=4@1b2c3d4f. */
static int name_in_file(const char *name, char **out, struct cc_error *e)
{
    struct cc_spec *spec = NULL;
    /* A name that the catalogue cannot read is of another plugin, or from elsewhere. */
    const uint32_t plugin =
        cc_spec_parse(name, &spec, NULL) == CC_OK ? cc_plugin_checksum(spec) : 0;
    cc_spec_free(spec);
    return plugin != 0 ? cc_text(out, e, "%s@%08" PRIx32, name, plugin)
                       : cc_text(out, e, "%s", name);
}

/* Gives the codecs the names that they have in the file, or takes them back: a plugin's codec that
 * was measured with another file keeps its name there, which no scheme has. */
static int rename_codecs(struct cc_profile *p, bool in_file, struct cc_error *e)
{
    for (size_t i = 0; i < p->codecs; i++) {
        char *name = p->codec[i].scheme, *at = strchr(name, '@'), *other;
        if (in_file == (at != NULL))
            continue;
        if (at != NULL)
            *at = '\0';
        CC_TRY(name_in_file(name, &other, e));
        if (at == NULL) {
            p->codec[i].scheme = other;
            free(name);
            continue;
        }
        *at = '@';
        if (strcmp(name, other) == 0)
            *at = '\0';
        free(other);
    }
    return CC_OK;
}

/* Reads the file into *out, which becomes empty if there is no file. Fails if the file is not a
 * profile of this machine. */
static int read_file(const struct cache *c, struct cc_profile *out, struct cc_error *e)
{
    struct stat info;
    *out = (struct cc_profile){0};
    if (stat(c->path, &info) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return CC_OK;
    CC_TRY(cc_profile_read(c->path, out, e));
    const bool ours = out->cpu != NULL && strcmp(out->cpu, c->host.cpu) == 0 && out->isa != NULL &&
                      strcmp(out->isa, c->host.isa) == 0;
    if (ours && out->dtype == c->request->dtype)
        return rename_codecs(out, false, e);
    cc_profile_free(out);
    return cc_fail(e, "%s: of another %s", c->path, ours ? "type of gradients" : "machine");
}

/* Reads the profile, or begins one. A file that cannot be read is not used, and not written. */
static int load(struct cache *c, const struct cc_profile_config *config, struct cc_error *e)
{
    struct cc_error why = {""};
    cc_profile_free(&c->profile);
    if (c->kept && !c->request->remeasure && read_file(c, &c->profile, &why) != CC_OK) {
        remark(c, "the kept profile is neither used nor changed (--remeasure replaces it)",
               why.text);
        c->kept = false;
    }
    return c->profile.cpu != NULL ? CC_OK : cc_profile_begin(&c->profile, config, e);
}

/* Writes the file, with the cells that others have added. */
static void save(struct cache *c)
{
    struct cc_profile theirs = {0};
    struct cc_error why = {""};
    struct stat info;
    int status = CC_OK;
    if (!c->kept)
        return;
    cc_cache_folders(c->path);
    if (stat(c->path, &info) == 0 && !S_ISREG(info.st_mode))
        CC_TRY_OUT(cc_fail(&why, "%s is not a regular file", c->path));
    status = read_file(c, &theirs, &why);
    if (status != CC_OK && !c->request->remeasure)
        goto out;
    CC_TRY_OUT(cc_profile_merge(&c->profile, &theirs, &why));
    CC_TRY_OUT(rename_codecs(&c->profile, true, &why));
    status = cc_profile_write(&c->profile, c->path, &why);
    if (rename_codecs(&c->profile, false, &why) != CC_OK)
        status = CC_FAIL;
out:
    cc_profile_free(&theirs);
    if (status == CC_OK)
        return;
    remark(c, "the profile could not be saved", why.text);
    c->kept = false;
}

/* --- the lock --- */

/* Locks the folder; goes on without the lock if that does not work, or takes too long. */
static void lock(struct cache *c)
{
    static const struct timespec pause = {.tv_nsec = 50000000};
    char folder[PATH_CAP];
    const double begin = cc_now();
    bool told = false;
    if (!c->kept)
        return;
    cc_cache_folders(c->path);
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(c->path, '/') - c->path), c->path);
    c->lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (c->lock >= 0 && flock(c->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK &&
           cc_now() - begin < MOST_WAIT_S && !cc_interrupted()) {
        const bool tell = !told && cc_now() - begin > 1;
        if (tell)
            remark(c, "waiting for another commcomp that measures codecs", "");
        told = told || tell;
        (void)nanosleep(&pause, NULL);
    }
}

static void unlock(struct cache *c)
{
    if (c->lock >= 0)
        (void)close(c->lock);
    c->lock = -1;
}

/* --- cells --- */

/* The schemes to measure at each size. The items belong to others. */
struct plan {
    struct cc_spec_list at[CC_PROFILE_SIZES];
    size_t schemes; /* those that lack a cell or more */
    bool again;     /* all of them are there, from a busy machine */
    double work;    /* all cells', in values */
};

/* Whether a size is measured within some tenths of a second, which a single disturbance may fill:
 * such sizes are measured twice, and the faster times count. */
static bool is_short(size_t size)
{
    return cc_profile_sizes[size] < 1000000;
}

static double work_of(size_t size, size_t schemes)
{
    enum { LEAST = 500000 }; /* small tensors are encoded many times */
    return (double)schemes * fmax(LEAST, (double)cc_profile_sizes[size]);
}

static void free_plan(struct plan *plan)
{
    for (size_t i = 0; i < CC_PROFILE_SIZES; i++)
        free(plan->at[i].item);
    *plan = (struct plan){0};
}

/* Whether the scheme is used at this size: up to the first that is as large as the largest tensor;
 * fp32 also stands for the sum of a whole net. */
static bool is_used(const struct cc_cache_request *r, const struct cc_spec *s, size_t size)
{
    return r->largest == 0 || size == 0 || cc_spec_is_raw(s) ||
           cc_profile_sizes[size - 1] < r->largest;
}

static bool has_busy_cell(const struct cc_profile *p)
{
    for (size_t i = 0; i < p->codecs; i++)
        for (size_t k = 0; k < p->codec[i].points; k++)
            if (p->codec[i].point[k].load > CC_LOAD_BUSY)
                return true;
    return false;
}

/* Plans the cells of one scheme. `now`: the load now. */
static void plan_scheme(const struct cache *c, struct cc_spec *s, double now, struct plan *plan)
{
    bool lacks = false;
    for (size_t i = 0; i < CC_PROFILE_SIZES; i++) {
        const struct cc_profile_point *p =
            cc_profile_point(&c->profile, s->name, (double)cc_profile_sizes[i]);
        if (!is_used(c->request, s, i))
            continue;
        if (p != NULL && !(p->load > CC_LOAD_BUSY && now < CC_LOAD_BUSY / 2))
            continue;
        plan->again = plan->again && p != NULL;
        plan->at[i].item[plan->at[i].count++] = s;
        plan->work += work_of(i, 1) * (is_short(i) ? 2 : 1);
        lacks = true;
    }
    plan->schemes += lacks;
}

static int make_plan(struct cache *c, struct cc_spec *raw, struct plan *plan, struct cc_error *e)
{
    const struct cc_spec_list *schemes = c->request->schemes;
    const double now =
        has_busy_cell(&c->profile) ? cc_load_now(&c->profile.copy_gb_per_s) : (double)INFINITY;
    *plan = (struct plan){.again = true};
    for (size_t i = 0; i < CC_PROFILE_SIZES; i++)
        CC_TRY(CC_NEW(plan->at[i].item, schemes->count + 1, e));
    plan_scheme(c, raw, now, plan);
    for (size_t i = 0; i < schemes->count; i++)
        if (!cc_spec_is_raw(schemes->item[i]))
            plan_scheme(c, schemes->item[i], now, plan);
    return CC_OK;
}

/* --- measuring --- */

struct progress {
    struct cc_progress *bar;
    char what[48];
    double before, current, all; /* work: done, of the size that is measured now, of the whole */
};

static void show(void *arg, const char *phase, double done)
{
    struct progress *p = arg;
    (void)phase;
    cc_progress_show(p->bar, p->what, (p->before + done * p->current) / p->all);
}

/* Measures the cells of one size, and saves them. */
static int measure_size(struct cache *c, const struct plan *plan, size_t size,
                        const struct cc_profile_config *config, struct cc_error *e)
{
    struct progress *progress = config->progress_arg;
    char values[24];
    if (plan->at[size].count == 0)
        return CC_OK;
    cc_print_si((double)cc_profile_sizes[size], "#", values, sizeof values);
    (void)snprintf(progress->what, sizeof progress->what, "codecs, %s values", values);
    progress->current = work_of(size, plan->at[size].count);
    CC_TRY(cc_profile_measure(&c->profile, &plan->at[size], cc_profile_sizes[size], config, e));
    progress->before += progress->current;
    save(c);
    return CC_OK;
}

/* Measures the cells of the plan: all sizes one after the other, then the short ones again. */
static int measure(struct cache *c, const struct plan *plan, struct cc_profile_config config,
                   struct cc_error *e)
{
    struct progress progress = {.bar = c->request->progress, .all = plan->work};
    int status = CC_OK;
    config.progress = show;
    config.progress_arg = &progress;
    if (!c->request->quiet)
        fprintf(stderr, "commcomp: measuring the speed of %zu scheme%s%s%s on this machine, %s\n",
                plan->schemes, plan->schemes == 1 ? "" : "s",
                c->request->dtype != CC_ELEMENT_FP32 ? " on gradients in " : "",
                c->request->dtype != CC_ELEMENT_FP32 ? cc_element_names[c->request->dtype] : "",
                plan->again ? "which was busy when it was measured before" : "which happens once");
    cc_progress_part(progress.bar, c->request->share);
    for (size_t i = 0; i < CC_PROFILE_SIZES && status == CC_OK; i++)
        status = measure_size(c, plan, i, &config, e);
    config.keep_faster = true;
    for (size_t i = 0; i < CC_PROFILE_SIZES && status == CC_OK; i++)
        if (is_short(i))
            status = measure_size(c, plan, i, &config, e);
    cc_progress_clear(progress.bar);
    if (status != CC_OK && cc_interrupted() && c->kept)
        cc_error_in(e, "measuring codecs (the sizes that were complete are kept)");
    return status;
}

/* Measures what is missing. */
static int complete(struct cache *c, struct cc_error *e)
{
    const struct cc_profile_config config = {.distribution = distribution,
                                             .seed = 1,
                                             .dtype = c->request->dtype,
                                             .threads = 1,
                                             .cpu = c->host.cpu,
                                             .time = c->host.time};
    struct cc_spec *raw = NULL;
    struct plan plan = {.schemes = 0};
    int status = CC_OK;
    CC_TRY_OUT(cc_spec_parse(CC_RAW_SCHEME, &raw, e));
    CC_TRY_OUT(load(c, &config, e));
    CC_TRY_OUT(make_plan(c, raw, &plan, e));
    if (plan.schemes == 0)
        goto out;
    /* Another process may have measured them while this one waited. */
    lock(c);
    if (c->lock >= 0) {
        free_plan(&plan);
        CC_TRY_OUT(load(c, &config, e));
        CC_TRY_OUT(make_plan(c, raw, &plan, e));
    }
    if (plan.schemes > 0)
        CC_TRY_OUT(measure(c, &plan, config, e));
out:
    unlock(c);
    free_plan(&plan);
    cc_spec_free(raw);
    return status;
}

/* Whether a cell that is used was measured on a busy machine. */
static bool uses_busy_cell(const struct cache *c)
{
    const struct cc_cache_request *r = c->request;
    for (size_t s = 0; s < r->schemes->count; s++)
        for (size_t i = 0; i < CC_PROFILE_SIZES; i++) {
            const struct cc_profile_point *p = cc_profile_point(
                &c->profile, r->schemes->item[s]->name, (double)cc_profile_sizes[i]);
            if (is_used(r, r->schemes->item[s], i) && p != NULL && p->load > CC_LOAD_BUSY)
                return true;
        }
    return false;
}

int cc_cache_profile(const struct cc_cache_request *request, struct cc_profile *out, char **source,
                     struct cc_error *e)
{
    struct cache c = {.request = request, .lock = -1};
    int status = CC_OK;
    cc_machine_info_read(&c.host);
    c.kept = find_path(&c.host, request->dtype, c.path);
    CC_TRY_OUT(complete(&c, e));
    CC_TRY_OUT(cc_text(
        source, e, "measured on this machine%s%s at %s%s%s%s",
        request->dtype != CC_ELEMENT_FP32 ? " on values in " : "",
        request->dtype != CC_ELEMENT_FP32 ? cc_element_names[request->dtype] : "", c.profile.time,
        uses_busy_cell(&c) ? " (while it was busy: measured again when it is quieter)" : "",
        c.kept ? ", kept in " : "", c.kept ? c.path : ""));
    *out = c.profile;
    return CC_OK;
out:
    cc_profile_free(&c.profile);
    return status;
}
