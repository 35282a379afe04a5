/* Steps whose states are sharded: the time of a step by its list of collectives
 * (core/collective.h). Each is costed by the formula of its exchange, on the part of the cluster
 * that it is among; a worker computes one unit after the other, and each class of collectives goes
 * in turn. docs/sharded.md. */
#ifndef CC_MODELS_SHARDED_H
#define CC_MODELS_SHARDED_H

#include "models/memory.h"
#include "models/predict.h"

static inline int cc_sharded_micro_steps(const struct cc_setting *s)
{
    return s->sharded.micro_steps > 1 ? s->sharded.micro_steps : 1;
}

/* Whether quantized gradients are added inside hosts first. */
static inline bool cc_sharded_has_levels(const struct cc_setting *s)
{
    bool levels = false;
    for (int i = 0; i < s->sharded.collectives.count; i++)
        levels |= s->sharded.collectives.item[i].levels;
    return levels;
}

/* Cuts the net into units, in its order: layers, which are neighbouring tensors whose names are
 * alike up to their first number; or, with timing.fuse_bytes of at least 0, tensors that have up to
 * so many bytes as float32, counted from the end of the net. unit[] has room for one for each
 * tensor. Returns their number. */
size_t cc_sharded_units(const struct cc_setting *s, struct cc_message *unit);

/* The same from the end of the net, as a job's rows have them. */
size_t cc_sharded_messages(const struct cc_setting *s, struct cc_message *message);

/* Checks a setting with collectives: its exchange, mode and cluster. CC_USAGE, naming the option.
 */
int cc_sharded_check(const struct cc_setting *s, struct cc_error *e);
/* Whether a reduce-scatter of parts of the values takes the payloads. */
int cc_sharded_check_payloads(const struct cc_setting *s, const struct cc_step_payloads *payloads,
                              struct cc_error *e);

/* The payload bytes of gradients that a worker encodes in a step, by those that all its gradients
 * have, which runs report as its push. */
double cc_sharded_encoded_share(const struct cc_setting *s,
                                const struct cc_step_payloads *payloads);
/* As cc_exchange_encodings, of the sums of gradients. */
double cc_sharded_encodings(const struct cc_setting *s, const struct cc_step_payloads *payloads);

struct cc_sharded_step {
    double step_s, exposed_s;
    struct cc_cost sum;                       /* of all messages of a step */
    double collective_s[CC_MOST_COLLECTIVES]; /* of each collective's messages together */
};
/* The time of a step that cc_sharded_check and cc_sharded_check_payloads allow. */
int cc_sharded_step(const struct cc_setting *s, const struct cc_step_payloads *payloads,
                    struct cc_sharded_step *out, struct cc_error *e);

/* By how much, relative to it, a step whose codecs work for `codec_s` may be longer than the
 * formula has it: measured beside simulations, which have one processor a worker. Where codecs work
 * for most of the step, ranks also wait for others whose codecs work; and of a flat exchange among
 * several hosts, whose workers share ports, payloads do not come together. 0: not more than 6%, or
 * 3% without overlap. */
double cc_sharded_off(const struct cc_setting *s, double step_s, double codec_s);

/* A message's time by itself: the sum of what its codecs do before, of its transfers, in rounds of
 * windows, and of what codecs do behind them or, unless it gathers, behind each round. Others work
 * beside the transfers: beside the first window of a round where it gathers, otherwise all. */
struct cc_message_time {
    double before_s, network_s, beside_s, behind_s;
    int rounds;     /* 0 counts as 1 */
    double windows; /* in a round; below 1 counts as 1 */
    bool gathers;
};
enum { CC_SHARDED_ROUNDS = 64, CC_SHARDED_WINDOWS = 64 };

/* The time of a plan whose messages take so long (time: collectives * units). All codecs of a
 * worker take turns on one processor, and a window begins when that is free; computing is
 * elsewhere, but the worker goes on behind it when its processor is free. share: of the computing
 * that a unit has. *exposed_s: for which the worker neither computes nor has a codec at work. */
int cc_sharded_time(const struct cc_collectives *c, const struct cc_step_plan *plan, size_t units,
                    const struct cc_message_time *time, const double *share,
                    const struct cc_timing *t, double *exposed_s, double *out, struct cc_error *e);

/* The states of a worker under the setting's system; `moments` of the optimizer, and `residuals` as
 * in struct cc_memory_plan. */
struct cc_memory cc_sharded_states(const struct cc_setting *s, enum cc_optimizer_moments moments,
                                   double residuals);

#endif
