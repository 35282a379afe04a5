/* Data sets: found by the text that names them, read, and normalized to mean 0 and variance 1 a
 * channel. */
#include "train/data/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/memory.h"
#include "core/nearest.h"
#include "train/data/sources.h"

const char *const cc_data_names[] = {"digits",           "text", "shapes", "synthetic",
                                     "synthetic-sparse", NULL};

static void free_samples(struct cc_samples *s)
{
    free(s->byte);
    free(s->value);
    cc_rows_free(&s->rows);
    free(s->label);
}

void cc_data_free(struct cc_data *d)
{
    if (d == NULL)
        return;
    free_samples(&d->train);
    free_samples(&d->test);
    free(d->mean);
    free(d->scale);
    free(d->pairs);
    free(d->name);
    free(d);
}

/* --- texts --- */

static int open_folder(const char *path, struct cc_data *d, struct cc_error *e)
{
    bool found = false;
    CC_TRY(cc_data_idx_folder(path, &found, d, e));
    if (!found)
        CC_TRY(cc_data_cifar_folder(path, &found, d, e));
    return found ? CC_OK
                 : cc_fail(e,
                           "%s: the folder has neither train-images-idx3-ubyte (MNIST; also .gz), "
                           "nor data_batch_1.bin (CIFAR-10), nor train.bin (CIFAR-100)",
                           path);
}

static bool ends_with(const char *text, const char *suffix)
{
    const size_t n = strlen(text), m = strlen(suffix);
    return n >= m && strcmp(text + n - m, suffix) == 0;
}

static int open_path(const char *path, const char *keys, struct cc_data *d, struct cc_error *e)
{
    struct stat st;
    static const struct {
        const char *suffix;
        int (*read)(const char *path, const char *keys, struct cc_data *d, struct cc_error *e);
    } readers[] = {{".csv", cc_data_csv},
                   {".libsvm", cc_data_libsvm},
                   {".svm", cc_data_libsvm},
                   {".npz", cc_data_npz},
                   {".npy", cc_data_npy}};
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (ends_with(path, readers[i].suffix))
            return readers[i].read(path, keys, d, e);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return keys != NULL ? cc_usage(e, "%s: a folder has no keys: '%s'", path, keys)
                            : open_folder(path, d, e);
    const char *near = cc_nearest(path, cc_data_names);
    if (near != NULL)
        return cc_usage(e, "'%s' is not a data set; did you mean '%s'?", path, near);
    return cc_usage(e,
                    "'%s' is not a data set: it is digits, shapes, synthetic, a folder of IDX or "
                    "CIFAR files, or a .csv, .libsvm, .npz or .npy file",
                    path);
}

static bool is_text(const char *path)
{
    return strcmp(path, "text") == 0 || strncmp(path, "text:", 5) == 0 ||
           strncmp(path, "text,", 5) == 0;
}

static int open_dense(const char *path, const char *keys, struct cc_data *d, struct cc_error *e)
{
    if (strcmp(path, "digits") == 0)
        return keys == NULL ? cc_data_digits(d, e) : cc_usage(e, "digits has no keys");
    if (strcmp(path, "synthetic") == 0)
        return cc_data_synthetic(keys, d, e);
    if (strcmp(path, "shapes") == 0)
        return cc_data_shapes(keys, d, e);
    if (strcmp(path, "synthetic-sparse") == 0)
        return cc_usage(e, "synthetic-sparse has sparse rows, which --net logreg and svm take");
    if (is_text(path))
        return cc_usage(e, "--data %s is a text, and goes with --net gpt", path);
    return open_path(path, keys, d, e);
}

static int open_rows(const char *path, const char *keys, struct cc_data *d, struct cc_error *e)
{
    if (strcmp(path, "synthetic-sparse") == 0)
        return cc_data_synthetic_rows(keys, d, e);
    if (ends_with(path, ".libsvm") || ends_with(path, ".svm"))
        return cc_data_libsvm_rows(path, keys, d, e);
    return cc_usage(e,
                    "'%s' has no sparse rows, which logreg and svm take: they are "
                    "synthetic-sparse, or a .libsvm or .svm file",
                    path);
}

/* The keys begin behind the last colon, if what follows it has a '='. */
static int open_text(const char *text, bool sparse, struct cc_data *d, struct cc_error *e)
{
    char *path = cc_strdup(text, e), *keys;
    if (path == NULL)
        return CC_FAIL;
    keys = strrchr(path, ':');
    if (keys != NULL && strchr(keys, '=') != NULL)
        *keys++ = '\0';
    else
        keys = NULL;
    const int status = sparse ? open_rows(path, keys, d, e) : open_dense(path, keys, d, e);
    free(path);
    return status;
}

