/* The body of the fuzz targets of tensor files: parses the bytes and loads every tensor. */
#ifndef CC_TESTS_FUZZ_CONTENTS_H
#define CC_TESTS_FUZZ_CONTENTS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/format/contents.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_contents(enum cc_file_format format, const uint8_t *data, size_t size)
{
    struct cc_contents c;
    struct cc_error e = {""};
    uint8_t first[CC_HEAD_FIRST] = {0};
    memcpy(first, data, size < sizeof first ? size : sizeof first);
    /* A copy of the header's size: a sanitizer then sees whether more is read. */
    const size_t bytes = cc_contents_head(format, first, size);
    uint8_t *head = malloc(bytes + (bytes == 0));
    if (head == NULL || bytes > size)
        abort();
    memcpy(head, data, bytes);
    const int status = cc_contents_parse(format, head, size, &c, &e);
    free(head);
    if (status != CC_OK) {
        if (e.text[0] == '\0')
            abort(); /* a refusal without a reason */
        return;
    }
    for (size_t i = 0; i < c.count; i++) {
        const struct cc_stored *t = &c.tensors[i];
        float *x = malloc(t->shape.n * sizeof *x + 1);
        volatile float sum = 0;
        if (x == NULL || cc_stored_values(data + t->offset, size - t->offset, t->dtype, t->shape.n,
                                          x, &e) != CC_OK)
            abort(); /* a parsed tensor must load */
        for (size_t k = 0; k < t->shape.n; k++)
            sum = sum + x[k];
        free(x);
    }
    size_t *order;
    if (cc_contents_order(&c, &order, &e) == CC_OK)
        free(order);
    cc_contents_free(&c);
}

#endif
