#!/bin/sh
# `train --resume` with a plugin's scheme: another build of the plugin, also inside a wrapper, is another codec, and
# does not go on with the curve. CC is the compiler.
. "$(dirname "$0")/lib.sh"
root=$(dirname "$tests")
compile() { "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -O2 -shared -fPIC -I"$root" "$@"; }
case='the plugin' good=1
: >out
sed -n '/^```c$/,/^```$/{/^```/!p}' "$root/docs/plugins.md" >cyclic.c
compile cyclic.c -o first.so 2>err || bad 'it does not compile'
sed 's/residual\[i\] = 0;/residual[i] *= 0.5F;/' cyclic.c >other.c
compile other.c -o other.so 2>err || bad 'it does not compile'
mkdir same
cp first.so same/moved.so

# resumes WORDS: begins with the first build, goes on with the same one in another place, and not with another.
resumes() {
    rm -rf kept
    words="train -q --net mlp:8 --workers 2 --batch 8 --checkpoint kept --eval-every 2 --format json $*"
    q 0 $words --plugin first.so --steps 4
    q 0 $words --plugin same/moved.so --steps 4 --resume
    json 'any(n.startswith("resumed: from step 4") for n in d["notes"]) and not any("several versions" in n for n in d["notes"])'
    t 1 $words --plugin other.so --steps 4 --resume
    err "kept/.*: it is the checkpoint of another training, with 'plugin of [^']* crc32:[0-9a-f]\{8\}' and not 'plugin of [^']* crc32:[0-9a-f]\{8\}'"
}
resumes --scheme cyclic:k=2
resumes --scheme local:every=2,inner=cyclic
resumes --scheme fp32 --pull-scheme cyclic
why=$(why_no_sim)
if [ -z "$why" ]; then resumes --scheme cyclic:k=2 --on sim; else echo "skipped: train --on sim: $why"; fi
why=$(why_no_lab)
if [ -z "$why" ] && ! sanitized; then
    resumes --scheme cyclic:k=2 --on run
else
    echo "skipped: train --on run: ${why:-sanitized}"
fi

# Another version of the program goes on, and says so.
# It is killed at its first checkpoint, so that the next program has steps to add.
case='another version' good=1
rm -rf kept
words='train -q --net mlp:8 --workers 2 --batch 8 --scheme int8 --steps 40000 --checkpoint kept --checkpoint-every 100'
"$program" $words >killed 2>&1 &
pid=$!
until [ -e kept/int8-seed1.safetensors ] || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
kill -9 $pid
wait $pid 2>/dev/null
[ ! -s killed ] || bad 'it was not killed in time'
python3 - kept/int8-seed1.safetensors <<'P' 2>err || bad 'the checkpoint cannot be changed'
import json, struct, sys, zlib
data = open(sys.argv[1], 'rb').read()
size = struct.unpack('<Q', data[:8])[0]
head = json.loads(data[8:8 + size])
meta = head['__metadata__']
meta['version'] = '0.0.1 (old)'
def add(crc, key, value):
    return zlib.crc32(f'{key}\n{value}\n'.encode(), crc)
crc = 0
for key, value in meta.items():
    if key != 'texts_crc32':
        crc = add(crc, key, value)
meta['texts_crc32'] = f'{crc:08x}'
text = json.dumps(head, ensure_ascii=False).encode()
text += b' ' * (-len(text) % 8)
open(sys.argv[1], 'wb').write(struct.pack('<Q', len(text)) + text + data[8 + size:])
P
# The note stays when the newer program has written the checkpoint: the second time, no step is left.
for from in '[1-9][0-9]*00' 40000; do
    q 0 $words --resume --format json
    out "resumed: from step $from"
    json 'any(n.startswith("resumed: steps of several versions of commcomp make one curve: 0.0.1 (old), ") for n in d["notes"])'
done
finish
