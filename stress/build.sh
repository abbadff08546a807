#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# build.sh - builds the stress program with its own instrumented copy of the
# library.
#
# usage: build.sh KIND SOURCE_DIR BUILD_DIR SOURCE...
#
#   KIND         tsan     ThreadSanitizer
#                barrier  the same, in the forms that rely on membarrier(2)
#                asan     AddressSanitizer and UndefinedBehaviorSanitizer
#                native   none, optimised
#   SOURCE_DIR   where SOURCEs lie that are not below the current directory
#   BUILD_DIR    receives `stress`, and `launch`, the words to put before its name
#   SOURCE       of the library and of the program; headers are skipped
#
# Environment: CC, STRESS_FLAGS for the compiler, STRESS_LIBS for the linker.
#
# The library's invariants are asserted.  Everything is compiled together, with the same flags: a sanitizer sees only
# what it has instrumented.

set -eu

kind=$1
source_dir=$2
build_dir=$3
shift 3

case $kind in
tsan)
    flags='-fsanitize=thread -g -O1'
    name=ThreadSanitizer
    ;;
barrier)
    flags='-fsanitize=thread -g -O1 -DCPI_TAKES_BARRIER=1'
    name=ThreadSanitizer
    ;;
asan)
    flags='-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g -O1 -DCPI_TOOLS=0'
    name='AddressSanitizer and UndefinedBehaviorSanitizer'
    ;;
native)
    flags='-g -O2'
    name='the plain build'
    ;;
*)
    echo "build.sh: no such kind: $kind" >&2
    exit 2
    ;;
esac

mkdir -p "$build_dir"

# Some compilers know the flag but come without the run-time library, and some
# kernels lay out memory in a way that it does not like.
probe=$build_dir/probe
: >"$build_dir/launch"
echo 'int main(void) { return 0; }' >"$probe.c"
if ! $CC $flags "$probe.c" -o "$probe" 2>"$probe.log"; then
    cat "$probe.log" >&2
    echo "stress: $CC cannot build with $name ($flags)." >&2
    echo "stress: install its run-time library, or use another compiler: make stress CC=clang" >&2
    exit 1
fi
if ! "$probe" >"$probe.log" 2>&1; then
    if ! setarch -R "$probe" >"$probe.log" 2>&1; then
        cat "$probe.log" >&2
        echo "stress: programs built by $CC with $name do not start here." >&2
        exit 1
    fi
    echo 'setarch -R' >"$build_dir/launch"
fi
rm -f "$probe" "$probe.c" "$probe.log"

# Replaces each argument by its path, and drops headers.
for source do
    shift
    case $source in
    *.c) ;;
    *) continue ;;
    esac
    if [ -f "$source" ]; then
        set -- "$@" "$source"
    else
        set -- "$@" "$source_dir/$source"
    fi
done

echo "stress: building with $name"
$CC ${STRESS_FLAGS-} -DCPI_DEBUG=1 -std=c11 $flags -pthread "$@" ${STRESS_LIBS-} -o "$build_dir/stress"
