/* The rows of `commcomp train`: what was measured at each evaluation, then a summary of each scheme
 * over its seeds. */
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#include "cmd/train/plan/plan.h"
#include "cmd/train/rows/parts.h"
#include "cmd/train/rows/rows.h"
#include "cmd/train/times/times.h"
#include "core/memory.h"

/* --- means over seeds --- */

struct mean {
    double sum, squares;
    size_t count;
};

static void add(struct mean *m, double v)
{
    m->sum += v;
    m->squares += v * v;
    m->count++;
}

static double mean_of(const struct mean *m)
{
    return m->count > 0 ? m->sum / (double)m->count : NAN;
}

/* Half the width of the 95% interval of the mean; NaN for fewer than two. */
static double half_width(const struct mean *m)
{
    if (m->count < 2)
        return NAN;
    const double n = (double)m->count, mean = mean_of(m);
    const double variance = fmax(0, (m->squares - n * mean * mean) / (n - 1));
    return gsl_cdf_tdist_Pinv(0.975, n - 1) * sqrt(variance / n);
}

/* --- evaluations --- */

static double mean_objective(const struct cc_train_sums *s)
{
    return s->objective / (double)s->evals;
}

/* Adds the last evaluation of the sums. */
static int add_evaluation(const struct cc_train *t, size_t variant, size_t seed,
                          const struct cc_train_sums *sums, const struct cc_link *link,
                          const struct cc_train_step *step, struct cc_error *e)
{
    const struct cc_training_result *of = cc_train_training(t, variant, seed, link);
    const struct cc_evaluation *v = &of->eval[sums->evals - 1];
    const struct cc_train_unsynced u = cc_train_unsynced(t, variant, of, sums);
    size_t row;
    CC_TRY(cc_train_new_row(t, variant, link, "eval", &row, e));
    if (t->options.show != CC_SHOW_ALL)
        t->record->rows[row].detail = true;
    const struct cc_number_column all[] = {
        {CC_KEY(seed), (double)(t->options.seed + seed)},
        {CC_KEY(step), (double)v->step},
        {CC_KEY(epoch), (double)v->step / (double)of->epoch},
        {CC_KEY(loss), v->loss},
        {CC_KEY(accuracy), v->accuracy},
        {CC_KEY(loss_workers), v->worker_loss},
        {CC_KEY(accuracy_workers), v->worker_accuracy},
        {CC_KEY(train_loss), v->train_loss},
        {CC_KEY(train_accuracy), v->train_accuracy},
        {CC_KEY(bytes), sums->bytes},
        {CC_KEY(residual), v->residual},
        {CC_KEY(residual_pull), v->pull_residual},
        {CC_KEY(staleness_mean), u.mean},
        {CC_KEY(staleness_p95), u.p95},
        {CC_KEY(bound_wait_s), u.wait_s},
        {CC_KEY(updates_per_s), u.updates_per_s},
        {CC_KEY(compute_s), step->compute_s},
        {CC_KEY(codec_s), step->codec_s},
        {CC_KEY(comm_s), step->comm_s},
        {CC_KEY(step_s), step->step_s},
        {CC_KEY(cu), cc_step_utilization(step->compute_s, step->step_s)},
        {CC_KEY(time_s), step->time_s}};
    cc_record_numbers(t->record, row, all, sizeof all / sizeof all[0]);
    cc_train_put_sizes(t, row, cc_train_spec(t, variant), v->push_bytes, v->pull_bytes);
    cc_train_put_linear(t, row, v->objective, mean_objective(sums), v->distance, step);
    cc_train_put_bits(t, row, v->loss, v->worker_loss);
    if (!of->complete || sums->evals < of->evals)
        return CC_OK;
    if (of->peak_bytes > 0)
        cc_record_number(t->record, row, CC_KEY(sim_memory_bytes), of->peak_bytes);
    char crc[24]; /* never the text of a number, as 28e98629 would be in a CSV */
    (void)snprintf(crc, sizeof crc, "crc32:%08x", of->weights_crc);
    return cc_record_text(t->record, row, CC_KEY(weights), crc, e);
}

