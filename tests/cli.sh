#!/bin/sh
# The command line: exit codes, messages, files. COMMCOMP is the program. A case is `t` (or `q` for
# a quiet one), with the expected exit code and the words, and the checks that follow it. Every JSON
# document that a case leaves is held against tests/schema at the end.
set -u
tests=$(realpath "$(dirname "$0")") || exit 1
program=$(realpath "${COMMCOMP:-build/bin/commcomp}") || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
cd "$dir" || exit 1
unset COMMCOMP_ISA
export ASAN_OPTIONS=allocator_may_return_null=1 # as malloc does
passed=0 failed=0 case='' good=1 documents=0
mkdir documents || exit 1

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

# All of them at once: python takes longer to start than to check.
check_documents() {
    case='JSON against the schema' good=1
    : >out
    (cd documents && seq "$documents" | xargs python3 "$tests/check_json.py") 2>err
    case $? in
        0) [ "$documents" -gt 20 ] || bad "only $documents documents" ;;
        77) echo "skipped: $documents JSON documents are not held against the schema: $(cat err)" ;;
        *)
            for n in $(sed -n 's/^\([0-9]*\):.*/\1/p' err | sort -nu); do
                bad "$(grep "^documents/$n:" documents/cases)"
            done
            good=0
            ;;
    esac
}

bad() {
    good=0
    echo "commcomp $case: $*"
}

# t STATUS WORDS...: runs the program. Nothing that reads like a crash is ever right.
t() {
    end_case
    want=$1
    shift
    case="$*" good=1
    "$program" "$@" >out 2>err </dev/null
    is=$?
    [ $is = "$want" ] || bad "exit $is instead of $want"
    [ "$want" = 0 ] || [ -s err ] || bad "fails without a message"
    [ "$want" != 2 ] || [ ! -s out ] || bad "a usage error prints on stdout"
    if grep -Eq 'ERROR: .*Sanitizer|runtime error|Assertion' err; then bad "crashed"; fi
}

# q STATUS WORDS...: t, and nothing on stderr.
q() {
    t "$@"
    [ ! -s err ] || bad "stderr is not empty"
}

out() { grep -q -- "$1" out || bad "stdout lacks: $1"; }
err() { grep -q -- "$1" err || bad "stderr lacks: $1"; }
no_file() { [ ! -e "$1" ] || bad "there is a file $1"; }
same() { cmp -s "$1" "$2" || bad "$1 and $2 differ"; }
differ() { ! cmp -s "$1" "$2" || bad "$1 and $2 are the same"; }
size() { [ "$(stat -c %s "$1")" = "$2" ] || bad "$1 has $(stat -c %s "$1") bytes instead of $2"; }
left() { # only these files match the pattern
    [ "$(ls -d $1 2>/dev/null | tr '\n' ' ')" = "$2" ] || bad "left: $(ls -d $1 2>/dev/null)"
}
json() { # stdout is JSON for which the Python expression holds
    python3 -c "import json, sys; d = json.load(sys.stdin); sys.exit(not ($1))" <out ||
        bad "JSON does not fulfil: $1"
}

# --- the program, help ---
t 2
err '^usage: commcomp COMMAND'
q 0 --help
out '^  schemes '
q 0 --version
out '^commcomp [^ ]*$'
q 0 --man
out '^\.TH COMMCOMP 1'
t 2 benhc
err "unknown command 'benhc'; did you mean 'bench'?"
t 2 xyzzy
err '`commcomp --help` lists them'
t 2 trace
err 'trace info'
t 2 trace inf x
err "did you mean 'trace info'?"
q 0 trace --help
out '^  trace convert '
commands=$("$program" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\{1,\}\( [a-z]\{1,\}\)\{0,1\}\)  .*/\1/p;/^Commands:/,/^$/s/^  \([a-z ]*[a-z]\)$/\1/p')
[ "$(echo "$commands" | grep -c .)" -ge 7 ] || bad "--help lists few commands: $commands"
end_case
case=''
echo "$commands" >commands
while read -r command; do
    q 0 $command --help
    out "^usage: commcomp $command"
    out '--format FORMAT'
    out '^Examples:'
    cp out help
    q 0 $command -h
    same out help
    t 2 $command --frmat json
    err 'unknown option --frmat; did you mean --format?'
