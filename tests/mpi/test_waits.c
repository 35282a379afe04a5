/* Waits that end in time, beside messages: rank 0 waits, rank 1 sends. Run by tests/mpi.sh under
 * mpirun, where other programs may hold a rank up, and in a simulation, where times are exact,
 * by tests/sim_ranks.sh. */
#include <mpi.h>

#include <math.h>
#include <stdio.h>

#include "netsim/transport/runtime.h"

struct place {
    int rank;
    bool exact;       /* the clock */
    double latency_s; /* a message's, if it is */
    struct cc_mpi_transport mpi;
    double entered;              /* the time before the barrier that begins a round */
    struct cc_requests requests; /* two */
    long failures;
};

static void fail_on(int status, const struct cc_error *e)
{
    if (status == CC_OK)
        return;
    fprintf(stderr, "%s\n", e->text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Not sooner, and not later. */
static void check_time(struct place *p, const char *what, double span, double got, double want)
{
    if (got > want - 1e-8 && got < want + (p->exact ? 1e-8 : 5))
        return;
    fprintf(stderr, "FAILED: %s, %g s: %.9f s instead of %.9f\n", what, span, got, want);
    p->failures++;
}

static void check(struct place *p, bool right, const char *what, double span)
{
    if (right)
        return;
    fprintf(stderr, "FAILED: %s, %g s\n", what, span);
    p->failures++;
}

/* Whether request i is over by then. */
static bool over_by(struct place *p, size_t i, double until)
{
    struct cc_error e;
    const double since = cc_runtime_now();
    bool over = false;
    for (;;) {
        fail_on(cc_requests_test(&p->requests, i, &over, &e), &e);
        if (over || until - cc_runtime_now() < CC_INSTANT_S)
            return over;
        fail_on(cc_runtime_wait(&p->mpi, true, since, until, &e), &e);
    }
}

/* Waits for request i, `seconds` after `begin` at most, and ends sooner only for the message. Rank
 * 1 may have sent that by then: it leaves the barrier before rank 0 where rank 0 is held up. */
static bool wait_at_most(struct place *p, size_t i, const char *what, double span, double begin,
                         double seconds)
{
    const bool over = over_by(p, i, begin + seconds);
    check_time(p, what, span, cc_runtime_now() - begin, over ? 0 : seconds);
    return over;
}

static void receive(struct place *p, size_t i)
{
    MPI_Irecv(NULL, 0, MPI_BYTE, 1, (int)i, MPI_COMM_WORLD,
              &cc_mpi_requests(&p->requests)->request[i]);
}

/* All of it over before the other rank goes on. */
static void pass(double seconds)
{
    const double until = cc_runtime_now() + seconds;
    while (until - cc_runtime_now() >= CC_INSTANT_S)
        cc_runtime_sleep(until - cc_runtime_now());
}

/* Rank 1: one message in the middle of the span, one long after it. */
static void send_two(double span)
{
    pass(span / 2);
    MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    pass(2 * span);
    MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

/* Rank 0: to the first message, to the end of the span, to some time that is nearer than another
 * that was waited for, and however long it takes. */
static void wait_for_two(struct place *p, double span)
{
    const double begin = cc_runtime_now(), comes = span / 2 + p->latency_s;
    bool first = over_by(p, 0, begin + span);
    check(p, first == (comes < span) || !p->exact, "which was first", span);
    if (p->exact)
        check_time(p, "to the message", span, cc_runtime_now() - begin, fmin(comes, span));
    const bool second = wait_at_most(p, 1, "to the end", span, begin, span);
    check(p, !second || !p->exact, "a message before it was sent", span);
    (void)wait_at_most(p, 1, "to the end and beyond", span, begin, 1.5 * span);
    check(p, over_by(p, 1, (double)INFINITY), "a wait without end, ended", span);
    /* Rank 1 leaves the barrier after rank 0 has entered it. */
    const double from = p->exact ? begin : p->entered;
    check_time(p, "to the last message", span, cc_runtime_now() - from, 2.5 * span + p->latency_s);
    if (!first)
        check(p, over_by(p, 0, (double)INFINITY), "the first message is lost", span);
}

/* A wait that a message ended leaves its timer behind: the next one ends before that. */
static void wait_for_less(struct place *p, double span)
{
    const double begin = cc_runtime_now();
    (void)over_by(p, 0, begin + span);
    const double now = cc_runtime_now() - begin, until = fmax(now, 0.75 * span);
    const bool second = wait_at_most(p, 1, "a nearer end", span, begin, until);
    check(p, !second || !p->exact, "a message before it was sent", span);
    (void)over_by(p, 1, (double)INFINITY);
    (void)over_by(p, 0, (double)INFINITY);
}

static void round_of(struct place *p, double span, void (*waits)(struct place *, double))
{
    struct cc_error e = {""};
    if (p->rank == 0) {
        receive(p, 0);
        receive(p, 1);
    }
    p->entered = cc_runtime_now();
    fail_on(cc_runtime_barrier(MPI_COMM_WORLD, false, &e), &e);
    if (p->rank == 0)
        waits(p, span);
    else
        send_two(span);
}

/* The time of a message in a simulation. */
static void measure(struct place *p, double span)
{
    const double begin = cc_runtime_now();
    (void)over_by(p, 0, (double)INFINITY);
    p->latency_s = p->exact ? cc_runtime_now() - begin - span / 2 : 0;
    (void)over_by(p, 1, (double)INFINITY);
}

/* Both ranks begin at the same time, which is later than the later one was ready; and sleeping is
 * no work. */
static void begin_together(struct place *p)
{
    struct cc_error e;
    double at, earliest, latest;
    pass(p->rank == 0 ? 0 : 0.02);
    const double ready = cc_runtime_now();
    fail_on(cc_runtime_begin(MPI_COMM_WORLD, true, 2e-3, &at, &e), &e);
    check(p, cc_runtime_now() >= at && at >= ready, "begins before the others are ready", 0.02);
    MPI_Allreduce(&at, &earliest, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&at, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    check(p, earliest == latest, "ranks begin at different times", latest - earliest);
    const struct cc_work_timer since = cc_runtime_work_begin(SIZE_MAX);
    pass(0.02);
    const double took = cc_runtime_work_took(since, cc_runtime_work_end(since, 0));
    check(p, p->exact ? took > 0.019 : took < 0.015, "time of work", took);
}

int main(int argc, char **argv)
{
    static const double spans[] = {2e-7, 1e-6, 1e-5, 1.23e-4, 0.01, 0.2, 7};
    struct place p = {.exact = cc_runtime_scratch() != NULL};
    struct cc_error e = {""};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    p.mpi = cc_mpi_transport(MPI_COMM_WORLD);
    fail_on(cc_waits_open(&p.mpi, &e), &e);
    fail_on(cc_requests_open(&p.mpi.end, 2, &p.requests, &e), &e);
    round_of(&p, 0.01, measure);
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        if (p.exact || spans[i] < 1) {
            round_of(&p, spans[i], wait_for_two);
            round_of(&p, spans[i], wait_for_less);
        }
    begin_together(&p);
    cc_requests_close(&p.requests);
    cc_waits_close(&p.mpi);
    if (p.rank == 0)
        printf("waits: %ld failures\n", p.failures);
    MPI_Finalize();
    return p.failures > 0;
}
