#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/lib/data_set.h"
#include "tests/lib/text.h"

struct cc_data *data_set_open(const char *text)
{
    struct cc_data *d = NULL;
    struct cc_error e = {""};
    if (cc_data_open(text, &d, &e) != CC_OK)
        fail_msg("%s: %s", text, e.text);
    return d;
}

struct cc_data *data_set_open_rows(const char *text)
{
    struct cc_data *d = NULL;
    struct cc_error e = {""};
    if (cc_data_open_rows(text, &d, &e) != CC_OK)
        fail_msg("%s: %s", text, e.text);
    return d;
}

void data_set_refuse(const char *text, int status, const char *message)
{
    struct cc_data *d = NULL;
    struct cc_error e = {""};
    assert_int_equal(cc_data_open(text, &d, &e), status);
    assert_contains(e.text, message);
}
