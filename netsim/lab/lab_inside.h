/* What the files of the lab share: the caller's side (lab.c), the init inside (lab_init.c) and what
 * it builds (lab_net.c). */
#ifndef CC_NETSIM_LAB_LAB_INSIDE_H
#define CC_NETSIM_LAB_LAB_INSIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/error.h"
#include "netsim/lab/lab.h"

#define CC_LAB_NETNS "/run/netns"

/* Between the caller and init, over a socket: a request, then its words; an answer to each. */
enum { CC_LAB_ENDS = 3 };
enum cc_lab_op { CC_LAB_OPEN, CC_LAB_SPAWN, CC_LAB_POLL, CC_LAB_KILL, CC_LAB_TRAFFIC };

struct cc_lab_request {
    enum cc_lab_op op;
    int id;         /* POLL, KILL: of the child */
    int signal;     /* KILL */
    uint32_t words; /* SPAWN: so many, of so many bytes together, each with its NUL; what becomes
                       stdin, stdout and stderr comes with them */
    uint32_t bytes;
};

struct cc_lab_answer {
    int status; /* enum cc_status */
    struct cc_error e;
    int id;           /* SPAWN */
    bool ended;       /* POLL */
    int wait_status;  /* POLL */
    uint64_t traffic; /* TRAFFIC */
};

/* What init is born with. */
struct cc_lab_init_args {
    const struct cc_lab_config *config; /* nothing left to defaults */
    const char *program;                /* that understands `lab-enter` */
    bool user;                          /* in a user namespace, as root of which appears ... */
    uid_t uid;                          /* ... this one outside */
    gid_t gid;
    int socket;
};

/* Builds the lab, serves the socket until it closes, and never returns. Called in the first process
 * of the new namespaces. */
_Noreturn void cc_lab_init(const struct cc_lab_init_args *init_args);

/* Sends or receives all of it, going on after signals; false at the end of the other side. */
bool cc_lab_send(int socket, const void *bytes, size_t size);
bool cc_lab_receive(int socket, void *bytes, size_t size);

/* A message for a user namespace that was refused (errno `error`): which setting forbids it. */
void cc_lab_forbidden(struct cc_error *e, const char *what, int error);

/* Writes text into a file of /proc or of the lab. */
int cc_lab_write(const char *path, const char *text, struct cc_error *e);

/* The hosts, bridges and shaped links; the caller is in the lab's own net namespace, and is so
 * again afterwards. */
int cc_lab_net(const struct cc_lab_config *config, struct cc_error *e);
/* A host's control address, and the lab's own. */
#define CC_LAB_ADDRESS 24
void cc_lab_control_address(int host, char out[CC_LAB_ADDRESS]);
#define CC_LAB_SELF "10.78.255.254"
/* Bytes through the shaped links so far. */
int cc_lab_net_traffic(uint64_t *bytes, struct cc_error *e);

#endif
