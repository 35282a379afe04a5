/* A row of a text has size, count, type and redop; in newer versions the root; then twice time
 * (us), algbw and busbw (GB/s) and the number of wrong values (older versions: an error), out of
 * place and in place. With -I each of the two has four more numbers, and with timestamps two words
 * follow. */
#include "models/nccl_log.h"

#include <ctype.h>
#include <math.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/format/json.h"
#include "core/infile.h"
#include "core/memory.h"

enum { MOST_WORDS = 24, MOST_LINE = 1024, MOST_RANKS = 1 << 20 };
#define MOST_BYTES 1e15 /* of an array, and values; 15 digits in a text */
#define US         1e-6
#define GB         1e9

static const char *const types[] = {
    "int8",   "uint8",    "int32",    "uint32", "int64",    "uint64", "half", "float",
    "double", "bfloat16", "fp8_e4m3", "f8e4m3", "fp8_e5m2", "f8e5m2", "char", NULL};

struct host {
    char name[64];
    int devices;
};

struct reader {
    struct cc_nccl_log *log;
    size_t capacity, line;
    void *hosts; /* a tree of struct host, by name */
};

static int compare_hosts(const void *a, const void *b)
{
    const struct host *one = a, *other = b;
    return strcmp(one->name, other->name);
}

/* Adds a device of a host, in whatever order they are printed. */
static int add_device(struct reader *r, const char *host, struct cc_error *e)
{
    struct host *h;
    CC_TRY(CC_NEW(h, 1, e));
    (void)snprintf(h->name, sizeof h->name, "%s", host);
    struct host **found = tsearch(h, &r->hosts, compare_hosts);
    if (found == NULL || *found != h)
        free(h);
    if (found == NULL)
        return cc_fail(e, "out of memory: hosts of a log");
    r->log->hosts += (*found)->devices++ == 0;
    r->log->ranks++;
    return CC_OK;
}

static void count_devices(const void *node, VISIT visit, void *log)
{
    const struct host *h = *(struct host *const *)node;
    struct cc_nccl_log *l = log;
    if (visit != postorder && visit != leaf)
        return;
    l->most = h->devices > l->most ? h->devices : l->most;
    l->fewest = l->fewest == 0 || h->devices < l->fewest ? h->devices : l->fewest;
}

static struct cc_nccl_measured unknown(void)
{
    return (struct cc_nccl_measured){NAN, NAN, NAN, NAN};
}

static int add_row(struct reader *r, const struct cc_nccl_row *row, struct cc_error *e)
{
    CC_TRY(CC_GROW(r->log->row, &r->capacity, r->log->rows + 1, e));
    r->log->row[r->log->rows++] = *row;
    return CC_OK;
}

/* --- text --- */

/* Blanks out marks of launchers, "[1]" and "[1,0]<stdout>:", wherever they stand. */
static void blank_marks(char *line)
{
    for (char *at = strchr(line, '['); at != NULL; at = strchr(at, '[')) {
        const size_t inside = strspn(at + 1, "0123456789,");
        size_t length = inside + 2;
        if (inside == 0 || at[inside + 1] != ']') {
            at++;
            continue;
        }
        if (strncmp(at + length, "<std", 4) == 0)
            length += strcspn(at + length, " \t") < 10 ? strcspn(at + length, " \t") : 0;
        memset(at, ' ', length);
    }
}

static size_t split(char *line, char *word[MOST_WORDS])
{
    size_t words = 0;
    char *rest = NULL;
    for (char *at = strtok_r(line, " \t\r", &rest); at != NULL && words < MOST_WORDS;
         at = strtok_r(NULL, " \t\r", &rest))
        word[words++] = at;
    return words;
}

static bool is_whole(const char *word)
{
    const size_t digits = strspn(word, "0123456789");
    return digits > 0 && digits < 16 && word[digits] == '\0';
}

static bool is_type(const char *word)
{
    for (size_t i = 0; types[i] != NULL; i++)
        if (strcmp(word, types[i]) == 0)
            return true;
    return false;
}

