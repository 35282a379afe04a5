#!/usr/bin/python3
"""Compares the nets of train/ with PyTorch (python3-torch): gradients and images per second.

  make build/train_speed
  tools/train_torch.py gradients     of both in float32, relative to PyTorch's in float64
  tools/train_torch.py speed [SECONDS] [THREADS...] [NET]  both in turn, the best of three rounds
                                     each; of the nets whose names begin so
"""
import functools
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
import torch.nn.functional as F

PROGRAM = "build/train_speed"
GRADIENTS = [("mlp:500-500", "1x28x28", 32), ("resnet20", "3x16x16", 32), ("resnet20", "3x32x32", 4),
             ("resnet110", "3x8x8", 8), ("resnet110", "3x8x8", 16), ("resnet110", "3x16x16", 4),
             ("resnet110", "3x32x32", 1), ("convnet", "3x32x32", 32), ("convnet", "3x8x8", 8),
             ("lstm", "1x28x28", 32), ("transformer", "1x28x28", 32), ("gpt", "1x1x64", 4),
             ("gpt:positions=learned,mlp=swiglu", "1x1x64", 4)]
SPEED = [("resnet20", "3x8x8", 32), ("resnet20", "3x16x16", 32), ("resnet20", "3x32x32", 32),
         ("resnet110", "3x16x16", 32), ("mlp:500-500", "1x28x28", 32), ("mlp:4096", "1x28x28", 32),
         ("convnet", "3x32x32", 32), ("lstm", "1x28x28", 32), ("transformer", "1x28x28", 32),
         ("gpt", "1x1x64", 4), ("gpt", "1x1x64", 16),
         ("gpt:layers=2,width=96,heads=4,context=128", "1x1x128", 8),
         ("gpt:layers=4,width=128,heads=4,context=128", "1x1x128", 8)]


class Relu:
    """max(x, 0), which after begin() notes the inputs nearest to 0, and takes those in `other` as on
    its other side."""

    near, other, calls = [], frozenset(), None  # (magnitude, call, index); {(call, index)}

    def __call__(self, x):
        if self.calls is None:
            return F.relu(x)
        values, indices = x.detach().abs().flatten().topk(4, largest=False)
        self.near += [(float(v), self.calls, int(i)) for v, i in zip(values, indices)]
        positive = (x.detach() > 0).flatten()
        for i in (i for call, i in self.other if call == self.calls):
            positive[i] = not positive[i]
        self.calls += 1
        return x * positive.view(x.shape)

    def begin(self, other):
        self.near, self.other, self.calls = [], other, 0


relu = Relu()


def linear(w, name, x):
    return F.linear(x, w[name + ".weight"], w[name + ".bias"])


def norm(w, name, x):
    return F.batch_norm(x, None, None, w[name + ".weight"], w[name + ".bias"], training=True)


