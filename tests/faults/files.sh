#!/bin/sh
# Files in the way of others: outputs over inputs and over each other under any name, files that
# change while they are read, files that claim more than they hold, earlier results after an
# interrupt.
set -u
. "$(dirname "$0")/../cli/lib.sh"

make_profile
q 0 trace synth small --values 2k --steps 2
step=small/push-step000000-rank0.safetensors
model='model --net resnet20 --bw 1gbps --scheme fp32,3lc --profile profile.json'
t 0 $model -o m.csv
cp m.csv kept.csv
ln m.csv hard.csv
ln -s m.csv soft.csv
ln "$step" linked.json
echo '<x/>' >p.xml

# w OUTPUT OTHER WORDS: refused, as both are the same file.
w() {
    a=$1 b=$2
    shift 2
    t 2 "$@"
    err "$a and $b are the same file\|$b and $a are the same file"
}
for same in m.csv ./m.csv hard.csv soft.csv ../${PWD##*/}/m.csv; do
    w RESULTS --script plot m.csv --script $same
done
same m.csv kept.csv
w --output --notes $model -o new.json --notes ./new.json
w --output --profile-out bench --trace small --no-speed -o x.csv --profile-out ../${PWD##*/}/x.csv
no_file x.csv
w --platform --timeline sim --platform p.xml --timeline p.xml --net resnet20 --bw 1gbps
w IN OUT encode --scheme 3lc linked.json "$step"
w OUT --output encode --scheme 3lc "$step" a.csv -o ./a.csv
t 2 bench --trace small --profile-out linked.json
err 'linked.json: the command reads its input there (--trace small)'
t 2 bench --trace small --no-speed -o small/x.csv
err 'small/x.csv: the command reads its input there'
t 2 trace convert small small/x
err 'small/x: the command reads its input there'
q 0 trace synth resnet20 --net resnet20 --steps 1 # the name of a net is not a file

# --- files that claim more than they hold ---

python3 - <<'P'
import struct, zlib
def text(s): return struct.pack('<I', len(s)) + s.encode()
def container(path, tensors):
    h = b'CCOMP\r\n\x1a' + struct.pack('<IIQqQI', 1, len(tensors), 1, 0, 0, 0)
    h += text('threshold:tau=0.5') + struct.pack('<I', 0)
    h += struct.pack('<I', zlib.crc32(h))
    for name, n, payload in tensors:
        t = text(name) + struct.pack('<IQQ', 1, n, len(payload)) + payload
        h += t + struct.pack('<I', zlib.crc32(t))
    open(path, 'wb').write(h)
nothing = struct.pack('<f', 0.5)
container('one.cc', [('w', 2500000000, nothing)])
container('many.cc', [('w%d' % i, 1 << 28, nothing) for i in range(64)])
container('more.cc', [('w', 70000000, nothing)])
container('wide.cc', [('w', 1 << 57, nothing), ('v', 1 << 57, nothing)])
P
t 1 decode one.cc x.npy
err 'one.cc: its 106 bytes claim to hold 2500000000 values, 10 GB; the limit is 67108864: if that is right, decode with --max-values 2500000000'
no_file x.npy
t 1 decode many.cc x.safetensors
err '17179869184 values'
t 1 decode wide.cc x.safetensors
err 'values'
t 1 decode one.cc x.npy --max-values 2G
err 'the limit is 2000000000'
t 1 decode wide.cc x.safetensors --max-values 288230376151711744
err 'memory'
t 1 decode more.cc x.npy
err '70000000 values'
t 0 decode more.cc /dev/null --max-values 70M
t 2 decode --payload --scheme 3lc --shape 9 "$step" x.npy --max-values 7
err 'max-values is for a compressed file'
for values in 1T 100T; do
    t 1 bench --values $values --scheme 3lc
    err 'GB of memory are needed and'
done

# --- files that change while they are read ---

# The file is overwritten, cut and replaced, with pauses of 55 to 90 ms, while it is encoded again and
# again: each time it is an error that names it, or the whole of one version. fp32 and a bare payload
# show the values that were read. A mixture of two versions is possible when a single write lasts
# longer than the 20 ms for which a file must be at rest, as systems may set its time at the begin of
# a write alone (docs/security.md); that must be rare. The file is so large that it is often overwritten
# while it is read.
python3 - "$program" <<'P' 2>err
import os, random, subprocess, sys, threading
program = sys.argv[1]
subprocess.run([program, 'trace', 'synth', 'large', '--values', '12M', '--steps', '1', '-q'],
               check=True, stdout=subprocess.DEVNULL)
name = 'large/' + os.listdir('large')[0]
data = open(name, 'rb').read()
start = 8 + int.from_bytes(data[:8], 'little')
payloads = [data[start:]] + [bytes([byte]) * (len(data) - start) for byte in (1, 2, 3)]
stop = threading.Event()
changes = 0
def change():
    global changes
    rng = random.Random(7)
    while not stop.wait(rng.uniform(0.055, 0.09)):
        changes += 1
        if changes % 8 == 0:
            with open(name, 'r+b') as f: f.truncate(len(data) // 2)
        elif changes % 8 == 1:
            with open('other', 'wb') as f: f.write(data)
            os.rename('other', name)
        else: # in place, all of it
            with open(name, 'r+b', 0) as f:
                f.seek(start)
                for at in range(0, len(data) - start, 1 << 18):
                    f.write(payloads[changes % 4][at:at + (1 << 18)])
threading.Thread(target=change, daemon=True).start()
encode = [program, 'encode', '--force', '--payload', '--scheme', 'fp32', '-q', name, 'x.fp32']
bad, whole, cut, refused, mixed = [], 0, 0, 0, 0
RUNS = 40 # and those that find it cut
while whole + refused + mixed < RUNS and cut < 400 and not bad:
    words, i = encode, whole + refused + mixed
    if i % 8 == 7: # schemes that find their sizes in a first pass
        words = [program, 'bench', '--trace', 'large', '--no-speed', '--scheme',
                 'sparse:ef=0,index=u32' if i % 16 == 7 else 'topk:k=100,bucket=65536,ef=0']
    p = subprocess.run(words, capture_output=True, text=True, timeout=60)
    if p.returncode == 1 and 'push-step' in p.stderr:
        if 'has changed since it was opened' in p.stderr:
            refused += 1
        else: # too short for what its header says
            cut += 1
    elif p.returncode != 0:
        bad.append((words, p.returncode, p.stderr))
    elif words is encode and open('x.fp32', 'rb').read() not in payloads:
        mixed += 1
    else:
        whole += 1
stop.set()
left = [f for f in os.listdir('.') if '.tmp' in f]
counts = f'{RUNS} runs over a file that changed {changes} times: {whole} read one version, ' \
         f'{refused} changes were refused, {cut} cut files, {mixed} read a mixture'
print(counts)
if bad or left:
    sys.exit(f'{bad[:3]}, left: {left}')
if refused == 0 or mixed > RUNS // 20:
    sys.exit(counts)
P
is=$?
end_case
case='a changing file' good=1
[ $is = 0 ] || bad "exit $is"

# --- interrupts ---

# catches PROCESS: whether it is the program, no longer the shell, and catches SIGTERM.
catches() {
    [ "$(readlink /proc/$1/exe)" = "$program" ] || return 1
    mask=$(sed -n 's/^SigCgt:\t//p' /proc/$1/status)
    [ $((0x${mask:-0} >> 14 & 1)) = 1 ]
}

# i FILE WORDS: interrupted long before its end, the command ends with exit 130 and a message, and
# leaves the file as it was or, after the first row, a whole one. The first interrupt comes as soon
# as the command catches it, before any row.
i() {
    file=$1
    shift
    for delay in 0 0.3; do
        end_case
        case="$* (interrupted after $delay s)" good=1
        printf 'an earlier result\n' >"$file"
        "$program" "$@" >out 2>err </dev/null &
        pid=$!
        tries=0
        until catches $pid || [ $((tries += 1)) -gt 1000 ]; do sleep 0.01; done
        sleep $delay
        kill -TERM $pid
        wait $pid
        is=$?
        [ $is = 130 ] || bad "exit $is"
        if grep -q '^smallest\|^fastest' out; then bad 'a winner of half a result'; fi
        if [ $delay = 0 ] || grep -q 'before the first row' err; then
            err 'interrupted before the first row; files are as they were'
            [ "$(cat "$file")" = 'an earlier result' ] || bad "$file has changed"
        else
            err 'the rows are what was measured until then'
            case $file in
                *.json) python3 -m json.tool "$file" >/dev/null || bad "$file is not whole" ;;
                *) [ "$(wc -l <"$file")" -ge 2 ] || bad "$file has no row" ;;
            esac
        fi
    done
}
i r.csv bench --values 16M --scheme all -o r.csv
i r.json bench --values 16M --scheme all -o r.json
left '*.tmp*' ''
finish
