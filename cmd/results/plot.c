/* `commcomp plot`: draws results, in a file or in the terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/cli/command.h"
#include "cmd/cli/terminal.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/units.h"
#include "results/plot.h"

static const struct cc_column columns[] = {{.key = NULL}};

static const char *const formats[] = {"text", "svg", "png", "pdf", "script", NULL};
enum { TEXT, SVG, PNG, PDF, SCRIPT };

static const struct cc_option options[] = {
    {.name = "kind",
     .value = "KIND",
     .choices = cc_plot_kind_names,
     .help =
         "what to plot. speedup: against bandwidth; step: the parts of its time, hidden "
         "communication among them; error: size "
         "against error; workers: scaling; roofline: codec speed over the memory's limit; size: "
         "codec speed against tensor size; accuracy and loss: of trainings, --over steps, bytes or "
         "time. By default what suits the columns of the file"},
    {.name = "over",
     .value = "WHAT",
     .def = "steps",
     .choices = cc_plot_over_names,
     .help = "accuracy and loss: the x axis, steps, the payload bytes of a worker, or time"},
    {.name = "bw", .value = "RATE", .help = "only the rows of this bandwidth, as in 100mbps"},
    {.name = "workers", .value = "N", .help = "only the rows with this number of workers"},
    {.name = "exchange", .value = "NAME", .help = "only the rows of this exchange"},
    {.name = "script",
     .value = "FILE",
     .file = CC_WRITES_FILE,
     .help = "write gnuplot's script with the data to FILE, to be edited and drawn with "
             "`gnuplot FILE`; needs no gnuplot. Without -o it draws plot.svg"},
    {.name = "output",
     .letter = 'o',
     .value = "FILE",
     .file = CC_WRITES_FILE,
     .help =
         "draw FILE, whole or not at all; its suffix gives the format: .svg, .png or .pdf; .txt "
         "for the terminal's text"},
    {.name = "format",
     .value = "FORMAT",
     .def = "text",
     .choices = formats,
     .help = "what to print on stdout if there is neither -o nor --script: text, svg, png, pdf, or "
             "gnuplot's script"},
    {.name = NULL},
};

/* Sets *out to the format of a path's suffix; leaves it for a pipe or device without one. */
static int parse_suffix(const char *path, int *out, struct cc_error *e)
{
    static const struct {
        const char *suffix;
        int format;
    } known[] = {{".svg", SVG}, {".png", PNG}, {".pdf", PDF}, {".txt", TEXT}};
    const char *suffix = strrchr(path, '.');
    for (size_t i = 0; suffix != NULL && i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(suffix, known[i].suffix) == 0) {
            *out = known[i].format;
            return CC_OK;
        }
    }
    if (cc_file_is_stream(path))
        return CC_OK;
    return cc_usage(e, "'%s': a plot's suffix should be .svg, .png or .pdf, or .txt for text",
                    path);
}

/* A canvas of the terminal's size; as wide as COLUMNS says, and of a page's size, where there is
 * none; in any case with a line for each series of the legend. */
static struct cc_canvas text_canvas(const struct cc_figure *f)
{
    enum { LEAST = 40, USUAL = 80, MOST = 200, BESIDE = 8 };
    struct winsize w;
    const size_t width = cc_terminal_width();
    struct cc_canvas c = {.terminal = "dumb", .columns = USUAL, .lines = 24};
    if (width > 0)
        c.columns = width < LEAST ? LEAST : width > MOST ? MOST : (int)width;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row >= 16)
        c.lines = w.ws_row < 62 ? w.ws_row - 2 : 60;
    if (f->shape == CC_LINES && c.lines < (int)f->series_count + BESIDE)
        c.lines = (int)f->series_count + BESIDE;
    return c;
}

/* Draws the figure, as text or with gnuplot, in a format to a stream. */
static int draw(const struct cc_figure *f, int format, FILE *out, struct cc_error *e)
{
    struct cc_canvas canvas = text_canvas(f);
    bool bars = f->shape == CC_STACKED || f->shape == CC_GROUPED;
    if (format == TEXT && bars) {
        cc_plot_text(f, canvas.columns, out);
        return CC_OK;
    }
    if (format != TEXT)
        canvas.terminal = format == SCRIPT ? "svg" : formats[format];
    if (format == SCRIPT)
        return cc_plot_script(f, &canvas, out, e);
    FILE *script = cc_file_temporary("gnuplot's script", e);
    if (script == NULL)
        return CC_FAIL;
    int status = CC_OK;
    CC_TRY_OUT(cc_plot_script(f, &canvas, script, e));
    CC_TRY_OUT(cc_gnuplot_run(script, out, e));
out:
    (void)fclose(script);
    return status;
}

static int draw_file(const struct cc_figure *f, int format, const char *path, struct cc_error *e)
{
    struct cc_outfile file;
    CC_TRY(cc_file_create(&file, path, e));
    int status = draw(f, format, file.f, e);
    if (status == CC_OK)
        return cc_file_commit(&file, e);
    cc_file_abort(&file);
    return status;
}

