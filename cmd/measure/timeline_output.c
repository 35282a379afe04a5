#include "cmd/measure/timeline_output.h"

#include <string.h>
#include <stdio.h>

#include "core/interrupt.h"
#include "results/machine_info.h"

/* Colours of chrome://tracing's palette: what a worker computes is green, what codecs take warm or
 * blue, and waiting nearly white. */
static const struct cc_timeline_kind kinds[CC_PHASES] = {
    [CC_PHASE_COMPUTE] = {"compute", "thread_state_running"},
    [CC_PHASE_ENCODE] = {"encode", "rail_idle"},
    [CC_PHASE_HOP] = {"decode, add, encode", "rail_animation"},
    [CC_PHASE_SERVER] = {"aggregate", "rail_animation"},
    [CC_PHASE_DECODE] = {"decode", "rail_response"},
    [CC_PHASE_UPDATE] = {"update", "rail_load"},
    [CC_PHASE_WAIT] = {"wait", "thread_state_sleeping"},
};

enum { NAME_CAP = 40, ROW_CAP = 400 };

/* Above this much, browsers take their time. */
#define LARGE_BYTES 1e8

/* --- opening and closing --- */

int cc_timeline_output_open(struct cc_timeline_output *s, const struct cc_args *args,
                            const char *config, struct cc_error *e)
{
    static const char *about[] = {"program", "commcomp", "version", NULL, NULL};
    *s = (struct cc_timeline_output){.path = cc_arg(args, "timeline"), .config = config};
    if (s->path == NULL)
        return CC_OK;
    if (cc_arg_or_null(args, "dry-run") != NULL)
        return cc_usage(e, "--timeline: in a dry run nothing happens that it could show");
    about[3] = cc_version();
    return cc_timeline_open(s->path, about, 0, &s->file, e);
}

void cc_timeline_output_follow(struct cc_timeline_output *s, struct cc_experiment *p)
{
    if (s->file != NULL)
        p->story = s;
}

static int note(const struct cc_timeline_output *s, const struct cc_timeline_size *size,
                struct cc_record *record, struct cc_error *e)
{
    static const char remedy[] = "fewer workers, steps or schemes make it smaller";
    const double mb = 1e-6 * (double)size->bytes;
    const bool small = mb < 1;
    int status = cc_record_note(record, e,
                                "timeline: %s (%.0f %s) opens in https://ui.perfetto.dev and "
                                "chrome://tracing",
                                s->path, small ? 1e3 * mb : mb, small ? "kB" : "MB");
    if (status == CC_OK && size->left_out > 0)
        status = cc_record_note(record, e,
                                "timeline: there was no room for %llu moments, of each rank the "
                                "last ones; %s",
                                (unsigned long long)size->left_out, remedy);
    else if (status == CC_OK && (double)size->bytes > LARGE_BYTES)
        status =
            cc_record_note(record, e, "timeline: %.0f MB take a browser a while; %s", mb, remedy);
    return status;
}

