/* The notes of `commcomp train`: what its rows rest on. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/train/papers/papers.h"
#include "cmd/train/places/places.h"
#include "cmd/train/plan/plan.h"
#include "cmd/train/rows/rows.h"
#include "cmd/train/times/times.h"
#include "core/interrupt.h"
#include "core/memory_text.h"
#include "core/units.h"
#include "core/version.h"
#include "results/machine_info.h"
#include "train/data/ngram.h"
#include "train/linear/linear.h"

/* A number of a row, NaN if it has none. */
static double number_of(const struct cc_record *r, size_t row, const struct cc_result_key *key)
{
    const struct cc_value *v = cc_record_value(r, row, key);
    return v->kind == CC_NUMBER ? v->number : (double)NAN;
}

/* Whether a row sums up a training that ended. */
static bool is_summary(const struct cc_record *r, size_t row)
{
    const struct cc_value *kind = cc_record_value(r, row, CC_KEY(kind));
    return kind->kind == CC_TEXT && strcmp(kind->text, "summary") == 0 &&
           !isnan(number_of(r, row, CC_KEY(loss)));
}

static void print_end(const struct cc_record *r, size_t row, FILE *f)
{
    const double accuracy = number_of(r, row, CC_KEY(accuracy));
    const double difference = number_of(r, row, CC_KEY(difference));
    const double bits = number_of(r, row, CC_KEY(bits_push));
    (void)fprintf(f, "%s ", cc_record_value(r, row, CC_KEY(scheme))->text);
    if (isnan(accuracy))
        (void)fprintf(f, "a loss of %.4g", number_of(r, row, CC_KEY(loss)));
    else
        (void)fprintf(f, "%.2f%%", 100 * accuracy);
    if (!isnan(difference) && !isnan(accuracy) && difference != 0)
        (void)fprintf(f, " (%+.2f points, %.3g bits a value pushed)", 100 * difference, bits);
    else if (bits < 32)
        (void)fprintf(f, " (%.3g bits a value pushed)", bits);
}

static const char *scheme_of(const struct cc_record *r, size_t row)
{
    return cc_record_value(r, row, CC_KEY(scheme))->text;
}

/* The answer's trainings are those of the first scheme's length and rate: its longest training, and
 * of these the one with the least loss. SIZE_MAX: none ended. */
static size_t find_first(const struct cc_record *r)
{
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < r->row_count; i++) {
        if (!is_summary(r, i))
            continue;
        if (first == SIZE_MAX) {
            first = i;
            continue;
        }
        const double longer = number_of(r, i, CC_KEY(step)) - number_of(r, first, CC_KEY(step));
        if (strcmp(scheme_of(r, i), scheme_of(r, first)) == 0 &&
            (longer > 0 ||
             (longer == 0 && number_of(r, i, CC_KEY(loss)) < number_of(r, first, CC_KEY(loss)))))
            first = i;
    }
    return first;
}

static bool is_alike(const struct cc_record *r, size_t row, size_t first)
{
    return is_summary(r, row) &&
           number_of(r, row, CC_KEY(step)) == number_of(r, first, CC_KEY(step)) &&
           number_of(r, row, CC_KEY(rate)) == number_of(r, first, CC_KEY(rate));
}

/* Whether a row is of the answer's trainings, and the first one of its scheme: several links have
 * the same ends. */
static bool is_answer(const struct cc_record *r, size_t row, size_t first)
{
    if (!is_alike(r, row, first))
        return false;
    for (size_t i = 0; i < row; i++)
        if (is_alike(r, i, first) && strcmp(scheme_of(r, i), scheme_of(r, row)) == 0)
            return false;
    return true;
}

