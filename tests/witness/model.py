"""Step times by the formulas of docs/model.md, against those that `commcomp model` prints.

  model.py PROGRAM PROFILE     PROFILE: fp32 adds a value in 0.4 ns; int8 encodes one in 1 ns, decodes in 2, adds in 3"""
import json
import math
import subprocess
import sys

N, NEAR = 1_000_000, 1e-9
TIMES = {'fp32': (0, 0, 0.4e-9), 'int8': (1e-9, 2e-9, 3e-9)}  # encode, decode, decode and add
GAMMA = 0.1e-9  # to add a byte of float32
passed = failed = 0


def model(program, profile, *words):
    command = [program, 'model', '-q', '--profile', profile, '--values', str(N), '--format', 'json', *words]
    p = subprocess.run(command, capture_output=True, text=True)
    if p.returncode != 0:
        raise SystemExit(f'FAILED: {" ".join(words)}: {p.stderr}')
    return json.loads(p.stdout)['rows']


def check(row, words, **want):
    global passed, failed
    wrong = [f'{key} is {row[key]!r}, and {value:.12g} by the formula' for key, value in want.items()
             if row[key] is None or abs(row[key] - value) > NEAR * max(abs(value), 1e-9)]
    passed += not wrong
    failed += bool(wrong)
    for text in wrong:
        print(f'FAILED: {" ".join(words)}: {row["scheme"]}, {row["workers"]} workers, {row["bw_bps"]:g}: {text}')


def within(row, words, bounds):
    global passed, failed
    good = bounds[0] <= row['step_s'] <= bounds[1]
    passed += good
    failed += not good
    if not good:
        print(f'FAILED: {" ".join(words)}: {row["scheme"]}, {row["workers"]} workers: step_s is {row["step_s"]!r}, not in {bounds}')


class Setting:
    """A message of n bytes over links of `bps` with latency alpha."""

    def __init__(self, scheme, n, workers, bps, alpha, overhead, servers=1, colocate=False, via='hops'):
        self.scheme, self.n, self.P, self.alpha, self.M, self.colocate, self.via = scheme, n, workers, alpha, servers, colocate, via
        self.beta = 8 * (1 + overhead) / bps
        self.E, self.D, self.A = (N * t for t in TIMES[scheme])
        self.p = 2 ** int(math.log2(workers))
        self.r = workers - self.p
        self.lg = int(math.log2(self.p))

    def ps(self):
        """(communication, codec)"""
        s, senders = 1 / self.M, self.P - 1 if self.colocate else self.P
        way = self.alpha + max((self.n * (self.M - 1) / self.M if self.colocate and self.M == self.P else self.n),
                               senders * s * self.n) * self.beta
        return 2 * way, self.E + s * (self.P * self.A + self.E) + self.D

    def allgather(self):
        codec = self.E + self.P * self.A if self.scheme != 'fp32' else self.P * self.A
        return math.ceil(math.log2(self.P)) * self.alpha + (self.P - 1) * self.n * self.beta, codec

    def sums(self):
        return self.scheme == 'fp32'

    def ring(self):
        P, n = self.P, self.n
        comm = 2 * (P - 1) * self.alpha + 2 * (P - 1) / P * n * self.beta
        if self.sums():
            return comm + (P - 1) / P * n * GAMMA, 0
        # A chunk is decoded while the next one comes, but for the last.
        hidden = (P - 1) * min(self.D / P, self.alpha + n / P * self.beta)
        return comm - hidden, self.E + (P - 1) / P * self.A + self.D

    def recdouble(self):
        n, odd = self.n, self.r > 0
        comm = (self.lg + 2 * odd) * (self.alpha + n * self.beta)
        if self.sums():
            return comm + (self.lg + odd) * n * GAMMA, 0
        return comm, self.lg * (self.E + self.D + self.A) + odd * (2 * self.E + self.A + self.D)

    def rabenseifner(self):
        n, odd, share = self.n, self.r > 0, (self.p - 1) / self.p
        comm = 2 * self.lg * self.alpha + 2 * share * n * self.beta + odd * (2 * self.alpha + 2 * n * self.beta)
        if self.sums():
            return comm + (share + odd) * n * GAMMA, 0
        # The own part is decoded while its partner's comes, and each part while one of twice its size comes.
        hidden = sum(min(self.D * 2 ** max(0, k - 1) / self.p, self.alpha + n * 2 ** k / self.p * self.beta) for k in range(self.lg))
        return comm - hidden, self.E + share * self.A + odd * (self.E + self.A) + self.D

    def bounds(self, comm, codec):
        """Of an exchange that waits for workers beyond a power of two, which keep only some of the others waiting: nothing
        but two thirds of the codec's work is hidden, and no more than an encoding and an addition is waited for."""
        return comm + codec / 3, comm + codec + self.E + self.A


