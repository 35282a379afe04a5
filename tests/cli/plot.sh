#!/bin/sh
# `commcomp plot`: plots and refusals.
. "$(dirname "$0")/lib.sh"
export COLUMNS=80

printf '0.3\n-1.0\n0.2\n0.6\n0.0\n' >five.csv

cat >model.csv <<'P'
scheme,exchange,workers,bw_bps,compute_s,codec_s,comm_s,step_s,speedup
fp32,ps,4,10000000,0.1,0,2.3,2.4,1
3lc,ps,4,10000000,0.1,0.02,0.08,0.2,12
fp32,ps,4,100000000,0.1,0,0.23,0.33,1
3lc,ps,4,100000000,0.1,0.02,0.01,0.13,2.54
P
q 0 plot -q --kind step --bw 100mbps model.csv
out '^Time of a step: ps, 4 workers, 100 Mbit/s$'
out '^fp32  ==*-* 330 ms$'
out '^3lc   ==*##*-* 130 ms$'
expected step
cp out step.txt
q 0 plot -q --kind step --bw 100mbps model.csv -o x.txt
same x.txt step.txt
[ ! -s out ] || bad "-o prints on stdout as well"
end_case
case='plot - <model.csv' good=1
"$program" plot -q --kind step --bw 100mbps - -o - <model.csv >out 2>err || bad "exit $?"
same out step.txt
printf '{"schema": "commcomp/1", "rows": [{"scheme": "fp32", "step_s": 1, "compute_s": 1, "codec_s": 0, "comm_s": 0}]}' |
    "$program" plot -q --kind step - >out 2>err || bad "JSON: exit $?"
out '^fp32  *=*  *1 s$'
q 0 plot -q model.csv --script x.gp
grep -q "^set output 'plot.svg'" x.gp || bad "x.gp"
t 0 plot model.csv --format script
err 'plotting --kind speedup'
sed "/^set output/d" x.gp | cmp -s - out || bad "--format script differs from --script"
q 0 bench -q --net resnet20 --steps 2 --scheme fp32,3lc,int8 --no-speed -o error.json
q 0 plot -q error.json --format script
out "^set label [0-9]* '3lc' at screen"

# One panel for all settings: lines are named by local steps, and by the others only where the same name would stand twice.
# The second int8 of 30 local steps differs in two settings, of which one is enough.
cat >one.csv <<'P'
scheme,exchange,mode,local_steps,stream_parts,kind,seed,step,accuracy,loss,bytes
fp32,ring,sequential,,,eval,1,30,0.5,3,3000
fp32,ring,sequential,,,eval,1,60,0.5,2,6000
fp32,ring,sequential,30,1,eval,1,60,0.5,2.5,200
int8,twoshot,sequential,,,eval,1,60,0.5,2.1,1500
int8,ring,sequential,30,1,eval,1,60,0.5,2.6,50
int8,ring,overlap,30,3,eval,1,60,0.5,2.7,55
P
q 0 plot -q one.csv --kind loss --over bytes --one-panel
grep '^[a-z]  ' out >names
printf '%s\n' 'a  fp32' 'b  int8, 30 local steps, overlap' 'c  int8, 30 local steps, sequential' 'd  int8' 'e  fp32, 30 local steps' | cut -c4- | sort >wanted
cut -c4- names | sort >found
cmp -s wanted found || bad "$(cat names)"
[ "$(grep -c '^loss on' out)" -eq 1 ] || bad 'several panels'
q 0 plot -q one.csv --kind loss --over bytes
[ "$(grep -c 'local steps' out)" -gt 1 ] || bad 'one panel without --one-panel'
t 2 plot
err 'too few operands: usage: commcomp plot'
t 2 plot model.csv --kind speed
err "did you mean 'speedup'?"
t 2 plot model.csv -o x.csv
err "'x.csv': a plot's suffix should be .svg, .png, .pdf, .eps or .tex"
t 2 plot model.csv --format json
err 'it is one of text, svg, png, pdf, eps, script'
t 2 plot model.txt
err 'expected a .csv or .json file of results'
t 2 plot model.csv --bw 10
err "--bw: '10' is not a rate"
cp model.csv model.svg
t 2 plot model.svg -o model.svg
err 'RESULTS and --output are the same file: model.svg'
t 2 plot model.csv --size 3
err "--size: '3' is not a length: 3.3in"
t 2 plot model.csv --size 3.3in,2.2
err "--size: '2.2' is not a length"
t 2 plot model.csv --size 0.2in
err "'0.2' should be from 1in to 60in"
t 2 plot model.csv --size 3in,2in,1in
err 'should be a width, or a width and a height'
t 2 plot model.csv --font 'Sans;,9'
err "is not the name of a font"
t 2 plot model.csv --font Sans,900
err "'900' should be a size from 3 to 72 points"
t 2 plot -q model.csv --size 2in,0.5in --format script
err 'too small for this plot in a font of 4.5 points: 2in,.* would do'
t 2 plot -q model.csv --font ,20 --size 1.2in --format script
err 'too narrow for this plot in a font of 20 points'
t 2 plot -q model.csv -o 'a b.tex'
err 'only letters, digits, - and +'
t 2 plot -q model.csv -o pair.tex --script pair.pdf
err '--script and the .pdf of --output are the same file: pair.pdf'
no_file pair.pdf
t 1 plot missing.csv
err 'missing.csv: cannot be read'
t 1 plot -q model.csv --kind error
err "model.csv: the plot 'error' needs a column 'error', which it lacks"
t 1 plot -q model.csv --scheme int8
err 'model.csv: nothing to plot: no row has the scheme int8; there are fp32, 3lc$'
t 1 plot -q model.csv --scheme int8,ternary
err 'nothing to plot: no row has the schemes int8, ...; there are fp32, 3lc$'
t 1 plot five.csv
err 'five.csv: nothing to plot: no kind of plot has its columns'
printf 'scheme,bw_bps,speedup\nfp32,1e7,inf\nfp32,1e8,\n' >empty.csv
t 1 plot empty.csv
err "empty.csv: nothing to plot: its column 'speedup' holds no finite number"
sed '3s/0.02/fast/' model.csv >bad.csv
t 1 plot -q bad.csv --kind step -o bad.svg
err "bad.csv: line 3, column 'codec_s': 'fast' is not a number"
no_file bad.svg
sed '4s/,[^,]*$//' model.csv >bad.csv
t 1 plot bad.csv
err "bad.csv: line 4: the row ends before column 'speedup'"
echo '{"schema": "commcomp/1", "rows": [{"scheme": "3lc"}, {"schema": 1}]}' >bad.json
t 1 plot bad.json
err "bad.json: row 2: the key 'schema' is not where the first row has it"

