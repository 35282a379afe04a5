/* The fields of each kind of report, and their text. A new number of a row is a member of struct
 * cc_report_row and a line in row_fields. */
#include "netsim/job/report.h"

#include <stdlib.h>

#include "core/memory.h"
#include "core/memory_text.h"

#define MOST_RANKS  (1 << 17)
#define MOST_COUNT  (0x1p53 - 1)
#define MOST_AMOUNT 1e30

static const char *const kinds[] = {"hello",  "row_begin", "step", "row",   "eval",   "calls",
                                    "events", "size",      "done", "error", "killed", NULL};

/* Members of `of`, and whole structs in struct cc_report. */
#define SIZE(of, member)   CC_SIZE(of, member), 0, MOST_COUNT
#define RANK(of)           "rank", CC_FIELD_INT, CC_MEMBER(int, of, rank), 0, MOST_RANKS
#define TEXT               CC_TEXT(struct cc_report, text)
#define UINT32(of, member) #member, CC_FIELD_UINT32, CC_MEMBER(uint32_t, of, member), 0
#define TIME(of, member)   CC_NUMBER(of, member), 0, MOST_AMOUNT

/* --- hello, row_begin, step, done, error --- */

static const struct cc_field hello_fields[] = {{TEXT, .help = "The MPI library's version."}};
static const struct cc_field begin_fields[] = {
    {SIZE(struct cc_report, row), .help = "The row that begins, from 0."}};
static const struct cc_field step_fields[] = {
    {SIZE(struct cc_report, row), .help = "From 0."},
    {SIZE(struct cc_report, step),
     .help = "The step of the row that rank 0 has ended, from 0, counted or not."}};
static const struct cc_field error_fields[] = {
    {RANK(struct cc_report), .help = "The rank that failed."},
    {TEXT, .help = "The message."},
    {CC_BOOL(struct cc_report, diverged), .optional = true,
     .help = "Whether the cause is that a training has diverged."},
    {SIZE(struct cc_report, step), .optional = true, .help = "In which step it has."}};

/* --- row --- */

static const struct cc_table numbers_table = CC_SCALARS(CC_FIELD_NUMBER, double, MOST_AMOUNT);
#define NUMBERS(of, member, size)                                                                  \
#member, CC_FIELD_LIST, CC_MEMBER(double *, of, member), 1,                                    \
        .table = &numbers_table, .item = "number", .count = CC_MEMBER(size_t, of, size)

#define ROW(member) CC_NUMBER(struct cc_report_row, member), 0, MOST_AMOUNT
/* -1: not known */
#define DEVICE(member) CC_NUMBER(struct cc_report_row, member), -1, MOST_AMOUNT

static size_t tensor_count(const struct cc_scope *s)
{
    const struct cc_report_row *r = s->self;
    return r->tensors;
}

static bool has_tensors(const struct cc_scope *s)
{
    return tensor_count(s) > 0;
}

