/* The roofline: the speed that this machine's memory, or its second-level cache for tensors that
 * stay there, allows a codec at best, measured in the same run as the codec.
 *
 * Every call must move some bytes at least. Encoding reads the gradient, reads and writes the
 * state, and writes the payload, in one pass, or in two where a scale must be known first. Decoding
 * reads the payload and writes the values (zeros where the codec writes zeros, which some machines
 * do faster). Decoding and adding reads the payload and updates the values, or, where the payload
 * lists the values it keeps (CC_SPARSE), only their lines of 64 bytes.
 *
 * The limit is the speed of the fastest loop that moves just these bytes in just these passes and
 * does nothing else. Many loops are tried: plain and non-temporal stores, several block sizes, with
 * and without software prefetching, all with the machine's best instruction set regardless of
 * COMMCOMP_ISA. Samples of the limits are taken between those of the codecs, so that a machine
 * whose speed drifts favours neither. A limit is the median of its samples, as a codec's speed is.
 */
#ifndef CC_BENCH_ROOFLINE_H
#define CC_BENCH_ROOFLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/memory.h"
#include "core/error.h"
#include "schemes/scheme.h"

/* The bytes that a call must move, pass by pass, over streams of float32. */
struct cc_pattern {
    unsigned passes;
    struct {
        unsigned reads, updates, writes;
    } pass[2];
    bool half;       /* the gradient, the first stream that passes read, has 2 bytes a value */
    double payload;  /* bytes per value, moved in the last pass */
    bool payload_in; /* true: read; false: written */
    /* Not NULL: lines of the stream, ascending. In a pattern of a single pass with one update, only
     * these lines are updated; with one write, all others are written as zeros. cc_roofline_add
     * copies the list. */
    const uint32_t *line;
    size_t lines;
};

/* The patterns of a scheme's calls, without a list. type: of the gradient; `payload`: bytes per
 * value. */
struct cc_pattern cc_pattern_encode(const struct cc_traffic *t, enum cc_element type,
                                    double payload);
struct cc_pattern cc_pattern_decode(bool add, double payload);

/* The patterns of one run and their samples. */
struct cc_roofline;

/* For tensors of `values` values (of which at most 2^25 are moved), shared out among `threads`
 * threads, with at most `most` samples. repeats 0: each sample begins with cold caches; otherwise
 * it is the mean of `repeats` turns, one directly after the other. NULL with a message if memory
 * runs out. */
struct cc_roofline *cc_roofline_new(size_t values, int threads, size_t repeats, size_t most,
                                    struct cc_error *e);
void cc_roofline_free(struct cc_roofline *r);

/* Finds the pattern, or adds it and then tries which loops are fastest. Payloads are rounded down
 * to sixteenths of a byte per value, so that similar schemes share a pattern. */
int cc_roofline_add(struct cc_roofline *r, const struct cc_pattern *p, size_t *index,
                    struct cc_error *e);

/* Replaces the list of a pattern that has one, by that of the next step. */
int cc_roofline_renew(struct cc_roofline *r, size_t index, const uint32_t *line, size_t lines,
                      struct cc_error *e);

/* Takes sample number `sample` of a pattern, unless it is taken: schemes with the same pattern
 * share their samples. */
void cc_roofline_sample(struct cc_roofline *r, size_t index, size_t sample);

/* The bytes per value that a pattern without a list moves; NAN of one with a list. */
double cc_roofline_bytes(const struct cc_roofline *r, size_t index);

/* GB/s of float32: the fastest loop's median over samples [0, samples); 0 without samples. */
double cc_roofline_limit(struct cc_roofline *r, size_t index, size_t samples);

#endif
