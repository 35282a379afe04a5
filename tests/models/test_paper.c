/* Published tables: the data against the papers' text typed a second time, the formulas against
 * sums by hand and a simulation, the fit against an earlier one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/paper/paper.h"
#include "tests/lib/text.h"

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.9g is not %.9g", a, b);
}

static struct cc_paper *open_table(const char *name)
{
    struct cc_paper *p;
    struct cc_error e;
    if (cc_paper_open(name, &p, &e) != CC_OK)
        fail_msg("%s", e.text);
    return p;
}

static struct cc_paper *solved(const char *name)
{
    struct cc_paper *p = open_table(name);
    struct cc_error e;
    if (cc_paper_solve(p, &e) != CC_OK)
        fail_msg("%s", e.text);
    return p;
}

static size_t column_of(const struct cc_paper *p, const char *name)
{
    for (size_t i = 0; i < p->columns; i++)
        if (strcmp(p->column[i].name, name) == 0)
            return i;
    fail_msg("%s has no column %s", p->id, name);
    return 0;
}

static size_t row_of(const struct cc_paper *p, const char *name)
{
    for (size_t i = 0; i < p->rows; i++)
        if (strcmp(p->row[i].name, name) == 0)
            return i;
    fail_msg("%s has no row %s", p->id, name);
    return 0;
}

static double constant(const struct cc_paper *p, const char *name)
{
    for (size_t i = 0; i < p->constants; i++)
        if (strcmp(p->constant[i].name, name) == 0)
            return p->constant[i].value;
    fail_msg("%s has no constant %s", p->id, name);
    return 0;
}

/* --- the data --- */

/* Typed from the papers, not from the files. */
static void as_printed(void **state)
{
    (void)state;
    static const struct {
        const char *table, *row, *column;
        double figure;
    } cells[] = {
        {"3lc-table1", "8-bit int", "10 Mbps", 3.62},
        {"3lc-table1", "Stoch 3-value b-3-5", "100 Mbps", 7.51},
        {"3lc-table1", "MQE 1-bit int", "1 Gbps", 1.30},
        {"3lc-table1", "5% sparsification", "100 Mbps", 6.62},
        {"3lc-table1", "2 local steps", "1 Gbps", 1.38},
        {"3lc-table1", "3LC (s=1.00)", "10 Mbps", 15.9},
        {"3lc-table1", "3LC (s=1.50)", "100 Mbps", 8.70},
        {"3lc-table1", "3LC (s=1.75)", "10 Mbps", 22.8},
        {"3lc-table1", "3LC (s=1.90)", "1 Gbps", 1.55},
        {"3lc-table2", "No ZRE", "Comp. ratio", 20},
        {"3lc-table2", "1.00", "Avg. bits", 0.812},
        {"3lc-table2", "1.50", "Comp. ratio", 70.9},
        {"3lc-table2", "1.90", "Comp. ratio", 160},
        {"sparcml-table2", "Piz Daint, Webspam, LR, 128 nodes", "speedup", 3.56},
        {"sparcml-table2", "Piz Daint, URL, SVM, 32 nodes", "sparse, communication", 0.53},
        {"sparcml-table2", "Greina (IB), URL, LR, 8 nodes", "baseline, communication", 4.47},
        {"sparcml-table2", "Greina (GigE), Webspam, LR, 8 nodes", "speedup of communication",
         25.75},
        {"sparcml-table3", "Piz Daint, ImageNet, AlexNet, 16 nodes, Q4", "speedup", 1.30},
        {"sparcml-table3", "EC2, MNIST, MLP, 8 nodes, Top16_Q4", "speedup of communication", 22.97},
        {"pipe-sgd", "Pipe-SGD with compression, largest", "over PS-Sync", 5.4},
        {"pipe-sgd", "Pipe-SGD with compression, smallest", "over D-Sync", 2.0},
        {"pipe-sgd", "CIFAR100-Convex", "with truncation, Pipe-SGD's time below D-Sync's", 0.46},
        {"qsgd-table1", "AlexNet", "Speedup (8 GPUs)", 2.05},
        {"qsgd-table1", "ResNet110", "Speedup (8 GPUs)", 1.10},
        {"qsgd-table1", "VGG19", "Params.", 143},
        {"qsgd-table1", "LSTM", "Speedup (2 GPUs)", 2},
        {"qsgd-section5", "LSTM, 2 GPUs, batch 256", "overall", 2.7},
        {"thesis-table1.1", "DenseNet", "bps", 207.2e6},
        {"thesis-table1.1", "Inception-v4", "# of parameters", 42.65e6},
        {"thesis-combined", "Inception-v4", "wait-free over traditional", 1.29},
        {"thesis-combined", "ResNet", "all together, over one machine", 3.91},
        {"sdp4bit-table4", "full precision", "gradient communication", 379.3},
        {"sdp4bit-table4", "SDP4Bit without fused kernels", "gradient communication", 64.6},
        {"diloco-table4", "1 B, DiLoCo", "99%", 86.8},
        {"diloco-table4", "10 B, data-parallel", "50%", 104.8},
        {"diloco-table4", "100 B, streaming, overlapped, fp4", "99%", 1.4},
        {"diloco-table6", "Chinchilla 10 B, H = 100", "99%", 86.8},
        {"diloco-table6", "Llama3 405 B, H = 300", "50%", 0.7},
        {"diloco-table6", "DeepSeek-V3 671 B, H = 10", "80%", 152.6},
        {"quickreduce", "int4", "512 MiB", 3494},
        {"quickreduce", "fp8", "1 MiB", 30.9},
        {"quickreduce", "fp16", "4 KiB", 9.0},
        {"horovod-512", "VGG-16, 154 images/s a GPU (TensorFlow's benchmarks, P100)", "512 GPUs",
         68},
        {"dell-c4140", "MXNet", "32 GPUs", 29.4},
    };
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        struct cc_paper *p = open_table(cells[i].table);
        double is = p->row[row_of(p, cells[i].row)].figure[column_of(p, cells[i].column)];
        if (is != cells[i].figure)
            fail_msg("%s, %s, %s: %g", cells[i].table, cells[i].row, cells[i].column, is);
        cc_paper_free(p);
    }
}

