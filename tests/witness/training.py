"""Data-parallel trainings of a perceptron in numpy, from the documents alone (docs/train.md, docs/payloads.md), which
`commcomp train` must repeat: losses, accuracies, bits and weights.

  training.py PROGRAM FOLDER      FOLDER has the digits (train/data/digits)

Prints what differs, and "N passed, M failed"."""
import gzip
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np

f32 = np.float32
HIDDEN, CLASSES, RATE, MOMENTUM, STEPS, BATCH = 8, 10, 0.1, 0.9, 8, 10
ORDER, INITIAL = 0x64617461, 0x696e6974 # streams of draws that are no codec's


# --- random numbers: docs/payloads.md ---

def mix(z):
    z &= 2 ** 64 - 1
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 % 2 ** 64
    z = (z ^ z >> 27) * 0x94d049bb133111eb % 2 ** 64
    return z ^ z >> 31


def bits(indices, seed, rank=-1, direction=0, step=0, tensor=0, stream=0):
    """The 32-bit numbers of these elements."""
    golden, h = 0x9e3779b97f4a7c15, None
    h = mix(seed + golden)
    for field in (rank % 2 ** 64, direction, step, tensor, stream, 0):
        h = mix(h ^ (field * golden + 0xd1b54a32d192ed03) % 2 ** 64)
    a, b = np.uint32(h % 2 ** 32), np.uint32(h >> 32)
    with np.errstate(over='ignore'):
        x = np.asarray(indices, np.uint32) + a
        x ^= x >> np.uint32(16)
        x *= np.uint32(0x21f0aaad)
        x ^= x >> np.uint32(15)
        x ^= b
        x *= np.uint32(0xd35a2d97)
    return x ^ x >> np.uint32(15)


def unit(n, seed, **place):
    return (bits(np.arange(n), seed, **place) >> np.uint32(8)).astype(f32) * f32(2 ** -24)


# --- codecs: encode(x, place) gives decoded values and the payload's bytes; a residual is kept ---

class Raw:
    feedback = False

    def quantize(self, x, place):
        return x.copy(), 4 * x.size


