/* The text is scanned by the grammar first, then parsed by cJSON, whose tree is checked for keys
 * that occur twice. Below are readers of members, which name the key in their messages. */
#include "core/format/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/infile.h"
#include "core/memory.h"
#include "core/nearest.h"
#include "core/utf8.h"

#define MAX_DEPTH 32

/* Checks the grammar; cJSON then builds the document. */
struct scan {
    const uint8_t *start, *p, *end;
    size_t values;
    struct cc_error *e;
};

static int bad(const struct scan *s, const char *what)
{
    return cc_fail(s->e, "byte %zu: %s", (size_t)(s->p - s->start), what);
}

static int peek(const struct scan *s)
{
    return s->p < s->end ? *s->p : -1;
}

static void skip_space(struct scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
        s->p++;
}

static size_t skip_digits(struct scan *s)
{
    const uint8_t *from = s->p;
    while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
        s->p++;
    return (size_t)(s->p - from);
}

static int scan_number(struct scan *s)
{
    if (peek(s) == '-')
        s->p++;
    const uint8_t *whole = s->p;
    size_t digits = skip_digits(s);
    if (digits == 0)
        return bad(s, "not a JSON value");
    if (digits > 1 && *whole == '0')
        return bad(s, "a number that begins with 0");
    if (peek(s) == '.') {
        s->p++;
        if (skip_digits(s) == 0)
            return bad(s, "digits must follow the point");
    }
    if (peek(s) == 'e' || peek(s) == 'E') {
        s->p++;
        if (peek(s) == '+' || peek(s) == '-')
            s->p++;
        if (skip_digits(s) == 0)
            return bad(s, "digits must follow the exponent's e");
    }
    /* cJSON copies a number into 64 bytes and ignores the rest. */
    if (s->p - whole > 60)
        return bad(s, "a number of more than 60 characters");
    return CC_OK;
}

static int scan_escape(struct scan *s)
{
    s->p++;
    int c = peek(s);
    if (c < 0 || strchr("\"\\/bfnrtu", c) == NULL || c == 0)
        return bad(s, "an unknown escape in a string");
    s->p++;
    if (c != 'u')
        return CC_OK;
    int zeros = 0;
    for (int i = 0; i < 4; i++, s->p++) {
        c = peek(s);
        bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (!hex)
            return bad(s, "\\u needs four hexadecimal digits");
        zeros += c == '0';
    }
    return zeros == 4 ? bad(s, "\\u0000 in a string") : CC_OK;
}

static int scan_string(struct scan *s)
{
    if (peek(s) != '"')
        return bad(s, "a string in double quotes is missing");
    s->p++;
    while (peek(s) != '"') {
        int c = peek(s);
        if (c < 0)
            return bad(s, "the string does not end");
        if (c < 0x20)
            return bad(s, "a control character in a string");
        if (c == '\\') {
            CC_TRY(scan_escape(s));
            continue;
        }
        size_t length = cc_utf8_length(s->p, (size_t)(s->end - s->p));
        if (length == 0)
            return bad(s, "invalid UTF-8");
        s->p += length;
    }
    s->p++;
    return CC_OK;
}

static int scan_word(struct scan *s, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
        return bad(s, "not a JSON value");
    s->p += n;
    return CC_OK;
}

static int scan_value(struct scan *s, int depth);

/* Checks an object (close '}') or an array (close ']') from its opening bracket. */
static int scan_list(struct scan *s, char close, int depth)
{
    if (depth == MAX_DEPTH)
        return bad(s, "nested more than 32 deep");
    s->p++;
    skip_space(s);
    if (peek(s) == close) {
        s->p++;
        return CC_OK;
    }
    for (;;) {
        if (close == '}') {
            skip_space(s);
            CC_TRY(scan_string(s));
            skip_space(s);
            if (peek(s) != ':')
                return bad(s, "a colon must follow the key");
            s->p++;
        }
        CC_TRY(scan_value(s, depth + 1));
        if (peek(s) == close)
            break;
        if (peek(s) != ',')
            return bad(s, close == '}' ? "a comma or } is missing" : "a comma or ] is missing");
        s->p++;
    }
    s->p++;
    return CC_OK;
}

static int scan_value(struct scan *s, int depth)
{
    if (++s->values > CC_JSON_VALUES)
        return cc_fail(
            s->e,
            "byte %zu: more than %d values, the most that are read; of a timeline, fewer "
            "--steps, workers or schemes have fewer",
            (size_t)(s->p - s->start), CC_JSON_VALUES);
    skip_space(s);
    const int c = peek(s);
    const int status = c == '{'   ? scan_list(s, '}', depth)
                       : c == '[' ? scan_list(s, ']', depth)
                       : c == '"' ? scan_string(s)
                       : c == 't' ? scan_word(s, "true")
                       : c == 'f' ? scan_word(s, "false")
                       : c == 'n' ? scan_word(s, "null")
                                  : scan_number(s);
    skip_space(s);
    return status;
}

