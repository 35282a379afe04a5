/* Hosts of a cluster with the number of ranks that each has room for: of a list as --hosts has it,
 * of a hostfile, and of an allocation of Slurm. */
#ifndef CC_NETSIM_LAUNCH_SLOTS_H
#define CC_NETSIM_LAUNCH_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/error.h"

enum { CC_SLOTS_HOSTS = 65536 }; /* hosts at most; as many slots on each */

struct cc_slots {
    char *name;
    int count; /* ranks; 0: not known */
};

struct cc_slot_list {
    struct cc_slots *host;
    size_t count, capacity;
};

/* All append to *list, which is to be freed with cc_slots_free, also after an error. A host that
 * appears again has the sum of its slots. Names are those of cc_host_list_check. */

/* "a:8,b": a host without a number has one slot; "a:*" and "a:auto" are not known. */
int cc_slots_of_list(const char *text, struct cc_slot_list *list, struct cc_error *e);

/* The lines "a slots=8" of a hostfile, which cc_hostfile_check has passed. A host without slots is
 * not known. Files with anything else (hosts that are left out, users, relative names) give an
 * empty list: mpirun reads them alone. */
int cc_slots_of_hostfile(const char *text, size_t length, struct cc_slot_list *list,
                         struct cc_error *e);

/* SLURM_JOB_NODELIST, as "n[01-03,7],login", and SLURM_TASKS_PER_NODE, as "4(x2),3", which may be
 * NULL: then slots are not known. */
int cc_slots_of_slurm(const char *nodes, const char *tasks, struct cc_slot_list *list,
                      struct cc_error *e);
/* The same of this program's allocation; an empty list outside of one. Messages name the variable.
 */
int cc_slots_of_allocation(struct cc_slot_list *list, struct cc_error *e);

void cc_slots_free(struct cc_slot_list *list);

/* The ranks of a job: so many workers on each of the first hosts, and a server on each of others.
 */
struct cc_slots_wanted {
    int hosts, per_host, servers;
};

/* Writes the hosts of a job as mpirun's --host takes them, "a:8,b:8", or the names alone: the first
 * ones with room, in their order. CC_FAIL, naming a host that is too small, if there are not
 * enough. */
int cc_slots_put(const struct cc_slot_list *list, const struct cc_slots_wanted *wanted,
                 bool with_counts, FILE *f, struct cc_error *e);

#endif
