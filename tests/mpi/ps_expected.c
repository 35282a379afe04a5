/* Each tensor is cut into slices as servers share them; every slice has a codec for each worker and
 * one for the server. A step encodes the workers' gradients, adds them up, encodes the sum and adds
 * it to the model, and counts what each rank sends. */
#include "tests/mpi/ps_expected.h"

#include <stdlib.h>
#include <string.h>

/* One slice of a tensor on one server, with the codecs of all ranks that encode it. */
struct ps_kept_slice {
    struct cc_codec codec[MOST_WORKERS + 1]; /* the last: the server's */
    size_t message, tensor, begin, count;
    int server;
    uint8_t *payload;
    float *sum;
};

static void add_slice(const struct ps_trial *t, struct ps_expected *x, size_t message, int server,
                      size_t tensor, size_t begin, size_t count)
{
    const struct cc_job_tensor *of = &t->job.tensor[tensor];
    const struct cc_spec *spec = of->raw ? t->raw : t->spec;
    if (count == 0)
        return;
    struct ps_kept_slice *s = &x->slice[x->slices++];
    *s = (struct ps_kept_slice){
        .message = message, .server = server, .tensor = tensor, .begin = begin, .count = count};
    for (int i = 0; i <= t->job.workers; i++) {
        struct cc_codec *c = &s->codec[i];
        *c = (struct cc_codec){.scheme = spec->scheme, .params = spec->params};
        c->shape = count == of->shape.n ? of->shape : cc_shape_flat(count);
        c->state = ps_room(t, cc_state_bytes(c));
        c->scratch = ps_room(t, cc_scratch_bytes(c));
        cc_codec_reset(c);
    }
    s->payload = ps_room(t, cc_bound(&s->codec[0]));
    s->sum = ps_room(t, count * sizeof *s->sum);
}

/* A run of values that is cut over all servers, tensor by tensor: the ends of the parts lie on
 * multiples of 512 from the beginning of the run. The server that gets the first part is another
 * one for each first tensor. */
static void add_cut(const struct ps_trial *t, struct ps_expected *x, size_t message, size_t first,
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

static void add_slices(const struct ps_trial *t, struct ps_expected *x)
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

static bool sends(const struct ps_trial *t, size_t message, size_t step)
{
    bool raw = false;
    for (size_t i = t->message[message].first; i <= t->message[message].last; i++)
        raw = raw || t->job.tensor[i].raw;
    return raw || (step + 1) % t->row.period == 0;
}

static struct cc_context context_of(const struct ps_trial *t, const struct ps_kept_slice *s,
                                    size_t step, int who)
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

static size_t encode(const struct ps_trial *t, struct ps_kept_slice *s, size_t step, int who,
                     const float *x)
{
    struct cc_error e = {""};
    const struct cc_context ctx = context_of(t, s, step, who);
    size_t len;
    ps_fail_on(
        t, cc_encode(&s->codec[who], &ctx, x, s->payload, cc_bound(&s->codec[who]), &len, &e), &e);
    return len;
}

static void count(struct ps_counts *c, const struct ps_kept_slice *s, size_t len)
{
    c->payload += len;
    c->tensor[s->tensor] += len;
}

/* Also in a step in which nothing is sent the server encodes the sum of nothing here: that it need
 * not do so over MPI is one of the things to be shown. */
static void expect_slice(const struct ps_trial *t, struct ps_expected *x, struct ps_kept_slice *s,
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
        ps_fail_on(
            t,
            cc_decode_add(&s->codec[i], &ctx, s->payload, len, (float)(1.0 / workers), s->sum, &e),
            &e);
    }
    const struct cc_context ctx = context_of(t, s, step, workers);
    size_t len = encode(t, s, step, workers, s->sum);
    if (!goes)
        return;
    count(&x->counts[workers + s->server][step], s, len);
    ps_fail_on(t, cc_decode_add(&s->codec[workers], &ctx, s->payload, len, 1, model + at, &e), &e);
}

/* One message from each worker to each server that has any of it, and back. */
static void expect_messages(const struct ps_trial *t, struct ps_expected *x, size_t step)
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

void ps_expect(const struct ps_trial *t, struct ps_expected *x)
{
    float *gradient[MOST_WORKERS], *model = ps_room(t, t->values * sizeof *model);
    ps_model(t, model);
    x->slice = ps_room(t, MOST_TENSORS * (size_t)t->job.servers * sizeof *x->slice);
    add_slices(t, x);
    for (int i = 0; i < t->job.workers; i++)
        gradient[i] = ps_room(t, t->values * sizeof *gradient[i]);
    for (size_t step = 0; step < STEPS; step++) {
        for (int i = 0; i < t->job.workers; i++)
            ps_gradient(t, i, step, gradient[i]);
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
