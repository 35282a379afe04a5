#!/bin/sh
# `commcomp recipes` and `commcomp --recipe`: set-ups as files.
. "$(dirname "$0")/lib.sh"

q 0 recipes
expected list
q 0 recipes --format json
json 'all(r["about"] and r["runs"] for r in d["rows"])'

# --- a study of three commands, as docs/recipes.md has it ---
awk '/^```json/ { on = 1; next } /^```/ { on = 0 } on' "$tests/../docs/recipes.md" >study.json
q 0 recipes study.json --format json
json '[(r["recipe"], r["runs"], r["takes"], r["takes_s"]) for r in d["rows"]] == [("study.json", "model, sim, train", "about 60 s", 60)]'

# Every call of a list, in order; an option of the command line goes to the commands that have it.
sed '/"command": "sim"/,/}},$/d' study.json >both.json
q 0 --recipe both.json -o two.csv --steps 4 -q
csv_rows() { awk -F, 'NR > 1' "$1" | wc -l; }
[ "$(csv_rows two-model.csv)" = 12 ] || bad "two-model.csv has not 12 rows"
[ "$(grep -c summary two-train.csv)" = 3 ] || bad "two-train.csv has not 3 summaries"
[ ! -e two.csv.journal ] || bad "the journal stays"
q 0 --recipe both.json -q --workers 4 --steps 4 -o two.json
[ "$(grep -c '"workers":	4' two-model.json)" = 6 ] || bad "--workers does not replace the list"
t 0 --recipe both.json -q --steps 4 --format=json
json '[(r["command"], len(r["rows"])) for r in d] == [("model", 12), ("train", 15)]'

# --- calls apart, as tasks of a job array do them: the result is that of a single run ---
q 0 --recipe both.json -q --steps 4 -o whole.csv
q 0 recipes --slurm both.json
expected slurm
cp out both.sh
[ "$(sed -n 's/^#SBATCH --array=//p' both.sh)" = 0-4 ] || bad "not an array of 5 tasks"
export COMMCOMP="$program"
for i in 4 0 3 1 2; do
    sed 's/-o both.csv$/-q --steps 4 &/' both.sh >task.sh
    SLURM_ARRAY_TASK_ID=$i sh task.sh >task.out 2>&1 || bad "task $i: $(cat task.out)"
    [ "$(wc -l <both.csv.journal.$i)" = 1 ] || bad "task $i does not keep a call"
done
[ ! -e both-model.csv ] || bad "a task writes the result"
# A task that was done keeps its row, marked here, and so does the result.
sed -i 's/"workers":2/"workers":77/; s/,"crc32":.*//' both.csv.journal.0
python3 -c 'import sys, zlib
t = open(sys.argv[1], "rb").read().rstrip(b"\n")
open(sys.argv[1], "wb").write(t + b",\"crc32\":\"%08x\"}\n" % zlib.crc32(t))' both.csv.journal.0
SLURM_ARRAY_TASK_ID=0 sh task.sh >task.out 2>&1
grep -q 77 task.out || bad "a call is done twice"
q 0 --recipe both.json -q --steps 4 -o both.csv
for f in model train; do
    [ "$(csv_rows both-$f.csv)" = "$(csv_rows whole-$f.csv)" ] || bad "both-$f.csv has other rows"
done
[ "$(sed 's/\<77\>/2/' both-model.csv)" = "$(cat whole-model.csv)" ] || bad "both-model.csv differs"
grep -q 77 both-model.csv || bad "a call of the array is done again"
[ "$(ls both.csv.journal* 2>/dev/null)" = '' ] || bad "journals stay"
t 2 --recipe both.json --call 5 -q -o x.csv
err '--call 5: both.json has 5 calls, the first of which is 0'
t 2 --recipe both.json --call 1 -q
err '--call 1: give --output FILE'
t 2 --recipe both.json --call x -q
err "'x'"
# One call is a plain job, which writes the result.
echo '{"schema": "commcomp-recipe/1", "about": "one", "commands": [{"command": "model", "options": {"net": "resnet20", "scheme": "fp32", "bw": "10mbps"}}]}' >one.json
q 0 recipes --slurm one.json
! grep -q 'array\|--call' out || bad "an array of one"
cp out one.sh
q 0 recipes
sh one.sh -q >one.out 2>&1 && [ "$(csv_rows one.csv)" = 1 ] || bad "the job of one call: $(cat one.out)"
t 2 recipes --slurm
err '--slurm: name one recipe'
t 2 recipes --slurm both.json -o x.csv
err 'prints a script'

