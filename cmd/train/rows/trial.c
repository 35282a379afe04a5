/* The verdicts of --trial: how much accuracy each scheme loses, and whether that is within the
 * limit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/train/rows/rows.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "models/trial.h"

/* --- of a variant --- */

struct found {
    struct cc_trial_mean lost, change;
    double loss_end;   /* NaN: a training has none */
    double ended_step; /* NaN: none was ended early */
    bool ended;        /* one was, or diverged */
};

/* Finds these of trainings that are all complete. */
static void find_whole(const struct cc_train *t, size_t variant, double *lost, const double **loss,
                       struct found *out)
{
    const size_t seeds = t->options.seeds, steps = t->options.length[0].steps;
    const size_t tail = cc_trial_tail(steps);
    double sum = 0, accuracy = 0;
    for (size_t k = 0; k < seeds; k++) {
        const struct cc_training_result *of = cc_train_training(t, variant, k, NULL);
        const struct cc_training_result *fp32 = cc_train_training(t, 0, k, NULL);
        accuracy += fp32->eval[fp32->evals - 1].accuracy / (double)seeds;
        lost[k] = fp32->eval[fp32->evals - 1].accuracy - of->eval[of->evals - 1].accuracy;
        loss[k] = of->loss;
        loss[seeds + k] = fp32->loss;
        sum += cc_trial_loss(of->loss, tail, steps);
    }
    out->loss_end = sum / (double)seeds;
    out->change = cc_trial_change(loss, loss + seeds, seeds, tail, steps);
    out->lost = cc_trial_lost(lost, seeds, accuracy, (double)t->data->test.count);
}

/* fp32 is the first variant. The first of the trainings that were ended early decides. */
static int find(const struct cc_train *t, size_t variant, struct found *out, struct cc_error *e)
{
    const struct cc_trial_mean unknown = {NAN, NAN, NAN};
    const size_t seeds = t->options.seeds;
    double *lost = NULL;
    const double **loss = NULL;
    size_t whole = 0;
    int status = CC_OK;
    *out = (struct found){unknown, unknown, NAN, NAN, false};
    for (size_t k = seeds; k-- > 0;) {
        const struct cc_training_result *of = cc_train_training(t, variant, k, NULL);
        const struct cc_training_result *fp32 = cc_train_training(t, 0, k, NULL);
        if (of->ended_step > 0) {
            const double *const own = of->loss, *const base = fp32->loss;
            out->ended_step = (double)of->ended_step;
            out->change = cc_trial_change(&own, &base, 1, of->ended_step / 2, of->ended_step);
        }
        out->ended = out->ended || of->diverged || of->ended_step > 0;
        whole += of->complete && fp32->complete;
    }
    if (out->ended || whole < seeds)
        return CC_OK;
    CC_TRY_OUT(CC_NEW(lost, seeds, e));
    CC_TRY_OUT(CC_NEW(loss, 2 * seeds, e));
    find_whole(t, variant, lost, loss, out);
    if (variant == 0)
        out->lost = (struct cc_trial_mean){0, 0, 0};
out:
    free(lost);
    free(loss);
    return status;
}

/* The scheme drops what it does not send, in the same way in every step. */
static bool is_biased(const struct cc_spec *s, double bits)
{
    return (s->scheme->flags & CC_LOSSY) != 0 && (s->scheme->flags & CC_UNBIASED) == 0 &&
           !cc_spec_has_feedback(s) && bits < CC_TRIAL_BIASED_BITS;
}

/* The most accuracy that the null arm may lose or gain by chance; 0 if it was not tried, infinite
 * if it was ended early. */
static int find_noise(const struct cc_train *t, double *noise, struct cc_error *e)
{
    struct found null;
    *noise = 0;
    for (size_t v = 0; v < t->args->schemes.count; v++)
        if (strcmp(cc_train_spec(t, v)->name, CC_TRAIN_NULL_ARM) == 0) {
            CC_TRY(find(t, v, &null, e));
            *noise =
                isnan(null.lost.mean) ? INFINITY : fmax(fabs(null.lost.low), fabs(null.lost.high));
        }
    return CC_OK;
}

/* Whether fp32 was trained with all seeds, and whether it has learned something. */
static bool is_complete(const struct cc_train *t)
{
    for (size_t k = 0; k < t->options.seeds; k++)
        if (!cc_train_training(t, 0, k, NULL)->complete)
            return false;
    return true;
}

static bool has_learned(const struct cc_train *t)
{
    for (size_t k = 0; k < t->options.seeds; k++)
        if (!cc_trial_learns(cc_train_training(t, 0, k, NULL)->loss, t->options.length[0].steps))
            return false;
    return true;
}

/* A scheme that certainly costs accuracy does so whatever the noise. */
static int rule(const struct cc_train *t, size_t variant, double bits, struct found *found,
                enum cc_trial_verdict *out, struct cc_error *e)
{
    double noise;
    CC_TRY(find_noise(t, &noise, e));
    CC_TRY(find(t, variant, found, e));
    const struct cc_trial_end end = {.lost = found->lost,
                                     .ended = found->ended,
                                     .biased = is_biased(cc_train_spec(t, variant), bits),
                                     .steps = t->options.length[0].steps};
    *out = cc_trial_rule(&end, t->options.max_loss);
    if (*out == CC_TRIAL_KEEPS && variant > 0 && (noise > t->options.max_loss || !has_learned(t)))
        *out = CC_TRIAL_OPEN;
    return CC_OK;
}

