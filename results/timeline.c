/* Writing timelines. Events go to the file as they come, with times in whole nanoseconds; those
 * that would make the file larger than most_bytes are left out and counted. */
#include "results/timeline.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/format/json.h"
#include "core/memory.h"

/* The most that a browser loads in reasonable time. */
#define MOST_BYTES ((uint64_t)256 << 20)

/* Processes and tracks share one sequence of numbers, as viewers merge tracks with the same number.
 * A process has the number of its first track. */
struct cc_timeline {
    struct cc_outfile file;
    const char *const *about;
    uint64_t most_bytes;
    struct cc_timeline_size size;
    unsigned row, track, order; /* the row's number, the latest track's; its place in the row */
    struct step_span {
        double begin, end;
        bool known;
    } * step; /* the row's */
    size_t steps, capacity;
};

/* --- events --- */

/* Begins an event; false if the file is full. Needed events, which name tracks, are always written.
 */
static bool begin(struct cc_timeline *t, bool needed)
{
    if (!needed && t->size.bytes >= t->most_bytes) {
        t->size.left_out++;
        return false;
    }
    t->size.bytes += (uint64_t)fprintf(t->file.f, "%s{", t->size.events > 0 ? ",\n" : "\n");
    t->size.events++;
    return true;
}

CC_PRINTF(2, 3)
static void add(struct cc_timeline *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int length = vfprintf(t->file.f, fmt, args);
    va_end(args);
    t->size.bytes += length > 0 ? (uint64_t)length : 0;
}

static int add_text(struct cc_timeline *t, const char *text, struct cc_error *e)
{
    t->size.bytes += strlen(text) + 2;
    return cc_json_put_text(t->file.f, text, e);
}

static int64_t nanoseconds(double s)
{
    return llround(1e9 * s);
}

/* Writes a time in microseconds with three decimals. */
static void add_time(struct cc_timeline *t, const char *key, int64_t ns)
{
    const char *sign = ns < 0 ? "-" : "";
    ns = ns < 0 ? -ns : ns;
    add(t, ", \"%s\": %s%" PRId64 ".%03" PRId64, key, sign, ns / 1000, ns % 1000);
}

/* Begins the event that names a process or track; further arguments may follow the name. */
static int begin_name(struct cc_timeline *t, const char *what, const char *name, struct cc_error *e)
{
    (void)begin(t, true);
    add(t, "\"ph\": \"M\", \"name\": \"%s_name\", \"pid\": %u, \"tid\": %u, \"args\": {\"name\": ",
        what, t->row, t->track);
    return add_text(t, name, e);
}

/* Ends that event, and writes the position among the others. */
static void end_name(struct cc_timeline *t, const char *what, unsigned order)
{
    add(t, "}}");
    (void)begin(t, true);
    add(t,
        "\"ph\": \"M\", \"name\": \"%s_sort_index\", \"pid\": %u, \"tid\": %u, \"args\": "
        "{\"sort_index\": %u}}",
        what, t->row, t->track, order);
}

static void add_rate(struct cc_timeline *t, const char *key, double bps)
{
    char number[CC_NUMBER_CAP];
    if (bps <= 0)
        return;
    cc_number_print(bps, number);
    add(t, ", \"%s\": %s", key, number);
}

/* --- steps --- */

int cc_timeline_step(struct cc_timeline *t, size_t step, double from, double to, struct cc_error *e)
{
    CC_TRY(CC_GROW(t->step, &t->capacity, step + 1, e));
    for (; t->steps <= step; t->steps++)
        t->step[t->steps] = (struct step_span){.known = false};
    struct step_span *s = &t->step[step];
    s->begin = s->known ? fmin(s->begin, from) : from;
    s->end = s->known ? fmax(s->end, to) : to;
    s->known = true;
    return CC_OK;
}

static void put_steps(struct cc_timeline *t)
{
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < t->steps; i++) {
        int64_t from = nanoseconds(t->step[i].begin), to = nanoseconds(t->step[i].end);
        if (!t->step[i].known || !begin(t, true))
            continue;
        from = from > last ? from : last;
        to = to > from ? to : from;
        add(t, "\"ph\": \"X\", \"name\": \"step %zu\", \"cat\": \"step\", \"pid\": %u, \"tid\": %u",
            i, t->row, t->row);
        add_time(t, "ts", from);
        add_time(t, "dur", to - from);
        add(t, ", \"cname\": \"grey\"}");
        last = to;
    }
    t->steps = 0;
}

