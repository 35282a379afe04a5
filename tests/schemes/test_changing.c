/* Values that change while they are encoded, and payloads that change while they are decoded: a
 * caller may pass memory that others write. With any bytes that it reads, the codec stays within
 * its buffers and ends, and a payload that it returns with CC_OK is one that it decodes.
 *
 * Two witnesses: memory whose contents change between any two reads (tests/lib/shifting.h), for
 * small tensors, where every read of a loop sees another version; and a second thread that writes
 * all the time, for tensors of several parts. Every setting runs in a process of its own under each
 * instruction set, so that a crash names it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <execinfo.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/isa.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "schemes/kernels/zerorun.h"
#include "tests/lib/data.h"
#include "tests/lib/rig.h"
#include "tests/lib/settings.h"
#include "tests/lib/shifting.h"
#include "tests/lib/tier.h"

enum { DEADLINE_S = 120, FEW = 3000, MANY = 300000, PARTS = 3 };

/* The largest payload, in bytes, of tensors of several parts in shifting memory, which is slow. */
#define MOST_SHIFTED 32768

/* Arguments: the setting to test (all if it is empty, or there is none), and for how long a second
 * thread writes, in ms; the numbers of encodes and decodes are printed then. */
static const char *only;
static size_t raced_ms;
static bool counts;

/* --- a child that dies says where --- */

/* The work that the child does, for the report. */
static struct doing {
    const char *setting, *work;
    size_t n;
    int threads;
} doing;

