/* Loops that write a tensor. If it is larger than the cache, they work tile by tile: prefetch the
 * next page of the input, compute a tile into a buffer, and copy the buffer out with non-temporal
 * stores. Otherwise the whole tensor is one tile, written directly.
 *
 *   struct cc_sink sink;
 *   cc_sink_open(&sink, out, bytes read and written);
 *   for (size_t i = 0, m; i < n; i += m) {
 *       m = cc_sink_tile(&sink, n - i);
 *       cc_sink_ahead(&sink, x + i, m * sizeof *x);
 *       kernel(x + i, cc_sink_room(&sink), m);
 *       cc_sink_put(&sink, bytes that the kernel wrote);
 *   }
 *   cc_sink_close(&sink);
 *
 * Measured (Zen 5, one thread, 100 MB of float32): binary16 is written by plain stores in 4.4 ms,
 * by non-temporal ones from the registers in 3.9, with the page ahead in 3.3, by this loop in 3.1.
 * Tiles of 256 values decode a tenth more slowly; tiles of 1,024 encode more slowly, as the core
 * waits for that many prefetches. Loops that only read gain nothing from prefetching the next page.
 * Loops that update a stream in place, or read two, lose 5 to 10% by prefetching all of it: there
 * one line of the next page is enough, cc_next_page.
 *
 * A Zen 4 loses by prefetching what kernels read, and does without (cc_pages_ahead): float32 is
 * then encoded at 18 GB/s instead of 13, binary16 at 22 instead of 17, mqe1bit adds at 22 instead
 * of 20. With pages of 4 KiB it is the same. */
#ifndef CC_CORE_TILE_H
#define CC_CORE_TILE_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cache.h"
#include "core/copy.h"
#include "core/memory.h"

/* Values of a tile; a multiple of 8, so that one bit a value fills whole bytes. */
#define CC_TILE 512

/* Bytes of a page, and float32 values; larger pages do no harm. */
#define CC_PAGE        4096
#define CC_PAGE_VALUES (CC_PAGE / sizeof(float))

/* Prefetches a line of the page after that of p, so that its address is translated before the loop
 * reaches it: on a virtual machine a translation waits for memory several times. For output:
 * measured as above, one bit a value is decoded at 34 GB/s with it and at 25 without; on a Zen 4
 * binary16 is encoded at 23 and 18. A prefetch cannot fault. */
static inline void cc_fetch_page(const void *p)
{
    __builtin_prefetch((const void *)((uintptr_t)p + CC_PAGE));
}

/* The same for what is read or updated in place, where loops gain 2 to 10% if they gain at all. */
static inline void cc_next_page(const void *p)
{
    if (cc_pages_ahead)
        cc_fetch_page(p);
}

/* The distance, in bytes, at which a loop prefetches the streams that it reads or updates together,
 * each of which has `bytes` bytes; 0: it does not. Measured out of cache where values are selected:
 * one page is 5% to 10% faster than none on a Zen 5, a quarter of one slower; a Zen 4 loses a sixth
 * by one page. */
static inline size_t cc_read_ahead(size_t bytes)
{
    return cc_pages_ahead && cc_use_nontemporal(bytes) ? CC_PAGE : 0;
}

/* Reads a value of each line of y[from, to), for a loop that then updates values here and there,
 * and returns where to continue. Reads of line after line make the hardware fetch ahead. Measured
 * on Zen 4, out of cache: topk adds at 26 GB/s so, and at 12 to 16 with prefetches, whatever their
 * distance. */
static inline size_t cc_touch(const float *y, size_t from, size_t to)
{
    for (; from < to; from += CC_ALIGN / sizeof *y)
        (void)*(const volatile float *)(y + from);
    return from;
}

/* The output of a tiled loop: tiles are written in place, or to a buffer with the same alignment
 * within a cache line as the output, from which whole lines are copied out. The output may have any
 * address; a tile may have any length up to that of cc_sink_tile, in floats.
 *
 * The buffer lies in one page. To an output that does not begin on a line, vectors are stored
 * across lines, and one that is stored across pages costs 100 ns on Zen 4, as much as a tile: a bit
 * a value is then decoded at 24 GB/s, and at 10 where the buffer crosses a page. */
struct cc_sink {
    /* The bytes of `tile` that are not copied out yet are tile[begin, end); begin is to's offset in
     * its line. */
    alignas(CC_PAGE) uint8_t tile[CC_TILE * sizeof(float) + CC_ALIGN];
    size_t begin, end;
    uint8_t *to;              /* the next byte of the output */
    const struct k_copy *out; /* NULL: no buffer */
};

/* Begins output at `to`. `traffic`: the bytes that the whole loop reads and writes. */
void cc_sink_open(struct cc_sink *s, void *to, size_t traffic);

/* The length of the next tile, in values, of which `left` remain. */
static inline size_t cc_sink_tile(const struct cc_sink *s, size_t left)
{
    return s->out == NULL || left < CC_TILE ? left : CC_TILE;
}

/* Prefetches the input a page beyond [p, p + bytes), before that is read: some hardware prefetchers
 * stop at page borders. */
static inline void cc_sink_ahead(const struct cc_sink *s, const void *p, size_t bytes)
{
    for (size_t i = 0; s->out != NULL && cc_pages_ahead && i < bytes; i += CC_ALIGN)
        cc_fetch_page((const uint8_t *)p + i);
}

/* Where to write the next tile. */
static inline void *cc_sink_room(struct cc_sink *s)
{
    return s->out == NULL ? s->to : s->tile + s->end;
}

/* Takes the bytes that were written there. */
void cc_sink_put(struct cc_sink *s, size_t bytes);

/* Copies the rest out; other threads may then read the output. */
void cc_sink_close(struct cc_sink *s);

/* The loop above for bytes that stay as they are, without tiles. Measured (Zen 4, 100 MB of float32
 * out of the cache): 20 GB/s, without prefetching 18; by memcpy tile by tile 13, as that of the C
 * library copies backwards between some addresses, against the hardware's prefetching. */
void cc_copy_out(void *to, const void *from, size_t bytes, size_t traffic);

#endif
