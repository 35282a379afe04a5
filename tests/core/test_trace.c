/* Traces in files: streams, steps, order, refusals; writing them; constant memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/trace/trace.h"
#include "core/trace/trace_check.h"
#include "core/trace/trace_write.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"

/* A step with tensors "a" (2 values) and "b" (1), stored b first, and this metadata. */
static const char *write_ab(void **state, const char *name, const char *metadata, float a0,
                            float a1, float b)
{
    char header[512];
    const float data[] = {b, a0, a1};
    (void)snprintf(header, sizeof header,
                   "{\"__metadata__\":{%s},"
                   "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]},"
                   "\"b\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[0,4]}}",
                   metadata);
    return scratch_safetensors(state, name, header, data, sizeof data);
}

static struct cc_trace *open_trace(const char *path)
{
    struct cc_trace *t;
    struct cc_error e = {""};
    if (cc_trace_open(path, &t, &e) != CC_OK)
        fail_msg("%s", e.text);
    return t;
}

static void assert_refused(const char *path, const char *message)
{
    struct cc_trace *t;
    struct cc_error e;
    assert_int_equal(cc_trace_open(path, &t, &e), CC_FAIL);
    assert_contains(e.text, message);
}

static float first_value(struct cc_trace *t, size_t stream, size_t step, size_t tensor)
{
    float *x = cc_alloc(cc_trace_largest(t) * sizeof *x, NULL);
    struct cc_error e = {""};
    assert_non_null(x);
    if (cc_trace_load(t, stream, step, tensor, x, &e) != CC_OK)
        fail_msg("%s", e.text);
    float v = x[0];
    free(x);
    return v;
}

/* --- reading --- */

#define META(direction, rank, step)                                                                \
    "\"schema\":\"commcomp-trace/1\",\"direction\":\"" direction "\",\"rank\":\"" rank             \
    "\",\"step\":\"" step "\",\"order\":\"a\\nb\""

static void streams(void **state)
{
    write_ab(state, "1.safetensors", META("pull", "-1", "5"), 50, 0, 0);
    write_ab(state, "2.safetensors", META("push", "1", "10"), 110, 0, 0);
    write_ab(state, "3.safetensors", META("push", "1", "9"), 109, 0, 0);
    write_ab(state, "4.safetensors", META("push", "0", "18446744073709551615"), 1, 2, 3);
    scratch_write(state, "notes.txt", "x", 1);
    scratch_write(state, ".hidden.csv", "x", 1);
    struct cc_trace *t = open_trace(*state);
    assert_string_equal(cc_trace_name(t), *state);
    assert_false(cc_trace_drawn(t));
    assert_int_equal(cc_trace_streams(t), 3);
    assert_int_equal(cc_trace_stream(t, 0).rank, 0);
    assert_int_equal(cc_trace_stream(t, 1).rank, 1);
    assert_int_equal(cc_trace_stream(t, 2).rank, -1);
    assert_int_equal(cc_trace_stream(t, 1).direction, CC_PUSH);
    assert_int_equal(cc_trace_stream(t, 2).direction, CC_PULL);
    assert_int_equal(cc_trace_steps(t, 1), 2);
    assert_int_equal(cc_trace_step_number(t, 1, 0), 9);
    assert_int_equal(cc_trace_step_number(t, 1, 1), 10);
    assert_true(cc_trace_step_number(t, 0, 0) == UINT64_MAX);
    assert_int_equal(cc_trace_tensors(t), 2);
    assert_string_equal(cc_trace_tensor(t, 0)->name, "a");
    assert_int_equal(cc_trace_tensor(t, 1)->shape.ndim, 2);
    assert_int_equal(cc_trace_values(t), 3);
    assert_int_equal(cc_trace_largest(t), 2);
    assert_true(first_value(t, 1, 0, 0) == 109 && first_value(t, 1, 1, 0) == 110);
    assert_true(first_value(t, 2, 0, 0) == 50 && first_value(t, 0, 0, 1) == 3);
    cc_trace_close(t);
    cc_trace_close(NULL);
}

