#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-tsan.sh - programs of a user's, compiled with -fsanitize=thread and linked
# with the library as it is installed: ThreadSanitizer has nothing to say about one
# that is correct, and finds the race of one that uses a slot after its free.  With
# the configured compiler and with those of GNU and LLVM where they are found.
#
# srcdir: top of the source tree.  CC: the configured compiler.  Run in the top of the
# build tree.

set -u
top=${srcdir:-.}
status=0
tried=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

skip() {
    echo "skipped: $*"
    exit 77
}

library=lib/.libs/libcpool.so
[ -e "$library" ] || library=lib/.libs/libcpool.a
[ -e "$library" ] || skip 'there is no library to link'
! nm "$library" 2> /dev/null | grep -q '__[am]san_init' ||
    skip 'the library is built for another sanitizer'
# Instrumented itself, it wants the run-time library of its own compiler.
others='gcc clang'
! nm "$library" 2> /dev/null | grep -q '__tsan_init' || others=
LD_LIBRARY_PATH=$(pwd)/lib/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
TSAN_OPTIONS='exitcode=66 halt_on_error=0'
export TSAN_OPTIONS

complain() {
    echo "$*"
    sed 's/^/  | /' "$work/output"
    status=1
}

# starts COMPILER - whether its instrumented programs run here, and behind what.
starts() {
    launch=
    echo 'int main(void) { return 0; }' > "$work/probe.c"
    # shellcheck disable=SC2086 # the compiler may have options of its own
    $1 -fsanitize=thread "$work/probe.c" -o "$work/probe" 2> /dev/null || return 1
    "$work/probe" > /dev/null 2>&1 && return 0
    launch='setarch -R'
    $launch "$work/probe" > /dev/null 2>&1
}

# build COMPILER PROGRAM OPTION...
build() {
    compiler=$1 program=$2
    shift 2
    # shellcheck disable=SC2086
    $compiler -std=c11 -g -Wall -Wextra -Werror -fsanitize=thread -pthread "$@" \
        -I"$top/include" "$top/tests/tsan/$program.c" "$library" \
        -o "$work/$program" > "$work/output" 2>&1
}

# try COMPILER OPTION...
try() {
    tried=$((tried + 1))
    for program in handover stray; do
        build "$1" "$program" "$2" || {
            complain "$program does not compile with $*"
            return
        }
    done
    $launch "$work/handover" > "$work/output" 2>&1
    code=$?
    [ "$code" -eq 0 ] && grep -q 'handed over' "$work/output" &&
        ! grep -q 'WARNING: ThreadSanitizer' "$work/output" ||
        complain "$*: a correct program ends with $code"
    for when in early late; do
        $launch "$work/stray" "$when" > "$work/output" 2>&1
        code=$?
        [ "$code" -eq 66 ] && grep -q 'data race' "$work/output" &&
            grep -q ' write_to ' "$work/output" ||
            complain "$*: a stray write, $when, is not found: it ends with $code"
    done
}

for compiler in "${CC:-cc}" $others; do
    [ "$compiler" = "${CC:-cc}" ] && [ "$tried" -gt 0 ] && continue
    command -v "${compiler%% *}" > /dev/null || continue
    starts "$compiler" || { echo "left out: $compiler has no ThreadSanitizer here"; continue; }
    try "$compiler" -O2
    try "$compiler" -O0
done
[ "$tried" -gt 0 ] || skip 'no compiler here has ThreadSanitizer'
[ "$status" -ne 0 ] || echo "$tried builds"
exit "$status"
