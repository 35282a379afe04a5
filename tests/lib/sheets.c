#include "tests/lib/sheets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

struct cc_sheet sheet_of(const char *text)
{
    struct cc_sheet s;
    struct cc_error e = {""};
    if (cc_sheet_parse_csv("r.csv", text, strlen(text), &s, &e) != CC_OK)
        fail_msg("%s", e.text);
    return s;
}
