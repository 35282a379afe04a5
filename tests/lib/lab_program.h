/* Labs and programs in them, for tests. */
#ifndef CC_TESTS_LIB_LAB_PROGRAM_H
#define CC_TESTS_LIB_LAB_PROGRAM_H

#include <stdbool.h>

#include "netsim/lab/lab.h"
#include "netsim/launch/program.h"

struct output {
    char out[4096], err[1024];
    int status; /* as waitpid gives it */
};

/* Whether this machine can have a lab. If a right, a program or a part of the kernel is missing,
 * says which, and that the test is skipped. */
bool labs_work(void);

/* Opens a lab, or fails the test. */
struct cc_lab *lab_open(struct cc_lab_config config);

/* Starts a program in the lab, or fails the test. lab_finish waits until it has ended and reads its
 * output; it fails if nothing arrives for 20 s. */
struct cc_program lab_start(struct cc_lab *lab, const char *const *argv);
void lab_finish(struct cc_program *child, struct output *o);

/* Runs a program, as in lab_run(lab, ARGV("true")), and returns its output, in a static buffer. */
const struct output *lab_run(struct cc_lab *lab, const char *const *argv);
#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
