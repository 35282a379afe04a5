#!/bin/sh
# `--plugin`: the example of docs/plugins.md, compiled here, as a scheme of every command, and plugins
# that are refused. CC is the compiler.
. "$(dirname "$0")/lib.sh"
root=$(dirname "$tests")
compile() { "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -O2 -shared -fPIC -I"$root" "$@"; }
export XDG_CACHE_HOME="$dir/cache"

case='the example of docs/plugins.md'
sed -n '/^```c$/,/^```$/{/^```/!p}' "$root/docs/plugins.md" >cyclic.c
compile cyclic.c -o cyclic.so >err 2>&1 || bad 'it does not compile'
[ -z "$(nm -D --undefined-only cyclic.so | grep ' cc_')" ] || bad 'it needs functions of commcomp'

# --- as if it were built in ---

q 0 schemes --plugin cyclic.so cyclic
out '^cyclic: every k-th value in turn'
out '^  k: .*1 <= k <= 1000; default 8'
q 0 schemes --format json --plugin=cyclic.so
json '[r["default"] for r in d["rows"] if r["scheme"] == "cyclic"] == [8]'
q 0 bench --values 1600 --scheme cyclic:k=4/16,fp32 --format json --plugin cyclic.so
json '[r["scheme"] for r in d["rows"]] == ["cyclic:k=4", "cyclic:k=16", "fp32"]'
json '[r["bits_per_value"] for r in d["rows"]] == [8, 2, 32]'
json '0 < d["rows"][0]["error"] < d["rows"][1]["error"] < 1'
q 0 bench --plugin cyclic.so --values 10 --scheme cyclic --k 2 --format csv
out '^cyclic:k=2,'
t 2 bench --plugin cyclic.so --values 10 --scheme cyclic:k=0
err 'scheme cyclic: k=0: allowed is 1 <= k <= 1000'
t 2 bench --plugin cyclic.so --values 10 --scheme cyclik
err "did you mean 'cyclic'?"

# Payloads by hand: the values with an even or an odd index.
make_tensors
q 0 encode --plugin cyclic.so --scheme cyclic:k=2 --payload five.csv even
q 0 encode --plugin cyclic.so --scheme cyclic:k=2 --payload --step 1 five.csv odd
python3 -c 'import struct, sys
sys.stdout.buffer.write(struct.pack("<3f", 0.3, 0.2, 0))' >want
same even want
size odd 8
q 0 decode --plugin cyclic.so --scheme cyclic:k=2 --payload --step 1 --shape 5 odd y.csv
[ "$(tr '\n' ' ' <y.csv)" = '0 -1 0 0.600000024 0 ' ] || bad "decoded: $(tr '\n' ' ' <y.csv)"
t 1 decode --plugin cyclic.so --scheme cyclic:k=2 --payload --shape 5 odd z.csv
err 'payload, byte 8: the payload has 8 bytes, not 12'
t 1 encode --plugin cyclic.so --scheme cyclic nan.npy nan.cc
err "tensor 'values': the value at index 2 is not finite"
no_file nan.cc

# A container names the scheme, and needs the plugin.
q 0 encode --plugin cyclic.so --scheme cyclic "$step" step.cc
t 1 decode step.cc back.safetensors
err "step.cc: byte 44: its scheme is 'cyclic', and the catalogue has no 'cyclic': .* --plugin FILE"
no_file back.safetensors
q 0 decode step.cc back.safetensors --plugin cyclic.so
q 0 encode --plugin cyclic.so --scheme cyclic back.safetensors again.cc
same step.cc again.cc

# --- predictions ---

t 0 model --plugin cyclic.so --values 1K --scheme fp32,cyclic --exchange ps --format json
json '[r["bits_per_value"] for r in d["rows"]] == [32, 4]'
json 'd["rows"][1]["codec_s"] > 0 and 0 < d["rows"][1]["sum_error"] < 1'
t 0 advise --plugin cyclic.so --values 1K --workers 4 --bw 10mbps --scheme cyclic,int8 --format json
json '{r["scheme"] for r in d["rows"]} == {"cyclic", "int8", "fp32"}'
# Measured figures are kept for this file alone.
quiet
q 0 model --plugin cyclic.so --values 1K --scheme cyclic
grep -q '"cyclic@[0-9a-f]*"' cache/commcomp/profile-*.json || bad 'the profile is not kept'
compile -DANOTHER -g cyclic.c -o other.so
t 0 model --plugin other.so --values 1K --scheme cyclic
err 'measuring the speed of 1 scheme'
err 'measuring sizes and errors of 1 scheme'
# The same for a plugin inside a wrapper.
t 0 model --plugin cyclic.so --values 1K --scheme local:every=2,inner=cyclic
quiet
q 0 model --plugin cyclic.so --values 1K --scheme local:every=2,inner=cyclic
t 0 model --plugin other.so --values 1K --scheme local:every=2,inner=cyclic
err 'measuring the speed of 1 scheme'
err 'measuring sizes and errors of 1 scheme'

# --- trainings and ranks ---

t 0 train --plugin cyclic.so --net mlp:8 --scheme cyclic:k=2 --steps 4 --workers 2 --format json
json 'd["rows"][-1]["scheme"] == "cyclic:k=2" and abs(d["rows"][-1]["bits_push"] - 16) < 0.1'
why=$(why_no_sim)
if [ -z "$why" ]; then
    for data in on off; do
        t 0 sim --plugin cyclic.so --workers 3 --values 1K --scheme fp32,cyclic --data $data --format json
        json '[r["bits_push"] for r in d["rows"]] == [32, 4]'
    done
else
    echo "plugin: sim: skipped: $why"
fi
why=$(why_no_lab)
if [ -z "$why" ] && ! sanitized; then
    t 0 run --plugin cyclic.so --workers 2 --bw 100mbps --values 1K --scheme cyclic --steps 2 --format json
    json 'd["rows"][0]["bits_push"] == 4'
    t 0 run --plugin cyclic.so --bw none --exchange allgather --workers 2 --values 1K --scheme cyclic --format json
    json 'len(d["rows"]) == 1'
else
    echo "plugin: run: skipped: ${why:-sanitized}"
fi

# --- what is refused ---

# broken NAME SED: a plugin from the example with the script's changes.
broken() {
    sed "$2" cyclic.c >"$1.c"
    cmp -s cyclic.c "$1.c" && bad "$1: nothing changed"
    compile -Wno-unused "$1.c" -o "$1.so" 2>err || bad "$1 does not compile"
    t 1 schemes --plugin "$1.so"
}
broken taken 's/"cyclic"/"int8"/'
err "taken.so: there is a scheme 'int8' already: give it another id"
broken name 's/"cyclic"/"cy:clic"/'
err "the id 'cy:clic' is not the name of a scheme"
broken list 's/"cyclic"/"all"/'
err "the id 'all' names a list of schemes"
broken encoder 's/\.encode = encode, //'
err 'encoder.so: its scheme has no .encode'
broken decoder 's/, \.decode = decode//'
err 'cyclic: .encode or .decode is missing'
broken bounds 's/ \.bound = bound,//'
err 'cyclic: .bound is missing'
broken title 's/\.title = [^,]*, //'
err '.title, .reference or .layout is missing'
broken default 's/k, 8, 1, 1000/k, 0, 1, 1000/'
err 'parameter k: the default 0 is not between 1 and 1000'
broken bytes 's/sizeof(struct params)/4/'
err 'parameter k: its .offset is beyond .params_bytes (4)'
broken kind 's/CC_OPAQUE/CC_PAIRS/'
err 'index-value pairs need .pair_cost and .to_pairs'
broken plain '/^CC_PLUGIN/d'
err 'plain.so: it is not a plugin, as it exports no commcomp_abi'
broken older 's/^#include <math.h>/&\
#include <schemes\/scheme.h>\
#undef CC_SCHEME_ABI\
#define CC_SCHEME_ABI 99/'
err 'older.so: it is built for plugin interface 99, and this program has [0-9]*: build it again'
broken lacking 's/return cc_refuse/return cc_absent/; s/^struct params/int cc_absent();\n&/'
err 'lacking.so: it cannot be loaded: .*undefined symbol: cc_absent'
t 1 schemes --plugin cyclic.c
err 'cyclic.c: it cannot be loaded'
t 1 bench --plugin nowhere.so --values 10
err -- '--plugin: nowhere.so: No such file or directory'
t 2 bench --values 10 --scheme cyclic
err 'and --plugin FILE loads one of your own'
t 2 trace info net --plugin cyclic.so
t 2 bench --plugin
err 'needs an argument: FILE'

# Twice the same is once, and two are two.
sed 's/"cyclic"/"second"/' cyclic.c >second.c
compile second.c -o second.so
q 0 bench --plugin cyclic.so --plugin ./cyclic.so --plugin second.so --values 10 --scheme cyclic,second --format csv
out '^second,'
t 1 bench --plugin cyclic.so --plugin other.so --values 10
err "other.so: there is a scheme 'cyclic' already"

finish
