#include "netsim/mpi/rank/rank.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "netsim/mpi/runtime/mpi_check.h"
#include "netsim/mpi/rank/event_gather.h"
#include "netsim/mpi/rank/shaped.h"

int cc_rank_report(struct cc_rank *r, const struct cc_report *what, struct cc_error *e)
{
    return r->rank == 0 ? cc_report_print(what, r->out, e) : CC_OK;
}

/* --- the job --- */

static int read_stdin(char **text, size_t *length, struct cc_error *e)
{
    char *all = NULL;
    size_t room = 0, have = 0, got;
    do {
        if (cc_grow((void **)&all, &room, have + 65536, 1, e) != CC_OK) {
            free(all);
            return CC_FAIL;
        }
        got = fread(all + have, 1, room - have, stdin);
        have += got;
    } while (got > 0);
    if (ferror(stdin)) {
        free(all);
        return cc_fail(e, "the job cannot be read from stdin");
    }
    *text = all;
    *length = have;
    return CC_OK;
}

static int read_file(const char *path, char **text, size_t *length, struct cc_error *e)
{
    struct cc_map map;
    if (cc_map_open(path, &map, e) != CC_OK)
        return CC_FAIL;
    *text = cc_alloc(map.size, e);
    if (*text != NULL)
        memcpy(*text, map.data, map.size);
    *length = map.size;
    cc_map_close(&map);
    return *text != NULL ? CC_OK : CC_FAIL;
}

static int read_job(const char *path, char **text, size_t *length, struct cc_error *e)
{
    int status =
        strcmp(path, "-") == 0 ? read_stdin(text, length, e) : read_file(path, text, length, e);
    if (status == CC_OK && *length > INT_MAX)
        status = cc_fail(e, "%s: a job of %zu bytes; %d are the most", path, *length, INT_MAX);
    return status;
}

static int take_job(struct cc_rank *r, const char *path, struct cc_error *e)
{
    char *text = NULL;
    size_t length = 0;
    int status = r->rank == 0 ? read_job(path, &text, &length, e) : CC_OK;
    if (status == CC_OK &&
        (status = cc_runtime_broadcast_job(r->comm, text, length, &r->job, &r->sizes, e)) != CC_OK)
        cc_error_in(e, "%s", strcmp(path, "-") == 0 ? "the job on stdin" : path);
    free(text);
    if (status == CC_OK && !r->job.data && cc_runtime_scratch() == NULL)
        status = cc_fail(e, "a job without data can only be simulated: give it to `commcomp sim`");
    if (status == CC_OK && r->ranks != r->job.workers + r->job.servers)
        status = cc_fail(e, "%d ranks were started for %d workers and %d servers", r->ranks,
                         r->job.workers, r->job.servers);
    return status;
}

/* --- the source --- */

/* A quarter of the memory is for gradients; all workers take the same number of steps. */
static int open_source(struct cc_rank *r, struct cc_error *e)
{
    int ranks_on_host;
    if (!r->job.data)
        return cc_replay_open(&r->job, -1, 0, &r->source, e);
    if (cc_runtime_ranks_on_host(r->comm, &ranks_on_host, e) != CC_OK)
        return CC_FAIL;
    uint64_t steps = cc_replay_fit(&r->job, cc_memory_available() / 4 / (size_t)ranks_on_host);
    int code = MPI_Allreduce(MPI_IN_PLACE, &steps, 1, MPI_UINT64_T, MPI_MIN, r->comm);
    if (cc_mpi_check(code, "MPI_Allreduce", e) != CC_OK)
        return CC_FAIL;
    int worker = r->rank < r->job.workers ? r->rank : -1;
    return cc_replay_open(&r->job, worker, (size_t)steps, &r->source, e);
}

/* --- rows --- */

struct beat {
    struct cc_rank *rank;
    size_t row;
    struct cc_interface_bytes before;
};

/* Whoever does not take this one does not take the row's result either, and then it is an error. */
static void report_step(void *arg, size_t step)
{
    const struct beat *b = arg;
    struct cc_error e;
    const struct cc_report what = {.kind = CC_REPORT_STEP, .row = b->row, .step = step};
    (void)cc_rank_report(b->rank, &what, &e);
}

