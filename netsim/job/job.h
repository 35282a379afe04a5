/* Jobs: everything that the ranks of one run need to know, as a struct and as a file. `commcomp
 * run` and `sim` write a job; rank 0 of commcomp-rank reads it and broadcasts it. A job is one
 * setting (exchange, cluster, step mode) with a row for each scheme. job_table.c has the fields of
 * the file, which docs/job.md describes. */
#ifndef CC_NETSIM_JOB_JOB_H
#define CC_NETSIM_JOB_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/collective.h"
#include "core/element.h"
#include "core/error.h"
#include "core/exchange.h"
#include "core/tensor.h"
#include "train/local_steps.h"

#define CC_JOB_SCHEMA "commcomp-job/3"

/* Sequential steps of ranks on one machine begin this long after the last rank is ready
 * (cc_runtime_begin); links rest meanwhile. */
#define CC_JOB_PAUSE_S 2e-3

/* The parameter of mpirun with a host's interfaces, separated by commas, which its ranks use in
 * turn. Ranks find it in their environment, before MPI begins, as "OMPI_MCA_" and its name. */
#define CC_RANK_DEVICES "commcomp_devices"
enum { CC_JOB_DEVICES = 64 }; /* at most */

/* The deepest pipeline of a training, whose workers keep as many gradients and results. */
enum { CC_JOB_DEPTH = 64 };

/* The largest block: transfers are not cut, as MPI counts bytes as ints. */
#define CC_JOB_WHOLE ((size_t)1 << 30)

enum cc_job_kind {
    CC_JOB_REPLAY,  /* replay a trace, step by step */
    CC_JOB_PINGPONG /* messages of several sizes between ranks 0 and 1, for calibration */
};

/* The way of a ping-pong's messages. */
enum cc_job_way {
    CC_WAY_PAIR, /* to and fro between ranks 0 and 1; a time is half of a round trip */
    CC_WAY_OUT,  /* from rank 0 to all others at once, until all have answered */
    CC_WAY_IN    /* from all others to rank 0 at once, after it has asked them */
};

/* Members without a comment are described in job_table.c, here and below. */

/* A tensor of the step. In memory a step is one flat array: the tensors in the net's order, one
 * after the other. */
struct cc_job_tensor {
    char *name;
    struct cc_shape shape;
    double share;
    int server; /* -1: divided evenly among all */
    bool raw;
};

/* Seconds of codec work on a whole tensor; a part of it takes its part of them. */
struct cc_job_cost {
    double encode_s, decode_s, add_s, pull_encode_s, pull_decode_s;
};

/* The same of payloads that are sent inside a host to be added. */
struct cc_job_inner_cost {
    double encode_s, add_s;
};

/* Payload bytes of whole tensors, for jobs without data; a part of a tensor has its part of them.
 */
struct cc_job_sizes {
    bool fixed; /* the rest is 0 */
    size_t workers, steps, sums;
    uint64_t *push;  /* [workers][steps][tensors] */
    uint64_t *pull;  /* [steps][tensors]; or NULL, as the next two */
    uint64_t *hop;   /* [sums][steps][tensors] */
    uint64_t *pairs; /* [sums][steps][tensors] */
    double took_s;   /* time to find them; not in the file */
};

/* The exchange of a message with at most `pairs` index-value pairs in the gradients of all workers
 * together. */
struct cc_job_choice {
    size_t message; /* its index in the row */
    double pairs;
    enum cc_exchange exchange;
};

/* One scheme. The messages are in the order in which they leave: the end of the net first. */
struct cc_job_row {
    char *scheme;
    enum cc_reduction reduction;
    size_t period, warmup, steps;
    int parts; /* in which messages are exchanged; 0: the job's */
    struct cc_message *message;
    size_t messages;
    struct cc_job_choice *choice; /* only of exchanges with CC_X_CHOOSES; or NULL */
    size_t choices;
    struct cc_job_cost *cost; /* [tensors]; NULL: codecs take the time that they really take */
    double *sum_encode_s; /* [tensors]: the seconds of encoding a sum, where they are not those of
                             encoding a gradient; or NULL */
    struct cc_job_cost *weight_cost; /* [tensors], of parameters that are gathered; NULL: none */
    struct cc_job_inner_cost *inner_cost; /* likewise, with job->intra_scheme; NULL: those of `cost`
                                           */
    struct cc_job_sizes sizes;            /* all zeros with data */
};

