#!/bin/sh
# `commcomp encode` and `decode`: every scheme, containers and bare payloads, usage.
. "$(dirname "$0")/lib.sh"

make_tensors
schemes=$("$program" schemes --format csv | sed 1d | cut -d, -f1 | uniq)

# --- every scheme ---
for s in $schemes; do
    q 0 encode --force --scheme "$s" "$step" s.cc
    out ": $s, "
    cp s.cc again.cc
    q 0 encode --force --scheme "$s" "$step" s.cc
    same s.cc again.cc
    q 0 decode s.cc s.safetensors
    out "^scheme  *$s\$"
    q 0 trace info s.safetensors --format csv
    out ',push 1,push,1,1,2,2,59,'
    COMMCOMP_ISA=scalar
    export COMMCOMP_ISA
    q 0 encode --force --scheme "$s" "$step" scalar.cc
    same s.cc scalar.cc
    q 0 decode s.cc scalar.safetensors
    same s.safetensors scalar.safetensors
    unset COMMCOMP_ISA
    q 0 encode --force --scheme "$s" --payload x.npy x.payload
    q 0 decode --scheme "$s" --payload --shape 5000 x.payload bare.npy
    q 0 encode --force --scheme "$s" x.npy x.cc
    q 0 decode x.cc x.out.npy
    same bare.npy x.out.npy
    size bare.npy 20128
    case $s in
        fp32 | pairs | exponent | zstd | lz4) # lose nothing, so they keep what is no number, too
            for f in nan inf; do
                q 0 encode --force --scheme "$s" $f.npy $f.cc
                q 0 decode $f.cc $f.out.npy
                same $f.npy $f.out.npy
                rm $f.cc
            done
            ;;
        *)
            t 1 encode --force --scheme "$s" nan.npy nan.cc
            err 'nan.npy: .*index 2 is NaN'
            no_file nan.cc
            t 1 encode --force --scheme "$s" inf.npy inf.cc --payload
            err 'index 1 is infinite'
            no_file inf.cc
            ;;
    esac
    q 0 encode --force --scheme "$s" none.npy none.cc
    q 0 decode none.cc none.out.npy
    same none.npy none.out.npy
done
for s in fp32 zstd lz4 exponent exponent:coder=window; do
    q 0 encode --force --scheme $s x.npy x.cc
    q 0 decode x.cc x.out.npy
    same x.npy x.out.npy
done
q 0 encode --force --scheme fp32 "$step" s.cc
q 0 decode s.cc s.safetensors
same s.safetensors "$step"

# A model's file of several types comes back as it was.
python3 - <<'END' || bad "no file of several types"
import json, math, random, struct
draw = random.Random(3)
bf16 = lambda x: struct.pack("<f", x)[2:]
tensors = {"w": ("BF16", [40, 60], b"".join(bf16(draw.gauss(0, 0.02)) for _ in range(2400))),
           "h": ("F16", [1500], struct.pack("<1500e", *(draw.gauss(0, 0.1) for _ in range(1500)))),
           "x": ("F32", [3], struct.pack("<3f", 1, -0.1, 3e-40)),
           "e": ("F8_E5M2", [60, 50], b"".join(struct.pack("<e", draw.gauss(0, 0.02))[1:] for _ in range(3000))),
           # of 4 and 3 bits: exponents as often as those of a normal distribution
           "f": ("F8_E4M3", [3000], bytes(min(max(int(math.log2(abs(draw.gauss(0, 1))) + 11), 0), 14) << 3
                                          | draw.getrandbits(3) | draw.getrandbits(1) << 7 for _ in range(3000))),
           # every word, NaN among them
           "all4": ("F8_E4M3", [256], bytes(range(256))), "all5": ("F8_E5M2", [256], bytes(range(256))),
           "nan": ("F32", [3], struct.pack("<3I", 0x7f800001, 0xffc12345, 0x7f800000)),
           "nan16": ("F16", [4], struct.pack("<4H", 0x7c01, 0xfe00, 0xfc00, 0x3c01)),
           "nanb": ("BF16", [3], struct.pack("<3H", 0x7f81, 0xffc1, 0x3f81))}