# --- going on ---
make_run_profile # one of this machine is measured again when it is quieter
cat >resume.json <<'END'
{"schema": "commcomp-recipe/1", "about": "nets", "commands": [
  {"command": "model", "options": {"net": ["resnet20", "resnet56", "mine.json"], "scheme": "fp32,int8", "bw": "10mbps", "profile": "profile.json"}}]}
END
q 0 model -q --net resnet20 --scheme fp32,int8 --bw 10mbps --profile profile.json -o whole.csv
t 1 --recipe resume.json -o resume.csv
err 'mine.json'
[ "$(wc -l <resume.csv.journal)" = 2 ] || bad "the journal has not 2 calls"
[ "$(csv_rows resume.csv)" = 4 ] || bad "the result has not 4 rows"
cat >mine.json <<'END'
{"schema": "commcomp-net/1", "name": "mine", "tensors": [{"name": "w", "shape": [1000]}]}
END
# A call that is done is not done again: a mark in its rows stays.
mark() { # mark JOURNAL FROM TO: changes the text in all lines, with their checksums
    python3 - "$@" <<'P'
import re, sys, zlib
path, old, new = sys.argv[1:]
out = []
for line in open(path):
    head = re.sub(',"crc32":"[0-9a-f]{8}"}$', '', line.rstrip('\n')).replace(old, new)
    out.append('%s,"crc32":"%08x"}\n' % (head, zlib.crc32(head.encode())))
open(path, 'w').write(''.join(out))
P
}
mark resume.csv.journal '"net":"resnet56"' '"net":"resnet56 as it was"'
t 0 --recipe resume.json -o resume.csv
! grep -q journal err || bad "a remark on a journal that holds"
[ "$(grep -c 'resnet56 as it was' resume.csv)" = 2 ] || bad "a call was done again"
[ "$(csv_rows resume.csv)" = 6 ] || bad "the result has not 6 rows"
[ ! -e resume.csv.journal ] || bad "the journal stays"
cp resume.csv resumed.csv
q 0 --recipe resume.json -q -o resume.csv
sed 's/resnet56 as it was/resnet56/' resumed.csv | diff - resume.csv || bad "the result differs from that of one run"
cp resume.csv right.csv
# With other options, a call is another one.
mv mine.json away.json
t 1 --recipe resume.json -o resume.csv
cp resume.csv.journal kept.journal
mv away.json mine.json
q 0 --recipe resume.json -q -o resume.csv --scheme fp32
[ "$(csv_rows resume.csv)" = 3 ] || bad "rows of other options"
echo '{"schema": "else/1"}' >resume.csv.journal
t 1 --recipe resume.json -o resume.csv
err 'resume.csv.journal: it is not the journal of a recipe ("schema" must be "commcomp-journal/1")'

