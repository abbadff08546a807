#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# instructions.sh - counts the instructions of the hot path and reads its code.
#
#   instructions.sh show [OPERATIONS]    print the table
#   instructions.sh check [OPERATIONS]   and fail when a count grew, or when the
#                                        inline path holds what it must not.  With
#                                        CPOOL_TEST_QUICK a quarter of the operations
#   instructions.sh bless [OPERATIONS]   and make these counts the golden ones
#
# Needs valgrind, and objdump for the code.  Without them `check` ends with
# status 77, which make check shows as skipped.  The golden counts hold for one
# architecture, compiler and optimisation each.  For another one it is skipped
# too.
#
# Environment: PROGRAM (bench/instructions), GOLDEN (golden-instructions.txt
# beside this script), VALGRIND, OBJDUMP, STRIP, AWK.

set -u

action=${1:-check}
operations=16000
[ -z "${CPOOL_TEST_QUICK:-}" ] || operations=4000
operations=${2:-$operations}
program=${PROGRAM:-bench/instructions}
golden=${GOLDEN:-$(dirname "$0")/golden-instructions.txt}
valgrind=${VALGRIND:-valgrind}
objdump=${OBJDUMP:-objdump}
strip=${STRIP:-strip}
awk=${AWK:-awk}

skip() {
    echo "SKIPPED: $*"
    exit 77
}

fail() {
    echo "FAILED: $*"
    exit 1
}

case $action in
show | check | bless) ;;
*) fail "unknown action $action" ;;
esac

[ -x "$program" ] || fail "$program is not built"
command -v "$valgrind" >/dev/null || skip "valgrind is not installed"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# ---- What was built: counts are comparable only with the same ---------------

"$program" >"$work/built" || fail "$program does not run"
key=$(sed -n 's/^key //p' "$work/built")
[ -n "$key" ] || fail "$program does not say what it was built with"
case $key in
*instrumented*) skip "instructions of an instrumented build mean nothing" ;;
esac
level=-O0
others=
for flag in $(sed -n 's/^flags //p' "$work/built"); do
    case $flag in
    -fsanitize* | --coverage | -fprofile*) skip "built with $flag" ;;
    -O*) level=$flag ;;
    -f* | -m*) others=$others$flag ;;
    esac
done
key="$key $level$others"

# An old valgrind cannot read the debugging information of a young compiler (3.19
# not that of clang 14), and needs none: then copies without it are counted.
measured=$program
preload=
works() {
    LD_PRELOAD=$preload "$valgrind" -q --tool=none "$measured" >/dev/null 2>&1
}
if ! works; then
    command -v "$strip" >/dev/null ||
        skip "$("$valgrind" --version) cannot run what this compiler made, and there is no strip"
    library=$(ldd "$program" | sed -n 's/.*libcpool[^ ]* => \([^ ]*\) .*/\1/p')
    measured=$work/instructions
    "$strip" -g -o "$measured" "$program" || fail "$strip could not copy $program"
    if [ -n "$library" ]; then
        preload=$work/libcpool.so
        "$strip" -g -o "$preload" "$library" || fail "$strip could not copy $library"
    fi
    works || skip "$("$valgrind" --version) cannot run what this compiler made (try -gdwarf-4)"
fi

# ---- Counting -----------------------------------------------------------------

# What a compiler puts apart of a function, *_measured.cold, must not toggle as well.
LD_PRELOAD=$preload "$valgrind" --tool=callgrind --callgrind-out-file="$work/part" --collect-atstart=no \
    --toggle-collect='*_measured' --dump-before=instructions_mark \
    "$measured" "$operations" >"$work/output" 2>"$work/errors" || {
    cat "$work/errors"
    fail "valgrind could not run $program"
}

# part.1 is what came before the first mark, part.2 the first part, and so on.
# In each, lines after "fn=" with a number of instructions belong to that
# function, and "calls=" tells of a call made by it.
sed -n 's/^part //p' "$work/output" >"$work/parts"
number=1
while read -r path count; do
    number=$((number + 1))
    "$awk" -v path="$path" -v count="$count" '
        /^totals:/ { total = $2 }
        /^fn=/ { inside = /_measured/ ? 1 : 0
                 if (match($0, /\([0-9]+\)/)) {
                     id = substr($0, RSTART, RLENGTH)
                     if (inside) ours[id] = 1
                     else if ($0 == "fn=" id && id in ours) inside = 1
                 } }
        /^calls=/ { split($1, made, "="); if (inside) calls += made[2] }
        END { print path, count, total, calls + 0 }' "$work/part.$number"
done <"$work/parts" >"$work/counts"

# From N and 2N operations to one: the difference over N.  A loop is compared
# with the same loop around nothing.  The return from a function is not counted.
"$awk" '
    !($1 in first) { first[$1] = $3; operations[$1] = $2; order[++n] = $1; next }
    { each[$1] = ($3 - first[$1]) / operations[$1]; calls[$1] = $4 }
    END {
        for (i = 1; i <= n; i++) {
            path = order[i]
            if (path ~ /^empty-/) continue
            value = each[path]
            if (match(path, /-loop-/))
                value -= each["empty" substr(path, RSTART)]
            else
                value -= 1
            # An exchange every so many operations makes a fraction: rounded up.
            whole = int(value + 0.999)
            printf "%s %d %d\n", path, whole, calls[path]
        }
    }' "$work/counts" >"$work/table"