OVERHEADS = {'tc': 66 / 1448, 'jumbo': 90 / 8948, 'none': 0}


def exchanges(program, profile):
    workers = [2, 3, 4, 5, 7, 8, 12]
    for words, alpha, overhead in (((), 50e-6, 'tc'), (('--latency', '2ms', '--overhead', 'jumbo'), 2e-3, 'jumbo'),
                                   (('--latency', '0us', '--overhead', 'none'), 0, 'none')):
        for exchange in ('ps', 'ring', 'recdouble', 'rabenseifner', 'allgather'):
            for servers in (1, 2, 3) if exchange == 'ps' else (0,):
                more = ['--exchange', exchange, '--workers', ','.join(map(str, workers)), '--bw', '100mbps,1gbps', '--scheme',
                        'fp32,int8', '--compute', '20ms', '--update', '1ms', '--mode', 'sequential', *words]
                if servers:
                    more += ['--servers', str(servers), '--placement', 'split']
                rows = model(program, profile, *more)
                assert len(rows) == 4 * len(workers), len(rows)
                base = {}
                for row in rows:
                    s = Setting(row['scheme'], row['payload_bytes'], row['workers'], row['bw_bps'], alpha, OVERHEADS[overhead],
                                servers)
                    comm, codec = getattr(s, exchange)()
                    if s.r > 0 and not s.sums() and exchange in ('recdouble', 'rabenseifner'):
                        within(row, more, [21e-3 + t for t in s.bounds(comm, codec)])
                        continue
                    step = 20e-3 + 1e-3 + comm + codec
                    key = row['workers'], row['bw_bps']
                    if row['scheme'] == 'fp32':
                        base[key] = step
                    check(row, more, comm_s=comm, codec_s=codec, step_s=step, compute_s=21e-3,
                          ratio=32 * N / (8 * row['payload_bytes']), bits_push=8 * row['payload_bytes'] / N,
                          speedup=base[key] / step)


def other_steps(program, profile):
    """A part of the computing beside the exchange; a single worker."""
    words = ['--exchange', 'ps', '--workers', '4', '--bw', '1gbps', '--scheme', 'fp32,int8', '--compute', '20ms', '--hidden', '0.5',
             '--mode', 'sequential']
    for row in model(program, profile, *words):
        s = Setting(row['scheme'], row['payload_bytes'], 4, 1e9, 50e-6, OVERHEADS['tc'])
        comm, codec = s.ps()
        check(row, words, step_s=10e-3 + s.E + max(10e-3, comm + codec - s.E))
    words = ['--exchange', 'ring', '--workers', '1', '--bw', '1gbps', '--scheme', 'fp32', '--compute', '20ms']
    for row in model(program, profile, *words):
        check(row, words, step_s=20e-3, comm_s=0)


exchanges(*sys.argv[1:])
other_steps(*sys.argv[1:])
print(f'model: {passed} passed, {failed} failed')
sys.exit(failed > 0)