static void without_metadata(void **state)
{
    /* By name: 2 before 10. */
    scratch_write(state, "g10.csv", "10\n", 3);
    scratch_write(state, "g2.csv", "2\n", 2);
    scratch_write(state, "G1.CSV", "1\n", 2);
    struct cc_trace *t = open_trace(*state);
    assert_int_equal(cc_trace_streams(t), 1);
    assert_int_equal(cc_trace_steps(t, 0), 3);
    assert_int_equal(cc_trace_step_number(t, 0, 2), 2);
    assert_true(first_value(t, 0, 0, 0) == 1 && first_value(t, 0, 1, 0) == 2 &&
                first_value(t, 0, 2, 0) == 10);
    cc_trace_close(t);
    /* One file; without `order`, tensors are in the order of their data. */
    t = open_trace(write_ab(state, "one.safetensors", "", 1, 2, 3));
    assert_string_equal(cc_trace_tensor(t, 0)->name, "b");
    cc_trace_close(t);
}

static void standard_names(void **state)
{
    scratch_write(state, "push-step000007-rank2.csv", "1\n", 2);
    scratch_write(state, "push-step000006-rank2.csv", "1\n", 2);
    scratch_write(state, "pull-step000007.csv", "1\n", 2);
    struct cc_trace *t = open_trace(*state);
    assert_int_equal(cc_trace_streams(t), 2);
    assert_int_equal(cc_trace_stream(t, 0).rank, 2);
    assert_int_equal(cc_trace_step_number(t, 0, 0), 6);
    assert_int_equal(cc_trace_stream(t, 1).direction, CC_PULL);
    cc_trace_close(t);
    scratch_write(state, "push-step7-rank2.csv", "1\n", 2);
    assert_refused(*state, "are both step 7 of the same push of rank 2");
}

static void refused_traces(void **state)
{
    assert_refused(*state, "no trace in this directory: no file ends with .safetensors");
    assert_refused(scratch_path(state, "missing"), "missing: cannot be read: No such file");
    assert_refused(scratch_write(state, "x.txt", "1", 1),
                   "x.txt: not a trace: expected .safetensors");
    assert_refused(scratch_write(state, "x.npy", "1", 1), "x.npy: not a .npy file");
    assert_refused(scratch_safetensors(state, "e.safetensors", "{}", "", 0), "no tensors in it");
    static const struct {
        const char *metadata, *message;
    } bad[] = {
        {"\"order\":\"a\"", "order does not name tensor \"b\""},
        {"\"order\":\"a\\nb\\na\"", "names \"a\" twice"},
        {"\"order\":\"a\\nc\"", "names \"c\", which the file does not have"},
        {"\"order\":\"\"", "names \"\""},
        {"\"schema\":\"commcomp-trace/2\"", "this program reads commcomp-trace/1"},
        {"\"direction\":\"up\"", "neither push nor pull"},
        {"\"rank\":\"-1\"", "a push has a rank from 0"},
        {"\"rank\":\"1x\"", "a push has a rank from 0"},
        {"\"direction\":\"pull\",\"rank\":\"0\"", "whose rank is -1"},
        {"\"step\":\"-1\"", "not a whole number"},
        {"\"step\":\"18446744073709551616\"", "not a whole number"},
    };
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_refused(write_ab(state, "bad.safetensors", bad[i].metadata, 0, 0, 0),
                       bad[i].message);
}