/* Figures are found by scheme, quantity and the column's input. */
static void figures_of_schemes(void **state)
{
    (void)state;
    struct cc_paper *speeds = open_table("3lc-table1"), *sizes = open_table("3lc-table2");
    assert_true(cc_paper_figure(speeds, "mqe1bit", "speedup", 1000) == 1.30);
    assert_true(cc_paper_figure(sizes, "3lc:s=1.75", "bits", NAN) == 0.298);
    assert_true(cc_paper_figure(sizes, "3lc:s=1.75", "ratio", NAN) == 107);
    assert_true(isnan(cc_paper_figure(speeds, "mqe1bit", "speedup", 20)));
    assert_true(isnan(cc_paper_figure(speeds, "mqe1bit", "speedup", NAN)));
    assert_true(isnan(cc_paper_figure(speeds, "mqe1bit", "bits", 1000)));
    assert_true(isnan(cc_paper_figure(speeds, "qsgd", "speedup", 1000)));
    assert_true(cc_paper_row_of(speeds, "local")->accuracy == 93.03);
    assert_null(cc_paper_row_of(speeds, "fp32"));
    assert_true(cc_paper_constant_value(speeds, "baseline_bits") == 32);
    cc_paper_free(speeds);
    cc_paper_free(sizes);
}

/* The number of figures of each table and the errors of its formulas, as in docs/papers.md. */
static void errors(void **state)
{
    (void)state;
    static const struct {
        const char *table;
        size_t figures, fitted;
        double rms, worst; /* at most */
    } known[] = {
        {"3lc-table1", 27, 4, 0.05, 0.11},
        {"3lc-table2", 10, 2, 0.04, 0.06},
        {"sparcml-table2", 48, 7, 0.23, 0.67},
        {"sparcml-table3", 8, 1, 0.88, 2.2},
        {"sparcml-figure4", 11, 0, 0, 0},
        {"sparcml-spark", 7, 1, 0.07, 0.14},
        {"pipe-sgd", 8, 3, 0.6, 1.7},
        {"qsgd-table1", 14, 2, 0.16, 0.35},
        {"qsgd-section5", 4, 0, 0.5, 0.97},
        {"thesis-table1.1", 6, 0, 0.001, 0.002},
        {"thesis-placement", 6, 0, 0.41, 1},
        {"thesis-combined", 4, 0, 0.1, 0.19},
        {"utility", 2, 0, 9, 12.7},
        {"sdp4bit-table4", 3, 0, 0.06, 0.07},
        {"diloco-table4", 75, 2, 0.13, 0.53},
        {"diloco-table6", 74, 0, 0.25, 0.47},
        {"quickreduce", 12, 4, 0.065, 0.14},
        {"dlperf-resnet50", 21, 1, 0.06, 0.15},
        {"dlperf-bert", 24, 1, 0.06, 0.16},
        {"dlperf-bert-fp16", 12, 0, 0.04, 0.06},
        {"horovod-512", 2, 0, 0.07, 0.09},
        {"tensorflow-ec2", 6, 0, 0.1, 0.19},
        {"tensorflow-dgx1", 6, 0, 0.13, 0.3},
        {"nvidia-bert-fp16", 4, 1, 0.005, 0.01},
        {"nvidia-bert-fp32", 4, 1, 0.006, 0.01},
        {"dell-c4140", 3, 0, 0.23, 0.37},
    };
    size_t count = 0;
    while (cc_paper_names[count] != NULL)
        count++;
    assert_int_equal(count, sizeof known / sizeof known[0]);
    for (size_t i = 0; i < count; i++) {
        struct cc_paper *p = solved(known[i].table);
        assert_string_equal(p->id, known[i].table);
        assert_int_equal(p->figures, known[i].figures);
        assert_int_equal(p->fitted, known[i].fitted);
        if (p->rms_error > known[i].rms || fabs(p->worst_error) > known[i].worst)
            fail_msg("%s: rms %g, worst %g", p->id, p->rms_error, p->worst_error);
        for (size_t k = 0; k < p->constants; k++) {
            const struct cc_paper_constant *c = &p->constant[k];
            assert_true(c->source[0] != '\0');
            /* A constant at a bound was not found. */
            if (c->origin == CC_FITTED)
                assert_true(c->value > 1.1 * c->min && c->value < 0.9 * c->max);
        }
        cc_paper_free(p);
    }
}

