/* Plots: reading results back, the data of figures, and that gnuplot, if it is installed, draws the
 * scripts with any names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/scratch.h"
#include "results/plot.h"
#include "results/plot_impl.h"
#include "core/units.h"
#include "tests/lib/text.h"

static struct cc_error e;

static int csv(const char *text, struct cc_sheet *s)
{
    e.text[0] = '\0';
    return cc_sheet_parse_csv("r.csv", text, strlen(text), s, &e);
}

static int json(const char *text, struct cc_sheet *s)
{
    e.text[0] = '\0';
    return cc_sheet_parse_json("r.json", text, strlen(text), s, &e);
}

static struct cc_sheet sheet_of(const char *text)
{
    struct cc_sheet s;
    if (csv(text, &s) != CC_OK)
        fail_msg("%s", e.text);
    return s;
}

/* --- sheets --- */

static void sheet_is_read(void **state)
{
    (void)state;
    struct cc_sheet s =
        sheet_of("scheme,x,\"a \"\"b\"\"\"\r\n3lc,-1.5e3,\n\n\"a,\nb\",,true\nint8, 7 ,\"\"\n");
    assert_int_equal(s.columns, 3);
    assert_int_equal(s.rows, 3);
    assert_string_equal(s.key[2], "a \"b\"");
    assert_int_equal(cc_sheet_column(&s, "x"), 1);
    assert_int_equal(cc_sheet_column(&s, "X"), CC_NO_COLUMN);
    double v;
    assert_int_equal(cc_sheet_number(&s, 0, 1, &v, &e), CC_OK);
    assert_true(v == -1500);
    assert_int_equal(cc_sheet_value(&s, 0, 2)->kind, CC_NULL);
    assert_string_equal(cc_sheet_value(&s, 1, 0)->text, "a,\nb");
    assert_int_equal(cc_sheet_number(&s, 1, 1, &v, &e), CC_OK);
    assert_true(isnan(v));
    assert_int_equal(cc_sheet_value(&s, 1, 2)->kind, CC_BOOL);
    assert_int_equal(cc_sheet_number(&s, 2, 1, &v, &e), CC_OK);
    assert_true(v == 7);
    assert_string_equal(cc_sheet_value(&s, 2, 2)->text, "");
    assert_int_equal(s.place[2], 6);
    assert_int_equal(cc_sheet_number(&s, 2, 0, &v, &e), CC_FAIL);
    assert_string_equal(e.text, "r.csv: line 6, column 'scheme': 'int8' is not a number");
    cc_sheet_free(&s);
}

static void bad_csv(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "r.csv: it has no rows"},
        {"\na,b\n1,2\n", "r.csv: line 1: the names of the columns should be here"},
        {"a,b\n", "r.csv: it has no rows"},
        {"a,b\n1,2\n3\n", "r.csv: line 3: the row ends before column 'b'"},
        {"a,b\n1,2,3\n", "r.csv: line 2: more fields than the 2 columns of the first row"},
        {"a,b,a\n1,2,3\n", "r.csv: line 1: the column 'a' occurs twice"},
        {"a,,c\n1,2,3\n", "r.csv: line 1: column 2 has no name"},
        {"a\n1\n\"x\n", "r.csv: line 4: "},
        {"a\n\"x\"y\n", "r.csv: line 2: "},
        {"a\n1e999\n", "r.csv: line 2: column 'a': 1e999 is beyond the range of numbers"},
        {"a,b\rc,d\re", "r.csv: line 2: the row ends before column 'b'"},
        {"a\n\xff\n", "r.csv: byte 2: invalid UTF-8"},
    };
    struct cc_sheet s;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(csv(cases[i].text, &s), CC_FAIL);
        if (strncmp(e.text, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("case %zu: %s", i, e.text);
    }
    assert_int_equal(cc_sheet_parse_csv("r.csv", "a\n\0\n", 4, &s, &e), CC_FAIL);
    assert_string_equal(e.text, "r.csv: byte 2: a zero byte: this is no text");
}

