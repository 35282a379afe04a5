"""Singular values of a trace's matrices, by Jacobi's rotations, against what `bench` prints of powersgd."""
import json
import math
import os
import struct
import sys


def matrices(path):
    """The matrices of a .safetensors file by name: lists of rows."""
    with open(path, "rb") as f:
        head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    found = {}
    for name, t in head.items():
        if name == "__metadata__" or len(t["shape"]) < 2:
            continue
        begin, end = t["data_offsets"]
        x = struct.unpack("<%df" % ((end - begin) // 4), data[begin:end])
        columns = len(x) // t["shape"][0]
        found[name] = [x[i:i + columns] for i in range(0, len(x), columns)]
    return found


def squares(rows):
    """The squared singular values, largest first: the eigenvalues of the smaller of A A' and A' A."""
    if len(rows) > len(rows[0]):
        rows = list(zip(*rows))
    n = len(rows)
    a = [[math.fsum(x * y for x, y in zip(r, s)) for s in rows] for r in rows]
    for _ in range(60):
        if sum(a[i][j] ** 2 for i in range(n) for j in range(i)) <= 1e-28 * sum(a[i][i] for i in range(n)) ** 2:
            break
        for p in range(n):
            for q in range(p + 1, n):
                if a[p][q] == 0:
                    continue
                theta = (a[q][q] - a[p][p]) / (2 * a[p][q])
                t = math.copysign(1, theta) / (abs(theta) + math.hypot(theta, 1))
                c = 1 / math.hypot(t, 1)
                s = t * c
                for k in range(n):
                    a[k][p], a[k][q] = c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]
                for k in range(n):
                    a[p][k], a[q][k] = c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]
    return sorted((max(a[i][i], 0) for i in range(n)), reverse=True)


def shares(folder, rank):
    """By tensor: the share of the squared norm that no matrix of this rank can have (Eckart and Young)."""
    lost, whole = {}, {}
    for name in sorted(n for n in os.listdir(folder) if n.startswith("push")):
        for tensor, rows in matrices(os.path.join(folder, name)).items():
            s = squares(rows)
            lost[tensor] = lost.get(tensor, 0) + sum(s[rank:])
            whole[tensor] = whole.get(tensor, 0) + sum(s)
    return {t: lost[t] / whole[t] for t in lost}


def main(folder, result, rank):
    best = shares(folder, rank)
    rows = [r for r in json.load(open(result))["rows"] if r["tensor"] in best]
    assert len(rows) == len(best) > 0
    for r in rows:
        print("%-12s at least %.4g, is %.4g" % (r["tensor"], best[r["tensor"]], r["nmse"]), file=sys.stderr)
        # One power iteration a step does not find the best factors, but good ones.
        assert (1 - 1e-6) * best[r["tensor"]] <= r["nmse"] <= 6 * best[r["tensor"]], r["tensor"]
    print(sum(best.values()) / len(best))


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
