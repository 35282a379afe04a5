/* Parsing and printing numbers with units. Counts are taken as decimal digits and a power of ten or
 * two, so that large ones stay exact. */
#include "core/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    double factor;
};

/* A plain decimal number at the start of text: no sign, no hexadecimal, no "inf". */
static int leading_number(const char *text, double *v, const char **rest)
{
    size_t digits = strspn(text, "0123456789."), used = digits;
    if (digits == 0 || (text[0] == '.' && digits == 1))
        return 0;
    if (text[used] == 'e' || text[used] == 'E') {
        size_t sign = text[used + 1] == '-' || text[used + 1] == '+';
        size_t exponent = strspn(text + used + 1 + sign, "0123456789");
        if (exponent > 0)
            used += 1 + sign + exponent;
    }
    char *end;
    *v = strtod(text, &end);
    *rest = end;
    return end == text + used && isfinite(*v);
}

static const char *unit_at(const char *rest)
{
    return rest + (rest[0] == ' ' && rest[1] != '\0');
}

/* --- counts --- */

__extension__ typedef unsigned __int128 wide;

/* A decimal number digits x 10^power without trailing zeros. */
struct decimal {
    wide digits;
    int power;
};

/* Takes the digits of leading_number's text [text, rest). False if there are more than 26
 * significant ones, which no whole number below 2^63 times a unit has. */
static bool take_decimal(const char *text, const char *rest, struct decimal *out)
{
    int count = 0, behind_point = 0;
    bool point = false;
    *out = (struct decimal){0};
    for (; text < rest && *text != 'e' && *text != 'E'; text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        behind_point += point;
        count += out->digits > 0 || *text != '0';
        if (*text != '0' && count > 26)
            return false;
        if (count > 26)
            out->power++;
        else
            out->digits = 10 * out->digits + (unsigned)(*text - '0');
    }
    if (text < rest) {
        const long exponent = strtol(text + 1, NULL, 10);
        if (exponent > 1000 || exponent < -1000)
            return false;
        out->power += (int)exponent;
    }
    out->power -= behind_point;
    while (out->digits > 0 && out->digits % 10 == 0) {
        out->digits /= 10;
        out->power++;
    }
    return true;
}

/* digits x 10^power x 2^shift; false unless it is whole and below 2^63. */
static bool whole_value(struct decimal d, int shift, uint64_t *out)
{
    wide v = d.digits << shift; /* below 2^87 x 2^40 */
    for (; d.power < 0 && v > 0; d.power++) {
        if (v % 10 != 0)
            return false;
        v /= 10;
    }
    for (; d.power > 0 && v > 0 && v < (wide)1 << 63; d.power--)
        v *= 10;
    *out = (uint64_t)v;
    return v < (wide)1 << 63;
}

int cc_parse_count(const char *text, uint64_t *out, struct cc_error *e)
{
    static const struct {
        const char *name;
        int power, shift; /* 10^power x 2^shift */
    } units[] = {
        {"", 0, 0},   {"k", 3, 0},   {"K", 3, 0},   {"M", 6, 0},   {"G", 9, 0},
        {"T", 12, 0}, {"Ki", 0, 10}, {"Mi", 0, 20}, {"Gi", 0, 30}, {"Ti", 0, 40},
    };
    double approximately;
    const char *rest = text;
    struct decimal d;
    if (leading_number(text, &approximately, &rest))
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
            if (strcmp(unit_at(rest), units[i].name) != 0)
                continue;
            if (take_decimal(text, rest, &d)) {
                d.power += units[i].power;
                if (whole_value(d, units[i].shift, out))
                    return CC_OK;
            }
            return cc_usage(e, "'%s' is not a whole number below 2^63", text);
        }
    return cc_usage(e, "'%s' is not a count such as 1000, 25M (10^6) or 1Mi (2^20)", text);
}

/* --- rates --- */

/* Takes the prefix of a unit, in any case. Returns the text behind it; *letter is the prefix as it
 * should be written, or "". */