done <commands
q 0 help bench
out '^usage: commcomp bench'

# --- words ---
t 2 schemes --format
err '--format needs an argument: FORMAT'
t 2 schemes --format jsn
err "did you mean 'json'?"
t 2 schemes --format xml
err 'it is one of table, csv, json'
t 2 schemes --quiet=1
err '--quiet takes no argument'
t 2 schemes -z
err 'unknown option -z'
t 2 encode --scheme 3lc only
err 'too few operands: usage: commcomp encode'
t 2 decode a b c
err 'too many operands'
t 2 trace info a b c d e
err 'too many operands'
t 2 schemes -o x.pdf
err '\.csv'
err '\.json'
no_file x.pdf
q 0 schemes -o x.csv -o x.json
no_file x.csv
document x.json
q 0 schemes --format csv -q
cp out all.csv
q 0 schemes -o x.csv
same x.csv all.csv
q 0 schemes -ox.txt
grep -q '3lc' x.txt || bad "x.txt"
t 1 schemes -o no/such/x.csv
err 'no/such/x.csv'

# --- schemes ---
q 0 schemes
out '^scheme'
q 0 schemes 3lc local
out '^3lc: '
out '^  s: .*1 <= s < 2; default 1'
out '^local: '
t 2 schemes 3lcc
err "unknown scheme '3lcc'; did you mean '3lc'?"
q 0 schemes --format json
json 'd["schema"] == "commcomp/1" and d["command"] == "schemes" and "error" not in d'
json '{"fp32", "3lc"} <= {r["scheme"] for r in d["rows"]}'
json 'all(r["parameter"] is None or r["default"] is not None for r in d["rows"])'
schemes=$(sed 1d all.csv | cut -d, -f1 | uniq)

# --- tensor files to work with ---
q 0 trace synth small --values 5k --steps 1 --seed 3
q 0 trace convert small/push-step000000-rank0.safetensors x.npy
size x.npy 20128
q 0 trace synth net --net resnet20 --steps 3 --ranks 2 --pulls
out 'net'
step=net/push-step000002-rank1.safetensors
[ "$(ls net | wc -l)" = 9 ] || bad "9 files"
printf '0.3\n-1.0\n0.2\n0.6\n0.0\n' >five.csv
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

# --- encode and decode, every scheme ---
for s in $schemes; do
    q 0 encode --scheme "$s" "$step" s.cc
    out "^scheme  *$s\$"
    cp s.cc again.cc
    q 0 encode --scheme "$s" "$step" s.cc
    same s.cc again.cc
    q 0 decode s.cc s.safetensors
    out "^scheme  *$s\$"
    q 0 trace info s.safetensors --format csv
    out ',push 1,push,1,1,2,2,59,'
    COMMCOMP_ISA=scalar
    export COMMCOMP_ISA
    q 0 encode --scheme "$s" "$step" scalar.cc
    same s.cc scalar.cc
    q 0 decode s.cc scalar.safetensors
    same s.safetensors scalar.safetensors
    unset COMMCOMP_ISA
    q 0 encode --scheme "$s" --payload x.npy x.payload
    q 0 decode --scheme "$s" --payload --shape 5000 x.payload bare.npy
    q 0 encode --scheme "$s" x.npy x.cc
    q 0 decode x.cc x.out.npy
    same bare.npy x.out.npy
    size bare.npy 20128
    t 1 encode --scheme "$s" nan.npy nan.cc
    err 'nan.npy: .*index 2 is NaN'
    no_file nan.cc
    t 1 encode --scheme "$s" inf.npy inf.cc --payload
    err 'index 1 is infinite'
    no_file inf.cc
    q 0 encode --scheme "$s" none.npy none.cc
    q 0 decode none.cc none.out.npy
    same none.npy none.out.npy
done
for s in fp32 zstd lz4; do
    q 0 encode --scheme $s x.npy x.cc
    q 0 decode x.cc x.out.npy
    same x.npy x.out.npy
