/* Parameter servers over MPI against plain codec calls by one process: the model of every worker
 * after every step, the bytes that were encoded and those that were sent. Run by tests/mpi.sh under
 * mpirun: with n ranks, 1 to 4 of them serve and the others work.
 *
 * Several messages go at once, and step follows step without a barrier. */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/mpi/exchange/exchange.h"
#include "tests/lib/data.h"
#include "tests/lib/jobs.h"
#include "tests/lib/settings.h"
#include "tests/mpi/rest.h"

enum { MOST_MESSAGES = 8, MOST_TENSORS = 16, MOST_RANKS = 32, STEPS = 4, MOST_WORKERS = 9 };

enum layout { SPLIT, WHOLE, MIXED, LAYOUTS };
static const char *const layouts[] = {"split", "whole", "mixed"};

/* Counts of one rank in one step. */
struct counts {
    uint64_t payload, messages, tensor[MOST_TENSORS];
};

struct trial {
    const char *setting;
    enum layout layout;
    MPI_Comm comm;
    int rank;
    struct cc_job job;
    struct cc_job_row row;
    struct cc_job_message message[MOST_MESSAGES];
    struct cc_spec *spec, *raw;
    size_t values;
    float *after; /* the model after each step */
    struct counts counts[STEPS];
    uint64_t head[STEPS], sent[STEPS];
};

