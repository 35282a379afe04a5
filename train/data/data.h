/* Data sets: labelled samples to train and to test with. Samples are images, in planes of channels,
 * rows and columns; a sample that is not an image has 1 x 1 pixel and as many channels as features,
 * or has the shape that the data set's text gives it. */
#ifndef CC_TRAIN_DATA_DATA_H
#define CC_TRAIN_DATA_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "train/data/byte_pairs.h"
#include "train/data/rows.h"

enum { CC_MOST_CLASSES = 65536 };

/* Samples as they were read: bytes or floats, [count][channels][height][width], or sparse rows, a
 * column for each feature. */
struct cc_samples {
    size_t count;
    uint8_t *byte;              /* or NULL, */
    size_t bytes;               /* of text */
    float *value;               /* or NULL, */
    struct cc_sparse_rows rows; /* or all zeros */
    uint16_t *label;            /* [count] */
};

struct cc_data {
    char *name;
    size_t channels, height, width;
    size_t classes; /* labels are below */
    /* Text: a sample is a run of so many bytes, one channel of one row, whose labels are the bytes
     * after each. The samples' bytes are those of all documents, one after the other, more than the
     * samples have; 0: not text. */
    size_t context;
    /* Text whose bytes are tokens (byte_pairs.h), and the bytes of the test text before it was
     * encoded; NULL: bytes are bytes. */
    struct cc_byte_pairs *pairs;
    size_t text_bytes;
    struct cc_samples train, test;
    /* Normalization: a network's input is (sample - mean) * scale, of a channel's mean and standard
     * deviation over the training samples. Sparse rows are taken as they are: NULL. */
    float *mean, *scale; /* [channels] */
};

/* Opens a data set by its text:
 *
 *   digits              8x8 handwritten digits, which the program carries
 *   shapes[:...]        images of shapes, drawn (train/data/sources.h)
 *   synthetic[:...]     drawn at random (train/data/sources.h)
 *   a folder            with the files of MNIST and its kin (IDX, also .gz) or of CIFAR-10 or -100
 *   FILE.csv[:...]      a sample in each line, with its class; may name a file to test with
 *   FILE.libsvm[:...]   the same in LIBSVM's format (also .svm)
 *   FILE.npz            arrays X and y, or x_train, y_train, x_test and y_test
 *   FILE.npy:labels=... an array of samples, and one of their classes
 *
 * Any file is read whole or refused, naming the place. A text that is none of these is CC_USAGE.
 * *out is set on success only; free it with cc_data_free. */
int cc_data_open(const char *text, struct cc_data **out, struct cc_error *e);

/* The same for linear models: opens a data set as sparse rows.
 *
 *   synthetic-sparse[:...]  drawn at random (train/data/sources.h)
 *   FILE.libsvm[:...]       (also .svm) keeping the non-zeros alone */
int cc_data_open_rows(const char *text, struct cc_data **out, struct cc_error *e);

/* The same for language models: opens a text whose samples have `context` bytes. Documents are held
 * out for testing, every sixteenth.
 *
 *   text                the New Testament, which the program carries; a document is a chapter
 *   text:PATH           a file, or the files of a folder by their names: documents, but where a
 * form feed cuts them into several. Fewer than 32 are cut into pieces of about equal length,
 * between lines
 *   ...,vocab=N         N tokens: its bytes, and pairs in place of those that it does not use */
int cc_data_open_text(const char *text, size_t context, struct cc_data **out, struct cc_error *e);

void cc_data_free(struct cc_data *d); /* NULL is allowed */

/* The texts that name sets without a file, ending with NULL. */
extern const char *const cc_data_names[];

/* Tokens of the test text for each of its bytes: what a loss by tokens is multiplied with. */
static inline double cc_data_tokens_a_byte(const struct cc_data *d)
{
    return d->pairs == NULL ? 1 : (double)d->test.bytes / (double)d->text_bytes;
}

/* The values of a sample. */
static inline size_t cc_data_values(const struct cc_data *d)
{
    return d->channels * d->height * d->width;
}

/* The random numbers that data take: streams of core/random.h apart from those of codecs, which
 * begin at 0. */
enum { CC_DRAW_ORDER = 0x64617461, CC_DRAW_SHARDS, CC_DRAW_AUGMENT };

#endif
