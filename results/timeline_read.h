/* Timelines read back, as the utilization of each row. */
#ifndef CC_RESULTS_TIMELINE_READ_H
#define CC_RESULTS_TIMELINE_READ_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "core/error.h"
#include "results/timeline_use.h"

struct cc_timeline_uses {
    struct cc_timeline_use *row;
    size_t rows, capacity;
    bool partial; /* the run did not finish */
};

/* Whether a document has the events of a trace, from whatever program. */
bool cc_timeline_is_trace(const cJSON *document);

/* Reads a document that cc_timeline_close has written. Fails for traces of other programs, and
 * where events are missing, contradict each other or were left out. *out is set on success only;
 * release it with cc_timeline_uses_free before the document. */
int cc_timeline_read(const cJSON *document, struct cc_timeline_uses *out, struct cc_error *e);
void cc_timeline_uses_free(struct cc_timeline_uses *u);

#endif
