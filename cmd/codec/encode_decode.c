/* `commcomp encode` and `commcomp decode`: a tensor file to a compressed file, or a bare payload,
 * and back. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/command.h"
#include "cmd/cli/progress.h"
#include "cmd/codec/types.h"
#include "core/file.h"
#include "core/format/container.h"
#include "core/format/contents.h"
#include "core/infile.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/trace/trace.h"
#include "core/units.h"
#include "schemes/codec_set.h"

/* --- both: the sender, and codecs for one tensor after another --- */

static int parse_rank(const char *text, void *member, struct cc_error *e)
{
    int64_t *rank = member;
    uint64_t v = 0;
    if (strcmp(text, "-1") == 0) {
        *rank = -1;
        return CC_OK;
    }
    CC_TRY(cc_parse_count(text, &v, e));
    if (v > INT32_MAX)
        return cc_usage(e, "%s is not between -1 and %d", text, INT32_MAX);
    *rank = (int64_t)v;
    return CC_OK;
}

/* The sender of a tensor: for --payload, and where a file does not name it. */
struct sender_options {
    struct cc_given given;
    uint64_t seed, step;
    int64_t worker;
    enum cc_direction direction;
};

#define SENDER(m) CC_OPTION_AT(struct sender_options, m)
/* clang-format off */
static const struct cc_option sender_rows[] = {
    {.name = "seed", SENDER(seed), .kind = CC_TAKES_COUNT, .max = CC_MAX_SEED, .value = "N",
     .def = "1", .help = "seed of the random numbers"},
    {.name = "step", SENDER(step), .kind = CC_TAKES_COUNT, .max = INT64_MAX, .value = "N",
     .help = "the step, from 0 (default: the tensor file's, else 0)"},
    {.name = "worker", SENDER(worker), .parse = parse_rank, .value = "RANK",
     .help = "who sends: the rank of a worker, or -1 for the server (default: the tensor file's, "
             "else 0 for a push and -1 for a pull)"},
    {.name = "direction", SENDER(direction), .value = "DIRECTION", .choices = cc_direction_names,
     .help = "push (a worker's gradients) or pull (the server's model deltas) (default: the "
             "tensor file's, else push)"},
    {.name = NULL},
};
/* clang-format on */

/* Sets the fields of *ctx for which sender options were given; leaves the others. */
static void set_sender(const struct sender_options *o, struct cc_context *ctx)
{
    ctx->seed = o->seed;
    if (cc_given(o, &o->step) != NULL)
        ctx->step = o->step;
    if (cc_given(o, &o->direction) != NULL && o->direction != ctx->direction) {
        ctx->rank = o->direction == CC_PULL ? -1 : 0;
        ctx->direction = o->direction;
    }
    if (cc_given(o, &o->worker) != NULL)
        ctx->rank = o->worker;
}

/* The columns of the sender. */
/* clang-format off */
#define SENDER_COLUMNS                                                                             \
    CC_COLUMN(seed, CC_SETTING), CC_COLUMN(step, CC_SETTING, .note = "that was encoded"),          \
    CC_COLUMN(worker, CC_SETTING), CC_COLUMN(direction, CC_SETTING)
/* clang-format on */

/* Adds a row with these, scheme, values, payload_bytes, bits_per_value and ratio. */
static int new_row(struct cc_record *r, const struct cc_spec *spec, double values,
                   double payload_bytes, const struct cc_context *ctx, size_t *row,
                   struct cc_error *e)
{
    const struct cc_number_column all[] = {{CC_KEY(values), values},
                                           {CC_KEY(payload_bytes), payload_bytes},
                                           {CC_KEY(bits_per_value), 8 * payload_bytes / values},
                                           {CC_KEY(ratio), 4 * values / payload_bytes},
                                           {CC_KEY(seed), (double)ctx->seed},
                                           {CC_KEY(worker), (double)ctx->rank}};
    const struct cc_text_column texts[] = {{CC_KEY(scheme), spec->name},
                                           {CC_KEY(direction), cc_direction_names[ctx->direction]}};
    CC_TRY(cc_record_add(r, row, e));
    cc_record_numbers(r, *row, all, sizeof all / sizeof all[0]);
    CC_TRY(cc_record_whole(r, *row, CC_KEY(step), ctx->step, e));
    return cc_record_texts(r, *row, texts, sizeof texts / sizeof texts[0], e);
}

