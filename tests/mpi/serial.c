/* Serial exchanges. A way to exchange is opened as the order in which ranks add: a ring's chunks,
 * or pairs of a power of two with proxies for the ranks beyond it. Its step then sums floats in
 * that order, adds what all ranks have sent (gathered), leaves the pairs to merge.c, or, for
 * payloads that cannot be summed, decodes, adds and encodes at every hop, and counts each payload
 * on the way. */
#include "tests/mpi/serial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "netsim/exchange/pack/pack.h"
#include "tests/mpi/box.h"
#include "tests/mpi/keep.h"
#include "tests/mpi/merge.h"
#include "tests/mpi/serial_tree.h"

enum { MOST_ROUNDS = 6 };

struct serial {
    const struct cc_job *job;
    const struct cc_job_row *row;
    const struct cc_message *message;
    const struct cc_spec *spec, *raw;
    struct cc_spec *second; /* the scheme of the second stage, if it is quantized */
    struct cc_spec *inside; /* that of payloads inside hosts, if it is another one */
    size_t from, to;
    int workers, power, rest;
    int hosts, ranks; /* of a host */
    bool ring, twoshot, hierarchical, tree, recdouble, rabenseifner, mpi, gathers, split, merges,
        dense, quantizes;
    double pairs; /* all ranks' together: ssar-auto expects as many */
    bool keeps;
    struct keep keep;
    /* whole: of each rank. part: [rank][chunk] for ring and twoshot; [chunk] of a quantized second
     * stage. round: [member][round] for the doubling and halving ones, the last for the whole sum.
     */
    struct box *whole, *part, *round, *inner;
    float *sum; /* flat step of each rank */
};

static struct box part_box(const struct serial *s, size_t from, size_t to, int64_t rank,
                           uint64_t salt)
{
    return box_new(s->job, s->spec, s->raw, from, to, rank, salt);
}

/* Even parts, the first ones longer, down to whole units. */
static size_t cut(size_t n, size_t i, size_t parts, size_t unit)
{
    size_t at = n / parts * i + (i < n % parts ? i : n % parts);
    return i == parts ? n : at / unit * unit;
}

static size_t cut_at(const struct serial *s, int i, int parts)
{
    return s->from + cut(s->to - s->from, (size_t)i, (size_t)parts, 512);
}

/* The rank of a member of the power of two that go on, and the lowest in what it has. */
static int rank_of(const struct serial *s, int member)
{
    return member < s->rest ? 2 * member + 1 : member + s->rest;
}

static int lowest_of(const struct serial *s, int member)
{
    return member < s->rest ? 2 * member : member + s->rest;
}

/* The owner's part of the sum, encoded by a scheme of its own. */
static void set_gather(struct serial *s, struct box *b, int owner)
{
    struct cc_error e = {""};
    struct box other = *b;
    if (s->second == NULL && cc_spec_parse(s->job->gather, &s->second, &e) != CC_OK)
        box_die(e.text);
    *b = box_new(s->job, s->second, s->raw, b->from, b->to, owner, 0);
    for (size_t i = 0; i < b->bits; i++)
        b->bit[i].ctx.direction = CC_PULL;
    box_free(&other);
}

static void open_ring(struct serial *s)
{
    const int p = s->workers;
    s->part = box_room((size_t)(p * p) * sizeof *s->part);
    for (int r = 0; r < p; r++)
        for (int c = 0; c < p; c++)
            s->part[r * p + c] = part_box(s, cut_at(s, c, p), cut_at(s, c + 1, p), r, 0);
    for (int c = 0; c < p && s->twoshot && s->job->gather != NULL; c++)
        set_gather(s, &s->part[c * p + c], c);
}

/* tree: the half that a rank sends up in each tree, or, of a root, the whole sum. */
static void open_tree(struct serial *s)
{
    const int trees = s->workers > 1 ? 2 : 1;
    s->part = box_room((size_t)(s->workers * s->workers) * sizeof *s->part);
    for (int i = 0; i < s->workers * trees; i++)
        s->part[i] =
            part_box(s, cut_at(s, i % trees, trees), cut_at(s, i % trees + 1, trees), i / trees, 0);
}

/* hierarchical: what each rank sends inside, [rank][local], and between, [rank][host], of which its
 * own host's is the whole sum. */
