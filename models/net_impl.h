/* Making nets, for their readers in models/. */
#ifndef CC_MODELS_NET_IMPL_H
#define CC_MODELS_NET_IMPL_H

#include "models/net.h"

/* A net with room for `capacity` tensors and none yet. */
struct cc_net *cc_net_new(size_t capacity, struct cc_error *e);

/* Appends a tensor, whose name is copied. `compute`: its part of the computation, in any unit. */
int cc_net_add(struct cc_net *net, const char *name, const struct cc_shape *shape, double compute,
               struct cc_error *e);

/* Texts that are NULL become empty. Once for a net. */
int cc_net_set_texts(struct cc_net *net, const char *name, const char *reference,
                     const char *compute_source, struct cc_error *e);

/* After the last tensor: checks that names differ, and makes the shares' sum 1; without any
 * computation, by the number of values. */
int cc_net_finish(struct cc_net *net, struct cc_error *e);

/* A .safetensors file, or the .safetensors.index.json of one in several files. Messages do not name
 * the file, but the files that an index names. */
int cc_net_read_safetensors(const char *path, struct cc_net **out, struct cc_error *e);
int cc_net_read_index(const char *path, struct cc_net **out, struct cc_error *e);

#endif
