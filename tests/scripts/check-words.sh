#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-words.sh - all documents together, and README.md alone, keep within their budget of
# words.  A word has a letter, so the figures of tables do not count.  The output of a program,
# which the pages of processors record, does not either.
#
# srcdir: top of the source tree.

set -u
cd "${srcdir:-.}" || exit 1
status=0

# budget MOST FILE...
budget() {
    most=$1
    shift
    words=$(sed '/^```text$/,/^```$/d' "$@" | tr -s ' \t' '\n\n' | grep -c '[A-Za-z]')
    echo "$words words of $most in $*"
    [ "$words" -le "$most" ] || { echo "too many words"; status=1; }
}
budget 950 README.md
budget 32452 ./*.md NEWS doc/*.md doc/*/*.md
[ "$words" -gt 10000 ] || { echo 'the documents were not found'; status=1; }
exit "$status"
