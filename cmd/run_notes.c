/* What run says under its table. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/run.h"
#include "results/host.h"

static double number(const struct cc_record *r, size_t row, const char *key)
{
    const struct cc_value *v = cc_record_value(r, row, key);
    return v->kind == CC_NUMBER ? v->number : NAN;
}

/* A list that ends with "..." where there is no more room. */
struct list {
    char text[240];
    size_t used, count;
};

static void add(struct list *l, const char *scheme, double percent)
{
    char item[96];
    int n =
        snprintf(item, sizeof item, "%s%.60s %+.1f%%", l->count > 0 ? ", " : "", scheme, percent);
    l->count++;
    if (l->used + (size_t)n + 5 < sizeof l->text)
        l->used += (size_t)snprintf(l->text + l->used, sizeof l->text - l->used, "%s", item);
    else if (strstr(l->text, " ...") == NULL)
        (void)snprintf(l->text + l->used, sizeof l->text - l->used, " ...");
}

/* "ps at 100mbps, 8 workers, 2 servers" */
static void place(const struct cc_setting *s, char *out, size_t cap)
{
    char servers[32] = "";
    if (s->exchange == CC_PS && s->cluster.servers > 1)
        (void)snprintf(servers, sizeof servers, ", %d servers", s->cluster.servers);
    (void)snprintf(out, cap, "%s at %s, %d worker%s%s", cc_exchange_names[s->exchange],
                   s->link.name, s->cluster.workers, s->cluster.workers == 1 ? "" : "s", servers);
}

/* --- the model --- */

/* How far the model may be off before it says so: what was found on the way (docs/run.md). */
static double tolerance(const struct cc_setting *s)
{
    if (s->exchange != CC_PS)
        return 0.15;
    return s->link.bw_bps >= 1e9 ? 0.08 : 0.03;
}

static const char *suspect(const struct run *r, const struct run_setting *s, double worst_burst)
{
    if (!r->options.hosts.lab)
        return "other traffic, or links that are not what --bw says: `commcomp calibrate` measures "
               "them";
    if (worst_burst > 0.05)
        return "the burst (below)";
    if (s->setting.exchange == CC_MPI)
        return "the library's own exchange: the model takes the fastest that it might choose";
    if (s->setting.timing.straggler != CC_STEADY)
        return "stragglers: the model has their mean, the run a few draws; more --steps tell";
    if (s->oversubscribed)
        return "more busy ranks than cores: what they compute and code takes turns, and the "
               "network "
               "waits for them";
    if (s->setting.link.bw_bps >= 1e9)
        return "the cores: they carry every byte of this network several times";
    return "few steps, or TCP: more --steps tell";
}

/* Long lists of settings say the rest in their column alone. */
enum { MOST_NOTES = 12 };

static int note_model(struct run *r, const struct run_setting *s, size_t first, struct cc_error *e)
{
    struct list off = {.used = 0};
    double limit = tolerance(&s->setting), burst = 0;
    char where[160];
    for (size_t i = first; i < r->record->row_count; i++) {
        double error = number(r->record, i, "model_error");
        if (!(fabs(error) > limit))
            continue;
        burst = fmax(burst, number(r->record, i, "burst_share"));
        add(&off, cc_record_value(r->record, i, "scheme")->text, 100 * error);
    }
    if (off.count == 0 || r->record->note_count >= MOST_NOTES)
        return CC_OK;
    place(&s->setting, where, sizeof where);
    return cc_record_note(r->record, e,
                          "%s: measured and model differ by more than %.0f%%: %s; suspect: %s",
                          where, 100 * limit, off.text, suspect(r, s, burst));
}

int cc_run_setting_notes(struct run *r, const struct run_setting *s, size_t first,
                         struct cc_error *e)
{
    if (first == r->record->row_count)
        return CC_OK;
    int status = cc_forecast_fastest(&r->forecast, first, &s->setting, e);
    return status == CC_OK ? note_model(r, s, first, e) : status;
}

/* --- under all rows --- */

static int note_burst(struct run *r, struct cc_error *e)
{
    const struct cc_record *rows = r->record;
    size_t count = 0, worst = 0;
    for (size_t i = 0; i < rows->row_count; i++) {
        double share = number(rows, i, "burst_share");
        count += share > 0.05;
        if (share > fmax(0, number(rows, worst, "burst_share")))
            worst = i;
    }
    if (count == 0)
        return CC_OK;
    return cc_record_note(
        r->record, e,
        "in %zu row%s the links' buckets let pass more than 5%% of a phase at once (%.0f%% with %s "
        "over %s at %s): a network without them would be slower; a --burst below %.0f B tells",
        count, count == 1 ? "" : "s", 100 * fmin(1, number(rows, worst, "burst_share")),
        cc_record_value(rows, worst, "scheme")->text,
        cc_record_value(rows, worst, "exchange")->text, cc_record_value(rows, worst, "link")->text,
        number(rows, worst, "burst_bytes"));
}

static int note_crowd(struct run *r, struct cc_error *e)
{
    const struct run_setting *most = NULL;
    struct cc_host host;
    for (size_t i = 0; i < r->settings; i++)
        if (r->setting[i].oversubscribed && (most == NULL || r->setting[i].crowd > most->crowd))
            most = &r->setting[i];
    if (most == NULL)
        return CC_OK;
    cc_host_read(&host);
    return cc_record_note(r->record, e,
                          "oversubscribed: up to %.0f busy ranks on %d cores; their codec times "
                          "count the turns they wait for, which hosts of their own would not",
                          most->crowd * host.cores, host.cores);
}

static int note_lab(struct run *r, struct cc_error *e)
{
    const struct cc_value *congestion = cc_record_value(r->record, 0, "congestion");
    if (r->record->mpi[0] == '\0')
        return CC_OK;
    int name = (int)strcspn(r->record->mpi, ","); /* JSON has all of it */
    if (congestion->kind != CC_TEXT)
        return cc_record_note(r->record, e, "ran over %.*s", name, r->record->mpi);
    return cc_record_note(r->record, e,
                          "ran over %.*s in a lab on this machine, congestion control %s", name,
                          r->record->mpi, congestion->text);
}

static int note_gradients(struct run *r, struct cc_error *e)
{
    const struct run_options *o = &r->options;
    if (o->trace != NULL)
        return cc_record_note(r->record, e, "gradients: %s", o->trace);
    return cc_record_note(r->record, e, "gradients: synthetic, %s (--trace: your own)",
                          cc_distribution_names[o->distribution]);
}

int cc_run_notes(struct run *r, struct cc_error *e)
{
    int status = cc_run_paper_notes(r, e);
    if (status == CC_OK)
        status = note_burst(r, e);
    if (status == CC_OK)
        status = note_crowd(r, e);
    if (status == CC_OK && r->record->row_count > 0)
        status = note_lab(r, e);
    if (status == CC_OK)
        status = note_gradients(r, e);
    return status == CC_OK ? cc_forecast_sources(&r->forecast, e) : status;
}
