/* One message, cut into chunks, followed from rank to rank and from round to round. For
 * models/exchange_*.c only. */
#ifndef CC_MODELS_EXCHANGE_FOLLOW_H
#define CC_MODELS_EXCHANGE_FOLLOW_H

#include "core/schedule.h"
#include "models/exchange_classes.h"

/* A schedule's ranks, which may be followed by some that stand for all: `alike` ranks from 0 on, as
 * ranks that are equal modulo `alike` do the same at the same time, to ranks that do, too. */
struct cc_followed {
    cc_schedule_builder *build;
    int alike;
};

/* Whether a message of the case is small enough a task to be followed, without token buckets. */
bool cc_can_follow(const struct cc_exchange_case *k, struct cc_followed by);

/* Seconds from the begin of a message to the end of the last rank's part in it, with the codec work
 * of exchanges that encode again on their way, and with the adding of floats. The message goes in
 * the cluster's number of chunks, of which a rank begins one after the other, each when its first
 * rounds in the one before are over. NAN if memory runs out. */
double cc_follow(const struct cc_exchange_case *k, struct cc_followed by);

#endif
