/* NCCL's own model. An algorithm and a protocol have a latency, which follows from the hops on the
 * longest path, and a bandwidth of the array ("algorithm bandwidth"):
 *
 *   time = latency + bytes / bandwidth
 *
 *   ring   P ranks on n hosts, s steps: 2 (P - 1) for an allreduce, P - 1 otherwise, h of them
 *          between hosts (2 n, or n - 1; 0 on one host):
 *          base + (s - h) intra + h inter;  bandwidth  P / s  of the bus
 *   tree   base + 2 ((P/n - 1) intra + floor(lg n) inter);  1/2 of 0.92 of the bus
 *   NVLS   intra alone, on one host with switches that add;  5/6 of the bus
 *
 * The bus is the slower of the links inside and between hosts. NCCL finds it, and into how many
 * channels it is cut, by searching the machine's topology; here the rates are given, and a channel
 * carries up to CHANNEL_BYTES_S, the most that LL128 carries in one. Protocols: LL sends a flag
 * with every 4 bytes, LL128 one with every 120, and Simple synchronizes by chunks. Constants are
 * those of hosts with Intel processors. */
#include "models/nccl.h"

#include <math.h>
#include <stddef.h>

const char *const cc_nccl_algorithm_names[] = {"ring", "tree", "NVLS", NULL};
const char *const cc_nccl_protocol_names[] = {"LL", "LL128", "Simple", NULL};
const char *const cc_nccl_generation_names[] = {"v100", "a100", "h100", NULL};

#define US 1e-6
#define GB 1e9

#define CHANNEL_BYTES_S (20 * GB)

/* Base latencies, and hops over NVLink, PCIe and the network, by algorithm and protocol. */
enum { NVLINK, PCIE, NETWORK, LINKS };
static const double base_us[CC_NCCL_ALGORITHMS][CC_NCCL_PROTOCOLS] = {
    {6.6, 14.0, 8.4}, {6.8, 14.0, 0}, {0, 0, 0}};
static const double hop_us[LINKS][CC_NCCL_ALGORITHMS][CC_NCCL_PROTOCOLS] = {
    {{0.6, 1.9, 3.4}, {0.6, 1.25, 28}, {0, 0, 23}},
    {{1.0, 2.5, 5.7}, {1.0, 1.9, 28}, {0, 0, 0}},
    {{2.7, 4.0, 14.0}, {5.0, 8.5, 28}, {0, 0, 18}}};

/* A ring's steps inside hosts also wait for the host to post those between them; Simple posts three
 * times. */
#define POST_US 1.0

/* Most GB/s, on one host by generation, on two, on more: of LL in all, and of LL128 and of trees by
 * channel. */
enum { ONE_HOST, TWO_HOSTS, MORE_HOSTS, SPREADS };
static const double most_ll[CC_NCCL_GENERATIONS][SPREADS] = {
    {39.0, 39.0, 20.4}, {87.7, 39.0, 20.4}, {87.7, 39.0, 20.4}};
static const double most_ring_ll128[CC_NCCL_GENERATIONS] = {20.0, 20.0, 36.7};
static const double most_tree_ll128[CC_NCCL_GENERATIONS][SPREADS] = {
    {20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}};
static const double most_tree[CC_NCCL_GENERATIONS][SPREADS] = {
    {26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}};

/* NCCL counts 20 and 20.6 GB/s of NVLink's line rate of 25 as data. */
static const double nvlink_share[CC_NCCL_GENERATIONS] = {20.0 / 25, 20.0 / 25, 20.6 / 25};

/* Shares of a tree's bandwidth for arrays of 64 bytes and more, 128, 256, ... */
enum { TREE_SIZES = 23 };
static const double tree_share[CC_NCCL_PROTOCOLS][TREE_SIZES] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}};

double cc_nccl_nvlink_rate(enum cc_nccl_generation g, double line_rate)
{
    return nvlink_share[g] * line_rate;
}

double cc_nccl_bus_factor(enum cc_operation op, int ranks)
{
    const double part = (ranks - 1.0) / ranks;
    return op == CC_ALLREDUCE ? 2 * part : part;
}

double cc_nccl_link_rate(const struct cc_nccl_cluster *c)
{
    if (c->hosts == 1)
        return c->intra;
    return c->hosts == c->ranks ? c->inter : fmin(c->intra, c->inter);
}

static int spread_of(const struct cc_nccl_cluster *c)
{
    return c->hosts == 1 ? ONE_HOST : c->hosts == 2 ? TWO_HOSTS : MORE_HOSTS;
}

static double channels_of(const struct cc_nccl_cluster *c)
{
    return fmax(2, ceil(cc_nccl_link_rate(c) / CHANNEL_BYTES_S));
}

static double steps_of(const struct cc_nccl_cluster *c, enum cc_operation op)
{
    return op == CC_ALLREDUCE ? 2.0 * (c->ranks - 1) : c->ranks - 1.0;
}

