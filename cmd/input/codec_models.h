/* Codec models: a scheme's descriptor and its codec profile, put together for models/, which knows
 * no scheme. */
#ifndef CC_CMD_INPUT_CODEC_MODELS_H
#define CC_CMD_INPUT_CODEC_MODELS_H

#include "cmd/cli/command.h"
#include "core/element.h"
#include "models/device.h"
#include "models/payload_cost.h"
#include "models/profile.h"

/* Adds the schemes of a profile that the catalogue lacks to it, as schemes without code
 * (schemes/profiled.h): what --profile does before --scheme is parsed. */
int cc_profile_schemes_add(const char *path, struct cc_error *e);

/* Where profiles come from. */
struct cc_profile_args {
    struct cc_given given;
    const char *path;      /* NULL: the profile of this machine, */
    const char *added;     /* beside it, one that has only schemes without code; NULL: none */
    bool remeasure;        /* measured again even if it is in the cache */
    bool quiet;            /* without messages on stderr */
    const char *pull_path; /* for what servers send; NULL: the same */
    const struct cc_device *device; /* set by the caller: codecs run on it; NULL: as measured */
    enum cc_element dtype;          /* set by the caller: what gradients are */
    bool over_bus;  /* set by the caller: all codecs run on the device's host, over the bus to it */
    size_t largest; /* set by the caller: values of the net's largest tensor; 0: not known */
    /* set by the caller: of what is measured, and the share that the profile has of it */
    struct cc_progress *progress;
    double share;
};
extern const struct cc_option cc_profile_options[];
int cc_profile_args_parse(const struct cc_args *args, struct cc_profile_args *out,
                          struct cc_error *e);

/* The codec models of a list of schemes, of the gradients as they are, and of fp32, with the
 * profile that they point into. */
struct cc_codec_models {
    struct cc_profile profile, pull; /* pull: of --pull-profile, or nothing */
    struct cc_profile sums;  /* this machine's on float32, if `profile` is on another type */
    struct cc_profile added; /* schemes without code, or nothing */
    char *source;            /* where the profile comes from, for notes */
    struct cc_codec_model *codec_model; /* one per scheme */
    /* The gradients as they are, by their type's name: no codec works on them, and what is received
     * of 16 bits is added in float32. */
    struct cc_codec_model plain;
    struct cc_codec_model raw; /* fp32 */
    bool raw_given;            /* the profile has no fp32: 32 bits that cost no time */
};

/* The errors of a scheme without code, from the profile; NULL for others. */
const struct cc_profile_errors *cc_codec_models_errors(const struct cc_codec_models *c,
                                                       const struct cc_spec *s);

/* Whether the scheme is the gradients as they are. */
bool cc_codec_models_plain(enum cc_element dtype, const struct cc_spec *s);

/* Whether a scheme's encoding is passes over memory, so that its time on a device is known. */
bool cc_codec_models_passes(const struct cc_spec *s);

/* Opens the profile: a file, or the profile of this machine, which is measured if it is not in the
 * cache yet. A scheme that the profile lacks is an error that names it. The list must outlive *out.
 * Free with cc_codec_models_free, also after an error if *out was zeroed before. */
int cc_codec_models_open(const struct cc_profile_args *args, const struct cc_spec_list *schemes,
                         struct cc_codec_models *out, struct cc_error *e);
void cc_codec_models_free(struct cc_codec_models *c);

/* Seconds to add a byte of float32 to a sum: gamma, from decoding fp32 onto a sum of n values. */
double cc_codec_models_reduce_byte_s(const struct cc_codec_models *c, double n);

#endif