# Lines that are damaged are named, and their calls done again; the others are not.
damaged() { # damaged LINE MESSAGE: resume.csv.journal has a damaged line
    t 0 --recipe resume.json -o resume.csv
    err "resume.csv.journal: line $1: $2; its call is done again"
    [ "$(wc -l <err)" = 1 ] || bad "other messages"
    sed 's/resnet20 as it was/resnet20/' resume.csv | diff - right.csv || bad "the result differs from that of one run"
}
mark kept.journal '"net":"resnet20"' '"net":"resnet20 as it was"'
sed '2s/"step_s":\([0-9]\)/"step_s":1\1/' kept.journal >resume.csv.journal
damaged 2 'its checksum is wrong'
grep -q 'resnet20 as it was' resume.csv || bad "a call was done again"
sed '1s/,/;/' kept.journal >resume.csv.journal
damaged 1 'byte [0-9]*: .*'
head -c -40 kept.journal >resume.csv.journal
damaged 2 'byte [0-9]*: .*'
crafted() { # crafted FROM TO MESSAGE: with a right checksum
    cp kept.journal resume.csv.journal
    mark resume.csv.journal "$1" "$2"
    t 0 --recipe resume.json -o resume.csv
    err "resume.csv.journal: line 1: $3; its call is done again"
    same resume.csv right.csv
}
crafted '"workers":10' '"worker":10' '"worker" is not a column'
crafted '"workers":10' '"workers":{}' '"workers" is neither a text, a number nor a truth value'
crafted '"workers":10' '"workers":[10,"made up"]' '"workers" is not a value with its origin'
crafted '"detail row":' '"detail":' '"detail row" must be true or false'
crafted '"notes":[' '"notes":[1,' 'a note is not a text'
crafted '"rows":[' '"rows":[1,' 'a row is not an object'
crafted '"mpi":' '"mpl":' 'unknown key "mpl": did you mean "mpi"?'
# Calls of another version of the program are done again.
sed 's/"version":"[^"]*"/"version":"0.1.0 (0123abc)"/' kept.journal >resume.csv.journal
t 0 --recipe resume.json -o resume.csv
err 'resume.csv.journal: commcomp 0.1.0 (0123abc) wrote it, and this is .*: 2 calls are done again'
same resume.csv right.csv

# A call whose input has changed is done again.
sed -i 's/"resnet56", "mine.json"/"mine.json", "gone.json"/' resume.json
t 1 --recipe resume.json -o resume.csv
[ "$(wc -l <resume.csv.journal)" = 2 ] || bad "the journal has not 2 calls"
sed -i 's/1000/2000/' mine.json
cp mine.json gone.json
t 0 --recipe resume.json -o resume.csv
err 'resume.csv.journal: the recipe, or a file that it reads, has changed: model is done again'
[ "$(grep -c ',2000,' resume.csv)" = 4 ] || bad "rows of the old net"

# So is one whose recipe has changed in what the command itself reads; what is applied to its rows is
# applied to those of the journal.
edited() { # edited RECIPE TRAIN-OPTIONS: two calls, of which the second fails; then with the edit
    sed "$2" "$1" >edit.json
    t 1 --recipe edit.json -o edit.csv
    [ "$(wc -l <edit.csv.journal)" = 1 ] || bad "the journal has not 1 call"
    mark edit.csv.journal '"net":"mlp:8"' '"net":"as it was"'
    sed 's/gone.csv/synthetic:train=64,test=16/' "$1" >edit.json
    t 0 --recipe edit.json -o edit.csv
}
cat >computing.json <<'END'
{"schema": "commcomp-recipe/1", "about": "x", "takes": 2, "commands": [{"command": "train",
  "options": {"net": "mlp:8", "steps": 2, "workers": 2, "bw": "10mbps", "scheme": "fp32", "data": ["digits", "gone.csv"]},
  "columns": ["net", "scheme", "step_s", "accuracy"],
  "published": [{"where": {"kind": "summary"}, "set": {"accuracy_paper": 0.25}, "source": "here"}],
  "computing": {"table": "3lc-table1", "constant": "compute", "bw": "10mbps"}}]}
END
edited computing.json s/x/x/
err 'edit.json takes about 2 s with its own options'
grep -q 'as it was' edit.csv || bad "a call was done again"
edited computing.json 's/"bw": "10mbps"}}/"bw": "100mbps"}}/'
err 'has changed: train is done again'
! grep -q 'as it was' edit.csv || bad "a call of another time of computing"
edited computing.json 's/0.25/0.75/; s/"net", "scheme", "step_s"/"net", "scheme"/'
grep -q 'as it was' edit.csv || bad "a call was done again for a published figure"
[ "$(grep -c ',0.25,' edit.csv)" = 2 ] && ! grep -q ',0.75,' edit.csv || bad "the published figure is not the new one"
sed 's/"published.*/"frameworks": [{"name": "PS-Sync", "exchange": "ps", "mode": "sequential", "scheme": "fp32"}, {"name": "D-Sync", "exchange": "ring", "mode": "sequential", "scheme": "fp32"}, {"name": "Pipe-SGD", "exchange": "ring", "mode": "pipe", "scheme": "fp32"}],/
    s/"scheme": "fp32", "data"/"data"/' computing.json >frameworks.json