done
q 0 encode --scheme fp32 "$step" s.cc
q 0 decode s.cc s.safetensors
same s.safetensors "$step"

# --- what a payload is, and what it depends on ---
q 0 encode --scheme 3lc --payload five.csv five.payload --format csv
out '^scheme,tensor,shape,values,payload_bytes,bits_per_value,ratio,'
out '^3lc,,,5,5,8,4,'
printf '\0\0\200\77a' | cmp -s - five.payload || bad "five.payload"
q 0 decode --scheme 3lc --payload --shape 5 five.payload five.out.csv
printf '0\n-1\n0\n1\n0\n' | cmp -s - five.out.csv || bad "five.out.csv"
q 0 encode --scheme 3lc:s=1.75,zre=0 five.csv s.cc
out '^scheme  *3lc:s=1.75,zre=0$'
q 0 encode --scheme 3lc --s=1.75 --zre 0 five.csv again.cc
same s.cc again.cc
q 0 encode --scheme ternary x.npy seed1.cc
q 0 encode --scheme ternary --seed 2 x.npy seed2.cc
differ seed1.cc seed2.cc
q 0 encode --scheme local:every=3 --payload --step 1 x.npy p.bin
size p.bin 0
q 0 encode --scheme local:every=3 --payload --step 2 x.npy p.bin
size p.bin 20000
t 1 decode --scheme local:every=3 --payload --shape 5000 p.bin p.npy
err 'p.bin: payload, byte 0'
q 0 decode --scheme local:every=3 --payload --shape 5000 --step 2 p.bin p.npy
same p.npy x.npy
q 0 encode --scheme 3lc net/pull-step000001.safetensors s.cc --format json
json 'd["rows"][0]["worker"] == -1 and d["rows"][0]["direction"] == "pull"'
json 'd["rows"][0]["step"] == 1 and d["rows"][0]["values"] == 269722'
json 'abs(d["rows"][0]["ratio"] * d["rows"][0]["bits_per_value"] - 32) < 1e-9'
q 0 encode --scheme 3lc --direction pull x.npy s.cc --format csv
out ',1,0,-1,pull$'
q 0 encode --scheme 3lc --worker 4 --step 9 x.npy s.cc --format csv
out ',1,9,4,push$'
q 0 encode --scheme 3lc "$step" s.cc --per-tensor --format json
json 'len(d["rows"]) == 59 and sum(r["values"] for r in d["rows"]) == 269722'
q 0 encode --scheme int8 --payload x.npy p.bin --help
out '^usage: commcomp encode'

# --- usage of encode and decode ---
t 2 encode x.npy y.cc
err 'which scheme?'
t 2 encode --scheme 3lc,int8 x.npy y.cc
err 'names 2, 3lc and int8'
t 2 encode --scheme 3lc:s=1/1.5 x.npy y.cc
err 'names 2, 3lc and 3lc:s=1.5'
t 2 encode --scheme 3lc --s 2 x.npy y.cc
err 's=2: allowed is 1 <= s < 2'
t 2 encode --scheme 3lc --s 1.5x x.npy y.cc
err 's=1.5x: allowed is'
t 2 encode --scheme 3lc:zz=1 x.npy y.cc
err "scheme 3lc has no parameter 'zz'"
t 2 encode --scheme fp32 --s 1.5 x.npy y.cc
err 's'
t 2 encode --s 1.5 --scheme 3lc x.npy y.cc
err 'write it after --scheme'
t 2 encode --scheme 3lc --seed 1x x.npy y.cc
err '--seed'
t 2 encode --scheme 3lc --worker -2 x.npy y.cc
err '--worker'
t 2 encode --scheme 3lc --direction up x.npy y.cc
err '--direction up'
t 2 encode --scheme 3lc x.npy x.npy
err 'are the same file'
ln -s x.npy link.npy
t 2 encode --scheme 3lc x.npy link.npy
err 'are the same file'
no_file y.cc
t 1 encode --scheme 3lc missing.npy y.cc
err 'missing.npy: .*No such file'
t 1 encode --scheme 3lc net y.cc
err 'net is a directory'
t 1 encode --scheme 3lc x.payload y.cc
err '\.safetensors'
t 1 encode --scheme 3lc "$step" y.cc --payload
err 'has 59 tensors; --payload is for a file of one'
t 1 encode --scheme 3lc x.npy no/such/y.cc
err 'no/such/y.cc'
no_file y.cc
t 2 decode --payload --scheme int8 p.bin y.npy
err 'needs --shape'
t 2 decode --payload --shape 5000 p.bin y.npy
err 'which scheme?'
for shape in 5x x5 5,5 -5 5x5x5x5x5x5x5x5x5 99999999999999999999 ''5e3; do
    t 2 decode --payload --scheme int8 --shape $shape p.bin y.npy
    err "shape '$shape'"