/* Whether NCCL takes the combination at all. */
static bool is_taken(const struct cc_nccl_cluster *c, enum cc_operation op,
                     enum cc_nccl_algorithm a, enum cc_nccl_protocol p)
{
    if (p == CC_NCCL_LL128 && !c->nvlink && c->ranks > c->hosts)
        return false; /* its stores of 128 bytes stay whole over NVLink only */
    if (a == CC_NCCL_TREE)
        return op == CC_ALLREDUCE;
    if (a == CC_NCCL_NVLS)
        return p == CC_NCCL_SIMPLE && c->switched && c->nvlink && c->hosts == 1 && c->ranks > 2 &&
               c->generation == CC_NCCL_HOPPER;
    return true;
}

/* Bus bandwidth that is left of the links', in bytes per second. */
static double bus_bandwidth(const struct cc_nccl_cluster *c, enum cc_operation op,
                            enum cc_nccl_algorithm a, enum cc_nccl_protocol p)
{
    const int at = spread_of(c);
    const double channels = channels_of(c), ll = GB * most_ll[c->generation][at];
    const bool alone = c->ranks < 2 * c->hosts; /* it sends and receives over one interface */
    double bus = cc_nccl_link_rate(c);
    if (a == CC_NCCL_NVLS)
        return bus;
    if (a == CC_NCCL_RING && p == CC_NCCL_LL128)
        return fmin(bus * (alone ? 0.7 : 0.92), channels * GB * most_ring_ll128[c->generation]);
    if (a == CC_NCCL_RING)
        return p == CC_NCCL_SIMPLE ? bus
                                   : fmin(ll, bus / (c->hosts > 1 || op == CC_ALLREDUCE ? 4 : 3));
    bus = fmin(0.92 * bus, channels * GB * most_tree[c->generation][at]);
    if (p == CC_NCCL_LL)
        return fmin(bus / 3.8, ll);
    if (p == CC_NCCL_LL128)
        return fmin(bus * (c->hosts == 1 ? 7.0 / 9 : 120.0 / 128),
                    channels * GB * most_tree_ll128[c->generation][at]);
    return bus;
}

static double latency(const struct cc_nccl_cluster *c, enum cc_operation op,
                      enum cc_nccl_algorithm a, enum cc_nccl_protocol p)
{
    const double base = US * base_us[a][p];
    const double inter = fmax(US * hop_us[NETWORK][a][p], c->inter_latency_s);
    const double local = (double)c->ranks / c->hosts - 1;
    double intra = US * hop_us[c->nvlink ? NVLINK : PCIE][a][p];
    intra *= c->intra_scale > 0 ? c->intra_scale : 1;
    if (a == CC_NCCL_NVLS)
        return intra;
    if (a == CC_NCCL_TREE)
        return base + 2 * (local * intra + floor(log2(c->hosts)) * inter);
    const double all = steps_of(c, op);
    double between = op == CC_ALLREDUCE ? 2.0 * c->hosts : c->hosts - 1.0;
    between = c->hosts == 1 ? 0 : fmin(all, between);
    if (c->hosts > 1)
        intra = fmax(intra, US * POST_US * (p == CC_NCCL_SIMPLE ? 3 : 1));
    return base + (all - between) * intra + between * inter;
}

bool cc_nccl_time(const struct cc_nccl_cluster *c, enum cc_operation op, enum cc_nccl_algorithm a,
                  enum cc_nccl_protocol p, double bytes, struct cc_nccl_choice *out)
{
    if (!is_taken(c, op, a, p))
        return false;
    const double of_bus = a == CC_NCCL_RING   ? c->ranks / steps_of(c, op)
                          : a == CC_NCCL_TREE ? 0.5
                                              : 5.0 / 6;
    double bandwidth = of_bus * bus_bandwidth(c, op, a, p);
    double lat = latency(c, op, a, p);
    const double size = floor(log2(fmax(64, bytes) / 64));
    if (a == CC_NCCL_TREE && size < TREE_SIZES)
        bandwidth *= tree_share[p][(int)size];
    /* A ring's latency rises once its chunks have more than a line. */
    if (a == CC_NCCL_RING && p == CC_NCCL_SIMPLE && op == CC_ALLREDUCE && c->hosts > 1 &&
        bytes / (channels_of(c) * c->ranks) >= 64)
        lat *= c->generation == CC_NCCL_VOLTA ? 1.9 : 1.4;
    *out = (struct cc_nccl_choice){
        .algorithm = a, .protocol = p, .latency_s = lat, .transfer_s = bytes / bandwidth};
    return true;
}

struct cc_nccl_choice cc_nccl_choose(const struct cc_nccl_cluster *c, enum cc_operation op,
                                     double bytes)
{
    struct cc_nccl_choice best = {.latency_s = INFINITY}, one;
    for (int a = 0; a < CC_NCCL_ALGORITHMS; a++)
        for (int p = 0; p < CC_NCCL_PROTOCOLS; p++)
            if (cc_nccl_time(c, op, (enum cc_nccl_algorithm)a, (enum cc_nccl_protocol)p, bytes,
                             &one) &&
                one.latency_s + one.transfer_s < best.latency_s + best.transfer_s)
                best = one;
    return best;
}
