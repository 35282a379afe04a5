/* CIFAR-10 and CIFAR-100, binary version (A. Krizhevsky, Learning multiple layers of features from
 * tiny images, 2009): records of one label byte, or of a coarse and a fine one, and 3,072 pixels: a
 * plane of 32 x 32 for red, green and blue. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/infile.h"
#include "core/memory.h"
#include "train/data/sources.h"

enum { PIXELS = 3 * 32 * 32 };

/* A version of the set, and its files. */
struct version {
    const char *train[6], *test; /* train: ends with NULL */
    size_t labels, classes;
};
static const struct version versions[] = {
    {{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
      "data_batch_5.bin", NULL},
     "test_batch.bin",
     1,
     10},
    {{"train.bin", NULL}, "test.bin", 2, 100},
};

int cc_cifar_parse(const uint8_t *file, size_t size, size_t labels, size_t classes,
                   struct cc_samples *out, struct cc_error *e)
{
    const size_t record = labels + PIXELS, n = size / record, first = out->count;
    if (n == 0 || size % record != 0)
        return cc_fail(e,
                       "byte %zu: the file ends within image %zu, and an image has %zu bytes; "
                       "fetch it again",
                       size, n, record);
    uint8_t *byte = realloc(out->byte, (first + n) * PIXELS);
    if (byte != NULL)
        out->byte = byte;
    uint16_t *label = realloc(out->label, (first + n) * sizeof *label);
    if (label != NULL)
        out->label = label;
    if (byte == NULL || label == NULL)
        return cc_fail(e, "out of memory: %zu images", first + n);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *at = file + i * record;
        const uint8_t class = at[labels - 1];
        if (class >= classes)
            return cc_fail(e, "byte %zu: class %u; the set has 0 to %zu: fetch the file again",
                           i * record + labels - 1, class, classes - 1);
        label[first + i] = class;
        memcpy(byte + (first + i) * PIXELS, at + labels, PIXELS);
    }
    out->count += n;
    return CC_OK;
}

static int read_file(const char *folder, const char *name, const struct version *v,
                     struct cc_samples *out, struct cc_error *e)
{
    char path[4096];
    struct cc_bytes file;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    CC_TRY(cc_file_read(path, &file, e));
    const int status = cc_cifar_parse(file.data, file.size, v->labels, v->classes, out, e);
    cc_bytes_free(&file);
    if (status != CC_OK)
        cc_error_in(e, "%s", path);
    return status;
}

int cc_data_cifar_folder(const char *path, bool *found, struct cc_data *d, struct cc_error *e)
{
    const struct version *v = NULL;
    char file[4096];
    for (size_t i = 0; i < sizeof versions / sizeof *versions && v == NULL; i++) {
        const int n = snprintf(file, sizeof file, "%s/%s", path, versions[i].train[0]);
        if (n > 0 && (size_t)n < sizeof file && access(file, R_OK) == 0)
            v = &versions[i];
    }
    *found = v != NULL;
    if (v == NULL)
        return CC_OK;
    d->channels = 3;
    d->height = d->width = 32;
    d->classes = v->classes;
    for (size_t i = 0; v->train[i] != NULL; i++)
        CC_TRY(read_file(path, v->train[i], v, &d->train, e));
    return read_file(path, v->test, v, &d->test, e);
}
