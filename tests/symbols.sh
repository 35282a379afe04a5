#!/bin/sh
# Every global symbol of the two archives is defined once and begins with one of the library's
# prefixes. If two files of an archive define the same name, the linker takes either without a warning.
#   BUILD is the build folder (build).
set -u
library=${BUILD:-build}/libcommcomp.a
symbols=$(nm -g --defined-only "$library" "${library%.a}-internal.a" | awk 'NF == 3 { print $3 }') || exit 1
[ "$(echo "$symbols" | wc -l)" -gt 500 ] || { echo "$library: few symbols"; exit 1; }
twice=$(echo "$symbols" | sort | uniq -d)
foreign=$(echo "$symbols" | grep -vE '^(cc|k|commcomp)_|^__odr_asan' | sort -u)
[ -z "$twice" ] || echo "defined twice: $twice"
[ -z "$foreign" ] || echo "without a prefix: $foreign"
[ -z "$twice$foreign" ]
