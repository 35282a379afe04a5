#!/bin/sh
# The program as a whole: help, arguments, output files.
. "$(dirname "$0")/lib.sh"
unset COLUMNS

widest() { awk '{ if (length($0) > n) n = length($0) } END { print n + 0 }' "$1"; }

# --- help ---
t 2
err '^usage: commcomp COMMAND'
q 0 --help
out '^  schemes '
expected help
q 0 --version
number=$(cat "$tests/../VERSION")
out "^commcomp $number\( ([0-9a-f]\{7,\}\(-dirty\)\{0,1\})\)\{0,1\}$"
[ "$(wc -l <out)" = 1 ] || bad "more than the version"
q 0 nets --format json
json "d['host']['version'].split()[0] == '$number'"
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
commands=$("$program" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\{1,\}\( [a-z]\{1,\}\)\{0,1\}\)  .*/\1/p;/^Commands:/,/^$/s/^  \([a-z][a-z ]*[a-z]\)$/\1/p')
[ "$(echo "$commands" | grep -c .)" -ge 7 ] || bad "--help lists few commands: $commands"
end_case
case=''
echo "$commands" >commands
while read -r command; do
    q 0 $command --help
    out "^usage: commcomp $command"
    [ "$command" = generate ] && continue # prints text, not a record
    out '--format'
    out '^Examples:'
    [ "$(widest out)" -le 80 ] || bad "$(widest out) columns of help"
    [ "$(wc -l <out)" -le 40 ] || bad "$(wc -l <out) lines of help"
    page=$(sed -n 's/.*More: *//p;s/^\(docs.*\)$/\1/p' out | tail -n 1)
    [ -s "$tests/../$page" ] || bad "no page '$page'"
    cp out help
    q 0 $command -h
    same out help
    q 0 help $command
    same out help
    q 0 $command --help all
    out '^  -o, --output FILE '
    [ "$(widest out)" -le 80 ] || bad "$(widest out) columns of help"
    cp out help
    q 0 help $command all
    same out help
    t 2 $command --frmat json
    err 'unknown option --frmat; did you mean --format?'
done <commands
q 0 help bench
out '^usage: commcomp bench'
for command in model run sim validate; do
    q 0 $command --help all
    for group in 'What to send' 'The cluster' 'The step' 'The run' Output 'Columns of the result' Examples; do
        out "^$group:$"
    done
    if grep -q '^Options:$' out; then bad 'options without a group'; fi
    out '^  --update TIME '
done
# One option, or a parameter of schemes.
q 0 model --help bw
out '^  --bw RATE .*bandwidth of every host'
out '1gbps)$'
out '^    read on  *docs/model.md$'
[ "$(grep -c '^  --' out)" = 1 ] || bad 'other options'
cp out help
q 0 help model --bw
same out help
q 0 model --help=bw
same out help
q 0 run --help op
out '^    words .*reduce-scatter'
q 0 bench --help s
out '^  --scheme 3lc --s .*sparsity multiplier'
out 'default 1)$'
t 2 model --help exchagne
err 'did you mean --help exchange?'
# A man page each, with every option of the command.
q 0 --man trace info
out '^\.TH COMMCOMP-TRACE-INFO 1'
q 0 --man model
out '^\.TH COMMCOMP-MODEL 1'
for option in update fuse workers consistency output; do
    [ "$(grep -c "^\.B .*-$option " out)" = 1 ] || bad "--$option does not stand there once"
done
q 0 --man
out '^\.BR commcomp-trace-info (1)$'
[ "$(grep -c . out)" -le 150 ] || bad 'a long page'
t 2 --man modle
export COLUMNS=66
q 0 model --help all
[ "$(widest out)" -le 66 ] || bad "$(widest out) columns of 66"
unset COLUMNS


# --- the table's columns and width ---
q 0 nets -q --columns net,values --format csv
[ "$(head -n 2 out)" = "$(printf 'net,values\nresnet20,269722')" ] || bad "CSV of two columns"
q 0 nets resnet20 --columns tensor,values
[ "$(head -n 1 out)" = 'tensor              values' ] || bad "the heads"
t 2 nets --columns net,valeus
err "columns: unknown column 'valeus'; did you mean 'values'?"
t 2 nets --columns net,,values
t 2 schemes 3lc --columns xyzzy
err 'commcomp schemes --help'
export COLUMNS=72
q 0 nets
[ "$(widest out)" -le 72 ] || bad "$(widest out) columns of 72"
out '^left out for the width of 72: .*papers'
q 0 nets --wide
out 'papers say'
q 0 nets -o nets.txt
[ "$(widest nets.txt)" -gt 100 ] || bad "a file is as narrow as the terminal"
export COLUMNS=10000
q 0 nets
same out nets.txt
unset COLUMNS
q 0 nets
[ "$(widest out)" -le 80 ] || bad "$(widest out) columns of 80 without a terminal"
q 0 nets resnet20 --format csv --notes nets.notes
grep -q '^resnet20: 269722 values in 59 tensors' nets.notes || bad "the notes: $(cat nets.notes)"
t 2 nets --notes x.csv -o x.csv
err 'are the same file'
t 1 nets --notes missing/notes
no_file missing

# --- arguments ---
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
t 2 schemes --notes x.csv --notes x.json
err "--notes is given twice: x.csv, then x.json"
no_file x.json
no_file x.csv
q 0 schemes --format csv -q
cp out all.csv
q 0 schemes -o x.json
document x.json
q 0 schemes -o x.csv
same x.csv all.csv
q 0 schemes -ox.txt
grep -q '3lc' x.txt || bad "x.txt"
t 1 schemes -o no/such/x.csv
err 'no/such/x.csv'


# --- instruction sets ---
COMMCOMP_ISA=avx1024
export COMMCOMP_ISA
t 1 schemes
err 'avx1024'
unset COMMCOMP_ISA

# --- the first line is the answer, and a screen has room for the rest ---
unset COLUMNS
make_profile
screen() {
    q 0 "$@"
    [ "$(widest out)" -le 80 ] || bad "$(widest out) columns of 80"
    [ "$(grep -c '' out)" -le 30 ] || bad "$(grep -c '' out) lines of 30"
    ! head -n 1 out | grep -Eq '^system:|^[a-z]+  +[^ ]+$|^$' || bad "the first line is $(head -n 1 out)"
}
screen model -q --bw 10mbps --profile profile.json
screen model -q --bw 10mbps,1gbps --profile profile.json --scheme fp32,int8,3lc
screen advise -q --net resnet50 --device a100 --workers 16 --bw 10gbps --profile profile.json
screen bench -q --net resnet20 --scheme int8 --no-speed --steps 2
screen bench -q --net resnet20 --scheme int8,3lc,topk --no-speed --steps 2
screen train -q --net mlp:8 --data digits --steps 20 --scheme fp32,int8
screen run -q --dry-run --values 10K --workers 2 --scheme fp32,int8 --profile profile.json
screen sim -q --dry-run --values 10K --workers 2 --scheme fp32,int8 --profile profile.json
screen validate -q --dry-run --values 10K --workers 2 --scheme fp32 --profile profile.json

finish