class Ternary(Raw):
    def quantize(self, x, place):
        m = np.abs(x).max()
        u = unit(x.size, **place)
        trit = np.where(u.astype(float) * float(m) < np.abs(x).astype(float), np.sign(x), 0).astype(f32)
        return m * trit, 4 + -(-x.size // 5)


class Topk(Raw):
    feedback = True

    def __init__(self, k, bucket):
        self.k, self.bucket = k, bucket

    def quantize(self, x, place):
        y, size = np.zeros_like(x), 0
        for begin in range(0, x.size, self.bucket):
            part = x[begin:begin + self.bucket]
            count = min(self.k, part.size)
            chosen = np.lexsort((np.arange(part.size), -np.abs(part)))[:count] # the lower index wins a tie
            y[begin + chosen] = part[chosen]
            size += 6 * count
        return y, size


class ThreeLc(Raw):
    feedback = True

    def __init__(self, s):
        self.s = f32(s)

    def quantize(self, x, place):
        m = self.s * np.abs(x).max()
        trit = np.where((np.abs(x) < m * f32(0.5)) | (m == 0), 0, np.sign(x)).astype(int)
        length = -(-x.size // 5)
        digit = np.ones(5 * length, int)
        digit[:x.size] = trit + 1
        byte = np.array([81, 27, 9, 3, 1]) @ digit.reshape(5, length)
        size, run = 4, 0
        for b in list(byte) + [-1]: # runs of 121 are cut into 14s; the rest is a byte, if it is not empty
            if b == 121:
                run += 1
                continue
            size += run // 14 + (run % 14 > 0) + (b >= 0)
            run = 0
        return m * trit.astype(f32), size


SCHEMES = {'fp32': Raw, 'ternary': Ternary, 'topk': lambda: Topk(16, 512), 'topk:k=4,bucket=64': lambda: Topk(4, 64),
           '3lc': lambda: ThreeLc(1), '3lc:s=1.5': lambda: ThreeLc(1.5)}


class Sender:
    """A codec for all tensors of one sender, with a residual for each."""

    def __init__(self, scheme, tensors):
        self.codec = SCHEMES[scheme]()
        self.residual = [np.zeros(t.size, f32) for t in tensors]

    def send(self, tensors, **place):
        sent, size = [], 0
        for t, x in enumerate(tensors):
            x = x.ravel() + (self.residual[t] if self.codec.feedback else f32(0))
            y, n = self.codec.quantize(x, dict(place, tensor=t))
            self.residual[t] = x - y
            sent.append(y.reshape(tensors[t].shape))
            size += n
        return sent, size


# --- the data and the net ---

def idx(path):
    with gzip.open(path) as f:
        data = f.read()
    dims = struct.unpack(f'>{data[3]}I', data[4:4 + 4 * data[3]])
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(dims)


class Digits:
    def __init__(self, folder):
        read = lambda name: idx(os.path.join(folder, name + '.gz'))
        train, test = read('train-images-idx3-ubyte'), read('t10k-images-idx3-ubyte')
        mean, scale = f32(train.mean()), f32(1 / train.astype(float).std())
        flat = lambda images: ((images.reshape(len(images), -1).astype(f32) - mean) * scale).astype(f32)
        self.x, self.test = flat(train), flat(test)
        self.label = read('train-labels-idx1-ubyte').astype(int)
        self.test_label = read('t10k-labels-idx1-ubyte').astype(int)

    def order(self, epoch, seed):
        """Fisher and Yates, from the last place on."""
        order = np.arange(len(self.x))
        for i in range(len(order), 1, -1):
            r = int(bits([i], seed, step=epoch, stream=ORDER)[0])
            k = r * i >> 32
            order[[i - 1, k]] = order[[k, i - 1]]
        return order


def initial(inputs, seed):
    shapes = [((HIDDEN, inputs), math.sqrt(6 / inputs)), ((HIDDEN,), 0), ((CLASSES, HIDDEN), math.sqrt(3 / HIDDEN)),
              ((CLASSES,), 0)]
    return [(f32(bound) * (f32(2) * unit(int(np.prod(shape)), seed, tensor=t, stream=INITIAL) - f32(1)))
            .reshape(shape).astype(f32) for t, (shape, bound) in enumerate(shapes)]


def forward(w, x):
    hidden = np.maximum(x @ w[0].T + w[1], 0)
    out = (hidden @ w[2].T + w[3]).astype(float)
    out -= out.max(1, keepdims=True)
    log = out - np.log(np.exp(out).sum(1, keepdims=True))
    return hidden, log


def gradient(w, x, label):
    hidden, log = forward(w, x)
    d = np.exp(log)
    d[np.arange(len(x)), label] -= 1
    d = (d / len(x)).astype(f32)
    back = (d @ w[2]) * (hidden > 0)
    return [back.T @ x, back.sum(0), d.T @ hidden, d.sum(0)], -log[np.arange(len(x)), label].mean()


def test(w, data):
    _, log = forward(w, data.test)
    return -log[np.arange(len(log)), data.test_label].mean(), (log.argmax(1) == data.test_label).mean()


# --- trainings ---

class Optimizer:
    """SGD with momentum, at a constant rate."""

    def __init__(self, w):
        self.v = [np.zeros_like(t) for t in w]

    def step(self, w, g):
        for t in range(len(w)):
            self.v[t] = f32(MOMENTUM) * self.v[t] + g[t]
            w[t] = w[t] - f32(RATE) * self.v[t]


def train(data, scheme, workers, pull, seed):
    """pull: 'delta', 'mean', or None, where every worker has every payload. Rows of (test loss, accuracy, the same of
    the workers' copy, training loss, bits pushed, bits pulled, what the workers' copy lacks in steps), and the
    weights."""
    w = initial(data.x.shape[1], seed)
    theirs = [t.copy() for t in w]
    values = sum(t.size for t in w)
    pushes, server, optimizer = [Sender(scheme, w) for _ in range(workers)], Sender(scheme, w), Optimizer(w)
    order, rows = data.order(0, seed), []
    for step in range(STEPS):
        mean, loss, pushed = [np.zeros_like(t) for t in w], 0, 0
        for rank in range(workers):
            batch = order[(step * workers + rank) * BATCH:][:BATCH]
            g, own = gradient(theirs, data.x[batch], data.label[batch])
            sent, size = pushes[rank].send(g, seed=seed, rank=rank, direction=0, step=step)
            mean = [a + f32(1 / workers) * b for a, b in zip(mean, sent)]
            loss += own / workers
            pushed += size / workers
        pulled = 0
        if pull == 'mean':
            mean, pulled = server.send(mean, seed=seed, rank=-1, direction=1, step=step)
        before = [t.copy() for t in w]
        optimizer.step(w, mean)
        if pull == 'delta':
            delta, pulled = server.send([a - b for a, b in zip(w, before)], seed=seed, rank=-1, direction=1, step=step)
            theirs = [a + b for a, b in zip(theirs, delta)]
        else:
            theirs = [t.copy() for t in w]
        norm = lambda tensors: math.sqrt(sum(float((t.astype(float) ** 2).sum()) for t in tensors))
        behind = norm([a - b for a, b in zip(w, theirs)]) / norm([a - b for a, b in zip(w, before)])
        rows.append((*test(w, data), *test(theirs, data), loss, 8 * pushed / values, 8 * pulled / values, behind))
    return rows, theirs


def read_weights(path):
    with open(path, 'rb') as f:
        size = struct.unpack('<Q', f.read(8))[0]
        head, rest = json.loads(f.read(size)), f.read()
    return {name: np.frombuffer(rest[slice(*t['data_offsets'])], f32).reshape(t['shape'])
            for name, t in head.items() if name.startswith('weights.')}


def compare(program, data, scheme, workers, words, pull, seed, far):
    with tempfile.TemporaryDirectory() as folder:
        command = [program, 'train', '-q', '--net', f'mlp:{HIDDEN}', '--workers', str(workers), '--batch', str(BATCH),
                   '--steps', str(STEPS), '--eval-every', '1', '--rate', str(RATE), '--momentum', str(MOMENTUM),
                   '--schedule', 'constant', '--warmup', '0', '--seed', str(seed), '--scheme', scheme, '--checkpoint',
                   folder, '--format', 'json', *words]
        p = subprocess.run(command, capture_output=True, text=True)
        if p.returncode != 0:
            return [p.stderr.strip()]
        got = [r for r in json.loads(p.stdout)['rows'] if r['kind'] == 'eval']
        weights = read_weights(os.path.join(folder, os.listdir(folder)[0]))
    want, ours = train(data, scheme, workers, pull, seed)
    wrong = [] if len(got) == STEPS else [f'{len(got)} evaluations']
    samples = len(data.test)
    for row, (loss, accuracy, loss_w, accuracy_w, train_loss, push, pulled, behind) in zip(got, want):
        at = f'step {row["step"]}: '
        for key, value, near in (('loss', loss, far * loss), ('accuracy', accuracy, 1.01 / samples),
                                 ('train_loss', train_loss, far * train_loss), ('bits_push', push, 1e-9),
                                 ('bits_pull', pulled, 1e-9), ('loss_workers', loss_w, far * loss_w),
                                 ('accuracy_workers', accuracy_w, 1.01 / samples),
                                 ('residual_pull', behind, 100 * far)):
            if row.get(key) is None and (key.endswith('workers') or key == 'residual_pull' or (key == 'bits_pull' and pulled == 0)):
                continue
            if not abs(row[key] - value) <= near:
                wrong.append(f'{at}{key} is {row[key]:.9g}, and {value:.9g} in numpy')
    for name, w in zip(('fc1.weight', 'fc1.bias', 'fc2.weight', 'fc2.bias'), ours):
        apart = np.abs(weights['weights.' + name] - w).max()
        if apart > 20 * far:
            wrong.append(f'{name} is {apart:.2g} off')
    return wrong


def main():
    program, data = sys.argv[1], Digits(sys.argv[2])
    cases = []
    for scheme in SCHEMES:
        for workers, words, pull in ((3, [], 'delta'), (4, ['--servers', '3'], 'delta'), (4, ['--pull', 'mean'], 'mean'),
                                     (3, ['--pull', 'mean', '--servers', '2'], 'mean'),
                                     (6, ['--exchange', 'allgather'], None), (3, ['--exchange', 'allgather'], None)):
            cases.append((scheme, workers, words, pull))
    for exchange in ('ring', 'recdouble', 'rabenseifner'):
        cases += [('fp32', workers, ['--exchange', exchange], None) for workers in (3, 4, 6)]
    for exchange in ('ssar-recdouble', 'ssar-split', 'ssar-rabenseifner', 'dsar-split'):
        cases += [('topk', workers, ['--exchange', exchange], None) for workers in (3, 4)]
    passed = failed = 0
    for i, (scheme, workers, words, pull) in enumerate(cases):
        # Where values tie nearly, another rounding of a sum chooses another value.
        far = 1e-3 if scheme.startswith('topk') and pull == 'delta' else 2e-5
        wrong = compare(program, data, scheme, workers, words, pull, 1 + i % 5, far)
        passed += not wrong
        failed += bool(wrong)
        for text in wrong[:3]:
            print(f'FAILED: {scheme}, {workers} workers, {" ".join(words) or "ps"}: {text}')
    print(f'training: {passed} passed, {failed} failed')
    sys.exit(failed > 0)


main()
