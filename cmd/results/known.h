/* The command that wrote a result. For cmd/results only. */
#ifndef CC_CMD_RESULTS_KNOWN_H
#define CC_CMD_RESULTS_KNOWN_H

#include "cmd/cli/command.h"
#include "results/page.h"
#include "results/sheet.h"

/* Sets *name to the command that wrote a sheet from CSV, by its columns: of several commands that
 * have them all, the one with the fewest others; "csv" if none has. Where only names of commcomp/1
 * fit, the sheet gets today's. */
int cc_known_writer(const struct cc_command *const *commands, struct cc_sheet *s, const char **name,
                    struct cc_error *e);

/* Adds the results of a file, as JSON: of a page all, of JSON and CSV the one. "-" is the standard
 * input. */
int cc_known_read(const struct cc_command *const *commands, const char *path,
                  struct cc_results *out, struct cc_error *e);

/* The heading of a key in tables, with its unit: "step (ms)". */
void cc_known_heading(const struct cc_result_key *key, char *out, size_t cap);

#endif
