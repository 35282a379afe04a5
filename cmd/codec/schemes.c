/* `commcomp schemes`: the catalogue of schemes, from their descriptors. */
#include <stdio.h>
#include <string.h>

#include "cmd/cli/command.h"

static const struct cc_option options[] = {CC_PLUGIN_OPTION, {.name = NULL}};

static const struct cc_column columns[] = {
    {"scheme", "scheme", "", NULL, 0, "the id, as --scheme takes it", CC_SETTING},
    {"title", "title", "", NULL, 0, "what it is, in a few words", CC_MAIN},
    {"reference", NULL, "", NULL, 0, "where it was published", CC_DETAIL},
    {"kind", NULL, "", NULL, 0,
     "the payload: opaque (must be decoded), sum_f32 (an allreduce can sum it), pairs (sorted "
     "index-value pairs)",
     CC_DETAIL},
    {"flags", "flags", "", NULL, 0, "those of the next four that hold", CC_DETAIL},
    {"lossy", NULL, "", NULL, 0, "whether what is decoded can differ from what was encoded",
     CC_DETAIL},
    {"stochastic", NULL, "", NULL, 0, "whether it draws random numbers", CC_DETAIL},
    {"feedback", NULL, "", NULL, 0, "whether it keeps what it did not send in a residual",
     CC_DETAIL},
    {"unbiased", NULL, "", NULL, 0,
     "whether the expectation of what is decoded is what was encoded (with ef=0, and with "
     "rounding=random where that is a parameter)",
     CC_DETAIL},
    {"layout", NULL, "", NULL, 0, "the payload; docs/payloads.md has it in full", CC_DETAIL},
    {"parameter", "parameter", "", NULL, 0,
     "a parameter, one row for each; null for a scheme without any", CC_SETTING},
    {"type", NULL, "", NULL, 0, "type of the parameter: real, int, flag, choice or scheme",
     CC_DETAIL},
    {"default", "default", "", "%.9g", 0, "what it is if not given", CC_ANSWER},
    {"range", "allowed", "", NULL, 0, "what is allowed, in words", CC_ANSWER},
    {"min", NULL, "", "%.9g", 0, "the lower bound", CC_DETAIL},
    {"max", NULL, "", "%.9g", 0, "the upper bound", CC_DETAIL},
    {"min_open", NULL, "", NULL, 0, "whether the lower bound itself is not allowed", CC_DETAIL},
    {"max_open", NULL, "", NULL, 0, "whether the upper bound itself is not allowed", CC_DETAIL},
    {"choices", NULL, "", NULL, 0, "the words that are allowed, separated by |", CC_DETAIL},
    {"unit", NULL, "", NULL, 0, "unit of the parameter", CC_DETAIL},
    {"help", NULL, "", NULL, 0, "what the parameter does", CC_DETAIL},
    {.key = NULL},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

static const char *const kind_names[] = {"opaque", "sum_f32", "pairs"};
static const char *const type_names[] = {"real", "int", "flag", "choice", "scheme"};

static const struct flag {
    unsigned bit;
    const char *name, *note;
} flags[] = {
    {CC_LOSSY, "lossy", "lossy: what is decoded can differ from what was encoded"},
    {CC_STOCHASTIC, "stochastic", "stochastic: draws random numbers, which --seed decides"},
    {CC_FEEDBACK, "feedback", "error feedback: what is not sent stays in a residual"},
    {CC_UNBIASED, "unbiased",
     "unbiased: the expectation of what is decoded is what was encoded (with ef=0, and with "
     "rounding=random where that is a parameter)"},
};
enum { FLAGS = sizeof flags / sizeof flags[0] };

static int set_parameter(struct cc_record *r, size_t row, const struct cc_param *p,
                         struct cc_error *e)
{
    char text[192];
    CC_TRY(cc_record_text(r, row, "parameter", p->name, e));
    CC_TRY(cc_record_text(r, row, "type", type_names[p->type], e));
    CC_TRY(cc_record_text(r, row, "unit", p->unit == NULL ? "" : p->unit, e));
    CC_TRY(cc_record_text(r, row, "help", p->help, e));
    cc_param_print_range(p, text, sizeof text);
    CC_TRY(cc_record_text(r, row, "range", text, e));
    if (p->type == CC_CHOICE)
        CC_TRY(cc_record_text(r, row, "choices", text, e));
    if (p->type == CC_CHOICE || p->type == CC_NESTED) {
        cc_param_print_default(p, text, sizeof text);
        return cc_record_text(r, row, "default", text, e);
    }
    cc_record_number(r, row, "default", p->def);
    cc_record_number(r, row, "min", p->min);
    cc_record_number(r, row, "max", p->max);
    cc_record_bool(r, row, "min_open", p->min_open);
    cc_record_bool(r, row, "max_open", p->max_open);
    return CC_OK;
}

/* Adds a row for a parameter of a scheme, or for a scheme without parameters (p is NULL). */
static int add_row(struct cc_record *r, const struct cc_scheme *s, const struct cc_param *p,
                   struct cc_error *e)
{
    const char *texts[][2] = {{"scheme", s->id},
                              {"title", s->title},
                              {"reference", s->reference},
                              {"layout", s->layout},
                              {"kind", kind_names[s->kind]}};
    char list[96] = "";
    size_t row = cc_record_add(r, e);
    if (row == SIZE_MAX)
        return CC_FAIL;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        CC_TRY(cc_record_text(r, row, texts[i][0], texts[i][1], e));
    for (size_t i = 0; i < FLAGS; i++) {
        bool is_set = (s->flags & flags[i].bit) != 0;
        size_t used = strlen(list);
        if (is_set)
            (void)snprintf(list + used, sizeof list - used, used == 0 ? "%s" : " %s",
                           flags[i].name);
        cc_record_bool(r, row, flags[i].name, is_set);
    }
    CC_TRY(cc_record_text(r, row, "flags", list, e));
    return p != NULL ? set_parameter(r, row, p, e) : CC_OK;
}

static int add_scheme(struct cc_record *r, const struct cc_scheme *s, struct cc_error *e)
{
    if (s->params->name == NULL)
        return add_row(r, s, NULL, e);
    for (const struct cc_param *p = s->params; p->name != NULL; p++)
        CC_TRY(add_row(r, s, p, e));
    return CC_OK;
}

/* Describes the scheme in notes. */
static int add_notes(struct cc_record *r, const struct cc_scheme *s, struct cc_error *e)
{
    static const char *const kinds[] = {
        "opaque, must be decoded",
        "float32 values that any allreduce can sum",
        "sorted index-value pairs",
    };
    CC_TRY(cc_record_note(r, e, "%s: %s (%s).", s->id, s->title, s->reference));
    CC_TRY(cc_record_note(r, e, "  payload: %s (%s)", s->layout, kinds[s->kind]));
    for (size_t i = 0; i < FLAGS; i++)
        if ((s->flags & flags[i].bit) != 0)
            CC_TRY(cc_record_note(r, e, "  %s", flags[i].note));
    for (const struct cc_param *p = s->params; p->name != NULL; p++) {
        char def[192], range[192];
        cc_param_print_default(p, def, sizeof def);
        cc_param_print_range(p, range, sizeof range);
        CC_TRY(cc_record_note(r, e, "  %s: %s (%s; default %s)", p->name, p->help, range, def));
    }
    return CC_OK;
}

/* Whether the scheme is among the first n of the list. */
static bool is_in(const struct cc_spec_list *list, size_t n, const struct cc_scheme *s)
{
    for (size_t i = 0; i < n; i++)
        if (list->item[i]->scheme == s)
            return true;
    return false;
}

/* Removes the columns from the table for people: with notes it would tell everything twice. */
static void hide_table(struct cc_record *r)
{
    static struct cc_column headless[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++) {
        headless[i] = columns[i];
        headless[i].head = NULL;
    }
    r->columns = headless;
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct cc_spec_list list = {.count = 0};
    const bool all = args->operands == 0;
    int status = CC_OK;
    if (all)
        CC_TRY_OUT(cc_spec_list_parse("all", &list, e));
    for (int i = 0; i < args->operands; i++)
        CC_TRY_OUT(cc_spec_list_parse(args->operand[i], &list, e));
    if (!all)
        hide_table(&args->record);
    for (size_t i = 0; i < list.count; i++) {
        const struct cc_scheme *s = list.item[i]->scheme;
        if (is_in(&list, i, s))
            continue;
        CC_TRY_OUT(add_scheme(&args->record, s, e));
        if (!all)
            CC_TRY_OUT(add_notes(&args->record, s, e));
    }
out:
    cc_spec_list_free(&list);
    return status;
}

const struct cc_command cc_command_schemes = {
    .name = "schemes",
    .summary = "the catalogue of schemes and their parameters",
    .operands = "[SCHEME ...]",
    .max_operands = CC_MAX_OPERANDS,
    .description =
        "Lists every scheme with its parameters, what is allowed and what is the default: a row "
        "for each parameter. With operands, explains these schemes.\n\nParameters are written as "
        "in 3lc:s=1.75,zre=0, or as --scheme 3lc --s 1.75 "
        "--zre 0.",
    .examples = "  commcomp schemes                   # all of them\n"
                "  commcomp schemes 3lc qsgd          # explains two\n"
                "  commcomp schemes --format json     # for programs\n",
    .options = options,
    .columns = columns,
    .run = run,
};