/* The scheme that --scheme names; a usage error unless it names exactly one. */
static int one_scheme(const struct cc_args *args, const struct cc_spec **out, struct cc_error *e)
{
    if (args->schemes.count == 0)
        return cc_usage(e, "which scheme? for example --scheme 3lc; `commcomp schemes` lists them");
    if (args->schemes.count > 1)
        return cc_usage(e, "give one scheme, not %zu (%s, %s%s)", args->schemes.count,
                        args->schemes.item[0]->name, args->schemes.item[1]->name,
                        args->schemes.count > 2 ? ", ..." : "");
    *out = args->schemes.item[0];
    return CC_OK;
}

/* The codec of one tensor after another, with room for its values. Zero-initialized: empty. Memory
 * that is large enough for the next tensor is kept. */
struct tensor_codec {
    struct cc_codec_set set; /* one codec */
    float *values;           /* at least shape.n */
    size_t values_bytes;
};

static int set_codec(struct tensor_codec *c, const struct cc_spec *spec,
                     const struct cc_shape *shape, const struct cc_codec_memory *memory,
                     struct cc_error *e)
{
    const size_t bytes = shape->n * sizeof *c->values;
    CC_TRY(cc_codec_set_single(&c->set, spec, shape, memory, e));
    if (c->values != NULL && bytes <= c->values_bytes)
        return CC_OK;
    free(c->values);
    c->values = cc_alloc(bytes, e);
    c->values_bytes = c->values == NULL ? 0 : bytes;
    return c->values == NULL ? CC_FAIL : CC_OK;
}

static void free_codec(struct tensor_codec *c)
{
    cc_codec_set_free(&c->set);
    free(c->values);
    *c = (struct tensor_codec){.values = NULL};
}

/* --- encode --- */

struct encode_options {
    struct cc_given given;
    bool payload, per_tensor, force;
};

#define ENCODE(m) CC_OPTION_AT(struct encode_options, m)
static const struct cc_option encode_rows[] = {
    {.name = "payload",
     ENCODE(payload),
     .help = "write the bare payload of the file's only tensor, without the container"},
    {.name = "per-tensor",
     ENCODE(per_tensor),
     .help = "a row for each tensor instead of one for the file"},
    {.name = "force", ENCODE(force), .help = "write OUT even if it exists"},
    {.name = NULL},
};

static const struct cc_option_use encode_uses[] = {
    {.rows = cc_plugin_options}, {.rows = sender_rows}, {.rows = encode_rows}, {.rows = NULL}};

static const struct cc_column encode_columns[] = {
    CC_COLUMN(scheme, CC_SETTING),
    CC_COLUMN(tensor, CC_SETTING),
    CC_COLUMN(shape, CC_DETAIL),
    CC_COLUMN(values, CC_MAIN),
    CC_COLUMN(payload_bytes, CC_MAIN, .note = "here of the file"),
    CC_COLUMN(bits_per_value, CC_ANSWER),
    CC_COLUMN(ratio, CC_ANSWER, .note = "of the payloads, without what the file says about them"),
    CC_COLUMN(file_ratio, CC_ANSWER),
    CC_COLUMN(input_bytes, CC_PART),
    CC_COLUMN(output_bytes, CC_PART),
    SENDER_COLUMNS,
    {.key = NULL},
};

struct encoder {
    struct cc_args *args;
    struct encode_options options;
    struct sender_options sender;
    const char *in, *out;
    const struct cc_spec *spec;
    struct cc_trace *trace;
    struct cc_context ctx;
    struct tensor_codec codec;
    size_t payload_bytes; /* all tensors' so far */
    uint64_t output_bytes;
    struct cc_progress progress;
};

/* Adds a row for tensor t, or for all (NULL), without the sizes of the files. */
static int add_encoded(struct encoder *c, const struct cc_tensor_info *t, size_t values,
                       size_t payload_bytes, struct cc_error *e)
{
    struct cc_record *r = &c->args->record;
    char shape[192];
    size_t row;
    CC_TRY(new_row(r, c->spec, (double)values, (double)payload_bytes, &c->ctx, &row, e));
    if (t == NULL)
        return CC_OK;
    cc_shape_print(&t->shape, shape, sizeof shape);
    CC_TRY(cc_record_text(r, row, CC_KEY(tensor), t->name, e));
    return cc_record_text(r, row, CC_KEY(shape), shape, e);
}

