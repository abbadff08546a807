#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-folders.sh - holds the order of the folders in lib/README.md against the #include
# lines.
#
# A file includes headers of its own folder and of those that stand before it, by
# "folder/name.h", and public headers.  The last four folders use pools by the public
# interface: of the others they include base/, host/, pool/layer.h and frame/frame.h alone,
# and priority/ includes object/.
#
# srcdir: top of the source tree.

set -u
lib=${srcdir:-.}/lib
status=0

complain() {
    echo "$*"
    status=1
}

folders=$(sed -n 's/^| `\([a-z]*\)\/` .*/\1/p' "$lib/README.md")
[ "$(echo "$folders" | wc -l)" -gt 5 ] || { echo 'lib/README.md lists no folders'; exit 1; }

# may_include FOLDER OTHER HEADER
may_include() {
    case $1:$2 in
    object:object | priority:priority | priority:object | lanes:lanes | sized:sized) return 0 ;;
    object:* | priority:* | lanes:* | sized:*)
        case $3 in base/* | host/* | pool/layer.h | frame/frame.h) return 0 ;; *) return 1 ;; esac ;;
    esac
    for folder in $folders; do
        [ "$folder" != "$2" ] || return 0
        [ "$folder" != "$1" ] || return 1
    done
    return 1
}

# The files that a file includes in quotes, one a line.
includes_of() {
    sed -n 's/^[ \t]*#[ \t]*include[ \t]*"\([^"]*\)".*/\1/p' "$1"
}

count=0
for path in "$lib"/*/*.[ch]; do
    count=$((count + 1))
    file=${path#"$lib/"}
    own=${file%/*}
    echo "$folders" | grep -qx "$own" || complain "$own/: is not in lib/README.md"
    for header in $(includes_of "$path"); do
        other=${header%/*}
        [ -e "$lib/$header" ] || { complain "$file: includes $header, by no folder's name"; continue; }
        may_include "$own" "$other" "$header" && continue
        complain "$file: includes $header, and $other/ does not stand before $own/"
    done
done
for folder in $folders; do
    [ -d "$lib/$folder" ] || complain "$folder/: is in lib/README.md, but does not exist"
done
# Files that use the public interface alone include no file of lib/.
for path in "${srcdir:-.}"/tests/public/*.[ch] "${srcdir:-.}"/examples/*/*.[ch] \
    "${srcdir:-.}"/stress/*.[ch]; do
    for header in $(includes_of "$path"); do
        case $header in
        ../*) ;;
        *) [ ! -e "$lib/$header" ] || complain "$path: includes $header of lib/" ;;
        esac
    done
done

[ "$status" -ne 0 ] || echo "$count files, each in its folder"
exit "$status"
