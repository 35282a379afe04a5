/* The slowest worker's clock is kept up to date as clocks advance, with the number of workers that
 * are as slow; ages are counted in a list, from which means and quantiles follow. */
#include "netsim/exchange/pack/clocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/reduce.h"

int cc_clocks_open(struct cc_clocks *c, const struct cc_job_consistency *config, size_t workers,
                   struct cc_error *e)
{
    *c = (struct cc_clocks){.bound = cc_consistency_lead(config->how, config->staleness),
                            .workers = workers,
                            .at_slowest = workers};
    CC_TRY(CC_NEW(c->clock, workers, e));
    return CC_NEW(c->read, workers, e);
}

void cc_clocks_close(struct cc_clocks *c)
{
    free(c->clock);
    free(c->read);
    *c = (struct cc_clocks){0};
}

static void find_slowest(struct cc_clocks *c)
{
    c->slowest = UINT64_MAX;
    for (size_t i = 0; i < c->workers; i++) {
        if (c->clock[i] < c->slowest) {
            c->slowest = c->clock[i];
            c->at_slowest = 0;
        }
        c->at_slowest += c->clock[i] == c->slowest;
    }
}

int cc_clocks_advance(struct cc_clocks *c, size_t worker, uint64_t step, struct cc_error *e)
{
    if (step != c->clock[worker])
        return cc_fail(e, "worker %zu has sent step %llu, and its next one is %llu", worker,
                       (unsigned long long)step, (unsigned long long)c->clock[worker]);
    if (c->clock[worker]++ == c->slowest && --c->at_slowest == 0)
        find_slowest(c);
    return CC_OK;
}

uint64_t cc_clocks_update(struct cc_clocks *c, size_t worker)
{
    return c->updates++ - c->read[worker];
}

bool cc_clocks_may_read(const struct cc_clocks *c, size_t worker)
{
    return c->clock[worker] - c->slowest <= c->bound;
}

void cc_clocks_read(struct cc_clocks *c, size_t worker)
{
    c->read[worker] = c->updates;
}

/* --- workers that do not push in every step --- */

void cc_withheld_add(struct cc_withheld *h, const float *gradient, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h->sum[i] += gradient[i];
    h->norms += sqrt(k_reduce()->sum_sq(gradient, n));
    h->gradients++;
}

void cc_withheld_forget(struct cc_withheld *h, size_t n)
{
    memset(h->sum, 0, n * sizeof *h->sum);
    h->norms = 0;
    h->gradients = 0;
}

bool cc_withheld_has_grown(const struct cc_withheld *h, const struct cc_job_consistency *config,
                           size_t n)
{
    return config->communicate == CC_AT_NORM &&
           sqrt(k_reduce()->sum_sq(h->sum, n)) * (double)h->gradients >= config->growth * h->norms;
}

bool cc_withheld_at_bound(const struct cc_job_consistency *config, uint64_t clock, uint64_t slowest)
{
    return clock + 1 > slowest &&
           clock + 1 - slowest > cc_consistency_lead(config->how, config->staleness);
}

/* --- ages --- */

void cc_ages_add(uint64_t *age, uint64_t staleness)
{
    age[staleness < CC_CLOCKS_AGES ? staleness : CC_CLOCKS_AGES - 1]++;
}

static uint64_t count(const uint64_t *age)
{
    uint64_t all = 0;
    for (size_t i = 0; i < CC_CLOCKS_AGES; i++)
        all += age[i];
    return all;
}

double cc_ages_mean(const uint64_t *age)
{
    const uint64_t all = count(age);
    double sum = 0;
    for (size_t i = 0; i < CC_CLOCKS_AGES; i++)
        sum += (double)i * (double)age[i];
    return all > 0 ? sum / (double)all : 0;
}

double cc_ages_quantile(const uint64_t *age, double q)
{
    const double wanted = q * (double)count(age);
    double have = (double)age[0];
    size_t i = 0;
    while (have < wanted && i + 1 < CC_CLOCKS_AGES)
        have += (double)age[++i];
    return (double)i;
}
