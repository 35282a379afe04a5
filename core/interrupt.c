#include "core/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    (void)number;
    caught = 1;
}

void cc_interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    static const int caught_signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof caught_signals / sizeof caught_signals[0]; i++) {
        struct sigaction before;
        /* Ignored ones stay ignored: shells and nohup set that for background jobs. */
        if (sigaction(caught_signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(caught_signals[i], &action, NULL);
    }
}

bool cc_interrupted(void)
{
    return caught != 0;
}

void cc_signals_of_writes(void (*action)(int))
{
    struct sigaction a = {.sa_handler = action};
    sigemptyset(&a.sa_mask);
    (void)sigaction(SIGPIPE, &a, NULL);
    (void)sigaction(SIGXFSZ, &a, NULL);
}
