#!/bin/sh
# `commcomp report`: pages of results written by hand and of real ones, read back, damaged, and with
# hostile names. tests/browser/check.sh looks at them in a browser.
. "$(dirname "$0")/lib.sh"

# result FILE COMMAND ARGV MORE ROWS: a document of a command; MORE are other keys, each with a comma.
result() {
    printf '{"schema": "commcomp/2", "command": "%s", "argv": ["/opt/commcomp", %s], "host": {"cpu": "one", "cores": 2}, %s"rows": [%s]}' \
        "$2" "$3" "$4" "$5" >"$1"
}
row() { # row SCHEME WORKERS STEP SPEEDUP ERROR
    printf '{"scheme": "%s", "workers": %s, "bw_bps": 1e9, "compute_s": 0.1, "codec_s": 0, "comm_s": %s, ' "$1" "$2" "$3"
    printf '"step_s": %s, "speedup": %s, "sum_error": %s, "new_key": 7}' "$3" "$4" "$5"
}
has() { grep -q -- "$2" "$1" || bad "$1 lacks: $2"; }
lacks() { ! grep -q -- "$2" "$1" || bad "$1 has: $2"; }
again() { # again PAGE FILES: the page gives these documents again, to the byte
    page=$1 n=0
    shift
    for file in "$@"; do
        n=$((n + 1))
        "$program" report "$page" --only $n -o again.json 2>err || bad "exit $?"
        same "$file" again.json
    done
}

# --- a page and its result ---
result a.json model '"model", "--net", "my net.json"' '"notes": ["a remark"], ' \
    "$(row fp32 4 2 1 0),$(row 3lc 4 0.5 4 0.8),$(row dgc 4 0.1 20 5),$(row fp32 8 3 1 0),$(row 3lc 8 0.25 12 0.9)"
q 0 report a.json -o a.html
[ ! -s out ] || bad 'stdout has something'
again a.html a.json
has a.html "<code>commcomp model --net &#39;my net.json&#39;</code>"
has a.html '<li>a remark</li>'
has a.html '<span>cpu:</span> one'
has a.html '<span title="line rate[^"]*">bandwidth:</span> 1 Gbit/s'
has a.html '<li>workers 4: 3lc is fastest, 500.0 ms, 4 times as fast as fp32</li>' # not dgc: its error
has a.html '<li>workers 8: 3lc is fastest, 250.0 ms, 12 times as fast as fp32</li>'
has a.html '<span class="head">step</span> <span class="unit">ms</span> <span class="origin">computed</span>'
has a.html '<code>new_key</code>'
lacks a.html 'http:\|https:\|//'"[a-z]*\.[a-z]"
q 0 report a.json --format html
same out a.html
t 0 report a.html --format=json
same out a.json
q 0 report a.html -o b.html --title 'A <b> & "c"'
has b.html '<title>A &lt;b&gt; &amp; &quot;c&quot;</title>'
again b.html a.json
end_case
case='report - <a.html' good=1
"$program" report - --format json <a.html >out 2>err || bad "exit $?"
same out a.json
"$program" report - -o c.html <a.json 2>err || bad "exit $?"
again c.html a.json

# Times of trainings have the origin that their clock says.
small='--data synthetic-sparse:train=200,test=50,features=100,nonzeros=5 --batch 4 --steps 4 --scheme pairs --bw 1gbps'
q 0 train --net logreg $small -q -o formulas.json
q 0 report formulas.json -o formulas.html
has formulas.html '<span class="head">pass</span> <span class="unit">s</span> <span class="origin">computed</span>'
q 0 train --net logreg $small --consistency async --compute 1ms -q -o clocks.json
q 0 report clocks.json -o clocks.html
has clocks.html '<span class="head">pass</span> <span class="unit">s</span> <span class="origin">simulated</span>'

# A document says the origins, for all rows or row by row; a dry run measures nothing.
result origins.json model '"model"' '"origins": {"step_s": ["measured", "simulated", null], "speedup": "published"}, ' \
    "$(row fp32 4 2 1 0),$(row 3lc 4 0.5 4 0.8),$(row dgc 4 null null 5)"
