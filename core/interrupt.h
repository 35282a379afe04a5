/* Ctrl-C: long work tests a flag between its steps, stops, and keeps the results it has. */
#ifndef CC_CORE_INTERRUPT_H
#define CC_CORE_INTERRUPT_H

#include <stdbool.h>

/* From now on the first SIGINT, SIGTERM or SIGHUP only sets a flag, unless it is ignored; a second
 * one of the same kind ends the program. Blocking system calls return with EINTR. */
void cc_interrupt_catch(void);
/* Whether the flag is set. */
bool cc_interrupted(void);

#endif
