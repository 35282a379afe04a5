/* The fields of a job. A new one is a member of struct cc_job, or of a struct in it, and a line in
 * the table here. A table's order is the order in which fields are parsed and written: a condition,
 * a length or a check may read the fields above its own. */
#include "netsim/job/job_table.h"

#include <limits.h>
#include <math.h>
#include <net/if.h>

#include "core/trace/synth.h" /* cc_distribution_names */

static const char *const kinds[] = {"replay", "pingpong", NULL};
static const char *const ways[] = {"pair", "out", "in", NULL};

/* --- what a field's conditions and checks read --- */

/* clang-format off */
CC_JOB_CONDITION(in_replay, job->kind == CC_JOB_REPLAY)
CC_JOB_CONDITION(in_pingpong, job->kind == CC_JOB_PINGPONG)
CC_JOB_CONDITION(merges, job->kind == CC_JOB_REPLAY && cc_exchange_has(job->exchange, CC_X_MERGES))
CC_JOB_CONDITION(halves, job->kind == CC_JOB_REPLAY && cc_exchange_has(job->exchange, CC_X_HALVES))
CC_JOB_CONDITION(stages, job->kind == CC_JOB_REPLAY && cc_exchange_has(job->exchange, CC_X_STAGES))
CC_JOB_CONDITION(cuts, job->kind == CC_JOB_REPLAY && cc_exchange_has(job->exchange, CC_X_RECODES))
CC_JOB_CONDITION(has_inside,
                 job->kind == CC_JOB_REPLAY && cc_exchange_has(job->exchange, CC_X_INSIDE))
CC_JOB_CONDITION(is_sharded, job->kind == CC_JOB_REPLAY && job->sharded.collectives > 0)
CC_JOB_CONDITION(without_training, job->kind == CC_JOB_REPLAY && job->training.net == NULL)
CC_JOB_CONDITION(with_trace, without_training(s) && job->trace != NULL)
CC_JOB_CONDITION(without_trace, without_training(s) && job->trace == NULL)
CC_JOB_CONDITION(has_local_steps,
                 without_training(s) && job->training.local.steps > 0)
CC_JOB_CONDITION(may_train,
                 job->kind == CC_JOB_REPLAY &&
                     (job->training.net != NULL || job->training.local.steps == 0))
/* clang-format on */

static bool may_add_inside(const struct cc_scope *s)
{
    return has_inside(s) || is_sharded(s);
}

