#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-json.sh - the members and metrics that doc/JSON.md lists are those that are written, with
# their types.  The figures that it says will stay are the members of cpool_stats_t.  The metrics
# have the form that Prometheus reads.
#
# srcdir: top of the source tree.  CC: the configured compiler.  Run in the top of the
# build tree.

set -u
export LC_ALL=C
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

# Two pools, and one alone.
cat > "$work/print.c" << 'END_OF_SOURCE'
#include <cpool/print.h>
int main(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *pool;
    config.name = "a \"quoted\" {name}\\";
    config.slot_size = 8;
    config.capacity = 100;
    for (int i = 0; i < 2; i++)
        if (cpool_create(&pool, &config) != 0)
            return 1;
    cpool_print(NULL, CPOOL_DUMP_JSON, stdout);
    cpool_print(pool, CPOOL_DUMP_JSON, stdout);
    cpool_print(NULL, CPOOL_DUMP_PROMETHEUS, stdout);
    cpool_print(pool, CPOOL_DUMP_PROMETHEUS, stderr);
    return 0;
}
END_OF_SOURCE
# shellcheck disable=SC2086 # the compiler may have options of its own
${CC:-cc} -std=c11 -I"$top/include" "$work/print.c" "$library" -pthread -o "$work/print" || exit 1
"$work/print" > "$work/all" 2> "$work/metrics-of-one" || exit 1
sed -n -e "1w $work/json" -e "2w $work/json-of-one" -e "3,\$w $work/metrics" "$work/all"

# differ WHAT LISTED WRITTEN
differ() {
    diff "$2" "$3" > "$work/difference" && return
    echo "$1: differences, < doc/JSON.md, > written:"
    grep '^[<>]' "$work/difference"
    status=1
}

# rows HEADING - the rows of the table below a heading: a name, and its type or metric.
rows() {
    awk -v heading="## $1" '
        /^## / { on = $0 == heading }
        on && /^\| `/ { gsub(/[`|]/, " "); print $1, $2 }' "$top/doc/JSON.md"
}

# members FILE - the name and type of each member.
members() {
    sed -e 's/\([[{,]\)"\([a-z_]*\)":/\n\1 \2 /g' "$1" |
        awk 'NF > 1 {
            print $2, $3 ~ /^"/ ? "string" : $3 ~ /^(true|false)/ ? "boolean" : \
                $3 ~ /^\[/ ? "array" : $3 ~ /^[0-9]/ ? "number" : "none"
        }' | sort
}

{
    rows 'Figures that stay'
    rows 'Figures of the mechanism'
} > "$work/figures"
{
    rows 'Names and flags'
    sed 's/ .*/ number/' "$work/figures"
} | sort > "$work/of-one"
{
    awk '/^\*\*Metrics/ { exit } /^\| `/ { gsub(/[`|]/, " "); print $1, $2 }' "$top/doc/JSON.md"
    cat "$work/of-one" "$work/of-one"
} | sort > "$work/of-two"
members "$work/json-of-one" > "$work/written"
differ 'members of a pool' "$work/of-one" "$work/written"
members "$work/json" > "$work/written"
differ 'members of two pools' "$work/of-two" "$work/written"
[ "$(wc -l < "$work/of-one")" -gt 30 ] || { echo 'hardly anything is listed'; status=1; }

sed -n '/^typedef struct cpool_stats {/,/^}/s/^    [a-z0-9_]*t \([a-z_]*\);.*/\1/p' \
    "$top/include/cpool/info.h" | grep -vx size | sort > "$work/kept"
rows 'Figures that stay' | sed 's/ .*//' | sort > "$work/said"
differ 'figures that stay, beside cpool_stats_t' "$work/said" "$work/kept"

# A metric's type once, and then its lines; names, labels and values as Prometheus reads them.
for file in metrics metrics-of-one; do
    awk -v pools="$([ "$file" = metrics ] && echo 2 || echo 1)" '
        function wrong(what) { print "line " NR ": " what ": " $0; bad = 1 }
        function enough() {
            if (metric != "" && lines != pools) wrong(metric " has " lines " lines, before")
        }
        /^# TYPE / {
            enough()
            metric = $3
            lines = 0
            if (NF != 4 || ($4 != "gauge" && $4 != "counter")) wrong("not a type")
            if (metric !~ /^[a-z_:][a-z0-9_:]*$/) wrong("not a name")
            if (($4 == "counter") != (metric ~ /_total$/)) wrong("only a counter ends in _total")
            if (typed[metric]++) wrong("a second type")
            next
        }
        {
            lines++
            name = $0
            sub(/[{].*/, "", name)
            if (name != metric) wrong("not below its type")
            if ($0 !~ /^[a-z_]+[{]pool="[^"\\]*",number="[0-9]+",kind="[a-z]+"[}] [0-9]+$/)
                wrong("not a line")
            sub(/ [0-9]+$/, "")
            if (seen[$0]++) wrong("the same labels again")
        }
        END { enough(); exit bad }' "$work/$file" || status=1
    sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' "$work/$file" | sort > "$work/written"
    sed 's/.* //' "$work/figures" | sort > "$work/said"
    differ metrics "$work/said" "$work/written"
done
[ "$status" -ne 0 ] || echo "$(wc -l < "$work/of-one") members, $(wc -l < "$work/figures") metrics"
exit "$status"
