#!/bin/sh
# The commands of the README, by copy and paste, on a trace made here.
. "$(dirname "$0")/lib.sh"

make_profile
q 0 trace synth captured --values 5k --steps 4 --ranks 2 --pulls
awk '/^```/ { code = !code } code && /^commcomp /' "$tests/../README.md" |
    sed 's/ *#.*//; s/^commcomp //' >readme
[ "$(wc -l <readme)" -ge 8 ] || bad "the README has few commands"
while read -r line; do
    case $line in
        bench*) line="$line -q --samples 1" ;;
        model* | advise*) line="$line --profile profile.json" ;;
        sim*) line=$(echo "$line --profile profile.json --dry-run" | sed 's/ --timeline [^ ]*//') ;;
        'run --bw none '*) command -v mpirun >/dev/null || continue
            line=$(echo "$line -q --time 10ms" | sed 's/,16M/,1K/') ;;
        run* | validate*) line="$line --profile profile.json --dry-run" ;; # they need a lab and take minutes
    esac
    t 0 $line
done <readme

finish
