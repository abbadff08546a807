#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-mistakes.sh - a program that knows nothing of checks makes mistakes, with the
# library as it is installed and nothing but CPOOL_OPTIONS set.  The reports name the
# mistake, the slot, the thread and the places, which addr2line finds.

. "${srcdir:-.}/tests/harness/script.sh"
tried=0
source=$top/tests/debug/mistakes.c

skip_without_plain_library
LD_LIBRARY_PATH=$(pwd)/lib/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# link LIBRARY NAME
link() {
    # shellcheck disable=SC2086 # the compiler may have options of its own
    ${CC:-cc} -std=gnu11 -g -O1 -fPIE -pie -pthread -I"$top/include" -Iinclude "$source" "$1" \
        -ldl -lm -o "$work/$2"
}

link "$library" mistakes || exit 1

complain() {
    echo "CPOOL_OPTIONS=$options mistakes $mistake: $*"
    sed 's/^/  | /' "$work/output"
    status=1
}

# run OPTIONS MISTAKE [typed | tracked] - leaves what the program writes in $work/output.
run() {
    options=$1 mistake=$2
    tried=$((tried + 1))
    CPOOL_OPTIONS=$options "$work/mistakes" "$2" ${3:+"$3"} > "$work/output" 2>&1
    code=$?
}

# says TEXT... - the output has each of these texts.
says() {
    for text; do
        grep -qF -- "$text" "$work/output" || complain "does not say: $text"
    done
}

# says_ages WORD... - each is followed by a time of less than this script's limit.
says_ages() {
    for word; do
        grep -q "$word [0-9]\{1,3\}\.[0-9]\{3\} s" "$work/output" || complain "no age: $word"
    done
}

says_not() {
    for text; do
        ! grep -qF -- "$text" "$work/output" || complain "says: $text"
    done
}

aborts() {
    [ "$code" -gt 128 ] && ! grep -q '^end' "$work/output" || complain "ends with $code"
}

# names MARK - a place "mistakes+0x..." in the output lies in the line with this mark.
names() {
    command -v addr2line > /dev/null || { echo 'left out: addr2line'; return; }
    line=$(grep -n "mark: $1 " "$source" | cut -d: -f1)
    grep -o 'mistakes+0x[0-9a-f]*' "$work/output" | cut -d+ -f2 | sort -u |
        addr2line -i -e "$work/mistakes" | grep -q "mistakes\.c:$line\>" ||
        complain "no place is line $line, marked $1"
}

for kind in '' typed; do
    run checked double_free $kind
    aborts
    says 'cpool_free: the slot is free already' 'is free' ' by thread '
    says_not 'CPOOL_OPTIONS='
    says_ages freed allocated
    [ "$(grep -c 'addr2line -ife FILE' "$work/output")" -eq 1 ] || complain 'does not name addr2line once'
    names take
    names give

    run checked overflow $kind
    aborts
    says 'bytes around the slot were overwritten' '2 bytes were overwritten, the first at offset 24' \
        'found    41 41' 'wrote past its end'
    names take
done

run checked underflow
aborts
says 'the first at offset -1, before the start of slot 0' 'wrote before its start'

run '' write_after_free
[ "$code" -eq 0 ] && [ "$(cat "$work/output")" = end ] || complain "ends with $code"

# is_refused OPTIONS [tracked] - what each kind of pool finds.
is_refused() {
    run "$1" foreign ${2:+"$2"}
    aborts
    says 'the address lies outside the pool'
    run "$1" another_pools ${2:+"$2"}
    aborts
    says "the address lies in another pool, 'other'"
    run "$1" inside ${2:+"$2"}
    aborts
    says 'the address lies inside a slot'
    run "$1" unused ${2:+"$2"}
    aborts
    says 'the slot has never been handed out'
    run "$1" destroyed ${2:+"$2"}
    aborts
    says 'not a pool: it or its cache has been destroyed'
    run "$1" no_pool ${2:+"$2"}
    aborts
    says 'cpool_alloc_uncached: the pool is NULL: it was never created, or cpool_create'
}

is_refused ''
is_refused checked
is_refused '' tracked

# A tracked pool finds a double free at once, and of the rest what a plain pool finds.
run '' double_free tracked
aborts
says 'cpool_free: the slot is free already'
for silent in overflow write_after_free stale_cache; do
    run '' $silent tracked
    [ "$code" -eq 0 ] && [ "$(cat "$work/output")" = end ] || complain "ends with $code"
done
# In front of the first slot are addresses that trap.
run '' underflow tracked
[ "$code" -eq 139 ] || complain "ends with $code"
run leaks leak tracked
says "pool 'jobs' has 11 live slots at the end of the process"
says_not allocated

run checked stale_cache
aborts
says 'cpool_cache_alloc: not a pool'

# Leaks by place, at destruction and at the end.
run checked leak_and_destroy
[ "$code" -eq 0 ] || complain "ends with $code"
says "pool 'jobs' destroyed with 11 live slots" '  7 allocated at ' '  3 allocated at ' \
    '  1 allocated at '
says_ages 'live for'
names take
names bulk
names depot
run checked,leaks leak
[ "$code" -eq 0 ] || complain "ends with $code"
says end "pool 'jobs' has 11 live slots at the end of the process" '  7 allocated at '
names take
run leaks leak
says "pool 'jobs' has 11 live slots at the end of the process"
says_not allocated
run checked leak
says_not live

run checked sized_double_free
aborts
says 'the slot is free already'
run checked,continue double_free
[ "$code" -eq 0 ] && grep -q '^end' "$work/output" || complain "ends with $code"
says 'the slot is free already'
run checkd,checked leak
says "cpool: CPOOL_OPTIONS: 'checkd' is not understood" \
    'CPOOL_OPTIONS: the words, in lower case and with commas between: checked, no_poison'

# Pools by their names, from a file, too.
printf '# the jobs alone\nj*s:checked\n' > "$work/words"
for kind in '' typed; do
    run "@$work/words" double_free $kind
    aborts
    says 'the slot is free already' ' by thread '
    run 'job:checked,jobs?:checked,other*:checked' write_after_free $kind
    [ "$code" -eq 0 ] && [ "$(cat "$work/output")" = end ] || complain "ends with $code"
done
run 'jobs:capacity=11' leak typed
says_not CPOOL_OPTIONS
run 'jobs:capacity=101' leak typed
says "cpool: CPOOL_OPTIONS: capacity=101 is out of bounds in pool 'jobs': 100 is used"

# A program that runs as another user than it was started by reads neither the words nor a file.
# Only root can make one here, where the file system lets it, and such a program finds no shared
# library in this folder.
cp "$(command -v id)" "$work/id"
if [ -e lib/.libs/libcpool.a ] && link lib/.libs/libcpool.a raised &&
    chown 65534 "$work/id" "$work/raised" 2> /dev/null && chmod 4755 "$work/id" "$work/raised" &&
    [ "$("$work/id" -u)" = 65534 ]; then
    for options in checkd,checked "@$work/words" @/none; do
        mistake='write_after_free, with more rights'
        CPOOL_OPTIONS=$options "$work/raised" write_after_free > "$work/output" 2>&1
        [ "$(cat "$work/output")" = end ] || complain 'reads its options'
    done
else
    echo 'left out: a program that runs as another user'
fi

[ "$status" -ne 0 ] || echo "$tried runs"
exit "$status"