header, data = {"__metadata__": {"format": "pt"}}, b""
for name, (dtype, shape, part) in tensors.items():
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
    data += part
text = json.dumps(header, separators=(",", ":")).encode()
text += b" " * (-len(text) % 8)
open("types.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)
END
for s in exponent exponent:coder=window zstd lz4 pairs fp32; do
    q 0 encode --force --scheme $s types.safetensors types.cc
    q 0 decode types.cc types.out.safetensors
    same types.safetensors types.out.safetensors
done
q 0 encode --force --scheme exponent --per-tensor types.safetensors types.cc --format json
json '[10.5 < d["rows"][0]["bits_per_value"] < 11.5, 13.5 < d["rows"][1]["bits_per_value"] < 14.5, d["rows"][2]["payload_bytes"]] == [True, True, 12]'
json '[5.6 < d["rows"][3]["bits_per_value"] < 6.2, 6.6 < d["rows"][4]["bits_per_value"] < 7.2] == [True, True]'
json '[r["payload_bytes"] for r in d["rows"][5:7]] == [257, 257]'
q 0 encode --force --scheme zstd --per-tensor types.safetensors types.cc --format json
json '[r["bits_per_value"] < m for r, m in zip(d["rows"], (13.5, 16, 99, 6.5, 7.9))] == [True] * 5'
# float16 of .npy, too.
python3 - <<'END' || bad "no float16 file"
import random, struct
draw = random.Random(4)
head = "{'descr': '<f2', 'fortran_order': False, 'shape': (30, 50), }"
head += " " * (63 - (10 + len(head)) % 64) + "\n"
open("half.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
                             + struct.pack("<1500e", *(draw.gauss(0, 0.1) for _ in range(1500))))
END
q 0 encode --force --scheme exponent half.npy half.cc
q 0 decode half.cc half.out.npy
same half.npy half.out.npy
# A scheme that loses something gives the types back, too: the values of int8 rounded to them.
t 1 encode --force --scheme int8 types.safetensors types.cc
err "types.safetensors: tensor 'all4': the value at index 127 is NaN"
python3 - <<'END' || bad "no file of numbers"
import json, struct
b = open("types.safetensors", "rb").read()
n = struct.unpack("<Q", b[:8])[0]
header, data = json.loads(b[8:8 + n]), b""
for name in list(header)[1:]:
    if name.startswith(("all", "nan")):
        del header[name]
        continue
    first, last = header[name]["data_offsets"]
    header[name]["data_offsets"] = [len(data), len(data) + last - first]
    data += b[8 + n + first:8 + n + last]
text = json.dumps(header, separators=(",", ":")).encode()
text += b" " * (-len(text) % 8)
open("types.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)
END
q 0 encode --force --scheme int8 types.safetensors types.cc
q 0 decode types.cc types.out.safetensors
q 0 encode --force --scheme int8 half.npy half.cc
q 0 decode half.cc half.out.npy
q 0 trace convert half.cc half.one.npy
q 0 trace convert half.out.npy half.other.npy
same half.one.npy half.other.npy
python3 - <<'END' || bad "int8 of half types"
import json, struct
def read(path):
    b = open(path, "rb").read()
    n = struct.unpack("<Q", b[:8])[0]
    h = json.loads(b[8:8 + n])
    return {k: (t["dtype"], b[8 + n:][slice(*t["data_offsets"])]) for k, t in h.items() if k != "__metadata__"}
def floats(dtype, b):
    if dtype == "BF16":
        return [struct.unpack("<f", b"\0\0" + b[i:i + 2])[0] for i in range(0, len(b), 2)]
    return list(struct.unpack(f"<{len(b) // 2}e", b))
a, b = read("types.safetensors"), read("types.out.safetensors")
assert {k: v[0] for k, v in a.items()} == {k: v[0] for k, v in b.items()}
for k in "wh":
    x, y = floats(*a[k]), floats(*b[k])
    most = max(map(abs, x))
    # int8: half a step of most / 127; bf16 rounds by 2^-8 of a value at most, fp16 by 2^-11.
    assert 0 < max(abs(p - q) for p, q in zip(x, y)) < most * (0.5 / 127 + (2**-8 if k == "w" else 2**-11))
half, out = open("half.npy", "rb").read(), open("half.out.npy", "rb").read()
assert half[:128] == out[:128] and len(half) == len(out) and half != out
END
# --base: the same bits come back, in fewer bits, and only beside the same base.
python3 - <<'END' || bad "no base"
import random, struct
draw = random.Random(5)
b = bytearray(open("types.safetensors", "rb").read())
n = 8 + struct.unpack("<Q", b[:8])[0]
for i in range(0, 7800, 2):  # the lowest bit of the mantissa of one value in eight
    b[n + i] ^= draw.random() < 0.125
open("tuned.safetensors", "wb").write(b)
END
for s in exponent zstd fp32; do
    q 0 encode --force --scheme $s --base types.safetensors tuned.safetensors tuned.cc
    q 0 decode --base types.safetensors tuned.cc tuned.out.safetensors
    same tuned.safetensors tuned.out.safetensors
done
q 0 encode --force --per-tensor --scheme exponent --base types.safetensors tuned.safetensors tuned.cc --format json
json '[b < w for b, w in zip((r["bits_per_value"] for r in d["rows"]), (3.5, 4, 33, 1.3, 1.3))] == [True] * 5'
q 0 encode --force --scheme exponent --base half.npy half.npy tuned.npy.cc
q 0 decode --base half.npy tuned.npy.cc half.out.npy
same half.npy half.out.npy
t 1 decode tuned.cc tuned.out.safetensors
err 'tuned.cc: it was encoded beside a base, whose checksum is [0-9a-f]*: name that file with --base'
t 1 decode --base tuned.safetensors tuned.cc tuned.out.safetensors
err 'tuned.cc: the checksum of its base is [0-9a-f]*, and that of tuned.safetensors is [0-9a-f]*'
t 1 decode --base types.safetensors types.cc types.out.safetensors
err 'types.cc: it was encoded without a base: leave out --base'
t 1 encode --force --scheme exponent --base half.npy tuned.safetensors tuned.2.cc
err "half.npy has no tensor 'w', which the file has: it is not its base"
t 1 encode --force --scheme exponent --base five.csv half.npy tuned.2.cc
err "five.csv: tensor 'values' is 5, and 30x50 in the file: it is not its base"
t 2 encode --force --scheme int8 --base types.safetensors tuned.safetensors tuned.2.cc
err '--base is for schemes that lose nothing, such as exponent and zstd; int8 does'
t 2 encode --force --payload --scheme exponent --base half.npy half.npy half.payload
err '--base and --payload'
t 2 decode --payload --scheme exponent --shape 5 --base half.npy five.csv half.out.npy
err '--base is for a compressed file'
t 1 trace info tuned.cc
err 'tuned.cc: it has differences from a base; .commcomp decode --base FILE. gives its values'
sed 's/"format":"pt"/"commcomp.types":"BF16"/' types.safetensors >key.safetensors
python3 - <<'END'
import struct
b = open("key.safetensors", "rb").read()
n = struct.unpack("<Q", b[:8])[0] + len("commcomp.types") - len("format") + 2
open("key.safetensors", "wb").write(struct.pack("<Q", n) + b[8:])
END
t 1 encode --force --scheme exponent key.safetensors key.cc
err 'key.safetensors: the file.s metadata have the key commcomp.types'


# --- payloads and their inputs ---
q 0 encode --force --scheme 3lc --payload five.csv five.payload --format csv
out '^scheme,tensor,shape,values,payload_bytes,bits_per_value,ratio,'
out '^3lc,,,5,5,8,4,'
printf '\0\0\200\77a' | cmp -s - five.payload || bad "five.payload"
q 0 decode --scheme 3lc --payload --shape 5 five.payload five.out.csv
printf '0\n-1\n0\n1\n0\n' | cmp -s - five.out.csv || bad "five.out.csv"
q 0 encode --force --scheme 3lc five.csv five.cc
expected encode-five
q 0 decode five.cc five.out.csv
expected decode-five
q 0 encode --force --scheme 3lc:s=1.75,zre=0 five.csv s.cc
out ': 3lc:s=1.75,zre=0, '
q 0 encode --force --scheme 3lc --s=1.75 --zre 0 five.csv again.cc
same s.cc again.cc
q 0 encode --force --scheme ternary x.npy seed1.cc
q 0 encode --force --scheme ternary --seed 2 x.npy seed2.cc
differ seed1.cc seed2.cc
q 0 encode --force --scheme local:every=3 --payload --step 1 x.npy p.bin
size p.bin 0
q 0 encode --force --scheme local:every=3 --payload --step 2 x.npy p.bin
size p.bin 20000
t 1 decode --scheme local:every=3 --payload --shape 5000 p.bin p.npy
err 'p.bin: payload, byte 0'
q 0 decode --scheme local:every=3 --payload --shape 5000 --step 2 p.bin p.npy
same p.npy x.npy
q 0 encode --force --scheme 3lc net/pull-step000001.safetensors s.cc --format json
json 'd["rows"][0]["worker"] == -1 and d["rows"][0]["direction"] == "pull"'
json 'd["rows"][0]["step"] == 1 and d["rows"][0]["values"] == 269722'
json 'abs(d["rows"][0]["ratio"] * d["rows"][0]["bits_per_value"] - 32) < 1e-9'
q 0 encode --force --scheme 3lc --direction pull x.npy s.cc --format csv
out ',1,0,-1,pull$'
q 0 encode --force --scheme 3lc --worker 4 --step 9 x.npy s.cc --format csv
out ',1,9,4,push$'
q 0 encode --force --scheme 3lc "$step" s.cc --per-tensor --format json
json 'len(d["rows"]) == 59 and sum(r["values"] for r in d["rows"]) == 269722'
q 0 encode --force --scheme int8 --payload x.npy p.bin --help
out '^usage: commcomp encode'


# --- a file that is there, standard input and output ---
cp s.cc before.cc
t 1 encode --scheme 3lc x.npy s.cc
err 's.cc: is there already; --force replaces it'
same s.cc before.cc
q 0 encode --scheme int8 x.npy new.cc
mkfifo pipe.cc
cat pipe.cc >got.cc &
q 0 encode --scheme int8 x.npy pipe.cc
wait
same got.cc new.cc

# p INPUT WORDS...: t 0 with a file on the standard input.
p() {
    end_case
    in=$1
    shift
    case="$* <$in" good=1
    cat "$in" | "$program" "$@" >out 2>err || bad "exit $?: $(cat err)"
}
p x.npy encode --scheme int8 - -
same out new.cc
cp out piped.cc
p piped.cc decode - back.npy
out '^values *5000$'
q 0 decode new.cc want.npy
same back.npy want.npy
p piped.cc decode - -
cp out got.safetensors
q 0 decode new.cc want.safetensors
same got.safetensors want.safetensors
p "$step" encode --scheme fp32 - all.cc # safetensors, with its metadata
q 0 decode all.cc all.safetensors
same all.safetensors "$step"
p five.csv encode --scheme 3lc - five2.cc
q 0 encode --force --scheme 3lc five.csv five.cc
same five2.cc five.cc
p /dev/null decode x.cc -
cp out got.safetensors
t 1 encode --scheme int8 - y.cc # nothing on the standard input
no_file y.cc
p "$step" trace info - --format csv
out '^-,push 1,push,1,1,2,2,59,'
q 0 nets --format csv -o -
head -n 1 out | grep -q '^net,' || bad 'no CSV on stdout'

# --- usage ---
t 2 encode --force x.npy y.cc
err 'which scheme?'
t 2 encode --force --scheme 3lc,int8 x.npy y.cc
err 'give one scheme, not 2 (3lc, int8)'
t 2 encode --force --scheme 3lc:s=1/1.5 x.npy y.cc
err 'give one scheme, not 2 (3lc, 3lc:s=1.5)'
t 2 encode --force --scheme 3lc --s 2 x.npy y.cc
err 's=2: allowed is 1 <= s < 2'
t 2 encode --force --scheme 3lc --s 1.5x x.npy y.cc
err 's=1.5x: allowed is'
t 2 encode --force --scheme 3lc:zz=1 x.npy y.cc
err "scheme 3lc has no parameter 'zz'"
t 2 encode --force --scheme fp32 --s 1.5 x.npy y.cc
err 's'
t 2 encode --force --s 1.5 --scheme 3lc x.npy y.cc
err 'write it after --scheme'
t 2 encode --force --scheme 3lc --seed 1x x.npy y.cc
err '--seed'
t 2 encode --force --scheme 3lc --worker -2 x.npy y.cc
err '--worker'
t 2 encode --force --scheme 3lc --direction up x.npy y.cc
err '--direction up'
t 2 encode --force --scheme 3lc x.npy x.npy
err 'are the same file'
t 2 encode --force --scheme 3lc x.npy link.npy
err 'are the same file'
no_file y.cc
t 1 encode --force --scheme 3lc missing.npy y.cc
err 'missing.npy: .*No such file'
t 1 encode --force --scheme 3lc net y.cc
err 'net is a directory'
t 1 encode --force --scheme 3lc x.payload y.cc
err '\.safetensors'
t 1 encode --force --scheme 3lc "$step" y.cc --payload
err 'has 59 tensors; --payload is for a file of one'
t 1 encode --force --scheme 3lc x.npy no/such/y.cc
err 'no/such/y.cc'
no_file y.cc
t 2 decode --payload --scheme int8 p.bin y.npy
err 'needs --shape'
t 2 decode --payload --shape 5000 p.bin y.npy
err 'which scheme?'
for shape in 5x x5 5,5 -5 5x5x5x5x5x5x5x5x5 99999999999999999999 ''5e3; do
    t 2 decode --payload --scheme int8 --shape $shape p.bin y.npy
    err "shape '$shape'"
done
q 0 encode --force --scheme int8 --payload x.npy p.bin
t 1 decode --payload --scheme int8 --shape 4999 p.bin y.npy
err 'p.bin: payload, byte 5003: the payload has 5004 bytes, not 5003'
t 1 decode --payload --scheme int8 --shape 99999999999999999 p.bin y.npy
err 'out of memory'
q 0 encode --force --scheme int8 x.npy x.cc
for option in '--shape 5000' '--step 1' '--seed 1' '--worker 1' '--direction pull' '--scheme 3lc'; do
    t 2 decode $option x.cc y.npy
    err 'only for --payload'
done
t 2 decode x.cc y.txt
err '\.safetensors'
t 2 decode x.cc x.cc
err 'are the same file'
q 0 encode --force --scheme 3lc "$step" s.cc
t 2 decode s.cc y.npy
err 'holds one tensor, but there are 59'
no_file y.npy

# A checkpoint of train comes back as it was, also its metadata.
q 0 train -q --net mlp:16 --steps 20 --scheme fp32 --checkpoint kept
t 0 encode --scheme exponent kept/fp32-seed1.safetensors kept.cc
t 0 decode kept.cc back.safetensors
cmp -s kept/fp32-seed1.safetensors back.safetensors || bad 'the checkpoint is another one'
[ "$(stat -c %s kept.cc)" -lt "$(stat -c %s kept/fp32-seed1.safetensors)" ] || bad 'it is not smaller'
finish
