/* The tics of axes and their texts: as many as have room, all in one unit. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/units.h"
#include "results/plot_page.h"

/* Times of a linear axis have the prefix of its end. */
static const struct {
    double from;
    double scale;
    const char *unit;
} times[] = {{1, 1, "s"}, {1e-3, 1e3, "ms"}, {1e-6, 1e6, "us"}, {0, 1e9, "ns"}};

struct cc_number_format cc_axis_format(const struct cc_axis *a, double least)
{
    struct cc_number_format n = {.scale = 1, .decimals = -1, .unit = ""};
    if (a->log || strcmp(a->unit, "#") == 0 || strcmp(a->unit, "bit/s") == 0)
        return n;
    size_t i = 0;
    while (strcmp(a->unit, "s") == 0 && a->hi < times[i].from)
        i++;
    if (strcmp(a->unit, "s") == 0) {
        n.scale = times[i].scale;
        n.unit = times[i].unit;
    }
    least = fabs(least) * n.scale;
    const double most = fmax(fabs(a->hi), fabs(a->lo)) * n.scale;
    const int digits = least > 0 ? (int)(2 - floor(log10(least) + 1e-9)) : 0;
    const int before = most >= 1 ? 1 + (int)floor(log10(most)) : 1;
    n.decimals = digits < 0 ? 0 : digits > 4 - before ? 4 - before : digits;
    n.decimals = n.decimals < 0 ? 0 : n.decimals > 3 ? 3 : n.decimals;
    return n;
}

void cc_axis_number(const struct cc_axis *a, const struct cc_number_format *n, double v,
                    char text[64])
{
    if (n->decimals < 0)
        cc_print_si(v, a->unit, text, 64);
    else
        (void)snprintf(text, 64, "%.*f", n->decimals, v * n->scale);
}

void cc_tic_text(const struct cc_axis *a, double exact, double v, char text[64])
{
    const struct cc_number_format n = cc_axis_format(a, 0);
    if (exact > 0 && v == exact)
        (void)snprintf(text, 64, "exact");
    else if (n.decimals < 0 && a->unit[0] == '\0' && v >= 1e4 && v < 1e7)
        (void)snprintf(text, 64, "%.0f", v);
    else if (n.decimals < 0)
        cc_print_si(v, a->unit, text, 64);
    else
        (void)snprintf(text, 64, "%g", fabs(v) < 1e-12 ? 0 : v * n.scale);
}

/* The tics at about `want` places; with an exact end, that one, and none close to it. */
static void tics_of(const struct cc_axis *a, double exact, int want, struct cc_tics *out)
{
    double at[CC_MOST_TICS];
    const size_t n = cc_axis_tics(a, want, at);
    out->count = 0;
    if (exact > 0)
        out->at[out->count++] = exact;
    for (size_t i = 0; i < n && out->count < CC_MOST_TICS; i++)
        if (exact <= 0 || at[i] >= 5 * exact)
            out->at[out->count++] = at[i];
}

double cc_tic_middle(const struct cc_axis *a, double tic, double size, double length, double beyond)
{
    const double at = cc_axis_share(a, tic) * length;
    return fmax(fmin(at, length + beyond - size / 2), size / 2 - beyond);
}

/* Whether the texts stand apart. */
static bool apart(const struct cc_axis *a, double exact, double length, bool upwards,
                  const struct cc_plan *p, const struct cc_tics *tics)
{
    const double beyond = upwards ? INFINITY : CC_TICS_BEYOND * p->font_size;
    double end = -INFINITY;
    char text[64];
    for (size_t i = 0; i < tics->count; i++) {
        cc_tic_text(a, exact, tics->at[i], text);
        const double size =
            upwards ? CC_TEXT_HEIGHT * p->font_size : cc_text_width(text, p->font, p->font_size);
        const double at = cc_tic_middle(a, tics->at[i], size, length, beyond);
        if (at - size / 2 < end + (upwards ? 0.3 : 0.7) * p->font_size)
            return false;
        end = at + size / 2;
    }
    return true;
}

void cc_axis_choose(const struct cc_axis *a, double exact, double length, bool upwards,
                    const struct cc_plan *p, struct cc_tics *out)
{
    const int most = (int)fmax(2, length / ((upwards ? 2.5 : 3) * p->font_size));
    for (int want = most < 10 ? most : 10; want > 1; want--) {
        tics_of(a, exact, want, out);
        if (apart(a, exact, length, upwards, p, out))
            return;
    }
    tics_of(a, exact, 1, out);
    while (out->count > 1 && !apart(a, exact, length, upwards, p, out))
        out->count--;
}
