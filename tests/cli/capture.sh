#!/bin/sh
# The Python code of docs/traces.md that writes gradients by hand: run, and its files read.
. "$(dirname "$0")/lib.sh"

awk '/^```/ { if (found) exit; inside = /^```python$/; text = ""; next }
    inside { text = text $0 "\n"; if (index($0, "def save_file")) found = 1 }
    END { printf "%s", text }' "$tests/../docs/traces.md" >writer.py
[ "$(wc -l <writer.py)" -ge 10 ] || bad 'docs/traces.md: there is no save_file'

# Two steps of two ranks, whose gradients differ in "captured" and are the same in "averaged".
cat >ranks.py <<'P'
import array, os
from writer import save_file
class Tensor:
    def __init__(self, values, *shape):
        self.values, self.shape = array.array("f", values), shape
    def numpy(self):
        return self.values
for folder in "captured", "averaged":
    os.mkdir(folder)
    for rank in range(2):
        own = rank if folder == "captured" else 0
        tensors = {"conv.weight": Tensor([0.5, -2, 3 + own, 4, 5, 6], 2, 3),
                   "conv.bias": Tensor([1, 2 + own], 2), "scale": Tensor([7])}
        for step in range(2):
            save_file(tensors, f"{folder}/push-step{step:06d}-rank{rank}.safetensors",
                      {"direction": "push", "step": str(step), "rank": str(rank),
                       "order": "\n".join(tensors)})
P
python3 ranks.py 2>err || bad "ranks.py: $(cat err)"

q 0 trace info captured --format csv
out ',push 0,push,0,2,0,1,3,'
out ',push 1,push,1,2,0,1,3,'
q 0 trace info --per-tensor captured --columns tensor,shape,max_abs --format csv
[ "$(cat out)" = "$(printf 'tensor,shape,max_abs\nconv.weight,2x3,6\nconv.bias,2,2\nscale,"",7\nconv.weight,2x3,6\nconv.bias,2,3\nscale,"",7')" ] ||
    bad "$(cat out)"
q 0 bench --trace captured --scheme int8 --no-speed
q 0 trace info captured
if grep -q 'bit for bit' out; then bad 'the gradients are averaged'; fi
q 0 trace info averaged
out 'the gradients of 1 other worker are bit for bit those of push 0: they were captured after averaging'
q 0 bench --trace averaged --scheme int8 --no-speed
out 'docs/traces.md shows how to capture them before'

finish