static void disagreeing_files(void **state)
{
    write_ab(state, "1.safetensors", META("push", "0", "1"), 0, 0, 0);
    const char *path = write_ab(state, "2.safetensors", "\"order\":\"b\\na\"", 0, 0, 0);
    assert_refused(*state, "2.safetensors and \"a\" in");
    static const char flat[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                               "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}";
    scratch_safetensors(state, "2.safetensors", flat, "123456789012", 12);
    assert_refused(*state, "tensor \"b\" has the shape 1 in");
    assert_refused(*state, "1x1 in");
    assert_int_equal(unlink(path), 0);
    scratch_write(state, "2.csv", "1\n", 2);
    assert_refused(*state, "2.csv has 1 tensors");
    assert_int_equal(unlink(scratch_path(state, "2.csv")), 0);
    write_ab(state, "2.safetensors", META("push", "0", "1"), 0, 0, 0);
    assert_refused(*state, "are both step 1 of the same push of rank 0: remove one");
    write_ab(state, "2.safetensors", "\"order\":\"a\\nb\"", 0, 0, 0);
    assert_refused(*state, "says its step");
}

/* Stored types and layouts may differ from file to file. */
static void mixed_types(void **state)
{
    write_ab(state, "1.safetensors", META("push", "0", "1"), 1, 2, 3);
    static const uint8_t data[] = {0, 0x3c, 0x80, 0x3f, 0, 0x40}; /* F16 1; BF16 1, 2 */
    scratch_safetensors(state, "2.safetensors",
                        "{\"__metadata__\":{\"step\":\"2\"},"
                        "\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[2,6]},"
                        "\"b\":{\"dtype\":\"F16\",\"shape\":[1,1],\"data_offsets\":[0,2]}}",
                        data, sizeof data);
    assert_refused(*state, "tensor 0 is \"b\" in");
    scratch_safetensors(state, "2.safetensors",
                        "{\"__metadata__\":{\"step\":\"2\",\"order\":\"a\\nb\"},"
                        "\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[2,6]},"
                        "\"b\":{\"dtype\":\"F16\",\"shape\":[1,1],\"data_offsets\":[0,2]}}",
                        data, sizeof data);
    struct cc_trace *t = open_trace(*state);
    assert_true(first_value(t, 0, 0, 1) == 3 && first_value(t, 0, 1, 1) == 1 &&
                first_value(t, 0, 1, 0) == 1);
    cc_trace_close(t);
}

/* Fails unless the next load says that 1.safetensors has changed. */
static void assert_changed(struct cc_trace *t)
{
    float x[2];
    struct cc_error e;
    assert_int_equal(cc_trace_load(t, 0, 0, 0, x, &e), CC_FAIL);
    assert_contains(e.text, "1.safetensors: the file has changed since it was opened");
    cc_trace_close(t);
}

/* Times of files have steps of some milliseconds. */
static void wait_for_a_later_time(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

static struct cc_trace *open_ab(void **state, const char **path)
{
    *path = write_ab(state, "1.safetensors", META("push", "0", "1"), 1, 2, 3);
    wait_for_a_later_time();
    return open_trace(*path);
}

/* Also while the file is open, after its first load. */
static void changed_files(void **state)
{
    const char *path, *other;
    for (int open = 0; open < 2; open++) {
        struct cc_trace *t = open_ab(state, &path);
        assert_true(!open || first_value(t, 0, 0, 0) == 1);
        assert_int_equal(truncate(path, 20), 0);
        assert_changed(t);

        t = open_ab(state, &path);
        assert_true(!open || first_value(t, 0, 0, 0) == 1);
        int fd = openat(AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
        struct stat st;
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(pwrite(fd, "\x7f", 1, st.st_size - 1), 1);
        const struct timespec back[] = {st.st_atim, st.st_mtim};
        assert_int_equal(futimens(fd, back), 0); /* the size and this time are as before */
        assert_int_equal(close(fd), 0);
        assert_changed(t);

        t = open_ab(state, &path);
        assert_true(!open || first_value(t, 0, 0, 0) == 1);
        other = scratch_write(state, "other", "", 0);
        assert_int_equal(rename(other, path), 0);
        assert_changed(t);
    }
    struct cc_trace *t = open_ab(state, &path);
    float x[2];
    struct cc_error e;
    assert_int_equal(unlink(path), 0);
    assert_int_equal(cc_trace_load(t, 0, 0, 0, x, &e), CC_FAIL);
    assert_contains(e.text, "No such file");
    cc_trace_close(t);
}

/* --- use --- */

static size_t anonymous_kib(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    size_t kib = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "RssAnon: %zu", &kib) == 1)
            break;
    (void)fclose(f);
    assert_true(kib > 0);
    return kib;
}

/* Steps of 64 MiB take the memory of one, however many they are. The files are sparse. */
static void constant_memory(void **state)
{
    const size_t n = (size_t)16 << 20;
    char header[256], name[64];
    for (int step = 0; step < 4; step++) {
        (void)snprintf(header, sizeof header,
                       "{\"__metadata__\":{\"step\":\"%d\"},\"a\":{\"dtype\":\"F32\","
                       "\"shape\":[%zu],\"data_offsets\":[0,%zu]}}",
                       step, n, 4 * n);
        (void)snprintf(name, sizeof name, "%d.safetensors", step);
        const char *path = scratch_safetensors(state, name, header, "", 0);
        assert_int_equal(truncate(path, (off_t)(8 + strlen(header) + 4 * n)), 0);
    }
    struct cc_trace *t = open_trace(*state);
    size_t before = anonymous_kib();
    struct cc_tensor_stats s;
    assert_int_equal(cc_trace_stats(t, 0, NULL, NULL, &s, NULL), CC_OK);
    assert_int_equal(s.zeros, 4 * n);
    assert_true(anonymous_kib() <
                before + (64 + 24) * 1024); /* sanitizers take an eighth of a step */
    cc_trace_close(t);
}

static void *load_often(void *trace)
{
    for (int i = 0; i < 200; i++) {
        size_t step = (size_t)i % 2;
        float x[2] = {0};
        if (cc_trace_load(trace, 0, step, 0, x, NULL) != CC_OK || x[0] != (float)step)
            return trace;
    }
    return NULL;
}

static void threads(void **state)
{
    write_ab(state, "1.safetensors", META("push", "0", "1"), 0, 0, 0);
    write_ab(state, "2.safetensors", META("push", "0", "2"), 1, 0, 0);
    struct cc_trace *t = open_trace(*state);
    pthread_t thread[4];
    void *result;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, load_often, t), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(thread[i], &result), 0);
        assert_null(result);
    }
    cc_trace_close(t);
}

