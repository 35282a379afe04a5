/* Reading the inventory of papers from JSON, and judging its figures. */
#include "models/paper/inventory.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/embed.h"
#include "core/format/json.h"
#include "core/memory.h"
#include "models/paper/paper.h"

CC_EMBED(cc_inventory_file, "models/papers/inventory.json");
static const struct cc_embedded builtin = CC_EMBEDDED(cc_inventory_file);

const char *const cc_reproduced_words[] = {"R", "P", "-", NULL};
const char *const cc_shown_words[] = {"experiment", "formula", "argument", "open", NULL};

void cc_inventory_free(struct cc_inventory *v)
{
    if (v == NULL)
        return;
    for (size_t i = 0; i < v->items; i++) {
        free(v->item[i].quantity);
        free(v->item[i].figure);
        cc_paper_free(v->table[i]);
    }
    free(v->table);
    free(v->item);
    free(v->kept);
    cJSON_Delete(v->json);
    free(v);
}

/* --- reading --- */

#define NEED(type, member)   CC_JSON_AT(struct type, member, CC_JSON_NEED_TEXT)
#define TEXT(type, member)   CC_JSON_AT(struct type, member, CC_JSON_TEXT)
#define AMOUNT(type, member) CC_JSON_AT(struct type, member, CC_JSON_AMOUNT)

static int parse_kept(const cJSON *item, void *inventory, struct cc_error *e)
{
    static const struct cc_json_member members[] = {NEED(cc_inventory_kept, name),
                                                    NEED(cc_inventory_kept, on),
                                                    NEED(cc_inventory_kept, version),
                                                    NEED(cc_inventory_kept, machine),
                                                    {.key = NULL}};
    struct cc_inventory *v = inventory;
    return cc_json_members(item, members, &v->kept[v->kepts++], e);
}

/* A number that may be below zero, as differences are; *out keeps its value if it is missing. */
static int get_number(const cJSON *object, const char *key, double *out, struct cc_error *e)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, key);
    if (found == NULL)
        return CC_OK;
    if (!cJSON_IsNumber(found) || !(fabs(found->valuedouble) <= 1e30))
        return cc_fail(e, "\"%s\" is not a number of a magnitude up to 1e30", key);
    *out = found->valuedouble;
    return CC_OK;
}

/* "holds" makes a statement of the figure. */
static int parse_holds(const cJSON *item, struct cc_inventory_figure *out, struct cc_error *e)
{
    if (cJSON_GetObjectItemCaseSensitive(item, "holds") == NULL)
        return CC_OK;
    if (!isnan(out->published) || !isnan(out->ours))
        return cc_fail(e, "a statement has \"holds\", and neither \"published\" nor \"ours\"");
    bool holds;
    CC_TRY(cc_json_need_bool(item, "holds", &holds, e));
    out->statement = true;
    out->published = 1;
    out->ours = holds ? 1 : 0;
    return CC_OK;
}

static int parse_figure(const cJSON *item, void *into, struct cc_error *e)
{
    static const struct cc_json_member members[] = {NEED(cc_inventory_figure, name),
                                                    TEXT(cc_inventory_figure, unit),
                                                    CC_JSON_KEY("published"),
                                                    CC_JSON_KEY("published_low"),
                                                    CC_JSON_KEY("published_high"),
                                                    CC_JSON_KEY("ours"),
                                                    CC_JSON_KEY("low"),
                                                    CC_JSON_KEY("high"),
                                                    CC_JSON_KEY("holds"),
                                                    {.key = NULL}};
    struct cc_inventory_item *to = into;
    struct cc_inventory_figure *out = &to->figure[to->figures++];
    *out = (struct cc_inventory_figure){.published = NAN,
                                        .published_low = NAN,
                                        .published_high = NAN,
                                        .ours = NAN,
                                        .low = NAN,
                                        .high = NAN};
    CC_TRY(cc_json_members(item, members, out, e));
    out->unit = out->unit != NULL ? out->unit : "";
    CC_TRY(get_number(item, "published", &out->published, e));
    CC_TRY(get_number(item, "published_low", &out->published_low, e));
    CC_TRY(get_number(item, "published_high", &out->published_high, e));
    CC_TRY(get_number(item, "ours", &out->ours, e));
    CC_TRY(get_number(item, "low", &out->low, e));
    CC_TRY(get_number(item, "high", &out->high, e));
    CC_TRY(parse_holds(item, out, e));
    if (isnan(out->published) && isnan(out->published_low) && isnan(out->published_high))
        return cc_fail(e, "it needs \"published\", \"published_low\" or \"published_high\"");
    if (isnan(out->ours))
        return cc_fail(e, "it needs \"ours\"");
    if (out->low > out->ours || out->high < out->ours || out->published_low > out->published_high)
        return cc_fail(e, "an interval does not hold its figure");
    return CC_OK;
}