static void json_is_read(void **state)
{
    (void)state;
    struct cc_sheet s;
    assert_int_equal(json("{\"schema\": \"commcomp/1\", \"rows\": [{\"scheme\": \"3lc\", \"x\": "
                          "0.1}, {\"scheme\": null, \"x\": true}]}",
                          &s),
                     CC_OK);
    double v;
    assert_int_equal(s.rows, 2);
    assert_int_equal(cc_sheet_number(&s, 0, 1, &v, &e), CC_OK);
    assert_true(v == 0.1);
    assert_int_equal(cc_sheet_number(&s, 1, 1, &v, &e), CC_FAIL);
    assert_string_equal(e.text, "r.json: row 2, column 'x': 'true' is not a number");
    cc_sheet_free(&s);
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{", "r.json: byte 1: a string in double quotes is missing"},
        {"[]", "r.json: not a result of commcomp"},
        {"{\"schema\": \"commcomp-net/1\", \"rows\": []}", "r.json: not a result of commcomp"},
        {"{\"schema\": \"commcomp/1\"}", "r.json: not a result of commcomp"},
        {"{\"schema\": \"commcomp/1\", \"rows\": []}", "r.json: it has no rows"},
        {"{\"schema\": \"commcomp/1\", \"rows\": [1]}", "r.json: row 1: it should be an object"},
        {"{\"schema\": \"commcomp/1\", \"rows\": [{\"a\": 1}, {\"b\": 1}]}",
         "r.json: row 2: the key 'b' is not where the first row has it"},
        {"{\"schema\": \"commcomp/1\", \"rows\": [{\"a\": 1}, {}]}",
         "r.json: row 2: the key 'a' is missing"},
        {"{\"schema\": \"commcomp/1\", \"rows\": [{\"a\": [1]}]}",
         "r.json: row 1: 'a' should be a number, a text, a truth value or null"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(json(cases[i].text, &s), CC_FAIL);
        if (strncmp(e.text, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("case %zu: %s", i, e.text);
    }
}

static void read_by_suffix(void **state)
{
    struct cc_sheet s;
    const char *path = scratch_write(state, "r.csv", "a\n1\n", 4);
    assert_int_equal(cc_sheet_read(path, &s, &e), CC_OK);
    cc_sheet_free(&s);
    assert_int_equal(cc_sheet_read("r.txt", &s, &e), CC_USAGE);
    assert_string_equal(e.text, "'r.txt': expected a .csv or .json file of results");
    assert_int_equal(cc_sheet_read(scratch_path(state, "no.csv"), &s, &e), CC_FAIL);
    assert_contains(e.text, "no.csv: cannot be read: No such file");
}

/* --- figures --- */

static const struct cc_plot_filter all;

static struct cc_figure figure_of(const char *text, enum cc_plot_kind kind)
{
    struct cc_sheet s = sheet_of(text);
    struct cc_figure f;
    if (cc_figure_make(&s, kind, &all, &f, &e) != CC_OK)
        fail_msg("%s", e.text);
    cc_sheet_free(&s);
    return f;
}

static void refused(const char *text, enum cc_plot_kind kind, const char *message)
{
    struct cc_sheet s = sheet_of(text);
    struct cc_figure f;
    assert_int_equal(cc_figure_make(&s, kind, &all, &f, &e), CC_FAIL);
    assert_contains(e.text, message);
    cc_sheet_free(&s);
}

/* Unordered rows, two clusters; 3lc is above int8. */
static const char speedups[] = "scheme,exchange,workers,bw_bps,speedup\n"
                               "int8,ps,4,1e9,1.5\nint8,ps,4,1e7,3.9\n3lc,ps,4,1e7,50\n"
                               "3lc,ps,4,1e9,\n3lc,ps,8,1e8,20\n";

static void lines(void **state)
{
    (void)state;
    struct cc_figure f = figure_of(speedups, CC_PLOT_SPEEDUP);
    assert_string_equal(f.title, "Speedup over 32-bit floats: ps");
    assert_int_equal(f.series_count, 2);
    assert_string_equal(f.series[0], "3lc");
    assert_int_equal(f.panels, 2);
    assert_string_equal(f.panel[0].title, "4 workers");
    assert_string_equal(f.panel[1].title, "8 workers");
    assert_int_equal(f.left_out, 1);
    const struct cc_points *int8 = &f.panel[0].of[1];
    assert_int_equal(int8->count, 2);
    assert_true(int8->point[0].x == 1e7 && int8->point[0].y == 3.9);
    assert_true(int8->point[1].x == 1e9 && int8->point[1].y == 1.5);
    assert_int_equal(f.panel[1].of[0].count, 1);
    assert_int_equal(f.panel[1].of[1].count, 0);
    assert_true(f.x.lo < 1e7 && f.x.hi > 1e9 && f.y.lo < 1 && f.y.hi > 50 && f.y.hi < 100);
    cc_figure_free(&f);
}

static void filters(void **state)
{
    (void)state;
    static const char *const schemes[] = {"int8"};
    struct cc_sheet s = sheet_of(speedups);
    struct cc_figure f;
    struct cc_plot_filter only = {.schemes = schemes, .scheme_count = 1};
    assert_int_equal(cc_figure_make(&s, CC_PLOT_SPEEDUP, &only, &f, &e), CC_OK);
    assert_int_equal(f.series_count, 1);
    assert_string_equal(f.title, "Speedup over 32-bit floats: ps, 4 workers");
    cc_figure_free(&f);
    only = (struct cc_plot_filter){.workers = 8, .bw_bps = 1e8, .exchange = "ps"};
    assert_int_equal(cc_figure_make(&s, CC_PLOT_SPEEDUP, &only, &f, &e), CC_OK);
    assert_string_equal(f.series[0], "3lc");
    assert_int_equal(f.series_count, 1);
    cc_figure_free(&f);
    only.exchange = "ring";
    assert_int_equal(cc_figure_make(&s, CC_PLOT_SPEEDUP, &only, &f, &e), CC_FAIL);
    assert_contains(e.text, "no row that --scheme, --bw, --workers and --exchange leave");
    cc_sheet_free(&s);
}

static void scaling(void **state)
{
    (void)state;
    /* 8 workers that need 0.4 s for a step of 0.1 s are as fast as 2 ideal ones. */
    struct cc_figure f = figure_of("scheme,workers,compute_s,step_s\nfp32,2,0.1,0.125\n"
                                   "fp32,8,0.1,0.4\n",
                                   CC_PLOT_WORKERS);
    assert_true(fabs(f.panel[0].of[0].point[0].y - 1.6) < 1e-12);
    assert_true(fabs(f.panel[0].of[0].point[1].y - 2) < 1e-12);
    cc_figure_free(&f);
    refused("scheme,workers,compute_s,step_s\nfp32,2,0,0.125\n", CC_PLOT_WORKERS,
            "r.csv: line 2, column 'compute_s': 0 should be above zero");
}

static void bars(void **state)
{
    (void)state;
    struct cc_figure f = figure_of("scheme,compute_s,codec_s,comm_s,step_s\nfp32,1,0,3,4\n"
                                   "3lc,1,0.5,0.5,1.25\nint8,1,,1,2\n",
                                   CC_PLOT_STEP);
    assert_int_equal(f.series_count, 2);
    assert_int_equal(f.left_out, 1);
    assert_true(isnan(f.panel[0].of[0].total)); /* 4 is the sum */
    assert_true(f.panel[0].of[1].total == 1.25);
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    cc_plot_text(&f, 4 + 26 + 20, out);
    (void)fclose(out);
    assert_string_equal(text, "Time of a step\n\n"
                              "fp32  =====--------------- 4 s\n"
                              "3lc   =====###-- 1.25 s (parts overlap)\n\n"
                              "= compute   # codec   - communication   (time of the parts; beside "
                              "a bar is what the step takes)\n");
    free(text);
    cc_figure_free(&f);
    refused("scheme,compute_s,codec_s,comm_s,step_s\nfp32,1,-1,3,4\n", CC_PLOT_STEP,
            "r.csv: line 2, column 'codec_s': -1 should be at least zero");
    refused("scheme,compute_s,codec_s,comm_s,step_s\nfp32,1,1,1,3\nfp32,1,1,1,3\n", CC_PLOT_STEP,
            "r.csv: line 2 and 3 are both fp32");
}

static void exact_ones(void **state)
{
    (void)state;
    struct cc_figure f = figure_of("scheme,ratio,error\nfp32,1,0\nlocal,2,1e-16\n"
                                   "int8,4,0.003\n3lc,100,0.3\n",
                                   CC_PLOT_ERROR);
    assert_true(f.exact == 1e-4);
    assert_true(f.panel[0].of[0].point[0].x == 1e-4 && f.panel[0].of[1].point[0].x == 1e-4);
    assert_true(f.panel[0].of[2].point[0].x == 0.003);
    cc_figure_free(&f);
}

static void sizes(void **state)
{
    (void)state;
    /* Two tensors of the same size count as one, with their mean. */
    struct cc_figure f =
        figure_of("scheme,tensor,values,encode_gb_per_s,decode_gb_per_s\n3lc,a,1000,2,4\n"
                  "3lc,b,1000,4,8\n3lc,c,100,1,1\n",
                  CC_PLOT_SIZE);
    assert_int_equal(f.panels, 2);
    assert_string_equal(f.panel[1].title, "decode");
    assert_int_equal(f.panel[0].of[0].count, 2);
    assert_true(f.panel[0].of[0].point[1].y == 3 && f.panel[1].of[0].point[1].y == 6);
    cc_figure_free(&f);
}

static void refusals(void **state)
{
    (void)state;
    refused("scheme,bw_bps\nfp32,1e7\n", CC_PLOT_SPEEDUP,
            "r.csv: the plot 'speedup' needs a column 'speedup', which it lacks; `commcomp model");
    refused("scheme,bw_bps,speedup\nfp32,1e7,fast\n", CC_PLOT_SPEEDUP,
            "r.csv: line 2, column 'speedup': 'fast' is not a number");
    refused("scheme,bw_bps,speedup\nfp32,1e7,1\n3lc,-1e7,1\n", CC_PLOT_SPEEDUP,
            "r.csv: line 3, column 'bw_bps': -1e+07 should be above zero");
    refused("scheme,bw_bps,speedup\n,1e7,1\n", CC_PLOT_SPEEDUP,
            "r.csv: line 2: the column 'scheme' should have a name");
    refused("scheme,bw_bps,speedup\nfp32,1e7,1\nfp32,1e7,2\n", CC_PLOT_SPEEDUP,
            "r.csv: line 2 and 3 are both fp32 with the same bw_bps");
    refused("scheme,encode_roofline,decode_roofline\nfp32,,\n", CC_PLOT_ROOFLINE,
            "nothing to plot: no row has numbers for encode_roofline; bench leaves them empty");
    refused("scheme,workers,bw_bps,speedup\na,1,1,1\na,2,1,1\na,3,1,1\na,4,1,1\na,5,1,1\na,6,1,1\n"
            "a,7,1,1\n",
            CC_PLOT_SPEEDUP, "more than 6 combinations of settings");
    char text[4096] = "scheme,bw_bps,speedup\n";
    for (int i = 0; i <= CC_MOST_LINES; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "s%d,1e7,1\n", i);
    refused(text, CC_PLOT_SPEEDUP, "25 lines are too many to tell apart (at most 24)");
}

static void guesses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum cc_plot_kind kind;
    } cases[] = {
        {"scheme,bw_bps,workers,speedup,step_s,comm_s\na,1,2,1,1,1\na,2,3,1,1,1\n",
         CC_PLOT_SPEEDUP},
        {"scheme,bw_bps,workers,speedup,step_s,comm_s\na,1,2,1,1,1\na,1,3,1,1,1\n",
         CC_PLOT_WORKERS},
        {"scheme,bw_bps,workers,speedup,step_s,comm_s\na,1,2,1,1,1\nb,1,2,1,1,1\n", CC_PLOT_STEP},
        {"scheme,values,error,ratio,encode_gb_per_s\na,1,2,1,1\na,2,3,1,1\n", CC_PLOT_SIZE},
        {"scheme,values,error,ratio,encode_gb_per_s\na,1,2,1,1\nb,1,3,1,1\n", CC_PLOT_ERROR},
        {"scheme,encode_roofline\na,0.5\n", CC_PLOT_ROOFLINE},
    };
    enum cc_plot_kind kind;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cc_sheet s = sheet_of(cases[i].text);
        assert_int_equal(cc_plot_guess(&s, &kind, &e), CC_OK);
        assert_int_equal(kind, cases[i].kind);
        cc_sheet_free(&s);
    }
    struct cc_sheet s = sheet_of("scheme,x\na,1\n");
    assert_int_equal(cc_plot_guess(&s, &kind, &e), CC_FAIL);
    assert_contains(e.text, "r.csv: nothing to plot: it has neither speedup over several");
    cc_sheet_free(&s);
    s = sheet_of("scheme,bw_bps,speedup\na,1e7,inf\na,1e8,\n");
    assert_int_equal(cc_plot_guess(&s, &kind, &e), CC_FAIL);
    assert_contains(e.text, "its column 'speedup' holds no finite number");
    cc_sheet_free(&s);
}

