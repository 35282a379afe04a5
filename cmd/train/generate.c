/* `commcomp generate`: text that a trained language model goes on with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/command.h"
#include "core/memory.h"
#include "netsim/inprocess/checkpoint.h"
#include "train/data/data.h"
#include "train/generate.h"
#include "train/gpt.h"

struct generate_options {
    struct cc_given given;
    const char *prompt, *data;
    size_t bytes;
    double temperature;
    uint64_t seed;
};

#define MEMBER(m) CC_OPTION_AT(struct generate_options, m)
/* clang-format off */
static const struct cc_option rows[] = {
    {.name = "prompt", MEMBER(prompt), .value = "TEXT", .otherwise = "a line's end",
     .help = "text to go on with"},
    {.name = "bytes", MEMBER(bytes), .kind = CC_TAKES_COUNT, .min = 1, .max = 1 << 20, .value = "N", .def = "500",
     .help = "bytes to generate"},
    {.name = "data", MEMBER(data), .value = "TEXT", .otherwise = "bytes",
     .help = "the text of the training, if that has a vocabulary: text,vocab=256"},
    {.name = "temperature", MEMBER(temperature), .kind = CC_TAKES_REAL, .value = "X", .def = "0.8",
     .help = "1 draws bytes as the net expects them, less prefers likely ones; 0 always takes the likeliest"},
    {.name = "seed", MEMBER(seed), .kind = CC_TAKES_COUNT, .max = CC_MAX_SEED, .value = "N", .def = "1",
     .help = "seed of the draws"},
    {.name = NULL},
};
/* clang-format on */

static const struct cc_column columns[] = {{.key = NULL}};
static const struct cc_option_use uses[] = {{.rows = rows}, {.rows = NULL}};

/* The net that a checkpoint's settings name: the text behind "net " of its line, to be freed. */
static int net_of(const struct cc_checkpoint_file *f, char **out, struct cc_error *e)
{
    const char *settings = cc_checkpoint_text(f, "settings", e);
    if (settings == NULL)
        return CC_FAIL;
    const char *line = strstr(settings, "\nnet ");
    if (line == NULL)
        return cc_fail(e, "%s: its settings name no net", f->path);
    line += strlen("\nnet ");
    *out = strndup(line, strcspn(line, "\n"));
    if (*out == NULL)
        return cc_fail(e, "out of memory");
    return cc_gpt_is(*out) ? CC_OK
                           : cc_fail(e, "%s: %s is not a language model; train one with --net gpt",
                                     f->path, *out);
}

/* The workers' parameters, one tensor after the other in the file's order, to be freed. */
static int weights_of(const struct cc_checkpoint_file *f, float **out, size_t *values,
                      struct cc_error *e)
{
    static const char copy[] = "weights.";
    size_t all = 0, at = 0;
    for (size_t i = 0; i < f->contents.count; i++)
        if (strncmp(f->contents.tensors[i].name, copy, sizeof copy - 1) == 0)
            all += f->contents.tensors[i].shape.n;
    CC_TRY(cc_alloc_floats(all, out, e));
    for (size_t i = 0; i < f->contents.count; i++) {
        const struct cc_stored *t = &f->contents.tensors[i];
        if (strncmp(t->name, copy, sizeof copy - 1) != 0)
            continue;
        CC_TRY(cc_stored_read(&f->file, f->path, t->dtype, t->offset, t->shape.n, *out + at, e));
        at += t->shape.n;
    }
    *values = all;
    return CC_OK;
}

/* The vocabulary of the data, which the net's tokens are of: *out is to be freed, and NULL if
 * tokens are bytes. */
static int tokens_of(const char *data, struct cc_data **out, struct cc_error *e)
{
    enum { ANY_CONTEXT = 16 };
    if (data == NULL)
        return CC_OK;
    CC_TRY(cc_data_open_text(data, ANY_CONTEXT, out, e));
    return (*out)->pairs != NULL ? CC_OK
                                 : cc_usage(e,
                                            "--data %s has no vocabulary, so that tokens are "
                                            "bytes: leave it out",
                                            data);
}

