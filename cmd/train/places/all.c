/* The trainings of a call: each variant with each seed, side by side on the threads there are, or
 * by ranks, one after the other, over each link. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/train/places/places.h"
#include "cmd/train/plan/plan.h"
#include "cmd/train/times/times.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/format/json.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/units.h"
#include "core/trace/trace_write.h"
#include "models/trial.h"

/* All trainings. */
struct pool {
    struct cc_train *train;
    struct cc_progress progress;
    size_t first;         /* the training that is item 0 */
    pthread_mutex_t lock; /* guards all below */
    size_t steps, all_steps;
};

static void show_steps(void *arg, const char *scheme, size_t steps, double loss, double accuracy)
{
    struct pool *p = arg;
    char text[64], progress[24] = "", percent[16] = "";
    (void)pthread_mutex_lock(&p->lock);
    if (!isnan(loss))
        (void)snprintf(progress, sizeof progress, " loss %.2g", loss);
    if (!isnan(accuracy))
        (void)snprintf(percent, sizeof percent, " %.1f%%", 100 * accuracy);
    (void)snprintf(text, sizeof text, "%.8s%s%s", scheme, progress, percent);
    p->steps += steps;
    cc_progress_show(&p->progress, text, (double)p->steps / (double)p->all_steps);
    (void)pthread_mutex_unlock(&p->lock);
}

/* A trial: whether a scheme is so far behind fp32, which has been trained, that it can be ended. */
static bool is_behind(void *arg, const struct cc_training_config *c, const double *loss,
                      size_t steps)
{
    const struct pool *p = arg;
    const struct cc_training_result *fp32 =
        &p->train->training[c->task.seed - p->train->options.seed];
    return fp32->loss != loss && fp32->losses >= steps &&
           cc_trial_behind(loss, fp32->loss, steps, c->steps);
}

/* The optimizer's momentum is left to a scheme that has its own. */
static struct cc_training_config config_of(struct pool *p, size_t variant, size_t seed, int threads)
{
    const struct cc_train *t = p->train;
    const struct cc_spec *spec = cc_train_spec(t, variant);
    const struct cc_train_length *length = cc_train_length(t, variant);
    struct cc_training_config c = t->options.training;
    const bool own = cc_own_momentum(spec->scheme, spec->params) > 0;
    c.spec = spec;
    if (cc_reduction(spec->scheme, spec->params) == CC_REDUCE_DECODED)
        c.raw = t->plain;
    c.pull = cc_train_pull(t, spec);
    struct cc_optimizer *receives = c.local.steps > 0 ? &c.local.outer : &c.optimizer;
    c.local.beta = c.local.quorum > 0 ? cc_train_kept(t, spec) : 0;
    if (own)
        receives->momentum = receives->beta[0] = 0;
    c.checkpoint = t->checkpoint != NULL ? t->checkpoint[variant * t->options.seeds + seed] : NULL;
    c.capture = t->capture != NULL ? t->capture[variant * t->options.seeds + seed] : NULL;
    c.consistency = cc_train_consistency(t, variant);
    c.staleness = t->options.consistency.staleness;
    c.communicate = t->options.consistency.communicate.when;
    c.growth = t->options.consistency.communicate.growth;
    c.task.seed = t->options.seed + seed;
    c.task.threads = threads;
    c.steps = length->steps;
    c.eval_every = length->eval_every;
    if (c.checkpoint_every == 0)
        c.checkpoint_every = c.eval_every;
    cc_train_local_config(&c);
    c.rate = length->schedule;
    c.rate.rate = cc_train_rate(t, variant);
    c.rate.last = c.rate.rate * t->options.last_rate;
    c.progress = show_steps;
    c.is_behind = t->options.trial ? is_behind : NULL;
    c.arg = p;
    return c;
}

/* Several trainings have a thread each, a single one has all. */
int cc_train_threads(const struct cc_train *t)
{
    return cc_train_variants(t) * t->options.seeds == 1 ? t->options.threads : 1;
}

/* Trains by the configuration, over a link or NULL, with the clocks and choices that it takes. */
static int train(const struct cc_train *t, const struct cc_link *link, struct cc_training_config *c,
                 struct cc_training_result *out, struct cc_error *e)
{
    struct cc_job_row choices;
    struct cc_job drawn;
    CC_TRY(cc_train_clocks(t, link, c, &drawn, e));
    int status = cc_train_choices(t, c, &choices, e);
    if (status == CC_OK) {
        c->choice = choices.choice;
        c->choices = choices.choices;
        status = t->options.on == CC_TRAIN_LOCAL ? cc_training_run(c, out, e)
                                                 : cc_train_by_ranks(t, c, link, out, e);
        free(choices.choice);
        c->choice = NULL;
    }
    free(drawn.slow);
    return status;
}

