/* Checkpoints as safetensors files: the checksums of texts and values are computed as they are
 * written, and compared before anything that is read is used. */
#include "netsim/inprocess/checkpoint.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/format/crc32.h"
#include "core/format/safetensors.h"
#include "core/memory.h"
#include "core/memory_text.h"

#define SCHEMA     "commcomp-checkpoint/3"
#define TEXTS_CRC  "texts_crc32"
#define VALUES_CRC "values_crc32"

/* --- the list --- */

int cc_checkpoint_add(struct cc_checkpoint *c, struct cc_shape shape, float *values,
                      struct cc_error *e, const char *format, ...)
{
    char *name;
    va_list args;
    if (shape.n == 0)
        return CC_OK;
    CC_TRY(CC_GROW(c->info, &c->info_capacity, c->count + 1, e));
    CC_TRY(CC_GROW(c->values, &c->values_capacity, c->count + 1, e));
    va_start(args, format);
    const int length = vasprintf(&name, format, args);
    va_end(args);
    if (length < 0)
        return cc_fail(e, "out of memory");
    c->info[c->count] = (struct cc_tensor_info){.name = name, .shape = shape};
    c->values[c->count++] = values;
    return CC_OK;
}

void cc_checkpoint_free(struct cc_checkpoint *c)
{
    for (size_t i = 0; i < c->count; i++)
        free((char *)(uintptr_t)c->info[i].name);
    free(c->info);
    free(c->values);
    *c = (struct cc_checkpoint){0};
}

/* --- checksums --- */

static uint32_t add_text(uint32_t crc, const struct cc_pair *p)
{
    crc = cc_crc32(crc, p->key, strlen(p->key));
    crc = cc_crc32(crc, "\n", 1);
    crc = cc_crc32(crc, p->value, strlen(p->value));
    return cc_crc32(crc, "\n", 1);
}

static uint32_t crc_of_array(const struct cc_checkpoint *c, size_t i)
{
    return cc_crc32(0, c->values[i], c->info[i].shape.n * sizeof(float));
}

/* The checksums of all arrays as one text, to be freed. */
static int print_checksums(const struct cc_checkpoint *c, char **out, struct cc_error *e)
{
    struct cc_memory_text t;
    CC_TRY(cc_memory_text_begin(&t, "a checkpoint's checksums", e));
    for (size_t i = 0; i < c->count; i++)
        (void)fprintf(t.f, i > 0 ? " %08" PRIx32 : "%08" PRIx32, crc_of_array(c, i));
    CC_TRY(cc_memory_text_end(&t, CC_OK, e));
    *out = t.text;
    return CC_OK;
}

/* --- writing --- */

static int write_values(const struct cc_checkpoint *c, const char *path,
                        const struct cc_pair *pairs, size_t count, struct cc_error *e)
{
    struct cc_safetensors_writer w;
    int status = CC_OK;
    CC_TRY(cc_safetensors_begin(&w, path, c->info, NULL, c->count, pairs, count, e));
    for (size_t i = 0; i < c->count && status == CC_OK; i++)
        status = cc_safetensors_bytes(&w, c->values[i], cc_float_bytes(c->info[i].shape.n), e);
    if (status == CC_OK)
        return cc_safetensors_commit(&w, e);
    cc_safetensors_abort(&w);
    return status;
}

int cc_checkpoint_write(const struct cc_checkpoint *c, const char *path,
                        const struct cc_pair *texts, size_t count, struct cc_error *e)
{
    char crc[16], *checksums = NULL;
    uint32_t sum = 0;
    int status = CC_OK;
    struct cc_pair *pairs;
    CC_TRY(CC_NEW(pairs, count + 3, e));
    CC_TRY_OUT(print_checksums(c, &checksums, e));
    pairs[0] = (struct cc_pair){"schema", SCHEMA};
    pairs[1] = (struct cc_pair){VALUES_CRC, checksums};
    memcpy(pairs + 2, texts, count * sizeof *pairs);
    for (size_t i = 0; i < count + 2; i++)
        sum = add_text(sum, &pairs[i]);
    (void)snprintf(crc, sizeof crc, "%08" PRIx32, sum);
    pairs[count + 2] = (struct cc_pair){TEXTS_CRC, crc};
    status = write_values(c, path, pairs, count + 3, e);
out:
    free(checksums);
    free(pairs);
    return status;
}

/* --- reading --- */

