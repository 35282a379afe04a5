/* The body of the fuzz targets of tensor files: parses the bytes and loads every tensor. */
#ifndef CC_TESTS_FUZZ_CONTENTS_H
#define CC_TESTS_FUZZ_CONTENTS_H

#include <stdint.h>
#include <stdlib.h>

#include "core/format/contents.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_contents(enum cc_file_format format, const uint8_t *data, size_t size)
{
    struct cc_contents c;
    struct cc_error e = {""};
    if (cc_contents_parse(format, data, size, &c, &e) != CC_OK) {
        if (e.text[0] == '\0')
            abort(); /* a refusal without a reason */
        return;
    }
    for (size_t i = 0; i < c.count; i++) {
        const struct cc_stored *t = &c.tensors[i];
        const float *x;
        float *buffer = malloc(t->shape.n * sizeof *buffer + 1);
        volatile float sum = 0;
        if (buffer == NULL ||
            cc_stored_load(data, size, t->dtype, t->offset, t->shape.n, buffer, &x, &e) != CC_OK)
            abort(); /* a parsed tensor must load */
        for (size_t k = 0; k < t->shape.n; k++)
            sum = sum + x[k];
        free(buffer);
    }
    size_t *order;
    if (cc_contents_order(&c, &order, &e) == CC_OK)
        free(order);
    cc_contents_free(&c);
}

#endif
