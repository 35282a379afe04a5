/* Numbers with units, as people write and read them. Parsers take the whole text: anything after
 * the number and its unit is a usage error, whose message shows the text and an example. A blank
 * may stand between number and unit, so that printed figures can be given as arguments. */
#ifndef CC_CORE_UNITS_H
#define CC_CORE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* A count below 2^63: 1000; 25M is 25 * 10^6 (k, K, M, G, T); 1Mi is 2^20 (Ki, Mi, Gi, Ti). A
 * decimal fraction is computed exactly, and allowed if the result is whole: 1.001K, 0.5Ki. */
int cc_parse_count(const char *text, uint64_t *out, struct cc_error *e);

/* A rate above zero, in bits per second. Bits: bit, bit/s in any case, bps, each with k, M, G or T
 * in any case (10mbps, 10Mbit, 2.5gbit/s), and b/s with k, M, G, T. Bytes: B/s and Bps, with k, M,
 * G, T (125MB/s, 10MBps). A unit that could mean either (10M, 10mb/s, 10MBPS) is an error that
 * shows both readings; a number without a unit is refused. */
int cc_parse_rate(const char *text, double *bits_per_s, struct cc_error *e);

/* A time of at least zero, in seconds: 3ns, 50us, 5ms, 1.5s, 2min, 1h; 0 needs no unit. */
int cc_parse_time(const char *text, double *seconds, struct cc_error *e);

/* A share from 0 to 1: 0.01, or 1%. */
int cc_parse_share(const char *text, double *share, struct cc_error *e);

/* Whether text[0, length), which a NUL follows, is a decimal number and nothing else: no
 * hexadecimal digits, inf or nan. */
bool cc_is_decimal(const char *text, size_t length);

/* Prints a number with three digits and an SI prefix to the unit: "10 Mbit/s", "5 ms". The unit "#"
 * prints counts ("25 M", "64"); "" prints no prefix ("1e-6"). cap is the size of `out`; 32 is
 * enough for units of up to 8 characters. */
void cc_print_si(double v, const char *unit, char *out, size_t cap);

/* Prints a rate as every output shows it, with up to six digits: "10 Mbit/s". cc_parse_rate reads
 * it; 32 bytes are enough. */
void cc_print_rate(double bits_per_s, char *out, size_t cap);

#endif
