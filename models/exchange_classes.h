/* The classes of links of a cluster, as the formulas of rounds see them; on clusters with one class
 * every worker is a host of its own. For models/exchange_*.c only. docs/model.md, "Links of two
 * classes". */
#ifndef CC_MODELS_EXCHANGE_CLASSES_H
#define CC_MODELS_EXCHANGE_CLASSES_H

#include "models/exchange_formula.h"

/* Inside a host, between two of one site, and between sites. */
enum cc_level { CC_INSIDE, CC_BETWEEN, CC_FAR, CC_LEVELS };

/* One class: its messages' latency, and seconds a byte on the ports that they take, of a worker
 * inside hosts and otherwise of a host, and on the link between two sites. */
struct cc_class {
    double alpha, port_byte_s, wan_byte_s;
};

struct cc_link_costs {
    struct cc_class level[CC_LEVELS];
    double inner_overhead;
};

struct cc_link_costs cc_classes_of(const struct cc_exchange_case *k);

/* The site of a worker, and the level of a message between two. */
int cc_site_of(const struct cc_cluster *c, int rank);
enum cc_level cc_level_of(const struct cc_cluster *c, int from, int to);
/* The worker's port to other hosts, among those of all hosts. */
int cc_port_of(const struct cc_cluster *c, int rank);
/* The link from one worker's site to another's, among those of all pairs. */
int cc_wan_of(const struct cc_cluster *c, int from, int to);
enum { CC_CLUSTER_WANS = CC_CLUSTER_NICS * CC_CLUSTER_NICS };

/* The rank that `rank` sends to; -1: it sends nothing. Of extras, they to their members. */
int cc_partner(const struct cc_cluster *c, enum cc_pairs pairs, int distance, int rank);

/* A stage's time in one class, of `port` bytes on the busiest port and `wan` on the busiest link
 * between sites. */
double cc_class_s(const struct cc_class *class, double port, double wan);

#endif
