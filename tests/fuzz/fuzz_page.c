/* Any bytes as a page: read, and what is read written and read again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/page_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct cc_results *r)
{
    struct cc_results back = {.of = NULL};
    struct cc_error e = {""};
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (out == NULL)
        abort();
    cc_page_put_count(r->count, out);
    for (size_t i = 0; i < r->count; i++)
        cc_page_put_result(&r->of[i], out);
    if (fclose(out) != 0 || cc_page_read("f", text, length, &back, &e) != CC_OK ||
        back.count != r->count)
        abort();
    for (size_t i = 0; i < r->count; i++)
        if (back.of[i].length != r->of[i].length ||
            memcmp(back.of[i].text, r->of[i].text, r->of[i].length) != 0)
            abort();
    cc_results_free(&back);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cc_results r = {.of = NULL};
    struct cc_error e = {""};
    char *text = malloc(size + 1); /* a zero byte follows what is read from a file */
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (cc_page_read("f", text, size, &r, &e) == CC_OK)
        check_again(&r);
    else if (e.text[0] == '\0')
        abort(); /* a refusal without a reason */
    cc_results_free(&r);
    free(text);
    return 0;
}