/* The fit of 3LC's Table 1: four constants, rms 4.2%, worst 10.1%. */
static void known_fit(void **state)
{
    (void)state;
    struct cc_paper *p = solved("3lc-table1");
    assert_near(constant(p, "compute"), 0.01153, 0.00001);
    assert_near(constant(p, "residue"), 0.0287, 0.0001);
    assert_near(constant(p, "overlap"), 0.374, 0.001);
    assert_near(constant(p, "averaging"), 0.00158, 0.00001);
    assert_near(p->rms_error, 0.042, 0.0005);
    assert_near(fabs(p->worst_error), 0.101, 0.0005);
    size_t row = row_of(p, "8-bit int"), column = column_of(p, "100 Mbps");
    assert_near(p->row[row].model[column] / 3.47 - 1, p->worst_error, 1e-12);
    cc_paper_free(p);
}

/* By hand: 24 steps over NVLink and 7 between hosts, and 31/32 of 5.2 GB at 12.5 GB/s; 7/8 of 4.25
 * bits a value; and of separate kernels 26.625 bytes a value, 6.375 of fused ones, at 1.4 TB/s. No
 * constant is fitted, and each figure is within a tenth of the paper's. */
static void two_level(void **state)
{
    (void)state;
    struct cc_paper *p = solved("sdp4bit-table4");
    const double sum = 7.0 / 8 * 1.3e9 * 4.25 / 8 / 12.5e9;
    assert_near(p->row[0].model[0],
                1e3 * (5.2e9 * 31 / 32 / 12.5e9 + 1e-6 * (8.4 + 24 * 3.4 + 7 * 14)), 1e-9);
    assert_near(p->row[1].model[0], 1e3 * sum, 1e-9);
    assert_near(p->row[2].model[0], 1e3 * (sum + (26.625 - 6.375) * 1.3e9 / 1.4e12), 1e-9);
    for (size_t i = 0; i < 3; i++)
        assert_true(fabs(p->row[i].model[0] / p->row[i].figure[0] - 1) < 0.1);
    cc_paper_free(p);
}

/* By hand, of 1 B and 0.1 s: 14 Gbit in 0.1 x (1 + 0.6) s, 87.5 Gbit/s; in 100 x 0.1 / 9 + 0.06 s;
 * and an eighth of it, in 12.5 x 0.1 / 99 + 0.16 s, a quarter of the bits in the same. The first
 * points of the grid from there on are 37, 14, 25 and 18 steps of 4/49 of a power of ten above 0.1.
 */