q 0 report origins.json -o origins.html
has origins.html '<span class="head">step</span> <span class="unit">ms</span> <span class="origin">measured, simulated</span>'
has origins.html '<span class="head">speedup</span> <span class="origin">published</span>'
has origins.html '<span class="head">comm</span> <span class="unit">ms</span> <span class="origin">computed</span>'
q 0 run --dry-run --net resnet20 --workers 2 --scheme fp32 -q -o dry.json
cp dry.json out
json 'set(d["origins"].values()) == {"given", "computed"} and d["origins"]["payload_bytes"] == "computed"'
q 0 report dry.json -o dry.html
lacks dry.html '>measured<'
for wrong in '["measured"]' '7' '["measured", 7, null]'; do
    sed "s/\"published\"/$wrong/" origins.json >wrong.json
    t 1 report wrong.json -o wrong.html
    err 'wrong.json: "origins": speedup: it should be a word, or a list of'
done
sed 's/"speedup": "published"/"other": "published"/' origins.json >wrong.json
t 1 report wrong.json -o wrong.html
err "wrong.json: \"origins\": no row has the key 'other'"

# Results of commcomp/1, which said nothing of origins, and had other names for some keys.
kept=$tests/cli/kept
q 0 report "$kept/paper-1.json" -o kept.html
again kept.html "$kept/paper-1.json"
has kept.html '<span class="head">error</span> <span class="unit">%</span> <span class="origin">computed</span>'
has kept.html 'of 8 figures are within 10% of the paper'
has kept.html 'data-key="paper_error"'
lacks kept.html 'data-key="error"'
q 0 paper sparcml-table3 -q -o paper.json
q 0 compare "$kept/paper-1.json" paper.json --quantities paper_error,figure_model --format json
json 'len(d["rows"]) == 16 and any(abs(r["a"] - 1.3972523989562786) < 1e-9 for r in d["rows"])'
q 0 report "$kept/calibrate-1.csv" -o kept.html
has kept.html '<h2>calibrate '
has kept.html 'data-key="half_trip_s"'
q 0 plot "$kept/calibrate-1.csv" --kind link --format script -q
q 0 report "$kept/train-1.json" -o kept.html # its clocks differ from training to training
has kept.html '<span class="head">pass</span> <span class="unit">s</span></th>'
has kept.html '<td>not known</td>'

# plot and compare read a page that has one result.
q 0 compare a.html a.json --quantities speedup --format csv
[ "$(cut -d, -f9 out | tail -n +2 | sort -u)" = 1 ] || bad 'the ratios are not 1'
q 0 plot a.html --kind speedup --format script -q

# Without gnuplot, the page has its reason in place of the picture.
end_case
case='report without gnuplot' good=1
PATH=/nonexistent "$program" report a.json -o plain.html 2>err || bad "exit $?"
has plain.html '<p class="no-picture">No picture: gnuplot is not installed'
again plain.html a.json

# --- several files ---
q 0 nets -o nets.json
q 0 schemes --format json -o schemes.json
q 0 bench --scheme fp32,int8 --values 1k --no-speed --steps 2 --passes 1 -o bench.json
q 0 report a.json nets.json schemes.json bench.json -o all.html
again all.html a.json nets.json schemes.json bench.json
has all.html '<title>commcomp: model, nets, schemes, bench</title>'
has all.html '<a href="#result-4">bench: bench.json</a>'
[ "$(grep -c '<section class="result"' all.html)" = 4 ] || bad 'not four sections'
q 0 report all.html b.html -o five.html
again five.html a.json nets.json schemes.json bench.json a.json
t 0 report all.html --format=json
python3 - out a.json nets.json schemes.json bench.json <<'P' || bad 'the array has other documents'
import json, sys
sys.exit(json.load(open(sys.argv[1])) != [json.load(open(f)) for f in sys.argv[2:]])
P
t 1 plot all.html
err 'all.html: the page has 4 results: take one out with `commcomp report all.html --only 1 -o one.json`'
t 1 compare all.html a.json
err 'all.html: the page has 4 results'
t 2 report all.html --only 5 --format=json
err '--only 5: the files have 4 results'

