#include "tests/lib/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cc_column columns[] = {
    RECORDS_COLUMN("scheme", "scheme", "", NULL, 1, "the scheme", CC_SETTING),
    RECORDS_COLUMN("values", "values", "M", "%.2f", 1e-6, "how many values", CC_SETTING),
    RECORDS_COLUMN("ratio", "ratio", "", NULL, 1, "how much smaller", CC_ANSWER),
    RECORDS_COLUMN("payload_bytes", NULL, "", NULL, 1, "not in the table", CC_DETAIL),
    RECORDS_COLUMN("workers", "workers", "", "%.0f", 1, "the same in every row", CC_SETTING),
    RECORDS_COLUMN("bw_bps", "bandwidth", "Mbit/s", "%.0f", 1e-6,
                   "the same in every row, with a unit", CC_SETTING),
    RECORDS_COLUMN("step_s", "step", "ms", "%.3f", 1e3, "never known", CC_ANSWER),
    RECORDS_COLUMN("tensor", "tensor", "", NULL, 1, "a text that may be missing", CC_SETTING),
    RECORDS_COLUMN("oversubscribed", "busy", "", NULL, 1, "a truth value", CC_SETTING),
    {.key = NULL},
};
static const char *const argv[] = {"commcomp", "bench", "-o", "a \"b\".csv"};

const struct cc_result_key *records_key(const struct cc_record *r, const char *name)
{
    for (size_t i = 0; i < r->column_count; i++)
        if (strcmp(r->columns[i].key->name, name) == 0)
            return r->columns[i].key;
    fail_msg("no column %s", name);
    return NULL;
}

void records_init(struct cc_record *r)
{
    cc_record_init(r, "bench", columns, 4, argv);
}

size_t records_new_row(struct cc_record *r)
{
    size_t row = SIZE_MAX;
    assert_int_equal(cc_record_add(r, &row, NULL), CC_OK);
    return row;
}

void records_add(struct cc_record *r, const char *scheme, double values, double ratio,
                 const char *tensor, bool busy)
{
    const size_t row = records_new_row(r);
    assert_int_equal(cc_record_text(r, row, records_key(r, "scheme"), scheme, NULL), CC_OK);
    cc_record_number(r, row, records_key(r, "values"), values);
    cc_record_number(r, row, records_key(r, "ratio"), ratio);
    cc_record_number(r, row, records_key(r, "payload_bytes"), 4 * values);
    cc_record_number(r, row, records_key(r, "workers"), 10);
    cc_record_number(r, row, records_key(r, "bw_bps"), 1e8);
    cc_record_number(r, row, records_key(r, "step_s"), NAN);
    if (tensor != NULL)
        assert_int_equal(cc_record_text(r, row, records_key(r, "tensor"), tensor, NULL), CC_OK);
    cc_record_bool(r, row, records_key(r, "oversubscribed"), busy);
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
