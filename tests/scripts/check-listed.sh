#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-listed.sh - a test that no list names would never run.  Every check_*.c in a folder of
# tests/, or in the tests/ of a folder of ext/, is built and run by the folder's local.mk.  Every script of
# tests/scripts is run too, and scripts can be executed.  A program in C without a list of
# sources has the source of its name.  tests/machines/known.txt names programs and tests that there
# are.

. "${srcdir:-.}/tests/harness/script.sh"
tests=$top/tests
count=0

# The lists, with a blank on both sides of each word.
words=" $(sed 's/#.*//' "$tests"/local.mk "$tests"/*/local.mk "$top"/ext/*/local.mk | tr '\t\\\n' '   ') "

named() {
    case $words in *" $1 "*) ;; *) false ;; esac
}

# is_source FILE - whether the file is the source of a program.
is_source() {
    named "$1" && return
    case $1 in
    *.c) ! named "$(echo "${1%.c}" | tr / _)_SOURCES" ;;
    *) false ;;
    esac
}

for path in "$tests"/*/check_*.c "$tests"/*/*/check_*.c "$tests"/*/check_*.cpp "$top"/ext/*/tests/check_*.c; do
    file=${path#"$top/"}
    count=$((count + 1))
    is_source "$file" || complain "$file: is the source of no program"
    case $file in
    tests/windows/*) ;; # run.sh there takes them all
    *) named "${file%.*}" || complain "${file%.*}: is in no list of tests" ;;
    esac
done

# A program can be started.
for path in "$top"/*/*.sh "$tests"/*/*.sh "$top"/ext/*/tests/*.sh; do
    IFS= read -r line < "$path"
    case $line in '#!'*) [ -x "$path" ] || complain "${path#"$top/"}: is not executable" ;; esac
done

for path in "$tests"/scripts/*.sh; do
    file=tests/scripts/${path##*/}
    count=$((count + 1))
    named "$file" || complain "$file: is in no list of tests"
done

awk -F ' *[|] *' '!/^#/ && NF == 5 { print $2, $3 }' "$tests/machines/known.txt" > "$work/known"
while read -r program test; do
    [ "$test" = '*' ] ||
        cat "$tests"/*/"$program".c "$tests"/*/*/"$program".c "$top"/ext/*/tests/"$program".c 2> /dev/null |
        grep -qE "TEST[A-Z_]*\(${test}[,)]" || complain "known.txt: $program has no test $test"
done < "$work/known"

[ "$count" -gt 1 ] || complain "no tests found in $tests"
[ "$status" -ne 0 ] || echo "$count files are listed"
exit "$status"
