/* Writes numbers and texts in JSON, for writers of documents line by line. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/format/json.h"
#include "core/memory.h"
#include "core/utf8.h"

static bool reads_back(double v, int digits, char out[CC_NUMBER_CAP])
{
    (void)snprintf(out, CC_NUMBER_CAP, "%.*g", digits, v);
    return strtod(out, NULL) == v;
}

/* If some number of digits is enough, more are, by halving: except at powers of two, below which
 * doubles are closer together than above. Most results of arithmetic need 16 or 17. */
static int least_digits(double v, char out[CC_NUMBER_CAP])
{
    int exponent, low = 1, high = 15;
    if (fabs(frexp(v, &exponent)) == 0.5)
        return low;
    if (!reads_back(v, high, out))
        return high + 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (reads_back(v, middle, out))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void cc_number_print(double v, char out[CC_NUMBER_CAP])
{
    if (v == 0) {
        (void)snprintf(out, CC_NUMBER_CAP, signbit(v) ? "-0.0" : "0");
    } else if (v == floor(v) && fabs(v) <= 0x1p53) {
        (void)snprintf(out, CC_NUMBER_CAP, "%.0f", v);
    } else {
        int digits = least_digits(v, out);
        while (!reads_back(v, digits, out) && digits < 17)
            digits++;
    }
}

void cc_json_put_number(FILE *f, double v)
{
    char number[CC_NUMBER_CAP];
    cc_number_print(v, number);
    (void)fputs(number, f);
}

int cc_json_put_text(FILE *f, const char *text, struct cc_error *e)
{
    char *copy = cc_strdup(text != NULL ? text : "", e);
    if (copy == NULL)
        return CC_FAIL;
    size_t where;
    while (!cc_utf8_valid((const uint8_t *)copy, strlen(copy), &where))
        copy[where] = '?';
    cJSON *item = cJSON_CreateString(copy);
    char *quoted = item != NULL ? cJSON_PrintUnformatted(item) : NULL;
    if (quoted != NULL)
        (void)fputs(quoted, f);
    else
        cc_error_set(e, "out of memory: a text of %zu bytes", strlen(copy));
    int status = quoted != NULL ? CC_OK : CC_FAIL;
    cJSON_free(quoted);
    cJSON_Delete(item);
    free(copy);
    return status;
}
