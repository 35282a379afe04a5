/* Copies what models/ needs of schemes and of a codec profile, and checks that they belong
 * together. */
#include "cmd/input/codec_models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/input/cache.h"
#include "core/memory.h"
#include "schemes/profiled.h"

/* --- the scheme's descriptor --- */

static double bound_bytes(const void *arg, const struct cc_shape *shape)
{
    const struct cc_spec *s = arg;
    struct cc_codec codec = {.scheme = s->scheme, .params = s->params, .shape = *shape};
    return (double)cc_bound(&codec);
}

static void copy_descriptor(const struct cc_spec *s, struct cc_codec_model *c)
{
    const struct cc_pair_cost cost = cc_pair_cost(s->scheme, s->params);
    c->period = cc_period(s->scheme, s->params);
    c->sum_rounds = cc_sum_rounds(s->scheme, s->params);
    c->reduction = cc_reduction(s->scheme, s->params);
    c->verbatim = (s->scheme->flags & CC_VERBATIM) != 0;
    if (cc_sized_by_shape(s->scheme, s->params)) {
        c->shape_bytes = bound_bytes;
        c->shape_arg = s;
    }
    if (c->reduction == CC_REDUCE_PAIRS) {
        c->value_bits = cost.value_bits;
        c->pair_bits = cost.pair_bits;
    }
}

/* --- schemes without code --- */

int cc_profile_schemes_add(const char *path, struct cc_error *e)
{
    struct cc_profile p = {0};
    int status = CC_OK;
    CC_TRY(cc_profile_read(path, &p, e));
    for (size_t i = 0; i < p.codecs; i++) {
        const char *name = p.codec[i].scheme;
        char id[64];
        (void)snprintf(id, sizeof id, "%.*s", (int)strcspn(name, ":"), name);
        if (cc_scheme_find(id) != NULL)
            continue;
        status = cc_profiled_add(name, p.codec[i].lossless ? 0 : CC_LOSSY, e);
        if (status != CC_OK) {
            cc_error_in(e, "%s: \"%.60s\", a scheme outside the catalogue", path, name);
            goto out;
        }
    }
out:
    cc_profile_free(&p);
    return status;
}

/* Whether a profile has only schemes without code, so that it is used beside this machine's. */
static int has_no_code(const char *path, bool *out, struct cc_error *e)
{
    struct cc_profile p = {0};
    *out = true;
    CC_TRY_IN(cc_profile_read(path, &p, e), e, "--profile");
    for (size_t i = 0; i < p.codecs; i++) {
        const struct cc_scheme *s = cc_scheme_find(p.codec[i].scheme);
        *out &= s != NULL && !cc_scheme_runs(s);
    }
    cc_profile_free(&p);
    return CC_OK;
}

/* The profile that a scheme is taken from. */
static const struct cc_profile *profile_of(const struct cc_codec_models *c, const struct cc_spec *s)
{
    return c->added.codecs > 0 && !cc_scheme_runs(s->scheme) ? &c->added : &c->profile;
}

const struct cc_profile_errors *cc_codec_models_errors(const struct cc_codec_models *c,
                                                       const struct cc_spec *s)
{
    const struct cc_profile_codec *codec =
        cc_scheme_runs(s->scheme) ? NULL : cc_profile_find(profile_of(c, s), s->name);
    return codec != NULL ? &codec->errors : NULL;
}

/* --- codecs on an accelerator --- */

/* The passes over memory of an encoding. Local steps add to a sum. Low-rank factors, whose
 * arithmetic limits a processor, are products of matrices here: each round reads and writes the
 * gradient once, and so does what keeps the residual. No passes: not known, as of libraries for the
 * host. */
static struct cc_traffic passes_of(const struct cc_spec *s)
{
    struct cc_traffic t = {.passes = 0};
    if (s->scheme->traffic != NULL)
        t = s->scheme->traffic(s->params);
    else if (cc_period(s->scheme, s->params) > 1)
        t = cc_traffic_one(1);
    else if (cc_sum_rounds(s->scheme, s->params) > 1)
        t = (struct cc_traffic){.passes = 2, .pass = {{.updates = 2}, {.updates = 1}}};
    return t;
}

bool cc_codec_models_passes(const struct cc_spec *s)
{
    return passes_of(s).passes > 0;
}

/* Bytes that a pass moves for each value: it reads the gradient in its type; residuals are float32.
 */
static double pass_bytes(const struct cc_traffic *t, unsigned pass, enum cc_element dtype)
{
    const unsigned reads = t->pass[pass].reads, updates = t->pass[pass].updates;
    const double gradient = reads > 0 ? (double)cc_element_bytes[dtype] : 0;
    return gradient + 4.0 * (reads > 0 ? reads - 1 : 0) + 8.0 * updates;
}

/* Replaces the times of a codec by those on a device, or, where these are not known, adds the way
 * to the host and back. A decoding reads the payload and writes the values; adding reads and writes
 * float32. */
