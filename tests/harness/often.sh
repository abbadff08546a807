#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# often.sh - runs tests many times on busy processors.  A test that fails only when
# a thread is held up at a bad moment has its chances.
#
#   often.sh RUNS LOOPS
#
# Runs in the top of a build tree in which all programs of the tests are built, as
# `make check-often` does.  A failed run keeps the logs of what failed in
# tests/often/RUN, and the others go on.  The exit status is 0 if none failed.
#
# Environment: MAKE, and the names of the tests in OFTEN_TESTS.

set -u
runs=$1
loops=$2
self=$$
failed=0
kept=tests/often
pids='' making=''

# Ends with this script, however that ends.
be_busy() {
    while kill -0 "$self" 2> /dev/null; do
        i=0
        while [ "$i" -lt 100000 ]; do
            i=$((i + 1))
        done
    done
}

finish() {
    # shellcheck disable=SC2086 # several numbers
    [ -z "$pids$making" ] || kill $pids $making 2> /dev/null
    pids='' making=''
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

# keep RUN - the logs of this run's failures, and the names of these.
keep() {
    mkdir -p "$kept/$1"
    cp "$kept/output" "$kept/$1/output"
    sed -n -E 's/^(FAIL|ERROR|XPASS): ([^ ]*).*/\2/p' "$kept/output" | sort -u |
        while read -r name; do
            echo "  $name"
            [ ! -f "$name.log" ] || cp "$name.log" "$kept/$1/"
        done
}

rm -rf "$kept"
mkdir -p "$kept"
while [ "$loops" -gt 0 ]; do
    be_busy &
    pids="$pids $!"
    loops=$((loops - 1))
done

run=1
while [ "$run" -le "$runs" ]; do
    began=$(date +%s)
    # In the background, so that a signal ends the waiting.
    "${MAKE:-make}" check-TESTS check_quick= TESTS="$OFTEN_TESTS" > "$kept/output" 2>&1 &
    making=$!
    wait "$making"
    status=$?
    making=
    took="$(($(date +%s) - began)) s"
    if [ "$status" -eq 0 ] && grep -q '^# PASS: *[1-9]' "$kept/output"; then
        echo "run $run of $runs: passed, $took"
    else
        failed=$((failed + 1))
        echo "run $run of $runs: FAILED with status $status, $took; see $kept/$run"
        keep "$run"
    fi
    run=$((run + 1))
done
echo "check-often: $((runs - failed)) runs passed, $failed failed"
rm -f "$kept/output"
[ "$failed" -eq 0 ]
