/* Exchanges for real: how one message's payloads move and are reduced, over MPI. One exchange is
 * one file and one line in exchange.c. Nothing blocks: who calls start calls test until it says
 * done; SMPI has no threads inside a rank, and Open MPI makes no progress while a rank sleeps. */
#ifndef CC_NETSIM_MPI_EXCHANGE_EXCHANGE_H
#define CC_NETSIM_MPI_EXCHANGE_EXCHANGE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "netsim/message/pack.h"
#include "netsim/job/job.h"
#include "netsim/mpi/exchange/event_log.h"
#include "netsim/mpi/runtime/runtime.h"
#include "netsim/job/phase.h"

/* What a rank counts, from the beginning of a row's counted steps. */
struct cc_counters {
    double phase_s[CC_PHASES];
    uint64_t payload_bytes; /* encoded by this rank: a worker's push, a server's pull (once, not for
                               every worker); hops not counted */
    uint64_t head_bytes;    /* the crates' heads of these */
    uint64_t sent_bytes;    /* handed to MPI for other ranks, with heads: all messages, all hops */
    uint64_t messages;      /* so many of them */
    uint64_t *tensor_bytes; /* payload_bytes by tensor; NULL: nobody asks */
};

/* One rank's place in one row. */
struct cc_rank_state {
    MPI_Comm comm;
    int rank; /* workers first, then servers */
    bool server;
    const struct cc_job *job;
    const struct cc_job_row *row;
    const struct cc_spec *spec, *raw; /* the row's scheme, and fp32 */
    uint64_t step;                    /* set before start */
    const float *gradient; /* flat step: what a worker adds to the sum. Set before start, unchanged
                              until done */
    float *model; /* flat step: what comes back is added to it. Mean over the workers of what they
                     encoded */
    struct cc_counters counters;
    struct cc_event_log *events; /* or NULL */
    struct cc_waits waits;       /* all that is under way */
    struct {
        size_t arrived, pulled; /* messages of this step: whose pushes are all there, whose pull is
                                   on its way. For ps alone */
    } round_state;
};

/* Ends a stint of work that costs so much (cc_work_end) and charges it to a phase. */
void cc_charge(struct cc_rank_state *s, enum cc_phase phase, struct cc_work_timer since,
               double cost_s);

/* Takes note of one end of a transfer of message `index`: it begins to leave, or it has come. */
void cc_note_sent(struct cc_rank_state *s, size_t index, int peer, size_t bytes);
void cc_note_came(struct cc_rank_state *s, size_t index, int peer, size_t bytes);

struct cc_exchange_ops {
    const char *name;
    /* For one message of the row, on every rank of the communicator, in the same order; codecs
     * begin with fresh states. *out is set on success only. `index` counts the row's messages and
     * tells their MPI tags apart. */
    int (*open)(struct cc_rank_state *s, const struct cc_job_message *m, size_t index, void **out,
                struct cc_error *e);
    /* Begins the exchange of s->step: a worker encodes its gradient, a server posts receives. */
    int (*start)(void *x, struct cc_error *e);
    /* Goes on as far as it can without waiting, or less, and then sets s->waits.more; *done: all
     * that this rank has to do is done. */
    int (*test)(void *x, bool *done, struct cc_error *e);
    void (*close)(void *x);
};

/* NULL if there is none of that name. */
const struct cc_exchange_ops *cc_exchange_ops_find(const char *name);

/* Whether the row sends nothing of this message in s->step (local steps, no raw tensor). Codecs
 * must encode all the same, so that what is not sent piles up. */
bool cc_silent(const struct cc_rank_state *s, const struct cc_job_message *m);

/* Without data there are no gradients, no model, no sums and no payloads: NULL in their place, and
 * for any place in them; messages then come from and go to where nobody looks. */
#define CC_OFFSET_OR_NULL(list, i) ((list) != NULL ? (list) + (i) : NULL)
/* Room for so many bytes, or NULL without data. */
int cc_data_alloc(const struct cc_rank_state *s, size_t bytes, uint8_t **out, struct cc_error *e);
/* For MPI, which may only read it if it is to be sent. */
void *cc_mpi_buffer(const uint8_t *bytes);

/* CC_OK, or CC_FAIL with MPI's own text. */
int cc_mpi_check(int code, const char *what, struct cc_error *e);

#endif