done
q 0 encode --scheme int8 --payload x.npy p.bin
t 1 decode --payload --scheme int8 --shape 4999 p.bin y.npy
err 'p.bin: payload, byte 5003: the payload has 5004 bytes, not 5003'
t 1 decode --payload --scheme int8 --shape 99999999999999999 p.bin y.npy
err 'out of memory'
q 0 encode --scheme int8 x.npy x.cc
for option in '--shape 5000' '--step 1' '--seed 1' '--worker 1' '--direction pull' '--scheme 3lc'; do
    t 2 decode $option x.cc y.npy
    err 'only for --payload'
done
t 2 decode x.cc y.txt
err '\.safetensors'
t 2 decode x.cc x.cc
err 'are the same file'
q 0 encode --scheme 3lc "$step" s.cc
t 2 decode s.cc y.npy
err 'holds one tensor, but there are 59'
no_file y.npy

# --- damaged containers ---
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

# --- nets ---
q 0 nets --format json
json 'len(d["rows"]) == 20 and all(r["values"] > 0 and r["reference"] for r in d["rows"])'
json '{r["net"]: r["values"] for r in d["rows"]}["llama2-7b"] == 6738415616'
json '"QSGD, table 1: 25M" in {r["net"]: r["papers"] for r in d["rows"]}["resnet50"]'
q 0 nets llama2-7b --format json
json 'sum(r["values"] for r in d["rows"]) == 6738415616 and len(d["rows"]) == 291'
json 'abs(sum(r["compute_share"] for r in d["rows"]) - 1) < 1e-9'
q 0 nets mnist-mlp-500
out 'Pipe-SGD'
t 2 nets vgg20
err "did you mean 'vgg16'?"
t 1 nets net/missing.safetensors
err 'net/missing.safetensors'
q 0 nets net/push-step000000-rank0.safetensors --format csv
[ "$(wc -l <out)" = 60 ] || bad "59 tensors"
if [ "$(awk '/MemAvailable/ { print $2 }' /proc/meminfo)" -lt 60000000 ]; then
    t 1 bench --net llama2-7b --scheme 3lc,mqe1bit,topk
    err 'GB of memory are needed'
fi

# --- papers ---
q 0 paper --format json
json 'len(d["rows"]) == 11 and all(r["rms_error"] < 2 for r in d["rows"])'
json '[r["fitted"] for r in d["rows"] if r["table"] == "3lc-table1"] == [4]'
q 0 paper 3lc-table1 --format json
json 'len(d["rows"]) == 27 and all(abs(r["error"]) <= 0.11 for r in d["rows"])'
json '(sum(r["error"] ** 2 for r in d["rows"]) / 27) ** 0.5 <= 0.05'
json 'all(abs(r["speedup"] / r["speedup_paper"] - 1 - r["error"]) < 1e-12 for r in d["rows"])'
json 'sum(" fitted: " in n for n in d["notes"]) == 4'
json '[r["scheme"] for r in d["rows"]][-1] == "3lc:s=1.9" and d["rows"][-1]["speedup_paper"] == 1.55'
q 0 paper thesis-table1.1
out 'DenseNet-40 with growth 18'
q 0 paper sparcml-table3 --format csv
t 2 paper 3lc-table3
err "did you mean '3lc-table"
t 2 paper 3lc-table1 qsgd-tabel1
err "did you mean 'qsgd-table1'?"
t 2 paper --format jsn
awk '/^```json/ { on = 1; next } /^```/ { on = 0 } on' "$tests/../docs/papers.md" >mine.json
q 0 paper mine.json --format json
json 'd["rows"][0]["speedup"] > 2.49 and d["rows"][0]["speedup"] < 2.51'
sed 's/"comm_gain"/"comm_gian"/' mine.json >typo.json
t 1 paper typo.json
err 'did you mean "comm_gain"'
t 1 paper missing.json
err 'missing.json'