static int check_object_keys(const cJSON *object, struct cc_error *e)
{
    const char **keys;
    size_t count = 0;
    CC_TRY(CC_NEW(keys, (size_t)cJSON_GetArraySize(object), e));
    for (const cJSON *c = object->child; c != NULL; c = c->next)
        keys[count++] = c->string;
    const char *twice = cc_word_twice(keys, count);
    free(keys);
    return twice == NULL ? CC_OK
                         : cc_fail(e, "the key \"%.200s\" occurs twice in one object", twice);
}

static int check_keys(const cJSON *item, struct cc_error *e)
{
    int status = cJSON_IsObject(item) ? check_object_keys(item, e) : CC_OK;
    for (const cJSON *c = item->child; c != NULL && status == CC_OK; c = c->next)
        status = check_keys(c, e);
    return status;
}

int cc_json_parse(const char *text, size_t length, cJSON **out, struct cc_error *e)
{
    const uint8_t *bytes = (const uint8_t *)text;
    struct scan s = {.start = bytes, .p = bytes, .end = bytes + length, .e = e};
    CC_TRY(scan_value(&s, 0));
    if (s.p != s.end)
        return bad(&s, "something follows the JSON value");
    cJSON *root = cJSON_ParseWithLength(text, length);
    if (root == NULL) {
        const char *where = cJSON_GetErrorPtr();
        size_t at = where >= text && where <= text + length ? (size_t)(where - text) : 0;
        return cc_fail(e, "byte %zu: not valid JSON, or out of memory", at);
    }
    const int status = check_keys(root, e);
    if (status == CC_OK)
        *out = root;
    else
        cJSON_Delete(root);
    return status;
}

bool cc_json_size(const cJSON *item, size_t *out)
{
    if (!cJSON_IsNumber(item))
        return false;
    double v = item->valuedouble;
    if (!(v >= 0 && v < 0x1p53) || v != floor(v))
        return false;
    *out = (size_t)v;
    return true;
}

int cc_json_keys(const cJSON *object, const char *const *allowed, struct cc_error *e)
{
    for (const cJSON *c = object->child; c != NULL; c = c->next) {
        if (cc_word_find(allowed, c->string) >= 0)
            continue;
        const char *near = cc_nearest(c->string, allowed);
        return near != NULL
                   ? cc_fail(e, "unknown key \"%.60s\": did you mean \"%s\"?", c->string, near)
                   : cc_fail(e, "unknown key \"%.60s\"", c->string);
    }
    return CC_OK;
}

int cc_json_text(const cJSON *object, const char *key, const char **out, struct cc_error *e)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    *out = NULL;
    if (item == NULL)
        return CC_OK;
    if (!cJSON_IsString(item))
        return cc_fail(e, "\"%s\" is not a string", key);
    *out = item->valuestring;
    return CC_OK;
}

int cc_json_need_text(const cJSON *object, const char *key, const char **out, struct cc_error *e)
{
    const char *text;
    CC_TRY(cc_json_text(object, key, &text, e));
    if (text == NULL || text[0] == '\0')
        return cc_fail(e, "\"%s\" is missing or empty", key);
    *out = text;
    return CC_OK;
}

int cc_json_amount(const cJSON *object, const char *key, double *out, struct cc_error *e)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (item == NULL)
        return CC_OK;
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > 1e30)
        return cc_fail(e, "\"%s\" is not a number from 0 to 1e30", key);
    *out = item->valuedouble;
    return CC_OK;
}

static int read_member(const cJSON *object, const struct cc_json_member *m, void *to,
                       struct cc_error *e)
{
    switch (m->kind) {
    case CC_JSON_TEXT:
        return cc_json_text(object, m->key, to, e);
    case CC_JSON_NEED_TEXT:
        return cc_json_need_text(object, m->key, to, e);
    case CC_JSON_NEED_AMOUNT:
        if (cJSON_GetObjectItemCaseSensitive(object, m->key) == NULL)
            return cc_fail(e, "\"%s\" is missing", m->key);
        return cc_json_amount(object, m->key, to, e);
    case CC_JSON_AMOUNT:
        return cc_json_amount(object, m->key, to, e);
    case CC_JSON_OTHER:
        break;
    }
    return CC_OK;
}

int cc_json_members(const cJSON *object, const struct cc_json_member *members, void *out,
                    struct cc_error *e)
{
    const char *keys[32] = {NULL};
    if (!cJSON_IsObject(object))
        return cc_fail(e, "not an object");
    for (size_t i = 0; members[i].key != NULL; i++)
        keys[i] = members[i].key;
    CC_TRY(cc_json_keys(object, keys, e));
    for (const struct cc_json_member *m = members; m->key != NULL; m++)
        CC_TRY(read_member(object, m, (char *)out + m->at, e));
    return CC_OK;
}

