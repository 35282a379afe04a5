/* Reports: each line reads back as it was printed; the reader's refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netsim/job/report.h"
#include "tests/lib/text.h"

/* Prints one line and parses it. */
static struct cc_report again(const struct cc_report *r)
{
    struct cc_report out;
    struct cc_error e = {""};
    char *line = NULL;
    size_t length;
    FILE *f = open_memstream(&line, &length);
    assert_non_null(f);
    assert_int_equal(cc_report_print(r, f, &e), CC_OK);
    assert_int_equal(fclose(f), 0);
    assert_ptr_equal(strchr(line, '\n'), line + length - 1);
    if (cc_report_parse(line, length - 1, &out, &e) != CC_OK)
        fail_msg("%s: %s", line, e.text);
    free(line);
    return out;
}

static void short_ones(void **state)
{
    (void)state;
    struct cc_report r = {.kind = CC_REPORT_HELLO, .text = (char *)"Open MPI \"v4\"\t\xff"};
    struct cc_report got = again(&r);
    assert_int_equal(got.kind, CC_REPORT_HELLO);
    assert_string_equal(got.text, "Open MPI \"v4\"\t?");
    cc_report_free(&got);
    r = (struct cc_report){.kind = CC_REPORT_ROW_BEGIN, .row = 3};
    got = again(&r);
    assert_int_equal(got.kind, CC_REPORT_ROW_BEGIN);
    assert_int_equal(got.row, 3);
    r = (struct cc_report){.kind = CC_REPORT_STEP, .row = 3, .step = 1000000007};
    got = again(&r);
    assert_int_equal(got.kind, CC_REPORT_STEP);
    assert_int_equal(got.row, 3);
    assert_int_equal(got.step, 1000000007);
    r = (struct cc_report){.kind = CC_REPORT_DONE};
    got = again(&r);
    assert_int_equal(got.kind, CC_REPORT_DONE);
    r = (struct cc_report){.kind = CC_REPORT_ERROR, .rank = 17, .text = (char *)"no\nway"};
    got = again(&r);
    assert_int_equal(got.kind, CC_REPORT_ERROR);
    assert_int_equal(got.rank, 17);
    assert_string_equal(got.text, "no\nway");
    cc_report_free(&got);
    r = (struct cc_report){.kind = CC_REPORT_KILLED, .killed = {(char *)"n3", 4711, 17, 9}};
    got = again(&r);
    assert_int_equal(got.kind, CC_REPORT_KILLED);
    assert_string_equal(got.killed.host, "n3");
    assert_int_equal(got.killed.process, 4711);
    assert_int_equal(got.killed.rank, 17);
    assert_int_equal(got.killed.signal, 9);
    cc_report_free(&got);
}

static void a_row(void **state)
{
    (void)state;
    double step_s[] = {0.1, 1.0 / 3, 2e-7}, bytes[] = {1, 2.5}, pulls[] = {0, 7};
    struct cc_report r = {.kind = CC_REPORT_ROW,
                          .result = {.row = 2,
                                     .steps = 3,
                                     .step_s = step_s,
                                     .compute_s = 1e-3,
                                     .update_s = 2e-3,
                                     .encode_s = 3e-3,
                                     .hop_s = 4e-3,
                                     .server_s = 5e-3,
                                     .decode_s = 6e-3,
                                     .wait_s = 7e-3,
                                     .exposed_s = 6.5e-3,
                                     .busy_s = 8e-3,
                                     .core_wait_s = 8.1e-3,
                                     .core_wait_all_s = 8.2e-3,
                                     .other_cores = 0.75,
                                     .push_bytes = 8.5,
                                     .pull_bytes = 9,
                                     .push_head_bytes = 10,
                                     .pull_head_bytes = 11,
                                     .messages = 12,
                                     .given_bytes = 13,
                                     .sent_bytes = -1,
                                     .received_bytes = 15,
                                     .total_sent_bytes = 1e15 / 3,
                                     .tensors = 2,
                                     .tensor_bytes = bytes,
                                     .tensor_pull_bytes = pulls}};
    struct cc_report got = again(&r);
    struct cc_report_row want = r.result;
    assert_int_equal(got.kind, CC_REPORT_ROW);
    assert_memory_equal(got.result.step_s, step_s, sizeof step_s);
    assert_memory_equal(got.result.tensor_bytes, bytes, sizeof bytes);
    assert_memory_equal(got.result.tensor_pull_bytes, pulls, sizeof pulls);
    want.step_s = got.result.step_s;
    want.tensor_bytes = got.result.tensor_bytes;
    want.tensor_pull_bytes = got.result.tensor_pull_bytes;
    assert_memory_equal(&got.result, &want, sizeof want);
    cc_report_free(&got);
    r.result.tensors = 0;
    got = again(&r);
    assert_int_equal(got.result.tensors, 0);
    assert_null(got.result.tensor_bytes);
    cc_report_free(&got);
}