edited frameworks.json s/x/x/
grep -q 'as it was' edit.csv || bad "a call was done again"
edited frameworks.json 's/"ring", "mode": "sequential", "scheme": "fp32"/"ring", "mode": "sequential", "scheme": "fp32,int8"/'
! grep -q 'as it was' edit.csv || bad "a call of other frameworks"

# --- refusals, before any work ---
t 2 --recipe thesis-5.6
err "recipe 'thesis-5.6' is not known: did you mean 'thesis-5."
t 2 --recipe
t 1 --recipe missing.json
wrong() { # TEXT EXIT MESSAGE: in a command of a recipe
    echo "{\"schema\": \"commcomp-recipe/1\", \"about\": \"x\", \"commands\": [{\"command\": \"nets\"}, {$1}]}" >wrong.json
    t "$2" --recipe wrong.json
    err "$3"
    [ ! -s out ] || bad "work before the refusal"
}
wrong '"command": "modle"' 1 "wrong.json: command 1: 'modle' is not a command; did you mean 'model'?"
wrong '"command": "report"' 1 "wrong.json: command 1: 'report' prints no rows"
wrong '"command": "model", "option": {}' 1 'wrong.json: "commands": element 1: unknown key "option": did you mean "options"?'
wrong '"command": "model", "options": {"worker": 3}' 2 'wrong.json, "model": unknown option --worker; did you mean --workers?'
wrong '"command": "model", "options": {"mode": "sequentil"}' 2 "wrong.json, \"model\": --mode sequentil: did you mean 'sequential'?"
wrong '"command": "model", "options": {"scheme": "3lcc"}' 2 'wrong.json, "model": '
wrong '"command": "model", "columns": ["steps_s"]' 2 "wrong.json, \"model\": unknown column 'steps_s'; did you mean 'step_s'?"
wrong '"command": "model", "options": {"compute": {"table": "3lc-table1", "constant": "computing"}}' 1 'wrong.json, "model": --compute: the table 3lc-table1 has no constant "computing"'
wrong '"command": "model", "published": [{"table": "3lc-table9", "quantity": "speedup", "key": "speedup"}]' 2 "wrong.json, \"model\": table '3lc-table9' is not known"
wrong '"command": "model", "open": ["worker"]' 1 'wrong.json, "model": "open", "refuse": model has no option --worker'
wrong '"command": "model", "options": {"workers": [1, 2, 3], "bw": []}' 1 '"bw": not a list of at least one'
wrong '"command": "model", "options": {"output": "x.csv"}' 1 'wrong.json, "model": --output is of the whole result: give it on the command line'
wrong '"command": "sim", "options": {"paper": "thesis-5.4"}' 1 'wrong.json, "sim": --paper chooses a recipe'
wrong '"command": "model", "each": [[{"options": {}, "row": {"scheme,workers": 1}}]]' 1 "wrong.json, \"model\": 'scheme,workers' is not one column"
wrong '"command": "model", "computing": {"table": "3lc-table1", "constant": "compute"}' 1 '"computing" is for run and train'
wrong '"command": "run", "computing": {"table": "3lc-table1", "constant": "compute"}' 1 '"computing": "bw" is missing, which run needs'
wrong '"command": "train", "computing": {"table": "3lc-table1", "constant": "computing"}' 1 '"computing": the table 3lc-table1 has no constant "computing"'
passes='"passes": {"links": ["10mbps", "10mbps", "1gbps", "1gbps"], "data": {"a": "features=300,nonzeros=9", "b": "features=200,nonzeros=9"}, "descent": "x"}'
wrong "\"command\": \"model\", $passes" 1 '"passes" is for train'
wrong "\"command\": \"train\", $(echo "$passes" | sed 's/, "1gbps"\]/]/')" 1 '"links": not a list of 4 texts'
wrong "\"command\": \"train\", $(echo "$passes" | sed 's/, "b"[^}]*//')" 1 '"data": not an object of 2'
wrong "\"command\": \"train\", $(echo "$passes" | sed 's/"1gbps"\]/"1 gauss"]/')" 1 '"passes": "links": '"'1 gauss' is not a rate"
echo "{\"schema\": \"commcomp-recipe/1\", \"about\": \"x\", \"commands\": [{\"command\": \"train\", $passes}]}" | sed 's/features=300/nosuch=1/' >data.json
t 1 --recipe data.json
err '"passes": "data": "a": nosuch=1: there is no key'
takes() { # takes VALUE TEXT SECONDS
    echo "{\"schema\": \"commcomp-recipe/1\", \"about\": \"x\", \"takes\": $1, \"commands\": [{\"command\": \"nets\"}]}" >takes.json
    q 0 recipes takes.json --format json
    json "[(r['takes'], r['takes_s']) for r in d['rows']] == [('$2', $3)]"
}
takes 75 'about 75 s' 75
takes '"1.5 h"' 'about 90 min' 5400
takes '"2 h"' 'about 2 h' 7200
for wrong in 0 -1 true '"soon"' '"0 min"' '""'; do
    sed "s/\"takes\": \"2 h\"/\"takes\": $wrong/" takes.json >wrong.json
    t 1 recipes wrong.json
    err 'wrong.json: "takes": '
