/* Parallel loops over one tensor, which is cut into parts for several threads, and over independent
 * items.
 *
 * Results never depend on the number of parts: each part writes a range of the output of its own,
 * or results of the parts are combined in order afterwards. Inside another parallel region the
 * parts run one after the other. */
#ifndef CC_CORE_PARALLEL_H
#define CC_CORE_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

/* The largest number of parts, for arrays with one entry for each. */
#define CC_PARTS_MAX 64

/* The fewest values that are worth a thread: starting one takes some microseconds. */
#define CC_PART_VALUES ((size_t)64 * 1024)

/* The number of parts for n units of work and `threads` threads, 1 to CC_PARTS_MAX: one a thread,
 * fewer if a part would have less than `least` units. */
int cc_parts(int threads, size_t n, size_t least);

/* The first unit of a part, if n units are cut into equal parts with borders rounded down to
 * multiples of `multiple`. Part `parts` begins at n, so a part ends where the next begins. */
size_t cc_part_begin(size_t n, int parts, int part, size_t multiple);

/* Fails if the system does not let this process start `threads` threads: the loops below end the
 * program then. Called once, before them. */
int cc_parallel_check(int threads, struct cc_error *e);

/* Calls work(arg, part) for each part, on several threads, and returns when all are done. */
void cc_parallel(int parts, void (*work)(void *arg, int part), void *arg);

/* Calls work(arg, begin, end) for each of `parts` parts of n units with such borders, some of which
 * may be empty. Returns the largest number that a call returned: bits of a magnitude, whether
 * something is wrong, or how many units are left from the first one on at which something is. */
size_t cc_parallel_ranges(int parts, size_t n, size_t multiple,
                          size_t (*work)(void *arg, size_t begin, size_t end), void *arg);

/* The same for n values, for each of which little is done, by up to `threads` threads. */
size_t cc_parallel_values(int threads, size_t n, size_t multiple,
                          size_t (*work)(void *arg, size_t begin, size_t end), void *arg);

/* Sets `streams` ranges of memory, of `bytes` each and one directly after the other, to zero: of
 * each, a part for each thread. A page of memory lies at the processor that first writes to it, so
 * on machines with several, this places new memory where loops over parts use it. */
void cc_zero(void *memory, size_t streams, size_t bytes, int threads);

/* Allocates memory as cc_alloc0 does, but sets it to zero as cc_zero does. */
void *cc_alloc_parts(size_t bytes, int threads, struct cc_error *e);

/* Calls item(arg, i) for each i below n, in this order, on `threads` threads, each of which takes
 * the next item when it has done one. After an item that returned false, no other begins. */
void cc_parallel_items(int threads, size_t n, bool (*item)(void *arg, size_t i), void *arg);

#endif
