#!/bin/sh
# Traces in .npz files, made by Python's zipfile as numpy makes them, and hostile ones.
. "$(dirname "$0")/lib.sh"

make_tensors
q 0 trace convert five.csv five.npy
python3 - <<'P'
import struct, warnings, zipfile
warnings.simplefilter("ignore") # the name that occurs twice
x, five = open('x.npy', 'rb').read(), open('five.npy', 'rb').read()
def npz(path, members, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, 'w', method) as z:
        for name, data in members:
            with z.open(name, 'w', force_zip64=True) as f: # as numpy does
                f.write(data)
both = [('layer.weight.npy', x), ('bias.npy', five)]
npz('stored.npz', both)
npz('deflated.npz', both, zipfile.ZIP_DEFLATED)
npz('twice.npz', [('a.npy', five), ('a.npy', x)])
npz('other.npz', [('a.npy', five), ('readme.txt', b'hello')])
npz('nothing.npz', [])
npz('noname.npz', [('.npy', five)])
npz('text.npz', [('a.npy', b'hello')])
npz('bzip2.npz', [('a.npy', x)], zipfile.ZIP_BZIP2)
whole = open('stored.npz', 'rb').read()
open('cut.npz', 'wb').write(whole[:-10])
at = whole.index(x) + len(x) - 5 # a value: the checksum is wrong
open('changed.npz', 'wb').write(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
# A member of some bytes that says to be an array of 4 GB.
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000,), }\n"
data = b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode()
with zipfile.ZipFile('bomb.npz', 'w') as z:
    z.writestr('a.npy', data)
bomb = bytearray(open('bomb.npz', 'rb').read())
central = bomb.rindex(b'PK\x01\x02')
bomb[central + 24:central + 28] = struct.pack('<I', 4000000000 + len(data))
open('bomb.npz', 'wb').write(bomb)
P

# --- stored and deflated members ---
for kind in stored deflated; do
    q 0 trace info $kind.npz --per-tensor --columns tensor,shape,values --format csv
    [ "$(cat out)" = "$(printf 'tensor,shape,values\nlayer.weight,5000,5000\nbias,5,5')" ] ||
        bad "$(cat out)"
    q 0 trace convert $kind.npz $kind.safetensors
done
same stored.safetensors deflated.safetensors
python3 - <<'P' || bad 'the values of stored.npz'
import json, struct, sys
data = open('stored.safetensors', 'rb').read()
n = struct.unpack('<Q', data[:8])[0]
head = json.loads(data[8:8 + n])
def values(name):
    begin, end = head[name]['data_offsets']
    return data[8 + n + begin:8 + n + end]
x, bias = open('x.npy', 'rb').read(), struct.unpack('<5f', values('bias'))
sys.exit(values('layer.weight') != x[-20000:] or bias[1] != -1 or bias[4] != 0)
P
q 0 bench --no-speed --trace deflated.npz --scheme int8 --format json
json 'd["rows"][0]["values"] == 5005'
mkdir archives
cp stored.npz archives/push-step000001-rank0.npz
cp deflated.npz archives/push-step000002-rank0.npz
q 0 trace info archives --format csv
out ',push 0,push,0,2,1,2,2,'
end_case
case='trace info - <deflated.npz' good=1
"$program" trace info - <deflated.npz >out 2>err || bad "exit $?"
out '^values *5005$'

# --- refusals ---
while IFS='|' read -r name message; do
    t 1 trace info "$name.npz"
    err "^commcomp: $name.npz: $message"
done <<'E'
twice|two members have the name 'a'
other|member 'readme.txt' is not a .npy file
nothing|it holds no arrays
noname|member '.npy' is not a .npy file
text|member 'a.npy': not a .npy file
bzip2|member 'a.npy' is compressed by method 12
cut|not a .npz file
bomb|it says to hold 4000000
E
t 1 trace convert changed.npz y.safetensors
err "changed.npz: member 'layer.weight.npy': CRC error"
no_file y.safetensors
t 2 trace convert x.npy y.npz
err '.npz files are only read'
no_file y.npz

finish
