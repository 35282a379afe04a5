/* Texts of language models: the first byte's bits say the context, 16 to 64, and in how many files
 * the rest comes. Training and test samples must be all of the bytes but form feeds, and each
 * sample, moved as far as an epoch moves it, within them. */
#include <stdint.h>
#include <stdlib.h>

#include "train/data/batch.h"
#include "train/data/sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(const struct cc_data *d, const struct cc_samples *s, size_t shift)
{
    float out[64];
    int32_t label[64];
    for (uint32_t i = 0; i < s->count; i++) {
        cc_batch_text(d, s, &i, 1, shift, out, label);
        for (size_t k = 0; k + 1 < d->context; k++)
            if ((float)label[k] != out[k + 1])
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cc_documents t = {.count = 0};
    struct cc_data *d = calloc(1, sizeof *d);
    struct cc_error e = {""};
    if (size < 1 || d == NULL) {
        free(d);
        return 0;
    }
    const size_t context = 16 + (size_t)(data[0] & 3) * 16, files = 1 + data[0] / 64;
    size_t feeds = 0;
    int status = CC_OK;
    for (size_t i = 1; i < size; i++)
        feeds += data[i] == '\f';
    for (size_t i = 0; i < files && status == CC_OK; i++) {
        const size_t from = 1 + (size - 1) * i / files, to = 1 + (size - 1) * (i + 1) / files;
        status = cc_documents_add(&t, data + from, to - from, &e);
    }
    if (status == CC_OK && t.bytes > 0)
        status = cc_documents_split(&t, context, d, &e);
    if (status == CC_OK && d->context > 0) {
        if (d->train.bytes + d->test.bytes != size - 1 - feeds)
            abort();
        take(d, &d->train, context - 1);
        take(d, &d->test, 0);
    }
    cc_documents_free(&t);
    cc_data_free(d);
    return 0;
}
