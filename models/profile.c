/* Profiles: reading, writing and merging the files, and interpolating between their points. Between
 * two sizes, bits per value and the time of a whole call are linear in the logarithm of the size;
 * below the smallest size a call takes as long as there, above the largest a value does. */
#include "models/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/format/json.h"
#include "core/memory.h"

void cc_profile_free(struct cc_profile *p)
{
    for (size_t i = 0; i < p->codecs; i++) {
        free(p->codec[i].scheme);
        free(p->codec[i].point);
    }
    free(p->codec);
    free(p->trace);
    free(p->cpu);
    free(p->isa);
    free(p->time);
    *p = (struct cc_profile){0};
}

/* --- reading --- */

#define AT(member, kind) CC_JSON_AT(struct cc_profile_point, member, kind)

static int parse_point(const cJSON *item, void *codec, struct cc_error *e)
{
    static const struct cc_json_member members[] = {AT(values, CC_JSON_NEED_AMOUNT),
                                                    AT(bits_per_value, CC_JSON_NEED_AMOUNT),
                                                    AT(encode_ns, CC_JSON_NEED_AMOUNT),
                                                    AT(decode_ns, CC_JSON_NEED_AMOUNT),
                                                    AT(decode_add_ns, CC_JSON_NEED_AMOUNT),
                                                    AT(spread, CC_JSON_AMOUNT),
                                                    AT(load, CC_JSON_AMOUNT),
                                                    {.key = NULL}};
    struct cc_profile_codec *c = codec;
    struct cc_profile_point *p = &c->point[c->points];
    size_t values;
    CC_TRY(cc_json_members(item, members, p, e));
    if (!cc_json_size(cJSON_GetObjectItemCaseSensitive(item, "values"), &values) || values == 0)
        return cc_fail(e, "\"values\" is not a whole number from 1 to 2^53");
    if (c->points > 0 && p->values <= p[-1].values)
        return cc_fail(e, "%.0f values after %.0f: points must be in ascending order", p->values,
                       p[-1].values);
    c->points++;
    return CC_OK;
}

static struct cc_profile_errors no_errors(void)
{
    const double n = (double)NAN;
    return (struct cc_profile_errors){n, n, n, n, n, n, n};
}

#define ERROR(member, kind) CC_JSON_AT(struct cc_profile_errors, member, kind)
static const struct cc_json_member error_members[] = {
    ERROR(error, CC_JSON_AMOUNT),           ERROR(error_low, CC_JSON_AMOUNT),
    ERROR(error_high, CC_JSON_AMOUNT),      ERROR(nmse, CC_JSON_AMOUNT),
    ERROR(nmse_cumulative, CC_JSON_AMOUNT), ERROR(cosine, CC_JSON_OTHER), /* may be negative */
    ERROR(max_abs_error, CC_JSON_AMOUNT),   {.key = NULL}};

static int parse_errors(const cJSON *object, struct cc_profile_errors *out, struct cc_error *e)
{
    if (object == NULL)
        return CC_OK;
    if (!cJSON_IsObject(object))
        return cc_fail(e, "\"errors\" must be an object");
    CC_TRY(cc_json_members(object, error_members, out, e));
    const cJSON *cosine = cJSON_GetObjectItemCaseSensitive(object, "cosine");
    if (cosine != NULL && !(cJSON_IsNumber(cosine) && fabs(cosine->valuedouble) <= 1.001))
        return cc_fail(e, "\"cosine\" is not a number from -1 to 1");
    if (cosine != NULL)
        out->cosine = cosine->valuedouble;
    const bool interval = isfinite(out->error_low) || isfinite(out->error_high);
    if (interval && !(out->error_low <= out->error && out->error <= out->error_high))
        return cc_fail(e, "\"error\" is not between \"error_low\" and \"error_high\"");
    return CC_OK;
}