done
wrong '"command": "nets"' 1 'commands 0 and 1 are both called "nets"'
echo '{"schema": "commcomp-recipe/1", "about": "x", "commands": [{"command": "model", "open": ["bw"], "because": "links alone"}]}' >open.json
t 2 --recipe open.json --workers 3
err '--recipe open.json and --workers exclude each other: links alone'
t 2 --recipe open.json --scheme fp32
err '--recipe open.json and --scheme exclude each other'
t 2 --recipe sim/thesis-5.4 --paper thesis-5.1
err '--recipe sim/thesis-5.4 and --paper exclude each other'

# An option that cases set chooses among them, a number as a text.
cat >cases.json <<'END'
{"schema": "commcomp-recipe/1", "about": "x", "commands": [{"command": "model", "options": {"scheme": "fp32"},
  "each": [[{"options": {"workers": 4}}, {"options": {"workers": 8}}]]}]}
END
q 0 --recipe cases.json -q --workers 8 --format json
json '[r["workers"] for r in d["rows"]] == [8]'
t 2 --recipe cases.json --workers 2
err '--workers 2: --recipe cases.json has 4, 8'

# {"each": [...]} takes a list of the command line apart, too; a case may take the option away, and a
# call that is there already is not made again.
cat >each.json <<'END'
{"schema": "commcomp-recipe/1", "about": "x", "commands": [{"command": "model",
  "options": {"scheme": "fp32", "bw": {"each": ["10mbps", "1gbps"]}, "workers": {"each": [2, 4]}},
  "each": [[{"options": {"exchange": "ps", "workers": null}}, {"options": {"exchange": "ring"}}]]}]}
END
q 0 --recipe each.json -q --workers 8,16,8 --format json
json '[(r["exchange"], r["workers"], r["bw_bps"]) for r in d["rows"]] == [("ps", 10, 1e7), ("ps", 10, 1e9)] + [("ring", w, b) for b in (1e7, 1e9) for w in (8, 16)]'

# Schemes of the command line are not taken apart: they are of one call.
sed 's/"scheme": "fp32"/"scheme": {"each": ["fp32", "int8"]}/; s/, "workers": {.*}},/},/; s/"workers": null/"workers": 2/' each.json >schemes.json
for schemes in fp32,int8 3lc,fp16; do
    q 0 --recipe schemes.json -q --bw 1gbps --scheme $schemes --format json
    json "[r['scheme'] for r in d['rows']] == 2 * '$schemes'.split(',')"
done
q 0 --recipe schemes.json -q --bw 1gbps --format json
json '[r["scheme"] for r in d["rows"]] == ["fp32", "int8"] * 2'

