#!/bin/sh
# `commcomp validate`: plans, refusals, joined rows and diagnoses.
. "$(dirname "$0")/lib.sh"

make_run_profile
missing=$(why_no_lab)
v="validate -q --profile run.json"
unset COMMCOMP_RANK COMMCOMP_RANK_SIM

# --- refusals, before anything is run ---
t 2 $v --tolerance 3
err '--tolerance: 3 is not between 0 and 1'
t 2 $v --tolerance 0
err '--tolerance: 0 is not between'
t 2 $v --exchange ssar-split
err 'ssar-split merges index-value pairs, and'
for option in '--topology torus' '--slow-hosts 1:2' '--slow-links 1:1mbps' '--platform x.xml'; do
    t 2 $v --workers 2 --values 1000 $option
    err "${option%% *} is of a simulated cluster: a lab has one switch"
done
t 2 $v --fidelity beta
err "alpha-beta, tc, tcp"
t 2 $v --keep-lab
err 'unknown option --keep-lab'
t 2 $v --paper 3lc-table1
err 'unknown option --paper'

# --- a dry run: the rows of run's ---
q 0 $v --dry-run --values 1M --bw 8mbps --overhead none --burst 1 --workers 4 --scheme int8,fp32 --exchange ps --format json
json '[r["scheme"] for r in d["rows"]] == ["fp32", "int8"]'
json 'abs(d["rows"][0]["step_s_forecast"] - 2 * (50e-6 + 16)) < 1e-5 and abs(d["rows"][0]["row_s"] - 32) < 0.01'
json 'all(r["step_s"] is None and r["step_s_sim"] is None and r["agree"] is None for r in d["rows"])'
json 'any("would take about 4" in n for n in d["notes"]) and any("its simulation adds" in n for n in d["notes"])'
# On hosts there is no lab to be kept, and no option that keeps one.
q 0 $v --dry-run --workers 2 --hosts localhost:3 --scheme fp32 --format json
json 'd["rows"][0]["step_s_forecast"] > 0 and d["rows"][0]["bw_bps"] == 1e9 and d["rows"][0]["oversubscribed"] is None'
# The codecs are measured once, not once for each answer.
t 0 validate --dry-run --values 1000 --scheme fp32 --remeasure
[ "$(grep -c 'measuring the speed of 1 scheme' err)" = 1 ] || bad 'measures more than once'

# --- missing answers ---
COMMCOMP_RANK=$dir/no_rank
export COMMCOMP_RANK
t 3 $v --values 1000 --workers 2 --scheme fp32 --smpirun "$dir/no_smpirun"
err "nothing to hold the model against. No run: COMMCOMP_RANK: there is no file $dir/no_rank. No simulation: "
printf '#!/bin/sh\nexit 3\n' >fake_smpirun
chmod +x fake_smpirun
t 3 $v --values 1000 --workers 2 --scheme fp32 --smpirun ./fake_smpirun
err 'nothing to hold the model against'

no_sim=$(why_no_sim)
if [ -n "$no_sim" ]; then
    echo "skipped: commcomp validate with a simulation: $no_sim"
