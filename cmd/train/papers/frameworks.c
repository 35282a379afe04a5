/* --paper pipe-sgd-*: Pipe-SGD's comparison of three frameworks (Li et al., NeurIPS 2018, section 4
 * and Figure 4). Each framework is a training of its own, with its exchange and its steps; their
 * rows are in one record. The recipe has the frameworks, and the accuracies that stand on the bars
 * of Figure 4; its times are drawn, so speedups are compared with the ranges of the text. */
#include <stdio.h>
#include <string.h>

#include "cmd/train/papers/papers.h"
#include "cmd/train/places/places.h"
#include "cmd/train/rows/rows.h"
#include "cmd/train/times/times.h"
#include "core/interrupt.h"
#include "core/units.h"
#include "models/paper/paper.h"

enum { FRAMEWORKS = CC_TRAIN_FRAMEWORKS };

/* A text of a framework of the recipe. */
static const char *text_of(const struct cc_args *args, size_t which, const char *key)
{
    return cc_recipe_text(cJSON_GetArrayItem(args->recipe->frameworks, (int)which), key);
}

/* --- options --- */

/* Sets the framework's options. The server has fp32 alone, as in the paper; the pipelines of deep
 * nets begin synchronously. */
static int set_framework(struct cc_args *args, size_t which, char *sync_steps, size_t capacity,
                         struct cc_error *e)
{
    static const char *const of_pipe[] = {"depth", "sync-steps"};
    const cJSON *pipe = cJSON_GetArrayItem(args->recipe->frameworks, CC_PIPE_SGD);
    const cJSON *share = cJSON_GetObjectItemCaseSensitive(pipe, "sync_share");
    cc_arg_set(args, "exchange", text_of(args, which, "exchange"));
    cc_arg_set(args, "mode", text_of(args, which, "mode"));
    for (size_t i = 0; which != CC_PIPE_SGD && i < sizeof of_pipe / sizeof *of_pipe; i++)
        cc_arg_set(args, of_pipe[i], NULL);
    struct cc_train_step_counts given = {.count = 0};
    if (cc_arg(args, "steps") != NULL)
        CC_TRY(cc_train_parse_steps(cc_arg(args, "steps"), &given, e));
    (void)snprintf(sync_steps, capacity, "%.0f",
                   cJSON_IsNumber(share) ? share->valuedouble * (double)given.item[0] : 0);
    if (which == CC_PIPE_SGD && cc_arg(args, "sync-steps") == NULL)
        cc_arg_set(args, "sync-steps", sync_steps);
    return cc_spec_list_parse(text_of(args, which, "scheme"), &args->schemes, e);
}

/* --- all of them --- */

int cc_train_frameworks(struct cc_args *args, struct cc_error *e)
{
    struct cc_train t[FRAMEWORKS] = {0};
    struct cc_args own[FRAMEWORKS];
    char sync_steps[FRAMEWORKS][32];
    int status = CC_OK;
    const char *steps = cc_arg(args, "steps");
    const char *name = args->recipe->recipe->name, *slash = strrchr(name, '/');
    if (steps != NULL && strchr(steps, ',') != NULL)
        return cc_usage(e, "--steps %s: --paper %s trains with one number of steps", steps,
                        slash != NULL ? slash + 1 : name);
    for (size_t i = 0; i < FRAMEWORKS; i++) {
        own[i] = *args;
        own[i].schemes = (struct cc_spec_list){.count = 0};
        t[i] = (struct cc_train){.args = &own[i],
                                 .record = &args->record,
                                 .frameworks = t,
                                 .framework = i,
                                 .framework_name = text_of(args, i, "name")};
    }
    for (size_t i = 0; i < FRAMEWORKS; i++) {
        CC_TRY_OUT(set_framework(&own[i], i, sync_steps[i], sizeof sync_steps[i], e));
        CC_TRY_OUT(cc_train_open(&t[i], e));
    }
    for (size_t i = 0; i < FRAMEWORKS; i++)
        CC_TRY_OUT(cc_train_all(&t[i], e));
    for (size_t i = 0; i < FRAMEWORKS; i++) {
        CC_TRY_OUT(cc_train_rows(&t[i], e));
        CC_TRY_OUT(cc_train_notes(&t[i], e));
    }
    for (size_t i = 0; i < FRAMEWORKS; i++)
        CC_TRY_OUT(cc_train_failure(&t[i], e));
out:
    args->record.partial = cc_interrupted();
    for (size_t i = 0; i < FRAMEWORKS; i++) {
        cc_train_close(&t[i]);
        cc_spec_list_free(&own[i].schemes);
    }
    return status;
}
