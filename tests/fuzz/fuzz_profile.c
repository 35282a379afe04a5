#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "models/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Points are in order, and interpolated values lie between theirs. */
static void check_codec(const struct cc_profile_codec *c)
{
    if (c->points == 0)
        abort();
    for (size_t i = 0; i < c->points; i++) {
        const struct cc_profile_point *p = &c->point[i];
        struct cc_profile_point at = cc_profile_at(c, p->values);
        if (at.bits_per_value != p->bits_per_value || (i > 0 && p->values <= p[-1].values))
            abort();
        at = cc_profile_at(c, p->values * 1.5);
        if (!(at.encode_ns >= 0) || !(at.decode_ns >= 0) || !(at.decode_add_ns >= 0))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cc_profile p;
    struct cc_error e = {""};
    if (cc_profile_parse((const char *)data, size, &p, &e) != CC_OK) {
        if (e.text[0] == '\0')
            abort(); /* a refusal without a reason */
        return 0;
    }
    if (p.codecs == 0)
        abort();
    for (size_t i = 0; i < p.codecs; i++) {
        if (cc_profile_find(&p, p.codec[i].scheme) != &p.codec[i])
            abort();
        check_codec(&p.codec[i]);
    }
    cc_profile_free(&p);
    return 0;
}
