#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-json.sh - the members that doc/JSON.md lists are those that are printed, in the
# same order, with the same types.
#
# srcdir: top of the source tree.  CC: the configured compiler.  Run in the top of the
# build tree.

set -u
top=${srcdir:-.}
status=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH="lib/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

library=lib/.libs/libcpool.so
[ -e "$library" ] || library=lib/.libs/libcpool.a
[ -e "$library" ] || { echo 'skipped: there is no library to link'; exit 77; }
! nm "$library" 2> /dev/null | grep -q '__[amt]san_init' || {
    echo 'skipped: the library is built for a sanitizer'
    exit 77
}

cat > "$work/print.c" << 'END'
#include <cpool/pools.h>
int main(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *pool;
    config.name = "a";
    config.slot_size = 8;
    config.capacity = 100;
    if (cpool_create(&pool, &config) != 0)
        return 1;
    cpool_print(NULL, CPOOL_DUMP_JSON, stdout);
    return 0;
}
END
# shellcheck disable=SC2086 # the compiler may have options of its own
${CC:-cc} -std=c11 -I"$top/include" "$work/print.c" "$library" -pthread -o "$work/print" || exit 1
"$work/print" > "$work/json" || exit 1

# Name and type of each member, in order.
sed -e 's/\([[{,]\)"\([a-z_]*\)":/\n\1 \2 /g' "$work/json" |
    awk 'NF > 1 {
        type = "none"
        if ($3 ~ /^"/) type = "string"
        if ($3 ~ /^(true|false)/) type = "boolean"
        if ($3 ~ /^\[/) type = "array"
        if ($3 ~ /^[0-9]/) type = "number"
        print $2, type
    }' > "$work/printed"

# rows HEADING - the rows of the first table below a heading.
rows() {
    awk -v heading="$1" '
        $0 == heading { on = 1 }
        on && /^\| `/ { gsub(/[`|]/, " "); print $1, $2; seen = 1; next }
        on && seen && !/^\|/ { exit }' "$top/doc/JSON.md"
}
{
    rows '# JSON'
    rows '## A pool'
} > "$work/listed"

if ! diff "$work/listed" "$work/printed" > "$work/difference"; then
    echo 'differences, < doc/JSON.md, > printed:'
    grep '^[<>]' "$work/difference"
    status=1
fi
[ "$(wc -l < "$work/printed")" -gt 30 ] || { echo 'hardly anything is printed'; status=1; }
[ "$status" -ne 0 ] || echo "$(wc -l < "$work/printed") members"
exit "$status"
