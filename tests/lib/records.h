/* A record with columns of every kind, for tests of what is printed and saved. */
#ifndef CC_TESTS_LIB_RECORDS_H
#define CC_TESTS_LIB_RECORDS_H

#include "results/record.h"

/* The initializer of a column with a key of its own, whose values are measured. */
#define RECORDS_COLUMN(name, head, unit, format, scale, help, of_role)                             \
    {                                                                                              \
        .key = &(const struct cc_result_key){name, CC_ORIGIN_MEASURED, head, unit, format, scale,  \
                                             help},                                                \
        .role = of_role                                                                            \
    }

/* The key with this name of a record's columns. */
const struct cc_result_key *records_key(const struct cc_record *r, const char *name);

/* A record of `bench` with nine columns and no row. */
void records_init(struct cc_record *r);

/* Adds a row of nulls, and returns its index. */
size_t records_new_row(struct cc_record *r);

/* Adds a row of 10 workers at 100 Mbit/s, with 4 bytes of payload for a value and no step time.
 * Without a tensor for NULL. */
void records_add(struct cc_record *r, const char *scheme, double values, double ratio,
                 const char *tensor, bool busy);

/* A record with rows for fp32, 3lc:s=1.75 and int8, whose texts need quoting and whose last ratio
 * is infinite. */
void records_three(struct cc_record *r);

/* The printed record; the caller frees it. */
char *records_printed(const struct cc_record *r, enum cc_format format);

/* Fails the test unless the printed record is this text. */
void records_expect(const struct cc_record *r, enum cc_format format, const char *want);

#endif
