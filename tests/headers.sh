#!/bin/sh
# Every header of the project compiles by itself, and all of them together in one unit: no two define
# the same name. Headers without an include guard are templates and lists, which other files include
# after defining what they need; each must say why with the words "No include guard:", and is left out.
# make passes CC, CPPFLAGS and CFLAGS; MPI_FLAGS are those of mpicc. Without them the headers of
# the rank programs, which include mpi.h, are left out too.
set -u
cd "$(dirname "$0")/.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
CC=${CC:-cc}
# A header may have static functions that are not used.
flags="${CPPFLAGS:--I. -D_GNU_SOURCE -DCC_VERSION=\"\"} ${CFLAGS:--std=c11 -Wall -Wextra} ${MPI_FLAGS-}"
flags="$flags -Wno-unused-function -Werror -fsyntax-only -x c"
export CC flags
status=0

find core schemes binding models train bench netsim results cmd -name '*.h' | sort >"$dir/found"
while read -r header; do
    if grep -q '^#ifndef CC_[A-Z0-9_]*_H$' "$header"; then
        case "${MPI_FLAGS-}:$header" in
            :netsim/rank/* | :netsim/transport/mpi* | :netsim/transport/runtime*) ;;
            *) echo "$header" ;;
        esac
    elif ! tr -d '\n*' <"$header" | tr -s ' ' | grep -q 'No include guard:'; then
        echo "$header: neither an include guard nor the reason why (\"No include guard: ...\")" >&2
        : >"$dir/unexplained"
    fi
done <"$dir/found" >"$dir/headers"
[ ! -e "$dir/unexplained" ] || status=1

xargs -P "${JOBS:-2}" -I{} sh -c \
    '$CC $flags "{}" || { echo "{} does not compile by itself" >&2; exit 1; }' <"$dir/headers" || status=1
for order in sort 'sort -r'; do # in both orders: no header may rely on one before it
    $order "$dir/headers" | sed 's/.*/#include "&"/' >"$dir/all.c"
    $CC $flags "$dir/all.c" || {
        echo "the headers clash when all are included into one unit" >&2
        status=1
    }
done
[ $status != 0 ] || echo "$(wc -l <"$dir/headers") headers"
exit $status
