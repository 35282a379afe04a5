/* timed: a plugin that takes a known time for each value, so that a clock outside of commcomp says
 * what its speeds are. The payload is the values as they are.
 *
 * A call takes encode, decode or add picoseconds for each value; with pattern=1 times a factor of
 * the tables below, the next one in each call, so that any nine calls in a row have all nine.
 * With clock.c preloaded the time passes at once, by that clock. Without it, sleep=0 waits busily
 * for the processor time of the calling thread, and sleep=1 sleeps until the time has come, so that
 * a thread needs no processor. */
#include <dlfcn.h>
#include <time.h>

#include "floats.h"

struct params {
    int64_t encode, decode, add, pattern, sleep;
};
#define PICOSECONDS(name)                                                                          \
    CC_PARAM_INT(struct params, name, 1000, 1, 1000000, "ps", "time of a value in " #name)
static const struct cc_param table[] = {
    PICOSECONDS(encode),
    PICOSECONDS(decode),
    PICOSECONDS(add),
    CC_PARAM_INT(struct params, pattern, 0, 0, 1, "", "whether calls take turns in their times"),
    CC_PARAM_INT(struct params, sleep, 0, 0, 1, "", "whether time passes asleep"),
    {.name = NULL}};

enum { ENCODE, DECODE, ADD, CALLS };
static const int factor[CALLS][9] = {
    {3, 7, 1, 9, 5, 2, 8, 6, 4}, {6, 20, 2, 14, 5, 3, 18, 10, 4}, {8, 1, 20, 2, 16, 4, 1, 8, 2}};

static int64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return 1000000000 * (int64_t)t.tv_sec + t.tv_nsec;
}

/* The nanoseconds that the next call should take. */
static int64_t length_of(const struct cc_codec *c, int call, int64_t picoseconds)
{
    static unsigned turn[CALLS];
    const struct params *p = c->params;
    const int64_t times = p->pattern != 0 ? factor[call][turn[call]++ % 9] : 1;
    return (int64_t)c->shape.n * picoseconds * times / 1000;
}

/* The clock of the calls; to be read before the work of a call. */
static int64_t begin(const struct cc_codec *c)
{
    const struct params *p = c->params;
    return now(p->sleep != 0 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID);
}

/* Returns when a call that began then has taken so long. */
static void pass(const struct cc_codec *c, int64_t began, int64_t nanoseconds)
{
    void (*advance)(int64_t) = NULL;
    *(void **)&advance = dlsym(RTLD_DEFAULT, "witness_advance");
    if (advance != NULL) {
        advance(nanoseconds);
        return;
    }
    const struct params *p = c->params;
    const int64_t end = began + nanoseconds;
    if (p->sleep != 0) {
        const struct timespec at = {.tv_sec = end / 1000000000, .tv_nsec = end % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0)
            ;
        return;
    }
    while (now(CLOCK_THREAD_CPUTIME_ID) < end)
        ;
}

static struct cc_traffic traffic(const void *p)
{
    return (void)p, cc_traffic_one(0);
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x,
                  uint8_t *out, size_t cap, size_t *len, struct cc_error *e)
{
    const int64_t began = begin(c);
    float sum = 0;
    for (size_t i = 0; i < c->shape.n; i++)
        sum += x[i] - x[i]; /* NaN of one that is not finite */
    if (sum != 0)
        return cc_refuse(ctx, x, NULL, c->shape.n, e);
    *len = 4 * c->shape.n;
    memcpy(out, x, *len);
    pass(c, began, length_of(c, ENCODE, ((const struct params *)c->params)->encode));
    return (void)cap, CC_OK;
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in,
                  size_t len, const float *scale, float *y, struct cc_error *e)
{
    const struct params *p = c->params;
    const int64_t began = begin(c);
    CC_TRY(floats_decode(c, in, len, scale, y, e));
    pass(c, began, scale == NULL ? length_of(c, DECODE, p->decode) : length_of(c, ADD, p->add));
    return (void)ctx, CC_OK;
}

static const struct cc_scheme timed = {.id = "timed",
                                       .title = "floats in a known time",
                                       .reference = "tests/witness/bench.sh",
                                       .layout = "f32 of the values",
                                       .kind = CC_OPAQUE,
                                       .params = table,
                                       .params_bytes = sizeof(struct params),
                                       .bound = floats_bound,
                                       .traffic = traffic,
                                       .encode = encode,
                                       .decode = decode};
CC_PLUGIN(timed)