static const struct cc_field row_fields[] = {
    {SIZE(struct cc_report_row, row), .help = "From 0."},
    {ROW(compute_s), .help = "Spent in the forward and backward pass; where steps are not bulk "
                             "synchronous, the mean over the workers."},
    {ROW(update_s), .help = "Spent in the update."},
    {ROW(encode_s), .help = "A worker: encoding before the first byte leaves."},
    {ROW(hop_s), .help = "A worker: decoding, adding and encoding on the way; adding floats."},
    {ROW(server_s), .help = "A server: decoding the pushes, encoding the pull."},
    {ROW(decode_s), .help = "A worker: decoding onto its model."},
    {ROW(wait_s), .help = "A worker: the rest of the step."},
    {ROW(exposed_s), .optional = true, .help = "The same, the mean over the workers."},
    {ROW(busy_s), .help =
                      "A worker: the time for which any message is under way, without its own work "
                      "on the only one."},
    {ROW(waking_s),
     .help =
         "How much later than the ranks had agreed the first worker wakes for a step: the median "
         "over the counted steps; 0 where ranks poll, and where steps are not sequential."},
    {ROW(message_s), .help = "How long a rank takes to hand a message to MPI: the mean over all "
                             "that it sends; 0 where messages are the MPI library's own."},
    {ROW(core_wait_s), .optional = true,
     .help = "In each step, for how long the rank that waited longest for a core was ready to run "
             "and had none: the mean over the counted steps; 0 where the kernel does not say, and "
             "where steps are not bulk synchronous."},
    {ROW(core_wait_all_s), .optional = true, .help = "The same of all ranks together."},
    {CC_NUMBER(struct cc_report_row, other_cores), -1, MOST_AMOUNT, .optional = true,
     .help = "How many cores other programs of the machine had in the counted steps; -1: not "
             "known, as where the ranks are on several machines."},
    {ROW(push_bytes), .help = "Payload of a worker's pushes per step, the mean over the workers."},
    {ROW(pull_bytes), .help = "Payload of all servers' pulls per step; each pull counts once, "
                              "however many workers get it; of pulls that are each for one worker, "
                              "the mean over the workers."},
    {ROW(push_head_bytes), .help = "Frames `push_bytes` ([wire.md](wire.md))."},
    {ROW(pull_head_bytes), .help = "Frames `pull_bytes`."},
    {ROW(messages), .help = "Messages per step to other hosts of the rank that sends most; with "
                            "the job's `per_host` or `colocated`, of the host."},
    {ROW(given_bytes),
     .help = "Bytes handed to MPI per step for other hosts by the rank, or the host, that sends "
             "most, heads included."},
    {ROW(intra_bytes), .optional = true,
     .help = "With the job's `per_host`: bytes handed to MPI per step for ranks of the same host, "
             "by all ranks of the host that hands most."},
    {DEVICE(sent_bytes), .help = "Bytes per step that the interface of the busiest host counted; "
                                 "-1 without `device`, as the next two."},
    {DEVICE(received_bytes), .help = "The same, received."},
    {DEVICE(total_sent_bytes), .help = "Bytes per step of all hosts' interfaces together."},
    {ROW(kept_values), .optional = true,
     .help = "With the job's `keep`: the values that the sums have kept per step."},
    {ROW(updates), .optional = true,
     .help = "With the job's `consistency`: updates of the servers' model per step, of all "
             "workers; a part of a step counts as a part."},
    {ROW(updates_per_s), .optional = true, .help = "The same, those of a second."},
    {ROW(held_s), .optional = true,
     .help = "The same: for how long a worker's pull waits, in each step, until slower workers are "
             "within the bound; of the message for which that is longest, the mean over the "
             "workers."},
    {NUMBERS(struct cc_report_row, age, ages), .optional = true,
     .help = "The same: how many pushes had a staleness of 0, 1, 2, ...: that many pushes of other "
             "workers were applied to the same values since the worker's last pull; the 4,096th "
             "number counts those beyond, too."},
    {ROW(peak_bytes), .help = "The most memory that a simulation has had during the row; 0: not "
                              "known."},
    {NUMBERS(struct cc_report_row, applied_error, applied_errors), .optional = true,
     .help = "With the job's `errors`, two numbers: the squared error of what the counted steps "
             "have applied, relative to the square of their mean gradients' sum; and the same over "
             "the last half of these steps."},
    {NUMBERS(struct cc_report_row, collective_s, collectives), .optional = true,
     .help = "With the job's `sharded`: seconds per step for which a message of each collective is "
             "under way, the mean over the workers."},
    {CC_TEXT(struct cc_report_row, chose), .optional = true,
     .help = "With `ssar-auto`: which exchange how many messages of the counted steps took."},
    {NUMBERS(struct cc_report_row, step_s, steps),
     .help = "Seconds of each counted step. Sequential steps are in lockstep (a barrier, which is "
             "not counted, before each): the slowest worker's time. Otherwise from the last "
             "worker's end of the step before to the last worker's end of this one; or, where "
             "steps are not bulk synchronous, the mean over the workers."},
    {NUMBERS(struct cc_report_row, tensor_bytes, tensors), .optional = true,
     .help = "`push_bytes` by tensor."},
    {NUMBERS(struct cc_report_row, tensor_pull_bytes, tensors), .length = tensor_count,
     .when = has_tensors, .condition = "with `tensor_bytes`", .help = "`pull_bytes` by tensor."},
};

/* --- eval --- */

#define EVAL(member, high)                                                                         \
#member, CC_FIELD_NUMBER, CC_MEMBER(double, struct cc_report_eval, of.member), 0, high