static int train_variant(struct pool *p, size_t training, struct cc_error *e)
{
    const struct cc_train *t = p->train;
    const size_t seeds = t->options.seeds, all = cc_train_variants(t) * seeds;
    const size_t i = training % all;
    const struct cc_link *link = t->options.links > 0 ? &t->options.link[training / all] : NULL;
    struct cc_training_config c = config_of(p, i / seeds, i % seeds, cc_train_threads(t));
    const int status = train(t, link, &c, &t->training[training], e);
    cc_train_local_result(&c, &t->training[training]);
    if (t->training[training].ended_step > 0) { /* the others are not to come */
        (void)pthread_mutex_lock(&p->lock);
        p->steps += c.steps - t->training[training].ended_step;
        (void)pthread_mutex_unlock(&p->lock);
    }
    return status;
}

static bool train_one(void *arg, size_t item)
{
    struct pool *p = arg;
    const size_t i = p->first + item;
    const struct cc_train *t = p->train;
    if (cc_interrupted())
        return false;
    if (train_variant(p, i, &t->failed[i]) == CC_OK)
        return true;
    if (t->failed[i].text[0] == '\0')
        cc_error_set(&t->failed[i], "out of memory");
    return false;
}

/* --- checkpoints and captured traces --- */

/* The name of a training's file or folder, to be freed: characters that shells treat specially
 * become _. */
static int name_output(const struct cc_train *t, const char *folder, size_t training,
                       const char *suffix, char **out, struct cc_error *e)
{
    static const char kept[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.=-";
    const struct cc_train_options *o = &t->options;
    const size_t variant = training / o->seeds;
    char number[CC_NUMBER_CAP], rate[8 + sizeof number] = "", steps[32] = "";
    cc_number_print(cc_train_rate(t, variant), number);
    if (o->rates.count > 1)
        (void)snprintf(rate, sizeof rate, "-rate%s", number);
    if (o->lengths > 1)
        (void)snprintf(steps, sizeof steps, "-steps%zu", cc_train_length(t, variant)->steps);
    if (asprintf(out, "%s/%s%s%s-seed%llu%s", folder, cc_train_spec(t, variant)->name, rate, steps,
                 (unsigned long long)(o->seed + training % o->seeds), suffix) < 0) {
        *out = NULL;
        return cc_fail(e, "out of memory");
    }
    for (char *c = *out + strlen(folder) + 1; *c != '\0'; c++)
        if (strchr(kept, *c) == NULL)
            *c = '_';
    return CC_OK;
}

static int make_folder(const char *path, struct cc_error *e)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST
               ? CC_OK
               : cc_fail(e, "%s: cannot be made: %s", path, strerror(errno));
}

/* Makes the folder, and names all files, of which none may be there unless they are continued: then
 * the folder must be there. */
static int name_checkpoints(struct cc_train *t, size_t all, struct cc_error *e)
{
    const struct cc_train_options *o = &t->options;
    struct stat st;
    CC_TRY(CC_NEW(t->checkpoint, all, e));
    if (o->training.resume && stat(o->checkpoint, &st) != 0)
        return cc_fail(e, "%s: %s; --resume continues from the checkpoints in that folder",
                       o->checkpoint, strerror(errno));
    CC_TRY(make_folder(o->checkpoint, e));
    for (size_t i = 0; i < all; i++) {
        CC_TRY(name_output(t, o->checkpoint, i, ".safetensors", &t->checkpoint[i], e));
        if (!o->training.resume && stat(t->checkpoint[i], &st) == 0)
            return cc_fail(e, "%s: a checkpoint is there already; --resume continues from it",
                           t->checkpoint[i]);
        CC_TRY(cc_file_can_create(t->checkpoint[i], e));
    }
    return CC_OK;
}

