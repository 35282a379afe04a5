/* Parsing, writing and freeing are three walks over the same tables. Each visits a
 * table's fields in order, with a scope that tells the object at hand and those that contain it,
 * and descends into objects and list items. Parsing allocates a list before its items are parsed,
 * and counts each item before it is begun, so that freeing works after an error anywhere. */
#include "netsim/job/fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/tensor.h"

const struct cc_table cc_whole_numbers = CC_SCALARS(CC_FIELD_UINT64, uint64_t, 0x1p53 - 1);

static void *member(const struct cc_field *f, const void *object)
{
    return (char *)object + f->offset;
}

static size_t *count_of(const struct cc_field *f, const void *object)
{
    return (size_t *)((char *)object + f->count);
}

static bool is_allowed(const struct cc_field *f, const struct cc_scope *s)
{
    return f->when == NULL || f->when(s);
}

static bool is_required(const struct cc_field *f, const struct cc_scope *s)
{
    return is_allowed(f, s) && (!f->optional || (f->required != NULL && f->required(s)));
}

/* --- parsing --- */

static int parse_object(const struct cc_table *t, const cJSON *object, struct cc_scope s,
                        struct cc_error *e);

static int bad_number(const struct cc_field *f, bool whole, double low, double high,
                      struct cc_error *e)
{
    char label[80] = "";
    if (f->key != NULL)
        (void)snprintf(label, sizeof label, "\"%s\" ", f->key);
    return whole ? cc_fail(e, "%smust be a whole number from %.0f to %.0f", label, low, high)
                 : cc_fail(e, "%smust be a number from %.9g to %.9g", label, low, high);
}

static int parse_number(const struct cc_field *f, const cJSON *item, const struct cc_scope *s,
                        struct cc_error *e)
{
    void *to = member(f, s->self);
    const bool whole = f->type != CC_FIELD_NUMBER && f->type != CC_FIELD_FLOAT;
    double low = f->low, high = f->high;
    if (f->range != NULL)
        f->range(s, &low, &high);
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= low && item->valuedouble <= high) ||
        (whole && item->valuedouble != floor(item->valuedouble)))
        return bad_number(f, whole, low, high, e);
    const double v = item->valuedouble;
    switch (f->type) {
    case CC_FIELD_FLAG:
        *(bool *)to = v > 0;
        break;
    case CC_FIELD_SIZE:
        *(size_t *)to = (size_t)v;
        break;
    case CC_FIELD_INT:
        *(int *)to = (int)v;
        break;
    case CC_FIELD_UINT32:
        *(uint32_t *)to = (uint32_t)v;
        break;
    case CC_FIELD_UINT64:
        *(uint64_t *)to = (uint64_t)v;
        break;
    case CC_FIELD_FLOAT:
        *(float *)to = (float)v;
        break;
    default:
        *(double *)to = v;
    }
    return CC_OK;
}

static int parse_text(const struct cc_field *f, const cJSON *object, char **out, struct cc_error *e)
{
    const char *text;
    CC_TRY(cc_json_need_text(object, f->key, &text, e));
    if (f->high > 0 && strlen(text) > (size_t)f->high)
        return cc_fail(e, "\"%s\" must have at most %.0f bytes", f->key, f->high);
    *out = cc_strdup(text, e);
    return *out != NULL ? CC_OK : CC_FAIL;
}

static int parse_shape(const struct cc_field *f, const cJSON *list, struct cc_shape *out,
                       struct cc_error *e)
{
    size_t dim[CC_MAX_DIMS];
    int ndim = 0;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > CC_MAX_DIMS)
        return cc_fail(e, "\"%s\" must be a list of up to %d dimensions", f->key, CC_MAX_DIMS);
    for (const cJSON *d = list->child; d != NULL; d = d->next)
        if (!cc_json_size(d, &dim[ndim++]))
            return cc_fail(e, "\"%s\": a dimension must be a whole number below 2^53", f->key);
    CC_TRY_IN(cc_shape_make(dim, ndim, out, e), e, "\"%s\"", f->key);
    return CC_OK;
}