/* The answer: where the first scheme ends, and those that push least. */
static int note_ends(const struct cc_train *t, struct cc_error *e)
{
    enum { MOST = 4 };
    const struct cc_record *r = t->record;
    struct cc_memory_text text;
    const size_t first = find_first(r);
    char rate[48] = "";
    if (first == SIZE_MAX || cc_interrupted() || t->options.trial)
        return CC_OK;
    if (t->options.rates.count > 1)
        (void)snprintf(rate, sizeof rate, " at rate %g", number_of(r, first, CC_KEY(rate)));
    CC_TRY(cc_memory_text_begin(&text, "the answer", e));
    print_end(r, first, text.f);
    double above = -1;
    for (size_t shown = 1, last = 0; shown < MOST; shown++) {
        size_t least = SIZE_MAX;
        for (size_t i = 0; i < r->row_count; i++) {
            const double bits = number_of(r, i, CC_KEY(bits_push));
            if (strcmp(scheme_of(r, i), scheme_of(r, first)) != 0 && is_answer(r, i, first) &&
                (bits > above || (bits == above && i > last)) &&
                (least == SIZE_MAX || bits < number_of(r, least, CC_KEY(bits_push))))
                least = i;
        }
        if (least == SIZE_MAX)
            break;
        above = number_of(r, least, CC_KEY(bits_push));
        last = least;
        (void)fputs(", ", text.f);
        print_end(r, least, text.f);
    }
    CC_TRY(cc_memory_text_end(&text, CC_OK, e));
    const int status = cc_record_note_at(t->record, CC_NOTE_ANSWER, e, "after %.0f steps%s: %s",
                                         number_of(r, first, CC_KEY(step)), rate, text.text);
    free(text.text);
    return status;
}

/* The figures that a language model's bits a byte are to be held against. */
static int note_text(const struct cc_train *t, struct cc_error *e)
{
    const struct cc_data *d = t->data;
    const char *what = d->pairs != NULL ? "tokens" : "bytes";
    double bits[CC_NGRAM_MOST];
    char text[16 * CC_NGRAM_MOST] = "";
    CC_TRY(cc_record_note(t->record, e,
                          "%s: %zu %s to train and %zu to test with; a sample has %zu, and an "
                          "epoch is %zu steps",
                          d->name, d->train.bytes, what, d->test.bytes, d->context, t->epoch));
    if (d->pairs != NULL)
        CC_TRY(cc_record_note(t->record, e,
                              "%zu tokens are pairs; a token of the test text stands for %.2f "
                              "bytes, and the loss is nats a token",
                              d->pairs->count, 1 / cc_data_tokens_a_byte(d)));
    CC_TRY(cc_ngram_bits(d, bits, e));
    for (size_t n = 0, used = 0; n < CC_NGRAM_MOST; n++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.2f", n > 0 ? ", " : "",
                                 bits[n] * cc_data_tokens_a_byte(d));
    return cc_record_note(t->record, e,
                          "n-grams of 1 to %d %s, counted in the training text, need %s bits a "
                          "byte on the test text",
                          CC_NGRAM_MOST, what, text);
}

static int note_data(const struct cc_train *t, struct cc_error *e)
{
    const struct cc_data *d = t->data;
    if (d->context > 0)
        return note_text(t, e);
    const struct cc_task_config *c = &t->options.training.task;
    char input[96];
    if (cc_linear_is(c->net))
        (void)snprintf(input, sizeof input, "of %zu feature%s", d->channels,
                       d->channels == 1 ? "" : "s");
    else
        (void)snprintf(input, sizeof input, "%zux%zux%zu at the net's input", d->channels,
                       c->height, c->width);
    return cc_record_note(
        t->record, e, "%s: %zu samples to train and %zu to test with, %s; an epoch is %zu steps",
        d->name, d->train.count, d->test.count, input, t->epoch);
}

