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
json '[(r["recipe"], r["runs"], r["takes"]) for r in d["rows"]] == [("study.json", "model, sim, train", "1 min")]'

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

# --- going on ---
cat >resume.json <<'END'
{"schema": "commcomp-recipe/1", "about": "nets", "commands": [
  {"command": "model", "options": {"net": ["resnet20", "resnet56", "mine.json"], "scheme": "fp32,int8", "bw": "10mbps"}}]}
END
q 0 model -q --net resnet20 --scheme fp32,int8 --bw 10mbps -o whole.csv
t 1 --recipe resume.json -o resume.csv
err 'mine.json'
[ "$(wc -l <resume.csv.journal)" = 2 ] || bad "the journal has not 2 calls"
[ "$(csv_rows resume.csv)" = 4 ] || bad "the result has not 4 rows"
cat >mine.json <<'END'
{"schema": "commcomp-net/1", "name": "mine", "tensors": [{"name": "w", "shape": [1000]}]}
END
# A call that is done is not done again: a mark in the journal stays.
sed -i 's/"net":"resnet56"/"net":"resnet56 as it was"/g' resume.csv.journal
q 0 --recipe resume.json -q -o resume.csv
[ "$(grep -c 'resnet56 as it was' resume.csv)" = 2 ] || bad "a call was done again"
[ "$(csv_rows resume.csv)" = 6 ] || bad "the result has not 6 rows"
[ ! -e resume.csv.journal ] || bad "the journal stays"
cp resume.csv gone.csv
q 0 --recipe resume.json -q -o resume.csv
sed 's/resnet56 as it was/resnet56/' gone.csv | diff - resume.csv || bad "the result differs from that of one run"
# With other options, a call is another one.
mv mine.json away.json
t 1 --recipe resume.json -o resume.csv
mv away.json mine.json
q 0 --recipe resume.json -q -o resume.csv --scheme fp32
[ "$(csv_rows resume.csv)" = 3 ] || bad "rows of other options"
echo '{"schema": "else/1"}' >resume.csv.journal
t 1 --recipe resume.json -o resume.csv
err 'resume.csv.journal: "schema" must be "commcomp-journal/1"'

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

# Where one exchange is ahead of another, by hand: 1 at 1% and 10 at 10% is below 4 up to where the straight line
# between them on logarithmic axes, the time in seconds being the density in percent, is 4.
cat >crossings.json <<'END'
{"schema": "commcomp-recipe/1", "about": "x", "commands": [{"command": "run",
  "options": {"bw": "none", "scheme": "fp32", "workers": 2, "dry-run": true, "values": 500},
  "each": [[{"options": {"exchange": "ring", "nonzeros": "0.1%"}, "row": {"bw_bps": 1e9, "call_s": 1}},
            {"options": {"exchange": "ring", "nonzeros": "10%"}, "row": {"bw_bps": 1e9, "call_s": 10}},
            {"options": {"exchange": "ring", "nonzeros": "1%"}, "row": {"bw_bps": 1e9, "call_s": 1}},
            {"options": {"exchange": "rabenseifner"}, "row": {"bw_bps": 1e9, "call_s": 4, "nonzeros": "dense"}}]],
  "crossings": {"along": "nonzeros", "of": "values", "key": "exchange", "pairs": [["ring", "rabenseifner"], ["rabenseifner", "ring"]],
                "by": {"call_s": "as timed", "call_s_low": "by nobody"}}}]}
END
q 0 --recipe crossings.json -q --format json
json 'len(d["rows"]) == 3'
json '"densities of less than one of 500 values are left out" in d["notes"]'
json '"1 Gbit/s, 2 workers: ring is faster than rabenseifner up to 4% as timed, where is not known by nobody" in d["notes"]'
json '"1 Gbit/s, 2 workers: rabenseifner is faster than ring from 4% as timed, where is not known by nobody" in d["notes"]'
wrong '"command": "model", "calls": "sparcml"' 1 '"calls" is for sim'
wrong '"command": "sim", "calls": "else"' 1 '"calls": not "sparcml"'
wrong '"command": "sim", "crossings": {"along": "nonzeros", "of": "values", "key": "exchange", "pairs": [["ring"]], "by": {"call_s": "x"}}' 1 '"pairs": element 0: not a list of 2 texts'
wrong '"command": "sim", "crossings": {"along": "nonzero", "of": "values", "key": "exchange", "pairs": [["ring", "ps"]], "by": {"call_s": "x"}}' 2 "unknown column 'nonzero'"

finish
