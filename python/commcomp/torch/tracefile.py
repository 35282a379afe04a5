"""One step of a trace as a safetensors file (docs/traces.md), without the safetensors package."""
import json
import os
import struct

import torch

_DTYPES = {torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16", torch.float64: "F64"}


def _bytes(tensor):
    """The values of a contiguous CPU tensor in row-major order; numpy has no bfloat16."""
    return tensor.flatten().view(torch.uint8).numpy() if tensor.numel() else b""


def name(direction, step, rank):
    """The file's name, as `commcomp trace` gives them."""
    return (f"pull-step{step:06d}.safetensors" if direction == "pull"
            else f"push-step{step:06d}-rank{rank}.safetensors")


def write(folder, tensors, *, direction, step, rank):
    """Writes the tensors (a dict from names to contiguous CPU tensors, in the order of the layers)
    as one step of the trace in `folder`. The file appears whole or not at all."""
    header = {"__metadata__": {"schema": "commcomp-trace/1", "direction": direction,
                               "step": str(step), "rank": "-1" if direction == "pull" else str(rank),
                               "order": "\n".join(tensors)}}
    end = 0
    for key, t in tensors.items():
        begin, end = end, end + t.numel() * t.element_size()
        header[key] = {"dtype": _DTYPES[t.dtype], "shape": list(t.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the values begin at a multiple of 8 bytes
    path = os.path.join(folder, name(direction, step, rank))
    part = os.path.join(folder, f".{name(direction, step, rank)}.part")
    try:
        with open(part, "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text)
            for t in tensors.values():
                f.write(_bytes(t))
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise
