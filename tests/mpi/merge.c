/* Merges with all values written out, -0 where nobody has sent anything: a split adds in the order
 * of ranks, the others pair ranks of a power of two, with proxies for those beyond it. The bytes
 * are counted from the lengths of the streams that would go. */
#include "tests/mpi/merge.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

enum { LENGTH = 8, HEAD = 24, UNIT = 512 };

/* Values are -0 where nobody has sent anything. */
static int is_there(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits != 0x80000000u;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

uint64_t merge_stream_bytes(size_t n, size_t c, enum cc_wire wire, bool dense)
{
    const size_t pairs = 8 * c, all = 4 * n;
    const size_t blocks = n / 65536 + (n % 65536 != 0), words = n / 64 + (n % 64 != 0);
    const size_t halves = 4 * blocks + 4 * (c / 2 + c % 2) + 4 * c, bitmap = 8 * words + 4 * c;
    size_t body = least(pairs, all);
    if (wire == CC_WIRE_AUTO)
        body = least(body, least(halves, bitmap));
    return n == 0 ? 0 : LENGTH + HEAD + (dense ? all : body);
}

static size_t cut(const struct merge *m, int i, int parts)
{
    const size_t n = m->values, p = (size_t)parts, k = (size_t)i;
    const size_t at = n / p * k + (k < n % p ? k : n % p);
    return i == parts ? n : at / UNIT * UNIT;
}

/* The bytes of the values [from, to) of v. */
static uint64_t bytes_of(const struct merge *m, const float *v, size_t from, size_t to, bool dense)
{
    size_t c = 0;
    for (size_t i = from; i < to; i++)
        c += (size_t)is_there(v[i]);
    return merge_stream_bytes(to - from, c, m->job->wire, dense);
}

/* The same of a rank's own pairs, which it sends as they are. */
static uint64_t own_bytes(const struct merge *m, int rank, size_t from, size_t to)
{
    size_t c = 0;
    for (size_t i = 0; i < m->pairs[rank]; i++)
        c += m->pair[rank][i].index >= from && m->pair[rank][i].index < to;
    return merge_stream_bytes(to - from, c, m->job->wire, false);
}

static float *expand(const struct merge *m, int rank)
{
    float *v = cc_alloc((m->values + 1) * sizeof *v, NULL);
    for (size_t i = 0; i < m->values; i++)
        v[i] = -0.0f;
    for (size_t i = 0; i < m->pairs[rank]; i++)
        v[m->pair[rank][i].index] = m->pair[rank][i].value;
    return v;
}

/* Leaves out of the whole sum what is not to be kept. */
static void leave_out(const struct merge *m, float *sum)
{
    for (size_t i = 0; i < m->values; i++)
        if (m->least > 0 && !(sum[i] >= m->least || -sum[i] >= m->least))
            sum[i] = -0.0f;
}

static uint64_t sum_split(const struct merge *m, float *sum)
{
    const int p = m->job->workers;
    uint64_t moved = 0;
    for (size_t i = 0; i < m->values; i++)
        sum[i] = -0.0f;
    for (int r = 0; r < p; r++) {
        float *v = expand(m, r);
        for (size_t i = 0; i < m->values; i++)
            sum[i] = sum[i] + v[i];
        free(v);
        for (int c = 0; c < p; c++)
            moved += c != r ? own_bytes(m, r, cut(m, c, p), cut(m, c + 1, p)) : 0;
    }
    leave_out(m, sum);
    for (int c = 0; c < p; c++) {
        const size_t from = cut(m, c, p), to = cut(m, c + 1, p);
        uint64_t bytes = bytes_of(m, sum, from, to, m->dense);
        if (m->quantized && to > from)
            bytes = LENGTH + HEAD;
        moved += bytes * (uint64_t)(p - 1);
    }
    return moved;
}

/* The ranks of a power of two, of which the first `rest` also have the rank before theirs. */
static uint64_t sum_powers(const struct merge *m, float *sum)
{
    const int p = m->job->workers;
    const size_t n = m->values;
    int power = 1;
    while (2 * power <= p)
        power *= 2;
    const int rest = p - power;
    float *v[32], *next[32];
    bool own[32]; /* has only its own values */
    uint64_t moved = 0;
    for (int j = 0; j < power; j++) {
        const int r = j < rest ? 2 * j + 1 : j + rest;
        v[j] = expand(m, r);
        own[j] = j >= rest;
        next[j] = cc_alloc((n + 1) * sizeof(float), NULL);
        if (j >= rest)
            continue;
        float *more = expand(m, r - 1);
        for (size_t i = 0; i < n; i++)
            v[j][i] = v[j][i] + more[i];
        free(more);
        moved += own_bytes(m, r - 1, 0, n);
    }
    for (int t = 1; t < power; t *= 2) {
        const int d = m->recdouble ? t : power / 2 / t;
        for (int j = 0; j < power; j++) {
            /* All, or of what it has in common with the other the other's half. */
            const size_t from = m->recdouble ? 0 : cut(m, (j ^ d) / d * d, power);
            const size_t to = m->recdouble ? n : cut(m, (j ^ d) / d * d + d, power);
            moved += own[j] ? own_bytes(m, j + rest, from, to) : bytes_of(m, v[j], from, to, false);
            for (size_t i = 0; i < n; i++)
                next[j][i] = v[j][i] + v[j ^ d][i];
        }
        for (int j = 0; j < power; j++) {
            memcpy(v[j], next[j], n * sizeof(float));
            own[j] = false;
        }
    }
    memcpy(sum, v[0], n * sizeof(float));
    leave_out(m, sum);
    if (m->recdouble)
        moved += bytes_of(m, sum, 0, n, false) * (uint64_t)rest;
    for (int d = 1; d < power && !m->recdouble; d *= 2)
        for (int j = 0; j < power; j++) {
            uint64_t chunks = 0;
            for (int c = j / d * d; c < j / d * d + d; c++)
                chunks += bytes_of(m, sum, cut(m, c, power), cut(m, c + 1, power), false);
            moved += chunks + (chunks > 0 && d > 1 ? LENGTH : 0);
        }
    uint64_t whole = 0;
    for (int c = 0; c < power; c++)
        whole += bytes_of(m, sum, cut(m, c, power), cut(m, c + 1, power), false);
    if (!m->recdouble)
        moved += (whole + (whole > 0 && power > 1 ? LENGTH : 0)) * (uint64_t)rest;
    for (int j = 0; j < power; j++) {
        free(v[j]);
        free(next[j]);
    }
    return moved;
}

uint64_t merge_sum(const struct merge *m, float *sum)
{
    return m->split ? sum_split(m, sum) : sum_powers(m, sum);
}
