/* Systems: what common training systems choose by default for the exchange, the step mode, the
 * messages and the servers. This is the one table of them; docs/model.md has it with its sources.
 */
#ifndef CC_MODELS_SYSTEM_H
#define CC_MODELS_SYSTEM_H

#include <stdbool.h>

#include "core/collective.h"
#include "models/memory.h"
#include "models/predict.h"

struct cc_system {
    const char *name;  /* as in --system and in the column */
    const char *title; /* a few words for the first line of a table and for --help */
    enum cc_exchange exchange;
    enum cc_step_mode mode;
    enum cc_pulls pulls;
    /* Messages, as in struct cc_timing. */
    double fuse_bytes, first_fuse_bytes;
    bool fuse_gradients;
    bool in_turn;
    const char *messages;   /* fuse_bytes in words: "buckets of 25 MiB"; NULL: no limit */
    bool server_per_worker; /* as many servers as workers; otherwise one */
    bool colocated;         /* on the workers' hosts */
    /* Sharded states: the step's collectives, whose units are layers or, with fuse_bytes, messages;
     * the states that are divided, inside each host or among all; and schemes that it brings. */
    struct cc_collectives collectives;
    enum cc_sharding sharding;
    bool in_host;         /* they are divided inside each host, whose copies are equal */
    bool secondary;       /* each host also keeps a whole copy of the parameters, divided in it */
    bool keeps_gradients; /* --no-sync: whole gradients may add up over micro-steps */
    const char *weight_scheme, *intra_scheme; /* ids; NULL: as they are, and that of gradients */
};

enum cc_system_id {
    CC_SYSTEM_PS,
    CC_SYSTEM_DDP, /* the default of the command line */
    CC_SYSTEM_HOROVOD,
    CC_SYSTEM_BYTEPS,
    CC_SYSTEM_3LC,
    CC_SYSTEM_ZERO1,
    CC_SYSTEM_ZERO2,
    CC_SYSTEM_ZERO3,
    CC_SYSTEM_FSDP,
    CC_SYSTEM_HSDP,
    CC_SYSTEM_ZEROPP,
    CC_SYSTEM_SDP4BIT,
    CC_SYSTEM_COUNT
};
extern const struct cc_system cc_systems[CC_SYSTEM_COUNT];
/* Names by id, ending with NULL. */
extern const char *const cc_system_names[];

/* Sets what the system chooses, for the setting's number of workers; the rest of it stays. */
void cc_system_apply(const struct cc_system *system, struct cc_setting *s);

#endif
