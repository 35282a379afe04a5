#include "core/element.h"

#include <string.h>

const char *const cc_element_names[] = {
#define X(name, text, bytes) text,
    CC_ELEMENT_LIST(X)
#undef X
        NULL};

const size_t cc_element_bytes[] = {
#define X(name, text, bytes) bytes,
    CC_ELEMENT_LIST(X)
#undef X
};

void cc_widen(struct cc_elements x, size_t n, float *out)
{
    if (x.type == CC_ELEMENT_BF16)
        k_element()->from_bf16(x.at, n, out);
    else if (x.type == CC_ELEMENT_FP16)
        k_element()->from_fp16(x.at, n, out);
    else if (n > 0)
        memcpy(out, x.at, n * sizeof *out);
}

void cc_narrow(enum cc_element type, const float *x, size_t n, void *out)
{
    if (type == CC_ELEMENT_BF16)
        k_element()->to_bf16(x, n, out);
    else if (type == CC_ELEMENT_FP16)
        k_element()->to_fp16(x, n, out);
    else if (n > 0)
        memcpy(out, x, n * sizeof *x);
}

void cc_element_round(enum cc_element type, float *x, size_t n)
{
    uint16_t narrow[1024];
    const size_t room = sizeof narrow / sizeof narrow[0];
    for (size_t i = 0, m; i < n && type != CC_ELEMENT_FP32; i += m) {
        m = n - i < room ? n - i : room;
        cc_narrow(type, x + i, m, narrow);
        cc_widen((struct cc_elements){narrow, type}, m, x + i);
    }
}
