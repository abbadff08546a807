#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-size.sh - holds the sizes that HACKING.md sets for C: lines of 100 columns and
# functions of 60 lines.  A function begins with a brace in the first column and ends with
# one, as all of ours do.

. "${srcdir:-.}/tests/harness/script.sh"
cd "$top" || exit 1
list=$work/list

find include lib ext tests bench stress examples \
    \( -name build -o -name results \) -prune -o \
    \( -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.hpp' \) -print | sort > "$list"
files=$(wc -l < "$list")
[ "$files" -gt 50 ] || { echo "only $files files found"; exit 1; }

# shellcheck disable=SC2046 # no file's name has a blank
awk '
function complain(what) { print FILENAME ":" FNR ": " what; bad = 1 }
FNR == 1 { began = 0 }
length($0) > 100 { complain(length($0) " columns") }
/^\{$/ { began = FNR }
/^\}$/ && began {
    if (FNR - began - 1 > 60)
        complain("a function of " FNR - began - 1 " lines")
    began = 0
}
END { exit bad }
' $(cat "$list") || exit 1
echo "$files files within their sizes"
