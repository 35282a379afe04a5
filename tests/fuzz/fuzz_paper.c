#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "models/paper/paper.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A fit tries 200 starts, so large tables run only without one. */
static void solve(struct cc_paper *p)
{
    struct cc_error e = {""};
    if (p->fitted > 0 && p->rows * p->columns > 4)
        return;
    if (cc_paper_solve(p, &e) != CC_OK) {
        if (e.text[0] == '\0')
            abort(); /* a refusal without a reason */
        return;
    }
    for (size_t r = 0; r < p->rows; r++)
        for (size_t c = 0; c < p->columns; c++)
            if (isnan(p->row[r].figure[c]) != isnan(p->row[r].model[c]))
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cc_paper *p;
    struct cc_error e = {""};
    if (cc_paper_parse((const char *)data, size, &p, &e) != CC_OK) {
        if (e.text[0] == '\0')
            abort(); /* a refusal without a reason */
        return 0;
    }
    size_t fitted = 0;
    for (size_t i = 0; i < p->constants; i++)
        fitted += p->constant[i].origin == CC_FITTED;
    if (p->rows == 0 || p->columns == 0 || fitted != p->fitted)
        abort();
    for (size_t r = 0; r < p->rows; r++)
        for (size_t c = 0; c < p->columns; c++)
            if (!isnan(p->row[r].figure[c]) && !(p->row[r].figure[c] > 0))
                abort();
    solve(p);
    cc_paper_free(p);
    return 0;
}
