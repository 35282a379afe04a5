/* Shifting memory on x86: an access to the protected page raises SIGSEGV, whose handler writes a
 * version, opens the page and sets the trap flag; the SIGTRAP after that one instruction closes the
 * page again. Elsewhere it does not work, as shifting_works() says. */
#include "tests/lib/shifting.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/lib/data.h"

#if defined(__x86_64__)

#include <ucontext.h>

#define TRAP_FLAG 0x100
#define WINDOW    256 /* bytes around an access that change with it */

/* The handlers find it here. */
static struct {
    struct shifting *s;
    uint8_t *view, *alias; /* the pages as the test sees them, and as the handler writes them */
    size_t bytes;          /* whole pages, without the inaccessible one behind */
    uint64_t random;
    struct sigaction old_segv, old_trap;
} now;

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

bool shifting_works(void)
{
    return true;
}

static void protect(int how)
{
    if (mprotect(now.view, now.bytes, how) != 0)
        abort();
}

/* Puts a version there, around the address that is about to be read. */
static void change(size_t at)
{
    struct shifting *s = now.s;
    const size_t gap = now.bytes - s->size; /* the bytes end where the pages do */
    const uint64_t r = data_random(&now.random);
    const unsigned v = r % s->every == 0 ? (unsigned)(r >> 32) % s->versions : 0;
    const size_t from = at > gap + WINDOW ? at - WINDOW : gap;
    const size_t end = at + WINDOW < now.bytes ? at + WINDOW : now.bytes;
    if (from < end)
        memcpy(now.alias + from, s->version[v] + (from - gap), end - from);
}

static void on_access(int sig, siginfo_t *info, void *context)
{
    ucontext_t *c = context;
    const uintptr_t at = (uintptr_t)info->si_addr, begin = (uintptr_t)now.view;
    (void)sig;
    if (now.s == NULL || at < begin || at >= begin + now.bytes) {
        /* Outside: the instruction runs again, for the handler of before. */
        (void)sigaction(SIGSEGV, &now.old_segv, NULL);
        return;
    }
    change(at - begin);
    protect(PROT_READ);
    c->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void on_step(int sig, siginfo_t *info, void *context)
{
    ucontext_t *c = context;
    (void)sig;
    (void)info;
    c->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    protect(PROT_NONE);
}

void shifting_open(struct shifting *s, size_t size)
{
    const size_t page = page_bytes();
    *s = (struct shifting){.size = size, .every = 16};
    now.bytes = (size / page + 1) * page;
    const int fd = memfd_create("shifting", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)now.bytes) != 0) {
        perror("shifting memory");
        exit(1);
    }
    uint8_t *room = mmap(NULL, now.bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    now.alias = mmap(NULL, now.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (room == MAP_FAILED || now.alias == MAP_FAILED ||
        mmap(room, now.bytes, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
        perror("shifting memory");
        exit(1);
    }
    (void)close(fd);
    now.view = room;
    s->bytes = room + now.bytes - size;
    const struct sigaction segv = {.sa_sigaction = on_access, .sa_flags = SA_SIGINFO | SA_NODEFER},
                           trap = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    (void)sigaction(SIGSEGV, &segv, &now.old_segv);
    (void)sigaction(SIGTRAP, &trap, &now.old_trap);
}

void shifting_close(struct shifting *s)
{
    now.s = NULL;
    (void)sigaction(SIGSEGV, &now.old_segv, NULL);
    (void)sigaction(SIGTRAP, &now.old_trap, NULL);
    (void)munmap(now.view, now.bytes + page_bytes());
    (void)munmap(now.alias, now.bytes);
    *s = (struct shifting){0};
}

void shifting_begin(struct shifting *s, uint64_t seed)
{
    now.s = s;
    now.random = seed;
    memcpy(now.alias + now.bytes - s->size, s->version[0], s->size);
    protect(PROT_NONE);
}

void shifting_end(struct shifting *s)
{
    (void)s;
    protect(PROT_READ);
    now.s = NULL;
}

#else

bool shifting_works(void)
{
    return false;
}

void shifting_open(struct shifting *s, size_t size)
{
    (void)size;
    *s = (struct shifting){0};
}

void shifting_close(struct shifting *s)
{
    *s = (struct shifting){0};
}

void shifting_begin(struct shifting *s, uint64_t seed)
{
    (void)s;
    (void)seed;
}

void shifting_end(struct shifting *s)
{
    (void)s;
}

#endif
