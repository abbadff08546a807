#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# readme.sh - README.md shows the rows of every processor family that was measured,
# those that doc/performance/*.md have between `<!-- rows -->` and
# `<!-- end of rows -->`.
#
#   readme.sh          holds README.md to that; `make check` runs it
#   readme.sh write    writes them to README.md, after a new measurement
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
    sed -e 1,2d -e "s,^| $name |,| [$name](doc/performance/$name.md) |," "$work/one" >>"$work/all"
done
[ "$families" -gt 0 ] || { echo "FAILED: doc/performance has no rows"; exit 1; }

awk -v rows="$work/all" '
    /^<!-- end of rows -->$/ { inside = 0 }
    !inside { print }
    /^<!-- rows -->$/ { inside = 1; found = 1; while ((getline line < rows) > 0) print line }
    END { exit !found || inside }' README.md >"$work/README.md" ||
    { echo "FAILED: README.md has no place for rows"; exit 1; }

if [ "${1:-check}" = write ]; then
    cmp -s "$work/README.md" README.md || cp "$work/README.md" README.md
elif ! diff README.md "$work/README.md"; then
    echo "FAILED: README.md is not what doc/performance says; bench/readme.sh write mends it"
    exit 1
fi
echo "processor families in README.md: $families"
