/* Reading published tables from JSON: constants, columns, rows with their figures, each checked
 * against the others, so that a formula finds what it looks up. */
#include "models/paper/paper.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/embed.h"
#include "core/format/json.h"
#include "core/memory.h"
#include "core/nearest.h"
#include "models/paper/paper_list.h"

/* --- built-in tables --- */

#define EMBED(symbol, name) CC_EMBED(cc_paper_##symbol, "models/papers/" name ".json");
#define BYTES(symbol, name) CC_EMBEDDED(cc_paper_##symbol),
CC_PAPERS(EMBED)
const char *const cc_paper_names[] = {CC_PAPERS(CC_EMBED_NAME) NULL};
static const struct cc_embedded builtin[] = {CC_PAPERS(BYTES)};

const char *const cc_paper_origins[] = {"given", "assumed", "measured", "fitted", NULL};

void cc_paper_free(struct cc_paper *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->rows; i++) {
        cc_net_free(p->row[i].net);
        free(p->row[i].inputs.item);
        free(p->row[i].figure);
        free(p->row[i].ours);
        free(p->row[i].model);
    }
    for (size_t i = 0; i < p->columns; i++)
        free(p->column[i].inputs.item);
    free(p->row);
    free(p->column);
    free(p->constant);
    free(p->assumption);
    free(p->limit);
    cJSON_Delete(p->json);
    free(p->file);
    free(p);
}

/* --- parts of objects --- */

/* Gets the list of a key, which may be missing or empty if it is optional, and sets *count to its
 * length. */
static int get_list(const cJSON *object, const char *key, bool optional, const cJSON **list,
                    size_t *count, struct cc_error *e)
{
    static const cJSON none = {.type = cJSON_Array};
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, key);
    *list = found == NULL && optional ? &none : found;
    if (*list == NULL || !cJSON_IsArray(*list) || ((*list)->child == NULL && !optional))
        return cc_fail(e, "\"%s\" must be a list%s", key, optional ? "" : " of at least one");
    *count = (size_t)cJSON_GetArraySize(*list);
    return CC_OK;
}

static int get_texts(const cJSON *object, const char *key, const char ***out, size_t *count,
                     struct cc_error *e)
{
    const cJSON *list;
    size_t i = 0;
    CC_TRY(get_list(object, key, true, &list, count, e));
    CC_TRY(CC_NEW(*out, *count, e));
    for (const cJSON *c = list->child; c != NULL; c = c->next, i++) {
        if (!cJSON_IsString(c) || c->valuestring[0] == '\0')
            return cc_fail(e, "\"%s\": %zu is not a text", key, i);
        (*out)[i] = c->valuestring;
    }
    return CC_OK;
}

/* "inputs": an object of numbers, or missing. */
static int get_inputs(const cJSON *object, struct cc_paper_inputs *out, struct cc_error *e)
{
    const cJSON *inputs = cJSON_GetObjectItemCaseSensitive(object, "inputs");
    if (inputs == NULL)
        return CC_OK;
    if (!cJSON_IsObject(inputs))
        return cc_fail(e, "\"inputs\" is not an object");
    CC_TRY(CC_NEW(out->item, (size_t)cJSON_GetArraySize(inputs), e));
    for (const cJSON *c = inputs->child; c != NULL; c = c->next) {
        if (!cJSON_IsNumber(c) || !(c->valuedouble >= 0 && c->valuedouble <= 1e30))
            return cc_fail(e, "\"inputs\": \"%.60s\" is not a number from 0 to 1e30", c->string);
        out->item[out->count++] = (struct cc_paper_input){c->string, c->valuedouble};
    }
    return CC_OK;
}

/* A truth value, or `otherwise` if it is missing. */
static int get_flag(const cJSON *object, const char *key, bool otherwise, bool *out,
                    struct cc_error *e)
{
    const cJSON *flag = cJSON_GetObjectItemCaseSensitive(object, key);
    if (flag != NULL && !cJSON_IsBool(flag))
        return cc_fail(e, "\"%s\" is neither true nor false", key);
    *out = flag == NULL ? otherwise : cJSON_IsTrue(flag);
    return CC_OK;
}

/* --- rows, columns, constants --- */

#define NEED(type, member)   CC_JSON_AT(struct type, member, CC_JSON_NEED_TEXT)
#define TEXT(type, member)   CC_JSON_AT(struct type, member, CC_JSON_TEXT)
#define AMOUNT(type, member) CC_JSON_AT(struct type, member, CC_JSON_AMOUNT)

