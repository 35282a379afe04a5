#!/bin/sh
# `--timeline` of `run` and `sim`. tests/timeline_reader.py reads the format by itself.
. "$(dirname "$0")/lib.sh"

make_run_profile
r="run -q --profile run.json"
missing=$(why_no_lab)
timeline() { # FILE EXPRESSION...: the expressions hold for the timeline; d is the results on stdout
    python3 "$tests/timeline_reader.py" "$@" >reader 2>&1 || bad "$(head -n 3 reader)"
}

end_case
case='timeline_reader.py --self-test' good=1
: >out
timeline --self-test

t 2 $r --dry-run --values 1000 --workers 2 --scheme fp32 --timeline t.json
err '--timeline: in a dry run nothing happens'
no_file t.json
t 1 $r --values 1000 --workers 2 --scheme fp32 --timeline no/such/t.json
err 'no/such/t.json'

# A worker's phases fill its steps, and steps take as long as the row says, in microseconds. Ends of
# transfers fit together (the reader sees to it).
fills='all(abs(sum(float(e - b) for n, s, b, e in r.tracks[w]) / sum(float(e - b) for n, b, e in r.steps) - 1) < tolerance for r in t.rows for w in r.tracks if w.startswith("worker"))'
lasts='all(abs(sum(float(e - b) for n, b, e in r.steps) / len(r.steps) / 1e6 / row["step_s"] - 1) < tolerance for r, row in zip(t.rows, d["rows"]))'

# utilization EXPRESSION...: they hold for the bins that `plot` draws of t.json, by row and name of the line: the sum over
# the bins times their width, in `shares` percent of it, in `bits` those of a host.
utilization() {
    for kind in timeline throughput; do
        "$program" plot -q t.json --kind $kind --format script >$kind.gp 2>err </dev/null || bad "plot: $(cat err)"
    done
    PYTHONPATH=$tests python3 - "$@" >reader 2>&1 <<'P' || bad "$(tail -n 3 reader)"
import re, sys
from timeline_reader import Timeline
t = Timeline(open("t.json").read())
def sums(kind, names):
    rows, script = {}, open(kind + ".gp").read()
    # The legend has the order of the lines; those that coincide stand together.
    legend = [n for texts in re.findall(r"^set label \d+ '([^']*)'", script, re.M) for n in texts.split(", ") if n in names]
    assert sorted(legend) == sorted(names), legend
    for row, line, data in re.findall(r"^\$p(\d+)s(\d+) << EOD\n(.*?)^EOD$", script, re.S | re.M):
        xy = [[float(v) for v in line.split()[:2]] for line in data.splitlines()]
        assert len(xy) == 100
        rows.setdefault(int(row), {})[legend[int(line)]] = sum(y for x, y in xy) * 2 * xy[0][0]
    return [rows[i] for i in sorted(rows)]
shares = sums("timeline", ["workers compute", "links send", "links receive"])
bits = sums("throughput", ["sent", "received"])
def near(a, b):
    return abs(float(a) - float(b)) <= 1e-6 * abs(float(b))
def computes(row, workers):
    return sum(row.sum(f"worker {w}", "compute") for w in range(workers)) / workers / 1e6
def carried(row, hosts, wanted):
    return 8 * sum(x[3]["bytes"] for x in row.transfers if wanted(x)) / hosts
for expression in sys.argv[1:]:
    assert eval(expression), (expression, shares, bits)
P
}

no_sim=$(why_no_sim)
if [ -n "$no_sim" ]; then
    echo "skipped: timelines of simulations: $no_sim"
