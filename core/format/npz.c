/* Reading .npz by libzip: each member must be an .npy file, and its values are read block by
 * block. */
#include "core/format/npz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include "core/format/npy.h"
#include "core/memory.h"
#include "core/nearest.h"
#include "core/utf8.h"

/* Deflate makes at most 258 bytes of two bits. */
enum { MOST_DEFLATE = 1032 };

static const char suffix[] = ".npy";

/* --- the archive --- */

static int zip_fail(zip_error_t *why, struct cc_error *e)
{
    const int status = cc_fail(e, "not a .npz file that can be read: %s", zip_error_strerror(why));
    zip_error_fini(why);
    return status;
}

int cc_npz_open(const struct cc_infile *f, zip_t **out, struct cc_error *e)
{
    int code = 0;
    const int fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 0); /* zip_fdopen takes it */
    if (fd < 0)
        return cc_fail(e, "cannot be read: %s", strerror(errno));
    *out = zip_fdopen(fd, 0, &code);
    if (*out != NULL)
        return CC_OK;
    zip_error_t why;
    (void)close(fd);
    zip_error_init_with_code(&why, code);
    return zip_fail(&why, e);
}

int cc_npz_open_bytes(const uint8_t *bytes, size_t size, zip_t **out, struct cc_error *e)
{
    zip_error_t why;
    zip_error_init(&why);
    zip_source_t *source = zip_source_buffer_create(bytes, size, 0, &why);
    *out = source != NULL ? zip_open_from_source(source, ZIP_RDONLY, &why) : NULL;
    if (*out != NULL)
        return CC_OK;
    if (source != NULL)
        zip_source_free(source);
    return zip_fail(&why, e);
}

void cc_npz_close(zip_t *z)
{
    if (z != NULL)
        zip_discard(z);
}

/* --- a member --- */

struct member {
    const char *name; /* owned by the archive */
    zip_file_t *file;
    size_t size;
};

/* Puts the member's name before the message. */
static int in_member(int status, const struct member *m, struct cc_error *e)
{
    if (status != CC_OK)
        cc_error_in(e, "member '%.200s'", m->name);
    return status;
}

