#!/bin/sh
# The speeds that `bench` prints, against clocks outside of it: a plugin whose calls take a known time for each
# value, by a preloaded clock that it sets, so that a busy machine changes nothing; a plain loop; and the
# processor time of the whole program. CC is the compiler.
. "$(dirname "$0")/../cli/lib.sh"
root=$(dirname "$tests")
export XDG_CACHE_HOME="$dir/cache"

case='the plugin' good=1
: >out
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O3 -shared -fPIC -I"$root" "$tests/witness/timed.c" -o timed.so \
    2>err && "${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O2 -shared -fPIC "$tests/witness/clock.c" \
    -o clock.so -ldl 2>err || bad 'it does not compile'
cat >check.py <<'P'
"""check.py EXPRESSION: holds the result in `out` against it; `r` are the rows, `d` the document."""
import csv, json, os, sys

def near(is_, want, tolerance=0.005):
    return is_ is not None and abs(is_ / want - 1) <= tolerance
def speeds(row, encode, decode, add, end="_gb_per_s", tolerance=0.005):
    return all(near(row[k + end], v, tolerance) for k, v in (("encode", encode), ("decode", decode), ("decode_add", add)))

text = open("out").read()
if text.startswith("{"):
    d = json.loads(text)
    r = d.get("rows") or d["codecs"][0]["points"]
elif text.startswith("scheme,"):
    r = [{k: v if k == "scheme" else float(v) for k, v in row.items()} for row in csv.DictReader(text.split("\n"))]
else: # a table, of --columns: schemes and numbers
    r = [row.split() for row in text.split("\n") if row.startswith("timed")]
    r = [{"scheme": row[0], "encode_gb_per_s": float(row[1]), "decode_gb_per_s": float(row[2]),
          "decode_add_gb_per_s": float(row[3]), "encode_spread": float(row[4]) / 100} for row in r]
if not eval("(%s)" % sys.argv[1]):
    keys = [k for k in r[0] if k.split("_")[0] in ("encode", "decode") and r[0][k] is not None]
    sys.exit("; ".join(" ".join("%s %.4g" % (k, row[k]) for k in keys) for row in r[:3]))
P

# known EXPRESSION WORDS...: what the command prints by the clock of the plugin fulfils the expression.
known() {
    tries=1 preload=./clock.so
    fulfils "$@"
}

# measured EXPRESSION WORDS...: the same by the clock of the machine, in one of three tries, as the machine may be
# busy.
measured() {
    tries='1 2 3' preload=
    fulfils "$@"
}

fulfils() {
    end_case
    expression=$1 command=$2
    shift 2
    case="$command $* ($expression)" good=1
    for try in $tries; do
        LD_PRELOAD=$preload "$program" $command -q --plugin timed.so "$@" >out 2>err </dev/null
        is=$?
        [ $is = 0 ] || break
        case " $* " in *' --profile-out '*) cp profile.json out ;; esac
        python3 check.py "$expression" 2>err && break
    done
    [ $is = 0 ] && [ ! -s err ] || bad "exit $is, after $try tries: $(tail -n 1 err)"
}

# --- encode, decode, add ---

# 8, 5 and 10 ns a value, and 16, 40 and 4: much more than the work of copying takes.
one=timed:encode=8000,decode=5000,add=10000 two=timed:encode=16000,decode=40000,add=4000
both='speeds(r[0], 0.5, 0.8, 0.4) and speeds(r[1], 0.25, 0.1, 1)'
columns='--columns scheme,encode_gb_per_s,decode_gb_per_s,decode_add_gb_per_s'
once='--values 300K --steps 1 --discard 0 --samples 9'
known "$both" bench --scheme $one,$two $once --format json
known "$both" bench --scheme $one,$two $once --format csv $columns
known "$both" bench --scheme $one,$two $once $columns,encode_spread
# Small steps are timed many at once.
known 'speeds(r[0], 0.05, 0.08, 0.04)' bench --scheme timed:encode=80000,decode=50000,add=100000 --values 2K --steps 3 \
    --samples 3 --format json

# --- quartiles ---

# Nine samples of 1 to 9 times 8 ns; of 2, 3, 4, 5, 6, 10, 14, 18 and 20 times 5; of 1, 1, 2, 2, 4, 8, 8, 16 and 20
# times 10.
pattern="bench --scheme $one,pattern=1 $once"
known 'speeds(r[0], 0.5 / 5, 0.8 / 6, 0.4 / 4) and speeds(r[0], 4 / 5 / 2, 10 / 6 / 2, 6 / 4 / 2, "_spread")' $pattern --format json
known 'speeds(r[0], 0.5 / 7, 0.8 / 14, 0.4 / 8, "_gb_per_s_q25") and speeds(r[0], 0.5 / 3, 0.8 / 4, 0.4 / 2, "_gb_per_s_q75")' \
    $pattern --format json
known 'speeds(r[0], 0.5 / 9, 0.8 / 20, 0.4 / 20, "_gb_per_s_min") and speeds(r[0], 0.5, 0.8 / 2, 0.4, "_gb_per_s_max")' \
    $pattern --format json
known 'near(r[0]["encode_gb_per_s"], 0.5 / 5) and near(r[0]["encode_spread"], 4 / 5 / 2) and near(r[1]["encode_gb_per_s"], 0.25)' \
    bench --scheme $one,pattern=1,$two $once $columns,encode_spread