# Where one exchange is ahead of another, by hand: 1 at 1% and 10 at 10% is below 4 up to where the straight line
# between them on logarithmic axes, the time in seconds being the density in percent, is 4.
cat >crossings.json <<'END'
{"schema": "commcomp-recipe/1", "about": "x", "commands": [{"command": "run",
  "options": {"bw": "none", "scheme": "fp32", "workers": 2, "dry-run": true, "values": 500},
  "each": [[{"options": {"exchange": "ring", "nonzeros": "0.1%"}, "row": {"keep": 0.001, "bw_bps": 1e9, "call_s": 1}},
            {"options": {"exchange": "ring", "nonzeros": "10%"}, "row": {"keep": 0.1, "bw_bps": 1e9, "call_s": 10}},
            {"options": {"exchange": "ring", "nonzeros": "1%"}, "row": {"keep": 0.01, "bw_bps": 1e9, "call_s": 1}},
            {"options": {"exchange": "rabenseifner"}, "row": {"bw_bps": 1e9, "call_s": 4}}]],
  "crossings": {"along": "keep", "of": "values", "key": "exchange", "pairs": [["ring", "rabenseifner"], ["rabenseifner", "ring"]],
                "by": {"call_s": "as timed", "call_s_low": "by nobody"}}}]}
END
q 0 --recipe crossings.json -q --format json
json 'len(d["rows"]) == 3'
json '"densities of less than one of 500 values are left out" in d["notes"]'
json '"1 Gbit/s, 2 workers: ring is faster than rabenseifner up to 4% as timed, where is not known by nobody" in d["notes"]'
json '"1 Gbit/s, 2 workers: rabenseifner is faster than ring from 4% as timed, where is not known by nobody" in d["notes"]'
wrong '"command": "trace"' 1 "wrong.json: command 1: 'trace' needs one more word: it is one of trace info, trace synth, trace convert"
wrong '"command": "model", "published": [{"table": "3lc-table1", "quantity": "nosuch", "key": "speedup"}]' 1 'the table 3lc-table1 has no quantity "nosuch"'
wrong '"command": "train", "published": [{"table": "3lc-table2", "quantity": "accuracy", "key": "accuracy_paper"}]' 1 'the table 3lc-table2 has no quantity "accuracy"'
wrong '"command": "model", "each": [[{"options": {}, "row": {"bw_bps": "fast"}}]]' 1 'the column "bw_bps" has numbers, and is set to something else'
wrong '"command": "model", "published": [{"where": {}, "set": {"speedup": true}, "source": "x"}]' 1 'the column "speedup" has numbers'
wrong '"command": "model", "options": {"workers": {"value": 4, "if": {"nosuch": ["1"]}}}' 1 'wrong.json, "model": --workers: "if": model has no option --nosuch'
for same in '"speedup", "paper": "speedup", "error": "ratio"' '"speedup", "paper": "ratio", "error": "speedup"' '"speedup", "paper": "ratio", "error": "ratio"'; do
    wrong "\"command\": \"model\", \"compare\": {\"key\": $same, \"note\": \"x\"}" 1 '"compare": "key", "paper" and "error" are three columns'
done
# So are values of options, of all calls, before the first of them.
wrong '"command": "train", "options": {"net": "mlp:8", "steps": [5, "x"]}' 2 "wrong.json, \"train\": --steps x: numbers from 1"
wrong '"command": "model", "options": {"workers": ["2,4", "2,0"], "bw": "10mbps,1gbps"}' 2 'wrong.json, "model": --workers: 0 is not between'
wrong '"command": "model", "options": {"bw": ["10mbps", "quick"]}' 2 "wrong.json, \"model\": --bw: 'quick' is not a rate"

# A command of its own names the recipe, too, where its mistake is found at work.
echo '{"schema": "commcomp-recipe/1", "about": "x", "commands": [{"command": "model", "options": {"net": "never.json"}}]}' >one.json
t 1 --recipe one.json
err 'one.json, "model": .*never.json'

