#include "netsim/report.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/memory.h"

static const char *const kinds[] = {"hello", "row_begin", "step",  "row",
                                    "size",  "done",      "error", NULL};

enum { MOST_RANKS = 1 << 17 };
#define MOST_COUNT ((size_t)1 << 53)

/* The numbers of a row, and the least that each can be: of what was not counted, -1. */
static const struct {
    const char *key;
    size_t offset;
    double least;
} numbers[] = {
#define NUMBER(field, least)                                                                       \
    {                                                                                              \
#field, offsetof(struct cc_report_row, field), least                                       \
    }
    NUMBER(compute_s, 0),       NUMBER(update_s, 0),
    NUMBER(encode_s, 0),        NUMBER(hop_s, 0),
    NUMBER(server_s, 0),        NUMBER(decode_s, 0),
    NUMBER(wait_s, 0),          NUMBER(push_bytes, 0),
    NUMBER(pull_bytes, 0),      NUMBER(push_head_bytes, 0),
    NUMBER(pull_head_bytes, 0), NUMBER(messages, 0),
    NUMBER(given_bytes, 0),     NUMBER(sent_bytes, -1),
    NUMBER(received_bytes, -1), NUMBER(total_sent_bytes, -1),
    NUMBER(peak_bytes, 0),
#undef NUMBER
};
enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

static double *number_of(struct cc_report_row *r, size_t i)
{
    return (double *)((char *)r + numbers[i].offset);
}

void cc_report_free(struct cc_report *r)
{
    free(r->text);
    free(r->result.step_s);
    free(r->result.tensor_bytes);
    free(r->result.tensor_pull_bytes);
    free(r->size.seconds);
    *r = (struct cc_report){0};
}

/* --- writing --- */

static void put_size(FILE *out, const char *key, size_t v)
{
    (void)fprintf(out, ", \"%s\": %zu", key, v);
}

static void put_list(FILE *out, const char *key, const double *list, size_t count)
{
    (void)fprintf(out, ", \"%s\": [", key);
    for (size_t i = 0; i < count; i++) {
        (void)fputs(i > 0 ? ", " : "", out);
        cc_json_put_number(out, list[i]);
    }
    (void)fputs("]", out);
}

static int put_text(FILE *out, const char *key, const char *text, struct cc_error *e)
{
    (void)fprintf(out, ", \"%s\": ", key);
    return cc_json_put_text(out, text, e);
}

static void put_row(FILE *out, const struct cc_report_row *r)
{
    struct cc_report_row copy = *r;
    put_size(out, "row", r->row);
    for (size_t i = 0; i < NUMBERS; i++) {
        (void)fprintf(out, ", \"%s\": ", numbers[i].key);
        cc_json_put_number(out, *number_of(&copy, i));
    }
    put_list(out, "step_s", r->step_s, r->steps);
    if (r->tensors > 0) {
        put_list(out, "tensor_bytes", r->tensor_bytes, r->tensors);
        put_list(out, "tensor_pull_bytes", r->tensor_pull_bytes, r->tensors);
    }
}

static int put_report(const struct cc_report *r, FILE *out, struct cc_error *e)
{
    (void)fprintf(out, "{\"report\": \"%s\"", kinds[r->kind]);
    int status = CC_OK;
    switch (r->kind) {
    case CC_REPORT_HELLO:
        status = put_text(out, "text", r->text, e);
        break;
    case CC_REPORT_ROW_BEGIN:
        put_size(out, "row", r->row);
        break;
    case CC_REPORT_STEP:
        put_size(out, "row", r->row);
        put_size(out, "step", r->step);
        break;
    case CC_REPORT_ROW:
        put_row(out, &r->result);
        break;
    case CC_REPORT_SIZE:
        put_size(out, "bytes", r->size.bytes);
        put_list(out, "seconds", r->size.seconds, r->size.samples);
        break;
    case CC_REPORT_DONE:
        break;
    case CC_REPORT_ERROR:
        put_size(out, "rank", (size_t)r->rank);
        status = put_text(out, "text", r->text, e);
        break;
    }
    (void)fputs("}\n", out);
    return status;
}

int cc_report_print(const struct cc_report *r, FILE *out, struct cc_error *e)
{
    char *line = NULL;
    size_t length;
    FILE *f = open_memstream(&line, &length);
    int status = f != NULL ? put_report(r, f, e) : CC_FAIL;
    if (f == NULL || fclose(f) != 0)
        status = cc_fail(e, "out of memory: a report");
    /* In one piece, so that lines of several ranks do not mix. */
    if (status == CC_OK && (fwrite(line, 1, length, out) != length || fflush(out) != 0))
        status = cc_fail(e, "stdout: nobody reads the reports any more");
    free(line);
    return status;
}

/* --- reading --- */

/* A list of numbers from 0 on. */
static int parse_list(const cJSON *root, const char *key, double **out, size_t *count,
                      struct cc_error *e)
{
    const cJSON *list;
    size_t n, i = 0;
    if (cc_json_need_list(root, key, "number", &list, &n, e) != CC_OK)
        return CC_FAIL;
    double *v = cc_alloc(n * sizeof *v, e);
    if (v == NULL)
        return CC_FAIL;
    for (const cJSON *item = list->child; item != NULL; item = item->next) {
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= 1e30)) {
            free(v);
            return cc_fail(e, "\"%s\": not a number from 0 to 1e30", key);
        }
        v[i++] = item->valuedouble;
    }
    *out = v;
    *count = n;
    return CC_OK;
}