# --- hostile texts: the tensor's name, the file's, notes ---
python3 - <<'P'
import json
name = "</script><script>alert(1)</script><!--<svg onload=x>' \" & \\u003c \u001b[31m \u202e \\\\u003c"
d = {"schema": "commcomp/1", "command": "bench", "argv": ["commcomp", name], "host": {"cpu": name},
     "rows": [{"scheme": name, "tensor": name, "ratio": 2, "error": 0.5, "encode_gb_per_s": 1},
              {"scheme": "');alert(2)//", "tensor": "x", "ratio": 3, "error": 0.1, "encode_gb_per_s": 2}],
     "notes": [name, "smallest " + name], "error": name}
text = json.dumps(d, ensure_ascii=False, indent=1)
# The same text in three spellings: as it is, and with either case of the escape.
text = text.replace('"x"', '"<\\u003c\\u003C<"')
open("<b>&.json", "w").write(text)
P
q 0 report '<b>&.json' -o hostile.html
again hostile.html '<b>&.json'
has hostile.html '&lt;/script&gt;&lt;script&gt;alert(1)'
has hostile.html 'The command failed:'
has hostile.html '\\x1b\[31m'
end_case
case='hostile texts stay texts' good=1
python3 - hostile.html <<'P' || bad 'a text became markup'
import html.parser, sys
seen = []
class P(html.parser.HTMLParser):
    def handle_starttag(self, tag, attrs):
        seen.append(tag)
        assert not [k for k, v in attrs if k.startswith("on")], attrs
text = open(sys.argv[1]).read()
P().feed(text)
assert seen.count("script") == 2 and "b" not in seen and "alert" not in seen, seen
assert "<!--" not in text and "\x1b" not in text and "\u202e" not in text.split("commcomp-result\"")[0]
P

# --- verdicts ---
call() { echo "{\"scheme\": \"$1\", \"exchange\": \"$2\", \"values\": $3, \"call_s\": $4, \"speedup\": $5}"; }
result calls.json run '"run"' '' \
    "$(call fp32 ring 1000 0.2 0.5),$(call fp32 mpi 1000 0.1 1),$(call int8 ring 1000 0.025 4),$(call fp32 mpi 50 0.1 1)"
q 0 report calls.json -o calls.html
has calls.html '<li>values 1000: int8 over ring is fastest, 25 ms, 4 times as fast as fp32</li>'
has calls.html '<li>values 50: fp32 over mpi is fastest, 100 ms</li>'
end_row() { echo "{\"scheme\": \"$1\", \"kind\": \"summary\", \"accuracy\": $2, \"difference\": $3, \"difference_low\": $3, \"difference_high\": 0}"; }
result ends.json train '"train"' '' "$(end_row fp32 0.9 0),$(end_row int8 0.88 -0.02)"
q 0 report ends.json -o ends.html
has ends.html '<li>fp32 ends with 90.00% of the test samples correct</li>'
has ends.html '<li>int8 ends with 88.00% of the test samples correct, -2.00 points against fp32 (95% interval -2.00 to +0.00)</li>'
result tables.json paper '"paper"' '' \
    '{"table": "a", "rms_error": 0.05},{"table": "b", "rms_error": 1.5},{"table": "c", "rms_error": 0.1}'
q 0 report tables.json -o tables.html
has tables.html '<li>the model is within 10% of 2 of 3 tables, in the root of the mean square; the farthest is b, by 150%</li>'
result coded.json encode '"encode"' '' '{"scheme": "3lc", "ratio": 21, "input_bytes": 4000, "output_bytes": 200}'
q 0 report coded.json -o coded.html
has coded.html '<li>3lc: 4000 bytes became 200, 20 times fewer</li>'

