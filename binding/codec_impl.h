/* The inside of a codec's handle; for binding/ only. */
#ifndef CC_BINDING_CODEC_IMPL_H
#define CC_BINDING_CODEC_IMPL_H

#include "schemes/codec_set.h"

struct commcomp_codec {
    struct cc_spec *spec;
    struct cc_codec_set set; /* one codec, with its state and scratch memory */
    struct cc_context ctx;   /* but for the step, which each call names */
    char *name;              /* the tensor's, or NULL */
};

/* Fails unless these are a rank and a direction. */
int cc_sender_check(int64_t rank, int direction, struct cc_error *e);

/* Chooses the instruction set that COMMCOMP_ISA names, at the first call; before any codec. */
int cc_library_begin(struct cc_error *e);

#endif
