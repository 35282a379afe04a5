/* Opening data sets in tests. */
#ifndef CC_TESTS_LIB_DATA_SET_H
#define CC_TESTS_LIB_DATA_SET_H

#include "train/data/data.h"

/* By cc_data_open and cc_data_open_rows; they fail the test if the set cannot be opened. */
struct cc_data *data_set_open(const char *text);
struct cc_data *data_set_open_rows(const char *text);

/* Fails the test unless cc_data_open returns the status, with a message that contains this one. */
void data_set_refuse(const char *text, int status, const char *message);

#endif
