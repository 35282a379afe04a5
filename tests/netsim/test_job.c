/* Jobs: reading, writing, what the reader refuses, and the documentation of their fields. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/trace/synth.h"
#include "core/trace/trace.h"
#include "netsim/job/job.h"
#include "netsim/job/job_table.h"
#include "netsim/job/report.h"
#include "schemes/scheme.h"
#include "tests/lib/scratch.h"

#define HEAD                                                                                       \
    "{\"schema\": \"commcomp-job/3\", \"kind\": \"replay\", \"workers\": 2, \"servers\": 3, "      \
    "\"yield_when_idle\": true, \"device\": \"eth0\", "                                            \
    "\"shaping\": {\"bw_bps\": 1e8, \"burst_bytes\": 10000, \"limit_bytes\": 150000}, "            \
    "\"exchange\": \"ps\", \"via\": \"hops\", "                                                    \
    "\"mode\": \"overlap\", \"pulls\": \"forward\", \"compute_s\": 0.25, \"update_s\": 0.125, "    \
    "\"forward_share\": 0.375, \"hidden_share\": 0.5, \"seed\": 9007199254740991, "                \
    "\"distribution\": \"mixture\", \"trace_steps\": 4, "
#define TENSORS                                                                                    \
    "\"tensors\": [{\"name\": \"a\", \"shape\": [3, 4], \"share\": 0.5, \"server\": -1, \"raw\": " \
    "false}, {\"name\": \"b\", \"shape\": [], \"share\": 0.1, \"server\": 2, \"raw\": true}, "     \
    "{\"name\": \"c\", \"shape\": [7], \"share\": 0.4, \"server\": 0, \"raw\": false}], "
#define SLOW "\"slow\": [[1, 2.5, 1], [0.5, 1, 1]], "
#define ROWS                                                                                       \
    "\"rows\": [{\"scheme\": \"fp32\", \"reduction\": \"sum\", \"period\": 1, \"warmup\": 0, "     \
    "\"steps\": "                                                                                  \
    "1, \"messages\": [[0, 2]]}, {\"scheme\": \"local:every=4\", \"reduction\": \"decode\", "      \
    "\"period\": 4, "                                                                              \
    "\"warmup\": 4, \"steps\": 12, \"messages\": [[2, 2], [0, 1]]}]}"
static const char whole[] = HEAD TENSORS SLOW ROWS;

/* Simulated jobs: with data, without data, and without data where payloads are encoded on their
 * way. */
#define COST                                                                                       \
    "\"cost\": [[1, 2, 3, 4, 5], [0, 0, 0, 0, 0], [0.5, 0.25, 0.125, 1e-9, 1e6]], "                \
    "\"sum_encode_s\": [1.5, 0, 8]"
#define SIMULATED(DATA)                                                                            \
    "\"simulation\": {\"block_bytes\": 1073741824, \"rendezvous\": false, \"data\": " DATA         \
    ", \"reduce_byte_s\": 1e-10, \"merge_byte_s\": 3e-10, \"apply_byte_s\": 2e-10}, "              \
    "\"events\": true, "
#define FIXED "\"sizes\": {\"fixed\": true}"
#define TABLES                                                                                     \
    "\"sizes\": {\"fixed\": false, \"workers\": 2, \"steps\": 4, \"push\": [1, 2, 3, 4, 1, 6, 7, " \
    "4, 9, 10, 3, 12, 13, 0, 15, 16, 2, 18, 19, 4, 21, 22, 4, 28]"
#define PULL ", \"pull\": [31, 4, 23, 34, 3, 26, 37, 2, 28, 40, 1, 12]"
#define HOP                                                                                        \
    ", \"sums\": 2, \"hop\": [41, 0, 1, 42, 1, 2, 43, 2, 3, 44, 3, 4, 45, 4, 5, 46, 3, 6, 47, 2, " \
    "7, 48, 1, 8]"
#define MERGED                                                                                     \
    ", \"sums\": 2, \"pairs\": [4, 0, 1, 4, 1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5, 6, 3, 6, 7, 2, 7, "   \
    "8, 1, 8]"
#define ROWS_OFF(MORE)                                                                             \
    "\"rows\": [{\"scheme\": \"fp32\", \"reduction\": \"sum\", \"period\": 1, \"warmup\": 0, "     \
    "\"steps\": "                                                                                  \
    "1, \"messages\": [[0, 2]], " COST ", " FIXED "}, {\"scheme\": \"local:every=4\", "            \
    "\"reduction\": \"decode\", \"period\": 4, \"warmup\": 4, \"steps\": 12, \"messages\": [[2, "  \
    "2], [0, 1]], " COST ", " TABLES MORE "}}]}"
static const char with_data[] = HEAD TENSORS SLOW SIMULATED("true") ROWS;
static const char without[] = HEAD TENSORS SLOW SIMULATED("false") ROWS_OFF(PULL);

static const char pingpong[] =
    "{\"schema\": \"commcomp-job/3\", \"kind\": \"pingpong\", \"workers\": 2, \"servers\": 0, "
    "\"yield_when_idle\": false, \"sizes\": [0, 1, 2147483647], \"repeats\": 7}";