int cc_train_put_trial(const struct cc_train *t, size_t row, size_t variant, double bits,
                       struct cc_error *e)
{
    struct found found;
    enum cc_trial_verdict verdict;
    if (!t->options.trial || !is_complete(t))
        return CC_OK;
    CC_TRY(rule(t, variant, bits, &found, &verdict, e));
    const struct cc_number_column all[] = {{CC_KEY(loss_end), found.loss_end},
                                           {CC_KEY(loss_change), found.change.mean},
                                           {CC_KEY(loss_change_low), found.change.low},
                                           {CC_KEY(loss_change_high), found.change.high},
                                           {CC_KEY(lost), found.lost.mean},
                                           {CC_KEY(lost_low), found.lost.low},
                                           {CC_KEY(lost_high), found.lost.high},
                                           {CC_KEY(lost_limit), t->options.max_loss},
                                           {CC_KEY(ended_step), found.ended_step}};
    cc_record_numbers(t->record, row, all, sizeof all / sizeof all[0]);
    CC_TRY(cc_record_text(t->record, row, CC_KEY(trial_schedule),
                          cc_rate_names[t->options.schedule], e));
    return cc_record_text(t->record, row, CC_KEY(verdict), cc_trial_verdicts[verdict], e);
}

/* --- the answer, and notes --- */

static const char *text_at(const struct cc_train *t, size_t row, const struct cc_result_key *key)
{
    const char *text = cc_record_value(t->record, row, key)->text;
    return text != NULL ? text : "";
}

/* Whether a row is a scheme's, other than fp32's, with this verdict; over several links, of the
 * first. */
static bool has_verdict(const struct cc_train *t, size_t row, enum cc_trial_verdict verdict)
{
    const char *scheme = text_at(t, row, CC_KEY(scheme));
    if (strcmp(text_at(t, row, CC_KEY(verdict)), cc_trial_verdicts[verdict]) != 0 ||
        strcmp(scheme, CC_RAW_SCHEME) == 0)
        return false;
    for (size_t i = 0; i < row; i++)
        if (text_at(t, i, CC_KEY(verdict))[0] != '\0' &&
            strcmp(text_at(t, i, CC_KEY(scheme)), scheme) == 0)
            return false;
    return true;
}

/* The answer: how many schemes have each verdict, and which of those that keep the accuracy pushes
 * least. */
static void put_title(const struct cc_train *t)
{
    size_t count[3] = {0};
    const char *best = NULL;
    char least[256] = "";
    double bits = INFINITY;
    const double points = 100 * t->options.max_loss;
    const size_t steps = t->options.length[0].steps;
    for (size_t i = 0; i < t->record->row_count; i++)
        for (enum cc_trial_verdict v = CC_TRIAL_KEEPS; v <= CC_TRIAL_OPEN; v++)
            if (has_verdict(t, i, v)) {
                const double push = cc_record_value(t->record, i, CC_KEY(bits_push))->number;
                count[v]++;
                if (v == CC_TRIAL_KEEPS && push < bits) {
                    bits = push;
                    best = text_at(t, i, CC_KEY(scheme));
                }
            }
    const size_t tried = count[CC_TRIAL_KEEPS] + count[CC_TRIAL_COSTS] + count[CC_TRIAL_OPEN];
    if (best != NULL)
        (void)snprintf(least, sizeof least,
                       "; of those that keep it %.100s pushes least, %.3g bits a value", best,
                       bits);
    if (!is_complete(t))
        cc_record_title(t->record, "trial of %zu steps: %s", steps,
                        cc_interrupted()
                            ? "interrupted before fp32 was trained"
                            : "fp32 itself diverged, so that nothing is compared: give "
                              "a lower --rate");
    else
        cc_record_title(t->record,
                        "trial of %zu steps%s: %zu of %zu schemes keep fp32's accuracy to within "
                        "%.3g point%s, %zu cost more, %zu are open%s",
                        steps, cc_interrupted() ? ", interrupted" : "", count[CC_TRIAL_KEEPS],
                        tried, points, points == 1 ? "" : "s", count[CC_TRIAL_COSTS],
                        count[CC_TRIAL_OPEN], least);
}

int cc_train_note_trial(const struct cc_train *t, struct cc_error *e)
{
    const double limit = t->options.max_loss;
    double noise;
    if (!t->options.trial)
        return CC_OK;
    put_title(t);
    if (!is_complete(t))
        return CC_OK;
    CC_TRY(find_noise(t, &noise, e));
    if (!has_learned(t))
        CC_TRY(
            cc_record_warn(t->record, e,
                           "fp32 itself has hardly learned, so that no scheme is said to keep its "
                           "accuracy: give more --steps or another --rate"));
    else if (noise > limit)
        CC_TRY(
            cc_record_warn(t->record, e,
                           "noise: " CC_TRAIN_NULL_ARM
                           ", which changes next to nothing, may differ by %.2g points, more than "
                           "the limit of %.3g: no scheme is said to keep the accuracy; give more "
                           "--steps or --seeds, or another --rate",
                           100 * noise, 100 * limit));
    return cc_record_note(t->record, e,
                          "a trial proves no final accuracy, and shows no late instability "
                          "(docs/trial.md)");
}
