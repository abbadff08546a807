#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh - the protocol of closable entries holds in two memory models, and bugs that are planted
# in it are found.
#
#   run.sh                     all of it; with CPOOL_TEST_QUICK what half a minute has room for
#   run.sh SCENARIO [NUMBER]   one scenario of scenarios.cpp, with a planted bug of main.cpp, or
#                              `symmetric' or `skipping'
#
# The model is compiled once for each memory: sequential consistency, and a weak memory with views.
# Prints a line for each search.
#
# CXX: the C++ compiler, c++ if it is not set.  Exit status: 0, all as expected; 1, not so; 77,
# skipped, there is no compiler, or none of C++17.

here=$(dirname "$0")
compiler=${CXX-c++}

[ -n "$compiler" ] || {
    echo "SKIP: the protocol's model without a C++ compiler"
    exit 77
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

echo 'int main() { if constexpr (sizeof(int) > 1) return 0; }' >"$work/empty.cpp"
# shellcheck disable=SC2086 # the compiler may have options of its own
$compiler -std=c++17 "$work/empty.cpp" -o "$work/empty" 2>"$work/output" || {
    echo "SKIP: the protocol's model without C++17"
    exit 77
}

if [ $# -eq 0 ]; then
    set -- "$([ -n "${CPOOL_TEST_QUICK:-}" ] && echo brief || echo long)"
fi
failed=0
for memory in sc views; do
    # shellcheck disable=SC2086
    $compiler -std=c++17 -O2 -Wall -Wextra -DMEMORY="\"memory_$memory.h\"" -I"$here" \
        "$here"/*.cpp -o "$work/$memory" && "$work/$memory" "$@" || failed=1
done
[ $failed -eq 0 ] && echo "the protocol holds, and each planted bug was found"
exit $failed
