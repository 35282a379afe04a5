/* Exchanges: the ways in which workers' payloads are moved and reduced. This is the one table of
 * them, which models, netsim and the command line all read. The rest of a step around its exchange
 * (step mode, order of pulls) is here too, as formulas and jobs share it.
 *
 * A new exchange is one line in CC_EXCHANGES; its formula, `cc_exchange_model_NAME` in a file of
 * models/; and its code, `cc_exchange_code_NAME` in a file of netsim/exchange/, of which most
 * are a schedule. */
#ifndef CC_CORE_EXCHANGE_H
#define CC_CORE_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cc_exchange_flag {
    CC_X_SERVERS = 1,       /* workers push to servers, which reduce, and pull from them */
    CC_X_SUMS = 2,          /* payloads that are floats are added on their way */
    CC_X_RECODES = 4,       /* other payloads are decoded, added to and encoded at every hop, unless
                               the setting sends them by allgather instead (enum cc_via) */
    CC_X_GATHERS = 8,       /* every payload reaches every worker as it was encoded */
    CC_X_MERGES = 16,       /* takes index-value pairs, which it merges on their way; refuses other
                               payloads that cannot be summed */
    CC_X_LIBRARY = 32,      /* the MPI library's own: which algorithm it takes is not known, and it
                               needs the payloads' bytes even in a simulation */
    CC_X_WHOLE = 64,        /* each round carries whole messages, not chunks of them */
    CC_X_NEIGHBOUR = 128,   /* every rank sends to one and the same rank in all rounds */
    CC_X_DENSE_STAGE = 256, /* can send the sums as all values, also quantized */
    CC_X_CHOOSES = 512,     /* takes one of the others for each message, step by step */
    CC_X_IN_LIBRARIES = 1024, /* MPI libraries sum floats by one of these */
    CC_X_STAGES = 2048,       /* sums may be encoded by another scheme than gradients */
    CC_X_FORMULA = 4096,      /* a formula alone, without code: model and advise have it */
    CC_X_HALVES = 8192,       /* is a reduce-scatter and an all-gather, which it has apart, too */
    CC_X_INSIDE = 16384       /* reduces inside hosts first, also by a scheme of its own */
};

/* X(ID, symbol, name, flags, rounds, help)
 *
 * ID and symbol: CC_ID is the constant; the formula and the code are named after the symbol.
 * name: as in --exchange, in columns and in jobs.
 * rounds: two, linear, twice or logarithm (core/exchange.c): how message times grow with workers.
 * help: a few words for --help, where {exchanges} stands for those with CC_X_IN_LIBRARIES.
 * The order is that of help texts; new exchanges may stand anywhere. */
