/* The program: finds the command, parses its arguments, runs it, prints the record or the error. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/help.h"
#include "cmd/cli/terminal.h"
#include "cmd/recipe/recipe.h"
#include "core/file.h"
#include "core/interrupt.h"
#include "core/isa.h"
#include "core/memory.h"
#include "core/nearest.h"
#include "core/trace/trace_decoder.h"
#include "core/units.h"
#include "core/version.h"
#include "schemes/unpack.h"
#include "netsim/lab/lab.h"

/* The list of commands, in the order of --help: cc_command_NAME of each is defined in its file. */
#define COMMANDS(COMMAND)                                                                          \
    COMMAND(bench)                                                                                 \
    COMMAND(model)                                                                                 \
    COMMAND(run)                                                                                   \
    COMMAND(validate)                                                                              \
    COMMAND(sim)                                                                                   \
    COMMAND(calibrate)                                                                             \
    COMMAND(train)                                                                                 \
    COMMAND(generate)                                                                              \
    COMMAND(advise)                                                                                \
    COMMAND(schemes)                                                                               \
    COMMAND(nets)                                                                                  \
    COMMAND(paper)                                                                                 \
    COMMAND(papers)                                                                                \
    COMMAND(recipes)                                                                               \
    COMMAND(keys)                                                                                  \
    COMMAND(trace_info)                                                                            \
    COMMAND(trace_synth)                                                                           \
    COMMAND(trace_convert)                                                                         \
    COMMAND(encode)                                                                                \
    COMMAND(decode)                                                                                \
    COMMAND(check)                                                                                 \
    COMMAND(show)                                                                                  \
    COMMAND(compare)                                                                               \
    COMMAND(report)                                                                                \
    COMMAND(plot)

#define DECLARE(name) extern const struct cc_command cc_command_##name;
#define ADDRESS(name) &cc_command_##name,
COMMANDS(DECLARE)

static const struct cc_command *const commands[] = {COMMANDS(ADDRESS) NULL};

/* Whether the reader of standard output has gone away, as `head` does: an end like any other, of
 * which nobody wants to hear. */
static bool reader_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

/* Ends the program as one that does not catch SIGPIPE, which shells know. */
static void end_by_pipe(void)
{
    cc_signals_of_writes(SIG_DFL);
    (void)raise(SIGPIPE);
}

/* Whether all output to stdout succeeded; prints why not. */
static int flush_stdout(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return CC_OK;
    if (reader_left())
        end_by_pipe();
    (void)fprintf(stderr, "commcomp: standard output could not be written: %s\n",
                  errno != 0 ? strerror(errno) : "an earlier write failed");
    return CC_FAIL;
}

/* Gives the standard descriptors that are closed to /dev/null, in the direction in which nobody
 * uses them: otherwise the next file to be opened would get their number, and be written or read
 * in their place. Using one fails as it did. */
static void reserve_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

/* How many arguments, from argv[1], name the command; 0 if they name another. */
static int words_matched(const struct cc_command *c, int argc, char **argv)
{
    const char *second = cc_command_in_group(c, argv[1]);
    if (strchr(c->name, ' ') == NULL)
        return strcmp(c->name, argv[1]) == 0;
    return second != NULL && argc > 2 && strcmp(second, argv[2]) == 0 ? 2 : 0;
}

/* Whether commands of two words begin with this one, as `trace info` does. */
static bool is_group(const char *word)
{
    for (size_t i = 0; commands[i] != NULL; i++)
        if (cc_command_in_group(commands[i], word) != NULL)
            return true;
    return false;
}

static const char *nearest_command(const char *word)
{
    const char *names[sizeof commands / sizeof commands[0]] = {NULL};
    for (size_t i = 0; commands[i] != NULL; i++)
        names[i] = commands[i]->name;
    return cc_nearest(word, names);
}

/* Prints that no command has this name, with the nearest one. */
static int unknown_command(int argc, char **argv)
{
    static const char *const options[] = {"--help", "--version", "--completion", "--recipe", NULL};
    char word[64];
    const bool group = is_group(argv[1]);
    if (group && argc == 2) {
        cc_say("%s needs one more word", argv[1]);
        cc_help_group(commands, argv[1], stderr);
        return CC_USAGE;
    }
    (void)snprintf(word, sizeof word, group ? "%s %s" : "%s", argv[1], group ? argv[2] : "");
    const char *near = word[0] == '-' ? cc_nearest(word, options) : nearest_command(word);
    if (near != NULL)
        cc_say("unknown command '%s'; did you mean '%s'?", word, near);
    else
        cc_say("unknown command '%s'; `commcomp --help` lists them", word);
    return CC_USAGE;
}