/* A training that diverged: its step, and no figures. */
static int add_divergence(const struct cc_train *t, size_t variant, size_t seed,
                          const struct cc_link *link, struct cc_error *e)
{
    const struct cc_training_result *of = cc_train_training(t, variant, seed, link);
    size_t row;
    CC_TRY(cc_train_new_row(t, variant, link, "eval", &row, e));
    cc_record_number(t->record, row, CC_KEY(seed), (double)(t->options.seed + seed));
    cc_record_number(t->record, row, CC_KEY(step), (double)of->diverged_step);
    cc_record_number(t->record, row, CC_KEY(diverged), 1);
    return CC_OK;
}

/* --- summaries --- */

/* The means of a variant's complete trainings. */
struct summary {
    struct mean accuracy, best, workers, loss, objective, objectives, distance, difference,
        difference_best, loss_rise, push, pull, bytes, compute_s, codec_s, comm_s, step_s, time_s,
        target_s, target_step, target_bytes, residual, pull_residual, stale, stale_p95, wait_s,
        updates_per_s;
    size_t complete, diverged, ended; /* ended: early, by --trial */
};

static void add_steps(struct summary *s, const struct cc_training_result *of,
                      const struct cc_train_step *step)
{
    const double steps = (double)of->eval[of->evals - 1].step;
    double push = 0, pull = 0, parts[4] = {0};
    size_t before = 0;
    for (size_t i = 0; i < of->evals; i++) {
        const struct cc_evaluation *v = &of->eval[i];
        const double share = (double)(v->step - before) / steps;
        push += share * v->push_bytes;
        pull += share * v->pull_bytes;
        parts[0] += share * step[i].compute_s;
        parts[1] += share * step[i].codec_s;
        parts[2] += share * step[i].comm_s;
        parts[3] += share * step[i].step_s;
        before = v->step;
    }
    add(&s->push, push);
    add(&s->pull, pull);
    add(&s->compute_s, parts[0]);
    add(&s->codec_s, parts[1]);
    add(&s->comm_s, parts[2]);
    add(&s->step_s, parts[3]);
}

static double final_accuracy(const struct cc_training_result *of)
{
    return of->eval[of->evals - 1].accuracy;
}

/* How good a training is: by its accuracy; of a language model by its loss. */
static double final_score(const struct cc_train *t, const struct cc_training_result *of)
{
    return t->data->context > 0 ? -of->eval[of->evals - 1].loss : final_accuracy(of);
}

/* The variant with the best mean score, of those of a variant's scheme and length in which no
 * training diverged; SIZE_MAX if there is none, or only one rate. */
static size_t find_best(const struct cc_train *t, size_t variant)
{
    const size_t schemes = t->args->schemes.count, all = schemes * t->options.rates.count;
    const size_t first = variant - variant % all;
    size_t best = SIZE_MAX;
    double most = -INFINITY;
    for (size_t v = first + variant % schemes; v < first + all && t->options.rates.count > 1;
         v += schemes) {
        struct mean score = {.count = 0};
        for (size_t k = 0; k < t->options.seeds; k++)
            if (cc_train_training(t, v, k, NULL)->complete)
                add(&score, final_score(t, cc_train_training(t, v, k, NULL)));
        if (score.count == t->options.seeds && mean_of(&score) > most) {
            most = mean_of(&score);
            best = v;
        }
    }
    return best;
}