# ---- The table ------------------------------------------------------------------

echo "Instructions per operation ($key, $operations operations)"
echo
"$awk" '
    BEGIN { text["inline"] = "inline, implicit cache"; text["cache"] = "inline, explicit cache"
            text["typed"] = "typed, 64 bytes"; text["uneven"] = "typed, 48 bytes"
            text["outline"] = "through the symbols"
            text["tracked"] = "a tracked pool"; text["typed-tracked"] = "tracked, typed"
            text["checked"] = "a checked pool"; text["frame"] = "in a frame; 16 and a reset"
            text["dry"] = "a dry pool"
            text["object"] = "an object, no hooks"; text["typed-object"] = "object, typed"
            text["hooked-object"] = "an object, two hooks"; text["sized"] = "a block of many sizes"
            text["small"] = "made, one pair, unmade"
            text["section"] = "a read section"; text["retire"] = "a retired slot" }
    { row = $1; sub(/-[a-z]*$/, "", row); what = substr($1, length(row) + 2)
      value[row, what] = $2; calls[row] += $3
      if (!(row in seen)) { seen[row] = 1; rows[++n] = row } }
    END {
        printf "  %-24s %-22s %6s %6s %6s\n", "", "", "alloc", "free", "pair"
        for (i = 1; i <= n; i++) {
            alone = rows[i] !~ /-loop/
            name = rows[i]; sub(/-loop/, "", name)
            pair = value[rows[i], "alloc"] + value[rows[i], "free"]
            if ((rows[i], "pair") in value)
                pair = value[rows[i], "pair"]
            printf "  %-24s %-22s %6s %6s %6s\n", text[name],
                alone ? "a function of its own" : "inlined into a loop",
                value[rows[i], "alloc"], value[rows[i], "free"], pair
        }
    }' "$work/table"
echo

# ---- What the inline path must not hold -------------------------------------------

verdict=0

"$awk" '$1 ~ /^(inline|cache)/ && $3 > 0 { print "FAILED: " $1 " made " $3 " calls"; bad = 1 }
        END { exit bad }' "$work/table" || verdict=1

if command -v "$objdump" >/dev/null; then
    "$objdump" -d --no-show-raw-insn "$program" | "$awk" '
        # Functions that hold the inline path, to their end.
        /^[0-9a-f]+ <((inline|cache|typed|uneven)_.*|section)_measured(.cold)?>/ { name = $2; functions++ }
        /^$/ { name = "" }
        name == "" || !/^ *[0-9a-f]+:/ { next }
        { instruction = $0; sub(/^ *[0-9a-f]+:[ \t]*/, "", instruction) }
        instruction ~ /^lock|^[mls]fence|^xchg .*\(|^cmpxchg|^cpuid/ ||
        instruction ~ /^d[ms]b|^isb|^ld[a]?xr|^st[l]?xr|^cas|^swp|^ld(add|clr|set|eor)/ {
            print "FAILED: " name " has a locked instruction or a fence: " instruction; bad = 1 }
        # A call may only lead to the slow half.  Jumps within the function stay.
        instruction ~ /^(call|bl |bl\t)/ && instruction !~ /<(cpool_[a-z_]*_abi[0-9]|[a-z]*_(alloc|free)_slow_>)/ {
            print "FAILED: " name " has a call: " instruction; bad = 1 }
        END { if (functions < 10) { print "FAILED: the functions were not found"; bad = 1 }
              if (!bad) print "The inline path has no locked instruction, no fence and no call."
              exit bad }' || verdict=1
else
    echo "objdump is not installed: the code was not looked at."
fi

# ---- The golden counts --------------------------------------------------------------

case $action in
show) exit $verdict ;;
bless)
    [ $verdict -eq 0 ] || exit 1
    { if [ -f "$golden" ]; then grep -v "^$key " "$golden"; else
        echo "# Instructions per operation: architecture compiler optimisation path count."
        echo "# Made by \`make bless-instructions\`; held by \`make check\`."
      fi
      "$awk" -v key="$key" '{ print key, $1, $2 }' "$work/table"; } >"$work/golden"
    cp "$work/golden" "$golden" && echo "These are the golden counts of $key now."
    exit
    ;;
esac

[ $verdict -eq 0 ] || exit 1
grep -q "^$key " "$golden" 2>/dev/null ||
    skip "there are no golden counts for $key (make bless-instructions makes them)"
"$awk" -v key="$key" '
    NR == FNR { if (index($0, key " ") == 1) golden[$(NF - 1)] = $NF; next }
    !($1 in golden) { print "FAILED: no golden count for " $1; bad = 1; next }
    $2 > golden[$1] { printf "FAILED: %s takes %g instructions, was %g\n", $1, $2, golden[$1]
                      bad = 1 }
    $2 < golden[$1] { printf "%s takes %g instructions, was %g: better\n", $1, $2, golden[$1]
                      better = 1 }
    END {
        if (bad) print "If that is meant, `make bless-instructions` accepts it, to be committed " \
                       "with the reason."
        else if (better) print "`make bless-instructions` makes sure that it stays so."
        else print "All counts are the golden ones."
        exit bad
    }' "$golden" "$work/table"
