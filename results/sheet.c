/* Reading results: a builder takes keys and values one after the other, from libcsv's callbacks,
 * from a document of `--format json`, or from a timeline's utilization. Keys that were renamed
 * since get their new names. */
#include "results/sheet.h"

#include <cjson/cJSON.h>
#include <csv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/format/csv.h"
#include "core/format/json.h"
#include "core/infile.h"
#include "core/memory.h"
#include "core/memory_text.h"
#include "core/units.h"
#include "core/utf8.h"
#include "results/page_data.h"
#include "results/timeline_read.h"

#define MOST_COLUMNS 1000
#define MAX_FIELD    65536 /* bytes of a field in CSV */

/* --- building --- */

struct builder {
    struct cc_sheet *s;
    size_t key_capacity, value_capacity, place_capacity, values;
    size_t line, field; /* the place in the CSV text: line from 1, field from 0 */
    bool named, failed; /* named: the row of names has ended */
    struct cc_error *e;
};

static int add_key(struct builder *b, const char *key)
{
    if (*key == '\0')
        return cc_fail(b->e, "column %zu has no name", b->s->columns + 1);
    if (cc_sheet_column(b->s, key) != CC_NO_COLUMN)
        return cc_fail(b->e, "the column '%.100s' occurs twice", key);
    if (b->s->columns == MOST_COLUMNS)
        return cc_fail(b->e, "more than %d columns", MOST_COLUMNS);
    CC_TRY(CC_GROW(b->s->key, &b->key_capacity, b->s->columns + 1, b->e));
    CC_TRY(cc_text(&b->s->key[b->s->columns], b->e, "%s", key));
    b->s->columns++;
    return CC_OK;
}

/* text may be NULL; it is copied. */
static int add_value(struct builder *b, enum cc_value_kind kind, double number, const char *text)
{
    CC_TRY(CC_GROW(b->s->value, &b->value_capacity, b->values + 1, b->e));
    char *copy = NULL;
    if (text != NULL)
        CC_TRY(cc_text(&copy, b->e, "%s", text));
    b->s->value[b->values++] = (struct cc_value){.kind = kind, .number = number, .text = copy};
    return CC_OK;
}

static int end_row(struct builder *b, size_t place)
{
    CC_TRY(CC_GROW(b->s->place, &b->place_capacity, b->s->rows + 1, b->e));
    b->s->place[b->s->rows++] = place;
    return CC_OK;
}

/* Checks the finished sheet and hands it out; after a failure, frees it. */
static int finish(struct builder *b, int status, const char *path, struct cc_sheet *out)
{
    if (status == CC_OK && b->s->rows == 0)
        status = cc_fail(b->e, "it has no rows");
    if (status == CC_OK)
        status = cc_text(&b->s->path, b->e, "%s", path);
    if (status == CC_OK) {
        *out = *b->s;
        return CC_OK;
    }
    /* The rows may be incomplete: the values that are there count. */
    for (size_t i = 0; i < b->values; i++)
        free(b->s->value[i].text);
    b->s->rows = 0;
    cc_sheet_free(b->s);
    cc_error_in(b->e, "%s", path);
    return status;
}

/* --- CSV --- */

/* Ends the reading, unless the status is CC_OK, at this line. */
static void check(struct builder *b, int status)
{
    if (status != CC_OK && !b->failed) {
        cc_error_in(b->e, "line %zu", b->line);
        b->failed = true;
    }
}

static int csv_cell(struct builder *b, const char *text, size_t length)
{
    if (text == NULL)
        return add_value(b, CC_NULL, 0, NULL);
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return add_value(b, CC_BOOL, *text == 't', NULL);
    if (!cc_is_decimal(text, length))
        return add_value(b, CC_TEXT, 0, text);
    double v = strtod(text, NULL);
    if (isinf(v))
        return cc_fail(b->e, "column '%.100s': %.40s is beyond the range of numbers",
                       b->s->key[b->field], text);
    return add_value(b, CC_NUMBER, v, text);
}

