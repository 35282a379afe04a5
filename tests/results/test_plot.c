/* The data of figures, their axes and labels, and bars as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "results/plot.h"
#include "results/plot_impl.h"
#include "tests/lib/sheets.h"
#include "tests/lib/text.h"

static struct cc_error e;

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

/* Each row of a timeline has its own range of time, in the unit that the label of all says. */
static void times_of_panels(void **state)
{
    static const char text[] = "process,at_s,computing\na,1,1\na,30,0\nb,0.1,1\nb,0.5,0.2\n";
    char tic[64];
    (void)state;
    struct cc_figure f = figure_of(text, CC_PLOT_TIMELINE);
    assert_int_equal(f.panels, 2);
    assert_true(f.x.hi > 30 && f.x.hi < 35);
    const struct cc_axis *x = cc_panel_x(&f, &f.panel[1]);
    assert_true(x->lo == 0 && x->hi > 0.5 && x->hi < 0.6);
    cc_tic_text(x, 0, 0.2, tic);
    assert_string_equal(tic, "0.2");
    cc_figure_free(&f);
}

/* Unordered rows, two clusters; 3lc is above int8. */
static const char speedups[] = "scheme,exchange,workers,bw_bps,speedup\n"
                               "int8,ps,4,1e9,1.5\nint8,ps,4,1e7,3.9\n3lc,ps,4,1e7,50\n"
                               "3lc,ps,4,1e9,\n3lc,ps,8,1e8,20\n";

