#!/bin/sh
# The Python code of README.md and docs/traces.md that captures gradients: run, and its files read.
. "$(dirname "$0")/lib.sh"

# block FILE WORD: the block of Python code in which the word stands.
block() {
    awk -v word="$2" '/^```/ { if (found) exit; inside = /^```python$/; text = ""; next }
        inside { text = text $0 "\n"; if (index($0, word)) found = 1 }
        END { printf "%s", text }' "$tests/../$1"
}

# The writer stands in for the package safetensors.
mkdir -p safetensors
: >safetensors/__init__.py
block docs/traces.md 'def save_file' >safetensors/torch.py
block README.md 'def capture' >capture.py
block README.md 'class Capture' >hook.py
for file in safetensors/torch.py capture.py hook.py; do
    [ "$(wc -l <$file)" -ge 10 ] || bad "$file: not found in the documents"
done

# Tensors with as much of PyTorch's as the code uses.
cat >stub.py <<'P'
import array
from capture import capture
class Tensor:
    def __init__(self, values, *shape):
        self.values, self.shape = array.array("f", values), shape
    def numpy(self):
        return self.values
    detach = float = cpu = contiguous = lambda self: self
class Parameter:
    def __init__(self, grad):
        self.grad = grad
class Model:
    def named_parameters(self):
        yield "conv.weight", Parameter(Tensor([0.5, -2, 3, 4, 5, 6], 2, 3))
        yield "frozen", Parameter(None)
        yield "conv.bias", Parameter(Tensor([1, 2], 2))
        yield "scale", Parameter(Tensor([7]))
for step in range(2):
    capture(Model(), step)
P
python3 stub.py 2>err || bad "stub.py: $(cat err)"
q 0 trace info captured --format csv
out ',push 0,push,0,2,0,1,3,'
q 0 trace info --per-tensor captured --columns tensor,shape,max_abs --format csv
[ "$(cat out)" = "$(printf 'tensor,shape,max_abs\nconv.weight,2x3,6\nconv.bias,2,2\nscale,"",7')" ] ||
    bad "$(cat out)"
q 0 bench --trace captured --scheme int8 --no-speed

# Gradients before and after averaging, of two processes.
python=$(for p in python3 /usr/bin/python3; do
    "$p" -c 'import numpy, torch.distributed' 2>/dev/null && echo "$p" && break
done)
if [ -z "$python" ]; then
    echo 'capture: the communication hook is skipped: no PyTorch'
    finish
fi
cat >train.py <<'P'
import os, sys
import torch, torch.distributed as dist, torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from capture import *
from hook import Capture as Hook
import hook
hook.save_step = save_step
def train(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(30, 400), torch.nn.ReLU(), torch.nn.Linear(400, 3))
    ddp = DistributedDataParallel(model, bucket_cap_mb=0.01)
    Hook(ddp, rank)
    torch.manual_seed(rank + 1)
    for step in range(3):
        x = torch.randn(8, 30)
        ddp.zero_grad()
        ddp(x).square().mean().backward()
        save_step({n: p.grad.detach().float().cpu().contiguous()
                   for n, p in model.named_parameters()}, step, rank, "averaged")
        # The gradient that this worker alone would send.
        alone = torch.autograd.grad(model(x).square().mean(), list(model.parameters()))
        save_step({n: g.contiguous() for (n, p), g in zip(model.named_parameters(), alone)},
                  step, rank, "alone")
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.1 * p.grad
    dist.destroy_process_group()
if __name__ == "__main__":
    mp.spawn(train, (sys.argv[1],), nprocs=2)
P
rm -r captured
timeout 300 "$python" train.py $((20000 + $$ % 20000)) >out 2>err || bad "train.py: $(tail -n 3 err)"
q 0 trace info captured --format csv
out ',push 0,push,0,3,0,2,4,'
out ',push 1,push,1,3,0,2,4,'
q 0 trace info captured
if grep -q 'bit for bit' out; then bad 'the gradients are averaged'; fi
q 0 trace info averaged
out 'the gradients of 1 other worker are bit for bit those of push 0: they were captured after averaging'
q 0 bench --trace averaged --scheme int8 --no-speed
out 'docs/traces.md shows how to capture them before'
"$python" - <<'P' 2>err || bad "the captured gradients: $(cat err)"
import json, os, struct, numpy
def read(folder, name):
    data = open(f"{folder}/{name}", "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + n])
    assert head["__metadata__"]["order"].split("\n")[0] == "0.weight"
    return {k: numpy.frombuffer(data[8 + n:][slice(*v["data_offsets"])], "<f4")
            for k, v in head.items() if k != "__metadata__"}
names = sorted(os.listdir("captured"))
assert names == sorted(os.listdir("alone")) and len(names) == 6
for name in names:
    ours, alone = read("captured", name), read("alone", name)
    assert ours.keys() == alone.keys()
    for k in ours:
        numpy.testing.assert_allclose(ours[k], alone[k], rtol=1e-4, atol=1e-7)
P

finish
