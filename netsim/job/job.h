/* Jobs: all that the ranks of one run need to know, as a file. `commcomp run` and `sim` write it,
 * rank 0 of commcomp-rank reads it and spreads it. One job is one setting (exchange, cluster, step
 * mode) with a row for each scheme. docs/job.md describes the JSON. */
#ifndef CC_NETSIM_JOB_JOB_H
#define CC_NETSIM_JOB_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/exchange.h"
#include "core/tensor.h"

#define CC_JOB_SCHEMA "commcomp-job/2"

enum cc_job_kind {
    CC_JOB_REPLAY,  /* replay a trace, step by step */
    CC_JOB_PINGPONG /* messages of several sizes between ranks 0 and 1, for calibration */
};

/* A tensor of the step. In memory a step is one flat array: the tensors in the net's order, one
 * after the other. */
struct cc_job_tensor {
    char *name;
    struct cc_shape shape;
    double share; /* of the compute time; all sum to 1 */
    int server;   /* that keeps it; -1: cut evenly over all. 0 unless the exchange is ps */
    bool raw;     /* travels as fp32 whatever the scheme */
};

/* Tensors first .. last travel together. */
struct cc_job_message {
    size_t first, last;
};

/* Seconds of codec work on a whole tensor; of a part of it, in proportion. */
struct cc_job_cost {
    double encode_s, decode_s, add_s; /* of a worker's payload; add: decoding onto a sum */
    double pull_encode_s, pull_decode_s;
};

/* Payload bytes of whole tensors, for jobs without data. Who, which step: used in turn. A part of a
 * tensor has its part of the bytes. */
struct cc_job_sizes {
    bool fixed;     /* there is no need: every payload is as large as its scheme's bound */
    size_t workers; /* that differ */
    size_t sums;    /* of 1, 2, 4, ... workers' gradients, that are encoded on their way */
    size_t steps;
    uint32_t *push; /* [workers][steps][tensors] */
    uint32_t *pull; /* [steps][tensors]; NULL without servers */
    uint32_t *hop;  /* [sums][steps][tensors]; NULL where nothing is encoded on its way */
    double took_s;  /* to find them out; not in the file */
};

/* One scheme. The messages are in the order in which they leave: the end of the net first. */
struct cc_job_row {
    char *scheme;  /* canonical */
    bool sums;     /* an allreduce of floats can carry it: cc_sum_rounds is not 0 */
    size_t period; /* sends in one step of so many */
    /* Steps that are not counted, of which only the last period computes, and steps that are
     * counted; both whole periods. */
    size_t warmup, steps;
    struct cc_job_message *message;
    size_t messages;
    struct cc_job_cost *cost;  /* of each tensor; NULL: codecs take the time that they take */
    struct cc_job_sizes sizes; /* all 0 with data */
};

/* How tc shapes an interface, each way. */
struct cc_job_shaping {
    double bw_bps; /* as tc counts frames; 0: it is left as it is */
    size_t burst_bytes, limit_bytes;
};

struct cc_job {
    enum cc_job_kind kind;
    enum cc_exchange exchange; /* one that runs; by name in the file */
    int workers, servers;      /* servers: 0 unless the exchange is ps. Ranks 0 .. workers-1 work */
    enum cc_via via;
    enum cc_step_mode mode;
    enum cc_pulls pulls;
    double compute_s, update_s;
    double forward_share; /* of compute_s */
    double hidden_share;  /* sequential: of compute_s, that goes on beside the exchange */
    uint64_t seed;
    char *device;                  /* whose byte counters each rank reads; NULL: none */
    struct cc_job_shaping shaping; /* of device, on every host while the job runs */
    bool yield_when_idle; /* more ranks than cores: who waits sleeps in slices instead of polling */

    /* Simulations; on a machine: 0, true, true, 0. */
    size_t block_bytes;   /* transfers travel in messages of so many; 0: as on a machine */
    bool rendezvous;      /* transfers may wait for their receiver's word */
    bool data;            /* payloads are made and move; or else only their sizes do */
    double reduce_byte_s; /* adding floats, per byte; used where rows have costs */

    bool events; /* ranks report what they did when */

    /* Where gradients come from: a trace's path, or else a distribution. */
    char *trace;
    int distribution;   /* enum cc_distribution */
    size_t trace_steps; /* so many different steps, again and again */

    struct cc_job_tensor *tensor;
    size_t
        *offset; /* of each tensor in the flat step, and of its end: tensors + 1; not in the file */
    size_t tensors;
    double *slow; /* factors on compute_s: slow_steps for each worker, used in turn; NULL: all 1 */
    size_t slow_steps;
    struct cc_job_row *row;
    size_t rows;

    size_t *size; /* CC_JOB_PINGPONG: bytes of each message, and how often */
    size_t sizes, repeats;
};

/* Strict: what is missing, unknown, out of range or does not fit together is an error that names
 * it. *out is set on success only; free with cc_job_free. */
int cc_job_parse(const char *text, size_t length, struct cc_job *out, struct cc_error *e);
/* Fills in offset[] from the tensors; cc_job_parse does so itself. */
int cc_job_lay_out(struct cc_job *job, struct cc_error *e);
/* The JSON, to be freed. */
char *cc_job_text(const struct cc_job *job, struct cc_error *e);
/* Writes it, whole or not at all. */
int cc_job_write(const struct cc_job *job, const char *path, struct cc_error *e);
void cc_job_free(struct cc_job *job);
/* Also sets them to 0. */
void cc_job_sizes_free(struct cc_job_sizes *s);
/* Whether payloads of the row are decoded, added to and encoded again on their way. */
bool cc_job_row_hops(const struct cc_job *job, const struct cc_job_row *row);

/* Values of a step. */
static inline size_t cc_job_values(const struct cc_job *job)
{
    return job->offset[job->tensors];
}

#endif
