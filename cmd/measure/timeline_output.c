/* The timeline of run and sim.
 *
 * A row of the file is a row of the experiment, and in it every rank has a track with its spans
 * (compute, encode, wait ...), the ends of its transfers, and, for workers, the bounds of its
 * steps. In overlapped steps codecs have a processor of their own, and so a track of their own. */
#include "cmd/measure/experiment.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/interrupt.h"
#include "core/memory.h"
#include "core/version.h"
#include "models/sharded.h"

/* Colours of chrome://tracing's palette: a worker's computing is green, codecs are warm colours or
 * blue, and waiting is nearly white. */
static const struct cc_timeline_kind kinds[CC_PHASES] = {
    [CC_PHASE_COMPUTE] = {"compute", "thread_state_running"},
    [CC_PHASE_ENCODE] = {"encode", "rail_idle"},
    [CC_PHASE_HOP] = {"decode, add, encode", "rail_animation"},
    [CC_PHASE_SERVER] = {"aggregate", "rail_animation"},
    [CC_PHASE_DECODE] = {"decode", "rail_response"},
    [CC_PHASE_UPDATE] = {"update", "rail_load"},
    [CC_PHASE_WAIT] = {"wait", "thread_state_sleeping"},
};

enum { NAME_CAP = 40, ROW_CAP = 512 };

/* Browsers take long to open files larger than this. */
#define LARGE_BYTES 1e8

/* --- opening and closing --- */

const struct cc_option cc_timeline_options[] = {
    {.name = "timeline",
     CC_OPTION_AT(struct cc_timeline_output, path),
     .value = "FILE",
     .file = CC_WRITES_FILE,
     .group = CC_GROUP_OUTPUT,
     .help = "write the times of everything that each rank did, for ui.perfetto.dev or "
             "chrome://tracing (docs/timeline.md)"},
    {.name = NULL},
};

int cc_timeline_output_open(struct cc_timeline_output *t, const struct cc_args *args, bool dry_run,
                            const char *config, struct cc_error *e)
{
    static const char *about[] = {"program", "commcomp", "version", NULL, NULL};
    *t = (struct cc_timeline_output){.path = NULL};
    CC_TRY(cc_options_read(args, cc_timeline_options, t, e));
    (void)snprintf(t->config, sizeof t->config, "%s", config);
    if (t->path == NULL)
        return CC_OK;
    if (dry_run)
        return cc_usage(e, "--timeline: in a dry run nothing happens that it could show");
    about[3] = cc_version();
    return cc_timeline_open(t->path, about, 0, &t->file, e);
}

static int note_size(const struct cc_timeline_output *t, const struct cc_timeline_size *size,
                     struct cc_record *record, struct cc_error *e)
{
    static const char remedy[] = "fewer workers, steps or schemes make it smaller";
    const double mb = 1e-6 * (double)size->bytes;
    const bool small = mb < 1;
    CC_TRY(cc_record_note(record, e,
                          "timeline: %s (%.0f %s) opens in https://ui.perfetto.dev and "
                          "chrome://tracing",
                          t->path, small ? 1e3 * mb : mb, small ? "kB" : "MB"));
    if (size->left_out > 0)
        return cc_record_note(record, e,
                              "timeline: there was no room for %llu events, the last ones of each "
                              "rank; %s",
                              (unsigned long long)size->left_out, remedy);
    if ((double)size->bytes > LARGE_BYTES)
        return cc_record_note(record, e, "timeline: %.0f MB take a browser a while; %s", mb,
                              remedy);
    return CC_OK;
}

int cc_timeline_output_close(struct cc_timeline_output *t, struct cc_record *record, int status,
                             struct cc_error *e)
{
    struct cc_timeline_size size;
    if (t->file == NULL)
        return status;
    if (t->rows == 0) {
        cc_timeline_abort(t->file);
        return status;
    }
    struct cc_error own = {""};
    int closed = cc_timeline_close(t->file, status != CC_OK || cc_interrupted(), &size, &own);
    if (closed == CC_OK)
        closed = note_size(t, &size, record, &own);
    if (status != CC_OK || closed == CC_OK)
        return status;
    *e = own;
    return closed;
}

