#include "schemes/cells.h"

#include <string.h>

#include "core/memory.h"
#include "core/parallel.h"
#include "core/reduce.h"
#include "schemes/kernels/bitarray.h"
#include "schemes/kernels/pick.h"
#include "schemes/kernels/select.h"
#include "schemes/kernels/stream.h"
#include "schemes/scheme.h"
#include "schemes/selection.h"

/* --- where they are --- */

static struct cc_cell_cut cut(size_t length, size_t limit)
{
    const size_t parts = length / limit + (length % limit != 0);
    return (struct cc_cell_cut){.parts = parts, .length = length / parts, .longer = length % parts};
}

static size_t part_begin(const struct cc_cell_cut *c, size_t i)
{
    return i * c->length + cc_smaller(i, c->longer);
}

static size_t part_length(const struct cc_cell_cut *c, size_t i)
{
    return c->length + (i < c->longer);
}

struct cc_cells cc_cells_make(const struct cc_shape *shape, size_t side)
{
    const size_t rows = shape->ndim < 2 ? 1 : shape->dim[0], cols = shape->n / rows;
    size_t height = side, width = side;
    if (side == 0) {
        height = width = CC_CELL_SIDE;
        if (rows < height)
            width = CC_CELL / rows;
        else if (cols < width)
            height = CC_CELL / cols;
    }
    struct cc_cells c = {.cols = cols, .down = cut(rows, height), .across = cut(cols, width)};
    c.count = c.down.parts * c.across.parts;
    return c;
}

struct cc_cell cc_cells_at(const struct cc_cells *c, size_t i)
{
    const size_t down = i / c->across.parts, across = i % c->across.parts;
    return (struct cc_cell){
        .at = part_begin(&c->down, down) * c->cols + part_begin(&c->across, across),
        .rows = part_length(&c->down, down),
        .cols = part_length(&c->across, across),
    };
}

/* The bytes of the first `across` cells of a row of cells. */
static size_t row_bytes(const struct cc_cells *c, size_t rows, size_t across,
                        size_t (*bytes)(const void *arg, size_t values), const void *arg)
{
    const size_t longer = cc_smaller(across, c->across.longer);
    size_t sum = 0;
    if (longer > 0)
        sum = cc_bytes_product(longer, bytes(arg, rows * (c->across.length + 1)));
    if (across > longer)
        sum = cc_bytes_sum(sum,
                           cc_bytes_product(across - longer, bytes(arg, rows * c->across.length)));
    return sum;
}

size_t cc_cells_bytes(const struct cc_cells *c, size_t i,
                      size_t (*bytes)(const void *arg, size_t values), const void *arg)
{
    const size_t down = i / c->across.parts, across = i % c->across.parts;
    const size_t longer = cc_smaller(down, c->down.longer);
    size_t sum = 0;
    if (longer > 0)
        sum =
            cc_bytes_product(longer, row_bytes(c, c->down.length + 1, c->across.parts, bytes, arg));
    if (down > longer)
        sum = cc_bytes_sum(
            sum, cc_bytes_product(down - longer,
                                  row_bytes(c, c->down.length, c->across.parts, bytes, arg)));
    if (across > 0)
        sum = cc_bytes_sum(sum, row_bytes(c, part_length(&c->down, down), across, bytes, arg));
    return sum;
}

/* --- their values --- */

/* Fetches what lies behind a row of a cell, as the next cell's row: the hardware sees 64 rows of a
 * few lines each, too many to follow. Measured (Zen 5, a matrix out of the cache): chunktopk
 * encodes at 4.7 GB/s so, and at 3.8 without. */
static void fetch_behind(const void *row, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += CC_ALIGN)
        __builtin_prefetch((const void *)((uintptr_t)row + bytes + i));
}

