#!/usr/bin/env python3
"""Checks a timeline by the Trace Event Format's description, independently of the program.

usage: timeline_reader.py FILE [EXPRESSION ...]
       timeline_reader.py --self-test     the checks themselves, on timelines that must pass or fail

Each expression must be true of t, the timeline: t.rows is a list of rows with .name, .steps ((step,
begin, end) in microseconds) and .tracks, by name: each a list of (name, step, begin, end); .sum(track,
phase) adds up a track's phase, .transfers is a list of (name, begin, end, args); t.other is otherData. d is the JSON in a file
"out", if there is one: the results that the program printed beside the timeline.

Exit 0: everything holds; 1: something does not, with its place on stderr; 2: usage.
"""

import json
import os
import sys
from decimal import Decimal

# Every event has these keys, and those of its kind.
COMMON = {"ph", "pid", "tid", "name"}
KEYS = {
    "M": {"args"},
    "X": {"ts", "dur", "cat"},
    "b": {"ts", "id", "cat"},
    "e": {"ts", "id", "cat"},
}
OPTIONAL = {"M": set(), "X": {"args", "cname"}, "b": {"args"}, "e": {"args"}}
METADATA = {"process_name": "name", "thread_name": "name", "process_sort_index": "sort_index",
            "thread_sort_index": "sort_index"}
# Further arguments of the events that name a process or track.
ABOUT = {"process_name": {"scheme": str, "up_bps": (int, Decimal), "down_bps": (int, Decimal)},
         "thread_name": {"host": int, "worker": bool}}
# The reserved names of chrome://tracing; it refuses others.
COLOURS = {
    "thread_state_uninterruptible", "thread_state_iowait", "thread_state_running",
    "thread_state_runnable", "thread_state_sleeping", "thread_state_unknown",
    "background_memory_dump", "light_memory_dump", "detailed_memory_dump",
    "vsync_highlight_color", "generic_work", "good", "bad", "terrible", "black", "grey", "white",
    "yellow", "olive", "rail_response", "rail_animation", "rail_idle", "rail_load", "startup",
}


class Wrong(Exception):
    pass


def need(right, what):
    if not right:
        raise Wrong(what)


def no_duplicates(pairs):
    out = dict(pairs)
    need(len(out) == len(pairs), f"a key occurs twice among {[k for k, _ in pairs]}")
    return out


def refuse_constant(word):
    raise Wrong(f"{word} is not JSON")


class Row:
    def __init__(self):
        self.name, self.order, self.steps, self.tracks, self.transfers = None, None, [], {}, []

    def sum(self, track, phase):
        return float(sum(end - begin for name, _, begin, end in self.tracks[track] if name == phase))


class Timeline:
    def __init__(self, text):
        top = json.loads(text, parse_float=Decimal, parse_constant=refuse_constant,
                         object_pairs_hook=no_duplicates)
        need(isinstance(top, dict), "no JSON object")
        need(isinstance(top.get("traceEvents"), list), "no list traceEvents")
        need(top.get("displayTimeUnit") in ("ms", "ns"), "displayTimeUnit is neither ms nor ns")
        self.other = top.get("otherData", {})
        self.names, self.order, self.processes, self.ends = {}, {}, {}, {}
        self.of_track = {}
        for i, event in enumerate(top["traceEvents"]):
            try:
                self.take(event)
            except Wrong as e:
                raise Wrong(f"event {i}: {e}") from None
        self.finish()

    def take(self, event):
        need(isinstance(event, dict), "no object")
        kind = event.get("ph")
        need(kind in KEYS, f"unknown ph {kind!r}")
        missing = (COMMON | KEYS[kind]) - set(event)
        need(not missing, f"{kind} without {sorted(missing)}")
        extra = set(event) - COMMON - KEYS[kind] - OPTIONAL[kind]
        need(not extra, f"{kind} with {sorted(extra)}")
        for key in ("pid", "tid"):
            need(isinstance(event[key], int) and event[key] >= 0, f"{key} is not a number")
        need(isinstance(event["name"], str) and event["name"] != "", "no name")
        need(isinstance(event.get("args", {}), dict), "args is not an object")
        need(event.get("cname", "grey") in COLOURS, f"unknown colour {event.get('cname')}")
        self.processes.setdefault(event["pid"], Row())
        # Some viewers merge tracks of different processes that have the same number.
        pid = self.of_track.setdefault(event["tid"], event["pid"])
        need(pid == event["pid"], f"tid {event['tid']} is in processes {pid} and {event['pid']}")
        if kind == "M":
            self.take_metadata(event)
            return
        need(isinstance(event["ts"], (int, Decimal)) and event["ts"] >= 0, "ts is not a time")
        need(isinstance(event["cat"], str), "cat is not a text")
        if kind == "X":
            self.take_slice(event)
        else:
            self.take_end(event)

    def take_metadata(self, event):
        key = METADATA.get(event["name"])
        need(key is not None, f"metadata {event['name']}")
        about = ABOUT.get(event["name"], {})
        need(key in event["args"], f"{event['name']} has no {key}")
        for word, said in event["args"].items():
            need(word == key or isinstance(said, about.get(word, ())), f"{event['name']} with {word} {said!r}")
        value = event["args"][key]
        need(isinstance(value, str if key == "name" else int), f"{key} is {value!r}")
        where = event["pid"] if event["name"].startswith("process") else (event["pid"], event["tid"])
        into = self.names if key == "name" else self.order
        need(where not in into, f"a second {event['name']}")
        into[where] = value

    def take_slice(self, event):
        begin, duration = event["ts"], event["dur"]
        need(isinstance(duration, (int, Decimal)) and duration >= 0, "dur is not a time")
        where = (event["pid"], event["tid"])
        need(where in self.names, f"track {where} has no name yet")
        row, track = self.processes[event["pid"]], self.names[where]
        step = event.get("args", {}).get("step")
        slices = row.tracks.setdefault(track, [])
        need(not slices or begin >= slices[-1][3],
             f"{event['name']} at {begin} us begins before {slices and slices[-1]} has ended")
        slices.append((event["name"], step, begin, begin + duration))

    def take_end(self, event):
        key = (event["pid"], event["cat"], event["id"], event["name"])
        both = self.ends.setdefault(key, {})
        need(event["ph"] not in both, f"a second {event['ph']} of {key}")
        both[event["ph"]] = event

    def finish(self):
        for pid, row in self.processes.items():
            need(pid in self.names, f"process {pid} has no name")
            need(pid in self.order, f"process {pid} has no place")
            row.name, row.order = self.names[pid], self.order[pid]
        for where in self.names:
            need(where in self.order, f"{where} has no place")
        for (pid, _, name, title), both in self.ends.items():
            if len(both) < 2:
                need(self.other.get("left_out", 0) > 0 or self.other.get("partial"),
                     f"transfer {name} has one end only, and nothing was left out")
                continue
            need(both["b"]["ts"] <= both["e"]["ts"], f"transfer {name} comes before it leaves")
            self.processes[pid].transfers.append(
                (title, both["b"]["ts"], both["e"]["ts"], both["b"].get("args", {})))
        for row in self.processes.values():
            steps = row.tracks.pop("steps", [])
            row.steps = [(int(n.split()[1]), b, e) for n, _, b, e in steps]
        self.rows = sorted(self.processes.values(), key=lambda r: r.order)
        need(len({r.order for r in self.rows}) == len(self.rows), "two processes in one place")


