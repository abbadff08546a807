#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# plant.sh - copies the library's sources and plants one mutant in the copy.
#
#   plant.sh LIB COPY NAME
#
# Fails, and says so, unless mutants.txt has the mutant and its edit changes
# exactly one line of the file: an edit that no longer applies proves nothing.

lib=$1
copy=$2
name=$3

line=$(grep "^$name *|" "$(dirname "$0")/mutants.txt") || {
    echo "plant.sh: no mutant named $name" >&2
    exit 1
}
file=$(printf '%s\n' "$line" | cut -d '|' -f 2 | tr -d ' ')
edit=$(printf '%s\n' "$line" | cut -d '|' -f 4-)

mkdir -p "$copy" && cp "$lib"/*.[ch] "$copy" || exit 1
rm -f "$copy/$file" # a copy of a read-only source is one, too
sed -e "$edit" "$lib/$file" >"$copy/$file" || exit 1
changed=$(diff "$lib/$file" "$copy/$file" | grep -c '^<')
if [ "$changed" -ne 1 ]; then
    echo "plant.sh: the edit of $name changes $changed lines of $file, not one" >&2
    exit 1
fi
