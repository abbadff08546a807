#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# coverage.sh - builds the library once more, for gcov, in the folder `coverage`, runs
# unit tests with it, and tells the lines and branches of lib/ that they reached.
#
#   coverage.sh SRCDIR PROGRAM...
#
# Without assertions, because no test reaches their failures.  Fails below COVERAGE_LINES (95) or
# COVERAGE_BRANCHES (85) per cent.  doc/TESTING.md says of the rest why.
#
# Run in the top of the build tree.

set -eu
top=$(cd "$1" && pwd)
shift
command -v lcov > /dev/null || { echo 'there is no lcov'; exit 77; }
mkdir -p coverage
cd coverage
[ -e Makefile ] || "$top/configure" -q --disable-shared --without-dpdk --without-ck \
    CFLAGS='-O0 -g --coverage' LDFLAGS=-Wl,-u,__gcov_dump
"$MAKE" all
# The asserted copy becomes one like the other.
"$MAKE" DEBUG_CPPFLAGS= \
    lib_libcpool_asserted_a_CPPFLAGS="-I$top/include" "$@"
find . -name '*.gcda' -exec rm -f {} +
for program; do
    "./$program" > "$program.log" 2>&1 || echo "failed: $program"
done
# Its program is told of checks by the environment alone.  Without optimisation it has other
# stacks than those that the script asks for, so the outcome does not count.
srcdir=$top CC="${CC:-cc} --coverage $top/tests/analysis/dump.c" \
    sh "$top/tests/scripts/check-mistakes.sh" > /dev/null 2>&1 || :
branches='--rc lcov_branch_coverage=1'
# shellcheck disable=SC2086 # two words
{
    lcov -q $branches --capture --directory . --output-file all.info
    lcov -q $branches --extract all.info "$top/lib/*" "$top/ext/*" --output-file lib.info
    lcov $branches --list lib.info
    lcov $branches --summary lib.info > summary 2>&1
}
cat summary
percent() {
    sed -n "s/.*$1[.]*: \([0-9]*\)\..*/\1/p" summary
}
[ "$(percent lines)" -ge "${COVERAGE_LINES:-95}" ] &&
    [ "$(percent branches)" -ge "${COVERAGE_BRANCHES:-85}" ]
