#!/bin/sh
# `commcomp calibrate`: measurements, files and refusals.
. "$(dirname "$0")/lib.sh"

make_profile
m="model -q --profile profile.json"
missing=$(why_no_lab)
cat >ranks.py <<'END'
import json, os, sys
job = json.load(sys.stdin)
assert job["kind"] == "pingpong"
burst, rate, latency = float(os.environ.get("burst", 0)), 1e7, 20e-6
# Hosts that send 10 MB/s and receive "down"; memory carries 2 GB/s.
down, kind = float(os.environ.get("down", rate)), job.get("way", "pair")
others, inside = job["workers"] - 1, job.get("per_host", 1) > 1
assert others == 1 or kind != "pair" and not inside
print(json.dumps({"report": "hello", "text": "a link by hand"}))
tokens, at, now, count = [burst, burst], [0, 0], 0, 0
for size in job["sizes"]:
    seconds = []
    for _ in range(job["repeats"]):
        if inside or kind != "pair":
            slow = 2e9 if inside else min(rate, others * down) if kind == "out" else min(others * rate, down)
            seconds.append((1e-6 if inside else latency) + others * size / slow)
            continue
        began = now
        for way in range(2):
            tokens[way] = min(burst, tokens[way] + rate * (now - at[way]))
            wait = max(0, size - tokens[way]) / rate
            tokens[way] = max(0, tokens[way] - size)
            at[way] = now + wait
            now += wait + latency
        count += 1
        now += 0.05 if count % 10 == 0 else 0
        seconds.append((now - began) / 2)
    print(json.dumps({"report": "size", "bytes": size, "seconds": seconds,
                      "send_s": 4e-6}))
if os.environ.get("cut"):
    sys.exit(3)
print(json.dumps({"report": "done"}))
END
printf '#!/bin/sh\nexec python3 "%s/ranks.py"\n' "$dir" >fake_mpirun
chmod +x fake_mpirun
cp fake_mpirun commcomp-rank
COMMCOMP_RANK=$dir/commcomp-rank
export COMMCOMP_RANK
c="calibrate -q --hosts a:2,b:2 --mpirun $dir/fake_mpirun"

q 0 $c --link-out found.json --format json
json 'all(abs(r["bw_bps"] - 80e6) < 1e3 and abs(r["latency_s"] - 20e-6) < 3e-6 for r in d["rows"])'
json 'd["rows"][0]["burst_bytes"] == 0 and d["rows"][0]["shaped_bps"] is None'
json 'd["rows"][0]["message_bytes"] == 1 and sum(r["counted"] for r in d["rows"]) >= 8 and not d["rows"][0]["counted"]'
json 'all(abs(r["model_error"]) < 5e-3 and r["samples"] == 20 for r in d["rows"] if r["counted"])'
json 'all(1e-12 < r["reduce_byte_s"] < 1e-7 for r in d["rows"]) and d["host"]["mpi"] == "a link by hand"'
json 'any("none found" in n for n in d["notes"])'
json 'all(r["message_s"] == 4e-6 for r in d["rows"]) and any("sending: 4 us" in n for n in d["notes"])'
# The model takes the file: 4 workers' million bytes at 10 MB/s, and back.
q 0 $m --calibration found.json --values 1M --workers 4 --scheme int8 --exchange ps --format json
json 'abs(d["rows"][0]["comm_s"] - 0.8) < 1e-3 and d["rows"][0]["link"] == "cluster"'
# A server sends to 1,000 workers, one after the other; an option replaces the file's time.
q 0 $m --calibration found.json --values 10 --workers 1000 --scheme int8 --format json
json 'd["rows"][0]["comm_s"] >= 999 * 4e-6'
q 0 $m --calibration found.json --values 10 --workers 1000 --scheme int8 --message-cost 0s --exchange ps --format json
json 'd["rows"][0]["comm_s"] < 999 * 4e-6'
# The bucket is measured, or given by an option.
burst=20000
export burst
q 0 $c --link-out found.json --name shaped --format json
json 'abs(d["rows"][0]["bw_bps"] - 80e6) < 1e4 and abs(d["rows"][0]["burst_bytes"] - 20000) < 500'
json 'any("20" in n and "bytes pass at once" in n for n in d["notes"])'
q 0 $m --calibration found.json --values 1M --workers 4 --scheme int8 --exchange ps --format json
json 'abs(d["rows"][0]["burst_bytes"] - 20000) < 500 and d["rows"][0]["link"] == "shaped"'
q 0 $c --burst 20000 --repeats 8 --format json
json 'd["rows"][0]["burst_bytes"] == 20000 and d["rows"][0]["samples"] == 8'
json 'abs(d["rows"][0]["latency_large_s"] - 20e-6) < 3e-6'
q 0 $c
out 'bandwidth: 80 Mbit/s +- .*% of payload'
out 'latency: .* us, the median of messages of up to 64 bytes'
# Two classes of links: a pair of one host, and a host that receives three times as fast.
unset burst
down=3e7
export down
q 0 $c --per-host 2 --peers 4 --link-out two.json --format json
json '[len({r["peers"] for r in d["rows"] if r["traffic"] == k}) for k in ("between hosts", "inside a host", "sending", "receiving")] == [1] * 4'
json 'all(abs(r["bw_bps"] / {"between hosts": 80e6, "inside a host": 16e9, "sending": 80e6, "receiving": 240e6}[r["traffic"]] - 1) < 1e-3 for r in d["rows"])'
json 'not any("perhaps faster" in n for n in d["notes"]) and any("--per-host COUNT" in n for n in d["notes"])'
q 0 $m --calibration two.json --values 1M --workers 4 --per-host 2 --exchange ring --scheme fp32 --format json
json 'all(abs(r["bw_up_bps"] / 80e6 - 1) < 1e-3 and abs(r["bw_down_bps"] / 240e6 - 1) < 1e-3 for r in d["rows"])'
json 'all(abs(r["intra_bw_bps"] / 16e9 - 1) < 1e-3 and abs(r["intra_latency_s"] - 1e-6) < 2e-8 for r in d["rows"])'
# --intra-bw replaces one of them; ranks of run and sim have the same links.
q 0 $m --calibration two.json --values 1M --workers 4 --per-host 2 --intra-bw nvlink4 --exchange ring --scheme fp32 --format json
json 'd["rows"][0]["intra_bw_bps"] == 3600e9'
for command in run sim; do
    q 0 $command -q --profile profile.json --calibration two.json --values 1M --workers 4 --per-host 2 --exchange ring --scheme fp32 --dry-run --format json
    json 'abs(d["rows"][0]["intra_bw_bps"] / 16e9 - 1) < 1e-3 and abs(d["rows"][0]["bw_down_bps"] / 240e6 - 1) < 1e-3'
