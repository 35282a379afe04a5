/* `commcomp recipes`: the recipes that the program carries, and those of files. */
#include <stdio.h>
#include <string.h>

#include "cmd/recipe/recipe.h"
#include "core/memory.h"

struct recipes_options {
    struct cc_given given;
    bool slurm;
};

static const struct cc_option own_options[] = {
    {.name = "slurm",
     CC_OPTION_AT(struct recipes_options, slurm),
     .help = "print a script for sbatch that does the calls of the recipe as a job array, one in "
             "each task"},
    {.name = NULL},
};

static const struct cc_option_use options[] = {{.rows = own_options}, {.rows = NULL}};

static const struct cc_column columns[] = {
    CC_COLUMN(recipe, CC_SETTING),
    CC_COLUMN(runs, CC_MAIN),
    CC_COLUMN(about, CC_ANSWER),
    CC_COLUMN(takes, CC_MAIN),
    CC_COLUMN(takes_s, CC_DETAIL, .hidden = true),
    CC_COLUMN(reference, CC_DETAIL),
    {.key = NULL},
};

static int add_recipe(struct cc_record *r, const struct cc_recipe *recipe, struct cc_error *e)
{
    char runs[256] = "";
    size_t at;
    CC_TRY(cc_record_add(r, &at, e));
    for (size_t i = 0; i < recipe->count; i++)
        cc_list_add(runs, sizeof runs, ", ", "%s", recipe->item[i].command);
    cc_record_number(r, at, CC_KEY(takes_s), recipe->takes_s);
    const struct cc_text_column texts[] = {{CC_KEY(recipe), recipe->name},
                                           {CC_KEY(runs), runs},
                                           {CC_KEY(about), recipe->about},
                                           {CC_KEY(takes), recipe->takes},
                                           {CC_KEY(reference), recipe->source}};
    return cc_record_texts(r, at, texts, sizeof texts / sizeof texts[0], e);
}

static int add_named(struct cc_record *r, const char *name, struct cc_error *e)
{
    struct cc_recipe *recipe;
    CC_TRY(cc_recipe_open(name, &recipe, e));
    const int status = add_recipe(r, recipe, e);
    cc_recipe_free(recipe);
    return status;
}

/* --- a job array --- */

/* In quotes for the shell. */
static void put_quoted(const char *text)
{
    putchar('\'');
    for (; *text != '\0'; text++)
        (void)fputs(*text == '\'' ? "'\\''" : (const char[]){*text, '\0'}, stdout);
    putchar('\'');
}

/* The recipe's name as that of a job and of a file: letters, digits, and '-' for others. */
static void name_job(const char *name, char *out, size_t size)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    const char *dot = strstr(name, ".json");
    (void)snprintf(out, size, "%.*s", dot != NULL ? (int)(dot - name) : (int)strlen(name), name);
    for (char *p = out; *p != '\0'; p++)
        if (strchr(good, *p) == NULL)
            *p = '-';
}

/* A single call needs no array, and no second command that puts rows together. */
static void print_job(const char *recipe, const char *job)
{
    printf("#!/bin/sh\n"
           "# One call. Options of the recipe's command may follow.\n"
           "#SBATCH --job-name=%s\n"
           "#SBATCH --output=%s.log\n"
           "exec \"${COMMCOMP:-commcomp}\" --recipe ",
           job, job);
    put_quoted(recipe);
    printf(" -o %s.csv\n", job);
}

static int print_array(struct cc_args *args, struct cc_error *e)
{
    struct cc_recipe *recipe;
    char job[128];
    size_t count;
    if (args->operands != 1)
        return cc_usage(e, "--slurm: name one recipe");
    if (args->output.output != NULL || args->output.notes != NULL)
        return cc_usage(e, "--slurm prints a script: send it to a file with >");
    CC_TRY(cc_recipe_open(args->operand[0], &recipe, e));
    const int status = cc_recipe_count(recipe, args->commands, &count, e);
    cc_recipe_free(recipe);
    CC_TRY(status);
    name_job(args->operand[0], job, sizeof job);
    if (count == 1) {
        print_job(args->operand[0], job);
        args->printed = true;
        return CC_OK;
    }
    printf(
        "#!/bin/sh\n"
        "# %zu calls, each a task that keeps its rows. Submitted again, tasks that were done end "
        "at once.\n"
        "# When all are done, this puts the rows together:\n"
        "#   commcomp --recipe ",
        count);
    put_quoted(args->operand[0]);
    printf(
        " -o %s.csv\n"
        "# Options of the recipe's commands may follow in both places, but for those that it has "
        "lists of.\n"
        "#SBATCH --job-name=%s\n"
        "#SBATCH --array=0-%zu\n"
        "#SBATCH --output=%s-%%a.log\n"
        "#SBATCH --requeue\n"
        "exec \"${COMMCOMP:-commcomp}\" --recipe ",
        job, job, count - 1, job);
    put_quoted(args->operand[0]);
    printf(" --call \"$SLURM_ARRAY_TASK_ID\" -o %s.csv\n", job);
    args->printed = true;
    return CC_OK;
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct recipes_options o = {.slurm = false};
    CC_TRY(cc_options_read(args, own_options, &o, e));
    if (o.slurm)
        return print_array(args, e);
    for (int i = 0; i < args->operands; i++)
        CC_TRY(add_named(&args->record, args->operand[i], e));
    if (args->operands > 0)
        return CC_OK;
    size_t i = 0;
    for (; cc_recipe_names[i] != NULL; i++) {
        CC_TRY(add_named(&args->record, cc_recipe_names[i], e));
        args->record.rows[i].detail = strncmp(cc_recipe_names[i], "training/", 9) == 0;
    }
    cc_record_title(&args->record,
                    "%zu recipes; `commcomp --recipe NAME` runs one, --wide also lists trainings",
                    i);
    return CC_OK;
}

const struct cc_command cc_command_recipes = {
    .name = "recipes",
    .summary = "set-ups as files: papers' figures, and studies of your own",
    .operands = "[RECIPE ...]",
    .max_operands = CC_MAX_OPERANDS,
    .description =
        "Lists the recipes that the program carries, or those that are named. A recipe has one or "
        "more commands with their options, the columns to show, published figures to set beside, "
        "and notes; `commcomp --recipe NAME` runs it, and `commcomp --recipe FILE.json` runs one "
        "of your own (docs/recipes.md). Options after it change those of the recipe. How long it "
        "takes is for two cores and its own options.\n\n"
        "With -o FILE, a recipe of several calls keeps what is done in FILE.journal: after an "
        "interruption the same command goes on where it stopped. With --slurm, prints a script "
        "whose "
        "tasks do one call each.",
    .examples =
        "  commcomp recipes                                  # those that are carried\n"
        "  commcomp --recipe sim/thesis-5.4 --bw 10gbps      # one of them, on another link\n"
        "  commcomp --recipe study.json -o study.csv         # your own\n"
        "  commcomp recipes --slurm study.json > study.sh    # as a job array\n",
    .page = "docs/recipes.md",
    .options = options,
    .columns = columns,
    .run = run,
};