/* clang-format off */
#define CC_EXCHANGES(X)                                                                            \
    X(PS, ps, "ps", CC_X_SERVERS, two, "parameter servers")                                        \
    X(RING, ring, "ring", CC_X_SUMS | CC_X_RECODES | CC_X_NEIGHBOUR | CC_X_IN_LIBRARIES | CC_X_HALVES, twice,                        \
      "reduce-scatter and allgather round a ring")                                                 \
    X(RECDOUBLE, recdouble, "recdouble", CC_X_SUMS | CC_X_RECODES | CC_X_WHOLE | CC_X_IN_LIBRARIES,                    \
      logarithm, "recursive doubling")                                                             \
    X(RABENSEIFNER, rabenseifner, "rabenseifner", CC_X_SUMS | CC_X_RECODES | CC_X_IN_LIBRARIES,                        \
      logarithm, "recursive halving, then doubling")                                               \
    X(TWOSHOT, twoshot, "twoshot", CC_X_SUMS | CC_X_RECODES | CC_X_STAGES | CC_X_HALVES, twice, \
      "all to all, one encoding of the sums, allgather")                                           \
    X(HIERARCHICAL, hierarchical, "hierarchical", CC_X_SUMS | CC_X_RECODES | CC_X_STAGES | CC_X_HALVES | CC_X_INSIDE, \
      twice, \
      "inside hosts, between ranks of equal local number, inside again")                           \
    X(TREE, tree, "tree", CC_X_SUMS | CC_X_RECODES, twice,                                         \
      "up and down two binary trees, in chunks")                                                   \
    X(ALLGATHER, allgather, "allgather", CC_X_GATHERS, linear,                                     \
      "every payload to every worker")                                                             \
    X(MPI, mpi, "mpi", CC_X_SUMS | CC_X_LIBRARY, logarithm,                                        \
      "the MPI library's own; the model takes the fastest of {exchanges}")                         \
    X(SSAR_RECDOUBLE, ssar_recdouble, "ssar-recdouble", CC_X_SUMS | CC_X_MERGES,                   \
      logarithm, "SparCML's sparse recursive doubling")                                            \
    X(SSAR_SPLIT, ssar_split, "ssar-split", CC_X_SUMS | CC_X_MERGES, twice,                        \
      "SparCML's sparse split and allgather")                                                      \
    X(DSAR_SPLIT, dsar_split, "dsar-split", CC_X_SUMS | CC_X_MERGES | CC_X_DENSE_STAGE,            \
      twice, "the same with a dense second stage")                                                 \
    X(SSAR_RABENSEIFNER, ssar_rabenseifner, "ssar-rabenseifner", CC_X_SUMS | CC_X_MERGES,          \
      logarithm, "sparse recursive halving, then doubling")                                        \
    X(SSAR_AUTO, ssar_auto, "ssar-auto",                                                           \
      CC_X_SUMS | CC_X_MERGES | CC_X_DENSE_STAGE | CC_X_CHOOSES, twice,                            \
      "the fastest of these four by the model's formulas, message by message")                     \
    X(NCCL, nccl, "nccl", CC_X_SUMS | CC_X_FORMULA, logarithm,                                     \
      "NCCL's own by its constants; model and advise only")
/* clang-format on */

#define CC_EXCHANGE_ID(id, symbol, name, flags, rounds, help) CC_##id,
enum cc_exchange { CC_EXCHANGES(CC_EXCHANGE_ID) CC_EXCHANGE_COUNT };
#undef CC_EXCHANGE_ID

/* "ps (parameter servers), ring (...), ... ": a string literal for an option's help. */
#define CC_EXCHANGE_HELP_WORD(id, symbol, name, flags, rounds, help) name " (" help "), "
#define CC_EXCHANGE_HELP                                             CC_EXCHANGES(CC_EXCHANGE_HELP_WORD)

struct cc_exchange_info {
    const char *name, *help;
    unsigned flags;             /* bits of enum cc_exchange_flag */
    int (*rounds)(int workers); /* message times on the critical path, at most */
};

/* By id; the pointer stays valid. x must be below CC_EXCHANGE_COUNT. */
const struct cc_exchange_info *cc_exchange_info(enum cc_exchange x);
/* Whether x has the flag. */
bool cc_exchange_has(enum cc_exchange x, enum cc_exchange_flag flag);
/* Names by id, ending with NULL. */
extern const char *const cc_exchange_names[];
/* The id of a name, or -1. */
int cc_exchange_find(const char *name);

/* Writes the names of the exchanges that have the flag: "dsar-split and ssar-auto". */
void cc_exchange_list(enum cc_exchange_flag flag, char *out, size_t cap);

/* Writes how many messages took which exchange, the most frequent first: "ssar-split 20,
 * ssar-recdouble 4". Empty if all counts are 0. */
void cc_exchange_counts_print(const uint64_t count[CC_EXCHANGE_COUNT], char *out, size_t cap);

/* The operation of an exchange on the workers' values. The last two are the halves of those with
 * CC_X_HALVES: each rank has a part of the values. */
enum cc_operation {
    CC_ALLREDUCE,      /* all ranks get the mean */
    CC_REDUCE_SCATTER, /* each gets the mean of its part */
    CC_ALL_GATHER,     /* all get every rank's part, as that has it */
    CC_OPERATIONS
};
extern const char *const cc_operation_names[]; /* ends with NULL */