# --- traces ---
t 1 trace synth net
err 'net is not empty'
left 'net*' 'net '
t 1 trace synth x.npy
err 'x.npy'
mkdir empty
q 0 trace synth empty/ --values 100 --steps 2 --synthetic laplace
left 'empty*' 'empty '
[ "$(ls empty | wc -l)" = 2 ] || bad "2 files"
t 2 trace synth other --synthetic laplac
err "did you mean 'laplace'?"
t 2 trace synth other --net resnet1100
err 'resnet110'
t 2 trace synth other --net resnet20 --values 5
err 'exclude each other'
t 2 trace synth other --values 0
err '--values'
t 2 trace synth other --values 10Mfoo
err '--values'
t 2 trace synth other --steps 0
err '--steps'
no_file other
q 0 trace synth a --values 1000 --seed 5
q 0 trace synth b --values 1000 --seed 5
diff -r a b >/dev/null || bad "the same seed, other values"
q 0 trace synth c --values 1000 --seed 6
! diff -r a c >/dev/null || bad "another seed, the same values"
q 0 trace info net --format json
json '[r["stream"] for r in d["rows"]] == ["push 0", "push 1", "pull"]'
json 'all(r["steps"] == 3 and r["tensors"] == 59 and r["values"] == 269722 for r in d["rows"])'
q 0 trace info --per-tensor five.csv --format json
json 'd["rows"][0]["max_abs"] == 1 and d["rows"][0]["zero_fraction"] == 0.2'
json 'abs(d["rows"][0]["rms"] - (1.49 / 5) ** 0.5) < 1e-6'
q 0 trace info --per-tensor nan.npy --format json
json 'd["rows"][0]["nonfinite"] == 1 and d["rows"][0]["max_abs"] == 4'
t 1 trace info missing
err 'missing'
t 1 trace info x.payload
err 'x.payload'
head -c 100 "$step" >cut.safetensors
t 1 trace info cut.safetensors
err 'cut.safetensors'
q 0 trace convert x.npy y.csv
q 0 trace convert y.csv y.safetensors
q 0 trace convert y.safetensors y.npy
same x.npy y.npy
q 0 trace convert net net2
diff -r net net2 >/dev/null || bad "net and net2 differ"
q 0 trace convert "$step" step.safetensors
same "$step" step.safetensors
t 1 trace convert net net2
err 'net2 is not empty'
t 2 trace convert "$step" z.npy
err 'holds one tensor'
t 2 trace convert x.npy x.xyz
err '\.safetensors'
t 2 trace convert x.npy link.npy
err 'are the same file'
left '*.tmp*' ''

