/* The reader of recipes. Each member of an object has one of a few forms; a table says which. */
#include "models/recipe.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/embed.h"
#include "core/format/json.h"
#include "core/memory.h"
#include "core/nearest.h"
#include "models/recipe_list.h"

/* --- the recipes that the program carries --- */

#define EMBED(folder, symbol, name)                                                                \
    CC_EMBED(cc_recipe_##folder##_##symbol, "recipes/" #folder "/" name ".json");
#define NAME(folder, symbol, name)  #folder "/" name,
#define BYTES(folder, symbol, name) CC_EMBEDDED(cc_recipe_##folder##_##symbol),
CC_RECIPES(EMBED)
const char *const cc_recipe_names[] = {CC_RECIPES(NAME) NULL};
static const struct cc_embedded builtin[] = {CC_RECIPES(BYTES)};

/* --- forms of members --- */

/* A form of values: CC_FAIL, with a message that does not name the member. */
typedef int form(const cJSON *item, struct cc_error *e);

struct member {
    const char *key;
    form *check;
    bool needed;
};

/* Checks an object: each member has its form, none is unknown, and those that are needed are there.
 */
static int check_object(const cJSON *object, const struct member *members, struct cc_error *e)
{
    const char *keys[24] = {NULL};
    if (!cJSON_IsObject(object))
        return cc_fail(e, "not an object");
    for (size_t i = 0; members[i].key != NULL; i++)
        keys[i] = members[i].key;
    CC_TRY(cc_json_keys(object, keys, e));
    for (const struct member *m = members; m->key != NULL; m++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, m->key);
        if (item == NULL && m->needed)
            return cc_fail(e, "\"%s\" is missing", m->key);
        if (item != NULL && m->check(item, e) != CC_OK) {
            cc_error_in(e, "\"%s\"", m->key);
            return CC_FAIL;
        }
    }
    return CC_OK;
}

/* Checks a list of at least one element. */
static int check_list(const cJSON *list, form *check, struct cc_error *e)
{
    size_t i = 0;
    if (!cJSON_IsArray(list) || list->child == NULL)
        return cc_fail(e, "not a list of at least one element");
    for (const cJSON *c = list->child; c != NULL; c = c->next, i++)
        if (check(c, e) != CC_OK) {
            cc_error_in(e, "element %zu", i);
            return CC_FAIL;
        }
    return CC_OK;
}

/* Checks an object whose keys the recipe chooses. */
static int check_map(const cJSON *object, form *check, struct cc_error *e)
{
    if (!cJSON_IsObject(object))
        return cc_fail(e, "not an object");
    for (const cJSON *c = object->child; c != NULL; c = c->next)
        if (c->string[0] == '\0' || check(c, e) != CC_OK) {
            cc_error_in(e, "\"%.60s\"", c->string);
            return c->string[0] == '\0' ? cc_fail(e, "a member has no name") : CC_FAIL;
        }
    return CC_OK;
}