static void utilization(void **state)
{
    (void)state;
    struct cc_paper *p = solved("diloco-table4");
    static const struct {
        const char *row, *column;
        double gbps;
        int point;
    } figures[] = {{"1 B, data-parallel", "50%", 14 / 0.16, 37},
                   {"1 B, DiLoCo", "90%", 14 / (10.0 / 9 + 0.06), 26},
                   {"1 B, streaming, overlapped", "99%", 1.75 / (1.25 / 99 + 0.16), 25},
                   {"1 B, streaming, overlapped, fp4", "99%", 0.4375 / (1.25 / 99 + 0.16), 18}};
    size_t equal, near;
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        const double is = p->row[row_of(p, figures[i].row)].model[column_of(p, figures[i].column)];
        const double point = 0.1 * pow(10, 4.0 * figures[i].point / 49);
        assert_near(is / point, 1, 1e-9);
        assert_true(is >= figures[i].gbps && is < 1.21 * figures[i].gbps);
    }
    assert_true(cc_paper_on_grid(p, &equal, &near));
    assert_int_equal(equal, 55);
    assert_int_equal(near, 72);
    cc_paper_free(p);
    /* The constants of Table 4 on a table by which none was chosen: 405 B in 26 s, H = 300, take
     * 405 x 14 Gbit in 7,800 + 15.6 s, 0.725 Gbit/s, and the next point is the 11th. */
    p = solved("diloco-table6");
    assert_near(p->row[row_of(p, "Llama3 405 B, H = 300")].model[column_of(p, "50%")],
                0.1 * pow(10, 44.0 / 49), 1e-9);
    assert_true(cc_paper_on_grid(p, &equal, &near));
    assert_int_equal(equal, 11);
    assert_int_equal(near, 63);
    cc_paper_free(p);
    p = solved("quickreduce");
    assert_false(cc_paper_on_grid(p, &equal, &near));
    cc_paper_free(p);
}

/* By the constants that were fitted, and the size at which both payloads take as long. */
static void two_shot(void **state)
{
    (void)state;
    struct cc_paper *p = solved("quickreduce");
    const double link = constant(p, "link_gb_per_s"), base = constant(p, "base_us");
    const double codec = constant(p, "codec_us"), ps = constant(p, "codec_ps");
    assert_near(p->row[0].model[0], base + 536870912 / (1e3 * link), 1e-6);
    assert_near(p->row[3].model[1], base + codec + 524288 * (4.5 / 8 / (1e3 * link) + 1e-6 * ps),
                1e-6);
    const double values = p->row[3].model[3] * 1024 / 2;
    assert_near(codec + values * (4.5 / 8 / (1e3 * link) + 1e-6 * ps), values * 2 / (1e3 * link),
                1e-6);
    cc_paper_free(p);
}

/* --- formulas, on tables made here --- */

#define HEAD(formula)                                                                              \
    "{\"schema\":\"commcomp-paper/1\",\"id\":\"t\",\"paper\":\"p\",\"reference\":\"r\","           \
    "\"place\":\"here\",\"caption\":\"c\",\"formula\":\"" formula "\",\"model\":\"m\","
#define GIVEN(name, value)                                                                         \
    "{\"name\":\"" name "\",\"from\":\"given\",\"value\":" value ",\"source\":\"s\"}"

static struct cc_paper *made(const char *text)
{
    struct cc_paper *p;
    struct cc_error e;
    if (cc_paper_parse(text, strlen(text), &p, &e) != CC_OK || cc_paper_solve(p, &e) != CC_OK)
        fail_msg("%s", e.text);
    return p;
}

/* c = 0.1, o = 0.5, u = 0.2 at 100 Mbit/s: the baseline takes 0.05 + max(0.05, 0.1) = 0.15; 8 bits
 * w = 0.4, 0.05 + max(0.05, 0.04) = 0.1, and 0.02 more. */
static void shared_port(void **state)
{
    (void)state;
    struct cc_paper *p =
        made(HEAD("shared-port") "\"constants\":[" GIVEN("baseline_bits", "32") "," GIVEN(
            "compute",
            "0.1") "," GIVEN("overlap",
                             "0.5") "," GIVEN("residue",
                                              "0.2") "," GIVEN("averaging",
                                                               "0.02") "],"
                                                                       "\"columns\":[{\"name\":"
                                                                       "\"a\",\"quantity\":"
                                                                       "\"speedup\",\"inputs\":{"
                                                                       "\"mbps\":100}}],"
                                                                       "\"rows\":[{\"name\":\"x\","
                                                                       "\"inputs\":{\"bits\":8},"
                                                                       "\"figures\":[3]},"
                                                                       "{\"name\":\"y\",\"inputs\":"
                                                                       "{\"bits\":8,\"averages\":1}"
                                                                       ",\"figures\":[1.25]}]}");
    assert_near(p->row[0].model[0], 1.5, 1e-12);
    assert_near(p->row[1].model[0], 1.25, 1e-12);
    assert_near(p->rms_error, sqrt(0.125), 1e-12);
    assert_near(p->worst_error, -0.5, 1e-12);
    cc_paper_free(p);
}

