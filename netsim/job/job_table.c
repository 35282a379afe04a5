/* The fields of a job. A new one is a member of struct cc_job, or of a struct in it, and a line in
 * the table here. A table's order is the order in which fields are parsed and written: a condition,
 * a length or a check may read the fields above its own. */
#include "netsim/job/job_table.h"

#include <limits.h>
#include <math.h>
#include <net/if.h>

#include "core/trace/synth.h" /* cc_distribution_names */

/* Limits that nobody needs to exceed and that keep sums and products of fields within 64 bits. */
#define MOST_WORKERS 65536
#define MOST_SERVERS 4096
#define MOST_TENSORS (1 << 20)
#define MOST_STEPS   1e9
#define MOST_SAMPLES (1 << 24)
#define MOST_SECONDS 1e6
#define MOST_BPS     1e15
#define MOST_QUEUE   0x1p31 /* tc reads 32 bits */
#define MOST_COUNT   (0x1p53 - 1)

static const char *const kinds[] = {"replay", "pingpong", NULL};

#define WORD(of, member) #member, CC_FIELD_WORD, offsetof(of, member)

/* --- what a field's conditions and checks read --- */

/* clang-format off */
CC_JOB_CONDITION(in_replay, job->kind == CC_JOB_REPLAY)
CC_JOB_CONDITION(in_pingpong, job->kind == CC_JOB_PINGPONG)
CC_JOB_CONDITION(merges, job->kind == CC_JOB_REPLAY && cc_exchange_has(job->exchange, CC_X_MERGES))
CC_JOB_CONDITION(halves, job->kind == CC_JOB_REPLAY && cc_exchange_has(job->exchange, CC_X_HALVES))
CC_JOB_CONDITION(stages, job->kind == CC_JOB_REPLAY && cc_exchange_has(job->exchange, CC_X_STAGES))
CC_JOB_CONDITION(chooses, job->kind == CC_JOB_REPLAY && cc_exchange_has(job->exchange, CC_X_CHOOSES))
CC_JOB_CONDITION(without_training, job->kind == CC_JOB_REPLAY && job->training.net == NULL)
CC_JOB_CONDITION(with_trace, without_training(s) && job->trace != NULL)
CC_JOB_CONDITION(without_trace, without_training(s) && job->trace == NULL)
CC_JOB_CONDITION(without_data, !job->data)
/* clang-format on */

static size_t worker_count(const struct cc_scope *s)
{
    return (size_t)cc_job_of(s)->workers;
}

static size_t tensor_count(const struct cc_scope *s)
{
    return cc_job_of(s)->tensors;
}

/* --- tensors --- */

static void server_range(const struct cc_scope *s, double *low, double *high)
{
    const int servers = cc_job_of(s)->servers;
    *low = servers > 0 ? -1 : 0;
    *high = servers > 0 ? servers - 1 : 0;
}

static int check_name(const struct cc_scope *s, struct cc_error *e)
{
    const struct cc_job_tensor *t = s->self;
    return cc_tensor_name_check(t->name, e);
}

static const struct cc_field tensor_fields[] = {
    {CC_TEXT(struct cc_job_tensor, name), .check = check_name, .help = "As in the trace."},
    {"shape", CC_FIELD_SHAPE, CC_MEMBER(struct cc_shape, struct cc_job_tensor, shape),
     .help = "At most 2^40 values in all tensors together."},
    {CC_NUMBER(struct cc_job_tensor, share), 0, 1,
     .help = "Share of the compute time; the shares sum to 1 within 10^-6."},
    {CC_INT(struct cc_job_tensor, server), -1, MOST_SERVERS - 1, .range = server_range,
     .help = "The server that keeps the tensor; -1: it is divided evenly among all servers. 0 "
             "without servers."},
    {CC_BOOL(struct cc_job_tensor, raw),
     .help = "Whether the tensor travels as float32 whatever the scheme."},
};

static const struct cc_table tensor_table =
    CC_TABLE("A tensor", tensor_fields, struct cc_job_tensor);