static void stats(void **state)
{
    write_ab(state, "1.safetensors", META("push", "0", "1"), 3, -4, 0);
    write_ab(state, "2.safetensors", META("push", "0", "2"), 0, NAN, 0);
    struct cc_trace *t = open_trace(*state);
    struct cc_tensor_stats s[2];
    assert_int_equal(cc_trace_stats(t, 0, NULL, NULL, s, NULL), CC_OK);
    assert_int_equal(s[0].values, 4);
    assert_int_equal(s[0].zeros, 1);
    assert_int_equal(s[0].not_finite, 1);
    assert_true(s[0].max_abs == 4);
    assert_true(fabs(s[0].rms - sqrt(25. / 3)) < 1e-12);
    assert_true(s[1].rms == 0 && s[1].max_abs == 0 && s[1].zeros == 2);
    cc_trace_close(t);
}

/* --- writing --- */

static void count_progress(void *context, double done)
{
    size_t *calls = context;
    ++*calls;
    assert_true(done > 0 && done <= 1 && (*calls == 3) == (done == 1));
}

static void round_trips(void **state)
{
    const char *in = scratch_path(state, "in"), *out = scratch_path(state, "out");
    assert_int_equal(mkdir(in, 0777), 0);
    write_ab(state, "in/1.safetensors", META("push", "3", "4"), 1, 2, 3);
    write_ab(state, "in/2.safetensors", META("push", "3", "5"), 4, 5, 6);
    write_ab(state, "in/3.safetensors", META("pull", "-1", "4"), 7, 8, 9);
    struct cc_trace *t = open_trace(in);
    size_t calls = 0;
    uint64_t files, bytes;
    struct cc_error e = {""};
    if (cc_trace_write(t, out, NULL, NULL, count_progress, &calls, &files, &bytes, &e) != CC_OK)
        fail_msg("%s", e.text);
    assert_int_equal(calls, 3);
    assert_int_equal(files, 3);
    struct stat st;
    assert_int_equal(stat(scratch_path(state, "out/push-step000005-rank3.safetensors"), &st), 0);
    assert_int_equal(bytes, 3 * st.st_size);
    struct cc_trace *u = open_trace(out);
    assert_int_equal(cc_trace_streams(u), 2);
    assert_int_equal(cc_trace_stream(u, 0).rank, 3);
    assert_int_equal(cc_trace_step_number(u, 0, 1), 5);
    assert_int_equal(cc_trace_tensors(u), 2);
    assert_string_equal(cc_trace_tensor(u, 0)->name, "a");
    assert_int_equal(cc_trace_tensor(u, 1)->shape.ndim, 2);
    assert_true(first_value(u, 0, 1, 0) == 4 && first_value(u, 1, 0, 1) == 9);
    cc_trace_close(u);
    assert_int_equal(cc_trace_write(t, out, NULL, NULL, NULL, NULL, &files, &bytes, &e), CC_FAIL);
    assert_contains(e.text, "out is not empty; name a new directory");
    cc_trace_close(t);
}

