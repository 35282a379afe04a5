#include "tests/lib/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/scratch.h"

static bool has_ended(long pid)
{
    char path[60], line[200] = "";
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return true;
    (void)!fgets(line, sizeof line, f);
    (void)fclose(f);
    const char *paren = strrchr(line, ')');
    return paren == NULL || paren[2] == 'Z';
}

bool process_has_ended(void **state, const char *name)
{
    size_t size;
    char *text = scratch_read(scratch_path(state, name), &size);
    long pid = strtol(text, NULL, 10);
    free(text);
    assert_true(pid > 1);
    for (int tries = 0; tries < 200 && !has_ended(pid); tries++)
        (void)usleep(10000);
    return has_ended(pid);
}

size_t count_processes(void **state)
{
    size_t count = 0;
    DIR *d = opendir("/proc");
    assert_non_null(d);
    for (struct dirent *p = readdir(d); p != NULL; p = readdir(d)) {
        char path[300], arguments[4096];
        if (!isdigit((unsigned char)p->d_name[0]) || strtol(p->d_name, NULL, 10) == getpid())
            continue;
        (void)snprintf(path, sizeof path, "/proc/%s/cmdline", p->d_name);
        FILE *f = fopen(path, "r");
        size_t n = f != NULL ? fread(arguments, 1, sizeof arguments, f) : 0;
        if (f != NULL)
            (void)fclose(f);
        const char *dir = *state;
        count += n > 0 && memmem(arguments, n, dir, strlen(dir)) != NULL;
    }
    (void)closedir(d);
    return count;
}
