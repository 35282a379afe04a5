/* Utilization over time: how busy workers and their hosts' links are in each part of a timeline's
 * row. docs/timeline.md, "Utilization over time". */
#ifndef CC_RESULTS_TIMELINE_USE_H
#define CC_RESULTS_TIMELINE_USE_H

#include <stddef.h>

/* Equal parts of a row's time. More show single messages, fewer only the mean of steps. */
enum { CC_TIMELINE_BINS = 100 };

/* A row's utilization in each bin; the rates are those of a host that has workers. */
struct cc_timeline_use {
    const char *name, *scheme;          /* in the document */
    size_t workers, hosts;              /* hosts that have workers */
    size_t transfers;                   /* also those within a host */
    double end_s;                       /* when the last event ends; bins divide the time from 0 */
    double up_bps, down_bps;            /* of a link; 0: not known */
    double computing[CC_TIMELINE_BINS]; /* the mean share of the workers' time, 0 to 1 */
    double sent_bps[CC_TIMELINE_BINS], received_bps[CC_TIMELINE_BINS];
};

/* Adds an amount to the bins of a row that ends at end_s, in equal parts a second from `from` to
 * `to`, 0 <= from <= to <= end_s; all of it to one bin if they are the same. */
void cc_timeline_spread(double amount, double from, double to, double end_s,
                        double bin[CC_TIMELINE_BINS]);

/* Turns sums over the bins into what the members say: seconds of computing of all workers into
 * their mean share, and bits over all links into the rate of one. */
void cc_timeline_divide(struct cc_timeline_use *row);

#endif
