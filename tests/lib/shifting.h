/* Memory whose contents change between any two accesses, as memory can that another process
 * writes. Every page of it is inaccessible: an access raises a signal, whose handler puts another
 * version of the bytes there, lets the one instruction run, and closes the page again. So each read
 * of a byte may give another value, in every run alike, which a second thread gives by luck. */
#ifndef CC_TESTS_LIB_SHIFTING_H
#define CC_TESTS_LIB_SHIFTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHIFTING_VERSIONS = 8 };

struct shifting {
    uint8_t *bytes; /* what is under test reads this; it ends at an inaccessible page */
    size_t size;
    const uint8_t *version[SHIFTING_VERSIONS]; /* `size` bytes each, set by the test */
    unsigned versions;
    unsigned every; /* one access of this many, on average, sees another version than the first */
};

/* Whether this machine can: the handler needs the trap flag of x86. */
bool shifting_works(void);

/* Opens memory of `size` bytes, one at a time; ends the program if there is none. */
void shifting_open(struct shifting *s, size_t size);
void shifting_close(struct shifting *s);

/* Begins with the first version, and changes from now on, as `seed` says. */
void shifting_begin(struct shifting *s, uint64_t seed);
/* The memory is readable again, and does not change. */
void shifting_end(struct shifting *s);

#endif
