#!/bin/sh
# The list of mutants fits the sources, and the tools that draw and apply them do (tests/mutants).
exec env PYTHONDONTWRITEBYTECODE=1 python3 "$(dirname "$0")/mutants/test_mutate.py" --count 150
