/* switch: all hosts on one switch that is never the limit, as the formulas assume.
 *
 *      host-0   host-1   ...   host-N
 *        |        |              |
 *      ==+========+==============+==
 *
 * Latency: half of --latency on the sender's link, half on the receiver's; a message of n bits
 * takes L + n/B.
 * Sharing: messages from one host, or to one host, share its link in that direction.
 * Ranks: servers evenly among the workers (cc_rank_map_row); their order has no effect.
 * XML: the network is one star (routing "Cluster"). */
#include "netsim/platform/platform_xml.h"

static void write_switch(const struct cc_platform_xml *x)
{
    cc_platform_xml_hosts(x, 0, NULL);
}

const struct cc_topology_info cc_topology_switch = {
    .routing = "Cluster",
    .write = write_switch,
};
