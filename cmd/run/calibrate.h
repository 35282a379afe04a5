/* commcomp calibrate: what its files share. calibrate.c has the options, the rows and the notes;
 * calibrate_ping.c measures one kind of messages after the other. */
#ifndef CC_CMD_RUN_CALIBRATE_H
#define CC_CMD_RUN_CALIBRATE_H

#include "cmd/cli/progress.h"
#include "cmd/input/hosts.h"
#include "models/calibrate.h"
#include "netsim/lab/lab.h"

/* Sizes are measured in several passes: a disturbance of the machine then affects a part of every
 * size's samples, which medians tolerate, and not all samples of one size. */
enum { CC_CALIBRATE_PASSES = 4 };
enum { CC_CALIBRATE_PEERS = 63 }; /* at most */

/* The kinds of messages that are measured one after the other. */
enum cc_ping_class {
    CC_PING_BETWEEN, /* to and fro between two hosts */
    CC_PING_INSIDE,  /* to and fro between two workers of a host */
    CC_PING_OUT,     /* from one host to several at once */
    CC_PING_IN,      /* from several hosts to one at once */
    CC_PING_CLASSES
};

/* The times of one size. */
struct cc_ping_series {
    double *seconds;
    size_t samples, capacity;
};

/* The messages of one class. */
struct cc_ping_run {
    enum cc_job_way way;
    int ranks, per_host;
    uint64_t repeats;          /* of each size, in all passes */
    double expected_bps;       /* estimated rate of payload, for choosing sizes; 0: to be probed; */
    double expected_latency_s; /* and latency; 0: short */
    double burst_bytes;        /* of payload; < 0: to be found */
    size_t most_bytes;         /* the largest message; 0: as cc_calibrate_sizes chooses */
    double latency_s;          /* known, so that no small messages are measured; 0: not known */

    size_t size[CC_CALIBRATE_MOST]; /* of a message */
    struct cc_ping_series series[CC_CALIBRATE_MOST];
    size_t sizes, reported;                                 /* reported: in all passes */
    double send_s[CC_CALIBRATE_PASSES * CC_CALIBRATE_MOST]; /* the small sizes', in all passes */
    size_t sends;
    struct cc_calibration found; /* of all bytes that rank 0 sends or receives at a time */
    double message_s;
};

/* The ranks' place, and what they report beside the times. */
struct cc_ping_place {
    const struct cc_hosts *hosts;
    struct cc_lab *lab; /* NULL: a cluster */
    struct cc_progress *progress;
    char *mpi; /* [mpi_size]: the MPI library's name */
    size_t mpi_size;
};

/* Ranks that rank 0 sends to, or receives from. */
static inline double cc_ping_others(const struct cc_ping_run *p)
{
    return p->way == CC_WAY_PAIR ? 1 : p->ranks - 1;
}

/* Measures the class and fits the link; when interrupted, *p has no sizes. Release *p with
 * cc_ping_free, also after an error. */
int cc_ping_measure(struct cc_ping_run *p, const struct cc_ping_place *at, struct cc_error *e);
void cc_ping_free(struct cc_ping_run *p);

#endif
