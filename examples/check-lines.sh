#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-lines.sh - a job for each line makes as many jobs as there are lines, counts as
# one thread does, and loses no node, with each allocator.  The demonstration shows
# a row and draws a bar for each.
#
# Run by `make check` in the build directory.  srcdir is the source directory.

srcdir=${srcdir:-.}
LINES_PROGRAM=${LINES_PROGRAM:-examples/jobs/lines}
work=$(mktemp -d "${TMPDIR:-/tmp}/check-lines.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 99' HUP INT TERM
failed=0

fail() {
    failed=$((failed + 1))
    echo "FAIL: $*"
    sed 's/^/      | /' "$work/out"
}

# expect STATUS TEXT ARGUMENT...: the exit status, and a line that matches TEXT.
expect() {
    expected=$1 text=$2
    shift 2
    "$LINES_PROGRAM" "$@" > "$work/out" 2>&1
    status=$?
    [ "$status" -eq "$expected" ] && grep -q -e "$text" "$work/out" ||
        fail "'lines $*' exits with $status instead of $expected and '$text'"
}

# One slice.  Its jobs are a frame, 64 pieces, and the lines of the tree.
mkdir "$work/tree" "$work/nothing"
cp "$srcdir"/examples/*.c "$work/tree"
printf 'the last line does not end' > "$work/tree/unended"
lines=$(($(cat "$work"/tree/*.c | wc -l) + 1))
for allocator in typed pool malloc; do
    for threads in 1 3; do
        expect 0 "^jobs $((5 * (65 + lines)))\$" --allocator $allocator --threads $threads \
            --frames 5 --seconds 500 "$work/tree"
        for figure in jobs/s ns/node median-ms p99-ms worst-ms peak-KiB; do
            grep -q "^$figure -*[0-9][0-9.]*\$" "$work/out" || fail "$allocator: no $figure"
        done
        grep -q '^frames 5$' "$work/out" || fail "$allocator: other than 5 frames"
    done
done

# Several slices, the last of which is short.
cat "$srcdir"/lib/*/*.[ch] > "$work/tree/long"
expect 0 '^frames 20$' --threads 2 --frames 20 --seconds 500 "$work/tree"

expect 2 'there is no file to read\|usage\|takes a number' --threads 65 "$work/tree"
expect 2 'takes typed, pool or malloc' --allocator mine "$work/tree"
expect 2 'one directory at a time' "$work/tree" "$work/nothing"
expect 3 'there is no file to read' "$work/nothing"
expect 0 'usage: lines' --help

# The demonstration, as short as it can be, and once more with bars in place of the picture.
DEMO_DIR=$work/tree DEMO_SECONDS=0 DEMO_ROUNDS=1 GNUPLOT=none sh "$srcdir/examples/demo.sh" \
    > "$work/out" 2>&1 || fail "the demonstration without gnuplot exits with $?"
[ "$(grep -c '^  [a-z ]* #* -*[0-9.]* ns a node$' "$work/out")" -ge 3 ] || fail 'no bars'
DEMO_DIR=$work/tree DEMO_SECONDS=0 DEMO_ROUNDS=1 sh "$srcdir/examples/demo.sh" > "$work/out" 2>&1 ||
    fail "the demonstration exits with $?"
for name in 'typed pool' pool libc; do
    awk -v name="$name" 'index($0, name " ") == 1 && $(NF - 5) > 0 && $(NF - 3) > 0 { found = 1 }
        END { exit !found }' "$work/out" || fail "no row of $name"
done
tail -n 1 "$work/out" |
    grep -q '^You saw [0-9]* threads .* ns in a typed pool and .* by the malloc of .*\.$' ||
    fail 'the demonstration does not end with what it showed'
if command -v "${GNUPLOT:-gnuplot}" > /dev/null; then
    [ "$(od -An -tx1 -N8 demo.png | tr -d ' ')" = 89504e470d0a1a0a ] || fail 'no picture'
else
    echo 'SKIP: the picture, because gnuplot is not installed'
fi

if [ $failed -ne 0 ]; then
    echo "$failed failed"
    exit 1
fi
echo "all passed"
