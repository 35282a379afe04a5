#include "tests/lib/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const struct cc_column columns[] = {
    {"scheme", "scheme", "", NULL, 0, "the scheme", CC_SETTING},
    {"values", "values", "M", "%.2f", 1e-6, "how many values", CC_SETTING},
    {"ratio", "ratio", "", NULL, 0, "how much smaller", CC_ANSWER},
    {"payload_bytes", NULL, "", NULL, 0, "not in the table", CC_DETAIL},
    {"workers", "workers", "", "%.0f", 0, "the same in every row", CC_SETTING},
    {"bw_bps", "bandwidth", "Mbit/s", "%.0f", 1e-6, "the same in every row, with a unit",
     CC_SETTING},
    {"step_s", "step", "ms", "%.3f", 1e3, "never known", CC_ANSWER},
    {"tensor", "tensor", "", NULL, 0, "a text that may be missing", CC_SETTING},
    {"oversubscribed", "busy", "", NULL, 0, "a truth value", CC_SETTING},
    {.key = NULL},
};
static const char *const argv[] = {"commcomp", "bench", "-o", "a \"b\".csv"};

void records_init(struct cc_record *r)
{
    cc_record_init(r, "bench", columns, 4, argv);
}

void records_add(struct cc_record *r, const char *scheme, double values, double ratio,
                 const char *tensor, bool busy)
{
    size_t row = cc_record_add(r, NULL);
    assert_int_not_equal(row, SIZE_MAX);
    assert_int_equal(cc_record_text(r, row, "scheme", scheme, NULL), CC_OK);
    cc_record_number(r, row, "values", values);
    cc_record_number(r, row, "ratio", ratio);
    cc_record_number(r, row, "payload_bytes", 4 * values);
    cc_record_number(r, row, "workers", 10);
    cc_record_number(r, row, "bw_bps", 1e8);
    cc_record_number(r, row, "step_s", NAN);
    if (tensor != NULL)
        assert_int_equal(cc_record_text(r, row, "tensor", tensor, NULL), CC_OK);
    cc_record_bool(r, row, "oversubscribed", busy);
}

void records_three(struct cc_record *r)
{
    records_init(r);
    records_add(r, "fp32", 1727962, 1, NULL, false);
    records_add(r, "3lc:s=1.75", 1727962, 20.123456789, "conv1, \"a\"", false);
    records_add(r, "int8", 12000000, INFINITY, "\xc3\xa4\nb\x1b", true);
}

char *records_printed(const struct cc_record *r, enum cc_format format)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    assert_non_null(f);
    assert_int_equal(cc_record_print(r, format, f, NULL), CC_OK);
    (void)fclose(f);
    return text;
}

void records_expect(const struct cc_record *r, enum cc_format format, const char *want)
{
    char *got = records_printed(r, format);
    assert_string_equal(got, want);
    free(got);
}