static int stat_member(zip_t *z, size_t index, struct member *out, struct cc_error *e)
{
    const zip_uint64_t needed =
        ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    zip_stat_t st;
    size_t where;
    if (zip_stat_index(z, index, ZIP_FL_ENC_RAW, &st) != 0 || (st.valid & needed) != needed)
        return cc_fail(e, "member %zu: it has no name or no size", index);
    *out = (struct member){.name = st.name, .size = (size_t)st.size};
    const size_t length = strlen(st.name), tail = sizeof suffix - 1;
    if (!cc_utf8_valid((const uint8_t *)st.name, length, &where))
        return cc_fail(e, "member %zu: its name is not UTF-8", index);
    for (const char *p = st.name; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return cc_fail(e, "member %zu: its name has control characters", index);
    if (length <= tail || strcmp(st.name + length - tail, suffix) != 0)
        return cc_fail(e, "member '%.200s' is not a .npy file; an .npz file holds nothing else",
                       st.name);
    if (st.encryption_method != ZIP_EM_NONE)
        return cc_fail(e, "member '%.200s' is encrypted", st.name);
    if (st.comp_method != ZIP_CM_STORE && st.comp_method != ZIP_CM_DEFLATE)
        return cc_fail(e,
                       "member '%.200s' is compressed by method %u; stored and deflated ones "
                       "are read, as numpy writes them",
                       st.name, (unsigned)st.comp_method);
    return CC_OK;
}

static int read_bytes(const struct member *m, void *to, size_t bytes, struct cc_error *e)
{
    uint8_t *at = to;
    while (bytes > 0) {
        const zip_int64_t n = zip_fread(m->file, at, bytes);
        if (n < 0)
            return cc_fail(e, "%s", zip_file_strerror(m->file));
        if (n == 0)
            return cc_fail(e, "it is shorter than the archive says");
        at += n;
        bytes -= (size_t)n;
    }
    return CC_OK;
}

/* Opens a member and reads its header, after which its values come. */
static int open_member(zip_t *z, size_t index, struct member *m, struct cc_contents *out,
                       struct cc_error *e)
{
    uint8_t first[CC_HEAD_FIRST] = {0}, *head = NULL;
    int status = CC_OK;
    CC_TRY(stat_member(z, index, m, e));
    m->file = zip_fopen_index(z, index, 0);
    if (m->file == NULL) {
        (void)in_member(cc_fail(e, "%s", zip_strerror(z)), m, e);
        return CC_FAIL;
    }
    const size_t some = m->size < sizeof first ? m->size : sizeof first;
    CC_TRY_OUT(read_bytes(m, first, some, e));
    const size_t length = cc_npy_head(first, m->size);
    CC_TRY_OUT(CC_NEW(head, length, e));
    memcpy(head, first, some < length ? some : length);
    if (length > some)
        CC_TRY_OUT(read_bytes(m, head + some, length - some, e));
    CC_TRY_OUT(cc_npy_parse(head, m->size, out, e));
out:
    free(head);
    if (status != CC_OK)
        (void)zip_fclose(m->file);
    return in_member(status, m, e);
}

/* --- the headers --- */

static int refuse_duplicates(const struct cc_contents *c, struct cc_error *e)
{
    const char **names;
    CC_TRY(CC_NEW(names, c->count, e));
    for (size_t i = 0; i < c->count; i++)
        names[i] = c->tensors[i].name;
    const char *twice = cc_word_twice(names, c->count);
    free(names);
    return twice == NULL ? CC_OK : cc_fail(e, "two members have the name '%.200s'", twice);
}

static int add_member(zip_t *z, size_t index, struct cc_contents *out, struct cc_error *e)
{
    struct cc_contents one = {0};
    struct member m;
    int status = open_member(z, index, &m, &one, e);
    if (status != CC_OK) {
        cc_contents_free(&one);
        return status;
    }
    (void)zip_fclose(m.file);
    const struct cc_stored *t = &one.tensors[0];
    char *name;
    status = cc_text(&name, e, "%.*s", (int)(strlen(m.name) - (sizeof suffix - 1)), m.name);
    if (status == CC_OK)
        status = cc_contents_add(out, name, &t->shape, t->dtype, index, e);
    free(name);
    cc_contents_free(&one);
    return status;
}

/* Counts the members, whose sizes must be possible. */
static int count_members(zip_t *z, size_t file_size, size_t *out, struct cc_error *e)
{
    const zip_int64_t entries = zip_get_num_entries(z, 0);
    const double most = (double)MOST_DEFLATE * (double)file_size;
    double sum = 0;
    if (entries <= 0)
        return cc_fail(e, "it holds no arrays");
    for (size_t i = 0; i < (size_t)entries; i++) {
        struct member m;
        CC_TRY(stat_member(z, i, &m, e));
        sum += (double)m.size;
    }
    *out = (size_t)entries;
    return sum > most
               ? cc_fail(e, "it says to hold %.0f bytes, more than %zu bytes can when deflated",
                         sum, file_size)
               : CC_OK;
}

/* Reads the headers and closes the archive. */
static int read_archive(zip_t *z, size_t file_size, struct cc_contents *out, struct cc_error *e)
{
    size_t entries = 0;
    int status = count_members(z, file_size, &entries, e);
    for (size_t i = 0; i < entries && status == CC_OK; i++)
        status = add_member(z, i, out, e);
    cc_npz_close(z);
    return status == CC_OK ? refuse_duplicates(out, e) : status;
}

int cc_npz_read(const struct cc_infile *f, struct cc_contents *out, struct cc_error *e)
{
    zip_t *z;
    CC_TRY(cc_npz_open(f, &z, e));
    return read_archive(z, f->state.size, out, e);
}

int cc_npz_parse(const uint8_t *bytes, size_t size, struct cc_contents *out, struct cc_error *e)
{
    zip_t *z;
    CC_TRY(cc_npz_open_bytes(bytes, size, &z, e));
    return read_archive(z, size, out, e);
}

/* --- values --- */

static int read_values(const struct member *m, enum cc_dtype dtype, size_t all, size_t n, float *x,
                       struct cc_error *e)
{
    uint8_t block[1 << 15], more;
    const size_t each = cc_dtype_bytes(dtype), most = sizeof block / each;
    for (size_t at = 0, k; at < n; at += k) {
        k = n - at < most ? n - at : most;
        CC_TRY(read_bytes(m, block, k * each, e));
        CC_TRY(cc_stored_values(block, k * each, dtype, k, x + at, e));
    }
    if (n < all)
        return CC_OK;
    /* Reading to the end compares the checksum. */
    const zip_int64_t rest = zip_fread(m->file, &more, 1);
    if (rest < 0)
        return cc_fail(e, "%s", zip_file_strerror(m->file));
    return rest == 0 ? CC_OK : cc_fail(e, "it is longer than the archive says");
}

int cc_npz_load(zip_t *z, size_t member, enum cc_dtype dtype, size_t all, size_t n, float *x,
                struct cc_error *e)
{
    struct cc_contents one = {0};
    struct member m;
    int status = open_member(z, member, &m, &one, e);
    if (status == CC_OK) {
        if (one.tensors[0].dtype != dtype || one.tensors[0].shape.n != all)
            status = cc_fail(e, "its header has changed since the archive was opened");
        else
            status = read_values(&m, dtype, all, n, x, e);
        (void)zip_fclose(m.file);
        status = in_member(status, &m, e);
    }
    cc_contents_free(&one);
    return status;
}

/* --- whole members --- */

static int read_whole(zip_t *z, size_t index, uint8_t **out, size_t *size, struct cc_error *e)
{
    struct member m;
    uint8_t end;
    CC_TRY(stat_member(z, index, &m, e));
    uint8_t *all = cc_alloc(m.size, e);
    if (all == NULL)
        return CC_FAIL;
    m.file = zip_fopen_index(z, index, 0);
    int status =
        m.file != NULL ? read_bytes(&m, all, m.size, e) : cc_fail(e, "%s", zip_strerror(z));
    /* The end of the member is where its checksum is compared. */
    if (status == CC_OK && zip_fread(m.file, &end, 1) != 0)
        status = cc_fail(e, "%s", zip_file_strerror(m.file));
    if (m.file != NULL)
        (void)zip_fclose(m.file);
    if (status != CC_OK) {
        free(all);
        return in_member(status, &m, e);
    }
    *out = all;
    *size = m.size;
    return CC_OK;
}

int cc_npz_member(const uint8_t *bytes, size_t size, const char *name, uint8_t **out,
                  size_t *out_size, struct cc_error *e)
{
    const size_t length = strlen(name);
    size_t entries = 0;
    zip_t *z;
    *out = NULL;
    CC_TRY(cc_npz_open_bytes(bytes, size, &z, e));
    int status = count_members(z, size, &entries, e);
    for (size_t i = 0; i < entries && status == CC_OK && *out == NULL; i++) {
        const char *has = zip_get_name(z, i, ZIP_FL_ENC_RAW);
        if (has != NULL && strncmp(has, name, length) == 0 && strcmp(has + length, suffix) == 0)
            status = read_whole(z, i, out, out_size, e);
    }
    cc_npz_close(z);
    return status;
}