# Timelines: bins of 10 us. Worker 0 computes for 25 us and worker 1 for 10 us, from the middle of bin 2; 500 bytes
# go from one to the other in 40 us, 100 Mbit/s on one of two links, which send 400 and receive 200 Mbit/s.
cat >timeline.json <<'P'
{"displayTimeUnit": "ms", "traceEvents": [
{"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {"name": "int8, two workers", "scheme": "int8", "up_bps": 4e8, "down_bps": 2e8}},
{"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "worker 0", "host": 0, "worker": true}},
{"ph": "X", "name": "compute", "cat": "phase", "pid": 1, "tid": 2, "ts": 0.000, "dur": 25.000},
{"ph": "b", "cat": "transfer", "name": "into worker 1", "id": "1.0", "pid": 1, "tid": 2, "ts": 960.000, "args": {"bytes": 500}},
{"ph": "M", "name": "thread_name", "pid": 1, "tid": 3, "args": {"name": "worker 1", "host": 1, "worker": true}},
{"ph": "X", "name": "compute", "cat": "phase", "pid": 1, "tid": 3, "ts": 25.000, "dur": 10.000},
{"ph": "e", "cat": "transfer", "name": "into worker 1", "id": "1.0", "pid": 1, "tid": 3, "ts": 1000.000}
], "otherData": {"program": "commcomp", "left_out": 0}}
P
bins() { # the lines of the script's data that are not zero, as time in us and value
    sed -n '/^\$p0s[0-9]/,/^EOD/p' out | awk '$2 + 0 > 1e-3 { printf "%.0f:%.6g ", 1e6 * $1, $2 }'
}
t 0 plot timeline.json --format script
err 'plotting --kind timeline, as the file is a timeline'
[ "$(bins)" = '5:50 15:50 25:50 35:25 965:25 975:25 985:25 995:25 965:12.5 975:12.5 985:12.5 995:12.5 ' ] || bad "$(bins)"
out 'Utilization over time: int8, two workers'
q 0 plot -q timeline.json --kind throughput --scheme int8 --format script
[ "$(bins)" = '965:5e+07 975:5e+07 985:5e+07 995:5e+07 965:5e+07 975:5e+07 985:5e+07 995:5e+07 ' ] || bad "$(bins)"
t 1 plot -q timeline.json --scheme fp32
err 'timeline.json: nothing to plot: no row has the scheme fp32; there is int8'
for option in '--workers 2' '--bw 1gbps' '--exchange ps'; do
    t 2 plot -q timeline.json $option
    err "${option% *}: timeline.json is a timeline, whose rows have these settings in their names only"
done
t 2 plot -q timeline.json --one-panel
err '--one-panel: rows of a timeline'
sed 's/"left_out": 0/"left_out": 0, "partial": true/' timeline.json >partial.json
t 0 plot partial.json
err 'partial.json is of a run that was interrupted or failed'
for command in report compare; do
    t 1 $command timeline.json $([ $command = compare ] && echo timeline.json || echo '-o r.html')
    err 'timeline.json: a timeline, not a result: `commcomp plot` draws it'
done
sed 's/, "up_bps": 4e8, "down_bps": 2e8//' timeline.json >unknown.json
t 0 plot unknown.json
err "unknown.json does not know its links' bandwidth: --kind throughput"
# Without transfers, as of --exchange mpi, nothing is known of links.
grep -v '"transfer"' timeline.json | sed 's/10.000},$/10.000}/' >none.json
t 0 plot none.json --format script
err 'none.json has no transfers, so that its links are not drawn; those of --exchange mpi'
grep -q '^.p0s0' out || bad 'none.json: computing is not drawn'
grep -q '^.p0s1' out && bad 'none.json: links are drawn'
t 1 plot none.json --kind throughput
err 'none.json: nothing to plot: it has no transfers'
sed 's/commcomp/other/' timeline.json >other.json
t 1 plot other.json
err 'other.json: a trace of another program: `commcomp sim --timeline FILE`'
sed 's/"dur": 10.000/"dur": -10.000/' timeline.json >bad.json
t 1 plot bad.json
err 'bad.json: event 6: "dur" should be a time from 0'
mkdir nowhere
path=$PATH
PATH=$dir/nowhere
"$program" plot -q model.csv -o x.svg 2>missing </dev/null && bad "drawn without gnuplot"
PATH=$path
grep -q 'gnuplot is not installed: on Debian .apt-get install gnuplot-nox' missing || bad "$(cat missing)"
no_file x.svg
if command -v gnuplot >/dev/null; then
    q 0 plot -q model.csv -o x.svg
    grep -q '>10 Mbit/s<' x.svg || bad "x.svg has no axis"
    q 0 plot -q model.csv --kind step -o x.png
    head -c 4 x.png | tail -c 3 | grep -q PNG || bad "x.png is none"
    q 0 plot -q error.json -o x.pdf
    head -c 4 x.pdf | grep -q %PDF || bad "x.pdf is none"
    q 0 plot -q error.json --size 3.3in,2.2in --font Helvetica,7 --no-title -o x.eps
    grep -q '^%%BoundingBox: 0 0 23[78] 158' x.eps || bad "x.eps: $(grep -a BoundingBox x.eps)"
    q 0 plot -q model.csv --size 8cm -o x.svg
    grep -q 'viewBox="0 0 302' x.svg || bad "x.svg is not 8 cm wide"
    q 0 plot -q model.csv --dpi 300 --size 2in,2in -o x.png
    [ "$(od -An -tu1 -j16 -N8 x.png | tr -s ' ')" = ' 0 0 2 88 0 0 2 88' ] || bad "x.png: not 600 x 600"
    q 0 plot -q model.csv --no-title -o x-1.tex
    head -c 4 x-1.pdf | grep -q %PDF || bad "x-1.tex has no x-1.pdf"
    grep -q 'includegraphics.*{x-1}' x-1.tex || bad "x-1.tex does not include x-1.pdf"
    grep -q 'Speedup over' x-1.tex && bad "--no-title has one"
    left 'x-1*' 'x-1.pdf x-1.tex '
    q 0 plot -q model.csv
    out '3lc'
    out '10 Mbit/s'
    gnuplot x.gp 2>err || bad "gnuplot refuses the script"
    grep -q '</svg>' plot.svg || bad "plot.svg"
    printf 'scheme,bw_bps,speedup\n"\047; system(\047touch pwned\047) #`touch pwned`",1e7,2\n' >evil.csv
    q 0 plot -q evil.csv --kind speedup -o x.svg
    no_file pwned
    left 'x.svg*' 'x.svg '
else
    echo "skipped: no gnuplot to draw with"
fi

finish
