#include "models/keys.h"

#include <stddef.h>
#include <string.h>

#include "core/param.h"

int cc_keys_check(const cJSON *object, const char *const *allowed, struct cc_error *e)
{
    for (const cJSON *c = object->child; c != NULL; c = c->next) {
        size_t i = 0;
        while (allowed[i] != NULL && strcmp(allowed[i], c->string) != 0)
            i++;
        if (allowed[i] != NULL)
            continue;
        const char *near = cc_nearest(c->string, allowed);
        return near != NULL
                   ? cc_fail(e, "unknown key \"%.60s\": did you mean \"%s\"?", c->string, near)
                   : cc_fail(e, "unknown key \"%.60s\"", c->string);
    }
    return CC_OK;
}

int cc_keys_text(const cJSON *object, const char *key, const char **out, struct cc_error *e)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    *out = NULL;
    if (item == NULL)
        return CC_OK;
    if (!cJSON_IsString(item))
        return cc_fail(e, "\"%s\" is not a string", key);
    *out = item->valuestring;
    return CC_OK;
}

int cc_keys_need_text(const cJSON *object, const char *key, const char **out, struct cc_error *e)
{
    const char *text;
    if (cc_keys_text(object, key, &text, e) != CC_OK)
        return CC_FAIL;
    if (text == NULL || text[0] == '\0')
        return cc_fail(e, "\"%s\" is missing or empty", key);
    *out = text;
    return CC_OK;
}

int cc_keys_amount(const cJSON *object, const char *key, double *out, struct cc_error *e)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (item == NULL)
        return CC_OK;
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > 1e30)
        return cc_fail(e, "\"%s\" is not a number from 0 to 1e30", key);
    *out = item->valuedouble;
    return CC_OK;
}
