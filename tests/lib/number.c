#include "tests/lib/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>

static bool differ(double is, double should, double tolerance)
{
    return !(fabs(is - should) <= tolerance * fabs(should));
}

void close_to(double is, double should, double tolerance, const char *what)
{
    if (differ(is, should, tolerance))
        fail_msg("%s: %.12g instead of %.12g", what, is, should);
}

void close_to_at(double is, double should, double tolerance, const char *what, int at)
{
    if (differ(is, should, tolerance))
        fail_msg("%s (%d): %.12g instead of %.12g", what, at, is, should);
}
