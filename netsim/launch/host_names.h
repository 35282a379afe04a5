/* Names of hosts, as --hosts and --hostfile give them to mpirun, which passes them to ssh: nothing
 * that ssh takes as an option may be among them. */
#ifndef CC_NETSIM_LAUNCH_HOST_NAMES_H
#define CC_NETSIM_LAUNCH_HOST_NAMES_H

#include <stddef.h>

#include "core/error.h"

/* Checks a list with commas, "a,b:2": names of letters, digits, '.', '-' and '_' that begin with
 * neither '-' nor '.', or addresses in brackets; with "user@" before it or ":slots" behind it. */
int cc_host_list_check(const char *list, struct cc_error *e);

/* Checks the first word of every line of a hostfile in the same way, and that no other word begins
 * with '-'. "#" and "//" begin a comment. `name` is the file's in messages. */
int cc_hostfile_check(const char *name, const char *text, size_t length, struct cc_error *e);

#endif