static int parse_quantities(const cJSON *item, struct cc_inventory_item *out, struct cc_error *e)
{
    const cJSON *list;
    size_t count;
    if (cJSON_GetObjectItemCaseSensitive(item, "quantities") == NULL)
        return CC_OK;
    if (out->table == NULL)
        return cc_fail(e, "\"quantities\" goes with \"table\"");
    CC_TRY(cc_json_need_list(item, "quantities", "quantities", &list, &count, e));
    CC_TRY(CC_NEW(out->quantity, count, e));
    for (const cJSON *c = list->child; c != NULL; c = c->next) {
        if (!cJSON_IsString(c))
            return cc_fail(e, "\"quantities\": %zu is not a text", out->quantities);
        out->quantity[out->quantities++] = c->valuestring;
    }
    return CC_OK;
}

/* Kept figures, and where they come from. */
static int parse_figures(const cJSON *item, const struct cc_inventory *v,
                         struct cc_inventory_item *out, struct cc_error *e)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(item, "figures");
    const char *kept;
    size_t count;
    CC_TRY(cc_json_text(item, "kept", &kept, e));
    CC_TRY(cc_json_text(item, "how", &out->how, e));
    if ((list != NULL) != (kept != NULL) || (list != NULL) != (out->how != NULL))
        return cc_fail(e, "\"figures\", \"kept\" and \"how\" go together");
    if (list == NULL)
        return CC_OK;
    if (out->table != NULL)
        return cc_fail(e, "it has either a \"table\" or \"figures\"");
    for (size_t i = 0; i < v->kepts; i++)
        if (strcmp(v->kept[i].name, kept) == 0)
            out->kept = &v->kept[i];
    if (out->kept == NULL)
        return cc_fail(e, "\"kept\": there is no '%.60s'", kept);
    CC_TRY(cc_json_need_list(item, "figures", "figures", &list, &count, e));
    CC_TRY(CC_NEW(out->figure, count, e));
    return cc_json_each(list, "figure", parse_figure, out, e);
}

static int parse_shown_by(const cJSON *item, struct cc_inventory_item *out, struct cc_error *e)
{
    int word;
    if ((out->cause != NULL) != cJSON_HasObjectItem(item, "shown_by"))
        return cc_fail(e, "\"cause\" and \"shown_by\" go together");
    if (out->cause == NULL)
        return CC_OK;
    CC_TRY(cc_json_need_word(item, "shown_by", cc_shown_words, &word, e));
    out->shown_by = (enum cc_shown_by)word;
    return CC_OK;
}

/* The item that this one changes is an earlier one of its paper, which changes none itself. */
static int check_changes(const struct cc_inventory *v, const struct cc_inventory_item *t,
                         struct cc_error *e)
{
    bool found = t->changes == NULL;
    for (const struct cc_inventory_item *i = v->item; i < t; i++)
        found = found || (i->changes == NULL && strcmp(i->paper, t->paper) == 0 &&
                          strcmp(i->item, t->changes) == 0);
    return found ? CC_OK
                 : cc_fail(e, "\"changes\": no item '%.60s' of %.60s stands before this one",
                           t->changes, t->paper);
}

