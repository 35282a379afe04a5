#!/bin/sh
# Rates of the lab's links by plain sockets, and the bytes that `run` counts by the kernel's counters (links.py).
. "$(dirname "$0")/../cli/lib.sh"
why=$(why_no_lab)
if [ -n "$why" ] || sanitized; then
    echo "skipped: links: ${why:-sanitized}"
    finish
fi
make_run_profile
for what in 'rates 10000000 100000000 400000000' bytes; do
    end_case
    case="links, $what" good=1
    set -- $what
    verb=$1
    shift
    python3 -B "$tests/witness/links.py" "$verb" "$program" "$@" >out 2>err || bad "$(cat out err)"
done
finish
