/* `commcomp encode`: a tensor file to a compressed file, or a bare payload. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/progress.h"
#include "cmd/codec/base.h"
#include "cmd/codec/sender.h"
#include "cmd/codec/types.h"
#include "core/file.h"
#include "core/format/container.h"
#include "core/format/contents.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/trace/trace.h"
#include "core/trace/trace_dtype.h"
#include "core/units.h"

struct encode_options {
    struct cc_given given;
    bool payload, per_tensor, force;
    const char *base;
};

#define ENCODE(m) CC_OPTION_AT(struct encode_options, m)
static const struct cc_option encode_rows[] = {
    {.name = "payload",
     ENCODE(payload),
     .help = "write the bare payload of the file's only tensor, without the container"},
    {.name = "base",
     ENCODE(base),
     .value = "FILE",
     .help = "encode the differences from this file's values, as of the model before a training; "
             "decode then needs it, too; for schemes that lose nothing"},
    {.name = "per-tensor",
     ENCODE(per_tensor),
     .help = "a row for each tensor instead of one for the file"},
    {.name = "force", ENCODE(force), .help = "write OUT even if it exists"},
    {.name = NULL},
};

static const struct cc_option_use encode_uses[] = {
    {.rows = cc_plugin_options}, {.rows = cc_sender_rows}, {.rows = encode_rows}, {.rows = NULL}};

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
    CC_SENDER_COLUMNS,
    {.key = NULL},
};

struct encoder {
    struct cc_args *args;
    struct encode_options options;
    struct cc_sender_options sender;
    const char *in, *out;
    const struct cc_spec *spec;
    struct cc_trace *trace;
    struct cc_base base;
    struct cc_context ctx;
    struct cc_tensor_codec codec;
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
    CC_TRY(cc_sender_row(r, c->spec, (double)values, (double)payload_bytes, &c->ctx, &row, e));
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
    c->ctx.any = true;
    CC_TRY(cc_tensor_codec_set(&c->codec, c->spec, &info->shape, &cc_memory_in_turn, e));
    CC_TRY(cc_trace_load(c->trace, 0, 0, t, c->codec.values, e));
    CC_TRY_IN(cc_base_make(&c->base, info, cc_dtype_number(cc_trace_dtype(c->trace, t)),
                           c->codec.values, e),
              e, "%s", c->in);
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
    CC_TRY_OUT(cc_status_in(cc_types_add(c->trace, &pairs, &head.pair_count, e), e, "%s", c->in));
    if (c->base.trace != NULL)
        CC_TRY_OUT(
            cc_status_in(cc_base_add(&c->base, &pairs, &head.pair_count, e), e, "%s", c->in));
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
    cc_sender_set(&c->sender, &c->ctx);
    return CC_OK;
}

/* Opens the base, if one is given. */
static int open_base(struct encoder *c, struct cc_error *e)
{
    const size_t tensors = cc_trace_tensors(c->trace);
    const struct cc_tensor_info **info = NULL;
    if (c->options.base == NULL)
        return CC_OK;
    if (c->options.payload)
        return cc_usage(e, "--base and --payload: a bare payload does not say that it has a base");
    if (c->spec->scheme->flags & CC_LOSSY)
        return cc_usage(e,
                        "--base is for schemes that lose nothing, such as exponent and zstd; %s "
                        "does",
                        c->spec->name);
    CC_TRY(CC_NEW(info, tensors, e));
    for (size_t i = 0; i < tensors; i++)
        info[i] = cc_trace_tensor(c->trace, i);
    const int status = cc_base_open(c->options.base, info, tensors, &c->base, e);
    free(info);
    return status;
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

/* The answer: "x.npy -> x.cc: 3lc, 44 kB for 1.4 MB, 31 times smaller" than the file; than its
 * values as float32 if it is the standard input. Without --per-tensor, tables show the row with
 * --wide. */
static int note_answer(struct encoder *c, struct cc_error *e)
{
    struct cc_record *r = &c->args->record;
    struct stat in;
    const bool known = stat(c->in, &in) == 0;
    const double bytes = (double)c->output_bytes;
    const double raw = known ? (double)in.st_size : 4 * (double)cc_trace_values(c->trace);
    char before[24], after[24];
    cc_print_si(raw, "B", before, sizeof before);
    cc_print_si(bytes, "B", after, sizeof after);
    if (!c->options.per_tensor && c->args->output.columns == NULL)
        r->rows[0].detail = c->args->output.format == CC_FORMAT_TABLE;
    return cc_record_note_at(r, CC_NOTE_FIRST, e, "%s -> %s: %s, %s for %s%s, %.3g times %s", c->in,
                             c->out, c->spec->name, after, before, known ? "" : " of float32",
                             raw > bytes ? raw / bytes : bytes / raw,
                             raw > bytes ? "smaller" : "larger");
}

static int run_encode(struct cc_args *args, struct cc_error *e)
{
    struct encoder c = {.args = args, .in = args->operand[0], .out = args->operand[1]};
    int status = CC_OK;
    CC_TRY_OUT(cc_options_read(args, encode_rows, &c.options, e));
    CC_TRY_OUT(cc_options_read(args, cc_sender_rows, &c.sender, e));
    CC_TRY_OUT(cc_one_scheme(args, &c.spec, e));
    if (!c.options.force && access(c.out, F_OK) == 0 && !cc_file_is_stream(c.out))
        CC_TRY_OUT(cc_fail(e, "%s: is there already; --force replaces it", c.out));
    CC_TRY_OUT(open_input(&c, e));
    CC_TRY_OUT(open_base(&c, e));
    cc_progress_begin(&c.progress, args->quiet);
    status = c.options.payload ? write_payload(&c, e) : write_container(&c, e);
    cc_progress_end(&c.progress);
    CC_TRY_OUT(status);
    if (!c.options.per_tensor)
        CC_TRY_OUT(add_encoded(&c, NULL, cc_trace_values(c.trace), c.payload_bytes, e));
    set_file_sizes(&c);
    CC_TRY_OUT(note_answer(&c, e));
out:
    cc_tensor_codec_free(&c.codec);
    cc_base_close(&c.base);
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
        "`commcomp decode` needs. Schemes that lose nothing keep F32, BF16, F16, F8_E4M3 and "
        "F8_E5M2 to the last bit, NaN and infinity included; others refuse these two. "
        "docs/container.md describes the file byte by byte. OUT appears "
        "when it is complete; one that is there already is replaced with --force only. - is the "
        "standard input or output.",
    .examples = "  commcomp encode --scheme 3lc --s 1.75 step7.safetensors step7.cc\n"
                "  commcomp encode --scheme int8 --payload x.npy x.int8   # the payload alone\n"
                "  commcomp encode --scheme exponent --base model.safetensors tuned.safetensors "
                "tuned.cc\n"
                "  cat x.npy | commcomp encode --scheme 3lc - - | commcomp decode - y.npy\n",
    .page = "docs/container.md",
    .options = encode_uses,
    .columns = encode_columns,
    .takes_schemes = CC_ONE_SCHEME,
    .run = run_encode,
};
