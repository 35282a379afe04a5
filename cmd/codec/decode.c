/* `commcomp decode`: a compressed file, or a bare payload, back to a tensor file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/progress.h"
#include "cmd/codec/base.h"
#include "cmd/codec/sender.h"
#include "cmd/codec/types.h"
#include "core/format/container.h"
#include "core/infile.h"
#include "core/interrupt.h"
#include "core/memory.h"

struct decode_options {
    struct cc_given given;
    bool payload;
    const char *shape, *base;
    uint64_t max_values; /* 0: by the file's size */
};

#define DECODE(m) CC_OPTION_AT(struct decode_options, m)
static const struct cc_option decode_rows[] = {
    {.name = "payload",
     DECODE(payload),
     .help = "IN is a bare payload; needs --scheme and --shape, and the options below where they "
             "matter"},
    {.name = "shape",
     DECODE(shape),
     .value = "DIMS",
     .help = "with --payload: the tensor's shape, as in 64x3x3x3"},
    {.name = "base",
     DECODE(base),
     .value = "FILE",
     .help = "the file that was named when IN was encoded with --base"},
    {.name = "max-values",
     DECODE(max_values),
     .kind = CC_TAKES_COUNT,
     .min = 1,
     .max = SIZE_MAX / sizeof(float),
     .value = "N",
     .help = "decode a file of up to N values; by default 2^26, or 4,096 for each byte of IN if "
             "that is more, so that a small file from elsewhere cannot fill memory and disk"},
    {.name = NULL},
};

static const struct cc_option_use decode_uses[] = {
    {.rows = decode_rows}, {.rows = cc_plugin_options}, {.rows = cc_sender_rows}, {.rows = NULL}};

static const struct cc_column decode_columns[] = {
    CC_COLUMN(scheme, CC_SETTING),
    CC_COLUMN(tensors, CC_SETTING),
    CC_COLUMN(values, CC_ANSWER),
    CC_COLUMN(payload_bytes, CC_MAIN, .note = "here of the file"),
    CC_COLUMN(bits_per_value, CC_MAIN),
    CC_COLUMN(ratio, CC_MAIN),
    CC_SENDER_COLUMNS,
    {.key = NULL},
};

static const struct cc_codec_memory decoders_memory = {.scratch = CC_SHARED};

struct decoder {
    struct cc_args *args;
    struct decode_options options;
    struct cc_sender_options sender;
    const char *in, *out;
    struct cc_bytes input;
    struct cc_container file; /* for a bare payload: its tensor, by the options */
    struct cc_context ctx;    /* the sender's */
    const struct cc_spec *spec;
    struct cc_base base;
    struct cc_tensor_info *info; /* of the tensors of OUT */
    enum cc_dtype *types;
};

static int add_decoded(const struct decoder *d, struct cc_error *e)
{
    struct cc_record *r = &d->args->record;
    double values = 0, bytes = 0;
    for (size_t i = 0; i < d->file.tensor_count; i++) {
        values += (double)d->file.tensors[i].shape.n;
        bytes += (double)d->file.tensors[i].payload_bytes;
    }
    size_t row;
    CC_TRY(cc_sender_row(r, d->spec, values, bytes, &d->ctx, &row, e));
    cc_record_number(r, row, CC_KEY(tensors), (double)d->file.tensor_count);
    return CC_OK;
}

static int decode_tensor(struct decoder *d, struct cc_tensor_codec *c, size_t i,
                         struct cc_tensor_file *out, struct cc_error *e)
{
    const struct cc_container_tensor *t = &d->file.tensors[i];
    struct cc_context ctx = d->ctx;
    int status = CC_OK;
    ctx.tensor = i;
    ctx.name = t->name;
    CC_TRY_OUT(cc_tensor_codec_set(c, d->spec, &t->shape, &decoders_memory, e));
    CC_TRY_OUT(cc_decode(&c->set.item->codec, &ctx, t->payload, t->payload_bytes, c->values, e));
    CC_TRY_OUT(cc_base_undo(&d->base, &d->info[i], cc_dtype_number(d->types[i]), c->values, e));
    if (d->spec->scheme->flags & CC_LOSSY)
        cc_number_round(cc_dtype_number(d->types[i]), c->values, t->shape.n);
    return cc_tensor_file_put(out, c->values, e);
out:
    if (d->options.payload)
        cc_error_in(e, "%s", d->in);
    else
        cc_error_in(e, "%s: tensor '%.200s' (payload at byte %zu)", d->in, t->name, t->offset);
    return status;
}