static int parse_tensors(const cJSON *root, struct cc_report_row *r, struct cc_error *e)
{
    size_t pulls;
    if (cJSON_GetObjectItemCaseSensitive(root, "tensor_bytes") == NULL &&
        cJSON_GetObjectItemCaseSensitive(root, "tensor_pull_bytes") == NULL)
        return CC_OK;
    if (parse_list(root, "tensor_bytes", &r->tensor_bytes, &r->tensors, e) != CC_OK ||
        parse_list(root, "tensor_pull_bytes", &r->tensor_pull_bytes, &pulls, e) != CC_OK)
        return CC_FAIL;
    if (pulls != r->tensors)
        return cc_fail(e, "\"tensor_bytes\" are of %zu tensors, \"tensor_pull_bytes\" of %zu",
                       r->tensors, pulls);
    return CC_OK;
}

static int parse_row(const cJSON *root, struct cc_report *r, struct cc_error *e)
{
    static const char *const keys[NUMBERS + 6] = {"report", "row", "step_s", "tensor_bytes",
                                                  "tensor_pull_bytes"};
    const char *all[NUMBERS + 6];
    memcpy(all, keys, sizeof keys);
    int status = CC_OK;
    for (size_t i = 0; i < NUMBERS; i++) {
        all[5 + i] = numbers[i].key;
        if (status == CC_OK)
            status = cc_json_need_number(root, numbers[i].key, numbers[i].least, 1e30,
                                         number_of(&r->result, i), e);
    }
    if (status == CC_OK)
        status = cc_json_keys(root, all, e);
    if (status == CC_OK)
        status = cc_json_need_size(root, "row", 0, MOST_COUNT, &r->result.row, e);
    if (status == CC_OK)
        status = parse_list(root, "step_s", &r->result.step_s, &r->result.steps, e);
    if (status == CC_OK)
        status = parse_tensors(root, &r->result, e);
    r->row = r->result.row;
    return status;
}

static int parse_text(const cJSON *root, struct cc_report *r, struct cc_error *e)
{
    const char *text;
    if (cc_json_need_text(root, "text", &text, e) != CC_OK)
        return CC_FAIL;
    r->text = cc_strdup(text, e);
    return r->text != NULL ? CC_OK : CC_FAIL;
}

static int parse_error(const cJSON *root, struct cc_report *r, struct cc_error *e)
{
    size_t rank;
    if (cc_json_need_size(root, "rank", 0, MOST_RANKS, &rank, e) != CC_OK)
        return CC_FAIL;
    r->rank = (int)rank;
    return parse_text(root, r, e);
}

static int parse_place(const cJSON *root, struct cc_report *r, struct cc_error *e)
{
    if (cc_json_need_size(root, "row", 0, MOST_COUNT, &r->row, e) != CC_OK)
        return CC_FAIL;
    if (r->kind == CC_REPORT_ROW_BEGIN)
        return CC_OK;
    return cc_json_need_size(root, "step", 0, MOST_COUNT, &r->step, e);
}

static int parse_size(const cJSON *root, struct cc_report *r, struct cc_error *e)
{
    if (cc_json_need_size(root, "bytes", 0, MOST_COUNT, &r->size.bytes, e) != CC_OK)
        return CC_FAIL;
    return parse_list(root, "seconds", &r->size.seconds, &r->size.samples, e);
}

/* What was allocated belongs to *r also after an error. */
static int parse_kind(const cJSON *root, struct cc_report *r, struct cc_error *e)
{
    static const char *const keys[][5] = {
        [CC_REPORT_HELLO] = {"report", "text"},
        [CC_REPORT_ROW_BEGIN] = {"report", "row"},
        [CC_REPORT_STEP] = {"report", "row", "step"},
        [CC_REPORT_SIZE] = {"report", "bytes", "seconds"},
        [CC_REPORT_DONE] = {"report"},
        [CC_REPORT_ERROR] = {"report", "rank", "text"},
    };
    int kind;
    if (!cJSON_IsObject(root))
        return cc_fail(e, "not a JSON object");
    if (cc_json_need_word(root, "report", kinds, &kind, e) != CC_OK)
        return CC_FAIL;
    r->kind = (enum cc_report_kind)kind;
    if (r->kind == CC_REPORT_ROW)
        return parse_row(root, r, e);
    if (cc_json_keys(root, keys[r->kind], e) != CC_OK)
        return CC_FAIL;
    switch (r->kind) {
    case CC_REPORT_HELLO:
        return parse_text(root, r, e);
    case CC_REPORT_ERROR:
        return parse_error(root, r, e);
    case CC_REPORT_SIZE:
        return parse_size(root, r, e);
    case CC_REPORT_DONE:
        return CC_OK;
    default:
        return parse_place(root, r, e);
    }
}

static int parse_root(const cJSON *root, void *out, struct cc_error *e)
{
    struct cc_report r = {0};
    int status = parse_kind(root, &r, e);
    if (status == CC_OK)
        *(struct cc_report *)out = r;
    else
        cc_report_free(&r);
    return status;
}

int cc_report_parse(const char *line, size_t length, struct cc_report *out, struct cc_error *e)
{
    return cc_json_parse_as(line, length, parse_root, out, e);
}
