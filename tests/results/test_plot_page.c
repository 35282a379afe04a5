/* The page of every kind of plot: no two texts overlap, none leaves the page, no line to a point
 * crosses a text; by the plan, and, if gnuplot is installed, in the SVG that it draws. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/plot.h"
#include "results/plot_impl.h"
#include "tests/lib/font.h"
#include "tests/lib/sheets.h"
#include "tests/lib/text.h"

static struct cc_error e;
static bool have_font;

/* A rectangle that holds a text. */
struct box {
    double left, bottom, right, top;
};
static struct box text_box(const struct cc_plan *p, const struct cc_page_text *t)
{
    const double before = t->at == CC_AT_LEFT ? 0 : t->at == CC_AT_RIGHT ? 1 : 0.5;
    const double half = CC_TEXT_HEIGHT * p->font_size / 2;
    if (t->at == CC_UPRIGHT)
        return (struct box){t->x - half, t->y - before * t->width, t->x + half,
                            t->y + (1 - before) * t->width};
    return (struct box){t->x - before * t->width, t->y - half, t->x + (1 - before) * t->width,
                        t->y + half};
}

/* --- metrics --- */

/* The program's widths are those of the font, at most a hundredth wider. */
static void widths(void **state)
{
    static const char *const texts[] = {"fp32", "3lc:s=1.75,zre=0", "WWWWiiii", "100 Mbit/s"};
    (void)state;
    if (!have_font)
        skip();
    for (int c = ' '; c <= '~'; c++) {
        const char text[2] = {(char)c, '\0'};
        const double own = cc_text_width(text, NULL, 100), font = 100 * font_width(text);
        if (own < font - 1e-9 || own > 1.01 * font)
            fail_msg("'%c': %g, in the font %g", c, own, font);
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_true(fabs(cc_text_width(texts[i], NULL, 10) / (10 * font_width(texts[i])) - 1) <
                    0.01);
    assert_true(cc_text_width("iiii", "DejaVu Sans Mono", 10) > 24);
    assert_true(cc_text_width("\xe2\x82\xac\xc3\xa4", NULL, 10) == 20);
}

static void lines(void **state)
{
    static const char text[] =
        "Speedup over plain gradients: resnet110, sequential, averyveryverylong"
        "wordthatfitsnowhere";
    (void)state;
    for (double width = 20; width < 700; width += 13) {
        struct cc_text_lines l;
        const char *rest = text;
        assert_int_equal(cc_text_break(text, NULL, 8, width, &l, &e), CC_OK);
        for (size_t i = 0; i < l.count; i++) { /* a blank at the end of a line goes */
            assert_true(cc_text_width(l.line[i], NULL, 8) <= width);
            rest += *rest == ' ';
            assert_int_equal(strncmp(rest, l.line[i], strlen(l.line[i])), 0);
            rest += strlen(l.line[i]);
        }
        assert_true(l.count == CC_MOST_TEXT_LINES || *rest == '\0');
        cc_text_lines_free(&l);
    }
}

/* --- sheets of every kind --- */

static const char *const schemes[] = {
    "fp32",      "int8",      "ternary",    "mqe1bit",   "sparse", "local",
    "3lc",       "3lc:s=1.5", "3lc:s=1.75", "3lc:s=1.9", "qsgd",   "topk:density=0.01",
    "trunc16",   "fp16",      "bf16",       "signsgd",   "efsign", "randk",
    "threshold", "dgc",       "powersgd",   "natural"};

static double random_share(void)
{
    static unsigned seed = 7;
    seed = seed * 1103515245u + 12345u;
    return (double)(seed >> 16 & 0x7fff) / 0x7fff;
}

/* Writes rows of a kind, for `n` schemes and each of `panels` settings. */
static void put_rows(enum cc_plot_kind kind, int n, int panels, FILE *out)
{
    static const char *const heads[CC_PLOT_KINDS] = {
        [CC_PLOT_SPEEDUP] = "bw_bps,speedup",
        [CC_PLOT_STEP] = "compute_s,codec_s,comm_s,step_s",
        [CC_PLOT_ERROR] = "error,ratio",
        [CC_PLOT_WORKERS] = "workers,compute_s,step_s",
        [CC_PLOT_ROOFLINE] = "encode_roofline,decode_roofline,decode_add_roofline",
        [CC_PLOT_SIZE] = ("values,encode_gb_per_s,encode_gb_per_s_q25,encode_gb_per_s_q75,"
                          "decode_gb_per_s"),
        [CC_PLOT_ACCURACY] = "step,accuracy",
        [CC_PLOT_LOSS] = "step,loss",
        [CC_PLOT_TRAIN_LOSS] = "step,train_loss",
        [CC_PLOT_BITS] = "step,bits_push,bits_pull",
        [CC_PLOT_VALIDATE] = "step_s_model,step_s_sim,step_s,tolerance",
        [CC_PLOT_UTILIZATION] = "bw_bps,local_steps,cu_model,cu_sim,cu",
        [CC_PLOT_TIMELINE] = "at_s,computing,link_sent,link_received",
        [CC_PLOT_THROUGHPUT] = "at_s,sent_bps,received_bps",
        [CC_PLOT_PAPER] = "figure_paper,figure_model",
        [CC_PLOT_PAPERS] = "rms_error,worst_error",
        [CC_PLOT_COMPARE] = "b_over_a",
        [CC_PLOT_BANDWIDTH] = "values,algbw_gb_per_s,busbw_gb_per_s",
        [CC_PLOT_DENSITY] = "nonzeros,call_s,call_s_low,call_s_high",
        [CC_PLOT_LINK] = "message_bytes,half_trip_s,half_trip_s_model",
        [CC_PLOT_RATIO] = "ratio",
        [CC_PLOT_NETS] = "values",
    };
    const bool lines = kind != CC_PLOT_STEP && kind != CC_PLOT_ERROR && kind != CC_PLOT_ROOFLINE &&
                       kind < CC_PLOT_VALIDATE;
    const bool times = kind == CC_PLOT_TIMELINE || kind == CC_PLOT_THROUGHPUT;
    const bool sizes = times || kind == CC_PLOT_BANDWIDTH || kind == CC_PLOT_DENSITY ||
                       kind == CC_PLOT_LINK || kind == CC_PLOT_UTILIZATION;
    const char *name = kind == CC_PLOT_PAPER    ? "row"
                       : kind == CC_PLOT_PAPERS ? "table"
                       : kind == CC_PLOT_NETS   ? "net"
                                                : "scheme";
    const char *panel = kind == CC_PLOT_PAPER                                  ? "column"
                        : kind == CC_PLOT_COMPARE                              ? "heading"
                        : times                                                ? "process"
                        : kind == CC_PLOT_BANDWIDTH || kind == CC_PLOT_DENSITY ? "threads"
                                                                               : "exchange";
    (void)fprintf(out, "%s,%s,%s\n", name, panel, heads[kind]);
    for (int p = 0; p < panels; p++)
        for (int i = 0; i < (kind == CC_PLOT_LINK || times ? 1 : n); i++)
            for (int x = 1; x <= (lines || sizes ? 5 : 1); x++) {
                const double r = random_share(), y = 0.01 + r, t = pow(10, x + 3);
                (void)fprintf(out, "%s,%s%d", schemes[i], "setting ", p);
                switch (kind) {
                case CC_PLOT_SPEEDUP: /* most lines coincide at the end */
                    (void)fprintf(out, ",%g,%g\n", pow(10, x + 6),
                                  1 + (double)(i / 2) * 3 / x / x / x);
                    break;
                case CC_PLOT_STEP:
                    (void)fprintf(out, ",0.1,%g,%g,%g\n", y / 10, y, 0.1 + y * 1.1 + (i % 3) / 9.);
                    break;
                case CC_PLOT_ERROR: /* in clumps, three at the same point */
                    (void)fprintf(out, ",%g,%g\n",
                                  i % 5 == 0 ? 0 : pow(10, (i / 3) % 4 - 3 + r / 9),
                                  i < 3 ? 1 : 4 + (i / 3) + r);
                    break;
                case CC_PLOT_WORKERS:
                    (void)fprintf(out, ",%d,0.1,%g\n", 1 << x, 0.1 + y);
                    break;
                case CC_PLOT_ROOFLINE:
                    (void)fprintf(out, ",%g,%g,%g\n", y, y / 2, 1 - y / 3);
                    break;
                case CC_PLOT_SIZE:
                    (void)fprintf(out, ",%g,%g,%g,%g,%g\n", t, y * 30, y * 28, y * 33, y * 50);
                    break;
                case CC_PLOT_ACCURACY:
                case CC_PLOT_LOSS:
                case CC_PLOT_TRAIN_LOSS:
                    (void)fprintf(out, ",%d,%g\n", 100 * x, y / (x + 1));
                    break;
                case CC_PLOT_BITS:
                    (void)fprintf(out, ",%d,%g,%g\n", 100 * x, 8 * y, 2 * y);
                    break;
                case CC_PLOT_VALIDATE:
                    (void)fprintf(out, ",%g,%g,%g,0.03\n", y, y * 1.02, y * (0.97 + r / 9));
                    break;
                case CC_PLOT_UTILIZATION:
                    (void)fprintf(out, ",%g,8,%g,%g,%g\n", t, x / 6.0 * y, x / 6.1 * y,
                                  x / 6.2 * y);
                    break;
                case CC_PLOT_TIMELINE:
                    (void)fprintf(out, ",%d,%g,%g,%g\n", x, r, 0.9 * r, x / 6.0);
                    break;
                case CC_PLOT_THROUGHPUT:
                    (void)fprintf(out, ",%d,%g,%g\n", x, 1e9 * r, 1e9 * (1 - r));
                    break;
                case CC_PLOT_PAPER:
                case CC_PLOT_PAPERS:
                    (void)fprintf(out, ",%g,%g\n", 20 * y, 20 * y * (0.9 + r / 5));
                    break;
                case CC_PLOT_COMPARE:
                case CC_PLOT_RATIO:
                    (void)fprintf(out, ",%g\n", 2 * y);
                    break;
                case CC_PLOT_BANDWIDTH:
                    (void)fprintf(out, ",%g,%g,%g\n", t, y, y * 1.5);
                    break;
                case CC_PLOT_DENSITY:
                    (void)fprintf(out, ",%g,%g,%g,%g\n", pow(10, -x), y / 100, y / 110, y / 90);
                    break;
                case CC_PLOT_LINK:
                    (void)fprintf(out, ",%g,%g,%g\n", t, t / 1e9, t / 0.9e9);
                    break;
                default:
                    (void)fprintf(out, ",%g\n", 1e6 * y);
                    break;
                }
            }
}

static struct cc_figure figure_of(enum cc_plot_kind kind, int n, int panels)
{
    char *text = NULL;
    size_t length;
    struct cc_figure f;
    FILE *out = open_memstream(&text, &length);
    put_rows(kind, n, panels, out);
    (void)fclose(out);
    struct cc_sheet s = sheet_of(text);
    if (cc_figure_make(&s, kind, &(struct cc_plot_filter){0}, &f, &e) != CC_OK)
        fail_msg("%s: %s", cc_plot_kind_names[kind], e.text);
    cc_sheet_free(&s);
    free(text);
    return f;
}

/* --- overlaps --- */

static bool covers(struct box a, struct box b, double slack)
{
    return fmin(a.right, b.right) - fmax(a.left, b.left) > slack &&
           fmin(a.top, b.top) - fmax(a.bottom, b.bottom) > slack;
}

static bool inside(struct box a, double width, double height)
{
    return a.left >= 0 && a.bottom >= 0 && a.right <= width && a.top <= height;
}

/* Whether a line passes through a box: by many points of it. */
static bool passes(const struct cc_page_shape *l, struct box b)
{
    for (int i = 1; i < 400; i++) {
        const double x = l->x0 + (l->x1 - l->x0) * i / 400, y = l->y0 + (l->y1 - l->y0) * i / 400;
        if (x > b.left + 0.3 && x < b.right - 0.3 && y > b.bottom + 0.3 && y < b.top - 0.3)
            return true;
    }
    return false;
}

static void check_plan(const struct cc_plan *p, const char *what)
{
    for (size_t i = 0; i < p->texts; i++) {
        const struct box a = text_box(p, &p->text[i]);
        if (!inside(a, p->width, p->height))
            fail_msg("%s: '%s' leaves the page", what, p->text[i].text);
        for (size_t k = 0; k < i; k++)
            if (covers(a, text_box(p, &p->text[k]), 1e-6))
                fail_msg("%s: '%s' and '%s' overlap", what, p->text[i].text, p->text[k].text);
        for (size_t k = 0; k < p->shapes; k++) {
            const struct cc_page_shape *m = &p->shape[k];
            const struct box mark = {m->x0 - p->mark, m->y0 - p->mark, m->x0 + p->mark,
                                     m->y0 + p->mark};
            if (m->kind == CC_SHAPE_LEADER && passes(m, a))
                fail_msg("%s: a line crosses '%s'", what, p->text[i].text);
            if ((m->kind == CC_SHAPE_POINT || m->kind == CC_SHAPE_MARK) && covers(a, mark, 1e-6))
                fail_msg("%s: '%s' covers a sample of the legend", what, p->text[i].text);
        }
    }
}

/* The texts of gnuplot's SVG. */
struct drawn_text {
    char text[256];
    struct box box;
};

static void decode_entities(char *text)
{
    static const char *const from[] = {"&lt;", "&gt;", "&amp;"}, to[] = "<>&";
    for (size_t i = 0; i < 3; i++)
        for (char *at; (at = strstr(text, from[i])) != NULL;) {
            *at = to[i];
            memmove(at + 1, at + strlen(from[i]), strlen(at + strlen(from[i])) + 1);
        }
}

static size_t parse_svg(const char *svg, struct drawn_text *out, size_t cap)
{
    size_t n = 0;
    for (const char *at = svg; (at = strstr(at, "<g transform=\"translate(")) != NULL; at++) {
        double x, y, size;
        const char *end = strchr(at, '>'), *text = strstr(at, "<text>"), *font, *anchor;
        assert_non_null(end);
        font = strstr(at, "font-size=\"");
        anchor = strstr(at, "text-anchor=\"");
        if (font == NULL || font > end || text == NULL || anchor == NULL || anchor > end)
            continue;
        assert_int_equal(sscanf(at, "<g transform=\"translate(%lf,%lf)", &x, &y), 2);
        assert_int_equal(sscanf(font, "font-size=\"%lf", &size), 1);
        const bool upright = strstr(at, "rotate(-90") != NULL && strstr(at, "rotate(-90") < end;
        assert_true(n < cap);
        (void)sscanf(text, "<text>%255[^\n]", out[n].text);
        *strstr(out[n].text, "</text>") = '\0';
        decode_entities(out[n].text);
        const double width =
            (have_font ? font_width(out[n].text) : cc_text_width(out[n].text, NULL, 1)) * size;
        const double before = strncmp(anchor + 13, "middle", 6) == 0 ? width / 2
                              : strncmp(anchor + 13, "end", 3) == 0  ? width
                                                                     : 0;
        /* the height of capitals, and of what goes below the line; y goes downwards */
        out[n].box = (struct box){x - before, y - 0.73 * size, x - before + width, y + 0.24 * size};
        if (upright)
            out[n].box =
                (struct box){x - 0.73 * size, y - width + before, x + 0.24 * size, y + before};
        n += out[n].text[0] != '\0';
    }
    return n;
}

static void check_svg(const struct cc_figure *f, const struct cc_page *page, const char *what)
{
    enum { MOST = 2000 };
    struct drawn_text *text = calloc(MOST, sizeof *text);
    FILE *script = tmpfile();
    char *svg = NULL;
    size_t length;
    double width, height;
    FILE *out = open_memstream(&svg, &length);
    assert_int_equal(
        cc_plot_script(f, &(struct cc_canvas){.terminal = "svg", .page = *page}, script, &e),
        CC_OK);
    if (cc_gnuplot_run(script, out, &e) != CC_OK)
        fail_msg("%s: %s", what, e.text);
    (void)fclose(script);
    (void)fclose(out);
    assert_int_equal(sscanf(strstr(svg, "viewBox="), "viewBox=\"0 0 %lf %lf", &width, &height), 2);
    const size_t n = parse_svg(svg, text, MOST);
    assert_true(n > 4);
    for (size_t i = 0; i < n; i++) {
        if (!inside(text[i].box, width, height))
            fail_msg("%s: '%s' leaves the picture", what, text[i].text);
        for (size_t k = 0; k < i; k++)
            if (covers(text[i].box, text[k].box, 0.5))
                fail_msg("%s: '%s' and '%s' overlap as drawn", what, text[i].text, text[k].text);
    }
    free(svg);
    free(text);
}

static bool have_gnuplot(void)
{
    FILE *empty = tmpfile();
    const bool have = cc_gnuplot_run(empty, empty, &e) == CC_OK;
    (void)fclose(empty);
    return have;
}

static void every_kind(void **state)
{
    static const int counts[] = {2, 10, 22};
    static const double widths_in[] = {3.3, 7};
    const bool drawn = have_gnuplot();
    (void)state;
    for (int kind = 0; kind < CC_PLOT_KINDS; kind++)
        for (int c = 0; c < 3; c++)
            for (int w = 0; w < 2; w++)
                for (int panels = 1; panels <= 3; panels += 2) {
                    char what[64];
                    struct cc_plan p;
                    const struct cc_page page = {.width = 72 * widths_in[w]};
                    struct cc_figure f = figure_of((enum cc_plot_kind)kind, counts[c], panels);
                    (void)snprintf(what, sizeof what, "%s, %d schemes, %g in, %d panels",
                                   cc_plot_kind_names[kind], counts[c], widths_in[w], panels);
                    if (cc_plan_make(&f, &page, &p, &e) != CC_OK)
                        fail_msg("%s: %s", what, e.text);
                    check_plan(&p, what);
                    cc_plan_free(&p);
                    if (drawn && panels == 1)
                        check_svg(&f, &page, what);
                    cc_figure_free(&f);
                }
    if (!drawn)
        print_message("SKIPPED: what gnuplot draws: %s\n", e.text);
}

/* Pages with a height either hold everything or say which height does, which then does. */
static void heights(void **state)
{
    (void)state;
    for (int kind = 0; kind < CC_PLOT_KINDS; kind++)
        for (int n = 2; n <= 22; n += 10)
            for (double height = 0.5; height < 5; height += 1.5) {
                double width = 0, needed = 0;
                struct cc_plan p;
                struct cc_page page = {.width = 3.3 * 72, .height = 72 * height, .no_title = true};
                struct cc_figure f = figure_of((enum cc_plot_kind)kind, n, 1);
                const int status = cc_plan_make(&f, &page, &p, &e);
                if (status != CC_OK) {
                    const char *hint = strstr(e.text, "points: ");
                    assert_int_equal(status, CC_USAGE);
                    assert_non_null(hint);
                    assert_int_equal(sscanf(hint, "points: %lfin,%lfin", &width, &needed), 2);
                    assert_true(needed > height);
                    page.height = 72 * needed;
                    assert_int_equal(cc_plan_make(&f, &page, &p, &e), CC_OK);
                }
                check_plan(&p, cc_plot_kind_names[kind]);
                assert_true(p.font_size >= CC_LEAST_FONT && p.height == page.height);
                cc_plan_free(&p);
                cc_figure_free(&f);
            }
}

/* Lines that coincide are one entry of the legend, with all their names. */
static void coinciding(void **state)
{
    (void)state;
    struct cc_sheet s = sheet_of("scheme,bw_bps,speedup\na,1e7,50\nb,1e7,2\nc,1e7,50.1\nd,1e7,3\n"
                                 "a,1e9,1\nb,1e9,1\nc,1e9,1\nd,1e9,1\n");
    struct cc_figure f;
    struct cc_plan p;
    int found = 0;
    assert_int_equal(cc_figure_make(&s, CC_PLOT_SPEEDUP, &(struct cc_plot_filter){0}, &f, &e),
                     CC_OK);
    assert_int_equal(cc_plan_make(&f, &(struct cc_page){.width = 504}, &p, &e), CC_OK);
    for (size_t i = 0; i < p.texts; i++)
        found += strcmp(p.text[i].text, "c, a") == 0 || strcmp(p.text[i].text, "b") == 0 ||
                 strcmp(p.text[i].text, "d") == 0;
    assert_int_equal(found, 3);
    found = 0;
    for (size_t i = 0; i < p.shapes; i++)
        found += p.shape[i].kind == CC_SHAPE_POINT;
    assert_int_equal(found, 3);
    cc_plan_free(&p);
    cc_figure_free(&f);
    cc_sheet_free(&s);
}

/* Panels of steps have the same x axis, and numbers of the same form. */
static void one_scale(void **state)
{
    (void)state;
    struct cc_sheet s = sheet_of("scheme,workers,compute_s,codec_s,comm_s,step_s\n"
                                 "a,2,0.01,0,0.002,0.012\nb,2,0.01,0,0.1,0.11\n"
                                 "a,4,0.01,0,3,3.01\nb,4,0.01,0,0.04,0.05\n");
    struct cc_figure f;
    struct cc_plan p;
    int found = 0;
    assert_int_equal(cc_figure_make(&s, CC_PLOT_STEP, &(struct cc_plot_filter){0}, &f, &e), CC_OK);
    assert_int_equal(cc_plan_make(&f, &(struct cc_page){.width = 504}, &p, &e), CC_OK);
    assert_int_equal(p.panels, 2);
    assert_true(p.area[0].x.hi == p.area[1].x.hi);
    for (size_t i = 0; i < p.texts; i++)
        for (size_t k = 0; k < 4; k++) {
            static const char *const values[] = {"0.012", "0.110", "3.010", "0.050"};
            found += strcmp(p.text[i].text, values[k]) == 0;
        }
    assert_int_equal(found, 4);
    cc_plan_free(&p);
    cc_figure_free(&f);
    cc_sheet_free(&s);
}

static bool has_text(const struct cc_plan *p, const char *text, size_t panel)
{
    for (size_t i = 0; i < p->texts; i++)
        if (strcmp(p->text[i].text, text) == 0 && p->text[i].panel == panel)
            return true;
    return false;
}

/* Tics have their texts at both ends in every panel, and those of two panels stand apart. */
static void tics_of_panels(void **state)
{
    (void)state;
    struct cc_sheet s = sheet_of("scheme,workers,bw_bps,speedup\n"
                                 "a,2,1e7,3\na,2,1e11,1\nb,2,1e7,2e4\nb,2,1e11,2\n"
                                 "a,4,1e7,3\na,4,1e11,1\nb,4,1e7,2\nb,4,1e11,2\n"
                                 "a,8,1e7,3\na,8,1e11,1\nb,8,1e7,2\nb,8,1e11,2\n");
    struct cc_figure f;
    assert_int_equal(cc_figure_make(&s, CC_PLOT_SPEEDUP, &(struct cc_plot_filter){0}, &f, &e),
                     CC_OK);
    for (double width = 4; width < 10; width += 0.25) {
        struct cc_plan p;
        assert_int_equal(cc_plan_make(&f, &(struct cc_page){.width = 72 * width}, &p, &e), CC_OK);
        const double em = p.font_size;
        for (size_t i = 0; i < 3; i++)
            assert_true(has_text(&p, "10 Mbit/s", i) && has_text(&p, "100 Gbit/s", i));
        assert_true(width != 7 || (p.columns == 3 && p.rows == 1));
        assert_true(has_text(&p, "10000", 0) && has_text(&p, "1", 0));
        for (size_t i = 0; i < p.texts; i++)
            for (size_t k = 0; k < i; k++) {
                const struct box a = text_box(&p, &p.text[k]);
                const struct box b = text_box(&p, &p.text[i]);
                if (p.text[i].panel != p.text[k].panel && p.text[i].y == p.text[k].y)
                    assert_true(fmax(b.left - a.right, a.left - b.right) > 0.7 * em);
            }
        cc_plan_free(&p);
    }
    cc_figure_free(&f);
    cc_sheet_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths),         cmocka_unit_test(lines),
        cmocka_unit_test(every_kind),     cmocka_unit_test(heights),
        cmocka_unit_test(coinciding),     cmocka_unit_test(one_scale),
        cmocka_unit_test(tics_of_panels),
    };
    have_font = font_open();
    if (!have_font)
        print_message("SKIPPED: widths as in the font: fonts-dejavu-core is not installed\n");
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (have_font)
        font_close();
    return failed;
}
