#!/bin/sh
# Times that ranks measure, against times that are known: a plugin whose calls wait in one rank, or for a time that
# the step decides, and a simulated link of which a step's time can be worked out by hand. CC is the compiler.
. "$(dirname "$0")/../cli/lib.sh"
root=$(dirname "$tests")

# late: fp32, with waits that LATE_RANK, LATE_CALL and LATE_MS say; LATE_CALL=pattern: encoding takes 50 to 450 ms, by the
# step.
cat >late.c <<'C'
#include <math.h>
#include <schemes/plugin.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct params { int64_t unused; };
static const struct cc_param table[] = {CC_PARAM_INT(struct params, unused, 0, 0, 1, "", "nothing"), {.name = NULL}};
static size_t bound(const void *p, const struct cc_shape *s) { return (void)p, 4 * s->n; }

static void wait_ms(double ms)
{
    struct timespec t = {.tv_sec = (time_t)(ms / 1e3), .tv_nsec = (long)(1e6 * fmod(ms, 1e3))};
    while (nanosleep(&t, &t) != 0)
        continue;
}

static void maybe_wait(const struct cc_codec *c, const char *call)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *late = getenv("LATE_RANK"), *which = getenv("LATE_CALL");
    if (rank == NULL || late == NULL || strcmp(rank, late) != 0 || which == NULL || c->shape.n < 1000)
        return;
    if (strcmp(which, call) == 0)
        wait_ms(atof(getenv("LATE_MS")));
}

static int encode(const struct cc_codec *c, const struct cc_context *ctx, const float *x, uint8_t *out, size_t cap,
                  size_t *len, struct cc_error *e)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *which = getenv("LATE_CALL");
    maybe_wait(c, "encode");
    if (rank != NULL && strcmp(rank, "0") == 0 && which != NULL && strcmp(which, "pattern") == 0)
        wait_ms(50 * (double)((4 * ctx->step) % 9 + 1));
    *len = 4 * c->shape.n;
    memcpy(out, x, *len);
    return (void)cap, (void)e, CC_OK;
}

static int decode(const struct cc_codec *c, const struct cc_context *ctx, const uint8_t *in, size_t len,
                  const float *scale, float *y, struct cc_error *e)
{
    if (len != 4 * c->shape.n)
        return cc_bad_length(len, 4 * c->shape.n, e);
    maybe_wait(c, "decode");
    for (size_t i = 0; i < c->shape.n; i++) {
        float v;
        memcpy(&v, in + 4 * i, 4);
        y[i] = scale == NULL ? v : cc_add_scaled(y[i], *scale, v);
    }
    return (void)ctx, CC_OK;
}

static void init(const struct cc_codec *c) { maybe_wait(c, "init"); }

static const struct cc_scheme late = {
    .id = "late", .title = "fp32 that waits", .reference = "this test", .layout = "the values", .kind = CC_OPAQUE,
    .params = table, .params_bytes = sizeof(struct params), .bound = bound, .init = init, .encode = encode,
    .decode = decode};
CC_PLUGIN(late)
C
case='the plugin' good=1
: >out
"${CC:-cc}" -std=gnu11 -Wall -Werror -O2 -shared -fPIC -I"$root" late.c -o late.so -lm >err 2>&1 || bad 'it does not compile'
make_run_profile

# retry TIMES: runs `attempt`, which leaves its reason in `why`, until it holds: a busy machine delays ranks.
retry() {
    tries=$1
    for try in $(seq "$tries"); do
        attempt
        [ "$good" != 1 ] || return 0
        [ "$try" = "$tries" ] || good=1
    done
}

why=$(why_no_lab)
if [ -n "$why" ] || sanitized; then
    echo "skipped: ranks: ${why:-sanitized}"
else
    export LATE_RANK LATE_CALL LATE_MS
    calls="run --plugin late.so --bw none --workers 4 --values 1000 --scheme late --time 10ms --format json"
    # Payloads are encoded before a call begins, in whatever time: a call waits for nobody who encodes.
    LATE_RANK=2 LATE_CALL=encode LATE_MS=60
    attempt() { t 0 $calls --exchange allgather; json 'd["rows"][0]["call_s"] < 0.03'; }
    retry 3
    # Decoding everybody's payload is part of a call, which takes as long as its slowest rank: three payloads or more.
    LATE_CALL=decode
    attempt() { t 0 $calls --exchange allgather; json '0.18 <= d["rows"][0]["call_s"] < 0.5'; }
    retry 3
    # Steps are counted from when the last rank is there.
    steps="run --plugin late.so --profile run.json --values 1000 --bw 1gbps --format json"
    python3 - <<'P' || bad 'the profile'
