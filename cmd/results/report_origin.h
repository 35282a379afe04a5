/* How figures were obtained. For report.c only. */
#ifndef CC_CMD_RESULTS_REPORT_ORIGIN_H
#define CC_CMD_RESULTS_REPORT_ORIGIN_H

#include "results/page.h"

/* How a command obtained the figures in a column of its result. */
enum cc_origin cc_report_origin(const char *command, const struct cc_sheet *s,
                                const struct cc_column *c);

#endif
