/* Making nets, for their readers in models/. */
#ifndef CC_MODELS_NET_IMPL_H
#define CC_MODELS_NET_IMPL_H

#include "models/net.h"

/* A net without tensors and with room for `capacity` of them; NULL if memory is out. */
struct cc_net *cc_net_new(size_t capacity, struct cc_error *e);

/* Appends a tensor, whose name is copied. `compute`: its part of the computation, in any unit that
 * all tensors of the net share. The capacity must not be exceeded. */
int cc_net_add(struct cc_net *net, const char *name, const struct cc_shape *shape, double compute,
               struct cc_error *e);

/* Copies the texts; NULL becomes empty. Called once for a net. */
int cc_net_set_texts(struct cc_net *net, const char *name, const char *reference,
                     const char *compute_source, struct cc_error *e);

/* Called after the last tensor: checks that there are tensors and that their names differ, and
 * scales the shares of the computation to the sum 1; if all are 0, they follow the number of
 * values. */
int cc_net_finish(struct cc_net *net, struct cc_error *e);

/* A .safetensors file, or the .safetensors.index.json of one in several files. Messages do not name
 * the file, but the files that an index names. */
int cc_net_read_safetensors(const char *path, struct cc_net **out, struct cc_error *e);
int cc_net_read_index(const char *path, struct cc_net **out, struct cc_error *e);

#endif
