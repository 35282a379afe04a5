#!/bin/sh
# The commands of the README, by copy and paste, on the trace that ships with the project; and what it
# prints of them, where that depends on no machine.
. "$(dirname "$0")/lib.sh"
export COLUMNS=80

make_profile
ln -s "$(cd "$tests/.." && pwd)/captured" captured
awk '/^```/ { code = !code } code && /^commcomp /' "$tests/../README.md" | sed 's/^commcomp //' >readme
[ "$(wc -l <readme)" -ge 5 ] || bad "the README has few commands"
while read -r line; do
    case $line in
        bench*) line="$line -q --samples 1" ;;
        run*) line="$line --profile profile.json --dry-run" ;; # it needs a lab
    esac
    t 0 $line
    # The block after the command.
    awk -v command="commcomp $line" '
        /^```/ { code = !code; if (!code && found == 1) found = 2; else if (code && found == 2) found = 3; else if (found == 3) exit }
        code && $0 == command { found = 1 }
        code && found == 3 && !/^```/' "$tests/../README.md" >printed
    case $line in
        advise* | model* | train*)
            [ -s printed ] || bad "the README prints nothing of $line"
            while IFS= read -r text; do
                grep -qxF -e "$text" out || bad "the README has \"$text\""
            done <printed ;;
    esac
done <readme

# The picture is the one that its command makes.
awk '/^`commcomp model/ { on = 1 } on { text = text " " $0 } on && /` \*and\*$/ { exit } END { print text }' "$tests/../README.md" |
    sed 's/^ *`commcomp //; s/` \*and\*$//; s/  */ /g' >picture
q 0 $(cat picture) -q
q 0 plot speedup.csv --kind speedup -o speedup.svg
cmp -s speedup.svg "$tests/../docs/speedup.svg" || bad 'docs/speedup.svg is another picture'

finish