static int decode_all(struct decoder *d, struct cc_tensor_file *out, struct cc_error *e)
{
    struct cc_tensor_codec codec = {.values = NULL};
    struct cc_progress progress;
    int status = CC_OK;
    cc_progress_begin(&progress, d->args->quiet);
    for (size_t i = 0; i < d->file.tensor_count; i++) {
        if (cc_interrupted())
            CC_TRY_OUT(cc_fail(e, "interrupted; %s is as it was", d->out));
        cc_progress_show(&progress, "decoding", (double)i / (double)d->file.tensor_count);
        CC_TRY_OUT(decode_tensor(d, &codec, i, out, e));
    }
out:
    cc_progress_end(&progress);
    cc_tensor_codec_free(&codec);
    return status;
}

/* Opens the base, if one is given, and checks that it is the file's. */
static int open_decoders_base(struct decoder *d, struct cc_error *e)
{
    const size_t tensors = d->file.tensor_count;
    const struct cc_tensor_info **info = NULL;
    int status = CC_OK;
    if (d->options.base != NULL) {
        CC_TRY(CC_NEW(info, tensors, e));
        for (size_t i = 0; i < tensors; i++)
            info[i] = &d->info[i];
        status = cc_base_open(d->options.base, info, tensors, &d->base, e);
        free(info);
    }
    return status != CC_OK ? status
                           : cc_status_in(cc_base_check(&d->base, &d->file, e), e, "%s", d->in);
}

/* Writes the tensors, and adds their row. */
static int write_output(struct decoder *d, struct cc_error *e)
{
    const struct cc_container *f = &d->file;
    struct cc_tensor_file *out = NULL;
    struct cc_pair *pairs = NULL;
    size_t pair_count;
    int status = CC_OK;
    CC_TRY(cc_tensor_file_check(d->out, f->tensor_count, e));
    CC_TRY_OUT(CC_NEW(d->info, f->tensor_count, e));
    CC_TRY_OUT(CC_NEW(d->types, f->tensor_count, e));
    CC_TRY_OUT(CC_NEW(pairs, f->head.pair_count, e));
    CC_TRY_OUT(cc_status_in(cc_types_take(f, d->types, pairs, &pair_count, e), e, "%s", d->in));
    for (size_t i = 0; i < f->tensor_count; i++)
        d->info[i] =
            (struct cc_tensor_info){.name = f->tensors[i].name, .shape = f->tensors[i].shape};
    CC_TRY_OUT(open_decoders_base(d, e));
    CC_TRY_OUT(cc_tensor_file_begin(d->out, d->info, d->types, f->tensor_count, pairs, pair_count,
                                    &out, e));
    status = decode_all(d, out, e);
    if (status == CC_OK)
        status = cc_tensor_file_commit(out, e);
    else
        cc_tensor_file_abort(out);
out:
    cc_base_close(&d->base);
    free(d->info);
    free(d->types);
    free(pairs);
    return status == CC_OK ? add_decoded(d, e) : status;
}

/* Parses the scheme of a container, which may be a plugin's. */
static int parse_scheme(const char *name, struct cc_spec **out, struct cc_error *e)
{
    char id[64];
    (void)snprintf(id, sizeof id, "%.*s", (int)strcspn(name, ":"), name);
    if (cc_scheme_find(id) == NULL)
        return cc_fail(e,
                       "its scheme is '%.100s', and the catalogue has no '%.60s': if that is a "
                       "plugin's, load it with --plugin FILE",
                       name, id);
    return cc_spec_parse(name, out, e) == CC_OK ? CC_OK : CC_FAIL;
}

