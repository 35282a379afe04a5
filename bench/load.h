/* How busy the machine is: whether times that are measured now hold for a quiet one. */
#ifndef CC_BENCH_LOAD_H
#define CC_BENCH_LOAD_H

/* The share of the last ten seconds in which a process that could run waited for a processor
 * (/proc/pressure/cpu). Where the kernel does not tell, the share of the processes that are running
 * or waiting now and have no processor (/proc/loadavg). 0 if neither can be read. */
double cc_load_waiting(void);

/* The load now, from 0 (quiet) to 1: the share of waiting, or the part of its best that the copy
 * loop lacks, whichever is larger. *best_copy is the best so far (0: not known), and is updated. */
double cc_load_now(double *best_copy);

/* Above this load a machine is busy. */
#define CC_LOAD_BUSY 0.25

#endif
