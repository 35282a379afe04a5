/* Shared by the files of the lab: its init and the caller's side (lab.c), the network that init
 * builds (lab_net.c), the agent on the hosts (lab_enter.c), and shaping (shape.c). */
#ifndef CC_NETSIM_LAB_LAB_IMPL_H
#define CC_NETSIM_LAB_LAB_IMPL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/error.h"
#include "netsim/lab/lab.h"

#define CC_LAB_NETNS "/run/netns" /* directory of the hosts' namespaces, as of `ip netns` */

/* Sends or receives all `size` bytes; false if the other side has closed the socket. */
bool cc_lab_move(int socket, bool sends, void *bytes, size_t size);

/* Writes the message for `what` ("namespaces", "mounts", ...) that the system has refused with
 * errno `error`: names the setting that forbids it. */
void cc_lab_explain_refusal(struct cc_error *e, const char *what, int error);

/* Sets PATH and TMPDIR of a process in the lab. */
int cc_lab_environment(struct cc_error *e);

/* Runs a program, looked up in PATH, in this network namespace or in the one of the file `netns`,
 * with `in` as its stdin, and waits for its end. out[size] receives the beginning of what it
 * prints; *status is as from wait(), with exit code 127 if it cannot be run. */
int cc_lab_tool(char *const argv[], const char *netns, int in, char *out, size_t size, int *status,
                struct cc_error *e);

/* Writes text to an existing file, as in /proc. */
int cc_lab_write(const char *path, const char *text, struct cc_error *e);

/* Builds hosts, bridges and shaped links. The caller is in the lab's own network namespace, and is
 * again on return. */
int cc_lab_net(const struct cc_lab_config *config, struct cc_error *e);

/* A host's address on the control network, and the lab's own there. */
#define CC_LAB_ADDRESS 32
void cc_lab_control_address(int host, char out[CC_LAB_ADDRESS]);
#define CC_LAB_SELF "10.78.255.254"

#endif