# --- results that are not complete, or empty ---
result failed.json run '"run"' '"error": "mpirun <failed>", ' "$(row fp32 4 2 1 0)"
result partial.json run '"run"' '"partial": true, ' "$(row fp32 4 2 1 0)"
result none.json run '"run"' '"error": "no rank started", ' ''
q 0 report failed.json partial.json none.json -o broken.html
again broken.html failed.json partial.json none.json
has broken.html 'The command failed:</strong> mpirun &lt;failed&gt;'
has broken.html 'the command was interrupted; these are its results until then'
has broken.html 'The result has no rows'

# --- CSV: the command is told by its columns ---
q 0 bench --scheme fp32,int8 --values 1k --no-speed --steps 2 --passes 1 --format csv
cp out bench.csv
q 0 report bench.csv -o csv.html
has csv.html 'These rows come from a CSV'
has csv.html '<h2>bench '
t 0 report csv.html -o from-csv.json
end_case
case='the rows of a CSV' good=1
python3 - bench.json from-csv.json <<'P' || bad 'other rows than in the JSON'
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
assert b["command"] == "bench" and b["argv"] == [] and b["host"] == {}
assert a["rows"] == b["rows"], (a["rows"], b["rows"])
P
printf 'scheme,mine,big\n<i>,.5,9007199254740993\n"",+1e3,0007\n' >other.csv
q 0 report other.csv -o other.html
has other.html '<h2>csv '
has other.html '&lt;i&gt;'
t 0 report other.html -o from-csv.json
has from-csv.json '{"scheme": "<i>", "mine": 0.5, "big": 9007199254740993}'
has from-csv.json '{"scheme": "", "mine": 1000, "big": 7}'

# --- what is refused ---
t 2 report a.json
err 'name the page, as in -o report.html'
t 2 report
t 2 report a.json -o a.txt
err "'a.txt': a report's suffix should be .html"
t 2 report a.txt -o x.html
err "'a.txt': expected a .json or .csv file"
t 2 report a.json -o a.json
err 'FILE and --output are the same file'
t 2 report nets.json a.json -o a.json
err 'FILE and --output are the same file'
t 1 report missing.json -o x.html
err 'missing.json: .*No such file'
t 1 report a.json bad.csv -o x.html
no_file x.html
printf '{"schema": "commcomp/1"' >cut.json
t 1 report cut.json -o x.html
err 'cut.json: byte 23'
no_file x.html
printf 'scheme,x\na\n' >short.csv
t 1 report short.csv -o x.html
err "short.csv: line 2: the row ends before column 'x'"
no_file x.html

# damage NAME SED-SCRIPT MESSAGE: a page that was changed so is refused with the message.
damage() {
    sed "$2" all.html >"$1"
    cmp -s "$1" all.html && bad "nothing is damaged in $1"
    t 1 report "$1" --format=json
    err "$1: $3"
    [ ! -s out ] || bad 'something is printed'
}
damage value.html '/commcomp-result/s/: 4,/: 5,/' 'byte [0-9]*: the result .* has .* bytes and another checksum'
damage attribute.html 's/ data-crc32="[^"]*"//' "byte [0-9]*: the result's element lacks data-bytes or data-crc32"
damage fewer.html '/data-name="nets.json"/,/<\/script>/d' 'byte [0-9]*: the page ends with 3 of its 4 results'
damage no-count.html '/commcomp-results/d' 'not a page of commcomp'
head -c $(($(wc -c <all.html) * 7 / 8)) all.html >half.html
t 1 report half.html --format=json
err 'half.html: byte [0-9]*: '
err 'is cut off'
printf '<html><script>x</script></html>' >foreign.html
t 1 report foreign.html --format=json
err 'foreign.html: not a page of commcomp, .* `commcomp report FILE... -o report.html` makes them'
: >empty.html
t 1 report empty.html -o x.html
err 'empty.html: not a page of commcomp'
t 1 plot value.html
err 'value.html: '

finish
