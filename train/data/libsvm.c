/* LIBSVM's format: "LABEL INDEX:VALUE INDEX:VALUE ...", a sample in each line, indices from 1 on,
 * ascending; what follows a # is left out. A text is read as sparse rows, of which a data set keeps
 * the non-zeros or all values. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/infile.h"
#include "core/memory.h"
#include "train/data/sources.h"

/* Files may name far more features than samples have: beyond these, they are refused. */
#define MOST_FEATURES        ((size_t)1 << 20)
#define MOST_SPARSE_FEATURES ((size_t)1 << 30)
#define MOST_VALUES          ((size_t)1 << 30)

struct reader {
    const char *text, *end, *at;
    size_t line; /* from 1 */
    size_t most; /* the largest index that is allowed, */
    bool given;  /* the data set gives the number of features */
    struct cc_error *e;
};

static int bad(const struct reader *r, const char *what)
{
    return cc_fail(r->e, "line %zu, byte %zu: %s", r->line, (size_t)(r->at - r->text), what);
}

static int bad_index(const struct reader *r, double index)
{
    char text[112];
    if (r->given && index >= 1 && index == floor(index))
        (void)snprintf(text, sizeof text, "index %.0f, and samples have %zu feature%s", index,
                       r->most, r->most == 1 ? "" : "s");
    else
        (void)snprintf(text, sizeof text, "an index should be a whole number from 1 to %zu",
                       r->most);
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

static bool ends_number(char c, char until)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '#' || c == until;
}

/* A plain decimal number whose digits are a whole number below 2^53, divided by a power of ten that
 * a double has exactly: then one division rounds it as strtod does. Anything else is left to
 * get_number. */