static int a_text(const cJSON *item, struct cc_error *e)
{
    if (!cJSON_IsString(item) || item->valuestring[0] == '\0')
        return cc_fail(e, "not a text");
    for (const char *p = item->valuestring; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return cc_fail(e, "a text with control characters");
    return CC_OK;
}

static int texts(const cJSON *item, struct cc_error *e)
{
    return check_list(item, a_text, e);
}

/* A value of a row, and of a condition on one. */
static int a_value(const cJSON *item, struct cc_error *e)
{
    return cJSON_IsString(item) || cJSON_IsNumber(item) || cJSON_IsBool(item)
               ? CC_OK
               : cc_fail(e, "neither a text, a number nor a truth value");
}

static int a_row(const cJSON *item, struct cc_error *e)
{
    return check_map(item, a_value, e);
}

/* {"optimizer": ["sgd", "nesterov"]} */
static int words_of_options(const cJSON *item, struct cc_error *e)
{
    return check_map(item, texts, e);
}

static int a_plain_value(const cJSON *item, struct cc_error *e)
{
    return cJSON_IsNumber(item) ? CC_OK : a_text(item, e);
}

/* {"table": "3lc-table1", "constant": "overlap"} */
static int a_constant(const cJSON *item, struct cc_error *e)
{
    static const struct member members[] = {
        {"table", a_text, true}, {"constant", a_text, true}, {NULL, NULL, false}};
    return check_object(item, members, e);
}

static int a_conditional(const cJSON *item, struct cc_error *e)
{
    static const struct member members[] = {
        {"value", a_plain_value, true}, {"if", words_of_options, true}, {NULL, NULL, false}};
    return check_object(item, members, e);
}

/* The argument of an option: a text or number, true for an option without one, a constant of a
 * published table, or a value under a condition. */
static int an_argument(const cJSON *item, struct cc_error *e)
{
    if (cJSON_IsObject(item))
        return cJSON_GetObjectItemCaseSensitive(item, "table") != NULL ? a_constant(item, e)
                                                                       : a_conditional(item, e);
    return cJSON_IsTrue(item) || cJSON_IsNumber(item) || a_text(item, e) == CC_OK
               ? CC_OK
               : cc_fail(e, "neither a text, a number, true, a constant of a table nor a value "
                            "with a condition");
}

static int an_option(const cJSON *item, struct cc_error *e)
{
    return cJSON_IsArray(item) ? check_list(item, a_plain_value, e) : an_argument(item, e);
}

static int options(const cJSON *item, struct cc_error *e)
{
    return check_map(item, an_option, e);
}

/* In a case, null takes the option away. */
static int an_option_of_case(const cJSON *item, struct cc_error *e)
{
    return cJSON_IsNull(item) ? CC_OK : an_argument(item, e);
}

static int options_of_case(const cJSON *item, struct cc_error *e)
{
    return check_map(item, an_option_of_case, e);
}

static int a_case(const cJSON *item, struct cc_error *e)
{
    static const struct member members[] = {
        {"options", options_of_case, true}, {"row", a_row, false}, {NULL, NULL, false}};
    return check_object(item, members, e);
}

static int an_axis(const cJSON *item, struct cc_error *e)
{
    return check_list(item, a_case, e);
}

static int axes(const cJSON *item, struct cc_error *e)
{
    return check_list(item, an_axis, e);
}

static int a_refusal(const cJSON *item, struct cc_error *e)
{
    static const struct member members[] = {
        {"options", texts, true}, {"because", a_text, true}, {NULL, NULL, false}};
    return check_object(item, members, e);
}

static int refusals(const cJSON *item, struct cc_error *e)
{
    return check_list(item, a_refusal, e);
}

/* A factor: a column, a number, or the column of another row. */
static int a_factor(const cJSON *item, struct cc_error *e)
{
    static const struct member members[] = {
        {"key", a_text, true}, {"where", a_row, true}, {"same", texts, false}, {NULL, NULL, false}};
    return cJSON_IsObject(item) ? check_object(item, members, e) : a_plain_value(item, e);
}

static int factors(const cJSON *item, struct cc_error *e)
{
    return check_list(item, a_factor, e);
}

static int a_computation(const cJSON *item, struct cc_error *e)
{
    static const struct member members[] = {{"key", a_text, true},
                                            {"product", factors, true},
                                            {"over", factors, false},
                                            {"where", a_row, false},
                                            {NULL, NULL, false}};
    return check_object(item, members, e);
}

static int computations(const cJSON *item, struct cc_error *e)
{
    return check_list(item, a_computation, e);
}

/* Figures that stand here, with their source, or those of a published table. */
static int a_figure(const cJSON *item, struct cc_error *e)
{
    static const struct member here[] = {{"where", a_row, true},
                                         {"set", a_row, true},
                                         {"source", a_text, true},
                                         {NULL, NULL, false}};
    static const struct member of_table[] = {{"table", a_text, true},
                                             {"quantity", a_text, true},
                                             {"key", a_text, true},
                                             {"where", a_row, false},
                                             {NULL, NULL, false}};
    const bool table = cJSON_GetObjectItemCaseSensitive(item, "table") != NULL;
    return check_object(item, table ? of_table : here, e);
}

static int figures(const cJSON *item, struct cc_error *e)
{
    return check_list(item, a_figure, e);
}

static int a_comparison(const cJSON *item, struct cc_error *e)
{
    static const struct member members[] = {{"key", a_text, true},
                                            {"paper", a_text, true},
                                            {"error", a_text, true},
                                            {"note", a_text, true},
                                            {NULL, NULL, false}};
    return check_object(item, members, e);
}

/* A framework of Pipe-SGD's figures: its exchange, steps and schemes. */
static int a_framework(const cJSON *item, struct cc_error *e)
{
    static const struct member members[] = {
        {"name", a_text, true},   {"exchange", a_text, true},           {"mode", a_text, true},
        {"scheme", a_text, true}, {"sync_share", a_plain_value, false}, {NULL, NULL, false}};
    return check_object(item, members, e);
}

static int frameworks(const cJSON *item, struct cc_error *e)
{
    if (cJSON_GetArraySize(item) != CC_RECIPE_FRAMEWORKS)
        return cc_fail(e, "not a list of %d", CC_RECIPE_FRAMEWORKS);
    return check_list(item, a_framework, e);
}

/* The time of computing, as a share of that of fp32's traffic. */
static int a_computing(const cJSON *item, struct cc_error *e)
{
    static const struct member members[] = {{"table", a_text, true},
                                            {"constant", a_text, true},
                                            {"bw", a_text, false},
                                            {"hidden", a_text, false},
                                            {NULL, NULL, false}};
    return check_object(item, members, e);
}

static int a_command(const cJSON *item, struct cc_error *e)
{
    static const struct member members[] = {{"command", a_text, true},
                                            {"name", a_text, false},
                                            {"title", a_text, false},
                                            {"base", a_text, false},
                                            {"because", a_text, false},
                                            {"options", options, false},
                                            {"operands", texts, false},
                                            {"each", axes, false},
                                            {"open", texts, false},
                                            {"refuse", refusals, false},
                                            {"columns", texts, false},
                                            {"keys", texts, false},
                                            {"computed", computations, false},
                                            {"published", figures, false},
                                            {"compare", a_comparison, false},
                                            {"computing", a_computing, false},
                                            {"frameworks", frameworks, false},
                                            {"notes", texts, false},
                                            {NULL, NULL, false}};
    return check_object(item, members, e);
}

static int commands(const cJSON *item, struct cc_error *e)
{
    return check_list(item, a_command, e);
}

/* --- a recipe --- */

static struct cc_recipe_command command_of(const cJSON *c)
{
    const char *name = cc_recipe_text(c, "name");
    return (struct cc_recipe_command){.command = cc_recipe_text(c, "command"),
                                      .name = name != NULL ? name : cc_recipe_text(c, "command"),
                                      .title = cc_recipe_text(c, "title"),
                                      .base = cc_recipe_text(c, "base"),
                                      .because = cc_recipe_text(c, "because"),
                                      .options = cc_recipe_get(c, "options"),
                                      .operands = cc_recipe_get(c, "operands"),
                                      .each = cc_recipe_get(c, "each"),
                                      .open = cc_recipe_get(c, "open"),
                                      .refuse = cc_recipe_get(c, "refuse"),
                                      .columns = cc_recipe_get(c, "columns"),
                                      .keys = cc_recipe_get(c, "keys"),
                                      .computed = cc_recipe_get(c, "computed"),
                                      .published = cc_recipe_get(c, "published"),
                                      .compare = cc_recipe_get(c, "compare"),
                                      .computing = cc_recipe_get(c, "computing"),
                                      .frameworks = cc_recipe_get(c, "frameworks"),
                                      .notes = cc_recipe_get(c, "notes")};
}

void cc_recipe_free(struct cc_recipe *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->count; i++)
        cc_recipe_free(r->item[i].from);
    cJSON_Delete(r->json);
    free(r->item);
    free(r->name);
    free(r);
}

