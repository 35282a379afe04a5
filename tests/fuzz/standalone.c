/* Runs a fuzz target over the files given, for compilers without libFuzzer and for `make asan`. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run(const char *path)
{
    struct stat info;
    FILE *f = fopen(path, "rb");
    if (f == NULL || fstat(fileno(f), &info) != 0) {
        perror(path);
        return 1;
    }
    const size_t size = (size_t)info.st_size;
    uint8_t *data = malloc(size + 1);
    const int read = data != NULL && fread(data, 1, size, f) == size;
    (void)fclose(f);
    if (read)
        (void)LLVMFuzzerTestOneInput(data, size);
    else
        fprintf(stderr, "%s: cannot be read\n", path);
    free(data);
    return !read;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= run(argv[i]);
    printf("%s: %d inputs\n", argv[0], argc - 1);
    return failed;
}
