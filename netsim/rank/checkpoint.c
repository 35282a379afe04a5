/* Checkpoints of trainings by ranks: the files of trainings in one process, with the same arrays in
 * the same order (netsim/inprocess/training_arrays.h). Rank 0 writes and reads them, so only its
 * host has the file, which is replaced as a whole; the other ranks send it the states of their
 * codecs, and servers their parts of the parameters and of the optimizer's state. Rank 0 has room
 * for all of it meanwhile. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/inprocess/training_arrays.h"
#include "netsim/job/training.h"
#include "netsim/rank/training.h"
#include "netsim/transport/mpi_calls.h"

/* --- codec states --- */

/* A codec's place and the size of its state, as rank 0 is told. */
struct place {
    uint64_t pack, tensor, begin, count;
};
enum { PLACE_NUMBERS = 4 };

/* The states of one rank. */
struct states {
    struct place *place;
    float **value;
    size_t count, place_capacity, value_capacity;
    float *room; /* on rank 0, of another rank's values; or NULL */
};

static void free_states(struct states *s)
{
    free(s->place);
    free(s->value);
    free(s->room);
}

static int list_own(const struct cc_rank_loop *l, struct states *out, struct cc_error *e)
{
    struct cc_pack_state state;
    for (size_t k = 0; k < l->packs.count; k++)
        for (size_t i = 0; cc_pack_state(l->packs.pack[k], i, &state); i++) {
            const size_t n = out->count + 1;
            CC_TRY(CC_GROW(out->place, &out->place_capacity, n, e));
            CC_TRY(CC_GROW(out->value, &out->value_capacity, n, e));
            out->place[out->count] =
                (struct place){k, state.slice.tensor, state.slice.begin, state.count};
            out->value[out->count++] = state.value;
        }
    return CC_OK;
}

/* Makes room for the values of another rank's states. */
static int open_values(struct states *s, struct cc_error *e)
{
    size_t values = 0;
    for (size_t i = 0; i < s->count; i++)
        values += (size_t)s->place[i].count;
    CC_TRY(CC_NEW(s->value, s->count, e));
    CC_TRY(CC_NEW(s->room, values, e));
    values = 0;
    for (size_t i = 0; i < s->count; i++) {
        s->value[i] = s->room + values;
        values += (size_t)s->place[i].count;
    }
    return CC_OK;
}

/* Sends a rank's list, or receives it. */
static int move_list(struct cc_rank *r, int peer, bool sends, struct states *s, struct cc_error *e)
{
    uint64_t count = s->count;
    CC_TRY(cc_mpi_move(r->comm, peer, sends, &count, 1, MPI_UINT64_T, e));
    s->count = (size_t)count;
    if (!sends)
        CC_TRY(CC_NEW(s->place, s->count, e));
    CC_TRY(cc_mpi_move(r->comm, peer, sends, s->place, PLACE_NUMBERS * s->count, MPI_UINT64_T, e));
    return sends ? CC_OK : open_values(s, e);
}

/* Lists the states of all ranks on rank 0, all[ranks]; the others have their own in *all. */
static int list_states(struct cc_rank *r, const struct cc_rank_loop *l, struct states *all,
                       struct cc_error *e)
{
    CC_TRY(list_own(l, all, e));
    if (r->rank != 0)
        return move_list(r, 0, true, all, e);
    for (int i = 1; i < r->ranks; i++)
        CC_TRY(move_list(r, i, false, &all[i], e));
    return CC_OK;
}

/* Moves the values of all states to rank 0, or from there. */
static int move_values(struct cc_rank *r, bool to_first, const struct states *all,
                       struct cc_error *e)
{
    const bool first = r->rank == 0;
    for (int k = first ? 1 : 0; k < (first ? r->ranks : 1); k++)
        for (size_t i = 0; i < all[k].count; i++)
            CC_TRY(cc_mpi_move(r->comm, k, first != to_first, all[k].value[i],
                               (size_t)all[k].place[i].count, MPI_FLOAT, e));
    return CC_OK;
}

