#include "results/record.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "core/nearest.h"
#include "results/text.h"

const char *const cc_format_names[] = {"table", "csv", "json", "md", "latex", NULL};

bool cc_column_shown(const struct cc_column *c)
{
    return c->key->head != NULL && !c->hidden;
}

const char *cc_column_head(const struct cc_column *c)
{
    return c->key->head != NULL ? c->key->head : c->key->name;
}

void cc_record_init(struct cc_record *r, const char *command, const struct cc_column *columns,
                    int argc, const char *const *argv)
{
    *r = (struct cc_record){.command = command, .columns = columns, .argc = argc, .argv = argv};
    while (columns[r->column_count].key != NULL)
        r->column_count++;
}

void cc_record_free(struct cc_record *r)
{
    for (size_t i = 0; i < r->row_count; i++) {
        for (size_t c = 0; c < r->column_count; c++)
            free(r->rows[i].value[c].text);
        free(r->rows[i].value);
    }
    for (size_t i = 0; i < r->note_count; i++)
        free(r->notes[i]);
    free(r->rows);
    free(r->notes);
    free(r->chosen);
    *r = (struct cc_record){0};
}

size_t cc_record_add(struct cc_record *r, struct cc_error *e)
{
    if (CC_GROW(r->rows, &r->row_capacity, r->row_count + 1, e) != CC_OK)
        return SIZE_MAX;
    struct cc_value *value = cc_alloc0(r->column_count * sizeof *value, e);
    if (value == NULL)
        return SIZE_MAX;
    r->rows[r->row_count] = (struct cc_row){.value = value};
    return r->row_count++;
}

static struct cc_value *find(const struct cc_record *r, size_t row, const struct cc_result_key *key)
{
    size_t c = 0;
    while (c < r->column_count && r->columns[c].key != key)
        c++;
    assert(row < r->row_count && c < r->column_count);
    return &r->rows[row].value[c];
}

/* text is owned from here on; NULL if v has none. */
static void set(struct cc_value *v, enum cc_value_kind kind, double number, char *text)
{
    free(v->text);
    *v = (struct cc_value){.kind = kind, .number = number, .text = text};
}

void cc_record_number(struct cc_record *r, size_t row, const struct cc_result_key *key, double v)
{
    bool finite = isfinite(v);
    /* Zero has no sign: -0.0 + 0 is 0. */
    set(find(r, row, key), finite ? CC_NUMBER : CC_NULL, finite ? v + 0.0 : 0, NULL);
}

int cc_record_whole(struct cc_record *r, size_t row, const struct cc_result_key *key, uint64_t v,
                    struct cc_error *e)
{
    char digits[24], *text = NULL;
    (void)snprintf(digits, sizeof digits, "%llu", (unsigned long long)v);
    if (v > UINT64_C(1) << 53 && (text = cc_strdup(digits, e)) == NULL)
        return CC_FAIL;
    set(find(r, row, key), CC_NUMBER, (double)v, text);
    return CC_OK;
}

void cc_record_numbers(struct cc_record *r, size_t row, const struct cc_number_column *columns,
                       size_t count)
{
    for (size_t i = 0; i < count; i++)
        cc_record_number(r, row, columns[i].key, columns[i].value);
}

void cc_record_bool(struct cc_record *r, size_t row, const struct cc_result_key *key, bool v)
{
    set(find(r, row, key), CC_BOOL, v, NULL);
}

int cc_record_text(struct cc_record *r, size_t row, const struct cc_result_key *key, const char *v,
                   struct cc_error *e)
{
    char *copy = cc_utf8_copy(v, e);
    if (copy == NULL)
        return CC_FAIL;
    set(find(r, row, key), CC_TEXT, 0, copy);
    return CC_OK;
}