static void a_size(void **state)
{
    (void)state;
    double seconds[] = {1e-5, 1.25e-5};
    struct cc_report r = {.kind = CC_REPORT_SIZE,
                          .size = {.bytes = 1 << 20, .samples = 2, .seconds = seconds}};
    struct cc_report got = again(&r);
    assert_int_equal(got.kind, CC_REPORT_SIZE);
    assert_int_equal(got.size.bytes, 1 << 20);
    assert_int_equal(got.size.samples, 2);
    assert_memory_equal(got.size.seconds, seconds, sizeof seconds);
    cc_report_free(&got);
}

static void calls(void **state)
{
    (void)state;
    double seconds[] = {0.25, 1.0 / 3};
    struct cc_report r = {.kind = CC_REPORT_CALLS,
                          .calls = {.row = 3,
                                    .calls = 2,
                                    .call_s = seconds,
                                    .encode_s = 0.125,
                                    .apply_s = 0.5,
                                    .push_bytes = 12,
                                    .given_bytes = 1e9,
                                    .messages = 7,
                                    .result_values = 5}};
    for (int i = 0; i < 2; i++) {
        struct cc_report got = again(&r);
        const struct cc_report_calls *c = &got.calls;
        assert_true(got.kind == CC_REPORT_CALLS && c->row == 3 && c->calls == 2);
        assert_memory_equal(c->call_s, seconds, sizeof seconds);
        assert_true(c->encode_s == 0.125 && c->apply_s == 0.5 && c->push_bytes == 12);
        assert_true(c->given_bytes == 1e9 && c->messages == 7 && c->result_values == 5);
        assert_int_equal(c->checked, i);
        assert_true(i == 0 ? c->wrong == NULL : strcmp(c->wrong, "rank 1: 2") == 0);
        cc_report_free(&got);
        r.calls.checked = true;
        r.calls.wrong = (char *)"rank 1: 2";
    }
}

static void events(void **state)
{
    (void)state;
    struct cc_span span[] = {{0, 1.0 / 3, 4, CC_PHASE_COMPUTE},
                             {1.0 / 3, 0.5, UINT32_MAX, CC_PHASE_WAIT}};
    struct cc_flow_event flow[] = {{0.25, false, 3, 2, 1, 4, 123456789012},
                                   {0.5, true, 65535, 0, UINT32_MAX, 5, 0}};
    struct cc_step_span step[] = {{0, 0.25}, {0.25, 0.5}, {1e-9, 1e4}};
    struct cc_report r = {.kind = CC_REPORT_EVENTS,
                          .events = {.row = 2,
                                     .rank = 4095,
                                     .left_out = 7,
                                     .span = span,
                                     .spans = 2,
                                     .flow = flow,
                                     .flows = 2,
                                     .first_step = 4,
                                     .step = step,
                                     .steps = 3}};
    struct cc_report got = again(&r);
    const struct cc_report_events *m = &got.events;
    assert_int_equal(got.kind, CC_REPORT_EVENTS);
    assert_true(m->row == 2 && m->rank == 4095);
    assert_true(m->left_out == 7 && m->first_step == 4 && m->spans == 2 && m->steps == 3);
    for (size_t i = 0; i < 2; i++) {
        const struct cc_span *a = &m->span[i], *b = &span[i];
        assert_true(a->begin == b->begin && a->end == b->end);
        assert_true(a->step == b->step && a->phase == b->phase);
        const struct cc_flow_event *p = &m->flow[i], *q = &flow[i];
        assert_true(p->at == q->at && p->received == q->received && p->peer == q->peer);
        assert_true(p->message == q->message && p->number == q->number && p->step == q->step);
        assert_true(p->bytes == q->bytes);
    }
    assert_memory_equal(m->step, step, sizeof step);
    cc_report_free(&got);
    /* The report of a rank that did nothing. */
    r.events = (struct cc_report_events){.row = 0};
    got = again(&r);
    assert_true(got.events.spans == 0 && got.events.flows == 0 && got.events.steps == 0);
    cc_report_free(&got);
}