/* Whether the command writes a file to stdout, as in `encode IN -` and `-o /dev/stdout`. Then
 * nothing else is printed there. */
static bool stdout_is_taken(const struct cc_args *args)
{
    const char *path = args->output.output;
    const int written = args->command->output_operand;
    if (written > 0 && written <= args->operands && cc_file_is_stdout(args->operand[written - 1]))
        return true;
    for (int i = 0; i < args->more_count; i++)
        if (cc_file_is_stdout(args->more[i]))
            return true;
    return path != NULL && cc_file_is_stdout(path);
}

/* Writes the file of --output, or each of them. */
static int save(const struct cc_args *args, struct cc_error *e)
{
    int status = CC_OK;
    if (args->output.output != NULL)
        status = cc_record_save(&args->record, args->output.output, args->output.format, e);
    for (int i = 0; i < args->more_count && status == CC_OK; i++)
        status = cc_record_save(&args->record, args->more[i], args->output.format, e);
    return status;
}

enum { INTERRUPTED = 130 }; /* the exit code after Ctrl-C */

/* Saves and prints the record, also that of a command that failed with rows, and prints the errors.
 * Files come first: a reader of standard output that goes away must not cost them. `status` is that
 * of the command, and e its error; returns the exit code. */
static int write_results(struct cc_args *args, int status, const struct cc_error *e)
{
    struct cc_record *r = &args->record;
    const bool interrupted = cc_interrupted() && (r->partial || status != CC_OK);
    if (status == CC_FAIL && args->command->own_output && reader_left())
        end_by_pipe();
    if (status != CC_OK)
        (void)snprintf(r->error, sizeof r->error, "%s", e->text);
    bool anything = status == CC_OK || r->row_count > 0 || args->output.format == CC_FORMAT_JSON;
    anything = anything && !args->command->own_output && !args->printed;
    const char *notes = args->output.notes;
    /* Interrupted before the first row, or failed without one: an earlier file stays. */
    const bool keep = anything && (r->row_count > 0 || (status == CC_OK && !r->partial));
    struct cc_error why[3] = {{""}, {""}, {""}};
    bool written = true;
    if (keep)
        written &= save(args, &why[0]) == CC_OK;
    if (keep && notes != NULL && (status == CC_OK || r->note_count > 0))
        written &= cc_record_save_notes(r, notes, &why[1]) == CC_OK;
    if (anything && !stdout_is_taken(args))
        written &= cc_record_print(r, args->output.format, stdout, &why[2]) == CC_OK;
    if (why[2].text[0] != '\0' && status == CC_OK && reader_left())
        end_by_pipe();
    if (why[2].text[0] == '\0')
        written &= flush_stdout() == CC_OK;
    for (size_t i = 0; i < 3; i++)
        if (why[i].text[0] != '\0')
            fprintf(stderr, "commcomp: %s\n", why[i].text);
    if (status != CC_OK)
        fprintf(stderr, "commcomp: %s\n", r->error);
    if (interrupted)
        fprintf(stderr,
                r->row_count > 0
                    ? "commcomp: interrupted; the rows are what was measured until then\n"
                    : "commcomp: interrupted before the first row; files are as they were\n");
    return interrupted ? INTERRUPTED : status != CC_OK ? status : !written ? CC_FAIL : CC_OK;
}

/* Characters of a line where there is no terminal. */
enum { USUAL_WIDTH = 80 };

/* Parses the options that say how the record is printed. */
static int parse_layout(struct cc_args *args, struct cc_error *e)
{
    struct cc_record *r = &args->record;
    const char *columns = args->output.columns;
    r->width = cc_terminal_width();
    if (r->width == 0)
        r->width = USUAL_WIDTH;
    r->wide = args->output.wide;
    if (columns == NULL || r->column_count == 0) /* `show` has those of a stored result */
        return CC_OK;
    return cc_status_in(cc_record_choose(r, columns, e), e, "--columns");
}

/* A command of a recipe, by what it was chosen. */
struct chosen {
    const struct cc_recipe *recipe;
    size_t at;
    const char *label;
    struct cc_recipe_part *part; /* the only call to be done; or NULL */
};

/* "study.csv" of the command "sim": "study-sim.csv". To be freed. */
static int file_of_command(const char *path, const char *name, char **out, struct cc_error *e)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    const bool has_suffix = dot != NULL && (slash == NULL || dot > slash + 1);
    const size_t n = has_suffix ? (size_t)(dot - path) : strlen(path);
    return cc_text(out, e, "%.*s-%s%s", (int)n, path, name, path + n);
}