# --- the checks themselves ---

GOOD = {"displayTimeUnit": "ms", "otherData": {"left_out": 0}, "traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {"name": "p"}},
    {"ph": "M", "name": "process_sort_index", "pid": 1, "tid": 1, "args": {"sort_index": 1}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "worker 0"}},
    {"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": 2, "args": {"sort_index": 1}},
    {"ph": "X", "name": "compute", "cat": "c", "pid": 1, "tid": 2, "ts": 0, "dur": 1.5},
    {"ph": "X", "name": "wait", "cat": "c", "pid": 1, "tid": 2, "ts": 1.5, "dur": 1},
    {"ph": "b", "name": "x", "cat": "c", "id": "1", "pid": 1, "tid": 2, "ts": 1},
    {"ph": "e", "name": "x", "cat": "c", "id": "1", "pid": 1, "tid": 2, "ts": 2},
]}
# Changes of a good timeline (event, key, value; no value: the key is removed), and the message that
# each must cause.
BAD = [
    (4, "dur", None, "without ['dur']"), (4, "ts", None, "without ['ts']"),
    (4, "tid", "2", "tid is not a number"), (4, "ph", "Y", "unknown ph"), (4, "dur", -1, "dur is not"),
    (4, "ts", -1, "ts is not a time"), (5, "ts", 1.4, "before"), (4, "cname", "mauve", "colour"),
    (4, "x", 1, "X with ['x']"), (2, "args", {"name": 3}, "name is 3"), (4, "tid", 3, "no name yet"),
    (7, "ts", 0.5, "comes before it leaves"), (7, "id", "2", "one end only"),
    (0, "name", "process", "metadata process"), (4, "pid", 2, "is in processes 1 and 2"),
    (2, "name", "thread_sort_index", "thread_sort_index has no"), (1, "pid", 3, "in processes"),
]


def self_test():
    assert len(Timeline(json.dumps(GOOD)).rows) == 1
    for at, key, value, message in BAD:
        bad = json.loads(json.dumps(GOOD))
        if value is None:
            del bad["traceEvents"][at][key]
        else:
            bad["traceEvents"][at][key] = value
        try:
            Timeline(json.dumps(bad))
        except Wrong as e:
            if message in str(e):
                continue
            print(f"event {at}, {key}: {e}, not {message}", file=sys.stderr)
        else:
            print(f"event {at} with {key}={value}: nobody minds", file=sys.stderr)
        return 1
    for text in ("{}", "[", '{"a": 1, "a": 2}', '{"traceEvents": [], "displayTimeUnit": NaN}'):
        try:
            Timeline(text)
        except (Wrong, ValueError):
            continue
        print(f"{text}: nobody minds", file=sys.stderr)
        return 1
    return 0


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    if sys.argv[1] == "--self-test":
        return self_test()
    try:
        with open(sys.argv[1], encoding="utf-8") as f:
            t = Timeline(f.read())
    except (Wrong, ValueError, OSError) as e:
        print(f"{sys.argv[1]}: {e}", file=sys.stderr)
        return 1
    names = {"t": t}
    if os.path.exists("out"):
        with open("out", encoding="utf-8") as f:
            text = f.read()
        names["d"] = json.loads(text) if text.startswith("{") else None
    failed = 0
    for expression in sys.argv[2:]:
        try:
            right = eval(expression, names)
        except (ArithmeticError, LookupError, TypeError) as e:
            right, expression = False, f"{expression} ({e!r})"
        if not right:
            print(f"{sys.argv[1]}: not so: {expression}", file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