static int begin_counting(void *arg, struct cc_error *e)
{
    struct beat *b = arg;
    const char *device = b->rank->job.device;
    return device != NULL ? cc_interface_bytes_read(device, &b->before, e) : CC_OK;
}

/* Between two barriers nothing but the row's own messages passes. */
static int look_at_device(struct cc_rank *r, struct cc_interface_bytes *out, struct cc_error *e)
{
    *out = (struct cc_interface_bytes){0};
    if (cc_runtime_barrier(r->comm, r->job.yield_when_idle, e) != CC_OK)
        return CC_FAIL;
    return r->job.device != NULL ? cc_interface_bytes_read(r->job.device, out, e) : CC_OK;
}

static int run_row(struct cc_rank *r, size_t row, struct cc_error *e)
{
    struct cc_rank_loop l;
    struct cc_interface_bytes after;
    struct cc_event_log events;
    struct beat beat = {.rank = r, .row = row};
    const struct cc_report begin = {.kind = CC_REPORT_ROW_BEGIN, .row = row};
    int status = cc_rank_loop_open(&l, r->comm, &r->job, &r->job.row[row],
                                   r->sizes != NULL ? r->sizes[row] : NULL, r->source, e);
    l.beat = report_step;
    l.counting = begin_counting;
    l.beat_arg = &beat;
    l.s.events = cc_event_gather_open(r, row, &events);
    if (status == CC_OK)
        status = cc_rank_report(r, &begin, e);
    if (status == CC_OK)
        status = look_at_device(r, &beat.before, e);
    if (status == CC_OK)
        status = cc_rank_loop_run(&l, e);
    if (status == CC_OK)
        status = look_at_device(r, &after, e);
    if (status == CC_OK)
        status = cc_rank_results(r, row, &l, &beat.before, &after, e);
    if (status == CC_OK)
        status = cc_event_gather(r, row, &l, e);
    cc_event_log_free(&events);
    /* After an error messages may be under way, which need their memory until the program ends. */
    if (status == CC_OK)
        cc_rank_loop_close(&l);
    return status;
}

static int run_replay(struct cc_rank *r, struct cc_error *e)
{
    int status = open_source(r, e);
    for (size_t i = 0; i < r->job.rows && status == CC_OK; i++)
        status = run_row(r, i, e);
    return status;
}

/* --- all --- */

int cc_rank_open(struct cc_rank *r, MPI_Comm comm, const char *path, FILE *out, struct cc_error *e)
{
    *r = (struct cc_rank){.comm = comm, .out = out};
    if (cc_mpi_check(MPI_Comm_rank(comm, &r->rank), "MPI_Comm_rank", e) != CC_OK ||
        cc_mpi_check(MPI_Comm_size(comm, &r->ranks), "MPI_Comm_size", e) != CC_OK)
        return CC_FAIL;
    return take_job(r, path, e);
}

static int say_hello(struct cc_rank *r, struct cc_error *e)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    (void)MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n")] = '\0';
    const struct cc_report hello = {.kind = CC_REPORT_HELLO,
                                    .text = version[0] != '\0' ? version : (char *)"MPI"};
    if (cc_runtime_barrier(r->comm, r->job.yield_when_idle, e) != CC_OK)
        return CC_FAIL;
    return cc_rank_report(r, &hello, e);
}

int cc_rank_run(struct cc_rank *r, struct cc_error *e)
{
    const struct cc_report done = {.kind = CC_REPORT_DONE};
    struct cc_shaped shaped;
    int status = say_hello(r, e);
    if (status == CC_OK)
        status = cc_shaped_begin(&r->job, r->comm, &shaped, e);
    if (status != CC_OK)
        return status;
    status = r->job.kind == CC_JOB_REPLAY ? run_replay(r, e) : cc_rank_pingpong(r, e);
    if (status == CC_OK)
        status = cc_shaped_end(&shaped, e);
    return status == CC_OK ? cc_rank_report(r, &done, e) : status;
}

void cc_rank_close(struct cc_rank *r)
{
    cc_replay_close(r->source);
    cc_runtime_free_job(&r->job, r->sizes);
}
