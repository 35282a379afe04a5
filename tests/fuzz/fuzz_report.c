/* Any bytes as a line of reports, as mpirun puts lines of its own between them. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netsim/job/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *print(const struct cc_report *r, size_t *length)
{
    struct cc_error e = {""};
    char *line = NULL;
    FILE *f = open_memstream(&line, length);
    if (f == NULL || cc_report_print(r, f, &e) != CC_OK || fclose(f) != 0)
        abort();
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cc_report r, again;
    struct cc_error e = {""};
    if (cc_report_parse((const char *)data, size, &r, &e) != CC_OK) {
        if (e.text[0] == '\0')
            abort(); /* a refusal without a reason */
        return 0;
    }
    size_t length, second;
    char *line = print(&r, &length);
    if (cc_report_parse(line, length - 1, &again, &e) != CC_OK)
        abort();
    char *copy = print(&again, &second);
    if (second != length || memcmp(line, copy, length) != 0)
        abort();
    free(line);
    free(copy);
    cc_report_free(&r);
    cc_report_free(&again);
    return 0;
}