/* --- rows and tracks --- */

int cc_timeline_row(struct cc_timeline *t, const struct cc_timeline_head *head, struct cc_error *e)
{
    put_steps(t);
    t->row = ++t->track;
    t->order = 0;
    CC_TRY(begin_name(t, "process", head->name, e));
    add(t, ", \"scheme\": ");
    CC_TRY(add_text(t, head->scheme, e));
    add_rate(t, "up_bps", head->up_bps);
    add_rate(t, "down_bps", head->down_bps);
    end_name(t, "process", t->row);
    CC_TRY(begin_name(t, "thread", "steps", e));
    end_name(t, "thread", t->order);
    return CC_OK;
}

int cc_timeline_track(struct cc_timeline *t, const char *name, int host, bool worker,
                      struct cc_error *e)
{
    t->track++;
    CC_TRY(begin_name(t, "thread", name, e));
    add(t, ", \"host\": %d%s", host, worker ? ", \"worker\": true" : "");
    end_name(t, "thread", ++t->order);
    return CC_OK;
}

static int64_t whole_microseconds(int64_t ns)
{
    return (ns + 500) / 1000;
}

void cc_timeline_put(struct cc_timeline *t, const struct cc_timeline_slice *s)
{
    const int64_t from = nanoseconds(s->begin), to = nanoseconds(s->end);
    /* chrome://tracing rounds to microseconds, and would show such a slice inside the one before.
     */
    if (whole_microseconds(from) >= whole_microseconds(to) || !begin(t, false))
        return;
    add(t, "\"ph\": \"X\", \"name\": \"%s\", \"cat\": \"phase\", \"pid\": %u, \"tid\": %u",
        s->kind->name, t->row, t->track);
    add_time(t, "ts", from);
    add_time(t, "dur", to - from);
    add(t, ", \"cname\": \"%s\", \"args\": {\"step\": %zu}}", s->kind->colour, s->step);
}

int cc_timeline_put_end(struct cc_timeline *t, const struct cc_timeline_end *end,
                        struct cc_error *e)
{
    if (!begin(t, false))
        return CC_OK;
    add(t, "\"ph\": \"%s\", \"cat\": \"transfer\", \"name\": ", end->received ? "e" : "b");
    CC_TRY(add_text(t, end->name, e));
    add(t, ", \"id\": \"%u.%s\", \"pid\": %u, \"tid\": %u", t->row, end->id, t->row, t->track);
    add_time(t, "ts", nanoseconds(end->at));
    if (!end->received) {
        add(t, ", \"args\": {\"from\": ");
        CC_TRY(add_text(t, end->from, e));
        add(t, ", \"bytes\": %" PRIu64 ", \"step\": %zu, \"message\": %zu}", end->bytes, end->step,
            end->message);
    }
    add(t, "}");
    return CC_OK;
}

void cc_timeline_miss(struct cc_timeline *t, uint64_t events)
{
    t->size.left_out += events;
}

/* --- the file --- */

int cc_timeline_open(const char *path, const char *const *about, uint64_t most_bytes,
                     struct cc_timeline **out, struct cc_error *e)
{
    struct cc_timeline *t;
    CC_TRY(CC_NEW(t, 1, e));
    t->about = about;
    t->most_bytes = most_bytes > 0 ? most_bytes : MOST_BYTES;
    const int status = cc_file_create(&t->file, path, e);
    if (status != CC_OK) {
        free(t);
        return status;
    }
    add(t, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [");
    *out = t;
    return CC_OK;
}

static int put_about(struct cc_timeline *t, bool partial, struct cc_error *e)
{
    int status = CC_OK;
    add(t, "\n], \"otherData\": {");
    for (const char *const *p = t->about; p[0] != NULL && status == CC_OK; p += 2) {
        add(t, "\"%s\": ", p[0]);
        status = add_text(t, p[1], e);
        add(t, ", ");
    }
    add(t, "\"left_out\": %" PRIu64 ", \"partial\": %s}}\n", t->size.left_out,
        partial ? "true" : "false");
    return status;
}

int cc_timeline_close(struct cc_timeline *t, bool partial, struct cc_timeline_size *size,
                      struct cc_error *e)
{
    put_steps(t);
    const int status = cc_file_end(&t->file, put_about(t, partial, e), e);
    *size = t->size;
    free(t->step);
    free(t);
    return status;
}

void cc_timeline_abort(struct cc_timeline *t)
{
    cc_file_abort(&t->file);
    free(t->step);
    free(t);
}