static bool get_plain(struct reader *r, char until, double *out)
{
    static const double power[] = {1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    enum { DIGITS = 15 };
    const char *at = r->at;
    const bool negative = at < r->end && *at == '-';
    uint64_t whole = 0;
    int digits = 0, after = 0;
    bool point = false;
    for (at += negative || (at < r->end && *at == '+'); at < r->end; at++) {
        if (*at == '.' && !point) {
            point = true;
            continue;
        }
        if (*at < '0' || *at > '9')
            break;
        whole = whole * 10 + (uint64_t)(*at - '0');
        after += point;
        if (++digits > DIGITS)
            return false;
    }
    if (digits == 0 || (at < r->end && !ends_number(*at, until)))
        return false;
    *out = (negative ? -1 : 1) * ((double)whole / power[after]);
    r->at = at;
    return true;
}

/* A finite number, which ends at a blank or at `until`. */
static int get_number(struct reader *r, char until, double *out)
{
    char word[64], text[96], *end;
    size_t n = 0;
    if (get_plain(r, until, out))
        return CC_OK;
    while (r->at + n < r->end && !ends_number(r->at[n], until) && n < sizeof word)
        n++;
    if (n == 0)
        return bad(r, "a number is missing");
    if (n == sizeof word)
        return bad(r, "a number of more than 63 characters");
    memcpy(word, r->at, n);
    word[n] = '\0';
    *out = strtod(word, &end);
    if (*end != '\0' || strspn(word, "+-.eE0123456789") != n) {
        (void)snprintf(text, sizeof text, "not a number: '%s'", word);
        return bad(r, text);
    }
    if (!isfinite(*out) || fabs(*out) > 1e38)
        return bad(r, "a number beyond those of a float");
    r->at += n;
    return CC_OK;
}

static int get_pair(struct reader *r, size_t *index, double *value)
{
    double i;
    CC_TRY(get_number(r, ':', &i));
    if (!(i >= 1) || i != floor(i) || i > (double)r->most)
        return bad_index(r, i);
    if (i <= (double)*index)
        return bad(r, "indices should ascend");
    if (r->at == r->end || *r->at != ':')
        return bad(r, "a colon should follow the index");
    r->at++;
    *index = (size_t)i;
    return get_number(r, '\0', value);
}

struct table {
    struct cc_sparse_rows rows;
    double *label; /* by sample */
    size_t label_capacity, features;
};

static void free_table(struct table *t)
{
    cc_rows_free(&t->rows);
    free(t->label);
}

static int read_line(struct reader *r, struct table *t)
{
    double label, value;
    size_t index = 0;
    CC_TRY(get_number(r, '\0', &label));
    CC_TRY(CC_GROW(t->label, &t->label_capacity, t->rows.count + 1, r->e));
    t->label[t->rows.count] = label;
    CC_TRY(cc_rows_add_row(&t->rows, r->e));
    for (skip_blanks(r); !at_end_of_line(r); skip_blanks(r)) {
        CC_TRY(get_pair(r, &index, &value));
        if ((float)value != 0)
            CC_TRY(cc_rows_add(&t->rows, (uint32_t)index - 1, (float)value, r->e));
    }
    t->features = index > t->features ? index : t->features;
    return CC_OK;
}

static int read_lines(struct reader *r, struct table *t)
{
    for (; r->at < r->end; r->at++, r->line++) {
        skip_blanks(r);
        if (!at_end_of_line(r))
            CC_TRY(read_line(r, t));
        if (r->at == r->end)
            break;
    }
    return t->rows.count > 0 ? CC_OK : cc_fail(r->e, "it has no samples");
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The classes of the first part: its distinct labels. */
static int collect_labels(const struct table *t, struct cc_svm_labels *l, struct cc_error *e)
{
    const size_t n = t->rows.count;
    CC_TRY(CC_GROW(l->value, &l->capacity, n, e));
    memcpy(l->value, t->label, n * sizeof *l->value);
    qsort(l->value, n, sizeof *l->value, by_value);
    for (size_t i = 0; i < n; i++)
        if (l->count == 0 || l->value[i] != l->value[l->count - 1])
            l->value[l->count++] = l->value[i];
    return l->count <= CC_MOST_CLASSES
               ? CC_OK
               : cc_fail(e, "%zu different labels: more than %d classes; is it a regression?",
                         l->count, (int)CC_MOST_CLASSES);
}

static int take_labels(const struct table *t, const struct cc_svm_labels *l, struct cc_samples *out,
                       struct cc_error *e)
{
    const size_t n = t->rows.count;
    CC_TRY(CC_NEW(out->label, n, e));
    for (size_t i = 0; i < n; i++) {
        const double *found =
            l->count > 0 ? bsearch(&t->label[i], l->value, l->count, sizeof *l->value, by_value)
                         : NULL;
        if (found == NULL)
            return cc_fail(e, "sample %zu: the label %g is none of the %zu in training", i + 1,
                           t->label[i], l->count);
        out->label[i] = (uint16_t)(found - l->value);
    }
    out->count = n;
    return CC_OK;
}

/* All values of the rows. */
static int fill(const struct cc_sparse_rows *rows, size_t features, struct cc_samples *out,
                struct cc_error *e)
{
    size_t values;
    if (!cc_mul(rows->count, features, &values) || values > MOST_VALUES)
        return cc_fail(e,
                       "%zu samples with %zu features: more than 2^30 values; logreg and svm keep "
                       "the non-zeros alone",
                       rows->count, features);
    CC_TRY(cc_alloc_floats(values, &out->value, e));
    for (size_t i = 0; i < rows->count; i++)
        for (size_t k = rows->begin[i]; k < rows->begin[i + 1]; k++)
            out->value[i * features + rows->index[k]] = rows->value[k];
    return CC_OK;
}

int cc_libsvm_parse(const char *text, size_t size, const struct cc_svm_form *form,
                    struct cc_svm_labels *labels, struct cc_data *d, struct cc_samples *out,
                    struct cc_error *e)
{
    const size_t given = form->features > 0 ? form->features : cc_data_values(d);
    struct reader r = {.text = text,
                       .end = text + size,
                       .at = text,
                       .line = 1,
                       .most = given > 0      ? given
                               : form->sparse ? MOST_SPARSE_FEATURES
                                              : MOST_FEATURES,
                       .given = given > 0,
                       .e = e};
    struct table t = {.features = 0};
    int status = CC_OK;
    CC_TRY_OUT(read_lines(&r, &t));
    if (cc_data_values(d) == 0) {
        d->channels = given > 0 ? given : t.features;
        d->height = d->width = 1;
    }
    if (d->channels == 0)
        CC_TRY_OUT(cc_fail(e, "no label is followed by a pair index:value"));
    if (out == &d->train)
        CC_TRY_OUT(collect_labels(&t, labels, e));
    d->classes = labels->count;
    CC_TRY_OUT(take_labels(&t, labels, out, e));
    if (form->sparse) {
        out->rows = t.rows;
        t.rows = (struct cc_sparse_rows){.count = 0};
    } else {
        status = fill(&t.rows, cc_data_values(d), out, e);
    }
out:
    free_table(&t);
    return status;
}

/* --- files --- */

struct config {
    struct cc_data *d;
    struct cc_svm_form form;
    char *test;
};

static const struct cc_data_key keys_of_values[] = {
    {"features", CC_KEY_FEATURES, .at = offsetof(struct config, form.features), 1, MOST_FEATURES},
    {"dims", CC_KEY_DIMS, .at = offsetof(struct config, d)},
    {"test", CC_KEY_PATH, .at = offsetof(struct config, test)},
    {.name = NULL}};
static const struct cc_data_key keys_of_rows[] = {
    {"features", CC_KEY_FEATURES, .at = offsetof(struct config, form.features), 1,
     MOST_SPARSE_FEATURES},
    {"test", CC_KEY_PATH, .at = offsetof(struct config, test)},
    {.name = NULL}};

static int read_part(const char *path, const struct config *c, struct cc_svm_labels *labels,
                     struct cc_samples *out, struct cc_error *e)
{
    struct cc_bytes file;
    CC_TRY(cc_file_read(path, &file, e));
    const int status =
        cc_libsvm_parse((const char *)file.data, file.size, &c->form, labels, c->d, out, e);
    cc_bytes_free(&file);
    if (status != CC_OK)
        cc_error_in(e, "%s", path);
    return status;
}

static int read_files(const char *path, const char *keys, bool sparse, struct cc_data *d,
                      struct cc_error *e)
{
    struct config c = {.d = d, .form = {.sparse = sparse}};
    struct cc_svm_labels labels = {.count = 0};
    int status = CC_OK;
    CC_TRY_OUT(cc_data_keys(keys, sparse ? keys_of_rows : keys_of_values, &c, e));
    if (cc_data_values(d) != 0 && c.form.features > cc_data_values(d))
        CC_TRY_OUT(cc_usage(e, "%s: features=%zu, and a sample of dims=%zux%zux%zu has %zu value%s",
                            path, c.form.features, d->channels, d->height, d->width,
                            cc_data_values(d), cc_data_values(d) == 1 ? "" : "s"));
    CC_TRY_OUT(read_part(path, &c, &labels, &d->train, e));
    status = c.test != NULL ? read_part(c.test, &c, &labels, &d->test, e) : cc_data_split(d, e);
out:
    free(c.test);
    free(labels.value);
    return status;
}

int cc_data_libsvm(const char *path, const char *keys, struct cc_data *d, struct cc_error *e)
{
    return read_files(path, keys, false, d, e);
}

int cc_data_libsvm_rows(const char *path, const char *keys, struct cc_data *d, struct cc_error *e)
{
    return read_files(path, keys, true, d, e);
}