static void on_field(void *data, size_t length, void *context)
{
    struct builder *b = context;
    const char *text = data;
    if (b->failed)
        return;
    check(b,
          !b->named ? add_key(b, text != NULL ? text : "")
          : b->field < b->s->columns
              ? csv_cell(b, text, length)
              : cc_fail(b->e, "more fields than the %zu columns of the first row", b->s->columns));
    b->field++;
}

static void on_row(int end, void *context)
{
    (void)end;
    struct builder *b = context;
    if (b->failed)
        return;
    if (b->named)
        check(b, b->field == b->s->columns
                     ? end_row(b, b->line)
                     : cc_fail(b->e, "the row ends before column '%.100s'", b->s->key[b->field]));
    b->named = true;
    b->field = 0;
}

/* Feeds the text to libcsv line by line, so that messages can name the line. */
static void feed(struct csv_parser *p, struct builder *b, const char *text, size_t length)
{
    b->line = 1;
    for (size_t at = 0; at < length && !b->failed; b->line++) {
        const char *newline = memchr(text + at, '\n', length - at);
        size_t n = newline != NULL ? (size_t)(newline - (text + at)) + 1 : length - at;
        if (csv_parse(p, text + at, n, on_field, on_row, b) != n)
            check(b, cc_fail(b->e, "%s", cc_csv_fault(csv_error(p))));
        else if (b->line == 1 && b->s->columns == 0 && !b->failed)
            check(b, cc_fail(b->e, "the names of the columns should be here"));
        else if (csv_get_buffer_size(p) > MAX_FIELD + 65536)
            check(b, cc_fail(b->e, "a field is far too long"));
        at += n;
    }
    if (!b->failed && csv_fini(p, on_field, on_row, b) != 0)
        check(b, cc_fail(b->e, "%s", cc_csv_fault(csv_error(p))));
}

int cc_sheet_parse_csv(const char *path, const char *text, size_t length, struct cc_sheet *out,
                       struct cc_error *e)
{
    struct cc_sheet sheet = {.place_word = "line", .csv = true};
    struct builder b = {.s = &sheet, .e = e};
    struct csv_parser p;
    size_t where = 0;
    if (!cc_utf8_valid((const uint8_t *)text, length, &where))
        return cc_fail(e, "%s: byte %zu: invalid UTF-8", path, where);
    const char *zero = memchr(text, '\0', length);
    if (zero != NULL)
        return cc_fail(e, "%s: byte %zu: a zero byte: this is not a text", path,
                       (size_t)(zero - text));
    const unsigned char options =
        CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL | CSV_EMPTY_IS_NULL;
    if (csv_init(&p, options) != 0)
        return cc_fail(e, "out of memory");
    feed(&p, &b, text, length);
    csv_free(&p);
    return finish(&b, b.failed ? CC_FAIL : CC_OK, path, out);
}

/* --- JSON --- */

static int json_cell(struct builder *b, const cJSON *item)
{
    if (cJSON_IsNumber(item) && isfinite(item->valuedouble))
        return add_value(b, CC_NUMBER, item->valuedouble, NULL);
    if (cJSON_IsString(item))
        return add_value(b, CC_TEXT, 0, item->valuestring);
    if (cJSON_IsBool(item))
        return add_value(b, CC_BOOL, cJSON_IsTrue(item), NULL);
    if (cJSON_IsNull(item))
        return add_value(b, CC_NULL, 0, NULL);
    return cc_fail(b->e, "'%.100s' should be a number, a text, a truth value or null",
                   item->string);
}

/* Rows are flat, and all have the keys of the first, in its order. */
static int json_row(struct builder *b, const cJSON *row)
{
    bool first = b->s->rows == 0;
    size_t column = 0;
    if (!cJSON_IsObject(row))
        return cc_fail(b->e, "it should be an object");
    for (const cJSON *item = row->child; item != NULL; item = item->next, column++) {
        if (first)
            CC_TRY(add_key(b, item->string));
        else if (column >= b->s->columns || strcmp(b->s->key[column], item->string) != 0)
            return cc_fail(b->e, "the key '%.100s' is not where the first row has it",
                           item->string);
        CC_TRY(json_cell(b, item));
    }
    if (column < b->s->columns)
        return cc_fail(b->e, "the key '%.100s' is missing", b->s->key[column]);
    return end_row(b, b->s->rows + 1);
}

