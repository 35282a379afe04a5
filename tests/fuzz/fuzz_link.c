/* Calibration files: any bytes either parse to a link that makes sense or are refused with a
 * reason.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "models/link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool makes_sense(const struct cc_link *l)
{
    return l->bw_bps > 0 && l->latency_s >= 0 && l->overhead >= 0 && l->message_bytes >= 0 &&
           l->burst_bytes >= 0 && l->reduce_byte_s >= 0 && l->name[0] != '\0' &&
           memchr(l->name, '\0', sizeof l->name) != NULL && cc_link_up_bps(l) >= l->bw_bps &&
           cc_link_down_bps(l) >= l->bw_bps;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cc_calibrated_links l;
    struct cc_error e = {""};
    if (cc_link_parse_json((const char *)data, size, &l, &e) != CC_OK) {
        if (e.text[0] == '\0')
            abort(); /* a refusal without a reason */
        return 0;
    }
    if (!makes_sense(&l.between) || (l.inside.bw_bps != 0 && !makes_sense(&l.inside)))
        abort();
    return 0;
}
