#include "core/number.h"

#include <string.h>

#include "core/element.h"
#include "core/float8.h"
#include "core/memory.h"

const size_t cc_number_bytes[] = {
#define X(name, text, bytes) bytes,
    CC_NUMBER_LIST(X)
#undef X
};

const char *const cc_number_choices[] = {"auto",
#define X(name, text, bytes) text,
                                         CC_NUMBER_LIST(X)
#undef X
                                             NULL};

/* --- one value --- */

static uint32_t fp16_of(uint32_t bits)
{
    const bool finite = (bits & 0x7fffffffu) < CC_F32_INF_BITS;
    return finite ? cc_nearest_fp16(bits)
                  : (bits >> 16 & 0x8000u) | 0x7c00u | (bits >> 13 & 0x3ffu);
}

static uint32_t float8_of(enum cc_float8 type, uint32_t bits)
{
    uint8_t word;
    (void)cc_exact_float8(type, bits, &word);
    return word;
}

uint32_t cc_number_of(enum cc_number format, float x)
{
    const uint32_t bits = cc_f32_bits(x);
    switch (format) {
    case CC_NUMBER_BF16:
        return bits >> 16;
    case CC_NUMBER_FP16:
        return fp16_of(bits);
    case CC_NUMBER_E4M3:
        return float8_of(CC_E4M3, bits);
    case CC_NUMBER_E5M2:
        return float8_of(CC_E5M2, bits);
    default:
        return bits;
    }
}

float cc_number_value(enum cc_number format, uint32_t word)
{
    switch (format) {
    case CC_NUMBER_BF16:
        return cc_from_bf16((uint16_t)word);
    case CC_NUMBER_FP16:
        return cc_from_fp16((uint16_t)word);
    case CC_NUMBER_E4M3:
        return cc_from_float8(CC_E4M3, word);
    case CC_NUMBER_E5M2:
        return cc_from_float8(CC_E5M2, word);
    default:
        return cc_bits_f32(word);
    }
}

void cc_number_round(enum cc_number format, float *x, size_t n)
{
    const enum cc_float8 type = format == CC_NUMBER_E4M3 ? CC_E4M3 : CC_E5M2;
    if (format == CC_NUMBER_BF16 || format == CC_NUMBER_FP16)
        cc_element_round(format == CC_NUMBER_BF16 ? CC_ELEMENT_BF16 : CC_ELEMENT_FP16, x, n);
    for (size_t i = 0; i < n && cc_number_bytes[format] == 1; i++)
        x[i] = cc_from_float8(type, cc_nearest_float8(type, cc_f32_bits(x[i])));
}

/* --- many --- */

/* Whether one of the first values has a bit that no value of the format has. */
static bool is_longer(enum cc_number format, const float *x, size_t n)
{
    static const uint32_t never[CC_NUMBERS] = {[CC_NUMBER_BF16] = 0xffff,
                                               [CC_NUMBER_FP16] = 0x1fff,
                                               [CC_NUMBER_E4M3] = 0xfffff,
                                               [CC_NUMBER_E5M2] = 0x1fffff};
    uint32_t bits = n > 0 ? cc_f32_bits(x[0]) : 0;
    for (size_t i = 1; i < cc_smaller(n, 64) && (bits & never[format]) == 0; i++)
        bits |= cc_f32_bits(x[i]);
    return (bits & never[format]) != 0;
}

static bool all_finite(const float *x, size_t n)
{
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t mag = cc_f32_bits(x[i]) & 0x7fffffffu;
        most = mag > most ? mag : most;
    }
    return most < CC_F32_INF_BITS;
}

/* A few values, of which some are not numbers. */
static bool exact_fp16(const float *x, size_t n, uint16_t *words)
{
    for (size_t i = 0; i < n; i++) {
        words[i] = (uint16_t)fp16_of(cc_f32_bits(x[i]));
        if (cc_f32_bits(cc_from_fp16(words[i])) != cc_f32_bits(x[i]))
            return false;
    }
    return true;
}

static bool to_fp16(const float *x, size_t n, uint16_t *words)
{
    float back[64];
    for (size_t i = 0, m; i < n; i += m) {
        m = cc_smaller(n - i, 64);
        k_element()->to_fp16(x + i, m, words + i);
        k_element()->from_fp16(words + i, m, back);
        if (memcmp(back, x + i, m * sizeof *x) != 0 && !exact_fp16(x + i, m, words + i))
            return false;
    }
    return true;
}

bool cc_number_narrow(enum cc_number format, const float *x, size_t n, bool any, void *words)
{
    if (is_longer(format, x, n))
        return false;
    const bool has = format == CC_NUMBER_BF16   ? k_number()->to_bf16(x, n, words)
                     : format == CC_NUMBER_FP16 ? to_fp16(x, n, words)
                     : format == CC_NUMBER_E4M3 ? k_number()->to_e4m3(x, n, words)
                                                : k_number()->to_e5m2(x, n, words);
    return has && (any || all_finite(x, n));
}

enum cc_number cc_number_find(enum cc_number wanted, const float *x, size_t n, bool any,
                              void *words)
{
    static const enum cc_number order[] = {CC_NUMBER_E4M3, CC_NUMBER_E5M2, CC_NUMBER_BF16,
                                           CC_NUMBER_FP16};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if ((wanted == CC_NUMBER_AUTO || wanted == order[i]) &&
            cc_number_narrow(order[i], x, n, any, words))
            return order[i];
    return CC_NUMBER_FP32;
}

/* Words of 16 bits at any address. */
static void widen_halves(enum cc_element type, const uint8_t *words, size_t n, float *y)
{
    uint16_t copy[512];
    for (size_t i = 0, m; i < n; i += m) {
        m = cc_smaller(n - i, sizeof copy / sizeof copy[0]);
        memcpy(copy, words + sizeof copy[0] * i, m * sizeof copy[0]);
        cc_widen((struct cc_elements){copy, type}, m, y + i);
    }
}

void cc_number_widen(enum cc_number format, const void *words, size_t n, float *y)
{
    switch (format) {
    case CC_NUMBER_BF16:
        widen_halves(CC_ELEMENT_BF16, words, n, y);
        break;
    case CC_NUMBER_FP16:
        widen_halves(CC_ELEMENT_FP16, words, n, y);
        break;
    case CC_NUMBER_E4M3:
        k_number()->from_e4m3(words, n, y);
        break;
    case CC_NUMBER_E5M2:
        k_number()->from_e5m2(words, n, y);
        break;
    default:
        if (n > 0)
            memcpy(y, words, n * sizeof *y);
    }
}
