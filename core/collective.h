/* Collectives: the operations by which the workers of a step exchange gradients and parameters, as
 * a list, and the order in which a worker computes, begins them and waits for them. Formulas and
 * ranks go through the same plan.
 *
 * The net is cut into units, in its order: a unit's parameters are gathered, and its gradients
 * reduced, at a time. A message is a unit of a collective; its number is collective * units + unit.
 *
 * ZeRO: Rajbhandari et al., SC 2020. FSDP: Zhao et al., VLDB 2023, section 4: a unit is gathered
 * before its forward and before its backward pass, one unit ahead. */
#ifndef CC_CORE_COLLECTIVE_H
#define CC_CORE_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "core/exchange.h"

enum cc_moved {
    CC_MOVES_GRADIENTS,
    CC_MOVES_PARAMETERS,
    CC_MOVES_DIFFERENCES /* of the parameters to the copy that all workers have */
};
extern const char *const cc_moved_names[]; /* ends with NULL, as the next ones */

/* The workers that a collective is among. */
enum cc_among {
    CC_AMONG_ALL,
    CC_AMONG_HOST, /* those of a host */
    CC_AMONG_HOSTS /* those of equal local number, one on each host */
};
extern const char *const cc_among_names[];

enum cc_when {
    CC_WHEN_UPDATED,  /* after the optimizer: a step begins with it */
    CC_WHEN_FORWARD,  /* before a unit's forward pass */
    CC_WHEN_BACKWARD, /* before a unit's backward pass */
    CC_WHEN_COMPUTED  /* once the backward pass has a unit's gradients */
};
extern const char *const cc_when_names[];

/* The scheme that a collective's payloads have. */
enum cc_scheme_role {
    CC_ROLE_PLAIN,    /* values as they are */
    CC_ROLE_GRADIENT, /* --scheme */
    CC_ROLE_WEIGHT    /* --weight-scheme */
};
extern const char *const cc_scheme_role_names[];

struct cc_collective {
    enum cc_moved what;
    enum cc_operation op;
    enum cc_among among;
    enum cc_when when;
    enum cc_scheme_role role;
    bool levels;  /* gradients are added inside hosts first, in a stage of its own (hierarchical) */
    bool follows; /* of a unit, it needs the result of the collective before it in the list */
    bool ahead;   /* CC_WHEN_UPDATED: a unit waits for its own parameters only; otherwise the
                     forward pass waits for all */
    bool last;    /* of gradients: in the last micro-step only, and they add up until then */
};

enum { CC_MOST_COLLECTIVES = 4 };
struct cc_collectives {
    struct cc_collective item[CC_MOST_COLLECTIVES];
    int count; /* 0: gradients are exchanged as the setting's exchange does it */
};

/* A collective's name in a few words: "all-gather of parameters among all, before forward". */
void cc_collective_print(const struct cc_collective *c, char *out, size_t cap);

/* Collectives of one class begin in their order, each when the one before has ended: those inside
 * hosts, and the others. */
enum { CC_COLLECTIVE_QUEUES = 2 };
static inline int cc_collective_queue(const struct cc_collective *c)
{
    return c->among == CC_AMONG_HOST ? 0 : 1;
}

/* The exchange that carries it where the step's is `own`. Payloads that are `coded` are decoded to
 * be added: they go by two-shot where a ring would encode them at every hop, and in two levels if
 * the collective has them and hosts have several workers. Values that are only gathered are encoded
 * once by any exchange. Groups of one class of links have no levels. */
enum cc_exchange cc_collective_exchange(const struct cc_collective *c, enum cc_exchange own,
                                        bool several, bool coded);

/* Leaves out the gathering before the backward pass, as what is gathered before the forward pass is
 * kept; false: there is none. */
bool cc_collectives_keep(struct cc_collectives *c);

/* --- plans --- */

enum cc_action_kind { CC_ACT_FORWARD, CC_ACT_BACKWARD, CC_ACT_START, CC_ACT_WAIT, CC_ACT_UPDATE };

struct cc_action {
    enum cc_action_kind act;
    size_t item; /* a unit, or a message */
};

/* The actions of a worker in a step, from the first gathering after an update to the next update.
 */
struct cc_step_plan {
    struct cc_action *action; /* to be freed */
    size_t count, capacity;
};

/* Makes the plan of a step of so many micro-steps, each of which computes all units. Without
 * `overlaps`, a worker waits for each collective that it has begun. Free *out by
 * cc_step_plan_free, also after an error. */
int cc_step_plan_make(const struct cc_collectives *c, size_t units, int micro_steps, bool overlaps,
                      struct cc_step_plan *out, struct cc_error *e);
void cc_step_plan_free(struct cc_step_plan *p);

/* How often a step begins each message of a collective. */
int cc_collective_times(const struct cc_collective *c, int micro_steps);

#endif
