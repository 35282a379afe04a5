/* Archives of arrays: parses the bytes and loads every tensor, which may fail, as its values are
 * checked only then. */
#include <stdint.h>
#include <stdlib.h>

#include "core/format/npz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cc_contents c = {0};
    struct cc_error e = {""};
    struct zip *z = NULL;
    const int status = cc_contents_parse(CC_NPZ, data, size, &c, &e);
    if (status != CC_OK && e.text[0] == '\0')
        abort(); /* a refusal without a reason */
    if (status == CC_OK && cc_npz_open_bytes(data, size, &z, &e) != CC_OK)
        abort(); /* it was opened to be parsed */
    for (size_t i = 0; status == CC_OK && i < c.count; i++) {
        const struct cc_stored *t = &c.tensors[i];
        float *x = malloc(t->shape.n * sizeof *x + 1);
        e.text[0] = '\0';
        if (x == NULL ||
            (cc_npz_load(z, t->offset, t->dtype, t->shape.n, t->shape.n, x, &e) != CC_OK &&
             e.text[0] == '\0'))
            abort();
        free(x);
    }
    cc_npz_close(z);
    if (status == CC_OK)
        cc_contents_free(&c);
    return 0;
}
