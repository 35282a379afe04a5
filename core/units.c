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

static const struct unit *find_unit(const struct unit *units, const char *name, int ignore_case)
{
    for (const struct unit *u = units; u->name != NULL; u++)
        if ((ignore_case ? strcasecmp : strcmp)(u->name, name) == 0)
            return u;
    return NULL;
}

int cc_parse_count(const char *text, uint64_t *out, struct cc_error *e)
{
    static const struct unit units[] = {
        {"", 1},        {"k", 1e3},     {"K", 1e3},     {"M", 1e6},     {"G", 1e9}, {"T", 1e12},
        {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {NULL, 0},
    };
    double v = 0;
    const char *rest = text;
    const struct unit *u = leading_number(text, &v, &rest) ? find_unit(units, rest, 0) : NULL;
    if (u == NULL || v * u->factor >= 0x1p63 || v * u->factor != floor(v * u->factor))
        return cc_usage(e, "'%s' is not a count such as 1000, 25M (10^6) or 1Mi (2^20)", text);
    if (u->factor == 1 && strspn(text, "0123456789") == strlen(text))
        *out = strtoull(text, NULL, 10); /* exact beyond 2^53 */
    else
        *out = (uint64_t)(v * u->factor);
    return CC_OK;
}

int cc_parse_rate(const char *text, double *bits_per_s, struct cc_error *e)
{
    static const struct unit bytes[] = {{"B/s", 8},    {"kB/s", 8e3},  {"MB/s", 8e6},
                                        {"GB/s", 8e9}, {"TB/s", 8e12}, {NULL, 0}};
    static const struct unit bits[] = {
        {"bps", 1},      {"bit", 1},      {"bit/s", 1},     {"kbps", 1e3},
        {"kbit", 1e3},   {"kbit/s", 1e3}, {"mbps", 1e6},    {"mbit", 1e6},
        {"mbit/s", 1e6}, {"gbps", 1e9},   {"gbit", 1e9},    {"gbit/s", 1e9},
        {"tbps", 1e12},  {"tbit", 1e12},  {"tbit/s", 1e12}, {NULL, 0}};
    double v = 0;
    const char *rest = text;
    const struct unit *u = NULL;
    if (leading_number(text, &v, &rest)) {
        u = find_unit(bytes, rest, 0);
        /* Bytes in exactly this case only: "MB/S" or "mb/s" could mean bits. */
        if (u == NULL)
            u = find_unit(bits, rest, 1);
    }
    if (u == NULL || v <= 0)
        return cc_usage(e,
                        "'%s' is not a rate above zero such as 10mbps, 2.5gbit/s (bits) or "
                        "125MB/s (bytes)",
                        text);
    *bits_per_s = v * u->factor;
    return CC_OK;
}

int cc_parse_time(const char *text, double *seconds, struct cc_error *e)
{
    static const struct unit units[] = {{"s", 1},    {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9},
                                        {"min", 60}, {"h", 3600},  {NULL, 0}};
    double v = 0;
    const char *rest = text;
    if (leading_number(text, &v, &rest)) {
        const struct unit *u = find_unit(units, rest, 0);
        if (u != NULL || (v == 0 && *rest == '\0')) {
            *seconds = u != NULL ? v * u->factor : 0;
            return CC_OK;
        }
    }
    return cc_usage(e, "'%s' is not a time such as 50us, 5ms or 1.5s", text);
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

void cc_print_si(double v, const char *unit, char *out, size_t cap)
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
    (void)snprintf(digits, sizeof digits, "%.2e", v);
    int power = (int)floor(log10(fabs(strtod(digits, NULL))) / 3);
    power = power < -4 ? -4 : power > 5 ? 5 : power;
    char letter = prefix[power + 4];
    double scaled = strtod(digits, NULL) / pow(10, 3 * power);
    (void)snprintf(out, cap, "%.3g %.*s%s", scaled, power != 0,
                   count && letter == 'k' ? "K" : &letter, count ? "" : unit);
}
