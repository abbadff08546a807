#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-budgets.sh - measures the size and the shape of the library, and holds each figure
# against a bound.
#
# The kernel is the first five folders of lib/README.md, and the others are features.  Calls
# are those that the linker sees: an undefined name in one object of the library that another
# object defines.
#
# The list of features (lib/features/list.c) is the seam between the two: the kernel reads its
# one table.  That is no call, nor part of a circle.
#
# A bound is what has been reached, so that no figure grows unseen.  The aim is the figure at
# which the bound is to arrive.
#
#   check-budgets.sh [-l]    -l lists the calls, the circles and the files behind the figures
#
# srcdir: top of the source tree.  NM, CC: the configured ones.

set -u
top=$(cd "${srcdir:-.}" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
lib=$top/lib
kernel='base host store cache pool'
impl=$lib/pool/pool_impl.h
failed=0

is_kernel() {
    case " $kernel " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

features=
for folder in "$lib"/*/; do
    folder=$(basename "$folder")
    is_kernel "$folder" || features="$features $folder"
done

# row NAME FIGURE BOUND AIM
row() {
    verdict=
    [ "$2" -le "$3" ] || { verdict='  ABOVE ITS BOUND' failed=1; }
    printf '%-58s %7s %7s %7s%s\n' "$1" "$2" "$3" "$4" "$verdict"
}

# struct_pool - the lines of struct cpi_pool, without comments.
struct_pool() {
    sed -n '/^struct cpi_pool {/,/^};/p' "$impl" | sed 's|/\*.*\*/||; /\/\*/,/\*\//d'
}

# --- The graph of calls, between objects, which has the same circles with and without optimisation ---

# Those of this tree's library, where it is the one of these sources and has no assertions.
plain=$(sed -n 's/^\(DEBUG_CPPFLAGS\|SANITIZER_CFLAGS\) = *//p' Makefile 2> /dev/null)
for source in "$lib"/*/*.c; do
    name=${source##*/} folder=${source%/*}
    name=${name%.c} folder=lib/${folder##*/}
    for built in "$folder/libcpool_internal_la-$name.o" "$folder/.libs/libcpool_internal_la-$name.o"; do
        [ -z "$plain" ] && [ "$built" -nt "$source" ] && ln -sf "$(pwd)/$built" "$work/$name.o"
    done
    [ -e "$work/$name.o" ] || echo "$source"
done > "$work/sources"
(cd "$work" && xargs -r -P 2 -n 20 ${CC:-cc} -std=c11 -D_GNU_SOURCE \
    -O0 -I"$top/include" -I"$lib" -c < sources) || exit 1
