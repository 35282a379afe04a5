/* An account by value, in double: what all workers have computed, what the sums have applied, and
 * what the codecs' residuals hold back by the layouts of their overviews. The three must balance.
 * The threshold is read off a sorted list of magnitudes. */
#include "tests/mpi/keep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/settings.h"

void keep_open(struct keep *k, const struct cc_job *job, size_t values)
{
    const double wanted = job->keep * (double)values;
    *k = (struct keep){.values = values, .wanted = wanted < 1.5 ? 1 : (size_t)(wanted + 0.5)};
    k->computed = box_room((values + 1) * sizeof *k->computed);
    k->size = box_room((values + 1) * sizeof *k->size);
    k->applied = box_room((values + 1) * sizeof *k->applied);
    k->momentum = box_room((values + 1) * (size_t)job->workers * sizeof *k->momentum);
}

void keep_close(struct keep *k)
{
    free(k->computed);
    free(k->size);
    free(k->applied);
    free(k->momentum);
}

static bool is_absent(float v)
{
    return v == 0 && signbit(v);
}

/* --- the account --- */

static bool is(const struct cc_codec *c, const char *id)
{
    return strcmp(c->scheme->id, id) == 0;
}

/* A codec's spec, for its parameters. */
static struct cc_spec spec_of(const struct cc_codec *c)
{
    struct cc_spec s = {.scheme = c->scheme};
    memcpy(&s.params, &c->params, sizeof s.params);
    return s;
}

/* The part of its value i that the codec holds back, by the layouts that the schemes' overviews
 * give. */
static float *residual(const struct cc_codec *c, size_t i)
{
    const size_t n = c->shape.n;
    if (is(c, "dgc"))
        return (float *)c->state + n + i;
    if (!is(c, "local"))
        return (float *)c->state + i;
    const struct cc_spec outer = spec_of(c), *inner = setting_nested(&outer, "inner");
    struct cc_codec in = *c;
    in.scheme = inner->scheme;
    in.params = inner->params;
    in.state = (char *)c->state + (n * sizeof(float) + 63) / 64 * 64;
    return residual(&in, i);
}

/* The same with a sum that is not sent yet. */
static double held_back(const struct cc_codec *c, size_t i)
{
    const double r = (double)*residual(c, i);
    return is(c, "local") ? r + (double)((float *)c->state)[i] : r;
}

void keep_computes(struct keep *k, int rank, const struct box *b, const float *x)
{
    for (size_t t = 0; t < b->bits; t++) {
        const struct bit *bit = &b->bit[t];
        const size_t at = bit->at - b->from;
        const struct cc_spec s = spec_of(&bit->codec);
        const float m = is(&bit->codec, "dgc") ? (float)setting_real(&s, "momentum") : 0;
        for (size_t i = 0; i < bit->codec.shape.n; i++) {
            float *u = &k->momentum[(size_t)rank * k->values + at + i];
            *u = m * *u + x[at + i];
            k->computed[at + i] += (double)*u;
            k->size[at + i] += fabs((double)*u);
        }
    }
}

void keep_sends(struct keep *k, int rank, const struct cc_index_value *pair, size_t pairs)
{
    for (size_t i = 0; i < pairs; i++)
        k->momentum[(size_t)rank * k->values + pair[i].index] = 0;
}

void keep_gives_back(struct keep *k, struct box *b, const struct cc_index_value *pair, size_t pairs,
                     const float *sum)
{
    for (size_t i = 0; i < pairs && k->least > 0; i++) {
        const size_t at = b->from + pair[i].index;
        size_t t = 0;
        if (!is_absent(sum[pair[i].index]))
            continue;
        while (at >= b->bit[t].at + b->bit[t].codec.shape.n)
            t++;
        *residual(&b->bit[t].codec, at - b->bit[t].at) += pair[i].value;
    }
}

double keep_off(const struct keep *k, const struct box *rank, int ranks)
{
    double worst = 0;
    for (size_t t = 0; t < rank->bits; t++) {
        const size_t at = rank->bit[t].at - rank->from;
        for (size_t i = 0; i < rank->bit[t].codec.shape.n; i++) {
            double held = k->applied[at + i];
            for (int r = 0; r < ranks; r++)
                held += held_back(&rank[r].bit[t].codec, i);
            const double off = fabs(held - k->computed[at + i]);
            worst = off > 0 ? fmax(worst, off / k->size[at + i]) : worst;
        }
    }
    return worst;
}

/* --- the threshold --- */

static int descending(const void *x, const void *y)
{
    const float a = *(const float *)x, b = *(const float *)y;
    return (a < b) - (a > b);
}

size_t keep_ends(struct keep *k, const float *sum)
{
    float *sorted = box_room((k->values + 1) * sizeof *sorted);
    size_t c = 0;
    for (size_t i = 0; i < k->values; i++) {
        if (is_absent(sum[i]))
            continue;
        k->applied[i] += (double)sum[i];
        sorted[c++] = fabsf(sum[i]);
    }
    qsort(sorted, c, sizeof *sorted, descending);
    const double wanted = (double)k->wanted, most = 4 * wanted;
    k->surplus += k->least > 0 ? (double)c - wanted : 0;
    k->surplus = fmin(fmax(k->surplus, -most), most);
    const double repay = trunc(k->surplus / 8);
    const size_t aim = (size_t)fmin(fmax(wanted - repay, ceil(wanted / 2)), 2 * wanted);
    const size_t higher = (size_t)((double)c * (double)c / (double)aim);
    const bool few = k->least > 0 && c < aim && (c < aim / 8 || higher < 1);
    if (c >= aim)
        k->least = sorted[aim - 1];
    else if (few)
        k->least = k->few ? 0 : k->least / 2;
    else if (k->least > 0)
        k->least = sorted[c - 1] * (sorted[c - 1] / sorted[higher - 1]);
    k->few = few;
    free(sorted);
    return c;
}