# --- bench ---
q 0 bench -q --values 10k --steps 2 --scheme 3lc,int8 --no-speed --format json
json '[r["scheme"] for r in d["rows"]] == ["3lc", "int8"]'
json 'abs(d["rows"][1]["bits_per_value"] - 8.0032) < 1e-9 and d["rows"][1]["values"] == 10000'
q 0 bench -q --trace net --stream pull --scheme fp32 --no-speed --format json
json 'd["rows"][0]["ratio"] == 1 and d["rows"][0]["nmse"] == 0'
t 2 bench --scheme fp32 --trace net --net resnet20
err '--trace and --net exclude each other'
t 2 bench --scheme fp32 --net resnet1100
err 'resnet110'
t 1 bench --scheme fp32 --trace missing --format json
json '"missing" in d["error"]'
t 2 bench --scheme 3lc:s=1.5,int9
err "did you mean 'int8'?"
q 0 bench -q --trace net --scheme 3lc,int8 --no-speed --format csv
cp out once.csv
q 0 bench -q --trace net --scheme 3lc,int8 --no-speed --passes 2 --format csv
grep '^int8,' once.csv | sed 's/,3,1,/,3,2,/' >want
grep '^int8,' out | cmp -s - want || bad "int8 has no residual, but its second pass differs"
grep '^3lc,' once.csv | sed 's/,3,1,/,3,2,/' >want
! grep '^3lc,' out | cmp -s - want || bad "the second pass of 3lc is as the first"
q 0 bench -q --values 1k --steps 2 --scheme 3lc,int8,efsign --no-speed --passes auto --format json
json '[r["passes"] >= 10 for r in d["rows"]] == [True, False, True]'
json 'd["rows"][1]["passes"] == 1'
t 2 bench --passes 0
err '--passes'
q 0 bench -q --net resnet20 --steps 1 --scheme int8 --no-speed --min-size 100 --format json
json 'd["rows"][0]["min_size"] == 100 and 269722 + 2000 < d["rows"][0]["payload_bytes"] < 280000'
q 0 bench -q --net resnet20 --steps 1 --scheme int8 --no-speed --min-size 1M --format json
json 'd["rows"][0]["ratio"] == 1 and d["rows"][0]["nmse"] == 0 and d["rows"][0]["scheme"] == "int8"'
q 0 bench -q --net resnet20 --steps 2 --scheme paper --samples 2 --discard 0 --format json
json 'all(r["encode_gb_per_s"] > 0 and r["decode_gb_per_s"] > 0 for r in d["rows"])'
json 'len(d["rows"]) == 10 and all(r["samples"] == 2 and r["tensor"] is None for r in d["rows"])'
json 'all(r["encode_roofline"] is None for r in d["rows"])'
q 0 bench -q --net resnet20 --steps 2 --scheme fp32,3lc --samples 2 --threads 2 --format json
json 'all(r["threads"] == 2 and r["encode_gb_per_s"] > 0 for r in d["rows"])'
json 'all(r["decode_add_gb_per_s"] > 0 for r in d["rows"])'
q 0 bench -q --values 300k --steps 1 --scheme 3lc --samples 2 --threads 2 --format json
json 'd["rows"][0]["threads"] == 2 and d["rows"][0]["decode_add_gb_per_s"] > 0'
q 0 bench -q --values 10,1K,100k --steps 2 --scheme fp32,int8 --samples 2 --format csv
[ "$(cut -d, -f1,5,8 out | tail -n +2 | tr '\n' ' ')" = \
    "fp32,10,40 int8,10,14 fp32,1000,4000 int8,1000,1004 fp32,100000,400000 int8,100000,100004 " ] ||
    bad "rows of several sizes"
[ ! -s err ] || bad "several sizes: messages"
t 2 bench --values 1k,,2k
err '--values'
t 2 bench --values 1k,0
err '--values: 0 is not between 1'
t 2 bench --trace net --values 1k,2k
err '--trace and --values exclude each other'
t 2 bench --net resnet20 --values 1k
err '--net and --values exclude each other'
q 0 bench -q --values 10k,100 --steps 2 --scheme fp32,int8 --samples 2 --profile-out profile.json
grep -q '"schema": "commcomp-profile/1"' profile.json || bad "profile: schema"
grep -q '{"values": 100, "bits_per_value": 8.32, "encode_ns": [0-9.e-]*, "decode_ns"' profile.json ||
    bad "profile: points"
