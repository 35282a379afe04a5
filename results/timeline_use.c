#include "results/timeline_use.h"

#include <math.h>

void cc_timeline_spread(double amount, double from, double to, double end_s,
                        double bin[CC_TIMELINE_BINS])
{
    const double width = end_s / CC_TIMELINE_BINS;
    const size_t last = CC_TIMELINE_BINS - 1, first = (size_t)fmin(from / width, (double)last);
    if (to <= from) {
        bin[first] += amount;
        return;
    }
    for (size_t i = first; i <= last && (double)i * width < to; i++) {
        const double begins = fmax(from, (double)i * width),
                     ends = i == last ? to : fmin(to, (double)(i + 1) * width);
        bin[i] += amount * fmax(0, ends - begins) / (to - from);
    }
}

void cc_timeline_divide(struct cc_timeline_use *row)
{
    const double width = row->end_s / CC_TIMELINE_BINS;
    for (size_t i = 0; i < CC_TIMELINE_BINS; i++) {
        row->computing[i] /= (double)row->workers * width;
        row->sent_bps[i] /= (double)row->hosts * width;
        row->received_bps[i] /= (double)row->hosts * width;
    }
}
