/* The members that a command of a recipe has from its base (docs/recipes.md, "base"). */
#ifndef CC_MODELS_RECIPE_BASE_H
#define CC_MODELS_RECIPE_BASE_H

#include <cjson/cJSON.h>

#include "core/error.h"

/* Gives a command, whose form is not checked yet, the members of its base, whose form is: all that
 * it lacks but the name, and of its objects each member. Null takes a member of the base away, and
 * is an error without one; notes come after those of the base; options that the command has itself
 * are taken out of the cases of the base. */
int cc_recipe_fill(cJSON *own, const cJSON *base, struct cc_error *e);

#endif