uint32_t cc_cell_load(const struct cc_cell *c, size_t cols, struct cc_elements x, const float *r,
                      float decay, float *v)
{
    for (size_t i = 0; i < c->rows; i++) {
        float *row = v + i * c->cols;
        const size_t at = c->at + i * cols;
        const float *from = cc_elements_read(x, at, c->cols, row);
        fetch_behind(cc_elements_from(x, at).at, cc_elements_bytes(x, c->cols));
        if (from != row)
            memcpy(row, from, c->cols * sizeof *row);
        if (r == NULL)
            continue;
        fetch_behind(r + at, c->cols * sizeof *r);
        k_stream()->add((const uint8_t *)(r + at), decay, row, c->cols);
    }
    return k_reduce()->absmax(v, c->rows * c->cols);
}

void cc_cell_store(const struct cc_cell *c, size_t cols, const float *v, float *r)
{
    for (size_t i = 0; i < c->rows; i++)
        memcpy(r + c->at + i * cols, v + i * c->cols, c->cols * sizeof *r);
}

size_t cc_cell_share(size_t k, size_t values, size_t whole)
{
    return (k * values + whole - 1) / whole;
}

/* Writes the places of the set bits of n, which count from 0, or are those of a list. */
static void list_places(const uint8_t *bits, size_t n, const uint16_t *list, uint16_t *place)
{
    for (size_t i = 0; i < n; i += 64) {
        uint64_t w = cc_bits_word(bits, n, i);
        CC_FOR_SET_BITS(b, w)
        *place++ = list != NULL ? list[i + b] : (uint16_t)(i + b);
    }
}

/* Marks the k largest of n values, and returns the bits of the k-th. */
static uint32_t mark_largest(const float *v, size_t n, size_t k, uint32_t most, uint32_t guess,
                             uint8_t *bits)
{
    size_t ties;
    const uint32_t kth = cc_kth_cached(v, n, k, most, guess, &ties);
    k_select()->mark(v, n, kth, bits);
    if (ties != SIZE_MAX)
        cc_drop_ties(v, n, kth, &ties, bits);
    return kth;
}

/* Lists the places of the values that reach a threshold, and the values, as far as there is room
 * for `most`; returns how many reach it. */
static size_t list_candidates(const float *v, size_t n, uint32_t threshold, size_t most,
                              uint16_t *place, float *value)
{
    size_t count = 0;
    for (size_t i = 0, m; i < n && count <= most; i += m) {
        uint16_t of_block[CC_PICK_BLOCK + CC_PICK_SLACK];
        uint32_t largest;
        m = cc_smaller(n - i, CC_PICK_BLOCK);
        const size_t found = k_pick()->candidates(v + i, NULL, m, 0, threshold, of_block, &largest);
        for (size_t j = 0; j < found && count + j < most; j++) {
            place[count + j] = (uint16_t)(i + of_block[j]);
            value[count + j] = v[i + of_block[j]];
        }
        count += found;
    }
    return count;
}

/* The fewest values, and the least share of them, for which candidates are worth a pass. */
#define WORTH_VALUES    512
#define WORTH_SHARE     8
#define MOST_CANDIDATES (CC_CELL / 4)

/* Cells of a tensor are alike: those of a cell that reach three quarters of the k-th largest of the
 * one before are mostly a few more than k, and the k largest are among them. */
void cc_cell_pick(const float *v, size_t n, size_t k, uint32_t most, uint32_t *guess,
                  uint16_t *place)
{
    uint8_t bits[CC_CELL / 8];
    uint16_t list[MOST_CANDIDATES];
    float value[MOST_CANDIDATES];
    const uint32_t threshold = cc_f32_bits(0.75f * cc_bits_f32(*guess));
    if (n >= WORTH_VALUES && k <= n / WORTH_SHARE && threshold > 0) {
        const size_t count = list_candidates(v, n, threshold, MOST_CANDIDATES, list, value);
        if (count >= k && count <= MOST_CANDIDATES) {
            *guess = mark_largest(value, count, k, most, *guess, bits);
            list_places(bits, count, list, place);
            return;
        }
    }
    *guess = mark_largest(v, n, k, most, *guess, bits);
    list_places(bits, n, NULL, place);
}

/* --- loops --- */

