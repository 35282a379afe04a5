"""A bucket's gradients on their way through the codecs and over the network.

All of this happens in one thread of a State, bucket after bucket, so that collective operations begin
in the same order on all ranks and two or three of them can follow one another.

Payloads that can be summed take an allreduce for each round of the scheme. All others are gathered: a
message consists of a head (whether there is something wrong, its length, the payloads' lengths) and
the payloads. The ranks gather as many bytes as the longest message of the step before had, and an
eighth; where that was too little, the rest is gathered after it. Tensors that are sent raw are summed
in the first round, or beside the gathering.
"""

import time

import torch
import torch.distributed as dist

from commcomp import Codec

# The scheme whose payload is the gradient itself, and the types of gradients that are compressed.
RAW = "fp32"
COMPRESSED = (torch.float32, torch.bfloat16, torch.float16)

# The flag that a rank sends with its gradients: they are finite; they are not; its codec failed.
GOOD, NOT_FINITE, FAILED = 0, 1, 2


def is_compressed(p, scheme, min_size):
    """Whether a parameter's gradient travels as a payload of its own; the others are sent raw."""
    return p.numel() >= min_size and p.dtype in COMPRESSED and scheme != RAW


class Tensor:
    """A parameter whose gradient is compressed, with its codec on this rank."""

    def __init__(self, name, index, shape, options, rank):
        self.name = name
        self.codec = Codec(options["scheme"], tuple(shape), seed=options["seed"], rank=rank, tensor=index,
                           name=name, threads=options["threads"])
        self.stochastic = self.codec.stochastic
        sizes = [self.codec.round_bytes(k) for k in range(self.codec.rounds)]
        self.last_round = max((k for k, size in enumerate(sizes) if size > 0), default=0)
        self.before = None  # the state before this step, with a scaler

    def decode_add(self, payload, y, scale, step, rank):
        """Tells the codec the rank only where that matters: it takes as long as a small tensor."""
        self.codec.decode_add(payload, y, scale, step=step, rank=rank if self.stochastic else None)


class Timer:
    """Adds up the seconds spent in codecs and in collective operations."""

    def __init__(self):
        self.codec_s = self.comm_s = 0.0
        self._at = time.perf_counter()

    def _lap(self):
        now = time.perf_counter()
        seconds, self._at = now - self._at, now
        return seconds

    def codec(self):
        self.codec_s += self._lap()

    def comm(self):
        self.comm_s += self._lap()


