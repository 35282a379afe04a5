/* The rank program: rank 0 reads the job and broadcasts it; the rows run one after the other, each
 * a loop with its steps, counters and report. */
#include "netsim/rank/rank.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/infile.h"
#include "core/memory.h"
#include "netsim/lab/shape.h"
#include "netsim/rank/sources.h"
#include "netsim/rank/training.h"
#include "netsim/transport/mpi_calls.h"

/* --- the job --- */

/* *text is to be freed, also after an error. */
static int read_job(const char *path, char **text, size_t *length, struct cc_error *e)
{
    struct cc_bytes file = {.data = NULL};
    size_t capacity = 0;
    if (strcmp(path, "-") == 0) {
        const ssize_t got = getdelim(text, &capacity, '\0', stdin);
        if (ferror(stdin))
            return cc_fail(e, "the job cannot be read from stdin");
        *length = got > 0 ? (size_t)got : 0;
    } else {
        CC_TRY(cc_file_read(path, &file, e));
        *text = (char *)file.data;
        *length = file.size;
    }
    return *length <= INT_MAX
               ? CC_OK
               : cc_fail(e, "%s: a job of %zu bytes; %d are the most", path, *length, INT_MAX);
}

/* The first rank of the host that a rank is on. */
static int first_of_host(const struct cc_job *job, int rank)
{
    const int place = cc_job_place(job, rank);
    return place < job->workers ? place - place % cc_job_per_host(job) : place;
}

/* Whether ranks of a host share a network: colocated servers with their workers, and workers of a
 * host. On a cluster the user's list of hosts decides. */
static int check_hosts(struct cc_rank *r, struct cc_error *e)
{
    const uint64_t own = cc_host_id_here().network;
    const int host = first_of_host(&r->job, r->rank), per_host = cc_job_per_host(&r->job);
    if (!r->job.colocated && per_host == 1)
        return CC_OK;
    uint64_t *all;
    CC_TRY(CC_NEW(all, (size_t)r->ranks, e));
    int code = MPI_Allgather(&own, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, r->comm);
    int status = cc_mpi_check(code, "MPI_Allgather", e);
    if (status == CC_OK && all[host] != own && per_host > 1)
        status = cc_fail(e,
                         "rank %d is not on the host of rank %d: --per-host %d needs room for as "
                         "many ranks on each host (--hosts a:%d,b:%d, or \"slots=%d\" in a "
                         "hostfile)",
                         r->rank, host, per_host, per_host, per_host, per_host);
    else if (status == CC_OK && all[host] != own)
        status = cc_fail(e,
                         "the server of rank %d is not on the host of worker %d: --colocate needs "
                         "as many hosts as workers, with room for two ranks each (\"slots=2\" in a "
                         "hostfile)",
                         r->rank, host);
    free(all);
    return status;
}

static int open_job(struct cc_rank *r, const char *path, struct cc_error *e)
{
    int status = CC_OK;
    char *text = NULL;
    size_t length = 0;
    if (r->rank == 0)
        CC_TRY_OUT(read_job(path, &text, &length, e));
    status = cc_rank_take_job(r, text, length, e);
    if (status != CC_OK) {
        cc_error_in(e, "%s", strcmp(path, "-") == 0 ? "the job on stdin" : path);
        goto out;
    }
    if (!r->job.data && !cc_runtime_simulates())
        status = cc_fail(e, "a job without data can only be simulated: give it to `commcomp sim`");
    else if (r->ranks != r->job.workers + r->job.servers)
        status = cc_fail(e, "%d ranks were started for %d workers and %d servers", r->ranks,
                         r->job.workers, r->job.servers);
    else
        status = check_hosts(r, e);
out:
    free(text);
    return status;
}

/* --- rows --- */

struct row_run {
    struct cc_rank *rank;
    size_t row;
    struct cc_rank_loop *loop;
    struct cc_interface_bytes before;
    struct cc_applied_error error; /* in a job with `errors` */
    struct cc_training_log log;    /* a training's, on rank 0 */
};

