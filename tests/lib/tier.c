#include "tests/lib/tier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum tier tier(void)
{
    static const char *const names[] = {"quick", "sanitized", "full"};
    const char *text = getenv("COMMCOMP_TEST");
    if (text == NULL || *text == '\0')
        return TIER_FULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(text, names[i]) == 0)
            return (enum tier)i;
    (void)fprintf(stderr, "COMMCOMP_TEST=%s: it is one of quick, sanitized, full\n", text);
    exit(2);
}

size_t tier_pick(size_t quick, size_t sanitized, size_t full)
{
    const size_t numbers[] = {quick, sanitized, full};
    return numbers[tier()];
}
