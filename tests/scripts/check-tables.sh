#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-tables.sh - holds the ordering tables that doc/CONCURRENCY.md shows
# against those in the heads of the files of lib/, which check-orders.sh holds
# against the code.
#
# srcdir: top of the source tree.

set -u
top=${srcdir:-.}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# Rows as "file|tag|operation|order|pairs|publishes", without blanks at the ends
# of cells.
tidy='function tidy(row,    cell, count, i, out) {
    gsub(/`/, "", row)
    count = split(row, cell, "|")
    out = ""
    for (i = 1; i <= count; i++) {
        gsub(/^[ ]+|[ ]+$/, "", cell[i])
        out = out "|" cell[i]
    }
    return out
}'

for file in "$top"/lib/*.[ch]; do
    awk -v name="${file##*/}" "$tidy"'
        function flush() { if (row != "" && row !~ /^tag /) print name tidy(row); row = "" }
        /^ \* ORDERING TABLE/ { inside = 1; next }
        inside && (/\*\// || /^ \*$/) { exit }
        inside {
            sub(/^ \* */, "")
            if (!/\|/) { # what the row above has no room for
                row = row " " $0
                next
            }
            flush()
            row = $0
        }
        END { flush() }' "$file"
done | sort > "$work/code"

awk "$tidy"'
    /^`lib\// { name = $0; gsub(/`|lib\//, "", name); next }
    /^## 3/ { exit }
    name != "" && /^\|/ && !/^\| tag/ && !/^\|--/ {
        row = $0
        sub(/^\| ?/, "", row)
        sub(/ *\|$/, "", row)
        print name tidy(row)
    }' "$top/doc/CONCURRENCY.md" | sort > "$work/shown"

[ -s "$work/code" ] || { echo "no table was found in $top/lib"; exit 1; }
if ! diff -u "$work/code" "$work/shown"; then
    echo "doc/CONCURRENCY.md (+) does not show what the files of lib/ say (-)"
    exit 1
fi
echo "$(wc -l < "$work/code") rows are shown as they are"
