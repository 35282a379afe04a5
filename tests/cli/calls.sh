#!/bin/sh
# `commcomp run --bw none`: calls of exchanges, timed one by one.
. "$(dirname "$0")/lib.sh"

r="run -q --bw none"

# --- options ---

make_profile
for option in '--net resnet20' '--latency 1ms' '--compute 1s' '--mode overlap' '--trace x' --keep-lab \
    '--message-cost 3us' '--device v100' '--min-size 5' '--burst 5K' '--profile profile.json' '--union same' '--tc-dev eth0'; do
    t 2 $r $option
    err "${option%% *} is of training steps over a network: with --bw none"
done
for option in --check '--time 1s'; do
    t 2 run -q $option
    err "${option%% *} is of calls that are timed alone: give --bw none"
done
t 2 $r --nonzeros 1%,200%
err "--nonzeros: '200%' is not a share from 0 to 1"
t 2 $r --nonzeros 1%,,2%
err '--nonzeros 1%,,2%: a list of shares with commas between them'
t 2 $r --servers 2 --exchange ring
err '--servers sets the number of parameter servers: give --exchange ps'
t 2 $r --values 1K,0
err '--values: 0 is not between 1'
t 2 $r --time 0s
err '--time: from 1us'
t 2 $r --indices even
err '--indices'
t 2 $r --hosts a --hostfile b
err '--hostfile and --hosts exclude each other'
t 2 run -q --dry-run --nonzeros 1%,2%
err "--nonzeros: '1%,2%' is not a share"
t 2 run -q --dry-run --nonzeros 1% --trace x
err '--nonzeros is of drawn gradients: leave out --trace'
t 2 run -q --dry-run --indices clustered
err '--indices tells where --nonzeros lie'
t 2 model -q --bw none
err "'none' is not a rate"
# A combination that cannot be is left out; here it is the only one.
t 2 $r --scheme local
err 'local does not send in every call'

# --- a rank program that reports a wrong result: on rank 0, and for the second row alone ---

missing=''
command -v mpirun >/dev/null || missing='there is no mpirun'
[ -x "$(dirname "$program")/commcomp-rank" ] || missing='there is no commcomp-rank'
if [ -n "$missing" ]; then
    echo "skipped: commcomp run --bw none: $missing"
    finish
fi
q 0 $r --dry-run --values 1K,2K --workers 2 --exchange ring --scheme fp32 --time 3s --format json
json '[(r["values"], r["row_s"], r["call_s"]) for r in d["rows"]] == [(1000, 3, None), (2000, 3, None)]'
json 'd["notes"][0].startswith("dry run: 2 rows take at most 6 s")'
: >plain
COMMCOMP_RANK=$dir/plain
export COMMCOMP_RANK
t 1 $r --values 1K --workers 2 --exchange ring --scheme fp32
err "$dir/plain: you may not execute it: check its permissions"
unset COMMCOMP_RANK
cat >broken <<'SH'
#!/bin/sh
[ "${OMPI_COMM_WORLD_RANK:-0}" = 0 ] || exit 0
cat >/dev/null
numbers='"encode_s": 0, "apply_s": 0, "push_bytes": 4000, "given_bytes": 0, "messages": 0, "result_values": 1'
echo '{"report": "hello", "text": "Some MPI, 1"}'
echo '{"report": "row_begin", "row": 0}'
echo "{\"report\": \"calls\", \"row\": 0, \"call_s\": [3, 1, 2, 4, 100], $numbers, \"checked\": true}"
echo '{"report": "row_begin", "row": 1}'
echo "{\"report\": \"calls\", \"row\": 1, \"call_s\": [4e-6], $numbers, \"checked\": $1, \"wrong\": \"rank 1: value 7\"}"
echo '{"report": "done"}'
SH
sed 's/\$1/true/' broken >wrong
sed 's/, \\"wrong.*7\\"//; s/\$1/false/' broken >unchecked
chmod +x wrong unchecked
COMMCOMP_RANK=$dir/wrong
export COMMCOMP_RANK
t 1 $r --exchange mpi --scheme fp32,pairs --workers 2 --values 1000 --check --format json
err '1 of 2 results that were checked is wrong: pairs over mpi, 2 workers: rank 1: value 7'
json '[r["check"] for r in d["rows"]] == [True, False] and "is wrong" in d["error"]'
# Medians, quartiles, bandwidths and speedups, worked out by hand.
COMMCOMP_RANK=$dir/unchecked
q 0 $r --exchange mpi --scheme fp32,pairs --workers 2 --values 1000 --nonzeros 0.25 --check --format json
json '[r["check"] for r in d["rows"]] == [True, None] and any("not checked" in n for n in d["notes"])'
json '[r["call_s"] for r in d["rows"]] == [3, 4e-6] and [r["calls"] for r in d["rows"]] == [5, 1]'
json 'd["rows"][0]["call_s_low"] == 2 and d["rows"][0]["call_s_high"] == 4'
json 'abs(d["rows"][1]["algbw_gb_per_s"] - 1) < 1e-12 and abs(d["rows"][1]["busbw_gb_per_s"] - 1) < 1e-12'
json 'd["rows"][0]["speedup"] == 1 and abs(d["rows"][1]["speedup"] - 7.5e5) < 1'
json 'any(n.startswith("1 of 2 rows vary: ") for n in d["notes"])'
json 'all(r["nonzeros"] == 0.25 and r["indices"] == "uniform" for r in d["rows"])'
json 'd["host"]["mpi"] == "Some MPI, 1" and any("Some MPI on this machine" in n for n in d["notes"])'
unset COMMCOMP_RANK

