#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-probes.sh - the static probes that cpool_pools(3) lists are those in the notes of
# the sources, compiled with them, and with as many arguments.
#
# srcdir: top of the source tree.  CC: the configured compiler.

set -u
top=${srcdir:-.}
status=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

command -v readelf > /dev/null || { echo 'skipped: there is no readelf'; exit 77; }
echo '#include <sys/sdt.h>' > "$work/probe.c"
${CC:-cc} -fsyntax-only "$work/probe.c" 2> /dev/null ||
    { echo 'skipped: there is no <sys/sdt.h>'; exit 77; }

# Those of headers are in each source that includes them.
for file in $(grep -l 'CPI_PROBE2(' "$top"/lib/*/*.c "$top"/ext/*/*.c) "$top/lib/depot/depot.c"; do
    # shellcheck disable=SC2086 # the compiler may have options of its own
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -O1 -fPIC -DCPI_PROBES=1 \
        -I"$top/include" -I"$top/lib" -I"$top/ext" -c "$file" -o "$work/object" || exit 1
    readelf -n "$work/object"
done > "$work/notes"

# Name and number of arguments of each.
awk '/Provider: libcpool$/ { on = 1 }
    on && /Name:/ { name = $2 }
    on && /Arguments:/ { print name, NF - 1; on = 0 }' "$work/notes" | sort -u > "$work/made"
sed -n 's/^    \([a-z]*\)(\([a-z]*\), \([a-z]*\))   *[a-z].*/\1 2/p' \
    "$top/doc/man/cpool_pools.txt" | sort -u > "$work/listed"

if ! diff "$work/listed" "$work/made" > "$work/difference"; then
    echo 'differences, < cpool_pools.txt, > compiled:'
    grep '^[<>]' "$work/difference"
    status=1
fi
for name in $(cut -d ' ' -f 1 "$work/made"); do
    grep -q "libcpool:$name " "$top/doc/man/cpool_pools.txt" || {
        echo "$name: the notes show no line for it"
        status=1
    }
done
[ "$(wc -l < "$work/made")" -gt 5 ] || { echo 'hardly a probe was found'; status=1; }
[ "$status" -ne 0 ] || echo "$(wc -l < "$work/made") probes"
exit "$status"
