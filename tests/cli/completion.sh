#!/bin/sh
# The scripts that complete commcomp's words, sourced in bash and zsh.
. "$(dirname "$0")/lib.sh"

if ! command -v bash >/dev/null; then
    echo 'completion: skipped: no bash'
    exit 0
fi
q 0 --completion bash
cp out commcomp.bash
t 2 --completion fish
err 'it is one of bash, zsh'
t 2 --completion

# c WORDS...: what bash offers for the last word, in `out`, sorted.
c() {
    end_case
    case="completion of: $*" good=1
    bash -c '. ./commcomp.bash
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _commcomp
        complete -p commcomp >&2
        printf "%s\n" "${COMPREPLY[@]}"' bash "$@" 2>err | sort >out
    err '-F _commcomp commcomp'
}
only() { [ "$(tr '\n' ' ' <out)" = "$* " ] || bad "offered: $(tr '\n' ' ' <out)"; }

c commcomp mo
only model
c commcomp trac
only trace
c commcomp trace ''
only convert info synth
c commcomp trace info --per
only --per-tensor
c commcomp model --mode ''
only overlap pipe sequential
c commcomp run --mode o
only overlap
c commcomp bench --scheme 3
only 3lc
c commcomp model --bw-
only --bw-down --bw-up
c commcomp model --bw
only --bw --bw-down --bw-up
c commcomp model --batch ''
only
c commcomp model --bw ''
only 3lc ethernet infiniband pipesgd sparcml-daint sparcml-ec2 sparcml-greina-ge sparcml-greina-ib thesis wan
c commcomp model --columns step_s_
only step_s_sd
c commcomp help va
only validate
: >'a file.npy'
c commcomp encode a
only a file.npy
c commcomp model --profile a
only a file.npy
c commcomp schemes --format j
only json
# Every option that the help of a command has, and no other.
for command in model bench encode; do
    "$program" $command --help all | grep -o '^  \(-[a-z], \)*--[a-z][a-z-]*' | grep -o -- '--[a-z][a-z-]*' |
        sort >want
    c commcomp $command --
    same out want
done

if command -v zsh >/dev/null; then
    q 0 --completion zsh
    mkdir -p functions
    cp out functions/_commcomp
    # A terminal of zsh's own. Each line is typed with a Tab at its end; a function in the place of
    # the program writes down what arrives.
    cat >typed.zsh <<'Z'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1= fpath=($PWD/functions $fpath) COLUMNS=200; commcomp() { print -r -- "$*" >>got; }'
zpty -w shell 'autoload -U compinit; compinit -u -d dump; print -r -- rea"dy"'
zpty -r -m shell text '*ready*'
for line in "$@"; do
    zpty -w -n shell "$line"$'\t'$'\n'
done
zpty -w shell 'print -r -- do"ne"'
zpty -r -m shell text '*done*'
zpty -d shell
Z
    case='completion in zsh' good=1
    timeout 60 zsh -f typed.zsh 'commcomp mod' 'commcomp trace conv' 'commcomp model --mode ov' \
        'commcomp trace info --per-t' 'commcomp bench --stream pul' 'commcomp advise --loss' \
        'commcomp encode --scheme mqe' 'commcomp model --profile a\ f' >out 2>err
    printf '%s\n' model 'trace convert' 'model --mode overlap' 'trace info --per-tensor' \
        'bench --stream pull' 'advise --lossless' 'encode --scheme mqe1bit' \
        'model --profile a file.npy' >want
    same got want
    cp got out
else
    echo 'completion: skipped: no zsh'
fi
finish