/* The time of ranks. */
static int note_ranks(const struct cc_train *t, struct cc_error *e)
{
    const struct cc_train_options *o = &t->options;
    const bool run = o->on == CC_TRAIN_RUN;
    char compute[64] = "";
    if (!isnan(o->compute_s)) {
        char seconds[32];
        cc_print_si(o->compute_s, "s", seconds, sizeof seconds);
        (void)snprintf(compute, sizeof compute, " and --compute %s", seconds);
    }
    return cc_record_note(t->record, e, "time: %s, with codec%s times %s%s",
                          run ? "as measured by the ranks" : "on the simulated clock",
                          compute[0] != '\0' ? "" : " and compute",
                          run                  ? "of the ranks"
                          : t->timed.count > 0 ? "of the codecs' profile"
                                               : "as measured in the simulation",
                          compute);
}

/* Ranks of one machine with fewer cores than are busy at once. */
static int note_oversubscription(const struct cc_train *t, struct cc_error *e)
{
    const struct cc_train_options *o = &t->options;
    const struct cc_training_config *c = &o->training;
    const int workers = (int)c->task.workers;
    const int servers = cc_exchange_has(c->exchange, CC_X_SERVERS) ? c->servers : 0;
    const int busy = c->mode != CC_SEQUENTIAL ? workers + servers
                     : workers > servers      ? workers
                                              : servers;
    struct cc_machine_info host;
    cc_machine_info_read(&host);
    if (o->on != CC_TRAIN_RUN || !(o->hosts.lab || o->hosts.cluster.here) || busy <= host.cores)
        return CC_OK;
    return cc_record_note(t->record, e,
                          "oversubscribed: %d busy ranks share %d cores; codec%s times include "
                          "waiting for a core, and would be shorter on separate hosts%s",
                          busy, host.cores, isnan(o->compute_s) ? " and compute" : "",
                          isnan(o->compute_s) ? " (--compute gives computing a time)" : "");
}

static int note_time(const struct cc_train *t, struct cc_error *e)
{
    char compute[32];
    if (t->options.on != CC_TRAIN_LOCAL)
        return note_ranks(t, e);
    if (t->options.links == 0)
        return cc_record_note(t->record, e,
                              "time: that of this process, which plays all workers in turn; --bw "
                              "gives times over a network");
    cc_print_si(t->options.compute_s, "s", compute, sizeof compute);
    if (!isnan(t->options.compute_s))
        return cc_record_note(t->record, e,
                              "time: by the formulas of `model`, from the sizes and codec times of "
                              "this training and --compute %s",
                              compute);
    return cc_record_note(t->record, e,
                          "time: by the formulas of `model`, from the sizes, codec and compute "
                          "times of this training on %d thread%s of this machine",
                          cc_train_threads(t), cc_train_threads(t) > 1 ? "s" : "");
}

/* Says if another net has the trained one's name in the other commands, as ImageNet's resnet50. */
static int note_net(const struct cc_train *t, struct cc_error *e)
{
    struct cc_net *listed;
    for (size_t i = 0; cc_net_names[i] != NULL; i++) {
        if (strcmp(cc_net_names[i], t->net->name) != 0)
            continue;
        CC_TRY(cc_net_open(t->net->name, &listed, e));
        const size_t values = listed->values;
        cc_net_free(listed);
        if (fabs((double)values / (double)t->net->values - 1) > 0.1)
            CC_TRY(
                cc_record_note(t->record, e,
                               "net: %s is here the residual net of that depth for small images, "
                               "of %zu values; `nets`, `model` and `advise` know another one of "
                               "that name, of %zu values",
                               t->net->name, t->net->values, values));
    }
    return CC_OK;
}

enum { STEPS_CAP = 32 };
/* "Pipe-SGD, " where there are several frameworks, otherwise nothing. */
static const char *framework_of(const struct cc_train *t, char text[STEPS_CAP])
{
    const char *name = t->framework_name;
    text[0] = '\0';
    if (name != NULL)
        (void)snprintf(text, STEPS_CAP, "%s, ", name);
    return text;
}