const char *cc_checkpoint_text(const struct cc_checkpoint_file *f, const char *key,
                               struct cc_error *e)
{
    const char *text = cc_contents_meta(&f->contents, key);
    if (text == NULL)
        (void)cc_fail(e, "%s: its metadata lack the key '%s': it is not a checkpoint, or damaged",
                      f->path, key);
    return text;
}

static int check_texts(const struct cc_checkpoint_file *f, struct cc_error *e)
{
    const char *schema = cc_checkpoint_text(f, "schema", e);
    const char *want = schema != NULL ? cc_checkpoint_text(f, TEXTS_CRC, e) : NULL;
    char got[16];
    uint32_t sum = 0;
    if (want == NULL)
        return CC_FAIL;
    if (strcmp(schema, SCHEMA) != 0)
        return cc_fail(e, "%s: its schema is '%.100s', not " SCHEMA, f->path, schema);
    for (size_t i = 0; i < f->contents.metadata_count; i++) {
        const struct cc_pair *p = &f->contents.metadata[i];
        if (strcmp(p->key, TEXTS_CRC) != 0)
            sum = add_text(sum, p);
    }
    (void)snprintf(got, sizeof got, "%08" PRIx32, sum);
    return strcmp(got, want) == 0
               ? CC_OK
               : cc_fail(e,
                         "%s: its metadata, from byte 8 on, have the checksum %s and not %.16s, "
                         "which they say: the file is damaged",
                         f->path, got, want);
}

int cc_checkpoint_open(const char *path, struct cc_checkpoint_file *out, struct cc_error *e)
{
    int status = CC_OK;
    *out = (struct cc_checkpoint_file){.path = path};
    CC_TRY(cc_infile_open(path, &out->file, e));
    CC_TRY_OUT(cc_contents_read(&out->file, path, CC_SAFETENSORS, &out->contents, e));
    status = check_texts(out, e);
out:
    if (status != CC_OK)
        cc_checkpoint_close(out);
    return status;
}

void cc_checkpoint_close(struct cc_checkpoint_file *f)
{
    cc_contents_free(&f->contents);
    cc_infile_close(&f->file);
}

/* The tensors of the file and those that are asked for. */
static int check_arrays(const struct cc_checkpoint_file *f, const struct cc_checkpoint *c,
                        struct cc_error *e)
{
    const struct cc_contents *has = &f->contents;
    for (size_t i = 0; i < c->count; i++) {
        if (i == has->count || strcmp(has->tensors[i].name, c->info[i].name) != 0)
            return cc_fail(e, "%s: where '%s' should be, tensor %zu is %s%.200s%s", f->path,
                           c->info[i].name, i, i < has->count ? "'" : "missing",
                           i < has->count ? has->tensors[i].name : "", i < has->count ? "'" : "");
        if (has->tensors[i].dtype != CC_F32 || has->tensors[i].shape.n != c->info[i].shape.n)
            return cc_fail(e, "%s: tensor '%s' has %zu values, not %zu of F32", f->path,
                           c->info[i].name, has->tensors[i].shape.n, c->info[i].shape.n);
    }
    return has->count == c->count
               ? CC_OK
               : cc_fail(e, "%s: %zu tensors, not %zu", f->path, has->count, c->count);
}

int cc_checkpoint_load(const struct cc_checkpoint_file *f, const struct cc_checkpoint *c,
                       struct cc_error *e)
{
    const char *checksums = cc_checkpoint_text(f, VALUES_CRC, e);
    if (checksums == NULL)
        return CC_FAIL;
    CC_TRY(check_arrays(f, c, e));
    if (strlen(checksums) + 1 != 9 * c->count)
        return cc_fail(e, "%s: %zu tensors, but checksums of %zu", f->path, c->count,
                       (strlen(checksums) + 1) / 9);
    for (size_t i = 0; i < c->count; i++) {
        const size_t at = f->contents.tensors[i].offset;
        char got[16];
        CC_TRY(cc_stored_read(&f->file, f->path, CC_F32, at, c->info[i].shape.n, c->values[i], e));
        (void)snprintf(got, sizeof got, "%08" PRIx32, crc_of_array(c, i));
        if (strncmp(got, checksums + 9 * i, 8) != 0)
            return cc_fail(e,
                           "%s: tensor '%s', from byte %zu on, has the checksum %s and not %.8s, "
                           "which the file says: it is damaged",
                           f->path, c->info[i].name, at, got, checksums + 9 * i);
    }
    return cc_infile_check(&f->file, f->path, &f->file.state, e);
}