static int parse_members(const cJSON *item, struct cc_profile_codec *c, struct cc_error *e)
{
    bool lossy = true;
    const cJSON *points;
    size_t count;
    if (cJSON_GetObjectItemCaseSensitive(item, "lossy") != NULL)
        CC_TRY(cc_json_need_bool(item, "lossy", &lossy, e));
    c->lossless = !lossy;
    c->errors.error = lossy ? (double)NAN : 0;
    CC_TRY(parse_errors(cJSON_GetObjectItemCaseSensitive(item, "errors"), &c->errors, e));
    CC_TRY(cc_json_need_list(item, "points", "{\"values\", \"bits_per_value\", ...}", &points,
                             &count, e));
    CC_TRY(CC_NEW(c->point, count, e));
    return cc_json_each(points, "point", parse_point, c, e);
}

/* Appends a codec to the profile, which owns what was allocated even after an error. */
static int parse_codec(const cJSON *item, void *profile, struct cc_error *e)
{
    static const char *const keys[] = {"scheme", "lossy", "errors", "points", NULL};
    struct cc_profile *p = profile;
    struct cc_profile_codec *c = &p->codec[p->codecs];
    const char *scheme;
    if (!cJSON_IsObject(item))
        return cc_fail(e, "not an object with scheme and points");
    CC_TRY(cc_json_keys(item, keys, e));
    CC_TRY(cc_json_need_text(item, "scheme", &scheme, e));
    if (cc_profile_find(p, scheme) != NULL)
        return cc_fail(e, "\"%.100s\" for the second time", scheme);
    CC_TRY(cc_text(&c->scheme, e, "%s", scheme));
    c->errors = no_errors();
    p->codecs++;
    return cc_status_in(parse_members(item, c, e), e, "\"%.100s\"", scheme);
}

/* Reads the origin of the numbers, any part of which may be missing. */
static int parse_origin(const cJSON *root, struct cc_profile *p, struct cc_error *e)
{
    static const char *const keys[] = {"trace", "cpu", "isa", "time"};
    char **const to[] = {&p->trace, &p->cpu, &p->isa, &p->time};
    for (size_t i = 0; i < sizeof to / sizeof to[0]; i++) {
        const char *text;
        CC_TRY(cc_json_text(root, keys[i], &text, e));
        CC_TRY(cc_text(to[i], e, "%s", text != NULL ? text : ""));
    }
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "threads");
    size_t threads = 1;
    if (item != NULL && (!cc_json_size(item, &threads) || threads < 1 || threads > 1024))
        return cc_fail(e, "\"threads\" is not a whole number from 1 to 1024");
    p->threads = (int)threads;
    return cc_json_amount(root, "copy_gb_per_s", &p->copy_gb_per_s, e);
}

static int parse_schema(const cJSON *root, struct cc_error *e)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "schema"));
    if (text != NULL && strcmp(text, CC_PROFILE_SCHEMA_1) == 0)
        return cJSON_GetObjectItemCaseSensitive(root, "dtype") == NULL
                   ? CC_OK
                   : cc_fail(e, "\"dtype\" is of \"schema\": \"" CC_PROFILE_SCHEMA "\"");
    return cc_json_schema(root, CC_PROFILE_SCHEMA,
                          "`commcomp bench --profile-out` writes such files", e);
}

static int parse_dtype(const cJSON *root, struct cc_profile *p, struct cc_error *e)
{
    const char *text;
    CC_TRY(cc_json_text(root, "dtype", &text, e));
    for (int i = 0; text != NULL; i++) {
        if (cc_element_names[i] == NULL)
            return cc_fail(e, "\"dtype\" is \"%.20s\", not fp32, bf16 or fp16", text);
        p->dtype = (enum cc_element)i;
        if (strcmp(text, cc_element_names[i]) == 0)
            break;
    }
    return CC_OK;
}

