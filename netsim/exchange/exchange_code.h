/* The code of an exchange. Each file of an exchange defines its `cc_exchange_code_SYMBOL`; one that
 * is missing does not link. */
#ifndef CC_NETSIM_EXCHANGE_EXCHANGE_CODE_H
#define CC_NETSIM_EXCHANGE_EXCHANGE_CODE_H

#include "core/exchange.h"
#include "netsim/exchange/rank_state.h"
#include "core/schedule.h"

/* As cc_exchange_open. */
typedef int cc_exchange_opener(struct cc_rank_state *s, const struct cc_message *m, size_t index,
                               void **out, struct cc_error *e);

struct cc_exchange_ops {
    int (*start)(void *x, struct cc_error *e);
    int (*test)(void *x, bool *done, struct cc_error *e);
    void (*close)(void *x); /* frees it, also if it could not be opened wholly */
};

struct cc_exchange_kind {
    struct cc_exchange_ops ops;
    size_t bytes;                             /* size of an open exchange */
    int (*open)(void *x, struct cc_error *e); /* opens what is behind its head */
};

/* The beginning of an open exchange. */
struct cc_exchange_head {
    const struct cc_exchange_ops *ops;
    struct cc_rank_state *s;
    const struct cc_message *message;
    size_t index;               /* the message's place in the row */
    size_t channel;             /* tells its tags and rooms apart from those of others */
    struct cc_range range;      /* its values, or those of its part */
    bool passed;                /* in this step: its first group of rounds is over */
    cc_schedule_builder *build; /* NULL: no schedule */
};

/* Which ranks need the whole sums where only rank 0 of a process applies them. */
enum cc_sums {
    CC_SUMS_FOR_ALL,
    CC_SUMS_FOR_FIRST,
    CC_SUMS_TREE /* as before, and a rank's sum does not depend on what it sends: of ranks that
                    would make the same sum, one is enough */
};

/* This rank's schedule; its rounds are to be freed, also on failure. */
int cc_exchange_schedule(const struct cc_rank_state *s, cc_schedule_builder *build,
                         enum cc_sums sums, struct cc_schedule *out, struct cc_error *e);

/* The code of an exchange. One of the first three opens its messages. */
struct cc_exchange_code {
    cc_schedule_builder *schedule; /* with the reduction that the row and the job ask for */
    const struct cc_exchange_kind *kind;
    cc_exchange_opener *open;
    const struct cc_exchange_kind *unsynced; /* where steps are not bulk synchronous; NULL: it has
                                                no such steps */
};

/* Makes an exchange of one message: all zeros but its head, then kind->open. *out is set on success
 * only. */
int cc_exchange_make(const struct cc_exchange_kind *kind, struct cc_rank_state *s,
                     const struct cc_message *m, size_t index, cc_schedule_builder *build,
                     void **out, struct cc_error *e);

/* The same of some of the message's values, over a channel of its own. */
int cc_exchange_make_part(const struct cc_exchange_kind *kind, struct cc_rank_state *s,
                          const struct cc_message *m, size_t index, size_t channel,
                          struct cc_range range, cc_schedule_builder *build, void **out,
                          struct cc_error *e);
/* An exchange of the message in job->parts parts: each begins when the one before has ended its
 * first group of rounds, so that the parts are in different stages at the same time (parts.c). */
int cc_exchange_make_parts(const struct cc_exchange_kind *kind, struct cc_rank_state *s,
                           const struct cc_message *m, size_t index, cc_schedule_builder *build,
                           void **out, struct cc_error *e);

/* Reductions: what happens to the chunks that a schedule moves. */
extern const struct cc_exchange_kind
    cc_reduce_sum,      /* payloads are floats, which are added as they are */
    cc_reduce_recode,   /* payloads are decoded, added to, and encoded again at every hop */
    cc_reduce_merge,    /* payloads are index-value pairs, which are added value by value */
    cc_allgather_bruck; /* no chunks: every rank gets every payload, and decodes them all */

/* cc_exchange_code_SYMBOL, of every line in core/exchange.h. */
#define CC_EXCHANGE_CODE(id, symbol, ...)                                                          \
    extern const struct cc_exchange_code cc_exchange_code_##symbol;
CC_EXCHANGES(CC_EXCHANGE_CODE)
#undef CC_EXCHANGE_CODE

#endif