int cc_record_texts(struct cc_record *r, size_t row, const struct cc_text_column *columns,
                    size_t count, struct cc_error *e)
{
    for (size_t i = 0; i < count; i++)
        if (columns[i].text != NULL && columns[i].text[0] != '\0')
            CC_TRY(cc_record_text(r, row, columns[i].key, columns[i].text, e));
    return CC_OK;
}

void cc_record_origin(struct cc_record *r, size_t row, const struct cc_result_key *key,
                      enum cc_origin origin)
{
    find(r, row, key)->origin = origin;
}

void cc_record_row_origin(struct cc_record *r, size_t row, enum cc_origin origin)
{
    assert(row < r->row_count);
    r->rows[row].origin = origin;
}

enum cc_origin cc_value_origin(const struct cc_record *r, size_t row, size_t column)
{
    const struct cc_column *c = &r->columns[column];
    const struct cc_value *v = &r->rows[row].value[column];
    if (v->origin != CC_ORIGIN_UNKNOWN)
        return v->origin;
    if (c->by_row)
        return r->rows[row].origin;
    return c->origin != CC_ORIGIN_UNKNOWN ? c->origin : c->key->origin;
}

const struct cc_value *cc_record_value(const struct cc_record *r, size_t row,
                                       const struct cc_result_key *key)
{
    return find(r, row, key);
}

void cc_record_detail(struct cc_record *r, size_t row)
{
    assert(row < r->row_count);
    r->rows[row].detail = true;
}

void cc_record_title(struct cc_record *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(r->title, sizeof r->title, fmt, args);
    va_end(args);
}

int cc_record_note(struct cc_record *r, struct cc_error *e, const char *fmt, ...)
{
    if (CC_GROW(r->notes, &r->note_capacity, r->note_count + 1, e) != CC_OK)
        return CC_FAIL;
    char *text;
    va_list args;
    va_start(args, fmt);
    int length = vasprintf(&text, fmt, args);
    va_end(args);
    if (length < 0)
        return cc_fail(e, "out of memory: a note");
    char *note = cc_utf8_copy(text, e);
    free(text);
    if (note == NULL)
        return CC_FAIL;
    r->notes[r->note_count++] = note;
    return CC_OK;
}

/* --- chosen columns --- */

static int unknown_key(const struct cc_record *r, const char *key, struct cc_error *e)
{
    const char **keys = cc_alloc0((r->column_count + 1) * sizeof *keys, e);
    if (keys == NULL)
        return CC_FAIL;
    for (size_t c = 0; c < r->column_count; c++)
        keys[c] = r->columns[c].key->name;
    const char *near = cc_nearest(key, keys);
    free(keys);
    if (near != NULL)
        return cc_usage(e, "unknown column '%s'; did you mean '%s'?", key, near);
    return cc_usage(e, "unknown column '%s'; `commcomp %s --help all` lists them", key, r->command);
}

static int choose(struct cc_record *r, const char *key, struct cc_error *e)
{
    size_t c = 0;
    while (c < r->column_count && strcmp(r->columns[c].key->name, key) != 0)
        c++;
    if (c == r->column_count)
        return unknown_key(r, key, e);
    for (size_t i = 0; i < r->chosen_count; i++)
        if (r->chosen[i] == c)
            return cc_usage(e, "the column '%s' is named twice", key);
    r->chosen[r->chosen_count++] = c;
    return CC_OK;
}

int cc_record_choose(struct cc_record *r, const char *keys, struct cc_error *e)
{
    char *copy = cc_strdup(keys, e), *rest = copy, *key;
    int status = copy != NULL ? CC_OK : CC_FAIL;
    if (copy != NULL && r->chosen == NULL &&
        (r->chosen = cc_alloc(r->column_count * sizeof *r->chosen, e)) == NULL)
        status = CC_FAIL;
    r->chosen_count = 0;
    while (status == CC_OK && (key = strsep(&rest, ",")) != NULL)
        status = choose(r, key, e);
    free(copy);
    return status;
}

