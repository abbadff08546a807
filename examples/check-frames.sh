#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-frames.sh - no frame of jobs is held up by its pool after warming up.  Without
# warming up the same program finds that some are.
#
# Run by `make check` in the build directory.
# By hand: FRAMES=path/to/frames sh examples/check-frames.sh

FRAMES=${FRAMES:-./examples/jobs/frames}
failed=0

# expect STATUS TEXT ARGUMENT...: the exit status, and a line that matches TEXT.
expect() {
    expected=$1 text=$2
    shift 2
    output=$("$FRAMES" "$@" 2>&1)
    status=$?
    if [ $status -ne "$expected" ] || ! printf '%s\n' "$output" | grep -q -e "$text"; then
        failed=$((failed + 1))
        printf "FAIL: 'frames %s' exits with %d and prints\n%s\ninstead of %d and '%s'\n" \
            "$*" $status "$output" "$expected" "$text"
    else
        printf '%s\n' "$output" | tail -n 1
    fi
}

for threads in 1 2 4 16; do
    expect 0 ': 0 held up$' $threads 100
done

# Each cost that warming up avoids is seen.
for threads in 1 2 4; do
    expect 1 ': [1-9][0-9]* held up$' --cold $threads 100
done

# One worker alone sees every kind of spike.
expect 1 '^frame 0: [1-9][0-9]* slots more, [1-9][0-9]* system calls$' --cold 1 100

expect 2 'usage: frames' 0
expect 2 'usage: frames' 2 100 more

if [ $failed -ne 0 ]; then
    echo "$failed failed"
    exit 1
fi
echo "all passed"
