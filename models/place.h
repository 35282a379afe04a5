/* Placement: which server keeps which tensor. The thesis on the modularized parameter server,
 * section 2.3.1 and its Algorithm 2. */
#ifndef CC_MODELS_PLACE_H
#define CC_MODELS_PLACE_H

#include <stddef.h>

enum cc_placement {
    CC_SPLIT,       /* every tensor is cut evenly over all servers */
    CC_ROUND_ROBIN, /* tensor i to server i mod M */
    CC_LPT          /* the largest first, each to the least loaded server */
};
extern const char *const cc_placement_names[]; /* ends with NULL */

/* Sets order[0..count) to the indices sorted by size, largest first, equal ones in their order. */
void cc_by_size(const double *size, size_t count, size_t *order);

enum { CC_EVERY_SERVER = -1, CC_MOST_SERVERS = 4096 };

/* Places tensors: sets server[i] to 0 .. servers-1, or to CC_EVERY_SERVER under CC_SPLIT, and
 * load[s] to the sum of sizes on server s. `order` is scratch of `count` elements. 1 <= servers
 * <= CC_MOST_SERVERS. Ties go to the first tensor and the first server. */
void cc_place(enum cc_placement placement, const double *size, size_t count, int servers,
              int *server, double *load, size_t *order);

/* The busiest server's load over the mean load: 1 when even; 1 for no load. */
double cc_imbalance(const double *load, int servers);

#endif
