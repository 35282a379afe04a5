/* Tensors in CSV: libcsv splits the text, fed a line at a time so that messages can name the line.
 * A first pass counts values and columns, a second one (cc_csv_values) stores them. */
#include "core/format/csv.h"

#include <csv.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"

#define MAX_FIELD 64   /* bytes of a number */
#define MAX_NAME  4096 /* bytes of a name in the first line */

/* Numbers have a decimal point in every locale. */
static locale_t c_locale;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", NULL);
}

struct reader {
    float *out;            /* NULL: only count */
    size_t cap;            /* the room in out */
    size_t count, columns; /* values so far; fields of a row, 0 until the first row ends */
    size_t line, field;    /* the current line from 1, and field of the row from 0 */
    size_t names;          /* fields of the first row that are not numbers */
    bool named, failed;
    struct cc_error *e;
};

static void fail(struct reader *r, const char *what, const char *text)
{
    if (!r->failed)
        cc_error_set(r->e, "line %zu, field %zu: %s%.40s%s", r->line, r->field + 1, what, text,
                     *text != '\0' ? "'" : "");
    r->failed = true;
}

const char *cc_csv_fault(int error)
{
    return error == CSV_EPARSE ? "a quote that does not end, or stands within a field"
                               : csv_strerror(error);
}

static void take_number(struct reader *r, const char *text)
{
    float v = strtof_l(text, NULL, c_locale);
    if (isinf(v))
        fail(r, "beyond the range of float32: '", text);
    else if (r->out != NULL && r->count == r->cap)
        fail(r, "more values than before: the file has changed", "");
    else if (r->out != NULL)
        r->out[r->count] = v;
    r->count++;
}

static void on_field(void *data, size_t length, void *context)
{
    struct reader *r = context;
    const char *text = data;
    if (r->failed)
        return;
    bool first_row = r->columns == 0 && !r->named;
    if (length == 0) {
        fail(r, "is empty", "");
    } else if (length <= MAX_FIELD && cc_is_decimal(text, length)) {
        if (r->names > 0)
            fail(r, "a number among names: '", text);
        else
            take_number(r, text);
    } else if (first_row && r->count == 0) {
        r->names++;
    } else {
        fail(r, "not a number: '", text);
    }
    r->field++;
}

static void on_row(int end, void *context)
{
    (void)end;
    struct reader *r = context;
    if (r->failed)
        return;
    if (r->columns == 0)
        r->columns = r->field;
    else if (r->field != r->columns)
        fail(r,
             r->field < r->columns ? "the row ends, and is shorter than the first"
                                   : "the row is longer than the first",
             "");
    r->named = r->named || r->names > 0;
    r->names = 0;
    r->field = 0;
}

/* Feeds the text to libcsv line by line, and a long line in blocks of 64 KiB. */
static void feed(struct csv_parser *p, struct reader *r, const uint8_t *bytes, size_t size)
{
    r->line = 1;
    for (size_t at = 0; at < size && !r->failed;) {
        size_t n = size - at < 65536 ? size - at : 65536;
        const uint8_t *newline = memchr(bytes + at, '\n', n);
        if (newline != NULL)
            n = (size_t)(newline - (bytes + at)) + 1;
        if (csv_parse(p, bytes + at, n, on_field, on_row, r) != n && !r->failed) {
            fail(r, cc_csv_fault(csv_error(p)), "");
            return;
        }
        if (csv_get_buffer_size(p) > MAX_NAME + 65536)
            fail(r, "far too long", "");
        r->line += newline != NULL;
        at += n;
    }
    if (!r->failed && csv_fini(p, on_field, on_row, r) != 0)
        fail(r, cc_csv_fault(csv_error(p)), "");
}

static int read_all(struct reader *r, const uint8_t *bytes, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make_c_locale);
    struct csv_parser p;
    if (c_locale == (locale_t)0 ||
        csv_init(&p, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0)
        return cc_fail(r->e, "out of memory");
    feed(&p, r, bytes, size);
    csv_free(&p);
    return r->failed ? CC_FAIL : CC_OK;
}

int cc_csv_parse(const uint8_t *bytes, size_t size, struct cc_contents *out, struct cc_error *e)
{
    struct reader r = {.e = e};
    CC_TRY(read_all(&r, bytes, size));
    if (r.count == 0)
        return cc_fail(e, "it has no numbers");
    struct cc_shape shape = cc_shape_flat(r.count);
    if (r.columns > 1) {
        const size_t dim[] = {r.count / r.columns, r.columns};
        CC_TRY(cc_shape_make(dim, 2, &shape, e));
    }
    return cc_contents_add(out, CC_ONLY_TENSOR, &shape, CC_DECIMAL, 0, e);
}

int cc_csv_values(const uint8_t *bytes, size_t size, float *out, size_t n, struct cc_error *e)
{
    struct reader r = {.out = out, .cap = n, .e = e};
    CC_TRY(read_all(&r, bytes, size));
    return r.count == n ? CC_OK : cc_fail(e, "fewer values than before: the file has changed");
}

void cc_csv_put(FILE *f, const struct cc_shape *shape, const float *x, size_t n)
{
    size_t columns = shape->ndim == 2 ? shape->dim[1] : 1;
    for (size_t i = 0; i < n; i++)
        (void)fprintf(f, "%.9g%c", (double)x[i], (i + 1) % columns == 0 ? '\n' : ',');
}