static void open_hierarchical(struct serial *s)
{
    const int p = s->workers, n = s->hosts, g = s->ranks;
    struct cc_error e = {""};
    s->part = box_room((size_t)(p * p) * sizeof *s->part);
    s->inner = box_room((size_t)(p * g) * sizeof *s->inner);
    if (s->job->intra_scheme != NULL &&
        cc_spec_parse(s->job->intra_scheme, &s->inside, &e) != CC_OK)
        box_die(e.text);
    for (int r = 0; r < p; r++) {
        for (int l = 0; l < g; l++)
            s->inner[r * g + l] = box_new(s->job, s->inside != NULL ? s->inside : s->spec, s->raw,
                                          cut_at(s, l * n, p), cut_at(s, (l + 1) * n, p), r, 0);
        for (int h = 0; h < n; h++) {
            const int c = r % g * n + h;
            s->part[r * n + h] = part_box(s, cut_at(s, c, p), cut_at(s, c + 1, p), r, 0);
        }
        if (s->job->gather != NULL)
            set_gather(s, &s->part[r * n + r / g], r);
    }
}

static void open_powers(struct serial *s)
{
    s->round = box_room((size_t)s->power * MOST_ROUNDS * sizeof *s->round);
    for (int j = 0; j < s->power; j++) {
        struct box *round = &s->round[j * MOST_ROUNDS];
        int k = 0;
        if (s->recdouble) {
            for (int d = 1; d < s->power; d *= 2, k++)
                round[k] = part_box(s, s->from, s->to, lowest_of(s, j / d * d), (uint64_t)k + 1);
            round[k] = part_box(s, s->from, s->to, 0, (uint64_t)k + 1);
            continue;
        }
        for (int d = s->power / 2; d >= 1; d /= 2, k++) {
            int other = (j ^ d) / d * d;
            round[k] = part_box(s, cut_at(s, other, s->power), cut_at(s, other + d, s->power),
                                rank_of(s, j), 0);
        }
        round[k] =
            part_box(s, cut_at(s, j, s->power), cut_at(s, j + 1, s->power), rank_of(s, j), 0);
    }
}

/* The second stage of dsar-split. */
static void open_quantized(struct serial *s)
{
    struct cc_error e = {""};
    struct serial dense = *s;
    const int p = s->workers;
    if (cc_second_spec(s->job, s->row, &s->second, &e) != CC_OK)
        box_die(e.text);
    dense.spec = s->second;
    s->part = box_room((size_t)(p * p) * sizeof *s->part);
    for (int c = 0; c < p; c++)
        s->part[c] = part_box(&dense, cut_at(s, c, p), cut_at(s, c + 1, p), c, 1);
}

static size_t most_pairs(const struct serial *s, const struct bit *t)
{
    return s->job->tensor[t->ctx.tensor].raw ? t->codec.shape.n : cc_pairs_bound(&t->codec);
}