static int check_tensors(const struct cc_scope *s, struct cc_error *e)
{
    struct cc_job *job = s->self;
    double share = 0;
    for (size_t i = 0; i < job->tensors; i++)
        share += job->tensor[i].share;
    if (fabs(share - 1) > 1e-6)
        return cc_fail(e, "the tensors' \"share\" of the compute time sum to %.9g, not to 1",
                       share);
    CC_TRY(cc_job_lay_out(job, e));
    return cc_job_values(job) > 0 ? CC_OK : cc_fail(e, "\"tensors\": a step without values");
}

/* --- rows: sizes of payloads --- */

static bool sizes_differ(const struct cc_scope *s)
{
    const struct cc_job_sizes *sizes = s->self;
    return !sizes->fixed;
}

static bool has_pulls(const struct cc_scope *s)
{
    return sizes_differ(s) && cc_job_of(s)->servers > 0;
}

static bool has_hops(const struct cc_scope *s)
{
    return sizes_differ(s) && cc_job_row_hops(cc_job_of(s), s->outer->self);
}

static bool has_pairs(const struct cc_scope *s)
{
    return cc_job_row_merges(cc_job_of(s), s->outer->self);
}

static bool has_sums(const struct cc_scope *s)
{
    return has_hops(s) || has_pairs(s);
}

static size_t push_count(const struct cc_scope *s)
{
    const struct cc_job_sizes *sizes = s->self;
    return sizes->workers * sizes->steps * cc_job_of(s)->tensors; /* at most 2^52 */
}

static size_t pull_count(const struct cc_scope *s)
{
    const struct cc_job_sizes *sizes = s->self;
    return sizes->steps * cc_job_of(s)->tensors;
}

static size_t sum_count(const struct cc_scope *s)
{
    const struct cc_job_sizes *sizes = s->self;
    return sizes->sums * sizes->steps * cc_job_of(s)->tensors;
}

/* Where pairs are merged, their number is needed even of payloads that are all equally long. */
static int check_fixed(const struct cc_scope *s, struct cc_error *e)
{
    const struct cc_job_sizes *sizes = s->self;
    return !sizes->fixed || !has_pairs(s)
               ? CC_OK
               : cc_fail(e, "\"fixed\" is true, and the row's pairs are merged: it must be false");
}

static int check_size_steps(const struct cc_scope *s, struct cc_error *e)
{
    const struct cc_job_sizes *sizes = s->self;
    const struct cc_job_row *row = s->outer->self;
    if (sizes->steps % row->period != 0)
        return cc_fail(e, "\"steps\" %zu must be a multiple of the period, %zu", sizes->steps,
                       row->period);
    return CC_OK;
}

#define BYTES(member)                                                                              \
#member, CC_FIELD_LIST, CC_MEMBER(uint64_t *, struct cc_job_sizes, member),                    \
        .table = &cc_whole_numbers, .item = "number"

static const struct cc_field size_fields[] = {
    {CC_BOOL(struct cc_job_sizes, fixed), .check = check_fixed,
     .help = "Whether every payload is as long as its scheme's bound; nothing else is needed then. "
             "`false` where pairs are merged."},
    {CC_SIZE(struct cc_job_sizes, workers), 1, MOST_WORKERS, .when = sizes_differ,
     .condition = "if not `fixed`",
     .help = "Workers with sizes of their own; worker w has those of worker w modulo `workers`."},
    {CC_SIZE(struct cc_job_sizes, steps), 1, MOST_WORKERS, .when = sizes_differ,
     .condition = "if not `fixed`", .check = check_size_steps,
     .help = "Steps with sizes of their own, a multiple of the row's `period`; step s has those of "
             "step s modulo `steps`."},
    {BYTES(push), .length = push_count, .when = sizes_differ, .condition = "if not `fixed`",
     .help = "Bytes of a worker's payload: for each worker, step and tensor."},
    {BYTES(pull), .length = pull_count, .when = has_pulls,
     .condition = "with servers, if not `fixed`",
     .help = "Bytes of a pull: for each step and tensor."},
    {CC_SIZE(struct cc_job_sizes, sums), 1, 64, .when = has_sums,
     .condition = "where sums are encoded or merged on their way, if not `fixed`",
     .help = "Sums with sizes of their own: of 1, 2, 4, ... workers' gradients. A sum of another "
             "number of workers has the sizes of the next lower power of two, or of the last; "
             "merged pairs follow from all of them ([sim.md](sim.md#data-off))."},
    {BYTES(hop), .length = sum_count, .when = has_hops,
     .condition = "where sums are encoded on their way, if not `fixed`",
     .help = "Bytes of an encoded sum: for each sum, step and tensor."},
    {BYTES(pairs), .length = sum_count, .when = has_pairs,
     .condition = "where pairs are merged on their way",
     .help = "Pairs in a sum: for each sum, step and tensor."},
};