/* Sets the origins of a column: a word for all rows, or a list of one each, with null where a row
 * has no value. */
static int set_origins(struct builder *b, size_t column, const cJSON *item)
{
    const cJSON *each = cJSON_IsArray(item) ? item->child : item;
    if (cJSON_IsArray(item) && (size_t)cJSON_GetArraySize(item) != b->s->rows)
        return cc_fail(b->e, "it should be a word, or a list of %zu", b->s->rows);
    for (size_t row = 0; row < b->s->rows; row++) {
        if (!cJSON_IsString(each) && !cJSON_IsNull(each))
            return cc_fail(b->e, "it should be a word, or a list of one for each row");
        if (cJSON_IsString(each))
            b->s->value[row * b->s->columns + column].origin = cc_origin_of_word(each->valuestring);
        each = cJSON_IsArray(item) ? each->next : each;
    }
    return CC_OK;
}

static int json_origins(struct builder *b, const cJSON *document)
{
    const cJSON *origins = cJSON_GetObjectItemCaseSensitive(document, "origins"), *item;
    cJSON_ArrayForEach(item, origins)
    {
        const size_t column =
            item->string != NULL ? cc_sheet_column(b->s, item->string) : CC_NO_COLUMN;
        if (column == CC_NO_COLUMN)
            return cc_fail(b->e, "\"origins\": no row has the key '%.100s'",
                           item->string != NULL ? item->string : "");
        CC_TRY_IN(set_origins(b, column, item), b->e, "\"origins\": %.100s", item->string);
    }
    return CC_OK;
}

/* A rate, as a share of a link's; null where that, or which transfers there were, is not known. */
static int add_rate(struct builder *b, const struct cc_timeline_use *use, double bps, double of_bps)
{
    return use->transfers > 0 && of_bps > 0 ? add_value(b, CC_NUMBER, bps / of_bps, NULL)
                                            : add_value(b, CC_NULL, 0, NULL);
}

/* Whether two of a timeline's rows have the same name, as where they differ in their latency. */
static bool repeats_names(const struct cc_timeline_uses *u)
{
    for (size_t i = 0; i < u->rows; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(u->row[i].name, u->row[k].name) == 0)
                return true;
    return false;
}

/* Adds a row for each bin of a timeline's row, at the bin's middle. */
static int add_bins(struct builder *b, const struct cc_timeline_use *use, const char *name)
{
    const double width = use->end_s / CC_TIMELINE_BINS;
    for (size_t i = 0; i < CC_TIMELINE_BINS; i++) {
        CC_TRY(add_value(b, CC_TEXT, 0, name));
        CC_TRY(add_value(b, CC_TEXT, 0, use->scheme));
        CC_TRY(add_value(b, CC_NUMBER, ((double)i + 0.5) * width, NULL));
        CC_TRY(add_value(b, CC_NUMBER, use->computing[i], NULL));
        CC_TRY(add_rate(b, use, use->sent_bps[i], use->up_bps));
        CC_TRY(add_rate(b, use, use->received_bps[i], use->down_bps));
        CC_TRY(add_rate(b, use, use->sent_bps[i], 1));
        CC_TRY(add_rate(b, use, use->received_bps[i], 1));
        CC_TRY(end_row(b, b->s->rows + 1));
    }
    return CC_OK;
}

/* Adds the bins of row i; where names repeat, each has the row's number, so that no two are the
 * same. */
static int add_use(struct builder *b, const struct cc_timeline_uses *u, size_t i, bool numbered)
{
    char *name;
    CC_TRY(numbered ? cc_text(&name, b->e, "%s, row %zu", u->row[i].name, i + 1)
                    : cc_text(&name, b->e, "%s", u->row[i].name));
    const int status = add_bins(b, &u->row[i], name);
    free(name);
    return status;
}

