/* Sheets from texts, for tests of plots. */
#ifndef CC_TESTS_LIB_SHEETS_H
#define CC_TESTS_LIB_SHEETS_H

#include "results/sheet.h"

/* The sheet of a CSV file, r.csv. Fails the test if it cannot be read. */
struct cc_sheet sheet_of(const char *text);

#endif