const struct cc_table cc_sizes_table =
    CC_TABLE("A row's `sizes`", size_fields, struct cc_job_sizes);

/* --- rows --- */

static const struct cc_field cost_fields[] = {
    {CC_NUMBER(struct cc_job_cost, encode_s), 0, MOST_SECONDS,
     .help = "Encoding a worker's payload."},
    {CC_NUMBER(struct cc_job_cost, decode_s), 0, MOST_SECONDS,
     .help = "Decoding a worker's payload."},
    {CC_NUMBER(struct cc_job_cost, add_s), 0, MOST_SECONDS,
     .help = "Decoding a worker's payload onto a sum."},
    {CC_NUMBER(struct cc_job_cost, pull_encode_s), 0, MOST_SECONDS, .help = "Encoding a pull."},
    {CC_NUMBER(struct cc_job_cost, pull_decode_s), 0, MOST_SECONDS, .help = "Decoding a pull."},
};

static const struct cc_table cost_table = {.title = "A tensor's `cost`, a list of five numbers of "
                                                    "seconds; a part of a tensor has its part",
                                           CC_FIELDS(cost_fields),
                                           .bytes = sizeof(struct cc_job_cost),
                                           .form = CC_FORM_TUPLE};

static const struct cc_field message_fields[] = {
    {CC_SIZE(struct cc_message, first), 0, MOST_COUNT, .help = "The message's first tensor."},
    {CC_SIZE(struct cc_message, last), 0, MOST_COUNT, .help = "The message's last tensor."},
};

static const struct cc_table message_table = {.title = "A message, a list of two numbers",
                                              CC_FIELDS(message_fields),
                                              .bytes = sizeof(struct cc_message),
                                              .form = CC_FORM_TUPLE};

static int check_messages(const struct cc_scope *s, struct cc_error *e)
{
    const struct cc_job_row *row = s->self;
    size_t left = cc_job_of(s)->tensors;
    for (size_t i = 0; i < row->messages; i++) {
        const struct cc_message *m = &row->message[i];
        if (left == 0 || m->last != left - 1 || m->first > m->last)
            return cc_fail(e,
                           "message %zu: tensors %zu to %zu, and %zu tensors are left: messages "
                           "must have each tensor once, from the last to the first",
                           i, m->first, m->last, left);
        left = m->first;
    }
    CC_TRY(cc_job_check_local(cc_job_of(s), row->messages, e));
    return left == 0 ? CC_OK : cc_fail(e, "\"messages\" leave out tensors 0 to %zu", left - 1);
}

static const struct cc_field choice_fields[] = {
    {CC_SIZE(struct cc_job_choice, message), 0, MOST_COUNT, .help = "The message, counted from 0."},
    {CC_NUMBER(struct cc_job_choice, pairs), 0, MOST_COUNT,
     .help = "The most index-value pairs in the gradients of all workers together."},
    {WORD(struct cc_job_choice, exchange), .words = cc_exchange_names,
     .help = "`ssar-recdouble`, `ssar-split`, `ssar-rabenseifner` or `dsar-split`."},
};

static const struct cc_table choice_table =
    CC_TABLE("A choice", choice_fields, struct cc_job_choice);

static int check_choices(const struct cc_scope *s, struct cc_error *e)
{
    const struct cc_job_row *row = s->self;
    size_t next = 0;
    for (size_t i = 0; i < row->choices; i++) {
        const struct cc_job_choice *c = &row->choice[i];
        if (!cc_exchange_has(c->exchange, CC_X_MERGES) ||
            cc_exchange_has(c->exchange, CC_X_CHOOSES))
            return cc_fail(e, "choice %zu: \"%s\" is not a sparse exchange to be chosen", i,
                           cc_exchange_names[c->exchange]);
        if (c->message == next)
            next++;
        else if (c->message + 1 != next || c->pairs <= row->choice[i - 1].pairs)
            return cc_fail(e, "choice %zu: choices must be in the order of messages and pairs", i);
    }
    return next == row->messages ? CC_OK : cc_fail(e, "\"choices\" has none of message %zu", next);
}

