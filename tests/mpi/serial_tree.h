/* The two trees of `tree`, by halves of a range: an independent description of what
 * core/exchange_tree.c has by bits. */
#ifndef CC_TESTS_MPI_SERIAL_TREE_H
#define CC_TESTS_MPI_SERIAL_TREE_H

/* The ranks whose sums `rank` adds in tree 0 or 1, in that order; returns how many. */
int serial_tree_children(int workers, int per_host, int which, int rank, int child[3]);
int serial_tree_root(int workers, int per_host, int which);

#endif
