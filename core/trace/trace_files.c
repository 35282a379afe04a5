/* Traces in files, one for each step and sender.
 *
 * Opening reads the header of every file once: the first one defines the tensors, the others must
 * have the same. Only the path, identity (struct file_id), state (size, times)
 * and layout of each file are kept; files with the same layout, which is usual, share one. The
 * files are then sorted by direction, rank and step, and each run of the same direction and rank is
 * a stream. Loading reads the values to the caller's memory and then checks that the file has not
 * changed. The files used last stay open, so that loading small tensors is quick; a lock protects
 * them. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/format/contents.h"
#include "core/format/npz.h"
#include "core/infile.h"
#include "core/memory.h"
#include "core/nearest.h"
#include "core/trace/trace.h"
#include "core/trace/trace_decoder.h"
#include "core/trace/trace_impl.h"

/* --- the identity of a file: by its metadata, or by its name --- */

struct file_id {
    enum cc_direction direction;
    int64_t rank;
    uint64_t step; /* 0 unless has_step */
    bool has_step;
};

/* Parses digits at the start of the text; false if there are none or the number exceeds 64 bits. */
static bool parse_u64(const char *text, char **end, uint64_t *out)
{
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *out = strtoull(text, end, 10);
    return errno == 0;
}

static void identify_by_name(const char *path, struct file_id *id)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    bool push = strncmp(name, "push-step", 9) == 0;
    char *end;
    uint64_t step, rank;
    if ((!push && strncmp(name, "pull-step", 9) != 0) || !parse_u64(name + 9, &end, &step))
        return;
    if (push) {
        if (strncmp(end, "-rank", 5) != 0 || !parse_u64(end + 5, &end, &rank) || rank > INT64_MAX)
            return;
        id->rank = (int64_t)rank;
    }
    if (*end != '.')
        return;
    id->direction = push ? CC_PUSH : CC_PULL;
    id->step = step;
    id->has_step = true;
}

/* Refuses traces of other versions. Files of another schema, such as checkpoints, are tensors. */
static int check_schema(const struct cc_contents *c, struct cc_error *e)
{
    const char *schema = cc_contents_meta(c, "schema");
    const size_t name = strcspn(CC_TRACE_SCHEMA, "/") + 1;
    if (schema != NULL && strncmp(schema, CC_TRACE_SCHEMA, name) == 0 &&
        strcmp(schema, CC_TRACE_SCHEMA) != 0)
        return cc_fail(e, "its schema is \"%.60s\"; this program reads " CC_TRACE_SCHEMA, schema);
    return CC_OK;
}

static int take_direction(const char *text, struct file_id *id, struct cc_error *e)
{
    if (text == NULL)
        return CC_OK;
    const int direction = cc_word_find(cc_direction_names, text);
    if (direction < 0)
        return cc_fail(e, "metadata direction=\"%.60s\": neither push nor pull", text);
    id->direction = (enum cc_direction)direction;
    return CC_OK;
}

static int take_rank(const char *text, struct file_id *id, struct cc_error *e)
{
    if (id->direction == CC_PULL) {
        id->rank = -1;
        if (text != NULL && strcmp(text, "-1") != 0)
            return cc_fail(e, "metadata rank=\"%.60s\": a pull is the server's, whose rank is -1",
                           text);
        return CC_OK;
    }
    uint64_t rank;
    char *end;
    if (text == NULL)
        return CC_OK;
    if (!parse_u64(text, &end, &rank) || *end != '\0' || rank > INT64_MAX)
        return cc_fail(e, "metadata rank=\"%.60s\": a push has a rank from 0", text);
    id->rank = (int64_t)rank;
    return CC_OK;
}

/* Takes the identity from the metadata keys direction, rank and step; for keys that are missing,
 * from a name like push-step000012-rank3 or pull-step000012; else it is a push of rank 0 without a
 * step. */
static int identify(const char *path, const struct cc_contents *c, struct file_id *out,
                    struct cc_error *e)
{
    struct file_id id = {.direction = CC_PUSH};
    identify_by_name(path, &id);
    CC_TRY(check_schema(c, e));
    CC_TRY(take_direction(cc_contents_meta(c, "direction"), &id, e));
    CC_TRY(take_rank(cc_contents_meta(c, "rank"), &id, e));
    const char *step = cc_contents_meta(c, "step");
    char *end;
    if (step != NULL) {
        if (!parse_u64(step, &end, &id.step) || *end != '\0')
            return cc_fail(e, "metadata step=\"%.60s\": not a whole number from 0", step);
        id.has_step = true;
    }
    *out = id;
    return CC_OK;
}

