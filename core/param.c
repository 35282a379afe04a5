/* Parsing, printing and checking parameters by their table. A number is rounded as it is printed,
 * so that its text reads back as the same number. */
#include "core/param.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/nearest.h"
#include "core/units.h"

static double *real_at(const struct cc_param *p, const void *in)
{
    return (double *)(void *)((const char *)in + p->offset);
}

static int64_t *int_at(const struct cc_param *p, const void *in)
{
    return (int64_t *)(void *)((const char *)in + p->offset);
}

void cc_param_defaults(const struct cc_param *table, void *out)
{
    for (const struct cc_param *p = table; p->name != NULL; p++) {
        if (p->type == CC_REAL)
            *real_at(p, out) = p->def;
        else if (p->type != CC_NESTED)
            *int_at(p, out) = (int64_t)p->def;
    }
}

/* The value rounded to the digits of canonical names, so that the name tells exactly what was used.
 */
static double round_as_printed(double v)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%.9g", v);
    return strtod(text, NULL);
}

static bool in_range(const struct cc_param *p, double v)
{
    return (p->min_open ? v > p->min : v >= p->min) && (p->max_open ? v < p->max : v <= p->max);
}

static int bad_value(const struct cc_param *p, const char *text, struct cc_error *e)
{
    char range[160];
    cc_param_print_range(p, range, sizeof range);
    return cc_usage(e, "%s=%s: allowed is %s", p->name, text, range);
}

static int set_choice(const struct cc_param *p, const char *text, void *out, struct cc_error *e)
{
    const int found = cc_word_find(p->choices, text);
    if (found < 0)
        return bad_value(p, text, e);
    *int_at(p, out) = found;
    return CC_OK;
}

int cc_param_set(const struct cc_param *p, const char *text, void *out, struct cc_error *e)
{
    if (p->type == CC_CHOICE)
        return set_choice(p, text, out, e);
    if (p->type == CC_REAL) {
        /* In range as written, and as rounded: 0.9999999999 is not 1. A share may be in %. */
        const size_t length = strlen(text);
        const bool percent = p->max == 1 && length > 1 && text[length - 1] == '%';
        const double v = percent ? strtod(text, NULL) / 100 : strtod(text, NULL);
        if (!cc_is_decimal(text, length - percent) || !in_range(p, v) ||
            !in_range(p, round_as_printed(v)))
            return bad_value(p, text, e);
        *real_at(p, out) = round_as_printed(v);
        return CC_OK;
    }
    bool negative = text[0] == '-' && p->min < 0;
    uint64_t count;
    if (cc_parse_count(text + negative, &count, NULL) != CC_OK || count > INT64_MAX)
        return bad_value(p, text, e);
    int64_t v = negative ? -(int64_t)count : (int64_t)count;
    if (!in_range(p, (double)v))
        return bad_value(p, text, e);
    *int_at(p, out) = v;
    return CC_OK;
}

const struct cc_param *cc_param_find(const struct cc_param *table, const char *name)
{
    for (const struct cc_param *p = table; p->name != NULL; p++)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

static void print_number(const struct cc_param *p, double v, char *out, size_t cap)
{
    if (p->type == CC_CHOICE)
        (void)snprintf(out, cap, "%s", p->choices[(size_t)v]);
    else
        (void)snprintf(out, cap, p->type == CC_REAL ? "%.9g" : "%.0f", v);
}

void cc_param_print(const struct cc_param *p, const void *in, char *out, size_t cap)
{
    print_number(p, p->type == CC_REAL ? *real_at(p, in) : (double)*int_at(p, in), out, cap);
}

void cc_param_print_default(const struct cc_param *p, char *out, size_t cap)
{
    if (p->type == CC_NESTED)
        (void)snprintf(out, cap, "%s", p->nested_default);
    else
        print_number(p, p->def, out, cap);
}

bool cc_param_is_default(const struct cc_param *p, const void *in)
{
    if (p->type != CC_REAL)
        return *int_at(p, in) == (int64_t)p->def;
    return *real_at(p, in) == p->def;
}

/* A bound for people: large powers of two and ten as such, 2^30. */
static const char *print_bound(double v, char out[32])
{
    int exponent;
    const bool of_two = fabs(v) >= 65536 && fabs(frexp(v, &exponent)) == 0.5;
    const double decades = log10(fabs(v));
    if (of_two)
        (void)snprintf(out, 32, "%s2^%d", v < 0 ? "-" : "", exponent - 1);
    else if (fabs(v) >= 1e5 && decades == floor(decades))
        (void)snprintf(out, 32, "%s10^%.0f", v < 0 ? "-" : "", decades);
    else
        (void)snprintf(out, 32, "%.9g", v);
    return out;
}

void cc_param_print_range(const struct cc_param *p, char *out, size_t cap)
{
    char low[32], high[32];
    if (p->type == CC_FLAG) {
        (void)snprintf(out, cap, "0 or 1");
    } else if (p->type == CC_NESTED) {
        (void)snprintf(out, cap, "a scheme, in parentheses if it has parameters of its own");
    } else if (p->type == CC_CHOICE) {
        out[0] = '\0';
        for (size_t i = 0; p->choices[i] != NULL; i++)
            cc_append(out, cap, i == 0 ? "%s" : "|%s", p->choices[i]);
    } else {
        (void)snprintf(out, cap, "%s %s %s %s %s%s%s", print_bound(p->min, low),
                       p->min_open ? "<" : "<=", p->name,
                       p->max_open ? "<" : "<=", print_bound(p->max, high),
                       p->unit[0] != '\0' ? " " : "", p->unit);
    }
}
