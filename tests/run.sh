#!/bin/sh
# Runs tests, and sums up. The times and results of all calls since --reset are kept in a file.
#
#   tests/run.sh AREA PROGRAM...         runs programs and scripts, JOBS (all cores) at a time, in the order
#                                        given, so list long ones first; without an area ("") each counts for
#                                        the folder of tests/ that it lies in
#   tests/run.sh --part AREA NAME COMMAND...   runs one command and shows its output as it comes
#   tests/run.sh --reset                 discards what earlier calls have kept
#   tests/run.sh --summary               the areas, the ten slowest, and the totals; fails if a test has failed
#
# The output of those that fail is shown whole; of the others, only the lines that mention a skipped test.
# A case is skipped where cmocka or pytest says so, and for each line "skipped: REASON" of a script; such cases count
# apart, and the summary has every reason once. A test is skipped if cases of it are, and none has passed.
#
# COMMCOMP_TEST_TIMES is the file (build/test-times), COMMCOMP_TEST_RUNNER the command that runs the programs
# among the tests, such as an emulator.
set -u
times=${COMMCOMP_TEST_TIMES:-build/test-times}
# Programs keep the memory that they free: tests that allocate and free large arrays many times spend most
# of their time in page faults otherwise.
: "${GLIBC_TUNABLES=glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967295}"
export GLIBC_TUNABLES
tab=$(printf '\t')
mkdir -p "$(dirname "$times")"

now() { # milliseconds
    echo $(($(date +%s%N) / 1000000))
}

# skips LOG: "CASES<tab>REASON" for each reason why cases are skipped. Of a cmocka case it is the line "skipped: ..." that
# the case prints, or its name; its closing list of them is left out.
skips() {
    awk '
        function skip(cases, reason) {
            sub(/^.*[Ss][Kk][Ii][Pp][Pp][Ee][Dd]: */, "", reason)
            gsub(/\t/, " ", reason)
            if (!(reason in n)) order[++reasons] = reason
            n[reason] += cases
        }
        /^\[ RUN      \]/ { said = "" }
        /^\[==========\] .* run\.$/ { closing = 1 }
        /^\[  SKIPPED \]/ {
            if (!closing) skip(1, said != "" ? said : substr($0, 14))
            said = ""
            next
        }
        /^SKIPPED \[[0-9]+\]/ { # pytest -ra: SKIPPED [2] FILE:LINE: REASON
            cases = $2
            gsub(/[^0-9]/, "", cases)
            sub(/^SKIPPED \[[0-9]+\] [^ ]* /, "skipped: ")
            skip(cases, $0)
            next
        }
        tolower($0) ~ /(^|[ :])skipped:/ {
            if (cmocka) said = $0
            else skip(1, $0)
        }
        /^\[==========\]/ { cmocka = 1 }
        END { for (i = 1; i <= reasons; i++) printf "%d\t%s\n", n[order[i]], order[i] }' "$1"
}