int cc_json_each(const cJSON *list, const char *what, cc_json_reader *read, void *out,
                 struct cc_error *e)
{
    size_t i = 0;
    for (const cJSON *c = list->child; c != NULL; c = c->next, i++)
        CC_TRY_IN(read(c, out, e), e, "%s %zu", what, i);
    return CC_OK;
}

int cc_json_need_bool(const cJSON *object, const char *key, bool *out, struct cc_error *e)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsBool(item))
        return cc_fail(e, "\"%s\" must be true or false", key);
    *out = cJSON_IsTrue(item) != 0;
    return CC_OK;
}

int cc_json_need_word(const cJSON *object, const char *key, const char *const *words, int *out,
                      struct cc_error *e)
{
    const char *text;
    CC_TRY(cc_json_need_text(object, key, &text, e));
    const int found = cc_word_find(words, text);
    if (found >= 0) {
        *out = found;
        return CC_OK;
    }
    const char *near = cc_nearest(text, words);
    if (near != NULL)
        return cc_fail(e, "\"%s\": unknown word \"%.60s\"; did you mean \"%s\"?", key, text, near);
    char list[200];
    cc_word_list(words, list, sizeof list);
    return cc_fail(e, "\"%s\": unknown word \"%.60s\"; it is one of %s", key, text, list);
}

int cc_json_need_list(const cJSON *object, const char *key, const char *of, const cJSON **out,
                      size_t *count, struct cc_error *e)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsArray(list) || list->child == NULL)
        return cc_fail(e, "\"%s\" must be a list of at least one %s", key, of);
    *out = list;
    *count = (size_t)cJSON_GetArraySize(list);
    return CC_OK;
}

int cc_json_schema(const cJSON *root, const char *schema, const char *help, struct cc_error *e)
{
    const char *text;
    if (!cJSON_IsObject(root))
        return cc_fail(e, "not a JSON object");
    CC_TRY(cc_json_text(root, "schema", &text, e));
    if (text == NULL || strcmp(text, schema) != 0)
        return cc_fail(e, "\"schema\" must be \"%s\": %s", schema, help);
    return CC_OK;
}

/* --- documents --- */

int cc_json_parse_as(const char *text, size_t length, cc_json_reader *reader, void *out,
                     struct cc_error *e)
{
    cJSON *root;
    CC_TRY(cc_json_parse(text, length, &root, e));
    int status = reader(root, out, e);
    cJSON_Delete(root);
    return status;
}

int cc_json_read_as(const char *path, cc_json_reader *reader, void *out, struct cc_error *e)
{
    struct cc_bytes file;
    CC_TRY(cc_file_read(path, &file, e));
    int status = cc_json_parse_as((const char *)file.data, file.size, reader, out, e);
    cc_bytes_free(&file);
    return cc_status_in(status, e, "%s", path);
}

/* --- writing, for writers of documents line by line --- */

static bool reads_back(double v, int digits, char out[CC_NUMBER_CAP])
{
    (void)snprintf(out, CC_NUMBER_CAP, "%.*g", digits, v);
    return strtod(out, NULL) == v;
}

/* If some number of digits is enough, more are, by halving: except at powers of two, below which
 * doubles are closer together than above. Most results of arithmetic need 16 or 17. */
static int least_digits(double v, char out[CC_NUMBER_CAP])
{
    int exponent, low = 1, high = 15;
    if (fabs(frexp(v, &exponent)) == 0.5)
        return low;
    if (!reads_back(v, high, out))
        return high + 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (reads_back(v, middle, out))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void cc_number_print(double v, char out[CC_NUMBER_CAP])
{
    if (v == 0) {
        (void)snprintf(out, CC_NUMBER_CAP, signbit(v) ? "-0.0" : "0");
    } else if (v == floor(v) && fabs(v) <= 0x1p53) {
        (void)snprintf(out, CC_NUMBER_CAP, "%.0f", v);
    } else {
        int digits = least_digits(v, out);
        while (!reads_back(v, digits, out) && digits < 17)
            digits++;
    }
}

void cc_json_put_number(FILE *f, double v)
{
    char number[CC_NUMBER_CAP];
    cc_number_print(v, number);
    (void)fputs(number, f);
}

int cc_json_put_text(FILE *f, const char *text, struct cc_error *e)
{
    char *copy;
    CC_TRY(cc_text(&copy, e, "%s", text != NULL ? text : ""));
    size_t where;
    while (!cc_utf8_valid((const uint8_t *)copy, strlen(copy), &where))
        copy[where] = '?';
    cJSON *item = cJSON_CreateString(copy);
    char *quoted = item != NULL ? cJSON_PrintUnformatted(item) : NULL;
    if (quoted != NULL)
        (void)fputs(quoted, f);
    else
        cc_error_set(e, "out of memory: a text of %zu bytes", strlen(copy));
    int status = quoted != NULL ? CC_OK : CC_FAIL;
    cJSON_free(quoted);
    cJSON_Delete(item);
    free(copy);
    return status;
}