/* The instruction that a signal interrupted. */
static void *instruction_of(const void *context)
{
    const ucontext_t *c = context;
#if defined(__x86_64__)
    return (void *)(uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (void *)(uintptr_t)c->uc_mcontext.pc;
#else
    (void)c;
    return NULL;
#endif
}

/* Prints the fault's address and instruction, the work, and the calls, as far as the stack still
 * tells them, then dies by the signal. */
static void report_death(int sig, siginfo_t *info, void *context)
{
    char text[256];
    void *calls[64] = {instruction_of(context)};
    const int length = snprintf(text, sizeof text, "%s, n %zu, threads %d, %s: %s at address %p\n",
                                doing.setting, doing.n, doing.threads, doing.work,
                                sig == SIGSEGV ? "SIGSEGV" : "SIGBUS", info->si_addr);
    (void)!write(STDERR_FILENO, text, (size_t)length < sizeof text ? (size_t)length : sizeof text);
    backtrace_symbols_fd(calls, 1, STDERR_FILENO);
    backtrace_symbols_fd(calls, backtrace(calls, 64), STDERR_FILENO);
    (void)signal(sig, SIG_DFL);
    (void)raise(sig);
}

/* In place of the test framework's handlers; on a stack of their own, as a codec may have
 * overwritten the other one. */
static void report_deaths(void)
{
    static uint8_t room[1 << 16];
    const stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    const struct sigaction action = {.sa_sigaction = report_death,
                                     .sa_flags = SA_SIGINFO | SA_ONSTACK};
    void *call;
    (void)backtrace(&call, 1); /* loads what it needs, which a handler must not */
    (void)sigaltstack(&stack, NULL);
    (void)sigaction(SIGSEGV, &action, NULL);
    (void)sigaction(SIGBUS, &action, NULL);
}

/* The values of one tensor in versions that have nothing in common. */
static void fill_versions(float *x[SHIFTING_VERSIONS], size_t n, uint64_t seed)
{
    static const enum data_kind kinds[SHIFTING_VERSIONS] = {
        DATA_LAPLACE, DATA_HUGE,     DATA_TIES,        DATA_ZEROS,
        DATA_MIXED,   DATA_CONSTANT, DATA_ALTERNATING, DATA_LAPLACE};
    for (size_t v = 0; v < SHIFTING_VERSIONS; v++)
        data_fill(kinds[v], seed + v, x[v], n);
    for (size_t i = 0; i < n; i += 3) /* the last version cannot be encoded */
        x[SHIFTING_VERSIONS - 1][i] = i % 2 == 0 ? NAN : INFINITY;
}

/* Memory of `bytes` bytes and more, all zeros. */
static void *zeros(size_t bytes)
{
    void *memory = calloc(bytes + sizeof(float), 1);
    if (memory == NULL) {
        perror("memory of the test");
        exit(1);
    }
    return memory;
}

/* The work of a rig, with an input at an address that the rig does not choose. */
struct bench {
    struct rig rig;
    struct cc_context ctx;
    uint8_t *out;
    float *y;
    struct cc_index_value *pairs;
    size_t bound, pairs_bound;
    struct guard pairs_guard;
    struct cc_error e;
};

static void open_bench(struct bench *b, const char *setting, size_t n, int threads)
{
    const struct cc_shape shape = n % 16 == 0 && n > 16
                                      ? (struct cc_shape){.n = n, .dim = {16, n / 16}, .ndim = 2}
                                      : cc_shape_flat(n);
    *b = (struct bench){.ctx = {.seed = 3, .rank = 1, .name = "w"}};
    doing.setting = setting;
    doing.n = n;
    doing.threads = threads;
    if (!rig_open(&b->rig, setting))
        exit(1);
    rig_shape(&b->rig, &shape);
    b->rig.codec.threads = threads;
    b->bound = cc_bound(&b->rig.codec);
    b->out = guard_back(&b->rig.payload, b->bound, 1);
    b->y = guard_back(&b->rig.y, n * sizeof *b->y, sizeof *b->y);
    b->pairs_bound = cc_pairs_bound(&b->rig.codec);
    if (b->pairs_bound > 0)
        b->pairs = guard_back(&b->pairs_guard, b->pairs_bound * sizeof *b->pairs, 4);
}

static void close_bench(struct bench *b)
{
    guard_close(&b->pairs_guard);
    rig_close(&b->rig);
}

static void give_up(const struct bench *b, const char *what)
{
    (void)fprintf(stderr, "%s, n %zu, %s: %s (%s)\n", b->rig.spec->name, b->rig.codec.shape.n,
                  cc_isa_name(cc_isa()), what, b->e.text);
    _exit(1);
}

/* Encodes what changes; *len is 0 after a refusal, whose state may be anything. */
static void encode(struct bench *b, const float *x, size_t *len)
{
    *len = 0;
    doing.work = "encoding";
    if (cc_encode(&b->rig.codec, &b->ctx, x, b->out, b->bound, len, &b->e) != CC_OK) {
        *len = 0;
        cc_codec_reset(&b->rig.codec);
    } else if (*len > b->bound) {
        give_up(b, "the payload is longer than its bound");
    }
    b->ctx.step++;
}

/* One round of a step: what is encoded changes, or what is absorbed. */
static void run_round(struct bench *b, size_t round, const float *x, const uint8_t *sum)
{
    size_t len = 0;
    const size_t bytes = cc_round_bytes(&b->rig.codec, round);
    doing.work = x != NULL ? "encoding a round" : "absorbing a round";
    if (x != NULL)
        (void)cc_encode_round(&b->rig.codec, &b->ctx, round, x, b->out, b->bound, &len, &b->e);
    else
        (void)cc_absorb(&b->rig.codec, &b->ctx, round, sum, bytes, 0.5F, b->y, &b->e);
}

static void check_own_payload(struct bench *b, size_t len, bool encoded)
{
    doing.work = "decoding its own payload";
    if (encoded && cc_decode(&b->rig.codec, &b->ctx, b->out, len, b->y, &b->e) != CC_OK)
        give_up(b, "it refuses its own payload");
}

static void decode(struct bench *b, const uint8_t *in, size_t len, unsigned how)
{
    size_t count;
    struct cc_codec c = b->rig.codec;
    c.state = NULL;
    doing.work = how == 0 ? "decoding" : how == 1 ? "decoding and adding" : "reading pairs";
    if (how == 0)
        (void)cc_decode(&c, &b->ctx, in, len, b->y, &b->e);
    else if (how == 1)
        (void)cc_decode_add(&c, &b->ctx, in, len, 0.5F, b->y, &b->e);
    else if (b->pairs_bound > 0 &&
             cc_to_pairs(&c, &b->ctx, in, len, 7, b->pairs, b->pairs_bound, &count, &b->e) ==
                 CC_OK &&
             count > b->pairs_bound)
        give_up(b, "more pairs than there is room for");
}

/* --- shifting memory --- */

static void shift_encode(const char *setting, size_t n, size_t seeds)
{
    struct bench b;
    struct shifting s;
    float *x[SHIFTING_VERSIONS];
    open_bench(&b, setting, n, 1);
    shifting_open(&s, n * sizeof(float));
    for (size_t v = 0; v < SHIFTING_VERSIONS; v++)
        s.version[v] = (const uint8_t *)(x[v] = zeros(n * sizeof(float)));
    for (size_t seed = 0; seed < seeds; seed++) {
        static const unsigned every[] = {2, 16, 256, 4};
        size_t len;
        fill_versions(x, n, seed);
        s.versions = seed % 3 == 2 ? SHIFTING_VERSIONS : SHIFTING_VERSIONS - 1;
        s.every = every[seed % 4];
        shifting_begin(&s, seed);
        encode(&b, (const float *)(const void *)s.bytes, &len);
        shifting_end(&s);
        b.ctx.step--;
        check_own_payload(&b, len, len > 0);
        b.ctx.step++;
    }
    /* Rounds, with the sums of floats in memory of their own that changes, too. */
    const size_t rounds = b.rig.spec->scheme->rounds == NULL
                              ? 0
                              : cc_sum_rounds(b.rig.spec->scheme, b.rig.spec->params);
    for (size_t r = 0; r < rounds; r++) {
        shifting_begin(&s, r);
        run_round(&b, r, (const float *)(const void *)s.bytes, NULL);
        shifting_end(&s);
        if (cc_round_bytes(&b.rig.codec, r) <= s.size) {
            shifting_begin(&s, r + rounds);
            run_round(&b, r, NULL, s.bytes);
            shifting_end(&s);
        }
    }
    for (size_t v = 0; v < SHIFTING_VERSIONS; v++)
        free(x[v]);
    shifting_close(&s);
    close_bench(&b);
}

/* Payloads of this length: encoded ones, cut or filled up to it, and damaged ones. */
static void fill_payloads(struct bench *b, uint8_t *payload[SHIFTING_VERSIONS], size_t *size,
                          uint64_t seed)
{
    const size_t n = b->rig.codec.shape.n;
    float *x = zeros(n * sizeof(float));
    uint64_t random = seed;
    for (size_t v = 0; v < SHIFTING_VERSIONS; v++) {
        size_t len;
        memset(b->out, v % 2 == 0 ? 0 : 0xff, b->bound);
        data_fill(v < 4 ? DATA_LAPLACE : DATA_MIXED, seed + v, x, n);
        encode(b, x, &len);
        if (v == 0)
            *size = len;
        memcpy(payload[v], b->out, *size);
        for (size_t i = 0; v % 4 == 3 && i < *size; i++)
            payload[v][i] = (uint8_t)data_random(&random);
        for (size_t i = 0; v % 4 == 2 && *size > 0 && i < 4; i++)
            payload[v][data_random(&random) % *size] ^= (uint8_t)(1U << data_random(&random) % 8);
    }
    free(x);
}

static void shift_decode(const char *setting, size_t n, int threads, size_t seeds)
{
    struct bench b;
    uint8_t *payload[SHIFTING_VERSIONS];
    size_t size;
    open_bench(&b, setting, n, threads);
    for (size_t v = 0; v < SHIFTING_VERSIONS; v++)
        payload[v] = zeros(b.bound);
    for (size_t seed = 0; seed < seeds; seed++) {
        static const unsigned every[] = {4, 64, 1024, 16};
        struct shifting s;
        fill_payloads(&b, payload, &size, seed);
        if (size == 0 || size > MOST_SHIFTED)
            continue;
        shifting_open(&s, size);
        for (size_t v = 0; v < SHIFTING_VERSIONS; v++)
            s.version[v] = payload[v];
        s.versions = SHIFTING_VERSIONS;
        s.every = every[seed % 4];
        b.ctx.step--;
        for (unsigned how = 0; how < 3; how++) {
            shifting_begin(&s, seed + how);
            decode(&b, s.bytes, size, how);
            shifting_end(&s);
        }
        b.ctx.step++;
        shifting_close(&s);
    }
    for (size_t v = 0; v < SHIFTING_VERSIONS; v++)
        free(payload[v]);
    close_bench(&b);
}

static void shift(const char *setting)
{
    const size_t seeds = tier_pick(1, 1, 3);
    shift_encode(setting, 300, seeds);
    shift_encode(setting, 64, 2 * seeds);
    shift_decode(setting, 300, 1, seeds);
    shift_decode(setting, 64, 1, 2 * seeds);
}

/* Several parts in one thread: inside a parallel loop they run one after the other. */
static void shift_parts_in_one(void *setting, int thread)
{
    const char *const *s = setting;
    if (thread == 0)
        shift_decode(*s, PARTS * CC_PART_VALUES, PARTS, 1);
}

static void shift_parts(const char *setting)
{
    cc_parallel(2, shift_parts_in_one, &setting);
}

/* Zero-run bytes: no more than the slack is beyond what is asked for, whatever is read. */
static void shift_runs(const char *setting)
{
    enum { BYTES = 4096, WANT = 3000, SEEDS = 30 };
    static uint8_t bytes[SHIFTING_VERSIONS][BYTES], out[WANT + CC_RUN_SLACK];
    struct shifting s;
    uint64_t random = 1;
    shifting_open(&s, BYTES);
    s.versions = SHIFTING_VERSIONS;
    s.every = 2;
    for (size_t v = 0; v < SHIFTING_VERSIONS; v++) {
        for (size_t i = 0; i < BYTES; i++)
            bytes[v][i] = (uint8_t)data_random(&random);
        s.version[v] = bytes[v];
    }
    doing = (struct doing){setting, "expanding and skipping runs", BYTES, 1};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        size_t at = 0, from = 0;
        shifting_begin(&s, seed);
        const size_t skipped = (k_zerorun()->skip)(s.bytes, BYTES, &at, WANT);
        const size_t expanded = k_zerorun()->decode(s.bytes, BYTES, &from, out, WANT);
        shifting_end(&s);
        if (skipped >= WANT + CC_RUN_SLACK || expanded >= WANT + CC_RUN_SLACK) {
            (void)fprintf(stderr, "runs: of %d bytes %zu are skipped and %zu expanded\n", WANT,
                          skipped, expanded);
            _exit(1);
        }
    }
    shifting_close(&s);
}

