#!/bin/sh
# Standard output that cannot be written (full, closed), standard input and error that are closed:
# every command says so and ends with exit 1, and no descriptor of a file takes the place of a
# standard one. A pipe without a reader ends it as SIGPIPE does, and silently.
set -u
. "$(dirname "$0")/../cli/lib.sh"

make_profile
q 0 trace synth small --values 2k --steps 2
step=small/push-step000000-rank0.safetensors
t 0 model --net resnet20 --bw 1gbps,100mbps --scheme fp32,3lc --profile profile.json -o model.csv
q 0 encode --scheme 3lc "$step" x.cc
end_case

# The standard output is a pipe whose reader is gone before the command starts. SIGPIPE, which Python
# ignores, has its default action again, as a shell gives it.
cat >broken.py <<'P'
import os, subprocess, sys
reader, writer = os.pipe()
os.close(reader)
status = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=writer, restore_signals=True)
code = status.returncode
sys.exit(code if code >= 0 else 128 - code)
P

# o EXIT WORDS: with standard output as `$how` says.
o() {
    want=$1
    shift
    case="$* ($how)" good=1
    case $how in
        full) "$program" "$@" >/dev/full 2>err </dev/null ;;
        closed) "$program" "$@" >&- 2>err </dev/null ;;
        broken) python3 broken.py "$program" "$@" 2>err ;;
        none) "$program" "$@" >out 2>&- <&- ;;
    esac
    is=$?
    [ $is = "$want" ] || bad "exit $is instead of $want"
    case $how in
        none) ;;
        broken) if grep -qi 'written\|pipe' err; then bad 'not silent'; fi ;;
        *) err 'written' ;;
    esac
    [ "$how" = none ] || : >out # nothing was printed there
    end_case
    case=
}

each() {
    o "$1" bench --values 1k --samples 2 --scheme 3lc,int8
    o "$1" bench --trace small --no-speed --scheme 3lc --format csv
    o "$1" model --net resnet20 --bw 1gbps --scheme fp32,3lc --profile profile.json
    o "$1" model --net resnet20 --bw 1gbps --scheme fp32,3lc --profile profile.json --format json
    o "$1" advise --net resnet20 --bw 1gbps --workers 4 --profile profile.json
    o "$1" schemes
    o "$1" nets --format csv
    o "$1" paper
    o "$1" trace info small
    o "$1" encode --force --scheme 3lc "$step" y.cc
    o "$1" decode x.cc y.npy
    o "$1" plot model.csv --kind step
    o "$1" plot model.csv --format script
    o "$1" --help
    o "$1" plot --help
    o "$1" --version
    o "$1" --man
    [ -n "$(command -v gnuplot)" ] || return 0
    o "$1" plot model.csv --format svg
}

how=full
each 1
how=closed
each 1
how=broken
each 141
o 141 model --net resnet20 --bw 1gbps --scheme fp32,3lc --profile profile.json -o saved.json
end_case
case='the saved result' good=1
python3 -m json.tool saved.json >out 2>err || bad 'saved.json is not a whole document'
end_case
case=
how=none
each 0
cmp -s y.cc x.cc || bad 'a payload went elsewhere'
finish
