#include "schemes/plugin_load.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/format/crc32.h"
#include "core/infile.h"

enum { MOST = 64 };

static struct plugin {
    char *path; /* absolute */
    const struct cc_scheme *scheme;
    uint32_t checksum;
} plugins[MOST];
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

static int load(const char *path, struct plugin *out, struct cc_error *e)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int status = CC_OK;
    if (handle == NULL)
        return cc_fail(e, "it cannot be loaded: %s", dlerror());
    CC_TRY_OUT(find_scheme(handle, &out->scheme, e));
    if (!cc_scheme_runs(out->scheme))
        CC_TRY_OUT(cc_fail(e, "its scheme has no .encode"));
    status = cc_scheme_add(out->scheme, e);
out:
    if (status != CC_OK)
        (void)dlclose(handle);
    return status;
}

static bool is_loaded(const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(plugins[i].path, path) == 0)
            return true;
    return false;
}

int cc_plugin_load(const char *path, struct cc_error *e)
{
    struct plugin p = {.path = realpath(path, NULL)};
    int status = CC_OK;
    if (p.path == NULL) {
        status = cc_fail(e, "%s", strerror(errno));
        goto out;
    }
    if (is_loaded(p.path))
        goto out;
    if (count == MOST) {
        status = cc_fail(e, "%d plugins are loaded, and there is no room for more", MOST);
        goto out;
    }
    CC_TRY_OUT(read_checksum(p.path, &p.checksum, e));
    CC_TRY_OUT(load(p.path, &p, e));
    plugins[count++] = p;
    return CC_OK;
out:
    free(p.path);
    if (status != CC_OK)
        cc_error_in(e, "%s", path);
    return status;
}

const char *cc_plugin_path(size_t i)
{
    return i < count ? plugins[i].path : NULL;
}

uint32_t cc_plugin_checksum(const struct cc_spec *s)
{
    uint32_t sum = 0;
    for (; s != NULL; s = cc_spec_inner(s))
        for (size_t i = 0; i < count; i++)
            if (plugins[i].scheme == s->scheme)
                sum = cc_crc32(sum, &plugins[i].checksum, sizeof plugins[i].checksum) | 1;
    return sum;
}
