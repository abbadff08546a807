#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# planted.sh - shows that the check of recorded histories finds planted bugs.
#
# Each bug, of those of tests/planted/list.txt, is planted in a copy of the library, compiled
# with the check, and must make it fail with a history that has no order.
#
# srcdir: top of the source tree, CC: the compiler.  Runs in the build folder.

top=${srcdir:-.}
linear=$top/tests/linear
# A bug, and the shape that finds it soonest.  Slots given to two, slots lost, NULL
# although there are some.
bugs="slot-twice:one round
free-forgotten:mixed
lost-full-magazine:one round
lost-partial:in the caller's memory
loaded-not-taken:one round
spares-not-taken:one round
activity-not-compared:mixed
growth-forgotten:growing"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
options="-I$linear"
others="$linear/history.c $linear/linear.c $linear/burst.c $linear/check_histories.c"
. "$top/tests/planted/build.sh"

failed=0
while IFS=: read -r bug shape; do
    build "$bug" "$work/check" || exit 1
    # A bug may end the program before it makes a history without an order, which
    # is not what is to be shown: then once more, with other operations.
    for seed in 1 2 3 4 5 6 7 8; do
        status=0
        "$work/check" 400 "$seed" "$shape" >"$work/output" 2>&1 || status=$?
        [ "$status" -lt 128 ] && break
    done
    if [ "$status" -eq 0 ]; then
        echo "$bug: NOT FOUND"
        failed=1
    elif grep -q '^FAILED' "$work/output"; then
        echo "$bug: $(sed -n 's/^FAILED: \([^:]*\):.*/\1/p' "$work/output")"
    else
        echo "$bug: FOUND, but not by a history:"
        tail -n 3 "$work/output"
        failed=1
    fi
done <<EOF
$bugs
EOF
exit $failed