static const struct cc_field eval_fields[] = {
    {SIZE(struct cc_report_eval, row), .help = "From 0."},
    {"step", CC_FIELD_SIZE, CC_MEMBER(size_t, struct cc_report_eval, of.step), 0, MOST_COUNT,
     .help = "The steps that have ended."},
    {EVAL(train_loss, MOST_AMOUNT),
     .help = "The loss on the training batches: the mean over the workers and the "
             "steps since the evaluation before."},
    {EVAL(train_accuracy, 1), .help = "On the same batches, the same mean."},
    {EVAL(loss, MOST_AMOUNT),
     .help = "On the test samples; where servers send model deltas, of their copy."},
    {EVAL(accuracy, 1), .help = "The same copy's."},
    {EVAL(worker_loss, MOST_AMOUNT), .help = "On the test samples, of the workers' copy."},
    {EVAL(worker_accuracy, 1), .help = "The same copy's."},
    {EVAL(objective, MOST_AMOUNT), .optional = true,
     .help = "The objective of a linear model on all training samples, of the copy of `loss`."},
    {EVAL(push_bytes, MOST_AMOUNT),
     .help = "As in `row`, here and below: means since the evaluation before."},
    {EVAL(pull_bytes, MOST_AMOUNT), .help = "Payload of all servers' pulls per step."},
    {EVAL(encode_s, MOST_AMOUNT), .help = "A worker: encoding before the first byte leaves."},
    {EVAL(hop_s, MOST_AMOUNT), .help = "A worker: codecs on the way."},
    {EVAL(server_s, MOST_AMOUNT), .help = "A server: codecs."},
    {EVAL(decode_s, MOST_AMOUNT), .help = "A worker: decoding onto its model."},
    {EVAL(compute_s, MOST_AMOUNT), .help = "The forward and backward pass."},
    {EVAL(update_s, MOST_AMOUNT), .help = "The update."},
    {EVAL(wall_s, MOST_AMOUNT), .help = "The time of all steps since the beginning of the "
                                        "training, without what happens between them."},
    {EVAL(staleness, MOST_AMOUNT), .optional = true,
     .help = "With the job's `consistency`: the mean staleness of all pushes since the beginning "
             "(`age` of `row`)."},
    {EVAL(staleness_p95, MOST_AMOUNT), .optional = true,
     .help = "The same: what 95% of the pushes do not exceed."},
    {EVAL(wait_s, MOST_AMOUNT), .optional = true, .help = "As `held_s` of `row`."},
    {EVAL(updates, MOST_AMOUNT), .optional = true, .help = "As `updates` of `row`."},
    {UINT32(struct cc_report_eval, weights), UINT32_MAX,
     .help = "CRC-32 of the parameters of worker 0, which are equal on all workers where steps are "
             "bulk synchronous."},
};

/* --- calls --- */

#define CALLS(member) CC_NUMBER(struct cc_report_calls, member), 0, MOST_AMOUNT

static const struct cc_field calls_fields[] = {
    {SIZE(struct cc_report_calls, row), .help = "From 0."},
    {NUMBERS(struct cc_report_calls, call_s, calls),
     .help = "Seconds of each counted call, of the rank that took longest."},
    {CALLS(encode_s), .help = "A worker: encoding, the mean over the calls."},
    {CALLS(apply_s), .help = "A worker: decoding onto its model, the mean over the calls."},
    {CALLS(push_bytes), .help = "Payload of a worker per call, the mean over the workers."},
    {CALLS(given_bytes),
     .help = "Bytes handed to MPI per call by the rank that sends most, heads included."},
    {CALLS(messages), .help = "Messages per call of the rank that sends most."},
    {CALLS(result_values), .help = "How many values of the first result are not zero."},
    {CC_TEXT(struct cc_report_calls, chose), .optional = true,
     .help = "With `ssar-auto`: which exchange how many of the counted calls took."},
    {CC_BOOL(struct cc_report_calls, checked), .help = "Whether the results were compared."},
    {CC_TEXT(struct cc_report_calls, wrong), .optional = true,
     .help = "The first difference that should not be."},
};

/* --- size --- */

