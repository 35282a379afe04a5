/* The lengths of trainings: --steps, the evaluations during them, and the rate over their steps. */
#include <stdlib.h>
#include <string.h>

#include "cmd/train/train.h"
#include "core/memory.h"
#include "core/units.h"

enum { MOST = 32, LONGEST = 1 << 30, QUARTERS = 4 };

static int by_steps(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* "100,200" */
static int parse_list(const char *text, size_t *out, size_t *count, struct cc_error *e)
{
    char *words = cc_strdup(text, e), *rest = words, *word;
    int status = words != NULL ? CC_OK : CC_FAIL;
    while (status == CC_OK && (word = strsep(&rest, ",")) != NULL) {
        uint64_t steps;
        if (cc_parse_count(word, &steps, e) != CC_OK || steps < 1 || steps > LONGEST)
            status = cc_usage(e, "--steps %s: numbers from 1 to %d, as in 100,200", text, LONGEST);
        else if (*count == MOST)
            status = cc_usage(e, "--steps %s: at most %d of them", text, MOST);
        else
            out[(*count)++] = (size_t)steps;
    }
    free(words);
    qsort(out, *count, sizeof *out, by_steps);
    for (size_t i = 1; i < *count && status == CC_OK; i++)
        if (out[i] == out[i - 1])
            status = cc_usage(e, "--steps %s: %zu is there twice", text, out[i]);
    return status;
}

/* The lengths in steps: of --steps, of which a figure may have the quarters. */
static int parse_steps(const struct cc_args *args, const struct cc_train_figure *figure,
                       size_t out[MOST], size_t *count, struct cc_error *e)
{
    const char *text = cc_arg(args, "steps");
    *count = 0;
    CC_TRY(parse_list(text != NULL ? text : "400", out, count, e));
    if (figure == NULL || !figure->quarters || *count > 1)
        return CC_OK;
    const size_t all = out[0];
    if (all < QUARTERS)
        return cc_usage(e, "--steps %zu: --paper %s trains with quarters of them; give more", all,
                        figure->name);
    for (size_t i = 0; i < QUARTERS; i++)
        out[i] = all * (i + 1) / QUARTERS;
    *count = QUARTERS;
    return CC_OK;
}

static int parse_length(const struct cc_args *args, size_t steps, uint64_t every,
                        struct cc_train_length *out, struct cc_error *e)
{
    int kind = CC_RATE_COSINE;
    out->steps = steps;
    out->schedule = (struct cc_rate_schedule){.factor = 0.1,
                                              .steps = steps,
                                              .warmup = steps / 10,
                                              .drops = {steps / 2, steps * 3 / 4},
                                              .drop_count = 2};
    cc_arg_choice(args, "schedule", &kind);
    out->schedule.kind = (enum cc_rate_kind)kind;
    CC_TRY(cc_arg_count(args, "eval-every", 1, UINT32_MAX, &every, e));
    out->eval_every = (size_t)every;
    return cc_arg_count(args, "warmup", 0, steps, &out->schedule.warmup, e);
}

int cc_train_parse_lengths(const struct cc_args *args, struct cc_train_options *o,
                           struct cc_error *e)
{
    const struct cc_train_figure *figure = o->figure;
    size_t steps[MOST];
    CC_TRY(parse_steps(args, figure, steps, &o->lengths, e));
    o->length = cc_alloc0(o->lengths * sizeof *o->length, e);
    if (o->length == NULL)
        return CC_FAIL;
    if (o->lengths > 1 && cc_arg(args, "eval-every") != NULL)
        return cc_usage(e,
                        "--eval-every: trainings of several --steps are evaluated at their ends");
    /* Without an option: so often, or of several lengths and of figures at the end alone. */
    size_t evaluations = o->lengths > 1 ? 1 : 4;
    if (figure != NULL)
        evaluations = figure->points > 0        ? figure->points
                      : figure->evaluations > 0 ? figure->evaluations
                                                : 1;
    for (size_t i = 0; i < o->lengths; i++)
        CC_TRY(parse_length(args, steps[i], (steps[i] + evaluations - 1) / evaluations,
                            &o->length[i], e));
    return CC_OK;
}
