#include "tests/lib/guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void guard_close(struct guard *g)
{
    if (g->low != NULL)
        (void)munmap(g->low - page_bytes(), (size_t)(g->high - g->low) + 2 * page_bytes());
    *g = (struct guard){0};
}

void guard_reserve(struct guard *g, size_t bytes)
{
    const size_t page = page_bytes();
    if (g->low != NULL && bytes <= (size_t)(g->high - g->low))
        return;
    guard_close(g);
    size_t room = (bytes / page + 1) * page;
    uint8_t *map =
        mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED || mprotect(map + page, room, PROT_READ | PROT_WRITE) != 0) {
        perror("guard pages");
        exit(1);
    }
    g->low = map + page;
    g->high = g->low + room;
}

void *guard_back(struct guard *g, size_t bytes, size_t align)
{
    guard_reserve(g, bytes);
    /* The end lies on a page border, so that rounding the size up rounds the start down. */
    return g->high - (bytes + align - 1) / align * align;
}

void *guard_front(struct guard *g, size_t bytes)
{
    guard_reserve(g, bytes);
    return g->low;
}
