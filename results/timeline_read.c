/* Reading timelines. Three passes over the events: names give rows and tracks; spans and the two
 * ends of transfers become amounts that belong to an interval of time, seconds of computing or
 * bytes; and each amount is spread evenly over its interval's bins. */
#include "results/timeline_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/format/json.h"
#include "core/memory.h"

enum { MOST_ROWS = 256 };
#define MOST_MICROSECONDS  1e15 /* 30 years */
#define LEAST_MICROSECONDS 1e-3 /* of a row: the resolution of times */

/* A track. A rank may have two, both on its host. */
struct track {
    size_t number, row, host; /* host: SIZE_MAX for the track of no rank, which has the steps */
    bool worker;              /* one of a worker's own time */
    bool counted;             /* its host has workers, so that its link counts */
};

/* One end of a transfer. */
struct end {
    const char *id;
    const struct track *track;
    bool received;
    double at_s, bytes; /* bytes: where it was sent */
};

struct reader {
    struct cc_timeline_uses rows;
    size_t *pid; /* by row */
    struct track *track;
    struct end *end;
    size_t pids, tracks, track_capacity, ends, end_capacity;
    struct cc_error *e;
};

/* --- members --- */

static int need_size(const cJSON *object, const char *key, size_t *out, struct cc_error *e)
{
    if (!cc_json_size(cJSON_GetObjectItemCaseSensitive(object, key), out))
        return cc_fail(e, "\"%s\" should be a whole number of at least 0", key);
    return CC_OK;
}

/* Sets *out to a time in seconds. */
static int need_time(const cJSON *event, const char *key, double *out, struct cc_error *e)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(event, key);
    const double v = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(v >= 0 && v <= MOST_MICROSECONDS))
        return cc_fail(e, "\"%s\" should be a time from 0 to %g microseconds", key,
                       MOST_MICROSECONDS);
    *out = 1e-6 * v;
    return CC_OK;
}

static int read_rate(const cJSON *args, const char *key, double *out, struct cc_error *e)
{
    CC_TRY(cc_json_amount(args, key, out, e));
    if (*out > 0 && *out < 1)
        return cc_fail(e, "\"%s\" should be at least 1 bit/s", key);
    return CC_OK;
}

static bool is_text(const cJSON *event, const char *key, const char *wanted)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(event, key));
    return text != NULL && strcmp(text, wanted) == 0;
}

/* --- rows and tracks --- */

static int find_row(const struct reader *r, const cJSON *event, size_t *row)
{
    size_t pid;
    CC_TRY(need_size(event, "pid", &pid, r->e));
    for (*row = 0; *row < r->rows.rows; ++*row)
        if (r->pid[*row] == pid)
            return CC_OK;
    return cc_fail(r->e, "no event before it names process %zu", pid);
}

static int add_row(struct reader *r, const cJSON *event, const cJSON *args)
{
    struct cc_timeline_use use = {.name = NULL};
    size_t pid;
    CC_TRY(need_size(event, "pid", &pid, r->e));
    CC_TRY(cc_json_need_text(args, "name", &use.name, r->e));
    CC_TRY(cc_json_text(args, "scheme", &use.scheme, r->e));
    if (use.scheme == NULL)
        return cc_fail(r->e, "\"scheme\" is missing, as an older version wrote the timeline: write "
                             "it anew");
    CC_TRY(read_rate(args, "up_bps", &use.up_bps, r->e));
    CC_TRY(read_rate(args, "down_bps", &use.down_bps, r->e));
    for (size_t i = 0; i < r->rows.rows; i++)
        if (r->pid[i] == pid)
            return cc_fail(r->e, "process %zu has a name already", pid);
    if (r->rows.rows == MOST_ROWS)
        return cc_fail(r->e, "more than %d rows: write a timeline of fewer settings or schemes",
                       MOST_ROWS);
    CC_TRY(CC_GROW(r->rows.row, &r->rows.capacity, r->rows.rows + 1, r->e));
    CC_TRY(CC_GROW(r->pid, &r->pids, r->rows.rows + 1, r->e));
    r->pid[r->rows.rows] = pid;
    r->rows.row[r->rows.rows++] = use;
    return CC_OK;
}

static int add_track(struct reader *r, const cJSON *event, const cJSON *args)
{
    struct track t = {.host = SIZE_MAX,
                      .worker = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(args, "worker"))};
    CC_TRY(find_row(r, event, &t.row));
    CC_TRY(need_size(event, "tid", &t.number, r->e));
    if (t.worker || cJSON_GetObjectItemCaseSensitive(args, "host") != NULL)
        CC_TRY(need_size(args, "host", &t.host, r->e));
    CC_TRY(CC_GROW(r->track, &r->track_capacity, r->tracks + 1, r->e));
    r->track[r->tracks++] = t;
    return CC_OK;
}