struct serial *serial_open(const struct cc_job *job, const struct cc_job_row *row,
                           const struct cc_message *m, const struct cc_spec *spec,
                           const struct cc_spec *raw)
{
    struct serial *s = box_room(sizeof *s);
    *s = (struct serial){.job = job, .row = row, .message = m, .spec = spec, .raw = raw};
    s->from = job->offset[m->first];
    s->to = job->offset[m->last + 1];
    s->workers = job->workers;
    for (s->power = 1; 2 * s->power <= s->workers;)
        s->power *= 2;
    s->rest = s->workers - s->power;
    s->ring = job->exchange == CC_RING;
    s->twoshot = job->exchange == CC_TWOSHOT;
    s->hierarchical = job->exchange == CC_HIERARCHICAL;
    s->tree = job->exchange == CC_TREE;
    s->ranks = cc_job_per_host(job);
    s->hosts = s->workers / s->ranks;
    s->recdouble = job->exchange == CC_RECDOUBLE || job->exchange == CC_SSAR_RECDOUBLE;
    s->rabenseifner = job->exchange == CC_RABENSEIFNER || job->exchange == CC_SSAR_RABENSEIFNER;
    s->dense = job->exchange == CC_DSAR_SPLIT;
    s->split =
        s->twoshot || job->exchange == CC_SSAR_SPLIT || s->dense || job->exchange == CC_SSAR_AUTO;
    s->quantizes = (s->dense || job->exchange == CC_SSAR_AUTO) && job->dense_bits < 32;
    s->merges = cc_exchange_has(job->exchange, CC_X_MERGES) && row->reduction == CC_REDUCE_PAIRS;
    s->mpi = job->exchange == CC_MPI;
    s->gathers = job->exchange == CC_ALLGATHER ||
                 (row->reduction != CC_REDUCE_SUM && (s->mpi || job->via == CC_VIA_ALLGATHER));
    s->sum = box_room((size_t)s->workers * cc_job_values(job) * sizeof *s->sum);
    s->whole = box_room((size_t)s->workers * sizeof *s->whole);
    for (int r = 0; r < s->workers; r++)
        s->whole[r] = part_box(s, s->from, s->to, r, 0);
    if (s->merges && s->quantizes)
        open_quantized(s);
    for (size_t i = 0; i < s->whole->bits && s->merges; i++)
        s->pairs += s->workers * (double)most_pairs(s, &s->whole->bit[i]);
    s->keeps = s->merges && job->keep > 0;
    if (s->keeps)
        keep_open(&s->keep, job, s->to - s->from);
    if (s->merges)
        return s;
    if (row->reduction != CC_REDUCE_SUM && !s->gathers && (s->ring || s->twoshot))
        open_ring(s);
    else if (row->reduction != CC_REDUCE_SUM && !s->gathers && s->tree)
        open_tree(s);
    else if (row->reduction != CC_REDUCE_SUM && !s->gathers && s->hierarchical)
        open_hierarchical(s);
    else if (row->reduction != CC_REDUCE_SUM && !s->gathers)
        open_powers(s);
    return s;
}

void serial_close(struct serial *s)
{
    for (int r = 0; r < s->workers; r++)
        box_free(&s->whole[r]);
    for (int i = 0; i < s->workers * s->workers && s->part != NULL; i++)
        box_free(&s->part[i]);
    for (int i = 0; i < s->workers * s->ranks && s->inner != NULL; i++)
        box_free(&s->inner[i]);
    free(s->inner);
    for (int i = 0; i < s->power * MOST_ROUNDS && s->round != NULL; i++)
        box_free(&s->round[i]);
    if (s->keeps)
        keep_close(&s->keep);
    cc_spec_free(s->second);
    cc_spec_free(s->inside);
    free(s->whole);
    free(s->part);
    free(s->round);
    free(s->sum);
    free(s);
}

static bool silent_step(const struct serial *s, uint64_t step)
{
    bool raw = false;
    for (size_t i = s->message->first; i <= s->message->last; i++)
        raw |= s->job->tensor[i].raw;
    return (step + 1) % s->row->period != 0 && !raw;
}

static void moves(struct serial_counts *counts, uint64_t transfers, uint64_t payloads,
                  uint64_t bytes)
{
    counts->moved += bytes;
    counts->transfers += transfers;
    if (payloads > counts->most_payloads)
        counts->most_payloads = payloads;
}

/* --- floats --- */

static void floats_of(const struct box *b, float *out)
{
    for (size_t i = 0; i < b->bits; i++) {
        memcpy(out, b->bit[i].payload, b->bit[i].len);
        out += b->bit[i].len / sizeof *out;
    }
}

static void set_floats(struct box *b, const float *in)
{
    for (size_t i = 0; i < b->bits; i++) {
        memcpy(b->bit[i].payload, in, b->bit[i].len);
        in += b->bit[i].len / sizeof *in;
    }
}

/* v[rank] has n floats; the sum is left in total. */
static void sum_ring(const struct serial *s, float *const *v, size_t n, float *total)
{
    const size_t p = (size_t)s->workers;
    for (size_t c = 0; c < p; c++)
        for (size_t i = cut(n, c, p, 1); i < cut(n, c + 1, p, 1); i++) {
            total[i] = v[c][i];
            for (size_t k = 1; k < p; k++)
                total[i] = v[(c + k) % p][i] + total[i];
        }
}

/* Rank c owns part c, and adds those of the ranks before it, the nearest first. */
static void sum_split(const struct serial *s, float *const *v, size_t n, float *total)
{
    const size_t p = (size_t)s->workers;
    for (size_t c = 0; c < p; c++)
        for (size_t i = cut(n, c, p, 1); i < cut(n, c + 1, p, 1); i++) {
            total[i] = v[c][i];
            for (size_t k = 1; k < p; k++)
                total[i] = v[(c + p - k) % p][i] + total[i];
        }
}

