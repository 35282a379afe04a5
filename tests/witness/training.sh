#!/bin/sh
# Trainings of a perceptron with fp32, ternary, topk and 3lc over servers and other exchanges, as numpy does them
# (training.py, written from the documents).
. "$(dirname "$0")/../cli/lib.sh"
if ! /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
    echo 'skipped: no numpy (Debian: python3-numpy)'
    finish
fi
digits=$(dirname "$tests")/train/data/digits
/usr/bin/python3 -B "$tests/witness/training.py" "$program" "$digits"
