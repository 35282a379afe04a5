/* JSON: one document, complete also after an error. */
#include <cjson/cJSON.h>
#include <stdlib.h>

#include "results/machine_info.h"
#include "results/text.h"

/* Adds an item, which it owns in any case; false if the item is NULL (no memory) or cannot be
 * added. */
static bool add(cJSON *object, const char *key, cJSON *item)
{
    if (item != NULL && cJSON_AddItemToObject(object, key, item))
        return true;
    cJSON_Delete(item);
    return false;
}

static bool append(cJSON *array, cJSON *item)
{
    if (item != NULL && cJSON_AddItemToArray(array, item))
        return true;
    cJSON_Delete(item);
    return false;
}

static cJSON *text_item(const char *s)
{
    char *valid = cc_utf8_copy(s, NULL);
    cJSON *item = valid != NULL ? cJSON_CreateString(valid) : NULL;
    free(valid);
    return item;
}

static cJSON *texts_item(const char *const *list, size_t count)
{
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++) {
        if (!append(array, text_item(list[i]))) {
            cJSON_Delete(array);
            return NULL;
        }
    }
    return array;
}

static cJSON *value_item(const struct cc_value *v)
{
    char number[CC_NUMBER_CAP];
    switch (v->kind) {
    case CC_NULL:
        break;
    case CC_NUMBER:
        /* cJSON prints only 15 digits if they are nearly the number. */
        cc_number_print(v->number, number);
        return cJSON_CreateRaw(v->text != NULL ? v->text : number);
    case CC_TEXT:
        return text_item(v->text);
    case CC_BOOL:
        return cJSON_CreateBool(v->number != 0);
    }
    return cJSON_CreateNull();
}

static cJSON *host_item(const struct cc_record *r)
{
    struct cc_machine_info h;
    cc_machine_info_read(&h);
    cJSON *o = cJSON_CreateObject();
    if (add(o, "cpu", text_item(h.cpu)) && add(o, "cores", cJSON_CreateNumber(h.cores)) &&
        add(o, "isa", text_item(h.isa)) && add(o, "kernel", text_item(h.kernel)) &&
        add(o, "compiler", text_item(h.compiler)) && add(o, "version", text_item(h.version)) &&
        add(o, "time", text_item(h.time)) &&
        (r->mpi[0] == '\0' || add(o, "mpi", text_item(r->mpi))))
        return o;
    cJSON_Delete(o);
    return NULL;
}

static cJSON *row_item(const struct cc_record *r, const struct cc_row *row)
{
    cJSON *o = cJSON_CreateObject();
    for (size_t c = 0; c < r->column_count; c++) {
        if (!add(o, r->columns[c].key->name, value_item(&row->value[c]))) {
            cJSON_Delete(o);
            return NULL;
        }
    }
    return o;
}

static cJSON *rows_item(const struct cc_record *r)
{
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < r->row_count; i++) {
        if (!append(array, row_item(r, &r->rows[i]))) {
            cJSON_Delete(array);
            return NULL;
        }
    }
    return array;
}

/* The origin of a column's values: a word, or where rows differ one for each, null without a value;
 * NULL for a column without values. *failed: there was no memory. */
static cJSON *origin_item(const struct cc_record *r, size_t column, bool *failed)
{
    enum cc_origin all = CC_ORIGIN_UNKNOWN;
    bool same = true, filled = false;
    cJSON *words = cJSON_CreateArray();
    *failed = words == NULL;
    for (size_t i = 0; i < r->row_count && !*failed; i++) {
        const bool known = r->rows[i].value[column].kind != CC_NULL;
        const enum cc_origin o = cc_value_origin(r, i, column);
        same = same && (!known || !filled || o == all);
        all = known ? o : all;
        filled = filled || known;
        *failed =
            !append(words, known ? cJSON_CreateString(cc_origin_word(o)) : cJSON_CreateNull());
    }
    if (!*failed && filled && !same)
        return words;
    cJSON_Delete(words);
    cJSON *word = !*failed && filled ? cJSON_CreateString(cc_origin_word(all)) : NULL;
    *failed = *failed || (filled && word == NULL);
    return word;
}

static cJSON *origins_item(const struct cc_record *r)
{
    cJSON *o = cJSON_CreateObject();
    for (size_t c = 0; c < r->column_count; c++) {
        bool failed;
        cJSON *item = origin_item(r, c, &failed);
        if (failed || (item != NULL && !add(o, r->columns[c].key->name, item))) {
            cJSON_Delete(o);
            return NULL;
        }
    }
    return o;
}

static bool add_all(cJSON *o, const struct cc_record *r)
{
    return add(o, "schema", cJSON_CreateString(CC_RECORD_SCHEMA)) &&
           add(o, "command", text_item(r->command)) &&
           add(o, "argv", texts_item(r->argv, (size_t)r->argc)) && add(o, "host", host_item(r)) &&
           add(o, "rows", rows_item(r)) && add(o, "origins", origins_item(r)) &&
           (r->note_count == 0 ||
            add(o, "notes", texts_item((const char *const *)r->notes, r->note_count))) &&
           (!r->partial || add(o, "partial", cJSON_CreateTrue())) &&
           (r->error[0] == '\0' || add(o, "error", text_item(r->error)));
}

int cc_json_write(const struct cc_record *r, FILE *out, struct cc_error *e)
{
    cJSON *o = cJSON_CreateObject();
    char *text = add_all(o, r) ? cJSON_Print(o) : NULL;
    cJSON_Delete(o);
    if (text == NULL)
        return cc_fail(e, "out of memory: the JSON of %zu rows", r->row_count);
    (void)fputs(text, out);
    (void)fputc('\n', out);
    cJSON_free(text);
    return CC_OK;
}
