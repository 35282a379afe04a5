/* The reader of recipes. Each member of an object has one of a few forms; a table says which. */
#include "models/recipe.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/embed.h"
#include "core/format/json.h"
#include "core/memory.h"
#include "core/nearest.h"
#include "core/units.h"
#include "models/recipe_base.h"
#include "models/recipe_list.h"

/* --- the recipes that the program carries --- */

#define EMBED(folder, symbol, name)                                                                \
    CC_EMBED(cc_recipe_##folder##_##symbol, "recipes/" #folder "/" name ".json");
#define NAME(folder, symbol, name)  #folder "/" name,
#define BYTES(folder, symbol, name) CC_EMBEDDED(cc_recipe_##folder##_##symbol),
CC_RECIPES(EMBED)
const char *const cc_recipe_names[] = {CC_RECIPES(NAME) NULL};
static const struct cc_embedded builtin[] = {CC_RECIPES(BYTES)};

/* --- forms of values --- */

struct form;

struct member {
    const char *key;
    const struct form *form;
    bool needed;
    size_t at; /* a command's members: their place in struct cc_recipe_command */
};

/* A form that a value must have: one of these is set. */
struct form {
    int (*check)(const cJSON *item, struct cc_error *e); /* CC_FAIL; does not name the member */
    const struct form *elements;                         /* a list of at least one */
    const struct form *values;    /* an object whose keys the recipe chooses */
    int count;                    /* elements or values; 0: any number */
    const struct member *members; /* an object of these, the last of which has no key */
};

static int check(const struct form *f, const cJSON *item, struct cc_error *e);
static const struct form a_text;

/* Each member has its form, none is unknown, and those that are needed are there. */
static int check_members(const cJSON *object, const struct member *members, struct cc_error *e)
{
    enum { MOST = 24 };
    const char *keys[MOST + 1] = {NULL};
    for (size_t i = 0; members[i].key != NULL; i++) {
        assert(i < MOST);
        keys[i] = members[i].key;
    }
    CC_TRY(cc_json_keys(object, keys, e));
    for (const struct member *m = members; m->key != NULL; m++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, m->key);
        if (item == NULL && m->needed)
            return cc_fail(e, "\"%s\" is missing", m->key);
        if (item != NULL)
            CC_TRY_IN(check(m->form, item, e), e, "\"%s\"", m->key);
    }
    return CC_OK;
}

static int check_values(const cJSON *object, const struct form *f, struct cc_error *e)
{
    for (const cJSON *c = object->child; c != NULL; c = c->next) {
        if (c->string[0] == '\0')
            return cc_fail(e, "a member has no name");
        CC_TRY_IN(check(f, c, e), e, "\"%.60s\"", c->string);
    }
    return CC_OK;
}

static int check_elements(const cJSON *list, const struct form *f, struct cc_error *e)
{
    size_t i = 0;
    if (!cJSON_IsArray(list) || list->child == NULL)
        return cc_fail(e, "not a list of at least one element");
    for (const cJSON *c = list->child; c != NULL; c = c->next, i++)
        CC_TRY_IN(check(f, c, e), e, "element %zu", i);
    return CC_OK;
}

static int check(const struct form *f, const cJSON *item, struct cc_error *e)
{
    if (f->check != NULL)
        return f->check(item, e);
    if (f->count > 0 && cJSON_GetArraySize(item) != f->count)
        return cc_fail(e, "not %s of %d%s", f->elements != NULL ? "a list" : "an object", f->count,
                       f->elements == &a_text ? " texts" : "");
    if (f->elements != NULL)
        return check_elements(item, f->elements, e);
    if (!cJSON_IsObject(item))
        return cc_fail(e, "not an object");
    return f->values != NULL ? check_values(item, f->values, e)
                             : check_members(item, f->members, e);
}

