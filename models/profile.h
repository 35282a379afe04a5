/* Codec profiles: how large payloads are and how long a codec takes on one machine, as functions of
 * the tensor's size. `bench` measures them, `model` and `sim` read them; the file is documented in
 * docs/profile.md. A profile may as well come from elsewhere: models/ knows no scheme. */
#ifndef CC_MODELS_PROFILE_H
#define CC_MODELS_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/element.h"
#include "core/error.h"

#define CC_PROFILE_SCHEMA   "commcomp-profile/2"
#define CC_PROFILE_SCHEMA_1 "commcomp-profile/1" /* without "dtype": of float32 */

/* One measured size. Times are per value of the tensor, medians over the samples. */
struct cc_profile_point {
    double values;
    double bits_per_value;
    double encode_ns, decode_ns, decode_add_ns;
    double spread; /* the distance of the quartiles over the median, of the call where it is
                      largest; 0: not known */
    double load;   /* the machine's at that time, from 0 (quiet) to 1 (bench/load.h) */
};

/* The errors of a codec on the profile's data, for schemes that commcomp cannot run; NaN: not
 * known. docs/errors.md defines the first, docs/results.md the others. */
struct cc_profile_errors {
    double error, error_low, error_high; /* the settled updates', with its 95% interval */
    double nmse, nmse_cumulative, cosine, max_abs_error;
};

/* One codec: points in ascending order of values, at least one. */
struct cc_profile_codec {
    char *scheme; /* canonical name */
    bool lossless;
    struct cc_profile_errors errors;
    struct cc_profile_point *point;
    size_t points;
};

struct cc_profile {
    /* The origin of the numbers. Not NULL once read, but empty where the file gives none. */
    char *trace;           /* the data that was encoded: "synthetic:laplace", or a trace's name */
    char *cpu;             /* the machine's */
    char *isa;             /* instruction set */
    char *time;            /* when, UTC; ISO 8601 */
    int threads;           /* inside one tensor */
    enum cc_element dtype; /* of the values that were encoded */
    double copy_gb_per_s;  /* the best of a fixed copy loop (bench/load.h); 0: not known */
    struct cc_profile_codec *codec;
    size_t codecs;
};

/* Reads a file, strictly: a key that is missing, unknown or out of range is an error that names it.
 * *out is set on success only; free it with cc_profile_free. */
int cc_profile_read(const char *path, struct cc_profile *out, struct cc_error *e);

/* From JSON text. Any bytes either parse or give an error, which does not name the file. */
int cc_profile_parse(const char *text, size_t length, struct cc_profile *out, struct cc_error *e);

/* Writes it, whole or not at all; numbers with nine digits. Texts that are NULL become empty. */
int cc_profile_write(const struct cc_profile *p, const char *path, struct cc_error *e);

void cc_profile_free(struct cc_profile *p);

/* Sets the point of a scheme at its size: adds what is missing, and replaces a point of that size.
 */
int cc_profile_put(struct cc_profile *p, const char *scheme, const struct cc_profile_point *point,
                   struct cc_error *e);
/* Adds the points of `from` that *p lacks. */
int cc_profile_merge(struct cc_profile *p, const struct cc_profile *from, struct cc_error *e);

/* The scheme's point at exactly this size, or NULL. */
const struct cc_profile_point *cc_profile_point(const struct cc_profile *p, const char *scheme,
                                                double values);

/* The codec of this canonical name, or NULL. */
const struct cc_profile_codec *cc_profile_find(const struct cc_profile *p, const char *scheme);

/* The codec's figures at a size, values >= 1. Between two points, the logarithms of the bits and of
 * a call's whole time are linear in the logarithm of the size (if a figure is 0 at one end, the
 * figures themselves are). Below the smallest point a call takes as long as at that point (its
 * fixed cost); above the largest a value does. Bits per value outside are those of the nearest
 * point. */
struct cc_profile_point cc_profile_at(const struct cc_profile_codec *c, double values);

#endif