/* --- axes and labels --- */

static void numbers(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *unit, *text;
    } cases[] = {
        {1e7, "bit/s", "10 Mbit/s"},
        {2.5e9, "bit/s", "2.5 Gbit/s"},
        {500, "bit/s", "500 bit/s"},
        {5e-5, "s", "50 us"},
        {1.5, "s", "1.5 s"},
        {0.9996, "s", "1 s"},
        {0, "s", "0 s"},
        {1000, "#", "1 K"},
        {1e8, "#", "100 M"},
        {64, "#", "64"},
        {0.5, "", "0.5"},
        {1e-8, "", "1e-8"},
        {999600, "#", "1 M"},
        {1e-12, "", "1e-12"},
        {1e5, "s", "100 ks"},
        {-0.002, "s", "-2 ms"},
        {1.79e308, "s", "1.79e+308 s"},
    };
    char text[64];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cc_print_si(cases[i].v, cases[i].unit, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

static void tics(void **state)
{
    (void)state;
    double at[CC_MOST_TICS];
    struct cc_axis a = {.log = true, .base = 10, .lo = 8e6, .hi = 1.2e10};
    assert_int_equal(cc_axis_tics(&a, 5, at), 4);
    assert_true(fabs(at[0] - 1e7) < 1 && fabs(at[3] - 1e10) < 1e3);
    a = (struct cc_axis){.log = true, .base = 2, .lo = 1.8, .hi = 70};
    assert_int_equal(cc_axis_tics(&a, 8, at), 6);
    assert_true(at[0] == 2 && at[5] == 64);
    a = (struct cc_axis){.lo = 0, .hi = 1.05};
    assert_int_equal(cc_axis_tics(&a, 6, at), 6);
    assert_true(at[0] == 0 && !signbit(at[0]) && at[5] == 1);
    /* At least one tick, never many more than requested, always inside. */
    for (int log = 0; log < 2; log++)
        for (double ratio = 1.2; ratio < 1e30; ratio *= 1.3)
            for (int want = 2; want < 12; want += 3) {
                a = (struct cc_axis){
                    .log = log, .base = 10, .lo = log ? 0.7 : 0, .hi = 0.7 * ratio};
                size_t n = cc_axis_tics(&a, want, at);
                assert_true(n >= 1 && n <= 2 * (size_t)want + 3);
                for (size_t i = 0; i < n; i++)
                    assert_true(at[i] >= a.lo * 0.999 && at[i] <= a.hi * 1.001);
            }
}

static bool covers(const struct cc_label *a, const struct cc_label *b)
{
    return a->left < b->left + b->width && b->left < a->left + a->width &&
           a->bottom < b->bottom + b->height && b->bottom < a->bottom + a->height;
}

static void labels(void **state)
{
    (void)state;
    enum { N = 24 };
    struct cc_label l[N];
    unsigned seed = 1;
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < N; i++) {
            seed = seed * 1103515245u + 12345u;
            double x = (seed >> 16) % 600;
            seed = seed * 1103515245u + 12345u;
            l[i] = (struct cc_label){
                .text = "3lc:s=1.75", .x = x, .y = (seed >> 16) % 400, .width = 72, .height = 15};
        }
        l[1].x = l[0].x; /* two at the same value */
        l[1].y = l[0].y;
        cc_labels_place(l, N, 620, 400, 5);
        for (size_t i = 0; i < N; i++) {
            assert_true(l[i].left >= 0 && l[i].left + l[i].width <= 620);
            for (size_t k = 0; k < i; k++)
                assert_false(covers(&l[i], &l[k]));
        }
    }
}

