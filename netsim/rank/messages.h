/* The messages of a row: starting their exchanges, and moving those that are under way. */
#ifndef CC_NETSIM_RANK_MESSAGES_H
#define CC_NETSIM_RANK_MESSAGES_H

#include "netsim/rank/loop.h"

/* Sets the step whose gradient the next messages exchange; none may be under way. The step has
 * begun in the source. */
void cc_messages_take_step(struct cc_rank_loop *l, size_t step);

int cc_message_start(struct cc_rank_loop *l, size_t i, struct cc_error *e);
/* With sharded states: starts a message once those before it in its queue are over. */
int cc_message_ask(struct cc_rank_loop *l, size_t i, struct cc_error *e);
/* Starts all messages that `step` does not skip. */
int cc_messages_start(struct cc_rank_loop *l, size_t step, struct cc_error *e);

/* A pipe: starts the messages of the next step that is computed, if none are under way. */
int cc_messages_start_next(struct cc_rank_loop *l, struct cc_error *e);

/* Lets every message under way make progress, without waiting. The messages of a pipe's next step
 * begin when none are under way any more; make progress again before a wait then (l->exchanged has
 * grown). */
int cc_messages_progress(struct cc_rank_loop *l, struct cc_error *e);

/* Waits until message i is done, or, with i == l->messages, until all are. */
int cc_messages_finish(struct cc_rank_loop *l, size_t i, struct cc_error *e);

/* The same, charged to waiting but for what codecs work. */
int cc_messages_await(struct cc_rank_loop *l, size_t i, struct cc_error *e);

/* For a pipe: waits until the exchanges of `steps` steps have begun. */
int cc_messages_reach(struct cc_rank_loop *l, size_t steps, struct cc_error *e);

#endif
