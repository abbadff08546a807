#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-exports.sh - the exported symbols are the same three times: those that
# the public headers mark with CPOOL_API, those that lib/libcpool.map lists, and
# those that the shared library shows.  The tag of each public structure is the name of its
# type without _t, or with it if a function or the C++ namespace has that name.
#
# srcdir: top of the source tree.  NM: the configured nm.  Run in the top of the
# build tree.

set -u
top=${srcdir:-.}
status=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# The declared name: the one before the first parenthesis after CPOOL_API, or,
# of a variable, the last of the line.
cat "$top"/include/*.h "$top"/include/cpool/*.h |
    sed -n -e '/^ *#/d' -e 's/.*CPOOL_API//p' |
    sed -e 's/(.*//' -e 's/[ ;]*$//' -e 's/.*[^A-Za-z0-9_]//' | sort -u > "$work/headers"

sed -e 's/#.*//' -e '1,/global:/d' -e '/local:/,$d' "$top/lib/libcpool.map" |
    tr -d ' \t' | tr ';' '\n' | grep . | sort > "$work/map"

[ -s "$work/headers" ] || { echo 'no declaration found in the headers'; exit 1; }

# compare NAME NAME - the two lists.
compare() {
    if ! diff "$work/$1" "$work/$2" > "$work/difference"; then
        echo "differences, < $1, > $2:"
        grep '^[<>]' "$work/difference"
        status=1
    fi
}

uniq -d "$work/map" > "$work/twice"
[ ! -s "$work/twice" ] || { echo "twice in the map:" "$(cat "$work/twice")"; status=1; }
compare headers map

# Lines "tag type", and the tag that the rule above gives.
cat "$top"/include/*.h "$top"/include/cpool/*.h |
    awk '/^typedef struct [a-z_]+ [a-z_]+;/ { sub(/;/, ""); print $3, $4 }
        /^typedef struct [a-z_]+ \{/ { tag = $3 }
        /^\} [a-z_]+;/ && tag != "" { sub(/;/, ""); print tag, $2; tag = "" }' > "$work/types"
[ "$(wc -l < "$work/types")" -gt 15 ] || { echo 'hardly a type found in the headers'; status=1; }
while read -r tag type; do
    want=${type%_t}
    ! { grep -qx "$want" "$work/headers" || [ "$want" = cpool ]; } || want=$type
    [ "$tag" = "$want" ] || { echo "struct $tag is $type, and not struct $want"; status=1; }
done < "$work/types"

library=lib/.libs/libcpool.so
if [ -e "$library" ]; then
    # Without versions, and without what compilers and linkers add.
    ${NM:-nm} -D --defined-only "$library" | sed -e 's/.* //' -e 's/@.*//' |
        grep -v -e '^_' -e '^LIBCPOOL_' | sort > "$work/library"
    compare map library
else
    echo 'left out: there is no shared library to compare with'
fi

[ "$status" -ne 0 ] || echo "$(wc -l < "$work/headers") symbols"
exit "$status"
