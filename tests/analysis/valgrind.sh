#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# valgrind.sh - the unit tests under Memcheck, with pools as they are, which it is told
# nothing of: it looks at the library's own accesses, as at any program's.
#
#   valgrind.sh PROGRAM...
#
# Its reports count.  The outcome of the tests does not, which make check looks at, and
# which depends on time and on address space that Memcheck has less of.  Nor do the stacks
# count that the library asks Memcheck to print with its own reports of mistakes, which
# some tests make.  Nor do blocks count that may be reachable: processes that abort leave
# threads behind.
#
# Run in the top of the build tree.

set -u
command -v valgrind > /dev/null || { echo 'there is no valgrind'; exit 77; }
CPOOL_OPTIONS=no_poison CK_TIMEOUT_MULTIPLIER=20
export CPOOL_OPTIONS CK_TIMEOUT_MULTIPLIER
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0
count=0

# why_not PROGRAM - why Memcheck could not tell its reports from those of a mistake.
why_not() {
    case $1 in
    */check_options) echo 'which sets CPOOL_OPTIONS itself' ;;
    */check_null) echo 'which reads from no pool, to be trapped' ;;
    */check_calls) echo 'which reads results of ptrace that Memcheck does not know' ;;
    */check_lanes) echo 'as its limit of memory refuses nothing under Memcheck' ;;
    esac
}

for program; do
    why=$(why_not "$program")
    if [ -n "$why" ]; then
        echo "left out: $program, $why"
        continue
    fi
    timeout -s KILL "${VALGRIND_LIMIT:-300}" ./libtool --mode=execute valgrind -q \
        --leak-check=full --show-leak-kinds=definite --max-threads=600 \
        --log-file="$work/log.%p" "$program" > "$work/output" 2>&1
    [ $? -ne 137 ] || echo "stopped: $program, after ${VALGRIND_LIMIT:-300} seconds"
    count=$((count + 1))
    # Its memory ended, which a test had limited.
    grep -l "Valgrind's memory management: out of memory" "$work"/log.* | xargs -r rm -f
    if cat "$work"/log.* 2> /dev/null | grep '^==[0-9]*== *at ' | grep -qv VALGRIND_PRINTF_BACKTRACE; then
        echo "$program:"
        cat "$work"/log.*
        status=1
    fi
    rm -f "$work"/log.*
done
[ "$status" -ne 0 ] || echo "Memcheck has nothing to say of $count programs"
exit "$status"