static int check_reduction(const struct cc_scope *s, struct cc_error *e)
{
    const struct cc_job_row *row = s->self;
    const enum cc_exchange x = cc_job_of(s)->exchange;
    if (!cc_exchange_has(x, CC_X_MERGES) || row->reduction != CC_REDUCE_DECODED)
        return CC_OK;
    return cc_fail(e, "\"%s\" merges index-value pairs, and a row's \"reduction\" is \"decode\"",
                   cc_exchange_names[x]);
}

static int check_steps(const struct cc_scope *s, struct cc_error *e)
{
    const struct cc_job_row *row = s->self;
    if (cc_job_of(s)->training.net != NULL)
        return row->warmup == 0
                   ? CC_OK
                   : cc_fail(e, "\"warmup\" is %zu: a training counts every step", row->warmup);
    if (row->warmup % row->period == 0 && row->steps % row->period == 0)
        return CC_OK;
    return cc_fail(e, "\"warmup\" %zu and \"steps\" %zu must be multiples of the period, %zu",
                   row->warmup, row->steps, row->period);
}

static const struct cc_field row_fields[] = {
    {CC_TEXT(struct cc_job_row, scheme), .help = "The scheme's canonical name."},
    {WORD(struct cc_job_row, reduction), .words = cc_reduction_names, .check = check_reduction,
     .help = "How the scheme's payloads can be reduced: `sum` if an allreduce of floats can carry "
             "them, in one round or several ([payloads.md](payloads.md), Rounds), `merge` if they "
             "are index-value pairs, otherwise `decode`."},
    {CC_SIZE(struct cc_job_row, period), 1, MOST_STEPS,
     .help = "The scheme sends in the last of `period` steps."},
    {CC_SIZE(struct cc_job_row, warmup), 0, MOST_STEPS,
     .help = "Steps that are not counted, a multiple of `period`; only the last period of them "
             "computes."},
    {CC_SIZE(struct cc_job_row, steps), 1, MOST_STEPS, .check = check_steps,
     .help = "Steps that are counted, a multiple of `period`; of a training, all."},
    {"messages", CC_FIELD_LIST, CC_MEMBER(struct cc_message *, struct cc_job_row, message), 1,
     .table = &message_table, .item = "message",
     .count = CC_MEMBER(size_t, struct cc_job_row, messages), .check = check_messages,
     .help = "Tensors that travel together. Each tensor is in one message, from the end of the net "
             "to its beginning: the order in which messages leave."},
    {"choices", CC_FIELD_LIST, CC_MEMBER(struct cc_job_choice *, struct cc_job_row, choice), 1,
     .table = &choice_table, .item = "choice",
     .count = CC_MEMBER(size_t, struct cc_job_row, choices), .check = check_choices,
     .when = chooses, .condition = "with `ssar-auto`",
     .help = "The exchange of each message by the number of pairs: by messages and then by pairs. "
             "A message's last choice holds for more pairs, too."},
    {"cost", CC_FIELD_LIST, CC_MEMBER(struct cc_job_cost *, struct cc_job_row, cost),
     .table = &cost_table, .item = "cost", .length = tensor_count, .optional = true,
     .required = without_data, .requirement = "without data",
     .help = "The time that codecs take for each tensor. If it is missing, they take the time that "
             "they really take."},
    {"sizes", CC_FIELD_OBJECT, CC_MEMBER(struct cc_job_sizes, struct cc_job_row, sizes),
     .table = &cc_sizes_table, .when = without_data, .condition = "without data",
     .help = "How long payloads are."},
};

static const struct cc_table row_table = CC_TABLE("A row", row_fields, struct cc_job_row);

/* --- simulation --- */

/* clang-format off */
/* Blocks of floats are whole floats; a first block tells how long the transfer is. */
CC_JOB_CHECK(check_block, job->block_bytes % 4 == 0 && job->block_bytes != 4,
             "\"block_bytes\" must be 0, or a multiple of 4 from 8 on")