/* ", 400 steps" where there are several lengths, otherwise nothing. */
static const char *steps_of(const struct cc_train *t, size_t variant, char text[STEPS_CAP])
{
    text[0] = '\0';
    if (t->options.lengths > 1)
        (void)snprintf(text, STEPS_CAP, ", %zu steps", cc_train_length(t, variant)->steps);
    return text;
}

static int note_divergence(const struct cc_train *t, struct cc_error *e)
{
    for (size_t i = 0; i < cc_train_variants(t) * t->options.seeds; i++) {
        const struct cc_training_result *of = &t->training[i];
        const size_t variant = i / t->options.seeds;
        char steps[STEPS_CAP], framework[STEPS_CAP];
        if (of->diverged)
            CC_TRY(cc_record_warn(t->record, e,
                                  "%s%s, rate %g%s, seed %llu: diverged in step %zu: %s (a lower "
                                  "--rate may help)",
                                  framework_of(t, framework), cc_train_spec(t, variant)->name,
                                  cc_train_rate(t, variant), steps_of(t, variant, steps),
                                  (unsigned long long)(t->options.seed + i % t->options.seeds),
                                  of->diverged_step, of->reason));
    }
    return CC_OK;
}

static int note_momentum(const struct cc_train *t, struct cc_error *e)
{
    for (size_t i = 0; i < t->args->schemes.count; i++) {
        const struct cc_spec *spec = t->args->schemes.item[i];
        const double own = cc_own_momentum(spec->scheme, spec->params);
        if (own > 0)
            CC_TRY(cc_record_note(
                t->record, e, "%s applies momentum %g itself: the %soptimizer has none%s",
                spec->name, own, t->options.training.local.steps > 0 ? "outer " : "",
                cc_exchange_has(t->options.training.exchange, CC_X_SERVERS) &&
                        cc_train_pull(t, spec) == t->raw
                    ? ", and the server sends fp32"
                    : ""));
    }
    return CC_OK;
}

/* The link by which ssar-auto chooses, which the weights depend on. */
static int note_choices(const struct cc_train *t, struct cc_error *e)
{
    struct cc_link link;
    char rate[32], latency[32];
    if (!cc_exchange_has(t->options.training.exchange, CC_X_CHOOSES))
        return CC_OK;
    const struct cc_link_options *links = &t->options.cluster.network;
    CC_TRY(cc_train_link_of_choices(t, &link, e));
    cc_print_rate(link.bw_bps, rate, sizeof rate);
    cc_print_si(link.latency_s, "s", latency, sizeof latency);
    return cc_record_note(t->record, e,
                          "ssar-auto: chose by the formulas of a link of %s and %s, %s; other "
                          "choices give other weights",
                          rate, latency,
                          t->options.plain ? "which is assumed"
                          : cc_given(links, &links->bw) == NULL
                              ? "which is assumed (--bw, --latency)"
                          : t->options.links > 1 ? "the first of those given"
                                                 : "as given");
}

/* A variant's complete trainings, how many of them reach the target, and the best of all their
 * evaluations. */
struct reach {
    size_t complete, reached;
    double best;
};

static bool by_loss(const struct cc_train_options *o)
{
    return o->training.target_loss > 0;
}

/* The quantity of a target. */
static double goal(const struct cc_train_options *o, const struct cc_evaluation *v)
{
    return by_loss(o) ? v->loss : v->accuracy;
}

static struct reach reach_of(const struct cc_train *t, size_t variant)
{
    struct reach r = {.best = 0};
    for (size_t k = 0; k < t->options.seeds; k++) {
        const struct cc_training_result *of = &t->training[variant * t->options.seeds + k];
        bool reached = false;
        if (!of->complete)
            continue;
        for (size_t i = 0; i < of->evals; i++) {
            const struct cc_evaluation *v = &of->eval[i];
            reached = reached || cc_train_reaches(&t->options, v);
            r.best = r.complete + i == 0    ? goal(&t->options, v)
                     : by_loss(&t->options) ? fmin(r.best, v->loss)
                                            : fmax(r.best, v->accuracy);
        }
        r.complete++;
        r.reached += reached;
    }
    return r;
}