/* Bits per value of trits that are nonzero with probability p, by encoding them: five to a byte,
 * runs of zero bytes cut into 14s. */
static double simulated_bits(double p)
{
    enum { BYTES = 4000000 };
    double out = 0;
    unsigned run = 0;
    srand48(1);
    for (int i = 0; i < BYTES; i++) {
        int zero = 1;
        for (int k = 0; k < 5; k++)
            zero &= drand48() >= p;
        if (zero) {
            out += run % 14 == 0;
            run++;
        } else {
            out++;
            run = 0;
        }
    }
    return 8 * out / (5.0 * BYTES);
}

static void zero_runs(void **state)
{
    (void)state;
    struct cc_paper *p = made(HEAD("zero-runs") "\"constants\":[" GIVEN("tail", "0.2") "," GIVEN(
        "steepness",
        "2") "],"
             "\"columns\":[{\"name\":\"a\",\"quantity\":\"bits\"},{\"name\":\"b\",\"quantity\":"
             "\"ratio\"}],\"rows\":[{\"name\":\"x\",\"inputs\":{\"s\":1},\"figures\":[1,1]},"
             "{\"name\":\"y\",\"inputs\":{\"s\":1.8},\"figures\":[1,1]},"
             "{\"name\":\"z\",\"figures\":[1.6,20]}]}");
    /* p = 0.2 * 0.5^2 and 0.2 * 0.1^2. */
    assert_near(p->row[0].model[0] / simulated_bits(0.05), 1, 0.005);
    assert_near(p->row[1].model[0] / simulated_bits(0.002), 1, 0.005);
    assert_near(p->row[1].model[1], 32 / p->row[1].model[0], 1e-9);
    assert_near(p->row[2].model[0], 1.6, 1e-12);
    assert_near(p->row[2].model[1], 20, 1e-12);
    cc_paper_free(p);
}

/* 4 nodes, 1000 values, 8 Gbit/s (10^9 bytes/s), 100 pairs, 5 exchanges in a pass: dense 2 * 3/4 *
 * 4000 B = 6 us; doubling 2 * 800 B = 1.6 us; split twice 3/4 * 800 B = 1.2 us; 1 us of passes over
 * the vector. */
static void sparse_pass(void **state)
{
    (void)state;
    struct cc_paper *p = made(HEAD("sparse-pass") "\"constants\":[" GIVEN("batch", "10") "," GIVEN(
        "daint_s",
        "0") "," GIVEN("daint8_gbps",
                       "8") "," GIVEN("pass_ns",
                                      "1") "," GIVEN("url_pairs",
                                                     "100") "],"
                                                            "\"columns\":[{\"name\":\"d\","
                                                            "\"quantity\":\"dense_s\"},{\"name\":"
                                                            "\"s\",\"quantity\":"
                                                            "\"sparse_s\"},{\"name\":\"c\","
                                                            "\"quantity\":\"comm_speedup\"},{"
                                                            "\"name\":\"t\","
                                                            "\"quantity\":\"speedup\"}],\"rows\":[{"
                                                            "\"name\":\"x\",\"inputs\":{"
                                                            "\"workers\":4,"
                                                            "\"network\":0,\"dataset\":1,"
                                                            "\"values\":1000,\"samples\":200,"
                                                            "\"split\":0,"
                                                            "\"compute_s\":1e-5},\"figures\":[1,1,"
                                                            "1,1]},{\"name\":\"y\",\"inputs\":{"
                                                            "\"workers\":4,"
                                                            "\"network\":0,\"dataset\":1,"
                                                            "\"values\":1000,\"samples\":200,"
                                                            "\"split\":1,"
                                                            "\"compute_s\":1e-5},\"figures\":[1,1,"
                                                            "1,1]}]}");
    assert_near(p->row[0].model[0], 30e-6, 1e-12);
    assert_near(p->row[0].model[1], 13e-6, 1e-12);
    assert_near(p->row[0].model[2], 30. / 13, 1e-9);
    assert_near(p->row[0].model[3], 40. / 23, 1e-9);
    assert_near(p->row[1].model[1], 11e-6, 1e-12);
    cc_paper_free(p);
}

