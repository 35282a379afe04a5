/* `commcomp schemes`: the catalogue of schemes, from their descriptors. */
#include <string.h>

#include "cmd/cli/command.h"
#include "core/memory.h"

static const struct cc_option_use options[] = {{.rows = cc_plugin_options}, {.rows = NULL}};

static const struct cc_column columns[] = {
    CC_COLUMN(scheme, CC_SETTING, .note = "here the id"),
    CC_COLUMN(title, CC_MAIN),
    CC_COLUMN(reference, CC_DETAIL),
    CC_COLUMN(payload_kind, CC_DETAIL),
    CC_COLUMN(flags, CC_DETAIL),
    CC_COLUMN(lossy, CC_DETAIL),
    CC_COLUMN(stochastic, CC_DETAIL),
    CC_COLUMN(feedback, CC_DETAIL),
    CC_COLUMN(unbiased, CC_DETAIL),
    CC_COLUMN(layout, CC_DETAIL),
    CC_COLUMN(parameter, CC_SETTING),
    CC_COLUMN(type, CC_DETAIL),
    CC_COLUMN(default, CC_ANSWER),
    CC_COLUMN(range, CC_ANSWER),
    CC_COLUMN(min, CC_DETAIL),
    CC_COLUMN(max, CC_DETAIL),
    CC_COLUMN(min_open, CC_DETAIL),
    CC_COLUMN(max_open, CC_DETAIL),
    CC_COLUMN(choices, CC_DETAIL),
    CC_COLUMN(unit, CC_DETAIL, .hidden = true),
    CC_COLUMN(help, CC_DETAIL),
    {.key = NULL},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

static const char *const kind_names[] = {"opaque", "sum_f32", "pairs"};
static const char *const type_names[] = {"real", "int", "flag", "choice", "scheme"};

static const struct flag {
    unsigned bit;
    const struct cc_result_key *key;
    const char *note;
} flags[] = {
    {CC_LOSSY, CC_KEY(lossy), "lossy: what is decoded can differ from what was encoded"},
    {CC_STOCHASTIC, CC_KEY(stochastic), "stochastic: draws random numbers, which --seed decides"},
    {CC_FEEDBACK, CC_KEY(feedback), "error feedback: what is not sent stays in a residual"},
    {CC_UNBIASED, CC_KEY(unbiased),
     "unbiased: the expectation of what is decoded is what was encoded (with ef=0, and with "
     "rounding=random where that is a parameter)"},
};
enum { FLAGS = sizeof flags / sizeof flags[0] };

static int set_parameter(struct cc_record *r, size_t row, const struct cc_param *p,
                         struct cc_error *e)
{
    char text[192];
    CC_TRY(cc_record_text(r, row, CC_KEY(parameter), p->name, e));
    CC_TRY(cc_record_text(r, row, CC_KEY(type), type_names[p->type], e));
    CC_TRY(cc_record_text(r, row, CC_KEY(unit), p->unit == NULL ? "" : p->unit, e));
    CC_TRY(cc_record_text(r, row, CC_KEY(help), p->help, e));
    cc_param_print_range(p, text, sizeof text);
    CC_TRY(cc_record_text(r, row, CC_KEY(range), text, e));
    if (p->type == CC_CHOICE)
        CC_TRY(cc_record_text(r, row, CC_KEY(choices), text, e));
    if (p->type == CC_CHOICE || p->type == CC_NESTED) {
        cc_param_print_default(p, text, sizeof text);
        return cc_record_text(r, row, CC_KEY(default), text, e);
    }
    cc_record_number(r, row, CC_KEY(default), p->def);
    cc_record_number(r, row, CC_KEY(min), p->min);
    cc_record_number(r, row, CC_KEY(max), p->max);
    cc_record_bool(r, row, CC_KEY(min_open), p->min_open);
    cc_record_bool(r, row, CC_KEY(max_open), p->max_open);
    return CC_OK;
}

/* Adds a row for a parameter of a scheme, or for a scheme without parameters (p is NULL). */
static int add_row(struct cc_record *r, const struct cc_scheme *s, const struct cc_param *p,
                   struct cc_error *e)
{
    const struct cc_text_column texts[] = {{CC_KEY(scheme), s->id},
                                           {CC_KEY(title), s->title},
                                           {CC_KEY(reference), s->reference},
                                           {CC_KEY(layout), s->layout},
                                           {CC_KEY(payload_kind), kind_names[s->kind]}};
    char list[96] = "";
    size_t row;
    CC_TRY(cc_record_add(r, &row, e));
    CC_TRY(cc_record_texts(r, row, texts, sizeof texts / sizeof texts[0], e));
    for (size_t i = 0; i < FLAGS; i++) {
        const bool is_set = (s->flags & flags[i].bit) != 0;
        if (is_set)
            cc_list_add(list, sizeof list, " ", "%s", flags[i].key->name);
        cc_record_bool(r, row, flags[i].key, is_set);
    }
    CC_TRY(cc_record_text(r, row, CC_KEY(flags), list, e));
    return p != NULL ? set_parameter(r, row, p, e) : CC_OK;
}

static int add_scheme(struct cc_record *r, const struct cc_scheme *s, struct cc_error *e)
{
    if (s->params->name == NULL)
        return add_row(r, s, NULL, e);
    for (const struct cc_param *p = s->params; p->name != NULL; p++) {
        CC_TRY(add_row(r, s, p, e));
        r->rows[r->row_count - 1].detail = p != s->params;
    }
    return CC_OK;
}

/* The table of the whole catalogue has a row for each scheme, without its parameters. */
static int set_table(struct cc_record *r, size_t count, struct cc_error *e)
{
    cc_record_title(r,
                    "%zu schemes; `commcomp schemes 3lc` explains one and its parameters, --wide "
                    "lists those of all",
                    count);
    return cc_record_choose_usual(r, "scheme,title,flags", e);
}

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
    static struct cc_column hidden[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++) {
        hidden[i] = columns[i];
        hidden[i].hidden = true;
    }
    r->columns = hidden;
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
    if (all)
        CC_TRY_OUT(set_table(&args->record, list.count, e));
    else
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
    .page = "docs/payloads.md",
    .options = options,
    .columns = columns,
    .run = run,
};
