/* `commcomp plot`: draws results, in a file or in the terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/cli/terminal.h"
#include "cmd/results/known.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/units.h"
#include "results/plot.h"

static const struct cc_column columns[] = {{.key = NULL}};

static const char *const formats[] = {"text", "svg", "png", "pdf", "eps", "script", NULL};
enum { TEXT, SVG, PNG, PDF, EPS, SCRIPT, TEX };
static const char *const terminals[] = {
    [SVG] = "svg", [PNG] = "png", [PDF] = "pdf", [EPS] = "eps", [SCRIPT] = "svg", [TEX] = "tex"};

struct plot_options {
    struct cc_given given;
    enum cc_plot_kind kind;
    struct cc_plot_filter filter;
    struct cc_page page;
    struct plot_font {
        char name[64];
        double size;
    } font; /* the page's */
    const char *script, *output;
    int format;
};

static int read_font(const char *text, void *member, struct cc_error *e);
static int read_size(const char *text, void *member, struct cc_error *e);

#define MEMBER(m)                 CC_OPTION_AT(struct plot_options, m)
#define KIND_HELP(id, name, help) name ": " help "; "
static const struct cc_option own_options[] = {
    {.name = "kind",
     MEMBER(kind),
     .value = "KIND",
     .choices = cc_plot_kind_names,
     .brief = "speedup, step, error, workers, accuracy, loss, ...",
     .help =
         "what to plot. " CC_PLOT_KIND_LIST(KIND_HELP) "by default what suits the columns of the "
                                                       "file"},
    {.name = "over",
     MEMBER(filter.over),
     .value = "WHAT",
     .def = "steps",
     .choices = cc_plot_over_names,
     .brief = "the x axis of trainings: steps, bytes or time",
     .help = "trainings: the x axis, steps, the payload bytes of a worker, or time"},
    {.name = "bw",
     MEMBER(filter.bw_bps),
     .kind = CC_TAKES_RATE,
     .value = "RATE",
     .help = "only the rows of this bandwidth, as in 100mbps"},
    {.name = "workers",
     MEMBER(filter.workers),
     .kind = CC_TAKES_COUNT,
     .min = 1,
     .max = 1000000000,
     .value = "N",
     .help = "only the rows with this number of workers"},
    {.name = "exchange",
     MEMBER(filter.exchange),
     .value = "NAME",
     .help = "only the rows of this exchange"},
    {.name = "one-panel",
     MEMBER(filter.one_panel),
     .help =
         "lines of all settings in one panel, as of trainings with and without local steps; their "
         "names have the settings that tell them apart"},
    {.name = "size",
     MEMBER(page),
     .parse = read_size,
     .value = "W[,H]",
     .def = "7in",
     .help = "width and height of the picture, in in, cm, mm or pt: 3.3in,2.2in. Without a height, "
             "the one that the content needs. Letters become smaller, down to 4.5 points, until "
             "everything has its place"},
    {.name = "font",
     MEMBER(font),
     .parse = read_font,
     .value = "NAME[,SIZE]",
     .help = "font and its size in points, as in Helvetica,8 or ,8 (default: the system's sans "
             "serif, 9 points, 7 where the picture is narrower than 4in); .tex has the document's "
             "font"},
    {.name = "dpi",
     MEMBER(page.dpi),
     .kind = CC_TAKES_COUNT,
     .min = 30,
     .max = 2400,
     .value = "N",
     .def = "150",
     .help = "dots per inch of .png"},
    {.name = "no-title",
     MEMBER(page.no_title),
     .help = "leave out the title, which stands in a paper's caption"},
    {.name = "columns",
     MEMBER(page.columns),
     .kind = CC_TAKES_COUNT,
     .min = 1,
     .max = 12,
     .value = "N",
     .help = "panels beside each other (default: as many as have room, at most 3)"},
    {.name = "script",
     MEMBER(script),
     .value = "FILE",
     .file = CC_WRITES_FILE,
     .help = "write gnuplot's script with the data to FILE, to be edited and drawn with "
             "`gnuplot FILE`; needs no gnuplot. Without -o it draws plot.svg"},
    {.name = "output",
     MEMBER(output),
     .letter = 'o',
     .value = "FILE",
     .file = CC_WRITES_FILE,
     .help =
         "draw FILE, whole or not at all; its suffix gives the format: .svg, .png, .pdf or .eps; "
         ".tex for LaTeX, which \\input takes and which includes a .pdf of the same name, written "
         "beside it; .txt for the terminal's text"},
    {.name = "format",
     MEMBER(format),
     .value = "FORMAT",
     .def = "text",
     .choices = formats,
     .help = "what to print on stdout if there is neither -o nor --script: text, svg, png, pdf, "
             "eps, or gnuplot's script"},
    {.name = NULL},
};