/* --- normalization --- */

static double sample_value(const struct cc_samples *s, size_t i)
{
    return s->byte != NULL ? (double)s->byte[i] : (double)s->value[i];
}

/* A channel that is the same everywhere becomes 0. */
static int normalize(struct cc_data *d, struct cc_error *e)
{
    const struct cc_samples *s = &d->train;
    const size_t plane = d->height * d->width, n = s->count * plane;
    CC_TRY(CC_NEW(d->mean, d->channels, e));
    CC_TRY(CC_NEW(d->scale, d->channels, e));
    for (size_t c = 0; c < d->channels; c++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < n; i++) {
            const double v = sample_value(s, (i / plane * d->channels + c) * plane + i % plane);
            sum += v;
            squares += v * v;
        }
        const double mean = sum / (double)n, variance = squares / (double)n - mean * mean;
        d->mean[c] = (float)mean;
        d->scale[c] = variance > 1e-12 * (squares / (double)n) ? (float)(1 / sqrt(variance)) : 0;
    }
    return CC_OK;
}

static int check_counts(const struct cc_data *d, struct cc_error *e)
{
    if (d->train.count > 0 && d->test.count > 0 && d->classes >= 2)
        return CC_OK;
    return cc_fail(e, "%s: %zu sample%s to train with, %zu to test with, %zu class%s: too few",
                   d->name, d->train.count, d->train.count == 1 ? "" : "s", d->test.count,
                   d->classes, d->classes == 1 ? "" : "es");
}

/* The path in text:PATH, to be freed, or NULL, and the tokens of ",vocab=N" behind; 0: none. */
static int vocabulary_of(const char *text, char **path, size_t *tokens, struct cc_error *e)
{
    static const char key[] = ",vocab=";
    const char *last = strstr(text, key), *end = text + strlen(text);
    *tokens = 0;
    while (last != NULL && strstr(last + 1, key) != NULL)
        last = strstr(last + 1, key);
    if (last != NULL) {
        char *rest;
        const unsigned long n = strtoul(last + sizeof key - 1, &rest, 10);
        if (*rest != '\0' || n < 2 || n > CC_TOKENS_MOST)
            return cc_usage(e, "--data %s: vocab=N is 2 to %d tokens", text, CC_TOKENS_MOST);
        *tokens = n;
        end = last;
    }
    if (text[4] == ',' && last != text + 4)
        return cc_usage(e, "--data %s: behind text, comes vocab=N, or a path behind text:", text);
    if (text[4] != ':')
        return CC_OK;
    *path = strndup(text + 5, (size_t)(end - text - 5));
    return *path != NULL ? CC_OK : cc_fail(e, "out of memory");
}

int cc_data_open_text(const char *text, size_t context, struct cc_data **out, struct cc_error *e)
{
    int status = CC_OK;
    struct cc_data *d;
    char *path = NULL;
    size_t tokens;
    if (!is_text(text))
        return cc_usage(e, "--net gpt learns from a text: --data text or text:PATH, not '%s'",
                        text);
    CC_TRY(CC_NEW(d, 1, e));
    d->name = cc_strdup(text, e);
    CC_TRY_OUT(d->name != NULL ? CC_OK : CC_FAIL);
    CC_TRY_OUT(vocabulary_of(text, &path, &tokens, e));
    CC_TRY_OUT(cc_data_text(path, context, tokens, d, e));
    CC_TRY_OUT(check_counts(d, e));
    *out = d;
out:
    free(path);
    if (status != CC_OK)
        cc_data_free(d);
    return status;
}

static int open_set(const char *text, bool sparse, struct cc_data **out, struct cc_error *e)
{
    int status = CC_OK;
    struct cc_data *d;
    CC_TRY(CC_NEW(d, 1, e));
    d->name = cc_strdup(text, e);
    CC_TRY_OUT(d->name != NULL ? CC_OK : CC_FAIL);
    CC_TRY_OUT(open_text(text, sparse, d, e));
    CC_TRY_OUT(check_counts(d, e));
    if (!sparse)
        CC_TRY_OUT(normalize(d, e));
    *out = d;
out:
    if (status != CC_OK)
        cc_data_free(d);
    return status;
}

int cc_data_open(const char *text, struct cc_data **out, struct cc_error *e)
{
    return open_set(text, false, out, e);
}

int cc_data_open_rows(const char *text, struct cc_data **out, struct cc_error *e)
{
    return open_set(text, true, out, e);
}
