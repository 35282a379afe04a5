#include "tests/lib/simulation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/clock.h"

static const char letters[] = {
    [CC_REPORT_HELLO] = 'H',  [CC_REPORT_ROW_BEGIN] = 'B', [CC_REPORT_STEP] = 'S',
    [CC_REPORT_ROW] = 'R',    [CC_REPORT_SIZE] = 'Z',      [CC_REPORT_EVENTS] = 'M',
    [CC_REPORT_DONE] = 'D',   [CC_REPORT_ERROR] = 'E',     [CC_REPORT_CALLS] = 'C',
    [CC_REPORT_KILLED] = 'K',
};

static int on_report(void *arg, const struct cc_report *r, struct cc_error *e)
{
    struct simulation *s = arg;
    size_t n = strlen(s->kinds);
    assert_true(n + 1 < sizeof s->kinds);
    s->kinds[n] = letters[r->kind];
    for (size_t i = 0; r->kind == CC_REPORT_SIZE && i < 8; i++)
        if (s->second[i] == 0) {
            s->second[i] = r->size.seconds[0];
            break;
        }
    if ((int)n + 1 == s->fail_at)
        return cc_fail(e, "the disk is full");
    return CC_OK;
}

static bool on_tick(void *arg)
{
    struct simulation *s = arg;
    s->ticks++;
    return s->stop_after > 0 && cc_now() - s->began >= s->stop_after;
}

const char three_hosts[] =
    "<?xml version='1.0'?>\n"
    "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    "<platform version=\"4.1\">\n"
    "<cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"0-2\" speed=\"1Gf\" bw=\"1GBps\" "
    "lat=\"5us\"/>\n"
    "</platform>\n";

int simulate(struct simulation *s, const char *ranks, struct cc_error *e)
{
    char name[] = "w", scheme[] = "3lc:s=1.75", xml[600];
    char *host[] = {(char[]){"h0"}, (char[]){"h1"}, (char[]){"h2"}};
    const size_t values = s->values > 0 ? s->values : 1000;
    struct cc_job_tensor tensor = {.name = name, .shape = cc_shape_flat(values), .share = 1};
    struct cc_message message = {0, 0};
    struct cc_job_row row = {
        .scheme = scheme, .period = 1, .steps = 1, .message = &message, .messages = 1};
    size_t offset[] = {0, values};
    struct cc_job job = {.exchange = CC_PS,
                         .workers = 2,
                         .servers = 1,
                         .trace_steps = 1,
                         .data = !s->without_data,
                         .tensor = &tensor,
                         .offset = offset,
                         .tensors = 1,
                         .row = &row,
                         .rows = 1};
    (void)snprintf(xml, sizeof xml, "%s", s->xml != NULL ? s->xml : three_hosts);
    const struct cc_platform platform = {
        .xml = xml, .host = host, .hosts = s->hosts > 0 ? s->hosts : 3};
    const struct cc_smpirun_config config = {.platform = &platform,
                                             .fidelity = s->fidelity,
                                             .overhead = 66.0 / 1448,
                                             .message_s = s->message_s,
                                             .rank_program = ranks,
                                             .smpirun = s->smpirun,
                                             .paje = s->paje,
                                             .on_report = on_report,
                                             .on_tick = on_tick,
                                             .arg = s};
    s->began = cc_now();
    *e = (struct cc_error){0};
    int status = cc_smpirun(&config, &job, e);
    s->block_bytes = job.block_bytes;
    s->rendezvous = job.rendezvous;
    return status;
}