static const struct cc_field size_fields[] = {
    {SIZE(struct cc_report_size, bytes), .help = "The message's size."},
    {NUMBERS(struct cc_report_size, seconds, samples),
     .help = "For each repetition the time one way, half of that there and back; of messages to or "
             "from "
             "all others, the whole time."},
    {TIME(struct cc_report_size, send_s),
     .help = "The time that rank 0 needs to hand a message to MPI: the median."},
};

/* --- events --- */

static const struct cc_field step_span_fields[] = {
    {TIME(struct cc_step_span, begin), .help = "When the step began."},
    {TIME(struct cc_step_span, end), .help = "When the step ended."},
};

static const struct cc_field span_fields[] = {
    {"phase", CC_FIELD_INT, offsetof(struct cc_span, phase), 0, CC_PHASES - 1,
     .help = "0 compute, 1 encode, 2 hop, 3 server, 4 decode, 5 update, 6 wait. Codecs (1 to 4) do "
             "not overlap each other, nor do the other phases; codecs and other phases overlap in "
             "`overlap` only."},
    {UINT32(struct cc_span, step), UINT32_MAX, .help = "The number within the row."},
    {TIME(struct cc_span, begin), .help = "Spans are in the order of their beginnings."},
    {TIME(struct cc_span, end), .help = "Not before `begin`."},
};

static const struct cc_field flow_fields[] = {
    {"received", CC_FIELD_FLAG, CC_MEMBER(bool, struct cc_flow_event, received), 0, 1,
     .help = "0: the transfer begins to leave; 1: all of it has come."},
    {UINT32(struct cc_flow_event, peer), MOST_RANKS - 1, .help = "The other rank."},
    {UINT32(struct cc_flow_event, message), UINT32_MAX, .help = "The number within the row."},
    {UINT32(struct cc_flow_event, number), UINT32_MAX,
     .help = "Counts this message's transfers from one of the two ranks to the other."},
    {UINT32(struct cc_flow_event, step), UINT32_MAX, .help = "The number within the row."},
    {"bytes", CC_FIELD_UINT64, CC_MEMBER(uint64_t, struct cc_flow_event, bytes), 0, MOST_COUNT,
     .help = "Bytes of the transfer."},
    {TIME(struct cc_flow_event, at), .help = "The time of the event."},
};

#define FLAT(list, name, type)                                                                     \
    {                                                                                              \
        .title = (name), CC_FIELDS(list), .bytes = sizeof(struct type), .form = CC_FORM_FLAT       \
    }
static const struct cc_table step_span_table = FLAT(step_span_fields, NULL, cc_step_span);
static const struct cc_table span_table = FLAT(span_fields, "spans, for each", cc_span);
static const struct cc_table flow_table = FLAT(flow_fields, "flows, for each", cc_flow_event);

static int check_steps(const struct cc_scope *s, struct cc_error *e)
{
    const struct cc_report_events *v = s->self;
    for (size_t i = 0; i < v->steps; i++)
        if (v->step[i].begin > v->step[i].end)
            return cc_fail(e, "\"steps\", step %zu: it ends before it begins", i);
    return CC_OK;
}

static int check_spans(const struct cc_scope *s, struct cc_error *e)
{
    const struct cc_report_events *v = s->self;
    for (size_t i = 0; i < v->spans; i++)
        if (v->span[i].begin > v->span[i].end)
            return cc_fail(e, "\"spans\", span %zu: it ends before it begins", i);
    return CC_OK;
}

#define EVENTS(key, type, member, size, of, name)                                                  \
    key, CC_FIELD_LIST, CC_MEMBER(struct type *, struct cc_report_events, member), 1,              \
        .table = &(of), .item = (name), .optional = true,                                          \
        .count = CC_MEMBER(size_t, struct cc_report_events, size)

static const struct cc_field events_fields[] = {
    {SIZE(struct cc_report_events, row), .help = "From 0."},
    {RANK(struct cc_report_events), .help = "From 0."},
    {SIZE(struct cc_report_events, left_out),
     .help = "Spans and flows that were left out for lack of room, the last ones: a rank keeps "
             "100,000, and all ranks together two million."},
    {CC_SIZE(struct cc_report_events, first_step), 0, UINT32_MAX,
     .help = "The row's first counted step."},
    {EVENTS("steps", cc_step_span, step, steps, step_span_table, "step"), .check = check_steps,
     .help = "The counted steps: `begin`, `end` of each."},
    {EVENTS("spans", cc_span, span, spans, span_table, "span"), .check = check_spans,
     .help = "Activities of the rank: `phase`, `step`, `begin`, `end`."},
    {EVENTS("flows", cc_flow_event, flow, flows, flow_table, "flow"),
     .help = "Ends of transfers: `received`, `peer`, `message`, `number`, `step`, `bytes`, `at`."},
};

