/* Several threads at work: with one codec of every setting, where each call gives what one thread
 * gets or an error, and with codecs of their own. `make tsan` runs this under ThreadSanitizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binding/commcomp.h"
#include "tests/binding/handles.h"
#include "tests/lib/data.h"
#include "tests/lib/settings.h"
#include "tests/lib/tier.h"

/* Every setting of tests/lib/settings.c sends in this step. */
enum { STEP = 5, THREADS = 4 };

static void run_threads(size_t count, void *(*work)(void *), void *arg)
{
    pthread_t thread[THREADS];
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work, arg), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
}

/* --- four threads at once --- */

struct payload {
    size_t bytes;
    uint8_t *data;
};

/* One codec for all: each thread encodes until `encodes` payloads are there, and decodes meanwhile.
 */
struct shared {
    struct commcomp_codec *codec;
    const char *setting;
    const float *x;
    size_t n, bound, encodes;
    struct payload *encoded, first;
    const float *decoded; /* of the first */
    atomic_size_t next, refused, wrong, failed;
};

/* Whether the call has worked; counts why it has not. */
static bool worked(struct shared *s, int status, const char *error)
{
    if (status == COMMCOMP_OK)
        return true;
    if (strstr(error, "is in use by another thread") != NULL) {
        if (atomic_fetch_add(&s->refused, 1) == 100000000) /* nobody ends */
            atomic_fetch_add(&s->failed, 1);
        (void)sched_yield();
    } else if (atomic_fetch_add(&s->failed, 1) == 0) {
        fprintf(stderr, "%s: %s\n", s->setting, error);
    }
    return false;
}

static void *use_shared(void *arg)
{
    struct shared *s = arg;
    char error[COMMCOMP_ERROR_BYTES];
    float *y = memory(s->n * sizeof *y);
    size_t i;
    while ((i = atomic_fetch_add(&s->next, 1)) < s->encodes) {
        struct payload *p = &s->encoded[i];
        while (!worked(s,
                       commcomp_encode(s->codec, STEP, s->x, p->data, s->bound, &p->bytes, error),
                       error) &&
               atomic_load(&s->failed) == 0)
            ;
        if (worked(s, commcomp_decode(s->codec, STEP, s->first.data, s->first.bytes, y, error),
                   error) &&
            memcmp(y, s->decoded, s->n * sizeof *y) != 0)
            atomic_fetch_add(&s->wrong, 1);
    }
    free(y);
    return NULL;
}

static int by_contents(const void *a, const void *b)
{
    const struct payload *p = a, *q = b;
    if (p->bytes != q->bytes)
        return p->bytes < q->bytes ? -1 : 1;
    return memcmp(p->data, q->data, p->bytes);
}

static struct payload *payloads(size_t count, size_t bound)
{
    struct payload *p = memory(count * sizeof *p);
    for (size_t i = 0; i < count; i++)
        p[i] = (struct payload){.data = memory(bound)};
    return p;
}

static void payloads_free(struct payload *p, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(p[i].data);
    free(p);
}

/* The payloads are those of one thread that encodes as often, in any order; returns how often the
 * codec was in use. */
