/* A handle that one thread uses refuses the calls of others, and neither the call that it is in nor
 * its state notices. To see this at any speed, a thread is stopped within a call, by memory that it
 * may not touch yet, while another one tries every call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "binding/commcomp.h"
#include "tests/binding/handles.h"
#include "tests/lib/data.h"
#include "tests/lib/scratch.h"
#include "tests/lib/settings.h"
#include "tests/lib/text.h"

/* Every setting of tests/lib/settings.c sends in this step. */
enum { STEP = 5 };

/* --- a thread that stops within a call --- */

/* Memory that stops the thread that touches it until it may. */
enum { BARRED_BYTES = 1 << 16 };
static uint8_t *barred;
static atomic_bool stopped, may;

static void pause_ms(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void stop(int sig, siginfo_t *info, void *context)
{
    (void)context;
    const uintptr_t at = (uintptr_t)info->si_addr, begin = (uintptr_t)barred;
    if (at < begin || at >= begin + BARRED_BYTES) {
        (void)signal(sig, SIG_DFL); /* a fault of the code */
        return;
    }
    atomic_store(&stopped, true);
    while (!atomic_load(&may))
        pause_ms();
    (void)mprotect(barred, BARRED_BYTES, PROT_READ | PROT_WRITE);
}

/* The arrays of a caller, for a tensor of 6 x 10 values. */
enum { ROWS = 6, COLUMNS = 10, N = ROWS * COLUMNS, ROOM = 4096 };

struct arrays {
    float *x, *y;
    uint8_t *payload, *floats, *state;
    size_t payload_bytes, floats_bytes, state_bytes;
    char error[COMMCOMP_ERROR_BYTES];
};

static int call_encode(struct commcomp_codec *c, struct arrays *a)
{
    return commcomp_encode(c, STEP, a->x, a->payload, ROOM, &a->payload_bytes, a->error);
}

static int call_decode(struct commcomp_codec *c, struct arrays *a)
{
    return commcomp_decode(c, STEP, a->payload, a->payload_bytes, a->y, a->error);
}

static int call_decode_add(struct commcomp_codec *c, struct arrays *a)
{
    return commcomp_decode_add(c, STEP, a->payload, a->payload_bytes, 0.5f, a->y, a->error);
}

static int call_encode_round(struct commcomp_codec *c, struct arrays *a)
{
    return commcomp_encode_round(c, STEP, 0, a->x, a->floats, ROOM, &a->floats_bytes, a->error);
}

static int call_absorb(struct commcomp_codec *c, struct arrays *a)
{
    return commcomp_absorb(c, STEP, 0, a->floats, a->floats_bytes, 0.5f, a->y, a->error);
}

static int call_save(struct commcomp_codec *c, struct arrays *a)
{
    return commcomp_state_save(c, a->state, ROOM, a->error);
}

static int call_restore(struct commcomp_codec *c, struct arrays *a)
{
    return commcomp_state_restore(c, a->state, a->state_bytes, a->error);
}

static int call_reset(struct commcomp_codec *c, struct arrays *a)
{
    const int status = commcomp_reset(c); /* the only one without a text */
    (void)snprintf(a->error, sizeof a->error,
                   "codec '%s' is in use by another thread: ", commcomp_codec_name(c));
    return status;
}

static int call_sender(struct commcomp_codec *c, struct arrays *a)
{
    return commcomp_codec_sender(c, 1, 0, COMMCOMP_PUSH, a->error);
}

static int call_tensor(struct commcomp_codec *c, struct arrays *a)
{
    return commcomp_codec_tensor(c, 0, "fc.weight", a->error);
}

static int call_threads(struct commcomp_codec *c, struct arrays *a)
{
    return commcomp_codec_threads(c, 1, a->error);
}

#define MEMBER(name) offsetof(struct arrays, name)
#define NOTHING      SIZE_MAX

/* The calls, with the array that stops them. */
static const struct call {
    const char *name;
    int (*run)(struct commcomp_codec *c, struct arrays *a);
    size_t bars; /* or NOTHING */
} calls[] = {
    {"encode", call_encode, MEMBER(x)},
    {"encode's output", call_encode, MEMBER(payload)},
    {"decode", call_decode, MEMBER(payload)},
    {"decode's output", call_decode, MEMBER(y)},
    {"decode_add", call_decode_add, MEMBER(y)},
    {"encode_round", call_encode_round, MEMBER(floats)},
    {"absorb", call_absorb, MEMBER(floats)},
    {"state_save", call_save, MEMBER(state)},
    {"state_restore", call_restore, MEMBER(state)},
    {"reset", call_reset, NOTHING},
    {"sender", call_sender, NOTHING},
    {"tensor", call_tensor, NOTHING},
    {"threads", call_threads, NOTHING},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

/* Arrays with a gradient, and with its payload, its round and the state before, where the scheme
 * has them. */
static void arrays_open(struct arrays *a, const char *scheme)
{
    struct commcomp_codec *c = codec_of(scheme, ROWS, COLUMNS);
    *a = (struct arrays){.x = gradient(N),
                         .y = memory(N * sizeof(float)),
                         .payload = memory(ROOM),
                         .floats = memory(ROOM),
                         .state = memory(ROOM),
                         .state_bytes = commcomp_state_bytes(c)};
    memset(a->y, 0, N * sizeof(float));
    assert_true(commcomp_codec_bound(c) <= ROOM && a->state_bytes <= ROOM);
    assert_int_equal(call_save(c, a), COMMCOMP_OK);
    assert_int_equal(call_encode(c, a), COMMCOMP_OK);
    if (commcomp_rounds(c) > 0)
        assert_int_equal(call_encode_round(c, a), COMMCOMP_OK);
    commcomp_codec_free(c);
}

static void arrays_close(struct arrays *a)
{
    free(a->x);
    free(a->y);
    free(a->payload);
    free(a->floats);
    free(a->state);
}

/* A call in a thread of its own. */
struct held {
    const struct call *call;
    struct commcomp_codec *codec;
    struct arrays arrays;
    int status;
    atomic_bool done;
};

static void *hold(void *arg)
{
    struct held *h = arg;
    h->status = h->call->run(h->codec, &h->arrays);
    atomic_store(&h->done, true);
    return NULL;
}

/* From now on, in place of the test framework's handler, which begins with each test. */
static void bar(void)
{
    const struct sigaction action = {.sa_sigaction = stop, .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
    atomic_store(&stopped, false);
    atomic_store(&may, false);
    assert_int_equal(mprotect(barred, BARRED_BYTES, PROT_NONE), 0);
}

static void wait_until_stopped(const atomic_bool *done, const char *name)
{
    while (!atomic_load(&stopped) && !atomic_load(done))
        pause_ms();
    if (atomic_load(done))
        fail_msg("%s has ended without touching the array", name);
}

/* Begins the call, which stops. */
static void hold_begin(struct held *h, pthread_t *thread)
{
    uint8_t **array = (uint8_t **)(void *)((char *)&h->arrays + h->call->bars);
    memcpy(barred, *array,
           h->call->bars == MEMBER(x) || h->call->bars == MEMBER(y) ? N * sizeof(float) : ROOM);
    free(*array);
    *array = barred;
    bar();
    assert_int_equal(pthread_create(thread, NULL, hold, h), 0);
    wait_until_stopped(&h->done, h->call->name);
}

/* Lets it end. */
static void hold_end(struct held *h, pthread_t thread)
{
    atomic_store(&may, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    uint8_t **array = (uint8_t **)(void *)((char *)&h->arrays + h->call->bars);
    *array = memory(ROOM);
    memcpy(*array, barred, ROOM);
}

/* Whether the scheme has this call. */
static bool is_for(const struct call *call, const struct commcomp_codec *c)
{
    return commcomp_rounds(c) > 0 || (call->run != call_encode_round && call->run != call_absorb);
}

static void same(const struct arrays *got, const struct arrays *want)
{
    assert_int_equal(got->payload_bytes, want->payload_bytes);
    assert_memory_equal(got->payload, want->payload, want->payload_bytes);
    assert_memory_equal(got->y, want->y, N * sizeof(float));
    assert_int_equal(got->floats_bytes, want->floats_bytes);
    assert_memory_equal(got->floats, want->floats, want->floats_bytes);
    assert_memory_equal(got->state, want->state, want->state_bytes);
}

/* While `call` is stopped every call is refused, and writes nothing but its text. Afterwards both
 * the arrays and the state are those of a codec that nobody else has touched, and every call works
 * again. */
static void refuses_others_during(const struct call *call, const char *scheme)
{
    struct commcomp_codec *alone = codec_of(scheme, ROWS, COLUMNS);
    struct held h = {.call = call, .codec = codec_of(scheme, ROWS, COLUMNS)};
    struct arrays want, other, untouched;
    char text[COMMCOMP_ERROR_BYTES];
    pthread_t thread;
    arrays_open(&h.arrays, scheme);
    arrays_open(&want, scheme);
    arrays_open(&other, scheme);
    arrays_open(&untouched, scheme);
    (void)snprintf(text, sizeof text, "codec '%s' is in use by another thread: ", scheme);
    if (call->run == call_absorb) { /* comes after its round */
        assert_int_equal(call_encode_round(h.codec, &h.arrays), COMMCOMP_OK);
        assert_int_equal(call_encode_round(alone, &want), COMMCOMP_OK);
    }
    hold_begin(&h, &thread);
    for (size_t i = 0; i < CALLS; i++) {
        if (!is_for(&calls[i], alone))
            continue;
        other.error[0] = '\0';
        if (calls[i].run(h.codec, &other) != COMMCOMP_FAIL)
            fail_msg("%s: %s works while another thread is in %s", scheme, calls[i].name,
                     call->name);
        assert_contains(other.error, text);
        same(&other, &untouched);
    }
    hold_end(&h, thread);
    assert_int_equal(h.status, COMMCOMP_OK);
    assert_int_equal(call->run(alone, &want), COMMCOMP_OK);
    same(&h.arrays, &want);
    assert_int_equal(call_save(h.codec, &h.arrays), COMMCOMP_OK);
    assert_int_equal(call_save(alone, &want), COMMCOMP_OK);
    same(&h.arrays, &want);
    for (size_t i = 0; i <= CALLS; i++) { /* the first once more, after the last */
        const struct call *next = &calls[i % CALLS];
        if (is_for(next, alone) && next->run(h.codec, &other) != COMMCOMP_OK)
            fail_msg("%s: %s after %s: %s", scheme, next->name, call->name, other.error);
    }
    commcomp_codec_free(alone);
    commcomp_codec_free(h.codec);
    arrays_close(&h.arrays);
    arrays_close(&want);
    arrays_close(&other);
    arrays_close(&untouched);
}

static int bar_setup(void **state)
{
    barred = mmap(NULL, BARRED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return barred == MAP_FAILED || scratch_setup(state) != 0;
}

static int bar_teardown(void **state)
{
    return munmap(barred, BARRED_BYTES) != 0 || scratch_teardown(state) != 0;
}

static void a_busy_codec_refuses_every_call(void **state)
{
    (void)state;
    for (size_t i = 0; i < CALLS; i++)
        if (calls[i].bars != NOTHING) {
            refuses_others_during(&calls[i], "fp32");
            if (calls[i].run != call_encode_round && calls[i].run != call_absorb)
                refuses_others_during(&calls[i], "3lc:s=1.75");
        }
}

static void a_busy_codec_of_every_setting_refuses(void **state)
{
    (void)state;
    for (const char *const *setting = settings; *setting != NULL; setting++)
        for (size_t i = 0; i < 4; i++) {
            struct commcomp_codec *c = codec_of(*setting, ROWS, COLUMNS);
            refuses_others_during(&calls[i], commcomp_codec_name(c));
            commcomp_codec_free(c);
        }
}

static void fails_unused(int status, struct arrays *a)
{
    assert_int_not_equal(status, COMMCOMP_OK);
    assert_null(strstr(a->error, "in use"));
    a->error[0] = '\0';
}

/* Calls that fail give the codec back, too. */
static void a_failed_call_ends(void **state)
{
    (void)state;
    struct commcomp_codec *c = codec_of("powersgd:rank=2", ROWS, COLUMNS);
    struct arrays a;
    arrays_open(&a, "powersgd:rank=2");
    const size_t less = a.payload_bytes - 1;
    size_t bytes;
    for (int i = 0; i < 2; i++) {
        fails_unused(commcomp_encode(c, 0, a.x, a.payload, 0, &bytes, a.error), &a);
        fails_unused(commcomp_encode_round(c, 0, 0, a.x, a.floats, 0, &bytes, a.error), &a);
        fails_unused(commcomp_absorb(c, 0, 0, a.floats, 1, 1, a.y, a.error), &a);
        fails_unused(commcomp_decode(c, 0, a.payload, less, a.y, a.error), &a);
        fails_unused(commcomp_decode_add(c, 0, a.payload, less, 1, a.y, a.error), &a);
        fails_unused(commcomp_state_save(c, a.state, a.state_bytes - 1, a.error), &a);
        fails_unused(commcomp_state_restore(c, a.state, a.state_bytes - 1, a.error), &a);
        fails_unused(commcomp_codec_sender(c, 1, -2, COMMCOMP_PUSH, a.error), &a);
        fails_unused(commcomp_codec_threads(c, 0, a.error), &a);
    }
    assert_int_equal(call_decode(c, &a), COMMCOMP_OK);
    commcomp_codec_free(c);
    arrays_close(&a);
}

/* --- containers --- */

struct file_call {
    struct commcomp_container_writer *writer; /* or */
    struct commcomp_container *reader;
    float *values;
    char error[COMMCOMP_ERROR_BYTES];
    int status;
    atomic_bool done;
};

static const size_t five[] = {5};

static void *file_hold(void *arg)
{
    struct file_call *f = arg;
    f->status = f->writer != NULL
                    ? commcomp_container_add(f->writer, "a", five, 1, f->values, f->error)
                    : commcomp_container_decode(f->reader, 0, f->values, f->error);
    atomic_store(&f->done, true);
    return NULL;
}

static void a_busy_container_refuses(void **state)
{
    static const float x[] = {1, -1, 0, 1, 0};
    const char *path = scratch_path(state, "x.cc");
    struct file_call f = {.values = (float *)(void *)barred};
    char error[COMMCOMP_ERROR_BYTES];
    float y[5];
    pthread_t thread;
    assert_int_equal(
        commcomp_container_begin(path, "3lc", 1, 0, COMMCOMP_PUSH, 0, 2, &f.writer, error),
        COMMCOMP_OK);
    memcpy(barred, x, sizeof x);
    bar();
    assert_int_equal(pthread_create(&thread, NULL, file_hold, &f), 0);
    wait_until_stopped(&f.done, "container_add");
    assert_int_equal(commcomp_container_add(f.writer, "b", five, 1, x, error), COMMCOMP_FAIL);
    assert_contains(error, "writer of a container of '3lc' is in use by another thread: ");
    atomic_store(&may, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(f.status, COMMCOMP_OK);
    assert_int_equal(commcomp_container_add(f.writer, "a", five, 1, x, error), COMMCOMP_FAIL);
    assert_contains(error, "is there twice");
    assert_int_equal(commcomp_container_add(f.writer, "b", five, 1, x, error), COMMCOMP_OK);
    assert_int_equal(commcomp_container_finish(f.writer, error), COMMCOMP_OK);

    f = (struct file_call){.values = (float *)(void *)barred};
    assert_int_equal(commcomp_container_open(path, 0, &f.reader, error), COMMCOMP_OK);
    bar();
    assert_int_equal(pthread_create(&thread, NULL, file_hold, &f), 0);
    wait_until_stopped(&f.done, "container_decode");
    assert_int_equal(commcomp_container_decode(f.reader, 1, y, error), COMMCOMP_FAIL);
    assert_contains(error, "container of '3lc' is in use by another thread: ");
    atomic_store(&may, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(f.status, COMMCOMP_OK);
    assert_memory_equal(barred, x, sizeof x);
    assert_int_equal(commcomp_container_decode(f.reader, 1, y, error), COMMCOMP_OK);
    assert_memory_equal(y, x, sizeof x);
    commcomp_container_close(f.reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_busy_codec_refuses_every_call, bar_setup, bar_teardown),
        cmocka_unit_test_setup_teardown(a_busy_codec_of_every_setting_refuses, bar_setup,
                                        bar_teardown),
        cmocka_unit_test(a_failed_call_ends),
        cmocka_unit_test_setup_teardown(a_busy_container_refuses, bar_setup, bar_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