static int timeline_rows(struct builder *b, const cJSON *document)
{
    static const char *const keys[] = {"process",   "scheme",        "at_s",     "computing",
                                       "link_sent", "link_received", "sent_bps", "received_bps"};
    struct cc_timeline_uses uses;
    int status = CC_OK;
    CC_TRY(cc_timeline_read(document, &uses, b->e));
    b->s->timeline = true;
    b->s->partial = uses.partial;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && status == CC_OK; i++)
        status = add_key(b, keys[i]);
    const bool numbered = repeats_names(&uses);
    for (size_t i = 0; i < uses.rows && status == CC_OK; i++)
        status = add_use(b, &uses, i, numbered);
    cc_timeline_uses_free(&uses);
    return status;
}

static int json_rows(struct builder *b, const cJSON *document)
{
    if (cc_timeline_is_trace(document))
        return timeline_rows(b, document);
    const char *schema = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(document, "schema"));
    const char *command =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(document, "command"));
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(document, "rows"), *row;
    const bool first = schema != NULL && strcmp(schema, CC_RECORD_SCHEMA_1) == 0;
    if (schema == NULL || (!first && strcmp(schema, CC_RECORD_SCHEMA) != 0) || !cJSON_IsArray(rows))
        return cc_fail(b->e, "not a result of commcomp: those have \"schema\": \"" CC_RECORD_SCHEMA
                             "\" and \"rows\"");
    cJSON_ArrayForEach(row, rows)
    {
        CC_TRY_IN(json_row(b, row), b->e, "row %zu", b->s->rows + 1);
    }
    if (!first)
        return json_origins(b, document);
    return command != NULL ? cc_sheet_rename(b->s, command, b->e) : CC_OK;
}

int cc_sheet_parse_json(const char *path, const char *text, size_t length, struct cc_sheet *out,
                        struct cc_error *e)
{
    struct cc_sheet sheet = {.place_word = "row"};
    struct builder b = {.s = &sheet, .e = e};
    cJSON *document = NULL;
    int status = CC_OK;
    CC_TRY_OUT(cc_json_parse(text, length, &document, e));
    CC_TRY_OUT(json_rows(&b, document));
out:
    cJSON_Delete(document);
    return finish(&b, status, path, out);
}

/* --- both --- */

int cc_sheet_rename(struct cc_sheet *s, const char *command, struct cc_error *e)
{
    for (size_t i = 0; i < s->columns; i++) {
        const char *name = cc_key_renamed(command, s->key[i]);
        if (strcmp(name, s->key[i]) == 0 || cc_sheet_column(s, name) != CC_NO_COLUMN)
            continue;
        char *copy;
        CC_TRY(cc_text(&copy, e, "%s", name));
        free(s->key[i]);
        s->key[i] = copy;
    }
    return CC_OK;
}

static int parse_page(const char *path, const char *text, size_t length, struct cc_sheet *out,
                      struct cc_error *e)
{
    struct cc_results page;
    CC_TRY(cc_page_read_one(path, text, length, &page, e));
    const int status = cc_sheet_parse_json(path, page.of[0].text, page.of[0].length, out, e);
    cc_results_free(&page);
    return status;
}

int cc_result_read(const char *path, const char *expected, struct cc_bytes *out,
                   enum cc_result_form *form, struct cc_error *e)
{
    enum cc_format format = CC_FORMAT_TABLE;
    const bool standard = cc_infile_is_stdin(path);
    if (!standard && !cc_page_is_path(path) &&
        (cc_format_of_path(path, CC_FORMAT_TABLE, &format, NULL) != CC_OK ||
         (format != CC_FORMAT_CSV && format != CC_FORMAT_JSON)))
        return cc_usage(e,
                        "'%s': expected a %s file of results, or an .html page of `commcomp "
                        "report`",
                        path, expected);
    CC_TRY(cc_file_read(path, out, e));
    const char *text = (const char *)out->data;
    const char first = standard ? text[strspn(text, " \t\r\n")] : '\0';
    *form = cc_page_is_path(path) || first == '<'      ? CC_RESULT_PAGE
            : format == CC_FORMAT_JSON || first == '{' ? CC_RESULT_JSON
                                                       : CC_RESULT_CSV;
    return CC_OK;
}