static const char *take_prefix(const char *unit, const char **letter, double *factor)
{
    static const struct unit prefixes[] = {{"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}};
    *letter = "";
    *factor = 1;
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncasecmp(unit, prefixes[i].name, 1) == 0) {
            *letter = prefixes[i].name;
            *factor = prefixes[i].factor;
            return unit + 1;
        }
    return unit;
}

static bool is_one_of(const char *word, const char *const *list, bool ignore_case)
{
    for (size_t i = 0; list[i] != NULL; i++)
        if ((ignore_case ? strcasecmp : strcmp)(word, list[i]) == 0)
            return true;
    return false;
}

/* The error of a rate whose unit may mean bits or bytes, with both readings. */
static int two_readings(const char *text, double v, const char *letter, double factor,
                        struct cc_error *e)
{
    char bits[32];
    cc_print_rate(8 * v * factor, bits, sizeof bits);
    return cc_usage(e, "'%s' may mean bits or bytes: write %.9g%sbit/s or %.9g%sB/s (%s)", text, v,
                    letter, v, letter, bits);
}

static int not_a_rate(const char *text, struct cc_error *e)
{
    return cc_usage(e,
                    "'%s' is not a rate above zero such as 10mbps, 2.5Gbit/s (bits) or 125MB/s "
                    "(bytes)",
                    text);
}

int cc_parse_rate(const char *text, double *bits_per_s, struct cc_error *e)
{
    static const char *const bit_words[] = {"bit", "bit/s", NULL},
                             *const bit_short[] = {"b/s", NULL}, *const bits[] = {"bps", NULL},
                             *const bytes[] = {"B/s", "Bps", NULL},
                             *const either[] = {"", "b", "b/s", "bps", NULL};
    double v = 0, factor = 1;
    const char *rest = text, *letter;
    if (!leading_number(text, &v, &rest) || v <= 0)
        return not_a_rate(text, e);
    const char *unit = unit_at(rest), *of = take_prefix(unit, &letter, &factor);
    /* "mB/s" and "mb/s" are neither megabits nor megabytes as they are written. */
    const bool right_case = of == unit || *unit == *letter || *unit == 'K';
    if (is_one_of(of, bit_words, true) || is_one_of(of, bits, false) ||
        (right_case && is_one_of(of, bit_short, false))) {
        *bits_per_s = v * factor;
        return CC_OK;
    }
    if (right_case && is_one_of(of, bytes, false)) {
        *bits_per_s = 8 * v * factor;
        return CC_OK;
    }
    if (*unit != '\0' && is_one_of(of, either, true))
        return two_readings(text, v, letter, factor, e);
    return not_a_rate(text, e);
}

/* --- times --- */

int cc_parse_time(const char *text, double *seconds, struct cc_error *e)
{
    static const struct unit units[] = {{"s", 1},    {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9},
                                        {"min", 60}, {"h", 3600},  {NULL, 0}};
    double v = 0;
    const char *rest = text;
    if (leading_number(text, &v, &rest)) {
        const struct unit *u = units;
        while (u->name != NULL && strcmp(u->name, unit_at(rest)) != 0)
            u++;
        if (u->name != NULL || (v == 0 && *rest == '\0')) {
            *seconds = u->name != NULL ? v * u->factor : 0;
            return CC_OK;
        }
    }
    return cc_usage(e, "'%s' is not a time such as 50us, 5ms or 1.5s", text);
}

/* --- other numbers --- */

int cc_parse_share(const char *text, double *share, struct cc_error *e)
{
    const char *rest = text;
    double v = 0;
    const bool number = leading_number(text, &v, &rest), percent = strcmp(unit_at(rest), "%") == 0;
    if (number && (percent || rest[0] == '\0')) {
        *share = percent ? v / 100 : v;
        if (*share <= 1)
            return CC_OK;
    }
    return cc_usage(e, "'%s' is not a share from 0 to 1, such as 0.01 or 1%%", text);
}

bool cc_is_decimal(const char *text, size_t length)
{
    const char *p = text + (*text == '-' || *text == '+');
    size_t whole = strspn(p, "0123456789"), fraction = 0;
    p += whole;
    if (*p == '.') {
        p++;
        fraction = strspn(p, "0123456789");
        p += fraction;
    }
    if (whole + fraction == 0)
        return false;
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '-' || *p == '+';
        size_t digits = strspn(p, "0123456789");
        if (digits == 0)
            return false;
        p += digits;
    }
    return p == text + length;
}

/* cc_print_si with any number of significant digits. */
static void print_si(double v, const char *unit, int significant, char *out, size_t cap)
{
    static const char prefix[] = "pnum kMGTP";
    bool count = strcmp(unit, "#") == 0;
    bool extreme = !(fabs(v) > 1e-100 && fabs(v) < 1e100); /* or 0 */
    if (unit[0] == '\0' || extreme || (count && fabs(v) < 1000)) {
        (void)snprintf(out, cap, "%.4g%s%s", v, unit[0] != '\0' && !count ? " " : "",
                       count ? "" : unit);
        char *zero = strstr(out, "e-0"); /* 1e-08 is 1e-8 */
        if (zero != NULL)
            memmove(zero + 2, zero + 3, strlen(zero + 3) + 1);
        return;
    }
    /* Round first: 999.96 is 1 k. */
    char digits[32];
    (void)snprintf(digits, sizeof digits, "%.*e", significant - 1, v);
    int power = (int)floor(log10(fabs(strtod(digits, NULL))) / 3);
    power = power < -4 ? -4 : power > 5 ? 5 : power;
    char letter = prefix[power + 4];
    double scaled = strtod(digits, NULL) / pow(10, 3 * power);
    (void)snprintf(out, cap, "%.*g %.*s%s", significant, scaled, power != 0,
                   count && letter == 'k' ? "K" : &letter, count ? "" : unit);
}

void cc_print_si(double v, const char *unit, char *out, size_t cap)
{
    print_si(v, unit, 3, out, cap);
}

void cc_print_rate(double bits_per_s, char *out, size_t cap)
{
    print_si(bits_per_s, "bit/s", 6, out, cap);
}
