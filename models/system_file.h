/* A system of one's own, as a file: which collectives a step has, and which states are divided.
 * docs/sharded.md describes the JSON. */
#ifndef CC_MODELS_SYSTEM_FILE_H
#define CC_MODELS_SYSTEM_FILE_H

#include "models/system.h"

#define CC_SYSTEM_SCHEMA "commcomp-system/1"

/* The system's `name` is the text below, and `title` is fixed. */
struct cc_system_file {
    struct cc_system system;
    char name[64];
};

/* Reads a file, strictly: an error names the collective and its field. *out must stay in place
 * while the system is used; there is nothing to free. */
int cc_system_file_read(const char *path, struct cc_system_file *out, struct cc_error *e);

#endif