static void refuses(void **state)
{
    (void)state;
#define EVENTS                                                                                     \
    "{\"report\": \"events\", \"row\": 0, \"rank\": 0, \"left_out\": 0, \"first_step\": 0"
    const struct {
        const char *line, *message;
    } list[] = {
        {"", "byte 0"},
        {"Warning: no route to host", "byte 0"},
        {"[]", "not a JSON object"},
        {"{}", "\"report\" is missing"},
        {"{\"report\": \"bye\"}", "\"report\": unknown word"},
        {"{\"report\": \"hello\"}", "\"text\" is missing"},
        {"{\"report\": \"done\", \"row\": 1}", "unknown key \"row\""},
        {"{\"report\": \"row_begin\", \"row\": -1}", "\"row\" must be"},
        {"{\"report\": \"step\", \"row\": 1}", "\"step\" must be"},
        {"{\"report\": \"error\", \"text\": \"x\"}", "\"rank\" must be"},
        {"{\"report\": \"error\", \"rank\": 1e9, \"text\": \"x\"}", "\"rank\" must be"},
        {"{\"report\": \"size\", \"bytes\": 1, \"seconds\": []}", "at least one number"},
        {"{\"report\": \"size\", \"bytes\": 1, \"seconds\": [1, -1]}",
         "\"seconds\", number 1: must be a number"},
        {"{\"report\": \"row\", \"row\": 1}", "\"compute_s\" must be"},
        {"{\"report\": \"events\", \"row\": 1}", "\"rank\" must be"},
        {EVENTS ", \"x\": [1]}", "unknown key \"x\""},
        {EVENTS ", \"steps\": [1, 2, 3]}", "\"steps\": 3 numbers, and each step has 2"},
        {EVENTS ", \"steps\": [2, 1]}", "\"steps\", step 0: it ends before it begins"},
        {EVENTS ", \"spans\": [0, 0, 0, 1, 7, 0, 0, 1]}",
         "\"spans\", span 1: \"phase\" must be a whole number from 0 to 6"},
        {EVENTS ", \"spans\": [0, 0.5, 0, 1]}", "\"spans\", span 0: \"step\" must be"},
        {EVENTS ", \"spans\": [0, 0, 1, 0]}", "\"spans\", span 0: it ends before it begins"},
        {EVENTS ", \"flows\": [2, 0, 0, 0, 0, 0, 0]}", "\"flows\", flow 0: \"received\" must be"},
        {EVENTS ", \"flows\": [0, 0, 0, 4294967296, 0, 0, 0]}",
         "\"flows\", flow 0: \"number\" must be"},
        {EVENTS ", \"flows\": [0, 0, 0, 0, 0, 0.5, 0]}", "\"flows\", flow 0: \"bytes\" must be"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct cc_report r;
        struct cc_error e = {""};
        assert_int_equal(cc_report_parse(list[i].line, strlen(list[i].line), &r, &e), CC_FAIL);
        if (strstr(e.text, list[i].message) == NULL)
            fail_msg("%s: \"%s\" does not contain \"%s\"", list[i].line, e.text, list[i].message);
    }
}

static void writing_to_a_full_device_fails(void **state)
{
    (void)state;
    struct cc_report r = {.kind = CC_REPORT_DONE};
    struct cc_error e = {""};
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(cc_report_print(&r, full, &e), CC_FAIL);
    assert_contains(e.text, "nobody reads");
    (void)fclose(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_ones),
        cmocka_unit_test(a_row),
        cmocka_unit_test(a_size),
        cmocka_unit_test(events),
        cmocka_unit_test(calls),
        cmocka_unit_test(refuses),
        cmocka_unit_test(writing_to_a_full_device_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