/* Rank l of host h owns part l n + h: hosts add up theirs in that order, and then the owners. */
static void sum_hierarchical(const struct serial *s, float *const *v, size_t n, float *total)
{
    const size_t p = (size_t)s->workers, hosts = (size_t)s->hosts, ranks = (size_t)s->ranks;
    for (size_t c = 0; c < p; c++)
        for (size_t i = cut(n, c, p, 1); i < cut(n, c + 1, p, 1); i++) {
            const size_t own = c % hosts, local = c / hosts;
            for (size_t k = 0; k < hosts; k++) {
                const size_t host = (own + hosts - k) % hosts;
                float sum = v[host * ranks + local][i];
                for (size_t d = 1; d < ranks; d++)
                    sum = v[host * ranks + (local + ranks - d) % ranks][i] + sum;
                total[i] = k == 0 ? sum : sum + total[i];
            }
        }
}

/* A rank adds what its children have, one after the other, to its own. */
static float sum_below(const struct serial *s, float *const *v, size_t i, int which, int rank)
{
    int child[3];
    const int count = serial_tree_children(s->workers, s->ranks, which, rank, child);
    float sum = v[rank][i];
    for (int k = 0; k < count; k++)
        sum = sum + sum_below(s, v, i, which, child[k]);
    return sum;
}

static void sum_tree(const struct serial *s, float *const *v, size_t n, float *total)
{
    for (int which = 0; which < 2; which++)
        for (size_t i = cut(n, (size_t)which, 2, 1); i < cut(n, (size_t)which + 1, 2, 1); i++)
            total[i] = sum_below(s, v, i, which, serial_tree_root(s->workers, s->ranks, which));
}

static void sum_powers(const struct serial *s, float *const *v, size_t n, float *total)
{
    float w[32] = {0}, next[32];
    for (size_t i = 0; i < n; i++) {
        for (int j = 0; j < s->power; j++) {
            w[j] = v[rank_of(s, j)][i];
            if (j < s->rest)
                w[j] = w[j] + v[2 * j][i];
        }
        for (int t = 1; t < s->power; t *= 2) {
            int d = s->recdouble ? t : s->power / 2 / t;
            for (int j = 0; j < s->power; j++)
                next[j] = w[j] + w[j ^ d];
            memcpy(w, next, sizeof w);
        }
        total[i] = w[0];
    }
}

/* In whatever order: how far a sum in floats can be from that in doubles. */
static double sum_any(const struct serial *s, float *const *v, size_t n, float *total)
{
    double slack = 0;
    for (size_t i = 0; i < n; i++) {
        double sum = 0, size = 0;
        for (int r = 0; r < s->workers; r++) {
            sum += (double)v[r][i];
            size += fabs((double)v[r][i]);
        }
        total[i] = (float)sum;
        slack = fmax(slack, size * s->workers * 0x1p-23);
    }
    return slack;
}

static void count_sums(const struct serial *s, uint64_t bytes, struct serial_counts *counts)
{
    const uint64_t p = (uint64_t)s->workers, power = (uint64_t)s->power, rest = (uint64_t)s->rest;
    uint64_t lg = 0;
    while ((uint64_t)1 << lg < power)
        lg++;
    const uint64_t hosts = (uint64_t)s->hosts, ranks = (uint64_t)s->ranks;
    if (s->tree)
        moves(counts, 4 * (p - 1), 0, 2 * (p - 1) * bytes);
    else if (s->hierarchical)
        moves(counts, 2 * p * (ranks - 1 + hosts - 1), 0,
              2 * (hosts * (ranks - 1) + hosts - 1) * bytes);
    else if (s->ring || s->split)
        moves(counts, 2 * p * (p - 1), 0, 2 * (p - 1) * bytes);
    else if (s->recdouble)
        moves(counts, power * lg + 2 * rest, 0, (power * lg + 2 * rest) * bytes);
    else if (s->rabenseifner)
        moves(counts, 2 * power * lg + 2 * rest, 0, (2 * (power - 1) + 2 * rest) * bytes);
}

