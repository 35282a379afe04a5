/* `commcomp keys`: the table of keys. */
#include <stdio.h>
#include <string.h>

#include "cmd/results/known.h"
#include "core/memory.h"
#include "core/nearest.h"

static const struct cc_column columns[] = {
    CC_COLUMN(key, CC_SETTING),   CC_COLUMN(heading, CC_MAIN),   CC_COLUMN(origin, CC_ANSWER),
    CC_COLUMN(commands, CC_MAIN), CC_COLUMN(meaning, CC_ANSWER), {.key = NULL},
};

static const struct cc_option_use options[] = {{.rows = NULL}};

/* "model, run": the commands whose results have the key. */
static void list_commands(const struct cc_command *const *commands, const struct cc_result_key *key,
                          char *out, size_t cap)
{
    out[0] = '\0';
    for (size_t i = 0; commands[i] != NULL; i++)
        for (const struct cc_column *c = commands[i]->columns; c->key != NULL; c++)
            if (c->key == key)
                cc_list_add(out, cap, ", ", "%s", commands[i]->name);
}

static int add_key(struct cc_args *args, const struct cc_result_key *key, struct cc_error *e)
{
    char used_by[256], heading[128] = "";
    list_commands(args->commands, key, used_by, sizeof used_by);
    if (key->head != NULL || key->unit[0] != '\0')
        cc_known_heading(key, heading, sizeof heading);
    const struct cc_text_column texts[] = {{CC_KEY(key), key->name},
                                           {CC_KEY(heading), heading},
                                           {CC_KEY(origin), cc_origin_word(key->origin)},
                                           {CC_KEY(commands), used_by},
                                           {CC_KEY(meaning), key->help}};
    size_t row;
    CC_TRY(cc_record_add(&args->record, &row, e));
    return cc_record_texts(&args->record, row, texts, sizeof texts / sizeof texts[0], e);
}

static int add_named(struct cc_args *args, const char *name, struct cc_error *e)
{
    const char *known[CC_KEYS + 1] = {NULL};
    for (size_t i = 0; i < CC_KEYS; i++) {
        known[i] = cc_result_keys[i].name;
        if (strcmp(known[i], name) == 0)
            return add_key(args, &cc_result_keys[i], e);
    }
    const struct cc_command *command = cc_command_find(args->commands, name);
    if (command == NULL || command->columns[0].key == NULL) {
        const char *near = cc_nearest(name, known);
        return near != NULL ? cc_usage(e, "unknown key '%s'; did you mean '%s'?", name, near)
                            : cc_usage(e, "unknown key '%s'; `commcomp keys` lists them", name);
    }
    for (const struct cc_column *c = command->columns; c->key != NULL; c++)
        CC_TRY(add_key(args, c->key, e));
    return CC_OK;
}

static int run(struct cc_args *args, struct cc_error *e)
{
    for (size_t i = 0; args->operands == 0 && i < CC_KEYS; i++)
        CC_TRY(add_key(args, &cc_result_keys[i], e));
    for (int i = 0; i < args->operands; i++)
        CC_TRY(add_named(args, args->operand[i], e));
    return CC_OK;
}

const struct cc_command cc_command_keys = {
    .name = "keys",
    .summary = "the keys of all results: meaning, unit and origin",
    .operands = "[KEY | COMMAND ...]",
    .max_operands = CC_MAX_OPERANDS,
    .description =
        "Lists the keys that CSV and JSON have, each with its one meaning in all commands, its "
        "heading and unit in tables, the commands whose results have it, and its origin: given, "
        "measured, computed, simulated, published or trained. A command can obtain a value "
        "otherwise, such as `sim` a step time; its JSON says so under \"origins\". With operands, "
        "lists these keys, or those of these commands.\n\nNumbers in CSV and JSON are in the unit "
        "that the key says: seconds (_s), bytes (_bytes), bits per second (_bps). "
        "`commcomp COMMAND --help all` adds what a key means for one command.",
    .examples = "  commcomp keys                     # all of them\n"
                "  commcomp keys step_s speedup      # two\n"
                "  commcomp keys model --format md   # those of a command\n",
    .page = "docs/keys.md",
    .options = options,
    .columns = columns,
    .run = run,
};
