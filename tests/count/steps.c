/* A library to preload, which records the instructions that a program executes between its first
 * call of sched_yield and the second, between the third and the fourth, and so on: the processor
 * stops after each (the trap flag), and the signal's handler notes the address. That works for all
 * instruction sets of the machine; emulators lack AVX-512.
 *
 * Writes to the file descriptor STEPS_FD: the length of /proc/self/maps, as 64 bits, and its text;
 * then for each pair of calls the number of addresses, and the addresses, as 64 bits each. */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef __x86_64__
#error "this is for x86-64; make count-arm is for aarch64"
#endif

int sched_yield(void);

enum { MOST = 1 << 26 };

static uint64_t *address;
static volatile size_t count;
static int fd;

static void fail(const char *what)
{
    perror(what);
    _exit(1);
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    const ucontext_t *u = context;
    (void)signal, (void)info;
    if (count == MOST)
        _exit(1);
    address[count] = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
    count = count + 1;
}

static void put(const void *data, size_t bytes)
{
    for (const char *at = data; bytes > 0;) {
        const ssize_t written = write(fd, at, bytes);
        if (written < 0)
            fail("STEPS_FD");
        at += written;
        bytes -= (size_t)written;
    }
}

static void put_maps(void)
{
    static char text[1 << 16];
    FILE *f = fopen("/proc/self/maps", "r");
    if (f == NULL)
        fail("/proc/self/maps");
    const uint64_t length = fread(text, 1, sizeof text, f);
    (void)fclose(f);
    put(&length, sizeof length);
    put(text, length);
}

static void prepare(void)
{
    const struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    const char *number = getenv("STEPS_FD");
    fd = number != NULL ? (int)strtol(number, NULL, 10) : STDOUT_FILENO;
    address = mmap(NULL, MOST * sizeof *address, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED || sigaction(SIGTRAP, &action, NULL) != 0)
        fail("steps.so");
    put_maps();
}

int sched_yield(void)
{
    static bool stepping;
    stepping = !stepping;
    if (stepping) {
        if (address == NULL)
            prepare();
        count = 0;
        __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
    } else {
        __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
        const uint64_t all = count;
        put(&all, sizeof all);
        put(address, all * sizeof *address);
    }
    return 0;
}