/* How hierarchical moves values inside hosts, and between them. */
enum cc_stage_exchange {
    CC_STAGE_DIRECT, /* all to all, each sum at its owner */
    CC_STAGE_RING    /* round a ring */
};
extern const char *const cc_stage_exchange_names[]; /* ends with NULL */

/* How payloads of a scheme can be reduced. */
enum cc_reduction {
    CC_REDUCE_DECODED, /* they must be decoded to be added */
    CC_REDUCE_SUM,     /* floats that any allreduce may sum */
    CC_REDUCE_PAIRS    /* index-value pairs that may be merged */
};
extern const char *const cc_reduction_names[]; /* ends with NULL */

/* In which form exchanges with CC_X_MERGES send index-value pairs (docs/wire.md). */
enum cc_wire {
    CC_WIRE_AUTO, /* the shortest of all forms */
    CC_WIRE_PAIRS /* as the paper has it: pairs, or dense where that is shorter */
};
extern const char *const cc_wire_names[]; /* ends with NULL */

/* How exchanges with CC_X_RECODES carry payloads that cannot be summed. */
enum cc_via {
    CC_VIA_HOPS,     /* decode, add, encode at every hop */
    CC_VIA_ALLGATHER /* send the payloads themselves, as allgather does */
};
extern const char *const cc_via_names[]; /* ends with NULL */

enum cc_step_mode {
    CC_SEQUENTIAL, /* compute, then communicate */
    CC_OVERLAP,    /* wait-free backpropagation, tensor by tensor */
    CC_PIPE        /* Pipe-SGD: steps overlap, gradients are K - 1 steps late */
};
extern const char *const cc_step_names[]; /* ends with NULL */

/* CC_OVERLAP with servers: in which order results come back. */
enum cc_pulls {
    CC_PULL_READY,  /* as they get ready: the order of the backward pass (Poseidon) */
    CC_PULL_FORWARD /* as the forward pass needs them (3LC, section 2.1: TensorFlow) */
};
extern const char *const cc_pull_names[]; /* ends with NULL */

/* With servers: which updates the parameters have with which a worker computes. */
enum cc_consistency {
    CC_BULK,  /* all workers wait for the slowest in every step */
    CC_STALE, /* the fastest is at most `staleness` steps ahead of the slowest */
    CC_ASYNC, /* nobody waits */
    CC_CONSISTENCIES
};
extern const char *const cc_consistency_names[]; /* ends with NULL */

/* Whether a worker may be ahead of the slowest one, but only by `staleness` steps. */
bool cc_consistency_is_bounded(enum cc_consistency how);
/* The steps by which the fastest worker may lead the slowest; UINT64_MAX where nobody waits. */
uint64_t cc_consistency_lead(enum cc_consistency how, int staleness);

/* CC_STALE and CC_ASYNC: after which of its steps a worker pushes the sum of its gradients since
 * its last push, and pulls. It does after its last one. */
enum cc_communicate {
    CC_EVERY_STEP,
    CC_AT_BOUND, /* CC_STALE: when its parameters would be too old for its next step: they lack
                    updates of more than `staleness` steps (the thesis, code 4.4) */
    /* When the norm of the sum is at least `growth` times the mean norm of the gradients in it, and
     * at the bound (adaptive communication: Ho et al., CCGrid 2018; Tsuzuku et al., 2018). The mean
     * follows the gradients, so that the threshold is dynamic. */
    CC_AT_NORM
};
extern const char *const cc_communicate_names[]; /* ends with NULL */

/* The most parts in which a message is exchanged; and the number that stands for those with which
 * the formulas expect the shortest step. */
enum { CC_MOST_CHUNKS = 64, CC_CHUNKS_AUTO = -1 };

/* With servers: at most CC_QUEUE_MESSAGES messages from one rank to another are under way at a
 * time, or more while they have at most CC_QUEUE_BYTES together; later ones wait, in order. */
enum { CC_QUEUE_MESSAGES = 2, CC_QUEUE_BYTES = 16 * 1024 };

#endif
