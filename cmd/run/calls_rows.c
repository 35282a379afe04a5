/* The rows and notes of timed calls. Bandwidths are those of nccl-tests: the bytes of one worker's
 * gradient over the time, and that times 2 (P - 1) / P, which is what a link carries in an
 * allreduce that moves as little as possible. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/measure/experiment.h"
#include "cmd/run/calls.h"
#include "core/memory.h"
#include "core/stats.h"
#include "models/nccl.h"
#include "results/machine_info.h"

/* The quartiles of steady calls are less than this share of the median apart. */
#define UNSTEADY 0.5

/* --- a row --- */

/* The types by NCCL's names. */
static const char *const nccl_types[CC_ELEMENTS] = {
    [CC_ELEMENT_FP32] = "float", [CC_ELEMENT_BF16] = "bfloat16", [CC_ELEMENT_FP16] = "half"};

static double type_bytes(const struct cc_setting *s)
{
    return (double)cc_element_bytes[s->dtype];
}

/* Adds a row with its setting. */
static int new_row(struct calls *c, const char *scheme, size_t *at, struct cc_error *e)
{
    const struct cc_setting *s = c->setting;
    const struct cc_cluster *cluster = &s->cluster;
    const bool servers = cc_exchange_has(s->exchange, CC_X_SERVERS);
    const bool hosts = cc_cluster_per_host(cluster) > 1;
    const bool inside = hosts && cc_exchange_has(s->exchange, CC_X_INSIDE);
    const struct cc_number_column all[] = {
        {CC_KEY(values), (double)s->net->values},
        {CC_KEY(per_host), hosts ? (double)cluster->per_host : NAN},
        {CC_KEY(chunks), cluster->chunks > 1 ? (double)cluster->chunks : NAN},
        {CC_KEY(size_bytes), type_bytes(s) * (double)s->net->values},
        {CC_KEY(workers), s->cluster.workers},
        {CC_KEY(servers), servers ? (double)s->cluster.servers : NAN},
        {CC_KEY(keep), s->cluster.keep > 0 ? s->cluster.keep : NAN},
        {CC_KEY(nonzeros), c->nonzeros}};
    const struct cc_text_column texts[] = {
        {CC_KEY(scheme), scheme},
        {CC_KEY(exchange), cc_exchange_names[s->exchange]},
        {CC_KEY(op), cc_operation_names[s->cluster.op]},
        {CC_KEY(dtype), cc_element_names[s->dtype]},
        {CC_KEY(element_type), nccl_types[s->dtype]},
        {CC_KEY(redop), s->cluster.op == CC_ALL_GATHER ? "none" : "sum"},
        {CC_KEY(gather_scheme), s->cluster.gather},
        {CC_KEY(intra_scheme), s->cluster.intra_scheme},
        {CC_KEY(inner_exchange), inside ? cc_stage_exchange_names[cluster->inner_exchange] : NULL},
        {CC_KEY(outer_exchange), inside ? cc_stage_exchange_names[cluster->outer_exchange] : NULL},
        {CC_KEY(indices), cc_indices_names[c->source.indices]}};
    CC_TRY(cc_record_add(c->record, at, e));
    cc_record_numbers(c->record, *at, all, sizeof all / sizeof all[0]);
    return cc_record_texts(c->record, *at, texts, sizeof texts / sizeof texts[0], e);
}

static void add_numbers(struct calls *c, size_t at, const struct cc_report_calls *got)
{
    const struct cc_setting *s = c->setting;
    const double values = (double)s->net->values;
    const double payload =
        got->push_bytes /
        cc_exchange_encoded_share(s->exchange, c->job->row[got->row].reduction, &s->cluster);
    const double bits = 8 * payload / values;
    const struct cc_stats time = cc_stats_of(got->call_s, got->calls); /* sorts them */
    const double algorithm = 1e-9 * type_bytes(s) * values / time.median;
    const struct cc_number_column all[] = {
        {CC_KEY(payload_bytes), payload},
        {CC_KEY(bits_per_value), bits},
        {CC_KEY(ratio), 8 * type_bytes(s) / bits},
        {CC_KEY(bits_push), bits},
        {CC_KEY(call_s), time.median},
        {CC_KEY(call_s_low), time.low},
        {CC_KEY(call_s_high), time.high},
        {CC_KEY(calls), (double)got->calls},
        {CC_KEY(algbw_gb_per_s), algorithm},
        {CC_KEY(busbw_gb_per_s), algorithm * cc_nccl_bus_factor(s->cluster.op, s->cluster.workers)},
        {CC_KEY(encode_s), got->encode_s},
        {CC_KEY(apply_s), got->apply_s},
        {CC_KEY(result_values), got->result_values},
        {CC_KEY(sent_bytes), got->given_bytes},
        {CC_KEY(messages), got->messages}};
    cc_record_numbers(c->record, at, all, sizeof all / sizeof all[0]);
    c->row[c->rows - 1].call_s = time.median;
    c->unsteady += time.high - time.low > UNSTEADY * time.median;
}

static void take_check(struct calls *c, size_t at, const struct cc_report_calls *got)
{
    const char *scheme = c->job->row[got->row].scheme;
    if (!got->checked)
        return;
    c->checked++;
    cc_record_bool(c->record, at, CC_KEY(check), got->wrong == NULL);
    if (got->wrong != NULL && c->wrong++ == 0)
        (void)snprintf(c->first_wrong, sizeof c->first_wrong, "%.60s over %s, %d workers: %.250s",
                       scheme, cc_exchange_names[c->job->exchange], c->job->workers, got->wrong);
}

