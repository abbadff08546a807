#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# analyze.sh - what gcc -fanalyzer, clang-tidy and cppcheck say of lib/.
#
#   analyze.sh SRCDIR FLAG...
#
# Any finding fails.  The checks that are left out stand here with the reason.  A program
# that is not found is named.

set -u
top=$1
shift
status=0
tried=0

# judge NAME OUTPUT - findings are lines with the name of a check in brackets.
judge() {
    tried=$((tried + 1))
    if grep -q -E '(warning|error|performance|portability):' "$2"; then
        echo "$1:"
        cat "$2"
        status=1
    else
        echo "$1: nothing"
    fi
}

output=$(mktemp) || exit 1
trap 'rm -f "$output"' EXIT

gcc=
for compiler in "${CC:-cc}" gcc; do
    # shellcheck disable=SC2086 # the compiler may have options of its own
    echo 'int x;' | $compiler -fanalyzer -x c -c - -o /dev/null 2> /dev/null && gcc=$compiler &&
        break
done
# Of -fanalyzer:
#   malloc-leak in object_slot.c   the slots are kept by their indices
if [ -n "$gcc" ]; then
    for file in "$top"/lib/*/*.c "$top"/ext/*/*.c; do
        case $file in
        */object_slot.c) but=-Wno-analyzer-malloc-leak ;;
        *) but= ;;
        esac
        # shellcheck disable=SC2086
        $gcc -std=c11 -O2 "$@" -I"$top/lib" -I"$top/ext" -fanalyzer $but -c "$file" -o /dev/null
    done > "$output" 2>&1
    judge 'gcc -fanalyzer' "$output"
else
    echo 'left out: no gcc with -fanalyzer'
fi

# Of bugprone-*:
#   easily-swappable-parameters   two numbers of one type are no mistake
#   reserved-identifier           the sanitizers' functions have such names
#   suspicious-include, *-parentheses and the like stay on
# Of clang-analyzer-*:
#   DeprecatedOrUnsafeBufferHandling   memcpy_s and its like are in no C library here
#   valist.Uninitialized               wrong where several files are looked at in one go
checks='-*,bugprone-*,clang-analyzer-*,-bugprone-easily-swappable-parameters'
checks=$checks,-bugprone-reserved-identifier,-clang-analyzer-valist.Uninitialized
checks=$checks,-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling
if command -v clang-tidy > /dev/null; then
    clang-tidy --quiet -checks="$checks" "$top"/lib/*/*.c "$top"/ext/*/*.c -- -std=c11 "$@" -I"$top/lib" -I"$top/ext" \
        > "$output" 2> /dev/null
    judge clang-tidy "$output"
else
    echo 'left out: no clang-tidy'
fi

# Of cppcheck:
#   selfAssignment in memory.c   a page is touched, and its bytes stay
#   memleak in object_slot.c           the address behind the front is kept, and freed by it
if command -v cppcheck > /dev/null; then
    cppcheck --enable=warning,performance,portability --std=c11 --quiet \
        --suppress=selfAssignment:"$top/lib/pool/memory.c" \
        --suppress=memleak:"$top/ext/objects/object_slot.c" -D__GNUC__=12 -D__ELF__=1 \
        -I"$top/include" -I"$top/lib" -I"$top/ext" -I. "$top"/lib/*/*.c "$top"/ext/*/*.c > "$output" 2>&1
    judge cppcheck "$output"
else
    echo 'left out: no cppcheck'
fi

[ "$tried" -gt 0 ] || { echo 'no analyzer was found'; exit 1; }
exit "$status"