int cc_sheet_read(const char *path, struct cc_sheet *out, struct cc_error *e)
{
    struct cc_bytes file;
    enum cc_result_form form;
    CC_TRY(cc_result_read(path, ".csv or .json", &file, &form, e));
    const char *text = (const char *)file.data;
    const int status = form == CC_RESULT_PAGE  ? parse_page(path, text, file.size, out, e)
                       : form == CC_RESULT_CSV ? cc_sheet_parse_csv(path, text, file.size, out, e)
                                               : cc_sheet_parse_json(path, text, file.size, out, e);
    cc_bytes_free(&file);
    return status;
}

void cc_sheet_free(struct cc_sheet *s)
{
    for (size_t i = 0; i < s->columns; i++)
        free(s->key[i]);
    for (size_t i = 0; i < s->rows * s->columns; i++)
        free(s->value[i].text);
    free(s->key);
    free(s->value);
    free(s->place);
    free(s->path);
    *s = (struct cc_sheet){0};
}

size_t cc_sheet_column(const struct cc_sheet *s, const char *key)
{
    for (size_t i = 0; i < s->columns; i++)
        if (strcmp(s->key[i], key) == 0)
            return i;
    return CC_NO_COLUMN;
}

bool cc_sheet_has(const struct cc_sheet *s, size_t column, enum cc_value_kind kind)
{
    for (size_t row = 0; row < s->rows && column != CC_NO_COLUMN; row++)
        if (cc_sheet_value(s, row, column)->kind == kind)
            return true;
    return false;
}

const struct cc_value *cc_sheet_value(const struct cc_sheet *s, size_t row, size_t column)
{
    return &s->value[row * s->columns + column];
}

int cc_sheet_number(const struct cc_sheet *s, size_t row, size_t column, double *out,
                    struct cc_error *e)
{
    const struct cc_value *v = cc_sheet_value(s, row, column);
    if (v->kind == CC_TEXT || v->kind == CC_BOOL)
        return cc_fail(e, "%s: %s %zu, column '%.100s': '%.60s' is not a number", s->path,
                       s->place_word, s->place[row], s->key[column],
                       v->kind == CC_TEXT ? v->text
                       : v->number != 0   ? "true"
                                          : "false");
    *out = v->kind == CC_NUMBER ? v->number : NAN;
    return CC_OK;
}

/* --- where a result comes from --- */

static int read_host(const cJSON *host, struct cc_provenance *p, struct cc_error *e)
{
    const cJSON *item;
    const int count = cJSON_GetArraySize(host);
    CC_TRY(CC_NEW(p->host, (size_t)count + 1, e));
    cJSON_ArrayForEach(item, host)
    {
        char number[CC_NUMBER_CAP] = "";
        if (cJSON_IsNumber(item))
            cc_number_print(item->valuedouble, number);
        else if (!cJSON_IsString(item))
            return cc_fail(e, "host: '%.100s' should be a text or a number", item->string);
        char *key = NULL, *value = NULL;
        CC_TRY(cc_text(&key, e, "%s", item->string));
        p->host[p->host_count++].key = key;
        CC_TRY(cc_text(&value, e, "%s", cJSON_IsString(item) ? item->valuestring : number));
        p->host[p->host_count - 1].value = value;
    }
    return CC_OK;
}

/* Prints a word so that a shell takes it as one. */
static void put_word(const char *word, FILE *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        (void)fputs(word, out);
        return;
    }
    (void)fputc('\'', out);
    for (; *word != '\0'; word++)
        if (*word == '\'')
            (void)fputs("'\\''", out);
        else
            (void)fputc(*word, out);
    (void)fputc('\'', out);
}

