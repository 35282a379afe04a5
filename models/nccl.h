/* The time that NCCL expects of its collectives, by the constants by which it chooses an algorithm
 * and a protocol: src/graph/tuning.cc of version CC_NCCL_VERSION. docs/model.md, "NCCL". */
#ifndef CC_MODELS_NCCL_H
#define CC_MODELS_NCCL_H

#include <stdbool.h>

#include "core/exchange.h"

#define CC_NCCL_VERSION "2.20.3"

enum cc_nccl_algorithm { CC_NCCL_RING, CC_NCCL_TREE, CC_NCCL_NVLS, CC_NCCL_ALGORITHMS };
enum cc_nccl_protocol { CC_NCCL_LL, CC_NCCL_LL128, CC_NCCL_SIMPLE, CC_NCCL_PROTOCOLS };
enum cc_nccl_generation { CC_NCCL_VOLTA, CC_NCCL_AMPERE, CC_NCCL_HOPPER, CC_NCCL_GENERATIONS };
extern const char *const cc_nccl_algorithm_names[];  /* as NCCL_ALGO; ends with NULL, as the next */
extern const char *const cc_nccl_protocol_names[];   /* as NCCL_PROTO */
extern const char *const cc_nccl_generation_names[]; /* of accelerators: v100, a100, h100 */

/* The cluster: rates in bytes per second, of one direction. */
struct cc_nccl_cluster {
    int ranks, hosts; /* hosts <= ranks; a host has ranks / hosts */
    enum cc_nccl_generation generation;
    bool nvlink;         /* inside hosts; otherwise PCIe */
    bool switched;       /* NVLink goes through switches that add (NVLink SHARP) */
    double intra, inter; /* what an accelerator sends inside its host, and a host to others */
    double
        inter_latency_s; /* a hop between hosts takes at least this; NCCL's constants otherwise */
    double intra_scale;  /* of NCCL's constants for a hop inside a host; 0: 1 */
};

/* The rate of NVLink that NCCL counts with: of a line rate, the share that is left for data. */
double cc_nccl_nvlink_rate(enum cc_nccl_generation g, double line_rate);

struct cc_nccl_choice {
    enum cc_nccl_algorithm algorithm;
    enum cc_nccl_protocol protocol;
    double latency_s, transfer_s; /* their sum is the time */
};

/* The time of an operation by one algorithm and protocol; false if NCCL does not take it there.
 * `bytes`: of the whole array, as nccl-tests counts the size: what each rank contributes to an
 * allreduce or a reduce-scatter, or has after an all-gather. ranks >= 2. */
bool cc_nccl_time(const struct cc_nccl_cluster *c, enum cc_operation op, enum cc_nccl_algorithm a,
                  enum cc_nccl_protocol p, double bytes, struct cc_nccl_choice *out);
/* The one of the least time. */
struct cc_nccl_choice cc_nccl_choose(const struct cc_nccl_cluster *c, enum cc_operation op,
                                     double bytes);

/* Bus bandwidth by algorithm bandwidth, as nccl-tests defines it: 2 (P - 1) / P for an allreduce,
 * (P - 1) / P otherwise. */
double cc_nccl_bus_factor(enum cc_operation op, int ranks);

/* The most that ring and tree can reach in bus bandwidth: the slower of both rates. */
double cc_nccl_link_rate(const struct cc_nccl_cluster *c);

#endif