t 2 $r --per-host 2 --exchange hierarchical --chunks auto
err '--chunks auto: with --bw none there are no links'
t 2 $r --workers 4 --per-host 3 --exchange hierarchical
err '--per-host 3: 4 workers leave a host part empty'

# --- real calls ---

# Workers of one machine in groups as of hosts: sums in two levels are those of MPI.
q 0 $r --workers 4 --per-host 2 --exchange hierarchical,ring --outer-exchange ring --chunks 2 --scheme fp32 --values 1000 --steps 3 --time 100ms --check --format json
json '[(r["check"], r["per_host"], r["chunks"], r["inner_exchange"], r["outer_exchange"]) for r in d["rows"]] == [(True, 2, 2, "twoshot", "ring"), (True, 2, 2, None, None)]'

x="--exchange mpi,ring,rabenseifner,allgather,ps --scheme fp32,pairs,topk,local"
q 0 $r $x --workers 2,3 --values 1000 --steps 3 --time 100ms --check --format json
json 'len(d["rows"]) == 2 * 5 * 3 and [r["workers"] for r in d["rows"]] == [2] * 15 + [3] * 15'
json 'all(r["check"] is (None if r["scheme"] == "topk" and r["exchange"] not in ("mpi", "allgather") else True) for r in d["rows"])'
json 'all(r["call_s_low"] <= r["call_s"] <= r["call_s_high"] and 3 <= r["calls"] <= 3 for r in d["rows"])'
json 'all(abs(r["algbw_gb_per_s"] * r["call_s"] - 4e-6) < 1e-12 and r["messages"] >= 1 for r in d["rows"])'
json 'all(abs(r["busbw_gb_per_s"] / r["algbw_gb_per_s"] - 2 * (r["workers"] - 1) / r["workers"]) < 1e-9 for r in d["rows"])'
json 'all(r["result_values"] == d["rows"][0]["result_values"] > 5 for r in d["rows"][:2])'
json 'any("left out: local does not send in every call; likewise" in n for n in d["notes"])'
json 'any("a call includes the codecs" in n for n in d["notes"]) and "bw_bps" in d["rows"][0] and d["rows"][0]["step_s"] is None'
json 'all(r["servers"] == (1 if r["exchange"] == "ps" else None) for r in d["rows"])'
# Lists: values outside, then non-zeros. Nobody sends anything; all values are there.
q 0 $r --exchange mpi --scheme pairs --workers 2 --values 1,4K --nonzeros 0,10%,1 --steps 3 --check --format json
json '[(r["values"], r["nonzeros"]) for r in d["rows"]] == [(n, z) for n in (1, 4000) for z in (0, 0.1, 1)]'
json '[r["payload_bytes"] for r in d["rows"]][0::3] == [0, 0] and d["rows"][5]["payload_bytes"] == 32000'
json 'all(r["check"] for r in d["rows"]) and d["rows"][3]["result_values"] == 0 and d["rows"][5]["result_values"] == 4000'
# In runs, workers' sets have as many values, of which fewer lie in lines of their own.
q 0 $r --exchange mpi --scheme pairs --workers 2 --values 64K --nonzeros 50% --indices clustered --steps 3 --format json
json 'd["rows"][0]["payload_bytes"] % (8 * 64) == 0 and d["rows"][0]["indices"] == "clustered"'
# Sparse exchanges send the bytes of the formulas, but for heads and for the spread of the sets, and
# short messages are as many as there.
cat >pairs.json <<'P'
{"schema": "commcomp-profile/1", "trace": "made up", "cpu": "x", "isa": "scalar",
 "time": "2026-01-31T12:00:00Z", "codecs": [
 {"scheme": "fp32", "points": [{"values": 1000, "bits_per_value": 32, "encode_ns": 0, "decode_ns": 0, "decode_add_ns": 0}]},
 {"scheme": "pairs", "points": [{"values": 1000, "bits_per_value": 6.4, "encode_ns": 0, "decode_ns": 0, "decode_add_ns": 0}]}]}