/* --- a second thread --- */

struct writer {
    uint8_t *to;
    size_t bytes;
    const uint8_t *version[SHIFTING_VERSIONS];
    atomic_bool stop;
};

/* A writer's stores are not synchronized with the reads: this is what is tested. */
__attribute__((no_sanitize("thread"))) static void *write_on(void *arg)
{
    struct writer *w = arg;
    uint64_t random = 1;
    while (!atomic_load(&w->stop)) {
        const uint64_t r = data_random(&random);
        const size_t at = (size_t)(r >> 8) % w->bytes;
        const size_t most = w->bytes - at, bytes = most < 4096 ? most : 4096;
        memcpy(w->to + at, w->version[r % SHIFTING_VERSIONS] + at, bytes);
    }
    return NULL;
}

static bool goes_on(const struct timespec *begin, size_t milliseconds)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    const double passed =
        1e3 * (double)(now.tv_sec - begin->tv_sec) + 1e-6 * (double)(now.tv_nsec - begin->tv_nsec);
    return passed < (double)milliseconds;
}

static void race(const char *setting, size_t n, size_t milliseconds, int threads)
{
    struct bench b;
    struct writer w = {.bytes = n * sizeof(float)};
    float *x[SHIFTING_VERSIONS];
    uint8_t *payload[SHIFTING_VERSIONS];
    struct guard shared = {0};
    struct timespec begin;
    pthread_t thread;
    size_t size = 0;
    open_bench(&b, setting, n, threads);
    for (size_t v = 0; v < SHIFTING_VERSIONS; v++) {
        x[v] = zeros(n * sizeof(float));
        payload[v] = zeros(b.bound);
    }
    fill_versions(x, n, 1);
    fill_payloads(&b, payload, &size, 1);
    for (unsigned decodes = 0; decodes < 2; decodes++) {
        w.bytes = decodes ? size : n * sizeof(float);
        if (w.bytes == 0)
            continue;
        w.to = guard_back(&shared, w.bytes, decodes ? 1 : sizeof(float));
        for (size_t v = 0; v < SHIFTING_VERSIONS - 1; v++)
            w.version[v] = decodes ? payload[v] : (const uint8_t *)x[v];
        w.version[SHIFTING_VERSIONS - 1] = w.version[0]; /* all can be encoded */
        memcpy(w.to, w.version[0], w.bytes);
        atomic_store(&w.stop, false);
        if (pthread_create(&thread, NULL, write_on, &w) != 0) {
            (void)fprintf(stderr, "the thread that writes cannot be started\n");
            exit(1);
        }
        size_t calls = 0;
        (void)clock_gettime(CLOCK_MONOTONIC, &begin);
        for (; goes_on(&begin, milliseconds); calls += decodes ? 3 : 1) {
            size_t len;
            for (unsigned how = 0; decodes && how < 3; how++)
                decode(&b, w.to, size, how);
            if (!decodes)
                encode(&b, (const float *)(const void *)w.to, &len);
        }
        atomic_store(&w.stop, true);
        (void)pthread_join(thread, NULL);
        if (counts)
            (void)fprintf(stderr, "%s, n %zu: %zu %s\n", setting, n, calls,
                          decodes ? "decodes" : "encodes");
    }
    for (size_t v = 0; v < SHIFTING_VERSIONS; v++) {
        free(x[v]);
        free(payload[v]);
    }
    guard_close(&shared);
    close_bench(&b);
}

