/* Loops that write a tensor. When it does not fit in cache they go a tile at a time: ask for the
 * page ahead, compute a tile, and write it past the cache. When it does, the whole of it is one
 * tile.
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
 * Tiles of 256 values decode a tenth more slowly, and those of 1,024 encode more slowly: so many
 * lines asked for at once make the core wait. Loops that only read gain nothing from asking for the
 * page ahead, and where a stream is updated in place, or two are read, asking for all of it costs 5
 * to 10%: there one line of it is enough, cc_next_page. */
#ifndef CC_CORE_TILE_H
#define CC_CORE_TILE_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#include "core/copy.h"
#include "core/memory.h"

/* Values; their bits fill bytes. */
#define CC_TILE 512

/* Bytes, and float32 values. Where pages are larger nothing is lost. */
#define CC_PAGE        4096
#define CC_PAGE_VALUES (CC_PAGE / sizeof(float))

/* Touches the page behind the one in which p lies. Otherwise its address is translated when the
 * loop gets there, and on a virtual machine that waits for memory several times: measured as above,
 * one bit a value is decoded at 34 GB/s with it and at 25 without; loops that read or update in
 * place gain 2 to 10%. Nothing is read, nothing can fail. */
static inline void cc_next_page(const void *p)
{
    __builtin_prefetch((const void *)((uintptr_t)p + CC_PAGE));
}

/* Where the tiles go: straight to the output, or, when it is better written past the cache, to a
 * buffer with the same place in its cache lines, whole lines of which are copied out. The output
 * may be at any address; tiles may be of any length up to that of cc_sink_tile, in floats. */
struct cc_sink {
    uint8_t *to;              /* where the next byte goes */
    const struct k_copy *out; /* NULL: no buffer */
    size_t begin, end; /* what of the tile is not copied out; begin is to's place in its line */
    alignas(CC_ALIGN) uint8_t tile[CC_TILE * sizeof(float) + CC_ALIGN];
};

/* `traffic`: the bytes that the loop reads and writes in all. */
void cc_sink_open(struct cc_sink *s, void *to, size_t traffic);

/* The length of the next tile, of so many values that are left. */
static inline size_t cc_sink_tile(const struct cc_sink *s, size_t left)
{
    return s->out == NULL || left < CC_TILE ? left : CC_TILE;
}

/* Before the tile's input [p, p + bytes) is read: asks for what lies a page further, as hardware
 * prefetchers stop at the borders of pages. */
static inline void cc_sink_ahead(const struct cc_sink *s, const void *p, size_t bytes)
{
    for (size_t i = 0; s->out != NULL && i < bytes; i += CC_ALIGN)
        cc_next_page((const uint8_t *)p + i);
}

/* Room for the next tile. */
static inline void *cc_sink_room(struct cc_sink *s)
{
    return s->out == NULL ? s->to : s->tile + s->end;
}

/* So many bytes were written there. */
void cc_sink_put(struct cc_sink *s, size_t bytes);

void cc_sink_close(struct cc_sink *s);

#endif