# One recipe is chosen.
t 2 --recipe one.json --recipe study.json
err '--recipe: --recipe one.json has chosen a recipe already'
t 2 --recipe one.json --paper=thesis-5.4
err '--paper: --recipe one.json has chosen a recipe already'

# --- bases ---
recipe_of() { echo "{\"schema\": \"commcomp-recipe/1\", \"about\": \"x\", \"commands\": [{\"command\": $1}]}"; }
on() { recipe_of "\"model\", \"base\": \"base.json\", $1" >based.json; }   # on MEMBERS: based.json, on base.json
base() { recipe_of "$1" >base.json && on '"options": {"scheme": "fp32"}'; } # base COMMAND-AND-MEMBERS: both
base '"model", "options": {"workers": 4, "scheme": "int8"}'
q 0 --recipe based.json --format json
json '[(r["scheme"], r["workers"]) for r in d["rows"]] == [("fp32", 4)]'
cp base.json before.json
for file in base.json based.json ./base.json; do
    t 2 --recipe based.json -o $file
    err "are the same file: $file; name another one"
    same base.json before.json
done
# A base hands on all of its members, lists that make calls among them.
for several in '"options": {"workers": {"each": [2, 4]}}' '"options": {"workers": [2, 4]}' '"each": [[{"options": {"workers": 2}}, {"options": {"workers": 4}}]]'; do
    base "\"model\", $several"
    q 0 --recipe based.json --format json
    json '[(r["scheme"], r["workers"]) for r in d["rows"]] == [("fp32", 2), ("fp32", 4)]'
done
# Members of options are its own, the base's, or taken away; its notes follow the base's; other lists are its own.
base '"model", "title": "of the base", "options": {"workers": 4, "scheme": "int8", "bw": "10mbps"}, "columns": ["workers", "scheme"], "notes": ["first"]'
cp base.json basis.json
cat >middle.json <<'END'
{"schema": "commcomp-recipe/1", "about": "x", "source": "y", "commands": [{"command": "model", "base": "basis.json",
 "options": {"bw": null, "scheme": "fp32,3lc"}, "columns": ["scheme", "bw_bps"], "notes": ["second"]}]}
END
cat >based.json <<'END'
{"schema": "commcomp-recipe/1", "about": "x", "commands": [{"command": "model", "base": "middle.json",
 "options": {"workers": 2}, "notes": ["third"]}]}
END
q 0 --recipe based.json --format json
json '[(r["scheme"], r["workers"], r["bw_bps"]) for r in d["rows"]] == [("fp32", 2, 1e9), ("3lc", 2, 1e9)]'
json '[n for n in d["notes"] if n in ("first", "second", "third")] == ["first", "second", "third"]'
q 0 --recipe based.json
out 'of the base'
out '^bandwidth  1 Gbit/s'
out '^scheme$'
# So is the source, of which there is one for all of 3LC's tables and figures.
q 0 recipes --format json
json 'len({r["reference"] for r in d["rows"] if r["recipe"].startswith("train/3lc")}) == 1'
for file in based.json middle.json basis.json; do
    cp $file before.json
    t 2 --recipe based.json -o $file
    err "are the same file: $file; name another one"
    same $file before.json