static int check_names(const struct cc_recipe *r, struct cc_error *e)
{
    for (size_t i = 0; i < r->count; i++) {
        if (strchr(r->item[i].name, '/') != NULL)
            return cc_fail(e, "command %zu: \"name\" is part of a file's name, and has no '/'", i);
        for (size_t k = 0; k < i; k++)
            if (strcmp(r->item[i].name, r->item[k].name) == 0)
                return cc_fail(e,
                               "commands %zu and %zu are both called \"%.60s\": give them a "
                               "\"name\", after which their results' files are called",
                               k, i, r->item[i].name);
    }
    return CC_OK;
}

static int parse_root(const cJSON *root, void *out, struct cc_error *e)
{
    static const struct member members[] = {{"schema", a_text, true},     {"about", a_text, true},
                                            {"source", a_text, false},    {"time", a_text, false},
                                            {"commands", commands, true}, {NULL, NULL, false}};
    CC_TRY(cc_json_schema(root, CC_RECIPE_SCHEMA, "see docs/recipes.md", e));
    CC_TRY(check_object(root, members, e));
    const cJSON *list = cc_recipe_get(root, "commands");
    struct cc_recipe *r = cc_alloc0(sizeof *r, e);
    if (r == NULL)
        return CC_FAIL;
    int status = CC_OK;
    r->json = cJSON_Duplicate(root, 1);
    r->item = cc_alloc0((size_t)cJSON_GetArraySize(list) * sizeof *r->item, e);
    if (r->json == NULL || r->item == NULL) {
        status = cc_fail(e, "out of memory");
        goto out;
    }
    r->about = cc_recipe_text(r->json, "about");
    r->source = cc_recipe_text(r->json, "source");
    r->time = cc_recipe_text(r->json, "time");
    for (const cJSON *c = cc_recipe_get(r->json, "commands")->child; c != NULL; c = c->next)
        r->item[r->count++] = command_of(c);
    CC_TRY_OUT(check_names(r, e));
    *(struct cc_recipe **)out = r;
    r = NULL;
out:
    cc_recipe_free(r);
    return status;
}