static void lines(void **state)
{
    (void)state;
    struct cc_figure f = figure_of(speedups, CC_PLOT_SPEEDUP);
    assert_string_equal(f.title, "Speedup over plain gradients: ps");
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

/* Latencies that follow from the bandwidth, as those of links' classes, tell no panels apart. */
static void latencies_of_links(void **state)
{
    (void)state;
    struct cc_figure f = figure_of("scheme,bw_bps,latency_s,speedup\nint8,1e10,5e-5,2\n"
                                   "int8,1e11,1e-5,1.5\n3lc,1e10,5e-5,3\n",
                                   CC_PLOT_SPEEDUP);
    assert_int_equal(f.panels, 1);
    cc_figure_free(&f);
    f = figure_of("scheme,bw_bps,latency_s,speedup\nint8,1e10,5e-5,2\nint8,1e10,1e-5,1.5\n",
                  CC_PLOT_SPEEDUP);
    assert_int_equal(f.panels, 2);
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
    assert_string_equal(f.title, "Speedup over plain gradients: ps, 4 workers");
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
    /* A truth value, as whether `sim` moved the data, is not a setting. */
    f = figure_of("scheme,workers,data,compute_s,step_s\nfp32,2,true,0.1,0.125\n"
                  "fp32,8,false,0.1,0.4\n",
                  CC_PLOT_WORKERS);
    assert_int_equal(f.panels, 1);
    assert_string_equal(f.title, "Scaling with workers");
    cc_figure_free(&f);
    /* A single number of workers: the one tic, in the middle. */
    double at[CC_MOST_TICS];
    f = figure_of("scheme,workers,compute_s,step_s\nfp32,10,0.1,0.125\n", CC_PLOT_WORKERS);
    assert_int_equal(cc_axis_tics(&f.x, 8, at), 1);
    assert_true(at[0] == 10 && fabs(cc_axis_share(&f.x, 10) - 0.5) < 1e-12);
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
    assert_int_equal(cc_plot_text(&f, 4 + 26 + 20, 20, out, &e), CC_OK);
    (void)fclose(out);
    assert_string_equal(text, "Time of a step\n\n"
                              "fp32  =====--------------- 4 s\n"
                              "3lc   =====###-- 1.25 s (parts overlap)\n\n"
                              "= compute   # codec   - communication   (time of\n"
                              "the parts; beside a bar is what the step takes)\n");
    free(text);
    cc_figure_free(&f);
    /* The network is busy for 3 s, of which 1 s is not hidden; less than 1% of a step is nothing.
     */
    f = figure_of("scheme,compute_s,codec_s,comm_s,comm_busy_s,step_s\n"
                  "fp32,4,0,1,3,5\n3lc,4,0.5,0,0.04,4.5\nint8,4,0.5,0,,4.5\n",
                  CC_PLOT_STEP);
    assert_int_equal(f.parts, 4);
    for (size_t k = 0; k < 3; k++)
        assert_true(f.panel[0].of[k].point[3].y == (k == 0 ? 2 : 0));
    assert_true(f.panel[0].of[0].total == 5 && isnan(f.panel[0].of[1].total));
    cc_figure_free(&f);
    refused("scheme,compute_s,codec_s,comm_s,step_s\nfp32,1,-1,3,4\n", CC_PLOT_STEP,
            "r.csv: line 2, column 'codec_s': -1 should be at least zero");
    refused("scheme,compute_s,codec_s,comm_s,step_s\nfp32,1,1,1,3\nfp32,1,1,1,3\n", CC_PLOT_STEP,
            "r.csv: line 2 and 3 are both fp32");
}

/* Where few schemes have each exchange, it stands beside their names instead of in panels. */
static void few_pairs(void **state)
{
    (void)state;
    struct cc_figure f =
        figure_of("scheme,exchange,compute_s,codec_s,comm_s,step_s\n"
                  "fp32,mpi,1,0,2,3\nint8,ring,1,0,1,2\n3lc,ring,1,0,1,2\nfp32,ring,1,0,2,3\n"
                  "int8,mpi,1,0,1,2\n",
                  CC_PLOT_STEP);
    assert_int_equal(f.panels, 2); /* 5 of 6 pairs are there */
    cc_figure_free(&f);
    f = figure_of("scheme,exchange,compute_s,codec_s,comm_s,step_s\n"
                  "fp32,mpi,1,0,2,3\nint8,ring,1,0,1,2\n3lc,ring,1,0,1,2\nqsgd,ps,1,0,2,3\n",
                  CC_PLOT_STEP);
    assert_int_equal(f.panels, 1);
    assert_int_equal(f.series_count, 4);
    assert_string_equal(f.series[0], "fp32 mpi");
    assert_string_equal(f.series[3], "qsgd ps");
    cc_figure_free(&f);
}

/* The largest tensors are drawn, in the file's order, where there are more than can be told apart.
 */
static void largest_tensors(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    (void)fputs("net,tensor,values\n", out);
    for (int i = 0; i < 100; i++) /* 1000 times 1, 2, ... 50, each twice */
        (void)fprintf(out, "my,t%d,%d\n", i, 1000 * (1 + i % 50));
    (void)fclose(out);
    struct cc_figure f = figure_of(text, CC_PLOT_NETS);
    free(text);
    assert_string_equal(f.title, "Sizes of nets: my, the 40 largest of 100");
    assert_int_equal(f.series_count, 40);
    assert_string_equal(f.series[0], "t30");
    assert_string_equal(f.series[19], "t49");
    assert_string_equal(f.series[20], "t80");
    assert_true(f.panel[0].of[39].point[0].y == 50000);
    assert_true(f.x.log && f.x.lo < 31000 && f.x.lo > 10000 && f.x.hi > 50000);
    cc_figure_free(&f);
    refused("net,tensor,values\nmy,a,0\n", CC_PLOT_NETS,
            "r.csv: line 2, column 'values': 0 should be above zero");
}

/* A dense exchange, whose time does not depend on the density, is a flat line. */
static void densities(void **state)
{
    (void)state;
    struct cc_figure f = figure_of("scheme,exchange,nonzeros,call_s\nfp32,ring,,0.3\n"
                                   "fp32,ssar,0.1,0.2\nfp32,ssar,0.001,0.1\nfp32,mpi,0.01,0.4\n",
                                   CC_PLOT_DENSITY);
    assert_int_equal(f.left_out, 0);
    assert_string_equal(f.series[1], "ring");
    const struct cc_points *ring = &f.panel[0].of[1];
    assert_int_equal(ring->count, 2);
    assert_true(ring->point[0].x == 0.001 && ring->point[0].y == 0.3);
    assert_true(ring->point[1].x == 0.1 && ring->point[1].y == 0.3);
    cc_figure_free(&f);
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
            "a,7,1,1\na,8,1,1\na,9,1,1\na,10,1,1\na,11,1,1\na,12,1,1\na,13,1,1\n",
            CC_PLOT_SPEEDUP, "more than 12 combinations of settings");
    char text[4096] = "scheme,kind,seed,step,loss,bytes,time_s\n";
    for (int i = 0; i <= CC_MOST_LINES; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "s%d,eval,1,1,1,1,1\n", i);
    refused(text, CC_PLOT_LOSS, "25 lines are too many to tell apart (at most 24)");
}