/* A number that is not negative, or "N/A", which is NaN. */
static int number(const struct reader *r, const char *word, double *out, struct cc_error *e)
{
    char *end;
    *out = NAN;
    if (strcmp(word, "N/A") == 0)
        return CC_OK;
    *out = strtod(word, &end);
    if (end == word || *end != '\0' || !isfinite(*out) || *out < 0)
        return cc_fail(e,
                       "line %zu: '%.40s' is not a number: a row has time, algbw, busbw and "
                       "#wrong twice",
                       r->line, word);
    return CC_OK;
}

static int measured(const struct reader *r, char *const *word, struct cc_nccl_measured *out,
                    struct cc_error *e)
{
    CC_TRY(number(r, word[0], &out->time_s, e));
    CC_TRY(number(r, word[1], &out->algbw, e));
    CC_TRY(number(r, word[2], &out->busbw, e));
    CC_TRY(number(r, word[3], &out->wrong, e));
    out->time_s *= US;
    out->algbw *= GB;
    out->busbw *= GB;
    return CC_OK;
}

/* Where the two measurements begin among the words behind redop: after the root, unless there is
 * none. False: so many words are not a row. */
static bool places(size_t words, size_t *first, size_t *second)
{
    const size_t stamp = 2, each = 4, more = 8;
    for (size_t root = 0; root < 2; root++)
        for (size_t after = 0; after <= stamp; after += stamp)
            for (size_t step = each; step <= more; step += more - each)
                if (words == root + 2 * step + after) {
                    *first = root;
                    *second = root + step;
                    return true;
                }
    return false;
}

static int read_row(struct reader *r, char *const *word, size_t words, struct cc_error *e)
{
    struct cc_nccl_row row = {.root = -1, .line = r->line};
    size_t first, second;
    row.bytes = strtod(word[0], NULL);
    row.count = strtod(word[1], NULL);
    (void)snprintf(row.type, sizeof row.type, "%s", word[2]);
    (void)snprintf(row.redop, sizeof row.redop, "%.15s", words > 3 ? word[3] : "");
    if (words < 4 || !places(words - 4, &first, &second))
        return cc_fail(e,
                       "line %zu: a row of %zu words, and nccl-tests prints 12 or 13: was the "
                       "line cut, or mixed with others?",
                       r->line, words);
    if (first > 0)
        row.root = strtod(word[4], NULL);
    CC_TRY(measured(r, word + 4 + first, &row.out_of_place, e));
    CC_TRY(measured(r, word + 4 + second, &row.in_place, e));
    return add_row(r, &row, e);
}

/* "Rank  3 Group  0 Pid  316 on HOST device  3 [0x5d] NVIDIA A100-SXM4-40GB" */
static int read_device(struct reader *r, const char *line, struct cc_error *e)
{
    struct cc_nccl_log *log = r->log;
    char host[64] = "";
    const char *on = strstr(line, " on "), *device = on != NULL ? strstr(on, " device ") : NULL;
    const char *name = device != NULL ? strchr(device, ']') : NULL;
    if (name == NULL || sscanf(on, " on %63s", host) != 1 || log->ranks >= MOST_RANKS)
        return CC_OK;
    if (log->device[0] == '\0')
        (void)snprintf(log->device, sizeof log->device, "%.63s", name + 1 + strspn(name + 1, " "));
    return add_device(r, host, e);
}

static int read_line(struct reader *r, char *line, struct cc_error *e)
{
    static const char starting[] = "Collective test starting: ";
    char *word[MOST_WORDS];
    const char *program = strstr(line, starting);
    if (program != NULL && r->log->program[0] == '\0')
        (void)sscanf(program + strlen(starting), "%63s", r->log->program);
    if (strstr(line, "Rank ") != NULL && strstr(line, "Pid ") != NULL) {
        return read_device(r, line, e);
    }
    blank_marks(line);
    const size_t words = split(line, word);
    if (words < 3 || !is_whole(word[0]) || !is_whole(word[1]) || !is_type(word[2]))
        return CC_OK;
    return read_row(r, word, words, e);
}