int cc_record_choose_usual(struct cc_record *r, const char *keys, struct cc_error *e)
{
    if (r->chosen != NULL || r->wide)
        return CC_OK;
    r->usual = true;
    return cc_record_choose(r, keys, e);
}

/* --- writing --- */

static int write_record(const struct cc_record *r, enum cc_format format, FILE *out,
                        struct cc_error *e)
{
    int status = CC_OK;
    errno = 0;
    switch (format) {
    case CC_FORMAT_TABLE:
        status = cc_table_write(r, out, e);
        break;
    case CC_FORMAT_CSV:
        cc_csv_write(r, out);
        break;
    case CC_FORMAT_JSON:
        status = cc_json_write(r, out, e);
        break;
    case CC_FORMAT_MARKDOWN:
        status = cc_markdown_write(r, out, e);
        break;
    case CC_FORMAT_LATEX:
        status = cc_latex_write(r, out, e);
        break;
    }
    if (status != CC_OK)
        return status;
    if (ferror(out) || fflush(out) != 0)
        return cc_fail(e, "the results could not be written: %s",
                       errno != 0 ? strerror(errno) : "an earlier write failed");
    return CC_OK;
}

int cc_record_print(const struct cc_record *r, enum cc_format format, FILE *out, struct cc_error *e)
{
    struct cc_record shown = *r;
    if (r->usual && format == CC_FORMAT_CSV)
        shown.chosen = NULL;
    if (r->wide || format == CC_FORMAT_CSV || format == CC_FORMAT_JSON || r->row_count == 0)
        return write_record(&shown, format, out, e);
    shown.rows = cc_alloc(r->row_count * sizeof *shown.rows, e);
    if (shown.rows == NULL)
        return CC_FAIL;
    shown.row_count = 0;
    for (size_t i = 0; i < r->row_count; i++)
        if (!r->rows[i].detail)
            shown.rows[shown.row_count++] = r->rows[i];
    const int status = write_record(&shown, format, out, e);
    free(shown.rows);
    return status;
}

int cc_format_of_path(const char *path, enum cc_format otherwise, enum cc_format *out,
                      struct cc_error *e)
{
    static const struct {
        const char *suffix;
        enum cc_format format;
    } known[] = {{".csv", CC_FORMAT_CSV},
                 {".json", CC_FORMAT_JSON},
                 {".txt", CC_FORMAT_TABLE},
                 {".md", CC_FORMAT_MARKDOWN},
                 {".tex", CC_FORMAT_LATEX}};
    const char *slash = strrchr(path, '/');
    const char *suffix = strrchr(slash != NULL ? slash : path, '.');
    for (size_t i = 0; suffix != NULL && i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(suffix, known[i].suffix) == 0) {
            *out = known[i].format;
            return CC_OK;
        }
    }
    *out = otherwise;
    if (cc_file_is_stream(path))
        return CC_OK;
    return cc_usage(e, "'%s': unknown suffix; use .csv, .json, .txt, .md or .tex", path);
}

int cc_record_save(const struct cc_record *r, const char *path, enum cc_format otherwise,
                   struct cc_error *e)
{
    enum cc_format format;
    struct cc_outfile file;
    CC_TRY(cc_format_of_path(path, otherwise, &format, e));
    CC_TRY(cc_file_create(&file, path, e));
    struct cc_record unlimited = *r;
    unlimited.width = 0;
    int status = cc_record_print(&unlimited, format, file.f, e);
    if (status == CC_OK)
        return cc_file_commit(&file, e);
    cc_file_abort(&file);
    cc_error_in(e, "%s", path);
    return status;
}

int cc_record_save_notes(const struct cc_record *r, const char *path, struct cc_error *e)
{
    struct cc_outfile file;
    CC_TRY(cc_file_create(&file, path, e));
    for (size_t i = 0; i < r->note_count; i++)
        cc_text_wrap(r->notes[i], 0, 0, 0, file.f);
    return cc_file_commit(&file, e);
}