static int parse_constant(const cJSON *item, void *paper, struct cc_error *e)
{
    static const struct cc_json_member members[] = {NEED(cc_paper_constant, name),
                                                    TEXT(cc_paper_constant, unit),
                                                    CC_JSON_KEY("from"),
                                                    NEED(cc_paper_constant, source),
                                                    AMOUNT(cc_paper_constant, value),
                                                    AMOUNT(cc_paper_constant, min),
                                                    AMOUNT(cc_paper_constant, max),
                                                    {.key = NULL}};
    struct cc_paper *p = paper;
    struct cc_paper_constant *out = &p->constant[p->constants++];
    int origin;
    *out = (struct cc_paper_constant){.value = NAN, .min = NAN, .max = NAN};
    CC_TRY(cc_json_members(item, members, out, e));
    CC_TRY(cc_json_need_word(item, "from", cc_paper_origins, &origin, e));
    out->unit = out->unit != NULL ? out->unit : "";
    out->origin = (enum cc_paper_origin)origin;
    p->fitted += out->origin == CC_FITTED;
    out->by_hand = out->origin == CC_FITTED && !isnan(out->value);
    if (out->origin == CC_FITTED && !(out->min > 0 && out->min < out->max))
        return cc_fail(e, "a fitted one has \"min\" and \"max\", 0 < min < max");
    if (out->by_hand && !(out->value > out->min && out->value < out->max))
        return cc_fail(e, "one that is fitted by hand has a \"value\" between \"min\" and \"max\"");
    if (out->origin != CC_FITTED && !(isnan(out->min) && isnan(out->max) && !isnan(out->value)))
        return cc_fail(e, "it needs a \"value\", and neither \"min\" nor \"max\"");
    return CC_OK;
}

static int parse_column(const cJSON *item, void *paper, struct cc_error *e)
{
    static const struct cc_json_member members[] = {
        NEED(cc_paper_column, name), NEED(cc_paper_column, quantity),
        TEXT(cc_paper_column, unit), CC_JSON_KEY("inputs"),
        CC_JSON_KEY("fit"),          {.key = NULL}};
    struct cc_paper *p = paper;
    struct cc_paper_column *out = &p->column[p->columns++];
    CC_TRY(cc_json_members(item, members, out, e));
    CC_TRY(get_inputs(item, &out->inputs, e));
    CC_TRY(get_flag(item, "fit", true, &out->fit, e));
    out->unit = out->unit != NULL ? out->unit : "";
    return CC_OK;
}

static int parse_figures(const cJSON *item, const struct cc_paper *p, struct cc_paper_row *out,
                         struct cc_error *e)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(item, "figures");
    if (!cJSON_IsArray(list) || (size_t)cJSON_GetArraySize(list) != p->columns)
        return cc_fail(e, "\"figures\" must be a list of %zu, one for each column", p->columns);
    CC_TRY(CC_NEW(out->figure, p->columns, e));
    CC_TRY(CC_NEW(out->ours, p->columns, e));
    CC_TRY(CC_NEW(out->model, p->columns, e));
    size_t i = 0;
    for (const cJSON *c = list->child; c != NULL; c = c->next, i++) {
        out->ours[i] = cJSON_IsString(c) && strcmp(c->valuestring, "ours") == 0;
        if (!cJSON_IsNull(c) && !out->ours[i] &&
            !(cJSON_IsNumber(c) && c->valuedouble > 0 && c->valuedouble < 1e30))
            return cc_fail(e, "\"figures\": %zu is neither null, \"ours\", nor above zero", i);
        out->figure[i] = cJSON_IsNumber(c) ? c->valuedouble : NAN;
        out->model[i] = NAN;
    }
    return CC_OK;
}

/* An optional percentage; NaN if it is missing. */
static int get_accuracy(const cJSON *item, const char *key, double *out, struct cc_error *e)
{
    *out = NAN;
    CC_TRY(cc_json_amount(item, key, out, e));
    return *out > 100 ? cc_fail(e, "\"%s\": %g is above 100%%", key, *out) : CC_OK;
}

static int parse_row(const cJSON *item, void *paper, struct cc_error *e)
{
    static const struct cc_json_member members[] = {
        NEED(cc_paper_row, name),   TEXT(cc_paper_row, scheme),
        TEXT(cc_paper_row, system), TEXT(cc_paper_row, cause),
        CC_JSON_KEY("net"),         CC_JSON_KEY("inputs"),
        CC_JSON_KEY("accuracy"),    CC_JSON_KEY("fit"),
        CC_JSON_KEY("figures"),     {.key = NULL}};
    struct cc_paper *p = paper;
    struct cc_paper_row *out = &p->row[p->rows++];
    const char *net;
    CC_TRY(cc_json_members(item, members, out, e));
    CC_TRY(cc_json_text(item, "net", &net, e));
    CC_TRY(get_inputs(item, &out->inputs, e));
    CC_TRY(get_accuracy(item, "accuracy", &out->accuracy, e));
    CC_TRY(get_flag(item, "fit", true, &out->fit, e));
    CC_TRY(parse_figures(item, p, out, e));
    return net == NULL || cc_net_open(net, &out->net, e) == CC_OK ? CC_OK : CC_FAIL;
}

/* --- whole tables --- */