static void add_training(const struct cc_train *t, size_t variant, struct summary *s,
                         const struct cc_training_result *of, const struct cc_training_result *fp32,
                         const struct cc_training_result *best_fp32,
                         const struct cc_train_step *step)
{
    const struct cc_evaluation *last = &of->eval[of->evals - 1];
    struct cc_train_sums sums = {.evals = 0}, target = sums;
    double best = 0;
    for (size_t i = 0; i < of->evals; i++) {
        cc_train_sum(&sums, &of->eval[i]);
        best = fmax(best, of->eval[i].accuracy);
        if (target.evals == 0 && cc_train_reaches(&t->options, &of->eval[i]))
            target = sums;
    }
    const struct cc_train_unsynced u = cc_train_unsynced(t, variant, of, &sums);
    s->complete++;
    add(&s->accuracy, last->accuracy);
    add(&s->workers, last->worker_accuracy);
    add(&s->loss, last->loss);
    add(&s->objective, last->objective);
    add(&s->objectives, mean_objective(&sums));
    add(&s->distance, last->distance);
    add(&s->best, best);
    add(&s->bytes, sums.bytes);
    add(&s->time_s, step[of->evals - 1].time_s);
    add(&s->residual, last->residual);
    add(&s->pull_residual, last->pull_residual);
    add(&s->stale, u.mean);
    add(&s->stale_p95, u.p95);
    add(&s->wait_s, u.wait_s);
    add(&s->updates_per_s, u.updates_per_s);
    if (fp32 != NULL && fp32->complete)
        add(&s->difference, last->accuracy - final_accuracy(fp32));
    if (best_fp32 != NULL)
        add(&s->difference_best, last->accuracy - final_accuracy(best_fp32));
    const struct cc_training_result *base = best_fp32 != NULL ? best_fp32 : fp32;
    if (t->data->context > 0 && base != NULL && base->complete)
        add(&s->loss_rise, last->loss / base->eval[base->evals - 1].loss - 1);
    if (target.evals > 0) {
        add(&s->target_s, step[target.evals - 1].time_s);
        add(&s->target_step, (double)target.step);
        add(&s->target_bytes, target.bytes);
    }
    add_steps(s, of, step);
}

/* fp32 and best_fp32: the variants to compare with, at the same rate and at its best, or SIZE_MAX.
 */
static int summarize(const struct cc_train *t, size_t variant, size_t fp32, size_t best_fp32,
                     const struct cc_link *link, struct summary *out, struct cc_error *e)
{
    int status = CC_OK;
    *out = (struct summary){.complete = 0};
    for (size_t k = 0; k < t->options.seeds && status == CC_OK; k++) {
        const struct cc_training_result *of = cc_train_training(t, variant, k, link);
        out->diverged += of->diverged;
        out->ended += of->ended_step > 0;
        if (!of->complete)
            continue;
        struct cc_train_step *step;
        CC_TRY(CC_NEW(step, of->evals, e));
        status = cc_train_steps(t, variant, of, link, step, e);
        if (status == CC_OK)
            add_training(
                t, variant, out, of, fp32 != SIZE_MAX ? cc_train_training(t, fp32, k, link) : NULL,
                best_fp32 != SIZE_MAX ? cc_train_training(t, best_fp32, k, link) : NULL, step);
        free(step);
    }
    return status;
}

/* The mean over the seeds if all complete trainings reach the target. */
static double target_of(const struct summary *s, const struct mean *m)
{
    return m->count == s->complete ? mean_of(m) : NAN;
}

/* Beside another framework's training with fp32, its first scheme. */
struct beside {
    double speedup, target_speedup;
    struct mean difference;
};

static int compare(const struct cc_train *t, size_t variant, const struct cc_link *link,
                   const struct summary *s, const struct cc_train *with, struct beside *out,
                   struct cc_error *e)
{
    struct summary base;
    const struct cc_link *same = link != NULL ? &with->options.link[link - t->options.link] : NULL;
    *out = (struct beside){.speedup = NAN};
    CC_TRY(summarize(with, 0, SIZE_MAX, SIZE_MAX, same, &base, e));
    out->speedup = mean_of(&base.step_s) / mean_of(&s->step_s);
    out->target_speedup = target_of(&base, &base.target_s) / target_of(s, &s->target_s);
    for (size_t k = 0; k < t->options.seeds; k++) {
        const struct cc_training_result *own = cc_train_training(t, variant, k, link);
        const struct cc_training_result *other = cc_train_training(with, 0, k, same);
        if (own->complete && other->complete)
            add(&out->difference, final_accuracy(own) - final_accuracy(other));
    }
    return CC_OK;
}