# Each object's names, behind a line with its own.
for source in "$lib"/*/*.c; do
    echo "is ${source##*/} ${source#"$lib/"}"
done > "$work/places"
(cd "$work" && ${NM:-nm} ./*.o) | awk '
    NR == FNR { sub(/\.c$/, "", $2); sub(/\.c$/, "", $3); from[$2] = $3; next }
    /^\.\/.*\.o:$/ { name = substr($0, 3, length($0) - 5) }
    NF == 2 && $1 == "U" { print "uses", from[name], $2 }
    NF == 3 && $2 ~ /[TDBRV]/ { print "has", from[name], $3 }
' "$work/places" - > "$work/names"
awk '$1 == "has" { owner[$3] = $2 }
    $1 == "uses" { uses[++n] = $2 " " $3 }
    END {
        for (i = 1; i <= n; i++) {
            split(uses[i], pair, " ")
            if (pair[2] in owner && owner[pair[2]] != pair[1] && owner[pair[2]] != "features/list")
                print pair[1], owner[pair[2]], pair[2]
        }
    }' "$work/names" | sort -u > "$work/calls"
[ "$(wc -l < "$work/calls")" -gt 100 ] || { echo 'hardly any call is seen'; exit 1; }

# Names that the kernel takes from a feature.
awk -v kernel="$kernel" '
    BEGIN { n = split(kernel, names, " "); for (i = 1; i <= n; i++) is_kernel[names[i]] = 1 }
    { split($1, from, "/"); split($2, to, "/")
      if (from[1] in is_kernel && !(to[1] in is_kernel)) print $1 " -> " $2 ": " $3 }
    ' "$work/calls" > "$work/up"

# Objects that can reach themselves, and the largest set that reach each other.
awk '{ if (!($1 in at)) { at[$1] = ++n; name[n] = $1 }
       if (!($2 in at)) { at[$2] = ++n; name[n] = $2 }
       reach[at[$1], at[$2]] = 1 }
    END {
        for (k = 1; k <= n; k++)
            for (i = 1; i <= n; i++)
                if ((i, k) in reach)
                    for (j = 1; j <= n; j++)
                        if ((k, j) in reach) reach[i, j] = 1
        for (i = 1; i <= n; i++) {
            if (!((i, i) in reach)) continue
            inside++
            size = 0
            for (j = 1; j <= n; j++)
                if ((i, j) in reach && (j, i) in reach) size++
            if (size > largest) largest = size
            line = ""
            for (j = 1; j <= n; j++)
                if ((i, j) in reach && (j, i) in reach) line = line " " name[j]
            circles[line] = 1
        }
        print inside + 0, largest + 0
        for (line in circles) print line
    }' "$work/calls" > "$work/circles"
read -r in_circles largest < "$work/circles"

# --- Words about a feature beside its own folder ---

# The code of each file, without comments and strings.  The last four folders use pools as
# programs do, and may have settings for any feature.
for folder in "$lib"/*/; do
    folder=$(basename "$folder")
    case $folder in object | priority | lanes | sized) continue ;; esac
    mkdir -p "$work/code/$folder"
    cp "$lib/$folder"/*.[ch] "$work/code/$folder"
done
sed -i -e 's|/\*.*\*/||' -e '/\/\*/,/\*\//d' -e 's/"[^"]*"//g' "$work"/code/*/*

# mentions WORD FOLDER - the files of lib/ beside that folder that have the word in code.
mentions() {
    (cd "$work/code" && grep -li "$1" ./*/*.[ch] | grep -v "^\./$2/")
}

most=0
for pair in 'waiter\|waitable:wait' slotmap:track guard:check quarantine:check lease:lease fallback:fallback \
    priority:priority sized:sized; do
    mentions "\(^\|[^e]\)${pair%:*}" "${pair#*:}" > "$work/mentions"
    n=$(wc -l < "$work/mentions")
    [ "$n" -le "$most" ] || { most=$n word=${pair%:*}; cp "$work/mentions" "$work/most"; }
done

# --- The table ---

lines() { cat "$@" | wc -l; }
kernel_files=$(for folder in $kernel; do echo "$lib/$folder"/*.[ch]; done)
printf '%-58s %7s %7s %7s\n' 'measured' 'is' 'bound' 'aim'
members=$(struct_pool | grep -c ';')
booleans=$(struct_pool | grep -cw bool)
includers=$(grep -l 'include "pool/pool_impl.h"' "$lib"/*/*.[ch] | wc -l)
functions=$(sed 's|/\*.*\*/||; /\/\*/,/\*\//d' "$impl" | grep -c '^[a-z].*[a-z_]([^;]*[,;{]$\|^[a-z].*[a-z_](.*)$')
# Files that name nearly all of those in lib/.
names=$(cd "$lib" && ls -- */*.[ch] | wc -l)
places=0
for path in "$top"/*.* "$lib"/*.* "$top"/doc/*.md "$top"/tests/scripts/*.sh "$top"/debian/*; do
    [ -f "$path" ] || continue
    named=$(grep -o '[a-z]*/[a-z_]*\.[ch]\>' "$path" | sort -u | grep -c .)
    [ "$named" -lt $((names * 9 / 10)) ] || places=$((places + 1))
done
# Modes that are asked for in code where a slot leaves the inline path.
questions=$(for word in shown shows_typed way gate checked exact bounded tells waitable tracked fills grows \
    fallback quarantine leases tools flags; do
    for file in pool_slow.c pool_alloc.h pool_alloc.c pool_shown.c pool_exact.c; do
        cat "$lib/pool/$file"
    done | sed -e 's|/\*.*\*/||' -e '/\/\*/,/\*\//d' |
        grep -q -- "->$word\>\|\.$word\>" && echo "$word"
done | wc -l)
row 'questions about a mode on the way of a slot out of line' "$questions" 8 3
row 'struct cpi_pool: members' "$members" 27 18
row 'struct cpi_pool: booleans' "$booleans" 5 3
row 'pool_impl.h: lines' "$(lines "$impl")" 145 200
row 'pool_impl.h: functions' "$functions" 7 25
row 'pool_impl.h: files that include it' "$includers" 10 15
row 'calls from the kernel up into a feature' "$(wc -l < "$work/up")" 0 0
row 'objects in circles of calls' "$in_circles" 4 10
row 'objects in the largest circle' "$largest" 2 4
row "files that mention a feature beside its folder ($word)" "$most" 5 2
# A second system takes its own functions, and names that both have.
windows=$(lines "$lib"/host/os_windows.[ch] "$lib/host/sync.h")
row 'lines of lib/ without os_windows and sync.h' "$(($(lines "$lib"/*/*.[ch]) - windows))" 25530 17000
row 'lines of host/os_windows.[ch] and sync.h' "$windows" 628 500
# shellcheck disable=SC2086 # several files
row 'lines of the kernel without them' "$(($(lines $kernel_files) - windows))" 13133 10000
row 'exported functions' "$(grep -c '^ *cpool_[a-z_0-9]*;' "$lib/libcpool.map")" 137 105
row 'flags of a pool' "$(grep -c '^#define CPOOL_[A-Z]* 0x' "$top/include/cpool/create.h")" 4 7
row 'places that name each file of lib/' "$places" 2 3
if [ "$failed" -ne 0 ] || [ "${1:-}" = -l ]; then
    echo 'calls up:'
    cat "$work/up"
    echo 'circles:'
    sed 1d "$work/circles"
    echo "files that mention $word:"
    cat "$work/most"
fi
exit "$failed"
