#!/bin/sh
# `commcomp decode` on damaged containers: refused, the output as it was.
. "$(dirname "$0")/lib.sh"

make_tensors
q 0 encode --scheme int8 x.npy x.cc
q 0 encode --scheme int8 --payload x.npy x.payload

echo untouched >kept.npy
damaged() { # after a change to bad.cc: refused, the output as it was, nothing left beside it
    t 1 decode bad.cc kept.npy
    err '^commcomp: bad.cc: '
    echo untouched | cmp -s - kept.npy || bad "kept.npy was touched"
    left 'kept.npy*' 'kept.npy '
}
: >bad.cc
damaged
err 'byte 0'
head -c 2000 x.cc >bad.cc
damaged
err "tensor 'values': byte [0-9]*: the payload needs 5004 bytes, but the file ends at byte 2000"
cp x.cc bad.cc
echo >>bad.cc
damaged
err '1 bytes follow the last tensor'
for at in 0 9 20 46 60 90 100 3000; do
    cp x.cc bad.cc
    printf '\377' | dd of=bad.cc bs=1 seek=$at conv=notrunc 2>/dev/null
    damaged
    err 'byte [0-9]*: '
done
err "tensor 'values': byte [0-9]*: the checksum says"
cp x.npy bad.cc
damaged
err 'this is not a file that `commcomp encode` wrote'
t 1 decode missing.cc y.npy
err 'missing.cc: .*No such file'
t 1 decode net y.npy
err 'net: is a directory'
t 1 decode --format json bad.cc kept.npy
json '"not a file" in d["error"] and d["rows"] == []'
t 1 decode --format json -o r.json bad.cc kept.npy
no_file r.json

# Kept figures whose checksum does not fit are named, and measured again.
export XDG_CACHE_HOME="$dir/cache"
make_profile
t 0 model --profile profile.json --values 1K --scheme int8 --format json
err 'measuring sizes and errors of 1 scheme'
bits=$(sed -n 's/.*"bits_per_value":[^0-9]*\([0-9.]*\).*/\1/p' out | head -n 1)
q 0 model --profile profile.json --values 1K --scheme int8
sed -i 's/"bits": \[\([0-9]\)/"bits": [1\1/' cache/commcomp/figures-*.json
t 0 model --profile profile.json --values 1K --scheme int8 --format json
err 'cache/commcomp/figures-[0-9a-f]*.json: its checksum is not that of its contents: the file is damaged; the figures are measured again'
err 'measuring sizes and errors of 1 scheme'
json "d['rows'][0]['bits_per_value'] == $bits"
for cut in 0 10 100; do
    for file in cache/commcomp/figures-*.json; do truncate -s $cut "$file"; done
    t 0 model --profile profile.json --values 1K --scheme int8
    err 'the file is damaged; the figures are measured again'
done
q 0 model --profile profile.json --values 1K --scheme int8

finish