P
# ssar-auto counts what it took, and takes another exchange where there is more to send: in the first
# call it does not know yet how much.
# Sums of index-value pairs that do not keep everything; the first call does, and is compared.
q 0 $r --exchange ssar-split,ring --keep 1% --scheme fp32,topk,pairs --workers 3 --values 100K --nonzeros 5% --steps 6 --check --format json
json '[(r["scheme"], r["exchange"], r["keep"]) for r in d["rows"]] == [("fp32", "ssar-split", 0.01), ("topk", "ssar-split", 0.01), ("fp32", "ring", None), ("topk", "ring", None), ("pairs", "ring", None)]'
json 'all(r["check"] for r in d["rows"] if "check" in r and r["check"] is not None) and any("pairs has none for index-value pairs" in n for n in d["notes"])'
q 0 $r --exchange ssar-auto --dense-bits 4 --scheme pairs --workers 3 --values 1M --nonzeros 0.01%,90% --steps 4 --check --format json
json 'all(r["check"] is None for r in d["rows"])'
json 'all(sum(int(w.split()[1]) for w in r["chose"].split(", ")) == r["calls"] for r in d["rows"])'
json '["dsar" in r["chose"] for r in d["rows"]] == [False, True]'
q 0 $r --exchange ssar-auto,ssar-split --scheme fp32,topk --workers 2 --values 10K --steps 2 --check --format json
json '[r["check"] for r in d["rows"]] == 4 * [True] and [r["chose"] is not None for r in d["rows"]] == [False, True, False, False]'
sparse="--exchange ssar-recdouble,ssar-split,ssar-rabenseifner,dsar-split --scheme pairs --workers 2,3,5,8"
for wire in auto pairs; do
    for values in 8Ki 200K; do
        model="model -q --profile pairs.json $sparse --overhead none --union expected --wire $wire --values $values --format json"
        q 0 $model
        cp out model.json
        q 0 $r $sparse --nonzeros 10% --wire $wire --values $values --steps 3 --time 10ms --check --format json
        match='[(a, b) for a in d["rows"] for b in json.load(open("model.json"))["rows"] if (a["exchange"], a["workers"]) == (b["exchange"], b["workers"])]'
        json "len($match) == 16 and all(a[\"check\"] for a, b in $match)"
        if [ $values = 8Ki ]; then
            json "all(a[\"messages\"] == b[\"messages\"] for a, b in $match)"
        else
            json "all(0.97 < a[\"sent_bytes\"] / b[\"wire_bytes\"] < 1.03 for a, b in $match)"
        fi
    done
done
# By default: all exchanges without servers, fp32 and pairs.
q 0 $r --workers 2 --values 1K --steps 3
out 'rabenseifner'
out 'ran over Open MPI'

# Ranks on this machine talk through memory: no process of a run has a socket in the machine's network.
if unshare -n true 2>/dev/null || unshare -Un true 2>/dev/null && command -v ss >/dev/null; then
    end_case
    case='run --bw none opens no socket of the network' good=1
    CALLS_SH=$$ "$program" $r --values 100K --workers 2 --exchange ring --scheme fp32 --time 3s >out 2>err </dev/null &
    pid=$!
    : >sockets
    : >ranks
    while kill -0 $pid 2>/dev/null; do
        for process in $(grep -lz "^CALLS_SH=$$\$" /proc/[0-9]*/environ 2>/dev/null | cut -d / -f 3); do
            grep -qx commcomp-rank "/proc/$process/comm" 2>/dev/null && echo "$process" >>ranks
            ss -Htunap 2>/dev/null | grep "pid=$process," >>sockets
        done
        sleep 0.1
    done
    wait $pid || bad "exit $?"
    [ "$(sort -u ranks | wc -l)" -ge 2 ] || bad 'no ranks were seen'
    [ ! -s sockets ] || bad "sockets: $(sort -u sockets | head -n 5)"
else
    echo 'skipped: sockets of run --bw none: needs ss and network namespaces'
fi

finish
