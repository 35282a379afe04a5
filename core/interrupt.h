/* Signals. Ctrl-C: long work tests a flag between its steps, stops, and keeps the results it has.
 * Writes that the system refuses: an error, not the end of the program. */
#ifndef CC_CORE_INTERRUPT_H
#define CC_CORE_INTERRUPT_H

#include <stdbool.h>

/* From now on the first SIGINT, SIGTERM or SIGHUP only sets a flag, unless it is ignored; a second
 * one of the same kind ends the program. Blocking system calls return with EINTR. */
void cc_interrupt_catch(void);
/* Whether the flag is set. */
bool cc_interrupted(void);

/* Sets what SIGPIPE and SIGXFSZ do. With SIG_IGN, a write to a pipe without a reader, or beyond
 * `ulimit -f`, fails with EPIPE or EFBIG. Programs that are started inherit it: SIG_DFL before exec
 * gives them what they expect. Async-signal-safe. */
void cc_signals_of_writes(void (*action)(int));

#endif