/* --- rows and ranks --- */

static int workers_of(const struct cc_experiment_setting *s)
{
    return s->setting.cluster.workers;
}

/* "worker 3", "server 0" */
static void name_rank(const struct cc_experiment_setting *s, int rank, char *out)
{
    const bool server = rank >= workers_of(s);
    (void)snprintf(out, NAME_CAP, "%s %d", server ? "server" : "worker",
                   server ? rank - workers_of(s) : rank);
}

/* The host of a rank, counted from 0: workers' hosts come first. */
static int host_of(const struct cc_setting *s, int rank)
{
    const struct cc_cluster *c = &s->cluster;
    const int server = rank - c->workers;
    if (server < 0)
        return cc_host_of(c, rank);
    return c->colocated ? server : cc_cluster_hosts(c) + server;
}

/* The rates of a worker's host, whose interfaces add up; the links of a platform's file are not
 * known. */
static void set_rates(const struct cc_experiment_setting *s, struct cc_timeline_head *head)
{
    const int nics = cc_cluster_nics(&s->setting.cluster);
    if (s->formula == CC_NO_FORMULA)
        return;
    head->up_bps = nics * cc_link_up_bps(&s->setting.link);
    head->down_bps = nics * cc_link_down_bps(&s->setting.link);
}

/* "3lc:s=1.75, ps, 10 workers, 1 server, 100 Mbit/s, overlap (sim, alpha-beta)" */
static void name_row(const struct cc_experiment *x, const struct cc_experiment_setting *setting,
                     const char *scheme, char *out)
{
    const struct cc_setting *s = &setting->setting;
    const int workers = workers_of(setting), servers = cc_experiment_ranks(s) - workers;
    char with_servers[48] = "";
    if (servers > 0)
        (void)snprintf(with_servers, sizeof with_servers, ", %d server%s", servers,
                       servers == 1 ? "" : "s");
    (void)snprintf(out, ROW_CAP, "%.200s, %s, %d worker%s%s, %.60s, %s (%s)", scheme,
                   cc_exchange_names[s->exchange], workers, workers == 1 ? "" : "s", with_servers,
                   s->link.name, cc_step_names[s->timing.mode], x->timeline->config);
}

static int begin_row(const struct cc_experiment *x, const struct cc_experiment_setting *setting,
                     size_t row, struct cc_error *e)
{
    char name[ROW_CAP];
    struct cc_timeline_head head = {.name = name,
                                    .scheme = cc_experiment_scheme(x, &setting->row[row])};
    name_row(x, setting, head.scheme, name);
    set_rates(setting, &head);
    x->timeline->rows++;
    return cc_timeline_row(x->timeline->file, &head, e);
}

/* Whether a phase is shown on the track of the worker's codecs. */
static bool has_own_track(const struct cc_experiment_setting *s, enum cc_phase phase)
{
    return s->setting.timing.mode == CC_OVERLAP &&
           (phase == CC_PHASE_ENCODE || phase == CC_PHASE_HOP || phase == CC_PHASE_DECODE);
}

/* Adds the spans of the rank's own track, or of that of its codecs. */
static void add_spans(struct cc_timeline *t, const struct cc_experiment_setting *s,
                      const struct cc_report_events *events, bool codecs)
{
    for (size_t i = 0; i < events->spans; i++) {
        const struct cc_span *span = &events->span[i];
        const struct cc_timeline_slice slice = {.begin = span->begin,
                                                .end = span->end,
                                                .step = span->step,
                                                .kind = &kinds[span->phase]};
        if (has_own_track(s, span->phase) == codecs)
            cc_timeline_put(t, &slice);
    }
}