static int add_states(const struct cc_rank *r, const struct states *all, struct cc_checkpoint *c,
                      struct cc_error *e)
{
    for (int rank = 0; rank < r->ranks; rank++)
        for (size_t i = 0; i < all[rank].count; i++) {
            const struct place *p = &all[rank].place[i];
            const struct cc_pack_state state = {
                .slice = {.tensor = (size_t)p->tensor, .begin = (size_t)p->begin},
                .value = all[rank].value[i],
                .count = (size_t)p->count};
            CC_TRY(cc_training_add_state(c, &r->job, rank, (size_t)p->pack, &state, e));
        }
    return CC_OK;
}

/* --- all arrays --- */

struct arrays {
    /* The ones of all ranks, on rank 0, or of a checkpoint; `unsent`: from one by one process,
     * which ranks have no use for. */
    struct cc_training_arrays of;
    struct states *states; /* [ranks], or 1 on other ranks than 0 */
};

static void free_arrays(const struct cc_rank *r, struct arrays *a)
{
    const int lists = r->rank == 0 ? r->ranks : 1;
    for (int i = 0; a->states != NULL && i < lists; i++)
        free_states(&a->states[i]);
    free(a->states);
    free(a->of.weights);
    free(a->of.server);
    free(a->of.optimizer);
    free(a->of.stats);
    free(a->of.own);
    free(a->of.unsent);
    for (size_t i = 0; a->of.delayed != NULL && i < a->of.delayed_count; i++)
        free(a->of.delayed[i]);
    free(a->of.delayed);
}

/* The floats of a worker with local steps; all ranks take part in moving them. */
static size_t own_floats(const struct cc_job *job, const struct cc_job_row *row, size_t values)
{
    if (job->training.local.steps == 0)
        return 0;
    const struct cc_model_layout layout = {.values = values};
    struct cc_local_steps l = cc_job_local(job, row);
    l.inner.layout = &layout;
    return cc_local_floats(&l);
}

/* Allocates all but stats; to save, parameters and the optimizer's state on rank 0 alone. */
static int open_arrays(struct cc_rank *r, const struct cc_rank_loop *l, bool saves,
                       struct arrays *a, struct cc_error *e)
{
    const size_t all = cc_job_values(&r->job), values = saves && r->rank != 0 ? 0 : all;
    const struct cc_optimizer optimizer = cc_job_learner(&r->job, l->s.row).optimizer;
    a->of.optimizer_count = cc_optimizer_state(&optimizer, all);
    a->of.stat_count = cc_source_learned(r->source).stat_count;
    a->of.own_count = own_floats(&r->job, l->s.row, all);
    CC_TRY(cc_alloc_floats(values, &a->of.weights, e));
    CC_TRY(cc_alloc_floats(r->rank == 0 ? (size_t)r->job.workers * a->of.own_count : 0, &a->of.own,
                           e));
    CC_TRY(cc_alloc_floats(values > 0 ? a->of.optimizer_count : 0, &a->of.optimizer, e));
    if (r->job.training.deltas || r->job.training.shards != CC_SHARDS_NONE)
        CC_TRY(cc_alloc_floats(values, &a->of.server, e));
    a->of.delayed_count =
        cc_job_delayed(&r->job, l->s.row, saves ? l->to : r->job.training.resumed);
    CC_TRY(CC_NEW(a->of.delayed, a->of.delayed_count, e));
    for (size_t i = 0; i < a->of.delayed_count; i++)
        CC_TRY(cc_alloc_floats(values, &a->of.delayed[i], e));
    CC_TRY(CC_NEW(a->states, r->rank == 0 ? (size_t)r->ranks : 1, e));
    return list_states(r, l, a->states, e);
}

/* The arrays in the order of a file. */
static int list_arrays(const struct cc_rank *r, const struct arrays *a, struct cc_checkpoint *c,
                       struct cc_error *e)
{
    CC_TRY(cc_training_add_arrays(c, &r->job, &a->of, e));
    return add_states(r, a->states, c, e);
}

/* --- saving --- */

/* Moves n floats of each worker's own, own[n], to rank 0 or from there, where all[workers][n] has
 * them one after the other. */
