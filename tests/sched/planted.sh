#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# planted.sh - shows that the schedule explorer finds planted bugs, and that what
# it prints repeats them.
#
# Each bug, of those of tests/planted/list.txt, is planted in a copy of the library, compiled with
# the explorer, and looked for.  Then the run that failed is repeated alone, and must fail in the
# same way.
#
# srcdir: top of the source tree, CC: the compiler.  Runs in the build folder.

top=${srcdir:-.}
sched=$top/tests/sched
bugs='no-tag lost-full-magazine slot-twice claim-by-store steal-by-store
    open-unchecked taken-inside unloaded-by-store activity-not-compared
    loaded-not-taken spares-not-taken announced-after-look push-calls-nobody
    resolve-any found-though-free retire-section-ignored'

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
options="-I$sched"
others=$(echo "$sched"/*.c)
. "$top/tests/planted/build.sh"
. "$top/tests/planted/share.sh"

# The output of a run that failed.
failure() {
    sed -n 's/^.*FAILED: //p' "$1" | head -n 1
}

failed=0
for bug in $bugs; do
    in_share || continue
    build "$bug" "$work/explore" || exit 1
    "$work/explore" --scenario "$(scenario_of "$bug")" >"$work/first"
    status=$?
    arguments=$(sed -n 's/^repeat with: [^ ]* //p' "$work/first" | head -n 1)
    # shellcheck disable=SC2086 # several words
    "$work/explore" $arguments >"$work/again"
    if [ $status -eq 0 ]; then
        echo "$bug: NOT FOUND"
        failed=1
    elif [ -z "$(failure "$work/first")" ] ||
        [ "$(failure "$work/first")" != "$(failure "$work/again")" ]; then
        echo "$bug: NOT REPEATED: $(failure "$work/first") ($arguments)"
        failed=1
    else
        echo "$bug: $(failure "$work/first") ($arguments)"
    fi
done
exit $failed