static int parse_item(const cJSON *item, void *inventory, struct cc_error *e)
{
    static const struct cc_json_member members[] = {NEED(cc_inventory_item, paper),
                                                    NEED(cc_inventory_item, item),
                                                    TEXT(cc_inventory_item, command),
                                                    TEXT(cc_inventory_item, cause),
                                                    CC_JSON_KEY("shown_by"),
                                                    TEXT(cc_inventory_item, changes),
                                                    TEXT(cc_inventory_item, table),
                                                    AMOUNT(cc_inventory_item, takes_s),
                                                    AMOUNT(cc_inventory_item, fitted),
                                                    CC_JSON_KEY("quantities"),
                                                    CC_JSON_KEY("kept"),
                                                    CC_JSON_KEY("how"),
                                                    CC_JSON_KEY("figures"),
                                                    {.key = NULL}};
    struct cc_inventory *v = inventory;
    struct cc_inventory_item *out = &v->item[v->items++];
    *out = (struct cc_inventory_item){.takes_s = NAN, .worst = SIZE_MAX};
    CC_TRY(cc_json_members(item, members, out, e));
    if (out->command != NULL && strncmp(out->command, "commcomp ", 9) != 0)
        return cc_fail(e, "\"command\" does not begin with 'commcomp '");
    CC_TRY(parse_shown_by(item, out, e));
    CC_TRY(check_changes(v, out, e));
    CC_TRY(parse_quantities(item, out, e));
    CC_TRY(parse_figures(item, v, out, e));
    if (out->command == NULL && (out->table != NULL || out->figures > 0))
        return cc_fail(e, "figures need a \"command\" that gives them");
    return CC_OK;
}

static int parse_all(const cJSON *root, struct cc_inventory *v, struct cc_error *e)
{
    static const struct cc_json_member members[] = {
        CC_JSON_KEY("schema"), CC_JSON_KEY("kept"), CC_JSON_KEY("items"), {.key = NULL}};
    const cJSON *kept, *items;
    size_t count;
    CC_TRY(cc_json_schema(root, CC_INVENTORY_SCHEMA, "see docs/papers.md", e));
    CC_TRY(cc_json_members(root, members, v, e));
    CC_TRY(cc_json_need_list(root, "kept", "objects", &kept, &count, e));
    CC_TRY(CC_NEW(v->kept, count, e));
    CC_TRY(cc_json_each(kept, "kept", parse_kept, v, e));
    CC_TRY(cc_json_need_list(root, "items", "objects", &items, &count, e));
    CC_TRY(CC_NEW(v->item, count, e));
    CC_TRY(CC_NEW(v->table, count, e));
    return cc_json_each(items, "item", parse_item, v, e);
}

/* The inventory keeps a copy of the document, which owns its texts. */
static int parse_root(const cJSON *root, void *out, struct cc_error *e)
{
    struct cc_inventory *v;
    int status = CC_OK;
    CC_TRY(CC_NEW(v, 1, e));
    v->json = cJSON_Duplicate(root, true);
    if (v->json == NULL)
        CC_TRY_OUT(cc_fail(e, "out of memory: a copy of the inventory"));
    CC_TRY_OUT(parse_all(v->json, v, e));
    *(struct cc_inventory **)out = v;
    v = NULL;
out:
    cc_inventory_free(v);
    return status;
}

int cc_inventory_parse(const char *text, size_t length, struct cc_inventory **out,
                       struct cc_error *e)
{
    return cc_json_parse_as(text, length, parse_root, out, e);
}

int cc_inventory_open(struct cc_inventory **out, struct cc_error *e)
{
    return cc_inventory_parse(builtin.begin, cc_embedded_size(&builtin), out, e);
}

/* --- judging --- */

