#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "models/net.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cc_net *net;
    struct cc_error e = {""};
    if (cc_net_parse((const char *)data, size, &net, &e) != CC_OK) {
        if (e.text[0] == '\0')
            abort(); /* a refusal without a reason */
        return 0;
    }
    double sum = 0;
    size_t values = 0;
    for (size_t i = 0; i < net->count; i++) {
        sum += net->share[i];
        values += net->tensors[i].shape.n;
    }
    if (!(fabs(sum - 1) < 1e-6) || values != net->values || net->count == 0)
        abort();
    cc_net_free(net);
    return 0;
}