class Bucket:
    """The tensors of a bucket, which DDP may rebuild after the first step.

    coded    (tensor, its first value, number of values) of those that are compressed
    staging  where its values are on the CPU
    used     the last step in which it was used
    agreed   whether all ranks are known to have the same bucket
    """

    def __init__(self, tensors, group, world=None):
        """tensors: for each parameter a Tensor, or None if it is sent raw, and the parameter. With
        world, there is no group: a process plays that many ranks, each with a bucket of its own."""
        self.group, self.world = group, dist.get_world_size(group) if world is None else world
        self.staging, self.used, self.agreed, self.error = None, -1, False, None
        self.place = None  # the address of the values that views show
        self.parameters = [p for _, p in tensors]  # kept, so that their ids remain theirs
        self.coded, self.raw, at = [], [], 0
        for tensor, p in tensors:
            if tensor is None:
                self.raw.append((at, p.numel()))
            else:
                self.coded.append((tensor, at, p.numel()))
            at += p.numel()
        shapes = ";".join("x".join(map(str, p.shape)) for _, p in tensors)
        self.text = f"{len(tensors)} tensors, {at} values, shapes {shapes}"
        self.raw_values = sum(n for _, n in self.raw)
        if self.coded:
            self._make_buffers()

    def _make_buffers(self):
        codecs = [t.codec for t, _, _ in self.coded]
        self.rounds = codecs[0].rounds
        if self.rounds > 0:
            sizes = [sum(c.round_bytes(k) for c in codecs) // 4 for k in range(self.rounds)]
            sizes[0] += self.raw_values
            self.sums = [torch.zeros(size + 2) for size in sizes]  # two for flags
        else:
            self.head = torch.zeros(2 + len(codecs), dtype=torch.int64)
            self.head_bytes = self.head.numel() * 8
            self.message = torch.empty(self.head_bytes + sum(c.bound for c in codecs), dtype=torch.uint8)
            self.room = None  # for a message, in bytes, from the second step on
            self.raw_sum = torch.empty(self.raw_values)

    def exchange(self, x, step, finite, timer):
        """Replaces x, float32 on the CPU, by its mean over the ranks. Returns the flag of each rank,
        and the bytes of payloads and of messages; if any flag is not GOOD, x and the codecs' states
        are undefined."""
        self.timer = timer
        self.see(x)
        timer.codec()
        return (self._sum if self.rounds > 0 else self._gather)(step, finite)

    def see(self, x):
        """Has the bucket work on the values x."""
        if self.place != x.data_ptr():
            self.place = x.data_ptr()
            self.views = [(t, x[begin:begin + n]) for t, begin, n in self.coded]
            self.raw_views = [x[begin:begin + n] for begin, n in self.raw]

    # --- raw tensors ---

    def _take_raw(self, out):
        if self.raw:
            torch.cat(self.raw_views, out=out)
            out.mul_(1.0 / self.world)

    def _give_raw(self, values):
        for view, part in zip(self.raw_views, values.split([n for _, n in self.raw])):
            view.copy_(part)

    # --- sums ---

    def _sum(self, step, finite):
        flag, payload, sent = (GOOD if finite else NOT_FINITE), 4 * self.raw_values, 0
        for k, floats in enumerate(self.sums):
            flags = floats[-2:].zero_()
            try:
                payload += self.encode_round(k, step) if flag == GOOD else 0
            except Exception as e:
                flag, self.error = FAILED, e
            if flag != GOOD:
                floats.zero_()
                flags[flag - 1] = 1
            self.timer.codec()
            dist.all_reduce(floats, group=self.group)
            sent += 4 * floats.numel()
            self.timer.comm()
            if flags.any():
                return self._flags_of(flag), payload, sent
            self.absorb(k, floats, step)
            self.timer.codec()
        return [GOOD] * self.world, payload, sent

    def encode_round(self, k, step):
        """Fills self.sums[k]; returns how many bytes of it are payloads."""
        floats, self.spans = self.sums[k], []
        begin = at = self.raw_values if k == 0 else 0
        if k == 0:
            self._take_raw(floats[:begin])
        for tensor, x in self.views:
            count = len(tensor.codec.encode_round(k, x, floats[at:-2], step=step))
            self.spans.append((at, count))
            at += count
        floats[at:-2].zero_()  # a step in which the scheme sends nothing, here as on all ranks
        return 4 * (at - begin)

    def absorb(self, k, floats, step):
        """Takes the sum of round k over the ranks; after the last round, the values are the mean."""
        if k == 0:
            self._give_raw(floats[:self.raw_values])
        for (tensor, y), (first, size) in zip(self.views, self.spans):
            if k == tensor.last_round:
                y.zero_()
            tensor.codec.absorb(k, floats[first:first + size], y, 1.0 / self.world, step=step)

    def _flags_of(self, flag):
        """Which rank had which flag, after a sum in which one was not GOOD."""
        mine = torch.tensor([flag])
        flags = [torch.empty_like(mine) for _ in range(self.world)]
        dist.all_gather(flags, mine, group=self.group)
        self.timer.comm()
        return [int(f) for f in flags]

    # --- gathered payloads ---

    def encode(self, step, finite=True):
        """Fills self.raw_sum with this rank's share, and self.message; returns its length."""
        self._take_raw(self.raw_sum)
        head, at = self.head.zero_(), self.head_bytes
        head[0] = GOOD if finite else NOT_FINITE
        try:
            for i, (tensor, x) in enumerate(self.views if finite else ()):
                size = len(tensor.codec.encode(x, self.message[at:], step=step))
                head[2 + i] = size
                at += size
        except Exception as e:
            head[0], self.error, at = FAILED, e, self.head_bytes
        head[1] = at
        self.message[:self.head_bytes].view(torch.int64).copy_(head)
        return at

    def _all_gather(self, mine):
        found = torch.empty(self.world, mine.numel(), dtype=mine.dtype)
        work = dist.all_gather(list(found.unbind()), mine, group=self.group, async_op=True)
        return found, work

    def _gather_messages(self, length):
        """The messages of all ranks."""
        if self.room is None:  # the first step: lengths first
            lengths, work = self._all_gather(self.head[1:2])
            work.wait()
            self.room = int(lengths.max())
        sent = self.room
        found, work = self._all_gather(self.message[:self.room])
        work.wait()
        heads = found[:, :self.head_bytes].contiguous().view(torch.int64).tolist()
        longest = max(head[1] for head in heads)
        if longest > self.room:
            rest, work = self._all_gather(self.message[self.room:longest])
            work.wait()
            found = torch.cat([found, rest], 1)
            sent = longest
        self.room = min(longest + longest // 8, self.message.numel())
        return found, heads, sent

    def _gather(self, step, finite):
        length = self.encode(step, finite)
        self.timer.codec()
        raw = None
        if self.raw:
            raw = dist.all_reduce(self.raw_sum, group=self.group, async_op=True)
        found, heads, sent = self._gather_messages(length)
        if raw is not None:
            raw.wait()
        self.timer.comm()
        payload = length - self.head_bytes + 4 * self.raw_values
        flags = [head[0] for head in heads]
        if any(flags):
            return flags, payload, sent + 4 * self.raw_values
        self.decode(heads, found, self.raw_sum, step)
        self.timer.codec()
        return flags, payload, sent + 4 * self.raw_values

    def decode(self, heads, messages, raw_sum, step):
        """The values become the mean of what all ranks sent."""
        self._give_raw(raw_sum)
        for _, y in self.views:
            y.zero_()
        for rank, (head, message) in enumerate(zip(heads, messages)):
            at = self.head_bytes
            for (tensor, y), size in zip(self.views, head[2:]):
                if size > 0:  # nothing in a step that sends nothing
                    tensor.decode_add(message[at:at + size], y, 1.0 / self.world, step, rank)
                at += size
