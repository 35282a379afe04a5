/* Rows of run: the bytes on the links, and the columns of labs and clusters. */
#include <math.h>

#include "cmd/run/run.h"

/* A frame as tc counts it: header, and the payload of a full one. */
#define HEADER  66.0
#define PAYLOAD 1448.0

/* Bytes of TCP's acknowledgements per byte received: one for every other segment, or two for every
 * packet of the kernel if that is less. Such a packet has up to 64 KiB, and on a shaped link no
 * more than the bucket lets pass. */
static double acknowledgements(const struct cc_link *link)
{
    double segments = floor(65536 / PAYLOAD);
    if (link->burst_bytes > 0)
        segments = fmin(segments, fmax(1, floor(link->burst_bytes / (HEADER + PAYLOAD))));
    return HEADER / PAYLOAD * fmin(0.5, 2 / segments);
}

/* Bytes that the busiest host's link should have sent: what its rank handed to MPI, with headers
 * (the last segment of a message is not full), and the acknowledgements of what it received. For
 * the library's own exchange, whose transfers no rank counts, the model's bytes. */
static double expected_bytes(const struct cc_setting *s, const struct cc_report_row *got,
                             const struct cc_prediction *p)
{
    double given = got->given_bytes, received;
    if (cc_exchange_has(s->exchange, CC_X_LIBRARY))
        given = p->wire_bytes / (1 + s->link.overhead);
    received = given; /* allreduces are symmetrical, and so is a worker beside a server */
    if (cc_exchange_has(s->exchange, CC_X_SERVERS) && !s->cluster.colocated) {
        const double push = got->push_bytes + got->push_head_bytes;
        const double pull = got->pull_bytes + got->pull_head_bytes;
        const bool server = given > 1.01 * push;
        received = server && pull > 0 ? given * push / pull : pull;
    }
    return given * (1 + s->link.overhead) + got->messages * HEADER +
           received * acknowledgements(&s->link);
}

/* Bytes of the busiest link in one phase of the exchange, one way. */
static double phase_bytes(const struct cc_setting *s, const struct cc_prediction *p)
{
    return p->wire_bytes / (cc_exchange_has(s->exchange, CC_X_SERVERS) ? p->rounds / 2 : p->rounds);
}

/* A counter's bytes; NaN: there is none. */
static double known(double bytes)
{
    return bytes >= 0 ? bytes : NAN;
}

static void add_bytes(struct cc_measured_row *m, const struct cc_report_row *got)
{
    const struct cc_setting *s = &m->setting->setting;
    m->burst_share = s->link.burst_bytes / phase_bytes(s, &m->model);
    m->wire_bytes_model = expected_bytes(s, got, &m->model);
    m->wire_bytes = known(got->sent_bytes);
    m->wire_bytes_received = known(got->received_bytes);
    m->wire_bytes_all = known(got->total_sent_bytes);
}

static int print_row(struct run *r, const struct cc_measured_row *m,
                     const struct cc_report_row *got, struct cc_error *e)
{
    const bool hosts = cc_cluster_per_host(&m->setting->setting.cluster) > 1;
    struct cc_record *to = r->experiment.record;
    const struct cc_lab_config *config = &r->shaped;
    const struct cc_number_column all[] = {
        {CC_KEY(burst_share), m->burst_share},
        {CC_KEY(core_wait_s), m->core_wait_s},
        {CC_KEY(other_cores), m->other_cores},
        {CC_KEY(wire_bytes), round(m->wire_bytes)},
        {CC_KEY(wire_bytes_model), round(m->wire_bytes_model)},
        {CC_KEY(wire_bytes_received), round(m->wire_bytes_received)},
        {CC_KEY(wire_bytes_all), round(m->wire_bytes_all)},
        {CC_KEY(bytes_inter), hosts ? round(m->wire_bytes) : NAN},
        {CC_KEY(bytes_intra), hosts ? round(got->intra_bytes) : NAN},
        {CC_KEY(burst_bytes), m->setting->setting.link.burst_bytes},
        {CC_KEY(limit_bytes), config->limit_bytes > 0 ? (double)config->limit_bytes : NAN}};
    size_t at;
    CC_TRY(cc_experiment_print_row(&r->experiment, m, &at, e));
    cc_record_numbers(to, at, all, sizeof all / sizeof all[0]);
    if (r->options.hosts.lab)
        cc_record_bool(to, at, CC_KEY(oversubscribed), m->setting->oversubscribed);
    if (config->congestion == NULL)
        return CC_OK;
    return cc_record_text(to, at, CC_KEY(congestion), config->congestion, e);
}

int cc_run_add_row(struct run *r, const struct cc_experiment_setting *s,
                   const struct cc_report_row *got, struct cc_error *e)
{
    struct cc_measured_row *m;
    CC_TRY(cc_experiment_add_measured(&r->experiment, s, got, &m, e));
    add_bytes(m, got);
    return r->experiment.record != NULL ? print_row(r, m, got, e) : CC_OK;
}
