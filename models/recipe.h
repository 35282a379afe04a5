/* Recipes: set-ups as files. A recipe has commands with their options, the columns to show,
 * published figures to set beside, and words; docs/recipes.md describes the JSON. The reader checks
 * its form, and knows neither commands nor schemes: cmd/recipe checks those, before any work. */
#ifndef CC_MODELS_RECIPE_H
#define CC_MODELS_RECIPE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

#define CC_RECIPE_SCHEMA "commcomp-recipe/1"

/* PS-Sync, D-Sync and Pipe-SGD; and the links and data sets of SparCML's Table 2. */
enum { CC_RECIPE_FRAMEWORKS = 3, CC_RECIPE_LINKS = 4, CC_RECIPE_DATA = 2 };

struct cc_recipe;

/* A command of a recipe, with the members that its base hands on. The lists and objects are in the
 * form that docs/recipes.md gives them; NULL: there is none. */
struct cc_recipe_command {
    const char *command; /* "trace info" */
    const char *name;    /* the name of its result's file: by default the command */
    const char *title, *base, *because;
    const cJSON *options, *operands, *each, *open, *refuse, *columns, *keys, *computed, *published,
        *compare, *crossings, *calls, *computing, *frameworks, *passes, *notes;
    const struct cc_recipe *recipe; /* the recipe that the command belongs to */
    struct cc_recipe *from;         /* its base, or NULL */
};

struct cc_recipe {
    cJSON *json;                /* owns the texts */
    char *name;                 /* "sim/thesis-5.1", or the path; NULL: parsed from a text */
    const char *about, *source; /* source: NULL if not known */
    double takes_s;             /* how long it takes, NaN if not known, */
    char takes[64];             /* and that as a text: "about 40 min", or "" */
    struct cc_recipe_command *item;
    size_t count;
};

/* Whether a recipe of this name is a file's. */
bool cc_recipe_is_file(const char *name);

/* A built-in recipe by its name, of which the folder may be left out where no two have the rest; or
 * a .json file. An unknown name is CC_USAGE, with the nearest. */
int cc_recipe_open(const char *name, struct cc_recipe **out, struct cc_error *e);

/* From JSON text, strictly; bases are opened, too. Any bytes either parse or give an error. Free
 * with cc_recipe_free. */
int cc_recipe_parse(const char *text, size_t length, struct cc_recipe **out, struct cc_error *e);
void cc_recipe_free(struct cc_recipe *r);

/* The last of the command's bases, which has none itself; the command, if it has no base. */
const struct cc_recipe_command *cc_recipe_root(const struct cc_recipe_command *c);

/* The member of an object, and its text; NULL if it is not there. The first element of a list or
 * object; NULL if it is empty, or NULL itself. */
static inline const cJSON *cc_recipe_get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static inline const char *cc_recipe_text(const cJSON *object, const char *key)
{
    const cJSON *item = cc_recipe_get(object, key);
    return item != NULL ? item->valuestring : NULL;
}

static inline const cJSON *cc_recipe_first(const cJSON *list)
{
    return list != NULL ? list->child : NULL;
}

/* The names of the built-in recipes, with their folders, ending with NULL. */
extern const char *const cc_recipe_names[];

#endif
