/* JSON: one document, complete also after an error. */
#include <cjson/cJSON.h>
#include <stdlib.h>

#include "results/machine_info.h"
#include "results/text.h"

/* Adds an item to an object, or without a key to an array. *failed becomes true if one of them is
 * NULL, as there was no memory; then the item is released. */
static void add(cJSON *to, const char *key, cJSON *item, bool *failed)
{
    if (item != NULL &&
        (key != NULL ? cJSON_AddItemToObject(to, key, item) : cJSON_AddItemToArray(to, item)))
        return;
    cJSON_Delete(item);
    *failed = true;
}

static cJSON *text_item(const char *s)
{
    char *valid = cc_utf8_copy(s, NULL);
    cJSON *item = valid != NULL ? cJSON_CreateString(valid) : NULL;
    free(valid);
    return item;
}

static cJSON *texts_item(const char *const *list, size_t count, bool *failed)
{
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++)
        add(array, NULL, text_item(list[i]), failed);
    return array;
}

static cJSON *value_item(const struct cc_value *v)
{
    char number[CC_NUMBER_CAP];
    switch (v->kind) {
    case CC_NULL:
        break;
    case CC_NUMBER: /* cJSON prints only 15 digits if they are nearly the number. */
        return cJSON_CreateRaw(cc_number_digits(v, number));
    case CC_TEXT:
        return text_item(v->text);
    case CC_BOOL:
        return cJSON_CreateBool(v->number != 0);
    }
    return cJSON_CreateNull();
}

static cJSON *host_item(const struct cc_record *r, bool *failed)
{
    struct cc_machine_info h;
    cc_machine_info_read(&h);
    cJSON *o = cJSON_CreateObject();
    add(o, "cpu", text_item(h.cpu), failed);
    add(o, "cores", cJSON_CreateNumber(h.cores), failed);
    add(o, "isa", text_item(h.isa), failed);
    add(o, "kernel", text_item(h.kernel), failed);
    add(o, "compiler", text_item(h.compiler), failed);
    add(o, "version", text_item(h.version), failed);
    add(o, "time", text_item(h.time), failed);
    if (r->mpi[0] != '\0')
        add(o, "mpi", text_item(r->mpi), failed);
    return o;
}

/* Adds "argv" and "host": of a result that was read back those that it has. */
static void add_origin_of(cJSON *to, const struct cc_record *r, bool *failed)
{
    cJSON *source = r->source != NULL ? cJSON_Parse(r->source) : NULL;
    cJSON *argv = cJSON_DetachItemFromObjectCaseSensitive(source, "argv");
    cJSON *host = cJSON_DetachItemFromObjectCaseSensitive(source, "host");
    add(to, "argv", argv != NULL ? argv : texts_item(r->argv, (size_t)r->argc, failed), failed);
    add(to, "host", host != NULL ? host : host_item(r, failed), failed);
    cJSON_Delete(source);
}

static cJSON *rows_item(const struct cc_record *r, bool *failed)
{
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < r->row_count; i++) {
        cJSON *o = cJSON_CreateObject();
        for (size_t c = 0; c < r->column_count; c++)
            add(o, r->columns[c].key->name, value_item(&r->rows[i].value[c]), failed);
        add(array, NULL, o, failed);
    }
    return array;
}

/* Adds the origin of a column's values: a word, or where rows differ one for each, null without a
 * value; nothing for a column without values. */
static void add_origin(cJSON *to, const struct cc_record *r, size_t column, bool *failed)
{
    enum cc_origin all = CC_ORIGIN_UNKNOWN;
    bool same = true, filled = false;
    cJSON *words = cJSON_CreateArray();
    for (size_t i = 0; i < r->row_count; i++) {
        const bool known = r->rows[i].value[column].kind != CC_NULL;
        const enum cc_origin o = cc_value_origin(r, i, column);
        same = same && (!known || !filled || o == all);
        all = known ? o : all;
        filled = filled || known;
        add(words, NULL, known ? text_item(cc_origin_word(o)) : cJSON_CreateNull(), failed);
    }
    if (filled && !same) {
        add(to, r->columns[column].key->name, words, failed);
        return;
    }
    cJSON_Delete(words);
    if (filled)
        add(to, r->columns[column].key->name, text_item(cc_origin_word(all)), failed);
}

static cJSON *origins_item(const struct cc_record *r, bool *failed)
{
    cJSON *o = cJSON_CreateObject();
    for (size_t c = 0; c < r->column_count; c++)
        add_origin(o, r, c, failed);
    return o;
}

/* Adds the notes, those of the answer first, and the number of these. */
static void add_notes(cJSON *to, const struct cc_record *r, bool *failed)
{
    cJSON *texts = cJSON_CreateArray();
    int answers = 0;
    for (int above = 1; above >= 0; above--)
        for (size_t i = 0; i < r->note_count; i++)
            if (cc_note_above(r, i) == above) {
                add(texts, NULL, text_item(r->notes[i]), failed);
                answers += above;
            }
    if (answers > 0)
        add(to, "answers", cJSON_CreateNumber(answers), failed);
    if (r->note_count > 0)
        add(to, "notes", texts, failed);
    else
        cJSON_Delete(texts);
}

int cc_json_write(const struct cc_record *r, FILE *out, struct cc_error *e)
{
    bool failed = false;
    cJSON *o = cJSON_CreateObject();
    add(o, "schema", text_item(CC_RECORD_SCHEMA), &failed);
    add(o, "command", text_item(r->command), &failed);
    add_origin_of(o, r, &failed);
    add(o, "rows", rows_item(r, &failed), &failed);
    add(o, "origins", origins_item(r, &failed), &failed);
    add_notes(o, r, &failed);
    if (r->partial)
        add(o, "partial", cJSON_CreateTrue(), &failed);
    if (r->error[0] != '\0')
        add(o, "error", text_item(r->error), &failed);
    char *text = !failed ? cJSON_Print(o) : NULL;
    cJSON_Delete(o);
    if (text == NULL)
        return cc_fail(e, "out of memory: the JSON of %zu rows", r->row_count);
    (void)fputs(text, out);
    (void)fputc('\n', out);
    cJSON_free(text);
    return CC_OK;
}
