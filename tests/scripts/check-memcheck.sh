#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-memcheck.sh - programs of a user's, compiled for no tool, with the library as it is
# installed, under Valgrind: Memcheck has nothing to say about one that is correct, and
# names the lines of each mistake, where the slot was taken, and where it was freed.

tool=Memcheck
sanitizer=
. "${srcdir:-.}/tests/tools/programs.sh"

command -v valgrind > /dev/null || skip 'there is no valgrind'
grep -q '^#define NVALGRIND' config.h || echo '#include <valgrind/memcheck.h>' > "$work/header.c"
${CC:-cc} -E "$work/header.c" > /dev/null 2>&1 ||
    skip 'the library was built without the headers of Valgrind'
try() {
    launch='valgrind -q --leak-check=full --error-exitcode=9'
    build "$1" correct -O1 || return
    build "$1" mistakes -O1 || return
    silent correct
    found 'after' typed 'Invalid write' wrote_here "free'd" gave_here "alloc'd" took_here
    run mistakes plain after seen beyond before unset stale
    said 'Invalid write' wrote_here 'Invalid read' decided_here '22 bytes inside a block of size 45' \
        "free'd" gave_here "alloc'd" took_here 'bytes after a block of size 45' \
        'bytes before a block of size 45' 'depends on uninitialised'
    run mistakes memory unset seen twice
    said 'depends on uninitialised' 'Invalid read' 'Invalid free' "free'd" gave_here "alloc'd" \
        took_here
    found twice checked 'Invalid free' "free'd" gave_here "alloc'd" took_here \
        'cpool_free: the slot is free already'
    silent mistakes unpoisoned stale after
    [ "$status" -ne 0 ] || echo 'Memcheck finds what it should'
    exit "$status"
}

try "${CC:-cc}"