/* With m = 2: D-Sync 3, PS-Sync 5, Pipe-SGD 2; with half the communication 2 and 1. */
static void pipeline(void **state)
{
    (void)state;
    struct cc_paper *p =
        made(HEAD("pipeline") "\"constants\":[" GIVEN("convex_comm", "2") "," GIVEN(
            "ps_factor",
            "2") "," GIVEN("workers",
                           "4") "," GIVEN("gain",
                                          "2") "],"
                                               "\"columns\":[{\"name\":\"a\",\"quantity\":\"ps_"
                                               "sync\"},{\"name\":\"b\",\"quantity\":"
                                               "\"sync_pipe\"},{\"name\":\"c\",\"quantity\":\"sync_"
                                               "pipe_small\"},{\"name\":\"d\","
                                               "\"quantity\":\"speedup\"},{\"name\":\"e\","
                                               "\"quantity\":\"over_ps\"},{\"name\":\"f\","
                                               "\"quantity\":\"comm_ratio\"}],\"rows\":[{\"name\":"
                                               "\"x\",\"inputs\":{\"convex\":1},"
                                               "\"figures\":[1,1,1,1,1,1]}]}");
    static const double want[] = {0.4, 1. / 3, 0.5, 3, 5, 16. / 3};
    for (int i = 0; i < 6; i++)
        assert_near(p->row[0].model[i], want[i], 1e-12);
    cc_paper_free(p);
}

/* 4.03125 bits instead of 32; or 1/32 of the values as pairs of 64 bits (2 bits a value, once) and
 * 4.03125 bits once, instead of 32 bits twice. 8 of 10 minutes are communication. */
static void low_precision(void **state)
{
    (void)state;
    struct cc_paper *p = made(HEAD("low-precision") "\"constants\":[" GIVEN("bits", "4") "," GIVEN(
        "bucket",
        "1024") "," GIVEN("latency_s",
                          "0") "," GIVEN("gbps",
                                         "1") "," GIVEN("workers",
                                                        "8") "," GIVEN("dense_min",
                                                                       "10") "," GIVEN("dense_comm_"
                                                                                       "min",
                                                                                       "8") "],"
                                                                                            "\"colu"
                                                                                            "mns\":"
                                                                                            "[{"
                                                                                            "\"name"
                                                                                            "\":"
                                                                                            "\"a\","
                                                                                            "\"quan"
                                                                                            "tity\""
                                                                                            ":\"com"
                                                                                            "m_"
                                                                                            "speedu"
                                                                                            "p\"},{"
                                                                                            "\"name"
                                                                                            "\":"
                                                                                            "\"b\","
                                                                                            "\"quan"
                                                                                            "tity\""
                                                                                            ":\"spe"
                                                                                            "edup\""
                                                                                            "}],"
                                                                                            "\"rows"
                                                                                            "\":[{"
                                                                                            "\"name"
                                                                                            "\":"
                                                                                            "\"x\","
                                                                                            "\"net"
                                                                                            "\":"
                                                                                            "\"vgg1"
                                                                                            "9\","
                                                                                            "\"figu"
                                                                                            "res\":"
                                                                                            "[1,1]}"
                                                                                            ",{"
                                                                                            "\"name"
                                                                                            "\":"
                                                                                            "\"y\","
                                                                                            "\"net"
                                                                                            "\":"
                                                                                            "\"vgg1"
                                                                                            "9\","
                                                                                            "\"inpu"
                                                                                            "ts\":{"
                                                                                            "\"top"
                                                                                            "\":0."
                                                                                            "03125}"
                                                                                            ","
                                                                                            "\"figu"
                                                                                            "res\":"
                                                                                            "[1,1]}"
                                                                                            "]}");
    assert_near(p->row[0].model[0], 32 / 4.03125, 1e-9);
    assert_near(p->row[0].model[1], 10 / (2 + 8 * 4.03125 / 32), 1e-9);
    assert_near(p->row[1].model[0], 64 / (2 + 4.03125), 1e-9);
    cc_paper_free(p);
}

/* A perceptron has one multiply-addition for each value: at a cost of 1, computation is 1 and
 * communication 1. 8 bits of 32, a scale for 512 values, 0.1 for the codec. */
static void gpu_sum(void **state)
{
    (void)state;
    struct cc_paper *p = made(HEAD("gpu-sum") "\"constants\":[" GIVEN("bucket", "512") "," GIVEN(
        "value_cost", "1") "," GIVEN("codec", "0.1") "],"
                                                     "\"columns\":[{\"name\":\"a\",\"quantity\":"
                                                     "\"speedup\"}],\"rows\":[{\"name\":\"x\","
                                                     "\"net\":\"mnist-mlp-500\",\"inputs\":{"
                                                     "\"bits\":8},\"figures\":[1]}]}");
    assert_near(p->row[0].model[0], 2 / (1 + 0.25 + 1. / 512 + 0.1), 1e-9);
    cc_paper_free(p);
}

