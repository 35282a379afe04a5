#!/bin/sh
# A full disk: no command ends with exit 0 when it could not write, an earlier file stays as it was,
# and nothing else is left. Everything runs in a mount namespace of its own, on a small tmpfs.
set -u
here=$(realpath "$(dirname "$0")")
if [ -z "${IN_NAMESPACE:-}" ]; then
    user=
    [ "$(id -u)" = 0 ] || user=r
    if ! unshare -m$user true 2>/dev/null; then
        echo 'skipped: no mount namespaces here'
        exit 0
    fi
    IN_NAMESPACE=1 exec unshare -m$user "$0"
fi
. "$here/../cli/lib.sh"

make_profile
q 0 trace synth small --values 20k --steps 1
tensors=small/push-step000000-rank0.safetensors
q 0 encode --scheme fp32 "$tensors" big.cc
t 0 model --net resnet20 --bw 1gbps,100mbps --scheme fp32,3lc --profile profile.json -o model.csv
mkdir disk
mount -t tmpfs -o size=64k none disk || exit 1

# f EXIT PLACE WORDS: the command writes disk/PLACE, which has contents already, and the disk is full.
f() {
    place=disk/$1
    shift
    rm -rf disk/*
    printf 'as it was' >"$place"
    cat /dev/zero >disk/full 2>/dev/null
    t 1 "$@"
    err "$(basename "$place")"
    err 'No space left on device'
    [ "$(cat "$place")" = 'as it was' ] || bad "$place has changed"
    left 'disk/*' "$(printf '%s\n' disk/full "$place" | LC_ALL=C sort | tr '\n' ' ')"
}

model='model --net resnet20 --bw 1gbps --scheme fp32,3lc --profile profile.json'
for format in csv json txt md tex; do
    f x.$format $model -o disk/x.$format
done
f x.csv bench --values 1K --samples 2 --scheme 3lc -o disk/x.csv
f p.json bench --values 1K --samples 2 --scheme 3lc --profile-out disk/p.json
f x.cc encode --force --scheme fp32 "$tensors" disk/x.cc
f x.cc encode --force --scheme fp32 --payload "$tensors" disk/x.cc
f x.npy decode big.cc disk/x.npy
f x.safetensors decode big.cc disk/x.safetensors
f x.csv trace convert "$tensors" disk/x.csv
f x.gp plot model.csv --script disk/x.gp
f x.txt plot model.csv --kind step -o disk/x.txt
if command -v gnuplot >/dev/null; then
    for format in svg png pdf; do
        f x.$format plot model.csv -o disk/x.$format
    done
else
    echo 'skipped: no gnuplot'
fi
why=$(why_no_sim)
if [ -z "$why" ]; then
    sim='sim --net resnet20 --workers 2 --bw 1gbps --steps 1 --scheme fp32 --profile profile.json'
    f x.paje $sim --paje disk/x.paje
    f x.xml $sim --write-platform disk/x.xml
    f x.json $sim --timeline disk/x.json
else
    echo "skipped: $why"
fi

# A directory that is new.
rm -rf disk/*
t 1 trace synth disk/trace --values 100k --steps 1
err 'No space left on device'
left 'disk/*' ''

# Standard output is a file on the disk, and the directory of temporary files is there.
cat /dev/zero >disk/full 2>/dev/null
for words in "$model" "$model --format json" nets 'plot model.csv --kind step' --help --man; do
    end_case
    case="$words >disk/out" good=1
    # shellcheck disable=SC2086
    "$program" $words >disk/out 2>err </dev/null
    is=$?
    [ $is = 1 ] || bad "exit $is instead of 1"
    err 'could not be written: No space left on device'
    rm -f disk/out
done
end_case
rm -rf disk/full
cat /dev/zero >disk/full 2>/dev/null
export TMPDIR=$dir/disk
if command -v gnuplot >/dev/null; then
    t 1 plot model.csv --format svg
    err 'No space left on device'
fi
umount disk
finish