static int read_argv(const cJSON *argv, struct cc_provenance *p, struct cc_error *e)
{
    struct cc_memory_text t;
    const cJSON *item;
    CC_TRY(cc_memory_text_begin(&t, "a command line", e));
    cJSON_ArrayForEach(item, argv)
    {
        if (!cJSON_IsString(item))
            continue;
        const char *slash = item == argv->child ? strrchr(item->valuestring, '/') : NULL;
        if (item != argv->child)
            (void)fputc(' ', t.f);
        put_word(slash != NULL ? slash + 1 : item->valuestring, t.f);
    }
    CC_TRY(cc_memory_text_end(&t, CC_OK, e));
    p->argv = t.text;
    return CC_OK;
}

static int read_notes(const cJSON *notes, struct cc_provenance *p, struct cc_error *e)
{
    const cJSON *item;
    CC_TRY(CC_NEW(p->note, (size_t)cJSON_GetArraySize(notes) + 1, e));
    cJSON_ArrayForEach(item, notes)
    {
        if (!cJSON_IsString(item))
            return cc_fail(e, "notes: %zu: it should be a text", p->notes + 1);
        CC_TRY(cc_text(&p->note[p->notes++], e, "%s", item->valuestring));
    }
    return CC_OK;
}

static int read_answers(const cJSON *answers, struct cc_provenance *p, struct cc_error *e)
{
    if (answers == NULL)
        return CC_OK;
    const double count = cJSON_IsNumber(answers) ? answers->valuedouble : -1;
    if (!(count >= 0 && count <= (double)p->notes && count == floor(count)))
        return cc_fail(e, "answers: it should be a whole number from 0 to %zu, the number of notes",
                       p->notes);
    p->answers = (size_t)count;
    return CC_OK;
}

static int read_document(const cJSON *root, void *out, struct cc_error *e)
{
    struct cc_provenance *p = out;
    const char *command, *error = NULL;
    if (cc_timeline_is_trace(root))
        return cc_fail(e, "a timeline, not a result: `commcomp plot` draws it");
    if (cc_json_schema(root, CC_RECORD_SCHEMA_1, "", NULL) != CC_OK)
        CC_TRY(cc_json_schema(root, CC_RECORD_SCHEMA, "the JSON that commands write has it", e));
    CC_TRY(cc_json_need_text(root, "command", &command, e));
    CC_TRY(cc_text(&p->command, e, "%s", command));
    p->partial = cJSON_GetObjectItemCaseSensitive(root, "partial") != NULL;
    p->rows = (size_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(root, "rows"));
    CC_TRY(cc_json_text(root, "error", &error, e));
    if (error != NULL)
        CC_TRY(cc_text(&p->error, e, "%s", error));
    CC_TRY(read_notes(cJSON_GetObjectItemCaseSensitive(root, "notes"), p, e));
    CC_TRY(read_answers(cJSON_GetObjectItemCaseSensitive(root, "answers"), p, e));
    CC_TRY(read_argv(cJSON_GetObjectItemCaseSensitive(root, "argv"), p, e));
    return read_host(cJSON_GetObjectItemCaseSensitive(root, "host"), p, e);
}

int cc_provenance_parse(const char *text, size_t length, struct cc_provenance *out,
                        struct cc_error *e)
{
    struct cc_provenance p = {.command = NULL};
    const int status = cc_json_parse_as(text, length, read_document, &p, e);
    if (status == CC_OK)
        *out = p;
    else
        cc_provenance_free(&p);
    return status;
}

void cc_provenance_free(struct cc_provenance *p)
{
    for (size_t i = 0; i < p->notes; i++)
        free(p->note[i]);
    cc_pairs_free(p->host, p->host_count);
    free(p->note);
    free(p->error);
    free(p->argv);
    free(p->command);
    *p = (struct cc_provenance){.command = NULL};
}

const char *cc_provenance_host(const struct cc_provenance *p, const char *key)
{
    for (size_t i = 0; i < p->host_count; i++)
        if (strcmp(p->host[i].key, key) == 0)
            return p->host[i].value;
    return NULL;
}
