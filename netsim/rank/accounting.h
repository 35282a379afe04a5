/* Accounting: the phases that a rank's time is charged to. Codecs charge themselves (cc_charge);
 * here is the rest: computing, updating and waiting, which are known only once they are over. */
#ifndef CC_NETSIM_RANK_ACCOUNTING_H
#define CC_NETSIM_RANK_ACCOUNTING_H

#include "netsim/rank/loop.h"

/* Seconds that exchanges have worked: codecs, of all phases, and updates. */
double cc_exchange_work_s(const struct cc_rank_loop *l);

/* Time in which a rank does nothing but wait and run codecs. */
struct cc_wait_timer {
    double since, codec_s;
};
struct cc_wait_timer cc_wait_begin(const struct cc_rank_loop *l);
/* Charges what no codec took to waiting. Returns a timer for the next wait, which begins now. */
struct cc_wait_timer cc_wait_end(struct cc_rank_loop *l, struct cc_wait_timer w);

/* Charges the time from l->clock until now to `phase`: computing that began late, or took too long,
 * is computing too. l->clock becomes now. */
void cc_charge_clock(struct cc_rank_loop *l, enum cc_phase phase);

/* The counted steps begin: times, and in another call bytes, count from here on. */
void cc_count_times(struct cc_rank_loop *l);
void cc_count_bytes(struct cc_rank_loop *l);

/* "ssar-split 20, ssar-recdouble 4": the exchanges that ssar-auto has chosen in the counted steps,
 * the most frequent first, as text that the caller frees. *out NULL: none. */
int cc_chosen_text(const struct cc_rank_loop *l, char **out, struct cc_error *e);

#endif
