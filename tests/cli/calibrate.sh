#!/bin/sh
# `commcomp calibrate`: measurements, files and refusals.
. "$(dirname "$0")/lib.sh"

make_profile
m="model -q --profile profile.json"
missing=$(why_no_lab)
cat >ranks.py <<'END'
import json, os, sys
job = json.load(sys.stdin)
assert job["kind"] == "pingpong" and job["workers"] == 2
burst, rate, latency = float(os.environ.get("burst", 0)), 1e7, 20e-6
print(json.dumps({"report": "hello", "text": "a link by hand"}))
tokens, at, now, count = [burst, burst], [0, 0], 0, 0
for size in job["sizes"]:
    seconds = []
    for _ in range(job["repeats"]):
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
c="calibrate -q --hosts a,b --mpirun $dir/fake_mpirun"

q 0 $c --link-out found.json --format json
json 'all(abs(r["bw_bps"] - 80e6) < 1e3 and abs(r["latency_s"] - 20e-6) < 3e-6 for r in d["rows"])'
json 'd["rows"][0]["burst_bytes"] == 0 and d["rows"][0]["shaped_bps"] is None'
json 'd["rows"][0]["message_bytes"] == 1 and sum(r["counted"] for r in d["rows"]) >= 8 and not d["rows"][0]["counted"]'
json 'all(abs(r["model_error"]) < 5e-3 and r["samples"] == 20 for r in d["rows"] if r["counted"])'
json 'all(1e-12 < r["reduce_byte_s"] < 1e-7 for r in d["rows"]) and d["host"]["mpi"] == "a link by hand"'
json 'any("none found" in n for n in d["notes"])'
json 'all(r["message_s"] == 4e-6 for r in d["rows"]) and any("sending: 4 us" in n for n in d["notes"])'
# The model takes the file: 4 workers' million bytes at 10 MB/s, and back.
q 0 $m --calibration found.json --values 1M --workers 4 --scheme int8 --format json
json 'abs(d["rows"][0]["comm_s"] - 0.8) < 1e-3 and d["rows"][0]["link"] == "cluster"'
# A server sends to 1,000 workers, one after the other; an option replaces the file's time.
q 0 $m --calibration found.json --values 10 --workers 1000 --scheme int8 --format json
json 'd["rows"][0]["comm_s"] >= 999 * 4e-6'
q 0 $m --calibration found.json --values 10 --workers 1000 --scheme int8 --message-cost 0s --format json
json 'd["rows"][0]["comm_s"] < 999 * 4e-6'
# The bucket is measured, or given by an option.
burst=20000
export burst
q 0 $c --link-out found.json --name shaped --format json
json 'abs(d["rows"][0]["bw_bps"] - 80e6) < 1e4 and abs(d["rows"][0]["burst_bytes"] - 20000) < 500'
json 'any("20" in n and "bytes pass at once" in n for n in d["notes"])'
q 0 $m --calibration found.json --values 1M --workers 4 --scheme int8 --format json
json 'abs(d["rows"][0]["burst_bytes"] - 20000) < 500 and d["rows"][0]["link"] == "shaped"'
q 0 $c --burst 20000 --repeats 8 --format json
json 'd["rows"][0]["burst_bytes"] == 20000 and d["rows"][0]["samples"] == 8'
json 'abs(d["rows"][0]["latency_large_s"] - 20e-6) < 3e-6'
q 0 $c
out 'bandwidth: 80 Mbit/s +- .*% of payload'
out 'latency: .* us, the median of messages of up to 64 bytes'
# Ranks that fail leave no file.
cut=1
export cut
t 1 $c --link-out none.json
no_file none.json
unset cut burst
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
    q 0 $m --calibration lab.json --scheme int8 --format json
    json '0.75e9 < d["rows"][0]["bw_bps"] < 1.05e9 and d["rows"][0]["link"] == "lab"'
fi

finish