/* How tc shapes an interface, each way. */
struct cc_job_shaping {
    double bw_bps; /* as tc counts frames; 0: not shaped */
    size_t burst_bytes, limit_bytes;
};

/* Rows that time calls of the exchange instead of steps: a row has `warmup` calls that do not
 * count, and then up to `steps` of them. */
struct cc_job_calls {
    double limit_s; /* a row's counted calls end once they have taken so long; 0: rows are steps */
    bool check;     /* the first result is compared with MPI_Allreduce of the same values */
};

/* Whether each worker keeps the optimizer's state of a part of the values alone (train/shard.h),
 * and what workers then gather. */
enum cc_shards {
    CC_SHARDS_NONE, /* every worker, or server, applies all that it receives */
    CC_SHARDS_WEIGHTS,
    CC_SHARDS_DIFFERENCES
};
extern const char *const cc_shards_names[]; /* ends with NULL */

/* A training that gradients come from (netsim/job/training.h). */
struct cc_job_training {
    char *net, *data;           /* net NULL: none */
    struct cc_task_config task; /* without what the job says otherwise */
    struct cc_optimizer optimizer;
    double clip;                  /* as in struct cc_learner_config */
    struct cc_rate_schedule rate; /* without steps, as a row has them, and drops: */
    uint64_t *drop;               /* or NULL */
    size_t drops;
    struct cc_local_config local; /* a step of the row is as many local steps */
    bool deltas;
    enum cc_shards shards; /* then `gather` is the scheme of what is gathered */
    char *pull;            /* the scheme of what servers send; NULL: the row's */
    bool emulated;
    size_t depth, sync_steps;
    size_t eval_every;
    size_t resumed;
    char *checkpoint, *settings; /* NULL: none */
    size_t checkpoint_every;
    char *capture; /* NULL: none */
    size_t capture_from, capture_to;
};

/* Which updates workers compute with, and when they push. Other than CC_BULK, servers apply each
 * push as it arrives, and send each worker all that has changed since its last pull
 * (netsim/exchange/ps_stale.c). */
struct cc_job_consistency {
    enum cc_consistency how;
    int staleness; /* CC_STALE */
    enum cc_communicate communicate;
    double growth; /* CC_AT_NORM */
};

/* Steps with sharded states: a list of collectives, whose units are a row's messages. */
struct cc_job_sharded {
    struct cc_collective *collective; /* NULL: none */
    size_t collectives;
    char *weights; /* the scheme of gathered parameters; NULL: as they are */
};

/* A scheme that ranks add to their catalogue (cc_job_schemes_add): one of both is not NULL. */
struct cc_job_scheme {
    char *plugin;   /* the path of a shared object */
    char *profiled; /* the id of a scheme without code */
};

struct cc_job {
    enum cc_job_kind kind;
    enum cc_exchange exchange; /* one that runs; by name in the file */
    int workers, servers;      /* ranks: workers first. Only exchanges with CC_X_SERVERS have any */
    int per_host;              /* workers of a host; 0: 1 */
    bool colocated;            /* server i is on the host of worker i */
    bool in_turn;              /* CC_OVERLAP: a message is sent when those before it are over, as
                                  collectives of one stream are; it is encoded when it is computed */
    enum cc_via via;
    enum cc_stage_exchange inner_exchange, outer_exchange; /* CC_X_INSIDE */
    enum cc_operation op;  /* other than CC_ALLREDUCE only of CC_X_HALVES */
    char *gather;          /* CC_X_STAGES: the scheme of sums; NULL: the row's */
    char *intra_scheme;    /* CC_X_INSIDE: that of gradients inside hosts; NULL: the row's */
    enum cc_element dtype; /* what gradients are: values are rounded to it, and its scheme sends
                              them as they are */
    int parts;             /* CC_X_RECODES: in which messages are exchanged; 0: 1 */
    /* Exchanges with CC_X_MERGES only; otherwise 0: */
    enum cc_wire wire;
    int dense_bits; /* bits of a value in dsar-split's second stage */
    double keep;    /* the share of the values that sums of pairs keep; 0: everything */
    struct cc_job_sharded sharded; /* of CC_X_HALVES, by cc_collective_exchange; or none */
    enum cc_step_mode mode;
    enum cc_pulls pulls;
    int micro_steps; /* of a step, each of compute_s; 0: 1. Without sharded states gradients are
                        exchanged in the last one */
    double compute_s, update_s;
    double forward_share; /* as a share of compute_s */
    double hidden_share;  /* as a share of compute_s */
    uint64_t seed;
    char *device;                  /* or several, separated by commas; or NULL */
    struct cc_job_shaping shaping; /* how tc shapes `device` */
    bool yield_when_idle;