/* Makes the prompt tokens, in place. */
static int encode_prompt(const struct cc_byte_pairs *p, uint8_t *prompt, size_t *n,
                         struct cc_error *e)
{
    for (size_t i = 0; i < *n; i++)
        for (size_t k = 0; k < p->count; k++)
            if (p->pair[k].token == prompt[i])
                return cc_usage(e, "--prompt: the text has no byte %d, as at %zu", prompt[i], i);
    *n = cc_byte_pairs_encode(p, prompt, *n);
    return CC_OK;
}

/* Writes the first `bytes` bytes of as many tokens. */
static void print_tokens(const struct cc_byte_pairs *p, const uint8_t *token, size_t bytes)
{
    uint8_t text[CC_TOKENS_MOST * CC_TOKENS_MOST];
    for (size_t left = bytes, n; left > 0; token++, left -= n) {
        n = cc_byte_pairs_decode(p, *token, text, sizeof text);
        n = n < sizeof text ? n : sizeof text;
        n = n < left ? n : left;
        (void)fwrite(text, 1, n, stdout);
    }
}

static int generate(const struct generate_options *o, const struct cc_checkpoint_file *f,
                    struct cc_error *e)
{
    const char *prompt = o->prompt != NULL && o->prompt[0] != '\0' ? o->prompt : "\n";
    struct cc_generate_config c = {.temperature = o->temperature, .seed = o->seed};
    struct cc_data *data = NULL;
    char *net = NULL, *tokens = NULL;
    size_t prompted = strlen(prompt);
    float *weights = NULL;
    uint8_t *text = NULL;
    int status = CC_OK;
    CC_TRY_OUT(tokens_of(o->data, &data, e));
    tokens = cc_strdup(prompt, e);
    CC_TRY_OUT(tokens != NULL ? CC_OK : CC_FAIL);
    if (data != NULL)
        CC_TRY_OUT(encode_prompt(data->pairs, (uint8_t *)tokens, &prompted, e));
    CC_TRY_OUT(net_of(f, &net, e));
    CC_TRY_OUT(weights_of(f, &weights, &c.values, e));
    c.net = net;
    c.weights = weights;
    CC_TRY_OUT(CC_NEW(text, o->bytes, e));
    status = cc_generate(&c, (const uint8_t *)tokens, prompted, text, o->bytes, e);
    if (status != CC_OK) {
        cc_error_in(e, "%s", f->path);
        goto out;
    }
    if (o->prompt != NULL)
        (void)fputs(o->prompt, stdout);
    if (data != NULL)
        print_tokens(data->pairs, text, o->bytes);
    else
        (void)fwrite(text, 1, o->bytes, stdout);
    (void)putchar('\n');
out:
    cc_data_free(data);
    free(tokens);
    free(net);
    free(weights);
    free(text);
    return status;
}

static int run_generate(struct cc_args *args, struct cc_error *e)
{
    struct generate_options o = {.prompt = NULL};
    struct cc_checkpoint_file f;
    CC_TRY(cc_options_read(args, rows, &o, e));
    if (!(o.temperature >= 0 && o.temperature <= 100))
        return cc_usage(e, "--temperature: from 0 to 100");
    CC_TRY(cc_checkpoint_open(args->operand[0], &f, e));
    const int status = generate(&o, &f, e);
    cc_checkpoint_close(&f);
    return status;
}

const struct cc_command cc_command_generate = {
    .name = "generate",
    .summary = "text from a trained language model",
    .operands = "FILE",
    .min_operands = 1,
    .max_operands = 1,
    .description = "Prints text that a language model goes on with, byte by byte, so that one sees "
                   "what it has learnt. FILE is a checkpoint that `commcomp train --net gpt "
                   "--checkpoint DIR` has written; the parameters are the workers'.",
    .examples = "  commcomp train --recipe gpt --scheme int8 --checkpoint here\n"
                "  commcomp generate here/int8-seed1.safetensors --prompt 'And Jesus said'\n",
    .page = "docs/train.md",
    .options = uses,
    .columns = columns,
    .own_output = true,
    .run = run_generate,
};
