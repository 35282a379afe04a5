/* Rows of run: what only a lab or a cluster has. */
#include <math.h>

#include "cmd/run/run.h"

/* A frame as tc counts it: header, and the payload of a full one. */
#define HEADER  66.0
#define PAYLOAD 1448.0

/* Bytes of TCP's acknowledgements for each byte received: one for every other segment, or two for
 * every packet of the kernel where that is less. Such a packet has up to 64 KiB, and on the lab's
 * links no more than the bucket lets pass. */
static double acknowledged(const struct cc_link *link)
{
    double segments = floor(65536 / PAYLOAD);
    if (link->burst_bytes > 0)
        segments = fmin(segments, fmax(1, floor(link->burst_bytes / (HEADER + PAYLOAD))));
    return HEADER / PAYLOAD * fmin(0.5, 2 / segments);
}

/* What the busiest host's link should have carried away from it: what its rank handed to MPI, with
 * headers (the last segment of a message is not full), and the acknowledgements of what it
 * received. What the library's own exchange sends, only the model says.
 */
static double wire_bytes(const struct cc_setting *s, const struct cc_report_row *got,
                         const struct cc_prediction *p)
{
    double given = got->given_bytes, received;
    if (s->exchange == CC_MPI)
        given = p->wire_bytes / (1 + s->link.overhead);
    received = given; /* allreduces are symmetrical */
    if (s->exchange == CC_PS) {
        double push = got->push_bytes + got->push_head_bytes;
        double pull = got->pull_bytes + got->pull_head_bytes;
        bool server = given > 1.01 * push;
        received = server && pull > 0 ? given * push / pull : pull;
    }
    return given * (1 + s->link.overhead) + got->messages * HEADER +
           received * acknowledged(&s->link);
}

/* What the busiest link carries at a stretch, one way. */
static double phase_bytes(const struct cc_setting *s, const struct cc_prediction *p)
{
    return p->wire_bytes / (s->exchange == CC_PS ? p->rounds / 2 : p->rounds);
}

static void bytes_columns(struct run *r, size_t at, const struct cc_setting *s,
                          const struct cc_report_row *got, const struct cc_prediction *p)
{
    bool counted = got->sent_bytes >= 0;
    const struct cc_number_column all[] = {
        {"burst_share", s->link.burst_bytes / phase_bytes(s, p)},
        {"wire_bytes", counted ? got->sent_bytes : NAN},
        {"wire_bytes_model", wire_bytes(s, got, p)},
        {"wire_bytes_received", got->received_bytes >= 0 ? got->received_bytes : NAN},
        {"wire_bytes_all", got->total_sent_bytes >= 0 ? got->total_sent_bytes : NAN}};
    cc_forecast_numbers(r->plan.record, at, all, sizeof all / sizeof all[0]);
}

static int lab_columns(struct run *r, size_t at, const struct cc_experiment_setting *s,
                       struct cc_error *e)
{
    const struct cc_lab_config *config = &r->shaped;
    struct cc_record *to = r->plan.record;
    cc_record_number(to, at, "burst_bytes", s->setting.link.burst_bytes);
    cc_record_number(to, at, "limit_bytes",
                     config->limit_bytes > 0 ? (double)config->limit_bytes : NAN);
    if (r->options.hosts.lab)
        cc_record_bool(to, at, "oversubscribed", s->oversubscribed);
    if (config->congestion == NULL)
        return CC_OK;
    return cc_record_text(to, at, "congestion", config->congestion, e);
}

int cc_run_add_row(struct run *r, const struct cc_experiment_setting *s, size_t row,
                   const struct cc_report_row *got, struct cc_error *e)
{
    struct cc_measured_row m;
    int status = cc_experiment_add_row(&r->plan, s, row, got, &m, e);
    if (status != CC_OK)
        return status;
    bytes_columns(r, m.at, &s->setting, got, &m.model);
    cc_run_paper_row(r, m.at, &s->setting, cc_experiment_scheme(&r->plan, &s->row[row]));
    return lab_columns(r, m.at, s, e);
}
