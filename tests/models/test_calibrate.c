/* Calibration against links that are simulated ping by ping: a latency, a rate, a token bucket in
 * each direction, and the noise of a busy machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "models/calibrate.h"
#include "models/link.h"
#include "tests/lib/number.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"

static double drawn(uint64_t seed, uint64_t i)
{
    const struct cc_random_id id = {.seed = seed};
    return cc_unit(cc_random(cc_key(&id, 0), (uint32_t)i));
}

/* --- the link --- */

#define SLICE 4e-3 /* seconds for which other processes may hold a core */

struct direction {
    double tokens, at; /* bytes in the bucket at this time */
};

struct wire {
    double latency, rate, burst; /* rate in bytes per second */
    double noise;                /* times are longer by up to this share */
    double bad;                  /* share of messages whose receiver must wait for its core */
    uint64_t seed, drawn;
};

/* Fills the bucket up to `now`, then takes the message's bytes from it. Returns when the message
 * arrives. */
static double send(const struct wire *w, struct direction *direction, double now, double bytes)
{
    direction->tokens = fmin(w->burst, direction->tokens + w->rate * (now - direction->at));
    double wait = fmax(0, bytes - direction->tokens) / w->rate;
    direction->tokens = fmax(0, direction->tokens - bytes);
    direction->at = now + wait;
    return direction->at + w->latency;
}

enum { SAMPLES = 21, MOST = 64 };

struct pings {
    struct cc_ping ping[MOST];
    double seconds[MOST][SAMPLES];
    size_t sizes;
};

static void simulate(struct wire *w, const double *bytes, size_t sizes, struct pings *out)
{
    struct direction direction[2] = {{.tokens = w->burst}, {.tokens = w->burst}};
    double now = 0;
    out->sizes = sizes;
    for (size_t i = 0; i < sizes; i++) {
        out->ping[i] = (struct cc_ping){bytes[i], out->seconds[i], SAMPLES};
        for (int k = 0; k < SAMPLES; k++) {
            double began = now;
            for (int side = 0; side < 2; side++) {
                double late = 1 + w->noise * drawn(w->seed, w->drawn++);
                double there = send(w, &direction[side], now, bytes[i]);
                now += (there - now) * late;
                if (drawn(w->seed, w->drawn++) < w->bad)
                    now += SLICE * drawn(w->seed, w->drawn++);
            }
            out->seconds[i][k] = (now - began) / 2;
        }
    }
}

/* A few small sizes, and from 1 kB on every half octave up to `most`. */
static size_t sizes_to(double most, double *bytes)
{
    size_t n = 0;
    for (double b = 1; b <= 64; b *= 4)
        bytes[n++] = b;
    for (double b = 1000; b <= most * 1.001; b *= sqrt(2))
        bytes[n++] = floor(b);
    return n;
}

/* --- tests --- */

static const struct {
    double rate, latency, burst, most;
} links[] = {
    {1.25e6, 60e-6, 5e3, 320e3}, {12.5e6, 50e-6, 10e3, 1.3e6}, {125e6, 40e-6, 200e3, 13e6},
    {1.25e9, 30e-6, 1e6, 64e6},  {125e6, 40e-6, 0, 13e6},      {12.5e6, 25e-3, 0, 40e6},
    {1.25e9, 5e-6, 0, 64e6},
};
enum { LINKS = sizeof links / sizeof links[0] };

static struct pings pings;

static struct cc_calibration calibrate(size_t link, double noise, double bad, uint64_t seed,
                                       double burst)
{
    struct wire w = {.latency = links[link].latency,
                     .rate = links[link].rate,
                     .burst = links[link].burst,
                     .noise = noise,
                     .bad = bad,
                     .seed = seed};
    double bytes[MOST];
    struct cc_calibration c;
    struct cc_error e = {""};
    simulate(&w, bytes, sizes_to(links[link].most, bytes), &pings);
    if (cc_calibrate(pings.ping, pings.sizes, burst, &c, &e) != CC_OK)
        fail_msg("link %zu, seed %d: %s", link, (int)seed, e.text);
    return c;
}

/* Without noise, calibration finds the link's parameters, whether the bucket is given or
 * measured. */
