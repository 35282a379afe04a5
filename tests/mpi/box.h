/* The values of a range of a step, each tensor's part with its own codec: the payloads of which the
 * serial reference is made. */
#ifndef CC_TESTS_MPI_BOX_H
#define CC_TESTS_MPI_BOX_H

#include "netsim/job/job.h"
#include "schemes/spec.h"

struct bit {
    struct cc_codec codec;
    struct cc_context ctx;
    size_t at; /* in the flat step */
    uint8_t *payload;
    size_t len;
};

struct box {
    struct bit *bit;
    size_t bits;
    size_t from, to;
};

/* Ends the program. */
void box_die(const char *what);
/* Zeroed memory, or the end of the program. */
void *box_room(size_t bytes);

/* The values [from, to) of the job's step, as `rank` encodes them, with salt added to the seed. */
struct box box_new(const struct cc_job *job, const struct cc_spec *scheme,
                   const struct cc_spec *raw, size_t from, size_t to, int64_t rank, uint64_t salt);
void box_free(struct box *b);

/* Flat steps x and y. Encoding returns the bytes; decoding reads what was encoded last. */
size_t box_encode(struct box *b, uint64_t step, const float *x);
void box_decode(const struct box *b, float *y);
void box_add(const struct box *b, float scale, float *y);

#endif