static void assert_whole(const struct cc_job *job)
{
    assert_int_equal(job->kind, CC_JOB_REPLAY);
    assert_int_equal(job->workers, 2);
    assert_int_equal(job->servers, 3);
    assert_true(job->yield_when_idle);
    assert_string_equal(job->device, "eth0");
    assert_true(job->shaping.bw_bps == 1e8);
    assert_int_equal(job->shaping.burst_bytes, 10000);
    assert_int_equal(job->shaping.limit_bytes, 150000);
    assert_int_equal(job->exchange, CC_PS);
    assert_int_equal(job->via, CC_VIA_HOPS);
    assert_int_equal(job->mode, CC_OVERLAP);
    assert_int_equal(job->pulls, CC_PULL_FORWARD);
    assert_true(job->compute_s == 0.25 && job->update_s == 0.125);
    assert_true(job->forward_share == 0.375 && job->hidden_share == 0.5);
    assert_int_equal(job->seed, 9007199254740991);
    assert_null(job->trace);
    assert_int_equal(job->distribution, CC_MIXTURE);
    assert_int_equal(job->trace_steps, 4);
    assert_null(job->size);
}

/* The job on a machine. */
static void assert_real(const struct cc_job *job)
{
    assert_int_equal(job->block_bytes, 0);
    assert_true(job->rendezvous && job->data && !job->events);
    assert_true(job->reduce_byte_s == 0 && job->merge_byte_s == 0 && job->apply_byte_s == 0);
    for (size_t i = 0; i < job->rows; i++) {
        assert_null(job->row[i].cost);
        assert_false(job->row[i].sizes.fixed);
        assert_null(job->row[i].sizes.push);
    }
}

static void assert_without(const struct cc_job *job, bool hops)
{
    assert_int_equal(job->block_bytes, 1 << 30);
    assert_true(!job->rendezvous && !job->data && job->events);
    assert_true(job->reduce_byte_s == 1e-10 && job->merge_byte_s == 3e-10 &&
                job->apply_byte_s == 2e-10);
    assert_true(job->row[0].sizes.fixed && !job->row[1].sizes.fixed);
    const struct cc_job_cost *cost = job->row[0].cost;
    assert_true(cost[0].encode_s == 1 && cost[0].decode_s == 2 && cost[0].add_s == 3);
    assert_true(cost[0].pull_encode_s == 4 && cost[0].pull_decode_s == 5);
    assert_true(cost[1].pull_decode_s == 0 && cost[2].pull_decode_s == 1e6);
    const double *sum_encode_s = job->row[0].sum_encode_s;
    assert_true(sum_encode_s[0] == 1.5 && sum_encode_s[1] == 0 && sum_encode_s[2] == 8);
    const struct cc_job_sizes *sizes = &job->row[1].sizes;
    assert_int_equal(sizes->workers, 2);
    assert_int_equal(sizes->steps, 4);
    assert_true(sizes->push[0] == 1 && sizes->push[12] == 13 && sizes->push[23] == 28);
    assert_int_equal(sizes->sums, hops ? 2 : 0);
    if (hops)
        assert_true(sizes->hop[0] == 41 && sizes->hop[23] == 8 && sizes->pull == NULL);
    else
        assert_true(sizes->pull[0] == 31 && sizes->pull[11] == 12 && sizes->hop == NULL);
}

static void assert_lists(const struct cc_job *job)
{
    assert_int_equal(job->tensors, 3);
    assert_string_equal(job->tensor[1].name, "b");
    assert_int_equal(job->tensor[0].shape.ndim, 2);
    assert_int_equal(job->tensor[0].shape.dim[1], 4);
    assert_int_equal(job->tensor[1].shape.ndim, 0);
    assert_true(job->tensor[2].share == 0.4 && job->tensor[1].raw && !job->tensor[2].raw);
    assert_int_equal(job->tensor[0].server, -1);
    assert_int_equal(job->tensor[1].server, 2);
    assert_int_equal(job->offset[1], 12);
    assert_int_equal(job->offset[2], 13);
    assert_int_equal(cc_job_values(job), 20);
    assert_int_equal(job->slow_steps, 3);
    const double slow[] = {1, 2.5, 1, 0.5, 1, 1};
    assert_memory_equal(job->slow, slow, sizeof slow);
    assert_int_equal(job->rows, 2);
    assert_string_equal(job->row[1].scheme, "local:every=4");
    assert_int_equal(job->row[0].reduction, CC_REDUCE_SUM);
    assert_int_equal(job->row[1].reduction, CC_REDUCE_DECODED);
    assert_int_equal(job->row[1].period, 4);
    assert_int_equal(job->row[1].warmup, 4);
    assert_int_equal(job->row[1].steps, 12);
    assert_int_equal(job->row[0].messages, 1);
    assert_int_equal(job->row[1].messages, 2);
    assert_int_equal(job->row[1].message[0].first, 2);
    assert_int_equal(job->row[1].message[1].first, 0);
    assert_int_equal(job->row[1].message[1].last, 1);
}

