/* LIBSVM's format: "LABEL INDEX:VALUE INDEX:VALUE ...", a sample in each line, indices from 1 on,
 * ascending; what follows a # is left out. Samples are kept with all their values. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/infile.h"
#include "core/memory.h"
#include "train/data/sources.h"

/* Files may name far more features than samples have: beyond these, they are refused. */
#define MOST_FEATURES ((size_t)1 << 20)
#define MOST_VALUES   ((size_t)1 << 30)

struct reader {
    const char *text, *end, *at;
    size_t line; /* from 1 */
    struct cc_error *e;
};

static int bad(const struct reader *r, const char *what)
{
    return cc_fail(r->e, "line %zu, byte %zu: %s", r->line, (size_t)(r->at - r->text), what);
}

static int bad_index(const struct reader *r)
{
    char text[80];
    (void)snprintf(text, sizeof text, "an index should be a whole number from 1 to %zu",
                   MOST_FEATURES);
    return bad(r, text);
}

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
    if (r->at < r->end && *r->at == '#')
        while (r->at < r->end && *r->at != '\n')
            r->at++;
}

static bool at_end_of_line(const struct reader *r)
{
    return r->at == r->end || *r->at == '\n';
}

/* A finite number, which ends at a blank or at `until`. */
static int get_number(struct reader *r, char until, double *out)
{
    char word[64], *end;
    size_t n = 0;
    while (r->at + n < r->end && strchr(" \t\r\n#", r->at[n]) == NULL && r->at[n] != until &&
           n < sizeof word)
        n++;
    if (n == sizeof word)
        return bad(r, "a number of more than 63 characters");
    memcpy(word, r->at, n);
    word[n] = '\0';
    *out = strtod(word, &end);
    if (n == 0 || *end != '\0' || strspn(word, "+-.eE0123456789") != n)
        return bad(r, "a number is missing");
    if (!isfinite(*out) || fabs(*out) > 1e38)
        return bad(r, "a number beyond those of a float");
    r->at += n;
    return CC_OK;
}

static int get_pair(struct reader *r, size_t *index, double *value)
{
    double i;
    CC_TRY(get_number(r, ':', &i));
    if (!(i >= 1) || i != floor(i) || i > (double)MOST_FEATURES)
        return bad_index(r);
    if (i <= (double)*index)
        return bad(r, "indices should ascend");
    if (r->at == r->end || *r->at != ':')
        return bad(r, "a colon should follow the index");
    r->at++;
    *index = (size_t)i;
    return get_number(r, '\0', value);
}

/* Goes through all lines. Without `x` it counts samples and features, and collects labels. */
struct table {
    size_t rows, features;
    double *label; /* [rows], or NULL */
    float *x;      /* [rows][features] */
};

static int read_line(struct reader *r, struct table *t)
{
    double label, value;
    size_t index = 0;
    CC_TRY(get_number(r, '\0', &label));
    if (t->label != NULL)
        t->label[t->rows] = label;
    for (skip_blanks(r); !at_end_of_line(r); skip_blanks(r)) {
        CC_TRY(get_pair(r, &index, &value));
        if (t->x != NULL && index > t->features)
            return bad(r, "an index above the number of features");
        if (t->x != NULL)
            t->x[t->rows * t->features + index - 1] = (float)value;
        else if (index > t->features)
            t->features = index;
    }
    t->rows++;
    return CC_OK;
}