def mlp(w, x):
    x = x.flatten(1)
    for i in range(1, len(w) // 2):
        x = relu(linear(w, f"fc{i}", x))
    return linear(w, f"fc{len(w) // 2}", x)


def resnet(w, x):
    x = relu(norm(w, "bn1", F.conv2d(x, w["conv1.weight"], padding=1)))
    i = 0
    while f"layers.{i}.c1.weight" in w:
        p = f"layers.{i}."
        more = w[p + "c1.weight"].shape[0] - x.shape[1]
        stride = 2 if more > 0 else 1
        y = relu(norm(w, p + "b1", F.conv2d(x, w[p + "c1.weight"], stride=stride, padding=1)))
        y = norm(w, p + "b2", F.conv2d(y, w[p + "c2.weight"], padding=1))
        x = relu(y + F.pad(x[:, :, ::stride, ::stride], (0, 0, 0, 0, 0, more)))
        i += 1
    return linear(w, "fc", x.mean((2, 3)))


def convnet(w, x):
    for name, halved in [("0", 1), ("3", 1), ("6", 0), ("8", 0), ("10", 1)]:
        p = "features." + name
        x = relu(F.conv2d(x, w[p + ".weight"], w[p + ".bias"], padding=1))
        x = F.max_pool2d(x, 2) if halved else x
    x = relu(linear(w, "classifier.1", x.flatten(1)))
    return linear(w, "classifier.6", relu(linear(w, "classifier.4", x)))


def rows(x):
    return x.permute(0, 2, 1, 3).flatten(2)  # images, rows, channels x columns


def lstm(w, x):
    x = rows(x)
    parts = [w["lstm." + n] for n in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")]
    zero = x.new_zeros(1, x.shape[0], parts[1].shape[1])
    y, _, _ = torch._VF.lstm(x, (zero, zero), parts, True, 1, 0.0, True, False, True)
    return linear(w, "fc", y[:, -1])


def layer_norm(w, name, x):
    return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"])


def transformer(w, x):
    x = linear(w, "embed", rows(x)) + w["position.weight"]
    n, t, d = x.shape
    i = 0
    while f"layers.{i}.norm1.weight" in w:
        p = f"layers.{i}."
        y = linear(w, p + "self_attn.in_proj", layer_norm(w, p + "norm1", x))
        q, k, v = (s.view(n, t, 4, d // 4).transpose(1, 2) for s in y.chunk(3, -1))
        y = torch.softmax(q @ k.transpose(2, 3) / (d // 4) ** 0.5, -1) @ v
        x = x + linear(w, p + "self_attn.out_proj", y.transpose(1, 2).reshape(n, t, d))
        y = relu(linear(w, p + "linear1", layer_norm(w, p + "norm2", x)))
        x = x + linear(w, p + "linear2", y)
        i += 1
    return linear(w, "fc", layer_norm(w, "norm", x).mean(1))


def turn(x):
    """Rotary positions: x is batch, heads, places, features."""
    places, half = x.shape[2], x.shape[3] // 2
    power = torch.arange(half, dtype=torch.float64) / half
    angle = torch.arange(places, dtype=torch.float64)[:, None] * 10000 ** -power
    cosine, sine = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cosine - b * sine, a * sine + b * cosine], -1)


def gpt(w, x, heads):
    tokens = x.flatten(1).long()
    x = F.embedding(tokens, w["embed.weight"])
    if "position.weight" in w:
        x = x + w["position.weight"]
    n, t, d = x.shape
    hidden = torch.full((t, t), float("-inf"), dtype=x.dtype).triu(1)
    i = 0
    while f"blocks.{i}.norm1.weight" in w:
        p = f"blocks.{i}."
        y = F.linear(F.layer_norm(x, (d,), w[p + "norm1.weight"]), w[p + "attn.in.weight"])
        q, k, v = (s.view(n, t, heads, d // heads).transpose(1, 2) for s in y.chunk(3, -1))
        if "position.weight" not in w:
            q, k = turn(q), turn(k)
        y = torch.softmax(q @ k.transpose(2, 3) / (d // heads) ** 0.5 + hidden, -1) @ v
        x = x + F.linear(y.transpose(1, 2).reshape(n, t, d), w[p + "attn.out.weight"])
        y = F.linear(F.layer_norm(x, (d,), w[p + "norm2.weight"]), w[p + "mlp.in.weight"])
        if w[p + "mlp.out.weight"].shape[1] == y.shape[2]:
            y = F.gelu(y, approximate="tanh")
        else:
            gate, value = y.chunk(2, -1)
            y = F.silu(gate) * value
        x = x + F.linear(y, w[p + "mlp.out.weight"])
        i += 1
    return F.linear(F.layer_norm(x, (d,), w["norm.weight"]), w["embed.weight"]).flatten(0, 1)


FAMILIES = {"mlp": mlp, "resnet": resnet, "convnet": convnet, "lstm": lstm, "transformer": transformer, "gpt": gpt}


class Case:
    """A net of ours with its weights, a batch and our gradient."""

    def __init__(self, net, dims, batch):
        self.forward = next(f for name, f in FAMILIES.items() if net.startswith(name))
        with tempfile.NamedTemporaryFile() as f:
            text = subprocess.run([PROGRAM, net, dims, str(batch), "dump", f.name], check=True,
                                  stdout=subprocess.PIPE, text=True).stdout.splitlines()
            values = np.fromfile(f.name, np.float32)
        self.loss = float(text[0])
        self.tensors = [(name, tuple(int(d) for d in shape.split("x")))
                        for name, shape in (line.split() for line in text[1:])]
        n = sum(int(np.prod(s)) for _, s in self.tensors)
        self.weights, images, self.gradient = values[:n], values[n:-n], values[-n:]
        self.images = images.reshape([batch] + [int(d) for d in dims.split("x")])
        self.labels = torch.arange(batch * (self.images.shape[-1] if net.startswith("gpt") else 1)) % 10
        if net.startswith("gpt"):
            heads = re.search("heads=([0-9]+)", net)
            self.forward = functools.partial(gpt, heads=int(heads.group(1)) if heads else 2)

    def parameters(self, dtype):
        w, at = {}, 0
        for name, shape in self.tensors:
            n = int(np.prod(shape))
            w[name] = torch.tensor(self.weights[at:at + n].reshape(shape), dtype=dtype)
            w[name].requires_grad_()
            at += n
        return w

    def torch_gradient(self, dtype, other=frozenset()):
        w = self.parameters(dtype)
        relu.begin(other)
        loss = F.cross_entropy(self.forward(w, torch.tensor(self.images, dtype=dtype)), self.labels)
        loss.backward()
        return float(loss), torch.cat([w[name].grad.flatten().double() for name, _ in self.tensors])

    def error(self, a, b):
        """Relative, of a gradient as a whole, and of the worst tensor among those that matter."""
        worst, at = 0, 0
        for _, shape in self.tensors:
            n = int(np.prod(shape))
            part = b[at:at + n]
            if part.norm() > 1e-3 * b.norm():
                worst = max(worst, float((a[at:at + n] - part).norm() / part.norm()))
            at += n
        return float((a - b).norm() / b.norm()), worst


def sides(case, gradient, exact):
    """The inputs of ReLUs that must be on the other side of 0 in PyTorch's float64 for its gradient
    to come near this one, and how near: of the twelve nearest to 0, those that help."""
    other, best = frozenset(), case.error(gradient, exact)[0]
    case.torch_gradient(torch.float64)
    for _, call, i in sorted(relu.near)[:12]:
        if best < 1e-5:
            break
        error = case.error(gradient, case.torch_gradient(torch.float64, other | {(call, i)})[1])[0]
        if error < best:
            other, best = other | {(call, i)}, error
    return len(other), best


def gradients():
    """Where a net has many values, some are so near 0 that rounding decides on which side of a
    ReLU they are. The last column is the difference with these taken on the other side."""
    print("                                         relative difference to PyTorch in float64")
    print("net           input    batch  gradient   loss      gradient  worst tensor  other side")
    for net, dims, batch in GRADIENTS:
        case = Case(net, dims, batch)
        loss, exact = case.torch_gradient(torch.float64)
        rounded_loss, rounded = case.torch_gradient(torch.float32)
        for name, its_loss, gradient in [("ours", case.loss, torch.tensor(case.gradient).double()),
                                         ("PyTorch's", rounded_loss, rounded)]:
            whole, worst = case.error(gradient, exact)
            count, left = sides(case, gradient, exact)
            print(f"{net:13} {dims:8} {batch:5}  {name:9} {abs(its_loss - loss) / loss:9.1e} "
                  f"{whole:9.1e} {worst:9.1e} " + (f"{count:7} {left:9.1e}" if count else ""), flush=True)


def torch_round(case, w, images, optimizer, seconds, threads):
    clock = time.thread_time if threads == 1 else time.perf_counter
    steps, begin = 0, clock()
    while clock() - begin < seconds:
        optimizer.zero_grad()
        F.cross_entropy(case.forward(w, images), case.labels).backward()
        optimizer.step()
        steps += 1
    return steps * len(images) / (clock() - begin)


def speed(seconds, threads_list, begin):
    print("net           input    batch  threads  images/s  PyTorch  channels last")
    for net, dims, batch in [case for case in SPEED if case[0].startswith(begin)]:
        case = Case(net, dims, batch)
        for threads in threads_list:
            torch.set_num_threads(threads)
            best, ours = [0.0, 0.0], 0.0
            setups = []
            for layout in (torch.contiguous_format, torch.channels_last):
                w = case.parameters(torch.float32)
                images = torch.tensor(case.images).contiguous(memory_format=layout)
                setups.append((w, images, torch.optim.SGD(list(w.values()), lr=0.01, momentum=0.9)))
            for _ in range(3):
                text = subprocess.run([PROGRAM, net, dims, str(batch), str(threads), str(seconds / 3)],
                                      check=True, stdout=subprocess.PIPE, text=True).stdout
                ours = max(ours, float(text.split(": ")[1].split()[0]))
                for i, setup in enumerate(setups[:2 if "net" in net else 1]):
                    torch_round(case, *setup, 0, threads)
                    best[i] = max(best[i], torch_round(case, *setup, seconds, threads))
            print(f"{net:13} {dims:8} {batch:5}  {threads:7}  {ours:8.0f} {best[0]:8.0f}"
                  f" {best[1]:14.0f}", flush=True)


if sys.argv[1:2] == ["gradients"]:
    gradients()
elif sys.argv[1:2] == ["speed"]:
    nets = [a for a in sys.argv[2:] if a[:1].isalpha()]
    numbers = [a for a in sys.argv[2:] if a not in nets]
    speed(float(numbers[0]) if numbers else 1, [int(t) for t in numbers[1:]] or [1, 2], nets[0] if nets else "")
else:
    sys.exit(__doc__)