/* Parses one item of a list, which begins at *at, and moves *at to the next one. */
static int parse_item(const struct cc_table *t, const cJSON **at, struct cc_scope s,
                      struct cc_error *e)
{
    const cJSON *item = *at;
    *at = item->next;
    switch (t->form) {
    case CC_FORM_OBJECT:
        return cJSON_IsObject(item) ? parse_object(t, item, s, e) : cc_fail(e, "not an object");
    case CC_FORM_TUPLE:
        if (!cJSON_IsArray(item) || (size_t)cJSON_GetArraySize(item) != t->fields)
            return cc_fail(e, "not a list of %zu numbers", t->fields);
        item = item->child;
        break;
    default:
        break;
    }
    for (size_t i = 0; i < t->fields; i++, item = item->next) {
        CC_TRY(parse_number(&t->field[i], item, &s, e));
        if (t->form == CC_FORM_FLAT)
            *at = item->next;
    }
    return CC_OK;
}

/* Parses `items` of them into the array from number `first` on. */
static int parse_items(const struct cc_field *f, const cJSON *list, const struct cc_scope *outer,
                       size_t first, size_t items, struct cc_error *e)
{
    char *array = *(void **)member(f, outer->self);
    const cJSON *at = list->child;
    for (size_t i = first; i < first + items; i++) {
        const struct cc_scope s = {.self = array + i * f->table->bytes, .outer = outer};
        if (f->length == NULL)
            *count_of(f, outer->self) = i + 1; /* to be freed from here on */
        if (parse_item(f->table, &at, s, e) == CC_OK)
            continue;
        if (f->type == CC_FIELD_GROUPS)
            cc_error_in(e, "\"%s\", list %zu, %s %zu", f->key, i / items, f->item, i % items);
        else if (f->table->form == CC_FORM_OBJECT)
            cc_error_in(e, "%s %zu", f->item, i);
        else
            cc_error_in(e, "\"%s\", %s %zu", f->key, f->item, i);
        return CC_FAIL;
    }
    return CC_OK;
}

static int parse_list(const struct cc_field *f, const cJSON *list, const struct cc_scope *s,
                      struct cc_error *e)
{
    const size_t each = f->table->form == CC_FORM_FLAT ? f->table->fields : 1;
    const size_t numbers = cJSON_IsArray(list) ? (size_t)cJSON_GetArraySize(list) : 0;
    const size_t items = numbers / each;
    if (f->length != NULL && (!cJSON_IsArray(list) || items != f->length(s)))
        return cc_fail(e, "\"%s\" must be a list of %zu %ss", f->key, f->length(s), f->item);
    if (!cJSON_IsArray(list) || (double)items < f->low)
        return cc_fail(e, "\"%s\" must be a list of at least one %s", f->key, f->item);
    if (f->high > 0 && (double)items > f->high)
        return cc_fail(e, "\"%s\": %zu %ss, and %.0f are the most", f->key, items, f->item,
                       f->high);
    if (numbers % each != 0)
        return cc_fail(e, "\"%s\": %zu numbers, and each %s has %zu", f->key, numbers, f->item,
                       each);
    void *array = cc_alloc0(items * f->table->bytes, e);
    if (array == NULL)
        return CC_FAIL;
    *(void **)member(f, s->self) = array;
    return parse_items(f, list, s, 0, items, e);
}

static int parse_groups(const struct cc_field *f, const cJSON *list, const struct cc_scope *s,
                        struct cc_error *e)
{
    const size_t groups = f->length(s);
    size_t k = 0, each, bytes;
    if (!cJSON_IsArray(list) || (size_t)cJSON_GetArraySize(list) != groups)
        return cc_fail(e, "\"%s\" must be a list of %zu lists", f->key, groups);
    each = (size_t)cJSON_GetArraySize(list->child);
    for (const cJSON *group = list->child; group != NULL; group = group->next)
        if (!cJSON_IsArray(group) || each == 0 || (size_t)cJSON_GetArraySize(group) != each)
            return cc_fail(e, "\"%s\": the lists must be equally long, and not empty", f->key);
    void *array = cc_mul(groups * each, f->table->bytes, &bytes) ? cc_alloc0(bytes, e) : NULL;
    if (array == NULL)
        return CC_FAIL;
    *(void **)member(f, s->self) = array;
    *count_of(f, s->self) = each;
    for (const cJSON *group = list->child; group != NULL; group = group->next, k += each)
        CC_TRY(parse_items(f, group, s, k, each, e));
    return CC_OK;
}

