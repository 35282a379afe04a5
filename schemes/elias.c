#include "schemes/elias.h"

#include <pthread.h>

/* A code is, from the left: the groups before its value, the value, the bit 0. The groups before it
 * encode its width - 1: none for a width of 2, that number itself up to 3, and 10 and it up to 7.
 */
#define WIDTH(v)                                                                                   \
    (((v) > 1) + ((v) > 1) + ((v) > 3) + ((v) > 7) + ((v) > 15) + ((v) > 31) + ((v) > 63) +        \
     ((v) > 127))
#define BEFORE(v)     ((v) < 4 ? 0 : (v) < 16 ? WIDTH(v) - 1 : 16 + WIDTH(v) - 1)
#define BEFORE_LEN(v) ((v) < 4 ? 0 : (v) < 16 ? 2 : 5)
#define BITS(v)       ((v) < 2 ? 0 : (BEFORE(v) << WIDTH(v) | (v)) << 1)
#define E1(v)                                                                                      \
    {                                                                                              \
        (uint16_t) BITS(v), BEFORE_LEN(v) + WIDTH(v) + 1                                           \
    }
#define E4(v)  E1(v), E1(v + 1), E1(v + 2), E1(v + 3)
#define E16(v) E4(v), E4(v + 4), E4(v + 8), E4(v + 12)
#define E64(v) E16(v), E16(v + 16), E16(v + 32), E16(v + 48)

const struct cc_omega_entry cc_omega_small[CC_OMEGA_SMALL] = {E64(0), E64(64), E64(128), E64(192)};

bool cc_omega_get(struct cc_bit_reader *r, uint64_t *v)
{
    uint64_t value = 1;
    for (;;) {
        cc_bits_fill(r);
        if (r->have == 0)
            return false;
        if (r->buffer >> 63 == 0)
            break;
        if (value >= 44 || value >= r->have) /* the next group has value + 1 bits */
            return false;
        unsigned width = (unsigned)value + 1;
        value = r->buffer >> (64 - width);
        cc_bits_skip(r, width);
    }
    cc_bits_skip(r, 1);
    *v = value;
    return true;
}

static uint32_t pairs[1u << CC_PAIR_BITS];

static void fill_pair(unsigned distance, unsigned magnitude, unsigned negative)
{
    struct cc_omega d = cc_omega(distance), m = cc_omega(magnitude);
    unsigned len = d.len + 1 + m.len;
    if (len > CC_PAIR_BITS)
        return;
    unsigned free_bits = CC_PAIR_BITS - len;
    size_t first = (size_t)((d.bits << 1 | negative) << m.len | m.bits) << free_bits;
    uint32_t level = negative ? 0x10000u - magnitude : magnitude;
    for (size_t i = 0; i < (size_t)1 << free_bits; i++)
        pairs[first + i] = len | distance << 8 | level << 16;
}

static void fill_pairs(void)
{
    /* From 16 on a code alone has CC_PAIR_BITS bits. */
    for (unsigned distance = 1; distance < 16; distance++) {
        for (unsigned magnitude = 1; magnitude < 16; magnitude++) {
            fill_pair(distance, magnitude, 0);
            fill_pair(distance, magnitude, 1);
        }
    }
}

const uint32_t *cc_elias_pairs(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, fill_pairs);
    return pairs;
}