/* Writes one step to one file, with its own metadata or the caller's; .npy and .csv hold one
 * tensor. */
static void single_steps(void **state)
{
    struct cc_error e = {""};
    struct cc_pair *pairs;
    size_t count, size;
    struct cc_trace *t =
        open_trace(write_ab(state, "in.safetensors", META("push", "3", "4"), 1, 2, 3));
    const char *path = scratch_path(state, "out.safetensors");
    const struct cc_pair mine[] = {{"k", "v"}};
    assert_int_equal(cc_trace_write_step(t, 0, 0, path, mine, 1, &e), CC_OK);
    assert_int_equal(cc_tensor_file_metadata(path, &pairs, &count, &e), CC_OK);
    assert_int_equal(count, 1);
    assert_string_equal(pairs[0].value, "v");
    cc_pairs_free(pairs, count);
    assert_int_equal(cc_trace_write_step(t, 0, 0, path, NULL, 0, &e), CC_OK);
    assert_int_equal(cc_tensor_file_metadata(path, &pairs, &count, &e), CC_OK);
    assert_int_equal(count, 5);
    assert_string_equal(pairs[4].value, "a\nb");
    cc_pairs_free(pairs, count);
    path = scratch_path(state, "out.csv");
    assert_int_equal(cc_trace_write_step(t, 0, 0, path, NULL, 0, &e), CC_USAGE);
    assert_contains(e.text, "write a .safetensors file");
    assert_int_equal(access(path, F_OK), -1);
    cc_trace_close(t);
    t = open_trace(scratch_write(state, "in.csv", "1,2\n3,4\n", 8));
    assert_int_equal(cc_trace_write_step(t, 0, 0, path, NULL, 0, &e), CC_OK);
    char *text = scratch_read(path, &size);
    assert_string_equal(text, "1,2\n3,4\n");
    free(text);
    cc_trace_close(t);
}

int main(void)
{
#define IN_SCRATCH(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(streams),        IN_SCRATCH(without_metadata),  IN_SCRATCH(standard_names),
        IN_SCRATCH(refused_traces), IN_SCRATCH(disagreeing_files), IN_SCRATCH(mixed_types),
        IN_SCRATCH(changed_files),  IN_SCRATCH(constant_memory),   IN_SCRATCH(threads),
        IN_SCRATCH(stats),          IN_SCRATCH(round_trips),       IN_SCRATCH(single_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
