#!/usr/bin/env python3
"""Checks commcomp's JSON against tests/schema/commcomp-2.schema.json.

usage: check_json.py [FILE ...]       (no file, or -: standard input)
       check_json.py --self-test      the schema itself, on documents that must pass or fail

Exit 0: all hold; 1: one does not, with its place on stderr; 2: usage; 77: python3-jsonschema is
missing.
"""

import copy
import json
import os
import sys

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schema",
                      "commcomp-2.schema.json")


def refuse_constant(word):
    raise ValueError(f"{word} is not JSON")


def no_duplicates(pairs):
    keys = [k for k, _ in pairs]
    for k in keys:
        if keys.count(k) > 1:
            raise ValueError(f'the key "{k}" occurs twice in one object')
    return dict(pairs)


def load(data):
    return json.loads(data.decode("utf-8"), parse_constant=refuse_constant,
                      object_pairs_hook=no_duplicates)


def problems(validator, document):
    """The faults of a document, one line each."""
    found = []
    for e in sorted(validator.iter_errors(document), key=lambda e: list(map(str, e.path))):
        place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in e.path)
        found.append(f"{place or '.'}: {e.message[:300]}")
    rows = document.get("rows", []) if isinstance(document, dict) else []
    for i, row in enumerate(rows[1:], 1):
        if list(row) != list(rows[0]):
            found.append(f".rows[{i}]: its keys, or their order, differ from those of row 0")
    return found or list(origin_problems(document))


def origin_problems(document):
    """Each key with a value has an origin, for all rows or for each that has a value."""
    rows, origins = document["rows"], document["origins"]
    for key in origins:
        if not any(key in row for row in rows):
            yield f".origins.{key}: no row has this key"
    for key in rows[0] if rows else []:
        known = [row.get(key) is not None for row in rows]
        of = origins.get(key)
        if any(known) and of is None:
            yield f".origins: the origin of {key} is missing"
        if isinstance(of, list) and [o is not None for o in of] != known:
            yield f".origins.{key}: its words are not those of the rows with a value"


def check(validator, name, data):
    try:
        found = problems(validator, load(data))
    except ValueError as e:
        found = [str(e)]
    for line in found:
        print(f"{name}: {line}", file=sys.stderr)
    return not found


def origins_of(row):
    """Origins of two such rows: each key that has a value has a word, or one for each row."""
    filled = [k for k in row if row[k] is not None]
    return {k: ["computed", "measured"] if i % 2 else "given" for i, k in enumerate(filled)}


def good_documents():
    host = {"cpu": "a", "cores": 2, "isa": "avx2", "kernel": "Linux", "compiler": "gcc 12.2.0",
            "version": "v1-2-gabc", "time": "2026-01-31T23:59:59Z"}
    sizes = {"scheme": "3lc:s=1.75", "values": 5, "payload_bytes": 5.5, "bits_per_value": 8.8,
             "ratio": 3.6}
    bench = dict(sizes, encode_gb_per_s=1, decode_gb_per_s=2.5, encode_roofline=0.4,
                 decode_roofline=None, decode_add_gb_per_s=1.0,
                 decode_add_roofline=None, nmse=0.1, nmse_cumulative=1e-3, cosine=-0.5,
                 max_abs_error=1e-300, extra="a key of our own")
    model = dict(sizes, bits_push=1, bits_pull=None, exchange="ps", workers=10, servers=1,
                 bw_bps=1e7, latency_s=5e-5, compute_s=0, codec_s=0.1, comm_s=1, step_s=1.1,
                 speedup=None)
    run = dict(model, step_s_sd=0.1, step_s_model=1, model_error=-0.1, wire_bytes=100,
               oversubscribed=True)
    measured = dict(run, step_s_forecast=1.2, wire_bytes_model=99.5, steps=3)
    rows = {"bench": bench, "encode": sizes, "decode": sizes, "model": model, "sim": run,
            "run": measured, "train": dict(model, step=0, time_s=0.1, loss=-1.5, accuracy=0.9),
            "schemes": {"scheme": "local", "default": "fp32", "min": None},
            "trace info": {"tensor": "conv1", "values": 27},
            "paper": {"speedup_paper": 3.1, "paper_error": -0.02},
            "nets": {"net": "gpt2", "values": 124439808}}
    for command, row in rows.items():
        yield {"schema": "commcomp/2", "command": command, "argv": ["commcomp", command],
               "host": host, "rows": [row, dict(row)], "origins": origins_of(row)}
    yield {"schema": "commcomp/2", "command": "bench", "argv": ["commcomp"], "host": host,
           "rows": [], "origins": {}, "notes": ["n"], "partial": True, "error": "a.npy: cannot be read"}


