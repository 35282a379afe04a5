#include "netsim/job/report.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/format/json.h"
#include "core/memory.h"

static const char *const kinds[] = {"hello", "row_begin", "step",  "row", "moments",
                                    "size",  "done",      "error", NULL};

enum { MOST_RANKS = 1 << 17 };
#define MOST_COUNT ((size_t)1 << 53)
/* Numbers to an item of the lists of CC_REPORT_EVENTS. */
enum { OF_STEP = 2, OF_MOMENT = 4, OF_PASSAGE = 7 };

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
    free(r->events.span);
    free(r->events.flow);
    free(r->events.step);
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

/* Begins a list of so many numbers to an item; one that is empty is left out. */
static bool begin_items(FILE *out, const char *key, size_t items)
{
    if (items > 0)
        (void)fprintf(out, ", \"%s\": [", key);
    return items > 0;
}

static void put_item(FILE *out, size_t i, const double *list, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        (void)fputs(i + k > 0 ? ", " : "", out);
        cc_json_put_number(out, list[k]);
    }
}

static void put_moments(FILE *out, const struct cc_report_events *m)
{
    put_size(out, "row", m->row);
    put_size(out, "rank", (size_t)m->rank);
    put_size(out, "left_out", m->left_out);
    put_size(out, "first_step", m->first_step);
    if (begin_items(out, "steps", m->steps)) {
        for (size_t i = 0; i < m->steps; i++)
            put_item(out, i, (const double[]){m->step[i].begin, m->step[i].end}, OF_STEP);
        (void)fputs("]", out);
    }
    if (begin_items(out, "moments", m->events)) {
        for (size_t i = 0; i < m->events; i++) {
            const struct cc_span *p = &m->span[i];
            put_item(out, i, (const double[]){p->phase, p->step, p->begin, p->end}, OF_MOMENT);
        }
        (void)fputs("]", out);
    }
    if (begin_items(out, "passages", m->flows)) {
        for (size_t i = 0; i < m->flows; i++) {
            const struct cc_flow_event *p = &m->flow[i];
            put_item(out, i,
                     (const double[]){p->came, p->peer, p->message, p->number, p->step,
                                      (double)p->bytes, p->at},
                     OF_PASSAGE);
        }
        (void)fputs("]", out);
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
    case CC_REPORT_EVENTS:
        put_moments(out, &r->events);
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

/* A list of items of so many numbers each, which may be missing; *items of them. */
static int parse_items(const cJSON *root, const char *key, size_t numbers_each, double **out,
                       size_t *items, struct cc_error *e)
{
    size_t count;
    *out = NULL;
    *items = 0;
    if (cJSON_GetObjectItemCaseSensitive(root, key) == NULL)
        return CC_OK;
    if (parse_list(root, key, out, &count, e) != CC_OK)
        return CC_FAIL;
    *items = count / numbers_each;
    if (count % numbers_each == 0)
        return CC_OK;
    free(*out);
    *out = NULL;
    return cc_fail(e, "\"%s\": %zu numbers, and each has %zu", key, count, numbers_each);
}

/* The first `whole` numbers of an item are whole ones below 2^32. */
static bool are_whole(const double *v, size_t whole)
{
    for (size_t i = 0; i < whole; i++)
        if (!(v[i] <= UINT32_MAX) || v[i] != (double)(uint32_t)v[i])
            return false;
    return true;
}

static int parse_steps(const cJSON *root, struct cc_report_events *m, struct cc_error *e)
{
    double *v;
    if (parse_items(root, "steps", OF_STEP, &v, &m->steps, e) != CC_OK)
        return CC_FAIL;
    m->step = cc_alloc(m->steps * sizeof *m->step, e);
    int status = m->step != NULL ? CC_OK : CC_FAIL;
    for (size_t i = 0; i < m->steps && status == CC_OK; i++) {
        const double *item = v + i * OF_STEP;
        m->step[i] = (struct cc_step_span){item[0], item[1]};
        if (item[0] > item[1])
            status = cc_fail(e, "\"steps\": number %zu ends before it begins", i);
    }
    free(v);
    return status;
}

static int parse_moment_list(const cJSON *root, struct cc_report_events *m, struct cc_error *e)
{
    double *v;
    if (parse_items(root, "moments", OF_MOMENT, &v, &m->events, e) != CC_OK)
        return CC_FAIL;
    m->span = cc_alloc(m->events * sizeof *m->span, e);
    int status = m->span != NULL ? CC_OK : CC_FAIL;
    for (size_t i = 0; i < m->events && status == CC_OK; i++) {
        const double *item = v + i * OF_MOMENT;
        if (!are_whole(item, 2) || item[0] >= CC_PHASES || item[2] > item[3])
            status = cc_fail(e, "\"moments\": number %zu is none", i);
        else
            m->span[i] = (struct cc_span){.phase = (enum cc_phase)item[0],
                                          .step = (uint32_t)item[1],
                                          .begin = item[2],
                                          .end = item[3]};
    }
    free(v);
    return status;
}

static int parse_passages(const cJSON *root, struct cc_report_events *m, struct cc_error *e)
{
    double *v;
    if (parse_items(root, "passages", OF_PASSAGE, &v, &m->flows, e) != CC_OK)
        return CC_FAIL;
    m->flow = cc_alloc(m->flows * sizeof *m->flow, e);
    int status = m->flow != NULL ? CC_OK : CC_FAIL;
    for (size_t i = 0; i < m->flows && status == CC_OK; i++) {
        const double *item = v + i * OF_PASSAGE;
        if (!are_whole(item, 5) || item[0] > 1 || item[1] >= MOST_RANKS ||
            item[5] > (double)MOST_COUNT || item[5] != (double)(uint64_t)item[5])
            status = cc_fail(e, "\"passages\": number %zu is none", i);
        else
            m->flow[i] = (struct cc_flow_event){.came = item[0] == 1,
                                                .peer = (uint32_t)item[1],
                                                .message = (uint32_t)item[2],
                                                .number = (uint32_t)item[3],
                                                .step = (uint32_t)item[4],
                                                .bytes = (uint64_t)item[5],
                                                .at = item[6]};
    }
    free(v);
    return status;
}

static int parse_moments(const cJSON *root, struct cc_report *r, struct cc_error *e)
{
    static const char *const keys[] = {"report", "row",     "rank",     "left_out", "first_step",
                                       "steps",  "moments", "passages", NULL};
    struct cc_report_events *m = &r->events;
    size_t rank = 0;
    int status = cc_json_keys(root, keys, e);
    if (status == CC_OK)
        status = cc_json_need_size(root, "row", 0, MOST_COUNT, &m->row, e);
    if (status == CC_OK)
        status = cc_json_need_size(root, "rank", 0, MOST_RANKS, &rank, e);
    if (status == CC_OK)
        status = cc_json_need_size(root, "left_out", 0, MOST_COUNT, &m->left_out, e);
    if (status == CC_OK)
        status = cc_json_need_size(root, "first_step", 0, UINT32_MAX, &m->first_step, e);
    if (status == CC_OK)
        status = parse_steps(root, m, e);
    if (status == CC_OK)
        status = parse_moment_list(root, m, e);
    if (status == CC_OK)
        status = parse_passages(root, m, e);
    m->rank = (int)rank;
    r->row = m->row;
    r->rank = m->rank;
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
    if (r->kind == CC_REPORT_EVENTS)
        return parse_moments(root, r, e);
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