/* Four machines at 1 Gbit/s without headers, 12 ms a step, on ResNet-110: 3/4 of 6.911848 MB leave
 * a machine each way, 41.47 ms, as largest first is even within 1%. Sequential takes 12 + 2 * 41.47
 * ms, overlapped at least 2 * 41.47 ms: a little more, as ports idle at first and
 * where messages between two machines wait for earlier ones. */
static void combined(void **state)
{
    (void)state;
    struct cc_paper *p = made(
        HEAD("combined") "\"constants\":[" GIVEN("machines", "4") "," GIVEN("gbps", "1") "," GIVEN(
            "latency_s",
            "0") "," GIVEN("overhead",
                           "0") "," GIVEN("top_bits",
                                          "0.0032") "],"
                                                    "\"columns\":[{\"name\":\"a\",\"quantity\":"
                                                    "\"overlap_gain\"},{\"name\":\"b\","
                                                    "\"quantity\":\"speedup\"}],\"rows\":[{"
                                                    "\"name\":\"x\",\"net\":\"resnet110\","
                                                    "\"inputs\":{\"steps_per_s\":83.33333333333333}"
                                                    ",\"figures\":[1,4]}]}");
    const double way = 0.75 * 6911848 * 8e-9, most = (0.012 + 2 * way) / (2 * way);
    assert_true(p->row[0].model[0] < most && p->row[0].model[0] > 0.95 * most);
    assert_true(p->row[0].model[1] < 4 && p->row[0].model[1] > 3.95);
    cc_paper_free(p);
}

/* The fit finds the constants from which the figures were computed. */
static void finds_constants(void **state)
{
    (void)state;
    struct cc_paper *p = made(HEAD(
        "amdahl") "\"constants\":[{\"name\":\"comm_share\",\"from\":\"fitted\",\"min\":0.01,"
                  "\"max\":1,\"source\":\"s\"},{\"name\":\"comm_gain\",\"from\":\"assumed\","
                  "\"value\":"
                  "3,"
                  "\"source\":\"s\"}],\"columns\":[{\"name\":\"a\",\"quantity\":\"speedup\"},"
                  "{\"name\":\"b\",\"quantity\":\"speedup\",\"fit\":false}],"
                  "\"rows\":[{\"name\":\"x\",\"inputs\":{\"comm_gain\":2},\"figures\":[1.25,9]},"
                  "{\"name\":\"y\",\"inputs\":{\"comm_gain\":4},\"figures\":[null,null]},"
                  "{\"name\":\"z\",\"inputs\":{\"comm_gain\":4},\"figures\":[1.4285714286,null]}]"
                  "}");
    assert_near(constant(p, "comm_share"), 0.4, 1e-6);
    assert_int_equal(p->figures, 3);
    assert_true(isnan(p->row[1].model[0]));
    assert_near(p->row[0].model[1], 1.25, 1e-6);
    cc_paper_free(p);
}

/* --- what is refused --- */

static void unsolved(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {HEAD("amdal") "\"columns\":[{\"name\":\"a\",\"quantity\":\"speedup\"}],"
                       "\"rows\":[{\"name\":\"x\",\"figures\":[1]}]}",
         "no formula 'amdal'"},
        {HEAD("amdahl") "\"columns\":[{\"name\":\"a\",\"quantity\":\"speedup\"}],"
                        "\"rows\":[{\"name\":\"x\",\"figures\":[1]}]}",
         "t: row \"x\", column \"a\": the formula 'amdahl' needs \"comm_share\""},
        {HEAD("traffic") "\"columns\":[{\"name\":\"a\",\"quantity\":\"values\"}],"
                         "\"rows\":[{\"name\":\"x\",\"figures\":[1]}]}",
         "it needs a net"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct cc_paper *p;
        struct cc_error e;
        assert_int_equal(cc_paper_parse(bad[i].text, strlen(bad[i].text), &p, NULL), CC_OK);
        assert_int_equal(cc_paper_solve(p, &e), CC_FAIL);
        assert_contains(e.text, bad[i].message);
        cc_paper_free(p);
    }
}

#define COLUMNS        "\"columns\":[{\"name\":\"a\",\"quantity\":\"q\"}],"
#define CONSTANT(text) HEAD("amdahl") "\"constants\":[" text "]," COLUMNS "\"rows\":[]}"
#define ROW(text)      HEAD("amdahl") COLUMNS "\"rows\":[" text "]}"

