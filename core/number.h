/* The number formats whose words are sent or stored without loss: float32, two of 16 bits, two of 8
 * (core/float8.h). Values are held as float32, which has all of their numbers, and a NaN of each of
 * their NaNs; these conversions pass every word on bit by bit. */
#ifndef CC_CORE_NUMBER_H
#define CC_CORE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/isa.h"

/* name, text, bytes: the elements' formats and those of files alone; in this order in payloads. */
#define CC_NUMBER_LIST(X)                                                                          \
    CC_ELEMENT_LIST(X)                                                                             \
    X(E4M3, "e4m3", 1)                                                                             \
    X(E5M2, "e5m2", 1)

enum cc_number {
#define X(name, text, bytes) CC_NUMBER_##name,
    CC_NUMBER_LIST(X)
#undef X
        CC_NUMBERS,
    CC_NUMBER_AUTO = CC_NUMBERS /* the shortest that has all values */
};

extern const size_t cc_number_bytes[CC_NUMBERS];

/* The choices of a scheme's parameter `type`, "auto" before the formats; and what one says. */
extern const char *const cc_number_choices[];
#define CC_NUMBER_TYPE_HELP                                                                        \
    "format of the values; those of a shorter one than fp32 are sent as such; auto: the first of " \
    "e4m3, e5m2, bf16, fp16 and fp32 that has all of them"
static inline enum cc_number cc_number_chosen(int64_t choice)
{
    return choice == 0 ? CC_NUMBER_AUTO : (enum cc_number)(choice - 1);
}

/* The format of values: the one that is wanted if it has all of them, else float32. AUTO: E4M3,
 * E5M2, BF16, FP16 or FP32, the first that does. Writes the values' words to `words`, which has
 * room for n uint16_t, unless it is float32. any: a shorter format may have infinity and NaN, too.
 */
enum cc_number cc_number_find(enum cc_number wanted, const float *x, size_t n, bool any,
                              void *words);

/* Whether all values are of the format, which is shorter than float32; sets `words`, which are
 * unspecified if they are not. The first values mostly show it. */
bool cc_number_narrow(enum cc_number format, const float *x, size_t n, bool any, void *words);

/* Sets y[0, n) to the values of words of the format, at any address. */
void cc_number_widen(enum cc_number format, const void *words, size_t n, float *y);

/* The word of a value: of bf16 cut off, of the shorter ones rounded, if the format has it not. */
uint32_t cc_number_of(enum cc_number format, float x);
float cc_number_value(enum cc_number format, uint32_t word);

/* Rounds numbers to the format, in place: to the nearest, ties to even, at most its largest. */
void cc_number_round(enum cc_number format, float *x, size_t n);

/* The loops; each returns whether all values are of the format. */
struct k_number {
    bool (*to_bf16)(const float *x, size_t n, uint16_t *words);
    bool (*to_e4m3)(const float *x, size_t n, uint8_t *words);
    bool (*to_e5m2)(const float *x, size_t n, uint8_t *words);
    void (*from_e4m3)(const uint8_t *words, size_t n, float *y);
    void (*from_e5m2)(const uint8_t *words, size_t n, float *y);
};
CC_KERNELS(k_number)

#endif