/* Encodes tensor t of the file; *payload is valid until the next call. */
static int encode_tensor(struct encoder *c, size_t t, const uint8_t **payload, size_t *bytes,
                         struct cc_error *e)
{
    const struct cc_tensor_info *info = cc_trace_tensor(c->trace, t);
    c->ctx.tensor = t;
    c->ctx.name = info->name;
    CC_TRY(set_codec(&c->codec, c->spec, &info->shape, &cc_memory_in_turn, e));
    CC_TRY(cc_trace_load(c->trace, 0, 0, t, c->codec.values, e));
    const struct cc_codec_item *item = c->codec.set.item;
    CC_TRY_IN(
        cc_encode(&item->codec, &c->ctx, c->codec.values, item->payload, item->bound, bytes, e), e,
        "%s", c->in);
    if (c->options.per_tensor)
        CC_TRY(add_encoded(c, info, info->shape.n, *bytes, e));
    c->payload_bytes += *bytes;
    *payload = item->payload;
    return CC_OK;
}

static int write_payload(struct encoder *c, struct cc_error *e)
{
    const uint8_t *payload;
    size_t bytes = 0;
    struct cc_outfile out;
    if (cc_trace_tensors(c->trace) != 1)
        return cc_fail(e, "%s has %zu tensors; --payload is for a file of one", c->in,
                       cc_trace_tensors(c->trace));
    CC_TRY(encode_tensor(c, 0, &payload, &bytes, e));
    CC_TRY(cc_file_create(&out, c->out, e));
    if (bytes > 0)
        (void)fwrite(payload, 1, bytes, out.f); /* cc_file_commit reports a failure */
    c->output_bytes = bytes;
    return cc_file_commit(&out, e);
}

static int add_tensors(struct encoder *c, struct cc_container_writer *w, struct cc_error *e)
{
    size_t count = cc_trace_tensors(c->trace), bytes;
    const uint8_t *payload;
    for (size_t t = 0; t < count; t++) {
        const struct cc_tensor_info *info = cc_trace_tensor(c->trace, t);
        if (cc_interrupted())
            return cc_fail(e, "interrupted; %s is as it was", c->out);
        cc_progress_show(&c->progress, "encoding", (double)t / (double)count);
        CC_TRY(encode_tensor(c, t, &payload, &bytes, e));
        CC_TRY(cc_container_add(w, info->name, &info->shape, payload, bytes, e));
    }
    return CC_OK;
}

static int write_container(struct encoder *c, struct cc_error *e)
{
    struct cc_container_head head = {.seed = c->ctx.seed,
                                     .rank = c->ctx.rank,
                                     .direction = c->ctx.direction,
                                     .step = c->ctx.step};
    struct cc_container_writer *w = NULL;
    struct cc_pair *pairs;
    int status = CC_OK;
    (void)snprintf(head.scheme, sizeof head.scheme, "%s", c->spec->name);
    CC_TRY(cc_tensor_file_metadata(c->in, &pairs, &head.pair_count, e));
    CC_TRY_OUT(
        cc_status_in(cc_types_add(c->spec, c->trace, &pairs, &head.pair_count, e), e, "%s", c->in));
    head.pairs = pairs;
    CC_TRY_OUT(cc_container_begin(c->out, &head, cc_trace_tensors(c->trace), &w, e));
    status = add_tensors(c, w, e);
    if (status == CC_OK)
        status = cc_container_finish(w, &c->output_bytes, e);
    else
        cc_container_abandon(w);
out:
    cc_pairs_free(pairs, head.pair_count);
    return status;
}

/* Opens the file. The sender is the one that the file names, unless options name another. */
static int open_input(struct encoder *c, struct cc_error *e)
{
    struct stat st;
    if (stat(c->in, &st) == 0 && S_ISDIR(st.st_mode))
        return cc_fail(e, "%s is a directory; encode takes the file of one step", c->in);
    CC_TRY(cc_trace_open(c->in, &c->trace, e));
    struct cc_trace_sender stream = cc_trace_stream(c->trace, 0);
    c->ctx = (struct cc_context){.seed = 1,
                                 .rank = stream.rank,
                                 .direction = stream.direction,
                                 .step = cc_trace_step_number(c->trace, 0, 0)};
    set_sender(&c->sender, &c->ctx);
    return CC_OK;
}

