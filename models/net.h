/* Nets: the tensors of a model, in the order of its layers, with their share of compute time. The
 * JSON form is described in docs/traces.md. */
#ifndef CC_MODELS_NET_H
#define CC_MODELS_NET_H

#include <stddef.h>

#include "core/element.h"
#include "core/error.h"
#include "core/tensor.h"

#define CC_NET_SCHEMA "commcomp-net/1"

/* A paper's statement about a net's size. */
struct cc_net_paper {
    char *paper, *says; /* "QSGD, table 1", "25M" */
};

struct cc_net {
    char *name, *reference, *compute_source; /* never NULL, perhaps empty */
    enum cc_element dtype;                   /* of its gradients in a usual training */
    double compute_s;               /* preset of the time of one step's computation; 0: unknown */
    struct cc_tensor_info *tensors; /* from the input to the output: gradients come in reverse */
    double *share;                  /* [count]: each tensor's in the compute time; their sum is 1 */
    double compute;                 /* the sum over all tensors, in the net's own unit (built in:
                                       multiply-additions), or 0 */
    struct cc_net_paper *papers;
    size_t paper_count;
    size_t count, values, largest; /* values: of all tensors; largest: of the largest one */
};

/* Opens a built-in net by its name (ignoring case, '-' and '_': ResNet-50), a .json file, a
 * .safetensors file, or the files that a .safetensors.index.json names; of .safetensors files only
 * the headers are read. An unknown name is CC_USAGE. *out is set on success only; free it with
 * cc_net_free. */
int cc_net_open(const char *name, struct cc_net **out, struct cc_error *e);

/* Parses a net's JSON. Any bytes either parse or give an error, which does not name the file. */
int cc_net_parse(const char *text, size_t length, struct cc_net **out, struct cc_error *e);

/* Makes a net of one flat tensor of n > 0 values; `label` becomes its name. */
int cc_net_flat(const char *label, size_t n, struct cc_net **out, struct cc_error *e);

/* Makes a net of the given tensors (names are copied), from the input to the output. Each tensor's
 * share of the computation is its share of the values. */
int cc_net_of(const char *label, const struct cc_tensor_info *tensors, size_t count,
              struct cc_net **out, struct cc_error *e);

/* Leaves each tensor one of `parts` >= 1 equal parts of its values, rounded up, as one dimension;
 * the compute time stays. */
void cc_net_divide(struct cc_net *net, size_t parts);

void cc_net_free(struct cc_net *net);

/* The built-in nets' names, ending with NULL. */
extern const char *const cc_net_names[];

#endif
