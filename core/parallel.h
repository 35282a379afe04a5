/* Work inside one tensor, cut into parts that threads share.
 *
 * What is computed never depends on the number of parts: a part owns its stretch of the output, or
 * the pieces are put together afterwards in their order. Called from within another parallel region
 * the parts run one after the other. */
#ifndef CC_CORE_PARALLEL_H
#define CC_CORE_PARALLEL_H

#include <stddef.h>

/* The most parts that anything is cut into, for arrays of one entry a part. */
#define CC_PARTS_MAX 64

/* Fewer values than this are not worth a thread of their own: waking one takes some microseconds.
 */
#define CC_PART_VALUES ((size_t)64 * 1024)

/* How many parts n units of work make for so many threads, none of fewer than `least` units: 1 to
 * CC_PARTS_MAX. */
int cc_parts(int threads, size_t n, size_t least);

/* Where part 0 .. parts begins when n units are cut into parts whose borders are multiples of
 * `multiple`; part `parts` begins at n. */
size_t cc_part_begin(size_t n, int parts, int part, size_t multiple);

/* Calls work(arg, part) for every part, and returns when all are done. */
void cc_parallel(int parts, void (*work)(void *arg, int part), void *arg);

#endif