static void set_file_sizes(const struct encoder *c)
{
    struct cc_record *r = &c->args->record;
    struct stat in;
    const bool known = stat(c->in, &in) == 0; /* not of the standard input */
    const double raw = 4 * (double)cc_trace_values(c->trace);
    for (size_t row = 0; row < r->row_count; row++) {
        cc_record_number(r, row, CC_KEY(file_ratio), raw / (double)c->output_bytes);
        cc_record_number(r, row, CC_KEY(input_bytes), known ? (double)in.st_size : NAN);
        cc_record_number(r, row, CC_KEY(output_bytes), (double)c->output_bytes);
    }
}

static int run_encode(struct cc_args *args, struct cc_error *e)
{
    struct encoder c = {.args = args, .in = args->operand[0], .out = args->operand[1]};
    int status = CC_OK;
    CC_TRY_OUT(cc_options_read(args, encode_rows, &c.options, e));
    CC_TRY_OUT(cc_options_read(args, sender_rows, &c.sender, e));
    CC_TRY_OUT(one_scheme(args, &c.spec, e));
    if (!c.options.force && access(c.out, F_OK) == 0 && !cc_file_is_stream(c.out))
        CC_TRY_OUT(cc_fail(e, "%s: is there already; --force replaces it", c.out));
    CC_TRY_OUT(open_input(&c, e));
    cc_progress_begin(&c.progress, args->quiet);
    status = c.options.payload ? write_payload(&c, e) : write_container(&c, e);
    cc_progress_end(&c.progress);
    CC_TRY_OUT(status);
    if (!c.options.per_tensor)
        CC_TRY_OUT(add_encoded(&c, NULL, cc_trace_values(c.trace), c.payload_bytes, e));
    set_file_sizes(&c);
out:
    free_codec(&c.codec);
    cc_trace_close(c.trace);
    return status;
}

const struct cc_command cc_command_encode = {
    .name = "encode",
    .summary = "compress a file of tensors",
    .operands = "IN OUT",
    .min_operands = 2,
    .max_operands = 2,
    .output_operand = 2,
    .description =
        "Encodes every tensor of IN (" CC_TENSOR_FILES ") under one scheme (--scheme "
        "names exactly one), from a fresh residual, and writes the payloads to OUT with what "
        "`commcomp decode` needs. docs/container.md describes the file byte by byte. OUT appears "
        "when it is complete; one that is there already is replaced with --force only. - is the "
        "standard input or output.",
    .examples = "  commcomp encode --scheme 3lc --s 1.75 step7.safetensors step7.cc\n"
                "  commcomp encode --scheme int8 --payload x.npy x.int8   # the payload alone\n"
                "  cat x.npy | commcomp encode --scheme 3lc - - | commcomp decode - y.npy\n",
    .options = encode_uses,
    .columns = encode_columns,
    .takes_schemes = CC_ONE_SCHEME,
    .run = run_encode,
};

/* --- decode --- */

struct decode_options {
    struct cc_given given;
    bool payload;
    const char *shape;
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
    {.rows = decode_rows}, {.rows = cc_plugin_options}, {.rows = sender_rows}, {.rows = NULL}};

static const struct cc_column decode_columns[] = {
    CC_COLUMN(scheme, CC_SETTING),
    CC_COLUMN(tensors, CC_SETTING),
    CC_COLUMN(values, CC_ANSWER),
    CC_COLUMN(payload_bytes, CC_MAIN, .note = "here of the file"),
    CC_COLUMN(bits_per_value, CC_MAIN),
    CC_COLUMN(ratio, CC_MAIN),
    SENDER_COLUMNS,
    {.key = NULL},
};

static const struct cc_codec_memory decoders_memory = {.scratch = CC_SHARED};