static void refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"[]", "not a JSON object"},
        {"{}", "\"schema\" must be \"commcomp-paper/1\""},
        {"{\"schema\":\"commcomp-paper/1\",\"captoin\":\"\"}", "did you mean \"caption\"?"},
        {"{\"schema\":\"commcomp-paper/1\"}", "\"id\" is missing"},
        {HEAD("amdahl") "\"rows\":[]}", "\"columns\" must be a list of at least one"},
        {HEAD("amdahl") COLUMNS "\"rows\":[]}", "\"rows\" must be a list of at least one"},
        {HEAD("amdahl") "\"limits\":[1]," COLUMNS "\"rows\":[]}", "\"limits\": 0 is not a text"},
        {HEAD("amdahl") "\"columns\":[{\"name\":\"a\"}],\"rows\":[]}",
         "column 0: \"quantity\" is missing"},
        {HEAD("amdahl") "\"columns\":[{\"name\":\"a\",\"quantity\":\"q\",\"fit\":1}],\"rows\":[]}",
         "\"fit\" is neither true nor false"},
        {CONSTANT("1"), "constant 0: not an object"},
        {CONSTANT("{\"name\":\"a\",\"from\":\"given\",\"value\":1}"), "\"source\" is missing"},
        {CONSTANT("{\"name\":\"a\",\"from\":\"guessed\",\"value\":1,\"source\":\"s\"}"),
         "it is one of given, assumed, measured, fitted"},
        {CONSTANT("{\"name\":\"a\",\"from\":\"fitted\",\"value\":1,\"source\":\"s\"}"),
         "a fitted one has \"min\" and \"max\""},
        {CONSTANT("{\"name\":\"a\",\"from\":\"fitted\",\"min\":2,\"max\":1,\"source\":\"s\"}"),
         "0 < min < max"},
        {CONSTANT("{\"name\":\"a\",\"from\":\"fitted\",\"min\":1,\"max\":2,\"value\":2,"
                  "\"source\":\"s\"}"),
         "one that is fitted by hand has a \"value\" between"},
        {CONSTANT("{\"name\":\"a\",\"from\":\"given\",\"min\":2,\"source\":\"s\"}"),
         "it needs a \"value\""},
        {ROW("{\"name\":\"x\"}"), "row 0: \"figures\" must be a list of 1"},
        {ROW("{\"name\":\"x\",\"figures\":[1,2]}"), "must be a list of 1"},
        {ROW("{\"name\":\"x\",\"figures\":[0]}"), "neither null, \"ours\", nor above zero"},
        {ROW("{\"name\":\"x\",\"figures\":[\"1\"]}"), "neither null, \"ours\", nor above zero"},
        {ROW("{\"name\":\"x\",\"figures\":[1],\"net\":\"resnet51\"}"), "did you mean 'resnet56'?"},
        {ROW("{\"name\":\"x\",\"figures\":[1],\"inputs\":{\"a\":\"1\"}}"), "\"a\" is not a number"},
        {ROW("{\"name\":\"x\",\"figures\":[1],\"inputs\":{\"a\":-1}}"), "not a number from 0"},
        {ROW("{\"name\":\"x\",\"figures\":[1],\"inputs\":{\"a\":1e999}}"), "\"a\" is not a number"},
        {ROW("{\"name\":\"x\",\"figures\":[1],\"inputs\":[]}"), "\"inputs\" is not an object"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct cc_paper *p;
        struct cc_error e;
        if (cc_paper_parse(bad[i].text, strlen(bad[i].text), &p, &e) == CC_OK)
            fail_msg("accepted: %s", bad[i].text);
        assert_contains(e.text, bad[i].message);
    }
    struct cc_paper *p;
    struct cc_error e;
    assert_int_equal(cc_paper_open("3lc-table3", &p, &e), CC_USAGE);
    assert_contains(e.text, "did you mean '3lc-table");
    assert_int_equal(cc_paper_open("terngrad", &p, &e), CC_USAGE);
    assert_contains(e.text, "`commcomp paper` lists them");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_printed),      cmocka_unit_test(figures_of_schemes),
        cmocka_unit_test(errors),          cmocka_unit_test(known_fit),
        cmocka_unit_test(two_level),       cmocka_unit_test(utilization),
        cmocka_unit_test(two_shot),        cmocka_unit_test(shared_port),
        cmocka_unit_test(zero_runs),       cmocka_unit_test(sparse_pass),
        cmocka_unit_test(pipeline),        cmocka_unit_test(low_precision),
        cmocka_unit_test(gpu_sum),         cmocka_unit_test(combined),
        cmocka_unit_test(finds_constants),

        cmocka_unit_test(unsolved),        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