done
# Two peers take no more than 20 MB/s to one: what it receives may be more. One tells nothing.
q 0 $c --peers 2 --format json
json 'any("receiving: perhaps faster, as 2 other hosts send no more" in n for n in d["notes"]) and not any("sending: perhaps" in n for n in d["notes"])'
q 0 $c --peers 1 --format json
json 'any("sending: perhaps faster, as 1 other host receives no more" in n for n in d["notes"])'
# Alike within 3%: one rate, the pair's.
down=1.01e7
q 0 $c --peers 2 --link-out alike.json
grep -q up_bps alike.json && fail 'directions that are alike stand apart'
unset down
# Ranks that fail leave no file.
cut=1
export cut
t 1 $c --link-out none.json
no_file none.json
unset cut
t 1 $c --link-out no/such/folder/link.json
err 'no/such/folder'
# Bad input.
t 2 calibrate --bw 0mbps
err "--bw: '0mbps' is not a rate above zero"
t 2 calibrate --bw 100M
err "write 100Mbit/s or 100MB/s (800 Mbit/s)"
t 2 calibrate --hosts a,b --bw 1gbps
err '--bw is of a lab on this machine'
t 2 calibrate --hosts a,b --hostfile c
err '--hostfile and --hosts exclude each other'
t 2 calibrate --mpirun mpirun
err 'on which hosts'
# Refused before mpirun is looked for.
t 1 calibrate --hosts a,b --mpirun ./nosuch --link-out nosuch/link.json
err 'nosuch/link.json: cannot be written'
t 2 calibrate --burst 0
err "--burst 0: a lab's links are shaped by buckets"
t 2 calibrate --hosts a,b --bw-down 1gbps
err '--bw-down is of a lab on this machine'
t 2 calibrate --peers 64
err '--peers: 64 is not between'
t 2 calibrate --repeats 0
err '--repeats: 0 is not between'
t 2 calibrate --name ''
err '--name: a text of 1 to 63 bytes'
unset COMMCOMP_RANK

# A real measurement, where this machine allows it.
if [ -n "$missing" ]; then
    echo "skipped: commcomp calibrate over a shaped link: $missing"
else
    q 0 calibrate -q --bw 1gbps --repeats 4 --link-out lab.json --format json
    json '0.75e9 < d["rows"][0]["bw_bps"] < 1.05e9 and d["rows"][0]["shaped_bps"] == 1e9'
    json '1e-6 < d["rows"][0]["latency_s"] < 5e-3 and 1e4 < d["rows"][0]["burst_bytes"] < 1e6'
    json 'd["rows"][0]["congestion"] == "reno" and len(d["host"]["mpi"]) > 3'
    q 0 calibrate -q --bw-up 50mbps --bw-down 200mbps --per-host 2 --repeats 4 --link-out two.json --format json
    json 'all(0.35 < r["bw_bps"] / r["shaped_bps"] < 1.05 for r in d["rows"] if r["shaped_bps"])'
    json '{r["traffic"]: r["shaped_bps"] for r in d["rows"]} == {"between hosts": 50e6, "inside a host": None, "sending": 50e6, "receiving": 200e6}'
    json 'all(r["bw_bps"] > 4e9 for r in d["rows"] if r["traffic"] == "inside a host")'
    q 0 $m --calibration lab.json --scheme int8 --format json
    json '0.75e9 < d["rows"][0]["bw_bps"] < 1.05e9 and d["rows"][0]["link"] == "lab"'
fi

finish
