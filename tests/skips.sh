#!/bin/sh
# tests/run.sh: what it counts as passed, failed and skipped, and the reasons that it gives, of tests made up here.
runner=$(realpath "$(dirname "$0")/run.sh")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tests/unit" && cd "$work" || exit 1
passed=0 failed=0

# made NAME EXIT: a test that prints standard input.
made() {
    { echo '#!/bin/sh'; echo 'cat <<"END"'; cat; echo END; echo "exit $2"; } >"tests/unit/$1"
    chmod +x "tests/unit/$1"
}
made all 0 <<'E'
[==========] Running 2 test(s).
[ RUN      ] one
[       OK ] one
[ RUN      ] two
[       OK ] two
[==========] 2 test(s) run.
[  PASSED  ] 2 test(s).
E
made some 0 <<'E'
[==========] Running 3 test(s).
[ RUN      ] one
[       OK ] one
[ RUN      ] two
skipped: no clock here
[  SKIPPED ] two
[ RUN      ] three
[  SKIPPED ] three
[==========] 3 test(s) run.
[  PASSED  ] 1 test(s).
[  SKIPPED ] 2 test(s), listed below:
[  SKIPPED ] two
[  SKIPPED ] three
E
made none.sh 0 <<'E'
skipped: no lab
E
made more.sh 0 <<'E'
plugin: run: skipped: no lab
plugin: sim: SKIPPED: no lab
more: 4 passed, 0 failed
E
made wrong.sh 1 <<'E'
skipped: no lab
wrong: 2 passed, 1 failed
E
made py 0 <<'E'
SKIPPED [3] tests/python/test_a.py:12: no GPU
7 passed, 3 skipped in 0.12s
E

run() {
    COMMCOMP_TEST_TIMES=times "$runner" --reset
    COMMCOMP_TEST_TIMES=times "$runner" "" "$@" >log 2>&1
    COMMCOMP_TEST_TIMES=times "$runner" --summary >summary 2>&1
    code=$?
}
check() { # check WHAT PATTERN: the summary has the line
    if grep -q "^$2\$" summary; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1: the summary lacks: $2"
        cat summary
    fi
}
is() { # is WHAT HAVE WANT
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1: $2 instead of $3"
    fi
}

run tests/unit/all tests/unit/some tests/unit/none.sh tests/unit/more.sh tests/unit/py
is 'exit code' "$code" 0
check 'tests, failed, skipped, cases, cases skipped' 'unit  *5  *0  *1  *14  *8  *[0-9]*'
check 'a reason of several tests' ' *3  no lab'
check 'the reason of a case' ' *1  no clock here'
check 'a case without a reason' ' *1  three'
check 'the reason of pytest' ' *3  no GPU'
check 'the last line' '4 passed, 0 failed, 1 skipped'
run tests/unit/all tests/unit/wrong.sh
is 'exit code with a failure' "$code" 1
check 'a failure' '1 passed, 1 failed, 0 skipped'
run tests/unit/all
is 'no reasons' "$(grep -c Skipped summary)" 0
run tests/unit/none.sh
is 'nothing but skips' "$code" 1
echo "skips: $passed passed, $failed failed"
[ $failed = 0 ]