q 0 bench -q --trace net --steps 1 --scheme fp32 --samples 1 --threads 2 --profile-out profile.json
python3 - profile.json <<'EOF' || bad "profile of a trace"
import json, sys
p = json.load(open(sys.argv[1]))
points = p["codecs"][0]["points"]
assert p["trace"] == "net" and p["threads"] == 2 and p["codecs"][0]["scheme"] == "fp32"
assert all(a["values"] < b["values"] for a, b in zip(points, points[1:])) and len(points) > 1
assert all(q["bits_per_value"] == 32 and q["decode_add_ns"] > 0 for q in points)
EOF
t 2 bench --profile-out profile.json --no-speed
err 'exclude each other'
t 2 bench --trace net --stream all --scheme fp32 --profile-out profile.json
err 'a profile is of one stream'
t 1 bench --values 1k --profile-out missing/profile.json
err 'missing/profile.json'
q 0 bench -q --net resnet20 --steps 1 --scheme 3lc,int8 --per-tensor --samples 1 --format json
json 'len(d["rows"]) == 118 and len({r["tensor"] for r in d["rows"]}) == 59'
json 'sum(r["values"] for r in d["rows"]) == 2 * 269722'
json 'sum(r["payload_bytes"] for r in d["rows"][59:]) == 269722 + 59 * 4'
json 'all(r["encode_gb_per_s"] > 0 and r["decode_gb_per_s"] > 0 for r in d["rows"])'
q 0 bench -q --net resnet20 --steps 1 --scheme 3lc --per-tensor --no-speed --format json
json 'len(d["rows"]) == 59 and all(r["encode_gb_per_s"] is None for r in d["rows"])'
q 0 bench -q --trace net --scheme fp16 --no-speed --stream all --format json
json '[r["stream"] for r in d["rows"]] == ["push 0", "push 1", "pull"]'
json 'len({r["nmse"] for r in d["rows"]}) == 3'
q 0 bench -q --trace net --scheme fp16 --no-speed --stream push --format json
json '[r["stream"] for r in d["rows"]] == ["push 0", "push 1"]'
t 1 bench --trace five.csv --scheme fp16 --stream pull --format json
err "five.csv has no stream 'pull'"
json 'd["rows"] == [] and "no stream" in d["error"]'
for distribution in laplace gaussian student mixture; do
    q 0 bench -q --values 10k --steps 1 --scheme int8 --no-speed --synthetic $distribution \
        --format json
    json 'd["rows"][0]["trace"] == "synthetic:'$distribution':10k" and d["rows"][0]["nmse"] > 0'
done
mkdir huge
echo 3e38 | tee huge/1.csv >huge/2.csv
t 1 bench -q --trace huge --scheme fp32,local,int8 --no-speed --format json -o huge.json
err 'huge, push 0, step 1, local: '
json '[r["scheme"] for r in d["rows"]] == ["fp32", "int8"] and "step 1, local" in d["error"]'
document huge.json # the rows of those that did not fail
same out huge.json
q 0 bench -q --values 1k --steps 1 --scheme int8 --no-speed -o int8.json
document int8.json
q 0 encode --scheme int8 x.npy x.cc --format json
json 'd["command"] == "encode" and d["rows"][0]["payload_bytes"] == 5004'
q 0 decode x.cc x.out.npy --format json
json 'd["command"] == "decode" and d["rows"][0]["payload_bytes"] == 5004'
t 1 encode --scheme int8 missing.npy y.cc --format json
json '"missing.npy" in d["error"]'
t 1 trace info missing --format json
json '"missing" in d["error"]'

# --- plot, model, advise, run ---
. "$tests/cli_plot.sh"
. "$tests/cli_model.sh"
. "$tests/cli_advise.sh"
. "$tests/cli_run.sh"
. "$tests/cli_sim.sh"
. "$tests/cli_timeline.sh"
. "$tests/cli_validate.sh"
. "$tests/cli_calibrate.sh"

# --- the commands of the README, on a trace made here ---
q 0 trace synth captured --values 5k --steps 4 --ranks 2 --pulls
awk '/^```/ { code = !code } code && /^commcomp /' "$tests/../README.md" |
    sed 's/ *#.*//; s/^commcomp //' >readme
[ "$(wc -l <readme)" -ge 8 ] || bad "the README has few commands"
while read -r line; do
    case $line in
        bench*) line="$line -q --samples 1" ;;
        model* | advise*) line="$line --profile profile.json" ;;
        sim*) line=$(echo "$line --profile profile.json --dry-run" | sed 's/ --timeline [^ ]*//') ;;
        run* | validate*) line="$line --profile profile.json --dry-run" ;; # they need a lab, and minutes
    esac
    t 0 $line
done <readme

# --- instruction sets ---
COMMCOMP_ISA=avx1024
export COMMCOMP_ISA
t 1 schemes
err 'avx1024'
unset COMMCOMP_ISA

end_case
check_documents
end_case
echo "$passed passed, $failed failed"
[ $failed = 0 ]
