#!/bin/bash
# Every option and operand that names an output file works with other kinds of files: a named pipe,
# a process substitution, /dev/stdout. The reader gets the contents of a regular file. COMMCOMP is
# the program.
set -u
program=$(realpath "${COMMCOMP:-build/bin/commcomp}") || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
cd "$dir" || exit 1
export XDG_CACHE_HOME=$dir/cache
passed=0 failed=0

bad() {
    failed=$((failed + 1))
    echo "FAILED: $*"
    head -n 5 err
}
check() { # check NAME COMMAND...: the command must succeed
    local name=$1
    shift
    if "$@"; then passed=$((passed + 1)); else bad "$name"; fi
}
run() { timeout 60 "$program" "$@" -q 2>err; }

# pipe NAME WORDS...: the program writes to the named pipe NAME, which is one of WORDS; got holds
# the text read from it.
pipe() {
    local name=$1 status=0
    shift
    rm -f "$name" got
    mkfifo "$name"
    timeout 60 cat "$name" >got &
    run "$@" >out || status=$?
    [ $status = 0 ] || : >"$name" & # ends a reader without a writer
    wait
    [ $status = 0 ] || bad "exit $status: commcomp $*"
}

model=(model --net resnet20 --workers 4 --bw 1gbps --scheme fp32,3lc)
run bench --values 1K --samples 2 --scheme 3lc --profile-out profile.json >out || bad "a profile"
model+=(--profile profile.json)
run trace synth trace --net resnet20 --steps 1 >out || bad "a trace"
tensors=$(echo trace/*)

# --output
for file in x.csv x.txt; do
    pipe $file nets -o $file
    run nets -o regular."${file#x.}" >out
    check "-o $file" cmp got regular."${file#x.}"
done
pipe x nets --format csv -o x # no suffix: --format
check '-o to a pipe without a suffix' cmp got regular.csv
run nets --format csv -o >(cat >substituted) >out
wait $!
check '-o >(...)' cmp substituted regular.csv
run nets --format csv -o /dev/stdout >once # the table gives way to the file
check '-o /dev/stdout, a file' cmp once regular.csv
run nets --format csv -o /dev/stdout | cat >once
check '-o /dev/stdout, a pipe' cmp once regular.csv
run nets --format csv -o /dev/fd/7 7>seven >out
check '-o /dev/fd/7' cmp seven regular.csv
run nets -o /dev/fd/9 9<&- >out
check '-o to a closed descriptor' grep -q '/dev/fd/9: cannot be written' err
run nets -o /dev/fd/0 </dev/null >out
check '-o to one for reading' grep -q '/dev/fd/0: is open for reading' err

# Nothing is written to a pipe when the command fails, and the command does not wait for its reader.
rm -f x.csv
mkfifo x.csv
run model --net nothing --bw 1gbps -o x.csv >out
check 'a command that fails does not open the pipe' grep -q nothing err

# bench --profile-out
pipe p.json bench --values 1K --samples 2 --scheme 3lc --profile-out p.json
check --profile-out grep -q '"schema": *"commcomp-profile' got

# encode, decode, trace convert
run encode --scheme 3lc "$tensors" regular.cc >out
pipe x.cc encode --format csv --scheme 3lc "$tensors" x.cc
check encode cmp got regular.cc
check 'encode: the size of the output' grep -q ",$(stat -c %s regular.cc)\(,\|$\)" out
run decode regular.cc regular.safetensors >out
pipe x.safetensors decode regular.cc x.safetensors
check decode cmp got regular.safetensors
pipe x decode regular.cc x # no suffix: safetensors
check 'decode to a pipe without a suffix' cmp got regular.safetensors
pipe x.safetensors trace convert "$tensors" x.safetensors
check 'trace convert' cmp got "$tensors"

# plot
run "${model[@]}" --format csv >model.csv || bad 'a model'
run plot model.csv --script regular.gp
pipe x.gp plot model.csv --script x.gp
check 'plot --script' cmp got regular.gp
if command -v gnuplot >/dev/null; then
    run plot model.csv -o regular.svg
    pipe x.svg plot model.csv -o x.svg
    check 'plot -o' cmp got regular.svg
fi
run plot model.csv --script model.csv
check 'plot --script over the input' grep -q 'RESULTS and --script are the same file: model.csv' err

# sim --write-platform, --timeline, --paje
if command -v smpirun >/dev/null && [ -x "$(dirname "$program")/commcomp-rank-sim" ]; then
    sim=(sim --net resnet20 --workers 2 --bw 1gbps --steps 1 --scheme fp32 --profile profile.json)
    pipe x.xml "${sim[@]}" --write-platform x.xml
    check --write-platform grep -q '</platform>' got
    pipe x.json "${sim[@]}" --timeline x.json
    check --timeline grep -q '"traceEvents"' got
    pipe x.paje "${sim[@]}" --paje x.paje
    check --paje grep -q EventDef got
    run "${sim[@]}" --timeline a.json -o a.json >out
    check 'two options, one file' grep -q -- '--output and --timeline are the same file\|--timeline and --output are the same file' err
fi

[ -z "$(ls | grep '\.tmp')" ] || bad "left: $(ls | grep '\.tmp')"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