static void move_codec(struct cc_profile_codec *c, const struct cc_device *d,
                       const struct cc_traffic *t, enum cc_element dtype)
{
    const double value = (double)cc_element_bytes[dtype];
    for (size_t i = 0; i < c->points; i++) {
        struct cc_profile_point *p = &c->point[i];
        const double payload = p->bits_per_value / 8 * p->values;
        const double ns = 1e9 / p->values;
        double bytes = payload;
        for (unsigned k = 0; k < t->passes; k++)
            bytes += p->values * pass_bytes(t, k, dtype);
        if (t->passes > 0) {
            p->encode_ns = ns * cc_device_call_s(d, t->passes, bytes);
            p->decode_ns = ns * cc_device_call_s(d, 1, payload + value * p->values);
            p->decode_add_ns = ns * cc_device_call_s(d, 1, payload + 8 * p->values);
        } else {
            const double way = ns * value * p->values / (1e9 * d->pcie_gb_per_s);
            p->encode_ns += way;
            p->decode_ns += way;
            p->decode_add_ns += 2 * way;
        }
    }
}

static void move_codecs(struct cc_profile *p, const struct cc_spec_list *schemes,
                        const struct cc_device *d, enum cc_element dtype, bool over_bus)
{
    for (size_t i = 0; i < p->codecs; i++) {
        const struct cc_traffic raw = cc_traffic_one(0);
        if (strcmp(p->codec[i].scheme, CC_RAW_SCHEME) == 0)
            move_codec(&p->codec[i], d, &raw, dtype);
        for (size_t k = 0; k < schemes->count; k++) {
            const struct cc_spec *s = schemes->item[k];
            const struct cc_traffic t = over_bus ? (struct cc_traffic){.passes = 0} : passes_of(s);
            if (cc_spec_is_raw(s) || strcmp(p->codec[i].scheme, s->name) != 0 ||
                !cc_scheme_runs(s->scheme))
                continue;
            move_codec(&p->codec[i], d, &t, dtype);
            break; /* not once more for a scheme that is listed twice */
        }
    }
}

/* --- opening --- */

void cc_codec_models_free(struct cc_codec_models *c)
{
    cc_profile_free(&c->profile);
    cc_profile_free(&c->pull);
    cc_profile_free(&c->added);
    cc_profile_free(&c->sums);
    free(c->source);
    free(c->codec_model);
    *c = (struct cc_codec_models){0};
}

/* clang-format off */
#define MEMBER(m) CC_OPTION_AT(struct cc_profile_args, m)
const struct cc_option cc_profile_options[] = {
    {.name = "profile", MEMBER(path), .value = "FILE", .file = CC_READS_FILE,
     .group = CC_GROUP_SEND, .before = cc_profile_schemes_add,
     .help = "sizes and times of the codecs (docs/profile.md); by default those of this machine, "
             "measured on first use and kept in ~/.cache/commcomp. Schemes that it names and that "
             "commcomp does not have are known by it: `model`, `advise` and `sim` take them, beside "
             "this machine's profile if it has no others"},
    {.name = "pull-profile", MEMBER(pull_path), .value = "FILE", .file = CC_READS_FILE,
     .group = CC_GROUP_SEND,
     .help = "another profile for what servers send, as `bench --stream pull --profile-out` "
             "makes of captured model deltas; by default their sizes are measured on sums of "
             "several workers, and their times are those of pushes"},
    {.name = "remeasure", MEMBER(remeasure), .group = CC_GROUP_SEND,
     .help = "measure this machine's codecs again"},
    {.name = NULL},
};
/* clang-format on */

int cc_profile_args_parse(const struct cc_args *args, struct cc_profile_args *out,
                          struct cc_error *e)
{
    *out = (struct cc_profile_args){.quiet = args->quiet};
    CC_TRY(cc_options_read(args, cc_profile_options, out, e));
    if (out->path != NULL) {
        bool beside;
        CC_TRY(has_no_code(out->path, &beside, e));
        if (beside) {
            out->added = out->path;
            out->path = NULL;
        }
    }
    if (out->path != NULL && out->remeasure)
        return cc_usage(e, "--profile and --remeasure exclude each other");
    return CC_OK;
}

/* Opens this machine's profile; of gradients that are not float32, with another one for sums, which
 * are. */
static int open_own(const struct cc_profile_args *args, const struct cc_spec_list *schemes,
                    struct cc_codec_models *out, struct cc_error *e)
{
    struct cc_spec_list run = {0}; /* whose items belong to `schemes` */
    const bool other = args->dtype != CC_ELEMENT_FP32;
    char *source = NULL;
    int status = CC_OK;
    struct cc_cache_request request = {.schemes = &run,
                                       .dtype = args->dtype,
                                       .largest = args->largest,
                                       .remeasure = args->remeasure,
                                       .quiet = args->quiet,
                                       .progress = args->progress,
                                       .share = other ? args->share / 2 : args->share};
    CC_TRY(CC_NEW(run.item, schemes->count, e));
    for (size_t i = 0; i < schemes->count; i++)
        if (cc_scheme_runs(schemes->item[i]->scheme))
            run.item[run.count++] = schemes->item[i];
    CC_TRY_OUT(cc_cache_profile(&request, &out->profile, &out->source, e));
    if (!other)
        goto out;
    request.dtype = CC_ELEMENT_FP32;
    request.share = args->share;
    CC_TRY_OUT(cc_cache_profile(&request, &out->sums, &source, e));
out:
    free(source);
    free(run.item);
    return status;
}

