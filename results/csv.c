/* CSV: the keys, then a line for each row, by RFC 4180 except for line ends of '\n'. */
#include <csv.h>
#include <string.h>

#include "results/text.h"

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
    switch (v->kind) {
    case CC_NULL:
        break;
    case CC_NUMBER:
        cc_number_print(v->number, number);
        (void)fputs(v->text != NULL ? v->text : number, out);
        break;
    case CC_TEXT:
        put_text(v->text, out);
        break;
    case CC_BOOL:
        (void)fputs(v->number != 0 ? "true" : "false", out);
        break;
    }
}

/* The line's column in the record: all of them, or those that were chosen. */
static size_t column_at(const struct cc_record *r, size_t i)
{
    return r->chosen != NULL ? r->chosen[i] : i;
}

void cc_csv_write(const struct cc_record *r, FILE *out)
{
    const size_t count = r->chosen != NULL ? r->chosen_count : r->column_count;
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            (void)fputc(',', out);
        put_text(r->columns[column_at(r, i)].key->name, out);
    }
    (void)fputc('\n', out);
    for (size_t row = 0; row < r->row_count; row++) {
        for (size_t i = 0; i < count; i++) {
            if (i > 0)
                (void)fputc(',', out);
            put_value(&r->rows[row].value[column_at(r, i)], out);
        }
        (void)fputc('\n', out);
    }
}
