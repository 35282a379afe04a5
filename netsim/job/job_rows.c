/* The fields of a job's rows: messages, the times of codecs and the sizes of payloads. */
#include "netsim/job/job_table.h"

/* clang-format off */
CC_JOB_CONDITION(chooses, job->kind == CC_JOB_REPLAY && cc_exchange_has(job->exchange, CC_X_CHOOSES))
CC_JOB_CONDITION(is_sharded, job->kind == CC_JOB_REPLAY && job->sharded.collectives > 0)
CC_JOB_CONDITION(cuts, job->kind == CC_JOB_REPLAY && cc_exchange_has(job->exchange, CC_X_RECODES))
CC_JOB_CONDITION(without_data, !job->data)
/* clang-format on */

static size_t tensor_count(const struct cc_scope *s)
{
    return cc_job_of(s)->tensors;
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
    {CC_SIZE(struct cc_job_sizes, workers), 1, CC_JOB_MOST_WORKERS, .when = sizes_differ,
     .condition = "if not `fixed`",
     .help = "Workers with sizes of their own; worker w has those of worker w modulo `workers`."},
    {CC_SIZE(struct cc_job_sizes, steps), 1, CC_JOB_MOST_WORKERS, .when = sizes_differ,
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
    {CC_NUMBER(struct cc_job_cost, encode_s), 0, CC_JOB_MOST_SECONDS,
     .help = "Encoding a worker's payload."},
    {CC_NUMBER(struct cc_job_cost, decode_s), 0, CC_JOB_MOST_SECONDS,
     .help = "Decoding a worker's payload."},
    {CC_NUMBER(struct cc_job_cost, add_s), 0, CC_JOB_MOST_SECONDS,
     .help = "Decoding a worker's payload onto a sum."},
    {CC_NUMBER(struct cc_job_cost, pull_encode_s), 0, CC_JOB_MOST_SECONDS,
     .help = "Encoding a pull."},
    {CC_NUMBER(struct cc_job_cost, pull_decode_s), 0, CC_JOB_MOST_SECONDS,
     .help = "Decoding a pull."},
};

static const struct cc_table cost_table = {.title = "A tensor's `cost`, a list of five numbers of "
                                                    "seconds; a part of a tensor has its part",
                                           CC_FIELDS(cost_fields),
                                           .bytes = sizeof(struct cc_job_cost),
                                           .form = CC_FORM_TUPLE};

static const struct cc_field inner_cost_fields[] = {
    {CC_NUMBER(struct cc_job_inner_cost, encode_s), 0, CC_JOB_MOST_SECONDS,
     .help = "Encoding a payload that stays inside a host."},
    {CC_NUMBER(struct cc_job_inner_cost, add_s), 0, CC_JOB_MOST_SECONDS,
     .help = "Decoding it onto a sum."},
};

static const struct cc_table seconds_table =
    CC_SCALARS(CC_FIELD_NUMBER, double, CC_JOB_MOST_SECONDS);

static const struct cc_table inner_cost_table = {
    .title = "A tensor's `inner_cost`, a list of two numbers of seconds",
    CC_FIELDS(inner_cost_fields),
    .bytes = sizeof(struct cc_job_inner_cost),
    .form = CC_FORM_TUPLE};

static const struct cc_field message_fields[] = {
    {CC_SIZE(struct cc_message, first), 0, CC_JOB_MOST_COUNT,
     .help = "The message's first tensor."},
    {CC_SIZE(struct cc_message, last), 0, CC_JOB_MOST_COUNT, .help = "The message's last tensor."},
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
    {CC_SIZE(struct cc_job_choice, message), 0, CC_JOB_MOST_COUNT,
     .help = "The message, counted from 0."},
    {CC_NUMBER(struct cc_job_choice, pairs), 0, CC_JOB_MOST_COUNT,
     .help = "The most index-value pairs in the gradients of all workers together."},
    {CC_JOB_WORD(struct cc_job_choice, exchange), .words = cc_exchange_names,
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
    {CC_JOB_WORD(struct cc_job_row, reduction), .words = cc_reduction_names,
     .check = check_reduction,
     .help = "How the scheme's payloads can be reduced: `sum` if an allreduce of floats can carry "
             "them, in one round or several ([payloads.md](payloads.md), Rounds), `merge` if they "
             "are index-value pairs, otherwise `decode`."},
    {CC_SIZE(struct cc_job_row, period), 1, CC_JOB_MOST_STEPS,
     .help = "The scheme sends in the last of `period` steps."},
    {CC_SIZE(struct cc_job_row, warmup), 0, CC_JOB_MOST_STEPS,
     .help = "Steps that are not counted, a multiple of `period`; only the last period of them "
             "computes."},
    {CC_SIZE(struct cc_job_row, steps), 1, CC_JOB_MOST_STEPS, .check = check_steps,
     .help = "Steps that are counted, a multiple of `period`; of a training, all."},
    {CC_INT(struct cc_job_row, parts), 1, CC_MOST_CHUNKS, .optional = true, .when = cuts,
     .condition = "if the exchange encodes payloads again on their way",
     .help = "As `parts` of the job, of this row alone; missing: the job's."},
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
    {"sum_encode_s", CC_FIELD_LIST, CC_MEMBER(double *, struct cc_job_row, sum_encode_s), 0,
     CC_JOB_MOST_SECONDS, .table = &seconds_table, .item = "number", .length = tensor_count,
     .optional = true,
     .help = "Seconds of encoding a sum of several workers' gradients of each tensor, where that "
             "takes another time than encoding a gradient; missing: as `cost`."},
    {"weight_cost", CC_FIELD_LIST, CC_MEMBER(struct cc_job_cost *, struct cc_job_row, weight_cost),
     .table = &cost_table, .item = "cost", .length = tensor_count, .optional = true,
     .when = is_sharded, .condition = "with `sharded`",
     .help = "The same of the scheme of parameters; missing: no time."},
    {"inner_cost", CC_FIELD_LIST,
     CC_MEMBER(struct cc_job_inner_cost *, struct cc_job_row, inner_cost),
     .table = &inner_cost_table, .item = "cost", .length = tensor_count, .optional = true,
     .help = "The same of the job's `intra_scheme`; missing: as `cost`."},
    {"sizes", CC_FIELD_OBJECT, CC_MEMBER(struct cc_job_sizes, struct cc_job_row, sizes),
     .table = &cc_sizes_table, .when = without_data, .condition = "without data",
     .help = "How long payloads are."},
};

const struct cc_table cc_row_table = CC_TABLE("A row", row_fields, struct cc_job_row);