/* If there are too many lines, those with the highest points are drawn, wherever these are. */
static void highest_lines(void **state)
{
    (void)state;
    char text[4096] = "scheme,bw_bps,speedup\n";
    for (int i = 0; i <= CC_MOST_LINES; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "s%d,1e7,%d\ns%d,1e8,%d\n",
                       i, i % 2 ? i + 1 : 1, i, i % 2 ? 1 : 26 - i);
    struct cc_figure f = figure_of(text, CC_PLOT_SPEEDUP);
    /* Odd ones reach i + 1, even ones 26 - i: the odd from 13 on, the even up to 10. */
    static const char *const kept[] = {"s0",  "s2",  "s4",  "s6",  "s8",  "s10",
                                       "s13", "s15", "s17", "s19", "s21", "s23"};
    assert_int_equal(f.series_count, 12);
    for (size_t i = 0; i < 12; i++) {
        size_t k = 0;
        while (k < 12 && strcmp(f.series[k], kept[i]) != 0)
            k++;
        assert_true(k < 12 && f.panel[0].of[k].count == 2);
        assert_true(f.panel[0].of[k].point[0].y + f.panel[0].of[k].point[1].y > 14);
    }
    assert_non_null(strstr(f.title, "the 12 highest of 25"));
    cc_figure_free(&f);
}

/* Two seeds of 3lc, whose bytes differ, one of fp32 over two bandwidths, a training that diverged,
 * and summaries. */
static const char trainings[] =
    "scheme,bw_bps,kind,seed,step,loss,accuracy,bytes,time_s,clock\n"
    "3lc,1e7,eval,1,20,0.5,0.9,200,2,model\n3lc,1e7,eval,1,10,1,0.5,100,1,model\n"
    "3lc,1e7,eval,2,10,2,0.25,300,1,model\n3lc,1e7,eval,2,20,1.5,0.8,400,2,model\n"
    "fp32,1e7,eval,1,10,0.5,0.75,4000,4,model\nfp32,1e7,eval,1,20,0.1,0.85,8000,8,model\n"
    "fp32,1e8,eval,1,10,0.5,0.75,4000,0.4,model\nfp32,1e8,eval,1,20,0.1,0.85,8000,0.8,model\n"
    "int8,1e7,eval,1,7,,,,,model\n3lc,1e7,summary,,20,1,0.1,300,2,model\n";

static struct cc_figure training_of(enum cc_plot_kind kind, enum cc_plot_over over, double bw_bps)
{
    const struct cc_plot_filter filter = {.bw_bps = bw_bps, .over = over};
    struct cc_sheet s = sheet_of(trainings);
    struct cc_figure f;
    if (cc_figure_make(&s, kind, &filter, &f, &e) != CC_OK)
        fail_msg("%s", e.text);
    cc_sheet_free(&s);
    return f;
}