/* Names the files of a command's result, if the recipe has several commands: *made has their names.
 * The journal is that of all of them. */
static int name_files(struct cc_args *args, const struct chosen *of, char *made[2],
                      struct cc_error *e)
{
    static const char *const options[] = {"output", "notes"};
    const char **const paths[] = {&args->output.output, &args->output.notes};
    if (of->recipe->count > 1 && args->more_count > 0)
        return cc_usage(e, "--output %s: a recipe of several commands takes one --output",
                        args->more[0]);
    if (of->recipe->count > 1 || of->part != NULL)
        args->journal = args->output.output;
    for (size_t i = 0; i < 2 && of->recipe->count > 1; i++) {
        const char *path = *paths[i];
        if (path == NULL || cc_file_is_stream(path))
            continue;
        CC_TRY(file_of_command(path, of->recipe->item[of->at].name, &made[i], e));
        cc_arg_set(args, options[i], made[i]);
        *paths[i] = made[i];
    }
    return CC_OK;
}

/* A call alone keeps only the journal: the result is that of all calls. */
static int keep_journal_only(struct cc_args *args, const struct chosen *of, struct cc_error *e)
{
    args->part = of->part;
    if (args->journal == NULL || cc_file_is_stream(args->journal))
        return cc_usage(e, "--call %zu: give --output FILE: the rows are kept in FILE.journal.%zu",
                        of->part->wanted, of->part->wanted);
    args->output.output = args->output.notes = NULL;
    args->more_count = 0;
    return CC_OK;
}

/* Writes the results of one of several commands: after an empty line, or as an element of a list of
 * JSON documents. */
static int write_part(struct cc_args *args, const struct chosen *of, int status,
                      const struct cc_error *e)
{
    const bool json = args->output.format == CC_FORMAT_JSON && !stdout_is_taken(args);
    if (json)
        putchar(of->at == 0 ? '[' : ',');
    if (!json && of->at > 0)
        putchar('\n');
    status = write_results(args, status, e);
    if (json && (status != CC_OK || of->at + 1 == of->recipe->count))
        puts("]");
    return status;
}

/* Refuses an option that chooses another recipe. */
static int refuse_second(const struct cc_args *args, const char *label, struct cc_error *e)
{
    static const char *const options[] = {"paper", "recipe"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (cc_arg(args, options[i]) != NULL)
            return cc_usage(e, "%s and --%s exclude each other: both choose a recipe", label,
                            options[i]);
    return CC_OK;
}

/* Checks the command of a recipe, or with `print` runs it. */
static int do_command(struct cc_args *args, const struct chosen *of, bool print, struct cc_error *e)
{
    int status = CC_OK;
    if (of == NULL)
        return args->command->run(args, e);
    const struct cc_recipe_command *c = &of->recipe->item[of->at];
    CC_TRY(refuse_second(args, of->label, e));
    status = print ? cc_recipe_run(args, c, of->label, e) : cc_recipe_check(args, c, of->label, e);
    if (status != CC_OK)
        cc_error_in(e, "%s, \"%s\"", of->recipe->name, c->name);
    return status;
}

/* Runs a command with the words from `first` on. `echo` is the whole command line, for the record;
 * of: the recipe's command in place of its own, or NULL. Without `print`, it is only checked. */
static int run_words(const struct cc_command *c, int argc, char **argv, int first,
                     const char *const *echo, const struct chosen *of, bool print)
{
    struct cc_error e = {""};
    struct cc_args args = {.commands = commands};
    char *made[2] = {NULL, NULL};
    const int parsed = cc_args_parse(&args, c, argc, argv, first, &e);
    int status, echoed = 0;
    while (echo[echoed] != NULL)
        echoed++;
    cc_record_init(&args.record, c->name, c->columns, echoed, echo);
    if (args.help != NULL) {
        status = cc_help_command(c, args.help, stdout, &e);
        if (status != CC_OK)
            cc_say("%s", e.text);
        if (flush_stdout() != CC_OK)
            status = CC_FAIL;
        cc_args_free(&args);
        return status;
    }
    CC_TRY_OUT(parsed);
    if (of != NULL)
        CC_TRY_OUT(name_files(&args, of, made, &e));
    if (of != NULL && of->part != NULL)
        CC_TRY_OUT(keep_journal_only(&args, of, &e));
    CC_TRY_OUT(parse_layout(&args, &e));
    CC_TRY_OUT(cc_isa_init(&e));
    cc_interrupt_catch();
    CC_TRY_OUT(cc_args_check_outputs(&args, &e));
    CC_TRY_OUT(do_command(&args, of, print, &e));
out:
    if (print && status == CC_OK && args.part != NULL)
        args.printed = args.record.row_count == 0; /* the call is of another command */
    if (print || status != CC_OK)
        status = print && args.part == NULL && of != NULL && of->recipe->count > 1
                     ? write_part(&args, of, status, &e)
                     : write_results(&args, status, &e);
    if (print && status == CC_OK && args.journal != NULL && args.part == NULL &&
        (of == NULL || of->at + 1 == of->recipe->count))
        cc_recipe_journal_remove(args.journal);
    cc_args_free(&args);
    free(made[0]);
    free(made[1]);
    return status;
}

static int run_command(const struct cc_command *c, int argc, char **argv, int first)
{
    return run_words(c, argc, argv, first, (const char *const *)argv, NULL, true);
}

/* The man page of the command of these words, or without any that of the program. */
static int print_man(int count, char **word)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s%s%s", count > 0 ? word[0] : "", count > 1 ? " " : "",
                   count > 1 ? word[1] : "");
    const struct cc_command *c = cc_command_find(commands, name);
    if (count > 0 && c == NULL) {
        cc_say("--man %s: unknown command; `commcomp --help` lists them", name);
        return CC_USAGE;
    }
    if (c != NULL)
        cc_help_man_command(c, stdout);
    else
        cc_help_man(commands, stdout);
    return flush_stdout();
}

