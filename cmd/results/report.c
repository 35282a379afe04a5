/* `commcomp report`: results of any commands as one page, and out of it again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/results/known.h"
#include "core/file.h"
#include "core/memory.h"
#include "results/page.h"

static const struct cc_column columns[] = {{.key = NULL}};

static const char *const formats[] = {"html", "json", NULL};
enum { HTML, JSON, NO_FORMAT };

struct report_options {
    struct cc_given given;
    const char *output, *title;
    int format;
    uint64_t only; /* 0: all */
};

#define MEMBER(m) CC_OPTION_AT(struct report_options, m)
static const struct cc_option own_options[] = {
    {.name = "output",
     MEMBER(output),
     .letter = 'o',
     .value = "FILE",
     .file = CC_WRITES_FILE,
     .help = "write FILE, whole or not at all: a page (.html), or the results again (.json)"},
    {.name = "format",
     MEMBER(format),
     .value = "FORMAT",
     .choices = formats,
     .help = "without -o, what to print on stdout: html, or json, the results as they were, to the "
             "byte; several are the elements of an array"},
    {.name = "title",
     MEMBER(title),
     .value = "TEXT",
     .otherwise = "the commands",
     .help = "the page's title"},
    {.name = "only",
     MEMBER(only),
     .kind = CC_TAKES_COUNT,
     .min = 1,
     .max = 1000000,
     .value = "N",
     .help = "only the Nth of all results of the files, counted from 1"},
    {.name = NULL},
};

static const struct cc_option_use options[] = {{.rows = own_options}, {.rows = NULL}};

/* --- commands --- */

static const struct cc_column *columns_of(const void *commands, const char *command)
{
    const struct cc_command *c = cc_command_find(commands, command);
    return c != NULL && c->columns[0].key != NULL ? c->columns : NULL;
}

static const char *summary_of(const void *commands, const char *command)
{
    const struct cc_command *c = cc_command_find(commands, command);
    return c != NULL ? c->summary : NULL;
}

/* --- reading --- */

static int choose(uint64_t only, struct cc_results *r, struct cc_error *e)
{
    if (only == 0)
        return CC_OK;
    if (only > r->count)
        return cc_usage(e, "--only %llu: the files have %zu result%s", (unsigned long long)only,
                        r->count, r->count == 1 ? "" : "s");
    struct cc_results one = {.of = NULL};
    const struct cc_result *chosen = &r->of[only - 1];
    CC_TRY(cc_results_add(&one, chosen->name, chosen->text, chosen->length, e));
    cc_results_free(r);
    *r = one;
    return CC_OK;
}

/* --- writing --- */

static void write_json(const struct cc_results *r, FILE *out)
{
    (void)fputs(r->count > 1 ? "[\n" : "", out);
    for (size_t i = 0; i < r->count; i++) {
        (void)fputs(i > 0 ? ",\n" : "", out);
        (void)fwrite(r->of[i].text, 1, r->of[i].length, out);
    }
    (void)fputs(r->count > 1 ? "]\n" : "", out);
}

/* "commcomp: bench, model", each command once. */
static void make_title(const struct cc_page_part *part, size_t count, char *out, size_t cap)
{
    (void)snprintf(out, cap, "commcomp");
    for (size_t i = 0; i < count; i++) {
        size_t before = 0;
        while (strcmp(part[before].from.command, part[i].from.command) != 0)
            before++;
        if (before == i)
            cc_append(out, cap, "%s%.60s", i == 0 ? ": " : ", ", part[i].from.command);
    }
}

static int write_results(const char *title, int format, const struct cc_results *r,
                         const struct cc_page_part *part, FILE *out, struct cc_error *e)
{
    char made[256];
    if (format == JSON) {
        write_json(r, out);
        return CC_OK;
    }
    make_title(part, r->count, made, sizeof made);
    return cc_page_write(title != NULL ? title : made, part, r->count, out, e);
}

/* The format of -o by its suffix, or --format; an error if neither is given. */
static int find_format(const struct report_options *o, int *out, struct cc_error *e)
{
    const char *path = o->output;
    *out = cc_given(o, &o->format) != NULL ? o->format : NO_FORMAT;
    if (path == NULL)
        return *out != NO_FORMAT ? CC_OK
                                 : cc_usage(e, "name the page, as in -o report.html, or print it "
                                               "with --format html");
    const char *suffix = strrchr(path, '.');
    const bool page = cc_page_is_path(path), json = suffix != NULL && strcmp(suffix, ".json") == 0;
    if (page || json)
        *out = page ? HTML : JSON;
    else if (!cc_file_is_stream(path))
        return cc_usage(e, "'%s': a report's suffix should be .html, or .json for its results",
                        path);
    else if (*out == NO_FORMAT)
        *out = HTML;
    return CC_OK;
}

static int write_file(const struct report_options *o, int format, const struct cc_results *r,
                      const struct cc_page_part *part, struct cc_error *e)
{
    struct cc_outfile file;
    CC_TRY(cc_file_create(&file, o->output, e));
    const int status = write_results(o->title, format, r, part, file.f, e);
    return cc_file_end(&file, status, e);
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct report_options o = {.output = NULL};
    struct cc_results results = {.of = NULL};
    struct cc_page_part *part = NULL;
    const struct cc_page_commands known = {columns_of, summary_of, args->commands};
    int format, status = CC_OK;
    CC_TRY(cc_options_read(args, own_options, &o, e));
    CC_TRY(find_format(&o, &format, e));
    for (int i = 0; i < args->operands; i++)
        CC_TRY_OUT(cc_known_read(args->commands, args->operand[i], &results, e));
    CC_TRY_OUT(choose(o.only, &results, e));
    CC_TRY_OUT(CC_NEW(part, results.count, e));
    for (size_t i = 0; i < results.count; i++)
        CC_TRY_OUT(cc_page_part_make(&results.of[i], &known, &part[i], e));
    status = o.output != NULL ? write_file(&o, format, &results, part, e)
                              : write_results(o.title, format, &results, part, stdout, e);
out:
    for (size_t i = 0; part != NULL && i < results.count; i++)
        cc_page_part_free(&part[i]);
    free(part);
    cc_results_free(&results);
    return status;
}

const struct cc_command cc_command_report = {
    .name = "report",
    .summary = "results of any commands as one page to send around",
    .operands = "FILE...",
    .min_operands = 1,
    .max_operands = CC_MAX_OPERANDS,
    .description =
        "Writes one page of HTML that needs nothing else, and loads nothing from elsewhere: for "
        "each result the command line, the host and the settings, the verdict in words, the "
        "default picture of `commcomp plot` with values to point at, the figures in a table that "
        "sorts and filters, the notes, and how each figure was obtained: measured, computed, "
        "simulated, trained, or published in a paper. It can be read without scripts, printed, and "
        "read on "
        "a phone.\n\nA FILE is a .json or .csv file that another command wrote, or a page, whose "
        "results are taken out of it; - is the standard input. Of a CSV, neither the command line "
        "nor the host are known. The page holds its results whole: --format json gives them "
        "again, and `plot` and `compare` read a page that has one. Pictures are drawn by gnuplot "
        "(Debian: gnuplot-nox); without it, the page says so in their places.",
    .examples = "  commcomp report bench.json -o report.html\n"
                "  commcomp report model.json sim.json run.json --title 'Lab 3' -o lab.html\n"
                "  commcomp report report.html --format json    # the result again\n"
                "  commcomp report lab.html --only 2 -o sim.json\n",
    .page = "docs/report.md",
    .options = options,
    .columns = columns,
    .own_output = true,
    .run = run,
};
