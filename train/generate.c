/* Bytes are drawn one by one, and each takes a forward pass over all of the context before it. */
#include "train/generate.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"
#include "train/gpt.h"
#include "train/math.h"
#include "train/model.h"

#define STREAM_GENERATE UINT64_C(0x67656e65)

/* The byte whose share of softmax(output / temperature) the number `unit` in [0, 1) falls in. */
static uint8_t draw(const float *output, double temperature, double unit)
{
    size_t best = 0, c = 0;
    double share[CC_GPT_TOKENS], sum = 0;
    for (size_t i = 1; i < CC_GPT_TOKENS; i++)
        best = output[i] > output[best] ? i : best;
    if (temperature <= 0)
        return (uint8_t)best;
    for (size_t i = 0; i < CC_GPT_TOKENS; i++) {
        share[i] = cc_train_exp(((double)output[i] - (double)output[best]) / temperature);
        sum += share[i];
    }
    for (double left = unit * sum; c + 1 < CC_GPT_TOKENS && left >= share[c]; c++)
        left -= share[c];
    return (uint8_t)c;
}

/* Tokens behind the last one, of a text shorter than the context, change nothing before them. */
static void generate(struct cc_model *m, const struct cc_generate_config *config, size_t context,
                     const uint8_t *prompt, size_t prompted, float *token, int32_t *label,
                     uint8_t *out, size_t count)
{
    const struct cc_random_id id = {.seed = config->seed, .rank = -1, .stream = STREAM_GENERATE};
    float output[CC_GPT_TOKENS];
    for (size_t k = 0; k < count; k++) {
        const size_t all = prompted + k, seen = all < context ? all : context;
        for (size_t i = 0; i < seen; i++) {
            const size_t at = all - seen + i;
            token[i] = (float)(at < prompted ? prompt[at] : out[at - prompted]);
        }
        (void)cc_model_evaluate(m, config->weights, NULL, token, label, 1);
        cc_model_output(m, seen - 1, output);
        out[k] = draw(output, config->temperature,
                      (double)cc_unit(cc_random(cc_key(&id, k), (uint32_t)k)));
    }
}

int cc_generate(const struct cc_generate_config *config, const uint8_t *prompt, size_t prompted,
                uint8_t *out, size_t count, struct cc_error *e)
{
    struct cc_model *m = NULL;
    float *token = NULL;
    int32_t *label = NULL;
    size_t context;
    int status = CC_OK;
    CC_TRY(cc_model_open_language(config->net, &m, &context, e));
    if (cc_model_layout(m)->values != config->values)
        CC_TRY_OUT(cc_fail(e, "%zu parameters, and %s has %zu", config->values, config->net,
                           cc_model_layout(m)->values));
    CC_TRY_OUT(CC_NEW(token, context, e));
    CC_TRY_OUT(CC_NEW(label, context, e));
    generate(m, config, context, prompt, prompted, token, label, out, count);
out:
    cc_model_close(m);
    free(token);
    free(label);
    return status;
}