static void parse(const char *text, struct cc_job *job)
{
    struct cc_error e = {""};
    if (cc_job_parse(text, strlen(text), job, &e) != CC_OK)
        fail_msg("%s", e.text);
}

static void reads(void **state)
{
    (void)state;
    struct cc_job job;
    parse(whole, &job);
    assert_whole(&job);
    assert_lists(&job);
    assert_real(&job);
    cc_job_free(&job);
    parse(pingpong, &job);
    assert_real(&job);
    assert_int_equal(job.kind, CC_JOB_PINGPONG);
    assert_true(job.shaping.bw_bps == 0);
    assert_int_equal(job.sizes, 3);
    assert_int_equal(job.size[2], 2147483647);
    assert_int_equal(job.repeats, 7);
    cc_job_free(&job);
}

static void writes_and_reads_back(void **state)
{
    (void)state;
    struct cc_job job, again;
    struct cc_error e = {""};
    parse(whole, &job);
    char *text = cc_job_text(&job, &e);
    assert_non_null(text);
    cc_job_free(&job);
    assert_int_equal(cc_job_parse(text, strlen(text), &again, &e), CC_OK);
    assert_whole(&again);
    assert_lists(&again);
    /* With another source of gradients and no stragglers. */
    again.trace = strdup("/traces/of \"mine\"");
    free(again.slow);
    again.slow = NULL;
    again.tensor[0].share = 0.1 + 0.2; /* no short decimal */
    again.tensor[1].share = 0.3;
    free(text);
    text = cc_job_text(&again, &e);
    assert_non_null(text);
    parse(text, &job);
    assert_string_equal(job.trace, again.trace);
    assert_null(job.slow);
    assert_true(job.tensor[0].share == 0.1 + 0.2);
    free(text);
    cc_job_free(&again);
    cc_job_free(&job);
    parse(pingpong, &job);
    text = cc_job_text(&job, &e);
    parse(text, &again);
    assert_memory_equal(again.size, job.size, 3 * sizeof *job.size);
    assert_int_equal(again.repeats, 7);
    assert_int_equal(again.way, CC_WAY_PAIR);
    free(text);
    cc_job_free(&again);
    job.way = CC_WAY_IN;
    text = cc_job_text(&job, &e);
    parse(text, &again);
    assert_int_equal(again.way, CC_WAY_IN);
    free(text);
    cc_job_free(&again);
    cc_job_free(&job);
}

/* Replaces the job by what reads back after it is written. */
static void rewrite(struct cc_job *job)
{
    struct cc_job again;
    struct cc_error e = {""};
    char *text = cc_job_text(job, &e);
    assert_non_null(text);
    parse(text, &again);
    cc_job_free(job);
    free(text);
    *job = again;
}

/* The text as a job of another exchange, without servers. The caller frees it. */
static char *replaced(const char *text, const char *from, const char *to);

static char *as_exchange(const char *text, const char *name)
{
    char word[32];
    (void)snprintf(word, sizeof word, "\"%s\"", name);
    const char *const list[][2] = {{"\"servers\": 3", "\"servers\": 0"},
                                   {"\"ps\"", word},
                                   {"\"server\": -1", "\"server\": 0"},
                                   {"\"server\": 2", "\"server\": 0"}};
    char *out = strdup(text);
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        char *next = replaced(out, list[i][0], list[i][1]);
        free(out);
        out = next;
    }
    return out;
}

/* A job whose second row merges pairs. The caller frees it. */
static char *merging(void)
{
    char *split = as_exchange(HEAD TENSORS SLOW SIMULATED("false") ROWS_OFF(MERGED), "ssar-split");
    char *merges = replaced(split, "\"decode\"", "\"merge\"");
    char *out = replaced(merges, "\"via\"", "\"wire\": \"auto\", \"dense_bits\": 32, \"via\"");
    free(split);
    free(merges);
    return out;
}

/* A job whose rows time calls, of gradients with zeros in runs. */
static void calls(void **state)
{
    (void)state;
    struct cc_job job;
    char *sequential = replaced(whole, "\"overlap\", \"pulls\": \"forward\"",
                                "\"sequential\", \"pulls\": \"ready\"");
    char *text = replaced(sequential, "\"trace_steps\": 4",
                          "\"trace_steps\": 4, \"zeros\": 0.75, \"indices\": \"clustered\", "
                          "\"calls\": {\"limit_s\": 2.5, \"check\": true}");
    parse(text, &job);
    for (int i = 0; i < 2; i++) {
        assert_true(job.calls.limit_s == 2.5 && job.calls.check);
        assert_true(job.zeros == 0.75 && job.indices == CC_INDICES_CLUSTERED);
        rewrite(&job);
    }
    cc_job_free(&job);
    parse(sequential, &job);
    assert_true(job.calls.limit_s == 0 && !job.calls.check);
    assert_true(job.zeros == 0 && job.indices == CC_INDICES_UNIFORM);
    cc_job_free(&job);
    free(sequential);
    free(text);
}

