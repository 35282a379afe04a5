#!/usr/bin/env python3
"""evidence.py FILE.json...: the rows of cmd/input/evidence.csv, of results of `commcomp train`."""
import csv
import json
import os
import sys

KEYS = ["setting", "kind", "net", "data", "workers", "exchange", "rate", "steps", "version", "scheme", "seeds", "diverged",
        "accuracy", "lost", "lost_low", "lost_high", "bits_push"]


def kind(net):
    return {"mlp": "dense", "resnet": "convolutions", "transformer": "attention"}[net.split(":")[0].rstrip("0123456789")]


def rows(path):
    document = json.load(open(path))
    for r in document["rows"]:
        if r["kind"] != "summary":
            continue
        data = os.path.basename(str(r["data"]).rstrip("/"))
        trained = int(r["seeds"] + r["diverged"])
        what = (f"{r['net']} on {data}, {r['workers']:.0f} workers, {r['exchange']}, rate {r['rate']:g}, {r['step']:.0f} steps, "
                f"{trained} seeds")
        lost = {k: "" if r[d] is None else f"{-r[d] + 0.0:.5f}" for k, d in
                (("lost", "difference"), ("lost_low", "difference_high"), ("lost_high", "difference_low"))}
        yield {"setting": what, "kind": kind(r["net"]), "net": r["net"], "data": data, "workers": f"{r['workers']:.0f}",
               "exchange": r["exchange"], "rate": f"{r['rate']:g}", "steps": f"{r['step']:.0f}",
               "version": document["host"]["version"].split()[0], "scheme": r["scheme"], "seeds": f"{r['seeds']:.0f}",
               "diverged": f"{r['diverged']:.0f}", "accuracy": "" if r["accuracy"] is None else f"{r['accuracy']:.5f}",
               "bits_push": "" if r["bits_push"] is None else f"{r['bits_push']:.4g}", **lost}


writer = csv.DictWriter(sys.stdout, KEYS, lineterminator="\n")
writer.writeheader()
for name in sys.argv[1:]:
    writer.writerows(rows(name))