done
# An option of its own holds in the cases of the base, which null takes away. A name is not handed on.
base '"model", "name": "other", "options": {"scheme": "fp32"}, "each": [[{"options": {"workers": 2, "bw": "10mbps"}}, {"options": {"workers": 4, "bw": "10mbps"}}]]'
on '"options": {"bw": "5mbps"}'
q 0 --recipe based.json --format json
json '[(r["workers"], r["bw_bps"]) for r in d["rows"]] == [(2, 5e6), (4, 5e6)]'
on '"options": {"workers": 3}, "each": null'
q 0 --recipe based.json --format json
json '[(r["workers"], r["bw_bps"]) for r in d["rows"]] == [(3, 1e9)]'
echo '{"schema": "commcomp-recipe/1", "about": "x", "commands": [{"command": "model", "base": "base.json"}, {"command": "model", "name": "two", "base": "base.json"}]}' >both.json
q 0 --recipe both.json -q -o both.csv
[ -s both-model.csv ] && [ -s both-two.csv ] || bad "a base's name is handed on"
# Null takes away what is there, and nothing else.
on '"optoins": null'
t 1 --recipe based.json
err 'based.json: command 0: "optoins" is null, and its base has none to take away'
on '"options": {"bww": null}'
t 1 --recipe based.json
err 'based.json: command 0: "options": "bww" is null, and its base has none to take away'
on '"compare": {"key": null}'
t 1 --recipe based.json
err '"compare": "key" is null, and its base has none'
on '"notes": "text"'
t 1 --recipe based.json
err 'based.json: "commands": element 0: "notes": not a list'
# Bases that cannot be.
base '"sim"'
t 1 --recipe based.json
err "based.json: command 0: its base base.json is of 'sim', and the command is 'model'"
base '"model", "base": "based.json"'
t 1 --recipe based.json
err 'based.json: command 0: its base: base.json: command 0: its base: based.json is a base of itself: take a "base" away'
base '"model", "options": {"workers": null}'
t 1 --recipe based.json
err 'base.json: .*"workers": neither a text'
base '"model", "base": "nosuch.json"'
t 1 --recipe based.json
err 'its base: nosuch.json: cannot be read: No such file'
base '"model", "base": "nosuch"'
t 2 --recipe based.json
err "its base: recipe 'nosuch' is not known"
# Seven bases in a row, of which only the first commands are read, and eight.
i=0
while [ $i -lt 9 ]; do
    python3 -c "import json
c = {'command': 'model', 'base': 'row$((i + 1)).json', 'name': 'n'}
if $i == 8: c = {'command': 'model', 'options': {'workers': 2, 'scheme': 'fp32'}}
more = [dict(c, name='n%d' % k, title=3) for k in range(200)] if $i > 1 else []
json.dump({'schema': 'commcomp-recipe/1', 'about': 'x', 'commands': [c] + more}, open('row$i.json', 'w'))"
    i=$((i + 1))
done
t 1 --recipe row0.json
err 'more than 7 recipes are bases of each other'
q 0 --recipe row1.json --format json
json '[r["workers"] for r in d["rows"]] == [2]'

# The journal is a file that is written, too.
t 2 --recipe cases.json -o x.csv --notes x.csv.journal
err 'are the same file: x.csv.journal'

# --- operands ---
python3 -c 'import struct
h = b"{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (8,), }".ljust(117) + b"\n"
open("x.npy", "wb").write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(h)) + h + struct.pack("<8f", *range(8)))'
cat >operands.json <<'END'
{"schema": "commcomp-recipe/1", "about": "x", "commands": [
  {"command": "trace info", "operands": ["x.npy"]},
  {"command": "encode", "options": {"scheme": "int8"}, "operands": ["x.npy", "x.ccp"]}]}
END
q 0 --recipe operands.json -q --format=json
json '[r["values"] for part in d for r in part["rows"]] == [8, 8]'
[ -s x.ccp ] || bad "encode wrote nothing"
q 0 encode --force --scheme int8 x.npy y.ccp
same x.ccp y.ccp
t 2 --recipe operands.json -o x.npy.csv x.npy
err 'too many operands'
sed 's/, "x.ccp"/, "-"/; /trace info/d' operands.json >stdout.json
q 0 --recipe stdout.json -q
same out x.ccp
"$program" encode --format json x.npy >out 2>err
[ $? = 2 ] || bad "too few operands are no usage error"
err 'too few operands'

wrong '"command": "model", "calls": "sparcml"' 1 '"calls" is for sim'
wrong '"command": "sim", "calls": "else"' 1 '"calls": not "sparcml"'
wrong '"command": "sim", "crossings": {"along": "nonzeros", "of": "values", "key": "exchange", "pairs": [["ring"]], "by": {"call_s": "x"}}' 1 '"pairs": element 0: not a list of 2 texts'
wrong '"command": "sim", "crossings": {"along": "nonzero", "of": "values", "key": "exchange", "pairs": [["ring", "ps"]], "by": {"call_s": "x"}}' 2 "unknown column 'nonzero'"

finish