else
    # Model and sim of the same; codec times are the profile's. Where formulas are exact,
    # so is the agreement. Neither knows the bucket.
    q 0 $v --values 100K --workers 2,3 --bw 100mbps --scheme fp32,int8 --fidelity alpha-beta --exchange ps --format json
    json 'len(d["rows"]) == 4 and all(r["agree"] is True and r["suspect"] is None and r["why"] is None for r in d["rows"])'
    json 'all(r["step_s"] is None and r["sim_error"] is None and r["oversubscribed"] is None for r in d["rows"])'
    json 'all(abs(r["model_sim"]) < 0.01 and abs(r["forecast_error"]) < 0.01 for r in d["rows"])'
    json 'all(abs(r["model_sim"] - (1 - r["step_s_model"] / r["step_s_sim"])) < 1e-9 for r in d["rows"])'
    # Two pushes of 400 kB with 4.56% of headers at 100 Mbit/s, and two pulls.
    json 'abs(d["rows"][0]["step_s_sim"] - 2 * 2 * 400e3 * 8 * (1514 / 1448) / 1e8) < 1e-3'
    json 'd["rows"][0]["fidelity"] == "alpha-beta" and d["rows"][1]["payload_bytes_sim"] == d["rows"][1]["payload_bytes"] == 100004'
    json 'any(n.startswith("without a run: COMMCOMP_RANK: there is no file") for n in d["notes"])'
    json 'any(n.startswith("4 of 4 rows agree within 3%") for n in d["notes"])'
    # SimGrid's TCP knows more than latency and bandwidth.
    t 1 $v --values 1000 --workers 4 --bw 100mbps --scheme fp32 --fidelity tcp --exchange ps --format json
    err '1 of 1 row is beyond --tolerance 0.03'
    json 'd["rows"][0]["agree"] is False and d["rows"][0]["suspect"] == "fidelity" and d["rows"][0]["why"].startswith("model ")'
    json 'd["error"].startswith("1 of 1 row") and any(n.startswith("suspect: fidelity, in 1 row: fp32, ps at") for n in d["notes"])'
    # A platform whose links no option describes: no formula knows them, and sim alone proves nothing.
    q 0 sim -q --profile run.json --values 20K --workers 2 --bw 300mbps --scheme fp32 --exchange ps --dry-run --write-platform links.xml
    on="--values 20K --workers 2 --hosts localhost:3 --platform links.xml --scheme fp32"
    t 3 $v $on --exchange ps --format json
    err 'nothing to compare: the simulation is the only answer'
    unknown='all(d["rows"][0][k] is None for k in ("bw_bps", "latency_s", "step_s_model", "step_s_forecast", "model_sim", "forecast_error", "agree"))'
    json "$unknown"' and d["rows"][0]["link"] == "the platform'"'"'s own links" and d["rows"][0]["step_s_sim"] > 4e-3'
    q 0 $v $on --dry-run --format json
    json "$unknown"
    # With --bw the formula uses its rate.
    q 0 $v $on --bw 300mbps --fidelity alpha-beta --format json
    json 'd["rows"][0]["agree"] is True and d["rows"][0]["bw_bps"] == 3e8 and abs(d["rows"][0]["forecast_error"]) < 0.01'
    # A forecast from a profile whose payloads have twice the bytes is wrong about sizes, and agrees.
    sed 's/\("int8", "points": \[{"values": 1000, "bits_per_value": \)8/\116/' run.json >double.json
    t 0 validate -q --profile double.json --values 100K --workers 2 --bw 100mbps --scheme int8 --exchange ps --format json
    json 'd["rows"][0]["agree"] is True and d["rows"][0]["forecast_suspect"] == "payload sizes"'
    json '-1.1 < d["rows"][0]["forecast_error"] < -0.9 and "instead of the profile" in d["rows"][0]["forecast_why"]'
    json 'any(n.startswith("suspect for the forecast: payload sizes, in 1 row: int8, ps at 100 Mbit/s, 2 workers: forecast") for n in d["notes"])'
fi
unset COMMCOMP_RANK

# --- real runs, where this machine allows them ---
if [ -n "$missing" ]; then
    echo "skipped: commcomp validate with a run: $missing"
else
    # Without a simulation. The answers may differ by any factor where ranks wait for a core.
    t '0 1' $v --values 20000 --workers 2 --bw 100mbps --scheme fp32,int8 --smpirun "$dir/no_smpirun" --tolerance 0.9 --format json
    json 'len(d["rows"]) == 2 and all(r["step_s"] > 0 and r["step_s_sim"] is None and r["sim_error"] is None for r in d["rows"])'
    json 'all(abs(r["model_error"] - (1 - r["step_s_model"] / r["step_s"])) < 1e-9 and r["agree"] == (abs(r["model_error"]) <= 0.9) for r in d["rows"])'
    json 'any(n.startswith("without a sim: ") for n in d["notes"]) and len(d["host"]["mpi"]) > 3'
    # A rank that is killed while it measures, and one that dies before it has said anything: other answers that agree
    # do not make up for it.
    end_case
    case='validate, a rank is killed' good=1
    python3 - "$program" $v --values 20000 --workers 2 --bw 100mbps --scheme fp32 --steps 4000 --format json >out 2>err <<'P' || bad "exit $?"
