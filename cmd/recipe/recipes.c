/* `commcomp recipes`: the recipes that the program carries, and those of files. */
#include "cmd/recipe/recipe.h"
#include "core/memory.h"

static const struct cc_option_use options[] = {{.rows = NULL}};

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

static int run(struct cc_args *args, struct cc_error *e)
{
    for (int i = 0; i < args->operands; i++)
        CC_TRY(add_named(&args->record, args->operand[i], e));
    for (size_t i = 0; args->operands == 0 && cc_recipe_names[i] != NULL; i++)
        CC_TRY(add_named(&args->record, cc_recipe_names[i], e));
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
        "interruption the same command goes on where it stopped.",
    .examples =
        "  commcomp recipes                                  # those that are carried\n"
        "  commcomp --recipe sim/thesis-5.4 --bw 10gbps      # one of them, on another link\n"
        "  commcomp --recipe study.json -o study.csv         # your own\n",
    .options = options,
    .columns = columns,
    .run = run,
};
