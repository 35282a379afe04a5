#include "schemes/pairs.h"

#include "core/parallel.h"
#include "schemes/kernels/expand.h"
#include "schemes/kernels/select.h"
#include "schemes/scheme.h"
#include "schemes/zeros.h"

void cc_pairs_put(const uint8_t *bits, size_t n, const uint8_t *values, uint8_t *out)
{
    uint32_t index[CC_SELECT_BLOCK + CC_SELECT_SLACK];
    for (size_t i = 0; i < n; i += CC_SELECT_BLOCK) {
        size_t m = n - i < CC_SELECT_BLOCK ? n - i : CC_SELECT_BLOCK;
        size_t count = k_select()->indices(bits + i / 8, m, (uint32_t)i, index);
        for (size_t j = 0; j < count; j++) {
            cc_put_u32(out + CC_PAIR_BYTES * j, index[j]);
            cc_put_u32(out + CC_PAIR_BYTES * j + 4, cc_get_u32(values + 4 * j));
        }
        values += 4 * count;
        out += CC_PAIR_BYTES * count;
    }
}

/* --- items: pairs or codes --- */

/* So many are checked before they are used: they stay in the first-level cache. */
#define CHECK 512

struct items {
    const uint8_t *at;
    size_t count;
    uint32_t tau; /* its bits */
    bool pairs;
};

static inline size_t item_bytes(bool pairs)
{
    return pairs ? CC_PAIR_BYTES : CC_CODE_BYTES;
}

static inline size_t item_index(const struct items *s, bool pairs, size_t i)
{
    uint32_t first = cc_get_u32(s->at + item_bytes(pairs) * i);
    return pairs ? first : first >> 1;
}

/* A branch on the sign would be mispredicted half the time. */
static inline float item_value(const struct items *s, bool pairs, size_t i)
{
    const uint8_t *at = s->at + item_bytes(pairs) * i;
    return pairs ? cc_get_f32(at + 4) : cc_bits_f32(s->tau ^ cc_get_u32(at) << 31);
}

static size_t any_index(const struct items *s, size_t i)
{
    return s->pairs ? item_index(s, true, i) : item_index(s, false, i);
}

/* Whether items [first, end) ascend, also from the one before, if it is in the part, too. */
static bool ascend(const struct items *s, size_t first, size_t end, size_t part)
{
    size_t from = first > part ? first - 1 : first, stride = item_bytes(s->pairs);
    return k_expand()->ascend(s->at + stride * from, end - from, stride, s->pairs ? 0 : 1);
}

/* The first item whose index is at least this one, if they ascend; something if not. */
static size_t lower_bound(const struct items *s, size_t index)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (any_index(s, mid) < index)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Writes the items from `first` on that lie before index `end`; y begins at index `begin`. Returns
 * the first item that was not written. */
static inline size_t fill(const struct items *s, bool pairs, size_t first, size_t last,
                          size_t begin, size_t end, float *y)
{
    size_t i = first;
    for (; i < last; i++) {
        size_t index = item_index(s, pairs, i);
        if (index >= end)
            break;
        y[index - begin] = item_value(s, pairs, i);
    }
    return i;
}

static inline void add(const struct items *s, bool pairs, size_t first, size_t last, float scale,
                       float *y)
{
    for (size_t i = first; i < last; i++) {
        size_t index = item_index(s, pairs, i);
        y[index] = cc_add_scaled(y[index], scale, item_value(s, pairs, i));
    }
}

/* --- decoding in parts --- */

/* Part p writes y[border(p), border(p + 1)), and uses the items whose indices lie there. These are
 * found by a search that supposes that the items ascend; each part then checks that its own do, and
 * lie where they should. Only if all parts agree do all items ascend. */
struct job {
    struct items items;
    size_t n;
    int parts;
    bool adds;
    float scale;
    float *y;
    bool bad[CC_PARTS_MAX];
};

static size_t border(const struct job *j, int part)
{
    return cc_part_begin(j->n, j->parts, part, CC_ZEROS_BLOCK);
}

static size_t first_item(const struct job *j, int part)
{
    if (part == 0)
        return 0;
    return part == j->parts ? j->items.count : lower_bound(&j->items, border(j, part));
}

