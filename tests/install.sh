#!/bin/sh
# `make install` into a directory of its own; then the README's C program against what is there, and
# each header by itself. COMMCOMP is the program, in the build folder's bin; CC the compiler.
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
program=$(realpath "${COMMCOMP:-$root/build/bin/commcomp}") || exit 1
build=$(dirname "$(dirname "$program")")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
unset MAKEFLAGS MFLAGS MAKELEVEL
passed=0 failed=0

# t NAME COMMAND...: the command must succeed; its output is in "$dir/out".
t() {
    name=$1
    shift
    if "$@" >"$dir/out" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name"
        head -n 20 "$dir/out"
    fi
}

# flags KIND: the output of pkg-config for a user, with --cflags or --libs.
flags() {
    pc=$dir/usr/lib/pkgconfig/commcomp.pc
    if command -v pkg-config >/dev/null; then
        PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --define-variable=prefix="$dir/usr" "$1" commcomp
    else
        [ "$1" = --cflags ] && key=Cflags || key=Libs
        sed -n "s/^$key: //p" "$pc" | sed "s|\${includedir}|$dir/usr/include|; s|\${libdir}|$dir/usr/lib|"
    fi
}

t "make install" make -s -C "$root" BUILD="$build" DESTDIR="$dir" PREFIX=/usr install
t "the program" "$dir/usr/bin/commcomp" --version
t "the version in pkg-config" grep -qx "Version: $(cat "$root/VERSION")" "$dir/usr/lib/pkgconfig/commcomp.pc"
for name in commcomp-rank commcomp-rank-sim commcomp-platform; do
    if [ -x "$build/bin/$name" ]; then
        t "$name beside it" test -x "$dir/usr/bin/$name"
    else
        t "no $name, as it was not built" test ! -e "$dir/usr/bin/$name"
    fi
done
t "the man page" test -s "$dir/usr/share/man/man1/commcomp.1"

# Nothing in the installed headers may reach back into the sources.
cd "$dir" || exit 1
cflags=$(flags --cflags) libs=$(flags --libs)
for header in $(cd usr/include/commcomp && find . -name '*.h'); do
    echo "#include <${header#./}>" >header.c
    t "$header" "${CC:-cc}" -std=c11 -Wall -Wextra -Werror $cflags -fsyntax-only header.c
done

sed -n '/^## From C/,/^## /{/^```c$/,/^```$/{/^```/!p}}' "$root/README.md" >demo.c
t "the README's program is there" grep -q cc_codec_reset demo.c
t "it compiles" "${CC:-cc}" -Wall -Wextra -Werror demo.c $cflags $libs -o demo
t "it runs" sh -c './demo >result'
t "it prints the sizes of the payloads" grep -q '^step 2: 100000 values in [0-9]* of at most' result
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
