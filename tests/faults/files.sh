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
q 0 trace synth resnet20 --net resnet20 --steps 1 # the name of a net is no file

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

# The file is overwritten, cut and replaced while it is encoded again and again: each time it is an
# error that names it, or the whole of one version.
python3 - "$program" <<'P' 2>err
import os, subprocess, sys, threading, time
program = sys.argv[1]
subprocess.run([program, 'trace', 'synth', 'large', '--values', '1M', '--steps', '1', '-q'],
               check=True, stdout=subprocess.DEVNULL)
name = 'large/' + os.listdir('large')[0]
data = open(name, 'rb').read()
stop = False
def change():
    n = 0
    while not stop:
        n += 1
        if n % 3 == 0:
            with open(name, 'r+b') as f: f.truncate(len(data) // 2)
        elif n % 3 == 1:
            with open('other', 'wb') as f: f.write(data)
            os.rename('other', name)
        else:
            with open(name, 'r+b') as f:
                for at in range(0, len(data) - 4096, 65536):
                    f.seek(at + 4096); f.write(b'\x7f' * 100)
        time.sleep(0.002)
t = threading.Thread(target=change)
t.start()
begin, runs, bad, refused = time.time(), 0, [], 0
while time.time() - begin < 3:
    for scheme in ('sparse:ef=0,index=u32', 'topk:k=100,bucket=65536,ef=0'):
        for words in (['encode', '--force', '--scheme', scheme, name, 'x.cc'],
                      ['bench', '--trace', 'large', '--scheme', scheme, '--no-speed']):
            p = subprocess.run([program] + words, capture_output=True, text=True)
            runs += 1
            refused += p.returncode == 1
            if p.returncode not in (0, 1) or (p.returncode == 1 and 'push-step' not in p.stderr):
                bad.append((words, p.returncode, p.stderr))
stop = True
t.join()
left = [f for f in os.listdir('.') if '.tmp' in f]
print('%d runs over a changing file, %d refused' % (runs, refused))
if bad or left:
    sys.exit('%s, left: %s' % (bad[:3], left))
P
is=$?
end_case
case='a changing file' good=1
[ $is = 0 ] || bad "exit $is"

# --- interrupts ---

# i FILE WORDS: interrupted soon after its start, the command leaves the file as it was or has
# written a whole one.
i() {
    file=$1
    shift
    for delay in 0.02 0.1 0.3; do
        end_case
        case="$* (interrupted after $delay s)" good=1
        printf 'an earlier result\n' >"$file"
        "$program" "$@" >out 2>err </dev/null &
        pid=$!
        sleep $delay
        kill -TERM $pid 2>/dev/null
        wait $pid
        is=$?
        [ $is = 1 ] || [ $is = 0 ] || [ $is = 143 ] || bad "exit $is"
        grep -q 'an earlier result' "$file" || [ "$(wc -l <"$file")" -ge 2 ] || bad "$file has no row"
        ! grep -q 'before the first row' err || grep -q 'an earlier result' "$file" || bad "$file is new"
    done
}
i r.csv bench --values 16M --scheme all -o r.csv
i r.json bench --values 16M --scheme all -o r.json
left '*.tmp*' ''
finish
