"""The collectives of `sim --system fsdp` beside those of PyTorch's FullyShardedDataParallel: which, in which order, of how
many values. PyTorch 1.13 has FSDP for accelerators only, so CUDA's streams and the two collectives that gloo lacks have
stand-ins here; what FSDP calls when is its own."""

import contextlib
import dataclasses
import json

import pytest

import ranks

WIDTHS = [(64, 64), (64, 80), (80, 96)]
SIZES = [i * o + o for i, o in WIDTHS]


def _hashable_defaults():
    """Python 3.11 refuses dataclasses' defaults that PyTorch 1.13 has."""
    make = dataclasses._process_class

    def hashable(cls, *args, **more):
        made = make(cls, *args, **more)
        if made.__hash__ is None:
            made.__hash__ = object.__hash__
        return made

    dataclasses._process_class = hashable


class _Stream:
    """Of an accelerator: everything is over when its call returns."""

    def __init__(self, *_, **__):
        pass

    def wait_stream(self, *_):
        pass

    def wait_event(self, *_):
        pass

    def record_event(self, *_):
        return _Event()

    def synchronize(self):
        pass


class _Event(_Stream):
    def record(self, *_):
        pass

    def wait(self, *_):
        pass

    def query(self):
        return True


def _stand_in(torch):
    cuda = torch.cuda
    cuda.Stream, cuda.Event = _Stream, _Event
    cuda.current_stream = lambda *_: _Stream()
    cuda.current_device = lambda: 0
    cuda.stream = lambda _: contextlib.nullcontext()
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 1
    cuda.synchronize = cuda.set_device = lambda *_: None
    torch.Tensor.cuda = lambda self, *_, **__: self
    torch.Tensor.record_stream = lambda self, *_: None
    torch.Tensor.is_cuda = property(lambda self: True)


def _fsdp(rank, world):
    """The calls of the second of two steps: ("gather" or "reduce", values)."""
    import torch
    import torch.distributed as dist
    calls = []

    def gather(out, own, group=None, async_op=False):
        calls.append(("gather", out.numel()))
        parts = list(out.chunk(world))
        dist.all_gather(parts, own)
        out.copy_(torch.cat([p.flatten() for p in parts]).view_as(out))

    def reduce(out, whole, op=None, group=None, async_op=False):
        calls.append(("reduce", whole.numel()))
        total = whole.clone()
        dist.all_reduce(total)
        out.copy_(total.chunk(world)[rank])

    dist._all_gather_base = gather
    dist._reduce_scatter_base = reduce
    _hashable_defaults()
    _stand_in(torch)
    from torch.distributed.fsdp import BackwardPrefetch, FullyShardedDataParallel as FSDP
    FSDP._get_compute_device = lambda *_: torch.device("cpu")
    how = {"backward_prefetch": BackwardPrefetch.BACKWARD_PRE, "forward_prefetch": True}
    net = FSDP(torch.nn.Sequential(*[FSDP(torch.nn.Linear(i, o), **how) for i, o in WIDTHS]), **how)
    for _ in range(2):
        calls.clear()
        net(torch.randn(4, WIDTHS[0][0])).sum().backward()
    return [c for c in calls if c[1] > world]  # the others check the order of the layers


def _simulated(commcomp, folder):
    """The same of worker 0, by the timeline: a message belongs to a collective and a layer."""
    tensors = [{"name": f"{i}.{kind}", "shape": shape}
               for i, (inp, out) in enumerate(WIDTHS)
               for kind, shape in (("weight", [out, inp]), ("bias", [out]))]
    net, timeline = folder / "net.json", folder / "timeline.json"
    net.write_text(json.dumps({"schema": "commcomp-net/1", "name": "layers", "tensors": tensors}))
    commcomp("sim", "-q", "--system", "fsdp", "--net", net, "--workers", 2, "--bw", "1gbps", "--compute",
             "10ms", "--scheme", "fp32", "--steps", 1, "--warmup", 0, "--timeline", timeline)
    sent = {}
    for event in json.loads(timeline.read_text())["traceEvents"]:
        if event["ph"] == "b" and event["args"]["from"] == "worker 0":
            message = event["args"]["message"]
            begun, count = sent.get(message, (event["ts"], 0))
            sent[message] = min(begun, event["ts"]), count + event["args"]["bytes"] // 4
    layers = len(WIDTHS)
    return [("reduce" if message // layers == 2 else "gather", message % layers, sent[message][1])
            for message in sorted(sent, key=lambda m: sent[m][0])]


def test_order_and_sizes(commcomp, program, tmp_path):
    if not (program.parent / "commcomp-rank-sim").exists():
        pytest.skip("commcomp-rank-sim is not built")
    torch = pytest.importorskip("torch")
    if not torch.__version__.startswith("1."):
        pytest.skip(f"PyTorch {torch.__version__}: the stand-ins are for 1.13")
    ours = _simulated(commcomp, tmp_path)
    for theirs in ranks.run(2, _fsdp, limit=120):
        assert [(what, SIZES.index(size)) for what, size in theirs] == [(w, layer) for w, layer, _ in ours]
    # Each of two workers sends its half of a layer.
    for _, layer, values in ours:
        assert abs(values - SIZES[layer] / 2) <= 1