static double step_sums(struct serial *s, float *model, struct serial_counts *counts)
{
    float *v[32], *total;
    double slack = 0;
    const size_t n = (size_t)(counts->payload[0] / sizeof(float));
    total = box_room(n * sizeof *total);
    for (int r = 0; r < s->workers; r++) {
        v[r] = box_room(n * sizeof *v[r]);
        floats_of(&s->whole[r], v[r]);
    }
    if (s->ring)
        sum_ring(s, v, n, total);
    else if (s->tree)
        sum_tree(s, v, n, total);
    else if (s->hierarchical)
        sum_hierarchical(s, v, n, total);
    else if (s->split)
        sum_split(s, v, n, total);
    else if (s->mpi)
        slack = sum_any(s, v, n, total);
    else
        sum_powers(s, v, n, total);
    set_floats(&s->whole[0], total);
    box_add(&s->whole[0], 1.0f / (float)s->workers, model);
    count_sums(s, n * sizeof(float), counts);
    for (int r = 0; r < s->workers; r++)
        free(v[r]);
    free(total);
    return slack;
}

/* --- gathered --- */

static void step_gather(struct serial *s, float *model, struct serial_counts *counts)
{
    uint64_t rounds = 0;
    for (int have = 1; have < s->workers; have *= 2)
        rounds++;
    for (int r = 0; r < s->workers; r++) {
        box_add(&s->whole[r], 1.0f / (float)s->workers, model);
        if (!s->mpi)
            moves(counts, 0, (uint64_t)s->workers, counts->payload[r] * (uint64_t)(s->workers - 1));
    }
    counts->transfers = rounds * (uint64_t)s->workers;
}

/* --- merged --- */

/* The pairs of what a rank has encoded; tensors that travel raw as their values that are not 0. */
static size_t pairs_of(const struct serial *s, const struct box *b, struct cc_index_value *out)
{
    size_t all = 0;
    for (size_t i = 0; i < b->bits; i++) {
        const struct bit *t = &b->bit[i];
        const uint32_t base = (uint32_t)(t->at - s->from);
        size_t found = 0;
        if (s->job->tensor[t->ctx.tensor].raw) {
            for (size_t j = 0; j < t->len / sizeof(float); j++) {
                float v;
                memcpy(&v, t->payload + sizeof v * j, sizeof v);
                if (v != 0)
                    out[all + found++] = (struct cc_index_value){base + (uint32_t)j, v};
            }
        } else if (cc_to_pairs(&t->codec, &t->ctx, t->payload, t->len, base, out + all,
                               t->codec.shape.n, &found, NULL) != CC_OK) {
            abort();
        }
        all += found;
    }
    return all;
}

/* ssar-auto: the exchange of a message with that number of pairs. */
static enum cc_exchange choose(const struct serial *s, double pairs)
{
    enum cc_exchange last = CC_SSAR_SPLIT;
    for (size_t i = 0; i < s->row->choices; i++) {
        const struct cc_job_choice *c = &s->row->choice[i];
        if (&s->row->message[c->message] != s->message)
            continue;
        last = c->exchange;
        if (pairs <= c->pairs)
            break;
    }
    return last;
}

/* The way of this step: by the pairs of the step before, and, once a split has exchanged them, by
 * its own. */
static void take_way(struct serial *s, double pairs, struct serial_counts *counts)
{
    enum cc_exchange x = choose(s, s->pairs);
    s->recdouble = x == CC_SSAR_RECDOUBLE;
    s->split = x == CC_SSAR_SPLIT || x == CC_DSAR_SPLIT;
    if (s->split)
        x = choose(s, pairs) == CC_DSAR_SPLIT ? CC_DSAR_SPLIT : CC_SSAR_SPLIT;
    s->dense = x == CC_DSAR_SPLIT;
    s->pairs = pairs;
    counts->chose = true;
    counts->chosen = x;
}