static int check_text(const cJSON *item, struct cc_error *e)
{
    if (!cJSON_IsString(item) || item->valuestring[0] == '\0')
        return cc_fail(e, "not a text");
    for (const char *p = item->valuestring; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return cc_fail(e, "a text with control characters");
    return CC_OK;
}

/* How long something takes: seconds, or a text such as "40 min". Sets *out, unless it is NULL. */
static int parse_time(const cJSON *item, double *out, struct cc_error *e)
{
    double s = cJSON_IsNumber(item) ? item->valuedouble : 0;
    if (!cJSON_IsNumber(item))
        CC_TRY(check_text(item, e));
    if ((cJSON_IsString(item) && cc_parse_time(item->valuestring, &s, e) != CC_OK) || !(s > 0) ||
        !isfinite(s))
        return cc_fail(e, "neither seconds above 0 nor a time such as \"40 min\"");
    if (out != NULL)
        *out = s;
    return CC_OK;
}

static int check_time(const cJSON *item, struct cc_error *e)
{
    return parse_time(item, NULL, e);
}

static int check_row_value(const cJSON *item, struct cc_error *e)
{
    return cJSON_IsString(item) || cJSON_IsNumber(item) || cJSON_IsBool(item)
               ? CC_OK
               : cc_fail(e, "neither a text, a number nor a truth value");
}

static int check_plain(const cJSON *item, struct cc_error *e)
{
    return cJSON_IsNumber(item) ? CC_OK : check_text(item, e);
}

/* clang-format off */
#define NEEDS(name, of) {.key = name, .form = &(of), .needed = true}
#define MAY(name, of)   {.key = name, .form = &(of)}
#define INTO(name, of)  {.key = #name, .form = &(of), .at = offsetof(struct cc_recipe_command, name)}
/* clang-format on */
#define MEMBERS(...) ((const struct member[]){__VA_ARGS__, {.key = NULL}})

static const struct form a_text = {.check = check_text}, texts = {.elements = &a_text};
/* A row of a result, or a condition on one. */
static const struct form a_value = {.check = check_row_value}, a_row = {.values = &a_value};
static const struct form a_time = {.check = check_time};
static const struct form a_plain_value = {.check = check_plain};
static const struct form plain_values = {.elements = &a_plain_value};

/* --- options --- */

/* {"table": "3lc-table1", "constant": "overlap"} */
static const struct form a_constant = {
    .members = MEMBERS(NEEDS("table", a_text), NEEDS("constant", a_text))};
/* {"optimizer": ["sgd", "nesterov"]} */
static const struct form words_of_options = {.values = &texts};
static const struct form a_conditional = {
    .members = MEMBERS(NEEDS("value", a_plain_value), NEEDS("if", words_of_options))};

/* The argument of an option: a text or number, true for an option without one, a constant of a
 * published table, or a value under a condition. */
static int check_argument(const cJSON *item, struct cc_error *e)
{
    if (cJSON_IsObject(item))
        return check(cc_recipe_get(item, "table") != NULL ? &a_constant : &a_conditional, item, e);
    return cJSON_IsTrue(item) || cJSON_IsNumber(item) || check_text(item, e) == CC_OK
               ? CC_OK
               : cc_fail(e, "neither a text, a number, true, a constant of a table nor a value "
                            "with a condition");
}

static const struct form an_option_of_each = {.members = MEMBERS(NEEDS("each", plain_values))};

/* An argument, or a list of them: {"each": [...]} takes one of the command line apart, too. */
static int check_option(const cJSON *item, struct cc_error *e)
{
    if (cc_recipe_get(item, "each") != NULL)
        return check(&an_option_of_each, item, e);
    return cJSON_IsArray(item) ? check(&plain_values, item, e) : check_argument(item, e);
}

/* In a case, null takes the option away. */
static int check_option_of_case(const cJSON *item, struct cc_error *e)
{
    return cJSON_IsNull(item) ? CC_OK : check_argument(item, e);
}

static const struct form an_option = {.check = check_option}, options = {.values = &an_option};
static const struct form an_option_of_case = {.check = check_option_of_case};
static const struct form options_of_case = {.values = &an_option_of_case};
static const struct form a_case = {
    .members = MEMBERS(NEEDS("options", options_of_case), MAY("row", a_row))};
static const struct form an_axis = {.elements = &a_case}, axes = {.elements = &an_axis};
static const struct form a_refusal = {
    .members = MEMBERS(NEEDS("options", texts), NEEDS("because", a_text))};
static const struct form refusals = {.elements = &a_refusal};

/* --- columns and figures --- */

static const struct form a_column_of = {
    .members = MEMBERS(NEEDS("key", a_text), NEEDS("where", a_row), MAY("same", texts))};

/* A factor: a column, a number, or the column of another row. */
static int check_factor(const cJSON *item, struct cc_error *e)
{
    return cJSON_IsObject(item) ? check(&a_column_of, item, e) : check_plain(item, e);
}

static const struct form a_factor = {.check = check_factor}, factors = {.elements = &a_factor};
static const struct form a_computation = {
    .members = MEMBERS(NEEDS("key", a_text), NEEDS("product", factors), MAY("over", factors),
                       MAY("where", a_row))};
static const struct form computations = {.elements = &a_computation};

/* Figures that stand here, with their source, or those of a published table. */
static const struct form figures_here = {
    .members = MEMBERS(NEEDS("where", a_row), NEEDS("set", a_row), NEEDS("source", a_text))};
static const struct form figures_of_table = {
    .members = MEMBERS(NEEDS("table", a_text), NEEDS("quantity", a_text), NEEDS("key", a_text),
                       MAY("where", a_row))};

static int check_figure(const cJSON *item, struct cc_error *e)
{
    return check(cc_recipe_get(item, "table") != NULL ? &figures_of_table : &figures_here, item, e);
}

static const struct form a_figure = {.check = check_figure}, figures = {.elements = &a_figure};
static const struct form a_comparison = {
    .members = MEMBERS(NEEDS("key", a_text), NEEDS("paper", a_text), NEEDS("error", a_text),
                       NEEDS("note", a_text))};

/* Two words of a column, of which the first may be ahead. */
static const struct form a_pair = {.elements = &a_text, .count = 2}, pairs = {.elements = &a_pair};
static const struct form words_of_keys = {.values = &a_text};
static const struct form crossings = {
    .members = MEMBERS(NEEDS("along", a_text), NEEDS("of", a_text), NEEDS("key", a_text),
                       NEEDS("pairs", pairs), NEEDS("by", words_of_keys))};

static int check_formulas(const cJSON *item, struct cc_error *e)
{
    return cJSON_IsString(item) && strcmp(item->valuestring, "sparcml") == 0
               ? CC_OK
               : cc_fail(e, "not \"sparcml\", whose formulas there are");
}

static const struct form formulas_of_calls = {.check = check_formulas};
/* A framework of Pipe-SGD's figures: its exchange, steps and schemes. */
static const struct form a_framework = {
    .members = MEMBERS(NEEDS("name", a_text), NEEDS("exchange", a_text), NEEDS("mode", a_text),
                       NEEDS("scheme", a_text), MAY("sync_share", a_plain_value))};
static const struct form frameworks = {.elements = &a_framework, .count = CC_RECIPE_FRAMEWORKS};
/* SparCML's Table 2: its links and its data sets in the order of their numbers in the rows. */
static const struct form links_of_passes = {.elements = &a_text, .count = CC_RECIPE_LINKS};
static int check_seconds(const cJSON *item, struct cc_error *e)
{
    return cJSON_IsNumber(item) && item->valuedouble > 0 && item->valuedouble < 1e9
               ? CC_OK
               : cc_fail(e, "not a time in seconds");
}

/* Nanoseconds a value, or a constant of the table. */
static int check_codec_time(const cJSON *item, struct cc_error *e)
{
    return cJSON_IsString(item) ||
                   (cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 1e9)
               ? CC_OK
               : cc_fail(e, "neither nanoseconds a value nor a constant's name");
}

static const struct form seconds = {.check = check_seconds};
static const struct form a_codec_time = {.check = check_codec_time};
static const struct form codec_of_passes = {.elements = &a_codec_time, .count = CC_RECIPE_LINKS};
static const struct form data_of_passes = {.values = &a_text, .count = CC_RECIPE_DATA};
static const struct form passes = {
    .members = MEMBERS(NEEDS("links", links_of_passes), NEEDS("data", data_of_passes),
                       NEEDS("descent", a_text), MAY("dense", links_of_passes),
                       MAY("codec", codec_of_passes), MAY("computing", seconds))};
/* The time of computing, as a share of that of fp32's traffic. */
static const struct form a_computing = {
    .members = MEMBERS(NEEDS("table", a_text), NEEDS("constant", a_text), MAY("bw", a_text),
                       MAY("hidden", a_text))};

/* --- commands --- */

static const struct form a_command = {
    .members = MEMBERS(
        {"command", &a_text, true, offsetof(struct cc_recipe_command, command)}, INTO(name, a_text),
        INTO(title, a_text), INTO(base, a_text), INTO(because, a_text), INTO(options, options),
        INTO(operands, texts), INTO(each, axes), INTO(open, texts), INTO(refuse, refusals),
        INTO(columns, texts), INTO(keys, texts), INTO(computed, computations),
        INTO(published, figures), INTO(compare, a_comparison), INTO(crossings, crossings),
        INTO(calls, formulas_of_calls), INTO(computing, a_computing), INTO(frameworks, frameworks),
        INTO(passes, passes), INTO(notes, texts))};
static const struct form commands = {.elements = &a_command};
static const struct form a_recipe = {
    .members = MEMBERS(NEEDS("schema", a_text), NEEDS("about", a_text), MAY("source", a_text),
                       MAY("takes", a_time), MAY("time", a_text), NEEDS("commands", commands))};

/* A command whose form was checked. */
static struct cc_recipe_command command_of(const cJSON *c)
{
    struct cc_recipe_command out = {.command = NULL};
    for (const struct member *m = a_command.members; m->key != NULL; m++) {
        void *to = (char *)&out + m->at;
        if (m->form == &a_text)
            *(const char **)to = cc_recipe_text(c, m->key);
        else
            *(const cJSON **)to = cc_recipe_get(c, m->key);
    }
    out.name = out.name != NULL ? out.name : out.command;
    return out;
}

/* --- a recipe --- */

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

/* Sets the time that the recipe takes, or takes it from "time", a text that older recipes have.
 */
static void print_takes(struct cc_recipe *r)
{
    static const struct {
        double from_s, unit_s;
        const char *unit;
    } units[] = {{2 * 3600, 3600, "h"}, {90, 60, "min"}, {0, 1, "s"}};
    struct cc_error unused = {""};
    const cJSON *item = cc_recipe_get(r->json, "takes");
    const char *time = cc_recipe_text(r->json, "time");
    size_t i = 0;
    r->takes_s = NAN;
    (void)snprintf(r->takes, sizeof r->takes, "%s", time != NULL ? time : "");
    if (item == NULL || parse_time(item, &r->takes_s, &unused) != CC_OK)
        return;
    while (r->takes_s < units[i].from_s)
        i++;
    (void)snprintf(r->takes, sizeof r->takes, "about %.3g %s", r->takes_s / units[i].unit_s,
                   units[i].unit);
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

/* --- bases --- */

enum { MOST_BASES = 7 }; /* in a row */

/* A recipe that is read, and those whose base it is. */
struct reading {
    const char *name; /* NULL: a text */
    const struct reading *of;
    struct cc_recipe *recipe;
};

static int open_base(const char *name, const struct reading *of, struct cc_recipe **out,
                     struct cc_error *e);

static cJSON *commands_of(const struct cc_recipe *r)
{
    return cJSON_GetObjectItemCaseSensitive(r->json, "commands");
}

/* Opens the base of a command, if it has one, and gives the command its members. The command's form
 * is not checked yet. */
static int follow_base(cJSON *command, const struct reading *at, struct cc_recipe **from,
                       struct cc_error *e)
{
    const char *base = cJSON_GetStringValue(cc_recipe_get(command, "base"));
    const char *own = cJSON_GetStringValue(cc_recipe_get(command, "command"));
    if (base == NULL || own == NULL)
        return CC_OK;
    CC_TRY_IN(open_base(base, at, from, e), e, "its base");
    if (strcmp((*from)->item[0].command, own) != 0)
        return cc_fail(e, "its base %s is of '%s', and the command is '%s'", base,
                       (*from)->item[0].command, own);
    return cc_recipe_fill(command, commands_of(*from)->child, e);
}

/* Gives the commands of a recipe the members of their bases. A base keeps its first command alone,
 * the only one that is used. */
static int follow_bases(struct cc_recipe *r, const struct reading *at, struct cc_error *e)
{
    cJSON *list = commands_of(r);
    if (!cJSON_IsArray(list) || list->child == NULL)
        return CC_OK;
    while (at->of != NULL && list->child->next != NULL)
        cJSON_Delete(cJSON_DetachItemViaPointer(list, list->child->next));
    CC_TRY(CC_NEW(r->item, (size_t)cJSON_GetArraySize(list), e));
    for (cJSON *c = list->child; c != NULL; c = c->next) {
        const size_t i = r->count++;
        CC_TRY_IN(follow_base(c, at, &r->item[i].from, e), e, "command %zu", i);
    }
    return CC_OK;
}

/* --- reading --- */

static int parse_root(const cJSON *root, void *out, struct cc_error *e)
{
    struct reading *reading = out;
    CC_TRY(cc_json_schema(root, CC_RECIPE_SCHEMA, "see docs/recipes.md", e));
    struct cc_recipe *r;
    CC_TRY(CC_NEW(r, 1, e));
    int status = CC_OK;
    size_t i = 0;
    r->json = cJSON_Duplicate(root, 1);
    if (r->json == NULL)
        CC_TRY_OUT(cc_fail(e, "out of memory"));
    CC_TRY_OUT(follow_bases(r, reading, e));
    CC_TRY_OUT(check(&a_recipe, r->json, e));
    r->about = cc_recipe_text(r->json, "about");
    r->source = cc_recipe_text(r->json, "source");
    if (r->source == NULL && r->item[0].from != NULL)
        r->source = r->item[0].from->source;
    print_takes(r);
    for (const cJSON *c = commands_of(r)->child; c != NULL; c = c->next, i++) {
        struct cc_recipe *from = r->item[i].from;
        r->item[i] = command_of(c);
        r->item[i].recipe = r;
        r->item[i].from = from;
    }
    CC_TRY_OUT(check_names(r, e));
    reading->recipe = r;
    r = NULL;
out:
    cc_recipe_free(r);
    return status;
}

int cc_recipe_parse(const char *text, size_t length, struct cc_recipe **out, struct cc_error *e)
{
    struct reading reading = {.name = NULL};
    CC_TRY(cc_json_parse_as(text, length, parse_root, &reading, e));
    *out = reading.recipe;
    return CC_OK;
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

bool cc_recipe_is_file(const char *name)
{
    const size_t n = strlen(name);
    return n > 5 && strcmp(name + n - 5, ".json") == 0;
}

/* Opens a recipe that is the base of another one, or of none. */
static int open_as(const char *name, const struct reading *of, struct cc_recipe **out,
                   struct cc_error *e)
{
    size_t i = 0;
    struct reading reading = {.name = name, .of = of};
    if (cc_recipe_is_file(name)) {
        CC_TRY(cc_json_read_as(name, parse_root, &reading, e));
    } else {
        CC_TRY(find(name, &i, e));
        reading.name = cc_recipe_names[i];
        CC_TRY(cc_json_parse_as(builtin[i].begin, cc_embedded_size(&builtin[i]), parse_root,
                                &reading, e));
    }
    const int status = cc_text(&reading.recipe->name, e, "%s", reading.name);
    if (status == CC_OK)
        *out = reading.recipe;
    else
        cc_recipe_free(reading.recipe);
    return status;
}

static int open_base(const char *name, const struct reading *of, struct cc_recipe **out,
                     struct cc_error *e)
{
    int bases = 0;
    for (const struct reading *r = of; r != NULL; r = r->of, bases++) {
        if (r->name == NULL && cc_recipe_is_file(name))
            return cc_fail(e, "%s: the base of a text is no file", name);
        if (r->name != NULL && strcmp(r->name, name) == 0)
            return cc_fail(e, "%s is a base of itself: take a \"base\" away", name);
    }
    if (bases > MOST_BASES)
        return cc_fail(e, "more than %d recipes are bases of each other", MOST_BASES);
    return open_as(name, of, out, e);
}

int cc_recipe_open(const char *name, struct cc_recipe **out, struct cc_error *e)
{
    return open_as(name, NULL, out, e);
}

const struct cc_recipe_command *cc_recipe_root(const struct cc_recipe_command *c)
{
    while (c->from != NULL)
        c = &c->from->item[0];
    return c;
}