/* The variants that do not reach the target with each seed, and how far they get. */
static int note_target(const struct cc_train *t, struct cc_error *e)
{
    const struct cc_train_options *o = &t->options;
    char target[48], best[32];
    for (size_t v = 0; v < cc_train_variants(t) && cc_train_targets(o); v++) {
        const struct reach r = reach_of(t, v);
        char rate[32] = "", seeds[64] = "", steps[STEPS_CAP], framework[STEPS_CAP];
        if (r.complete == r.reached)
            continue;
        if (t->options.rates.count > 1)
            (void)snprintf(rate, sizeof rate, " at rate %g", cc_train_rate(t, v));
        if (r.complete > 1)
            (void)snprintf(seeds, sizeof seeds, " with %zu of %zu seeds", r.complete - r.reached,
                           r.complete);
        (void)snprintf(target, sizeof target, by_loss(o) ? "--target-loss %g" : "--target %g%%",
                       by_loss(o) ? o->training.target_loss : 100 * o->target);
        (void)snprintf(best, sizeof best, by_loss(o) ? "%.4f" : "%.2f%%",
                       by_loss(o) ? r.best : 100 * r.best);
        CC_TRY(cc_record_note(t->record, e,
                              "%s: not reached by %s%s%s%s%s (the best evaluation has %s)", target,
                              framework_of(t, framework), cc_train_spec(t, v)->name, rate,
                              steps_of(t, v, steps), seeds, best));
    }
    return CC_OK;
}

static int note_interrupt(const struct cc_train *t, struct cc_error *e)
{
    /* Trainings without an end have their evaluations only. */
    t->record->all_rows |= cc_interrupted();
    return cc_interrupted() && t->checkpoint != NULL
               ? cc_record_note(t->record, e,
                                "interrupted: the same command with --resume%s continues from the "
                                "checkpoints in %s",
                                t->capture != NULL ? " and without --capture" : "",
                                t->options.checkpoint)
               : CC_OK;
}

/* Whether training i has rows, and went on from this step, or with 0 began. */
static bool went_on(const struct cc_train *t, size_t i, size_t step)
{
    const struct cc_training_result *of = &t->training[i];
    return of->resumed == step && (of->evals > 0 || of->diverged);
}

/* Where captured gradients are: several trainings have a folder each. */
static int note_captured(const struct cc_train *t, struct cc_error *e)
{
    const struct cc_training_config *c = &t->options.training;
    const size_t others = cc_train_variants(t) * t->options.seeds - 1;
    char beside[64] = "";
    if (t->capture == NULL || !t->training[0].complete)
        return CC_OK;
    if (others > 0)
        (void)snprintf(beside, sizeof beside, "; %zu more trace%s beside it", others,
                       others > 1 ? "s are" : " is");
    return cc_record_note(t->record, e, "captured: steps %zu to %zu, in %s (--trace)%s",
                          c->capture_from, c->capture_to - 1, t->capture[0], beside);
}

static void print_resumed(const struct cc_train *t, FILE *f)
{
    const size_t seeds = t->options.seeds, all = cc_train_variants(t) * seeds;
    const char *between = "";
    for (size_t i = 0; i < all; i++) {
        const size_t step = t->training[i].resumed;
        size_t first = 0;
        while (first < i && !went_on(t, first, step))
            first++;
        if (!went_on(t, i, step))
            continue;
        if (first < i)
            continue;
        if (step > 0)
            (void)fprintf(f, "%sfrom step %zu: ", between, step);
        else
            (void)fprintf(f, "%sfrom the beginning, without a checkpoint: ", between);
        for (size_t k = i; k < all; k++)
            if (went_on(t, k, step)) {
                (void)fprintf(f, "%s%s", k > i ? ", " : "", cc_train_spec(t, k / seeds)->name);
                if (t->options.rates.count > 1)
                    (void)fprintf(f, " rate %g", cc_train_rate(t, k / seeds));
                if (t->options.lengths > 1)
                    (void)fprintf(f, " steps %zu", cc_train_length(t, k / seeds)->steps);
                (void)fprintf(f, " seed %llu", (unsigned long long)(t->options.seed + k % seeds));
            }
        between = "; ";
    }
}

