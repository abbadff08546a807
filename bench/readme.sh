#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# readme.sh - doc/PERFORMANCE.md shows the rows of every processor family that was measured,
# those that doc/performance/*.md have between `<!-- rows -->` and `<!-- end of rows -->`, and
# README.md three of the last family of each maker with typed pools.
#
#   readme.sh          holds the two files to that; `make check` runs it
#   readme.sh write    writes the rows, after a new measurement
#
# srcdir: top of the source tree.

set -u
cd "${srcdir:-.}" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# The rows of all families below one heading, each family as a link to its file.
families=0
for file in doc/performance/*.md; do
    grep -q '^<!-- rows -->$' "$file" || continue
    families=$((families + 1))
    sed -n '/^<!-- rows -->$/,/^<!-- end of rows -->$/p' "$file" | grep '^|' >"$work/one"
    [ -s "$work/all" ] || sed -n 1,2p "$work/one" >"$work/all"
    name=${file##*/}
    name=${name%.md}
    sed -e 1,2d -e "s,^| $name |,| [$name](performance/$name.md) |," "$work/one" >>"$work/all"
done
[ "$families" -gt 0 ] || { echo "FAILED: doc/performance has no rows"; exit 1; }

# Three lines of the last family of each maker, and six columns.
awk -F ' *[|] *' '
    $2 !~ /^\[/ || $5 == "-" { next }
    {
        family = $2
        sub(/^\[/, "", family)
        sub(/\].*/, "", family)
        maker = family
        sub(/-.*/, "", maker)
        if (!(maker in last))
            makers[++n] = maker
        last[maker] = family
    }
    $4 == "same slot" || $4 == "producer to consumer" || $4 ~ /^job frame/ {
        rows[family] = rows[family] sprintf("| %s: %s | %s | %s | %s | %s | %s |\n", family, $4, $5, $6, $8, $9, $10)
    }
    END {
        print "| processor | typed pool | pool | DPDK | glibc | jemalloc |"
        print "|---|---|---|---|---|---|"
        for (i = 1; i <= n; i++)
            printf "%s", rows[last[makers[i]]]
    }' "$work/all" >"$work/three"
lines=$(wc -l <"$work/three")
[ "$lines" -gt 2 ] && [ $(((lines - 2) % 3)) -eq 0 ] ||
    { echo "FAILED: README.md would have no three rows of each maker"; exit 1; }

# hold FILE ROWS
hold() {
    awk -v rows="$2" '
        /^<!-- end of rows -->$/ { inside = 0 }
        !inside { print }
        /^<!-- rows -->$/ { inside = 1; found = 1; while ((getline line < rows) > 0) print line }
        END { exit !found || inside }' "$1" >"$work/page.md" ||
        { echo "FAILED: $1 has no place for rows"; exit 1; }
    if [ "$mode" = write ]; then
        cmp -s "$work/page.md" "$1" || cp "$work/page.md" "$1"
    elif ! diff "$1" "$work/page.md"; then
        echo "FAILED: $1 is not what doc/performance says; bench/readme.sh write mends it"
        exit 1
    fi
}
mode=${1:-check}
hold doc/PERFORMANCE.md "$work/all"
hold README.md "$work/three"
echo "processor families: $families"
