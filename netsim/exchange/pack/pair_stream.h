/* Streams of index-value pairs: sparse gradients and their sums, in memory and as they are sent
 * (SparCML, section 3). A stream has the values of a range of a message; docs/wire.md has the bytes
 * of a sent one.
 *
 * In memory a stream is a list of pairs in the order of their indices, or all values of the range,
 * of which those that nobody has sent are -0. Sums take the second form where the first would be
 * larger. All memory is the caller's. */
#ifndef CC_NETSIM_EXCHANGE_PACK_PAIR_STREAM_H
#define CC_NETSIM_EXCHANGE_PACK_PAIR_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/exchange.h"
#include "netsim/exchange/pack/pair_merge.h"
#include "schemes/pairs.h"

enum cc_stream_kind {
    CC_STREAM_PAIRS,  /* u32 index and f32 each */
    CC_STREAM_SHORT,  /* u16 indices within blocks of CC_STREAM_BLOCK values */
    CC_STREAM_BITMAP, /* a bit for each value */
    CC_STREAM_DENSE,  /* all values */
    CC_STREAM_PACK    /* a pack of all values (pack.h), made by another scheme */
};

enum {
    CC_STREAM_HEAD = 24, /* bytes before the body; a multiple of 4, as all bodies but packs are */
    CC_STREAM_BLOCK = 65536 /* values whose indices share their upper half */
};

/* Values of a message: [from, to), to < 2^32. */
struct cc_stream_range {
    uint32_t from, to;
};

/* The most bytes of a stream of `pairs` of n values, in any form but a pack. */
size_t cc_stream_bound(size_t n, size_t pairs, enum cc_wire wire);

/* The head of a sent stream, before its body. */
struct cc_stream_head {
    uint32_t values; /* values of the range */
    uint32_t pairs;  /* in the body; all values where it has all of them */
    uint32_t tag;    /* names the sender's exchange and scheme */
    uint64_t sent;   /* pairs of the gradients whose sum this is part of, all of them together */
};

/* Writes it, and the form that the body has, to out[0, CC_STREAM_HEAD). */
void cc_stream_put_head(const struct cc_stream_head *head, enum cc_stream_kind kind, uint8_t *out);

/* --- in memory --- */

struct cc_stream {
    struct cc_stream_range range;
    bool dense;
    size_t count;                /* pairs; not used if it is dense */
    struct cc_index_value *pair; /* indices count from the message's beginning; one with the index
                                    CC_PAIR_END follows the last */
    float *value;                /* dense: of the range */
};

/* The bytes that a stream's memory needs for any sum of n values with up to `pairs` pairs. pair and
 * value of a stream that cc_stream_sum writes both point to it. */
size_t cc_stream_memory(size_t n, size_t pairs);

/* Encodes the part of s that lies in `part` into out[0, cc_stream_bound): the shortest form, of
 * equally short ones the first. Returns the bytes. head->values and pairs are filled in.
 * `scratch`: cc_stream_scratch bytes. */
size_t cc_stream_encode(const struct cc_stream *s, struct cc_stream_range part, enum cc_wire wire,
                        bool dense_only, struct cc_stream_head *head, void *scratch, uint8_t *out);

/* Writes all values of `part` to y; -0 where s has none. */
void cc_stream_expand(const struct cc_stream *s, struct cc_stream_range part, float *y);

/* --- views --- */

/* A received stream, checked, or one in memory. It points into its bytes. */
struct cc_stream_view {
    struct cc_stream_range range;
    enum cc_stream_kind kind;
    struct cc_stream_head head;
    uint32_t base;                /* pairs: what is added to their indices */
    bool ended;                   /* pairs: one with the index CC_PAIR_END follows the last */
    const uint8_t *counts, *bits; /* short; bitmap */
    const uint8_t *index;         /* short; pairs: of both */
    const uint8_t *value;
    const uint8_t *pack; /* its bytes */
    size_t pack_bytes;
};

/* Checks in[0, len), which may be any bytes but begins at a multiple of 4: `range` is what it must
 * have, most the largest number of pairs. *out points into it. */
int cc_stream_open(const uint8_t *in, size_t len, struct cc_stream_range range, size_t most,
                   struct cc_stream_view *out, struct cc_error *e);
/* A stream in memory, as it is now. */
struct cc_stream_view cc_stream_view_of(const struct cc_stream *s);
/* y[0] is the message's first value: y += scale * v, at the pairs of v alone. Not for packs. */
void cc_stream_view_apply(const struct cc_stream_view *v, float scale, float *y);

/* --- sums --- */

/* A part of a sum. */
struct cc_stream_part {
    const struct cc_stream_view *view;
    /* Set while it is summed, or taken in: */
    size_t at;                         /* the next pair */
    const struct cc_index_value *list; /* those that are merged next */
    size_t listed;
};

/* Scratch memory of cc_stream_sum and cc_stream_encode, in bytes, aligned to CC_ALIGN; all zeros
 * before the first use. */
size_t cc_stream_scratch(void);

/* Adds the parts up, each value in the order of the parts, from the left. Each part covers `range`,
 * which begins anywhere. out's pair and value have cc_stream_memory for as many pairs as the parts
 * have together, or fewer if they are more than the range's values; nothing overlaps. */
void cc_stream_sum(struct cc_stream_part *part, size_t parts, struct cc_stream_range range,
                   void *scratch, struct cc_stream *out);

#endif