/* Ends a step. Its report may fail: if stdout is gone, that of the row fails, too. */
static int end_step(void *arg, size_t step, struct cc_error *e)
{
    struct row_run *run = arg;
    struct cc_error ignored;
    if (run->rank->job.errors)
        cc_applied_error_step(&run->error, run->loop, step);
    const struct cc_report what = {.kind = CC_REPORT_STEP, .row = run->row, .step = step};
    (void)cc_rank_report(run->rank, &what, &ignored);
    return run->rank->job.training.capture != NULL ? cc_rank_capture(run->rank, run->loop, step, e)
                                                   : CC_OK;
}

static int begin_counting(void *arg, struct cc_error *e)
{
    struct row_run *run = arg;
    const char *device = run->rank->job.device;
    return device != NULL ? cc_interface_bytes_read(device, &run->before, e) : CC_OK;
}

/* Reads the device's counters after a barrier: between two such barriers, only the row's own
 * messages pass through it. */
static int read_interface(struct cc_rank *r, struct cc_interface_bytes *out, struct cc_error *e)
{
    *out = (struct cc_interface_bytes){0};
    CC_TRY(cc_runtime_barrier(r->comm, r->job.yield_when_idle, e));
    return r->job.device != NULL ? cc_interface_bytes_read(r->job.device, out, e) : CC_OK;
}

/* A training reports each interval as a row, and evaluations. */
static int end_interval(void *arg, struct cc_error *e)
{
    struct row_run *run = arg;
    struct cc_interface_bytes after;
    CC_TRY(read_interface(run->rank, &after, e));
    const struct cc_row_measures measures = {.before = &run->before, .after = &after};
    struct cc_report row;
    int status = CC_OK;
    CC_TRY_OUT(cc_rank_results(run->rank, run->row, run->loop, &measures, &row, e));
    CC_TRY_OUT(cc_rank_train_interval(run->rank, run->loop, &row.result, &run->log, e));
    status = cc_rank_save(run->rank, run->loop, &run->log, e);
out:
    cc_report_free(&row);
    return status;
}

static int run_row(struct cc_rank *r, size_t row, struct cc_error *e)
{
    int status = CC_OK;
    struct cc_rank_loop l;
    struct cc_interface_bytes after;
    struct cc_event_log events = {0};
    struct row_run run = {.rank = r, .row = row, .loop = &l, .error = {.workers = MPI_COMM_NULL}};
    struct cc_report report = {.kind = CC_REPORT_ROW};
    const struct cc_report begin = {.kind = CC_REPORT_ROW_BEGIN, .row = row};
    const struct cc_size_index *sizes = r->sizes != NULL ? r->sizes[row] : NULL;
    struct cc_size_index *const *stages = r->sizes != NULL ? r->sizes + r->job.rows : NULL;
    CC_TRY_OUT(
        cc_rank_loop_open(&l, r->comm, &r->job, &r->job.row[row], sizes, stages, r->source, e));
    l.on_step = end_step;
    l.on_counting = begin_counting;
    l.on_interval = r->job.training.net != NULL ? end_interval : NULL;
    l.callback_arg = &run;
    l.s.events = cc_event_gather_open(r, row, &events);
    CC_TRY_OUT(cc_rank_report(r, &begin, e));
    if (r->job.calls.limit_s > 0) {
        CC_TRY_OUT(cc_rank_calls(r, row, &l, e));
        goto out;
    }
    if (r->job.errors)
        CC_TRY_OUT(cc_applied_error_open(&run.error, &l, e));
    CC_TRY_OUT(read_interface(r, &run.before, e));
    if (r->job.training.resumed > 0)
        CC_TRY_OUT(cc_rank_restore(r, &l, &run.log, e));
    CC_TRY_OUT(cc_rank_loop_run(&l, e));
    if (l.on_interval != NULL)
        goto out;
    CC_TRY_OUT(read_interface(r, &after, e));
    if (r->job.errors)
        CC_TRY_OUT(cc_applied_error_end(&run.error, &l, e));
    const struct cc_row_measures measures = {
        .before = &run.before, .after = &after, .error = r->job.errors ? &run.error : NULL};
    CC_TRY_OUT(cc_rank_results(r, row, &l, &measures, &report, e));
    CC_TRY_OUT(cc_event_gather(r, row, &l, e));
out:
    cc_event_log_free(&events);
    cc_report_free(&report);
    cc_training_log_free(&run.log);
    /* After an error messages may be under way, which need their memory until the program ends. */
    if (status == CC_OK) {
        cc_applied_error_close(&run.error);
        cc_rank_loop_close(&l);
    } else {
        r->step = l.step;
    }
    return status;
}