static void exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < LINKS; i++)
        for (int known = 0; known < 2; known++) {
            struct cc_calibration c = calibrate(i, 0, 0, 1, known ? links[i].burst : -1);
            close_to(c.bw_bps.value, 8 * links[i].rate, 1e-6, "rate");
            close_to(c.burst_bytes.value, links[i].burst, 1e-3, "burst");
            /* A 64-byte message's own time is in its latency. */
            close_to(c.latency_s.value, links[i].latency, i == 0 ? 0.5 : 0.1, "latency");
            assert_true(c.rms < 1e-6 && c.sizes >= 4);
            assert_true(c.from_bytes >= 8 * links[i].burst);
            for (size_t k = 0; k < pings.sizes; k++) {
                double scratch[SAMPLES];
                struct cc_estimate m = cc_calibrate_median(pings.ping[k].seconds, SAMPLES, scratch);
                if (pings.ping[k].bytes >= 3 * links[i].burst)
                    close_to(cc_calibration_s(&c, pings.ping[k].bytes), m.value,
                             i == 0 ? 0.02 : 0.05, "time");
            }
        }
}

/* A busy machine: times up to a tenth longer, one message in five waits for a core. The
 * quartiles carry some of the noise: 3 to 6%. */
static void noisy(void **state)
{
    (void)state;
    for (size_t i = 0; i < LINKS; i++)
        for (uint64_t seed = 1; seed <= 40; seed++) {
            struct cc_calibration c = calibrate(i, 0.1, 0.2, seed, -1);
            close_to(c.bw_bps.value, 8 * links[i].rate / 1.04, 0.03, "rate");
            close_to(c.latency_s.value, links[i].latency * 1.06, i == 0 ? 0.6 : 0.15, "latency");
            if (links[i].burst > 0)
                close_to(c.burst_bytes.value, links[i].burst, 0.5, "burst");
            else if (c.burst_bytes.value > 0.02 * links[i].most)
                fail_msg("link %zu has a bucket of %g bytes", i, c.burst_bytes.value);
        }
}

/* The standard error is right: the rate lies within three deviations of the truth nearly always. */
static void uncertainty(void **state)
{
    (void)state;
    int within = 0, runs = 0;
    for (size_t i = 0; i < LINKS; i++)
        for (uint64_t seed = 1; seed <= 40; seed++, runs++) {
            struct cc_calibration c = calibrate(i, 0.02, 0.1, seed, links[i].burst);
            double truth = 8 * links[i].rate / 1.008;
            assert_true(c.bw_bps.sd > 0 && c.bw_bps.sd < 0.01 * c.bw_bps.value);
            within += fabs(c.bw_bps.value - truth) < 3 * c.bw_bps.sd + 2e-3 * truth;
        }
    assert_true(within >= runs * 95 / 100);
}

/* The default measurements suffice for every rate, with the bucket known or not. */
static void default_sizes(void **state)
{
    (void)state;
    for (size_t i = 0; i < LINKS; i++)
        for (int known = 0; known < 2; known++) {
            struct wire w = {
                .latency = links[i].latency, .rate = links[i].rate, .burst = links[i].burst};
            size_t size[CC_CALIBRATE_MOST], n;
            double bytes[MOST], seconds = 0;
            struct cc_calibration c;
            struct cc_error e = {""};
            n = cc_calibrate_sizes(8 * w.rate, w.latency, known ? w.burst : 0, size);
            assert_true(n <= CC_CALIBRATE_MOST && size[0] == 1);
            for (size_t k = 0; k < n; k++) {
                assert_true(k == 0 || size[k] > size[k - 1]);
                bytes[k] = (double)size[k];
                seconds += bytes[k] / w.rate;
            }
            assert_true(seconds < 1 || seconds < 128 * w.latency);
            simulate(&w, bytes, n, &pings);
            if (cc_calibrate(pings.ping, n, known ? w.burst : -1, &c, &e) != CC_OK)
                fail_msg("link %zu: %s", i, e.text);
            close_to(c.bw_bps.value, 8 * w.rate, 1e-6, "rate");
            close_to(c.burst_bytes.value, w.burst, 1e-2, "burst");
        }
}

/* No message is long enough to show the rate behind such a bucket: refused once the times are
 * measured. */
static void bucket_beyond_all_messages(void **state)
{
    (void)state;
    for (double burst = 1e6; burst < 1e19; burst *= 10) {
        size_t size[CC_CALIBRATE_MOST + 1];
        size_t n = cc_calibrate_sizes(1e9, 50e-6, burst, size);
        assert_true(n >= 1 && n <= CC_CALIBRATE_MOST && size[n - 1] <= (size_t)1 << 30);
    }
}