static int parse_table(const cJSON *root, struct cc_paper *p, struct cc_error *e)
{
    static const struct cc_json_member members[] = {
        CC_JSON_KEY("schema"),      NEED(cc_paper, id),
        NEED(cc_paper, paper),      NEED(cc_paper, reference),
        NEED(cc_paper, place),      NEED(cc_paper, caption),
        NEED(cc_paper, formula),    NEED(cc_paper, model),
        CC_JSON_KEY("assumptions"), CC_JSON_KEY("limits"),
        CC_JSON_KEY("columns"),     CC_JSON_KEY("rows"),
        CC_JSON_KEY("constants"),   CC_JSON_KEY("baseline_accuracy"),
        CC_JSON_KEY("held_out"),    {.key = NULL}};
    const cJSON *constants, *columns, *rows;
    size_t count;
    CC_TRY(cc_json_schema(root, CC_PAPER_SCHEMA, "see docs/papers.md", e));
    CC_TRY(cc_json_members(root, members, p, e));
    CC_TRY(get_flag(root, "held_out", false, &p->held_out, e));
    CC_TRY(get_texts(root, "assumptions", &p->assumption, &p->assumptions, e));
    CC_TRY(get_texts(root, "limits", &p->limit, &p->limits, e));
    CC_TRY(get_list(root, "constants", true, &constants, &count, e));
    CC_TRY(CC_NEW(p->constant, count, e));
    CC_TRY(cc_json_each(constants, "constant", parse_constant, p, e));
    CC_TRY(get_list(root, "columns", false, &columns, &count, e));
    CC_TRY(CC_NEW(p->column, count, e));
    CC_TRY(cc_json_each(columns, "column", parse_column, p, e));
    CC_TRY(get_accuracy(root, "baseline_accuracy", &p->baseline_accuracy, e));
    CC_TRY(get_list(root, "rows", false, &rows, &count, e));
    CC_TRY(CC_NEW(p->row, count, e));
    return cc_json_each(rows, "row", parse_row, p, e);
}

/* The table keeps a copy of the document, which owns its texts. */
static int parse_root(const cJSON *root, void *out, struct cc_error *e)
{
    struct cc_paper *p;
    int status = CC_OK;
    CC_TRY(CC_NEW(p, 1, e));
    p->json = cJSON_Duplicate(root, true);
    if (p->json == NULL)
        CC_TRY_OUT(cc_fail(e, "out of memory: a copy of the table"));
    CC_TRY_OUT(parse_table(p->json, p, e));
    *(struct cc_paper **)out = p;
    p = NULL;
out:
    cc_paper_free(p);
    return status;
}

int cc_paper_parse(const char *text, size_t length, struct cc_paper **out, struct cc_error *e)
{
    return cc_json_parse_as(text, length, parse_root, out, e);
}

static int read_file(const char *path, struct cc_paper **out, struct cc_error *e)
{
    struct cc_paper *p;
    CC_TRY(cc_json_read_as(path, parse_root, &p, e));
    const int status = cc_text(&p->file, e, "%s", path);
    if (status == CC_OK)
        *out = p;
    else
        cc_paper_free(p);
    return status;
}

double cc_paper_constant_value(const struct cc_paper *p, const char *name)
{
    for (size_t i = 0; i < p->constants; i++)
        if (strcmp(p->constant[i].name, name) == 0)
            return p->constant[i].value;
    return NAN;
}

const struct cc_paper_row *cc_paper_row_of(const struct cc_paper *p, const char *scheme)
{
    for (size_t i = 0; i < p->rows; i++)
        if (p->row[i].scheme != NULL && strcmp(p->row[i].scheme, scheme) == 0)
            return &p->row[i];
    return NULL;
}

double cc_paper_figure(const struct cc_paper *p, const char *scheme, const char *quantity,
                       double input)
{
    const struct cc_paper_row *row = cc_paper_row_of(p, scheme);
    for (size_t k = 0; row != NULL && k < p->columns; k++) {
        const struct cc_paper_inputs *in = &p->column[k].inputs;
        if (strcmp(p->column[k].quantity, quantity) == 0 &&
            (isnan(input) ? in->count == 0 : in->count == 1 && in->item[0].value == input))
            return row->figure[k];
    }
    return NAN;
}

int cc_paper_open(const char *name, struct cc_paper **out, struct cc_error *e)
{
    for (size_t i = 0; cc_paper_names[i] != NULL; i++)
        if (strcmp(name, cc_paper_names[i]) == 0)
            return cc_paper_parse(builtin[i].begin, cc_embedded_size(&builtin[i]), out, e);
    size_t n = strlen(name);
    if (n > 5 && strcmp(name + n - 5, ".json") == 0)
        return read_file(name, out, e);
    const char *near = cc_nearest(name, cc_paper_names);
    if (near != NULL)
        return cc_usage(e, "table '%.80s' is not known: did you mean '%s'?", name, near);
    return cc_usage(e, "table '%.80s' is not known; `commcomp paper` lists them; or a .json file",
                    name);
}
