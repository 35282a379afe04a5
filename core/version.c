#include "core/version.h"

const char *cc_version(void)
{
    return CC_VERSION;
}