static int put_frameworks(const struct cc_train *t, size_t row, size_t variant,
                          const struct cc_link *link, const struct summary *s, struct cc_error *e)
{
    struct beside ps, sync;
    if (t->frameworks == NULL)
        return CC_OK;
    CC_TRY(compare(t, variant, link, s, &t->frameworks[CC_PS_SYNC], &ps, e));
    CC_TRY(compare(t, variant, link, s, &t->frameworks[CC_D_SYNC], &sync, e));
    const double mean = mean_of(&sync.difference), off = half_width(&sync.difference);
    const struct cc_number_column all[] = {{CC_KEY(speedup_ps), ps.speedup},
                                           {CC_KEY(speedup_sync), sync.speedup},
                                           {CC_KEY(target_speedup_sync), sync.target_speedup},
                                           {CC_KEY(difference_sync), mean},
                                           {CC_KEY(difference_sync_low), mean - off},
                                           {CC_KEY(difference_sync_high), mean + off}};
    cc_record_numbers(t->record, row, all, sizeof all / sizeof all[0]);
    return CC_OK;
}

static int add_summary(const struct cc_train *t, size_t variant, const struct cc_link *link,
                       const struct summary *s, const struct summary *fp32,
                       const struct summary *bulk, struct cc_error *e)
{
    const double half = half_width(&s->accuracy), off = half_width(&s->difference);
    const double best = mean_of(&s->difference_best), off_best = half_width(&s->difference_best);
    const double rise = mean_of(&s->loss_rise), off_rise = half_width(&s->loss_rise);
    size_t row;
    CC_TRY(cc_train_new_row(t, variant, link, "summary", &row, e));
    const struct cc_number_column all[] = {
        {CC_KEY(seeds), (double)s->complete},
        {CC_KEY(diverged), (double)s->diverged},
        {CC_KEY(step), (double)cc_train_length(t, variant)->steps},
        {CC_KEY(loss), mean_of(&s->loss)},
        {CC_KEY(loss_rise), rise},
        {CC_KEY(loss_rise_low), rise - off_rise},
        {CC_KEY(loss_rise_high), rise + off_rise},
        {CC_KEY(accuracy), mean_of(&s->accuracy)},
        {CC_KEY(accuracy_low), mean_of(&s->accuracy) - half},
        {CC_KEY(accuracy_high), mean_of(&s->accuracy) + half},
        {CC_KEY(difference), mean_of(&s->difference)},
        {CC_KEY(difference_low), mean_of(&s->difference) - off},
        {CC_KEY(difference_high), mean_of(&s->difference) + off},
        {CC_KEY(difference_best), best},
        {CC_KEY(difference_best_low), best - off_best},
        {CC_KEY(difference_best_high), best + off_best},
        {CC_KEY(accuracy_best), mean_of(&s->best)},
        {CC_KEY(accuracy_workers), mean_of(&s->workers)},
        {CC_KEY(bytes), mean_of(&s->bytes)},
        {CC_KEY(residual), mean_of(&s->residual)},
        {CC_KEY(residual_pull), mean_of(&s->pull_residual)},
        {CC_KEY(staleness_mean), mean_of(&s->stale)},
        {CC_KEY(staleness_p95), mean_of(&s->stale_p95)},
        {CC_KEY(bound_wait_s), mean_of(&s->wait_s)},
        {CC_KEY(updates_per_s), mean_of(&s->updates_per_s)},
        {CC_KEY(compute_s), mean_of(&s->compute_s)},
        {CC_KEY(codec_s), mean_of(&s->codec_s)},
        {CC_KEY(comm_s), mean_of(&s->comm_s)},
        {CC_KEY(step_s), mean_of(&s->step_s)},
        {CC_KEY(cu), cc_step_utilization(mean_of(&s->compute_s), mean_of(&s->step_s))},
        {CC_KEY(speedup), mean_of(&fp32->step_s) / mean_of(&s->step_s)},
        {CC_KEY(time_s), mean_of(&s->time_s)},
        {CC_KEY(target_s), target_of(s, &s->target_s)},
        {CC_KEY(target_step), target_of(s, &s->target_step)},
        {CC_KEY(target_bytes), target_of(s, &s->target_bytes)},
        {CC_KEY(target_speedup), target_of(fp32, &fp32->target_s) / target_of(s, &s->target_s)},
        {CC_KEY(speedup_bulk), mean_of(&bulk->step_s) / mean_of(&s->step_s)},
        {CC_KEY(target_speedup_bulk),
         target_of(bulk, &bulk->target_s) / target_of(s, &s->target_s)}};
    if (t->options.show == CC_SHOW_MEANS)
        t->record->rows[row].detail = true;
    cc_record_numbers(t->record, row, all, sizeof all / sizeof all[0]);
    cc_train_put_sizes(t, row, cc_train_spec(t, variant), mean_of(&s->push), mean_of(&s->pull));
    const struct cc_train_step mean = {.codec_s = mean_of(&s->codec_s),
                                       .comm_s = mean_of(&s->comm_s),
                                       .step_s = mean_of(&s->step_s)};
    cc_train_put_linear(t, row, mean_of(&s->objective), mean_of(&s->objectives),
                        mean_of(&s->distance), &mean);
    cc_train_put_bits(t, row, mean_of(&s->loss), NAN);
    CC_TRY(put_frameworks(t, row, variant, link, s, e));
    CC_TRY(cc_train_put_trial(t, row, variant, 8 * mean_of(&s->push) / (double)t->net->values, e));
    if (t->options.rates.count > 1)
        cc_record_bool(t->record, row, CC_KEY(best_rate), variant == find_best(t, variant));
    return CC_OK;
}

