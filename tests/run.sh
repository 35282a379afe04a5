#!/bin/sh
# Runs programs and scripts, JOBS (all cores) at a time, and reports which passed. The output of
# those that fail is shown whole; of the others, only the lines that mention a skipped test.
#
#   tests/run.sh LABEL PROGRAM...   runs them; they start in the order given, so list long ones first
#   tests/run.sh --summary          the ten slowest of all runs since --reset, and the totals
#   tests/run.sh --reset            discards the times of earlier runs
#
# COMMCOMP_TEST_TIMES is the file that collects the times (build/test-times), COMMCOMP_TEST_RUNNER the
# command that runs the programs among them, such as an emulator.
set -u
times=${COMMCOMP_TEST_TIMES:-build/test-times}
case $1 in
    --reset)
        rm -f "$times"
        exit
        ;;
    --summary)
        echo "The ten slowest:"
        sort -k1,1nr "$times" | head -n 10 | awk '{ s = $1; $1 = $2 = ""; printf "%6d s %s\n", s, $0 }'
        passed=$(grep -c ' passed ' "$times")
        failed=$(grep -c ' failed ' "$times")
        echo "$passed passed, $failed failed"
        [ "$failed" -eq 0 ]
        exit
        ;;
esac
label=$1
shift
mkdir -p "$(dirname "$times")"
logs=$(mktemp -d) || exit 1
trap 'rm -rf "$logs"' EXIT
trap 'exit 130' INT TERM

export logs times label
printf '%s\n' "$@" | xargs -P "${JOBS:-$(nproc)}" -I{} sh -c '
    log=$logs/$(echo "{}" | tr / _)
    start=$(date +%s)
    case "{}" in
        *.sh) runner= ;;
        *) runner=${COMMCOMP_TEST_RUNNER:-} ;;
    esac
    if $runner "{}" >"$log" 2>&1 </dev/null; then result=passed; else result=failed; fi
    seconds=$(($(date +%s) - start))
    name=$(echo "{}" | sed "s,.*/tests/,,; s,^tests/,,")
    echo "$seconds $result $name ($label)" >>"$times"
    {
        printf "%-7s %-28s %4d s\n" "$result" "$name" "$seconds"
        if [ "$result" = failed ]; then cat "$log"; else grep -i "skip" "$log"; fi
    } >"$log.report"
    cat "$log.report"
    awk "/^\[       OK \]/ { n++ }
         match(\$0, /[0-9]+ passed, [0-9]+ failed\$/) { n += substr(\$0, RSTART) }
         END { print n + 0 }" "$log" >"$log.cases"
    echo "$result" >"$log.result"'
passed=$(cat "$logs"/*.result | grep -c passed)
failed=$(($# - passed))
cases=$(cat "$logs"/*.cases | awk '{ n += $1 } END { print n }')
echo "$label: $passed passed, $failed failed; $cases cases"
[ "$failed" -eq 0 ]