CC_JOB_CHECK(check_data, job->data || !cc_exchange_has(job->exchange, CC_X_LIBRARY),
             "the sums of \"mpi\" are the MPI library's own, which needs their bytes: "
             "simulate it with data, or take another exchange")
/* clang-format on */

static const struct cc_field simulation_fields[] = {
    {CC_SIZE(struct cc_job, block_bytes), 0, CC_JOB_WHOLE, .check = check_block,
     .help = "Transfers travel in blocks of this size, a multiple of 4 from 8 on; 0: as "
             "over TCP, 48 KiB."},
    {CC_BOOL(struct cc_job, rendezvous),
     .help = "Whether transfers may wait until their receiver is ready, as on a machine."},
    {CC_BOOL(struct cc_job, data), .check = check_data,
     .help = "Whether payloads are made and sent. If not, only their sizes are used, and every row "
             "needs `cost` and `sizes`. Not with `mpi`, whose sums are the MPI library's own."},
    {CC_NUMBER(struct cc_job, reduce_byte_s), 0, MOST_SECONDS,
     .help = "Seconds for adding a byte of floats to others; used where rows have `cost`."},
    {CC_NUMBER(struct cc_job, merge_byte_s), 0, MOST_SECONDS,
     .help = "Seconds for each byte of index-value pairs in memory, 8 a pair, that are added to "
             "others; used where rows have `cost`."},
    {CC_NUMBER(struct cc_job, apply_byte_s), 0, MOST_SECONDS,
     .help =
         "Seconds for adding a byte of a mean gradient to the model, where gradients are summed "
         "without encoding (fp32 without servers); used where rows have `cost`."},
};

static const struct cc_table simulation_table =
    CC_TABLE("`simulation`", simulation_fields, struct cc_job);

/* --- shaping --- */

static const struct cc_field shaping_fields[] = {
    {CC_NUMBER(struct cc_job_shaping, bw_bps), 1, MOST_BPS,
     .help = "The bandwidth each way, as tc counts frames."},
    {CC_SIZE(struct cc_job_shaping, burst_bytes), 1, MOST_QUEUE,
     .help = "The token bucket's size."},
    {CC_SIZE(struct cc_job_shaping, limit_bytes), 1, MOST_QUEUE, .help = "The queue's size."},
};

static const struct cc_table shaping_table =
    CC_TABLE("`shaping`", shaping_fields, struct cc_job_shaping);

/* --- calls --- */

static const struct cc_field call_fields[] = {
    {CC_NUMBER(struct cc_job_calls, limit_s), 1e-6, MOST_SECONDS,
     .help = "A row ends once its counted calls have taken so long together."},
    {CC_BOOL(struct cc_job_calls, check),
     .help = "Whether the result of a row's first call is compared with the MPI library's own sum "
             "of the same values."},
};

static const struct cc_table calls_table = CC_TABLE("`calls`", call_fields, struct cc_job_calls);

/* --- the job --- */

static bool is_sequential(const struct cc_job *job)
{
    return job->mode == CC_SEQUENTIAL;
}

/* clang-format off */
CC_JOB_CHECK(check_exchange, cc_exchange_has(job->exchange, CC_X_SERVERS) == (job->servers > 0),
             "\"servers\" is %d: \"ps\" needs servers, and nothing else has any", job->servers)
CC_JOB_CHECK(check_operation,
             job->op == CC_ALLREDUCE ||
                 (cc_exchange_has(job->exchange, CC_X_HALVES) && job->via == CC_VIA_HOPS),
             "\"op\" is \"%s\", which %s does not have", cc_operation_names[job->op],
             cc_exchange_names[job->exchange])
CC_JOB_CHECK(check_dense_bits, cc_job_takes_dense_bits(job->dense_bits),
             "\"dense_bits\" is %d: 32, 8, 4 or 2", job->dense_bits)
CC_JOB_CHECK(check_keep, job->keep == 0 || job->dense_bits == 32 ||
                         !cc_exchange_has(job->exchange, CC_X_DENSE_STAGE),
             "\"keep\" is %g: nothing gives back what \"dense_bits\" %d leaves out",
             job->keep, job->dense_bits)
