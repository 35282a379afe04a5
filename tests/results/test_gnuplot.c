/* gnuplot, if it is installed, draws the scripts of every figure, with any names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/plot.h"
#include "tests/lib/scratch.h"
#include "tests/lib/sheets.h"
#include "tests/lib/text.h"

static struct cc_error e;

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

static void put_fields(const char *const *texts, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        put_field(texts[i], out);
        (void)fputc(',', out);
    }
}

/* Rows for every kind, in two panels; what names the series of this kind differs. */
static struct cc_sheet hostile_sheet(enum cc_plot_kind kind)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    (void)fputs(
        "scheme,row,table,net,column,heading,trace,exchange,process,bw_bps,workers,speedup,compute_"
        "s,codec_s,"
        "comm_s,step_s,ratio,error,encode_roofline,decode_roofline,values,encode_gb_per_s,"
        "decode_gb_per_s,accuracy,loss,train_loss,bits_push,step,step_s_model,figure_paper,"
        "figure_model,rms_error,worst_error,algbw_gb_per_s,busbw_gb_per_s,nonzeros,call_s,"
        "message_bytes,half_trip_s,half_trip_s_model,b_over_a,cu_model,local_steps,"
        "at_s,computing,link_sent,sent_bps,received_bps\n",
        out);
    for (size_t i = 0; i < 2 * HOSTILE; i++) {
        const char *name = hostile[i % HOSTILE], *panel = hostile[3 + i / HOSTILE];
        const char *const texts[] = {name,
                                     name,
                                     kind == CC_PLOT_PAPERS ? name : hostile[5],
                                     kind == CC_PLOT_NETS ? name : hostile[6],
                                     panel,
                                     panel,
                                     hostile[2],
                                     panel,
                                     panel};
        put_fields(texts, sizeof texts / sizeof texts[0], out);
        (void)fprintf(out, "%d,2,%zu,1,1,1,2.5,%zu,0.%zu,0.5,0.6,0.7,8,%d,1,1,0.5,0.5,%d", 10,
                      i + 1, i + 1, i + 1, 1000, 20);
        (void)fprintf(out, ",2.4,%zu,%zu,0.1,0.2,1,2,0.1,1,%zu,1,2,%zu,0.5,8,%zu,0.5,0.4,2,3\n", i,
                      i + 1, i + 1, i + 1, i + 1);
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
    struct cc_canvas canvas = {.terminal = terminal, .page = {.width = 900, .dpi = 100}};
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
    for (int kind = 0; kind < CC_PLOT_KINDS; kind++) {
        static const char *const terminals[][2] = {
            {"svg", "<?xml"}, {"png", "\x89PNG"}, {"pdf", "%PDF"}, {"eps", "%!PS"}};
        struct cc_figure f;
        struct cc_sheet s = hostile_sheet((enum cc_plot_kind)kind);
        if (cc_figure_make(&s, (enum cc_plot_kind)kind, &(struct cc_plot_filter){0}, &f, &e) !=
            CC_OK)
            fail_msg("%s", e.text);
        for (size_t t = 0; t < 4; t++) {
            size_t length;
            char *got = drawn(&f, terminals[t][0], &length);
            assert_true(length > 500);
            assert_contains(got, terminals[t][1]);
            assert_true(got[0] != '\f');
            if (t == 0) { /* names as they are, in XML */
                assert_lacks(got, "\xc2\x9b");
                assert_lacks(got, "<b>");
            }
            if (t == 0 && kind == CC_PLOT_STEP) { /* in lines of their own */
                assert_contains(got, "two lines !touch pwned");
                assert_contains(got, "&lt;b");
                assert_contains(got, "'; system('touch pwned'); '");
                assert_contains(got, "`touch pwned`");
            }
            free(got);
        }
        cc_figure_free(&f);
        cc_sheet_free(&s);
    }
    assert_int_equal(access("pwned", F_OK), -1);
    assert_int_equal(scratch_count(state), 0);
    assert_int_equal(chdir(before), 0);
    free(before);
}

/* A picture for a page: its identifiers differ from another's, and names stay text. */
static void picture_of_page(void **state)
{
    (void)state;
    if (!have_gnuplot())
        skip();
    struct cc_sheet s = sheet_of("scheme,bw_bps,speedup\n\"<x id='y'\",1e7,2\n3lc,1e8,1\n");
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_int_equal(cc_plot_svg(&s, "p7", out, &e), CC_OK);
    (void)fclose(out);
    assert_int_equal(strncmp(text, "<svg", 4), 0);
    assert_contains(text, "id='p7-gpPt0'");
    assert_contains(text, "href='#p7-gpPt");
    assert_contains(text, "&lt;x id='y'<");
    assert_lacks(text, "'#gp");
    assert_contains(text, "</svg>");
    assert_contains(text, "<g class=\"value\"><title>3lc, bandwidth: 100 Mbit/s, speedup over "
                          "plain gradients: 1</title>");
    assert_contains(text, "<title>&lt;x id=&#39;y&#39;, bandwidth: 10 Mbit/s, ");
    assert_lacks(text, "onmouse");
    assert_lacks(text, "gnuplot_plot");
    free(text);
    cc_sheet_free(&s);
}

/* The values of bars: a short part has one mark, a long one four, all with the part's own time. */
static void values_of_bars(void **state)
{
    (void)state;
    if (!have_gnuplot())
        skip();
    struct cc_sheet s = sheet_of("scheme,compute_s,codec_s,comm_s,step_s\nfp32,1,0.01,3,4.01\n");
    char *text = NULL;
    size_t length, marks[3] = {0};
    FILE *out = open_memstream(&text, &length);
    assert_int_equal(cc_plot_svg(&s, "p", out, &e), CC_OK);
    (void)fclose(out);
    for (const char *p = text; (p = strstr(p, "<title>fp32, ")) != NULL; p++) {
        marks[0] += strncmp(p, "<title>fp32, compute: 1 s<", 26) == 0;
        marks[1] += strncmp(p, "<title>fp32, codec: 10 ms<", 26) == 0;
        marks[2] += strncmp(p, "<title>fp32, communication: 3 s<", 32) == 0;
    }
    assert_int_equal(marks[0], 4);
    assert_int_equal(marks[1], 1);
    assert_int_equal(marks[2], 4);
    free(text);
    cc_sheet_free(&s);
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
        cmocka_unit_test_setup_teardown(nothing_is_obeyed, scratch_setup, scratch_teardown),
        cmocka_unit_test(picture_of_page),
        cmocka_unit_test(values_of_bars),
        cmocka_unit_test(gnuplot_missing),
        cmocka_unit_test(gnuplot_complains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
