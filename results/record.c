/* The record: typed values of rows under the keys of a command's columns, and what is shown of
 * them. */
#include "results/record.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/nearest.h"
#include "results/text.h"

const struct cc_column *cc_column_find(const struct cc_column *list, const char *key)
{
    for (; list->key != NULL; list++)
        if (strcmp(list->key->name, key) == 0)
            return list;
    return NULL;
}

size_t cc_columns_count(const struct cc_column *list)
{
    size_t count = 0;
    while (list[count].key != NULL)
        count++;
    return count;
}

bool cc_column_shown(const struct cc_column *c)
{
    return c->key->head != NULL && !c->hidden;
}

const char *cc_column_head(const struct cc_column *c)
{
    if (c->head != NULL)
        return c->head;
    return c->key->head != NULL ? c->key->head : c->key->name;
}

void cc_record_init(struct cc_record *r, const char *command, const struct cc_column *columns,
                    int argc, const char *const *argv)
{
    *r = (struct cc_record){.command = command,
                            .columns = columns,
                            .column_count = cc_columns_count(columns),
                            .argc = argc,
                            .argv = argv};
}

void cc_record_remove(struct cc_record *r, size_t row)
{
    for (size_t c = 0; c < r->column_count; c++)
        free(r->rows[row].value[c].text);
    free(r->rows[row].value);
    r->row_count--;
    memmove(&r->rows[row], &r->rows[row + 1], (r->row_count - row) * sizeof *r->rows);
}

void cc_record_free(struct cc_record *r)
{
    while (r->row_count > 0)
        cc_record_remove(r, r->row_count - 1);
    for (size_t i = 0; i < r->note_count; i++)
        free(r->notes[i]);
    free(r->rows);
    free(r->notes);
    free(r->note_place);
    free(r->chosen);
    free(r->source);
    *r = (struct cc_record){0};
}

int cc_record_add(struct cc_record *r, size_t *row, struct cc_error *e)
{
    struct cc_value *value;
    CC_TRY(CC_GROW(r->rows, &r->row_capacity, r->row_count + 1, e));
    CC_TRY(CC_NEW(value, r->column_count, e));
    if (row != NULL)
        *row = r->row_count;
    r->rows[r->row_count++] = (struct cc_row){.value = value};
    return CC_OK;
}

struct cc_value *cc_record_value(const struct cc_record *r, size_t row,
                                 const struct cc_result_key *key)
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
    set(cc_record_value(r, row, key), finite ? CC_NUMBER : CC_NULL, finite ? v + 0.0 : 0, NULL);
}

int cc_record_whole(struct cc_record *r, size_t row, const struct cc_result_key *key, uint64_t v,
                    struct cc_error *e)
{
    char digits[24], *text = NULL;
    (void)snprintf(digits, sizeof digits, "%llu", (unsigned long long)v);
    if (v > UINT64_C(1) << 53 && (text = cc_strdup(digits, e)) == NULL)
        return CC_FAIL;
    set(cc_record_value(r, row, key), CC_NUMBER, (double)v, text);
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
    set(cc_record_value(r, row, key), CC_BOOL, v, NULL);
}

int cc_record_text(struct cc_record *r, size_t row, const struct cc_result_key *key, const char *v,
                   struct cc_error *e)
{
    char *copy = cc_utf8_copy(v, e);
    if (copy == NULL)
        return CC_FAIL;
    set(cc_record_value(r, row, key), CC_TEXT, 0, copy);
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

int cc_record_copy(struct cc_record *r, size_t row, const struct cc_result_key *key,
                   const struct cc_value *from, struct cc_error *e)
{
    struct cc_value *to = cc_record_value(r, row, key);
    char *text = NULL;
    if (from->text != NULL && (text = cc_utf8_copy(from->text, e)) == NULL)
        return CC_FAIL;
    set(to, from->kind, from->number, text);
    to->origin = from->origin;
    return CC_OK;
}

void cc_record_origin(struct cc_record *r, size_t row, const struct cc_result_key *key,
                      enum cc_origin origin)
{
    cc_record_value(r, row, key)->origin = origin;
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

void cc_record_title(struct cc_record *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(r->title, sizeof r->title, fmt, args);
    va_end(args);
}

static int add_note(struct cc_record *r, bool once, enum cc_note_place place, struct cc_error *e,
                    const char *fmt, va_list args)
{
    CC_TRY(CC_GROW(r->notes, &r->note_capacity, r->note_count + 1, e));
    CC_TRY(CC_GROW(r->note_place, &r->place_capacity, r->note_count + 1, e));
    char *text;
    if (vasprintf(&text, fmt, args) < 0)
        return cc_fail(e, "out of memory: a note");
    char *note = cc_utf8_copy(text, e);
    free(text);
    if (note == NULL)
        return CC_FAIL;
    for (size_t i = 0; once && i < r->note_count; i++)
        if (strcmp(r->notes[i], note) == 0) {
            free(note);
            return CC_OK;
        }
    r->note_place[r->note_count] = (unsigned char)place;
    r->notes[r->note_count++] = note;
    return CC_OK;
}

int cc_record_note_at(struct cc_record *r, enum cc_note_place place, struct cc_error *e,
                      const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const int status = add_note(r, false, place, e, fmt, args);
    va_end(args);
    return status;
}

void cc_record_move_notes(struct cc_record *r, size_t first, enum cc_note_place place)
{
    for (size_t i = first; i < r->note_count; i++)
        if (r->note_place[i] == CC_NOTE_BELOW)
            r->note_place[i] = (unsigned char)place;
}

int cc_record_note(struct cc_record *r, struct cc_error *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const int status = add_note(r, false, CC_NOTE_BELOW, e, fmt, args);
    va_end(args);
    return status;
}

int cc_record_note_once(struct cc_record *r, struct cc_error *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const int status = add_note(r, true, CC_NOTE_BELOW, e, fmt, args);
    va_end(args);
    return status;
}

int cc_record_warn(struct cc_record *r, struct cc_error *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const int status = add_note(r, true, CC_NOTE_WARNING, e, fmt, args);
    va_end(args);
    return status;
}

/* --- chosen columns --- */

static int unknown_key(const struct cc_record *r, const char *key, struct cc_error *e)
{
    const char **keys;
    CC_TRY(CC_NEW(keys, r->column_count + 1, e));
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
    const struct cc_column *column = cc_column_find(r->columns, key);
    if (column == NULL)
        return unknown_key(r, key, e);
    const size_t c = (size_t)(column - r->columns);
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
    if (status == CC_OK && r->chosen == NULL)
        status = CC_NEW(r->chosen, r->column_count, e);
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