else
    # The profile's int8 takes 1 ns a value to encode and 3 to decode and add; its fp32 takes nothing.
    s="sim -q --profile run.json --values 1M --bw 100mbps --compute 10ms --update 2ms --steps 3 --warmup 1 --timeline t.json --format json"
    q 0 $s --workers 3 --scheme fp32,int8 --exchange ps
    json 'any("timeline: t.json" in n for n in d["notes"])'
    timeline t.json "(tolerance := 1e-4) and $fills and $lasts" \
        '[r.name for r in t.rows] == [x + ", ps, 3 workers, 1 server, 100 Mbit/s, sequential (sim, alpha-beta)" for x in ("fp32", "int8")]' \
        'all([n for n, b, e in r.steps] == [1, 2, 3] and r.steps[0][1] == 0 for r in t.rows)' \
        'all(list(r.tracks) == ["worker 0", "worker 1", "worker 2", "server 0"] for r in t.rows)' \
        'all(abs(r.sum(w, "compute") - 30000) < 0.1 and abs(r.sum(w, "update") - 6000) < 0.1 for r in t.rows for w in r.tracks if w[0] == "w")' \
        'abs(t.rows[1].sum("worker 1", "encode") - 3 * 1000) < 0.1' \
        'abs(t.rows[1].sum("server 0", "aggregate") - 3 * (3 * 3000 + 1000)) < 0.1' \
        'abs(t.rows[1].sum("worker 1", "decode") / 3e6 - d["rows"][1]["decode_s"]) < 1e-9' \
        'all(len(r.transfers) == 18 for r in t.rows)' \
        '{x[0] for x in t.rows[0].transfers} == {"into server 0", "into worker 0", "into worker 1", "into worker 2"}' \
        'sum(x[3]["bytes"] for x in t.rows[0].transfers) > 18 * 4e6' \
        'all(abs(float(e - b) / 1e6 - 3 * 4e6 * 8 * 1.0456 / 1e8) < 0.01 for n, b, e, args in t.rows[0].transfers)' \
        't.other["left_out"] == 0 and t.other["partial"] is False'
    # The server's port is not a worker's: a worker sends pushes, and receives pulls.
    utilization 'len(shares) == len(bits) == 2' 'all(near(s["workers compute"] / 100, computes(r, 3)) for s, r in zip(shares, t.rows))' \
        'all(near(b["sent"], carried(r, 3, lambda x: x[0] == "into server 0")) for b, r in zip(bits, t.rows))' \
        'all(near(b["received"], carried(r, 3, lambda x: x[0] != "into server 0")) for b, r in zip(bits, t.rows))' \
        'all(near(s["links send"] * 1e6, b["sent"]) and near(s["links receive"] * 1e6, b["received"]) for s, b in zip(shares, bits))'
    # Without servers: six rounds and as many transfers; every rank adds. Nothing is left out of two
    # steps under way at a time either.
    q 0 $s --workers 4 --exchange ring --scheme fp32,int8 --mode pipe
    timeline t.json 'all(r.name.endswith("ring, 4 workers, 100 Mbit/s, pipe (sim, alpha-beta)") for r in t.rows)' \
        'all(len(r.transfers) == 3 * 4 * 6 for r in t.rows)' \
        't.rows[1].sum("worker 2", "decode, add, encode") > 0'
    utilization 'all(near(s["workers compute"] / 100, computes(r, 4)) for s, r in zip(shares, t.rows))' \
        'all(near(b, carried(r, 4, lambda x: True)) for x, r in zip(bits, t.rows) for b in x.values())'
    # Nothing between a worker and the server on its own host is on a link, and a link has both directions.
    q 0 $s --workers 3 --scheme fp32 --exchange ps --servers 3 --colocate
    utilization 'near(shares[0]["workers compute"] / 100, computes(t.rows[0], 3))' \
        'all(near(b, carried(t.rows[0], 3, lambda x: x[3]["from"][-1] != x[0][-1])) for b in bits[0].values())' \
        'near(shares[0]["links send"] * 1e6, bits[0]["sent"])'
    # Two workers a host, whose two interfaces send 100 and receive 200 Mbit/s each.
    q 0 sim -q --values 1M --bw-up 100mbps --bw-down 200mbps --compute 10ms --steps 3 --timeline t.json \
        --workers 4 --per-host 2 --nics 2 --exchange ps --scheme fp32
    utilization 'near(shares[0]["workers compute"] / 100, computes(t.rows[0], 4))' \
        'near(bits[0]["sent"], carried(t.rows[0], 2, lambda x: x[0] == "into server 0"))' \
        'near(bits[0]["received"], carried(t.rows[0], 2, lambda x: x[0] != "into server 0"))' \
        'near(shares[0]["links send"] * 2e6, bits[0]["sent"]) and near(shares[0]["links receive"] * 4e6, bits[0]["received"])'
    # Overlapped steps: codecs have a track beside computing.
    q 0 $s --workers 2 --fuse 100K --mode overlap --scheme int8 --data off
    timeline t.json 'list(t.rows[0].tracks)[:3] == ["worker 0", "worker 0, codecs", "worker 1"]' \
        'all(abs(t.rows[0].sum(w, "compute") - 30000) < 1 for w in ("worker 0", "worker 1"))' \
        't.rows[0].sum("worker 0, codecs", "encode") > 0 and t.rows[0].sum("worker 0", "encode") == 0' \
        'abs(float(t.rows[0].steps[2][2] - t.rows[0].steps[1][2]) / 1e6 / d["rows"][0]["step_s"] - 1) < 0.01'
    # After an interrupt the timeline has the steps until then, if any.
    end_case
    case='sim --timeline, interrupted' good=1
    rm t.json
    timeout --foreground -s INT 4 "$program" sim -q --profile run.json --values 100K --bw 100mbps --workers 2 \
        --scheme fp32,local:every=1000 --steps 200000 --timeline t.json >out 2>err </dev/null
    no_file t.json
fi
if [ -n "$missing" ]; then
    echo "skipped: a timeline of commcomp run: $missing"
else
    # Time in which workers wait for a core is in no phase, and other processes use the cores as well.
    q 0 $r --workers 2 --values 100K --bw 100mbps --scheme fp32,int8 --steps 3 --compute 20ms --timeline t.json --exchange ps --format json
    timeline t.json "(tolerance := 0.25) and $fills and $lasts" \
        '[r.name for r in t.rows] == [x + ", ps, 2 workers, 1 server, 100 Mbit/s, sequential (run, lab)" for x in ("fp32", "int8")]' \
        'all(list(r.tracks) == ["worker 0", "worker 1", "server 0"] and len(r.transfers) == 12 for r in t.rows)' \
        'all(r.sum("server 0", "aggregate") > 0 and r.sum("worker 1", "compute") > 59999 for r in t.rows)'
    # Nothing arrives before it leaves, though messages are small and ranks share cores.
    q 0 $r --workers 4 --values 100K --fuse 10K --bw 1gbps --scheme int8 --mode overlap --steps 30 --compute 5ms --timeline t.json
    python3 - >reader <<'P' || bad "$(cat reader)"
import json
ends = [x for x in json.load(open("t.json"))["traceEvents"] if x["ph"] in "be"]
sent = {x["id"]: x["ts"] for x in ends if x["ph"] == "b"}
early = [x for x in ends if x["ph"] == "e" and x["ts"] < sent[x["id"]]]
print(len(early), "of", len(sent), "transfers end before they begin:", early[:1])
raise SystemExit(len(sent) < 100 or len(early) > 0)
P
fi

finish