/* --- gnuplot --- */

/* No part of a name may be taken for a command of gnuplot or the shell. */
static const char *const hostile[] = {
    "it's",
    "`touch pwned`",
    "\\'; system('touch pwned') #",
    "'; system('touch pwned'); '",
    "\"; system(\"touch pwned\"); \"",
    "a\\",
    "two\nlines\n!touch pwned\n",
    "EOD\nEOD\nsystem('touch pwned')",
    "@pwn $p0s0 %s %d ^{x}_y",
    "<b>&amp;</b>",
    "\xc2\x9b;31m \xe2\x82\xac",
    "''",
};
#define HOSTILE (sizeof hostile / sizeof hostile[0])

/* A CSV field. */
static void put_field(const char *text, FILE *out)
{
    (void)fputc('"', out);
    for (; *text != '\0'; text++)
        (void)fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
    (void)fputc('"', out);
}

static struct cc_sheet hostile_sheet(void)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    (void)fputs(
        "scheme,trace,exchange,bw_bps,workers,speedup,compute_s,codec_s,comm_s,step_s,ratio,"
        "error,encode_roofline,decode_roofline,values,encode_gb_per_s,"
        "decode_gb_per_s\n",
        out);
    for (size_t i = 0; i < 2 * HOSTILE; i++) {
        put_field(hostile[i % HOSTILE], out);
        (void)fputc(',', out);
        put_field(hostile[2], out);
        (void)fputc(',', out);
        put_field(hostile[3 + i / HOSTILE], out); /* two panels */
        (void)fprintf(out, ",%d,2,%zu,1,1,1,2.5,%zu,0.%zu,0.5,0.6,%d,1,1\n", 10, i + 1, i + 1,
                      i + 1, 1000);
    }
    (void)fclose(out);
    struct cc_sheet s = sheet_of(text);
    free(text);
    return s;
}

