/* The readers of data sets. Each fills the shape, the classes and the samples of a data set that is
 * all zeros; what it has filled is freed by cc_data_free, also after an error. */
#ifndef CC_TRAIN_DATA_SOURCES_H
#define CC_TRAIN_DATA_SOURCES_H

#include <stdbool.h>

#include "train/data/data.h"

/* The digits that the program carries. */
int cc_data_digits(struct cc_data *d, struct cc_error *e);

/* A set drawn at random: every class has a pattern, smooth over neighboring pixels, and a sample is
 * its class's pattern plus noise. Keys of the text, all of them optional: classes=10, dims=3x32x32
 * (channels, height, width), train=4096 and test=1024 samples, noise=1 (standard deviation; that of
 * the patterns is 1), seed=1. */
int cc_data_synthetic(const char *keys, struct cc_data *d, struct cc_error *e);

/* Images of shapes (shapes.c), of three channels of bytes. Keys, all of them optional: classes=10
 * (up to 10 shapes, or up to 100 pairs), size=32 (height and width), train=10000 and test=2000
 * samples, strokes=6 in each image, noise=0.05 (standard deviation; white is 1), seed=1. */
int cc_data_shapes(const char *keys, struct cc_data *d, struct cc_error *e);

/* A folder of IDX files under MNIST's names, with or without .gz, or of CIFAR's binary files.
 * *found: whether the folder has such files at all. */
int cc_data_idx_folder(const char *path, bool *found, struct cc_data *d, struct cc_error *e);
int cc_data_cifar_folder(const char *path, bool *found, struct cc_data *d, struct cc_error *e);

/* A CSV file of numbers, a line for each sample. Keys: label=last or label=first (the column of the
 * class), dims=CxHxW (by default one row of 1 x 1 pixel), test=FILE (by default every fifth sample
 * is for testing). */
int cc_data_csv(const char *path, const char *keys, struct cc_data *d, struct cc_error *e);

/* A file in LIBSVM's format: in each line a label, any number, and index:value pairs with ascending
 * indices from 1. Labels become classes in the order of their values. Keys: features=N (otherwise
 * the largest index), dims=CxHxW, test=FILE. */
int cc_data_libsvm(const char *path, const char *keys, struct cc_data *d, struct cc_error *e);
/* The same as sparse rows, without dims. */
int cc_data_libsvm_rows(const char *path, const char *keys, struct cc_data *d, struct cc_error *e);

/* Sparse rows drawn at random, of which the frequencies of features follow a power law
 * (synthetic_rows.c). Keys, all of them optional: train=20000 and test=5000 rows, features=100000,
 * nonzeros=100 (of a row), power=1 (the exponent), noise=0.05 (share of labels that are flipped),
 * seed=1. */
int cc_data_synthetic_rows(const char *keys, struct cc_data *d, struct cc_error *e);

/* An .npz file with X and y, or X_train and y_train, and perhaps, to test with, X_test and y_test,
 * or X_val and y_val; every X may be an x. Without, every fifth sample is for testing. No keys. */
int cc_data_npz(const char *path, const char *keys, struct cc_data *d, struct cc_error *e);
/* An array of samples. Keys: labels=FILE, required; test=FILE and test-labels=FILE. */
int cc_data_npy(const char *path, const char *keys, struct cc_data *d, struct cc_error *e);

/* Text, as cc_data_open_text describes it; path: NULL for that which the program carries;
 * tokens: 0 for bytes. */
int cc_data_text(const char *path, size_t context, size_t tokens, struct cc_data *d,
                 struct cc_error *e);

/* --- parts of the readers, for tests and fuzzing --- */

/* Documents one after the other: the last byte of each is followed by the next one's first. */
struct cc_documents {
    uint8_t *byte;
    size_t bytes, capacity;
    size_t *end; /* [count]: behind each document */
    size_t count, end_capacity;
};
/* Appends the documents of a file, between form feeds; those without bytes are left out. */
int cc_documents_add(struct cc_documents *to, const uint8_t *file, size_t size, struct cc_error *e);
/* Makes the data set from documents; the bytes are then its own. */
int cc_documents_split(struct cc_documents *t, size_t context, struct cc_data *d,
                       struct cc_error *e);
