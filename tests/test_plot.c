/* Plots: what the scripts say, and that gnuplot draws them (if it is installed). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/plot.h"

static const struct cc_column columns[] = {
    {"scheme", "scheme", "", NULL, 0, ""},
    {"bw_bps", "bandwidth", "Mbit/s", "%.0f", 1e-6, ""},
    {"step_s", "step", "ms", "%.3f", 1e3, ""},
    {"loss", NULL, "", NULL, 0, ""},
    {.key = NULL},
};

static void fill(struct cc_record *r)
{
    /* Nothing in a name may be taken for gnuplot's words, or the shell's. */
    static const char *const schemes[] = {"fp32", "3lc:s=1.75",
                                          "it's_^{`touch pwned`}\n\"quoted\""};
    cc_record_init(r, "model", columns, 0, NULL);
    for (size_t i = 0; i < 9; i++) {
        size_t row = cc_record_add(r, NULL);
        double bw = i / 3 == 0 ? 1e7 : i / 3 == 1 ? 1e8 : 1e9;
        assert_int_equal(cc_record_text(r, row, "scheme", schemes[i % 3], NULL), CC_OK);
        cc_record_number(r, row, "bw_bps", bw);
        if (i != 7)
            cc_record_number(r, row, "step_s", 0.05 + 3e7 / bw / (double)(1 + 3 * (i % 3)));
    }
}

static char *script_of(const struct cc_record *r, const struct cc_plot *p, const char *image,
                       int want, struct cc_error *e)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    assert_non_null(f);
    assert_int_equal(cc_plot_script(r, p, image, f, e), want);
    (void)fclose(f);
    return text;
}

static void scripts(void **state)
{
    (void)state;
    struct cc_record r;
    fill(&r);
    struct cc_plot p = {
        .title = "a step", .x = "bw_bps", .y = "step_s", .series = "scheme", .log_x = true};
    char *text = script_of(&r, &p, "a'b.png", CC_OK, NULL);
    assert_non_null(strstr(text, "set output 'a''b.png'\n"));
    assert_non_null(strstr(text, "set title 'a step'\nset ylabel 'step (ms)'\n"));
    assert_non_null(strstr(text, "set xlabel 'bandwidth (Mbit/s)'\nset logscale x\n"));
    assert_non_null(strstr(text, "$series0 << EOD\n10 3050\n100 350\n1000 80\nEOD\n"));
    assert_non_null(strstr(text, "$series1 << EOD\n10 800\n100 125\nEOD\n"));
    assert_non_null(strstr(text, "title 'it''s_^{`touch pwned`} \"quoted\"'\n"));
    free(text);

    p = (struct cc_plot){.y = "step_s", .series = "scheme"};
    text = script_of(&r, &p, "a.svg", CC_OK, NULL);
    assert_non_null(strstr(text, "set yrange [0:*]\n"));
    assert_non_null(strstr(text, "('fp32' 0, '3lc:s=1.75' 1, 'it''s"));
    assert_non_null(strstr(text, "\n6 80\n8 "));
    free(text);
    cc_record_free(&r);
}

static void refused(void **state)
{
    (void)state;
    struct cc_record r;
    struct cc_error e;
    fill(&r);
    free(script_of(&r, &(struct cc_plot){.y = "steps"}, "a.png", CC_USAGE, &e));
    assert_string_equal(e.text, "'steps' is not a key of the results of model");
    free(script_of(&r, &(struct cc_plot){.y = "loss", .x = "bw_bps"}, "a.png", CC_FAIL, &e));
    assert_string_equal(e.text, "nothing to plot: no row has a number for loss and bw_bps");
    free(script_of(&r, &(struct cc_plot){.y = "step_s"}, "a.gif", CC_USAGE, &e));
    assert_non_null(strstr(e.text, ".png or .svg"));
    cc_record_free(&r);
}

/* Draws in the current directory; whether the image begins as it should. */
static void draw(const struct cc_record *r, const struct cc_plot *p, const char *image,
                 const char *magic)
{
    struct cc_error e;
    FILE *f = fopen("plot.gp", "w");
    assert_non_null(f);
    assert_int_equal(cc_plot_script(r, p, image, f, &e), CC_OK);
    (void)fclose(f);
    if (cc_plot_draw("plot.gp", &e) != CC_OK)
        fail_msg("%s", e.text);
    char got[8] = "";
    f = fopen(image, "r");
    assert_non_null(f);
    assert_int_equal(fread(got, 1, strlen(magic), f), strlen(magic));
    (void)fclose(f);
    assert_memory_equal(got, magic, strlen(magic));
    assert_int_equal(unlink("plot.gp"), 0);
    if (getenv("KEEP_PLOTS") == NULL)
        assert_int_equal(unlink(image), 0);
}

static void drawn(void **state)
{
    (void)state;
    struct cc_error e;
    if (cc_plot_draw("/dev/null", &e) != CC_OK && strstr(e.text, "not installed") != NULL) {
        print_message("SKIPPED: %s\n", e.text);
        skip();
    }
    char path[] = "/tmp/test_plot.XXXXXX";
    assert_non_null(mkdtemp(path));
    assert_int_equal(chdir(path), 0);
    struct cc_record r;
    fill(&r);
    struct cc_plot lines = {.title = "Time of a step",
                            .x = "bw_bps",
                            .y = "step_s",
                            .series = "scheme",
                            .log_x = true,
                            .log_y = true};
    draw(&r, &lines, "lines.png", "\x89PNG");
    draw(&r, &lines, "lines.svg", "<?xml");
    draw(&r, &(struct cc_plot){.y = "step_s", .series = "scheme"}, "bars.png", "\x89PNG");
    cc_record_free(&r);
    assert_int_equal(access("pwned", F_OK), -1);
    assert_int_equal(chdir("/"), 0);
    if (getenv("KEEP_PLOTS") == NULL)
        assert_int_equal(rmdir(path), 0);
}

static void not_drawn(void **state)
{
    (void)state;
    struct cc_error e;
    const char *old = getenv("PATH");
    char *path = strdup(old != NULL ? old : "/usr/bin:/bin");
    assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
    assert_int_equal(cc_plot_draw("a.gp", &e), CC_FAIL);
    assert_non_null(strstr(e.text, "gnuplot is not installed"));
    assert_int_equal(setenv("PATH", path, 1), 0);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scripts),
        cmocka_unit_test(refused),
        cmocka_unit_test(drawn),
        cmocka_unit_test(not_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