static void step_merge(struct serial *s, uint64_t step, float *model, struct serial_counts *counts)
{
    const size_t n = s->to - s->from;
    struct merge m = {.job = s->job, .values = n};
    double pairs = 0;
    for (int r = 0; r < s->workers; r++) {
        m.pair[r] = box_room((n + 1) * sizeof *m.pair[r]);
        m.pairs[r] = pairs_of(s, &s->whole[r], m.pair[r]);
        pairs += (double)m.pairs[r];
    }
    if (s->job->exchange == CC_SSAR_AUTO)
        take_way(s, pairs, counts);
    const bool quantized = s->dense && s->quantizes;
    m.recdouble = s->recdouble;
    m.split = s->split;
    m.dense = s->dense;
    m.quantized = quantized;
    m.least = s->workers > 1 ? s->keep.least : 0;
    float *sum = box_room((n + 1) * sizeof *sum);
    counts->moved = merge_sum(&m, sum);
    for (int r = 0; r < s->workers && s->keeps; r++) {
        keep_sends(&s->keep, r, m.pair[r], m.pairs[r]);
        keep_gives_back(&s->keep, &s->whole[r], m.pair[r], m.pairs[r], sum);
    }
    if (s->keeps)
        counts->kept = keep_ends(&s->keep, sum);
    for (size_t c = 0; c < (size_t)s->workers && quantized; c++) {
        struct box *b = &s->part[c];
        float *flat = box_room(cc_job_values(s->job) * sizeof *flat);
        memcpy(flat + s->from, sum, n * sizeof *sum);
        counts->moved += box_encode(b, step, flat) * (uint64_t)(s->workers - 1);
        counts->heads += (uint64_t)(s->workers - 1) * (1 + 10 * b->bits);
        box_add(b, 1.0f / (float)s->workers, model);
        free(flat);
    }
    for (size_t i = 0; i < n && !quantized; i++) {
        const float product = 1.0f / (float)s->workers * sum[i];
        model[s->from + i] = model[s->from + i] + product;
    }
    for (int r = 0; r < s->workers; r++)
        free(m.pair[r]);
    free(sum);
}

/* --- hops --- */

static float *of_rank(const struct serial *s, int rank)
{
    return s->sum + (size_t)rank * cc_job_values(s->job);
}

static void encode(struct box *b, int rank, uint64_t step, const float *x, bool counted,
                   struct serial_counts *counts, size_t *len)
{
    *len = box_encode(b, step, x);
    if (counted)
        counts->payload[rank] += *len;
}

static void step_ring(struct serial *s, uint64_t step, const float *const *gradient, bool silent,
                      float *model, struct serial_counts *counts)
{
    const int p = s->workers;
    size_t len;
    for (int c = 0; c < p; c++) {
        struct box *b = NULL;
        for (int k = 0; k < p; k++) {
            int r = (c + k) % p;
            float *sum = of_rank(s, r);
            memcpy(sum, gradient[r], cc_job_values(s->job) * sizeof *sum);
            if (b != NULL && !silent)
                box_add(b, 1, sum);
            b = &s->part[r * p + c];
            encode(b, r, step, sum, true, counts, &len);
            if (k < p - 1 && !silent)
                moves(counts, 1, 1, len);
        }
        if (silent)
            continue;
        moves(counts, (uint64_t)p - 1, 1, len * (uint64_t)(p - 1));
        box_add(b, 1.0f / (float)p, model);
    }
}

/* Rank c owns chunk c: it adds what the ranks before it have encoded, the nearest first. */
static void step_twoshot(struct serial *s, uint64_t step, const float *const *gradient, bool silent,
                         float *model, struct serial_counts *counts)
{
    const int p = s->workers;
    size_t len;
    for (int c = 0; c < p; c++) {
        float *sum = of_rank(s, c);
        memcpy(sum, gradient[c], cc_job_values(s->job) * sizeof *sum);
        for (int k = 1; k < p; k++) {
            const int r = (c + p - k) % p;
            encode(&s->part[r * p + c], r, step, gradient[r], true, counts, &len);
            if (silent)
                continue;
            moves(counts, 1, 1, len);
            box_add(&s->part[r * p + c], 1, sum);
        }
        encode(&s->part[c * p + c], c, step, sum, true, counts, &len);
        if (silent)
            continue;
        moves(counts, (uint64_t)p - 1, 1, len * (uint64_t)(p - 1));
        box_add(&s->part[c * p + c], 1.0f / (float)p, model);
    }
}

