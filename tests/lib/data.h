/* Test data: values like those of gradients, and edge cases. */
#ifndef CC_TESTS_LIB_DATA_H
#define CC_TESTS_LIB_DATA_H

#include <stddef.h>
#include <stdint.h>

enum data_kind {
    DATA_LAPLACE,
    DATA_GAUSSIAN,
    DATA_MIXED,       /* magnitudes over many binades */
    DATA_MODERATE,    /* magnitudes in [2^-8, 1): no rounding changes when it is scaled a little */
    DATA_TIES,        /* seven different values, both zeros among them */
    DATA_ALTERNATING, /* 1, -1, 1, ... */
    DATA_CONSTANT,
    DATA_NEGATIVE, /* no value above zero */
    DATA_ONE_HOT,
    DATA_ZEROS, /* with both signs */
    DATA_DENORMAL,
    DATA_HUGE, /* up to the largest float */
    DATA_KINDS
};

const char *data_name(enum data_kind kind);

/* The same values for the same kind, seed and n. */
void data_fill(enum data_kind kind, uint64_t seed, float *x, size_t n);

/* The next number of a generator that is independent of the one under test. */
uint64_t data_random(uint64_t *state);

/* Uniform in [0, 1). */
double data_unit(uint64_t *state);

#endif
