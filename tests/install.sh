#!/bin/sh
# `make install` into a directory of its own; then the program of docs/library.md against what is there, in C
# and in C++, each header by itself, and a plugin; then `make uninstall`. COMMCOMP is the program, in the build
# folder's bin; CC and CXX are the compilers.
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

# flags OPTION... PACKAGE: the output of pkg-config for a user.
flags() {
    PKG_CONFIG_PATH=$dir/usr/lib/pkgconfig pkg-config --define-variable=prefix="$dir/usr" "$@"
}

# links PROGRAM: the libraries that it needs, directly or through others, by their names.
links() {
    LD_LIBRARY_PATH=$dir/usr/lib ldd "$1" | sed -n 's/^[[:space:]]*\(lib[^.]*\)\.so.*/\1/p'
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
pages=$("$dir/usr/bin/commcomp" --man | sed -n 's/^\.BR \(commcomp-[a-z-]*\) (1)$/\1/p')
t "the man page lists those of the commands" test -n "$pages"
for page in $pages; do
    t "the man page of $page" test -s "$dir/usr/share/man/man1/$page.1"
done
t "the completion" test -s "$dir/usr/share/bash-completion/completions/commcomp"
t "the documentation" test -s "$dir/usr/share/doc/commcomp/docs/payloads.md"
t "its pictures" test -s "$dir/usr/share/doc/commcomp/docs/architecture.svg"

# The libraries show the names of commcomp.h and no others.
lib=$dir/usr/lib
for name in libcommcomp libcommcomp-traces; do
    nm -D --defined-only "$lib/$name.so"
done | awk '{ print $3 }' | sort >"$dir/exported"
grep -oE '(commcomp|cc)_[a-z0-9_]+\(' "$dir/usr/include/commcomp/commcomp.h" | tr -d '(' | sort -u >"$dir/declared"
t "the libraries export what commcomp.h declares" diff "$dir/declared" "$dir/exported"
soname() {
    readelf -d "$lib/$1" | grep -q "SONAME.*\[$1\]"
}
t "the soname of libcommcomp" soname libcommcomp.so.0
t "the soname of libcommcomp-traces" soname libcommcomp-traces.so.0

# Nothing in the installed headers may reach back into the sources.
cd "$dir" || exit 1
cflags=$(flags --cflags commcomp) libs=$(flags --libs commcomp)
for header in $(cd usr/include/commcomp && find . -name '*.h'); do
    echo "#include <${header#./}>" >header.c
    t "$header" "${CC:-cc}" -std=c11 -Wall -Wextra -Werror $cflags -fsyntax-only header.c
done
echo '#include <commcomp.h>' >header.cc
for standard in c++11 c++20; do
    t "commcomp.h in $standard" "${CXX:-c++}" -std=$standard -pedantic -Wall -Wextra -Werror $cflags \
        -fsyntax-only header.cc
done

sed -n '/^## A program in C and/,/^## /{/^```c$/,/^```$/{/^```/!p}}' "$root/docs/library.md" >demo.c
cp demo.c demo.cc
t "the program of docs/library.md is there" grep -q commcomp_codec_new demo.c
t "it is C" "${CC:-cc}" -std=c11 -pedantic -Wall -Wextra -Werror demo.c $cflags $libs -o demo_c
t "it is C++" "${CXX:-c++}" -pedantic -Wall -Wextra -Werror demo.cc $cflags $libs -o demo_cc
t "it links the archive" "${CC:-cc}" demo.c $cflags "$lib/libcommcomp.a" -lzstd -llz4 -lzfp -lm -fopenmp -o demo_a
for kind in c cc a; do
    t "it runs ($kind)" sh -c "LD_LIBRARY_PATH=$lib ./demo_$kind >result"
    t "it prints the sizes of the payloads" grep -q '^step 2: 100000 values in [0-9]* of at most' result
    links demo_$kind >needed
    t "it links a codec's libraries" grep -qx libzstd needed
    t "and no others" sh -c '! grep -xE "libgsl|libgslcblas|libcsv|libcjson|libzip" needed'
done

cat >traces.c <<'EOF'
#include <commcomp.h>
#include <stddef.h>
int main(void)
{
    struct commcomp_trace *trace;
    return commcomp_trace_open("nothing.npz", &trace, NULL) == COMMCOMP_FAIL ? 0 : 1;
}
EOF
t "a reader of traces" "${CC:-cc}" -Wall -Werror traces.c $(flags --cflags --libs commcomp-traces) -o traces
t "it runs" env LD_LIBRARY_PATH="$lib" ./traces
t "the same with the archives" "${CC:-cc}" traces.c $cflags "$lib/libcommcomp-traces.a" "$lib/libcommcomp.a" \
    -lcjson -lcsv -lzip -lzstd -llz4 -lzfp -lm -fopenmp -o traces

sed -n '/^```c$/,/^```$/{/^```/!p}' "$root/docs/plugins.md" >cyclic.c
t "the plugin of docs/plugins.md" "${CC:-cc}" -Wall -Wextra -Werror -O3 -shared -fPIC $cflags cyclic.c -o cyclic.so
t "the installed program loads it" usr/bin/commcomp bench --plugin cyclic.so --scheme cyclic --values 100

# Files of others stay.
touch usr/lib/other.so usr/share/doc/commcomp/mine
t "make uninstall" make -s -C "$root" BUILD="$build" DESTDIR="$dir" PREFIX=/usr uninstall
find usr ! -type d | sort >left
t "it removes what was installed" sh -c 'printf "%s\n" usr/lib/other.so usr/share/doc/commcomp/mine | diff - left'
t "and its folders" test ! -e usr/include/commcomp
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