/* Which trainings had a checkpoint: with a mistyped folder, none. */
static int note_resumed(const struct cc_train *t, struct cc_error *e)
{
    struct cc_memory_text text;
    if (!t->options.training.resume)
        return CC_OK;
    CC_TRY(cc_memory_text_begin(&text, "the names of resumed trainings", e));
    print_resumed(t, text.f);
    CC_TRY(cc_memory_text_end(&text, CC_OK, e));
    int status = CC_OK;
    if (text.text[0] != '\0')
        status = cc_record_note(t->record, e, "resumed: %s", text.text);
    free(text.text);
    const size_t all = cc_train_variants(t) * t->options.seeds;
    for (size_t i = 0; i < all && status == CC_OK; i++)
        if (t->training[i].version[0] != '\0') {
            status = cc_record_note(t->record, e,
                                    "resumed: steps of several versions of commcomp make one "
                                    "curve: %s",
                                    t->training[i].version);
            break;
        }
    for (size_t i = 0; i < all && status == CC_OK; i++)
        if (t->training[i].resumed > 0)
            return cc_record_note(t->record, e, "resumed: %s",
                                  t->options.on == CC_TRAIN_LOCAL && t->options.links > 0
                                      ? "codec and compute times until a checkpoint are those that "
                                        "were measured before it was written"
                                      : "times until a checkpoint are those of the call that wrote "
                                        "it, whatever --on, --bw and --compute are now");
    return status;
}

/* The settings of the recipe, or of the last of its bases, as options. */
static int note_recipe(const struct cc_train *t, struct cc_error *e)
{
    char text[512] = "";
    size_t used = 0;
    const struct cc_recipe_command *c = t->args->recipe;
    if (c == NULL)
        return CC_OK;
    c = cc_recipe_root(c);
    const char *name = c->recipe->name;
    const cJSON *o = c->options != NULL ? c->options->child : NULL;
    for (; o != NULL && used < sizeof text; o = o->next)
        if (cc_arg(t->args, o->string) != NULL)
            used += (size_t)snprintf(text + used, sizeof text - used, " --%s %s", o->string,
                                     cc_arg(t->args, o->string));
    return cc_record_note(t->record, e, "recipe %s:%s",
                          strncmp(name, "training/", 9) == 0 ? name + 9 : name, text);
}

int cc_train_notes(const struct cc_train *t, struct cc_error *e)
{
    CC_TRY(note_interrupt(t, e));
    if (t->record->row_count == 0)
        return CC_OK;
    /* The other notes are added with the first framework, for all of them. */
    if (t->framework > 0) {
        CC_TRY(note_target(t, e));
        return note_divergence(t, e);
    }
    CC_TRY(cc_train_note_trial(t, e));
    if (t->frameworks == NULL)
        CC_TRY(note_ends(t, e));
    CC_TRY(note_resumed(t, e));
    CC_TRY(note_captured(t, e));
    CC_TRY(cc_train_paper_notes(t, e));
    CC_TRY(note_data(t, e));
    CC_TRY(note_recipe(t, e));
    CC_TRY(note_net(t, e));
    CC_TRY(cc_train_note_convex(t, e));
    CC_TRY(note_time(t, e));
    CC_TRY(note_oversubscription(t, e));
    CC_TRY(note_choices(t, e));
    CC_TRY(note_momentum(t, e));
    CC_TRY(note_target(t, e));
    return note_divergence(t, e);
}