static void simulations(void **state)
{
    (void)state;
    struct cc_job job;
    parse(with_data, &job);
    for (int i = 0; i < 2; i++) {
        assert_true(job.block_bytes == 1 << 30 && !job.rendezvous && job.data && job.events);
        assert_null(job.row[0].cost);
        rewrite(&job);
    }
    cc_job_free(&job);
    parse(without, &job);
    for (int i = 0; i < 2; i++) {
        assert_whole(&job);
        assert_lists(&job);
        assert_without(&job, false);
        rewrite(&job);
    }
    cc_job_free(&job);
    char *text = as_exchange(HEAD TENSORS SLOW SIMULATED("false") ROWS_OFF(HOP), "ring");
    parse(text, &job);
    for (int i = 0; i < 2; i++) {
        assert_without(&job, true);
        rewrite(&job);
    }
    cc_job_free(&job);
    free(text);
    text = merging();
    parse(text, &job);
    for (int i = 0; i < 2; i++) {
        const struct cc_job_sizes *sizes = &job.row[1].sizes;
        assert_true(job.row[0].sizes.fixed && sizes->sums == 2 && sizes->hop == NULL);
        assert_true(sizes->pairs[0] == 4 && sizes->pairs[12] == 5 && sizes->pairs[23] == 8);
        rewrite(&job);
    }
    cc_job_free(&job);
    free(text);
}

/* The text with its first `from` replaced; to be freed. */
static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    char *out = malloc(strlen(text) + strlen(to) + 1);
    if (at == NULL || out == NULL)
        fail_msg("no \"%s\"", from);
    (void)sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

struct refusal {
    const char *from, *to, *message;
};

static void refuse_all(const char *text, const struct refusal *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *bad = replaced(text, list[i].from, list[i].to);
        struct cc_job job;
        struct cc_error e = {""};
        if (cc_job_parse(bad, strlen(bad), &job, &e) != CC_FAIL)
            fail_msg("\"%s\" was accepted", list[i].to);
        if (strstr(e.text, list[i].message) == NULL)
            fail_msg("\"%s\": \"%s\" does not contain \"%s\"", list[i].to, e.text, list[i].message);
        free(bad);
    }
}