static int read_lines(const char *text, size_t size, struct table *t, struct cc_error *e)
{
    struct reader r = {.text = text, .end = text + size, .at = text, .line = 1, .e = e};
    t->rows = 0;
    for (; r.at < r.end; r.at++, r.line++) {
        skip_blanks(&r);
        if (!at_end_of_line(&r))
            CC_TRY(read_line(&r, t));
        if (r.at == r.end)
            break;
    }
    return t->rows > 0 ? CC_OK : cc_fail(e, "it has no samples");
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The classes of the first part: its distinct labels. */
static int collect_labels(const struct table *t, struct cc_svm_labels *l, struct cc_error *e)
{
    CC_TRY(cc_grow((void **)&l->value, &l->capacity, t->rows, sizeof *l->value, e));
    memcpy(l->value, t->label, t->rows * sizeof *l->value);
    qsort(l->value, t->rows, sizeof *l->value, by_value);
    for (size_t i = 0; i < t->rows; i++)
        if (l->count == 0 || l->value[i] != l->value[l->count - 1])
            l->value[l->count++] = l->value[i];
    return l->count <= CC_MOST_CLASSES
               ? CC_OK
               : cc_fail(e, "%zu different labels: more than %d classes; is it a regression?",
                         l->count, (int)CC_MOST_CLASSES);
}

static int take(const struct table *t, const struct cc_svm_labels *l, struct cc_samples *out,
                struct cc_error *e)
{
    out->label = cc_alloc(t->rows * sizeof *out->label, e);
    if (out->label == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < t->rows; i++) {
        const double *found =
            l->count > 0 ? bsearch(&t->label[i], l->value, l->count, sizeof *l->value, by_value)
                         : NULL;
        if (found == NULL)
            return cc_fail(e, "sample %zu: the label %g is none of the %zu in training", i + 1,
                           t->label[i], l->count);
        out->label[i] = (uint16_t)(found - l->value);
    }
    out->count = t->rows;
    return CC_OK;
}

int cc_libsvm_parse(const char *text, size_t size, size_t features, struct cc_svm_labels *labels,
                    struct cc_data *d, struct cc_samples *out, struct cc_error *e)
{
    struct table t = {.features = features};
    size_t values;
    int status = CC_OK;
    CC_TRY(read_lines(text, size, &t, e));
    if (features > 0 && t.features > features)
        return cc_fail(e, "an index of %zu, and samples have %zu features", t.features, features);
    if (d->channels * d->height * d->width == 0) {
        d->channels = t.features;
        d->height = d->width = 1;
    }
    if (t.features > cc_data_values(d))
        return cc_fail(e, "an index of %zu, and a sample has %zux%zux%zu values", t.features,
                       d->channels, d->height, d->width);
    t.features = cc_data_values(d);
    if (t.features == 0 || !cc_mul(t.rows, t.features, &values) || values > MOST_VALUES)
        return cc_fail(e,
                       "%zu samples with %zu features: 2^30 values are the most, and 1 the least",
                       t.rows, t.features);
    t.label = cc_alloc(t.rows * sizeof *t.label, e);
    t.x = out->value = cc_alloc0(values * sizeof *t.x, e);
    if (t.label == NULL || t.x == NULL) {
        status = CC_FAIL;
        goto out;
    }
    CC_TRY_OUT(read_lines(text, size, &t, e));
    if (out == &d->train)
        CC_TRY_OUT(collect_labels(&t, labels, e));
    d->classes = labels->count;
    status = take(&t, labels, out, e);
out:
    free(t.label);
    return status;
}

/* --- files --- */

struct config {
    struct cc_data *d;
    size_t features;
    char *test;
};

static int set(void *arg, const char *key, const char *value, struct cc_error *e)
{
    struct config *c = arg;
    if (strcmp(key, "features") == 0) {
        char *end;
        const unsigned long n = strtoul(value, &end, 10);
        if (*end != '\0' || value[0] == '-' || n < 1 || n > MOST_FEATURES)
            return cc_usage(e, "from 1 to %zu features", MOST_FEATURES);
        c->features = (size_t)n;
        return CC_OK;
    }
    if (strcmp(key, "dims") == 0)
        return cc_data_dims(value, c->d, e);
    if (strcmp(key, "test") == 0) {
        free(c->test);
        c->test = cc_strdup(value, e);
        return c->test != NULL ? CC_OK : CC_FAIL;
    }
    return cc_usage(e, "there is no key '%s'; there are features, dims, test", key);
}

static int read_part(const char *path, const struct config *c, struct cc_svm_labels *labels,
                     struct cc_samples *out, struct cc_error *e)
{
    struct cc_bytes file;
    CC_TRY(cc_file_read(path, &file, e));
    const int status =
        cc_libsvm_parse((const char *)file.data, file.size, c->features, labels, c->d, out, e);
    cc_bytes_free(&file);
    if (status != CC_OK)
        cc_error_in(e, "%s", path);
    return status;
}

int cc_data_libsvm(const char *path, const char *keys, struct cc_data *d, struct cc_error *e)
{
    struct config c = {.d = d};
    struct cc_svm_labels labels = {.count = 0};
    int status = CC_OK;
    CC_TRY_OUT(cc_data_keys(keys, set, &c, e));
    if (cc_data_values(d) != 0 && c.features > cc_data_values(d)) {
        status = cc_usage(e, "%s: features=%zu, and a sample of dims=%zux%zux%zu has %zu value%s",
                          path, c.features, d->channels, d->height, d->width, cc_data_values(d),
                          cc_data_values(d) == 1 ? "" : "s");
        goto out;
    }
    if (c.features > 0 && cc_data_values(d) == 0) {
        d->channels = c.features;
        d->height = d->width = 1;
    }
    CC_TRY_OUT(read_part(path, &c, &labels, &d->train, e));
    status = c.test != NULL ? read_part(c.test, &c, &labels, &d->test, e) : cc_data_split(d, e);
out:
    free(c.test);
    free(labels.value);
    return status;
}