/* Units of a setting with sharded states; otherwise 0. */
static int count_units(const struct cc_setting *s, size_t *out, struct cc_error *e)
{
    struct cc_message *unit;
    *out = 0;
    if (s->sharded.collectives.count == 0)
        return CC_OK;
    CC_TRY(CC_NEW(unit, s->net->count, e));
    *out = cc_sharded_units(s, unit);
    free(unit);
    return CC_OK;
}

/* "into worker 3", with sharded states behind "all-gather of parameters, before forward: " */
static void name_flow(const struct cc_setting *s, size_t units, const struct cc_flow_event *flow,
                      const char *receiver, char *out, size_t cap)
{
    const struct cc_collectives *c = &s->sharded.collectives;
    char what[80];
    if (units == 0 || flow->message / units >= (size_t)c->count) {
        (void)snprintf(out, cap, "into %s", receiver);
        return;
    }
    cc_collective_print(&c->item[flow->message / units], what, sizeof what);
    (void)snprintf(out, cap, "%s: into %s", what, receiver);
}

static int add_flow(struct cc_timeline *t, const struct cc_experiment_setting *s, int rank,
                    size_t units, const struct cc_flow_event *flow, struct cc_error *e)
{
    const int from = flow->received ? (int)flow->peer : rank,
              to = flow->received ? rank : (int)flow->peer;
    char id[80], into[NAME_CAP + 90], receiver[NAME_CAP], sender[NAME_CAP];
    name_rank(s, from, sender);
    name_rank(s, to, receiver);
    (void)snprintf(id, sizeof id, "%d-%d.%u.%u", from, to, flow->message, flow->number);
    name_flow(&s->setting, units, flow, receiver, into, sizeof into);
    const struct cc_timeline_end end = {.at = flow->at,
                                        .received = flow->received,
                                        .id = id,
                                        .name = into,
                                        .from = sender,
                                        .step = flow->step,
                                        .message = flow->message,
                                        .bytes = flow->bytes};
    return cc_timeline_put_end(t, &end, e);
}

static int add_rank(struct cc_timeline *t, const struct cc_experiment_setting *s,
                    const struct cc_report_events *events, struct cc_error *e)
{
    char name[NAME_CAP], codecs[NAME_CAP + 10];
    size_t units;
    const bool worker = events->rank < workers_of(s);
    const int host = host_of(&s->setting, events->rank);
    CC_TRY(count_units(&s->setting, &units, e));
    name_rank(s, events->rank, name);
    CC_TRY(cc_timeline_track(t, name, host, worker, e));
    add_spans(t, s, events, false);
    for (size_t i = 0; i < events->flows; i++)
        CC_TRY(add_flow(t, s, events->rank, units, &events->flow[i], e));
    for (size_t i = 0; i < events->steps && worker; i++)
        CC_TRY(cc_timeline_step(t, events->first_step + i, events->step[i].begin,
                                events->step[i].end, e));
    if (!worker || !has_own_track(s, CC_PHASE_ENCODE))
        return CC_OK;
    (void)snprintf(codecs, sizeof codecs, "%s, codecs", name);
    CC_TRY(cc_timeline_track(t, codecs, host, false, e));
    add_spans(t, s, events, true);
    return CC_OK;
}

int cc_timeline_output_add(const struct cc_experiment *x,
                           const struct cc_experiment_setting *setting,
                           const struct cc_report_events *events, struct cc_error *e)
{
    struct cc_timeline_output *t = x->timeline;
    if (events->row >= setting->rows || events->rank >= cc_experiment_ranks(&setting->setting))
        return cc_fail(e,
                       "events of rank %d in row %zu, which do not exist: is the ranks' program of "
                       "another version?",
                       events->rank, events->row);
    if (events->rank == 0)
        CC_TRY(begin_row(x, setting, events->row, e));
    cc_timeline_miss(t->file, events->left_out);
    return add_rank(t->file, setting, events, e);
}