/* Orders by direction and rank. */
static int by_stream(const struct file_id *a, const struct file_id *b)
{
    if (a->direction != b->direction)
        return a->direction < b->direction ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* --- the files --- */

/* The offset and type of each tensor in a file, in the trace's order. */
struct layout {
    struct layout *next;
    struct location {
        size_t offset;
        enum cc_dtype dtype;
    } locations[];
};

struct file {
    char *path;
    enum cc_file_format format;
    struct file_id id;
    const struct layout *layout;
    struct cc_file_state state; /* when its header was read; a change later is an error */
    bool open;
    struct cc_infile in; /* while it is open, */
    struct zip *archive; /* and of an .npz file, once it has been read from */
};

/* The most files of a trace that are open at a time; fewer where the process may open few. */
enum { MOST_OPEN = 256, SHARE_OPEN = 4 };

struct files {
    struct file *list; /* by stream, then step */
    size_t count, capacity;
    size_t *first;                    /* where each stream begins in list */
    struct layout *layouts;           /* the newest first */
    pthread_mutex_t lock;             /* protects open files */
    size_t opened[MOST_OPEN], in_use; /* the open files, as indices in list */
    size_t most_open, next;           /* where the next one goes, in turn */
    struct cc_held_file held;         /* the compressed file that was read last */
};

static struct files *own(const struct cc_trace *t)
{
    return t->own;
}

static struct file *file_of(const struct cc_trace *t, size_t stream, size_t step)
{
    return &own(t)->list[own(t)->first[stream] + step];
}

/* --- loading --- */

static uint64_t step_number(const struct cc_trace *t, size_t stream, size_t step)
{
    return file_of(t, stream, step)->id.step;
}

static void close_file(struct file *f)
{
    if (f->open)
        cc_infile_close(&f->in);
    cc_npz_close(f->archive);
    f->archive = NULL;
    f->open = false;
}

/* Opens a file unless it is open, and closes the one that was opened longest ago. */
static int open_file(struct files *fs, size_t index, struct cc_error *e)
{
    struct file *f = &fs->list[index];
    if (f->open)
        return CC_OK;
    if (fs->in_use == fs->most_open)
        close_file(&fs->list[fs->opened[fs->next]]);
    CC_TRY(cc_infile_open(f->path, &f->in, e));
    f->open = true;
    fs->opened[fs->next] = index;
    fs->next = (fs->next + 1) % fs->most_open;
    if (fs->in_use < fs->most_open)
        fs->in_use++;
    return CC_OK;
}

/* The first n of a file's `all` numbers in text, which are read together. */
static int read_text(const struct file *f, size_t all, size_t n, float *x, struct cc_error *e)
{
    float *whole;
    CC_TRY(CC_NEW(whole, all, e));
    const int status = cc_stored_read(&f->in, f->path, CC_DECIMAL, 0, all, whole, e);
    if (status == CC_OK)
        memcpy(x, whole, n * sizeof *x);
    free(whole);
    return status;
}

static int read_member(struct file *f, const struct location *p, size_t all, size_t n, float *x,
                       struct cc_error *e)
{
    int status = CC_OK;
    if (f->archive == NULL)
        CC_TRY_OUT(cc_npz_open(&f->in, &f->archive, e));
    CC_TRY_OUT(cc_npz_load(f->archive, p->offset, p->dtype, all, n, x, e));
out:
    return cc_status_in(status, e, "%s", f->path);
}

static int read_values(struct files *fs, struct file *f, const struct location *p, size_t all,
                       size_t n, float *x, struct cc_error *e)
{
    if (f->format == CC_COMPRESSED)
        return cc_held_load(&fs->held, (size_t)(f - fs->list), &f->in, f->path, p->offset, all, n,
                            x, e);
    if (f->format == CC_NPZ)
        return read_member(f, p, all, n, x, e);
    if (p->dtype == CC_DECIMAL && n < all)
        return read_text(f, all, n, x, e);
    return cc_stored_read(&f->in, f->path, p->dtype, p->offset, n, x, e);
}

static int load(struct cc_trace *t, size_t stream, size_t step, size_t tensor, size_t n, float *x,
                struct cc_error *e)
{
    struct files *fs = own(t);
    struct file *f = file_of(t, stream, step);
    const struct location *p = &f->layout->locations[tensor];
    (void)pthread_mutex_lock(&fs->lock);
    int status = open_file(fs, (size_t)(f - fs->list), e);
    const size_t all = t->tensors[tensor].shape.n;
    if (status == CC_OK)
        status = read_values(fs, f, p, all, n, x, e);
    if (status == CC_OK)
        status = cc_infile_check(&f->in, f->path, &f->state, e);
    (void)pthread_mutex_unlock(&fs->lock);
    return status;
}

static void close_files(struct cc_trace *t)
{
    struct files *fs = own(t);
    for (size_t i = 0; i < fs->count; i++) {
        close_file(&fs->list[i]);
        free(fs->list[i].path);
    }
    for (struct layout *l = fs->layouts, *next; l != NULL; l = next) {
        next = l->next;
        free(l);
    }
    cc_held_close(&fs->held);
    (void)pthread_mutex_destroy(&fs->lock);
    free(fs->list);
    free(fs->first);
    free(fs);
}

static enum cc_dtype dtype(const struct cc_trace *t, size_t tensor)
{
    return file_of(t, 0, 0)->layout->locations[tensor].dtype;
}

static const struct cc_trace_ops file_ops = {
    .step_number = step_number, .load = load, .close = close_files, .dtype = dtype};

/* --- opening --- */

static int take_tensors(struct cc_trace *t, const char *name, const struct cc_contents *c,
                        const size_t *order, struct cc_error *e)
{
    struct cc_tensor_info *tensors;
    CC_TRY(CC_NEW(tensors, c->count, e));
    for (size_t i = 0; i < c->count; i++) {
        const struct cc_stored *s = &c->tensors[order[i]];
        tensors[i] = (struct cc_tensor_info){.name = s->name, .shape = s->shape};
    }
    int status = cc_trace_set_tensors(t, name, tensors, c->count, e);
    free(tensors);
    return status;
}

/* Fails if a file's tensors differ from those of the first file. */
static int compare_tensors(const struct cc_trace *t, const struct cc_contents *c,
                           const size_t *order, const char *path, struct cc_error *e)
{
    const char *first = own(t)->list[0].path;
    if (c->count != t->count)
        return cc_fail(e, "%s has %zu tensors, %s has %zu: a trace has the same ones in every file",
                       path, c->count, first, t->count);
    for (size_t i = 0; i < c->count; i++) {
        const struct cc_stored *s = &c->tensors[order[i]];
        if (strcmp(s->name, t->tensors[i].name) != 0)
            return cc_fail(e,
                           "tensor %zu is \"%.100s\" in %s and \"%.100s\" in %s: a trace has "
                           "the same ones, in the same order, in every file",
                           i, s->name, path, t->tensors[i].name, first);
        const struct cc_shape *a = &s->shape, *b = &t->tensors[i].shape;
        if (a->ndim != b->ndim || memcmp(a->dim, b->dim, sizeof a->dim) != 0) {
            char as[64], bs[64];
            cc_shape_print(a, as, sizeof as);
            cc_shape_print(b, bs, sizeof bs);
            return cc_fail(e,
                           "tensor \"%.100s\" has the shape %s in %s and %s in %s: a trace has "
                           "the same shapes in every file",
                           s->name, as, path, bs, first);
        }
    }
    return CC_OK;
}

/* Sets the layout of the file: the newest one if it is the same, else a new one. */
static int take_layout(struct files *fs, struct file *f, const struct cc_contents *c,
                       const size_t *order, struct cc_error *e)
{
    struct layout *l = cc_alloc0(sizeof *l + c->count * sizeof l->locations[0], e);
    if (l == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < c->count; i++) {
        l->locations[i].offset = c->tensors[order[i]].offset;
        l->locations[i].dtype = c->tensors[order[i]].dtype;
    }
    struct layout *last = fs->layouts;
    bool same = last != NULL;
    for (size_t i = 0; same && i < c->count; i++)
        same = last->locations[i].offset == l->locations[i].offset &&
               last->locations[i].dtype == l->locations[i].dtype;
    if (same) {
        free(l);
    } else {
        l->next = last;
        fs->layouts = l;
    }
    f->layout = fs->layouts;
    return CC_OK;
}

static int take_contents(struct cc_trace *t, struct file *f, const struct cc_contents *c,
                         struct cc_error *e)
{
    size_t *order = NULL;
    int status = CC_OK;
    CC_TRY_IN(identify(f->path, c, &f->id, e), e, "%s", f->path);
    CC_TRY_IN(cc_contents_order(c, &order, e), e, "%s", f->path);
    if (own(t)->count == 0)
        CC_TRY_OUT(take_tensors(t, f->path, c, order, e));
    else
        CC_TRY_OUT(compare_tensors(t, c, order, f->path, e));
    CC_TRY_OUT(take_layout(own(t), f, c, order, e));
out:
    free(order);
    return status;
}

static int add_file(struct cc_trace *t, const char *path, struct cc_error *e)
{
    struct files *fs = own(t);
    struct file f = {0};
    struct cc_infile in;
    struct cc_contents c;
    if (cc_infile_is_stdin(path))
        CC_TRY(cc_file_format_find(path, &f.format, e));
    else if (cc_file_format_of(path, &f.format, NULL) != CC_OK)
        return cc_fail(e, "%s: not a trace: expected " CC_TENSOR_FILES, path);
    CC_TRY(cc_infile_open(path, &in, e));
    int status = cc_contents_read(&in, path, f.format, &c, e);
    cc_infile_close(&in);
    CC_TRY(status);
    f.state = in.state;
    CC_TRY_OUT(cc_text(&f.path, e, "%s", path));
    CC_TRY_OUT(take_contents(t, &f, &c, e));
    CC_TRY_OUT(CC_GROW(fs->list, &fs->capacity, fs->count + 1, e));
    fs->list[fs->count++] = f;
out:
    cc_contents_free(&c);
    if (status != CC_OK)
        free(f.path);
    return status;
}

static int is_tensor_file(const struct dirent *d)
{
    enum cc_file_format format;
    return d->d_name[0] != '.' && cc_file_format_of(d->d_name, &format, NULL) == CC_OK;
}

static int add_directory(struct cc_trace *t, const char *path, struct cc_error *e)
{
    struct dirent **names;
    /* versionsort: step9 before step10. */
    int count = scandir(path, &names, is_tensor_file, versionsort);
    if (count < 0)
        return cc_fail(e, "%s: cannot be read: %s", path, strerror(errno));
    int status = CC_OK;
    if (count == 0)
        status =
            cc_fail(e, "%s: no trace in this directory: no file ends with " CC_TENSOR_FILES, path);
    for (int i = 0; i < count; i++) {
        char *full = NULL;
        if (status == CC_OK)
            status = cc_text(&full, e, "%s/%s", path, names[i]->d_name);
        if (status == CC_OK)
            status = add_file(t, full, e);
        free(full);
    }
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return status;
}

static int by_id(const void *a, const void *b)
{
    const struct file *x = a, *y = b;
    int order = by_stream(&x->id, &y->id);
    if (order == 0)
        order = (x->id.step > y->id.step) - (x->id.step < y->id.step);
    return order != 0 ? order : strverscmp(x->path, y->path);
}

/* Sorts the files, numbers steps without a number, and adds the streams to the trace. */
static int sort_into_streams(struct cc_trace *t, struct cc_error *e)
{
    struct files *fs = own(t);
    qsort(fs->list, fs->count, sizeof *fs->list, by_id);
    CC_TRY(CC_NEW(fs->first, fs->count, e));
    for (size_t i = 0, end; i < fs->count; i = end) {
        struct file *f = &fs->list[i];
        for (end = i; end < fs->count && by_stream(&f->id, &fs->list[end].id) == 0; end++) {
            struct file *g = &fs->list[end];
            if (g->id.has_step != f->id.has_step)
                return cc_fail(e,
                               "%s says its step and %s does not: give all files the metadata "
                               "key step, or none",
                               g->path, f->path);
            if (end > i && g->id.has_step && g->id.step == g[-1].id.step)
                return cc_fail(e,
                               "%s and %s are both step %" PRIu64 " of the same %s of rank "
                               "%" PRId64 ": remove one",
                               g[-1].path, g->path, g->id.step, cc_direction_names[g->id.direction],
                               g->id.rank);
            if (!g->id.has_step)
                g->id.step = end - i;
        }
        fs->first[t->stream_count] = i;
        struct cc_trace_sender stream = {.direction = f->id.direction, .rank = f->id.rank};
        CC_TRY(cc_trace_add_stream(t, stream, end - i, e));
    }
    return CC_OK;
}

static size_t most_open(void)
{
    struct rlimit r;
    const size_t share = getrlimit(RLIMIT_NOFILE, &r) == 0 ? r.rlim_cur / SHARE_OPEN : MOST_OPEN;
    return share < 1 ? 1 : share < MOST_OPEN ? share : MOST_OPEN;
}

int cc_trace_open(const char *path, struct cc_trace **out, struct cc_error *e)
{
    struct stat st = {.st_mode = S_IFREG};
    if (!cc_infile_is_stdin(path) && stat(path, &st) != 0)
        return cc_fail(e, "%s: cannot be read: %s", path, strerror(errno));
    struct cc_trace *t;
    CC_TRY(cc_trace_new(&t, &file_ops, sizeof(struct files), e));
    struct files *fs = own(t);
    (void)pthread_mutex_init(&fs->lock, NULL);
    fs->most_open = most_open();
    int status = S_ISDIR(st.st_mode) ? add_directory(t, path, e) : add_file(t, path, e);
    if (status == CC_OK)
        status = sort_into_streams(t, e);
    if (status == CC_OK) {
        free(t->name);
        status = cc_text(&t->name, e, "%s", path);
    }
    if (status == CC_OK)
        *out = t;
    else
        cc_trace_close(t);
    return status;
}
