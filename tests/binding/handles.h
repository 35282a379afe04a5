/* Codecs and gradients of the tests of several threads; the includer has cmocka.h and its like. */
#ifndef TESTS_BINDING_HANDLES_H
#define TESTS_BINDING_HANDLES_H

#include <stdio.h>
#include <stdlib.h>

#include "binding/commcomp.h"
#include "tests/lib/data.h"

static inline void *memory(size_t bytes)
{
    void *m = malloc(bytes + 1);
    if (m == NULL) {
        perror("memory of the test");
        exit(1);
    }
    return m;
}

static inline struct commcomp_codec *codec_of(const char *scheme, size_t rows, size_t columns)
{
    char error[COMMCOMP_ERROR_BYTES];
    const size_t dims[] = {rows, columns};
    struct commcomp_codec *c;
    if (commcomp_codec_new(scheme, dims, 2, &c, error) != COMMCOMP_OK)
        fail_msg("%s", error);
    return c;
}

static inline float *gradient(size_t n)
{
    float *x = memory(n * sizeof *x);
    data_fill(DATA_LAPLACE, 1, x, n);
    return x;
}

#endif
