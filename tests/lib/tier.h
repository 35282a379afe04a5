/* How thoroughly tests run. A test asks for the tier where a full run takes long; every case runs
 * in the full tier, which is the default. The environment's COMMCOMP_TEST chooses another one:
 *
 *   quick      `make test`: fewer lengths, draws and damaged payloads
 *   sanitized  `make asan`: everything that differs under a sanitizer; repetitions that only
 * compare values, which the full tier has compared already, are left out */
#ifndef CC_TESTS_LIB_TIER_H
#define CC_TESTS_LIB_TIER_H

#include <stddef.h>

enum tier { TIER_QUICK, TIER_SANITIZED, TIER_FULL };

/* The tier of this run. Ends the program if COMMCOMP_TEST is none of the above. */
enum tier tier(void);

/* The argument for the tier of this run. */
size_t tier_pick(size_t quick, size_t sanitized, size_t full);

#endif
