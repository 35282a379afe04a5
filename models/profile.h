/* Codec profiles: how large payloads are and how long a codec takes on one machine, as functions of
 * the tensor's size. `bench` measures them, `model` and `sim` read them; the file is documented in
 * docs/profile.md. A profile may as well come from elsewhere: models/ knows no scheme. */
#ifndef CC_MODELS_PROFILE_H
#define CC_MODELS_PROFILE_H

#include <stddef.h>

#include "core/error.h"

#define CC_PROFILE_SCHEMA "commcomp-profile/1"

/* One measured size. Times are per value of the tensor, medians over the samples. */
struct cc_profile_point {
    double values;
    double bits_per_value;
    double encode_ns, decode_ns, decode_add_ns;
};

/* One codec: points in ascending order of values, at least one. */
struct cc_profile_codec {
    char *scheme; /* canonical name */
    struct cc_profile_point *point;
    size_t points;
};

struct cc_profile {
    /* Never NULL once read, but empty where the file does not say: */
    char *trace; /* what was encoded: "synthetic:laplace", or a trace's name */
    char *cpu;   /* of the machine */
    char *isa;   /* instruction set */
    char *time;  /* when, UTC; ISO 8601 */
    int threads; /* inside one tensor */
    struct cc_profile_codec *codec;
    size_t codecs;
};

/* Reads a file, strictly: what is missing, unknown or out of range is an error that names it. *out
 * is set on success only; the caller frees with cc_profile_free. */
int cc_profile_read(const char *path, struct cc_profile *out, struct cc_error *e);

/* From JSON text. Any bytes either parse or give an error, which does not name the file. */
int cc_profile_parse(const char *text, size_t length, struct cc_profile *out, struct cc_error *e);

/* Writes it, whole or not at all; numbers with nine digits. Texts that are NULL become empty. */
int cc_profile_write(const struct cc_profile *p, const char *path, struct cc_error *e);

void cc_profile_free(struct cc_profile *p);

/* The codec of this canonical name, or NULL. */
const struct cc_profile_codec *cc_profile_find(const struct cc_profile *p, const char *scheme);

/* At a size between the points: logarithms of bits and of whole times, linear in the logarithm of
 * the size (where one of both ends is 0, not of the logarithms but of the figures themselves).
 * Below the smallest point a call takes as long as there (its fixed cost), above the largest a
 * value takes as long as there; bits per value are those of the nearest point. values >= 1. */
struct cc_profile_point cc_profile_at(const struct cc_profile_codec *c, double values);

#endif
