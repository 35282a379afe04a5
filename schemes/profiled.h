/* Schemes that are known from a codec profile alone (docs/profile.md): sizes and times were
 * measured elsewhere, and the code is not here. Models predict them and simulations without data
 * send their sizes; nothing can encode them (cc_scheme_runs). */
#ifndef CC_SCHEMES_PROFILED_H
#define CC_SCHEMES_PROFILED_H

#include "schemes/scheme.h"

/* Adds a scheme without parameters of this id, with flags of enum cc_scheme_flag, to the catalogue
 * (cc_scheme_add). Its payloads are opaque and have at most CC_PROFILED_BOUND(n) bytes. One that
 * is there already without code stays as it is. Not while other threads use the catalogue. */
int cc_profiled_add(const char *id, unsigned flags, struct cc_error *e);

/* More than what any scheme sends of n values: 64 bits for each, and a header. */
#define CC_PROFILED_BOUND(n) (8 * (n) + 1024)

#endif