static bool have_gnuplot(void)
{
    FILE *empty = tmpfile();
    bool have = cc_gnuplot_run(empty, empty, &e) == CC_OK;
    (void)fclose(empty);
    if (!have)
        print_message("SKIPPED: %s\n", e.text);
    return have;
}

/* The output of gnuplot for the figure, to be freed. */
static char *drawn(const struct cc_figure *f, const char *terminal, size_t *length)
{
    struct cc_canvas canvas = {.terminal = terminal, .columns = 150, .lines = 50};
    FILE *script = tmpfile(), *out = tmpfile();
    assert_true(script != NULL && out != NULL);
    if (cc_plot_script(f, &canvas, script, &e) != CC_OK || cc_gnuplot_run(script, out, &e) != CC_OK)
        fail_msg("%s: %s", terminal, e.text);
    *length = (size_t)ftell(out);
    (void)fseek(out, 0, SEEK_END);
    *length = (size_t)ftell(out);
    rewind(out);
    char *text = calloc(1, *length + 1);
    assert_int_equal(fread(text, 1, *length, out), *length);
    (void)fclose(script);
    (void)fclose(out);
    return text;
}

static void nothing_is_obeyed(void **state)
{
    if (!have_gnuplot())
        skip();
    char *before = getcwd(NULL, 0);
    assert_int_equal(chdir(*state), 0);
    struct cc_sheet s = hostile_sheet();
    for (int kind = 0; kind < CC_PLOT_KINDS; kind++) {
        static const char *const terminals[][2] = {
            {"svg", "<?xml"}, {"png", "\x89PNG"}, {"pdf", "%PDF"}, {"dumb", "\n"}};
        struct cc_figure f;
        if (cc_figure_make(&s, (enum cc_plot_kind)kind, &all, &f, &e) != CC_OK)
            fail_msg("%s", e.text);
        for (size_t t = 0; t < 4; t++) {
            size_t length;
            char *got = drawn(&f, terminals[t][0], &length);
            assert_true(length > 500);
            assert_contains(got, terminals[t][1]);
            if (t == 0) { /* names as they are, in XML */
                assert_contains(got, "two lines !touch pwned ");
                assert_contains(got, "&lt;b");
                assert_lacks(got, "<b>");
                assert_contains(got, "'; system('touch pwned'); '");
                assert_contains(got, "`touch pwned`");
                assert_lacks(got, "\xc2\x9b");
            }
            free(got);
        }
        cc_figure_free(&f);
    }
    cc_sheet_free(&s);
    assert_int_equal(access("pwned", F_OK), -1);
    assert_int_equal(scratch_count(state), 0);
    assert_int_equal(chdir(before), 0);
    free(before);
}

