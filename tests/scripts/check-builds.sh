#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-builds.sh - the library is built from the same sources by every build system,
# and by none at all.
#
#   list       lib/sources.mk, which all three read, names the files that there are
#   versions   the release of include/cpool/version.h and the library version of configure.ac
#              are those of NEWS and of Debian's packages, and no build has others
#   templates  every @WORD@ of a template that three builds fill in is set by all three, and a
#              static library has the same libraries behind it by pkg-config and find_package
#   plain      each source compiles with nothing but -Iinclude -Ilib, as a program that
#              has a copy of lib/ and include/ compiles it

. "${srcdir:-.}/tests/harness/script.sh"

# shellcheck disable=SC1003,SC2020 # sets of characters are meant
sed 's/#.*//' "$top/lib/sources.mk" | tr ' \t\\' '\n\n\n' | grep '^\(lib\|ext\)/.*\.[ch]$' | sort > "$work/made"
[ "$(wc -l < "$work/made")" -gt 10 ] || complain 'lib/sources.mk names no sources'
(cd "$top" && ls lib/*/*.[ch] ext/*.h ext/*/*.[ch]) | sort > "$work/there"
for file in $(comm -23 "$work/made" "$work/there"); do
    complain "lib/sources.mk: names $file, which is not there"
done
for file in $(comm -13 "$work/made" "$work/there"); do
    complain "lib/sources.mk: lacks $file"
done
for build in lib/local.mk CMakeLists.txt meson.build; do
    grep -q 'lib/sources\.mk' "$top/$build" || complain "$build: does not read lib/sources.mk"
done

release=$(sed -n 's/^#define CPOOL_VERSION_[MP][A-Z]* //p' "$top/include/cpool/version.h" | paste -sd.)
library=$(sed -n 's/^m4_define(.cpool_library_version., .\([0-9:]*\).)$/\1/p' "$top/configure.ac")
case $release/$library in [0-9]*.*.[0-9]*/[0-9]*:*:[0-9]*) ;; *) complain "no versions: $release, $library" ;; esac
entry=$(grep -m 1 '^[0-9]' "$top/NEWS")
case $entry in
"$release "*", library version $library") ;;
*) complain "NEWS: begins with \"$entry\", not with $release and library version $library" ;;
esac
sed -n '/^Interface history/,$p' "$top/NEWS" | grep -q "  $library  *$release  " ||
    complain "NEWS: its interface history lacks $library of $release"
[ "$(sed -n '1s/^libcpool (\([0-9.]*\)\(-[0-9]*\)\{0,1\}).*/\1/p' "$top/debian/changelog")" = "$release" ] ||
    complain "debian/changelog: does not begin with $release"
number=$((${library%%:*} - ${library##*:}))
grep -q "^Package: libcpool$number\$" "$top/debian/control" ||
    complain "debian/control: has no package libcpool$number"
for build in configure.ac CMakeLists.txt meson.build; do
    grep -q 'cpool_library_version' "$top/$build" && grep -q 'include/cpool/version\.h' "$top/$build" ||
        complain "$build: does not read the versions"
    ! grep -n "[^0-9.]$(echo "$release" | sed 's/\./\\./g')[^0-9.]" "$top/$build" ||
        complain "$build: has the release again"
done

for template in cpool.pc.in cmake/cpool-config.cmake.in cmake/cpool-config-version.cmake.in; do
    for word in $(grep -o '@[A-Za-z_]*@' "$top/$template" | tr -d @ | sort -u); do
        grep -q "'$word':" "$top/meson.build" ||
            complain "meson.build: sets no $word for $template"
        grep -q "set($word\>" "$top/CMakeLists.txt" ||
            complain "CMakeLists.txt: sets no $word for $template"
    done
done
for word in $(sed -n 's/^Libs.private: //p' "$top/cpool.pc.in"); do
    grep -q "set(libraries .*$word" "$top/cmake/cpool-config.cmake.in" ||
        complain "cmake/cpool-config.cmake.in: lacks $word, which cpool.pc.in has"
done

[ "$status" -eq 0 ] || exit 1
for file in "$top"/lib/*/*.c "$top"/ext/*/*.c; do
    # shellcheck disable=SC2086 # the compiler may have options of its own
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror -fsyntax-only -I"$top/include" -I"$top/lib" -I"$top/ext" "$file" ||
        { complain "$file: does not compile with -std=c11 -Iinclude -Ilib alone"; break; }
done

[ "$status" -ne 0 ] || echo "$(wc -l < "$work/made") sources in three builds, and in none"
exit "$status"
