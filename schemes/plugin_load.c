#include "schemes/plugin_load.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/format/crc32.h"
#include "core/infile.h"
#include "schemes/plugin_call.h"
#include "schemes/plugin_guard.h"
#include "schemes/self_test.h"

static size_t count;

typedef int abi_function(void);
typedef const struct cc_scheme *scheme_function(void);

/* The address of a function that the file exports, or NULL. ISO C has no conversion from dlsym's
 * result to a function. */
static void find_function(void *handle, const char *name, void *out, size_t bytes)
{
    void *address = dlsym(handle, name);
    memcpy(out, &address, bytes);
}

static int find_scheme(void *handle, const struct cc_scheme **out, struct cc_error *e)
{
    abi_function *abi;
    scheme_function *scheme;
    find_function(handle, "commcomp_abi", &abi, sizeof abi);
    find_function(handle, "commcomp_scheme", &scheme, sizeof scheme);
    if (abi == NULL || scheme == NULL)
        return cc_fail(e,
                       "it is not a plugin, as it exports no %s: a plugin ends with CC_PLUGIN(its "
                       "scheme), of schemes/plugin.h (docs/plugins.md)",
                       abi == NULL ? "commcomp_abi" : "commcomp_scheme");
    if (abi() != CC_SCHEME_ABI)
        return cc_fail(e,
                       "it is built for plugin interface %d, and this program has %d: build it "
                       "again with the headers of this version",
                       abi(), CC_SCHEME_ABI);
    *out = scheme();
    return *out != NULL ? CC_OK : cc_fail(e, "its commcomp_scheme() returns NULL");
}

static int read_checksum(const char *path, uint32_t *out, struct cc_error *e)
{
    struct cc_bytes file;
    CC_TRY(cc_file_read(path, &file, e));
    *out = cc_crc32(0, file.data, file.size);
    cc_bytes_free(&file);
    return CC_OK;
}

/* Loads the file as the plugin p, whose path is set, and adds its scheme. One that is refused stays
 * loaded, as the program ends for it. */
static int load(struct cc_plugin *p, struct cc_error *e)
{
    const int call = cc_plugin_enter(p->path, "code that is run when it is loaded", CC_CALL_TEST_S);
    void *handle = dlopen(p->path, RTLD_NOW | RTLD_LOCAL);
    int status = CC_OK;
    if (handle == NULL)
        CC_TRY_OUT(cc_fail(e, "it cannot be loaded: %s", dlerror()));
    CC_TRY_OUT(find_scheme(handle, &p->own, e));
    if (!cc_scheme_runs(p->own))
        CC_TRY_OUT(cc_fail(e, "its scheme has no .encode"));
    cc_plugin_guard(p);
    status = cc_scheme_add(&p->guarded, e);
out:
    cc_plugin_leave(call);
    return status;
}

static int test(struct cc_plugin *p, struct cc_error *e)
{
    const int call = cc_plugin_enter(p->path, "self-test", CC_CALL_S);
    const int status = cc_scheme_self_test(&p->guarded, e);
    cc_plugin_leave(call);
    p->tested = true;
    return status;
}

static bool is_loaded(const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(cc_plugins[i].path, path) == 0)
            return true;
    return false;
}

int cc_plugin_load(const char *path, struct cc_error *e)
{
    char *real = realpath(path, NULL);
    int status = CC_OK;
    if (real == NULL)
        CC_TRY_OUT(cc_fail(e, "%s", strerror(errno)));
    if (is_loaded(real))
        goto out;
    if (count == CC_MOST_PLUGINS)
        CC_TRY_OUT(
            cc_fail(e, "%d plugins are loaded, and there is no room for more", CC_MOST_PLUGINS));
    struct cc_plugin *p = &cc_plugins[count];
    *p = (struct cc_plugin){.path = real};
    CC_TRY_OUT(cc_plugin_watch(e));
    CC_TRY_OUT(read_checksum(real, &p->checksum, e));
    CC_TRY_OUT(load(p, e));
    real = NULL; /* the catalogue has the scheme now */
    count++;
    status = test(p, e);
out:
    free(real);
    if (status != CC_OK)
        cc_error_in(e, "%s", path);
    return status;
}

const char *cc_plugin_path(size_t i)
{
    return i < count ? cc_plugins[i].path : NULL;
}

uint32_t cc_plugin_checksum(const struct cc_spec *s)
{
    uint32_t sum = 0;
    for (; s != NULL; s = cc_spec_inner(s))
        for (size_t i = 0; i < count; i++)
            if (&cc_plugins[i].guarded == s->scheme)
                sum = cc_crc32(sum, &cc_plugins[i].checksum, sizeof cc_plugins[i].checksum) | 1;
    return sum;
}
