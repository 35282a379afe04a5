/* Memory between two inaccessible pages: one byte read or written outside it ends the test. */
#ifndef CC_TESTS_LIB_GUARD_H
#define CC_TESTS_LIB_GUARD_H

#include <stddef.h>
#include <stdint.h>

struct guard {
    uint8_t *low, *high; /* [low, high) is accessible, whole pages; NULL: none yet */
};

/* Makes room for at least `bytes`; keeps the pages if they suffice. Ends the program if there is no
 * memory. */
void guard_reserve(struct guard *g, size_t bytes);
void guard_close(struct guard *g);

/* `bytes` that end at the page behind, or as close to it as `align` (of the start) allows; or that
 * begin at the page before. Reserves as needed; contents are kept. */
void *guard_back(struct guard *g, size_t bytes, size_t align);
void *guard_front(struct guard *g, size_t bytes);

#endif