int cc_recipe_parse(const char *text, size_t length, struct cc_recipe **out, struct cc_error *e)
{
    return cc_json_parse_as(text, length, parse_root, out, e);
}

/* --- opening --- */

/* The index of a built-in recipe, by its whole name or by what follows the folder. */
static int find(const char *name, size_t *out, struct cc_error *e)
{
    size_t found = 0;
    for (size_t i = 0; cc_recipe_names[i] != NULL; i++) {
        const char *of_folder = strchr(cc_recipe_names[i], '/') + 1;
        if (strcmp(name, cc_recipe_names[i]) != 0 && strcmp(name, of_folder) != 0)
            continue;
        if (found++ > 0)
            return cc_usage(e, "recipe '%.80s': there are %s and %s", name, cc_recipe_names[*out],
                            cc_recipe_names[i]);
        *out = i;
    }
    if (found > 0)
        return CC_OK;
    const char *names[sizeof cc_recipe_names / sizeof cc_recipe_names[0]] = {NULL};
    const bool whole = strchr(name, '/') != NULL;
    for (size_t i = 0; cc_recipe_names[i] != NULL; i++)
        names[i] = whole ? cc_recipe_names[i] : strchr(cc_recipe_names[i], '/') + 1;
    const char *near = cc_nearest(name, names);
    return cc_usage(e,
                    "recipe '%.80s' is not known%s%s%s `commcomp recipes` lists them, and a .json "
                    "file has your own (docs/recipes.md)",
                    name, near != NULL ? ": did you mean '" : ":", near != NULL ? near : "",
                    near != NULL ? "'?" : "");
}

/* Opens a recipe without the bases of its commands. */
static int open_alone(const char *name, struct cc_recipe **out, struct cc_error *e)
{
    const size_t n = strlen(name);
    size_t i = 0;
    struct cc_recipe *r = NULL;
    if (n > 5 && strcmp(name + n - 5, ".json") == 0) {
        CC_TRY(cc_json_read_as(name, parse_root, &r, e));
    } else {
        CC_TRY(find(name, &i, e));
        CC_TRY(cc_recipe_parse(builtin[i].begin, cc_embedded_size(&builtin[i]), &r, e));
        name = cc_recipe_names[i];
    }
    r->name = cc_strdup(name, e);
    if (r->name == NULL) {
        cc_recipe_free(r);
        return CC_FAIL;
    }
    *out = r;
    return CC_OK;
}

/* Opens the base of a command, which has the same command, and no base itself. */
static int open_base(const struct cc_recipe *r, struct cc_recipe_command *c, struct cc_error *e)
{
    c->recipe = r;
    if (c->base == NULL)
        return CC_OK;
    CC_TRY(open_alone(c->base, &c->from, e));
    if (strcmp(c->from->item[0].command, c->command) != 0 || c->from->item[0].base != NULL)
        return cc_fail(e, "%s: the base %s is of '%s', or has a base itself", r->name, c->base,
                       c->from->item[0].command);
    return CC_OK;
}

int cc_recipe_open(const char *name, struct cc_recipe **out, struct cc_error *e)
{
    struct cc_recipe *r;
    CC_TRY(open_alone(name, &r, e));
    for (size_t i = 0; i < r->count; i++) {
        const int status = open_base(r, &r->item[i], e);
        if (status != CC_OK) {
            cc_recipe_free(r);
            return status;
        }
    }
    *out = r;
    return CC_OK;
}
