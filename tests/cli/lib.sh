# The functions and files that the scripts of this folder share. Each script tests one command, runs
# by itself in a folder of its own, and begins and ends like this:
#
#   . "$(dirname "$0")/lib.sh"
#   ...
#   finish
#
# A case is `t` (or `q`, which also expects nothing on stderr) with the expected exit code ("0 1":
# either, where it depends on how busy the machine is) and the arguments, followed by its checks.
# `expected NAME` compares stdout with
# tests/cli/expected/SCRIPT/NAME; COMMCOMP_TEST_UPDATE=1 rewrites these files. COMMCOMP is the
# program. Every JSON document that a case prints is held against tests/schema at the end.
set -u
tests=$(realpath "$(dirname "$0")")
case $(basename "$tests") in cli | faults | witness) tests=$(dirname "$tests") ;; esac
script=$(basename "$0" .sh)
program=$(realpath "${COMMCOMP:-build/bin/commcomp}") || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
cd "$dir" || exit 1
unset COMMCOMP_ISA
export COLUMNS=10000 # lines are not wrapped; cases about widths have their own
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}allocator_may_return_null=1 # as malloc does
# Ranks look for no leaks, as Open MPI itself leaks memory.
export OMPI_MCA_mca_base_env_list=ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
passed=0 failed=0 case='' good=1 documents=0
mkdir documents || exit 1

# --- cases ---

end_case() {
    [ -z "$case" ] && return
    case " $case " in
        *' --help '* | *' -h '*) ;;
        *' --format json '*) [ ! -s out ] || document out ;;
    esac
    if [ $good = 1 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: commcomp $case"
        sed 's/^/    stdout: /' out | head -n 8
        sed 's/^/    stderr: /' err | head -n 8
    fi
}

# document FILE: JSON for check_documents.
document() {
    documents=$((documents + 1))
    cp "$1" "documents/$documents"
    echo "documents/$documents: commcomp $case" >>documents/cases
}

# All documents at once: python takes longer to start than to check.
check_documents() {
    [ "$documents" -gt 0 ] || return 0
    case='JSON against the schema' good=1
    : >out
    (cd documents && seq "$documents" | xargs python3 "$tests/check_json.py") 2>err
    case $? in
        0) ;;
        77) echo "skipped: $documents JSON documents are not held against the schema: $(cat err)" ;;
        *)
            for n in $(sed -n 's/^\([0-9]*\):.*/\1/p' err | sort -nu); do
                bad "$(grep "^documents/$n:" documents/cases)"
            done
            good=0
            ;;
    esac
}

# finish: the last line of a script.
finish() {
    end_case
    case=''
    check_documents
    end_case
    echo "$script: $passed passed, $failed failed"
    [ $failed = 0 ]
    exit
}

bad() {
    good=0
    echo "commcomp $case: $*"
}

# t STATUS WORDS...: runs the program. Output that looks like a crash fails every case.
t() {
    end_case
    want=$1
    shift
    case="$*" good=1
    "$program" "$@" >out 2>err </dev/null
    is=$?
    case " $want " in *" $is "*) ;; *) bad "exit $is instead of $want" ;; esac
    [ $is = 0 ] || [ -s err ] || bad "fails without a message"
    [ "$want" != 2 ] || [ ! -s out ] || bad "a usage error prints on stdout"
    if grep -Eq 'ERROR: .*Sanitizer|runtime error|Assertion' err; then bad "crashed"; fi
}

# q STATUS WORDS...: t, and nothing on stderr.
q() {
    t "$@"
    [ ! -s err ] || bad "stderr is not empty"
}

# --- checks of the last case ---

out() { grep -q -- "$1" out || bad "stdout lacks: $1"; }
err() { grep -q -- "$1" err || bad "stderr lacks: $1"; }
no_file() { [ ! -e "$1" ] || bad "there is a file $1"; }
same() { cmp -s "$1" "$2" || bad "$1 and $2 differ"; }
differ() { ! cmp -s "$1" "$2" || bad "$1 and $2 are the same"; }
size() { [ "$(stat -c %s "$1")" = "$2" ] || bad "$1 has $(stat -c %s "$1") bytes instead of $2"; }
left() { # left PATTERN FILES: only these files match the pattern
    [ "$(ls -d $1 2>/dev/null | tr '\n' ' ')" = "$2" ] || bad "left: $(ls -d $1 2>/dev/null)"
}
json() { # stdout is JSON for which the Python expression holds
    command -v python3 >/dev/null || { bad "no python3, which reads JSON: install it"; return; }
    if ! [ -p "$dir/json.ask" ]; then
        mkfifo "$dir/json.ask" "$dir/json.answer" || exit 1
        (cd "$dir" && exec python3 -IS "$tests/cli/json_server.py" $$ >/dev/null &) # not a child that `wait` waits for
    fi
    printf '%s\n%s\0' "$PWD/out" "$1" >"$dir/json.ask"
    read -r why <"$dir/json.answer" || why='nothing answers'
    [ -z "$why" ] || bad "JSON does not fulfil: $1: $why"
}

