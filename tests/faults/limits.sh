#!/bin/sh
# Small limits (threads, open files, memory), and names with control characters: messages that name
# the limit, JSON that is whole, and nothing that a terminal would obey.
set -u
. "$(dirname "$0")/../cli/lib.sh"

# l LIMIT EXIT WORDS: under `ulimit LIMIT`.
l() {
    end_case
    limit=$1 want=$2
    shift 2
    case="$* (ulimit $limit)" good=1
    # shellcheck disable=SC2086
    (ulimit $limit && exec "$program" "$@") >out 2>err </dev/null
    is=$?
    [ $is = "$want" ] || bad "exit $is instead of $want"
}
q 0 trace synth many --values 100 --steps 60
l '-n 16' 0 bench --trace many --scheme 3lc --no-speed --format csv
cp out few
t 0 bench --trace many --scheme 3lc --no-speed --format csv
same out few
if sanitized; then
    echo 'skipped: ulimit -v: the sanitizer reserves more addresses than that'
else
    l '-v 400000' 1 bench --values 100k --scheme 3lc --threads 200 --format json
    err '200 threads cannot be started, only [0-9]*: '
    json "'threads cannot be started' in d['error']"
    l '-v 400000' 1 bench --values 400M --scheme 3lc
    err 'memory'
fi
l '-n 4' 0 trace info many

# Programs with ranks: a soft limit is raised, a hard one is named with the program that needs more.
make_run_profile
steps='--steps 1 --profile run.json --scheme fp32 --values 1K -q'
why=$(why_no_sim)
if [ -z "$why" ]; then
    l '-n 12' 1 sim --workers 2 --bw 1gbps $steps
    err 'smpirun needs up to 32 open files at a time, and this process may have 12: raise the hard limit'
    l '-S -n 12' 0 sim --workers 2 --bw 1gbps $steps
else
    echo "skipped: open files of sim: $why"
fi
why=$(why_no_lab)
if [ -z "$why" ]; then
    l '-n 12' 1 run --workers 2 --bw 1gbps $steps
    err 'the lab: ip needs up to 20 open files at a time, and this process may have 12'
    l '-n 24' 1 run --bw none --exchange ring --workers 2 --values 1K --scheme fp32 -q
    err 'mpirun needs up to 40 open files at a time, and this process may have 24'
    l '-S -n 12' 0 run --workers 7 --bw 1gbps $steps
    l '-S -n 12' 0 run --bw none --exchange ring --workers 8 --values 1K --scheme fp32 --time 10ms -q
else
    echo "skipped: open files of run: $why"
fi

# U+009B and the raw byte 0x9b begin control sequences, as ESC [ does.
evil=$(printf 'a\033\302\233\233z')
clean() { # no byte of out and err is a control character but newline, raw or in UTF-8
    python3 - out err <<'P' || bad 'a control character reaches the terminal'
import sys
for name in sys.argv[1:]:
    text = open(name, 'rb').read().decode('utf-8', 'surrogateescape')
    for c in text:
        o = ord(c)
        if (o < 0x20 and c not in '\n\t') or 0x7f <= o < 0xa0 or 0xdc80 <= o <= 0xdcff:
            sys.exit(f'{name}: {c!r} in {text!r}')
P
}
printf 'x' >"$evil.npy"
t 1 trace info "$evil.npy" && clean
t 1 encode --scheme 3lc "$evil.npy" x.cc && clean
t 2 "$evil" && clean
t 2 trace "$evil" && clean
t 2 bench "--$evil" && clean
t 2 bench --scheme "$evil" && clean
t 2 bench --scheme "3lc:$evil=1" && clean
t 2 bench --values "$evil" && clean
t 2 model --net "$evil" --bw 1gbps && clean
t 2 --completion "$evil" && clean
python3 - <<'P'
import json, struct
header = json.dumps({'a\x1b\x9bz': {'dtype': 'F32', 'shape': [1], 'data_offsets': [0, 4]}},
                    ensure_ascii=False).encode()
open('t.safetensors', 'wb').write(struct.pack('<Q', len(header)) + header + struct.pack('<f', float('nan')))
P
t 1 encode --scheme 3lc t.safetensors x.cc && clean

t 1 trace info t.safetensors && clean
finish
