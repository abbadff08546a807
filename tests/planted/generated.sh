#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# generated.sh - plants bugs that generate.awk makes of every comparison, memory order and
# statement of the lock-free files, and prints those that no test finds.
#
#   generated.sh [FILE...]     of lib/, or all lock-free ones
#
# GENERATED_SHARE: one bug in so many is planted (1).  GENERATED_FIRST: the number of the first
# one (1).  The rest of the environment is that of run.sh: MUTANTS_OTHERS is what runs after
# the tests and scenarios that belong to the file.  Weakened orders are models' to find, in
# tests/weak.  Runs in the build folder.  Exit status: 0, all were found; 1, some were not.

top=$(cd "${srcdir:-.}" && pwd)
planted=$top/tests/planted
[ $# -gt 0 ] || set -- tagstack.h depot.h depot.c cache.h cache_swap.h cache.c cache_shared.c \
    recall.h recall.c registry_list.c slab.h slab.c extent.c queue.h slotmap.h slotmap.c \
    lease.c lease_open.c

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
for file; do
    awk -f "$planted/generate.awk" "$top/lib/$file"
done | awk -v share="${GENERATED_SHARE:-1}" -v first="${GENERATED_FIRST:-1}" \
    'NR >= first && (NR - first) % share == 0' >"$work/list"
PLANTED_LIST=$work/list
export PLANTED_LIST
# A bug that does not compile is none.
sed -n 's/^\([a-z0-9-]*\) *|.*| model:.*/\1/p' "$work/list" >"$work/orders"
sed -n 's/^\([a-z0-9-]*\) *|.*/\1/p' "$work/list" | grep -vxF -f "$work/orders" >"$work/others"
echo "$(wc -l <"$work/list") bugs, $(wc -l <"$work/orders") of them in memory orders"
# shellcheck disable=SC2046 # several words
[ ! -s "$work/others" ] ||
    sh "$planted/run.sh" $(cat "$work/others") 2>"$work/log" | tee "$work/found"
if [ -s "$work/orders" ]; then
    CHECKER=$top/tests/weak/run.sh sh "$planted/models.sh" "$top/lib" 2>>"$work/log" |
        tee -a "$work/found"
fi
survivors=$(grep -E 'SURVIVED|FAILED: survives' "$work/found" | while read -r name _; do
    grep -q "^$name: .* does not compile" "$work/log" || echo "$name"
done)
[ -n "$survivors" ] || exit 0
echo "not found:"
for name in $survivors; do
    line=$(sed -n "s/^$name | \([^ ]*\) .*/\1/p" "$work/list")
    number=$(echo "$name" | sed 's/-[a-z]*[0-9]*$//; s/.*-//')
    echo "$name: lib/$line:$number:$(sed -n "${number}p" "$top/lib/$line")"
done
exit 1