static int parse_field(const struct cc_field *f, const cJSON *object, const struct cc_scope *s,
                       struct cc_error *e)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, f->key);
    void *to = member(f, s->self);
    switch (f->type) {
    case CC_FIELD_TEXT:
        return parse_text(f, object, to, e);
    case CC_FIELD_BOOL:
        return cc_json_need_bool(object, f->key, to, e);
    case CC_FIELD_WORD:
        return cc_json_need_word(object, f->key, f->words, to, e);
    case CC_FIELD_SHAPE:
        return parse_shape(f, item, to, e);
    case CC_FIELD_OBJECT:
        if (!cJSON_IsObject(item))
            return cc_fail(e, "\"%s\" must be an object", f->key);
        CC_TRY_IN(parse_object(f->table, item, (struct cc_scope){to, s}, e), e, "\"%s\"", f->key);
        return CC_OK;
    case CC_FIELD_LIST:
        return parse_list(f, item, s, e);
    case CC_FIELD_GROUPS:
        return parse_groups(f, item, s, e);
    default:
        return parse_number(f, item, s, e);
    }
}

static int check_keys(const struct cc_table *t, const cJSON *object, struct cc_error *e)
{
    const char *keys[CC_MOST_FIELDS + 2];
    size_t n = 0;
    for (size_t i = 0; i < t->fields; i++)
        keys[n++] = t->field[i].key;
    if (t->tag != NULL)
        keys[n++] = t->tag;
    keys[n] = NULL;
    return cc_json_keys(object, keys, e);
}

static int parse_object(const struct cc_table *t, const cJSON *object, struct cc_scope s,
                        struct cc_error *e)
{
    CC_TRY(check_keys(t, object, e));
    for (size_t i = 0; i < t->fields; i++) {
        const struct cc_field *f = &t->field[i];
        const bool there = cJSON_GetObjectItemCaseSensitive(object, f->key) != NULL;
        if (there && !is_allowed(f, &s))
            return cc_fail(e, "\"%s\" can only be there %s", f->key, f->condition);
        if (!there && !is_required(f, &s))
            continue;
        if (!there && f->requirement != NULL)
            return cc_fail(e, "\"%s\" is missing: it must be there %s", f->key, f->requirement);
        if (!there && f->condition != NULL)
            return cc_fail(e, "\"%s\" is missing: it must be there %s", f->key, f->condition);
        CC_TRY(parse_field(f, object, &s, e));
        if (f->check != NULL)
            CC_TRY(f->check(&s, e));
    }
    return CC_OK;
}

int cc_fields_parse(const struct cc_table *t, const cJSON *object, void *out, struct cc_error *e)
{
    return cJSON_IsObject(object) ? parse_object(t, object, (struct cc_scope){out, NULL}, e)
                                  : cc_fail(e, "not a JSON object");
}

/* --- writing --- */

struct writer {
    FILE *f;
    bool lines;
    struct cc_error *e;
};

static int write_object(struct writer *w, const struct cc_table *t, const struct cc_scope *s,
                        const char *defaults);

/* Separates a value from the one before it: on a line of its own, indented, or after a comma. */
static void separate(const struct writer *w, int indent, bool first)
{
    if (w->lines && indent > 0)
        (void)fprintf(w->f, "%s\n%*s", first ? "" : ",", indent, "");
    else
        (void)fputs(first ? "" : ", ", w->f);
}

