/* The messages of a step, for models/predict.c. */
#ifndef CC_MODELS_MESSAGES_H
#define CC_MODELS_MESSAGES_H

#include <stdbool.h>

#include "models/predict.h"

/* Whether there are several servers, each of which keeps whole tensors. */
bool cc_messages_placed_whole(const struct cc_setting *s);

/* The number of messages of a sending step. */
size_t cc_messages_count(const struct cc_setting *s, const struct cc_step_payloads *payloads);

/* Cuts a sending or a silent step into p->message, from the last tensor to the first, and returns
 * their number; *sum is their cost together, in seconds and bytes. Messages without bytes, in
 * silent steps, are encoded and not sent. Tensors must have been placed on servers. */
size_t cc_messages_cut(struct cc_predictor *p, const struct cc_setting *s,
                       const struct cc_step_payloads *payloads, bool silent, struct cc_cost *sum);

/* Sets the sum's figures of servers to those of the busiest one over all messages: servers work in
 * parallel. */
void cc_messages_busiest(struct cc_predictor *p, const struct cc_step_message *messages,
                         size_t count, const struct cc_setting *s, struct cc_cost *sum);

#endif
