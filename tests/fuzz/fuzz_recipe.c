#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "models/recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cc_recipe *r;
    struct cc_error e = {""};
    if (cc_recipe_parse((const char *)data, size, &r, &e) != CC_OK) {
        if (e.text[0] == '\0')
            abort(); /* a refusal without a reason */
        return 0;
    }
    if (r->count == 0 || r->about[0] == '\0')
        abort();
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(r->item[i].name, r->item[k].name) == 0)
                abort();
    cc_recipe_free(r);
    return 0;
}