    /* Simulations; on a machine: 0, true, true, 0, 0, 0, but for calls within one, whose transfers
     * are whole and do not wait. */
    size_t block_bytes; /* 0: as suits TCP (block_stream.h) */
    bool rendezvous;
    bool data; /* payloads are made and sent; otherwise only their sizes are used */
    double reduce_byte_s, merge_byte_s, apply_byte_s;

    bool events;
    bool errors;
    struct cc_job_calls calls;
    struct cc_job_consistency consistency;

    /* The source of gradients: a training, a trace's path, or else a distribution. */
    struct cc_job_training training;
    char *trace;
    int distribution;   /* enum cc_distribution */
    double zeros;       /* a distribution's share of zeros */
    int indices;        /* enum cc_indices; of a distribution */
    size_t trace_steps; /* different steps, used in turn */
    uint64_t *skip;     /* numbers of the trace's steps that are left out; NULL: none */
    size_t skips;

    struct cc_job_tensor *tensor;
    struct cc_job_scheme *scheme;
    size_t schemes;
    size_t *offset; /* [tensors + 1]: where each tensor begins in the flat step, and the step's end;
                       not in the file */
    size_t tensors;
    double *slow; /* [workers][slow_steps] factors on compute_s, used in turn; NULL: all are 1 */
    size_t slow_steps;
    struct cc_job_row *row;
    size_t rows;

    /* CC_JOB_PINGPONG: bytes of each message, and how often each is sent. */
    enum cc_job_way way;
    size_t *size;
    size_t sizes, repeats;
};

/* Parses a job strictly: a key that is missing, unknown, out of range or contradicts another is an
 * error that names it. *out is set on success only; free it with cc_job_free. */
int cc_job_parse(const char *text, size_t length, struct cc_job *out, struct cc_error *e);
/* Makes offset[] from the tensors, for jobs that were not parsed. A step of more than 2^40 values
 * is an error. */
int cc_job_lay_out(struct cc_job *job, struct cc_error *e);
/* The job as JSON, which the caller frees; NULL if memory runs out. */
char *cc_job_text(const struct cc_job *job, struct cc_error *e);
/* Schemes beside the catalogue's: a command has them from its options, and tells its ranks of them
 * in the job. `take` writes those that were added to this process's catalogue into a job that has
 * none; `add` adds the job's to this process's catalogue, where those that are there already stay.
 */
int cc_job_schemes_take(struct cc_job *job, struct cc_error *e);
int cc_job_schemes_add(const struct cc_job *job, struct cc_error *e);
/* Frees what a job owns and sets it to zeros; likewise its rows' sizes alone. */
void cc_job_free(struct cc_job *job);
void cc_job_sizes_free(struct cc_job_sizes *s);
/* Whether the row sends gradients as they are, by the scheme of their type. */
bool cc_job_row_plain(const struct cc_job *job, const struct cc_job_row *row);
/* The scheme of tensors that are raw: as they are, or, in sums and among pairs, float32. */
const char *cc_job_row_raw(const struct cc_job *job, const struct cc_job_row *row);
/* Whether the row's payloads are decoded, added to and encoded again on their way; and whether they
 * are index-value pairs that are merged on their way. */