static size_t offset_of(const struct cc_cell_loop *loop, size_t cell)
{
    return cc_cells_bytes(&loop->cells, cell, loop->bytes, loop->arg);
}

size_t cc_cells_bound(const struct cc_cell_loop *loop)
{
    return offset_of(loop, loop->cells.count);
}

static int parts_of(const struct cc_cell_loop *loop)
{
    return cc_parts(loop->threads, loop->n, CC_PART_VALUES);
}

struct encoding {
    const struct cc_cell_loop *loop;
    uint8_t *out;
    int parts;
    size_t len[CC_PARTS_MAX]; /* bytes that a part wrote; SIZE_MAX: a value is not finite */
};

static size_t first_of(const struct encoding *w, int part)
{
    return cc_part_begin(w->loop->cells.count, w->parts, part, 1);
}

/* Leaves room for the largest payloads of the parts before. */
static uint8_t *output_of(const struct encoding *w, int part)
{
    return w->out + offset_of(w->loop, first_of(w, part));
}

static void encode_part(void *arg, int part)
{
    struct encoding *w = arg;
    const size_t end = first_of(w, part + 1);
    uint8_t *const begin = output_of(w, part), *out = begin;
    uint32_t guess = 0;
    w->len[part] = SIZE_MAX;
    for (size_t i = first_of(w, part); i < end; i++) {
        const struct cc_cell c = cc_cells_at(&w->loop->cells, i);
        const size_t bytes = w->loop->put(w->loop->arg, &c, &guess, out);
        if (bytes == 0)
            return;
        out += bytes;
    }
    w->len[part] = (size_t)(out - begin);
}

bool cc_cells_encode(const struct cc_cell_loop *loop, uint8_t *out, size_t *len)
{
    struct encoding w = {.loop = loop, .out = out, .parts = parts_of(loop)};
    cc_parallel(w.parts, encode_part, &w);
    *len = 0;
    for (int p = 0; p < w.parts; p++) {
        if (w.len[p] == SIZE_MAX)
            return false;
        memmove(out + *len, output_of(&w, p), w.len[p]);
        *len += w.len[p];
    }
    return true;
}

struct decoding {
    const struct cc_cell_loop *loop;
    const uint8_t *in;
    size_t len;
};

/* Returns how many cells are left from the first one on that is refused, and sets *at to where
 * that begins. */
static size_t decode_cells(const struct decoding *w, size_t begin, size_t end, size_t *at)
{
    const struct cc_cell_loop *loop = w->loop;
    for (size_t i = begin; i < end; i++) {
        const struct cc_cell c = cc_cells_at(&loop->cells, i);
        const size_t next = loop->get(loop->arg, &c, w->in, *at, w->len, NULL);
        if (next == 0)
            return loop->cells.count - i;
        *at = next;
    }
    return 0;
}

static size_t decode_range(void *arg, size_t begin, size_t end)
{
    const struct decoding *w = arg;
    size_t at = offset_of(w->loop, begin);
    return decode_cells(w, begin, end, &at);
}

int cc_cells_decode(const struct cc_cell_loop *loop, const uint8_t *in, size_t len,
                    struct cc_error *e)
{
    const struct decoding w = {.loop = loop, .in = in, .len = len};
    const size_t count = loop->cells.count, most = cc_cells_bound(loop);
    size_t at = 0, left;
    if (!loop->varies && len != most)
        return cc_bad_length(len, most, e);
    if (loop->varies)
        left = decode_cells(&w, 0, count, &at);
    else
        left = cc_parallel_ranges(parts_of(loop), count, 1, decode_range, (void *)&w);
    if (left > 0) {
        const struct cc_cell c = cc_cells_at(&loop->cells, count - left);
        at = loop->varies ? at : offset_of(loop, count - left);
        return loop->get(loop->arg, &c, in, at, len, e) == 0 ? CC_FAIL : cc_changed_payload(e);
    }
    if (loop->varies && at != len)
        return cc_bad_payload(at, e, "%zu bytes after the last chunk", len - at);
    return CC_OK;
}
