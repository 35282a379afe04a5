/* Ctrl-C: long work looks at the flag between pieces, stops, and keeps what it has. */
#ifndef CC_CORE_INTERRUPT_H
#define CC_CORE_INTERRUPT_H

#include <stdbool.h>

/* Catches SIGINT, SIGTERM and SIGHUP once, unless they are ignored; the second one ends the program
 * at once. */
void cc_interrupt_catch(void);
bool cc_interrupted(void);

#endif