struct decoder {
    struct cc_args *args;
    struct decode_options options;
    struct sender_options sender;
    const char *in, *out;
    struct cc_bytes input;
    struct cc_container file; /* for a bare payload: its tensor, by the options */
    struct cc_context ctx;    /* the sender's */
    const struct cc_spec *spec;
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
    CC_TRY(new_row(r, d->spec, values, bytes, &d->ctx, &row, e));
    cc_record_number(r, row, CC_KEY(tensors), (double)d->file.tensor_count);
    return CC_OK;
}

static int decode_tensor(const struct decoder *d, struct tensor_codec *c, size_t i,
                         struct cc_tensor_file *out, struct cc_error *e)
{
    const struct cc_container_tensor *t = &d->file.tensors[i];
    struct cc_context ctx = d->ctx;
    int status = CC_OK;
    ctx.tensor = i;
    ctx.name = t->name;
    CC_TRY_OUT(set_codec(c, d->spec, &t->shape, &decoders_memory, e));
    CC_TRY_OUT(cc_decode(&c->set.item->codec, &ctx, t->payload, t->payload_bytes, c->values, e));
    return cc_tensor_file_put(out, c->values, e);
out:
    if (d->options.payload)
        cc_error_in(e, "%s", d->in);
    else
        cc_error_in(e, "%s: tensor '%.200s' (payload at byte %zu)", d->in, t->name, t->offset);
    return status;
}

static int decode_all(const struct decoder *d, struct cc_tensor_file *out, struct cc_error *e)
{
    struct tensor_codec codec = {.values = NULL};
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
    free_codec(&codec);
    return status;
}

/* Writes the tensors, and adds their row. */
static int write_output(const struct decoder *d, struct cc_error *e)
{
    const struct cc_container *f = &d->file;
    struct cc_tensor_file *out = NULL;
    struct cc_tensor_info *info = NULL;
    enum cc_dtype *types = NULL;
    struct cc_pair *pairs = NULL;
    size_t pair_count;
    int status = CC_OK;
    CC_TRY(cc_tensor_file_check(d->out, f->tensor_count, e));
    CC_TRY_OUT(CC_NEW(info, f->tensor_count, e));
    CC_TRY_OUT(CC_NEW(types, f->tensor_count, e));
    CC_TRY_OUT(CC_NEW(pairs, f->head.pair_count, e));
    CC_TRY_OUT(cc_status_in(cc_types_take(f, types, pairs, &pair_count, e), e, "%s", d->in));
    for (size_t i = 0; i < f->tensor_count; i++)
        info[i] = (struct cc_tensor_info){.name = f->tensors[i].name, .shape = f->tensors[i].shape};
    CC_TRY_OUT(
        cc_tensor_file_begin(d->out, info, types, f->tensor_count, pairs, pair_count, &out, e));
    status = decode_all(d, out, e);
    if (status == CC_OK)
        status = cc_tensor_file_commit(out, e);
    else
        cc_tensor_file_abort(out);
out:
    free(info);
    free(types);
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
    const struct sender_options *s = &d->sender;
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
    CC_TRY(one_scheme(d->args, &d->spec, e));
    if (d->options.max_values > 0)
        return cc_usage(e,
                        "--max-values is for a compressed file; --shape says how many there are");
    if (d->options.shape == NULL)
        return cc_usage(e, "--payload needs --shape, as in --shape 64x3x3x3");
    CC_TRY(cc_shape_parse(d->options.shape, &tensor.shape, e));
    set_sender(&d->sender, &d->ctx);
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
    CC_TRY(cc_options_read(args, sender_rows, &d.sender, e));
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
        "Decodes what `commcomp encode` wrote, to a .safetensors file (in bf16 and fp16 where the "
        "file was, if the scheme lost nothing), or, for a single tensor, to "
        ".npy or .csv. IN contains what decoding needs, except with --payload, and except for the "
        "code "
        "of a plugin (--plugin). A damaged IN is "
        "refused, naming the place and the tensor. OUT appears when it is complete. - is the "
        "standard input, or the standard output, which gets safetensors.",
    .examples = "  commcomp decode step7.cc step7.safetensors\n"
                "  commcomp decode --payload --scheme int8 --shape 64x3x3x3 x.int8 x.npy\n",
    .options = decode_uses,
    .columns = decode_columns,
    .takes_schemes = CC_ONE_SCHEME,
    .run = run_decode,
};
