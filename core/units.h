/* Numbers with units, as people write them. Trailing rubbish is an error. */
#ifndef CC_CORE_UNITS_H
#define CC_CORE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* 25M is 25 * 10^6, 1Mi is 2^20; k K M G T, Ki Mi Gi Ti; a fraction (1.5M) if it comes out whole.
 * Not negative. */
int cc_parse_count(const char *text, uint64_t *out, struct cc_error *e);

/* Bits per second: 10mbps, 10mbit, 10Mbit/s, 1gbps (case ignored); bytes only as B/s, kB/s, MB/s,
 * GB/s in exactly that case. A bare number is refused: nobody knows its unit. Above zero. */
int cc_parse_rate(const char *text, double *bits_per_s, struct cc_error *e);

/* Seconds: 50us, 5ms, 1.5s, 3ns, 0. Not negative. */
int cc_parse_time(const char *text, double *seconds, struct cc_error *e);

/* Whether text[0, length), which a NUL follows, is a decimal number: no hexadecimal, inf, nan, or
 * rubbish after it. */
bool cc_is_decimal(const char *text, size_t length);

#endif
