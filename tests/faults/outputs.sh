#!/bin/sh
# Outputs beyond a limit on the size of files, over an input, and through a link: an earlier file
# stays, no temporary one is left, and no signal ends the command.
set -u
. "$(dirname "$0")/../cli/lib.sh"

make_profile
q 0 trace synth small --values 20k --steps 1
tensors=small/push-step000000-rank0.safetensors
q 0 encode --scheme fp32 "$tensors" x.cc

# limited WORDS: no file may have more than 512 or 1024 bytes (`ulimit -f 1`).
limited() {
    end_case
    case="$* (ulimit -f 1)" good=1
    : >out
    (ulimit -f 1 && exec "$program" "$@" >/dev/null 2>err </dev/null)
    is=$?
    [ $is = 1 ] || bad "exit $is instead of 1"
    err 'File too large'
    left '*.tmp*' ''
}
printf 'as it was' >big.npy
limited decode x.cc big.npy
[ "$(cat big.npy)" = 'as it was' ] || bad 'big.npy has changed'
limited encode --force --scheme fp32 "$tensors" big.npy
[ "$(cat big.npy)" = 'as it was' ] || bad 'big.npy has changed'
limited nets -o new.json
no_file new.json
end_case

# r WORDS <INPUT: refused, as the output is the file of an input, and the file stays.
r() {
    case="$* (from $file)" good=1
    cp "$file" before
    "$program" "$@" >out 2>err <"$file" 3<>"$file"
    is=$?
    [ $is = 2 ] || bad "exit $is instead of 2"
    err 'are the same file'
    same "$file" before
    end_case
}
t 0 model --net resnet20 --bw 1gbps,100mbps --scheme fp32,3lc --profile profile.json -o mm.csv
cp "$tensors" in.safetensors
end_case
file=in.safetensors
r encode --force --scheme fp32 - in.safetensors
r encode --force --scheme fp32 in.safetensors /dev/fd/3
r encode --force --scheme fp32 - /dev/fd/3
file=x.cc
r decode - x.cc
file=mm.csv
r plot mm.csv --script /dev/fd/3
r plot - --script mm.csv
case=
"$program" encode --scheme 3lc - - <in.safetensors >piped.cc 2>err
t 0 encode --scheme 3lc in.safetensors - # not one file
same piped.cc out

# A symbolic link: the file that it points to is replaced; a link to nothing is refused.
ln -s mm.csv link.csv
ln -s nowhere.csv dangling.csv
t 0 nets -o nets.csv
t 0 nets -o link.csv
same mm.csv nets.csv
[ -L link.csv ] || bad 'the link has gone'
t 1 nets -o dangling.csv
err 'dangling.csv: cannot be written: it is a link to nothing'
[ -L dangling.csv ] || bad 'the link has gone'
no_file nowhere.csv
finish