static void die(const struct trial *t, const char *what)
{
    fprintf(stderr, "rank %d, %d workers, %d servers, %s, %s: %s\n", t->rank, t->job.workers,
            t->job.servers, t->setting, layouts[t->layout], what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void *room(const struct trial *t, size_t bytes)
{
    void *p = cc_alloc0(bytes, NULL);
    if (p == NULL)
        die(t, "no memory");
    return p;
}

static void fail_on(const struct trial *t, int status, const struct cc_error *e)
{
    if (status != CC_OK)
        die(t, e->text);
}

/* --- the job --- */

static void add_message(struct trial *t, size_t first, size_t last)
{
    t->message[t->row.messages++] = (struct cc_job_message){first, last};
}

static void lay_out(struct trial *t)
{
    const struct cc_shape matrix = {.n = 12 * 15, .dim = {12, 15}, .ndim = 2};
    jobs_add_flat(&t->job, 700, false);
    jobs_add_flat(&t->job, 0, false);
    jobs_add_flat(&t->job, 30, true);
    jobs_add(&t->job, &matrix, false);
    jobs_add_flat(&t->job, 5777, false);
    jobs_add_flat(&t->job, 9, true);
    jobs_add_flat(&t->job, 2049, false);
    jobs_add_flat(&t->job, 1, false);
    add_message(t, 7, 7);
    add_message(t, 3, 6);
    add_message(t, 2, 2);
    add_message(t, 0, 1);
    for (size_t i = 0; i < t->job.tensors; i++) {
        const int whole = (int)((i * 7 + 2) % (size_t)t->job.servers);
        t->job.tensor[i].server =
            t->layout == SPLIT || (t->layout == MIXED && i % 3 != 0) ? -1 : whole;
    }
}

static void open_trial(struct trial *t)
{
    t->spec = setting_open(t->setting);
    t->raw = setting_open("fp32");
    t->row.period = cc_period(t->spec->scheme, t->spec->params);
    t->row.message = t->message;
    t->job.seed = 42;
    t->job.rendezvous = true;
    lay_out(t);
    t->values = cc_job_values(&t->job);
    t->after = room(t, STEPS * t->values * sizeof *t->after);
}

static void close_trial(struct trial *t)
{
    free(t->after);
    cc_spec_free(t->spec);
    cc_spec_free(t->raw);
    jobs_free(&t->job);
}

static void fill_gradient(const struct trial *t, int worker, size_t step, float *x)
{
    const enum data_kind kinds[] = {DATA_LAPLACE, DATA_MODERATE, DATA_GAUSSIAN, DATA_TIES,
                                    DATA_ZEROS};
    const enum data_kind kind = step == 0 ? DATA_LAPLACE : kinds[(step + (size_t)worker) % 5];
    data_fill(kind, 1000 * step + (uint64_t)worker, x, t->values);
}

static void fill_model(const struct trial *t, float *model)
{
    for (size_t i = 0; i < t->values; i++)
        model[i] = (float)(i % 7);
}

/* --- over MPI --- */

static struct cc_rank_state station_of(const struct trial *t, const float *gradient, float *model)
{
    return (struct cc_rank_state){.comm = t->comm,
                                  .rank = t->rank,
                                  .server = t->rank >= t->job.workers,
                                  .job = &t->job,
                                  .row = &t->row,
                                  .spec = t->spec,
                                  .raw = t->raw,
                                  .gradient = gradient,
                                  .model = model};
}

/* All messages of one step, tested in another order by each rank. */
static void run_step(const struct trial *t, struct cc_rank_state *s,
                     const struct cc_exchange_ops *x, void *const *open)
{
    struct cc_error e = {""};
    bool done[MOST_MESSAGES] = {false};
    const size_t n = t->row.messages;
    for (size_t i = 0; i < n; i++)
        fail_on(t, x->start(open[i], &e), &e);
    size_t over = 0;
    while (over < n) {
        for (size_t k = 0; k < n; k++) {
            size_t i = (k + (size_t)t->rank) % n;
            if (done[i])
                continue;
            fail_on(t, x->test(open[i], &done[i], &e), &e);
            over += done[i];
        }
        if (over < n)
            rest(s, (double)INFINITY);
    }
}

static void take_counts(struct trial *t, size_t step, struct cc_counters *counters)
{
    struct counts *c = &t->counts[step];
    *c = (struct counts){.payload = counters->payload_bytes, .messages = counters->messages};
    memcpy(c->tensor, counters->tensor_bytes, t->job.tensors * sizeof *c->tensor);
    t->head[step] = counters->head_bytes;
    t->sent[step] = counters->sent_bytes;
    memset(counters->tensor_bytes, 0, t->job.tensors * sizeof *c->tensor);
    *counters = (struct cc_counters){.tensor_bytes = counters->tensor_bytes};
}

static void run(struct trial *t)
{
    struct cc_error e = {""};
    void *open[MOST_MESSAGES];
    uint64_t tensor_bytes[MOST_TENSORS] = {0};
    float *gradient = room(t, t->values * sizeof *gradient),
          *model = room(t, t->values * sizeof *model);
    struct cc_rank_state s = station_of(t, gradient, model);
    const struct cc_exchange_ops *x = cc_exchange_ops(CC_PS);
    s.counters.tensor_bytes = tensor_bytes;
    fill_model(t, model);
    for (size_t i = 0; i < t->row.messages; i++)
        fail_on(t, x->open(&s, &t->message[i], i, &open[i], &e), &e);
    for (size_t step = 0; step < STEPS; step++) {
        if (!s.server)
            fill_gradient(t, t->rank, step, gradient);
        s.step = step;
        run_step(t, &s, x, open);
        memcpy(t->after + step * t->values, model, t->values * sizeof *model);
        take_counts(t, step, &s.counters);
    }
    for (size_t i = 0; i < t->row.messages; i++)
        x->close(open[i]);
    free(gradient);
    free(model);
}

/* --- what it should have been --- */

/* One slice of a tensor on one server, with the codecs of all ranks that encode it. */
struct kept_slice {
    struct cc_codec codec[MOST_WORKERS + 1]; /* the last: the server's */
    size_t message, tensor, begin, count;
    int server;
    uint8_t *payload;
    float *sum;
};

struct expected {
    struct kept_slice *slice;
    size_t slices;
    float *after;
    struct counts counts[MOST_RANKS][STEPS];
};

static void add_slice(const struct trial *t, struct expected *x, size_t message, int server,
                      size_t tensor, size_t begin, size_t count)
{
    const struct cc_job_tensor *of = &t->job.tensor[tensor];
    const struct cc_spec *spec = of->raw ? t->raw : t->spec;
    if (count == 0)
        return;
    struct kept_slice *s = &x->slice[x->slices++];
    *s = (struct kept_slice){
        .message = message, .server = server, .tensor = tensor, .begin = begin, .count = count};
    for (int i = 0; i <= t->job.workers; i++) {
        struct cc_codec *c = &s->codec[i];
        *c = (struct cc_codec){.scheme = spec->scheme, .params = spec->params};
        c->shape = count == of->shape.n ? of->shape : cc_shape_flat(count);
        c->state = room(t, cc_state_bytes(c));
        c->scratch = room(t, cc_scratch_bytes(c));
        cc_codec_reset(c);
    }
    s->payload = room(t, cc_bound(&s->codec[0]));
    s->sum = room(t, count * sizeof *s->sum);
}

/* A run of values that is cut over all servers, tensor by tensor: the ends of the parts lie on
 * multiples of 512 from the beginning of the run. The server that gets the first part is another
 * one for each first tensor. */
static void add_cut(const struct trial *t, struct expected *x, size_t message, size_t first,
                    size_t last)
{
    const size_t from = t->job.offset[first], n = t->job.offset[last + 1] - from;
    const size_t servers = (size_t)t->job.servers;
    for (size_t k = 0; k < servers; k++) {
        size_t begin = (n / servers * k + (k < n % servers ? k : n % servers)) / 512 * 512;
        size_t l = k + 1;
        size_t end =
            l == servers ? n : (n / servers * l + (l < n % servers ? l : n % servers)) / 512 * 512;
        for (size_t i = first; i <= last; i++) {
            size_t at = t->job.offset[i] - from, size = t->job.tensor[i].shape.n;
            size_t low = at > begin ? at : begin, high = at + size < end ? at + size : end;
            if (low < high)
                add_slice(t, x, message, (int)((k + servers - first % servers) % servers), i,
                          low - at, high - low);
        }
    }
}

static void add_slices(const struct trial *t, struct expected *x)
{
    for (size_t m = 0; m < t->row.messages; m++)
        for (size_t i = t->message[m].first, next; i <= t->message[m].last; i = next) {
            next = i + 1;
            if (t->job.tensor[i].server >= 0) {
                add_slice(t, x, m, t->job.tensor[i].server, i, 0, t->job.tensor[i].shape.n);
                continue;
            }
            while (next <= t->message[m].last && t->job.tensor[next].server < 0)
                next++;
            add_cut(t, x, m, i, next - 1);
        }
}

static bool sends(const struct trial *t, size_t message, size_t step)
{
    bool raw = false;
    for (size_t i = t->message[message].first; i <= t->message[message].last; i++)
        raw = raw || t->job.tensor[i].raw;
    return raw || (step + 1) % t->row.period == 0;
}

static struct cc_context context_of(const struct trial *t, const struct kept_slice *s, size_t step,
                                    int who)
{
    const bool server = who == t->job.workers;
    return (struct cc_context){.seed = t->job.seed,
                               .rank = server ? -1 : who,
                               .direction = server ? CC_PULL : CC_PUSH,
                               .step = step,
                               .tensor = s->tensor,
                               .offset = s->begin,
                               .name = t->job.tensor[s->tensor].name};
}

static size_t encode(const struct trial *t, struct kept_slice *s, size_t step, int who,
                     const float *x)
{
    struct cc_error e = {""};
    const struct cc_context ctx = context_of(t, s, step, who);
    size_t len;
    fail_on(t, cc_encode(&s->codec[who], &ctx, x, s->payload, cc_bound(&s->codec[who]), &len, &e),
            &e);
    return len;
}

static void count(struct counts *c, const struct kept_slice *s, size_t len)
{
    c->payload += len;
    c->tensor[s->tensor] += len;
}

/* Also in a step in which nothing is sent the server encodes the sum of nothing here: that it need
 * not do so over MPI is one of the things to be shown. */
static void expect_slice(const struct trial *t, struct expected *x, struct kept_slice *s,
                         size_t step, float *const *gradient, float *model)
{
    const int workers = t->job.workers;
    const size_t at = t->job.offset[s->tensor] + s->begin;
    const bool goes = sends(t, s->message, step);
    struct cc_error e = {""};
    memset(s->sum, 0, s->count * sizeof *s->sum);
    for (int i = 0; i < workers; i++) {
        const struct cc_context ctx = context_of(t, s, step, i);
        size_t len = encode(t, s, step, i, gradient[i] + at);
        if (!goes)
            continue;
        count(&x->counts[i][step], s, len);
        fail_on(
            t,
            cc_decode_add(&s->codec[i], &ctx, s->payload, len, (float)(1.0 / workers), s->sum, &e),
            &e);
    }
    const struct cc_context ctx = context_of(t, s, step, workers);
    size_t len = encode(t, s, step, workers, s->sum);
    if (!goes)
        return;
    count(&x->counts[workers + s->server][step], s, len);
    fail_on(t, cc_decode_add(&s->codec[workers], &ctx, s->payload, len, 1, model + at, &e), &e);
}

/* One message from each worker to each server that has any of it, and back. */
static void expect_messages(const struct trial *t, struct expected *x, size_t step)
{
    bool has[MOST_MESSAGES][MOST_RANKS] = {{false}};
    for (size_t i = 0; i < x->slices; i++)
        has[x->slice[i].message][x->slice[i].server] = true;
    for (size_t m = 0; m < t->row.messages; m++)
        for (int k = 0; k < t->job.servers && sends(t, m, step); k++)
            for (int i = 0; i < t->job.workers && has[m][k]; i++) {
                x->counts[i][step].messages++;
                x->counts[t->job.workers + k][step].messages++;
            }
}

static void expect(const struct trial *t, struct expected *x)
{
    float *gradient[MOST_WORKERS], *model = room(t, t->values * sizeof *model);
    fill_model(t, model);
    x->slice = room(t, MOST_TENSORS * (size_t)t->job.servers * sizeof *x->slice);
    add_slices(t, x);
    for (int i = 0; i < t->job.workers; i++)
        gradient[i] = room(t, t->values * sizeof *gradient[i]);
    for (size_t step = 0; step < STEPS; step++) {
        for (int i = 0; i < t->job.workers; i++)
            fill_gradient(t, i, step, gradient[i]);
        for (size_t i = 0; i < x->slices; i++)
            expect_slice(t, x, &x->slice[i], step, gradient, model);
        expect_messages(t, x, step);
        memcpy(x->after + step * t->values, model, t->values * sizeof *model);
    }
    for (int i = 0; i < t->job.workers; i++)
        free(gradient[i]);
    for (size_t i = 0; i < x->slices; i++) {
        for (int k = 0; k <= t->job.workers; k++) {
            free(x->slice[i].codec[k].state);
            free(x->slice[i].codec[k].scratch);
        }
        free(x->slice[i].payload);
        free(x->slice[i].sum);
    }
    free(x->slice);
    free(model);
}

/* --- both --- */

static bool wrong(const struct trial *t, size_t step, const char *what, double got, double want)
{
    fprintf(stderr,
            "FAILED: %s, %s, pulls %s, rank %d of %d workers and %d servers, step %zu: %s: %.9g "
            "instead of %.9g\n",
            t->setting, layouts[t->layout], t->job.pulls == CC_PULL_READY ? "ready" : "forward",
            t->rank, t->job.workers, t->job.servers, step, what, got, want);
    return false;
}

static bool values_agree(const struct trial *t, const struct expected *x, size_t step)
{
    const float *got = t->after + step * t->values, *want = x->after + step * t->values;
    for (size_t i = 0; i < t->values; i++)
        if (memcmp(&got[i], &want[i], sizeof *got) != 0) {
            char what[40];
            (void)snprintf(what, sizeof what, "value %zu", i);
            return wrong(t, step, what, (double)got[i], (double)want[i]);
        }
    return true;
}

static bool counts_agree(const struct trial *t, const struct expected *x, size_t step)
{
    const struct counts *got = &t->counts[step], *want = &x->counts[t->rank][step];
    const bool server = t->rank >= t->job.workers;
    const uint64_t copies = server ? (uint64_t)t->job.workers : 1;
    const uint64_t sent = copies * (want->payload + t->head[step]);
    if (got->payload != want->payload)
        return wrong(t, step, "payload", (double)got->payload, (double)want->payload);
    if (got->messages != want->messages)
        return wrong(t, step, "messages", (double)got->messages, (double)want->messages);
    if (t->sent[step] != sent)
        return wrong(t, step, "bytes sent", (double)t->sent[step], (double)sent);
    for (size_t i = 0; i < t->job.tensors; i++)
        if (got->tensor[i] != want->tensor[i])
            return wrong(t, step, t->job.tensor[i].name, (double)got->tensor[i],
                         (double)want->tensor[i]);
    return true;
}

/* The number of ranks that disagree with rank 0's expectation. */
static int judge(const struct trial *t, struct expected *x)
{
    int bad = 0, all = 0;
    MPI_Bcast(x->after, (int)(STEPS * t->values), MPI_FLOAT, 0, t->comm);
    MPI_Bcast(x->counts, sizeof x->counts, MPI_BYTE, 0, t->comm);
    for (size_t step = 0; step < STEPS && bad == 0; step++)
        bad = !counts_agree(t, x, step) || (t->rank < t->job.workers && !values_agree(t, x, step));
    MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, t->comm);
    return all;
}

static int attempt(MPI_Comm comm, int servers, const char *setting, enum layout layout,
                   enum cc_pulls pulls)
{
    int ranks;
    struct trial t = {.comm = comm, .setting = setting, .layout = layout};
    MPI_Comm_rank(comm, &t.rank);
    MPI_Comm_size(comm, &ranks);
    t.job.servers = servers;
    t.job.workers = ranks - servers;
    t.job.pulls = pulls;
    open_trial(&t);
    struct expected *x = room(&t, sizeof *x);
    x->after = room(&t, STEPS * t.values * sizeof *x->after);
    if (t.rank == 0)
        expect(&t, x);
    run(&t);
    int bad = judge(&t, x);
    free(x->after);
    free(x);
    close_trial(&t);
    return bad;
}

/* --- the order of pulls --- */

/* A server that looks after the first message alone sends its pull as soon as it is ready, or, if
 * pulls go forward, not before the other messages are there. */
static bool early_pull(const struct trial *t, struct cc_rank_state *s, void *first, bool *done)
{
    const struct cc_exchange_ops *x = cc_exchange_ops(CC_PS);
    struct cc_error e = {""};
    const bool ready = t->job.pulls == CC_PULL_READY;
    const double until = cc_runtime_now() + (ready ? 30 : 0.2);
    fail_on(t, x->start(first, &e), &e);
    while (s->counters.messages == 0 && cc_runtime_now() < until) {
        fail_on(t, x->test(first, done, &e), &e);
        if (s->counters.messages == 0)
            rest(s, until);
    }
    return (s->counters.messages > 0) == ready ||
           wrong(t, 0, "pulls", (double)s->counters.messages, 0);
}

/* Tests them from the first to the last; pulls that go forward leave the other way round. */
static bool ordered_pulls(const struct trial *t, struct cc_rank_state *s, void *const *open,
                          bool done)
{
    const struct cc_exchange_ops *x = cc_exchange_ops(CC_PS);
    struct cc_error e = {""};
    bool each[MOST_MESSAGES] = {done}, good = true;
    const size_t n = t->row.messages;
    size_t next = n;
    for (size_t i = 1; i < n; i++)
        fail_on(t, x->start(open[i], &e), &e);
    size_t over = done;
    while (over < n) {
        for (size_t i = 0; i < n; i++) {
            const uint64_t sent = s->counters.messages;
            if (each[i])
                continue;
            fail_on(t, x->test(open[i], &each[i], &e), &e);
            over += each[i];
            if (s->counters.messages > sent && t->job.pulls == CC_PULL_FORWARD && i != --next)
                good = wrong(t, 0, "message pulled", (double)i, (double)next);
        }
        if (over < n)
            rest(s, (double)INFINITY);
    }
    return good && (t->job.pulls == CC_PULL_READY || next == 0);
}

static int order(MPI_Comm comm, enum cc_pulls pulls)
{
    struct trial t = {.comm = comm, .setting = "fp32", .layout = SPLIT};
    struct cc_error e = {""};
    void *open[MOST_MESSAGES];
    int ranks, bad = 0;
    MPI_Comm_rank(comm, &t.rank);
    MPI_Comm_size(comm, &ranks);
    t.job.servers = 1;
    t.job.workers = ranks - 1;
    t.job.pulls = pulls;
    open_trial(&t);
    float *gradient = room(&t, t.values * sizeof *gradient),
          *model = room(&t, t.values * sizeof *model);
    struct cc_rank_state s = station_of(&t, gradient, model);
    const struct cc_exchange_ops *x = cc_exchange_ops(CC_PS);
    for (size_t i = 0; i < t.row.messages; i++)
        fail_on(&t, x->open(&s, &t.message[i], i, &open[i], &e), &e);
    MPI_Barrier(comm);
    if (s.server) {
        bool done = false;
        bad = !early_pull(&t, &s, open[0], &done);
        bad |= !ordered_pulls(&t, &s, open, done);
    } else {
        run_step(&t, &s, x, open);
    }
    for (size_t i = 0; i < t.row.messages; i++)
        x->close(open[i]);
    free(gradient);
    free(model);
    close_trial(&t);
    MPI_Bcast(&bad, 1, MPI_INT, ranks - 1, comm);
    return bad;
}

/* --- what goes wrong --- */

/* The last rank serves. Worker 0 sends what is no crate, or has a gradient that cannot be encoded.
 * In a communicator of its own: what the others have sent is never received. */
static int refusal(MPI_Comm world, bool garbage)
{
    struct trial t = {.setting = "3lc", .layout = SPLIT};
    struct cc_error e = {""};
    const char *says = garbage ? "what rank 0 sent" : "is NaN";
    int ranks, bad = 0, concerned;
    void *open;
    bool done = false;
    MPI_Comm_dup(world, &t.comm);
    MPI_Comm_rank(t.comm, &t.rank);
    MPI_Comm_size(t.comm, &ranks);
    t.job.servers = 1;
    t.job.workers = ranks - 1;
    open_trial(&t);
    float *gradient = room(&t, t.values * sizeof *gradient),
          *model = room(&t, t.values * sizeof *model);
    gradient[t.values - 1] = garbage ? 1 : NAN;
    struct cc_rank_state s = station_of(&t, gradient, model);
    const struct cc_exchange_ops *x = cc_exchange_ops(CC_PS);
    concerned = t.rank == (garbage ? ranks - 1 : 0);
    fail_on(&t, x->open(&s, &t.message[0], 0, &open, &e), &e);
    if (t.rank == 0 && garbage)
        MPI_Send("?", 1, MPI_BYTE, ranks - 1, 0, t.comm);
    if (concerned) {
        int status = x->start(open, &e);
        while (status == CC_OK && !done) {
            status = x->test(open, &done, &e);
            if (status == CC_OK && !done)
                rest(&s, (double)INFINITY);
        }
        bad = status == CC_OK || strstr(e.text, says) == NULL;
        if (bad)
            fprintf(stderr, "FAILED: \"%s\" does not say \"%s\"\n", e.text, says);
    }
    MPI_Bcast(&bad, 1, MPI_INT, garbage ? ranks - 1 : 0, t.comm);
    x->close(open);
    free(gradient);
    free(model);
    close_trial(&t);
    MPI_Comm_free(&t.comm);
    return bad;
}

/* --- all --- */

int main(int argc, char **argv)
{
    int rank, ranks, failures = 0, cases = 0;
    const char *only = argc > 1 ? argv[1] : NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const double since = MPI_Wtime();
    for (int servers = 1; servers <= 4 && servers < ranks; servers++) {
        if (ranks - servers > MOST_WORKERS)
            continue;
        for (int i = 0; settings[i] != NULL; i++, cases++) {
            const enum layout layout = (enum layout)((i + ranks) % LAYOUTS);
            const bool forward = (i + ranks + servers) % 2;
            if (only == NULL || strcmp(only, settings[i]) == 0)
                failures += attempt(MPI_COMM_WORLD, servers, settings[i], layout,
                                    forward ? CC_PULL_FORWARD : CC_PULL_READY);
        }
    }
    if (ranks <= 3) {
        failures += order(MPI_COMM_WORLD, CC_PULL_READY);
        failures += order(MPI_COMM_WORLD, CC_PULL_FORWARD);
        failures += refusal(MPI_COMM_WORLD, false);
        failures += refusal(MPI_COMM_WORLD, true);
        cases += 4;
    }
    if (rank == 0)
        printf("ps, %d ranks: %d cases, %d failures, %.1f s\n", ranks, cases, failures,
               MPI_Wtime() - since);
    MPI_Finalize();
    return failures > 0;
}
