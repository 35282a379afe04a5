/* The tables of Elias codes, filled once when they are first asked for, and the reader of one
 * code. */
#include "schemes/kernels/elias_code.h"

#include <pthread.h>

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

static struct cc_elias_tables tables;

/* Enters a pair into both tables, with all bits that may follow it. */
static void fill_pair(unsigned distance, int level)
{
    bool negative = level < 0;
    struct cc_omega d = cc_omega(distance), m = cc_omega((unsigned)(negative ? -level : level));
    unsigned len = d.len + 1 + m.len;
    uint32_t code = (uint32_t)((d.bits << 1 | negative) << m.len | m.bits);
    if (distance < CC_PAIR_DISTANCES)
        tables.pair_code[cc_pair_index(distance, level)] = code << 5 | len;
    if (len > CC_PAIR_BITS)
        return;
    unsigned unused = CC_PAIR_BITS - len;
    for (size_t i = 0; i < (size_t)1 << unused; i++)
        tables.pair[((size_t)code << unused) + i] = len | distance << 8 | (uint32_t)level << 16;
}

/* Enters the run that these bits begin with, from the table of pairs. */
static void fill_run(uint32_t bits)
{
    unsigned len = 0, levels = 0, pairs = 0;
    for (;;) {
        uint32_t pair =
            tables.pair[bits << (CC_PAIR_BITS - CC_RUN_BITS + len) & ((1u << CC_PAIR_BITS) - 1)];
        unsigned more = pair & 63, distance = pair >> 8 & 0xff;
        if (more == 0 || len + more > CC_RUN_BITS || (pairs > 0 && levels + distance > CC_RUN))
            break;
        len += more;
        levels += distance;
        pairs++;
        tables.run_levels[bits][(levels < CC_RUN ? levels : CC_RUN) - 1] =
            (int8_t)(int16_t)(pair >> 16);
    }
    tables.run[bits] = (uint16_t)(len | levels << 6 | pairs << 11);
}

static uint32_t start_entry(unsigned len, unsigned skip, unsigned width, unsigned plus)
{
    return len | skip << 8 | (64 - width) << 16 | plus << 24;
}

/* A code begins with one of: 0; 1x 0; 10 1xx 0; 11 1xxx 0; 10 1xx 1; 11 1xxx 1. */
static uint32_t start_of(unsigned bits)
{
    bool wide = bits >> 5 & 1; /* the second group has four bits, not three */
    unsigned group = wide ? bits >> 1 & 15 : bits >> 2 & 7, after = wide ? 6 : 5;
    if (bits >> 6 == 0)
        return start_entry(1, 0, 1, 1);
    if ((bits >> 4 & 1) == 0)
        return start_entry(3, 0, 2, 0);
    if ((bits >> (CC_START_BITS - 1 - after) & 1) == 0)
        return start_entry(after + 1, 2, after - 2, 0);
    return start_entry(after + group + 2, after, group + 1, 0);
}

static void fill_tables(void)
{
    /* A distance of 32 or more has 12 bits, sign and magnitude 2 at least: too long for the table.
     */
    for (unsigned distance = 1; distance < 32; distance++) {
        for (int magnitude = 1; magnitude < CC_PAIR_LEVELS; magnitude++) {
            fill_pair(distance, magnitude);
            fill_pair(distance, -magnitude);
        }
    }
    for (uint32_t bits = 0; bits < 1u << CC_RUN_BITS; bits++)
        fill_run(bits);
    for (unsigned bits = 0; bits < 1u << CC_START_BITS; bits++)
        tables.start[bits] = start_of(bits);
}

const struct cc_elias_tables *cc_elias_tables(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, fill_tables);
    return &tables;
}
