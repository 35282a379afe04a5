/* Error feedback over exchanges that encode sums: nothing is lost. After every step, what the model
 * has had applied and what remains in the residuals of all encoders, workers' and owners' of sums,
 * is what the workers' gradients have added up to, also where stages have schemes of their own. In
 * one process, with schemes whose state is the residual alone; for odd sizes, 1 to 7 workers, and
 * messages with more workers than values. */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "netsim/inprocess/inprocess.h"
#include "tests/lib/data.h"
#include "tests/lib/jobs.h"
#include "tests/lib/settings.h"

static int parts = 1; /* of a message */
static enum cc_stage_exchange inside, between;

enum { STEPS = 5, MOST_WORKERS = 7, VALUES = 3 * 512 + 77 };

static int cases, failures;

/* Adds the residuals of all ranks to the flat step; false if a state is something else. */
static bool add_residuals(const struct cc_inprocess *x, const struct cc_job *job, double *sum)
{
    struct cc_pack_state s;
    for (int rank = 0; rank < job->workers; rank++) {
        const struct cc_pack_list *l = cc_inprocess_packs(x, rank);
        for (size_t k = 0; k < l->count; k++)
            for (size_t i = 0; cc_pack_state(l->pack[k], i, &s); i++) {
                if (s.count != s.slice.count)
                    return false;
                for (size_t j = 0; j < s.count; j++)
                    sum[job->offset[s.slice.tensor] + s.slice.begin + j] += (double)s.value[j];
            }
    }
    return true;
}

static void fail(const char *scheme, const struct cc_job *job, size_t step, const char *what)
{
    printf("FAILED: %s%s%s%s%s over %s, %d workers, %d a host, %d parts, step %zu: %s\n", scheme,
           job->gather != NULL ? ", sums " : "", job->gather != NULL ? job->gather : "",
           job->intra_scheme != NULL ? ", inside " : "",
           job->intra_scheme != NULL ? job->intra_scheme : "", cc_exchange_names[job->exchange],
           job->workers, job->per_host, parts, step, what);
    failures++;
}

/* How far the sum is off, relative to the largest sum of gradients. */
static double off_by(const struct cc_job *job, const float *model, const double *residual,
                     const double *computed)
{
    double most = 0, off = 0;
    for (size_t i = 0; i < cc_job_values(job); i++) {
        off = fmax(off, fabs(job->workers * (double)model[i] + residual[i] - computed[i]));
        most = fmax(most, fabs(computed[i]));
    }
    return off / most;
}

static void attempt(const char *scheme, char *gather, char *inner, enum cc_exchange exchange,
                    int workers, int per_host)
{
    struct cc_job job = {.exchange = exchange,
                         .workers = workers,
                         .seed = 7,
                         .dense_bits = 32,
                         .gather = gather,
                         .intra_scheme = inner,
                         .parts = parts,
                         .inner_exchange = inside,
                         .outer_exchange = between,
                         .per_host = per_host};
    struct cc_error e = {""};
    struct cc_inprocess *x = NULL;
    struct cc_message message[] = {{1, 2}, {0, 0}};
    struct cc_spec *spec = setting_open(scheme), *raw = setting_open("fp32");
    struct cc_job_row row = {.scheme = (char *)(uintptr_t)scheme,
                             .reduction = CC_REDUCE_DECODED,
                             .period = 1,
                             .message = message,
                             .messages = sizeof message / sizeof *message};
    const struct cc_inprocess_config config = {.job = &job, .row = &row, .spec = spec, .raw = raw};
    jobs_add_flat(&job, VALUES, false);
    jobs_add_flat(&job, 3, false);
    jobs_add_flat(&job, 1, false);
    const size_t values = cc_job_values(&job);
    float *gradient[MOST_WORKERS], *model = calloc(values, sizeof *model);
    double *computed = calloc(values, sizeof *computed);
    for (int i = 0; i < workers; i++)
        gradient[i] = calloc(values, sizeof(float));
    if (cc_inprocess_open(&config, &x, &e) != CC_OK)
        fail(scheme, &job, 0, e.text);
    for (size_t step = 0; step < STEPS && x != NULL; step++) {
        struct cc_inprocess_step sent;
        double *residual = calloc(values, sizeof *residual);
        for (int i = 0; i < workers; i++) {
            data_fill(DATA_LAPLACE, 100 * step + (uint64_t)i, gradient[i], values);
            for (size_t k = 0; k < values; k++)
                computed[k] += (double)gradient[i][k];
        }
        if (cc_inprocess_exchange(x, step, (const float *const *)gradient, model, &sent, &e) !=
            CC_OK)
            fail(scheme, &job, step, e.text);
        else if (!add_residuals(x, &job, residual))
            fail(scheme, &job, step, "a state is not a residual");
        else if (!(off_by(&job, model, residual, computed) < 1e-5))
            fail(scheme, &job, step, "something is lost");
        free(residual);
    }
    cases++;
    cc_inprocess_close(x);
    for (int i = 0; i < workers; i++)
        free(gradient[i]);
    free(model);
    free(computed);
    cc_spec_free(spec);
    cc_spec_free(raw);
    jobs_free(&job);
}

int main(int argc, char **argv)
{
    static const char *const schemes[] = {"3lc", "efsign", "topk:k=5,bucket=64"};
    static char other[] = "3lc:s=1.5", third[] = "topk:k=9,bucket=128";
    MPI_Init(&argc, &argv); /* what the tests are linked with asks for it */
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        for (int workers = 1; workers <= MOST_WORKERS; workers++) {
            parts = 1 + workers % 3 * 2;
            attempt(schemes[i], NULL, NULL, CC_RING, workers, 1);
            attempt(schemes[i], NULL, NULL, CC_TWOSHOT, workers, 1);
            attempt(schemes[i], other, NULL, CC_TWOSHOT, workers, 1);
            attempt(schemes[i], NULL, NULL, CC_TREE, workers, workers % 2 == 0 ? 2 : 1);
            for (int per_host = 1; per_host <= workers; per_host++) {
                if (workers % per_host != 0)
                    continue;
                attempt(schemes[i], per_host > 1 ? NULL : other, NULL, CC_HIERARCHICAL, workers,
                        per_host);
                attempt(schemes[i], NULL, third, CC_HIERARCHICAL, workers, per_host);
                attempt(schemes[i], other, third, CC_HIERARCHICAL, workers, per_host);
                parts = parts == 1 ? 2 : 1;
                attempt(schemes[i], NULL, third, CC_HIERARCHICAL, workers, per_host);
                for (int ring = 1; ring < 4; ring++) {
                    inside = ring % 2 == 1 ? CC_STAGE_RING : CC_STAGE_DIRECT;
                    between = ring >= 2 ? CC_STAGE_RING : CC_STAGE_DIRECT;
                    attempt(schemes[i], other, third, CC_HIERARCHICAL, workers, per_host);
                }
                inside = between = CC_STAGE_DIRECT;
            }
        }
    printf("conserved: %d cases, %d failed\n", cases, failures);
    MPI_Finalize();
    return failures > 0;
}