static int read_text(struct reader *r, const char *text, size_t length, struct cc_error *e)
{
    for (size_t at = 0; at < length;) {
        char line[MOST_LINE] = "";
        const char *end = memchr(text + at, '\n', length - at);
        const size_t n = end != NULL ? (size_t)(end - text) - at : length - at;
        r->line++;
        memcpy(line, text + at, n < MOST_LINE ? n : MOST_LINE - 1);
        CC_TRY(read_line(r, line, e));
        at += n + 1;
    }
    return CC_OK;
}

/* --- JSON --- */

static int read_amount(const cJSON *object, const char *key, double scale, double *out,
                       struct cc_error *e)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    *out = NAN;
    if (item == NULL || cJSON_IsNull(item))
        return CC_OK;
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || !isfinite(item->valuedouble))
        return cc_fail(e, "\"%s\" must be a number that is not negative", key);
    *out = scale * item->valuedouble;
    return CC_OK;
}

static int read_measured(const cJSON *row, const char *key, struct cc_nccl_measured *out,
                         struct cc_error *e)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, key);
    *out = unknown();
    if (item == NULL || cJSON_IsNull(item))
        return CC_OK;
    if (!cJSON_IsObject(item))
        return cc_fail(e, "\"%s\" must be an object", key);
    const bool cpu = cJSON_HasObjectItem(item, "cpu_time");
    CC_TRY_IN(read_amount(item, cpu ? "cpu_time" : "time", US, &out->time_s, e), e, "\"%s\"", key);
    CC_TRY_IN(read_amount(item, "alg_bw", GB, &out->algbw, e), e, "\"%s\"", key);
    CC_TRY_IN(read_amount(item, "bus_bw", GB, &out->busbw, e), e, "\"%s\"", key);
    return cc_status_in(read_amount(item, "nwrong", 1, &out->wrong, e), e, "\"%s\"", key);
}

static void copy_text(const cJSON *object, const char *key, char *out, size_t cap)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    (void)snprintf(out, cap, "%s", cJSON_IsString(item) ? item->valuestring : "");
}

static int read_result(struct reader *r, const cJSON *item, struct cc_error *e)
{
    struct cc_nccl_row row = {.root = -1};
    char root[16];
    if (!cJSON_IsObject(item))
        return cc_fail(e, "must be an object");
    CC_TRY(read_amount(item, "size", 1, &row.bytes, e));
    CC_TRY(read_amount(item, "count", 1, &row.count, e));
    if (!(row.bytes < MOST_BYTES && row.count < MOST_BYTES))
        return cc_fail(e, "\"size\" and \"count\" must be there, and below %g", MOST_BYTES);
    copy_text(item, "type", row.type, sizeof row.type);
    copy_text(item, "redop", row.redop, sizeof row.redop);
    copy_text(item, "root", root, sizeof root);
    if (root[0] != '\0')
        row.root = strtod(root, NULL);
    CC_TRY(read_measured(item, "out_of_place", &row.out_of_place, e));
    CC_TRY(read_measured(item, "in_place", &row.in_place, e));
    return add_row(r, &row, e);
}

static int read_devices(struct reader *r, const cJSON *list, struct cc_error *e)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        char host[64];
        copy_text(item, "hostname", host, sizeof host);
        if (r->log->ranks < MOST_RANKS)
            CC_TRY(add_device(r, host, e));
        if (r->log->device[0] == '\0')
            copy_text(item, "device_info", r->log->device, sizeof r->log->device);
    }
    return CC_OK;
}

