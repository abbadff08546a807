#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# orders.sh - looks in the machine code for the instructions that the library's
# memory orders need on 64-bit ARM, and shows that it would miss them.
#
#   orders.sh VARIANT SOURCE_DIR WORK
#
# VARIANT      how atomics were compiled: llsc, lse or outline (check.sh)
# SOURCE_DIR   top of the source tree
# WORK         folder for what is made
#
# Runs in the top of a tree configured for the machine, with its compiler and options.
# Each function is compiled by itself, not into its callers, so that it can be found by
# name.  orders.txt says which function needs which instruction.  Each order that has a
# mutant is then weakened, and the instruction must be gone.
#
# An emulator on x86 reorders nothing that x86 does not: it is this that speaks for
# the orders as compiled, as the models do for the orders as written.

here=$(dirname "$0")
variant=$1
source_dir=$2
work=$3
make=${MAKE:-make}
objdump=$(sed -n 's/^OBJDUMP = //p' Makefile)
rm -rf "$work"
mkdir -p "$work"

# One file of a folder, into an object.
compile() { # LIB FILE OBJECT
    $make -s --no-print-directory -f "$here/child.mk" machines-object MACHINES_LIB="$1" MACHINES_FILE="$2" \
        MACHINES_OBJECT="$3"
}

# The form of a need in assembly.
pattern() {
    case $1-$variant in
    load-acquire-*) echo '[[:space:]](ldar|ldapr)[bh]?[[:space:]]' ;;
    store-release-*) echo '[[:space:]]stlr[bh]?[[:space:]]' ;;
    change-acquire-llsc) echo '[[:space:]]ldaxr[[:space:]]' ;;
    change-release-llsc) echo '[[:space:]]stlxr[[:space:]]' ;;
    change-acquire-lse) echo '[[:space:]](cas|swp|ldadd)al?[[:space:]]' ;;
    change-release-lse) echo '[[:space:]](cas|swp|ldadd)a?l[[:space:]]' ;;
    change-acquire-outline) echo '<__aarch64_(cas|swp|ldadd)[48]_acq(_rel)?>' ;;
    change-release-outline) echo '<__aarch64_(cas|swp|ldadd)[48](_acq)?_rel>' ;;
    *)
        echo "orders.sh: no such need: $1 ($variant)" >&2
        exit 2
        ;;
    esac
}

# holds OBJECT FUNCTION NEED - each copy of the function has the instruction.  The
# compiler may have made several, with a suffix to the name.
holds() {
    "$objdump" -dr --no-show-raw-insn "$1" | awk -v name="$2" -v want="$(pattern "$3")" '
        /^[0-9a-f]+ <.*>:$/ {
            there = $2 == "<" name ">:" || index($2, "<" name ".") == 1
            copies += there
            met = 0
        }
        there && !met && ($0 ~ want) { met = 1; found++ }
        END { exit !(copies > 0 && found == copies) }'
}

# For calls, objdump shows the symbol in the line of the relocation.
row() { # FILE FUNCTION NEED TAG MUTANT
    object=$work/${1%.c}.o
    [ -f "$object" ] || compile "$source_dir/lib" "$1" "$object" || return 1
    if ! holds "$object" "$2" "$3"; then
        echo "MISSING: $1: $2 has no $3 for [$4] ($(pattern "$3"))"
        return 1
    fi
    if [ "$5" = - ]; then
        echo "there: $2: $3 for [$4]"
        return 0
    fi
    sh "$source_dir/tests/planted/plant.sh" "$source_dir/lib" "$work/$5" "$5" &&
        compile "$work/$5" "$1" "$work/$5.o" || return 1
    if holds "$work/$5.o" "$2" "$3"; then
        echo "NOT NOTICED: $5: $2 still has a $3"
        return 1
    fi
    echo "there: $2: $3 for [$4]; missed with $5"
}

failed=0
rows=$(sed -n 's/^\([a-z_]*\.c\) *| *\([a-z_]*\) *| *\([a-z-]*\) *| *\([a-z]*\) *| *\([a-z-]*\)$/\1 \2 \3 \4 \5/p' \
    "$here/orders.txt")
while read -r file function need tag mutant; do
    row "$file" "$function" "$need" "$tag" "$mutant" </dev/null || failed=$((failed + 1))
done <<EOF
$rows
EOF
count=$(printf '%s\n' "$rows" | wc -l)
if [ "$failed" -ne 0 ]; then
    echo "orders, $variant: $failed of $count are not as they must be"
    exit 1
fi
echo "orders, $variant: all $count are in the machine code"
