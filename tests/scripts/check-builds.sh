#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-builds.sh - the library is built from the same sources by every build system,
# and by none at all.
#
#   lists      CMakeLists.txt and meson.build name the sources that lib/local.mk names
#   templates  every @WORD@ of a template that three builds fill in is set by all three
#   plain      each source compiles with nothing but -Iinclude, as a program that
#              has a copy of lib/ and include/ compiles it
#
# srcdir: top of the source tree.  CC: the configured compiler.

set -u
top=${srcdir:-.}
status=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

complain() {
    echo "$*"
    status=1
}

# shellcheck disable=SC1003,SC2020 # sets of characters are meant
sed 's/#.*//' "$top/lib/local.mk" | tr ' \t\\' '\n\n\n' | grep '^lib/.*\.c$' | sort > "$work/made"
[ "$(wc -l < "$work/made")" -gt 10 ] || complain 'lib/local.mk names no sources'
for build in CMakeLists.txt meson.build; do
    sed 's/#.*//' "$top/$build" | tr " \t'," '\n\n\n\n' | grep '^lib/.*\.c$' | sort > "$work/named"
    for file in $(comm -23 "$work/made" "$work/named"); do
        complain "$build: lacks $file, which lib/local.mk names: add it to the list of sources"
    done
    for file in $(comm -13 "$work/made" "$work/named"); do
        complain "$build: names $file, which lib/local.mk does not: take it off the list"
    done
done

for template in cpool.pc.in cmake/cpool-config.cmake.in cmake/cpool-config-version.cmake.in; do
    for word in $(grep -o '@[A-Za-z_]*@' "$top/$template" | tr -d @ | sort -u); do
        grep -q "'$word':" "$top/meson.build" ||
            complain "meson.build: sets no $word for $template"
        grep -q "set($word\>" "$top/CMakeLists.txt" ||
            complain "CMakeLists.txt: sets no $word for $template"
    done
done

[ "$status" -eq 0 ] || exit 1
for file in "$top"/lib/*.c; do
    # shellcheck disable=SC2086 # the compiler may have options of its own
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror -fsyntax-only -I"$top/include" "$file" ||
        { complain "$file: does not compile with -std=c11 -Iinclude alone"; break; }
done

[ "$status" -ne 0 ] || echo "$(wc -l < "$work/made") sources in three builds, and in none"
exit "$status"