static int parse_root(const cJSON *root, void *out, struct cc_error *e)
{
    static const char *const keys[] = {"schema",  "trace", "cpu",           "isa",    "time",
                                       "threads", "dtype", "copy_gb_per_s", "codecs", NULL};
    struct cc_profile p = {0};
    const cJSON *codecs;
    size_t count;
    int status = CC_OK;
    CC_TRY_OUT(parse_schema(root, e));
    CC_TRY_OUT(cc_json_keys(root, keys, e));
    CC_TRY_OUT(parse_origin(root, &p, e));
    CC_TRY_OUT(parse_dtype(root, &p, e));
    CC_TRY_OUT(cc_json_need_list(root, "codecs", "{\"scheme\", \"points\"}", &codecs, &count, e));
    CC_TRY_OUT(CC_NEW(p.codec, count, e));
    CC_TRY_OUT(cc_json_each(codecs, "codec", parse_codec, &p, e));
    *(struct cc_profile *)out = p;
out:
    if (status != CC_OK)
        cc_profile_free(&p);
    return status;
}

int cc_profile_parse(const char *text, size_t length, struct cc_profile *out, struct cc_error *e)
{
    return cc_json_parse_as(text, length, parse_root, out, e);
}

int cc_profile_read(const char *path, struct cc_profile *out, struct cc_error *e)
{
    return cc_json_read_as(path, parse_root, out, e);
}

/* --- writing --- */

static void put_errors(FILE *f, const struct cc_profile_errors *x)
{
    size_t count = 0;
    for (const struct cc_json_member *m = error_members; m->key != NULL; m++) {
        const double value = *(const double *)((const char *)x + m->at);
        if (isfinite(value))
            (void)fprintf(f, "%s\"%s\": %.9g", count++ == 0 ? ", \"errors\": {" : ", ", m->key,
                          value);
    }
    if (count > 0)
        (void)fputs("}", f);
}

static int put_codec(FILE *f, const struct cc_profile_codec *c, struct cc_error *e)
{
    (void)fputs("    {\"scheme\": ", f);
    CC_TRY(cc_json_put_text(f, c->scheme, e));
    if (c->lossless)
        (void)fputs(", \"lossy\": false", f);
    put_errors(f, &c->errors);
    (void)fputs(", \"points\": [\n", f);
    for (size_t i = 0; i < c->points; i++) {
        const struct cc_profile_point *p = &c->point[i];
        (void)fprintf(f,
                      "      {\"values\": %.0f, \"bits_per_value\": %.9g, \"encode_ns\": %.9g, "
                      "\"decode_ns\": %.9g, \"decode_add_ns\": %.9g, \"spread\": %.3g, "
                      "\"load\": %.3g}%s\n",
                      p->values, p->bits_per_value, p->encode_ns, p->decode_ns, p->decode_add_ns,
                      p->spread, p->load, i + 1 < c->points ? "," : "");
    }
    (void)fputs("    ]}", f);
    return CC_OK;
}

static int put_profile(FILE *f, const struct cc_profile *p, struct cc_error *e)
{
    const struct {
        const char *key, *text;
    } texts[] = {{"schema", CC_PROFILE_SCHEMA},
                 {"trace", p->trace},
                 {"cpu", p->cpu},
                 {"isa", p->isa},
                 {"time", p->time},
                 {"dtype", cc_element_names[p->dtype]}};
    (void)fputs("{\n", f);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        (void)fprintf(f, "  \"%s\": ", texts[i].key);
        CC_TRY(cc_json_put_text(f, texts[i].text, e));
        (void)fputs(",\n", f);
    }
    (void)fprintf(f, "  \"threads\": %d,\n  \"copy_gb_per_s\": %.9g,\n  \"codecs\": [\n",
                  p->threads, p->copy_gb_per_s);
    for (size_t i = 0; i < p->codecs; i++) {
        CC_TRY(put_codec(f, &p->codec[i], e));
        (void)fputs(i + 1 < p->codecs ? ",\n" : "\n", f);
    }
    (void)fputs("  ]\n}\n", f);
    return CC_OK;
}

int cc_profile_write(const struct cc_profile *p, const char *path, struct cc_error *e)
{
    struct cc_outfile o;
    CC_TRY(cc_file_create(&o, path, e));
    return cc_file_end(&o, put_profile(o.f, p, e), e);
}

/* --- adding --- */