CC_JOB_CHECK(check_colocated,
             !job->colocated || (job->servers >= 1 && job->servers <= job->workers &&
                                 cc_job_per_host(job) == 1),
             "\"colocated\" servers are on workers' hosts: %d servers, %d workers, %d on a host",
             job->servers, job->workers, cc_job_per_host(job))
CC_JOB_CHECK(check_per_host, cc_job_per_host(job) == 1 || job->workers % job->per_host == 0,
             "\"per_host\" is %d: %d workers leave a host part empty", job->per_host, job->workers)
CC_JOB_CHECK(check_pulls, !is_sequential(job) || job->pulls != CC_PULL_FORWARD,
             "\"pulls\" cannot be \"forward\" in a \"sequential\" step, which awaits "
             "each message's pull before it sends the next message")
CC_JOB_CHECK(check_shaping, job->device != NULL, "\"shaping\" needs a \"device\"")
CC_JOB_CHECK(check_calls, is_sequential(job) && job->data,
             "\"calls\" are timed one by one, with data: \"mode\" must be \"sequential\"")
CC_JOB_CHECK(check_errors, !job->errors || (is_sequential(job) && job->data),
             "\"errors\" are measured with data, between \"sequential\" steps")
CC_JOB_CHECK(check_workers, job->workers >= 2, "\"workers\" is 1: ping-pong needs two")
/* clang-format on */

static void repeats_range(const struct cc_scope *s, double *low, double *high)
{
    *low = 1;
    *high = floor(MOST_SAMPLES / (double)cc_job_of(s)->sizes);
}

static const struct cc_table factors_table = CC_SCALARS(CC_FIELD_NUMBER, double, MOST_SECONDS);
static const struct cc_table lengths_table = CC_SCALARS(CC_FIELD_SIZE, size_t, INT_MAX);

static const struct cc_field scheme_fields[] = {
    {CC_TEXT(struct cc_job_scheme, plugin), .optional = true,
     .help = "A scheme from a plugin: the path of its shared object, which is on every host "
             "([plugins.md](plugins.md))."},
    {CC_TEXT(struct cc_job_scheme, profiled), .optional = true,
     .help = "A scheme without code, of which only sizes and times are known: its id."},
};
static const struct cc_table scheme_table =
    CC_TABLE("A scheme", scheme_fields, struct cc_job_scheme);

static int check_schemes(const struct cc_scope *s, struct cc_error *e)
{
    const struct cc_job *job = cc_job_of(s);
    for (size_t i = 0; i < job->schemes; i++)
        if ((job->scheme[i].plugin == NULL) == (job->scheme[i].profiled == NULL))
            return cc_fail(e, "scheme %zu: either \"plugin\" or \"profiled\" must be there", i);
    return CC_OK;
}

#define IN_REPLAY   .when = in_replay, .condition = "in a replay"
#define IN_PINGPONG .when = in_pingpong, .condition = "in a ping-pong"