static void written(void **state)
{
    const char *path = scratch_path(state, "link.json");
    struct cc_link from = {.name = "a \"lab\"",
                           .bw_bps = 95.6e6 + 1. / 3,
                           .latency_s = 1e-5 / 3,
                           .overhead = 0.1,
                           .message_bytes = 7,
                           .burst_bytes = 9564.5,
                           .reduce_byte_s = 1e-11 / 7};
    struct cc_calibrated_links classes = {.between = from}, read;
    struct cc_error e = {""};
    if (cc_link_write(&classes, "by hand", path, &e) != CC_OK ||
        cc_link_read(path, &read, &e) != CC_OK)
        fail_msg("%s", e.text);
    const struct cc_link to = read.between;
    assert_true(read.inside.bw_bps == 0 && !cc_link_asymmetric(&to));
    assert_string_equal(to.name, from.name);
    assert_true(to.bw_bps == from.bw_bps && to.latency_s == from.latency_s);
    assert_true(to.overhead == from.overhead && to.message_bytes == from.message_bytes);
    assert_true(to.burst_bytes == from.burst_bytes && to.reduce_byte_s == from.reduce_byte_s);
    assert_int_equal(remove(path), 0);
    assert_int_equal(cc_link_write(&classes, "by hand", scratch_path(state, "no/such/file"), &e),
                     CC_FAIL);
}

/* Both classes of links, and a link whose directions differ. */
static void written_classes(void **state)
{
    const char *path = scratch_path(state, "links.json");
    struct cc_calibrated_links from = {.inside = {.name = "memory",
                                                  .bw_bps = 80e9 / 3,
                                                  .latency_s = 1e-6 / 3,
                                                  .message_s = 2e-7}},
                               to;
    struct cc_error e = {""};
    from.between = (struct cc_link){.name = "wan", .latency_s = 0.02};
    cc_link_set_rates(&from.between, 1e8 / 3, 5e8);
    if (cc_link_write(&from, "by hand", path, &e) != CC_OK || cc_link_read(path, &to, &e) != CC_OK)
        fail_msg("%s", e.text);
    assert_true(fabs(cc_link_up_bps(&to.between) / (1e8 / 3) - 1) < 1e-12);
    assert_true(fabs(cc_link_down_bps(&to.between) / 5e8 - 1) < 1e-12);
    assert_true(to.between.bw_bps == from.between.bw_bps && to.between.latency_s == 0.02);
    assert_string_equal(to.inside.name, "memory");
    assert_true(to.inside.bw_bps == from.inside.bw_bps &&
                to.inside.latency_s == from.inside.latency_s && to.inside.message_s == 2e-7);
    assert_int_equal(remove(path), 0);
}

/* Files of the schema before have one link, and none of the later members. */
static void refused_files(void **state)
{
    (void)state;
#define HEAD(version)                                                                              \
    "{\"schema\": \"commcomp-link/" version "\", \"name\": \"a\", \"latency_s\": 0, "
    static const struct {
        const char *text, *message;
    } list[] = {
        {HEAD("1") "\"bw_bps\": 7}", NULL},
        {HEAD("2") "\"bw_bps\": 7, \"up_bps\": 7, \"down_bps\": 9}", NULL},
        {HEAD("3") "\"bw_bps\": 7}", "\"schema\" must be \"commcomp-link/2\""},
        {HEAD("1") "\"bw_bps\": 7, \"up_bps\": 7, \"down_bps\": 9}", "\"up_bps\""},
        {HEAD("1") "\"bw_bps\": 7, \"inside\": {}}", "\"inside\""},
        {HEAD("2") "\"bw_bps\": 7, \"up_bps\": 8, \"down_bps\": 9}", "the slower one"},
        {HEAD("2") "\"bw_bps\": 7, \"up_bps\": 7}", "go together"},
        {HEAD("2") "\"bw_bps\": 7, \"inside\": {\"name\": \"b\", \"bw_bps\": 0}}",
         "\"inside\": \"bw_bps\" must be there"},
        {HEAD("2") "\"bw_bps\": 7, \"inside\": 3}", "\"inside\""},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct cc_calibrated_links out;
        struct cc_error e = {""};
        const int status = cc_link_parse_json(list[i].text, strlen(list[i].text), &out, &e);
        if (list[i].message == NULL)
            assert_int_equal(status, CC_OK);
        else if (status == CC_OK || strstr(e.text, list[i].message) == NULL)
            fail_msg("%s: %s", list[i].text, e.text);
    }
}

