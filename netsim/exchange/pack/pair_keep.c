/* The threshold. Magnitudes vary from step to step, and a threshold from the step before keeps on
 * average more than it did there. So the number of values that the next step aims at makes up for
 * the surplus of the steps before, in CC_REPAY steps. If a step kept at least as many, the
 * threshold is the magnitude that would have kept just as many. If it kept c of k, down to an
 * eighth, the tail of the magnitudes is taken for that of a Pareto distribution, in which the
 * magnitudes at equal ratios of ranks have equal ratios: m(k) = m(c)^2 / m(c^2 / k), where m(i) is
 * the i-th largest. Fewer tell nothing: the threshold is halved, and after a second such step in a
 * row the next one keeps everything. Only operations that IEEE 754 rounds exactly are used: all
 * ranks find the same bits. */
#include "netsim/exchange/pack/pair_keep.h"

#include <math.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "core/reduce.h"
#include "netsim/exchange/pack/pair_impl.h"
#include "schemes/kernels/select.h"
#include "schemes/selection.h"

size_t cc_keep_wanted(double density, size_t n)
{
    const double wanted = round(density * (double)n);
    return wanted < 1 ? 1 : (size_t)wanted;
}

static uint32_t magnitude_bits(float v)
{
    return cc_f32_bits(v) & 0x7fffffffu;
}

/* --- leaving out --- */

void cc_keep_prune(const struct cc_keep *k, struct cc_stream *sum)
{
    const size_t n = sum->range.to - sum->range.from;
    size_t c = 0;
    if (k->threshold == 0)
        return;
    for (size_t i = 0; i < n && sum->dense; i++)
        sum->value[i] = magnitude_bits(sum->value[i]) >= k->threshold ? sum->value[i] : -0.0f;
    for (size_t i = 0; i < sum->count && !sum->dense; i++) {
        sum->pair[c] = sum->pair[i];
        c += magnitude_bits(sum->pair[i].value) >= k->threshold;
    }
    sum->count = c;
    if (!sum->dense)
        sum->pair[c].index = CC_PAIR_END;
}

/* --- taking in --- */

/* The set bits of [at, at + n), at a multiple of 64. */
static size_t list_bits(const struct cc_stream_view *v, size_t from, size_t at, size_t n,
                        struct cc_index_value *out)
{
    size_t c = 0;
    for (size_t i = 0; i < n; i += 64) {
        uint64_t w = cc_get_u64(v->bits + (at + i) / 8);
        for (; w != 0; w &= w - 1, c++)
            out[c] = (struct cc_index_value){v->range.from + (uint32_t)(at + i) +
                                                 (uint32_t)__builtin_ctzll(w),
                                             cc_get_f32(v->value + 4 * (from + c))};
    }
    return c;
}

/* Makes the list of a part of any form but a pack, of a block of values (cc_pairs_list); indices
 * count from the message's beginning. */
static void list_block(struct cc_stream_part *part, struct cc_stream_range range, size_t at,
                       size_t n, struct cc_index_value *room)
{
    const struct cc_stream_view *v = part->view;
    const uint32_t base = range.from + (uint32_t)at;
    const float *values = (const float *)(const void *)v->value;
    if (v->kind == CC_STREAM_PAIRS || v->kind == CC_STREAM_SHORT) {
        part->listed = cc_pairs_count(part, range, at, n);
        (void)cc_pairs_list(part, range, at, n, room);
        return;
    }
    part->listed = v->kind == CC_STREAM_BITMAP
                       ? list_bits(v, part->at, at, n, room)
                       : k_pairs()->list(values + (base - v->range.from), n, base, room);
    part->list = room;
    part->at += part->listed;
}

/* Adds those of own's pairs [*at, end) that the list of `part` lacks and that are below `to` to the
 * vain ones. */
static void find_vain(struct cc_keep *k, const struct cc_stream_part *part,
                      const struct cc_index_value *own, size_t *at, size_t end, uint32_t to)
{
    const struct cc_index_value *pair = part->list;
    const size_t count = part->listed;
    size_t i = 0;
    for (; *at < end && own[*at].index < to; ++*at) {
        while (i < count && pair[i].index < own[*at].index)
            i++;
        k->vain[k->vains] = own[*at];
        k->vains += i == count || pair[i].index != own[*at].index;
    }
}

void cc_keep_take(struct cc_keep *k, struct cc_stream_part *part, struct cc_stream_range range,
                  const struct cc_stream *own, void *scratch)
{
    struct cc_scratch *s = scratch;
    const size_t n = range.to - range.from;
    size_t at = cc_pair_search(own->pair, 0, own->count, range.from);
    const size_t end = cc_pair_search(own->pair, at, own->count, range.to);
    k->vains = 0;
    part->at = part->view->kind == CC_STREAM_PAIRS ? cc_pairs_until(part->view, 0, range.from) : 0;
    for (size_t i = 0; i < n; i += CC_STREAM_BLOCK) {
        const size_t m = cc_smaller(n - i, CC_STREAM_BLOCK);
        list_block(part, range, i, m, s->pair);
        for (size_t j = 0; j < part->listed; j++)
            k->value[k->kept + j] = part->list[j].value;
        k->kept += part->listed;
        if (k->threshold > 0)
            find_vain(k, part, own->pair, &at, end, range.from + (uint32_t)(i + m));
    }
}

/* --- the threshold --- */

/* The bits of the i-th largest magnitude of the kept values, 1 <= i <= kept. */
static uint32_t ranked(const struct cc_keep *k, size_t i)
{
    const uint32_t most = k_reduce()->absmax(k->value, k->kept);
    size_t ties;
    const uint32_t t = cc_kth_cached(k->value, k->kept, i, most, k->threshold, &ties);
    return k_select()->least(k->value, k->kept, t);
}

/* The threshold that keeps `aim` values, from fewer of them; 0 if these are too few to tell. */
static uint32_t extrapolate(const struct cc_keep *k, size_t aim)
{
    const double c = (double)k->kept, higher = floor(c * c / (double)aim);
    if (k->kept < aim / 8 || higher < 1)
        return 0;
    const float last = cc_bits_f32(ranked(k, k->kept));
    const float before = cc_bits_f32(ranked(k, (size_t)higher));
    return magnitude_bits(last * (last / before));
}

/* Adds the step's surplus, unless it kept everything; returns what the next step aims at. */
static size_t next_aim(struct cc_keep *k)
{
    const int64_t wanted = (int64_t)k->wanted, least = wanted - wanted / 2, most = 2 * wanted;
    const int64_t limit = CC_REPAY * wanted / 2;
    if (k->threshold > 0)
        k->surplus += (int64_t)k->kept - wanted;
    k->surplus = k->surplus > limit ? limit : k->surplus < -limit ? -limit : k->surplus;
    const int64_t aim = wanted - k->surplus / CC_REPAY;
    return (size_t)(aim < least ? least : aim > most ? most : aim);
}

void cc_keep_end_step(struct cc_keep *k)
{
    const size_t aim = next_aim(k);
    const bool again = k->too_few;
    uint32_t next = 0;
    if (k->kept >= aim)
        next = ranked(k, aim);
    else if (k->threshold > 0)
        next = extrapolate(k, aim);
    k->too_few = next == 0 && k->threshold > 0;
    if (k->too_few && !again)
        next = magnitude_bits(cc_bits_f32(k->threshold) / 2);
    k->threshold = next;
    k->kept = 0;
}