static const struct cc_field job_fields[] = {
    {WORD(struct cc_job, kind), .words = kinds,
     .help = "A trace, step by step; or messages between ranks 0 and 1."},
    {CC_INT(struct cc_job, workers), 1, MOST_WORKERS,
     .help = "Ranks 0 to `workers` - 1 are workers. At least 2 in a ping-pong."},
    {CC_INT(struct cc_job, servers), 0, MOST_SERVERS,
     .help = "The ranks after the workers are servers. 0 for every exchange but `ps`. There must "
             "be exactly `workers` + `servers` ranks."},
    {CC_INT(struct cc_job, per_host), 1, MOST_WORKERS, .optional = true, .check = check_per_host,
     .help = "Workers on each host, which `workers` is a multiple of: worker i is on host i / "
             "`per_host`. Not with colocated servers. If it is missing, 1."},
    {CC_BOOL(struct cc_job, yield_when_idle),
     .help = "Whether a rank that computes or waits sleeps in slices, for more ranks than cores; "
             "else it polls."},
    {CC_TEXT(struct cc_job, device), .high = IFNAMSIZ - 1, .optional = true,
     .help = "The network interface whose byte counters each rank reads."},
    {"shaping", CC_FIELD_OBJECT, CC_MEMBER(struct cc_job_shaping, struct cc_job, shaping),
     .table = &shaping_table, .check = check_shaping, .optional = true,
     .help = "How `device` is shaped with tc on every host while the job runs. There must be one "
             "rank on each host, as root."},
    {WORD(struct cc_job, exchange), .words = cc_exchange_names, .check = check_exchange, IN_REPLAY,
     .help = "As `--exchange`."},
    {CC_BOOL(struct cc_job, colocated), .optional = true, .check = check_colocated, IN_REPLAY,
     .help = "Whether server i is on the host of worker i. Then there are no more servers than "
             "workers."},
    {WORD(struct cc_job, via), .words = cc_via_names, IN_REPLAY, .help = "As `--via`."},
    {WORD(struct cc_job, op), .words = cc_operation_names, .optional = true, .when = halves,
     .check = check_operation, .condition = "if the exchange is a reduce-scatter and an all-gather",
     .help = "As `--op`; missing: allreduce."},
    {CC_TEXT(struct cc_job, gather), .optional = true, .when = stages,
     .condition = "if the exchange has stages",
     .help = "The scheme of sums in the last stage of `twoshot` and `hierarchical`, where payloads "
             "are decoded to be "
             "added; missing: the row's."},
    {WORD(struct cc_job, wire), .words = cc_wire_names, .when = merges,
     .condition = "if the exchange merges pairs",
     .help = "In which form pairs are sent ([wire.md](wire.md#streams)): as `--wire`."},
    {CC_INT(struct cc_job, dense_bits), 2, 32, .when = merges, .check = check_dense_bits,
     .condition = "if the exchange merges pairs",
     .help = "Bits of a value in a dense second stage (`dsar-split`, `ssar-auto`): 32, 8, 4 or 2."},
    {CC_NUMBER(struct cc_job, keep), 0, 1, .when = merges, .check = check_keep, .optional = true,
     .condition = "if the exchange merges pairs",
     .help = "The share of the values that the sums of index-value pairs keep "
             "([run.md](run.md#what-is-kept)); 0: everything. Not with a quantized second stage or "
             "`raw` tensors."},
    {WORD(struct cc_job, mode), .words = cc_step_names, IN_REPLAY, .help = "As `--mode`."},
    {WORD(struct cc_job, pulls), .words = cc_pull_names, .check = check_pulls, IN_REPLAY,
     .help = "When servers send pulls: each when its pushes are there, or all, the first layer's "
             "first, when the step's pushes are there. `\"ready\"` in a sequential step."},
    {CC_NUMBER(struct cc_job, compute_s), 0, MOST_SECONDS, IN_REPLAY,
     .help = "Seconds of a step's forward and backward pass."},
    {CC_NUMBER(struct cc_job, update_s), 0, MOST_SECONDS, IN_REPLAY,
     .help = "Seconds of a step's update."},
    {CC_NUMBER(struct cc_job, forward_share), 0, 1, IN_REPLAY,
     .help = "The forward pass's share of `compute_s`."},
    {CC_NUMBER(struct cc_job, hidden_share), 0, 1, IN_REPLAY,
     .help = "The share of `compute_s` that overlaps a sequential step's exchange."},
    {"seed", CC_FIELD_UINT64, CC_MEMBER(uint64_t, struct cc_job, seed), 0, MOST_COUNT, IN_REPLAY,
     .help = "The seed of all random numbers."},
    {"training", CC_FIELD_OBJECT, CC_MEMBER(struct cc_job_training, struct cc_job, training),
     .table = &cc_job_training_table, .optional = true, IN_REPLAY,
     .help = "Gradients from a training: its source."},
    {CC_TEXT(struct cc_job, trace), .optional = true, .when = without_training,
     .condition = "in a replay without `training`", .help = "Gradients from a trace: its path."},
    {"skip", CC_FIELD_LIST, CC_MEMBER(uint64_t *, struct cc_job, skip), .table = &cc_whole_numbers,
     .item = "number", .count = CC_MEMBER(size_t, struct cc_job, skips), .when = with_trace,
     .condition = "in a replay with a `trace`", .optional = true,
     .help = "Numbers of the trace's steps that are left out, of all its senders."},
    {WORD(struct cc_job, distribution), .words = cc_distribution_names, .when = without_trace,
     .condition = "in a replay without `training` and `trace`",
     .help = "Gradients drawn from a distribution."},
    {CC_NUMBER(struct cc_job, zeros), 0, 1, .when = without_trace,
     .condition = "in a replay without `training` and `trace`", .optional = true,
     .help = "The share of the drawn values that is zero instead."},
    {WORD(struct cc_job, indices), .words = cc_indices_names, .when = without_trace,
     .condition = "in a replay without `training` and `trace`", .optional = true,
     .help = "Where the other values lie: each by itself, or in runs of 64."},
    {CC_SIZE(struct cc_job, trace_steps), 1, MOST_STEPS, .when = without_training,
     .condition = "in a replay without `training`",
     .help = "How many different steps of gradients there are, used in turn."},
    {"slow", CC_FIELD_GROUPS, CC_MEMBER(double *, struct cc_job, slow), .table = &factors_table,
     .item = "factor", .count = CC_MEMBER(size_t, struct cc_job, slow_steps),
     .length = worker_count, .optional = true, IN_REPLAY,
     .help = "For each worker factors on `compute_s`, used in turn; all lists are equally long."},
    {"simulation", CC_FIELD_OBJECT, 0, .table = &simulation_table, .optional = true, IN_REPLAY,
     .help = "Settings of simulations only."},
    {CC_BOOL(struct cc_job, events), .optional = true, IN_REPLAY,
     .help = "Whether ranks report what they did when."},
    {CC_BOOL(struct cc_job, errors), .optional = true, .check = check_errors, IN_REPLAY,
     .help = "Whether ranks compare what they have applied with the gradients, after each step. "
             "Only with data, in `sequential` steps."},
    {"calls", CC_FIELD_OBJECT, CC_MEMBER(struct cc_job_calls, struct cc_job, calls),
     .table = &calls_table, .check = check_calls, .optional = true, IN_REPLAY,
     .help = "Rows time calls of the exchange, each on its own, instead of steps: `warmup` calls, "
             "and then up to `steps` that count."},
    {"consistency", CC_FIELD_OBJECT,
     CC_MEMBER(struct cc_job_consistency, struct cc_job, consistency),
     .table = &cc_job_consistency_table, .check = cc_job_check_consistency, .optional = true,
     IN_REPLAY, .help = "Which updates workers compute with; if it is missing, `bulk`."},
    {"tensors", CC_FIELD_LIST, CC_MEMBER(struct cc_job_tensor *, struct cc_job, tensor), 1,
     MOST_TENSORS, .table = &tensor_table, .item = "tensor",
     .count = CC_MEMBER(size_t, struct cc_job, tensors), .check = check_tensors, IN_REPLAY,
     .help = "In the net's order."},
    {"schemes", CC_FIELD_LIST, CC_MEMBER(struct cc_job_scheme *, struct cc_job, scheme),
     .table = &scheme_table, .item = "scheme", .count = CC_MEMBER(size_t, struct cc_job, schemes),
     .check = check_schemes, .optional = true, IN_REPLAY,
     .help = "Schemes that are not in the catalogue, which ranks add to it."},
    {"rows", CC_FIELD_LIST, CC_MEMBER(struct cc_job_row *, struct cc_job, row), 1,
     .table = &row_table, .item = "row", .count = CC_MEMBER(size_t, struct cc_job, rows), IN_REPLAY,
     .help = "One for each scheme, in the order in which they run."},
    {"sizes", CC_FIELD_LIST, CC_MEMBER(size_t *, struct cc_job, size), 1, .table = &lengths_table,
     .item = "number", .count = CC_MEMBER(size_t, struct cc_job, sizes), .check = check_workers,
     IN_PINGPONG, .help = "Bytes of each message."},
    {CC_SIZE(struct cc_job, repeats), 1, MOST_SAMPLES, .range = repeats_range, IN_PINGPONG,
     .help = "Round trips of each message; at most 2^24 in all."},
};

static const struct cc_job defaults = {.dense_bits = 32, .rendezvous = true, .data = true};
const struct cc_table cc_job_table = {.title = "The job",
                                      CC_FIELDS(job_fields),
                                      .bytes = sizeof(struct cc_job),
                                      .tag = "schema",
                                      .defaults = &defaults};
