#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-ceilings.sh - holds the size of the tree against ceilings.  A change that does not fit
# is taken apart or makes room elsewhere: a ceiling is lowered when a change makes room, and not
# raised.  check-text.sh has the ceiling of a program's text.
#
# srcdir: top of the source tree.

set -u
cd "${srcdir:-.}" || exit 1
status=0

# ceiling NAME FIGURE MOST
ceiling() {
    verdict=
    [ "$2" -le "$3" ] || { verdict='  ABOVE ITS CEILING' status=1; }
    printf '%-48s %7s of %7s%s\n' "$1" "$2" "$3" "$verdict"
}

# A second system takes a file of its own, and a header for what both systems have.
windows=$(cat lib/host/os_windows.[ch] lib/host/sync.h | wc -l)
ceiling 'lines of lib/ without Windows' $(($(cat lib/*/*.[ch] ext/*/*.[ch] | wc -l) - windows)) 21500
# What a build in the source tree leaves there has other names.
ceiling 'lines of tests/' "$(find tests -type f \( -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.sh' -o \
    -name '*.txt' -o -name '*.mk' \) -exec cat {} + | wc -l)" 68000
ceiling 'exported functions' "$(grep -c '^ *cpool_[a-z_0-9]*;' lib/libcpool.map)" 125
# A member of a structure that is a pointer to a function: "    int (*name)(...)".
ceiling 'pointers to functions in structures of lib/' \
    "$(cat lib/*/*.[ch] ext/*/*.[ch] | grep -c '^    [a-z_ ]*[ *](\*[a-z_]*)(')" 29
exit "$status"