static const struct cc_option_use options[] = {{.rows = own_options}, {.rows = NULL}};

/* Sets *out to the format of a path's suffix; leaves it for a pipe or device without one. */
static int parse_suffix(const char *path, int *out, struct cc_error *e)
{
    static const struct {
        const char *suffix;
        int format;
    } known[] = {{".svg", SVG}, {".png", PNG}, {".pdf", PDF},
                 {".eps", EPS}, {".tex", TEX}, {".txt", TEXT}};
    const char *suffix = strrchr(path, '.');
    for (size_t i = 0; suffix != NULL && i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(suffix, known[i].suffix) == 0) {
            *out = known[i].format;
            return CC_OK;
        }
    }
    if (cc_file_is_stream(path))
        return CC_OK;
    return cc_usage(
        e, "'%s': a plot's suffix should be .svg, .png, .pdf, .eps or .tex, or .txt for text",
        path);
}

/* Draws the figure as text of the terminal's size; as wide as COLUMNS says where there is none. */
static int draw_text(const struct cc_figure *f, FILE *out, struct cc_error *e)
{
    enum { LEAST = 40, USUAL = 80, MOST = 200, BESIDE = 10 };
    struct winsize w;
    const size_t width = cc_terminal_width();
    int across = USUAL, lines = 18;
    if (width > 0)
        across = width < LEAST ? LEAST : width > MOST ? MOST : (int)width;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row >= 2 * BESIDE)
        lines = w.ws_row < 60 ? w.ws_row - BESIDE : 50;
    return cc_plot_text(f, across, lines, out, e);
}

/* Draws the figure, as text or with gnuplot, in a format to a stream. */
static int draw(const struct cc_figure *f, const struct cc_canvas *canvas, int format, FILE *out,
                struct cc_error *e)
{
    return format == TEXT     ? draw_text(f, out, e)
           : format == SCRIPT ? cc_plot_script(f, canvas, out, e)
                              : cc_plot_draw(f, canvas, out, e);
}

static int draw_file(const struct cc_figure *f, const struct cc_canvas *canvas, int format,
                     const char *path, struct cc_error *e)
{
    struct cc_outfile file;
    if (format == TEX)
        return cc_plot_tex(f, &canvas->page, path, e);
    CC_TRY(cc_file_create(&file, path, e));
    return cc_file_end(&file, draw(f, canvas, format, file.f, e), e);
}

/* Whether the .pdf that goes with a .tex is a file of its own. */
static int check_pdf(const struct cc_args *args, const char *tex, struct cc_error *e)
{
    char *pdf;
    CC_TRY(cc_text(&pdf, e, "%.*spdf", (int)(strlen(tex) - strlen("tex")), tex));
    const int status = cc_args_check_beside(args, "the .pdf of --output", pdf, e);
    free(pdf);
    return status;
}

static int write_output(const struct cc_args *args, const struct plot_options *o,
                        const struct cc_figure *f, struct cc_error *e)
{
    const char *image = o->output;
    int format = o->format;
    struct cc_canvas canvas = {.terminal = terminals[format], .page = o->page};
    if (image == NULL && o->script == NULL)
        return draw(f, &canvas, format, stdout, e);
    if (image != NULL)
        CC_TRY(parse_suffix(image, &format, e));
    if (image != NULL && format == TEX && !cc_file_is_stream(image))
        CC_TRY(check_pdf(args, image, e));
    const bool drawn = image != NULL && format != TEXT; /* by gnuplot */
    canvas.terminal = drawn ? terminals[format] : "svg";
    canvas.output = drawn ? image : "plot.svg";
    if (o->script != NULL) /* draws the file of -o when it is run */
        CC_TRY(draw_file(f, &canvas, SCRIPT, o->script, e));
    canvas.output = NULL;
    return image != NULL ? draw_file(f, &canvas, format, image, e) : CC_OK;
}

