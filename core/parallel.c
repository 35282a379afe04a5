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

struct ranges {
    size_t (*work)(void *arg, size_t begin, size_t end);
    void *arg;
    size_t n, multiple;
    int parts;
    size_t result[CC_PARTS_MAX];
};

static void range_part(void *arg, int part)
{
    struct ranges *r = arg;
    r->result[part] = r->work(r->arg, cc_part_begin(r->n, r->parts, part, r->multiple),
                              cc_part_begin(r->n, r->parts, part + 1, r->multiple));
}

size_t cc_parallel_ranges(int parts, size_t n, size_t multiple,
                          size_t (*work)(void *arg, size_t begin, size_t end), void *arg)
{
    struct ranges r;
    size_t most = 0;
    r.work = work;
    r.arg = arg;
    r.n = n;
    r.multiple = multiple;
    r.parts = parts;
    cc_parallel(parts, range_part, &r);
    for (int p = 0; p < parts; p++)
        most = r.result[p] > most ? r.result[p] : most;
    return most;
}

size_t cc_parallel_values(int threads, size_t n, size_t multiple,
                          size_t (*work)(void *arg, size_t begin, size_t end), void *arg)
{
    return cc_parallel_ranges(cc_parts(threads, n, CC_PART_VALUES), n, multiple, work, arg);
}

struct zeros {
    char *memory;
    size_t streams, bytes;
};

static size_t zero_range(void *arg, size_t begin, size_t end)
{
    const struct zeros *z = arg;
    for (size_t s = 0; s < z->streams; s++)
        memset(z->memory + s * z->bytes + begin, 0, end - begin);
    return 0;
}

void cc_zero(void *memory, size_t streams, size_t bytes, int threads)
{
    struct zeros z = {.memory = memory, .streams = streams, .bytes = bytes};
    if (bytes > 0)
        (void)cc_parallel_ranges(cc_parts(threads, bytes / sizeof(float), CC_PART_VALUES), bytes,
                                 CC_PAGE, zero_range, &z);
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