static int move_workers(struct cc_rank *r, bool to_first, float *own, size_t n, float *all,
                        struct cc_error *e)
{
    if (n == 0 || r->rank >= r->job.workers)
        return CC_OK;
    if (r->rank > 0)
        return cc_mpi_move(r->comm, 0, to_first, own, n, MPI_FLOAT, e);
    memcpy(to_first ? all : own, to_first ? own : all, n * sizeof *own);
    for (int i = 1; i < r->job.workers; i++)
        CC_TRY(cc_mpi_move(r->comm, i, !to_first, all + (size_t)i * n, n, MPI_FLOAT, e));
    return CC_OK;
}

/* Puts the parameters and the optimizer's state that servers, or the workers' shards, have on rank
 * 0. */
static int gather_parts(struct cc_rank *r, const struct cc_rank_loop *l,
                        const struct cc_source_learned *own, struct arrays *a, struct cc_error *e)
{
    const size_t values = own->values;
    if (own->shard != NULL) {
        CC_TRY(
            cc_rank_gather_shards(r, l->s.row, own->shard, true, a->of.server, a->of.optimizer, e));
        if (r->rank == 0 && cc_job_forgets(&r->job)) /* no worker has others */
            memcpy(a->of.weights, a->of.server, values * sizeof *a->of.weights);
        return CC_OK;
    }
    CC_TRY(cc_rank_gather_servers(r, own->weights, values, a->of.server, e));
    for (size_t i = 0; i < a->of.optimizer_count; i += values)
        CC_TRY(cc_rank_gather_servers(r, own->optimizer != NULL ? own->optimizer + i : NULL, values,
                                      r->rank == 0 ? a->of.optimizer + i : NULL, e));
    return CC_OK;
}

/* Puts everything on rank 0. */
static int gather(struct cc_rank *r, const struct cc_rank_loop *l, struct arrays *a,
                  struct cc_error *e)
{
    const struct cc_source_learned own = cc_source_learned(r->source);
    const bool first = r->rank == 0;
    if (first)
        memcpy(a->of.weights, own.weights, own.values * sizeof *a->of.weights);
    for (size_t i = 0; i < a->of.delayed_count && first; i++)
        memcpy(a->of.delayed[i], own.delayed[i], own.values * sizeof *a->of.weights);
    CC_TRY(CC_MPI_GATHER(r->comm, own.stats, own.stat_count, a->of.stats, e));
    CC_TRY(move_workers(r, true, own.own, a->of.own_count, a->of.own, e));
    if (a->of.server != NULL) {
        CC_TRY(gather_parts(r, l, &own, a, e));
    } else if (first && own.optimizer_count > 0) {
        memcpy(a->of.optimizer, own.optimizer, own.optimizer_count * sizeof *a->of.optimizer);
    }
    return move_values(r, true, a->states, e);
}

static int write_file(const struct cc_rank *r, const struct arrays *a, struct cc_training_log *log,
                      struct cc_error *e)
{
    const struct cc_job_training *t = &r->job.training;
    struct cc_checkpoint c = {0};
    int status = CC_OK;
    log->unsent_sq = log->gradient_sq = log->behind_sq = log->delta_sq = NAN;
    CC_TRY_OUT(list_arrays(r, a, &c, e));
    status = cc_training_log_save(log, t->settings, &c, t->checkpoint, e);
out:
    cc_checkpoint_free(&c);
    return status;
}

int cc_rank_save(struct cc_rank *r, const struct cc_rank_loop *l, struct cc_training_log *log,
                 struct cc_error *e)
{
    const struct cc_job_training *t = &r->job.training;
    const bool last = l->to == cc_rank_loop_steps(l);
    struct arrays a = {0};
    if (t->checkpoint == NULL || !(last || l->to % t->checkpoint_every == 0))
        return CC_OK;
    int status = CC_OK;
    CC_TRY_OUT(open_arrays(r, l, true, &a, e));
    CC_TRY_OUT(gather(r, l, &a, e));
    if (r->rank == 0)
        status = write_file(r, &a, log, e);
out:
    free_arrays(r, &a);
    return status;
}

/* --- restoring --- */