static int print_completion(const char *shell)
{
    if (strcmp(shell, "bash") == 0) {
        cc_completion_bash(commands, stdout);
    } else if (strcmp(shell, "zsh") == 0) {
        cc_completion_zsh(commands, stdout);
    } else {
        cc_say("--completion %s: it is one of bash, zsh", shell);
        return CC_USAGE;
    }
    return flush_stdout();
}

/* --- recipes --- */

static int check_command(const struct cc_recipe *r, size_t at, struct cc_error *e)
{
    const char *word = r->item[at].command;
    const struct cc_command *c = cc_command_find(commands, word);
    const char *near = nearest_command(word);
    char group[128] = "";
    for (size_t i = 0; commands[i] != NULL; i++)
        if (cc_command_in_group(commands[i], word) != NULL)
            cc_list_add(group, sizeof group, ", ", "%s", commands[i]->name);
    if (group[0] != '\0')
        return cc_fail(e, "%s: command %zu: '%s' needs one more word: it is one of %s", r->name, at,
                       word, group);
    if (c == NULL)
        return cc_fail(e, "%s: command %zu: '%.40s' is not a command%s%s%s", r->name, at, word,
                       near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                       near != NULL ? "'?" : "");
    if (c->own_output)
        return cc_fail(e, "%s: command %zu: '%s' prints no rows, and cannot be in a recipe",
                       r->name, at, word);
    return CC_OK;
}

/* Whether a word that no command of the recipe knows chooses another recipe. */
static bool chooses_recipe(const char *word)
{
    return strcmp(word, "--recipe") == 0 || strcmp(word, "--paper") == 0 ||
           strncmp(word, "--recipe=", 9) == 0 || strncmp(word, "--paper=", 8) == 0;
}

/* The words that are for a command of the recipe: its operands, then those of the user without the
 * options that it does not have, but another command has. -1: one of them chooses another recipe,
 * which is said. */
static int words_of(const struct cc_recipe *r, const struct cc_recipe_command *item, int argc,
                    char **argv, char **out)
{
    int n = 0, span;
    for (const cJSON *o = cc_recipe_first(item->operands); o != NULL; o = o->next)
        out[n++] = o->valuestring;
    for (int i = 0; i < argc; i += span) {
        struct cc_option_list list;
        size_t at;
        cc_option_list(cc_command_find(commands, item->command), false, &list);
        const bool here = cc_recipe_word(&list, argv[i], &span, &at);
        bool elsewhere = false;
        for (size_t k = 0; k < r->count && !here && !elsewhere; k++) {
            cc_option_list(cc_command_find(commands, r->item[k].command), false, &list);
            elsewhere = cc_recipe_word(&list, argv[i], &span, &at);
        }
        if (!here && !elsewhere && chooses_recipe(argv[i])) {
            cc_say("%.*s: --recipe %s has chosen a recipe already", (int)strcspn(argv[i], "="),
                   argv[i], r->name);
            return -1;
        }
        for (int k = i; k < i + span && k < argc && !elsewhere; k++)
            out[n++] = argv[k];
    }
    return n;
}