static size_t share(const char *setting, size_t rows, size_t columns)
{
    const size_t n = rows * columns, encodes = tier_pick(24, 24, 60);
    struct commcomp_codec *alone = codec_of(setting, rows, columns);
    const size_t bound = commcomp_codec_bound(alone);
    struct payload *want = payloads(encodes, bound);
    float *x = gradient(n), *decoded = memory(n * sizeof *decoded);
    char error[COMMCOMP_ERROR_BYTES];
    for (size_t i = 0; i < encodes; i++)
        assert_int_equal(
            commcomp_encode(alone, STEP, x, want[i].data, bound, &want[i].bytes, error),
            COMMCOMP_OK);
    struct payload first = {.bytes = want[0].bytes, .data = memory(bound)};
    memcpy(first.data, want[0].data, first.bytes);
    assert_int_equal(commcomp_decode(alone, STEP, first.data, first.bytes, decoded, error),
                     COMMCOMP_OK);
    struct shared s = {.codec = codec_of(setting, rows, columns),
                       .setting = setting,
                       .x = x,
                       .n = n,
                       .bound = bound,
                       .encodes = encodes,
                       .encoded = payloads(encodes, bound),
                       .first = first,
                       .decoded = decoded};
    run_threads(THREADS, use_shared, &s);
    if (s.wrong != 0 || s.failed != 0)
        fail_msg("%s: %zu wrong values, %zu other errors", setting, (size_t)s.wrong,
                 (size_t)s.failed);
    qsort(want, encodes, sizeof *want, by_contents);
    qsort(s.encoded, encodes, sizeof *want, by_contents);
    for (size_t i = 0; i < encodes; i++)
        if (by_contents(&want[i], &s.encoded[i]) != 0)
            fail_msg("%s: a payload that one thread does not write", setting);
    commcomp_codec_free(s.codec);
    commcomp_codec_free(alone);
    payloads_free(want, encodes);
    payloads_free(s.encoded, encodes);
    free(first.data);
    free(decoded);
    free(x);
    return s.refused;
}

static void one_codec_gives_errors_but_nothing_wrong(void **state)
{
    (void)state;
    size_t refused = 0;
    for (const char *const *setting = settings; *setting != NULL; setting++)
        refused += share(*setting, 64, 200);
    assert_true(refused > 0);
}

/* A codec for each thread, each call of which uses two threads. */
struct apart {
    const char *setting;
    size_t rows, columns;
    const float *x, *decoded;
    const struct payload *want;
    atomic_size_t wrong;
};

static void *use_own(void *arg)
{
    struct apart *s = arg;
    const size_t n = s->rows * s->columns, dims[] = {s->rows, s->columns};
    struct commcomp_codec *c = NULL;
    char error[COMMCOMP_ERROR_BYTES];
    float *y = memory(n * sizeof *y);
    if (commcomp_codec_new(s->setting, dims, 2, &c, error) != COMMCOMP_OK ||
        commcomp_codec_threads(c, 2, error) != COMMCOMP_OK) {
        atomic_fetch_add(&s->wrong, 1);
    } else {
        const size_t bound = commcomp_codec_bound(c);
        struct payload got = {.data = memory(bound)};
        if (commcomp_encode(c, STEP, s->x, got.data, bound, &got.bytes, error) != COMMCOMP_OK ||
            by_contents(&got, s->want) != 0 ||
            commcomp_decode(c, STEP, got.data, got.bytes, y, error) != COMMCOMP_OK ||
            memcmp(y, s->decoded, n * sizeof *y) != 0)
            atomic_fetch_add(&s->wrong, 1);
        free(got.data);
    }
    commcomp_codec_free(c);
    free(y);
    return NULL;
}

static void codecs_of_their_own_work_at_once(void **state)
{
    (void)state;
    const size_t rows = 512, columns = 260, n = rows * columns;
    float *x = gradient(n), *decoded = memory(n * sizeof *decoded);
    char error[COMMCOMP_ERROR_BYTES];
    for (const char *const *setting = settings; *setting != NULL; setting++) {
        struct commcomp_codec *c = codec_of(*setting, rows, columns);
        const size_t bound = commcomp_codec_bound(c);
        struct payload want = {.data = memory(bound)};
        assert_int_equal(commcomp_encode(c, STEP, x, want.data, bound, &want.bytes, error),
                         COMMCOMP_OK);
        assert_int_equal(commcomp_decode(c, STEP, want.data, want.bytes, decoded, error),
                         COMMCOMP_OK);
        struct apart s = {.setting = *setting,
                          .rows = rows,
                          .columns = columns,
                          .x = x,
                          .decoded = decoded,
                          .want = &want};
        run_threads(THREADS, use_own, &s);
        if (s.wrong != 0)
            fail_msg("%s: %zu of %d threads get something else", *setting, (size_t)s.wrong,
                     (int)THREADS);
        commcomp_codec_free(c);
        free(want.data);
    }
    free(decoded);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_codec_gives_errors_but_nothing_wrong),
        cmocka_unit_test(codecs_of_their_own_work_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
