/* Writing a record in one of the formats, to a stream or to a file, whose suffix names the format;
 * and CSV: the keys, then a line for each row, by RFC 4180 except for line ends of '\n'. */
#include <csv.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "results/record.h"
#include "results/text.h"

const char *const cc_format_names[] = {"table", "csv", "json", "md", "latex", NULL};

/* --- CSV --- */

/* Quotes only fields that need it, so that cut and awk can read most files. An empty text is quoted
 * to tell it from null, which is an empty field. */
static void put_text(const char *s, FILE *out)
{
    size_t length = strlen(s);
    bool quote = length == 0 || strpbrk(s, ",\"\r\n") != NULL || s[0] == ' ' || s[0] == '\t' ||
                 s[length - 1] == ' ' || s[length - 1] == '\t';
    if (quote)
        (void)csv_fwrite(out, s, length);
    else
        (void)fwrite(s, 1, length, out);
}

static void put_value(const struct cc_value *v, FILE *out)
{
    char number[CC_NUMBER_CAP];
    if (v->kind == CC_TEXT)
        put_text(v->text, out);
    else if (v->kind == CC_NUMBER)
        (void)fputs(cc_number_digits(v, number), out);
    else if (v->kind == CC_BOOL)
        (void)fputs(v->number != 0 ? "true" : "false", out);
}

static void write_csv(const struct cc_record *r, FILE *out)
{
    const size_t count = r->chosen != NULL ? r->chosen_count : r->column_count;
    for (size_t line = 0; line <= r->row_count; line++) {
        for (size_t i = 0; i < count; i++) {
            const size_t column = r->chosen != NULL ? r->chosen[i] : i;
            if (i > 0)
                (void)fputc(',', out);
            if (line == 0)
                put_text(r->columns[column].key->name, out);
            else
                put_value(&r->rows[line - 1].value[column], out);
        }
        (void)fputc('\n', out);
    }
}

/* --- all formats --- */

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
        write_csv(r, out);
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
    if (r->wide || r->all_rows || format != CC_FORMAT_TABLE || r->row_count == 0)
        return write_record(&shown, format, out, e);
    CC_TRY(CC_NEW(shown.rows, r->row_count, e));
    shown.row_count = 0;
    for (size_t i = 0; i < r->row_count; i++)
        if (!r->rows[i].detail)
            shown.rows[shown.row_count++] = r->rows[i];
    shown.hidden_rows = r->row_count - shown.row_count;
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
    unlimited.reasons = true;
    for (size_t i = 0; i < r->note_count; i++)
        unlimited.all_rows |= cc_note_above(r, i);
    const int status = cc_record_print(&unlimited, format, file.f, e);
    return cc_file_end(&file, cc_status_in(status, e, "%s", path), e);
}

int cc_record_save_notes(const struct cc_record *r, const char *path, struct cc_error *e)
{
    struct cc_outfile file;
    CC_TRY(cc_file_create(&file, path, e));
    for (size_t i = 0; i < r->note_count; i++)
        cc_text_wrap(r->notes[i], 0, 0, 0, file.f);
    return cc_file_commit(&file, e);
}
