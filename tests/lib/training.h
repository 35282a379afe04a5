/* Trainings in this process, for tests. */
#ifndef CC_TESTS_LIB_TRAINING_H
#define CC_TESTS_LIB_TRAINING_H

#include "netsim/inprocess/training.h"

/* Parses a scheme; fails the test if it cannot be parsed. */
struct cc_spec *training_spec(const char *text);

/* The digits, between a group's setup and teardown. */
extern struct cc_data *training_digits;
int training_setup(void **state);
int training_teardown(void **state);

/* 40 steps of a perceptron with 4 workers on the digits, which the caller may change before it is
 * trained. *steps counts those that were done. To be released by training_free. */
struct cc_training_config training_usual(const char *scheme, size_t *steps);
void training_free(struct cc_training_config *c);

/* Trains; fails the test if that is an error. */
struct cc_training_result training_result(const struct cc_training_config *c);

#endif
