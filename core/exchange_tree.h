/* The two trees of the exchange `tree` over workers on hosts: who is whose parent. Both its code
 * and its formula read them; core/schedule_tree.c has the algorithm and its source. */
#ifndef CC_CORE_EXCHANGE_TREE_H
#define CC_CORE_EXCHANGE_TREE_H

/* A worker's place in one of the trees. */
struct cc_tree_place {
    int parent; /* -1: the root */
    int children, child[3];
    int workers;          /* in the sum that it sends up: its own and those below it */
    int child_workers[3]; /* the same of each child */
};

/* The place of worker `rank` in tree 0 or 1 of `workers` workers, at least 1, `per_host` on each
 * host, which divides them. */
struct cc_tree_place cc_tree_place(int workers, int per_host, int tree, int rank);

#endif