# expected NAME: stdout is tests/cli/expected/SCRIPT/NAME, to the byte.
expected() {
    want="$tests/cli/expected/$script/$1"
    if [ -n "${COMMCOMP_TEST_UPDATE:-}" ]; then
        mkdir -p "$(dirname "$want")"
        cp out "$want"
    fi
    if ! cmp -s "$want" out; then
        bad "stdout is not as in tests/cli/expected/$script/$1:"
        diff "$want" out | head -n 10
    fi
}

# --- files to work with ---

# make_tensors: net/ (a trace of resnet20), $step (one of its files), x.npy (5,000 values),
# five.csv, nan.npy, inf.npy, none.npy (no values), link.npy (a link to x.npy).
make_tensors() {
    q 0 trace synth small --values 5k --steps 1 --seed 3
    q 0 trace convert small/push-step000000-rank0.safetensors x.npy
    size x.npy 20128
    q 0 trace synth net --net resnet20 --steps 3 --ranks 2 --pulls
    out 'net'
    step=net/push-step000002-rank1.safetensors
    [ "$(ls net | wc -l)" = 9 ] || bad "9 files"
    printf '0.3\n-1.0\n0.2\n0.6\n0.0\n' >five.csv
    ln -s x.npy link.npy
    python3 - <<'P'
import struct
def npy(path, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    head += ' ' * (63 - (10 + len(head)) % 64) + '\n'
    with open(path, 'wb') as f:
        f.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode())
        f.write(struct.pack('<%df' % len(values), *values))
npy('nan.npy', [1, 2, float('nan'), 4])
npy('inf.npy', [1, float('-inf')])
npy('none.npy', [])
P
}

# quiet: tells the kept figures that the machine was not busy, as figures from a busy one are measured again once
# it is quieter.
quiet() {
    sed -i 's/"load": *[0-9.e+-]*/"load": 0/g' "$XDG_CACHE_HOME"/commcomp/profile-*.json
}

# make_profile: profile.json, with every scheme and those of the papers. Its figures are round, so
# that results can be worked out by hand: 8 bits, 1 ns to encode, 2 to decode, 3 to decode and add;
# fp32 takes no time.
point='"bits_per_value": 8, "encode_ns": 1, "decode_ns": 2, "decode_add_ns": 3'
make_profile() {
    raw='"bits_per_value": 32, "encode_ns": 0, "decode_ns": 0, "decode_add_ns": 0'
    {
        echo '{"schema": "commcomp-profile/1", "trace": "made up", "cpu": "x", "isa": "scalar",'
        echo ' "time": "2026-01-31T12:00:00Z", "codecs": ['
        {
            "$program" schemes --format csv | tail -n +2 | cut -d, -f1 | sort -u
            printf '%s\n' 3lc:s=1.5 3lc:s=1.75 3lc:s=1.9
        } | while read -r id; do
            [ "$id" = fp32 ] || echo "{\"scheme\": \"$id\", \"points\": [{\"values\": 1000, $point}]},"
        done
        echo "{\"scheme\": \"fp32\", \"points\": [{\"values\": 1000, $raw}]}]}"
    } >profile.json
}

# make_run_profile: run.json, which also has local steps of a thousand.
make_run_profile() {
    make_profile
    sed 's/^{"scheme": "local", .*/&\
{"scheme": "local:every=1000", "points": [{"values": 1000, '"$point"'}]},/' profile.json >run.json
}

# --- capabilities of this machine ---

# Whether the program is built with AddressSanitizer. Cases that a sanitizer makes impossible ask and
# say that they are skipped.
sanitized() {
    grep -q __asan_init "$program"
}

# The first reason why `commcomp run` cannot work here; nothing if it can.
why_no_lab() {
    {
        for tool in ip tc mpirun; do
            command -v $tool >/dev/null || echo "no $tool"
        done
        [ -x "$(dirname "$program")/commcomp-rank" ] || echo 'no commcomp-rank'
        if [ "$(id -u)" = 0 ]; then
            unshare -nm true 2>/dev/null || echo 'no namespaces'
        else
            unshare -Urnm true 2>/dev/null || echo 'no user namespaces'
        fi
    } | head -n 1
}

# The same for `commcomp sim`.
why_no_sim() {
    {
        command -v smpirun >/dev/null || echo 'no smpirun'
        [ -x "$(dirname "$program")/commcomp-rank-sim" ] || echo 'no commcomp-rank-sim'
        ! sanitized || echo 'smpirun cannot load a shared object that is built with a sanitizer'
    } | head -n 1
}

# kill_trainings OPTIONS PLACE...: trains 3lc with the options at each place in turn, kills it once it has
# written the checkpoint in the folder `killed`, and continues from that at the next place. local.json, a
# file of the script, is older than the checkpoint by then.
kill_trainings() {
    options=$1
    resume=
    shift
    for place in "$@"; do
        "$program" $options $place --checkpoint killed $resume >/dev/null 2>&1 </dev/null &
        pid=$!
        until [ -n "$(find killed -name '3lc-seed1.safetensors' -newer local.json 2>/dev/null)" ] || ! kill -0 $pid 2>/dev/null; do
            sleep 0.02
        done
        kill -9 $pid
        wait $pid 2>/dev/null
        # The programs that it has started end, too, a moment later.
        sleep 1
        touch local.json
        resume=--resume
    done
}
