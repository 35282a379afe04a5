/* Makes a record of a result that was read back, with the columns of the command that wrote it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/memory_text.h"
#include "results/page_impl.h"
#include "results/text.h"

static const struct cc_column *find_column(const struct cc_column *list, const char *key)
{
    for (; list != NULL && list->key != NULL; list++)
        if (strcmp(list->key->name, key) == 0)
            return list;
    return NULL;
}

static bool is_text(const struct cc_sheet *s, size_t column)
{
    for (size_t row = 0; row < s->rows; row++)
        if (cc_sheet_value(s, row, column)->kind == CC_TEXT)
            return true;
    return false;
}

/* A column that the command does not have, with its key: of an unknown command they are all shown,
 * and texts tell rows apart. */
static struct cc_column other_column(const struct cc_page_part *p, size_t column,
                                     struct cc_result_key *key)
{
    const bool known = p->known->columns(p->known->of, p->from.command) != NULL;
    *key = (struct cc_result_key){.name = p->sheet.key[column], .unit = "", .scale = 1, .help = ""};
    key->head = key->name;
    return (struct cc_column){.key = key,
                              .hidden = known,
                              .role = known                        ? CC_DETAIL
                                      : is_text(&p->sheet, column) ? CC_SETTING
                                                                   : CC_MAIN};
}

static int make_columns(struct cc_page_part *p, struct cc_error *e)
{
    const struct cc_column *columns = p->known->columns(p->known->of, p->from.command);
    size_t n = 0;
    p->column = cc_alloc0((p->sheet.columns + 1) * sizeof *p->column, e);
    p->other = cc_alloc0((p->sheet.columns + 1) * sizeof *p->other, e);
    if (p->column == NULL || p->other == NULL)
        return CC_FAIL;
    for (const struct cc_column *c = columns; c != NULL && c->key != NULL; c++)
        if (cc_sheet_column(&p->sheet, c->key->name) != CC_NO_COLUMN)
            p->column[n++] = *c;
    for (size_t i = 0; i < p->sheet.columns; i++)
        if (find_column(columns, p->sheet.key[i]) == NULL) {
            p->column[n] = other_column(p, i, &p->other[i]);
            n++;
        }
    return CC_OK;
}

/* Sets a value of the record to one of the sheet, with its origin. */
static int set_value(struct cc_page_part *p, size_t row, const struct cc_result_key *key,
                     const struct cc_value *v, struct cc_error *e)
{
    if (v->kind == CC_NUMBER)
        cc_record_number(&p->record, row, key, v->number);
    else if (v->kind == CC_BOOL)
        cc_record_bool(&p->record, row, key, v->number != 0);
    else if (v->kind == CC_TEXT)
        CC_TRY(cc_record_text(&p->record, row, key, v->text, e));
    cc_record_origin(&p->record, row, key, v->origin);
    return CC_OK;
}

static int make_rows(struct cc_page_part *p, struct cc_error *e)
{
    for (size_t row = 0; row < p->sheet.rows; row++) {
        if (cc_record_add(&p->record, e) == SIZE_MAX)
            return CC_FAIL;
        for (size_t i = 0; i < p->sheet.columns; i++)
            CC_TRY(set_value(p, row, find_column(p->column, p->sheet.key[i])->key,
                             cc_sheet_value(&p->sheet, row, i), e));
    }
    return CC_OK;
}

static int make(struct cc_page_part *p, struct cc_error *e)
{
    const struct cc_result *r = p->result;
    CC_TRY_IN(cc_provenance_parse(r->text, r->length, &p->from, e), e, "%s", r->name);
    if (p->from.rows > 0)
        CC_TRY(cc_sheet_parse_json(r->name, r->text, r->length, &p->sheet, e));
    CC_TRY(make_columns(p, e));
    cc_record_init(&p->record, p->from.command, p->column, 0, NULL);
    return make_rows(p, e);
}

int cc_page_part_make(const struct cc_result *result, const struct cc_page_commands *known,
                      struct cc_page_part *out, struct cc_error *e)
{
    struct cc_page_part p = {.result = result, .known = known};
    const int status = make(&p, e);
    if (status == CC_OK)
        *out = p;
    else
        cc_page_part_free(&p);
    return status;
}

void cc_page_part_free(struct cc_page_part *p)
{
    cc_record_free(&p->record);
    free(p->column);
    free(p->other);
    cc_sheet_free(&p->sheet);
    cc_provenance_free(&p->from);
    *p = (struct cc_page_part){.result = NULL};
}

size_t cc_page_column(const struct cc_page_part *p, const struct cc_result_key *key)
{
    size_t c = 0;
    while (c < p->record.column_count && strcmp(p->column[c].key->name, key->name) != 0)
        c++;
    return c;
}

unsigned cc_page_origins(const struct cc_page_part *p, size_t column)
{
    unsigned origins = 0;
    for (size_t row = 0; row < p->record.row_count; row++)
        if (p->record.rows[row].value[column].kind != CC_NULL)
            origins |= 1U << cc_value_origin(&p->record, row, column);
    return origins;
}

/* --- a CSV's rows as a document --- */

static int put_value(const struct cc_value *v, FILE *out, struct cc_error *e)
{
    if (v->kind == CC_TEXT)
        return cc_json_put_text(out, v->text, e);
    if (v->kind == CC_NUMBER && fabs(v->number) >= 0x1p53 &&
        v->text[strspn(v->text, "0123456789")] == '\0')
        (void)fputs(v->text + strspn(v->text, "0"), out); /* a double would lose digits */
    else if (v->kind == CC_NUMBER)
        cc_json_put_number(out, v->number);
    else
        (void)fputs(v->kind == CC_NULL ? "null" : v->number != 0 ? "true" : "false", out);
    return CC_OK;
}

static int put_sheet(const struct cc_sheet *s, const char *command, FILE *out, struct cc_error *e)
{
    (void)fputs("{\n\"schema\": \"" CC_RECORD_SCHEMA "\",\n\"command\": ", out);
    CC_TRY(cc_json_put_text(out, command, e));
    (void)fputs(",\n\"argv\": [],\n\"host\": {},\n\"rows\": [", out);
    for (size_t row = 0; row < s->rows; row++)
        for (size_t i = 0; i < s->columns; i++) {
            (void)fputs(i > 0 ? ", " : row > 0 ? ",\n{" : "\n{", out);
            CC_TRY(cc_json_put_text(out, s->key[i], e));
            (void)fputs(": ", out);
            CC_TRY(put_value(cc_sheet_value(s, row, i), out, e));
            (void)fputs(i + 1 == s->columns ? "}" : "", out);
        }
    (void)fputs("\n]\n}\n", out);
    return CC_OK;
}

int cc_results_add_sheet(struct cc_results *r, const struct cc_sheet *s, const char *command,
                         struct cc_error *e)
{
    static const char what[] = "the JSON of a CSV";
    struct cc_memory_text t;
    CC_TRY(cc_memory_text_begin(&t, what, e));
    const int written = put_sheet(s, command, t.f, e);
    int status = cc_memory_text_end(&t, what, written == CC_OK ? e : NULL);
    status = written != CC_OK ? written : status;
    if (status == CC_OK)
        status = cc_results_add(r, s->path, t.text, t.bytes, e);
    free(t.text);
    return status;
}
