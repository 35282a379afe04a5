/* Calibration files: any bytes either parse to a link that makes sense or are refused with a
 * reason.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "models/link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cc_link l;
    struct cc_error e = {""};
    if (cc_link_parse_json((const char *)data, size, &l, &e) != CC_OK) {
        if (e.text[0] == '\0')
            abort(); /* a refusal without a reason */
        return 0;
    }
    if (!(l.bw_bps > 0) || !(l.latency_s >= 0) || !(l.overhead >= 0) || !(l.message_bytes >= 0) ||
        !(l.burst_bytes >= 0) || !(l.reduce_byte_s >= 0) || l.name[0] == '\0' ||
        memchr(l.name, '\0', sizeof l.name) == NULL)
        abort();
    return 0;
}