void cc_documents_free(struct cc_documents *t);

/* Parses an IDX file of unsigned bytes, decompressing it if it is gzip: images (three dimensions)
 * or labels (one). The caller frees *out, which has the product of the dimensions. */
struct cc_idx {
    size_t dim[3];
    int ndim;
    uint8_t *byte;
};
int cc_idx_parse(const uint8_t *file, size_t size, struct cc_idx *out, struct cc_error *e);

/* Parses a file of images and one of their labels to `out`, one of the data set's two parts. The
 * first part that is read makes the set's shape and classes; the test part must fit them. Messages
 * begin with the file's name. */
struct cc_idx_file {
    const char *name;
    const uint8_t *data;
    size_t size;
};
int cc_data_idx_pair(const struct cc_idx_file *images, const struct cc_idx_file *labels,
                     struct cc_data *d, struct cc_samples *out, struct cc_error *e);

/* Appends the records of one of CIFAR's files: `labels` label bytes, of which the last counts, and
 * 3 x 32 x 32 pixels. A label of `classes` or more is an error. */
int cc_cifar_parse(const uint8_t *file, size_t size, size_t labels, size_t classes,
                   struct cc_samples *out, struct cc_error *e);

/* Parses a LIBSVM text and fills `out`, one of the data set's two parts, which is empty. The labels
 * of the first part become the classes: their values, ascending, in labels->value, to be freed. */
struct cc_svm_labels {
    double *value;
    size_t count, capacity;
};
struct cc_svm_form {
    bool sparse; /* keep the non-zeros alone */
    uint64_t
        features; /* the largest index that is allowed; 0: that of the data set, if it has one */
};
int cc_libsvm_parse(const char *text, size_t size, const struct cc_svm_form *form,
                    struct cc_svm_labels *labels, struct cc_data *d, struct cc_samples *out,
                    struct cc_error *e);

/* A .npy file in memory; errors begin with its name. */
struct cc_npy_file {
    const char *name;
    uint8_t *bytes;
    size_t size;
};

/* Takes the samples of an array, samples x features, samples x height x width or samples x channels
 * x height x width, and their classes, both as .npy files. */
int cc_npy_pair(const struct cc_npy_file *x, const struct cc_npy_file *y, struct cc_data *d,
                struct cc_samples *out, struct cc_error *e);
/* The same of an .npz file: those for training, or for testing, which may be missing (`*found`). */
int cc_npz_pair(const uint8_t *file, size_t size, bool test, bool *found, struct cc_data *d,
                struct cc_error *e);

/* --- for the readers --- */

/* Moves every fifth sample from training to testing, of each run of five one that is drawn. */
int cc_data_split(struct cc_data *d, struct cc_error *e);

/* A key of a text: the member of a reader's struct that it sets, and the form of its value. A table
 * of keys ends with no name. */
struct cc_data_key {
    const char *name;
    enum {
        CC_KEY_COUNT,    /* uint64_t: from `least` to `most` */
        CC_KEY_FEATURES, /* the same, in digits */
        CC_KEY_NUMBER,   /* double: decimal, from 0 to `most` */
        CC_KEY_SHARE,    /* double: 0.05 or 5% */
        CC_KEY_PATH,     /* char *, to be freed */
        CC_KEY_FIRST,    /* bool: first, or last */
        CC_KEY_DIMS      /* struct cc_data *, whose shape is set: 3x32x32, or 784 as 784x1x1 */
    } form;
    size_t at;
    uint64_t least, most;
};

/* Parses "a=1,b=2" into *out, in order. NULL or "": nothing. */
int cc_data_keys(const char *keys, const struct cc_data_key *table, void *out, struct cc_error *e);
/* Parses the shape of a sample. */
int cc_data_dims(const char *text, struct cc_data *d, struct cc_error *e);

#endif