# --- threads ---

# Calls that sleep, as the threads of a busy machine share its processors. They may be woken some milliseconds late.
asleep=timed:encode=1000000,decode=500000,add=800000,sleep=1
measured 'r[0]["threads"] == 2 and speeds(r[0], 0.004, 0.008, 0.005, tolerance=0.15)' bench --scheme $asleep --values 200K --steps 1 --discard 0 \
    --samples 3 --threads 2 --format json
cat >trace.py <<'P'
import json, struct, sys
head, at = {}, 0
for i, n in enumerate(map(int, sys.argv[2:])):
    head["t%d" % i] = {"dtype": "F32", "shape": [n], "data_offsets": [at, at + 4 * n]}
    at += 4 * n
head = json.dumps(head).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(head)) + head + struct.pack("<f", 0.5) * (at // 4))
P
python3 trace.py four.safetensors 100000 100000 100000 100000 # which are shared out
measured 'speeds(r[0], 0.008, 0.016, 0.01, tolerance=0.15) and speeds(r[1], 0.016, 0.032, 0.02, tolerance=0.15) and
    speeds(r[1], 2, 2, 2, "_speedup", tolerance=0.15)' bench \
    --scheme $asleep --trace four.safetensors --discard 0 --samples 3 --threads 2,4 --format json

# --- tensors one by one; profiles ---

python3 trace.py sizes.safetensors 200000 2000 20000
slow=timed:encode=80000,decode=50000,add=100000
known '[row["values"] for row in r] == [200000, 2000, 20000] and all(speeds(row, 0.05, 0.08, 0.04) for row in r)' bench \
    --scheme $slow --trace sizes.safetensors --samples 3 --per-tensor --format json
known 'len(r) == 2 and all(speeds(p, 80, 50, 100, "_ns") for p in r)' bench --scheme $slow --values 2K,200K --samples 3 \
    --profile-out profile.json

# --- limits ---

# In the second-level cache. The codec's own instructions take the time that it waits, so it is as fast as they
# allow; encoding and decoding move 4 bytes of a value in and 4 out, adding 4 more. A plain loop says about what
# the cache allows.
cat >copy.c <<'P'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
int main(int argc, char **argv)
{
    enum { TURNS = 2000 };
    const size_t n = argc > 1 ? (size_t)atol(argv[1]) : 0;
    uint32_t *restrict from = malloc(8 * n + 4096), *restrict to = from + n + 528;
    double best = 1e9;
    for (size_t k = 0; k < n; k++)
        from[k] = to[k] = (uint32_t)k;
    for (int i = 0; i < 20; i++) {
        const double begin = now();
        for (uint32_t turn = 0; turn < TURNS; turn++)
            for (size_t k = 0; k < n; k++)
                to[k] = from[k] ^ turn;
        const double seconds = now() - begin;
        best = seconds < best ? seconds : best;
    }
    printf("%g\n", 4e-9 * (double)n * TURNS / best);
    return to[n / 2] == 1;
}
P
end_case
case='a loop that copies' good=1
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O3 copy.c -o copy 2>err || bad 'it does not compile'
values=$("$program" bench -q --values l2 --scheme fp32 --steps 1 --no-speed --format csv --columns values | tail -n 1)
copy=$(./copy "$values")
limited="bench --scheme timed:encode=20000,decode=10000,add=16000 --values l2 --steps 1 --samples 5 --format json"
known 'r[0]["place"] == "L2" and speeds(r[0], 0.2, 0.4, 0.25) and speeds(r[0], 0.4, 0.8, 0.75, "_moved_gb_per_s")' $limited
known 'speeds(r[0], 0.2, 0.4, 0.25, "_l1_gb_per_s") and speeds(r[0], 1, 1, 1, "_l1_share")' $limited
measured "all($copy / 3 < r[0][k + '_limit_gb_per_s'] < $copy * 3 and
    near(r[0][k + '_roofline'], r[0][k + '_gb_per_s'] / r[0][k + '_limit_gb_per_s'])
    for k in ('encode', 'decode', 'decode_add')) and speeds(r[0], 0.2, 0.4, 0.25, tolerance=0.2)" $limited

# --- a scheme of the catalogue, by the processor time of the program ---

# 40 samples of zstd and what comes before them; nothing else of `bench` takes long here.
end_case
case='zstd against the processor time of bench' good=1
python3 - "$program" >out 2>err <<'P' || bad "$(cat out)"
import json, os, subprocess, sys
def seconds(samples):
    p = subprocess.Popen([sys.argv[1], "bench", "-q", "--scheme", "zstd", "--values", "1M", "--steps", "1", "--discard", "0",
                          "--samples", str(samples), "--time", "0s", "--format", "json"], stdout=subprocess.PIPE)
    row = json.load(p.stdout)["rows"][0]
    _, status, used = os.wait4(p.pid, 0)
    assert status == 0 and row["samples"] == samples
    round = sum(4e-9 * row["values"] / row[k + "_gb_per_s"] for k in ("encode", "decode", "decode_add"))
    return used.ru_utime + used.ru_stime, round
for _ in range(3):
    many, each = seconds(41)
    few, _ = seconds(1)
    share = 40 * each / (many - few)
    print("%.4g s of %.4g s" % (40 * each, many - few))
    if 0.8 < share < 1.1:
        sys.exit()
sys.exit("the samples took another time than they say")
P

finish