static int open_profile(const struct cc_profile_args *args, const struct cc_spec_list *schemes,
                        struct cc_codec_models *out, struct cc_error *e)
{
    if (args->path == NULL)
        return open_own(args, schemes, out, e);
    CC_TRY_IN(cc_profile_read(args->path, &out->profile, e), e, "--profile");
    return cc_text(&out->source, e, "%s", args->path);
}

/* Takes the sizes and times of pulls from the profile of --pull-profile, if there is one. */
static int take_pull(const struct cc_profile *p, const char *scheme, struct cc_codec_model *c,
                     struct cc_error *e)
{
    struct cc_codec_model pull;
    if (p->codecs == 0)
        return CC_OK;
    CC_TRY_IN(cc_codec_model_profiled(p, scheme, c->reduction, &pull, e), e, "--pull-profile");
    c->pull = pull.pull;
    return CC_OK;
}

bool cc_codec_models_plain(enum cc_element dtype, const struct cc_spec *s)
{
    return strcmp(s->name, cc_element_names[dtype]) == 0;
}

/* Gradients of 16 bits are payloads of their scheme. NCCL sums them as they are; others decode them
 * to add them, which takes as long as adding float32: casts are part of it. */
static struct cc_codec_model plain_model(const struct cc_codec_models *c,
                                         const struct cc_profile_args *args)
{
    const double add_ns =
        c->raw_given ? 0 : cc_profile_at(c->raw.push, (double)args->largest).decode_add_ns;
    struct cc_codec_model plain =
        cc_codec_model_given(cc_element_names[args->dtype], CC_REDUCE_DECODED,
                             8 * (double)cc_element_bytes[args->dtype], 0, 0, add_ns);
    plain.verbatim = true;
    return args->dtype == CC_ELEMENT_FP32 ? c->raw : plain;
}

static int make_models(const struct cc_profile_args *args, const struct cc_spec_list *schemes,
                       struct cc_codec_models *out, struct cc_error *e)
{
    CC_TRY(CC_NEW(out->codec_model, schemes->count, e));
    out->raw_given = cc_profile_find(&out->profile, CC_RAW_SCHEME) == NULL;
    if (out->raw_given)
        out->raw = cc_codec_model_given(CC_RAW_SCHEME, CC_REDUCE_SUM, 32, 0, 0, 0);
    else
        CC_TRY(cc_codec_model_profiled(&out->profile, CC_RAW_SCHEME, CC_REDUCE_SUM, &out->raw, e));
    out->raw.verbatim = true;
    out->plain = plain_model(out, args);
    for (size_t i = 0; i < schemes->count; i++) {
        const struct cc_spec *s = schemes->item[i];
        struct cc_codec_model *c = &out->codec_model[i];
        if ((out->raw_given && cc_spec_is_raw(s)) ||
            (args->dtype != CC_ELEMENT_FP32 && cc_codec_models_plain(args->dtype, s))) {
            *c = cc_spec_is_raw(s) ? out->raw : out->plain;
            continue;
        }
        CC_TRY_IN(cc_codec_model_profiled(profile_of(out, s), s->name, CC_REDUCE_DECODED, c, e), e,
                  "%s", out->source);
        c->sum = cc_profile_find(&out->sums, s->name);
        copy_descriptor(s, c);
        CC_TRY(take_pull(&out->pull, s->name, c, e));
    }
    return CC_OK;
}

int cc_codec_models_open(const struct cc_profile_args *args, const struct cc_spec_list *schemes,
                         struct cc_codec_models *out, struct cc_error *e)
{
    CC_TRY(open_profile(args, schemes, out, e));
    if (args->device != NULL)
        move_codecs(&out->profile, schemes, args->device, args->dtype, args->over_bus);
    if (args->device != NULL)
        move_codecs(&out->sums, schemes, args->device, CC_ELEMENT_FP32, args->over_bus);
    if (args->added != NULL)
        CC_TRY(cc_profile_read(args->added, &out->added, e));
    if (args->pull_path != NULL)
        CC_TRY_IN(cc_profile_read(args->pull_path, &out->pull, e), e, "--pull-profile");
    return make_models(args, schemes, out, e);
}

double cc_codec_models_reduce_byte_s(const struct cc_codec_models *c, double n)
{
    if (c->raw_given || n < 1)
        return 0;
    return cc_profile_at(c->raw.push, n).decode_add_ns * 1e-9 / 4;
}