static void write_number(const struct writer *w, const struct cc_field *f, const void *object)
{
    const void *from = member(f, object);
    switch (f->type) {
    case CC_FIELD_FLAG:
        (void)fputc(*(const bool *)from ? '1' : '0', w->f);
        break;
    case CC_FIELD_SIZE:
        (void)fprintf(w->f, "%zu", *(const size_t *)from);
        break;
    case CC_FIELD_INT:
        (void)fprintf(w->f, "%d", *(const int *)from);
        break;
    case CC_FIELD_UINT32:
        (void)fprintf(w->f, "%lu", (unsigned long)*(const uint32_t *)from);
        break;
    case CC_FIELD_UINT64:
        (void)fprintf(w->f, "%llu", (unsigned long long)*(const uint64_t *)from);
        break;
    case CC_FIELD_FLOAT:
        cc_json_put_number(w->f, (double)*(const float *)from);
        break;
    default:
        cc_json_put_number(w->f, *(const double *)from);
    }
}

static int write_items(struct writer *w, const struct cc_field *f, const struct cc_scope *outer,
                       const char *array, size_t items)
{
    const struct cc_table *t = f->table;
    (void)fputc('[', w->f);
    for (size_t i = 0; i < items; i++) {
        const struct cc_scope s = {.self = (char *)array + i * t->bytes, .outer = outer};
        if (t->form == CC_FORM_OBJECT) {
            separate(w, 2, i == 0);
            CC_TRY(write_object(w, t, &s, NULL));
            continue;
        }
        (void)fputs(i > 0 ? ", " : "", w->f);
        (void)fputs(t->form == CC_FORM_TUPLE ? "[" : "", w->f);
        for (size_t k = 0; k < t->fields; k++) {
            (void)fputs(k > 0 ? ", " : "", w->f);
            write_number(w, &t->field[k], s.self);
        }
        (void)fputs(t->form == CC_FORM_TUPLE ? "]" : "", w->f);
    }
    (void)fputc(']', w->f);
    return CC_OK;
}

static int write_groups(struct writer *w, const struct cc_field *f, const struct cc_scope *s)
{
    const char *array = *(void **)member(f, s->self);
    const size_t each = *count_of(f, s->self);
    (void)fputc('[', w->f);
    for (size_t k = 0; k < f->length(s); k++) {
        (void)fputs(k > 0 ? ", " : "", w->f);
        CC_TRY(write_items(w, f, s, array + k * each * f->table->bytes, each));
    }
    (void)fputc(']', w->f);
    return CC_OK;
}

static void write_shape(struct writer *w, const struct cc_shape *shape)
{
    (void)fputc('[', w->f);
    for (int i = 0; i < shape->ndim; i++)
        (void)fprintf(w->f, "%s%zu", i > 0 ? ", " : "", shape->dim[i]);
    (void)fputc(']', w->f);
}

static int write_field(struct writer *w, const struct cc_field *f, const struct cc_scope *s,
                       const char *defaults)
{
    const void *from = member(f, s->self);
    (void)fprintf(w->f, "\"%s\": ", f->key);
    switch (f->type) {
    case CC_FIELD_TEXT:
        return cc_json_put_text(w->f, *(char *const *)from, w->e);
    case CC_FIELD_BOOL:
        (void)fputs(*(const bool *)from ? "true" : "false", w->f);
        return CC_OK;
    case CC_FIELD_WORD:
        return cc_json_put_text(w->f, f->words[*(const int *)from], w->e);
    case CC_FIELD_SHAPE:
        write_shape(w, from);
        return CC_OK;
    case CC_FIELD_OBJECT: {
        const struct cc_scope inner = {.self = (void *)from, .outer = s};
        return write_object(w, f->table, &inner, defaults);
    }
    case CC_FIELD_LIST:
        return write_items(w, f, s, *(void *const *)from,
                           f->length != NULL ? f->length(s) : *count_of(f, s->self));
    case CC_FIELD_GROUPS:
        return write_groups(w, f, s);
    default:
        write_number(w, f, s->self);
        return CC_OK;
    }
}

/* Whether it is a text or an array that is not there; a reader will refuse what is required. */
static bool is_null(const struct cc_field *f, const void *object)
{
    return (f->type == CC_FIELD_TEXT || f->type == CC_FIELD_LIST || f->type == CC_FIELD_GROUPS) &&
           *(void *const *)member(f, object) == NULL;
}

