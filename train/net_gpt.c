#include "train/gpt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/build.h"

#define FAMILY "gpt"
/* Initial values: the embedding's standard deviation, and the variances of products' outputs over
 * their inputs'. In 600 steps of the recipe gpt, larger embeddings learn slower, and smaller or
 * larger queries and keys and smaller perceptrons, too: 2.12 bits a byte with these, 2.30 with
 * GPT-2's deviation of 0.02 for all. */
#define EMBEDDED      0.1
#define QUERIES       0.2
#define PERCEPTRON    1.0
#define GATED_WIDTH   8 / 3
#define GELU_WIDTH    4
#define GATED_GRAIN   ((size_t)8)
#define MOST_LAYERS   64
#define MOST_WIDTH    4096
#define MOST_HEADS    64
#define MOST_CONTEXT  1024
#define CONTEXT_GRAIN 16
#define HEAD_GRAIN    8

bool cc_gpt_is(const char *net)
{
    const size_t length = strlen(FAMILY);
    return strncmp(net, FAMILY, length) == 0 && (net[length] == '\0' || net[length] == ':');
}

static int unknown(const char *net, struct cc_error *e)
{
    return cc_usage(e,
                    "%s: expected keys of a language model, as in "
                    "gpt:layers=2,width=64,heads=2,context=64,positions=rotary,mlp=gelu; "
                    "positions also learned, mlp also swiglu",
                    net);
}

/* One "key=value" of `length` characters; false if there is no such. */
static bool set(struct cc_gpt *g, const char *word, size_t length)
{
    const struct {
        const char *key;
        size_t *at, most;
    } counts[] = {{"layers=", &g->layers, MOST_LAYERS},
                  {"width=", &g->width, MOST_WIDTH},
                  {"heads=", &g->heads, MOST_HEADS},
                  {"context=", &g->context, MOST_CONTEXT}};
    const struct {
        const char *word;
        bool *at, to;
    } words[] = {{"positions=learned", &g->rotary, false},
                 {"positions=rotary", &g->rotary, true},
                 {"mlp=gelu", &g->swiglu, false},
                 {"mlp=swiglu", &g->swiglu, true}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == length && strncmp(word, words[i].word, length) == 0) {
            *words[i].at = words[i].to;
            return true;
        }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const size_t key = strlen(counts[i].key);
        char *end;
        if (length <= key || strncmp(word, counts[i].key, key) != 0 || word[key] < '1' ||
            word[key] > '9')
            continue;
        const unsigned long n = strtoul(word + key, &end, 10);
        *counts[i].at = n;
        return end == word + length && n <= counts[i].most;
    }
    return false;
}

int cc_gpt_parse(const char *net, struct cc_gpt *out, struct cc_error *e)
{
    struct cc_gpt g = {.layers = 2, .width = 64, .heads = 2, .context = 64, .rotary = true};
    const char *at = net + strlen(FAMILY);
    while (*at != '\0') {
        const size_t length = strcspn(at + 1, ",");
        if (!set(&g, at + 1, length))
            return unknown(net, e);
        at += 1 + length;
    }
    if (g.width % (HEAD_GRAIN * g.heads) != 0)
        return cc_usage(e, "%s: a width of %zu with %zu heads: it is a multiple of %d x heads", net,
                        g.width, g.heads, HEAD_GRAIN);
    if (g.context % CONTEXT_GRAIN != 0)
        return cc_usage(e, "%s: a context of %zu bytes: it is a multiple of %d", net, g.context,
                        CONTEXT_GRAIN);
    *out = g;
    return CC_OK;
}

static const char *name_of(char out[48], size_t block, const char *part)
{
    (void)snprintf(out, 48, "blocks.%zu.%s", block, part);
    return out;
}

/* x + the attention of normalized x; then x + the multilayer perceptron of normalized x. The last
 * product of each part begins smaller, as the sum of all parts is what the output sees. */
static struct cc_act *block(struct cc_build *b, const struct cc_gpt *g, size_t i, struct cc_act *x)
{
    const double part = 1 / (2 * (double)g->layers);
    char name[48];
    struct cc_act *y = cc_layer_scale_norm(b, name_of(name, i, "norm1"), x);
    y = cc_layer_product(b, name_of(name, i, "attn.in"), y, 3 * g->width, QUERIES);
    if (g->rotary)
        y = cc_layer_rotate(b, y, g->heads, g->context);
    y = cc_layer_causal(b, y, g->heads, g->context);
    x = cc_layer_sum(b, cc_layer_product(b, name_of(name, i, "attn.out"), y, g->width, part), x);
    y = cc_layer_scale_norm(b, name_of(name, i, "norm2"), x);
    if (g->swiglu) {
        const size_t inner = (g->width * GATED_WIDTH + GATED_GRAIN - 1) / GATED_GRAIN * GATED_GRAIN;
        y = cc_layer_swiglu(
            b, cc_layer_product(b, name_of(name, i, "mlp.in"), y, 2 * inner, PERCEPTRON));
    } else {
        y = cc_layer_gelu(b, cc_layer_product(b, name_of(name, i, "mlp.in"), y,
                                              GELU_WIDTH * g->width, PERCEPTRON));
    }
    return cc_layer_sum(b, cc_layer_product(b, name_of(name, i, "mlp.out"), y, g->width, part), x);
}

void cc_family_gpt(struct cc_build *b, const char *rest)
{
    const struct cc_model_config *c = &b->model->config;
    struct cc_gpt g;
    (void)rest;
    b->status = cc_gpt_parse(c->net, &g, b->e);
    if (b->status != CC_OK)
        return;
    if (c->channels != 1 || c->height != 1 || c->width != g.context ||
        c->classes != CC_GPT_TOKENS) {
        b->status = cc_usage(b->e, "%s is trained on text: --data text, or text:FILE", c->net);
        return;
    }
    struct cc_act *x = cc_layer_embed(b, cc_layer_input_tokens(b), g.width,
                                      g.rotary ? 0 : g.context, sqrt(3) * EMBEDDED);
    for (size_t i = 0; i < g.layers; i++)
        x = block(b, &g, i, x);
    cc_layer_token_loss(b, cc_layer_tied(b, cc_layer_scale_norm(b, "norm", x), CC_GPT_TOKENS));
}
