/* Where a result comes from: what its JSON document says beside the rows. */
#ifndef CC_RESULTS_PROVENANCE_H
#define CC_RESULTS_PROVENANCE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

struct cc_provenance {
    char *command; /* "bench" */
    char *argv;    /* the program's name and the arguments, with spaces between them, as a shell
                      takes them; empty for rows from a CSV */
    struct {
        char *key, *value; /* a pair of "host": "cpu", "AMD EPYC" */
    } * host;
    size_t host_count;
    char **note; /* "notes" */
    size_t notes;
    bool partial; /* the document has "partial" */
    char *error;  /* "error", or NULL */
    size_t rows;
};

/* Parses a document, whose rows cc_sheet_parse_json reads if there are any; the caller adds the
 * path to messages. Release *out, which is set on success only, with cc_provenance_free. */
int cc_provenance_parse(const char *text, size_t length, struct cc_provenance *out,
                        struct cc_error *e);
void cc_provenance_free(struct cc_provenance *p);

/* The value of a key of "host", or NULL. */
const char *cc_provenance_host(const struct cc_provenance *p, const char *key);

#endif