/* --- the page --- */

/* Reads a length at *text, in points, and moves *text behind it. */
static int read_length(const char **text, double least, double most, double *out,
                       struct cc_error *e)
{
    static const struct {
        const char *unit;
        double points;
    } units[] = {{"in", 72}, {"cm", 72 / 2.54}, {"mm", 72 / 25.4}, {"pt", 1}};
    const size_t digits = strspn(*text, "0123456789.");
    char number[32] = "";
    if (digits > 0 && digits < sizeof number)
        (void)memcpy(number, *text, digits);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (!cc_is_decimal(number, strlen(number)) ||
            strncmp(*text + digits, units[i].unit, 2) != 0)
            continue;
        *text += digits + 2;
        *out = strtod(number, NULL) * units[i].points;
        if (*out >= least * 72 && *out <= most * 72)
            return CC_OK;
        return cc_usage(e, "--size: '%s' should be from %gin to %gin", number, least, most);
    }
    return cc_usage(e, "--size: '%s' is not a length: 3.3in, 84mm, 8.4cm or 240pt", *text);
}

static int read_size(const char *text, void *member, struct cc_error *e)
{
    struct cc_page *out = member;
    const char *rest = text;
    CC_TRY(read_length(&rest, 1, 60, &out->width, e));
    if (*rest == ',') {
        rest++;
        CC_TRY(read_length(&rest, 0.5, 200, &out->height, e));
    }
    if (*rest != '\0')
        return cc_usage(e, "--size: '%s' should be a width, or a width and a height: 3.3in,2.2in",
                        text);
    return CC_OK;
}

/* Reads NAME, NAME,SIZE or ,SIZE. */
static int read_font(const char *text, void *member, struct cc_error *e)
{
    struct plot_font *out = member;
    const size_t length = strcspn(text, ",");
    const char *size = text + length + (text[length] == ',');
    if (length >= sizeof out->name ||
        strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                     "0123456789 -_") < length)
        return cc_usage(e, "--font: '%.80s' is not the name of a font: Helvetica, or Helvetica,8",
                        text);
    (void)snprintf(out->name, sizeof out->name, "%.*s", (int)length, text);
    if (text[length] == '\0')
        return CC_OK;
    out->size = cc_is_decimal(size, strlen(size)) ? strtod(size, NULL) : 0;
    if (out->size < 3 || out->size > 72)
        return cc_usage(e, "--font: '%.80s' should be a size from 3 to 72 points", size);
    return CC_OK;
}

static int read_options(const struct cc_args *args, const char **names, struct plot_options *o,
                        struct cc_error *e)
{
    CC_TRY(cc_options_read(args, own_options, o, e));
    o->page.font = o->font.name[0] != '\0' ? o->font.name : NULL;
    o->page.font_size = o->font.size;
    o->filter.schemes = names;
    o->filter.scheme_count = args->schemes.count;
    for (size_t i = 0; i < args->schemes.count; i++)
        names[i] = args->schemes.item[i]->name;
    return CC_OK;
}

/* --- timelines --- */

static bool has_transfers(const struct cc_sheet *sheet, enum cc_value_kind kind)
{
    return cc_sheet_has(sheet, cc_sheet_column(sheet, "sent_bps"), kind);
}

/* Fails for options that choose nothing of a timeline, and where its plot would be empty. */
static int check_timeline(const struct cc_sheet *sheet, const struct plot_options *o,
                          enum cc_plot_kind kind, struct cc_error *e)
{
    const void *const settings[] = {&o->filter.bw_bps, &o->filter.workers, &o->filter.exchange,
                                    NULL};
    const char *given = cc_given_of(o, settings);
    if (given != NULL)
        return cc_usage(e,
                        "--%s: %s is a timeline, whose rows have these settings in their names "
                        "only: choose with --scheme",
                        given, sheet->path);
    if (o->filter.one_panel)
        return cc_usage(e, "--one-panel: rows of a timeline, as in %s, have a panel each",
                        sheet->path);
    if (kind == CC_PLOT_THROUGHPUT && !has_transfers(sheet, CC_NUMBER))
        return cc_fail(e,
                       "%s: nothing to plot: it has no transfers; those of --exchange mpi are not "
                       "recorded",
                       sheet->path);
    return CC_OK;
}