static void race_all(const char *setting)
{
    race(setting, FEW, raced_ms, 1);
    race(setting, MANY, raced_ms, 3);
}

/* --- every setting in a process of its own --- */

static bool fails(void (*run)(const char *setting), const char *setting, enum cc_isa isa)
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        report_deaths();
        (void)alarm(DEADLINE_S);
        cc_isa_force(isa);
        run(setting);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        print_error("%s, %s: %s\n", setting, cc_isa_name(isa), strsignal(WTERMSIG(status)));
    return status != 0;
}

static size_t failures_of(void (*run)(const char *setting), enum cc_isa first)
{
    size_t failures = 0;
    for (int isa = (int)first; isa < CC_ISAS; isa++)
        for (size_t i = 0; cc_isa_has((enum cc_isa)isa) && settings[i] != NULL; i++)
            if (only == NULL || strcmp(only, settings[i]) == 0)
                failures += fails(run, settings[i], (enum cc_isa)isa);
    return failures;
}

static void every_read_sees_something_else(void **state)
{
    (void)state;
    if (!shifting_works()) {
        print_message("left out: shifting memory needs x86\n");
        skip();
    }
    assert_int_equal(failures_of(shift, (enum cc_isa)0), 0);
    assert_int_equal(failures_of(shift_parts, (enum cc_isa)0), 0);
}

static void runs_stay_runs(void **state)
{
    (void)state;
    if (!shifting_works())
        skip();
    for (int isa = 0; isa < CC_ISAS; isa++)
        if (cc_isa_has((enum cc_isa)isa))
            assert_false(fails(shift_runs, "3lc", (enum cc_isa)isa));
}

static void another_thread_writes(void **state)
{
    (void)state;
    assert_int_equal(failures_of(race_all, cc_isa()), 0);
}

int main(int argc, char **argv)
{
    only = argc > 1 && argv[1][0] != '\0' ? argv[1] : NULL;
    counts = argc > 2;
    raced_ms = argc > 2 ? strtoul(argv[2], NULL, 10) : tier_pick(2, 5, 30);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_read_sees_something_else),
        cmocka_unit_test(runs_stay_runs),
        cmocka_unit_test(another_thread_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