int calls_add_row(struct calls *c, const struct cc_report_calls *got, struct cc_error *e)
{
    const struct cc_job *job = c->job;
    if (got->row >= job->rows || got->calls == 0)
        return cc_fail(e, "the ranks report row %zu of %zu: is their program of another version?",
                       got->row, job->rows);
    const struct cc_job_row *row = &job->row[got->row];
    size_t at;
    CC_TRY(new_row(c, row->scheme, &at, e));
    c->reported++;
    CC_TRY(CC_GROW(c->row, &c->row_capacity, c->rows + 1, e));
    c->row[c->rows++] = (struct calls_row){.at = at,
                                           .dense = strcmp(row->scheme, CC_RAW_SCHEME) == 0,
                                           .by_mpi = cc_exchange_has(job->exchange, CC_X_LIBRARY)};
    c->encodes |= job->servers > 0 || cc_job_row_hops(job, row);
    add_numbers(c, at, got);
    if (got->chose != NULL)
        CC_TRY(cc_record_text(c->record, at, CC_KEY(chose), got->chose, e));
    take_check(c, at, got);
    return CC_OK;
}

int calls_add_dry_rows(struct calls *c, struct cc_error *e)
{
    for (size_t i = 0; i < c->job->rows; i++) {
        size_t at;
        CC_TRY(new_row(c, c->job->row[i].scheme, &at, e));
        cc_record_number(c->record, at, CC_KEY(row_s), c->options.time_s);
    }
    return CC_OK;
}

void calls_end_group(struct calls *c)
{
    double dense_s = NAN;
    for (size_t i = 0; i < c->rows; i++)
        if (c->row[i].dense && c->row[i].by_mpi)
            dense_s = c->row[i].call_s;
    for (size_t i = 0; i < c->rows; i++)
        cc_record_number(c->record, c->row[i].at, CC_KEY(speedup), dense_s / c->row[i].call_s);
    c->rows = 0;
}

/* --- notes --- */

static int note_place(const struct calls *c, struct cc_error *e)
{
    struct cc_machine_info host;
    const int name = (int)strcspn(c->record->mpi, ",");
    double most = 0;
    if (!c->hosts.cluster.here)
        return cc_record_note(c->record, e,
                              "ran over %.*s on the cluster, whose links are as they are", name,
                              c->record->mpi);
    cc_machine_info_read(&host);
    for (size_t i = 0; i < c->record->row_count; i++)
        most = fmax(most, cc_record_value(c->record, i, CC_KEY(workers))->number);
    CC_TRY(cc_record_note(c->record, e, "ran over %.*s on this machine, without a network", name,
                          c->record->mpi));
    if (most <= host.cores)
        return CC_OK;
    return cc_record_warn(c->record, e,
                          "oversubscribed: up to %.0f workers share %d cores; on cores of their "
                          "own, calls would be shorter",
                          most, host.cores);
}

int calls_notes(struct calls *c, struct cc_error *e)
{
    if (c->record->row_count == 0)
        return c->left_out > 0 ? cc_usage(e, "%s", c->reason.text) : CC_OK;
    if (c->steps.dry_run)
        return cc_record_note_at(c->record, CC_NOTE_ANSWER, e,
                                 "dry run: %zu rows take at most %.3g s, and some seconds to start "
                                 "the ranks of %zu settings",
                                 c->record->row_count,
                                 c->options.time_s * (double)c->record->row_count, c->done);
    CC_TRY(note_place(c, e));
    if (c->unsteady > 0) /* times depend on what else runs */
        CC_TRY(cc_record_warn(
            c->record, e,
            "%zu of %zu rows vary: their quartiles are more than %.0f%% of the median "
            "apart; other programs run, or workers take turns on a core in time "
            "slices of some milliseconds: fewer workers, or a longer --time",
            c->unsteady, c->record->row_count, 100 * UNSTEADY));
    if (c->chooses)
        CC_TRY(
            cc_record_note(c->record, e,
                           "ssar-auto: chose by the formulas of a link of %g Gbit/s and %g us, "
                           "which stands for this machine's memory; neither is measured. `chose` "
                           "counts the calls that took each exchange",
                           1e-9 * CALLS_BW_BPS, 1e6 * CALLS_LATENCY_S));
    CC_TRY(cc_record_note(c->record, e, "gradients: synthetic, %s",
                          cc_distribution_names[c->source.distribution]));
    if (c->encodes)
        CC_TRY(cc_record_note(c->record, e,
                              "with servers, and where sums are encoded on their way, a call "
                              "includes the codecs' time"));
    if (c->left_out > 0)
        CC_TRY(cc_record_note(c->record, e, "left out: %s%s", c->reason.text,
                              c->left_out > 1 ? "; likewise other combinations" : ""));
    if (c->options.check && c->checked < c->record->row_count)
        CC_TRY(cc_record_note(c->record, e,
                              "not checked: results that lose something where they are encoded "
                              "again, and sums of several rounds"));
    if (c->wrong == 0)
        return CC_OK;
    return cc_fail(e, "%zu of %zu results that were checked %s wrong: %s", c->wrong, c->checked,
                   c->wrong == 1 ? "is" : "are", c->first_wrong);
}
