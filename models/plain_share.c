#include "models/plain_share.h"

#include <math.h>

static double time_of(struct cc_busy encoded, struct cc_busy plain, double share)
{
    return fmax((1 - share) * encoded.codec_s + share * plain.codec_s,
                (1 - share) * encoded.comm_s + share * plain.comm_s);
}

/* The time is the larger of two straight lines over the share: it is least at an end, or where they
 * cross. */
struct cc_plain_share cc_plain_share_best(struct cc_busy encoded, struct cc_busy plain)
{
    const double codec_falls = encoded.codec_s - plain.codec_s;
    const double comm_rises = plain.comm_s - encoded.comm_s;
    const double crossing = (encoded.codec_s - encoded.comm_s) / (codec_falls + comm_rises);
    const double candidate[] = {0, 1, crossing};
    struct cc_plain_share best = {.share = 0, .time_s = time_of(encoded, plain, 0)};
    for (int i = 1; i < 3; i++) {
        const double t = time_of(encoded, plain, candidate[i]);
        if (candidate[i] >= 0 && candidate[i] <= 1 && t < best.time_s)
            best = (struct cc_plain_share){.share = candidate[i], .time_s = t};
    }
    return best;
}