int cc_timeline_output_close(struct cc_timeline_output *s, struct cc_record *record, int status,
                             struct cc_error *e)
{
    struct cc_timeline_size size;
    if (s->file == NULL)
        return status;
    if (s->rows == 0) {
        cc_timeline_abort(s->file);
        return status;
    }
    struct cc_error own = {""};
    int closed = cc_timeline_close(s->file, status != CC_OK || cc_interrupted(), &size, &own);
    if (closed == CC_OK)
        closed = note(s, &size, record, &own);
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

/* "3lc:s=1.75, ps, 10 workers, 1 server, 100mbps, overlap (sim, alpha-beta)" */
static void name_row(const struct cc_experiment *p, const struct cc_experiment_setting *planned,
                     size_t row, char *out)
{
    const struct cc_setting *s = &planned->setting;
    const int workers = workers_of(planned), servers = cc_experiment_ranks(s) - workers;
    char kept[48] = "";
    if (servers > 0)
        (void)snprintf(kept, sizeof kept, ", %d server%s", servers, servers == 1 ? "" : "s");
    (void)snprintf(out, ROW_CAP, "%.200s, %s, %d worker%s%s, %.60s, %s (%s)",
                   cc_experiment_scheme(p, &planned->row[row]), cc_exchange_names[s->exchange],
                   workers, workers == 1 ? "" : "s", kept, s->link.name,
                   cc_step_names[s->timing.mode], p->story->config);
}

/* Codecs have a processor of their own in overlapped steps, and so a track. */
static bool has_own_track(const struct cc_experiment_setting *s, enum cc_phase phase)
{
    return s->setting.timing.mode == CC_OVERLAP &&
           (phase == CC_PHASE_ENCODE || phase == CC_PHASE_HOP || phase == CC_PHASE_DECODE);
}

static void put_moments(struct cc_timeline *t, const struct cc_experiment_setting *s,
                        const struct cc_report_events *m, bool own)
{
    for (size_t i = 0; i < m->spans; i++) {
        const struct cc_span *p = &m->span[i];
        const struct cc_timeline_slice slice = {
            .begin = p->begin, .end = p->end, .step = p->step, .kind = &kinds[p->phase]};
        if (has_own_track(s, p->phase) == own)
            cc_timeline_put(t, &slice);
    }
}

static int put_passage(struct cc_timeline *t, const struct cc_experiment_setting *s, int rank,
                       const struct cc_flow_event *p, struct cc_error *e)
{
    const int from = p->came ? (int)p->peer : rank, to = p->came ? rank : (int)p->peer;
    char id[80], into[NAME_CAP + 5], receiver[NAME_CAP], sender[NAME_CAP];
    name_rank(s, from, sender);
    name_rank(s, to, receiver);
    (void)snprintf(id, sizeof id, "%d-%d.%u.%u", from, to, p->message, p->number);
    (void)snprintf(into, sizeof into, "into %s", receiver);
    const struct cc_timeline_end end = {.at = p->at,
                                        .came = p->came,
                                        .id = id,
                                        .name = into,
                                        .from = sender,
                                        .step = p->step,
                                        .message = p->message,
                                        .bytes = p->bytes};
    return cc_timeline_put_end(t, &end, e);
}

static int put_rank(struct cc_timeline *t, const struct cc_experiment_setting *s,
                    const struct cc_report_events *m, struct cc_error *e)
{
    char name[NAME_CAP], codecs[NAME_CAP + 10];
    const bool worker = m->rank < workers_of(s);
    name_rank(s, m->rank, name);
    int status = cc_timeline_track(t, name, e);
    put_moments(t, s, m, false);
    for (size_t i = 0; i < m->flows && status == CC_OK; i++)
        status = put_passage(t, s, m->rank, &m->flow[i], e);
    for (size_t i = 0; i < m->steps && worker && status == CC_OK; i++)
        status = cc_timeline_step(t, m->first_step + i, m->step[i].begin, m->step[i].end, e);
    if (status != CC_OK || !worker || !has_own_track(s, CC_PHASE_ENCODE))
        return status;
    (void)snprintf(codecs, sizeof codecs, "%s, codecs", name);
    status = cc_timeline_track(t, codecs, e);
    put_moments(t, s, m, true);
    return status;
}

int cc_timeline_output_take(const struct cc_experiment *p,
                            const struct cc_experiment_setting *setting,
                            const struct cc_report_events *m, struct cc_error *e)
{
    struct cc_timeline_output *s = p->story;
    char name[ROW_CAP];
    int status = CC_OK;
    if (m->row >= setting->rows || m->rank >= cc_experiment_ranks(&setting->setting))
        return cc_fail(e,
                       "moments of rank %d in row %zu, which there is none of: is the ranks' "
                       "program of another version?",
                       m->rank, m->row);
    if (m->rank == 0) {
        name_row(p, setting, m->row, name);
        status = cc_timeline_row(s->file, name, e);
        s->rows++;
    }
    cc_timeline_miss(s->file, m->left_out);
    return status == CC_OK ? put_rank(s->file, setting, m, e) : status;
}
