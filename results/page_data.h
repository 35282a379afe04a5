/* Results in an HTML page, and how they are read back from it. A page has each result whole, in an
 * element of its own,
 *
 *   <script type="application/json" class="commcomp-result" data-name="bench.json"
 * data-bytes="9123" data-crc32="1c291ca3">{"schema": ...}</script>
 *
 * in which each '<', as only texts have them, is written \u003c: the element cannot end early, and
 * the JSON means the same. `data-bytes` and `data-crc32` are those of the result as it was; and
 * `data-kept` counts, from 0, the \u003c that it had itself, so that not a byte is lost. An element
 * <meta name="commcomp-results" content="3"> tells how many results there are. */
#ifndef CC_RESULTS_PAGE_DATA_H
#define CC_RESULTS_PAGE_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/error.h"

/* A document that a command wrote. */
struct cc_result {
    char *name; /* its file's, without the folder */
    char *text; /* the JSON, to the byte, and a zero byte */
    size_t length;
};

struct cc_results {
    struct cc_result *of;
    size_t count, capacity;
};

/* Adds a copy of a text that was read from `path`. */
int cc_results_add(struct cc_results *r, const char *path, const char *text, size_t length,
                   struct cc_error *e);
void cc_results_free(struct cc_results *r);

/* Writes the element that tells how many results there are, and that of a result. */
void cc_page_put_count(size_t count, FILE *out);
void cc_page_put_result(const struct cc_result *r, FILE *out);

/* Adds the results of a page. Fails where one is missing, cut off or not what was written. The
 * message names the path and the place. */
int cc_page_read(const char *path, const char *text, size_t length, struct cc_results *out,
                 struct cc_error *e);
/* The same of a page that should have a single result; release it with cc_results_free. */
int cc_page_read_one(const char *path, const char *text, size_t length, struct cc_results *out,
                     struct cc_error *e);

/* Whether the path ends as those of pages do (.html, .htm). */
bool cc_page_is_path(const char *path);

#endif
