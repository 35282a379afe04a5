#!/bin/sh
# Reads a CSV of commcomp's with gnuplot, as a user would, and prints what it found:
#   check_csv.sh FILE [KEY ...]   "columns N", then for each key of numbers "KEY RECORDS MIN MAX"
# Exit 0: gnuplot read it, with as many columns as there are keys; 1: not so; 2: usage; 77: gnuplot
# is missing.
set -u

if [ $# -lt 1 ]; then
    sed -n '2,5s/^# *//p' "$0" >&2
    exit 2
fi
if ! command -v gnuplot >/dev/null; then
    echo "SKIPPED: gnuplot is not installed" >&2
    exit 77
fi
file=$1
shift
if [ ! -r "$file" ]; then
    echo "$file: cannot be read" >&2
    exit 1
fi
keys=$(head -n 1 "$file" | tr ',' '\n' | wc -l)
if [ $# -eq 0 ]; then
    set -- values
fi

gnuplot -c /dev/stdin "$file" "$keys" "$@" <<'EOF'
set print '-'
set datafile separator comma
set datafile columnheaders
do for [i = 3:ARGC] {
    stats ARG1 using (column(ARGV[i])) name 'S' nooutput
    if (i == 3) {
        print sprintf('columns %d', S_columns)
        if (S_columns != int(ARG2)) { exit status 1 }
    }
    print sprintf('%s %d %.15g %.15g', ARGV[i], S_records, S_min, S_max)
}
EOF
