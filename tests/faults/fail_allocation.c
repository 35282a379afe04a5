/* Preloaded, makes one allocation of the process fail: the FAIL_AT-th, counted from 1. The file
 * FAIL_REPORT appears if there was one. Child processes are left alone. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *p, size_t size);
void *aligned_alloc(size_t align, size_t size);
int posix_memalign(void **out, size_t align, size_t size);

static atomic_long count;
static long fail_at;
static pid_t process;

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("FAIL_AT");
    fail_at = at != NULL ? strtol(at, NULL, 10) : 0;
    process = getpid();
    atomic_store(&count, 0); /* the loader's own are not counted */
    (void)unsetenv("LD_PRELOAD");
}

static bool fails(void)
{
    if (fail_at == 0 || atomic_fetch_add(&count, 1) + 1 != fail_at || getpid() != process)
        return false;
    const char *report = getenv("FAIL_REPORT");
    const int fd = report != NULL ? open(report, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (fd >= 0)
        (void)close(fd);
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    return fails() ? NULL : __libc_realloc(p, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    return fails() ? NULL : __libc_memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
    void *p = fails() ? NULL : __libc_memalign(align, size);
    if (p == NULL)
        return ENOMEM;
    *out = p;
    return 0;
}