/* Writes a script that draws the file of -o when it is run. */
static int write_script(const struct cc_figure *f, const char *path, const char *image, int format,
                        struct cc_error *e)
{
    struct cc_outfile file;
    struct cc_canvas canvas = {.terminal = formats[format], .output = image};
    if (format == TEXT)
        canvas = text_canvas(f);
    CC_TRY(cc_file_create(&file, path, e));
    int status = cc_plot_script(f, &canvas, file.f, e);
    if (status == CC_OK)
        return cc_file_commit(&file, e);
    cc_file_abort(&file);
    return status;
}

static int write_output(const struct cc_args *args, const struct cc_figure *f, struct cc_error *e)
{
    const char *image = cc_arg(args, "output"), *script = cc_arg(args, "script");
    int format = TEXT;
    cc_arg_choice(args, "format", &format);
    if (image == NULL)
        return script != NULL ? write_script(f, script, "plot.svg", SVG, e)
                              : draw(f, format, stdout, e);
    CC_TRY(parse_suffix(image, &format, e));
    if (script != NULL)
        CC_TRY(write_script(f, script, image, format, e));
    return draw_file(f, format, image, e);
}

static int read_filter(const struct cc_args *args, const char **names, struct cc_plot_filter *out,
                       struct cc_error *e)
{
    uint64_t workers = 0;
    *out = (struct cc_plot_filter){.schemes = names,
                                   .scheme_count = args->schemes.count,
                                   .exchange = cc_arg(args, "exchange")};
    int over = CC_OVER_STEPS;
    cc_arg_choice(args, "over", &over);
    out->over = (enum cc_plot_over)over;
    for (size_t i = 0; i < args->schemes.count; i++)
        names[i] = args->schemes.item[i]->name;
    CC_TRY(cc_arg_count(args, "workers", 1, 1000000000, &workers, e));
    out->workers = (double)workers;
    if (cc_arg(args, "bw") == NULL)
        return CC_OK;
    int status = cc_parse_rate(cc_arg(args, "bw"), &out->bw_bps, e);
    if (status != CC_OK)
        cc_error_in(e, "--bw");
    return status;
}

static int plot(const struct cc_args *args, const struct cc_sheet *sheet,
                const struct cc_plot_filter *filter, struct cc_error *e)
{
    int kind = CC_PLOT_KINDS;
    cc_arg_choice(args, "kind", &kind);
    if (kind == CC_PLOT_KINDS) {
        enum cc_plot_kind guess = CC_PLOT_SPEEDUP;
        CC_TRY(cc_plot_guess(sheet, &guess, e));
        kind = (int)guess;
        if (!args->quiet)
            cc_say("plotting --kind %s, for which the file has the columns",
                   cc_plot_kind_names[kind]);
    }
    if (cc_arg(args, "over") != NULL && kind != CC_PLOT_ACCURACY && kind != CC_PLOT_LOSS)
        return cc_usage(e, "--over goes with --kind accuracy and --kind loss, not with --kind %s",
                        cc_plot_kind_names[kind]);
    struct cc_figure figure;
    CC_TRY(cc_figure_make(sheet, (enum cc_plot_kind)kind, filter, &figure, e));
    if (figure.left_out > 0 && !args->quiet)
        cc_say("%zu rows of %s lack these numbers and are left out", figure.left_out, sheet->path);
    int status = write_output(args, &figure, e);
    cc_figure_free(&figure);
    return status;
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct cc_sheet sheet;
    struct cc_plot_filter filter;
    int unused, status = CC_OK;
    const char *image = cc_arg(args, "output");
    const char **names = cc_alloc0((args->schemes.count + 1) * sizeof *names, e);
    if (names == NULL)
        return CC_FAIL;
    if (image != NULL)
        CC_TRY_OUT(parse_suffix(image, &unused, e));
    CC_TRY_OUT(read_filter(args, names, &filter, e));
    CC_TRY_OUT(cc_sheet_read(args->operand[0], &sheet, e));
    status = plot(args, &sheet, &filter, e);
    cc_sheet_free(&sheet);
out:
    free(names);
    return status;
}

const struct cc_command cc_command_plot = {
    .name = "plot",
    .summary = "a picture of results, in a file or in the terminal",
    .operands = "RESULTS",
    .min_operands = 1,
    .max_operands = 1,
    .description =
        "Draws the rows of a .csv or .json file that another command wrote, or of a page of "
        "`commcomp report` that holds one result (or a CSV with the same "
        "columns from elsewhere; - is the standard input): a line, a bar or a labelled point for "
        "each scheme. Rows that "
        "differ in other settings, as in the number of workers, get a panel each, at most six. "
        "Bars in the terminal need nothing; everything else is drawn by gnuplot (Debian: "
        "gnuplot-nox). Lines, points and fillings differ in more than colour.\n\nWith --scheme, "
        "only these schemes, under their canonical names.",
    .examples = "  commcomp plot results.csv                              # in the terminal\n"
                "  commcomp plot results.csv -o results.svg               # as a picture\n"
                "  commcomp plot results.csv --kind step --bw 100mbps -o step.png\n"
                "  commcomp plot results.json --scheme fp32,3lc,int8 --script results.gp\n"
                "  commcomp plot train.csv --kind loss --over time -o loss.svg\n",
    .options = options,
    .columns = columns,
    .takes_schemes = CC_SCHEMES,
    .own_output = true,
    .run = run,
};
