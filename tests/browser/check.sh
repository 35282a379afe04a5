#!/bin/sh
# Pages of `commcomp report` in a browser (tests/browser/check_page.py), and by tidy: results of
# several commands, of a CSV, failed ones, one with hostile names, and one with many rows. COMMCOMP
# is the program; SCREENSHOTS a folder to keep pictures of the pages in. Says so where no browser
# runs.
set -eu
here=$(realpath "$(dirname "$0")")
program=$(realpath "${COMMCOMP:-build/bin/commcomp}")
shots=${SCREENSHOTS:+--screenshots $(realpath "$SCREENSHOTS")}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
cd "$dir"

commcomp() { "$program" "$@" >/dev/null; }
commcomp bench --scheme paper --values 20k --no-speed --steps 2 --passes 1 -o bench.json
commcomp nets resnet110 -o many.csv
commcomp train --net mlp:32 --data digits --workers 2 --scheme fp32,int8 --steps 40 --seeds 2 \
    --threads 1 -o train.json
python3 - <<'P'
import json
name = "</script><script>document.title = 'obeyed'</script><!--<svg onload=alert(1)>' \" & \u001b[31m"
def row(scheme, bw, step):
    return {"scheme": scheme, "net": name, "workers": 4, "bw_bps": bw, "compute_s": 1, "codec_s": 0.1,
            "comm_s": step - 1.1, "step_s": step, "speedup": 8 / step}
json.dump({"schema": "commcomp/1", "command": "model", "argv": ["commcomp", name], "host": {"cpu": name},
           "rows": [row(s, bw, 1 + 8e7 * k / bw) for bw in (1e7, 1e8, 1e9)
                    for k, s in enumerate((name, "');alert(2)//", "x' onclick='alert(3)"))],
           "notes": [name], "error": name}, open("hostile.json", "w"))
P
echo '{"schema": "commcomp/1", "command": "run", "argv": ["commcomp", "run"], "host": {}, "rows": [], "error": "no"}' \
    >failed.json

for result in bench.json many.csv train.json hostile.json failed.json; do
    commcomp report "$result" -o "${result%.*}.html"
done
commcomp report bench.json many.csv train.json hostile.json failed.json -o all.html

failed=0
for page in *.html; do
    if ! tidy -q -e "$page" 2>tidy || [ -s tidy ]; then
        echo "FAILED: $page: not valid:"
        head -n 10 tidy
        failed=1
    fi
done
# shellcheck disable=SC2086 # the option and its folder are two words
python3 "$here/check_page.py" $shots *.html && status=0 || status=$?
case $status in
    0) ;;
    77) echo "skipped: the pages of report are not looked at, as no browser runs here" ;;
    *) failed=1 ;;
esac
exit $failed