/* Says why a picture lacks rows, steps or links. */
static void note_gaps(const struct cc_sheet *sheet, enum cc_plot_kind kind)
{
    if (sheet->partial)
        cc_say("%s is of a run that was interrupted or failed: it ends before the run would have",
               sheet->path);
    if (has_transfers(sheet, CC_NULL))
        cc_say("%s%s has no transfers, so that its links are not drawn; those of --exchange mpi "
               "are not recorded",
               has_transfers(sheet, CC_NUMBER) ? "a row of " : "", sheet->path);
    else if (kind == CC_PLOT_TIMELINE &&
             !cc_sheet_has(sheet, cc_sheet_column(sheet, "link_sent"), CC_NUMBER))
        cc_say("%s does not know its links' bandwidth: --kind throughput draws what they carry",
               sheet->path);
}

static int plot(const struct cc_args *args, const struct cc_sheet *sheet,
                const struct plot_options *o, struct cc_error *e)
{
    enum cc_plot_kind kind = o->kind;
    if (cc_given(o, &o->kind) == NULL) {
        CC_TRY(cc_plot_guess(sheet, &kind, e));
        if (!args->quiet)
            cc_say("plotting --kind %s, %s", cc_plot_kind_names[kind],
                   sheet->timeline ? "as the file is a timeline"
                                   : "for which the file has the columns");
    }
    if (cc_given(o, &o->filter.over) != NULL && !cc_plot_is_training(kind))
        return cc_usage(e,
                        "--over goes with --kind accuracy, loss, train-loss and bits, not with "
                        "--kind %s",
                        cc_plot_kind_names[kind]);
    if (sheet->timeline)
        CC_TRY(check_timeline(sheet, o, kind, e));
    struct cc_figure figure;
    CC_TRY(cc_figure_make(sheet, kind, &o->filter, &figure, e));
    if (sheet->timeline && !args->quiet)
        note_gaps(sheet, kind);
    else if (figure.left_out > 0 && !args->quiet)
        cc_say("%zu rows of %s lack these numbers and are left out", figure.left_out, sheet->path);
    int status = write_output(args, o, &figure, e);
    cc_figure_free(&figure);
    return status;
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct cc_sheet sheet;
    struct plot_options o = {.kind = CC_PLOT_SPEEDUP};
    int unused, status = CC_OK;
    const char **names;
    CC_TRY(CC_NEW(names, args->schemes.count + 1, e));
    CC_TRY_OUT(read_options(args, names, &o, e));
    if (o.output != NULL)
        CC_TRY_OUT(parse_suffix(o.output, &unused, e));
    CC_TRY_OUT(cc_sheet_read(args->operand[0], &sheet, e));
    const char *writer;
    if (sheet.csv)
        status = cc_known_writer(args->commands, &sheet, &writer, e);
    if (status == CC_OK)
        status = plot(args, &sheet, &o, e);
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
        "columns from elsewhere; - is the standard input), or the utilization of a file of "
        "--timeline: a line, a bar or a labelled point for "
        "each scheme. Rows that "
        "differ in other settings, as in the number of workers, get a panel each, at most twelve. "
        "The terminal's text needs nothing; pictures are drawn by gnuplot (Debian: "
        "gnuplot-nox). Lines, points and fillings differ in more than colour; lines that coincide "
        "are one, with all their names.\n\nWith --scheme, "
        "only these schemes, under their canonical names.",
    .examples = "  commcomp plot results.csv                              # in the terminal\n"
                "  commcomp plot results.csv -o results.svg               # as a picture\n"
                "  commcomp plot results.csv --kind step --bw 100mbps -o step.png\n"
                "  commcomp plot results.csv --size 3.3in,2.2in --no-title -o column.tex\n"
                "  commcomp plot results.json --scheme fp32,3lc,int8 --script results.gp\n"
                "  commcomp plot train.csv --kind loss --over time -o loss.svg\n"
                "  commcomp plot timeline.json -o utilization.svg\n",
    .page = "docs/plots.md",
    .options = options,
    .columns = columns,
    .takes_schemes = CC_SCHEMES,
    .own_output = true,
    .run = run,
};