import os, signal, subprocess, sys, time
command = subprocess.Popen(sys.argv[1:], env=dict(os.environ, VALIDATE_SH=str(os.getpid())))
mark, ranks = f'VALIDATE_SH={os.getpid()}'.encode(), []
until = time.monotonic() + 30
while not ranks and command.poll() is None and time.monotonic() < until:
    time.sleep(0.05)
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            if open(f'/proc/{pid}/comm').read() == 'commcomp-rank\n' and mark in open(f'/proc/{pid}/environ', 'rb').read().split(b'\0'):
                ranks.append(int(pid))
        except OSError:
            pass
time.sleep(1.5)
os.kill(max(ranks), signal.SIGKILL)
sys.exit(command.wait() != 3)
P
    err 'the run failed: .*rank [012]'
    json 'd["error"].startswith("the run failed: ")'
    document out
    printf '#!/bin/sh\nexit 3\n' >silent_rank
    chmod +x silent_rank
    COMMCOMP_RANK="$dir/silent_rank"
    export COMMCOMP_RANK
    t 3 $v --values 20000 --workers 2 --bw 100mbps --scheme fp32 --tolerance 0.9 --format json
    err 'the run failed: mpirun ended with exit code 3 before the ranks were done'
    unset COMMCOMP_RANK
fi
if [ -n "$missing" ] || [ -n "$no_sim" ]; then
    echo 'skipped: commcomp validate with all three answers'
else
    # The answers may differ by any factor where ranks wait for a core.
    t '0 1' $v --values 20000 --workers 2 --bw 100mbps --exchange ps,ring --scheme fp32,int8 --steps 5 --tolerance 0.99 --format json
    json 'len(d["rows"]) == 4 and all(r["step_s"] > 0 and r["step_s_sim"] > 0 and r["step_s_model"] > 0 for r in d["rows"])'
    json 'all(r["steps"] == 5 for r in d["rows"]) and d["rows"][0]["speedup"] == 1'
    # Codec times are those that the run measured, not the profile's.
    json 'all(abs(r["codec_s_sim"] / r["codec_s"] - 1) < 0.2 for r in d["rows"] if r["codec_s"] > 0)'
    json 'any(abs(r["codec_s_forecast"] / r["codec_s"] - 1) > 0.3 for r in d["rows"] if r["codec_s"] > 0)'
    # The same bytes, also where they depend on what was sent before.
    t '0 1' $v --values 300K --workers 3 --bw 100mbps --scheme 3lc --steps 3 --warmup 2 --tolerance 0.99 --format json
    json 'abs(d["rows"][0]["payload_bytes_sim"] / d["rows"][0]["payload_bytes"] - 1) < 1e-9'
    json '(d["rows"][0]["warmup"], d["rows"][0]["steps"]) == (2, 3) and d["rows"][0]["forecast_suspect"] == "payload sizes"'
    # Nor is a step left out where payloads differ without any residual.
    sed 's/"ternary"/"ternary:zre=1"/' run.json >zeros.json
    t '0 1' validate -q --profile zeros.json --values 20K --workers 2 --bw 1gbps --compute 20ms --scheme ternary:zre=1 --steps 23 --warmup 1 --tolerance 0.99 --format json
    json 'abs(d["rows"][0]["payload_bytes_sim"] / d["rows"][0]["payload_bytes"] - 1) < 1e-9 and d["rows"][0]["steps"] == 23'
    end_case
    case='validate, interrupted' good=1
    timeout --foreground -s INT 12 "$program" $v --workers 2 --values 10K --compute 50ms --bw 100mbps \
        --scheme fp32,local:every=1000 --steps 1 --format json >out 2>err </dev/null
    json 'd["partial"] and [r["scheme"] for r in d["rows"]] == ["fp32"] and d["rows"][0]["step_s"] > 0.05'
    json 'd["rows"][0]["step_s_sim"] is None and not any("without" in n for n in d["notes"])'
    err 'interrupted'
    document out
fi

finish