static void trainings_over_steps(void **state)
{
    (void)state;
    struct cc_figure f = training_of(CC_PLOT_ACCURACY, CC_OVER_STEPS, 0);
    assert_int_equal(f.panels, 1); /* bandwidths change times alone */
    assert_int_equal(f.left_out, 1);
    assert_int_equal(f.series_count, 2);
    const size_t of = strcmp(f.series[0], "3lc") == 0 ? 0 : 1;
    const struct cc_points *p = &f.panel[0].of[of];
    assert_int_equal(p->count, 2);
    assert_true(p->point[0].x == 10 && p->point[1].x == 20);
    assert_true(p->point[0].y == 37.5 && p->point[0].lo == 25 && p->point[0].hi == 50);
    assert_true(fabs(p->point[1].y - 85) < 1e-9 && p->point[1].hi == 90);
    p = &f.panel[0].of[1 - of];
    assert_true(p->count == 2 && p->point[1].lo == 85 && p->point[1].hi == 85);
    assert_true(f.y.lo > 15 && f.y.lo < 25 && f.y.hi > 90 && f.y.hi < 100 && f.x.lo == 0);
    cc_figure_free(&f);
}

static void trainings_over_bytes_and_time(void **state)
{
    (void)state;
    struct cc_figure f = training_of(CC_PLOT_LOSS, CC_OVER_BYTES, 1e7);
    const struct cc_points *p = &f.panel[0].of[0]; /* the highest end */
    assert_string_equal(f.series[0], "3lc");
    assert_true(p->count == 2 && p->point[0].x == 200 && p->point[0].y == 1.5);
    assert_true(p->point[1].x == 300 && p->point[1].y == 1 && p->point[1].lo == 0.5);
    assert_true(f.x.log && f.y.log);
    cc_figure_free(&f);
    f = training_of(CC_PLOT_ACCURACY, CC_OVER_TIME, 0);
    assert_int_equal(f.panels, 2);
    assert_string_equal(f.panel[1].title, "100 Mbit/s");
    assert_string_equal(f.x.label, "time of the training, by the formulas");
    cc_figure_free(&f);
    struct cc_sheet s = sheet_of(trainings); /* other kinds plot summaries */
    assert_int_equal(cc_figure_make(&s, CC_PLOT_SPEEDUP, &all, &f, &e), CC_FAIL);
    assert_contains(e.text, "needs a column 'speedup'");
    cc_sheet_free(&s);
}

