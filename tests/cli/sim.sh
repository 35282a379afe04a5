#!/bin/sh
# `commcomp sim`: plans, refusals and simulations.
. "$(dirname "$0")/lib.sh"

make_run_profile
q 0 trace synth gradients --net resnet20 --steps 2 --ranks 2
sed 's/\("fp32", "points": .*"encode_ns": \)0, "decode_ns": 0, "decode_add_ns": 0/\10.5, "decode_ns": 0.25, "decode_add_ns": 0.75/
    s/^{"scheme": "3lc:s=1.5", .*/&\
{"scheme": "3lc:zre=0", "points": [{"values": 1000, '"$point"'}]},\
{"scheme": "qsgd:code=elias", "points": [{"values": 1000, '"$point"'}]},\
{"scheme": "ternary:ef=1,zre=1", "points": [{"values": 1000, '"$point"'}]},\
{"scheme": "local:every=3,inner=3lc", "points": [{"values": 1000, '"$point"'}]},/' profile.json >sim.json
sed 's/code_ns": [0-9.]*/code_ns": 0/g; s/decode_add_ns": [0-9.]*/decode_add_ns": 0/g' sim.json >nothing.json
s="sim -q --profile sim.json"

# --- refusals ---
t 2 $s --exchange ps,ssar-split
err 'ssar-split merges index-value pairs, and'
# Before any gradient is made, with the memory that it would take.
t 1 $s --exchange ssar-recdouble --scheme topk --values 100M --workers 4096 --data on
err '4096 simulated ranks in one process, each with its gradients: 6554.3 GB of memory are needed'
err 'Less is needed with --data off, or with fewer workers'
t 1 $s --exchange ssar-split --scheme topk --values 100M --workers 65536
err '65536 simulated ranks in one process: 4304.8 GB of memory are needed'
t 2 $s --errors --data off
err '--errors needs the gradients themselves: --data on'
t 2 $s --errors --mode overlap
err '--errors are measured between steps: with --mode sequential only'
t 2 $s --consistency async --mode pipe
err 'in --mode pipe all workers are in the same step'
t 2 $s --consistency async --errors
err '--errors are measured between steps that all workers end together'
t 2 $s --consistency stale --communicate bound --data off
err '--communicate decides by the gradients themselves: --data on'
t 2 $s --consistency stale --communicate bound --scheme local
err '--communicate: local chooses its steps itself'
t 2 $s --consistency stale --mode overlap --pulls forward
err '--pulls forward orders the pulls of a step'
t 2 sim --paper thesis-5.4 --scheme fp32
err '--paper thesis-5.4 and --scheme exclude each other'
t 2 sim --paper thesis-5.5 --workers 3
err '--paper thesis-5.5 and --workers exclude each other: the figure fixes all but'
t 2 sim --paper thesis-5.1 --net resnet50
err '--net resnet50: --paper thesis-5.1 has resnet110, inception-v4'
t 2 $s --mode pipe --depth 3
err 'a run has two steps under way: --depth 2'
t 2 $s --burst 5K
err '--burst is of links that are shaped with token buckets'
# A figure is taken as it is, but for its size and the network.
p="$s --paper sparcml-figure4"
for words in scheme:topk exchange:ring net:resnet20 min-size:10K raw-share:0.5 burst:10K depth:3 \
    staleness:3 hidden:0.5 forward:0.5 pulls:forward servers:2 keep:1% colocate errors \
    codec-time:measured calibration:x.json indices:clustered synthetic:laplace batch:3 spread:0.3 \
    placement:lpt via:hops remeasure pull-profile:x.json; do
    t 2 $p --$(echo $words | tr : ' ')
    err "--paper sparcml-figure4 and --${words%%:*} exclude each other: "
done
err 'the figure fixes all but its size (--values, --nonzeros, --workers), links'
for words in dry-run timeline:x.json paje:x.trace write-platform:x.xml; do
    t 2 $p --$(echo $words | tr : ' ')
    err "--paper sparcml-figure4 and --${words%%:*} exclude each other: the figure has a simulation for each density, and this is of a single one"
done
t 2 $p --platform x.xml
err '--bw, --latency: with --platform they only describe the links to the formulas: one of each'
t 2 $s --fidelity alpha_beta
err "did you mean 'alpha-beta'?"
t 2 $s --topology fat-treee
err "did you mean 'fat-tree'?"
for words in 'rack 4:fat-tree' 'oversubscription 2:fat-tree' 'torus 4x4:torus'; do
    t 2 $s --${words%:*}
    err "--${words%% *} is of --topology ${words#*:}"
done
for words in 'sites 3' 'wan-bw 10mbps' 'wan-latency 10ms'; do
    t 2 $s --topology torus --$words
    err "--${words% *} is of --topology sites"
done
t 2 $s --wan-bw 10mbps
err '--wan-bw is of links between sites: give --sites'
for torus in 4 4x x4 4x4x4x4 4x4y 0x10000000 0x0 0x0x0 4x0 4x4x0; do
    t 2 $s --topology torus --torus $torus
    err "--torus $torus: hosts in each of two or three dimensions"
done
for slow in 3 3: :10mbps 3x10mbps; do
    t 2 $s --slow-links $slow
    err '--slow-links'
done
t 2 $s --slow-links 3:10
err '--slow-links: '
t 2 $s --slow-hosts 3:0
err "--slow-hosts: '0' is not a factor above 0"
t 2 $s --data off --codec-time measured
err '--codec-time measured needs codecs that run: --data on'
t 2 $s --exchange mpi --data off
err 'needs the bytes themselves: --data on'
for mode in overlap pipe; do
    t 2 $s --exchange ring,mpi --mode $mode --dry-run
    err "--exchange mpi: SimGrid's MPI has no allreduce of its own"
done
t 2 $s --dry-run --paje x.paje
err '--paje: in a dry run nothing happens'
no_file x.paje
for with in '--topology torus' '--sites 2' '--slow-hosts 1:2' '--write-platform y.xml'; do
    t 2 $s --platform x.xml $with
    err "--platform and ${with%% *} exclude each other"
done
t 2 $s --platform x.xml --latency 1ms
err 'and needs --bw beside it'
t 2 $s --platform x.xml --bw 1gbps,10gbps
err 'one of each'
t 2 $s --workers 2,4 --write-platform x.xml
err '--write-platform is of one setting, and the lists of the options make 2'
no_file x.xml
# Also of the last of several settings, and before any codec is measured.
u='sim --remeasure --scheme fp32'
t 2 $u --workers 2,8 --topology torus --torus 2x2
err '--torus 2x2 has room for 4 hosts'
t 2 $u --workers 5,2 --slow-links 3:10mbps
err '--slow-links 3: there are 2 workers'
t 2 $u --slow-hosts 2:0.5
err '--slow-hosts: 0.5 times as long'
t 2 $u --workers 40 --topology fat-tree --oversubscription 0.5
err '--oversubscription 0.5: at least 1'
t 2 $u --exchange ps --topology fat-tree --oversubscription 8
err 'one rack of 16 holds all 11 hosts, and nothing passes its uplink: give a smaller --rack'
t 2 $u --topology sites --sites 1
err '--sites 1: nothing passes a WAN'
# Files that cannot be written.
t 1 $u --workers 2 --timeline no/such/t.json
err 'no/such/t.json'
if grep -q measuring err; then bad 'measures first'; fi
t 1 $u --workers 2 -o no/such/t.csv
err 'no/such/t.csv'
if grep -q measuring err; then bad 'measures first'; fi

# --- the plan, which needs no SimGrid ---
q 0 $s --dry-run --values 1M --bw 8mbps --overhead none --workers 4,5000 --scheme int8,fp32 --exchange ps --format json
json '[(r["scheme"], r["workers"], r["data_moved"]) for r in d["rows"]] == [("fp32", 4, True), ("int8", 4, True), ("fp32", 5000, False), ("int8", 5000, False)]'
json 'all(r["fidelity"] == "alpha-beta" and r["topology"] == "switch" and r["platform"] is None and r["codec_time"] == "profile" for r in d["rows"])'
json 'abs(d["rows"][0]["step_s_forecast"] - 2 * (50e-6 + 16) - 4e-6 * 0.75e3 - 0.75e-3) < 1e-3'
json 'all(r["step_s"] is None and r["sim_wall_s"] > 0 and r["steps"] == 1 and r["warmup"] == 0 for r in d["rows"])'
json 'any("dry run: simulating 4 rows of up to 5001 ranks" in n for n in d["notes"])'
q 0 $s --dry-run --values 1000 --scheme fp32,local --mode overlap --format json
json '[(r["steps"], r["warmup"]) for r in d["rows"]] == [(1, 1), (2, 2)]'
q 0 $s --dry-run --values 1000 --scheme fp32 --compute 1ms --stragglers gamma --workers 2 --format json
json 'd["rows"][0]["steps"] == 10'
# Where sizes differ more steps count, in whole periods, and residuals fill first: for any codec times,
# with data and without.
for data in on off; do
    q 0 $s --dry-run --exchange ps --values 100K --scheme fp32,int8,3lc,qsgd:code=elias,ternary:ef=1,zre=1,local:every=3,inner=3lc \
        --data $data --format json
    json '[(r["scheme"][:5], r["warmup"], r["steps"]) for r in d["rows"]] == [("fp32", 0, 1), ("int8", 0, 1), ("3lc", 104, 40), ("qsgd:", 0, 40), ("terna", 104, 40), ("local", 105, 42)]'
done
sed 's/"encode_ns": 1/"encode_ns": 1000000/' sim.json >slow.json
cmp -s sim.json slow.json && bad 'slow.json is not slower'
q 0 sim -q --profile slow.json --dry-run --values 100K --scheme fp32,3lc --workers 1000 --exchange ps --format json
json '[r["warmup"] for r in d["rows"]] == [0, 104] and d["rows"][1]["sim_wall_s"] > 16 * 144 * 100'
q 0 $s --dry-run --workers 3 --scheme fp32 --values 1000 --write-platform three.xml --format json
grep -q '<platform' three.xml || bad 'three.xml is not a platform'

# --- simulated, where SimGrid is ---
missing=$(why_no_sim)
if [ -n "$missing" ]; then
    echo "skipped: commcomp sim: $missing"
else
    # Rows and keys; two pushes and two pulls of 4 MB at 8 Mbit/s, 4 s each.
    q 0 sim -q --profile nothing.json --values 1M --bw 8mbps --overhead none --workers 2 --scheme fp32,int8 --exchange ps --format json
    json '[r["scheme"] for r in d["rows"]] == ["fp32", "int8"] and "SMPI" in d["host"]["mpi"]'
    json 'abs(d["rows"][0]["step_s"] - 2 * (50e-6 + 8)) < 1e-3 and d["rows"][0]["speedup"] == 1'
    json '3.99 < d["rows"][1]["speedup"] < 4.01 and 3.99 < d["rows"][1]["ratio"] <= 4 and d["rows"][1]["bits_pull"] > 8'
    json 'all(abs(r["model_error"]) < 1e-4 and r["step_s_sd"] is None and r["scaling"] is None for r in d["rows"])'
    json 'all(r["sim_wall_s"] > 0 and 1e6 < r["sim_memory_bytes"] < 4e9 for r in d["rows"])'
    json 'abs(d["rows"][0]["wire_bytes"] - 8e6) < 100 and d["rows"][0]["messages"] == 2 and d["rows"][0]["codec_s"] == 0'
    # A server sends to 32 workers one after the other, 40 us each; the link carries a message in 5.
    q 0 $s --values 16K --bw 100gbps --workers 32 --scheme fp32 --message-cost 40us --exchange ps --format json
    json 'abs(d["rows"][0]["model_error"]) < 0.03 and 2 * 50e-6 + 31 * 40e-6 < d["rows"][0]["comm_s"] < 2 * 50e-6 + 31 * 40e-6 + 3e-4'
    json 'abs(d["rows"][0]["model_error"] - (1 - d["rows"][0]["step_s_model"] / d["rows"][0]["step_s"])) < 1e-12 and d["rows"][0]["model_error"] > 1e-3'
    # In an overlapped ring of many small messages, all of which are ready, each costs its sender that time: two for
    # each of ResNet-20's 59 tensors. The exchange in turn has it in its latencies.
    q 0 sim -q --profile nothing.json --net resnet20 --exchange ring --mode overlap --workers 2 --bw 10gbps --compute 0s --scheme fp32 --message-cost 40us --system ps --format json
    json 'abs(d["rows"][0]["model_error"]) < 0.1 and d["rows"][0]["messages"] * 40e-6 <= d["rows"][0]["step_s_model"] < d["rows"][0]["messages"] * 40e-6 + 0.4e-3'
    # A message's cost is that of one message, however many there are in seven steps.
    q 0 sim -q --profile nothing.json --values 16K --bw 1gbps --compute 10ms --workers 3 --steps 7 --warmup 1 --message-cost 100us --scheme fp32 --format json
    json 'abs(d["rows"][0]["message_s"] - 100e-6) < 1e-6'
    # Worker 0 takes 30 ms, the two others 10 ms: with no staleness their pulls are held for the 20 ms, two thirds of all.
    q 0 sim -q --profile nothing.json --values 16K --bw 1gbps --compute 10ms --workers 3 --steps 12 --warmup 1 --consistency stale --staleness 0 --slow-hosts 1:3 --scheme fp32 --format json
    json '0.011 < d["rows"][0]["bound_wait_s"] < 0.015 and 0.03 < d["rows"][0]["step_s"] < 0.035'
    # The codecs take the profile's time: three floats' worth of ns at the server for each worker.
    q 0 $s --values 1M --bw 100gbps --workers 2 --scheme int8 --compute 10ms --exchange ps --format json
    json 'abs(d["rows"][0]["encode_s"] - 1e-3) < 1e-9 and abs(d["rows"][0]["server_codec_s"] - 7e-3) < 1e-9 and abs(d["rows"][0]["decode_s"] - 2e-3) < 1e-9'
    json 'abs(d["rows"][0]["compute_s"] - 10e-3) < 1e-9 and abs(d["rows"][0]["scaling"] - 2 * 10e-3 / d["rows"][0]["step_s"]) < 1e-9'
    json 'd["rows"][0]["speedup"] is None'
    # A second simulation gives the same, to the last digit.
    cp out once.json
    q 0 $s --values 1M --bw 100gbps --workers 2 --scheme int8 --compute 10ms --exchange ps --format json
    json 'd["rows"][0]["step_s"] == json.load(open("once.json"))["rows"][0]["step_s"]'
    # As measured: other times, the same bytes.
    q 0 $s --values 1M --bw 100gbps --workers 2 --scheme int8 --compute 10ms --exchange ps --codec-time measured --format json
    json 'd["rows"][0]["codec_time"] == "measured" and d["rows"][0]["steps"] == 3 and d["rows"][0]["codec_s"] > 0'
    json 'd["rows"][0]["codec_s"] != json.load(open("once.json"))["rows"][0]["codec_s"] and d["rows"][0]["payload_bytes"] == json.load(open("once.json"))["rows"][0]["payload_bytes"]'

    # The formulas are exact: 122,880 values can be cut into 2, 3, 8, 10 and 16 parts of whole blocks.
    exact="--exchange ps,ring,recdouble,rabenseifner,allgather --bw 10mbps,100gbps --format json"
    q 0 sim -q --profile nothing.json $exact --values 122880 --workers 2,3,8,10,16 --servers 1,3 --scheme fp32,int8,3lc:zre=0
    json 'len(d["rows"]) == 180 and max(abs(r["model_error"]) for r in d["rows"]) < 0.01'
    json 'not any("differ by more" in n for n in d["notes"])'
    # The network is busy for all of what it adds to sequential steps, and partly hidden in overlapped ones.
    q 0 sim -q --profile nothing.json --bw 10mbps --values 122880 --workers 4 --exchange ring,ps --scheme fp32,int8 --format json
    json 'all(abs(r["comm_busy_s"] / r["comm_s"] - 1) < 0.01 for r in d["rows"])'
    json 'all(abs(r["added_s"] - (r["step_s"] - r["compute_s"])) < 1e-12 for r in d["rows"])'
    q 0 sim -q --profile nothing.json --bw 100mbps --net resnet20 --workers 4 --exchange ring,ps --mode overlap --compute 5s --scheme fp32,int8 --format json
    json 'all(r["comm_s"] < 0.1 * r["comm_busy_s"] and 0.1 < r["comm_busy_s"] for r in d["rows"] if r["scheme"] == "fp32")'
    # The verdict rules schemes out as model's does, and says so.
    ruled='--net resnet20 --exchange ring --workers 9 --bw 100mbps --scheme fp32,int8,3lc --format json'
    q 0 $s $ruled --data off
    json 'any(n.startswith("ring, 9 workers: ruled out: 3lc (sum_error ") and n.endswith("; the limit of sum_error is 1, the error of sending nothing") for n in d["notes"])'
    json 'any("; int8, the fastest" in n or ": int8 is fastest" in n or ": int8 is the fastest admitted" in n for n in d["notes"])'
    json 'min(d["rows"], key=lambda r: r["step_s"])["scheme"] == "3lc"'
    cp out ruled.json
    q 0 model -q --profile sim.json $ruled
    json '[n for n in d["notes"] if "ruled out" in n] == [n for n in json.load(open("ruled.json"))["notes"] if "ruled out" in n]'
    json '[r["sum_error"] for r in d["rows"]] == [r["sum_error"] for r in json.load(open("ruled.json"))["rows"]]'
    # Servers on workers' hosts, and messages that share ports: tensors of many sizes.
    q 0 sim -q --profile nothing.json --bw 10mbps --values 122880 --workers 2,3,8 --servers 1,2 --colocate --scheme fp32,int8 --format json
    json 'len(d["rows"]) == 12 and max(abs(r["model_error"]) for r in d["rows"]) < 0.01'
    json 'all(r["colocated"] for r in d["rows"])'
    for more in "" "--colocate"; do
        q 0 sim -q --profile nothing.json --net resnet20 --mode overlap --bw 100mbps --workers 2,4 --servers 1,2 $more --scheme fp32,int8 --format json
        json 'len(d["rows"]) == 8 and max(abs(r["model_error"]) for r in d["rows"]) < 0.02'
        q 0 sim -q --profile nothing.json --net resnet20 --mode overlap --pulls forward --bw 100mbps --workers 2,4 --servers 1 $more --scheme fp32,int8 --format json
        json 'len(d["rows"]) == 4 and max(abs(r["model_error"]) for r in d["rows"]) < 0.02'
    done
    q 0 sim -q --profile nothing.json --net resnet20 --mode overlap --bw 100mbps --workers 2,4 --servers 2 --placement lpt --colocate --fidelity tc --scheme fp32,int8 --format json
    json 'len(d["rows"]) == 4 and max(abs(r["model_error"]) for r in d["rows"]) < 0.02'
    # Payloads of different sizes through a server's one port; few values.
    q 0 sim -q --profile nothing.json --exchange ps --bw 10mbps,100gbps --values 1000 --workers 2,3,8,10,16,100 --scheme fp32,int8,3lc --format json
    json 'len(d["rows"]) == 36 and max(abs(r["model_error"]) for r in d["rows"]) < 0.01'
    q 0 sim -q --profile nothing.json $exact --values 960 --workers 2,3,8,10,16 --scheme fp32
    json 'len(d["rows"]) == 50 and max(abs(r["model_error"]) for r in d["rows"]) < 0.01'
    # With codec times: where nothing but their own order hides them.
    q 0 $s $exact --values 122880 --workers 2,3,8,10,16 --scheme fp32
    json 'max(abs(r["model_error"]) for r in d["rows"]) < 0.01'
    q 0 $s --exchange ps,allgather --bw 10mbps,100gbps --values 122880 --workers 2,3,10 --scheme int8,3lc:zre=0 --format json
    json 'len(d["rows"]) == 24 and max(abs(r["model_error"]) for r in d["rows"]) < 0.01 and min(r["codec_s"] for r in d["rows"]) > 1e-4'
    # DDP's messages go in turn: each of 59 pays 2 (P - 1) latencies, which would overlap otherwise; also
    # where payloads are encoded on their way.
    q 0 sim -q --profile nothing.json --net resnet20 --workers 8 --bw 10gbps --scheme fp32 --system ddp --fuse 4 --data off --format json
    json 'abs(d["rows"][0]["model_error"]) < 0.01 and 59 * 14 * 50e-6 < d["rows"][0]["step_s"] < 59 * 14 * 50e-6 + 3e-3'
    q 0 sim -q --profile nothing.json --net resnet20 --workers 8 --bw 10gbps --scheme fp32,int8 --system ddp --exchange ring,twoshot --fuse 20K --data off --format json
    json 'len(d["rows"]) == 4 and max(abs(r["model_error"]) for r in d["rows"]) < 0.03'
    # Many workers, without data.
    q 0 sim -q --profile nothing.json --exchange ps,recdouble,rabenseifner,allgather --values 65536 --bw 1gbps --workers 100,128 --servers 4 --scheme fp32 --format json
    json 'len(d["rows"]) == 8 and max(abs(r["model_error"]) for r in d["rows"]) < 0.01 and not any(r["data_moved"] for r in d["rows"])'

    # Data or none, the same times and bytes.
    for data in on off; do
        q 0 $s --net resnet20 --workers 3 --exchange ps,ring,allgather --scheme fp32,int8,dgc --bw 100mbps --data $data --warmup 2 --steps 2 --format json
        cp out data-$data.json
    done
    json 'all(not r["data_moved"] and r["warmup"] == 2 and r["steps"] == 2 for r in d["rows"])'
    json 'all(abs(r["step_s"] / o["step_s"] - 1) < 1e-9 and r["payload_bytes"] == o["payload_bytes"] and r["messages"] == o["messages"] for r, o in zip(d["rows"], json.load(open("data-on.json"))["rows"]) if r["exchange"] != "ring")'
    # Sums on their way are estimated.
    json 'all(abs(r["step_s"] / o["step_s"] - 1) < 0.02 for r, o in zip(d["rows"], json.load(open("data-on.json"))["rows"]))'
    # Merged pairs: without data their number is a mean over the workers, which with data send unlike
    # numbers; beyond 16 workers it follows from what was counted.
    for data in on off; do
        for workers in 5 20; do
            q 0 $s --mode sequential --values 100K --workers $workers --exchange ssar-recdouble,ssar-split,ssar-rabenseifner,dsar-split \
                --scheme fp32,topk,sparse --bw 1gbps --data $data --format json
            cp out $workers-$data.json
            q 0 $s --values 100K --workers $workers --exchange dsar-split --mode sequential --dense-bits 4 --scheme topk --bw 1gbps --data $data --format json
            cp out bits-$workers-$data.json
        done
    done
    for workers in 5 20; do
        cp $workers-off.json out
        json '[(r["warmup"], r["steps"]) for r in d["rows"]][:2] == [(0, 1), (6, 6)] and not any(r["data_moved"] for r in d["rows"])'
        json 'all(abs(r["step_s"] / o["step_s"] - 1) < 0.08 and abs(r["wire_bytes"] / o["wire_bytes"] - 1) < 0.08 and r["messages"] == o["messages"] and r["payload_bytes"] == o["payload_bytes"] for r, o in zip(d["rows"], json.load(open("'$workers'-on.json"))["rows"]))'
        cp bits-$workers-off.json out
        json 'all(abs(r["wire_bytes"] / o["wire_bytes"] - 1) < 0.005 for r, o in zip(d["rows"], json.load(open("bits-'$workers'-on.json"))["rows"]))'
    done
    # The applied updates against the gradients: floats but for rounding; with one worker, bench's
    # error of the sums over a pass.
    q 0 trace synth six --net resnet20 --steps 6
    q 0 bench -q --trace six --scheme topk,int8 --passes 1 --format json
    cp out passes.json
    q 0 sim -q --errors --trace six --workers 1 --exchange ring --bw 1gbps --scheme fp32,topk,int8 --warmup 0 --steps 6 --format json
    json 'd["rows"][0]["applied_error"] < 1e-12 and all(abs(r["applied_error"] / o["nmse_cumulative"] - 1) < 1e-4 for r, o in zip(d["rows"][1:], json.load(open("passes.json"))["rows"]))'
    # The last three steps alone, and six steps after three others.
    q 0 sim -q --errors --trace six --workers 1 --exchange ring --bw 1gbps --scheme topk --warmup 3 --steps 3 --format json
    cp out last.json
    q 0 sim -q --errors --trace six --workers 1 --exchange ring --bw 1gbps --scheme topk --warmup 0 --steps 6 --format json
    json 'abs(d["rows"][0]["applied_error_settled"] / json.load(open("last.json"))["rows"][0]["applied_error"] - 1) < 1e-9'
    # Workers that need not be in the same step. Without a bound P - 1 updates by others come between
    # a pull and a push, with and without data; with one, a worker sometimes waits.
    for workers in 4 8; do
        q 0 $s --values 1000 --workers $workers --scheme fp32 --bw 100gbps --compute 10ms --stragglers gamma \
            --spread 1 --consistency async --steps 100 --data off --format json
        json 'all(abs(r["staleness_mean"] / ('$workers' - 1) - 1) < 0.1 and r["bound_wait_s"] is None and sum(map(int, r["staleness_counts"].split(", "))) == 100 * '$workers' for r in d["rows"])'
    done
    # A ring whose late workers have several rounds ready sends them in order; at once, steps take 1.6
    # times as long. Chunks of hosts of two are as the formula follows them.
    q 0 $s --values 1M --workers 4 --exchange ring --scheme fp32 --bw 1gbps --data off --compute 20ms \
        --stragglers lognormal --spread 0.3 --steps 8 --format json
    json 'abs(d["rows"][0]["step_s"] / d["rows"][0]["step_s_forecast"] - 1) < 0.06'
    q 0 $s --values 1M --workers 8 --per-host 2 --exchange hierarchical --chunks 4 --scheme fp32 --bw 25gbps \
        --data off --format json
    json 'all(r["chunks"] == 4 and abs(r["step_s"] / r["step_s_forecast"] - 1) < 0.03 for r in d["rows"])'
    q 0 $s --values 1000 --workers 4 --servers 2 --placement lpt --mode overlap --scheme fp32,topk --bw 1gbps \
        --compute 10ms --stragglers gamma --spread 1 --consistency stale --staleness 1 --steps 40 --format json
    json 'all(r["staleness_mean"] < 3 and r["bound_wait_s"] > 0 and r["updates_per_s"] > 0 and r["step_s_model"] is None for r in d["rows"])'
    # The thesis' machines, with links that take no time: a speedup of the number of machines.
    q 0 $s --paper thesis-5.1 --net resnet110 --steps 1 --bw 1000gbps --latency 0 --format json
    json '[r["optimization"] for r in d["rows"]] == ["uniform split", "round-robin", "heuristic"]'
    json 'all(abs(r["speedup_machine"] - 4) < 0.01 and r["workers"] == r["servers"] == 4 and abs(r["compute_s"] * 13.5 - 1) < 1e-6 for r in d["rows"])'
    # A quantized second stage is as long as it can be, also without data: to the byte.
    for data in on off; do
        q 0 $s --values 16Ki --workers 4 --exchange dsar-split --dense-bits 4 --scheme topk --bw 1gbps --data $data --warmup 1 --steps 2 --format json
        cp out quantized-$data.json
    done
    json 'd["rows"][0]["wire_bytes"] == json.load(open("quantized-on.json"))["rows"][0]["wire_bytes"]'
    # Sums that do not keep everything: without data as many as are wanted, with data on average;
    # the formula's bytes of the busiest rank.
    for data in on off; do
        q 0 $s --values 200K --workers 6 --keep 1% --exchange ssar-recdouble,ssar-split,ssar-rabenseifner,dsar-split,ssar-auto \
            --scheme fp32,topk,sparse --bw 1gbps --data $data --warmup 8 --steps 24 --format json
        json 'all(r["kept_values"] is None if r["scheme"] == "fp32" else abs(r["kept_values"] / 2000 - 1) < 0.1 for r in d["rows"])'
        cp out keep-$data.json
    done
    q 0 model -q --values 200K --workers 6 --keep 1% --exchange ssar-recdouble,ssar-split,ssar-rabenseifner,dsar-split,ssar-auto \
        --scheme fp32,topk,sparse --bw 1gbps --format json
    json 'all(abs(r["wire_bytes"] / o["wire_bytes"] - 1) < 0.1 for r, o in zip(d["rows"], json.load(open("keep-on.json"))["rows"]))'
    json 'all(abs(r["wire_bytes"] / o["wire_bytes"] - 1) < 0.06 for r, o in zip(d["rows"], json.load(open("keep-off.json"))["rows"]))'
    # SparCML's Figure 4, small: the dense allreduce and, by density, three exchanges on two links.
    # The dense times are the formulas'; those of pairs depend on the profile's sizes, which are made up here.
    q 0 $s --paper sparcml-figure4 --values 64Ki --workers 2,4 --nonzeros 0.5%,10% --format json
    json '[(r["exchange"], r["scheme"], r["nonzeros"]) for r in d["rows"]][::4] == [("rabenseifner", "fp32", None)] + [(x, "pairs", k) for k in (0.005, 0.1) for x in ("ssar-recdouble", "ssar-split", "dsar-split")]'
    json 'all(abs(r["call_s"] / r["call_s_model"] - 1) < 0.01 for r in d["rows"] if r["scheme"] == "fp32")'
    json 'all(r["call_s"] < r["call_s_paper"] for r in d["rows"] if r["exchange"] == "ssar-split" and r["bw_bps"] == 1e9)'
    json 'any(n.startswith("1 Gbit/s, 4 workers: ssar-split is faster than dsar-split everywhere as simulated, ") for n in d["notes"])'
    # By hand: split among 4 on Gigabit Ethernet, (P - 1) alpha + lg P alpha, and 8 bytes for each of
    # k 3/4 pairs and of 3/4 of the union of 4.
    json 'all(abs(r["call_s_paper"] / (5 * 50e-6 + 0.75 * 65536 * 64e-9 * (0.005 + 1 - 0.995 ** 4)) - 1) < 1e-9 for r in d["rows"] if (r["exchange"], r["workers"], r["bw_bps"], r["nonzeros"]) == ("ssar-split", 4, 1e9, 0.005))'
    # A density given twice is simulated once; those that no value of 1000 has, and 0, are left out.
    q 0 $s --paper sparcml-figure4 --values 1000 --workers 2 --bw 1gbps --nonzeros 1%,0.1,0,1% --seed 2 --wire pairs --format json
    json '[(r["exchange"], r["nonzeros"]) for r in d["rows"]] == [("rabenseifner", None)] + [(x, k) for k in (0.01, 0.1) for x in ("ssar-recdouble", "ssar-split", "dsar-split")]'
    q 0 $s --paper sparcml-figure4 --values 1000 --workers 2 --bw 1gbps --format json
    json 'sorted({r["nonzeros"] for r in d["rows"][1:]}) == [0.001, 0.01, 0.05, 0.1, 0.2]'
    json '"densities of less than one of 1000 values are left out" in d["notes"]'
    q 0 $s --paper sparcml-figure4 --values 1000 --workers 2 --bw 1gbps --nonzeros 10%
    out '^SparCML, Figure 4: '
    if grep -q '^system: ' out; then bad 'no training system is simulated'; fi
    # The options that it leaves open.
    for words in '--topology torus --torus 1x2' '--slow-links 1:10mbps' '--latency 1ms' '--dense-bits 4' \
        '--overhead ethernet' '--fidelity tc'; do
        q 0 $s --paper sparcml-figure4 --values 1000 --workers 2 --bw 1gbps --nonzeros 10% $words --columns exchange --format csv
    done
    # Residuals that filled where the sizes come from are those that filled in the simulation.
    for data in on off; do
        q 0 $s --exchange ps --net resnet20 --workers 3 --scheme fp32,3lc,threshold --bw 100mbps --data $data --format json
        json '[(r["warmup"], r["steps"]) for r in d["rows"]] == [(0, 1), (104, 40), (104, 40)]'
        json 'd["rows"][1]["step_s_sd"] > 0'
        cp out data-$data.json
        q 0 $s --exchange ps --values 20K --workers 2 --scheme 3lc:s=1.75 --bw 100mbps --data $data --warmup 200 --steps 2 --format json
        cp out long-$data.json
        q 0 $s --exchange ps --values 20K --workers 2 --scheme 3lc:s=1.75 --bw 100mbps --data $data --warmup 200 --steps 3 --compute 1ms --stragglers gamma --format json
        cp out stragglers-$data.json
    done
    for name in data long stragglers; do
        cp $name-off.json out
        json 'all(abs(r["step_s"] / o["step_s"] - 1) < 1e-9 and r["payload_bytes"] == o["payload_bytes"] for r, o in zip(d["rows"], json.load(open("'$name'-on.json"))["rows"]))'
    done

    t 1 $s --platform missing.xml --dry-run
    err 'missing.xml'
    echo 'nothing of the kind' >x.xml
    t 1 $s --platform x.xml --dry-run
    err 'x.xml'
    # Without --bw the rate of the file's links is unknown.
    q 0 $s --dry-run --platform three.xml --workers 3 --scheme fp32 --values 1000 --format json
    json 'd["rows"][0]["platform"] == "three.xml" and d["rows"][0]["topology"] is None'
    json 'all(d["rows"][0][key] is None for key in ("bw_bps", "latency_s", "step_s_model", "step_s_forecast"))'
    t 1 $s --dry-run --platform three.xml --workers 4 --scheme fp32 --values 1000
    err 'three.xml'
    # A platform that was written gives the same numbers when it is read; without --bw no formula.
    q 0 $s --values 100K --workers 4 --bw 100mbps --scheme fp32,int8 --exchange ps --slow-links 1:10mbps --write-platform four.xml --format json
    json 'all(r["model_error"] > 0.05 for r in d["rows"]) and any("slow links hold up the others" in n for n in d["notes"])'
    cp out four.json
    q 0 $s --values 100K --workers 4 --bw 100mbps --scheme fp32,int8 --platform four.xml --exchange ps --format json
    json 'all(r["step_s"] == o["step_s"] and r["step_s_model"] == o["step_s_model"] and r["platform"] == "four.xml" for r, o in zip(d["rows"], json.load(open("four.json"))["rows"]))'
    q 0 $s --values 100K --workers 4 --scheme fp32 --platform four.xml --exchange ps --format json
    json 'd["rows"][0]["step_s"] == json.load(open("four.json"))["rows"][0]["step_s"] and d["rows"][0]["step_s_model"] is None and d["rows"][0]["bottleneck"] is None'

    # Topologies and fidelities. Four workers in racks of two: racks share their uplink.
    q 0 $s --values 100K --exchange ring --workers 4 --bw 100mbps --scheme fp32 --topology fat-tree --rack 2 --oversubscription 8 --format json
    json 'd["rows"][0]["topology"] == "fat-tree" and d["rows"][0]["model_error"] > 0.5'
    q 0 $s --values 1000 --exchange ring --workers 4 --bw 100mbps --scheme fp32 --topology sites --wan-latency 40ms --format json
    json '0.12 < d["rows"][0]["step_s"] < 0.13 and abs(d["rows"][0]["model_error"]) < 0.01'
    # Two hosts of four workers: a message crosses a host's link for each of the four, in one round of three.
    q 0 $s --values 100K --exchange recdouble --workers 8 --per-host 4 --bw 100mbps --scheme fp32 --codec-time none --format json
    json 'abs(d["rows"][0]["model_error"]) < 1e-4 and abs(d["rows"][0]["step_s"] - 4 * 4e5 * 8 * 1514 / 1448 / 1e8) < 5e-4'
    json 'd["rows"][0]["bytes_intra"] == 2 * 4 * 4e5 and abs(d["rows"][0]["bytes_inter"] - 4 * 4e5 * 1514 / 1448) < 2'
    q 0 $s --values 100K --exchange ps --workers 8 --per-host 4 --bw-up 50mbps --bw-down 200mbps --scheme fp32 --format json
    json 'abs(d["rows"][0]["model_error"]) < 1e-3 and abs(d["rows"][0]["step_s"] - (4 * 4 + 8 * 4) * 4e5 * 8 * 1514 / 1448 / 2e8) < 1e-3'
    # Two sites of two hosts of two: links of three classes.
    q 0 $s --values 100K --exchange ring,twoshot,hierarchical,tree,allgather,recdouble,ps --mode sequential --chunks 1 --workers 8 --per-host 2 --sites 2 --bw 100mbps --wan-bw 50mbps --wan-latency 5ms --scheme fp32,int8 --codec-time none --format json
    json 'len(d["rows"]) == 14 and all(abs(r["model_error"]) < 0.03 and r["sites"] == 2 and r["per_host"] == 2 for r in d["rows"])'
    json 'abs(d["rows"][2]["step_s"] - 2 * (16 * 5e4 * 8 * 1514 / 1448 / 5e7 + 5e-3)) < 1e-3'
    # Round a ring the WAN is busy all the time, also with chunks of megabytes: each crosses while the next is sent.
    q 0 $s --values 8M --exchange ring --mode sequential --workers 4 --sites 2 --bw 10gbps --wan-bw 100mbps --wan-latency 40ms --overhead none --scheme fp32 --data off --format json
    json 'abs(d["rows"][0]["model_error"]) < 0.01 and 6 * 8e6 / 1e8 * 8 < d["rows"][0]["step_s"] < 6 * 8e6 / 1e8 * 8 + 4 * 0.05'
    t 2 $s --workers 8 --per-host 4 --topology torus
    err 'such hosts are on one switch or on those of sites'
    t 2 $s --workers 8 --per-host 4 --sites 3
    err 'each needs a host, and there are 2'
    q 0 $s --values 100K --exchange ring --workers 4 --bw 100mbps --scheme fp32 --topology torus --format json
    json 'd["rows"][0]["topology"] == "torus" and d["rows"][0]["step_s"] > 0.01'
    q 0 $s --values 1000 --workers 1 --scheme fp32 --topology torus --exchange ps --format json
    json 'd["rows"][0]["topology"] == "torus" and d["rows"][0]["step_s"] > 0'
    # A fast host that stays idle slows down no rank.
    cat >idle.xml <<'END'
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="all" routing="Full">
  <host id="a" speed="1Gf"/><host id="b" speed="500Mf"/><host id="c" speed="10Gf"/>
  <link id="cable" bandwidth="1Gbps" latency="1us"/>
  <route src="a" dst="b"><link_ctn id="cable"/></route>
  <route src="a" dst="c"><link_ctn id="cable"/></route>
  <route src="b" dst="c"><link_ctn id="cable"/></route>
</zone></platform>
END
    for row in '1:0.1' '2:0.2' '3:2'; do
        q 0 $s --values 1000 --exchange ring --workers ${row%:*} --compute 100ms --scheme fp32 --platform idle.xml --format json
        json 'abs(d["rows"][0]["compute_s"] - '${row#*:}') < 1e-6'
    done
    q 0 $s --values 100K --workers 2 --slow-hosts 1:3 --compute 100ms --scheme fp32 --format json
    json 'd["rows"][0]["step_s"] > 0.3 and abs(d["rows"][0]["compute_s"] - 0.3) < 1e-9 and d["rows"][0]["step_s_model"] < 0.2'
    for fidelity in tc tcp; do
        q 0 $s --values 100K --exchange ps --workers 4 --bw 100mbps --scheme fp32 --fidelity $fidelity --format json
        json 'd["rows"][0]["fidelity"] == "'$fidelity'" and -0.05 < d["rows"][0]["model_error"] < 0.1'
    done
    # Overlap, pipes, stragglers, local steps, the library's own exchange.
    for more in '--mode overlap' '--mode pipe' '--stragglers gamma' '--exchange mpi' '--hidden 0.5'; do
        q 0 $s --net resnet20 --workers 3 --bw 100mbps --compute 100ms --scheme fp32,local $more --format json
        json 'len(d["rows"]) == 2 and all(0.1 < r["step_s"] < 1 for r in d["rows"]) and d["rows"][1]["speedup"] > 1'
    done
    q 0 $s --trace gradients --workers 2 --scheme fp32,int8 --format json
    json 'd["rows"][0]["net"] == "gradients" and any(n.startswith("gradients: gradients, ") for n in d["notes"])'

    # Missing parts.
    t 1 $s --values 1000 --workers 2 --scheme fp32 --smpirun "$dir/no_smpirun"
    err 'no_smpirun could not be started'
    COMMCOMP_RANK_SIM=$dir/no_rank
    export COMMCOMP_RANK_SIM
    t 1 $s --values 1000 --workers 2 --scheme fp32
    err 'no_rank'
    unset COMMCOMP_RANK_SIM
    # Interrupted: two workers are there, two thousand in a ring are not.
    end_case
    case='sim, interrupted' good=1
    timeout --foreground -s INT 6 "$program" $s --workers 2,2000 --values 1M --exchange ring --full 0 --scheme fp32 --format json \
        >out 2>err </dev/null
    json 'd["partial"] and [r["workers"] for r in d["rows"]] == [2] and d["rows"][0]["step_s"] > 0'
    err 'interrupted'
    document out
    end_case
    # While payload sizes are encoded.
    case='sim, interrupted before the simulation' good=1
    began=$(date +%s)
    timeout --foreground -s INT 3 "$program" $s --values 20M --workers 16 --data off --scheme 3lc --format json >out 2>err </dev/null
    [ $(($(date +%s) - began)) -lt 10 ] || bad 'it took too long to stop'
    json 'd["partial"] and d["rows"] == []'
    err 'interrupted'
    document out
fi

# Steps too large for memory, whose payloads are those of a part, and messages larger than MPI counts: a whole net
# to one server, of which int8 has 6.7 GB; 70 billion values in one tensor.
huge='--mode sequential --workers 2 --data off --bw 10gbps --overhead none --format json'
t 0 sim --net llama2-7b --exchange ps --scheme fp32,int8,3lc $huge
json 'all(abs(r["model_error"]) < (0.05 if r["scheme"] == "3lc" else 1e-4) for r in d["rows"])'
json 'abs(d["rows"][0]["wire_bytes"] / (2 * 4 * 6738415616) - 1) < 1e-6'
json 'any("payload sizes that depend on values are those of about 1048576 of 6738415616 values" in n for n in d["notes"])'
t 0 sim --values 70G --exchange ring --scheme fp32,3lc $huge
json 'abs((d["rows"][0]["comm_s"] - d["rows"][0]["reduce_s"]) / (4 * 70e9 / 1.25e9) - 1) < 1e-4 and 0.1 < d["rows"][1]["bits_per_value"] < 1.6'
t 1 sim --values 70G --exchange ps --scheme fp32 $huge
err 'a message of 280000000007 bytes, and 68719476704 can be sent at once: cut the step into more messages'

# Rings of many workers: few are simulated, and the line through them meets the whole simulation.
ring="sim -q --exchange ring --mode sequential --data off --codec-time none --bw 1gbps --values 16M --scheme fp32,int8 --format json"
for workers in 64 256; do
    q 0 $ring --workers $workers --full 0
    json '[r["messages"] for r in d["rows"]] == [2 * ('$workers' - 1)] * 2 and not any("extrapolated" in n for n in d["notes"])'
    cp out whole.json
    q 0 $ring --workers $workers --full 32
    json 'any("extrapolated: a ring of more than 32 workers" in n for n in d["notes"])'
    json 'all(abs(r["step_s"] / w["step_s"] - 1) < 0.01 and abs(r["wire_bytes"] / w["wire_bytes"] - 1) < 0.01 and r["messages"] == w["messages"] for r, w in zip(d["rows"], __import__("json").load(open("whole.json"))["rows"]))'
done
# Only where all ranks do the same: not by recursive doubling, overlapped, or with a slow link.
for other in '--exchange recdouble' '--exchange ring --mode overlap --compute 1ms' '--exchange ring --slow-links 1:10mbps'; do
    q 0 sim -q --data off --codec-time none --bw 1gbps --values 100K --scheme fp32 --workers 64 --full 8 --format json $other
    json 'not any("extrapolated" in n for n in d["notes"])'
done

# Hosts with several interfaces, which their workers use in turn: simulated as by the formulas, and by hand. Two hosts of
# four workers: in an all-gather by Bruck's algorithm, each sends what it has to the worker 1, 2 and 4 further on.
nics="sim -q --data off --codec-time none --bw 1gbps --latency 0us --intra-latency 0us --intra-bw 1000gbps --values 1M --scheme fp32 --format json"
for exchange in ring recdouble rabenseifner allgather twoshot hierarchical ps; do
    q 0 $nics --exchange $exchange --workers 8 --per-host 4 --nics 2
    json 'abs(d["rows"][0]["step_s"] / d["rows"][0]["step_s_model"] - 1) < 0.03 and d["rows"][0]["nics"] == 2'
done
# Recursive doubling's last round: 4 messages of 4 MB leave a host, over one interface or two.
q 0 $nics --exchange recdouble --workers 8 --per-host 4
json 'abs(d["rows"][0]["step_s"] / (4 * 4e6 * 8 * 1514 / 1448 / 1e9) - 1) < 0.05 and d["rows"][0]["nics"] is None'
q 0 $nics --exchange recdouble --workers 8 --per-host 4 --nics 2
json 'abs(d["rows"][0]["step_s"] / (2 * 4e6 * 8 * 1514 / 1448 / 1e9) - 1) < 0.05'
json 'abs(d["rows"][0]["bytes_inter"] / (4 * 4e6 * 1514 / 1448) - 1) < 0.01'
t 2 sim -q --scheme fp32 --exchange ring --workers 8 --per-host 2 --nics 3
err '--nics 3: each worker uses one interface of its host, and --per-host is 2'
t 2 run -q --hosts a:2,b:2 --tc-dev eth0 --exchange ring --per-host 2 --nics 2 --scheme fp32
err '--nics: --tc-dev shapes one interface'
t 2 validate -q --workers 4 --per-host 2 --sites 2 --scheme fp32
err '--sites: hosts whose links are shaped here are on one switch'

finish
