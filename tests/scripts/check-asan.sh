#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-asan.sh - programs of a user's, compiled with -fsanitize=address and linked with
# the library as it is installed: AddressSanitizer has nothing to say about one that is
# correct, and names the line of each mistake that it can see.

tool=AddressSanitizer
sanitizer=address
. "${srcdir:-.}/tests/tools/programs.sh"
ASAN_OPTIONS=detect_leaks=1
export ASAN_OPTIONS

try() {
    build "$1" correct -O1 || return
    build "$1" mistakes -O1 || return
    silent correct
    for way in plain typed cache depot bulk checked memory; do
        silent mistakes "$way" none
        found after "$way" use-after-poison wrote_here
    done
    for mistake in beyond before; do
        found "$mistake" plain use-after-poison wrote_here
        found "$mistake" typed use-after-poison wrote_here
        found "$mistake" checked use-after-poison wrote_here
    done
    found fresh plain use-after-poison wrote_here
    found seen plain use-after-poison decided_here
    # The library's own report, and the stack.
    found twice plain 'cpool_free: the slot is free already' gave_here
    found twice bulk 'cpool_free_bulk: the slot is free already' gave_here
    # Free slots keep their bytes, and may be read where the program says so.
    silent mistakes plain stale
    silent mistakes unpoisoned after
}

each try