import json
profile = json.load(open('run.json'))
point = {'values': 1000, 'bits_per_value': 32, 'encode_ns': 0, 'decode_ns': 0, 'decode_add_ns': 0}
profile['codecs'].append({'scheme': 'late', 'points': [point]})
json.dump(profile, open('run.json', 'w'))
P
    LATE_CALL=init LATE_MS=600
    attempt() { t 0 $steps --workers 3 --exchange allgather --scheme late --warmup 0 --steps 1; json 'd["rows"][0]["step_s"] < 0.3'; }
    retry 3
    # Steps of 50 to 450 ms, in another order: the quartiles are those of nine numbers, and a step takes little beside.
    LATE_CALL=pattern LATE_RANK=0
    attempt() {
        t 0 $steps --workers 2 --exchange allgather --scheme late --warmup 0 --steps 18
        json '0.149 < d["rows"][0]["step_s_q25"] < 0.18 and 0.349 < d["rows"][0]["step_s_q75"] < 0.38'
        json '0.249 < d["rows"][0]["step_s"] < 0.28'
        # The deviation of the numbers 1 to 9, each twice.
        json 'abs(d["rows"][0]["step_s_sd"] - 0.05 * 2.657) < 0.02'
    }
    retry 4
    unset LATE_RANK LATE_CALL LATE_MS
fi

# --- simulated: a link of 1 Gbit/s without latency and headers ---

why=$(why_no_sim)
if [ -n "$why" ]; then
    echo "skipped: simulated ranks: $why"
else
    link="--bw 1gbps --latency 0us --overhead none --fidelity alpha-beta --profile profile.json --format json -q"
    # int8: 8 bits; 1 ns to encode a value, 2 to decode it, 3 to decode and add it.
    q 0 sim --values 1M --workers 4 --servers 2 --exchange ps --scheme fp32,int8 $link
    # Each server's link has 4 x 0.5 M values each way.
    json 'abs(d["rows"][0]["step_s"] / 0.128 - 1) < 1e-3 and abs(d["rows"][0]["comm_busy_s"] / 0.128 - 1) < 1e-3'
    json 'abs(d["rows"][0]["wait_s"] / 0.128 - 1) < 1e-3 and d["rows"][0]["codec_s"] == 0'
    json 'abs(d["rows"][1]["encode_s"] - 1e-3) < 1e-6 and abs(d["rows"][1]["decode_s"] - 2e-3) < 1e-6'
    json '0.032 + 0.0065 - 0.0006 < d["rows"][1]["comm_busy_s"] < 1.001 * (0.032 + 0.0065)'
    # A worker is busy with messages while it neither encodes nor decodes, and waits all that time.
    json 'abs(d["rows"][1]["step_s"] - 3e-3 - d["rows"][1]["comm_busy_s"]) < 1e-6 and abs(d["rows"][1]["wait_s"] - d["rows"][1]["comm_busy_s"]) < 1e-6'
    # A server adds 4 x 0.5 M values and encodes 0.5 M.
    json 'abs(d["rows"][1]["server_codec_s"] / (4 * 0.5e6 * 3e-9 + 0.5e6 * 1e-9) - 1) < 1e-3'
    # The busiest host is a server: four workers pull from it. With colocated servers every host sends alike.
    json 'abs(d["rows"][0]["wire_bytes"] / 8e6 - 1) < 1e-3 and abs(d["rows"][1]["wire_bytes"] / 2e6 - 1) < 1e-3'
    q 0 sim --values 1M --workers 4 --servers 1 --exchange ps --scheme fp32 $link
    json 'abs(d["rows"][0]["wire_bytes"] / 16e6 - 1) < 1e-3 and abs(d["rows"][0]["step_s"] / 0.256 - 1) < 1e-3'
    q 0 sim --values 1M --workers 4 --exchange ring --scheme fp32 $link
    json 'abs(d["rows"][0]["wire_bytes"] / 6e6 - 1) < 1e-3 and abs(d["rows"][0]["step_s"] / 0.048 - 1) < 1e-3'
    # While workers compute, servers wait for them: nobody counts that as time in which messages are under way.
    q 0 sim --values 1M --workers 4 --servers 2 --exchange ps --scheme fp32 --compute 100ms --mode sequential $link
    json 'abs(d["rows"][0]["step_s"] / 0.228 - 1) < 1e-3 and abs(d["rows"][0]["comm_busy_s"] / 0.128 - 1) < 1e-3'
    json 'abs(d["rows"][0]["wait_s"] / 0.128 - 1) < 1e-3 and abs(d["rows"][0]["compute_s"] - 0.1) < 1e-9'
    # Each message costs its sender 1 ms: a worker sends one and the server four, before which it has all pushes.
    q 0 sim --values 1000 --workers 4 --exchange ps --scheme fp32 $link --message-cost 1ms
    json 'abs(d["rows"][0]["step_s"] - (2 * 4 * 32e3 / 1e9 + 1e-3 + 4e-3)) < 1.1e-3'
fi

finish
