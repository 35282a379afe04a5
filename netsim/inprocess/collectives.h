/* The collectives of a step with sharded states (core/collective.h) in one process, which plays all
 * workers in turn: what each receives is what it receives over MPI, bit for bit. */
#ifndef CC_NETSIM_INPROCESS_COLLECTIVES_H
#define CC_NETSIM_INPROCESS_COLLECTIVES_H

#include "netsim/exchange/pack/pack.h"
#include "netsim/inprocess/inprocess.h"
#include "netsim/job/job.h"

struct cc_inprocess_collectives;

/* Opens those of job->sharded for the row, whose messages are the units; spec and raw as in struct
 * cc_inprocess_config. Close it with cc_inprocess_collectives_close, which NULL is allowed for. */
int cc_inprocess_collectives_open(const struct cc_job *job, const struct cc_job_row *row,
                                  const struct cc_spec *spec, const struct cc_spec *raw,
                                  struct cc_inprocess_collectives **out, struct cc_error *e);
void cc_inprocess_collectives_close(struct cc_inprocess_collectives *x);

/* Number i of the list in a step: each worker contributes in[worker], and what it receives is added
 * to out[worker], both flat steps; out[worker] NULL: it only contributes. Adds what is sent to
 * *sent; NULL: it is not counted. CC_DIVERGED as cc_inprocess_exchange. */
int cc_inprocess_collective(struct cc_inprocess_collectives *x, int i, uint64_t step,
                            const float *const *in, float *const *out,
                            struct cc_inprocess_step *sent, struct cc_error *e);

/* As cc_inprocess_packs. */
const struct cc_pack_list *cc_inprocess_collectives_packs(const struct cc_inprocess_collectives *x,
                                                          int worker);

#endif