static bool same_folder(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Makes the folders of captured traces, which must be empty: the one that is given, or one in it
 * for each training. The folder of checkpoints is there already. */
static int name_captures(struct cc_train *t, size_t all, struct cc_error *e)
{
    const char *folder = t->options.capture;
    CC_TRY(CC_NEW(t->capture, all, e));
    if (t->options.checkpoint != NULL && same_folder(t->options.checkpoint, folder))
        return cc_usage(e,
                        "--capture %s: --checkpoint has the same folder, whose files would not be "
                        "a trace; name another one",
                        folder);
    for (size_t i = 0; i < all; i++) {
        if (all > 1)
            CC_TRY(name_output(t, folder, i, "", &t->capture[i], e));
        else if ((t->capture[i] = cc_strdup(folder, e)) == NULL)
            return CC_FAIL;
        CC_TRY(cc_trace_check_directory(t->capture[i], e));
    }
    CC_TRY(make_folder(folder, e));
    for (size_t i = 0; i < all; i++)
        CC_TRY(make_folder(t->capture[i], e));
    return CC_OK;
}

int cc_train_all(struct cc_train *t, struct cc_error *e)
{
    const size_t named = cc_train_variants(t) * t->options.seeds, all = named * cc_train_links(t);
    struct pool p = {.train = t, .lock = PTHREAD_MUTEX_INITIALIZER};
    for (size_t i = 0; i < all; i++)
        p.all_steps += cc_train_length(t, i % named / t->options.seeds)->steps /
                       cc_train_counted_as_one(&t->options);
    CC_TRY(CC_NEW(t->training, all, e));
    CC_TRY(CC_NEW(t->failed, all, e));
    if (t->options.checkpoint != NULL)
        CC_TRY(name_checkpoints(t, named, e));
    if (t->options.capture != NULL)
        CC_TRY(name_captures(t, named, e));
    cc_progress_begin(&p.progress, t->args->quiet);
    /* A trial holds the other schemes against fp32, its first, which is trained before them. */
    if (t->options.trial)
        cc_parallel_items(t->options.threads, t->options.seeds, train_one, &p);
    p.first = t->options.trial ? t->options.seeds : 0;
    /* Ranks are trained one job after the other: they have the processors. */
    cc_parallel_items(t->options.on == CC_TRAIN_LOCAL ? t->options.threads : 1, all - p.first,
                      train_one, &p);
    cc_progress_end(&p.progress);
    return CC_OK;
}

/* --- a dry run --- */

static void show_nothing(void *arg, const char *scheme, size_t steps, double loss, double accuracy)
{
    (void)arg;
    (void)scheme;
    (void)steps;
    (void)loss;
    (void)accuracy;
}

/* Sets *s to the time of a training of so many steps with an evaluation at its end. */
static int time_steps(const struct cc_train *t, struct cc_training_config c, size_t steps,
                      double *s, struct cc_error *e)
{
    struct cc_training_result result = {0};
    c.steps = c.eval_every = c.checkpoint_every = steps;
    c.checkpoint = c.capture = NULL;
    c.resume = false;
    c.is_behind = NULL;
    c.progress = show_nothing;
    const double begin = cc_now();
    const int status = train(t, NULL, &c, &result, e);
    *s = cc_now() - begin;
    cc_training_free(&result);
    return status;
}

int cc_train_dry(struct cc_train *t, struct cc_error *e)
{
    enum { FEW = 2, MORE = 8 };
    const size_t variants = cc_train_variants(t), all = variants * t->options.seeds;
    const int aside = cc_train_threads(t) > 1 ? 1 : t->options.threads;
    struct pool p = {.train = t};
    char time[32];
    double total = 0;
    for (size_t i = 0; i < variants && !cc_interrupted(); i++) {
        /* Its steps are exchanges, each with its local steps. */
        const struct cc_training_config c = config_of(&p, i, 0, cc_train_threads(t));
        double few, more;
        CC_TRY(time_steps(t, c, FEW, &few, e));
        CC_TRY(time_steps(t, c, MORE, &more, e));
        const double step = fmax(0, more - few) / (MORE - FEW);
        const double once = fmax(0, few - FEW * step); /* opening, evaluating */
        const size_t evaluations = (c.steps + c.eval_every - 1) / c.eval_every;
        total += (double)t->options.seeds * (step * (double)c.steps + once * (double)evaluations);
    }
    if (cc_interrupted())
        return CC_OK;
    total /= (double)((size_t)aside < all ? (size_t)aside : all);
    cc_print_si(total, "s", time, sizeof time);
    return cc_record_note_at(
        t->record, CC_NOTE_ANSWER, e, "dry run: %zu training%s would take about %s on %d thread%s",
        all, all == 1 ? "" : "s", time, t->options.threads, t->options.threads == 1 ? "" : "s");
}

int cc_train_failure(const struct cc_train *t, struct cc_error *e)
{
    const size_t all = cc_train_variants(t) * t->options.seeds * cc_train_links(t);
    for (size_t i = 0; i < all; i++)
        if (t->failed[i].text[0] != '\0')
            return cc_fail(e, "%s", t->failed[i].text);
    return CC_OK;
}

void cc_train_all_free(struct cc_train *t)
{
    const size_t all = cc_train_variants(t) * t->options.seeds;
    for (size_t i = 0; t->training != NULL && i < all * cc_train_links(t); i++)
        cc_training_free(&t->training[i]);
    for (size_t i = 0; t->checkpoint != NULL && i < all; i++)
        free(t->checkpoint[i]);
    for (size_t i = 0; t->capture != NULL && i < all; i++)
        free(t->capture[i]);
    free(t->checkpoint);
    free(t->capture);
    free(t->training);
    free(t->failed);
}