static void expect_inconsistent(const struct cc_job_training *t, const char *message)
{
    struct cc_error e = {""};
    struct cc_job job = {.servers = 1, .consistency = {.how = CC_ASYNC}, .training = *t};
    const struct cc_scope scope = {.self = &job};
    assert_int_equal(cc_job_check_consistency(&scope, &e), message != NULL ? CC_FAIL : CC_OK);
    if (message != NULL && strstr(e.text, message) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", e.text, message);
}

/* Trainings whose workers need not be in the same step. */
static void consistency_of_trainings(void **state)
{
    (void)state;
    char net[] = "mlp", path[] = "a";
    const struct cc_job_training good = {.net = net, .deltas = true};
    struct cc_job_training bad = good;
    expect_inconsistent(&good, NULL);
    bad.local.steps = 2;
    expect_inconsistent(&bad, "\"consistency\" is \"async\": all workers exchange \"local_steps\"");
    bad = good;
    bad.deltas = false;
    expect_inconsistent(&bad, "must have \"deltas\"");
    bad = good;
    bad.checkpoint = path;
    expect_inconsistent(&bad, "checkpoints and captures");
    bad = good;
    bad.capture = path;
    expect_inconsistent(&bad, "checkpoints and captures");
}

/* Workers that need not be in the same step. */
static void consistency(void **state)
{
    (void)state;
    struct cc_job job;
    char *ready = replaced(whole, "\"forward\"", "\"ready\"");
    const char stale[] = "\"trace_steps\": 4, \"consistency\": {\"how\": \"stale\", "
                         "\"staleness\": 5, \"communicate\": \"norm\", \"growth\": 2.5}";
    char *text = replaced(ready, "\"trace_steps\": 4", stale);
    parse(text, &job);
    for (int i = 0; i < 2; i++) {
        const struct cc_job_consistency *c = &job.consistency;
        assert_true(c->how == CC_STALE && c->staleness == 5);
        assert_true(c->communicate == CC_AT_NORM && c->growth == 2.5);
        rewrite(&job);
    }
    cc_job_free(&job);
    const struct refusal list[] = {
        {"\"ready\"", "\"forward\"", "no end at which to order them"},
        {"\"overlap\"", "\"pipe\"", "\"mode\" \"pipe\" is bulk synchronous"},
        {"\"trace_steps\": 4", "\"trace_steps\": 4, \"calls\": {\"limit_s\": 1, \"check\": false}",
         "\"calls\""},
        {"\"staleness\": 5", "\"staleness\": -1", "\"staleness\" must be"},
        {"\"staleness\": 5, ", "", "\"staleness\" is missing"},
        {"\"stale\"", "\"async\"", "\"staleness\" can only be there if `how` is `stale`"},
        {"\"stale\", \"staleness\": 5, \"communicate\": \"norm\", \"growth\": 2.5",
         "\"async\", \"communicate\": \"bound\"", "only \"stale\" has a bound"},
        {"\"norm\"", "\"step\"", "\"growth\" can only be there if `communicate` is `norm`"},
        {"2.5}", "-2.5}", "\"growth\" must be"},
    };
    refuse_all(text, list, sizeof list / sizeof list[0]);
    free(text);
    free(ready);
    char *ring = as_exchange(whole, "ring");
    text = replaced(ring, "\"trace_steps\": 4", stale);
    const struct refusal servers = {"\"how\"", "\"how\"", "which needs servers"};
    refuse_all(text, &servers, 1);
    free(text);
    free(ring);
}

static void refuses_settings(void **state)
{
    (void)state;
    const struct refusal list[] = {
        {"commcomp-job/3", "commcomp-job/2", "\"schema\" must be \"commcomp-job/3\""},
        {"\"replay\"", "\"reply\"", "did you mean \"replay\""},
        {"\"workers\": 2", "\"workers\": 0", "\"workers\" must be"},
        {"\"workers\": 2", "\"workers\": 70000", "\"workers\" must be"},
        {"\"workers\": 2", "\"workers\": 1.5", "\"workers\" must be"},
        {"\"servers\": 3", "\"servers\": 0", "\"ps\" needs servers"},
        {"\"exchange\": \"ps\"", "\"exchange\": \"ps\", \"colocated\": true",
         "3 servers, 2 workers"},
        {"\"servers\": 3", "\"server\": 3", "unknown key \"server\": did you mean \"servers\"?"},
        {"\"servers\": 3", "\"servers\": 5000", "\"servers\" must be"},
        {"\"ps\"", "\"ring\"", "nothing else has any"},
        {"\"overlap\"", "\"sequential\"", "\"pulls\" cannot be \"forward\""},
        {"\"yield_when_idle\": true", "\"yield_when_idle\": 1",
         "\"yield_when_idle\" must be true or false"},
        {"\"eth0\"", "\"\"", "\"device\" is missing or empty"},
        {"\"eth0\"", "\"a234567890123456\"", "an interface's name has at most 15 bytes"},
        {"\"eth0\"", "\"eth0,a234567890123456\"", "an interface's name has at most 15 bytes"},
        {"\"device\": \"eth0\", ", "", "\"shaping\" needs a \"device\""},
        {"{\"bw_bps\": 1e8, \"burst_bytes\": 10000, \"limit_bytes\": 150000}", "[]",
         "\"shaping\" must be an object"},
        {"1e8", "0", "\"shaping\": \"bw_bps\" must be"},
        {"\"burst_bytes\": 10000, ", "", "\"shaping\": \"burst_bytes\" must be"},
        {"150000", "1e12", "\"shaping\": \"limit_bytes\" must be"},
        {"150000", "1, \"x\": 1", "\"shaping\": unknown key \"x\""},
        {"\"hops\"", "\"hop\"", "did you mean \"hops\""},
        {"\"mode\": \"overlap\"", "\"mode\": 1", "\"mode\" is not a string"},
        {"\"forward\"", "\"later\"", "\"pulls\": unknown word"},
        {"\"compute_s\": 0.25, ", "", "\"compute_s\" is missing"},
        {"0.25", "-1", "\"compute_s\" must be"},
        {"0.25", "1e7", "\"compute_s\" must be"},
        {"\"forward_share\": 0.375", "\"forward_share\": 1.1", "\"forward_share\" must be"},
        {"\"hidden_share\": 0.5", "\"hidden_share\": 2", "\"hidden_share\" must be"},
        {"9007199254740991", "9007199254740992", "\"seed\" must be"},
        {"\"mixture\"", "\"mixtures\"", "did you mean \"mixture\""},
        {"\"distribution\": \"mixture\", ", "",
         "\"distribution\" is missing: it must be there in a replay without `training` "
         "and `trace`"},
        {"\"distribution\"", "\"trace\": \"x\", \"distribution\"",
         "\"distribution\" can only be there in a replay without"},
        {"\"trace_steps\": 4", "\"trace_steps\": 0", "\"trace_steps\" must be"},
        {"\"trace_steps\": 4", "\"zeros\": 1.5, \"trace_steps\": 4", "\"zeros\" must be"},
        {"\"distribution\": \"mixture\"", "\"trace\": \"x\", \"zeros\": 0.5",
         "\"zeros\" can only be there in a replay without"},
        {"\"trace_steps\": 4", "\"indices\": \"even\", \"trace_steps\": 4",
         "\"indices\": unknown word"},
        {"\"trace_steps\": 4", "\"trace_steps\": 4, \"calls\": {\"limit_s\": 1, \"check\": true}",
         "\"calls\" are timed one by one"},
        {"\"trace_steps\": 4", "\"trace_steps\": 4, \"calls\": {\"limit_s\": 0, \"check\": true}",
         "\"limit_s\" must be"},
        {"\"yield_when_idle\"", "\"nap\": 1, \"yield_when_idle\"", "unknown key \"nap\""},
    };
    refuse_all(whole, list, sizeof list / sizeof list[0]);
}

static void refuses_lists(void **state)
{
    (void)state;
    const struct refusal list[] = {
        {"[3, 4]", "[3, -4]", "tensor 0: \"shape\""},
        {"[3, 4]", "[1,1,1,1,1,1,1,1,1]", "up to 8 dimensions"},
        {"[3, 4]", "[1048576, 1048577]", "more than 2^40 values"},
        {"[3, 4]", "[4503599627370496, 4503599627370496]",
         "tensor 0: \"shape\": a shape whose number"},
        {"\"name\": \"b\"", "\"name\": \"\"", "tensor 1: \"name\" is missing"},
        {"\"share\": 0.1", "\"share\": 0.2", "sum to 1.1, not to 1"},
        {"\"share\": 0.1", "\"share\": -0.1", "tensor 1: \"share\" must be"},
        {"\"server\": 2", "\"server\": 3", "tensor 1: \"server\" must be a whole number from -1"},
        {"\"server\": 2", "\"server\": -2", "tensor 1: \"server\" must be"},
        {"\"raw\": true", "\"raw\": null", "tensor 1: \"raw\" must be"},
        {"\"raw\": true", "\"raw\": true, \"x\": 1", "tensor 1: unknown key \"x\""},
        {SLOW, "\"slow\": [[1], [1], [1]], ", "\"slow\" must be a list of 2 lists"},
        {SLOW, "\"slow\": [[1, 1], [1]], ", "equally long"},
        {SLOW, "\"slow\": [[], []], ", "not empty"},
        {SLOW, "\"slow\": [1, 2], ", "equally long"},
        {SLOW, "\"slow\": [[1, -1], [1, 1]], ",
         "\"slow\", list 0, factor 1: must be a number from 0"},
        {ROWS, "\"rows\": []}", "at least one row"},
        {"\"period\": 1", "\"period\": 0", "row 0: \"period\" must be"},
        {"\"steps\": 1,", "\"steps\": 0,", "row 0: \"steps\" must be"},
        {"\"warmup\": 4", "\"warmup\": 2", "row 1: \"warmup\" 2 and \"steps\" 12"},
        {"\"steps\": 12", "\"steps\": 13", "multiples of the period, 4"},
        {"[[0, 2]]", "[[0, 1]]", "row 0: message 0: tensors 0 to 1, and 3 tensors are left"},
        {"[[0, 2]]", "[[1, 2]]", "row 0: \"messages\" leave out tensors 0 to 0"},
        {"[[0, 2]]", "[]", "row 0: \"messages\" must be a list"},
        {"[[0, 2]]", "[[2, 2], [0, 2]]", "message 1: tensors 0 to 2, and 2 tensors are left"},
        {"[[0, 2]]", "[[2, 2], [1, 0]]", "message 1: tensors 1 to 0"},
        {"[[0, 2]]", "[[0, 2], [0, 0]]", "message 1"},
        {"[[0, 2]]", "[[0, 2, 1]]", "row 0: \"messages\", message 0: not a list of 2 numbers"},
        {"[[0, 2]]", "[[0, 9007199254740991]]", "message 0"},
        {"\"rows\"", "\"schemes\": [{}], \"rows\"", "scheme 0: either \"plugin\" or"},
        {"\"rows\"", "\"schemes\": [{\"plugin\": \"x\", \"profiled\": \"y\"}], \"rows\"",
         "scheme 0: either \"plugin\" or"},
        {"\"rows\"", "\"schemes\": [{\"plugin\": \"\"}], \"rows\"", "\"plugin\""},
    };
    refuse_all(whole, list, sizeof list / sizeof list[0]);
}

/* Schemes beside the catalogue's: written and read back, added to the catalogue, and taken from it.
 */
static void schemes(void **state)
{
    (void)state;
    struct cc_job job, again = {0};
    struct cc_error e = {""};
    char *text = replaced(
        whole, "\"rows\"",
        "\"schemes\": [{\"profiled\": \"mine\"}, {\"plugin\": \"/nowhere/x.so\"}], \"rows\"");
    parse(text, &job);
    free(text);
    rewrite(&job);
    assert_int_equal(job.schemes, 2);
    assert_string_equal(job.scheme[0].profiled, "mine");
    assert_string_equal(job.scheme[1].plugin, "/nowhere/x.so");
    assert_null(job.scheme[1].profiled);
    assert_null(cc_scheme_find("mine"));
    assert_int_equal(cc_job_schemes_add(&job, &e), CC_FAIL);
    assert_non_null(strstr(e.text, "/nowhere/x.so: No such file"));
    assert_non_null(cc_scheme_find("mine"));
    assert_false(cc_scheme_runs(cc_scheme_find("mine")));
    assert_int_equal(cc_job_schemes_take(&again, &e), CC_OK);
    assert_int_equal(again.schemes, 1);
    assert_string_equal(again.scheme[0].profiled, "mine");
    assert_int_equal(cc_job_schemes_add(&again, &e), CC_OK); /* again */
    cc_job_free(&again);
    cc_job_free(&job);
}

static void refuses_pingpong(void **state)
{
    (void)state;
    const struct refusal list[] = {
        {"\"workers\": 2", "\"workers\": 1", "ping-pong needs two"},
        {"[0, 1, 2147483647]", "[2147483648]",
         "\"sizes\", number 0: must be a whole number from 0 to 2147483647"},
        {"[0, 1, 2147483647]", "[]", "\"sizes\" must be a list of at least one number"},
        {"\"repeats\": 7", "\"repeats\": 0", "\"repeats\" must be"},
        {"\"repeats\": 7", "\"repeats\": 5592406", "from 1 to 5592405"},
        {"\"repeats\": 7", "\"repeats\": 7, \"rows\": []",
         "\"rows\" can only be there in a replay"},
        {"\"sizes\": [0", "\"way\": \"back\", \"sizes\": [0", "\"way\""},
    };
    refuse_all(pingpong, list, sizeof list / sizeof list[0]);
}

static void refuses_simulations(void **state)
{
    (void)state;
    const struct refusal list[] = {
        {"1073741824", "1073741828", "\"simulation\": \"block_bytes\" must be"},
        {"1073741824", "1022", "a multiple of 4"},
        {"1073741824", "4", "from 8 on"},
        {"\"rendezvous\": false, ", "", "\"simulation\": \"rendezvous\" must be"},
        {"\"rendezvous\"", "\"ask\": 1, \"rendezvous\"", "\"simulation\": unknown key \"ask\""},
        {"1e-10", "-1e-10", "\"reduce_byte_s\" must be"},
        {"3e-10", "-3e-10", "\"merge_byte_s\" must be"},
        {"2e-10", "-2e-10", "\"apply_byte_s\" must be"},
        {"\"data\": false", "\"data\": true", "row 0: \"sizes\" can only be there without data"},
        {"\"events\": true", "\"events\": 1", "\"events\" must be true or false"},
        {", " FIXED, "", "row 0: \"sizes\" is missing: it must be there without data"},
        {COST ", ", "", "row 0: \"cost\" is missing: it must be there without data"},
        {"[[1, 2, 3, 4, 5], [0", "[[0", "\"cost\" must be a list of 3 costs"},
        {"[1, 2, 3, 4, 5]", "[1, 2, 3, 4]", "\"cost\", cost 0: not a list of 5"},
        {"[1, 2, 3, 4, 5]", "[1, 2, 3, -4, 5]", "\"cost\", cost 0: \"pull_encode_s\" must be"},
        {"[1, 2, 3, 4, 5]", "[1, 2, 3, 4, 2e6]", "\"cost\", cost 0: \"pull_decode_s\" must be"},
        {"[1.5, 0, 8]", "[1.5, 0]", "\"sum_encode_s\" must be a list of 3 numbers"},
        {"[1.5, 0, 8]", "[1.5, 0, -8]", "\"sum_encode_s\", number 2"},
        {FIXED, "\"sizes\": []", "row 0: \"sizes\" must be an object"},
        {FIXED, "\"sizes\": {\"fixed\": 1}", "row 0: \"sizes\": \"fixed\" must be"},
        {FIXED, "\"sizes\": {\"fixed\": true, \"steps\": 1}",
         "row 0: \"sizes\": \"steps\" can only be there if not `fixed`"},
        {FIXED, "\"sizes\": {\"fixed\": false}", "\"workers\" is missing"},
        {"\"steps\": 4, \"push\"", "\"steps\": 2, \"push\"", "a multiple of the period, 4"},
        {"\"steps\": 4, \"push\"", "\"steps\": 8, \"push\"",
         "row 1: \"sizes\": \"push\" must be a list of 48 numbers"},
        {"4, 28]", "4, 9007199254740993]", "\"push\", number 23: must be a whole number"},
        {"[1, 2, 3, 4, 1, 6", "[1, 2, -3, 4, 1, 6", "\"push\", number 2: must be a whole number"},
        {"[1, 2, 3, 4, 1, 6", "[2, 3, 4, 1, 6", "\"push\" must be a list of 24 numbers"},
        {PULL, "", "\"pull\" is missing: it must be there with servers"},
        {PULL, PULL HOP, "\"sums\" can only be there where sums are encoded"},
    };
    refuse_all(without, list, sizeof list / sizeof list[0]);
    const struct refusal hops[] = {
        {HOP, "", "\"sums\" is missing: it must be there where sums are encoded"},
        {HOP, PULL, "\"pull\" can only be there with servers"},
        {"\"sums\": 2, ", "\"sums\": 0, ", "\"sums\" must be"},
        {"\"sums\": 2, ", "\"sums\": 3, ", "\"hop\" must be a list of 36 numbers"},
        {"\"ring\"", "\"mpi\"", "simulate it with data"},
        {"\"ring\"", "\"allgather\"", "\"sums\" can only be there where"},
        {"\"via\": \"hops\"", "\"via\": \"allgather\"", "\"sums\" can only be there where"},
    };
    char *text = as_exchange(HEAD TENSORS SLOW SIMULATED("false") ROWS_OFF(HOP), "ring");
    refuse_all(text, hops, sizeof hops / sizeof hops[0]);
    free(text);
    const struct refusal merged[] = {
        {MERGED, "", "\"sums\" is missing: it must be there where sums are encoded or merged"},
        {MERGED, HOP, "\"hop\" can only be there where sums are encoded on their way"},
        {"\"sums\": 2, ", "\"sums\": 3, ", "\"pairs\" must be a list of 36 numbers"},
        {"{\"fixed\": false", "{\"fixed\": true", "the row's pairs are merged: it must be false"},
        {"\"merge\"", "\"sum\"", "\"sums\" can only be there where"},
    };
    text = merging();
    refuse_all(text, merged, sizeof merged / sizeof merged[0]);
    free(text);
}

/* Powers of two and ten as such where they are large. */
static void document_limit(double v, FILE *f)
{
    int power;
    const double mantissa = frexp(v, &power), ten = log10(v);
    if (v >= 1e6 && ten == floor(ten))
        (void)fprintf(f, "10^%.0f", ten);
    else if (v >= 1 << 20 && mantissa == 0.5)
        (void)fprintf(f, "2^%d", power - 1);
    else if (v >= 1 << 20 && frexp(v + 1, &power) == 0.5)
        (void)fprintf(f, "2^%d - 1", power - 1);
    else
        (void)fprintf(f, "%.9g", v);
}

static void document_values(const struct cc_field *f, FILE *out)
{
    switch (f->type) {
    case CC_FIELD_TEXT:
        (void)fputs("text", out);
        break;
    case CC_FIELD_BOOL:
        (void)fputs("`true` or `false`", out);
        break;
    case CC_FIELD_WORD:
        for (size_t i = 0; f->words[i] != NULL; i++)
            (void)fprintf(out, "%s`\"%s\"`", i > 0 ? ", " : "", f->words[i]);
        break;
    case CC_FIELD_SHAPE:
        (void)fprintf(out, "list of up to %d dimensions", CC_MAX_DIMS);
        break;
    case CC_FIELD_OBJECT:
        (void)fputs("object", out);
        break;
    case CC_FIELD_LIST:
    case CC_FIELD_GROUPS:
        (void)fprintf(out, "list of %s%ss", f->type == CC_FIELD_GROUPS ? "lists of " : "", f->item);
        if (f->table->form == CC_FORM_SCALAR) {
            (void)fputs(", ", out);
            document_values(f->table->field, out);
        }
        break;
    default:
        document_limit(f->low, out);
        if (f->high >= 1e30) {
            (void)fputs(" or more", out);
        } else if (f->high > f->low) {
            (void)fputs(" to ", out);
            document_limit(f->high, out);
        }
    }
}

/* Documents the table's fields as rows of a Markdown table. */
static void document(const struct cc_table *t, FILE *f)
{
    (void)fputs("| key | value | meaning |\n|---|---|---|\n", f);
    for (size_t i = 0; i < t->fields; i++) {
        const struct cc_field *field = &t->field[i];
        (void)fprintf(f, "| `%s` | ", field->key);
        document_values(field, f);
        (void)fputs(" | ", f);
        if (field->when != NULL)
            (void)fprintf(f, "Only %s. ", field->condition);
        if (field->optional)
            (void)fprintf(f, "May be missing%s%s. ", field->required != NULL ? ", but not " : "",
                          field->required != NULL ? field->requirement : "");
        (void)fprintf(f, "%s |\n", field->help);
    }
}

/* docs/job.md has the rows of each table that has a title as the table itself documents them; and
 * those of the tables in it. */
static size_t count_undocumented(const char *docs, const struct cc_table *table)
{
    size_t missing = 0, length;
    char *text = NULL;
    FILE *f = open_memstream(&text, &length);
    assert_non_null(f);
    document(table, f);
    assert_int_equal(fclose(f), 0);
    if (table->title != NULL && table->fields > 0 && strstr(docs, text) == NULL) {
        (void)printf("docs/job.md must have this for \"%s\":\n%s\n", table->title, text);
        missing++;
    }
    free(text);
    for (size_t i = 0; i < table->fields; i++)
        if (table->field[i].table != NULL && table->field[i].table->form != CC_FORM_SCALAR)
            missing += count_undocumented(docs, table->field[i].table);
    return missing;
}

static void fields_are_documented(void **state)
{
    (void)state;
    size_t size;
    char *docs = scratch_read("docs/job.md", &size);
    size_t missing = count_undocumented(docs, &cc_job_table);
    for (size_t i = 0; i < sizeof cc_report_tables / sizeof cc_report_tables[0]; i++)
        missing += count_undocumented(docs, &cc_report_tables[i]);
    free(docs);
    (void)fflush(stdout);
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),
        cmocka_unit_test_setup_teardown(writes_and_reads_back, scratch_setup, scratch_teardown),
        cmocka_unit_test(refuses_settings),
        cmocka_unit_test(refuses_lists),
        cmocka_unit_test(schemes),
        cmocka_unit_test(refuses_pingpong),
        cmocka_unit_test(calls),
        cmocka_unit_test(consistency),
        cmocka_unit_test(consistency_of_trainings),
        cmocka_unit_test(simulations),
        cmocka_unit_test(refuses_simulations),
        cmocka_unit_test(fields_are_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
