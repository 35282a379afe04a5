/* Lists of hosts and hostfiles: any bytes are refused with a reason, or hold nothing that ssh could
 * take as an option. The words are found here in another way than the code does: a copy is cut at
 * everything that could separate words. And Slurm's lists of nodes and tasks: names and counts that
 * come out of them would pass as a list. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/launch/host_names.h"
#include "netsim/launch/slots.h"

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

/* Slots are read of any text of an allocation, and of lists that were checked. */
static void read_slots(char *text, bool checked)
{
    struct cc_slot_list list = {.host = NULL};
    struct cc_error e = {""}, why;
    if (checked && cc_slots_of_list(text, &list, &e) != CC_OK && e.text[0] == '\0')
        abort();
    cc_slots_free(&list);
    char *newline = strchr(text, '\n');
    if (newline != NULL)
        *newline = '\0';
    e = (struct cc_error){""};
    const int status = cc_slots_of_slurm(text, newline != NULL ? newline + 1 : NULL, &list, &e);
    if (status != CC_OK && e.text[0] == '\0')
        abort();
    for (size_t i = 0; i < list.count; i++)
        if (list.host[i].count < 0 || list.host[i].count > CC_SLOTS_HOSTS ||
            cc_host_list_check(list.host[i].name, &why) != CC_OK)
            abort();
    cc_slots_free(&list);
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
    const bool list = cc_host_list_check(text, &e) == CC_OK;
    if (list)
        assert_no_option(text, ", \t\n@");
    else if (e.text[0] == '\0')
        abort();
    memcpy(text, data, size);
    if (status == CC_OK && memchr(data, 0, size) == NULL) {
        struct cc_slot_list slots = {.host = NULL};
        if (cc_slots_of_hostfile(text, size, &slots, &e) != CC_OK && e.text[0] == '\0')
            abort();
        cc_slots_free(&slots);
        assert_no_option_in_lines(text);
    }
    memcpy(text, data, size);
    read_slots(text, list);
    free(text);
    return 0;
}