static int read_document(const cJSON *root, void *out, struct cc_error *e)
{
    struct reader *r = out;
    const cJSON *results = cJSON_GetObjectItemCaseSensitive(root, "results"), *item;
    const cJSON *config = cJSON_GetObjectItemCaseSensitive(root, "config");
    size_t at = 0;
    if (!cJSON_IsArray(results))
        return cc_fail(e, "no list \"results\": nccl-tests writes one with -J");
    const cJSON *devices = cJSON_GetObjectItemCaseSensitive(config, "devices");
    if (devices == NULL)
        devices = cJSON_GetObjectItemCaseSensitive(root, "devices");
    if (cJSON_IsArray(devices))
        CC_TRY(read_devices(r, devices, e));
    cJSON_ArrayForEach(item, results)
    {
        at++;
        CC_TRY_IN(read_result(r, item, e), e, "result %zu", at);
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "experiment_name");
        if (r->log->program[0] == '\0' && cJSON_IsString(name))
            copy_text(item, "experiment_name", r->log->program, sizeof r->log->program);
    }
    return CC_OK;
}

/* --- both --- */

int cc_nccl_log_parse(const char *text, size_t length, struct cc_nccl_log *out, struct cc_error *e)
{
    struct cc_nccl_log log = {.row = NULL};
    struct reader r = {.log = &log};
    size_t begin = 0;
    int status = CC_OK;
    while (begin < length && isspace((unsigned char)text[begin]))
        begin++;
    CC_TRY_OUT(begin < length && text[begin] == '{'
                   ? cc_json_parse_as(text, length, read_document, &r, e)
                   : read_text(&r, text, length, e));
    if (log.rows == 0)
        status = cc_fail(e, "no rows: give the output of nccl-tests, such as that of "
                            "all_reduce_perf, or its JSON (-J)");
out:
    twalk_r(r.hosts, count_devices, &log);
    tdestroy(r.hosts, free);
    if (status == CC_OK)
        *out = log;
    else
        cc_nccl_log_free(&log);
    return status;
}

int cc_nccl_log_read(const char *path, struct cc_nccl_log *out, struct cc_error *e)
{
    struct cc_bytes file = {0};
    CC_TRY(cc_file_read(path, &file, e));
    const int status =
        cc_status_in(cc_nccl_log_parse((const char *)file.data, file.size, out, e), e, "%s", path);
    cc_bytes_free(&file);
    return status;
}

void cc_nccl_log_free(struct cc_nccl_log *log)
{
    free(log->row);
    *log = (struct cc_nccl_log){.row = NULL};
}

/* The ratio busbw / algbw of the row in which it is printed most exactly; NaN if none does. */
static double bus_ratio(const struct cc_nccl_log *log)
{
    double most = 0, ratio = NAN;
    for (size_t i = 0; i < log->rows; i++) {
        const struct cc_nccl_measured *m = &log->row[i].out_of_place;
        if (m->algbw > most && m->busbw > 0) {
            most = m->algbw;
            ratio = m->busbw / m->algbw;
        }
    }
    return ratio;
}

int cc_nccl_log_op(const struct cc_nccl_log *log, enum cc_operation *out, struct cc_error *e)
{
    static const char *const program[CC_OPERATIONS] = {"all_reduce_perf", "reduce_scatter_perf",
                                                       "all_gather_perf"};
    const struct cc_nccl_row *row = &log->row[0];
    const double ratio = bus_ratio(log);
    for (int i = 0; i < CC_OPERATIONS && log->program[0] != '\0'; i++)
        if (strncmp(log->program, program[i], strlen(program[i])) == 0) {
            *out = (enum cc_operation)i;
            return CC_OK;
        }
    if (row->root >= 0 || strstr(log->program, "_perf") != NULL)
        return cc_fail(e,
                       "%s: the formulas are those of all_reduce_perf, reduce_scatter_perf and "
                       "all_gather_perf",
                       log->program[0] != '\0' ? log->program : "an operation with a root");
    const bool sums = strcmp(row->redop, "none") != 0;
    *out = !sums ? CC_ALL_GATHER : ratio < 0.99 ? CC_REDUCE_SCATTER : CC_ALLREDUCE;
    return CC_OK;
}

int cc_nccl_log_ranks(const struct cc_nccl_log *log, enum cc_operation op)
{
    const double ratio = bus_ratio(log), part = op == CC_ALLREDUCE ? ratio / 2 : ratio;
    if (log->ranks > 0)
        return log->ranks;
    return part >= 0.49 && part < 0.999 ? (int)round(1 / (1 - part)) : 0;
}
