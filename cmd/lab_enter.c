#include "cmd/lab_enter.h"

#include <stdio.h>

#include "netsim/lab/lab.h"

int cc_lab_enter_main(int argc, char **argv)
{
    struct cc_error e = {""};
    if (argc < 4) {
        fprintf(stderr, "commcomp: lab-enter needs a host and a command\n");
        return CC_USAGE;
    }
    int status = cc_lab_enter(argv[2], argv + 3, &e);
    fprintf(stderr, "commcomp: %s\n", e.text);
    return status;
}
