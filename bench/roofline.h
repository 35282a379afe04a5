/* The roofline: how fast this machine's memory lets a codec be at best, measured in the same run.
 *
 * A codec must at least read the gradient, read and write its state, and write its payload, in one
 * pass, or in two where a scale must be known first; decoding must read the payload and write the
 * values (zeros where the codec writes zeros, which some machines do faster); decoding and adding
 * must read the payload and update the values, or where the payload lists the values that it keeps
 * (CC_SPARSE) only their lines of 64 bytes. The limit is the speed of a loop that moves just these
 * bytes in just these passes and does nothing else: of many such loops (plain and non-temporal
 * stores, several block sizes, with and without software prefetching) the fastest on this machine.
 * They use its best instruction set, whatever COMMCOMP_ISA says. Samples of the limits are taken
 * between those of the codecs, so that a machine that drifts favours neither; a limit is the median
 * of its samples, as a codec's speed is. */
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
    double payload;  /* bytes a value, in the last pass */
    bool payload_in; /* read; else written */
    /* Not NULL: the lines that are not left alone, ascending. With a single pass of one update:
     * only they are updated; of one write: the others are written zeros. Copied by add. */
    const uint32_t *line;
    size_t lines;
};

/* Those of a scheme that says its traffic, without a list. */
struct cc_pattern cc_pattern_encode(const struct cc_traffic *t, double payload);
struct cc_pattern cc_pattern_decode(double payload);
struct cc_pattern cc_pattern_decode_add(double payload);

/* The limits of a run. */
struct cc_roofline;

/* For tensors of `values` values, of which at most 2^25 are moved, on so many threads at once, each
 * its own share; `most` samples. NULL with a message when there is no memory. */
struct cc_roofline *cc_roofline_new(size_t values, int threads, size_t most, struct cc_error *e);
void cc_roofline_free(struct cc_roofline *r);

/* Finds the pattern or adds it, and then tries which loops suit it. Payloads that differ by less
 * than a sixteenth of a byte a value are one pattern (with the smaller payload). */
int cc_roofline_add(struct cc_roofline *r, const struct cc_pattern *p, size_t *index,
                    struct cc_error *e);

/* Gives a pattern that has a list another one: the next step's. */
int cc_roofline_renew(struct cc_roofline *r, size_t index, const uint32_t *line, size_t lines,
                      struct cc_error *e);

/* Takes the pattern's sample number `sample` unless it was taken since cc_roofline_round. */
void cc_roofline_sample(struct cc_roofline *r, size_t index, size_t sample);
void cc_roofline_round(struct cc_roofline *r);

/* GB/s of float32, from samples [0, samples); 0 where there are none. */
double cc_roofline_limit(struct cc_roofline *r, size_t index, size_t samples);

#endif