/* The index of fp32 among the schemes, or SIZE_MAX. */
static size_t find_fp32(const struct cc_train *t)
{
    for (size_t i = 0; i < t->args->schemes.count; i++)
        if (cc_spec_is_raw(t->args->schemes.item[i]))
            return i;
    return SIZE_MAX;
}

/* The evaluations of all trainings. */
static int add_evaluations(const struct cc_train *t, const struct cc_link *link, struct cc_error *e)
{
    for (size_t i = 0; i < cc_train_variants(t) * t->options.seeds; i++) {
        const size_t variant = i / t->options.seeds, seed = i % t->options.seeds;
        const struct cc_training_result *of = cc_train_training(t, variant, seed, link);
        struct cc_train_sums sums = {.evals = 0};
        struct cc_train_step *step;
        CC_TRY(CC_NEW(step, of->evals, e));
        int status = cc_train_steps(t, variant, of, link, step, e);
        for (size_t at = 0; at < of->evals && status == CC_OK; at++) {
            cc_train_sum(&sums, &of->eval[at]);
            status = add_evaluation(t, variant, seed, &sums, link, &step[at], e);
        }
        if (status == CC_OK && of->diverged)
            status = add_divergence(t, variant, seed, link, e);
        free(step);
        CC_TRY(status);
    }
    return CC_OK;
}

/* The mean of one evaluation over the complete trainings of a variant. sums[seeds]: of each until
 * the evaluation before; this one is added. */
