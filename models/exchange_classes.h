/* The two classes of links of a cluster, as the formulas of rounds see them; on clusters with one
 * class every worker is a host of its own. For models/exchange_*.c only. docs/model.md, "Links of
 * two classes". */
#ifndef CC_MODELS_EXCHANGE_CLASSES_H
#define CC_MODELS_EXCHANGE_CLASSES_H

#include "models/exchange_formula.h"

/* One class: its messages' latency and seconds a byte, on a link that is shared, and on the port of
 * one worker that they also take. */
struct cc_class {
    double alpha, shared_byte_s, own_byte_s;
};

struct cc_link_costs {
    struct cc_class inner, outer;
    double inner_overhead;
};

struct cc_link_costs cc_classes_of(const struct cc_exchange_case *k);

/* The host or the site of a worker. */
int cc_group_of(const struct cc_cluster *c, int rank);
/* The worker's port to other hosts, among those of all hosts; between sites, its site. */
int cc_port_of(const struct cc_cluster *c, int rank);

/* The rank that `rank` sends to; -1: it sends nothing. Of extras, they to their members. */
int cc_partner(const struct cc_cluster *c, enum cc_pairs pairs, int distance, int rank);

/* A stage's time in one class, of `shared` bytes on the shared link and `own` on a worker's port.
 */
double cc_class_s(const struct cc_class *class, double shared, double own);

#endif