/* Gives a rank the sum of its subtree, and encodes it. */
static size_t send_up(struct serial *s, int which, int rank, uint64_t step,
                      const float *const *gradient, bool silent, struct serial_counts *counts)
{
    const int trees = s->workers > 1 ? 2 : 1;
    int child[3];
    float *sum = of_rank(s, rank);
    size_t len;
    const int count =
        trees > 1 ? serial_tree_children(s->workers, s->ranks, which, rank, child) : 0;
    for (int k = 0; k < count; k++) {
        len = send_up(s, which, child[k], step, gradient, silent, counts);
        if (!silent)
            moves(counts, 1, 1, len);
    }
    memcpy(sum, gradient[rank], cc_job_values(s->job) * sizeof *sum);
    for (int k = 0; k < count && !silent; k++)
        box_add(&s->part[child[k] * trees + which], 1, sum);
    encode(&s->part[rank * trees + which], rank, step, sum, true, counts, &len);
    return len;
}

static void step_tree(struct serial *s, uint64_t step, const float *const *gradient, bool silent,
                      float *model, struct serial_counts *counts)
{
    const int p = s->workers, trees = p > 1 ? 2 : 1;
    for (int which = 0; which < trees; which++) {
        const int root = serial_tree_root(p, s->ranks, which);
        const size_t len = send_up(s, which, root, step, gradient, silent, counts);
        if (silent)
            continue;
        moves(counts, (uint64_t)p - 1, 1, len * (uint64_t)(p - 1));
        box_add(&s->part[root * trees + which], 1.0f / (float)p, model);
    }
}

/* Gives a rank the sum of its slice over its host. */
static void add_inside(struct serial *s, int rank, uint64_t step, const float *const *gradient,
                       bool silent, struct serial_counts *counts)
{
    const int g = s->ranks, local = rank % g;
    float *sum = of_rank(s, rank);
    size_t len;
    memcpy(sum, gradient[rank], cc_job_values(s->job) * sizeof *sum);
    for (int d = 1; d < g; d++) {
        const int r = rank - local + (local + g - d) % g;
        encode(&s->inner[r * g + local], r, step, gradient[r], true, counts, &len);
        if (silent)
            continue;
        moves(counts, 1, 1, len);
        box_add(&s->inner[r * g + local], 1, sum);
    }
}

static void step_hierarchical(struct serial *s, uint64_t step, const float *const *gradient,
                              bool silent, float *model, struct serial_counts *counts)
{
    const int p = s->workers, n = s->hosts, g = s->ranks;
    uint64_t slice[32] = {0};
    size_t len;
    for (int r = 0; r < p; r++)
        add_inside(s, r, step, gradient, silent, counts);
    for (int r = 0; r < p; r++) {
        const int host = r / g, local = r % g;
        float *sum = of_rank(s, r);
        for (int k = 1; k < n; k++) {
            const int other = (host + n - k) % n * g + local;
            struct box *b = &s->part[other * n + host];
            encode(b, other, step, of_rank(s, other), true, counts, &len);
            if (silent)
                continue;
            moves(counts, 1, 1, len);
            box_add(b, 1, sum);
        }
    }
    for (int r = 0; r < p; r++) {
        struct box *own = &s->part[r * n + r / g];
        encode(own, r, step, of_rank(s, r), true, counts, &len);
        if (silent)
            continue;
        moves(counts, (uint64_t)n - 1, 1, len * (uint64_t)(n - 1));
        slice[r % g] += len;
        box_add(own, 1.0f / (float)p, model);
    }
    for (int l = 0; l < g && !silent; l++)
        moves(counts, (uint64_t)(n * (g - 1)), (uint64_t)n, slice[l] * (uint64_t)(n * (g - 1)));
}

/* Extra ranks hand their values to their proxies; sum[rank] of a member is what it begins with. */
static void hand_to_proxies(struct serial *s, uint64_t step, const float *const *gradient,
                            bool silent, struct serial_counts *counts)
{
    size_t len;
    for (int r = 0; r < s->workers; r++)
        memcpy(of_rank(s, r), gradient[r], cc_job_values(s->job) * sizeof(float));
    for (int j = 0; j < s->rest; j++) {
        encode(&s->whole[2 * j], 2 * j, step, gradient[2 * j], true, counts, &len);
        if (!silent)
            moves(counts, 1, 1, len);
        if (!silent)
            box_add(&s->whole[2 * j], 1, of_rank(s, 2 * j + 1));
    }
}