static int run_rows(struct cc_rank *r, struct cc_error *e)
{
    CC_TRY(cc_source_open(&r->job, r->comm, &r->source, e));
    for (size_t i = 0; i < r->job.rows; i++)
        CC_TRY(run_row(r, i, e));
    return CC_OK;
}

/* --- shaping --- */

/* Counts the ranks on this one's host. */
static int ranks_on_host(MPI_Comm comm, int *out, struct cc_error *e)
{
    MPI_Comm here;
    CC_TRY(cc_mpi_check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here),
                        "the host", e));
    int status = cc_mpi_check(MPI_Comm_size(here, out), "the host", e);
    (void)MPI_Comm_free(&here);
    return status;
}

/* Shapes an interface of every host, in a job that asks for it: when this returns CC_OK on one
 * rank, all of them are. A rank that fails returns alone, and must end the job. cmd/rank.c calls
 * cc_shape_guard for `--shape`. */
static int begin_shaping(const struct cc_rank *r, struct cc_shaping *out, struct cc_error *e)
{
    const struct cc_job *job = &r->job;
    const struct cc_shape_config config = {.device = job->device,
                                           .bw_bps = job->shaping.bw_bps,
                                           .burst_bytes = job->shaping.burst_bytes,
                                           .limit_bytes = job->shaping.limit_bytes};
    int ranks;
    CC_TRY(ranks_on_host(r->comm, &ranks, e));
    if (ranks > 1)
        return cc_fail(e,
                       "%d ranks share a host: what they send each other does not pass %s; give "
                       "each a host of its own",
                       ranks, job->device);
    CC_TRY(cc_shaping_begin("/proc/self/exe", &config, out, e));
    return cc_mpi_check(MPI_Barrier(r->comm), "waiting for all hosts to be shaped", e);
}

/* --- all --- */

int cc_rank_open(struct cc_rank *r, MPI_Comm comm, const char *path, FILE *out, struct cc_error *e)
{
    *r = (struct cc_rank){.comm = comm, .out = out};
    CC_TRY(cc_mpi_place(comm, &r->rank, &r->ranks, e));
    return open_job(r, path, e);
}

/* Reports the MPI library once all ranks have reached this point. */
static int report_hello(struct cc_rank *r, struct cc_error *e)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    (void)MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n")] = '\0';
    const struct cc_report hello = {.kind = CC_REPORT_HELLO,
                                    .text = version[0] != '\0' ? version : (char *)"MPI"};
    CC_TRY(cc_runtime_barrier(r->comm, r->job.yield_when_idle, e));
    return cc_rank_report(r, &hello, e);
}

int cc_rank_run(struct cc_rank *r, struct cc_error *e)
{
    const struct cc_report done = {.kind = CC_REPORT_DONE};
    const bool shapes = r->job.shaping.bw_bps > 0;
    struct cc_shaping shaping;
    CC_TRY(report_hello(r, e));
    if (shapes)
        CC_TRY(begin_shaping(r, &shaping, e));
    CC_TRY(r->job.kind == CC_JOB_REPLAY ? run_rows(r, e) : cc_rank_pingpong(r, e));
    if (shapes)
        CC_TRY(cc_shaping_end(&shaping, e)); /* a rank that just ends leaves it to its guard */
    return cc_rank_report(r, &done, e);
}

void cc_rank_close(struct cc_rank *r)
{
    cc_source_close(r->source);
    cc_rank_free_job(r);
}
