#include "cmd/input/cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/profile.h"
#include "cmd/cli/progress.h"
#include "core/format/crc32.h"
#include "core/isa.h"
#include "core/memory.h"
#include "core/trace/synth.h"
#include "results/machine_info.h"

enum { PATH_CAP = 1024 };

static const enum cc_distribution distribution = CC_MIXTURE;

/* --- the file --- */

/* Creates the missing directories of `path`. */
static void create_folders(const char *path)
{
    char folder[PATH_CAP];
    for (const char *p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(p - path), path);
        (void)mkdir(folder, 0777);
    }
}

/* The path of the profile; false if the environment names no place for it. */
static bool cache_path(const struct cc_machine_info *h, char out[PATH_CAP])
{
    const char *base = getenv("XDG_CACHE_HOME"), *between = "";
    if (base == NULL || base[0] != '/') {
        base = getenv("HOME");
        between = "/.cache";
    }
    if (base == NULL || base[0] != '/')
        return false;
    uint32_t key = cc_crc32(0, h->cpu, strlen(h->cpu));
    key = cc_crc32(key, h->version, strlen(h->version));
    return snprintf(out, PATH_CAP, "%s%s/commcomp/profile-%s-%s-%08x.json", base, between, h->isa,
                    cc_distribution_names[distribution], key) < PATH_CAP;
}

/* Reads the file; false if there is none, or none for this machine. */
static bool read_cache(const char *path, const struct cc_machine_info *h, struct cc_profile *out)
{
    struct cc_profile p;
    if (access(path, R_OK) != 0 || cc_profile_read(path, &p, NULL) != CC_OK)
        return false;
    if (strcmp(p.cpu, h->cpu) == 0 && strcmp(p.isa, h->isa) == 0) {
        *out = p;
        return true;
    }
    cc_profile_free(&p);
    return false;
}

/* --- measuring --- */

/* Lists the schemes that the profile lacks. The items still belong to their own lists. */
static int find_missing(const struct cc_spec_list *schemes, const struct cc_spec_list *raw,
                        const struct cc_profile *have, struct cc_spec_list *out, struct cc_error *e)
{
    const struct cc_spec_list *lists[] = {raw, schemes};
    out->item = cc_alloc((raw->count + schemes->count) * sizeof *out->item, e);
    if (out->item == NULL)
        return CC_FAIL;
    for (size_t l = 0; l < 2; l++)
        for (size_t i = 0; i < lists[l]->count; i++) {
            struct cc_spec *s = lists[l]->item[i];
            const bool twice = l == 1 && cc_spec_is_raw(s);
            if (cc_profile_find(have, s->name) == NULL && !twice)
                out->item[out->count++] = s;
        }
    return CC_OK;
}

static void show(void *arg, const char *phase, double done)
{
    cc_progress_show(arg, phase, done);
}

static int measure(const struct cc_spec_list *schemes, const struct cc_machine_info *h, bool quiet,
                   struct cc_profile *out, struct cc_error *e)
{
    struct cc_progress progress;
    const struct cc_profile_config config = {.distribution = distribution,
                                             .seed = 1,
                                             .threads = 1,
                                             .seconds = 0.5 * (double)schemes->count,
                                             .cpu = h->cpu,
                                             .time = h->time,
                                             .progress = show,
                                             .progress_arg = &progress};
    if (!quiet)
        fprintf(stderr, "commcomp: measuring the speed of %zu scheme%s on this machine, once\n",
                schemes->count, schemes->count == 1 ? "" : "s");
    cc_progress_begin(&progress, quiet);
    int status = cc_profile_measure(schemes, &config, out, e);
    cc_progress_end(&progress);
    return status;
}

/* Moves the codecs of `more` to the end of *p, which takes over everything if it is empty. */
static int join(struct cc_profile *p, struct cc_profile *more, struct cc_error *e)
{
    if (p->codecs == 0) {
        cc_profile_free(p);
        *p = *more;
        *more = (struct cc_profile){0};
        return CC_OK;
    }
    size_t all = p->codecs + more->codecs;
    struct cc_profile_codec *codec = cc_alloc(all * sizeof *codec, e);
    if (codec == NULL)
        return CC_FAIL;
    memcpy(codec, p->codec, p->codecs * sizeof *codec);
    memcpy(codec + p->codecs, more->codec, more->codecs * sizeof *codec);
    free(p->codec);
    p->codec = codec;
    p->codecs = all;
    more->codecs = 0;
    return CC_OK;
}

/* Measures the schemes that *p lacks. *measured: whether it lacked any. */
static int complete(const struct cc_spec_list *schemes, const struct cc_machine_info *h, bool quiet,
                    struct cc_profile *p, bool *measured, struct cc_error *e)
{
    struct cc_spec_list raw = {.item = NULL}, missing = {.item = NULL};
    struct cc_profile more = {0};
    int status = CC_OK;
    CC_TRY_OUT(cc_spec_list_parse(CC_RAW_SCHEME, &raw, e));
    CC_TRY_OUT(find_missing(schemes, &raw, p, &missing, e));
    *measured = missing.count > 0;
    if (*measured) {
        CC_TRY_OUT(measure(&missing, h, quiet, &more, e));
        CC_TRY_OUT(join(p, &more, e));
    }
out:
    cc_profile_free(&more);
    free(missing.item);
    cc_spec_list_free(&raw);
    return status;
}

int cc_cache_profile(const struct cc_spec_list *schemes, bool anew, bool quiet,
                     struct cc_profile *out, char **source, struct cc_error *e)
{
    char path[PATH_CAP], text[PATH_CAP + 128];
    struct cc_machine_info host;
    struct cc_profile p = {0};
    struct cc_error why = {""};
    bool measured = false;
    int status = CC_OK;
    cc_machine_info_read(&host);
    const bool has_path = cache_path(&host, path);
    bool kept = has_path && !anew && read_cache(path, &host, &p);
    CC_TRY_OUT(complete(schemes, &host, quiet, &p, &measured, e));
    if (measured && has_path) {
        create_folders(path);
        kept = cc_profile_write(&p, path, &why) == CC_OK;
        if (!kept && !quiet)
            fprintf(stderr, "commcomp: the profile could not be saved: %s\n", why.text);
    }
    (void)snprintf(text, sizeof text, "measured on this machine at %s%s%s", p.time,
                   kept ? ", kept in " : "", kept ? path : "");
    *source = cc_strdup(text, e);
    if (*source == NULL) {
        status = CC_FAIL;
        goto out;
    }
    *out = p;
    return CC_OK;
out:
    cc_profile_free(&p);
    return status;
}