static void step_recdouble(struct serial *s, uint64_t step, const float *const *gradient,
                           bool silent, float *model, struct serial_counts *counts)
{
    int k = 0;
    size_t len = 0;
    hand_to_proxies(s, step, gradient, silent, counts);
    for (int d = 1; d < s->power && (k == 0 || !silent); d *= 2, k++) {
        for (int j = 0; j < s->power; j++) {
            struct box *b = &s->round[j * MOST_ROUNDS + k];
            encode(b, rank_of(s, j), step, of_rank(s, rank_of(s, j)), k == 0, counts, &len);
            if (!silent)
                moves(counts, 1, 1, len);
        }
        for (int j = 0; j < s->power && !silent; j++) {
            box_decode(&s->round[(j & ~d) * MOST_ROUNDS + k], of_rank(s, rank_of(s, j)));
            box_add(&s->round[(j | d) * MOST_ROUNDS + k], 1, of_rank(s, rank_of(s, j)));
        }
    }
    if (silent && s->power > 1)
        return;
    if (s->rest == 0 && s->power > 1) {
        for (size_t i = s->from; i < s->to; i++) {
            float product = 1.0f / (float)s->workers * s->sum[i];
            model[i] = model[i] + product;
        }
        return;
    }
    encode(&s->round[k], 0, step, of_rank(s, rank_of(s, 0)), s->power == 1, counts, &len);
    if (silent)
        return;
    moves(counts, (uint64_t)s->rest, 1, len * (uint64_t)s->rest);
    box_add(&s->round[k], 1.0f / (float)s->workers, model);
}

static void step_rabenseifner(struct serial *s, uint64_t step, const float *const *gradient,
                              bool silent, float *model, struct serial_counts *counts)
{
    int k = 0;
    size_t len, all = 0;
    hand_to_proxies(s, step, gradient, silent, counts);
    for (int d = s->power / 2; d >= 1; d /= 2, k++) {
        for (int j = 0; j < s->power; j++) {
            struct box *b = &s->round[j * MOST_ROUNDS + k];
            encode(b, rank_of(s, j), step, of_rank(s, rank_of(s, j)), true, counts, &len);
            if (!silent)
                moves(counts, 1, 1, len);
        }
        for (int j = 0; j < s->power && !silent; j++)
            box_add(&s->round[(j ^ d) * MOST_ROUNDS + k], 1, of_rank(s, rank_of(s, j)));
    }
    for (int j = 0; j < s->power; j++) {
        struct box *b = &s->round[j * MOST_ROUNDS + k];
        encode(b, rank_of(s, j), step, of_rank(s, rank_of(s, j)), true, counts, &len);
        all += len;
        if (!silent)
            box_add(b, 1.0f / (float)s->workers, model);
    }
    if (silent)
        return;
    moves(counts, (uint64_t)(s->power * k), (uint64_t)s->power, all * (uint64_t)(s->power - 1));
    moves(counts, (uint64_t)s->rest, (uint64_t)s->power, all * (uint64_t)s->rest);
}

void serial_step(struct serial *s, uint64_t step, const float *const *gradient, float *model,
                 struct serial_counts *counts, double *slack)
{
    const bool silent = silent_step(s, step);
    *counts = (struct serial_counts){0};
    *slack = 0;
    if (s->part != NULL && s->ring) {
        step_ring(s, step, gradient, silent, model, counts);
        return;
    }
    if (s->part != NULL && s->twoshot) {
        step_twoshot(s, step, gradient, silent, model, counts);
        return;
    }
    if (s->part != NULL && s->tree) {
        step_tree(s, step, gradient, silent, model, counts);
        return;
    }
    if (s->part != NULL && s->hierarchical) {
        step_hierarchical(s, step, gradient, silent, model, counts);
        return;
    }
    if (s->round != NULL && s->recdouble) {
        step_recdouble(s, step, gradient, silent, model, counts);
        return;
    }
    if (s->round != NULL) {
        step_rabenseifner(s, step, gradient, silent, model, counts);
        return;
    }
    for (int r = 0; r < s->workers; r++) {
        counts->payload[r] = box_encode(&s->whole[r], step, gradient[r]);
        if (s->keeps)
            keep_computes(&s->keep, r, &s->whole[r], gradient[r] + s->from);
    }
    if (silent)
        return;
    if (s->merges)
        step_merge(s, step, model, counts);
    else if (s->gathers)
        step_gather(s, model, counts);
    else
        *slack = step_sums(s, model, counts) / s->workers;
}

double serial_off(const struct serial *s)
{
    return s->keeps ? keep_off(&s->keep, s->whole, s->workers) : 0;
}