static int read_name(struct reader *r, const cJSON *event)
{
    const cJSON *args = cJSON_GetObjectItemCaseSensitive(event, "args");
    if (!is_text(event, "ph", "M"))
        return CC_OK;
    if (is_text(event, "name", "process_name"))
        return add_row(r, event, args);
    return is_text(event, "name", "thread_name") ? add_track(r, event, args) : CC_OK;
}

/* By row and host, a host's workers first. */
static int by_host(const void *a, const void *b)
{
    const struct track *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->host != y->host)
        return x->host < y->host ? -1 : 1;
    return y->worker - x->worker;
}

static int by_number(const void *a, const void *b)
{
    const struct track *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Counts workers and the hosts that have some, and orders the tracks by number. */
static int finish_tracks(struct reader *r)
{
    struct track *t = r->track;
    if (r->tracks == 0)
        return cc_fail(r->e, "no event names a track");
    qsort(t, r->tracks, sizeof *t, by_host);
    for (size_t i = 0; i < r->tracks; i++) {
        const bool first = i == 0 || t[i - 1].row != t[i].row || t[i - 1].host != t[i].host;
        t[i].counted = first ? t[i].worker : t[i - 1].counted;
        r->rows.row[t[i].row].hosts += first && t[i].worker;
        r->rows.row[t[i].row].workers += t[i].worker;
    }
    qsort(t, r->tracks, sizeof *t, by_number);
    for (size_t i = 1; i < r->tracks; i++)
        if (t[i].number == t[i - 1].number)
            return cc_fail(r->e, "track %zu has two names", t[i].number);
    for (size_t i = 0; i < r->rows.rows; i++)
        if (r->rows.row[i].workers == 0)
            return cc_fail(r->e, "process %zu has no track of a worker", r->pid[i]);
    return CC_OK;
}

static int find_track(const struct reader *r, const cJSON *event, const struct track **out)
{
    struct track key = {.number = 0};
    CC_TRY(find_row(r, event, &key.row));
    CC_TRY(need_size(event, "tid", &key.number, r->e));
    *out = bsearch(&key, r->track, r->tracks, sizeof key, by_number);
    if (*out == NULL || (*out)->row != key.row)
        return cc_fail(r->e, "process %zu has no track %zu", r->pid[key.row], key.number);
    return CC_OK;
}

/* --- times --- */

/* Sets the interval of a span. */
static int read_span(const cJSON *event, double *from, double *to, struct cc_error *e)
{
    double length;
    CC_TRY(need_time(event, "ts", from, e));
    CC_TRY(need_time(event, "dur", &length, e));
    *to = *from + length;
    return CC_OK;
}

static int add_end(struct reader *r, const cJSON *event, const struct track *track)
{
    struct end end = {.track = track, .received = is_text(event, "ph", "e")};
    size_t bytes = 0;
    if (track->host == SIZE_MAX)
        return cc_fail(r->e, "track %zu of a transfer has no \"host\"", track->number);
    CC_TRY(need_time(event, "ts", &end.at_s, r->e));
    CC_TRY(cc_json_need_text(event, "id", &end.id, r->e));
    if (!end.received)
        CC_TRY(need_size(cJSON_GetObjectItemCaseSensitive(event, "args"), "bytes", &bytes, r->e));
    end.bytes = (double)bytes;
    CC_TRY(CC_GROW(r->end, &r->end_capacity, r->ends + 1, r->e));
    r->end[r->ends++] = end;
    return CC_OK;
}

/* Takes the ends of transfers, and extends the row to the end of a span or transfer. */
static int read_times(struct reader *r, const cJSON *event)
{
    const struct track *track;
    double from, to;
    const bool span = is_text(event, "ph", "X");
    if (is_text(event, "ph", "M"))
        return CC_OK;
    if (!span && !is_text(event, "ph", "b") && !is_text(event, "ph", "e"))
        return cc_fail(r->e, "\"ph\" should be M, X, b or e");
    CC_TRY(find_track(r, event, &track));
    if (span) {
        CC_TRY(read_span(event, &from, &to, r->e));
    } else {
        CC_TRY(add_end(r, event, track));
        to = r->end[r->ends - 1].at_s;
    }
    double *end_s = &r->rows.row[track->row].end_s;
    *end_s = fmax(*end_s, to);
    return CC_OK;
}

static int check_ends(const struct reader *r)
{
    for (size_t i = 0; i < r->rows.rows; i++)
        if (r->rows.row[i].end_s < 1e-6 * LEAST_MICROSECONDS)
            return cc_fail(r->e, "process %zu has no events that take time", r->pid[i]);
    return CC_OK;
}

/* --- bins --- */

static int spread_computing(struct reader *r, const cJSON *event)
{
    const struct track *track;
    double from, to;
    if (!is_text(event, "ph", "X") || !is_text(event, "name", "compute"))
        return CC_OK;
    CC_TRY(find_track(r, event, &track));
    CC_TRY(read_span(event, &from, &to, r->e));
    struct cc_timeline_use *row = &r->rows.row[track->row];
    if (track->worker)
        cc_timeline_spread(to - from, from, to, row->end_s, row->computing);
    return CC_OK;
}

/* By row and transfer, where it is sent before where it is received. */
static int by_transfer(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    if (x->track->row != y->track->row)
        return x->track->row < y->track->row ? -1 : 1;
    const int order = strcmp(x->id, y->id);
    return order != 0 ? order : x->received - y->received;
}

/* Spreads a transfer's bits over the links of both hosts; within a host it takes none. By the
 * clocks of a cluster it may end before it begins: then it is where it ends. */
static void spread_transfer(struct reader *r, const struct end *sent, const struct end *received)
{
    struct cc_timeline_use *row = &r->rows.row[sent->track->row];
    const double bits = 8 * sent->bytes;
    const double from = fmin(sent->at_s, received->at_s), to = received->at_s;
    row->transfers++;
    if (sent->track->host == received->track->host)
        return;
    if (sent->track->counted)
        cc_timeline_spread(bits, from, to, row->end_s, row->sent_bps);
    if (received->track->counted)
        cc_timeline_spread(bits, from, to, row->end_s, row->received_bps);
}

static int spread_transfers(struct reader *r)
{
    struct end *end = r->end;
    if (r->ends > 1)
        qsort(end, r->ends, sizeof *end, by_transfer);
    for (size_t i = 0; i < r->ends; i += 2) {
        if (i + 1 == r->ends || end[i].received || !end[i + 1].received ||
            end[i].track->row != end[i + 1].track->row || strcmp(end[i].id, end[i + 1].id) != 0)
            return cc_fail(r->e, "transfer '%.60s' does not have one begin and one end", end[i].id);
        spread_transfer(r, &end[i], &end[i + 1]);
    }
    return CC_OK;
}

/* --- all of it --- */

static int each(struct reader *r, const cJSON *events, int (*read)(struct reader *, const cJSON *))
{
    size_t number = 0;
    const cJSON *event;
    cJSON_ArrayForEach(event, events)
    {
        number++;
        CC_TRY_IN(read(r, event), r->e, "event %zu", number);
    }
    return CC_OK;
}

static int read_events(struct reader *r, const cJSON *events)
{
    CC_TRY(each(r, events, read_name));
    CC_TRY(finish_tracks(r));
    CC_TRY(each(r, events, read_times));
    CC_TRY(check_ends(r));
    CC_TRY(each(r, events, spread_computing));
    CC_TRY(spread_transfers(r));
    for (size_t i = 0; i < r->rows.rows; i++)
        cc_timeline_divide(&r->rows.row[i]);
    return CC_OK;
}

static int check_document(const cJSON *document, const cJSON **events, bool *partial,
                          struct cc_error *e)
{
    const cJSON *other = cJSON_GetObjectItemCaseSensitive(document, "otherData");
    size_t left_out;
    *events = cJSON_GetObjectItemCaseSensitive(document, "traceEvents");
    if (!cJSON_IsArray(*events) || !is_text(other, "program", "commcomp"))
        return cc_fail(e,
                       "a trace of another program: `commcomp sim --timeline FILE` and `commcomp "
                       "run --timeline FILE` write timelines");
    *partial = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(other, "partial"));
    CC_TRY(need_size(other, "left_out", &left_out, e));
    if (left_out > 0)
        return cc_fail(e,
                       "%zu events were left out, in whose time nothing would seem to happen: "
                       "write a timeline of fewer --steps, workers or schemes",
                       left_out);
    return CC_OK;
}

bool cc_timeline_is_trace(const cJSON *document)
{
    return cJSON_GetObjectItemCaseSensitive(document, "traceEvents") != NULL;
}

int cc_timeline_read(const cJSON *document, struct cc_timeline_uses *out, struct cc_error *e)
{
    struct reader r = {.e = e};
    const cJSON *events;
    CC_TRY(check_document(document, &events, &r.rows.partial, e));
    const int status = read_events(&r, events);
    free(r.pid);
    free(r.track);
    free(r.end);
    if (status == CC_OK)
        *out = r.rows;
    else
        cc_timeline_uses_free(&r.rows);
    return status;
}

void cc_timeline_uses_free(struct cc_timeline_uses *u)
{
    free(u->row);
    *u = (struct cc_timeline_uses){.row = NULL};
}