def bad_documents(good):
    """Good documents with one fault each."""
    def edited(document, edit):
        d = copy.deepcopy(document)
        edit(d)
        return d

    for d in good:
        for key in ("schema", "command", "argv", "host", "rows", "origins"):
            yield edited(d, lambda c: c.pop(key))
        for key in d["host"]:
            yield edited(d, lambda c: c["host"].pop(key))
        yield edited(d, lambda c: c.update(schema="commcomp/1"))
        yield edited(d, lambda c: c.update(partial=False))
        yield edited(d, lambda c: c.update(error=""))
        yield edited(d, lambda c: c.update(eror="misspelt"))
        yield edited(d, lambda c: c["host"].update(time="yesterday"))
        if not d["rows"]:
            continue
        yield edited(d, lambda c: c["rows"][1].popitem())
        yield edited(d, lambda c: c["origins"].popitem())
        yield edited(d, lambda c: c["origins"].update(other="given"))
        key = next(iter(d["origins"]))
        for wrong in ("guessed", ["given"], ["given", None]):
            yield edited(d, lambda c: c["origins"].update({key: wrong}))
        yield edited(d, lambda c: c["rows"][0].update(nested=[1]))
        for key in ("scheme", "values", "nmse", "step_s", "workers", "oversubscribed"):
            yield edited(d, lambda c: [r.update({key: "1 s"}) for r in c["rows"]])
        if d["command"] == "bench":
            for key in [k for k in d["rows"][0] if k != "extra"]:
                yield edited(d, lambda c: [r.pop(key) for r in c["rows"]])


def self_test(validator):
    good = list(good_documents())
    wrong = [f"refused, but good: {p}" for d in good for p in problems(validator, d)]
    bad = list(bad_documents(good))
    wrong += [f"accepted, but bad: {json.dumps(d)}" for d in bad if not problems(validator, d)]
    for text in (b'{"a": 1, "a": 2}', b'{"a": NaN}', b'{"a": 1', b'"\xff"', b""):
        try:
            load(text)
            wrong.append(f"read, but not JSON: {text!r}")
        except ValueError:
            pass
    for line in wrong:
        print(line, file=sys.stderr)
    if not wrong:
        print(f"{len(good)} good documents accepted, {len(bad)} bad ones refused")
    return not wrong


def main(argv):
    if any(a in ("-h", "--help") for a in argv):
        print(__doc__.strip())
        return 0
    try:
        import jsonschema
    except ImportError:
        print("SKIPPED: python3-jsonschema is not installed", file=sys.stderr)
        return 77
    with open(SCHEMA, encoding="utf-8") as f:
        schema = json.load(f)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    if argv == ["--self-test"]:
        return 0 if self_test(validator) else 1
    ok = True
    for name in argv or ["-"]:
        if name.startswith("--"):
            print(f"check_json.py: unknown option {name}", file=sys.stderr)
            return 2
        try:
            if name == "-":
                data = sys.stdin.buffer.read()
            else:
                with open(name, "rb") as f:
                    data = f.read()
        except OSError as e:
            print(f"{name}: {e.strerror}", file=sys.stderr)
            ok = False
            continue
        ok = check(validator, name, data) and ok
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
