#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int scratch_setup(void **state)
{
    char *path = strdup("/tmp/commcomp-test-XXXXXX");
    if (path == NULL || mkdtemp(path) == NULL)
        return -1;
    *state = path;
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

int scratch_teardown(void **state)
{
    int status = nftw(*state, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return status;
}

const char *scratch_path(void **state, const char *name)
{
    static char paths[8][512];
    static unsigned next;
    char *path = paths[next++ % 8];
    assert_true(snprintf(path, sizeof paths[0], "%s/%s", (char *)*state, name) <
                (int)sizeof paths[0]);
    return path;
}

const char *scratch_write(void **state, const char *name, const void *bytes, size_t size)
{
    const char *path = scratch_path(state, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    return path;
}

const char *scratch_safetensors(void **state, const char *name, const char *header,
                                const void *data, size_t size)
{
    size_t length = strlen(header);
    uint8_t *bytes = malloc(8 + length + size);
    assert_non_null(bytes);
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)length >> 8 * i);
    memcpy(bytes + 8, header, length);
    if (size > 0)
        memcpy(bytes + 8 + length, data, size);
    const char *path = scratch_write(state, name, bytes, 8 + length + size);
    free(bytes);
    return path;
}

void *scratch_read(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *size = (size_t)ftell(f);
    rewind(f);
    void *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, f), *size);
    ((char *)bytes)[*size] = '\0';
    (void)fclose(f);
    return bytes;
}

size_t scratch_count(void **state)
{
    DIR *d = opendir(*state);
    assert_non_null(d);
    size_t count = 0;
    while (readdir(d) != NULL)
        count++;
    (void)closedir(d);
    return count - 2; /* . and .. */
}
