/* A table of the calls under way, which a thread looks through several times a second. A slot
 * belongs to the thread that has set `used`; `since` is written last, and 0 while there is no call,
 * so that the watching thread sees whole entries.
 *
 * A plugin may call exit(), in any of its threads: a handler of atexit() then finds a call under
 * way. A process that the plugin has forked may exit. */
#include "schemes/plugin_call.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/interrupt.h"
#include "core/utf8.h"

enum { SLOTS = 256 };
#define LOOK_S 0.1
/* A pause between two looks that is longer by this: the program was stopped, and time stood still.
 */
#define STOPPED_S 1.0

static struct call {
    atomic_bool used;
    _Atomic(double) since; /* 0: none */
    _Atomic(double) limit_s;
    _Atomic(const char *) path, what;
} calls[SLOTS];

struct cc_plugin cc_plugins[CC_MOST_PLUGINS];

static atomic_bool watched, never;
static pid_t owner; /* the process that has the thread */

int cc_plugin_enter(const char *path, const char *what, double limit_s)
{
    static _Thread_local int mine; /* where to look first */
    for (int i = 0; i < SLOTS; i++) {
        const int slot = (mine + i) % SLOTS;
        struct call *c = &calls[slot];
        if (atomic_exchange_explicit(&c->used, true, memory_order_acquire))
            continue;
        mine = slot;
        atomic_store_explicit(&c->path, path, memory_order_relaxed);
        atomic_store_explicit(&c->what, what, memory_order_relaxed);
        atomic_store_explicit(&c->limit_s, limit_s, memory_order_relaxed);
        atomic_store_explicit(&c->since, cc_now(), memory_order_release);
        return slot;
    }
    return -1; /* more threads than slots: this one is not watched */
}

void cc_plugin_leave(int call)
{
    if (call < 0)
        return;
    atomic_store_explicit(&calls[call].since, 0, memory_order_relaxed);
    atomic_store_explicit(&calls[call].used, false, memory_order_release);
}

int cc_scheme_enter(const struct cc_scheme *s, const char *what, size_t n)
{
    const uintptr_t at = (uintptr_t)s, first = (uintptr_t)cc_plugins;
    if (at - first >= sizeof cc_plugins)
        return -1;
    const struct cc_plugin *p = &cc_plugins[(at - first) / sizeof *cc_plugins];
    return cc_plugin_enter(p->path, what,
                           p->tested ? CC_CALL_S + CC_CALL_VALUE_S * (double)n : CC_CALL_TEST_S);
}

/* Ends the program at once: its threads, of which one is in the plugin, cannot be trusted to. */
_Noreturn static void end(const struct call *c, const char *does, double seconds)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s", atomic_load(&c->path));
    cc_make_printable(path);
    (void)dprintf(2, "commcomp: %s: its %s %s", path, atomic_load(&c->what), does);
    if (seconds > 0)
        (void)dprintf(2, " for %.3g s", seconds);
    (void)dprintf(2, "\n");
    _exit(1);
}

static void on_exit_within(void)
{
    const struct call *last = NULL; /* the innermost, as calls nest in the self-test */
    double began = 0;
    for (int i = 0; i < SLOTS && getpid() == owner; i++) {
        const double since = atomic_load_explicit(&calls[i].since, memory_order_acquire);
        if (since > began) {
            began = since;
            last = &calls[i];
        }
    }
    if (last != NULL)
        end(last, "called exit()", 0);
}

/* Looks at one call; `told`: seconds since the program was asked to end. A call that began
 * meanwhile in the same slot has another time. */
static void look(const struct call *c, double now, double told)
{
    const double since = atomic_load(&c->since), limit_s = atomic_load(&c->limit_s);
    const double took = since > 0 ? now - since : 0;
    if (took <= 0 || atomic_load(&c->since) != since)
        return;
    if (took > limit_s)
        end(c, "has not returned", took);
    if (took > CC_CALL_TOLD_S && told > CC_CALL_TOLD_S)
        end(c, "does not return, though the program is to end: it has not", took);
}

static void *watch(void *arg)
{
    const struct timespec pause = {.tv_nsec = (long)(1e9 * LOOK_S)};
    double before = cc_now(), told = 0;
    for (;;) {
        (void)nanosleep(&pause, NULL);
        const double now = cc_now(), stopped = now - before - LOOK_S;
        before = now;
        told += cc_interrupted() ? LOOK_S : 0;
        for (int i = 0; i < SLOTS; i++) {
            double since = atomic_load(&calls[i].since);
            if (stopped > STOPPED_S && since > 0)
                (void)atomic_compare_exchange_strong(&calls[i].since, &since, since + stopped);
            look(&calls[i], now, told);
        }
    }
    return arg;
}

void cc_plugin_unwatched(void)
{
    atomic_store(&never, true);
}

int cc_plugin_watch(struct cc_error *e)
{
    pthread_t thread;
    sigset_t all, before;
    if (atomic_load(&never) || atomic_exchange(&watched, true))
        return CC_OK;
    owner = getpid();
    if (atexit(on_exit_within) != 0)
        return cc_fail(e, "atexit: no memory");
    /* Signals are for the program's own threads. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&thread, NULL, watch, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        return cc_fail(e, "the thread that watches plugins cannot be started: %s", strerror(error));
    (void)pthread_detach(thread);
    return CC_OK;
}
