/* Loops over OpenMP's threads. */
#include "core/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/tile.h"

int cc_parts(int threads, size_t n, size_t least)
{
    size_t parts = n / (least > 0 ? least : 1);
    size_t most = threads < 1 ? 1 : threads < CC_PARTS_MAX ? (size_t)threads : CC_PARTS_MAX;
    parts = parts < most ? parts : most;
    return parts > 1 ? (int)parts : 1;
}

size_t cc_part_begin(size_t n, int parts, int part, size_t multiple)
{
    if (part >= parts)
        return n;
    /* Parts have n / parts units, and the first n mod parts of them one more. */
    size_t each = n / (size_t)parts, rest = n % (size_t)parts, p = (size_t)part;
    size_t begin = each * p + (p < rest ? p : rest);
    return begin / multiple * multiple;
}

static void *wait_at(void *gate)
{
    (void)pthread_mutex_lock(gate);
    (void)pthread_mutex_unlock(gate);
    return NULL;
}

int cc_parallel_check(int threads, struct cc_error *e)
{
    pthread_t *thread;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    int started = 0, error = 0;
    CC_TRY(CC_NEW(thread, (size_t)threads, e));
    (void)pthread_mutex_lock(&gate); /* all are there at the same time */
    while (started < threads - 1 && error == 0) {
        error = pthread_create(&thread[started], NULL, wait_at, &gate);
        started += error == 0;
    }
    (void)pthread_mutex_unlock(&gate);
    for (int i = 0; i < started; i++)
        (void)pthread_join(thread[i], NULL);
    free(thread);
    return error == 0 ? CC_OK
                      : cc_fail(e, "%d threads cannot be started, only %d: %s (limits: ulimit -a)",
                                threads, started + 1, strerror(error));
}

void cc_parallel(int parts, void (*work)(void *arg, int part), void *arg)
{
    if (parts == 1) {
        work(arg, 0);
        return;
    }
#pragma omp parallel for schedule(static, 1) num_threads(parts)
    for (int part = 0; part < parts; part++)
        work(arg, part);
}

struct zeros {
    char *memory;
    size_t streams, bytes;
    int parts;
};

static void zero_part(void *arg, int part)
{
    const struct zeros *z = arg;
    const size_t begin = cc_part_begin(z->bytes, z->parts, part, CC_PAGE);
    const size_t end = cc_part_begin(z->bytes, z->parts, part + 1, CC_PAGE);
    for (size_t s = 0; s < z->streams; s++)
        memset(z->memory + s * z->bytes + begin, 0, end - begin);
}

void cc_zero(void *memory, size_t streams, size_t bytes, int threads)
{
    struct zeros z = {.memory = memory, .streams = streams, .bytes = bytes};
    z.parts = cc_parts(threads, bytes / sizeof(float), CC_PART_VALUES);
    if (bytes > 0)
        cc_parallel(z.parts, zero_part, &z);
}

void *cc_alloc_parts(size_t bytes, int threads, struct cc_error *e)
{
    void *p = cc_alloc(bytes, e);
    if (p != NULL)
        cc_zero(p, 1, bytes, threads);
    return p;
}

struct items {
    bool (*item)(void *arg, size_t i);
    void *arg;
    size_t n;
    atomic_size_t next; /* n or more: none */
};

static void take_items(void *arg, int part)
{
    struct items *x = arg;
    (void)part;
    for (size_t i; (i = atomic_fetch_add(&x->next, 1)) < x->n;)
        if (!x->item(x->arg, i))
            atomic_store(&x->next, x->n);
}

void cc_parallel_items(int threads, size_t n, bool (*item)(void *arg, size_t i), void *arg)
{
    struct items x = {.item = item, .arg = arg, .n = n};
    cc_parallel(cc_parts(threads, n, 1), take_items, &x);
}