/* Fails also if a file claims more values than its size, or --max-values, allows. */
static int read_container(struct decoder *d, struct cc_spec **spec, struct cc_error *e)
{
    const uint64_t wanted = d->options.max_values;
    const uint64_t limit = wanted > 0 ? wanted : cc_container_limit(d->input.size);
    CC_TRY(cc_container_read(d->input.data, d->input.size, &d->file, e));
    CC_TRY_IN(parse_scheme(d->file.head.scheme, spec, e), e, "byte 44");
    return cc_container_check(&d->file, d->input.size, limit, "decode with --max-values", e);
}

/* A container holds all that decoding needs, so the options that give it are refused. */
static int decode_container(struct decoder *d, struct cc_error *e)
{
    const struct cc_sender_options *s = &d->sender;
    const void *const of_sender[] = {&s->seed, &s->step, &s->worker, &s->direction, NULL};
    const char *refused = d->options.shape != NULL ? "shape" : cc_given_of(s, of_sender);
    struct cc_spec *spec = NULL;
    if (refused != NULL)
        return cc_usage(e, "--%s is only for --payload: a compressed file contains it", refused);
    if (d->args->schemes.count > 0)
        return cc_usage(e, "--scheme is only for --payload: a compressed file contains it");
    CC_TRY(cc_file_read(d->in, &d->input, e));
    const struct cc_container_head *h = &d->file.head;
    int status = cc_status_in(read_container(d, &spec, e), e, "%s", d->in);
    d->spec = spec;
    d->ctx = (struct cc_context){
        .seed = h->seed, .rank = h->rank, .direction = h->direction, .step = h->step};
    if (status == CC_OK)
        status = write_output(d, e);
    cc_container_free(&d->file);
    cc_spec_free(spec);
    cc_bytes_free(&d->input);
    return status;
}

static int decode_payload(struct decoder *d, struct cc_error *e)
{
    struct cc_container_tensor tensor = {.name = "values"};
    CC_TRY(cc_one_scheme(d->args, &d->spec, e));
    if (d->options.base != NULL)
        return cc_usage(e, "--base is for a compressed file: no bare payload has a base");
    if (d->options.max_values > 0)
        return cc_usage(e,
                        "--max-values is for a compressed file; --shape says how many there are");
    if (d->options.shape == NULL)
        return cc_usage(e, "--payload needs --shape, as in --shape 64x3x3x3");
    CC_TRY(cc_shape_parse(d->options.shape, &tensor.shape, e));
    cc_sender_set(&d->sender, &d->ctx);
    CC_TRY(cc_file_read(d->in, &d->input, e));
    tensor.payload = d->input.data;
    tensor.payload_bytes = d->input.size;
    d->file.tensors = &tensor;
    d->file.tensor_count = 1;
    const int status = write_output(d, e);
    cc_bytes_free(&d->input);
    return status;
}

static int run_decode(struct cc_args *args, struct cc_error *e)
{
    struct decoder d = {.args = args, .in = args->operand[0], .out = args->operand[1]};
    CC_TRY(cc_options_read(args, decode_rows, &d.options, e));
    CC_TRY(cc_options_read(args, cc_sender_rows, &d.sender, e));
    return d.options.payload ? decode_payload(&d, e) : decode_container(&d, e);
}

const struct cc_command cc_command_decode = {
    .name = "decode",
    .summary = "turn a compressed file back into tensors",
    .operands = "IN OUT",
    .min_operands = 2,
    .max_operands = 2,
    .output_operand = 2,
    .description =
        "Decodes what `commcomp encode` wrote, to a .safetensors file, or, for a single tensor, to "
        ".npy or .csv, in the types of the file that was encoded. IN contains what decoding needs, "
        "except with --payload, and except for the "
        "code "
        "of a plugin (--plugin). A damaged IN is "
        "refused, naming the place and the tensor. OUT appears when it is complete. - is the "
        "standard input, or the standard output, which gets safetensors.",
    .examples = "  commcomp decode step7.cc step7.safetensors\n"
                "  commcomp decode --base model.safetensors tuned.cc tuned.safetensors\n"
                "  commcomp decode --payload --scheme int8 --shape 64x3x3x3 x.int8 x.npy\n",
    .page = "docs/container.md",
    .options = decode_uses,
    .columns = decode_columns,
    .takes_schemes = CC_ONE_SCHEME,
    .run = run_decode,
};