/* Whether an optional field has its default and need not be written. */
static bool is_default(const struct cc_field *f, const void *object, const char *defaults)
{
    static const char zeros[sizeof(uint64_t)];
    static const size_t bytes[] = {
        [CC_FIELD_TEXT] = sizeof(char *),     [CC_FIELD_BOOL] = sizeof(bool),
        [CC_FIELD_FLAG] = sizeof(bool),       [CC_FIELD_NUMBER] = sizeof(double),
        [CC_FIELD_FLOAT] = sizeof(float),     [CC_FIELD_SIZE] = sizeof(size_t),
        [CC_FIELD_INT] = sizeof(int),         [CC_FIELD_UINT32] = sizeof(uint32_t),
        [CC_FIELD_UINT64] = sizeof(uint64_t), [CC_FIELD_WORD] = sizeof(int),
        [CC_FIELD_LIST] = sizeof(void *),     [CC_FIELD_GROUPS] = sizeof(void *)};
    if (f->type == CC_FIELD_OBJECT) {
        for (size_t i = 0; i < f->table->fields; i++)
            if (!is_default(&f->table->field[i], member(f, object),
                            defaults != NULL ? defaults + f->offset : NULL))
                return false;
        return true;
    }
    if (f->type == CC_FIELD_LIST && f->length == NULL && *count_of(f, object) == 0)
        return true;
    const char *usual = defaults != NULL ? defaults + f->offset : zeros;
    return memcmp(member(f, object), usual, bytes[f->type]) == 0;
}

static int write_object(struct writer *w, const struct cc_table *t, const struct cc_scope *s,
                        const char *defaults)
{
    bool first = t->tag == NULL; /* the caller has written it */
    (void)fputs(t->tag == NULL ? "{" : "", w->f);
    for (size_t i = 0; i < t->fields; i++) {
        const struct cc_field *f = &t->field[i];
        if (!is_allowed(f, s) || is_null(f, s->self) ||
            (!is_required(f, s) && is_default(f, s->self, defaults)))
            continue;
        separate(w, s->outer == NULL ? 1 : 0, first);
        CC_TRY(write_field(w, f, s, defaults != NULL ? defaults + f->offset : NULL));
        first = false;
    }
    (void)fputs(w->lines && s->outer == NULL ? "\n}" : "}", w->f);
    return CC_OK;
}

int cc_fields_write(const struct cc_table *t, const void *in, const char *tag_text, bool lines,
                    FILE *f, struct cc_error *e)
{
    struct writer w = {.f = f, .lines = lines, .e = e};
    const struct cc_scope s = {.self = (void *)in};
    if (t->tag != NULL) {
        (void)fprintf(f, "{\"%s\": ", t->tag);
        CC_TRY(cc_json_put_text(f, tag_text, e));
    }
    CC_TRY(write_object(&w, t, &s, t->defaults));
    (void)fputs("\n", f);
    return CC_OK;
}

/* --- freeing --- */

void cc_fields_free(const struct cc_table *t, void *object)
{
    for (size_t i = 0; i < t->fields; i++) {
        const struct cc_field *f = &t->field[i];
        void *at = member(f, object);
        if (f->type == CC_FIELD_OBJECT)
            cc_fields_free(f->table, at);
        if (f->type != CC_FIELD_TEXT && f->type != CC_FIELD_LIST && f->type != CC_FIELD_GROUPS)
            continue;
        /* Only objects own memory, and only lists that know how long they are have objects. */
        if (f->type == CC_FIELD_LIST && f->table->form == CC_FORM_OBJECT)
            for (size_t k = 0; k < *count_of(f, object); k++)
                cc_fields_free(f->table, *(char **)at + k * f->table->bytes);
        free(*(void **)at);
        *(void **)at = NULL;
        if (f->type == CC_FIELD_GROUPS || (f->type == CC_FIELD_LIST && f->length == NULL))
            *count_of(f, object) = 0;
    }
}
