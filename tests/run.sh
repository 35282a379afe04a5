#!/bin/sh
# Runs each named program (or script), two at a time, and says what passed. The output of those that
# fail is shown whole; of the others, the lines that say that something was skipped.
#   tests/run.sh LABEL PROGRAM...
set -u
label=$1
shift
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT INT TERM

export logs
printf '%s\n' "$@" | xargs -P "${JOBS:-2}" -I{} sh -c '
    name=$(basename "{}")
    start=$(date +%s)
    if "{}" >"$logs/$name.log" 2>&1; then verdict=passed; else verdict=failed; fi
    echo "$verdict" >"$logs/$name.verdict"
    printf "%-7s %-28s %4d s\n" "$verdict" "$name" $(($(date +%s) - start))
    if [ "$verdict" = failed ]; then cat "$logs/$name.log"; else grep -i "skip" "$logs/$name.log"; fi
    true'
passed=$(cat "$logs"/*.verdict | grep -c passed)
failed=$(($# - passed))
echo "$label: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
