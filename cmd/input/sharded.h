/* Steps with sharded states and accumulated gradients: the options of --system zero1 and the others
 * beyond the system's own choices. */
#ifndef CC_CMD_INPUT_SHARDED_H
#define CC_CMD_INPUT_SHARDED_H

#include "cmd/cli/command.h"
#include "models/sharded.h"
#include "models/system.h"
#include "schemes/spec.h"

struct cc_sharded_args {
    struct cc_given given;
    const char *weight_text;
    bool keep_params, no_sync;
    int micro_steps;
    int tensor_parallel; /* --tp: the workers, all of one host, that have one copy of the net */
    struct cc_spec_list weights; /* --weight-scheme, or the system's: one, or none */
};
extern const struct cc_option cc_sharded_options[];

/* Reads the options, and changes the setting's collectives, which are the system's, by them.
 * CC_USAGE if one of them does not fit the system. Free with cc_sharded_args_free. */
int cc_sharded_args_parse(const struct cc_args *args, struct cc_setting *s,
                          struct cc_sharded_args *out, struct cc_error *e);
void cc_sharded_args_free(struct cc_sharded_args *a);

/* The name of the parameters' scheme, or NULL where they are sent as they are. */
static inline const char *cc_sharded_weight_name(const struct cc_sharded_args *a)
{
    return a->weights.count > 0 ? a->weights.item[0]->name : NULL;
}

#endif