static size_t worker_count(const struct cc_scope *s)
{
    return (size_t)cc_job_of(s)->workers;
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
    {CC_INT(struct cc_job_tensor, server), -1, CC_JOB_MOST_SERVERS - 1, .range = server_range,
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
    {CC_NUMBER(struct cc_job, reduce_byte_s), 0, CC_JOB_MOST_SECONDS,
     .help = "Seconds for adding a byte of floats to others; used where rows have `cost`."},
    {CC_NUMBER(struct cc_job, merge_byte_s), 0, CC_JOB_MOST_SECONDS,
     .help = "Seconds for each byte of index-value pairs in memory, 8 a pair, that are added to "
             "others; used where rows have `cost`."},
    {CC_NUMBER(struct cc_job, apply_byte_s), 0, CC_JOB_MOST_SECONDS,
     .help =
         "Seconds for adding a byte of a mean gradient to the model, where gradients are summed "
         "without encoding (fp32 without servers); used where rows have `cost`."},
};

static const struct cc_table simulation_table =
    CC_TABLE("`simulation`", simulation_fields, struct cc_job);

/* --- shaping --- */

static const struct cc_field shaping_fields[] = {
    {CC_NUMBER(struct cc_job_shaping, bw_bps), 1, CC_JOB_MOST_BPS,
     .help = "The bandwidth each way, as tc counts frames."},
    {CC_SIZE(struct cc_job_shaping, burst_bytes), 1, CC_JOB_MOST_QUEUE,
     .help = "The token bucket's size."},
    {CC_SIZE(struct cc_job_shaping, limit_bytes), 1, CC_JOB_MOST_QUEUE,
     .help = "The queue's size."},
};

static const struct cc_table shaping_table =
    CC_TABLE("`shaping`", shaping_fields, struct cc_job_shaping);

/* --- calls --- */

static const struct cc_field call_fields[] = {
    {CC_NUMBER(struct cc_job_calls, limit_s), 1e-6, CC_JOB_MOST_SECONDS,
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

/* Whether the names of interfaces, with commas between them, are short enough. */
static bool names_fit(const char *list)
{
    while (list != NULL && strcspn(list, ",") < IFNAMSIZ) {
        list = strchr(list, ',');
        if (list != NULL)
            list++;
    }
    return list == NULL;
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
CC_JOB_CHECK(check_in_turn, !job->in_turn || (job->mode == CC_OVERLAP && job->servers == 0),
             "\"in_turn\" is of overlapped steps without servers")
CC_JOB_CHECK(check_per_host, cc_job_per_host(job) == 1 || job->workers % job->per_host == 0,
             "\"per_host\" is %d: %d workers leave a host part empty", job->per_host, job->workers)
CC_JOB_CHECK(check_pulls, !is_sequential(job) || job->pulls != CC_PULL_FORWARD,
             "\"pulls\" cannot be \"forward\" in a \"sequential\" step, which awaits "
             "each message's pull before it sends the next message")
CC_JOB_CHECK(check_device, names_fit(job->device),
             "\"device\": an interface's name has at most %d bytes", IFNAMSIZ - 1)
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
    *high = floor(CC_JOB_MOST_SAMPLES / (double)cc_job_of(s)->sizes);
}

static const struct cc_table factors_table =
    CC_SCALARS(CC_FIELD_NUMBER, double, CC_JOB_MOST_SECONDS);
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

#define LOCAL(member) CC_MEMBER(size_t, struct cc_job, training.local.member)
enum { MOST_MICRO_STEPS = 100000 };

static int check_micro_steps(const struct cc_scope *s, struct cc_error *e)
{
    const struct cc_job *job = cc_job_of(s);
    return job->micro_steps > 1 && job->mode == CC_PIPE
               ? cc_fail(e, "\"micro_steps\": steps of \"mode\" pipe have one each")
               : CC_OK;
}

#define IN_REPLAY   .when = in_replay, .condition = "in a replay"
#define IN_PINGPONG .when = in_pingpong, .condition = "in a ping-pong"

static const struct cc_field job_fields[] = {
    {CC_JOB_WORD(struct cc_job, kind), .words = kinds,
     .help = "A trace, step by step; or messages between ranks 0 and 1."},
    {CC_INT(struct cc_job, workers), 1, CC_JOB_MOST_WORKERS,
     .help = "Ranks 0 to `workers` - 1 are workers. At least 2 in a ping-pong."},
    {CC_INT(struct cc_job, servers), 0, CC_JOB_MOST_SERVERS,
     .help = "The ranks after the workers are servers. 0 for every exchange but `ps`. There must "
             "be exactly `workers` + `servers` ranks."},
    {CC_INT(struct cc_job, per_host), 1, CC_JOB_MOST_WORKERS, .optional = true,
     .check = check_per_host,
     .help = "Workers on each host, which `workers` is a multiple of: worker i is on host i / "
             "`per_host`. Not with colocated servers. If it is missing, 1."},
    {CC_BOOL(struct cc_job, yield_when_idle),
     .help = "Whether a rank that computes or waits sleeps in slices, for more ranks than cores; "
             "else it polls."},
    {CC_TEXT(struct cc_job, device), .high = CC_JOB_DEVICES * IFNAMSIZ - 1, .optional = true,
     .check = check_device,
     .help = "The network interface whose byte counters each rank reads, or several, separated by "
             "commas."},
    {"shaping", CC_FIELD_OBJECT, CC_MEMBER(struct cc_job_shaping, struct cc_job, shaping),
     .table = &shaping_table, .check = check_shaping, .optional = true,
     .help = "How `device` is shaped with tc on every host while the job runs. There must be one "
             "rank on each host, as root."},
    {CC_JOB_WORD(struct cc_job, exchange), .words = cc_exchange_names, .check = check_exchange,
     IN_REPLAY, .help = "As `--exchange`."},
    {CC_BOOL(struct cc_job, colocated), .optional = true, .check = check_colocated, IN_REPLAY,
     .help = "Whether server i is on the host of worker i. Then there are no more servers than "
             "workers."},
    {CC_JOB_WORD(struct cc_job, via), .words = cc_via_names, IN_REPLAY, .help = "As `--via`."},
    {CC_JOB_WORD(struct cc_job, op), .words = cc_operation_names, .optional = true, .when = halves,
     .check = check_operation, .condition = "if the exchange is a reduce-scatter and an all-gather",
     .help = "As `--op`; missing: allreduce."},
    {"sharded", CC_FIELD_OBJECT, CC_MEMBER(struct cc_job_sharded, struct cc_job, sharded),
     .table = &cc_job_sharded_table, .check = cc_job_check_sharded, .optional = true,
     .when = halves, .condition = "if the exchange is a reduce-scatter and an all-gather",
     .help =
         "Steps with sharded states: what is exchanged when ([sharded.md](sharded.md)). A row's "
         "messages are its units."},
    {CC_JOB_WORD(struct cc_job, dtype), .words = cc_element_names, .optional = true, IN_REPLAY,
     .help =
         "As `--dtype`: gradients are rounded to it, and raw tensors travel in it; missing: fp32."},
    {CC_TEXT(struct cc_job, gather), .optional = true, .when = stages,
     .condition = "if the exchange has stages",
     .help = "The scheme of sums in the last stage of `twoshot` and `hierarchical`, where payloads "
             "are decoded to be "
             "added; missing: the row's."},
    {CC_INT(struct cc_job, parts), 1, CC_MOST_CHUNKS, .optional = true, .when = cuts,
     .condition = "if the exchange encodes payloads again on their way",
     .help = "In how many parts, pipelined over its stages, a message is exchanged; missing: 1."},
    {CC_JOB_WORD(struct cc_job, inner_exchange), .words = cc_stage_exchange_names, .optional = true,
     .when = has_inside, .condition = "if the exchange reduces inside hosts first",
     .help = "How values move inside a host; missing: `twoshot`."},
    {CC_JOB_WORD(struct cc_job, outer_exchange), .words = cc_stage_exchange_names, .optional = true,
     .when = has_inside, .condition = "if the exchange reduces inside hosts first",
     .help = "The same between hosts."},
    {CC_TEXT(struct cc_job, intra_scheme), .optional = true, .when = may_add_inside,
     .condition = "if the exchange reduces inside hosts first, or with `sharded`",
     .help =
         "The scheme of what `hierarchical` adds inside hosts, where payloads are decoded to be "
         "added; missing: the row's."},
    {CC_JOB_WORD(struct cc_job, wire), .words = cc_wire_names, .when = merges,
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
    {CC_JOB_WORD(struct cc_job, mode), .words = cc_step_names, IN_REPLAY, .help = "As `--mode`."},
    {CC_JOB_WORD(struct cc_job, pulls), .words = cc_pull_names, .check = check_pulls, IN_REPLAY,
     .help = "When servers send pulls: each when its pushes are there, or all, the first layer's "
             "first, when the step's pushes are there. `\"ready\"` in a sequential step."},
    {CC_BOOL(struct cc_job, in_turn), .optional = true, .check = check_in_turn, IN_REPLAY,
     .help =
         "Whether a message is sent when those before it are over, as collectives of one stream "
         "are, and not beside them. It is encoded when it is computed. Only in `overlap`, and "
         "without servers."},
    {CC_NUMBER(struct cc_job, compute_s), 0, CC_JOB_MOST_SECONDS, IN_REPLAY,
     .help = "Seconds of a step's forward and backward pass."},
    {CC_NUMBER(struct cc_job, update_s), 0, CC_JOB_MOST_SECONDS, IN_REPLAY,
     .help = "Seconds of a step's update."},
    {CC_NUMBER(struct cc_job, forward_share), 0, 1, IN_REPLAY,
     .help = "The forward pass's share of `compute_s`."},
    {CC_INT(struct cc_job, micro_steps), 1, MOST_MICRO_STEPS, .optional = true, IN_REPLAY,
     .check = check_micro_steps,
     .help =
         "Micro-steps of a step, each of `compute_s`: gradients of all but the last one add up, "
         "or, with `sharded`, are exchanged as that says; missing: 1."},
    {CC_NUMBER(struct cc_job, hidden_share), 0, 1, IN_REPLAY,
     .help = "The share of `compute_s` that overlaps a sequential step's exchange."},
    {"seed", CC_FIELD_UINT64, CC_MEMBER(uint64_t, struct cc_job, seed), 0, CC_JOB_MOST_COUNT,
     IN_REPLAY, .help = "The seed of all random numbers."},
    {"local_steps", CC_FIELD_SIZE, LOCAL(steps), 0, CC_JOB_MOST_STEPS, .optional = true,
     .when = without_training, .condition = "without a training",
     .help = "Steps from one exchange to the next: a step of a row is that many, which take "
             "`compute_s` each. Missing: each step is exchanged."},
    {"local_parts", CC_FIELD_SIZE, LOCAL(parts), 1, CC_JOB_MOST_STEPS, .when = has_local_steps,
     .condition = "with `local_steps`",
     .help = "Messages that are exchanged in turn: as many as the row has, or 1, and all are "
             "exchanged together."},
    {"local_delay", CC_FIELD_SIZE, LOCAL(delay), 0, CC_JOB_MOST_STEPS, .when = has_local_steps,
     .condition = "with `local_steps`",
     .help = "Steps that are made beside an exchange: up to `local_steps`, and above 0 where "
             "`mode` is `overlap`."},
    {"training", CC_FIELD_OBJECT, CC_MEMBER(struct cc_job_training, struct cc_job, training),
     .table = &cc_job_training_table, .optional = true, .when = may_train,
     .condition = "in a replay, and has its own `local_steps`",
     .help = "Gradients from a training: its source."},
    {CC_TEXT(struct cc_job, trace), .optional = true, .when = without_training,
     .condition = "in a replay without `training`", .help = "Gradients from a trace: its path."},
    {"skip", CC_FIELD_LIST, CC_MEMBER(uint64_t *, struct cc_job, skip), .table = &cc_whole_numbers,
     .item = "number", .count = CC_MEMBER(size_t, struct cc_job, skips), .when = with_trace,
     .condition = "in a replay with a `trace`", .optional = true,
     .help = "Numbers of the trace's steps that are left out, of all its senders."},
    {CC_JOB_WORD(struct cc_job, distribution), .words = cc_distribution_names,
     .when = without_trace, .condition = "in a replay without `training` and `trace`",
     .help = "Gradients drawn from a distribution."},
    {CC_NUMBER(struct cc_job, zeros), 0, 1, .when = without_trace,
     .condition = "in a replay without `training` and `trace`", .optional = true,
     .help = "The share of the drawn values that is zero instead."},
    {CC_JOB_WORD(struct cc_job, indices), .words = cc_indices_names, .when = without_trace,
     .condition = "in a replay without `training` and `trace`", .optional = true,
     .help = "Where the other values lie: each by itself, or in runs of 64."},
    {CC_SIZE(struct cc_job, trace_steps), 1, CC_JOB_MOST_STEPS, .when = without_training,
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
     CC_JOB_MOST_TENSORS, .table = &tensor_table, .item = "tensor",
     .count = CC_MEMBER(size_t, struct cc_job, tensors), .check = check_tensors, IN_REPLAY,
     .help = "In the net's order."},
    {"schemes", CC_FIELD_LIST, CC_MEMBER(struct cc_job_scheme *, struct cc_job, scheme),
     .table = &scheme_table, .item = "scheme", .count = CC_MEMBER(size_t, struct cc_job, schemes),
     .check = check_schemes, .optional = true, IN_REPLAY,
     .help = "Schemes that are not in the catalogue, which ranks add to it."},
    {"rows", CC_FIELD_LIST, CC_MEMBER(struct cc_job_row *, struct cc_job, row), 1,
     .table = &cc_row_table, .item = "row", .count = CC_MEMBER(size_t, struct cc_job, rows),
     IN_REPLAY, .help = "One for each scheme, in the order in which they run."},
    {CC_JOB_WORD(struct cc_job, way), .words = ways, .optional = true, IN_PINGPONG,
     .help =
         "`pair`: messages between ranks 0 and 1; `out`: from rank 0 to all others at once, "
         "which answer with an empty one; `in`: from all others to rank 0, which asks them with "
         "an empty one. Missing: `pair`."},
    {"sizes", CC_FIELD_LIST, CC_MEMBER(size_t *, struct cc_job, size), 1, .table = &lengths_table,
     .item = "number", .count = CC_MEMBER(size_t, struct cc_job, sizes), .check = check_workers,
     IN_PINGPONG, .help = "Bytes of each message."},
    {CC_SIZE(struct cc_job, repeats), 1, CC_JOB_MOST_SAMPLES, .range = repeats_range, IN_PINGPONG,
     .help = "Round trips of each message; at most 2^24 in all."},
};

static const struct cc_job defaults = {.dense_bits = 32, .rendezvous = true, .data = true};
const struct cc_table cc_job_table = {.title = "The job",
                                      CC_FIELDS(job_fields),
                                      .bytes = sizeof(struct cc_job),
                                      .tag = "schema",
                                      .defaults = &defaults};
