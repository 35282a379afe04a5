/* Plans: what people can deploy. A deployment is a library, or a part of one, that exchanges
 * gradients in a certain way, and for which there is something to paste; a plan is a deployment
 * with the size of its messages. docs/advise.md, "Plans", has the table with its sources. */
#ifndef CC_MODELS_PLAN_H
#define CC_MODELS_PLAN_H

#include "models/memory.h"
#include "models/system.h"

enum cc_deployment_id {
    CC_BY_DDP,      /* PyTorch's DistributedDataParallel: floats by the library's allreduce */
    CC_BY_POWERSGD, /* its hook of low-rank factors: two allreduces */
    CC_BY_GATHER,   /* commcomp's hook in it: payloads by an all-gather, codecs on the host */
    CC_BY_SUMS,     /* the same hook with payloads that are floats to be summed: over gloo's ring */
    CC_BY_TORCHFT,  /* torchft's quantized allreduce: fp8, two-shot */
    CC_BY_ACCUMULATING, /* DDP's no_sync: gradients of several steps are summed before they go */
    CC_BY_HOROVOD,
    CC_BY_BYTEPS,
    CC_BY_ZERO1, /* states are sharded: DeepSpeed's stages 1 and 2, and PyTorch's FSDP */
    CC_BY_ZERO2,
    CC_BY_FSDP,
    CC_BY_HSDP,    /* inside each host, with an allreduce across hosts */
    CC_BY_ZEROPP,  /* parameters as int8, a second copy in each host, gradients in two levels */
    CC_BY_SDP4BIT, /* no package has it, so that it is only compared */
    CC_BY_OWN,     /* the setting as it is: commcomp's own ranks */
    CC_DEPLOYMENTS
};

struct cc_deployment {
    enum cc_deployment_id id;
    const char *name; /* as in the column `plan` */
    const char *text; /* "PyTorch's DDP" */
    enum cc_system_id system;
    /* CC_EXCHANGE_COUNT: the library's allreduce (cc_plan_library) */
    enum cc_exchange exchange;
    const char *schemes; /* ids, with blanks around each; NULL: all but plain floats, */
    const char *except;  /* and these; or NULL */
    bool on_host;        /* codecs run on the host, also beside an accelerator */
    bool needs_device;   /* runs on accelerators only */
    bool sizes;          /* the size of its messages can be chosen */
};
extern const struct cc_deployment cc_deployments[CC_DEPLOYMENTS];

struct cc_advice_plan {
    const struct cc_deployment *by;
    double fuse_bytes; /* of gradients in a message; 0: as the deployment comes */
};

/* The exchange by which libraries sum floats in a setting: NCCL's where there are accelerators, and
 * otherwise gloo's ring. */
enum cc_exchange cc_plan_library(const struct cc_setting *s);

/* The states that a deployment divides among the workers. */
static inline enum cc_sharding cc_plan_sharding(const struct cc_deployment *d)
{
    return d->id == CC_BY_OWN ? CC_SHARDING_NONE : cc_systems[d->system].sharding;
}

/* Whether a deployment takes a scheme (its id, as "powersgd"); `plain`: it is what gradients are
 * without compression. */
bool cc_plan_takes(const struct cc_deployment *d, const char *id, bool plain);

/* Sets *out to the setting under the plan. */
void cc_plan_apply(const struct cc_advice_plan *plan, const struct cc_setting *s,
                   struct cc_setting *out);

/* A plan is worth deploying in place of what one runs if it is this many times as fast. */
#define CC_PLAN_WORTH      1.025
#define CC_PLAN_WORTH_TEXT "2.5%" /* the same */

/* The sizes of messages that are tried, in bytes, from 0.25 MiB to 4 GiB. */
enum { CC_PLAN_SIZES = 29 };
double cc_plan_size(size_t i);
/* Has a step's gradients sent in messages of this size, the first one, too. */
void cc_plan_resize(struct cc_timing *t, double fuse_bytes);

/* Finds the plan of a deployment with the shortest step, over the sizes of its messages: a size
 * other than its own only where that is 1% faster. Errors are those of cc_predict. */
int cc_plan_best(struct cc_predictor *p, const struct cc_setting *s,
                 const struct cc_step_payloads *payloads, const struct cc_deployment *by,
                 struct cc_advice_plan *out, struct cc_prediction *step, struct cc_error *e);

#endif
