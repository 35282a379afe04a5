/* The one place that knows all files that a command reads and writes: the paths of its operands and
 * options. A file that is written must be neither read nor written by another one, under whatever
 * name: files are compared by device and inode, those that do not exist yet by their directory and
 * last name. A directory is read with all files in it. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/command.h"
#include "core/file.h"
#include "models/recipe.h"

struct use {
    char name[32]; /* "--trace", or "IN" */
    const char *path;
    bool written;
    bool directory; /* may be one, which is read */
};

struct uses {
    struct use list[CC_MAX_OPERANDS + CC_MAX_OPTIONS + CC_MAX_MORE];
    size_t count;
};

/* Operands have their names in the command's description. Those of a list in brackets are not
 * paths; "-" is standard input or output. */
static void add_operands(struct uses *u, const struct cc_args *args)
{
    const char *word = args->command->operands;
    for (int i = 0; word != NULL && word[0] != '[' && i < args->operands; i++) {
        struct use *one = &u->list[u->count++];
        const size_t length = strcspn(word, " ");
        const bool repeats = length > 3 && strncmp(word + length - 3, "...", 3) == 0;
        *one = (struct use){.path = args->operand[i], .directory = true};
        one->written = i + 1 == args->command->output_operand;
        (void)snprintf(one->name, sizeof one->name, "%.*s", (int)(repeats ? length - 3 : length),
                       word);
        word += repeats ? 0 : length + (word[length] == ' ');
    }
}

static void add_options(struct uses *u, const struct cc_args *args)
{
    for (int i = 0; i < args->more_count; i++)
        u->list[u->count++] =
            (struct use){.name = "--output", .path = args->more[i], .written = true};
    for (size_t i = 0; i < args->options.count; i++) {
        const struct cc_option *o = &args->options.option[i];
        if (o->file == CC_NO_FILE || args->value[i] == NULL)
            continue;
        struct use *one = &u->list[u->count++];
        *one = (struct use){.path = args->value[i], .written = o->file == CC_WRITES_FILE};
        one->directory = strstr(o->value, "PATH") != NULL; /* not FILE, or NAME|FILE */
        (void)snprintf(one->name, sizeof one->name, "--%s", o->name);
    }
}

/* The state of the file that the path names; "-" is standard input, or output where it is written.
 */
