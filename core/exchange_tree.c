/* Binary trees over hosts by the bits of their numbers, and chains inside hosts.
 *
 * Host h, of n, with lowest set bit b: its children are h - b/2 and h + b/2, the latter with the
 * largest half for which it is below n; host 0 is the root, with one child. */
#include "core/exchange_tree.h"

/* The host's number in a tree, and back: the second tree has them in the opposite order, or, if
 * there are an odd number, moved by one. */
static int number_of(int hosts, int tree, int host)
{
    if (tree == 0)
        return host;
    return hosts % 2 == 0 ? hosts - 1 - host : (host + hosts - 1) % hosts;
}

static int host_of(int hosts, int tree, int number)
{
    if (tree == 0)
        return number;
    return hosts % 2 == 0 ? hosts - 1 - number : (number + 1) % hosts;
}

static int parent_of(int hosts, int number)
{
    const int bit = number & -number, above = (number ^ bit) | (bit << 1);
    return number == 0 ? -1 : above < hosts ? above : number ^ bit;
}

/* Writes the children of a host's number, at most two; returns how many. */
static int children_of(int hosts, int number, int child[2])
{
    int half = number & -number, count = 0;
    if (number == 0) {
        for (half = 1; half < hosts;)
            half *= 2;
        half /= 2;
        if (half > 0)
            child[count++] = half;
        return count;
    }
    half /= 2;
    if (half > 0)
        child[count++] = number - half;
    while (half > 0 && number + half >= hosts)
        half /= 2;
    if (half > 0)
        child[count++] = number + half;
    return count;
}

/* The hosts of the subtree below a number, itself among them: all numbers within its lowest bit. */
static int below(int hosts, int number)
{
    const int bit = number & -number, end = number + bit < hosts ? number + bit : hosts;
    return number == 0 ? hosts : end - (number - bit + 1);
}

struct cc_tree_place cc_tree_place(int workers, int per_host, int tree, int rank)
{
    const int hosts = workers / per_host, host = rank / per_host, local = rank % per_host;
    const int head = tree == 0 ? 0 : per_host - 1, up = tree == 0 ? -1 : 1;
    const int number = number_of(hosts, tree, host);
    /* Ranks of the host from this one to the end of its chain. */
    const int chain = tree == 0 ? per_host - local : local + 1;
    struct cc_tree_place p = {.parent = rank + up, .workers = chain};
    int child[2];
    if (chain > 1) {
        p.child[p.children] = rank - up;
        p.child_workers[p.children++] = chain - 1;
    }
    if (local != head)
        return p;
    const int above = parent_of(hosts, number);
    p.parent = above < 0 ? -1 : host_of(hosts, tree, above) * per_host + head;
    const int count = children_of(hosts, number, child);
    for (int i = 0; i < count; i++) {
        p.child[p.children] = host_of(hosts, tree, child[i]) * per_host + head;
        p.child_workers[p.children++] = below(hosts, child[i]) * per_host;
    }
    p.workers = below(hosts, number) * per_host;
    return p;
}
