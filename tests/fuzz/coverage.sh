#!/bin/sh
# How much of each reader its seeds reach: runs every fuzz target once over its corpus and counts the
# functions, lines and branches of the files below. Functions that no input enters (the other half of
# a file, which writes) are not counted, but their number is printed.
#
#   tests/fuzz/coverage.sh PROGRAMS SEEDS   folders that `make fuzz-coverage` fills
set -u
programs=$1
corpus=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

files() { # files TARGET: what it tests
    case $1 in
        container) echo core/format/container.c ;;
        csv | npy | npz | safetensors) echo "core/format/$1.c" ;;
        data) echo train/data/idx.c train/data/cifar.c core/format/gzip.c ;;
        decode) echo schemes/*.c schemes/kernels/*.c schemes/kernels/*.h ;;
        hosts) echo netsim/launch/host_names.c ;;
        job) echo netsim/job/job.c netsim/job/job_table.c netsim/job/job_rows.c netsim/job/fields.c ;;
        link) echo models/link.c ;;
        net) echo models/net.c ;;
        pack) echo netsim/exchange/pack/pack_make.c netsim/exchange/pack/pack.c ;;
        paper) echo models/paper/paper.c models/paper/paper_solve.c ;;
        profile) echo models/profile.c ;;
        recipe) echo models/recipe.c ;;
        report) echo netsim/job/report.c ;;
        page) echo results/page_data.c ;;
        rounds) echo schemes/powersgd.c schemes/kernels/lowrank.k.c ;;
        sheet) echo results/sheet.c results/timeline_read.c results/timeline_use.c ;;
        stream) echo netsim/exchange/pack/pair_stream.c ;;
        *) echo "coverage.sh does not name the files of $1" >&2; exit 1 ;;
    esac
}

echo '| target | seeds | functions entered (not entered) | lines of them | branches of them |'
echo '|---|---|---|---|---|'
for source in "$(dirname "$0")"/fuzz_*.c; do
    name=$(basename "$source" .c)
    name=${name#fuzz_}
    sources=$(files "$name") || exit 1
    LLVM_PROFILE_FILE=$work/$name.raw "$programs/fuzz_$name" "$corpus/$name"/* 2>"$work/log" ||
        { tail "$work/log" >&2; exit 1; }
    llvm-profdata merge -sparse "$work/$name.raw" -o "$work/$name.data" || exit 1
    # shellcheck disable=SC2086
    llvm-cov report "$programs/fuzz_$name" -instr-profile="$work/$name.data" -show-functions $sources \
        >"$work/report" || exit 1
    [ "${VERBOSE:-}" = "" ] || cat "$work/report"
    awk -v name="$name" -v seeds="$(ls "$corpus/$name" | wc -l)" '
        NF == 10 && $2 ~ /^[0-9]+$/ && $1 != "TOTAL" {
            if ($5 == $6) { out++; next }
            in_++; lines += $5; missed += $6; branches += $8; unseen += $9
        }
        END { printf "| %s | %d | %d (%d) | %.0f%% of %d | %.0f%% of %d |\n", name, seeds, in_, out,
              100 * (1 - missed / lines), lines, 100 * (1 - unseen / (branches + !branches)), branches }' \
        "$work/report"
done
