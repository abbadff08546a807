#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-kernels.sh - every kernel of the job system has the right result with each
# allocator, with one thread and with three.
#
# Runs in the top of the build tree.

status=0
output=$(mktemp) || exit 1
trap 'rm -f "$output"' EXIT

for threads in 1 3; do
    examples/jobs/jobs --kernel all --repeat 1 --threads "$threads" > "$output" || {
        echo "with $threads threads the kernels end with $?"
        cat "$output"
        status=1
    }
    for kernel in fib nqueens quicksort cholesky message-ring; do
        grep -q "^$kernel  *[0-9]" "$output" || { echo "no row for $kernel"; status=1; }
    done
done
examples/jobs/jobs --kernel fib --repeat 1 > "$output" || status=1
[ "$(grep -c '^[a-z-]*  *[0-9][0-9]* ' "$output")" -eq 1 ] || { echo 'fib runs others'; status=1; }
examples/jobs/jobs --kernel sorcery > "$output" 2>&1
[ $? -eq 2 ] && grep -q 'there is no sorcery' "$output" || { echo 'sorcery is taken'; status=1; }
exit "$status"
