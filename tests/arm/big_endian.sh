#!/bin/sh
# big_endian.sh COMPILER: what is compiled for a big-endian machine is refused, with a message that says why.
set -u
if message=$("$1" -mbig-endian -fsyntax-only -std=c11 -I. core/bytes.h 2>&1); then
    echo "FAILED: core/bytes.h compiles for a big-endian machine"
    exit 1
fi
case $message in
*'commcomp runs on little-endian machines only'*) echo "big-endian: refused" ;;
*)
    echo "FAILED: big-endian: $message"
    exit 1
    ;;
esac