static int add_point(const struct cc_train *t, size_t variant, size_t at,
                     struct cc_train_sums *sums, const struct cc_link *link, struct cc_error *e)
{
    struct mean loss = {0}, accuracy = {0}, train_loss = {0}, train_accuracy = {0}, push = {0},
                pull = {0}, bytes = {0};
    size_t step = 0;
    for (size_t k = 0; k < t->options.seeds; k++) {
        const struct cc_training_result *of = cc_train_training(t, variant, k, link);
        if (!of->complete)
            continue;
        const struct cc_evaluation *v = &of->eval[at];
        step = v->step;
        add(&loss, v->loss);
        add(&accuracy, v->accuracy);
        add(&train_loss, v->train_loss);
        add(&train_accuracy, v->train_accuracy);
        add(&push, v->push_bytes);
        add(&pull, v->pull_bytes);
        cc_train_sum(&sums[k], v);
        add(&bytes, sums[k].bytes);
    }
    const double half = half_width(&accuracy);
    const struct cc_number_column all[] = {{CC_KEY(seeds), (double)accuracy.count},
                                           {CC_KEY(step), (double)step},
                                           {CC_KEY(loss), mean_of(&loss)},
                                           {CC_KEY(accuracy), mean_of(&accuracy)},
                                           {CC_KEY(accuracy_low), mean_of(&accuracy) - half},
                                           {CC_KEY(accuracy_high), mean_of(&accuracy) + half},
                                           {CC_KEY(train_loss), mean_of(&train_loss)},
                                           {CC_KEY(train_accuracy), mean_of(&train_accuracy)},
                                           {CC_KEY(bytes), mean_of(&bytes)}};
    size_t row;
    CC_TRY(cc_train_new_row(t, variant, link, "mean", &row, e));
    cc_record_numbers(t->record, row, all, sizeof all / sizeof all[0]);
    cc_train_put_sizes(t, row, cc_train_spec(t, variant), mean_of(&push), mean_of(&pull));
    cc_train_put_bits(t, row, mean_of(&loss), NAN);
    return CC_OK;
}

/* The evaluations as means over the seeds, of those that all complete trainings have: with
 * --target-loss some end before others. */
static int add_points(const struct cc_train *t, const struct cc_link *link, struct cc_error *e)
{
    for (size_t v = 0; v < cc_train_variants(t); v++) {
        size_t evals = SIZE_MAX;
        for (size_t k = 0; k < t->options.seeds; k++) {
            const struct cc_training_result *of = cc_train_training(t, v, k, link);
            evals = of->complete ? cc_smaller(evals, of->evals) : evals;
        }
        struct cc_train_sums *sums;
        int status = CC_NEW(sums, t->options.seeds, e);
        for (size_t at = 0; at < evals && evals != SIZE_MAX && status == CC_OK; at++)
            status = add_point(t, v, at, sums, link, e);
        free(sums);
        CC_TRY(status);
    }
    return CC_OK;
}

/* All rows of a link. */
static int add_link(const struct cc_train *t, const struct cc_link *link, struct cc_error *e)
{
    const size_t schemes = t->args->schemes.count, fp32 = find_fp32(t);
    const size_t of_one = cc_train_variants(t) / t->options.consistency.how.count;
    struct summary s, base = {.complete = 0}, bulk = base;
    CC_TRY(add_evaluations(t, link, e));
    if (t->options.show == CC_SHOW_MEANS)
        CC_TRY(add_points(t, link, e));
    for (size_t i = 0; i < cc_train_variants(t); i++) {
        const size_t same = fp32 != SIZE_MAX ? i - i % schemes + fp32 : SIZE_MAX;
        const size_t best = fp32 != SIZE_MAX ? find_best(t, same) : SIZE_MAX;
        if (i % schemes == 0 && same != SIZE_MAX)
            CC_TRY(summarize(t, same, same, best, link, &base, e));
        const bool compares = same != SIZE_MAX && of_one > 0 && of_one < cc_train_variants(t) &&
                              t->options.consistency.how.item[0] == CC_BULK;
        if (i % schemes == 0 && compares)
            CC_TRY(summarize(t, same % of_one, same, best, link, &bulk, e));
        CC_TRY(summarize(t, i, same, best, link, &s, e));
        /* Interrupted: a variant that is not complete has no summary. */
        if (s.complete + s.diverged + s.ended == t->options.seeds)
            CC_TRY(add_summary(t, i, link, &s, &base, &bulk, e));
    }
    return CC_OK;
}

int cc_train_rows(const struct cc_train *t, struct cc_error *e)
{
    for (size_t i = 0; i < t->options.links; i++)
        CC_TRY(add_link(t, &t->options.link[i], e));
    return t->options.links == 0 ? add_link(t, NULL, e) : CC_OK;
}
