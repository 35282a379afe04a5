#include "tests/mpi/serial_tree.h"

/* The root of the nodes between low and high, both left out, of which there are those below n: the
 * middle, or, if that is none, the root of those before it; -1: none. */
static int top(int low, int high, int n)
{
    const int middle = (low + high) / 2;
    if (high - low < 2)
        return -1;
    return middle < n ? middle : top(low, middle, n);
}

/* Finds a node between two others, and sets the two around it. */
static void around(int node, int n, int *low, int *high)
{
    *low = 0;
    for (*high = 1; *high < n;)
        *high *= 2;
    for (int at = top(*low, *high, n); at != node; at = top(*low, *high, n))
        *(node < at ? high : low) = at;
    while ((*low + *high) / 2 != node) /* nodes that are not there lie above */
        *high = (*low + *high) / 2;
}

/* Hosts as the second tree has them. */
static int turned(int host, int hosts)
{
    return hosts % 2 == 0 ? hosts - 1 - host : (host + hosts - 1) % hosts;
}

static int turned_back(int number, int hosts)
{
    return hosts % 2 == 0 ? hosts - 1 - number : (number + 1) % hosts;
}

int serial_tree_root(int workers, int per_host, int which)
{
    const int hosts = workers / per_host;
    return which == 0 ? 0 : turned_back(0, hosts) * per_host + per_host - 1;
}

int serial_tree_children(int workers, int per_host, int which, int rank, int child[3])
{
    const int hosts = workers / per_host, host = rank / per_host, local = rank % per_host;
    const int node = which == 0 ? host : turned(host, hosts);
    const int head = which == 0 ? 0 : per_host - 1, next = which == 0 ? local + 1 : local - 1;
    int count = 0, low, high, below[2] = {-1, -1};
    if (next >= 0 && next < per_host)
        child[count++] = host * per_host + next;
    if (local != head)
        return count;
    if (node == 0) {
        for (high = 1; high < hosts;)
            high *= 2;
        below[0] = top(0, high, hosts);
    } else {
        around(node, hosts, &low, &high);
        below[0] = top(low, node, hosts);
        below[1] = top(node, high, hosts);
    }
    for (int i = 0; i < 2; i++)
        if (below[i] >= 0)
            child[count++] =
                (which == 0 ? below[i] : turned_back(below[i], hosts)) * per_host + head;
    return count;
}