static bool state_of(const char *path, bool written, struct stat *st)
{
    if (strcmp(path, "-") != 0)
        return stat(path, st) == 0;
    return fstat(written ? STDOUT_FILENO : STDIN_FILENO, st) == 0;
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Sets *st to the state of the directory that holds `path`, zeros if there is none; returns the
 * name in it. Slashes at the end do not count: "out/" is "out". */
static const char *find_parent(const char *path, struct stat *st)
{
    char parent[PATH_MAX];
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    const char *slash = memrchr(path, '/', n);
    const int length = slash != NULL ? (int)(slash - path) + 1 : 0;
    *st = (struct stat){0};
    (void)snprintf(parent, sizeof parent, "%.*s.", length, path);
    (void)stat(parent, st);
    return path + length;
}

/* Whether two names that do not exist yet mean the same file. */
static bool same_new_file(const char *a, const char *b)
{
    struct stat sa, sb;
    const char *name_a = find_parent(a, &sa), *name_b = find_parent(b, &sb);
    const size_t n = strcspn(name_a, "/");
    return sa.st_ino != 0 && same_inode(&sa, &sb) && strcspn(name_b, "/") == n &&
           strncmp(name_a, name_b, n) == 0;
}

/* Outputs may share a pipe, a device or a descriptor, which gets one after the other. */
static bool same_file(const struct use *a, const struct use *b)
{
    struct stat sa, sb;
    const bool is_a = state_of(a->path, a->written, &sa), is_b = state_of(b->path, b->written, &sb);
    const bool stream_a = cc_file_is_stream(a->path), stream_b = cc_file_is_stream(b->path);
    if (is_a && is_b && same_inode(&sa, &sb) && (S_ISREG(sa.st_mode) || S_ISDIR(sa.st_mode)) &&
        !(stream_a && stream_b && a->written && b->written))
        return true;
    if (stream_a || stream_b)
        return false;
    return strcmp(a->path, b->path) == 0 || (!is_a && !is_b && same_new_file(a->path, b->path));
}

/* Whether the directory holds the file, or would. */
static bool holds(const char *directory, const char *path)
{
    struct stat in, parent, st, entry;
    if (stat(directory, &in) != 0 || !S_ISDIR(in.st_mode))
        return false;
    (void)find_parent(path, &parent);
    if (same_inode(&in, &parent) && !cc_file_is_stream(path))
        return true;
    DIR *d = stat(path, &st) == 0 ? opendir(directory) : NULL; /* for another link to the file */
    if (d == NULL)
        return false;
    bool found = false;
    for (struct dirent *f = readdir(d); f != NULL && !found; f = readdir(d))
        found = fstatat(dirfd(d), f->d_name, &entry, 0) == 0 && S_ISREG(entry.st_mode) &&
                same_inode(&entry, &st);
    (void)closedir(d);
    return found;
}

static int compare(const struct use *out, const struct use *other, struct cc_error *e)
{
    struct stat st;
    if (!other->written && !state_of(other->path, false, &st))
        return CC_OK; /* the name of a net, or a mistake that the command will find */
    if (same_file(out, other))
        return cc_usage(e, "%s and %s are the same file: %s; name another one", other->name,
                        out->name, out->path);
    if (!other->written && other->directory && !cc_file_is_stdout(out->path) &&
        holds(other->path, out->path))
        return cc_usage(e, "%s %s: the command reads its input there (%s %s); name another file",
                        out->name, out->path, other->name, other->path);
    return CC_OK;
}

/* The recipe that the options are of, and its bases, are read, too. */
static int compare_recipe(const struct use *out, struct use as, const struct cc_recipe *r,
                          struct cc_error *e)
{
    as.path = r->name;
    if (cc_recipe_is_file(r->name))
        CC_TRY(compare(out, &as, e));
    for (size_t i = 0; i < r->count; i++)
        if (r->item[i].from != NULL)
            CC_TRY(compare_recipe(out, (struct use){.name = "\"base\""}, r->item[i].from, e));
    return CC_OK;
}

int cc_args_check_outputs(const struct cc_args *args, struct cc_error *e)
{
    const char *output = args->output.output;
    struct uses u = {.count = 0};
    enum cc_format unused;
    if (output != NULL)
        CC_TRY(cc_format_of_path(output, args->output.format, &unused, e));
    for (int i = 0; i < args->more_count; i++)
        CC_TRY(cc_format_of_path(args->more[i], args->output.format, &unused, e));
    add_operands(&u, args);
    add_options(&u, args);
    for (size_t i = 0; i < u.count; i++) {
        const struct use *out = &u.list[i];
        if (!out->written)
            continue;
        for (size_t k = 0; k < u.count; k++)
            if (k < i || !u.list[k].written)
                CC_TRY(compare(out, &u.list[k], e));
        if (args->recipe != NULL)
            CC_TRY(compare_recipe(out, (struct use){.name = "--recipe"}, args->recipe->recipe, e));
        /* An operand may be a directory that is filled: the command knows. */
        struct stat st;
        const bool filled =
            strcmp(out->name, "OUTDIR") == 0 ||
            (out->name[0] != '-' && stat(out->path, &st) == 0 && S_ISDIR(st.st_mode));
        if (!filled)
            CC_TRY(cc_file_can_create(out->path, e));
    }
    return CC_OK;
}

int cc_args_check_beside(const struct cc_args *args, const char *name, const char *path,
                         struct cc_error *e)
{
    struct use beside = {.path = path, .written = true};
    struct uses u = {.count = 0};
    (void)snprintf(beside.name, sizeof beside.name, "%s", name);
    add_operands(&u, args);
    add_options(&u, args);
    for (size_t i = 0; i < u.count; i++)
        CC_TRY(compare(&beside, &u.list[i], e));
    return CC_OK;
}

static void put_state(const char *name, const struct stat *st, FILE *out)
{
    fprintf(out, "%s %ju %jd.%09ld\n", name, (uintmax_t)st->st_size, (intmax_t)st->st_mtim.tv_sec,
            st->st_mtim.tv_nsec);
}

/* The files in a directory, by name. */
static int put_directory(const char *path, FILE *out, struct cc_error *e)
{
    struct dirent **entry = NULL;
    struct stat st;
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int n = fd >= 0 ? scandirat(fd, ".", &entry, NULL, alphasort) : -1;
    for (int i = 0; i < n; i++) {
        if (fstatat(fd, entry[i]->d_name, &st, 0) == 0 && S_ISREG(st.st_mode))
            put_state(entry[i]->d_name, &st, out);
        free(entry[i]);
    }
    free(entry);
    if (fd >= 0)
        (void)close(fd);
    return n >= 0 ? CC_OK : cc_fail(e, "%s: cannot be listed", path);
}

int cc_args_put_inputs(const struct cc_args *args, FILE *out, struct cc_error *e)
{
    struct uses u = {.count = 0};
    struct stat st;
    add_operands(&u, args);
    add_options(&u, args);
    for (size_t i = 0; i < u.count; i++) {
        const struct use *one = &u.list[i];
        if (one->written || !state_of(one->path, false, &st))
            continue;
        if (S_ISDIR(st.st_mode))
            CC_TRY(put_directory(one->path, out, e));
        else
            put_state(one->name, &st, out);
    }
    return CC_OK;
}