/* The entry of a scheme, which is added if it is missing. */
static int find_or_add(struct cc_profile *p, const char *scheme, struct cc_profile_codec **out,
                       struct cc_error *e)
{
    const struct cc_profile_codec *known = cc_profile_find(p, scheme);
    size_t capacity = p->codecs;
    char *name;
    if (known != NULL) {
        *out = &p->codec[known - p->codec];
        return CC_OK;
    }
    CC_TRY(CC_GROW(p->codec, &capacity, p->codecs + 1, e));
    CC_TRY(cc_text(&name, e, "%s", scheme));
    *out = &p->codec[p->codecs++];
    **out = (struct cc_profile_codec){.scheme = name, .errors = no_errors()};
    return CC_OK;
}

int cc_profile_put(struct cc_profile *p, const char *scheme, const struct cc_profile_point *point,
                   struct cc_error *e)
{
    struct cc_profile_codec *c;
    CC_TRY(find_or_add(p, scheme, &c, e));
    size_t at = 0, capacity = c->points;
    while (at < c->points && c->point[at].values < point->values)
        at++;
    if (at == c->points || c->point[at].values != point->values) {
        CC_TRY(CC_GROW(c->point, &capacity, c->points + 1, e));
        memmove(&c->point[at + 1], &c->point[at], (c->points - at) * sizeof *point);
        c->points++;
    }
    c->point[at] = *point;
    return CC_OK;
}

int cc_profile_merge(struct cc_profile *p, const struct cc_profile *from, struct cc_error *e)
{
    for (size_t i = 0; i < from->codecs; i++) {
        const struct cc_profile_codec *c = &from->codec[i];
        for (size_t k = 0; k < c->points; k++)
            if (cc_profile_point(p, c->scheme, c->point[k].values) == NULL)
                CC_TRY(cc_profile_put(p, c->scheme, &c->point[k], e));
    }
    return CC_OK;
}

const struct cc_profile_point *cc_profile_point(const struct cc_profile *p, const char *scheme,
                                                double values)
{
    const struct cc_profile_codec *c = cc_profile_find(p, scheme);
    for (size_t i = 0; c != NULL && i < c->points; i++)
        if (c->point[i].values == values)
            return &c->point[i];
    return NULL;
}

/* --- using --- */

const struct cc_profile_codec *cc_profile_find(const struct cc_profile *p, const char *scheme)
{
    for (size_t i = 0; i < p->codecs; i++)
        if (strcmp(p->codec[i].scheme, scheme) == 0)
            return &p->codec[i];
    return NULL;
}

/* Interpolates from a (at = 0) to b (at = 1): geometrically, or linearly if one of them is 0. */
static double between(double a, double b, double at)
{
    return a > 0 && b > 0 ? a * pow(b / a, at) : a + at * (b - a);
}

/* The same for times per value: interpolates the whole call's time. */
static double time_between(const struct cc_profile_point *a, const struct cc_profile_point *b,
                           double a_ns, double b_ns, double at, double values)
{
    return between(a_ns * a->values, b_ns * b->values, at) / values;
}

struct cc_profile_point cc_profile_at(const struct cc_profile_codec *c, double values)
{
    const struct cc_profile_point *first = &c->point[0], *last = &c->point[c->points - 1];
    struct cc_profile_point out = values < first->values ? *first : *last;
    out.values = values;
    if (values < first->values) {
        double times = first->values / values;
        out.encode_ns *= times;
        out.decode_ns *= times;
        out.decode_add_ns *= times;
    }
    if (values < first->values || values >= last->values)
        return out;
    const struct cc_profile_point *b = first;
    while (b->values <= values)
        b++;
    const struct cc_profile_point *a = b - 1;
    double at = log(values / a->values) / log(b->values / a->values);
    out.bits_per_value = between(a->bits_per_value, b->bits_per_value, at);
    out.encode_ns = time_between(a, b, a->encode_ns, b->encode_ns, at, values);
    out.decode_ns = time_between(a, b, a->decode_ns, b->decode_ns, at, values);
    out.decode_add_ns = time_between(a, b, a->decode_add_ns, b->decode_add_ns, at, values);
    return out;
}
