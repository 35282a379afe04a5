#include "models/recipe_base.h"

#include <stdbool.h>
#include <string.h>

#include "models/recipe.h"

static int add_copy(cJSON *own, const cJSON *member, struct cc_error *e)
{
    cJSON *copy = cJSON_Duplicate(member, 1);
    if (copy != NULL && cJSON_AddItemToObject(own, member->string, copy))
        return CC_OK;
    cJSON_Delete(copy);
    return cc_fail(e, "out of memory");
}

/* Puts the notes of a base before the command's own. */
static int fill_notes(cJSON *own, const cJSON *base, struct cc_error *e)
{
    for (int i = cJSON_GetArraySize(base); i-- > 0;) {
        cJSON *copy = cJSON_Duplicate(cJSON_GetArrayItem(base, i), 1);
        if (copy == NULL || !cJSON_InsertItemInArray(own, 0, copy)) {
            cJSON_Delete(copy);
            return cc_fail(e, "out of memory");
        }
    }
    return CC_OK;
}

/* Gives an object the members of its base that it lacks, and takes away those that are null. */
static int fill(cJSON *own, const cJSON *base, struct cc_error *e)
{
    for (const cJSON *b = cc_recipe_first(base); b != NULL; b = b->next)
        if (cc_recipe_get(own, b->string) == NULL)
            CC_TRY(add_copy(own, b, e));
    for (cJSON *next, *c = own->child; c != NULL; c = next) {
        next = c->next;
        if (!cJSON_IsNull(c))
            continue;
        if (cc_recipe_get(base, c->string) == NULL)
            return cc_fail(e, "\"%.60s\" is null, and its base has none to take away", c->string);
        cJSON_Delete(cJSON_DetachItemViaPointer(own, c));
    }
    return CC_OK;
}

/* Gives a command without cases those of its base, less the options that it has itself. */
static int fill_cases(cJSON *own, const cJSON *base, struct cc_error *e)
{
    const cJSON *cases = cc_recipe_get(base, "each");
    if (cases == NULL || cc_recipe_get(own, "each") != NULL)
        return CC_OK;
    CC_TRY(add_copy(own, cases, e));
    for (const cJSON *axis = cc_recipe_get(own, "each")->child; axis != NULL; axis = axis->next)
        for (const cJSON *one = axis->child; one != NULL; one = one->next)
            for (const cJSON *o = cc_recipe_first(cc_recipe_get(own, "options")); o != NULL;
                 o = o->next)
                cJSON_DeleteItemFromObjectCaseSensitive(
                    cJSON_GetObjectItemCaseSensitive(one, "options"), o->string);
    return CC_OK;
}

int cc_recipe_fill(cJSON *own, const cJSON *base, struct cc_error *e)
{
    const bool named = cc_recipe_get(own, "name") != NULL;
    CC_TRY(fill_cases(own, base, e));
    for (cJSON *c = own->child; c != NULL; c = c->next) {
        const cJSON *b = cc_recipe_get(base, c->string);
        if (cJSON_IsObject(c))
            CC_TRY_IN(fill(c, cJSON_IsObject(b) ? b : NULL, e), e, "\"%.60s\"", c->string);
        else if (cJSON_IsArray(c) && strcmp(c->string, "notes") == 0)
            CC_TRY(fill_notes(c, b, e));
    }
    CC_TRY(fill(own, base, e));
    if (!named)
        cJSON_DeleteItemFromObjectCaseSensitive(own, "name");
    return CC_OK;
}