static void gnuplot_missing(void **state)
{
    (void)state;
    const char *old = getenv("PATH");
    char *path = strdup(old != NULL ? old : "/usr/bin:/bin");
    FILE *script = tmpfile();
    assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
    assert_int_equal(cc_gnuplot_run(script, script, &e), CC_FAIL);
    assert_string_equal(e.text, "gnuplot is not installed: on Debian `apt-get install "
                                "gnuplot-nox`; or write its script with --script FILE and draw it "
                                "elsewhere");
    assert_int_equal(setenv("PATH", path, 1), 0);
    free(path);
    (void)fclose(script);
}

static void gnuplot_complains(void **state)
{
    (void)state;
    if (!have_gnuplot())
        skip();
    FILE *script = tmpfile();
    (void)fputs("plot nonsense(\n", script);
    assert_int_equal(cc_gnuplot_run(script, script, &e), CC_FAIL);
    assert_contains(e.text, "gnuplot could not draw it: ");
    assert_contains(e.text, "line 1: ");
    (void)fclose(script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sheet_is_read),
        cmocka_unit_test(bad_csv),
        cmocka_unit_test(json_is_read),
        cmocka_unit_test_setup_teardown(read_by_suffix, scratch_setup, scratch_teardown),
        cmocka_unit_test(lines),
        cmocka_unit_test(filters),
        cmocka_unit_test(scaling),
        cmocka_unit_test(bars),
        cmocka_unit_test(exact_ones),
        cmocka_unit_test(sizes),
        cmocka_unit_test(refusals),
        cmocka_unit_test(guesses),
        cmocka_unit_test(numbers),
        cmocka_unit_test(tics),
        cmocka_unit_test(labels),
        cmocka_unit_test_setup_teardown(nothing_is_obeyed, scratch_setup, scratch_teardown),
        cmocka_unit_test(gnuplot_missing),
        cmocka_unit_test(gnuplot_complains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
