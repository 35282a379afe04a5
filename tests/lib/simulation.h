/* A small simulation for the tests of cc_smpirun: two workers and a server, one tensor, one row. */
#ifndef CC_TESTS_LIB_SIMULATION_H
#define CC_TESTS_LIB_SIMULATION_H

#include <stdbool.h>
#include <stddef.h>

#include "netsim/launch/smpirun.h"

struct simulation {
    /* Inputs; zeros are the defaults. */
    enum cc_fidelity fidelity;
    double message_s;     /* for which a sender is busy with each message */
    const char *smpirun;  /* NULL: the system's */
    const char *xml;      /* the platform; NULL: three_hosts */
    size_t hosts, values; /* 0: 3, 1000 */
    bool without_data;
    const char *paje;
    int fail_at;       /* on_report fails at this report, counted from 1; 0: never */
    double stop_after; /* seconds after which on_tick stops; 0: never */

    /* Results. */
    char kinds[64];     /* a letter for each report: H, B, S, R, Z, M, D, E */
    double second[8];   /* the first sample of each SIZE report */
    size_t ticks;       /* calls of on_tick */
    double began;       /* on cc_now's clock */
    size_t block_bytes; /* the job's, as cc_smpirun sets them */
    bool rendezvous;
};

/* Three hosts h0, h1, h2, with 1 GB/s and 10 us between any two. */
extern const char three_hosts[];

/* Runs the simulation with the program `ranks`, as cc_smpirun. */
int simulate(struct simulation *s, const char *ranks, struct cc_error *e);

#endif
