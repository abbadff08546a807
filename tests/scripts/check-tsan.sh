#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-tsan.sh - programs of a user's, compiled with -fsanitize=thread and linked
# with the library as it is installed: ThreadSanitizer has nothing to say about one
# that is correct, and finds the race of one that uses a slot after its free.

tool=ThreadSanitizer
sanitizer=thread
. "${srcdir:-.}/tests/tools/programs.sh"
TSAN_OPTIONS='exitcode=66 halt_on_error=0'
export TSAN_OPTIONS

try() {
    for option in -O2 -O0; do
        build "$1" handover "$option" || return
        build "$1" stray "$option" || return
        silent handover
        for when in early late; do
            run stray "$when"
            [ "$code" -eq 66 ] && grep -q 'data race' "$work/output" &&
                grep -q ' write_to ' "$work/output" ||
                complain "$1 $option: a stray write, $when, is not found: it ends with $code"
        done
    done
    build "$1" correct -O1 && silent correct
}

each try
