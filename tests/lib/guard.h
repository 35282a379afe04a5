/* Memory between two inaccessible pages: one byte read or written outside it ends the test. */
#ifndef CC_TESTS_LIB_GUARD_H
#define CC_TESTS_LIB_GUARD_H

#include <stddef.h>
#include <stdint.h>

struct guard {
    uint8_t *low, *high; /* accessible are [low, high), whole pages; none yet: NULL */
};

/* Room for at least `bytes`; keeps what is there if that is enough. Ends the program when there is
 * no memory. */
void guard_reserve(struct guard *g, size_t bytes);
void guard_close(struct guard *g);

/* `bytes` that end where the page behind begins, or as near to it as `align` (of the start) allows;
 * or that begin where the page before ends. Reserves as needed; contents are what they were. */
void *guard_back(struct guard *g, size_t bytes, size_t align);
void *guard_front(struct guard *g, size_t bytes);

#endif