/* Pushes and pulls have a panel each; without pulls there is one. */
static void bits_of_trainings(void **state)
{
    (void)state;
    struct cc_figure f = figure_of("scheme,kind,seed,step,accuracy,bits_push,bits_pull\n"
                                   "3lc,eval,1,10,0.5,0.75,1\n3lc,eval,2,10,0.5,0.25,2\n"
                                   "3lc,mean,,10,0.5,9,9\n3lc,summary,,10,0.5,9,9\n",
                                   CC_PLOT_BITS);
    assert_int_equal(f.panels, 2);
    assert_string_equal(f.panel[0].title, "push");
    assert_string_equal(f.panel[1].title, "pull");
    const struct cc_point *push = f.panel[0].of[0].point, *pull = f.panel[1].of[0].point;
    assert_true(push->y == 0.5 && push->lo == 0.25 && push->hi == 0.75);
    assert_true(f.panel[1].of[0].count == 1 && pull->x == 10 && pull->y == 1.5);
    cc_figure_free(&f);
    f = figure_of("scheme,kind,step,bits_push,bits_pull\n3lc,eval,10,0.5,\n3lc,eval,20,0.75,\n",
                  CC_PLOT_BITS);
    assert_int_equal(f.panels, 1);
    assert_string_equal(f.panel[0].title, "");
    cc_figure_free(&f);
    f = figure_of("scheme,kind,step,train_loss\n3lc,eval,10,0.5\n3lc,eval,20,0.75\n",
                  CC_PLOT_TRAIN_LOSS);
    assert_true(f.panels == 1 && f.panel[0].of[0].point[1].y == 0.75);
    cc_figure_free(&f);
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
        {"scheme,bw_bps,workers,speedup,step_s,comm_s,compute_s\na,1,2,1,1,1,1\na,1,3,1,1,1,1\n",
         CC_PLOT_WORKERS},
        {"scheme,bw_bps,workers,speedup,step_s,comm_s,compute_s\na,1,2,1,1,1,0\na,1,3,1,1,1,0\n",
         CC_PLOT_STEP},
        {"scheme,bw_bps,workers,speedup,step_s,comm_s\na,1,2,1,1,1\nb,1,2,1,1,1\n", CC_PLOT_STEP},
        {"scheme,values,error,ratio,encode_gb_per_s\na,1,2,1,1\na,2,3,1,1\n", CC_PLOT_SIZE},
        {"scheme,values,error,ratio,encode_gb_per_s\na,1,2,1,1\nb,1,3,1,1\n", CC_PLOT_ERROR},
        {"scheme,encode_roofline\na,0.5\n", CC_PLOT_ROOFLINE},
        {"scheme,bw_bps,speedup,accuracy,step\na,1,2,0.5,4\na,2,3,0.5,4\n", CC_PLOT_ACCURACY},
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
    assert_contains(e.text,
                    "r.csv: nothing to plot: no kind of plot has its columns; `commcomp plot");
    cc_sheet_free(&s);
    s = sheet_of("scheme,bw_bps,speedup\na,1e7,inf\na,1e8,\n");
    assert_int_equal(cc_plot_guess(&s, &kind, &e), CC_FAIL);
    assert_contains(e.text, "its column 'speedup' holds no finite number");
    cc_sheet_free(&s);
    s = sheet_of("scheme,step,accuracy,step_s,speedup\na,10,,,\na,20,nan,,\n");
    assert_int_equal(cc_plot_guess(&s, &kind, &e), CC_FAIL);
    assert_contains(e.text, "its column 'accuracy' holds no finite number");
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
    /* Every second power: with the first and the last, or else with 1. */
    a = (struct cc_axis){.log = true, .base = 10, .lo = 8e6, .hi = 1.2e11};
    assert_int_equal(cc_axis_tics(&a, 3, at), 3);
    assert_true(fabs(at[0] - 1e7) < 1 && fabs(at[2] - 1e11) < 1e4);
    a = (struct cc_axis){.log = true, .base = 10, .lo = 0.008, .hi = 1200};
    assert_int_equal(cc_axis_tics(&a, 3, at), 3);
    assert_true(at[1] == 1 && fabs(at[2] - 100) < 1e-9);
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
        cc_labels_place(l, N, &(struct cc_label_area){.width = 620, .height = 400, .radius = 5});
        for (size_t i = 0; i < N; i++) {
            assert_true(l[i].left >= 0 && l[i].left + l[i].width <= 620);
            for (size_t k = 0; k < i; k++)
                assert_false(covers(&l[i], &l[k]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(latencies_of_links),
        cmocka_unit_test(filters),
        cmocka_unit_test(scaling),
        cmocka_unit_test(bars),
        cmocka_unit_test(exact_ones),
        cmocka_unit_test(few_pairs),
        cmocka_unit_test(densities),
        cmocka_unit_test(largest_tensors),
        cmocka_unit_test(sizes),
        cmocka_unit_test(refusals),
        cmocka_unit_test(highest_lines),
        cmocka_unit_test(guesses),
        cmocka_unit_test(numbers),
        cmocka_unit_test(tics),
        cmocka_unit_test(labels),
        cmocka_unit_test(times_of_panels),
        cmocka_unit_test(trainings_over_steps),
        cmocka_unit_test(trainings_over_bytes_and_time),
        cmocka_unit_test(bits_of_trainings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
