#!/bin/sh
# `commcomp train --net gpt`.
. "$(dirname "$0")/lib.sh"

t="train -q --recipe gpt --net gpt:layers=1,width=32,heads=2,context=32 --steps 12 --batch 2 --workers 2 --evaluations 1"

t 2 train -q --net gpt:depth=2
err 'gpt:layers=2,width=64'
t 2 train -q --net gpt --data digits
err "--net gpt learns from a text: --data text or text:PATH, not 'digits'"
t 2 train -q --net mlp:8 --data text
err '--data text is a text, and goes with --net gpt'
t 2 $t --shards by-class:2
err 'neither classes'
t 2 $t --exchange ps --servers 2
err '--clip: 2 servers have parts of the gradient'
t 2 $t --mode overlap
err '--clip: not with --mode overlap'
t 2 $t --exchange ps --consistency stale --staleness 1
err '--clip: only with --consistency bulk'
t 2 $t --beta2 1
err '--beta2'
t 2 $t --optimizer sgd --schedule constant --beta2 0.9
err '--beta2 is of adam'
t 2 $t --schedule constant --last-rate 5%
err '--last-rate is of --schedule cosine'

q 0 $t --scheme fp32,int8 --seeds 2 --format json
json 'all(abs(r["bits_per_byte"] - r["loss"] / 0.6931471805599453) < 1e-12 for r in d["rows"])'
json 'all(4 < r["bits_per_byte"] < 6.5 and 0.1 < r["accuracy"] < 0.4 for r in d["rows"])'
json 'all(0.05 < r["train_accuracy"] < 0.4 for r in d["rows"] if r["kind"] == "eval")'
json 'all(r["values"] == 256 * 32 + 12 * 32 * 32 + 3 * 32 for r in d["rows"])'
# loss_rise: the mean over the seeds of loss / fp32's - 1, of two with Student's t of 12.7062.
cat >rises.py <<'P'
import json
rows = json.load(open("out"))["rows"]
end = {(r["scheme"], r["seed"]): r["loss"] for r in rows if r["kind"] == "eval"}
a, b = (end["int8", s] / end["fp32", s] - 1 for s in (1, 2))
s = next(r for r in rows if r["kind"] == "summary" and r["scheme"] == "int8")
for key, value in (("loss_rise", (a + b) / 2), ("loss_rise_low", (a + b) / 2 - 12.7062047 * abs(a - b) / 2)):
    assert abs(s[key] - value) < 1e-7, (key, s[key], value)
assert s["loss_rise"] != 0
P
python3 rises.py 2>err || bad "$(tail -n 1 err)"
q 0 train -q --net mlp:4 --steps 2 --format json
json 'all(r["bits_per_byte"] is None and r["loss_rise"] is None for r in d["rows"])'
# Among rates, the least loss is the best.
q 0 $t --scheme fp32 --rate 0.003,1 --format json
json '[r["rate"] for r in d["rows"] if r["best_rate"]] == [0.003]'

# --- --raw: 8,192 values of the embedding at 32 bits, and the others at most at 32 / 5 + 1 ---

q 0 $t --scheme ternary --raw 'embed*' --format json
json 'all(32 * 8192 / r["values"] < r["bits_push"] < (32 * 8192 + 2.5 * (r["values"] - 8192)) / r["values"] for r in d["rows"])'
q 0 $t --scheme ternary --raw '*' --format json
json 'all(r["bits_push"] == 32 for r in d["rows"])'
t 2 $t --raw 'embed*,embde*'
err '--raw embde\*: no tensor has such a name; the first is embed.weight, the last norm.weight'

# --- generate ---

q 0 $t --scheme fp32 --checkpoint here
q 0 generate here/fp32-seed1.safetensors --prompt 'In the' --bytes 40
[ "$(wc -c <out)" -eq 47 ] || bad 'not the prompt, 40 bytes and the end of the line'
cp out first
q 0 generate here/fp32-seed1.safetensors --prompt 'In the' --bytes 40
cmp -s first out || bad 'the same seed, other text'
q 0 generate here/fp32-seed1.safetensors --prompt 'In the' --bytes 40 --seed 2
cmp -s first out && bad 'another seed, the same text'

# --- tokens: pairs as Python finds them, bits a byte by them, and a text from them ---

cat >pairs.py <<'PYTHON'
import collections, gzip, sys
parts = gzip.open(sys.argv[1]).read().split(b"\f")
train = b"".join(p for i, p in enumerate(parts) if i % 16 != 15)
test = b"".join(p for i, p in enumerate(parts) if i % 16 == 15)
size = len(test)
free = iter(b for b in range(256) if b not in train + test)
for _ in range(int(sys.argv[2]) - len(set(train + test))):
    count = collections.Counter(zip(train, train[1:]))
    for a, b in count:
        if a == b:
            count[a, b] = train.count(bytes([a, b]))
    most = max(count.values())
    pair, token = bytes(min(p for p in count if count[p] == most)), bytes([next(free)])
    train, test = train.replace(pair, token), test.replace(pair, token)
print(len(train), len(test), len(test) / size)
PYTHON
python3 pairs.py "$tests/../train/data/text/new-testament.txt.gz" 70 >counts
q 0 $t --scheme fp32 --data text,vocab=70 --checkpoint pairs --format json
json 'any(n.startswith("text,vocab=70: %s tokens to train and %s to test" % tuple(open("counts").read().split()[:2])) for n in d["notes"])'
json 'all(abs(r["bits_per_byte"] / r["loss"] * 0.6931471805599453 - float(open("counts").read().split()[2])) < 1e-12 for r in d["rows"])'
q 0 generate pairs/fp32-seed1.safetensors --data text,vocab=70 --prompt 'In the' --bytes 40
[ "$(wc -c <out)" -eq 47 ] || bad 'not the prompt, 40 bytes and the end of the line'
t 2 generate pairs/fp32-seed1.safetensors --data text
err 'has no vocabulary'
t 2 generate pairs/fp32-seed1.safetensors --data text,vocab=70 --prompt "$(printf 'a\001')"
err 'the text has no byte 1, as at 1'
t 2 $t --data text,vocab=1000
err 'vocab=N is 2 to 256 tokens'

q 0 train -q --net mlp:4 --steps 2 --checkpoint mlp
t 1 generate mlp/fp32-seed1.safetensors
err 'mlp:4 is not a language model'
t 2 generate here/fp32-seed1.safetensors --temperature -1
err '--temperature: from 0 to 100'
t 1 generate nowhere.safetensors
err 'nowhere.safetensors'

command -v mpirun >/dev/null && command -v smpirun >/dev/null || {
    echo 'skipped from here on: mpirun and smpirun are needed'
    finish
}
# Ranks end with the weights of one process, clipped over all of the gradient.
for how in '--exchange ring' '--exchange ps' '--exchange ps --pull mean --servers 2' '--exchange ring --local-steps 3'; do
    q 0 $t $how --scheme int8 --format json
    cp out local.json
    for on in 'run --bw none' 'sim --bw 100mbps --compute 10ms'; do
        q 0 $t $how --scheme int8 --on $on --format json
        json 'all(d["rows"][0][k] == json.load(open("local.json"))["rows"][0][k] != None for k in ("weights", "loss", "train_accuracy"))'
    done
done

finish
