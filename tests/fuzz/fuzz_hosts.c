/* Lists of hosts and hostfiles: any bytes are refused with a reason, or hold nothing that ssh could
 * take as an option. The words are found here in another way than the code does: a copy is cut at
 * everything that could separate words. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/launch/host_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No part of the text, between these separators, may begin with '-'. */
static void assert_no_option(char *text, const char *separators)
{
    char *rest = NULL;
    for (char *p = strtok_r(text, separators, &rest); p != NULL;
         p = strtok_r(NULL, separators, &rest))
        if (p[0] == '-')
            abort();
}

/* The same in each line before a comment. */
static void assert_no_option_in_lines(char *text)
{
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        line[strcspn(line, "#")] = '\0';
        char *comment = strstr(line, "//");
        if (comment != NULL)
            *comment = '\0';
        assert_no_option(line, " \t\r\v\f^=\"'");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cc_error e = {""};
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    const int status = cc_hostfile_check("hosts", text, size, &e);
    if (status != CC_OK && e.text[0] == '\0')
        abort(); /* a refusal without a reason */
    e = (struct cc_error){""};
    if (cc_host_list_check(text, &e) == CC_OK)
        assert_no_option(text, ", \t\n@");
    else if (e.text[0] == '\0')
        abort();
    if (status == CC_OK && memchr(data, 0, size) == NULL) {
        memcpy(text, data, size);
        assert_no_option_in_lines(text);
    }
    free(text);
    return 0;
}
