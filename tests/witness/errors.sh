#!/bin/sh
# `error` and its interval, against the formulas of docs/errors.md in Python, on whole numbers and with schemes whose
# errors follow from them. CC is the compiler.
. "$(dirname "$0")/../cli/lib.sh"
root=$(dirname "$tests")

case='the plugin' good=1
: >out
"${CC:-cc}" -std=c11 -Wall -Wextra -Werror -O2 -shared -fPIC -I"$root" "$tests/witness/known.c" -o known.so -lm 2>err ||
    bad 'it does not compile'
for steps in 2 4 8 16 32 64; do
    python3 "$tests/witness/errors.py" make trace$steps $steps || exit 1
    q 0 bench -q --trace trace$steps --no-speed --plugin known.so --format json \
        --scheme known:odd=1,known:odd=1,state=1,known:grow=1,state=1,threshold:tau=1e30
    python3 "$tests/witness/errors.py" check out $steps >err 2>&1 || bad "$(cat err)"
done
finish
