#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# plant.sh - copies the library's sources, those of lib/ and ext/ into one folder, and plants
# a bug of list.txt in the copy.
#
#   plant.sh LIB COPY NAME
#   plant.sh --check LIB       holds every edit against the sources
#
# A file that is not in the library's folders is a public header.  Its copy comes before the
# header itself where <cpool.h> looks for it, in the models.
#
# Fails, and says so, unless the list has the bug and each of its edits changes exactly one
# line of the file: an edit that no longer applies proves nothing.

list=${PLANTED_LIST:-$(dirname "$0")/list.txt}

# edited FILE NAME EDIT - the file's text with the edit, in $work/edited.
edited() {
    path=$1
    name=$2
    edit=$3
    next=
    case $edit in *' ;; '*) next=${edit#* ;; } edit=${edit%% ;; *} ;; esac
    sed -e "$edit" "$path" >"$work/next" || return
    changed=$(diff "$path" "$work/next" | grep -c '^<')
    if [ "$changed" -ne 1 ]; then
        echo "plant.sh: the edit of $name changes $changed lines of ${path##*/}, not one" >&2
        return 1
    fi
    mv "$work/next" "$work/edited"
    [ -z "$next" ] || edited "$work/edited" "$name" "$next"
}

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

if [ "$1" = --check ]; then
    failed=0
    count=0
    while IFS='|' read -r name file _ edit; do
        case $name in '' | '#'*) continue ;; esac
        count=$((count + 1))
        # shellcheck disable=SC2086 # without the blanks around it
        path=$(ls "$2"/*/$(echo $file) "$2"/../ext/*/$(echo $file) 2> /dev/null)
        # shellcheck disable=SC2086
        [ -f "$path" ] || path=$2/../include/cpool/$(echo $file)
        # shellcheck disable=SC2086
        edited "$path" $name "${edit# }" || failed=1
    done <"$list"
    echo "$count edits"
    exit $failed
fi

lib=$1
copy=$2
line=$(grep "^$3 *|" "$list") || {
    echo "plant.sh: no bug is named $3" >&2
    exit 1
}
file=$(printf '%s\n' "$line" | cut -d '|' -f 2 | tr -d ' ')
edit=$(printf '%s\n' "$line" | cut -d '|' -f 4- | sed 's/^ *//')
mkdir -p "$copy" && cp -R "$lib"/*/ "$lib"/../ext/*/ "$lib"/../ext/*.h "$copy" && chmod -R u+w "$copy" || exit 1
[ -f "$(echo "$copy"/*/"$file")" ] || cp -R "$lib/../include/cpool" "$copy" || exit 1
target=$(echo "$copy"/*/"$file")
edited "$target" "$3" "$edit" && mv "$work/edited" "$target"