/* Runs all commands of a recipe, or one call, after a check of all. */
static int run_recipe(const struct cc_recipe *r, struct cc_recipe_part *part, int argc, char **argv,
                      char **echo)
{
    size_t most = (size_t)argc + 1;
    for (size_t i = 0; i < r->count; i++)
        most += (size_t)cJSON_GetArraySize(r->item[i].operands);
    char label[160], **words = calloc(most, sizeof *words);
    int status = words != NULL ? CC_OK : CC_FAIL;
    (void)snprintf(label, sizeof label, "--recipe %s", r->name);
    for (size_t i = 0; i < 2 * r->count && status == CC_OK; i++) {
        const bool print = i >= r->count;
        const struct chosen of = {.recipe = r, .at = i % r->count, .label = label, .part = part};
        const struct cc_command *c = cc_command_find(commands, r->item[of.at].command);
        const int n = words_of(r, &r->item[of.at], argc, argv, words);
        status =
            n < 0 ? CC_USAGE : run_words(c, n, words, 0, (const char *const *)echo, &of, print);
        for (int k = 0; k < n && i == 0; k++) /* --help is answered once */
            if (strcmp(words[k], "--help") == 0 || strcmp(words[k], "-h") == 0) {
                free(words);
                return status;
            }
    }
    free(words);
    return status;
}

/* `commcomp --recipe NAME|FILE [--call N] [options]` */
static int recipe_main(int argc, char **argv)
{
    struct cc_error e = {""};
    struct cc_recipe *r = NULL;
    struct cc_recipe_part part = {.seen = 0};
    const bool alone = argc > 4 && strcmp(argv[3], "--call") == 0;
    const int first = alone ? 5 : 3;
    uint64_t wanted = 0;
    int status = CC_OK;
    if (argc < 3) {
        cc_say("--recipe needs a name or a .json file; `commcomp recipes` lists the names");
        return CC_USAGE;
    }
    CC_TRY_OUT(cc_recipe_open(argv[2], &r, &e));
    for (size_t i = 0; i < r->count; i++)
        CC_TRY_OUT(check_command(r, i, &e));
    if (alone)
        CC_TRY_OUT(cc_parse_count(argv[4], &wanted, &e));
    part.wanted = wanted;
    status = run_recipe(r, alone ? &part : NULL, argc - first, argv + first, argv);
    if (status == CC_OK && alone && part.seen <= part.wanted)
        status = cc_usage(&e, "--call %zu: %s has %zu calls, the first of which is 0", part.wanted,
                          r->name, part.seen);
out:
    cc_recipe_free(r);
    if (e.text[0] != '\0')
        cc_say("%s", e.text);
    return status;
}

/* `commcomp lab-enter HOST COMMAND...` runs a command on a host of the lab. mpirun calls it inside
 * the lab; people do not, and --help does not list it. Returns only if the command cannot be
 * started. */
static int enter_lab(int argc, char **argv)
{
    struct cc_error e = {""};
    if (argc < 4) {
        fprintf(stderr, "commcomp: lab-enter needs a host and a command\n");
        return CC_USAGE;
    }
    const int status = cc_lab_enter(argv[2], argv + 3, &e);
    fprintf(stderr, "commcomp: %s\n", e.text);
    return status;
}

int main(int argc, char **argv)
{
    reserve_descriptors();
    cc_trace_decode_by(cc_unpack);
    if (argc < 2) {
        cc_help_program(commands, stderr);
        return CC_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "lab-enter") == 0)
        return enter_lab(argc, argv);
    cc_signals_of_writes(SIG_IGN); /* `lab-enter` becomes another program */
    bool help = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
    if (help && argc == 2) {
        cc_help_program(commands, stdout);
        return flush_stdout();
    }
    if (strcmp(word, "--version") == 0) {
        printf("commcomp %s\n", cc_version());
        return flush_stdout();
    }
    if (strcmp(word, "--man") == 0)
        return print_man(argc - 2, argv + 2);
    if (strcmp(word, "--recipe") == 0)
        return recipe_main(argc, argv);
    if (strcmp(word, "--completion") == 0)
        return print_completion(argc > 2 ? argv[2] : "");
    if (is_group(word) && argc == 3 &&
        (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
        cc_help_group(commands, word, stdout);
        return flush_stdout();
    }
    if (help) { /* `commcomp help bench all` is `commcomp bench --help all` */
        static char dash_help[] = "--help";
        const int words = argc > 3 && is_group(argv[2]) ? 2 : 1;
        memmove(&argv[1], &argv[2], (size_t)words * sizeof *argv);
        argv[1 + words] = dash_help;
    }
    for (size_t i = 0; commands[i] != NULL; i++) {
        int words = words_matched(commands[i], argc, argv);
        if (words > 0)
            return run_command(commands[i], argc, argv, 1 + words);
    }
    return unknown_command(argc, argv);
}