static void judge_figure(struct cc_inventory_figure *f)
{
    /* The published figure as an interval: the figure alone where there is none. An end that is not
     * known is open. */
    const bool below = !isnan(f->published_high), above = !isnan(f->published_low);
    const double low = above ? f->published_low : below ? -INFINITY : f->published;
    const double high = below ? f->published_high : above ? INFINITY : f->published;
    const double from = isnan(f->low) ? f->ours : f->low, to = isnan(f->high) ? f->ours : f->high;
    const bool bound = below != above, meets = from <= high && to >= low;
    f->nearest = !isnan(f->published) ? f->published
                 : bound              ? (below ? high : low)
                                      : fmin(fmax(f->ours, low), high);
    f->error = f->statement || f->nearest == 0 || (bound && meets) || strcmp(f->unit, "points") == 0
                   ? NAN
                   : (f->ours - f->nearest) / fabs(f->nearest);
    f->reproduced = meets || fabs(f->ours - f->nearest) <= CC_REPRODUCED * fabs(f->nearest);
}

/* How far a figure is from the paper's, to choose the worst: one that is reproduced is nearer than
 * any that is not. */
static double distance(const struct cc_inventory_figure *f)
{
    const double apart = fabs(f->ours - f->nearest);
    const double error = !isnan(f->error)                       ? fabs(f->error)
                         : f->reproduced && isnan(f->published) ? 0
                                                                : apart;
    return f->reproduced ? fmin(error, 1) : 1 + error;
}

static int judge_item(struct cc_inventory_item *t, struct cc_error *e)
{
    for (size_t i = 0; i < t->figures; i++) {
        judge_figure(&t->figure[i]);
        t->reproduced += t->figure[i].reproduced;
        if (t->worst == SIZE_MAX || distance(&t->figure[i]) > distance(&t->figure[t->worst]))
            t->worst = i;
    }
    t->state = t->reproduced == 0            ? CC_REPRODUCED_NOT
               : t->reproduced == t->figures ? CC_REPRODUCED_ALL
                                             : CC_REPRODUCED_PARTLY;
    if ((t->state == CC_REPRODUCED_ALL) == (t->cause == NULL))
        return CC_OK;
    return cc_fail(e, "%s, %s: its state is %s, and it has %s \"cause\"", t->paper, t->item,
                   cc_reproduced_words[t->state], t->cause == NULL ? "no" : "a");
}

static bool chosen(const struct cc_inventory_item *t, const char *quantity)
{
    bool found = t->quantities == 0;
    for (size_t i = 0; i < t->quantities; i++)
        found = found || strcmp(t->quantity[i], quantity) == 0;
    return found;
}

/* The figures of a published table, computed now. A table's statements are 1 where they hold, and
 * their quantities have no unit and no other value. */
static int take_table(struct cc_inventory_item *t, struct cc_paper **out, struct cc_error *e)
{
    struct cc_paper *p;
    if (cc_paper_open(t->table, out, e) != CC_OK)
        return CC_FAIL; /* never CC_USAGE: the file is wrong, not the command line */
    p = *out;
    CC_TRY(cc_paper_solve(p, e));
    CC_TRY(CC_NEW(t->figure, p->rows * p->columns, e));
    for (size_t r = 0; r < p->rows; r++)
        for (size_t k = 0; k < p->columns; k++)
            if (!isnan(p->row[r].figure[k]) && chosen(t, p->column[k].quantity)) {
                t->figure[t->figures++] =
                    (struct cc_inventory_figure){.name = p->row[r].name,
                                                 .column = p->column[k].name,
                                                 .unit = p->column[k].unit,
                                                 .published = p->row[r].figure[k],
                                                 .published_low = NAN,
                                                 .published_high = NAN,
                                                 .ours = p->row[r].model[k],
                                                 .low = NAN,
                                                 .high = NAN};
                if (p->column[k].fit && p->row[r].fit)
                    t->fitted = (double)p->fitted;
            }
    if (t->figures == 0)
        return cc_fail(e, "%s: no figures of these quantities", t->table);
    return CC_OK;
}

int cc_inventory_solve(struct cc_inventory *v, struct cc_error *e)
{
    for (size_t i = 0; i < v->items; i++) {
        if (v->item[i].table != NULL)
            CC_TRY(take_table(&v->item[i], &v->table[i], e));
        CC_TRY(judge_item(&v->item[i], e));
    }
    return CC_OK;
}