bool cc_job_row_hops(const struct cc_job *job, const struct cc_job_row *row);
bool cc_job_row_merges(const struct cc_job *job, const struct cc_job_row *row);
/* Whether all that is done on their way is adding floats or merging pairs: no codec works there. */
bool cc_job_row_adds(const struct cc_job *job, const struct cc_job_row *row);

/* Whether the row sends nothing of this message in a step: one between two sending steps of a
 * scheme with local steps, and no raw tensor in the message. Codecs encode in silent steps too, so
 * that their residuals add up. */
bool cc_job_row_silent(const struct cc_job *job, const struct cc_job_row *row,
                       const struct cc_message *m, uint64_t step);

/* Whether a training with local steps leaves the row's message `i` out of a step: the parts of the
 * net take turns. Nothing of it is then encoded. */
bool cc_job_row_skips(const struct cc_job *job, size_t i, uint64_t step);

/* The number of times that the message was sent before `step`, in which it is sent. */
uint64_t cc_job_row_updates(const struct cc_job *job, const struct cc_job_row *row,
                            const struct cc_message *m, uint64_t step);

/* The number of steps of a training with mode CC_PIPE that have ended and whose gradients are not
 * applied yet, of the `ended` steps so far: the depth less 1, fewer at the beginning, and none
 * after the last. Other modes have none. */
size_t cc_job_delayed(const struct cc_job *job, const struct cc_job_row *row, uint64_t ended);

/* Whether a rank has the code for a second stage of `bits` bits a value. */
static inline bool cc_job_takes_dense_bits(double bits)
{
    return bits == 32 || bits == 8 || bits == 4 || bits == 2;
}

/* The choices of one message. */
struct cc_job_choices {
    const struct cc_job_choice *item;
    size_t count;
};
struct cc_job_choices cc_job_choices_of(const struct cc_job_row *row, size_t message);
/* The exchange for that many pairs of all workers. c->count > 0. */
enum cc_exchange cc_job_choose(const struct cc_job_choices *c, uint64_t pairs);

/* Whether all workers wait for the slowest in every step. */
static inline bool cc_job_bulk(const struct cc_job *job)
{
    return job->consistency.how == CC_BULK;
}

/* The parts in which a row's messages are exchanged. */
static inline size_t cc_job_parts(const struct cc_job *job, const struct cc_job_row *row)
{
    const int parts = row->parts > 0 ? row->parts : job->parts;
    return parts > 1 ? (size_t)parts : 1;
}

static inline int cc_job_per_host(const struct cc_job *job)
{
    return job->per_host > 1 ? job->per_host : 1;
}

/* The accelerators, and hosts without any, that the ranks are on: rank i is at place i, colocated
 * servers at those of the workers. */
static inline int cc_job_places(const struct cc_job *job)
{
    return job->workers + (job->colocated ? 0 : job->servers);
}

static inline int cc_job_place(const struct cc_job *job, int rank)
{
    return job->colocated && rank >= job->workers ? rank - job->workers : rank;
}

/* The hosts: those of the workers, and then a host for each server that has its own. */
static inline int cc_job_hosts(const struct cc_job *job)
{
    return job->workers / cc_job_per_host(job) + (job->colocated ? 0 : job->servers);
}

static inline int cc_job_host(const struct cc_job *job, int rank)
{
    const int place = cc_job_place(job, rank), per_host = cc_job_per_host(job);
    return place < job->workers ? place / per_host : place - job->workers + job->workers / per_host;
}

/* The step's collectives; none without sharded states. */
static inline struct cc_collectives cc_job_collectives(const struct cc_job *job)
{
    struct cc_collectives list = {.count = (int)job->sharded.collectives};
    for (size_t i = 0; i < job->sharded.collectives && i < CC_MOST_COLLECTIVES; i++)
        list.item[i] = job->sharded.collective[i];
    return list;
}

/* Whether a training's workers forget the parameters that they have gathered when they have used
 * them. */
static inline bool cc_job_forgets(const struct cc_job *job)
{
    return job->sharded.collectives > 0 && job->training.shards == CC_SHARDS_WEIGHTS;
}

/* The values of a step. */
static inline size_t cc_job_values(const struct cc_job *job)
{
    return job->offset[job->tensors];
}

#endif
