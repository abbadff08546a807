#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# planted.sh - shows that the check of recorded histories finds planted bugs.
#
# The bugs are mutants of mutants.txt here and of tests/model's.  Each is planted in a
# copy of the library, compiled with the check, and must make it fail with a history
# that has no order.
#
# srcdir: top of the source tree, CC: the compiler.  Runs in the build folder.

if [ "${CHECK_MUTANTS:-yes}" = no ]; then
    echo "skipped: CHECK_MUTANTS=no, another build checks them"
    exit 77
fi

top=${srcdir:-.}
linear=$top/tests/linear
# Slots given to two, slots lost, NULL although there are some.
bugs='slot-twice free-forgotten
lost-full-magazine lost-partial
loaded-not-taken spares-not-taken slack-not-used growth-forgotten'

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# It reads the list beside itself.
cp "$top/tests/model/plant.sh" "$work" || exit 1
cat "$top/tests/model/mutants.txt" "$linear/mutants.txt" >"$work/mutants.txt" || exit 1

build() {
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -pthread -DCPI_ATOMIC_HEADER='"points.h"' \
        -DCPI_REVIEW_SWAPS=4u -I"$work/lib" -I"$top/tests" -I"$linear" -I"$top/include" \
        "$linear/history.c" "$linear/linear.c" "$linear/burst.c" \
        "$linear/check_histories.c" "$work"/lib/*.c -o "$work/check"
}

failed=0
for bug in $bugs; do
    rm -rf "$work/lib"
    sh "$work/plant.sh" "$top/lib" "$work/lib" "$bug" && build || exit 1
    # A bug may end the program before it makes a history without an order, which
    # is not what is to be shown: then once more.
    for try in 1 2 3 4 5; do
        status=0
        "$work/check" >"$work/output" 2>&1 || status=$?
        [ "$status" -lt 128 ] && break
    done
    if [ "$status" -eq 0 ]; then
        echo "$bug: NOT FOUND"
        failed=1
    elif grep -q '^FAILED' "$work/output"; then
        echo "$bug: $(sed -n 's/^FAILED: \([^:]*\):.*/\1/p' "$work/output"), after" \
            "$(grep -c histories, "$work/output") shapes"
    else
        echo "$bug: FOUND, but not by a history:"
        tail -n 3 "$work/output"
        failed=1
    fi
done
exit $failed