# judge LOG CODE BEGAN AREA NAME: keeps a line of the file, and one for each reason of skipped cases; sets $result,
# $cases, $skipped and $seconds.
judge() {
    cases=$(awk '/^\[       OK \]/ { n++ }
        match($0, /[0-9]+ passed, [0-9]+ failed$/) || match($0, /[0-9]+ passed[^:]* in [0-9.]+s/) {
            n += substr($0, RSTART) }
        END { print n + 0 }' "$1")
    reasons=$(skips "$1")
    skipped=$(echo "$reasons" | awk -F '\t' '{ n += $1 } END { print n + 0 }')
    result=passed
    [ "$cases" -gt 0 ] || [ "$skipped" = 0 ] || result=skipped
    [ "$2" -eq 0 ] || result=failed
    took=$(($(now) - $3))
    seconds=$(((took + 500) / 1000))
    {
        echo "$took$tab$result$tab$cases$tab$4$tab$5$tab$skipped"
        [ "$skipped" = 0 ] || echo "$reasons" | sed "s/^/skip$tab/"
    } >>"$times"
}

summary() {
    awk -F '\t' '
        $1 == "began" { next }
        $1 == "skip" {
            if (!($3 in why)) reason[++reasons] = $3
            why[$3] += $2
            next
        }
        !($4 in tests) { order[++areas] = $4 }
        { tests[$4]++; cases[$4] += $3; skipped[$4] += $6; s[$4] += $1 / 1000; n[$4 " " $2]++; all[$2]++ }
        END {
            printf "\n%-14s %6s %7s %7s %7s %14s %9s\n", "area", "tests", "failed", "skipped", "cases", "cases skipped", "seconds"
            for (i = 1; i <= areas; i++) {
                a = order[i]
                printf "%-14s %6d %7d %7d %7d %14d %9.0f\n", a, tests[a], n[a " failed"], n[a " skipped"], cases[a], skipped[a], s[a]
            }
            if (reasons > 0) printf "\nSkipped cases, and why:\n"
            for (i = 1; i <= reasons; i++) printf "%6d  %s\n", why[reason[i]], reason[i]
        }' "$times"
    printf '\nThe ten slowest:\n'
    grep -v "^began\|^skip" "$times" | sort -k1,1nr | head -n 10 | awk -F '\t' '{ printf "%6.0f s  %s (%s)\n", $1 / 1000, $5, $4 }'
    awk -F '\t' -v now="$(now)" '
        $1 == "began" { began = $2; next }
        $1 == "skip" { next }
        $2 == "failed" { failed = failed "  " $5 " (" $4 ")\n" }
        { n[$2]++ }
        END {
            s = (now - began) / 1000
            printf "\nAfter %d min %d s", s / 60, s % 60
            printf failed == "" ? ".\n" : ", failed:\n%s", failed
            printf "%d passed, %d failed, %d skipped\n", n["passed"], n["failed"], n["skipped"]
            exit failed != "" || n["passed"] == 0
        }' "$times"
}

case $1 in
    --reset)
        echo "began$tab$(now)" >"$times"
        exit
        ;;
    --summary)
        summary
        exit
        ;;
    # For one of many, in a shell of its own.
    --one)
        program=$2
        name=$(echo "$program" | sed 's,.*/tests/,,; s,^tests/,,')
        area=${AREA:-$(dirname "$name")}
        [ "$area" != . ] || area=whole
        log=$LOGS/$(echo "$program" | tr / _)
        case $program in
            *.sh) runner= ;;
            *) runner=${COMMCOMP_TEST_RUNNER:-} ;;
        esac
        began=$(now)
        # shellcheck disable=SC2086 # the runner may be several words
        $runner "$program" >"$log" 2>&1 </dev/null
        code=$?
        exec 9>>"$LOGS/count"
        flock 9
        judge "$log" $code "$began" "$area" "$name"
        echo $result >&9
        printf '[%*d/%d] %-7s %-30s %4d s\n' ${#TOTAL} "$(wc -l <"$LOGS/count")" "$TOTAL" $result "$name" $seconds
        if [ $result = failed ]; then cat "$log"; else grep -i "skip" "$log"; fi
        exit 0
        ;;
esac

LOGS=$(mktemp -d) || exit 1
trap 'rm -rf "$LOGS"' EXIT
trap 'exit 130' INT TERM
if [ "$1" = --part ]; then
    area=$2 name=$3
    shift 3
    echo "$area: $name"
    began=$(now)
    { "$@" 2>&1; echo $? >"$LOGS/code"; } | tee "$LOGS/log"
    judge "$LOGS/log" "$(cat "$LOGS/code")" "$began" "$area" "$name"
    printf '%-7s %s: %s %4d s\n' $result "$area" "$name" $seconds
    [ $result != failed ]
    exit
fi
export AREA="$1" LOGS TOTAL=$(($# - 1))
shift
printf '%s\n' "$@" | xargs -P "${JOBS:-$(nproc)}" -I{} "$0" --one {}
! grep -q failed "$LOGS/count" && [ "$(wc -l <"$LOGS/count")" -eq $TOTAL ]
