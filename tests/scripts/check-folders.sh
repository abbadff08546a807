#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-folders.sh - holds the order of the folders in lib/README.md against the #include
# lines.
#
# A file includes headers of its own folder and of those that stand before it, by
# "folder/name.h", and public headers.  A folder of ext/ is a library over the public headers, and
# may include its own alone.  The name of an operating system is asked for in host/ alone.

. "${srcdir:-.}/tests/harness/script.sh"
lib=$top/lib
ext=$top/ext

folders=$(sed -n 's/^| `\([a-z]*\)\/` .*/\1/p' "$lib/README.md")
[ "$(echo "$folders" | wc -l)" -gt 5 ] || { echo 'lib/README.md lists no folders'; exit 1; }

# may_include FOLDER OTHER
may_include() {
    [ "$1" != "$2" ] || return 0
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
for path in "$lib"/*/*.[ch] "$ext"/*/*.[ch]; do
    count=$((count + 1))
    file=${path#"$top"/*/}
    own=${file%/*}
    case $path in
    "$lib"/*) echo "$folders" | grep -qx "$own" || complain "$own/: is not in lib/README.md" ;;
    esac
    for header in $(includes_of "$path"); do
        case $path:$header in "$ext"/*:common.h) continue ;; esac # what the folders of ext/ share
        other=${header%/*}
        [ -e "$lib/$header" ] || [ -e "$ext/$header" ] ||
            { complain "$file: includes $header, by no folder's name"; continue; }
        may_include "$own" "$other" && continue
        complain "$file: includes $header, and $other/ does not stand before $own/"
    done
done
systems=$(grep -nE '^ *# *(if|elif).*(_WIN32|__linux__|__APPLE__|__unix__|__FreeBSD__|__CYGWIN__)' \
    "$lib"/*/*.[ch] "$ext"/*/*.[ch] | grep -v "^$lib/host/")
[ -z "$systems" ] || complain "an #if about an operating system is outside host/:
$systems"
for folder in $folders; do
    [ -d "$lib/$folder" ] || complain "$folder/: is in lib/README.md, but does not exist"
done
# Files that use the public interface alone include no file of lib/.
for path in "$top"/tests/public/*.[ch] "$top"/examples/*/*.[ch] \
    "$top"/stress/*.[ch]; do
    for header in $(includes_of "$path"); do
        case $header in
        ../*) ;;
        *) [ ! -e "$lib/$header" ] || complain "$path: includes $header of lib/" ;;
        esac
    done
done

[ "$status" -ne 0 ] || echo "$count files, each in its folder"
exit "$status"