/* --- killed --- */

static const struct cc_field killed_fields[] = {
    {RANK(struct cc_report_killed), .help = "The rank whose process is gone."},
    {CC_TEXT(struct cc_report_killed, host), .help = "The host that it ran on."},
    {SIZE(struct cc_report_killed, process), .help = "The number of the process."},
    {CC_INT(struct cc_report_killed, signal), 1, 128, .help = "The signal that ended it."},
};

/* --- all kinds --- */

#define KIND(name, list, type)                                                                     \
    {                                                                                              \
        .title = (name), CC_FIELDS(list), .bytes = sizeof(struct type), .tag = "report"            \
    }

const struct cc_table cc_report_tables[] = {
    [CC_REPORT_HELLO] = KIND("hello", hello_fields, cc_report),
    [CC_REPORT_ROW_BEGIN] = KIND("row_begin", begin_fields, cc_report),
    [CC_REPORT_STEP] = KIND("step", step_fields, cc_report),
    [CC_REPORT_ROW] = KIND("row", row_fields, cc_report_row),
    [CC_REPORT_EVAL] = KIND("eval", eval_fields, cc_report_eval),
    [CC_REPORT_CALLS] = KIND("calls", calls_fields, cc_report_calls),
    [CC_REPORT_EVENTS] = KIND("events", events_fields, cc_report_events),
    [CC_REPORT_SIZE] = KIND("size", size_fields, cc_report_size),
    [CC_REPORT_DONE] = {.title = "done", .bytes = sizeof(struct cc_report), .tag = "report"},
    [CC_REPORT_ERROR] = KIND("error", error_fields, cc_report),
    [CC_REPORT_KILLED] = KIND("killed", killed_fields, cc_report_killed),
};

/* The struct that the kind's table describes. */
static void *contents_of(struct cc_report *r)
{
    static const size_t at[CC_REPORT_KILLED + 1] = {
        [CC_REPORT_ROW] = offsetof(struct cc_report, result),
        [CC_REPORT_EVAL] = offsetof(struct cc_report, eval),
        [CC_REPORT_CALLS] = offsetof(struct cc_report, calls),
        [CC_REPORT_EVENTS] = offsetof(struct cc_report, events),
        [CC_REPORT_SIZE] = offsetof(struct cc_report, size),
        [CC_REPORT_KILLED] = offsetof(struct cc_report, killed)};
    return (char *)r + at[r->kind];
}

void cc_report_free(struct cc_report *r)
{
    cc_fields_free(&cc_report_tables[r->kind], contents_of(r));
    *r = (struct cc_report){0};
}

int cc_report_print(const struct cc_report *r, FILE *out, struct cc_error *e)
{
    struct cc_report copy = *r;
    struct cc_memory_text line;
    CC_TRY(cc_memory_text_begin(&line, "a report", e));
    int status = cc_fields_write(&cc_report_tables[r->kind], contents_of(&copy), kinds[r->kind],
                                 false, line.f, e);
    CC_TRY(cc_memory_text_end(&line, status, e));
    /* One call writes the line, so that lines of several ranks do not mix. */
    if (fwrite(line.text, 1, line.bytes, out) != line.bytes || fflush(out) != 0)
        status = cc_fail(e, "stdout: nobody reads the reports any more");
    free(line.text);
    return status;
}

static int parse_root(const cJSON *root, void *out, struct cc_error *e)
{
    struct cc_report r = {0};
    int kind;
    if (!cJSON_IsObject(root))
        return cc_fail(e, "not a JSON object");
    CC_TRY(cc_json_need_word(root, "report", kinds, &kind, e));
    r.kind = (enum cc_report_kind)kind;
    const int status = cc_fields_parse(&cc_report_tables[kind], root, contents_of(&r), e);
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