/* Small messages of 10 us, and 100 to 500 kB at 100 MB/s, each off by so many percent. */
static struct cc_calibration calibrate_off(const double percent[5], double burst)
{
    enum { SMALL = 3, LARGE = 5 };
    double seconds[SMALL + LARGE];
    struct cc_ping ping[SMALL + LARGE];
    struct cc_calibration c;
    for (int i = 0; i < SMALL + LARGE; i++) {
        const double bytes = i < SMALL ? 1 << 3 * i : 1e5 * (i - SMALL + 1);
        seconds[i] = i < SMALL ? 1e-5 : bytes * 1e-8 * (1 + percent[i - SMALL] / 100);
        ping[i] = (struct cc_ping){bytes, &seconds[i], 1};
    }
    assert_int_equal(cc_calibrate(ping, SMALL + LARGE, burst, &c, NULL), CC_OK);
    return c;
}

/* Worked out from the normal equations, with weights 1 / t^2 and the residuals over n - 2. */
static void deviations(void **state)
{
    (void)state;
    struct cc_calibration c = calibrate_off((const double[]){1, -1, 1, -1, 1}, 0);
    close_to(c.bw_bps.value, 801439840.0208, 1e-9, "rate");
    close_to(c.bw_bps.sd, 8287789.0672, 1e-9, "its deviation");
    close_to(c.intercept_s.value, 7.914299286056e-6, 1e-6, "intercept");
    close_to(c.intercept_s.sd, 1.915099051333e-5, 1e-6, "its deviation");
    /* 1758 bytes, give or take 1877: no bucket; 6132, give or take 484: one. */
    c = calibrate_off((const double[]){-1, 1, -1, 1, -1}, -1);
    assert_true(c.burst_bytes.value == 0);
    close_to(c.burst_bytes.sd, 1877.26710844867, 1e-6, "deviation of no bucket");
    c = calibrate_off((const double[]){-3, 0, 1, 1, 1}, -1);
    close_to(c.burst_bytes.value, 6132.4636786355, 1e-6, "bucket");
    close_to(c.burst_bytes.sd, 483.96762557825, 1e-6, "its deviation");
}

static void medians(void **state)
{
    (void)state;
    const double s[] = {5, 1, 1000, 2, 3, 4, 6};
    double scratch[7];
    struct cc_estimate m = cc_calibrate_median(s, 7, scratch);
    assert_true(m.value == 4);
    close_to(m.sd, 1.2533 * 1.4826 * 2 / sqrt(7), 1e-12, "deviation"); /* 0 1 1 2 2 3 996 */
    m = cc_calibrate_median(s, 1, scratch);
    assert_true(m.value == 5 && m.sd == 0);
}

static void refused(const struct cc_ping *p, size_t sizes, double burst, const char *message)
{
    struct cc_calibration c = {.sizes = 77};
    struct cc_error e = {""};
    assert_int_equal(cc_calibrate(p, sizes, burst, &c, &e), CC_FAIL);
    assert_contains(e.text, message);
    assert_true(c.sizes == 77);
}

static void refusals(void **state)
{
    (void)state;
    const double t = 1e-3, one = 1e-5, zero = 0;
    struct cc_ping p[] = {{1, &one, 1}, {1e5, &t, 1}, {2e5, &t, 1}, {3e5, &t, 1}, {4e5, &t, 1}};
    refused(p, 0, -1, "no messages of up to 64 bytes");
    refused(p + 1, 4, -1, "no messages of up to 64 bytes");
    refused(p, 1, -1, "4 sizes");
    refused(p, 4, -1, "the largest measured has 300000 bytes");
    refused(p, 5, 1e5, "larger than 800000 bytes");
    refused(p, 5, 0, "do not take longer");
    p[2].samples = 0;
    refused(p, 5, 0, "200000 bytes: no samples");
    p[2] = (struct cc_ping){5e4, &t, 1};
    refused(p, 5, 0, "not in ascending order");
    p[2] = (struct cc_ping){2e5, &zero, 1};
    refused(p, 5, 0, "took 0 s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact),
        cmocka_unit_test(noisy),
        cmocka_unit_test(uncertainty),
        cmocka_unit_test(deviations),
        cmocka_unit_test(medians),
        cmocka_unit_test(refusals),
        cmocka_unit_test(default_sizes),
        cmocka_unit_test(bucket_beyond_all_messages),
        cmocka_unit_test_setup_teardown(written, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(written_classes, scratch_setup, scratch_teardown),
        cmocka_unit_test(refused_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
