"""plans.py PROGRAM SETTINGS SEED: holds the answer of `advise` against every plan that `model` can express.

Random nets, clusters and compute times. For each, the plans that DDP's users can deploy (docs/advise.md, Plans) are tried
one by one with `model`: every scheme that advise admits without doubt, by the exchange of its hook, in buckets of sizes
that advise does not try. None may be more than 3% faster than what advise recommends.
"""
import json
import os
import random
import subprocess
import sys

program, settings, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random.seed(seed)
MI = 1 << 20
# Sizes of buckets: DDP's own, and in steps of 16%, which are not those of advise.
BUCKETS = [None] + [int(0.3 * 1.16 ** k * MI) for k in range(64)]
SUMS = ("powersgd", "randk", "local")  # payloads that are floats, which hooks sum
CASTS = ("fp32", "bf16", "fp16")


def run(*words):
    done = subprocess.run([program, *words, "-q", "--profile", "profile.json", "--format", "json"], capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout)["rows"]


def log_uniform(low, high):
    return low * (high / low) ** random.random()


def key(row):
    return row["workers"], row["bw_bps"]


def one_draw():
    """A net, a compute time and a host; ten settings: two numbers of workers, five bandwidths."""
    net = random.choice(["resnet20", "resnet50", "vgg16", "mnist-mlp-4096", "an4-lstm", "densenet40"])
    per_host = random.choice([1, 1, 2, 4, 8])
    workers = [per_host * w for w in random.sample([2, 3, 4, 6, 8, 12, 16, 24, 32], 2)]
    bandwidths = sorted({round(log_uniform(10e6, 400e9)) for _ in range(5)})
    words = ["--net", net, "--compute", "%dus" % log_uniform(2e3, 2e6), "--latency", "%dns" % log_uniform(1e3, 1e6),
             "--workers", ",".join(map(str, workers)), "--bw", ",".join("%dbps" % b for b in bandwidths)]
    if per_host > 1:
        words += ["--per-host", str(per_host), "--intra-bw", random.choice(["nvlink3", "pcie4"])]
    library = "nccl" if per_host > 1 else "ring"
    rows = run("advise", *words)
    answers = {key(r): r for r in rows if r["recommended"]}
    assert len(answers) == 10 == len([r for r in rows if r["recommended"]])
    admitted = {}
    for r in rows:
        if r["left_out"] is None and not r["undecided"]:
            admitted.setdefault(key(r), set()).add((r["plan"], r["scheme"]))
    schemes = {s for found in admitted.values() for _, s in found}
    ways = {library: [s for s in schemes if s in CASTS or s.startswith(("powersgd", "local"))],
            "allgather": [s for s in schemes if s != "fp32" and not s.startswith(SUMS)],
            "ring": [s for s in schemes if s.startswith(SUMS)]}
    plan = {(library, s): "ddp" if s in CASTS else "powersgd-hook" if s.startswith("powersgd") else "no-sync"
            for s in ways[library]}
    plan.update({("allgather", s): "gather-hook" for s in ways["allgather"]})
    if library != "ring":
        plan.update({("ring", s): "sum-hook" for s in ways["ring"]})
    worst = 0
    largest = 4 * rows[0]["values"]
    for bucket in BUCKETS:
        if bucket is not None and bucket > 1.2 * largest:
            break
        fuse = [] if bucket is None else ["--fuse", str(bucket)]
        for exchange, names in ways.items():
            if not names or (exchange == library and names is ways["ring"] and library == "ring"):
                continue
            for r in run("model", "--system", "ddp", *words, *fuse, "--exchange", exchange, "--scheme", ",".join(sorted(names))):
                if (plan.get((exchange, r["scheme"])), r["scheme"]) not in admitted[key(r)]:
                    continue
                answer = answers[key(r)]
                faster = answer["step_s"] / r["step_s"] - 1
                worst = max(worst, faster)
                assert faster <= 0.03, (words, key(r), "%s by %s, %s, buckets of %s: %g s, and the answer is %s by %s: %g s" % (
                    r["scheme"], plan[(exchange, r["scheme"])], exchange, bucket, r["step_s"], answer["scheme"], answer["plan"],
                    answer["step_s"]))
    return worst


worst = [one_draw() for _ in range((settings + 9) // 10)]
print("%d settings: at most %.2f%% faster than the answer" % (10 * len(worst), 100 * max(worst)))
