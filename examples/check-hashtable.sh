#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-hashtable.sh - threads find, insert and remove keys, and each call returns what it must.
# A node that changes inside the section that found it counts as a wrong result.
#
# Run by `make check` in the build directory.
# By hand: HASHTABLE=path/to/hashtable sh examples/check-hashtable.sh

HASHTABLE=${HASHTABLE:-./examples/hashtable}
failed=0

fail() {
    failed=$((failed + 1))
    printf 'FAIL: %s\n' "$*"
}

for threads in 1 2 4 16; do
    output=$("$HASHTABLE" $threads 100000 2>&1) || fail "$threads threads exit with $?"
    printf '%s\n' "$output"
    # shellcheck disable=SC2046 # words
    set -- $(printf '%s\n' "$output" | tr -c '0-9\n' ' ' | tr '\n' ' ')
    # threads operations ns, found inserted removed stay, held of, wrong
    [ $# -eq 10 ] || { fail "$threads threads print $# figures" && continue; }
    [ "$4" -gt 0 ] && [ $(($5 + $6)) -eq $(($1 * 20000)) ] || fail "too little was done"
    [ $(($5 - $6)) -eq "$7" ] || fail "$7 keys stay"
    [ "$8" -gt 0 ] && [ "$8" -le "$9" ] || fail "$8 of $9 nodes were held back"
    [ "${10}" -eq 0 ] || fail "${10} results are wrong"
done

"$HASHTABLE" 0 2>/dev/null
[ $? -eq 2 ] || fail 'no thread is a number of threads'

if [ $failed -ne 0 ]; then
    echo "$failed failed"
    exit 1
fi
echo "all passed"