static int load(const struct cc_rank *r, const struct cc_rank_loop *l,
                const struct cc_checkpoint_file *f, struct arrays *a, struct cc_training_log *log,
                struct cc_error *e)
{
    const struct cc_job_training *t = &r->job.training;
    struct cc_checkpoint c = {0};
    CC_TRY(cc_training_log_read(f, t->settings, l->s.row->steps, log, e));
    if (log->step != t->resumed)
        return cc_fail(
            e,
            "%s: it was written after step %llu, and the job continues from %zu: something "
            "else writes it, too; try again when that has ended",
            f->path, (unsigned long long)log->step, t->resumed);
    if (!isnan(log->gradient_sq))
        CC_TRY(cc_alloc_floats(cc_job_values(&r->job), &a->of.unsent, e));
    int status = list_arrays(r, a, &c, e);
    if (status == CC_OK)
        status = cc_checkpoint_load(f, &c, e);
    cc_checkpoint_free(&c);
    return status;
}

static int read_file(const struct cc_rank *r, const struct cc_rank_loop *l, struct arrays *a,
                     struct cc_training_log *log, struct cc_error *e)
{
    struct cc_checkpoint_file f;
    CC_TRY(cc_checkpoint_open(r->job.training.checkpoint, &f, e));
    const int status = load(r, l, &f, a, log, e);
    cc_checkpoint_close(&f);
    return status;
}

/* Gives every rank what rank 0 has read. */
static int scatter(struct cc_rank *r, const struct arrays *a, struct cc_error *e)
{
    const size_t values = cc_job_values(&r->job);
    int status = CC_OK, stats;
    float *own_stats, *own = NULL;
    CC_TRY(cc_mpi_count(a->of.stat_count, &stats, e));
    CC_TRY(cc_mpi_broadcast(r->comm, a->of.weights, values, MPI_FLOAT, e));
    if (a->of.server != NULL)
        CC_TRY(cc_mpi_broadcast(r->comm, a->of.server, values, MPI_FLOAT, e));
    CC_TRY(cc_mpi_broadcast(r->comm, a->of.optimizer, a->of.optimizer_count, MPI_FLOAT, e));
    for (size_t i = 0; i < a->of.delayed_count; i++)
        CC_TRY(cc_mpi_broadcast(r->comm, a->of.delayed[i], values, MPI_FLOAT, e));
    CC_TRY(cc_alloc_floats(a->of.stat_count, &own_stats, e));
    int code = MPI_Scatter(a->of.stats, stats, MPI_FLOAT, own_stats, stats, MPI_FLOAT, 0, r->comm);
    CC_TRY_OUT(cc_mpi_check(code, "MPI_Scatter", e));
    CC_TRY_OUT(move_values(r, false, a->states, e));
    CC_TRY_OUT(cc_alloc_floats(r->rank < r->job.workers ? a->of.own_count : 0, &own, e));
    CC_TRY_OUT(move_workers(r, false, own, a->of.own_count, a->of.own, e));
    const bool serves = a->of.server != NULL && r->rank >= r->job.workers;
    const struct cc_source_learned to = {.weights = serves ? a->of.server : a->of.weights,
                                         .values = values,
                                         .stats = own_stats,
                                         .stat_count = a->of.stat_count,
                                         .main = a->of.server,
                                         .optimizer = a->of.optimizer,
                                         .optimizer_count = a->of.optimizer_count,
                                         .own = own,
                                         .own_count = a->of.own_count,
                                         .delayed = a->of.delayed,
                                         .delayed_count =
                                             r->rank < r->job.workers ? a->of.delayed_count : 0};
    status = cc_source_restore(r->source, r->job.training.resumed, &to, e);
out:
    free(own_stats);
    free(own);
    return status;
}

int cc_rank_restore(struct cc_rank *r, const struct cc_rank_loop *l, struct cc_training_log *log,
                    struct cc_error *e)
{
    struct arrays a = {0};
    int status = CC_OK;
    CC_TRY_OUT(open_arrays(r, l, false, &a, e));
    CC_TRY_OUT(cc_alloc_floats((size_t)r->ranks * a.of.stat_count, &a.of.stats, e));
    if (r->rank == 0)
        CC_TRY_OUT(read_file(r, l, &a, log, e));
    status = scatter(r, &a, e);
out:
    free_arrays(r, &a);
    return status;
}
