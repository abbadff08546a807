#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-msan.sh - programs of a user's, compiled with -fsanitize=memory and linked with the
# library as it is installed, which is not: MemorySanitizer has nothing to say about one
# that is correct, and names the line that decides by bytes of a slot that nobody has set.

tool=MemorySanitizer
sanitizer=memory
. "${srcdir:-.}/tests/tools/programs.sh"

try() {
    build "$1" correct -O1 || return
    build "$1" mistakes -O1 || return
    silent correct
    for way in plain typed cache depot bulk checked memory; do
        silent mistakes "$way" none
        for mistake in unset stale seen; do
            found "$mistake" "$way" use-of-uninitialized-value decided_here
        done
    done
    found twice plain 'cpool_free: the slot is free already' gave_here
    silent mistakes unpoisoned stale
}

each try
