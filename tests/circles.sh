#!/bin/sh
# Calls between the files of a room go one way: no file calls another one that calls it in turn, directly
# or by way of others. Each circle that is found is listed with the functions that close it.
#   BUILD is the build folder (build).
set -u
exec python3 - "${BUILD:-build}" core schemes binding bench models train results cmd netsim <<'END'
import collections
import glob
import os
import subprocess
import sys

build, rooms = sys.argv[1], sys.argv[2:]
defined, needed = collections.defaultdict(set), collections.defaultdict(set)  # files of a function; functions of a file
for root in [os.path.join(build, kind) for kind in ("obj", "mpi", "smpi")]:
    for room in rooms:
        for folder, _, names in os.walk(os.path.join(root, room)):
            source = os.path.relpath(folder, root)
            objects = [os.path.join(folder, name) for name in names if name.endswith(".o")
                       and glob.glob(os.path.join(source, name.split(".")[0] + ".*c"))]  # not those of files that are gone
            if not objects:
                continue
            for line in subprocess.run(["nm", "-A", *objects], check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines():
                path, *_, kind, symbol = line.replace(":", " ", 1).split()
                file = os.path.relpath(path, root).split(".")[0]  # kernels have an object for each instruction set
                if kind == "U":
                    needed[file].add(symbol)
                elif kind.isupper():
                    defined[symbol].add(file)  # runtimes are alternatives
if len(defined) < 500:
    sys.exit(f"{build}: few symbols")

calls = collections.defaultdict(dict)
for file, symbols in needed.items():
    for symbol in sorted(symbols & defined.keys()):
        for other in defined[symbol] - {file}:
            calls[file].setdefault(other, symbol)


def reached(start):
    found, todo = set(), [start]
    while todo:
        for file in calls[todo.pop()]:
            if file not in found:
                found.add(file)
                todo.append(file)
    return found


reach = {file: reached(file) for file in list(calls)}
circle = [(a, b) for a in sorted(reach) for b in sorted(calls[a]) if a in reach.get(b, ())]
for a, b in circle:
    print(f"{a}.c calls {calls[a][b]} of {b}.c, and {b}.c calls back")
sys.exit(1 if circle else 0)
END