/* Whether they were all good. */
static bool decode_items(const struct job *j, size_t first, size_t last, size_t begin, size_t end)
{
    const struct items *s = &j->items;
    size_t i = first, checked = first;
    struct cc_zeros z;
    cc_zeros_open(&z, j->y + begin, j->n * sizeof(float));
    for (size_t at = begin; at < end; at += CC_ZEROS_BLOCK) {
        size_t m = end - at < CC_ZEROS_BLOCK ? end - at : CC_ZEROS_BLOCK;
        float *y = cc_zeros_next(&z, m);
        for (;;) {
            i = s->pairs ? fill(s, true, i, checked, at, at + m, y)
                         : fill(s, false, i, checked, at, at + m, y);
            if (i < checked || checked == last)
                break;
            size_t next = last - checked < CHECK ? last : checked + CHECK;
            if (!ascend(s, checked, next, first))
                return false;
            checked = next;
        }
    }
    cc_zeros_close(&z);
    return i == last;
}

static bool add_items(const struct job *j, size_t first, size_t last)
{
    const struct items *s = &j->items;
    for (size_t i = first, next; i < last; i = next) {
        next = last - i < CHECK ? last : i + CHECK;
        if (!ascend(s, i, next, first) || any_index(s, next - 1) >= j->n)
            return false;
        if (s->pairs)
            add(s, true, i, next, j->scale, j->y);
        else
            add(s, false, i, next, j->scale, j->y);
    }
    return true;
}

static void decode_part(void *arg, int part)
{
    struct job *j = arg;
    size_t first = first_item(j, part), last = first_item(j, part + 1);
    size_t begin = border(j, part), end = border(j, part + 1);
    bool good = first == last ||
                (any_index(&j->items, first) >= begin && any_index(&j->items, last - 1) < end);
    if (good)
        good = j->adds ? add_items(j, first, last) : decode_items(j, first, last, begin, end);
    j->bad[part] = !good;
}

/* Says which item is the first that does not ascend or is out of range. */
static int refuse(const struct cc_indexed *in, const struct items *s, struct cc_error *e)
{
    size_t next = 0;
    for (size_t i = 0; i < s->count; i++) {
        size_t index = any_index(s, i), offset = in->begin + item_bytes(s->pairs) * i;
        if (index >= in->n)
            return cc_bad_payload(offset, e, "index %zu is beyond the tensor's %zu values", index,
                                  in->n);
        if (index < next)
            return cc_bad_payload(offset, e, "index %zu does not ascend: the one before is %zu",
                                  index, next - 1);
        next = index + 1;
    }
    return CC_OK;
}

static int decode_any(const struct cc_indexed *in, int threads, const float *scale, float *y,
                      struct cc_error *e)
{
    size_t bytes = in->end - in->begin, each = item_bytes(in->tau == NULL);
    if (bytes % each != 0)
        return cc_bad_payload(in->end - bytes % each, e,
                              "the payload has %zu bytes, which are no whole %s of %zu", in->end,
                              in->tau == NULL ? "pairs" : "codes", each);
    struct job j = {.items = {.at = in->payload + in->begin,
                              .count = bytes / each,
                              .tau = in->tau != NULL ? cc_f32_bits(*in->tau) : 0,
                              .pairs = in->tau == NULL},
                    .n = in->n,
                    .parts = cc_parts(threads, in->n, CC_PART_VALUES),
                    .adds = scale != NULL,
                    .scale = scale != NULL ? *scale : 0,
                    .y = y};
    cc_parallel(j.parts, decode_part, &j);
    for (int p = 0; p < j.parts; p++)
        if (j.bad[p])
            return refuse(in, &j.items, e);
    return CC_OK;
}

int cc_indexed_decode(const struct cc_indexed *in, int threads, float *y, struct cc_error *e)
{
    return decode_any(in, threads, NULL, y, e);
}

int cc_indexed_decode_add(const struct cc_indexed *in, int threads, float scale, float *y,
                          struct cc_error *e)
{
    return decode_any(in, threads, &scale, y, e);
}
