#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "models/paper/inventory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cc_inventory *v;
    struct cc_error e = {""};
    size_t tables = 0;
    if (cc_inventory_parse((const char *)data, size, &v, &e) != CC_OK) {
        if (e.text[0] == '\0')
            abort(); /* a refusal without a reason */
        return 0;
    }
    for (size_t i = 0; i < v->items; i++) {
        tables += v->item[i].table != NULL;
        for (size_t k = 0; k < v->item[i].figures; k++)
            if (isnan(v->item[i].figure[k].ours))
                abort();
    }
    /* Tables take a fit each: one at most. */
    if (tables < 2 && cc_inventory_solve(v, &e) != CC_OK && e.text[0] == '\0')
        abort();
    cc_inventory_free(v);
    return 0;
}
