#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-particles.sh - the fireworks come out the same with any number of threads, and their
# pictures show the particles that live.
#
# The program counts what lives by visits to live slots, and the pixels that it lights, by
# one thread.  The pictures are drawn from the dots that the jobs left, and
# read here by another program.
#
# Run by `make check` in the build directory.

PARTICLES=${PARTICLES:-examples/particles/particles}
LIT=${LIT:-examples/particles/lit}
work=$(mktemp -d "${TMPDIR:-/tmp}/check-particles.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 99' HUP INT TERM
failed=0

fail() {
    failed=$((failed + 1))
    echo "FAIL: $*"
    sed 's/^/      | /' "$work/$threads" "$work/$threads.err"
}

for threads in 1 2 5; do
    "$PARTICLES" --threads $threads --frames 120 --every 10 --output "$work/pictures-$threads" \
        > "$work/$threads" 2> "$work/$threads.err" || fail "$threads threads: status $?"
    cmp -s "$work/1" "$work/$threads" || fail "$threads threads: other particles than with one"
done

threads=1
[ "$(grep -c '^frame [0-9]*: [1-9][0-9]* rockets, [0-9]* sparks, [1-9][0-9]* pixels lit$' \
    "$work/1")" -eq 11 ] || fail 'not 11 frames with rockets'
grep -q '^30 rockets; [1-9][0-9]* particles born, of which [1-9][0-9]* released themselves$' \
    "$work/1" || fail 'no particles'
# Each rocket that has burst was a rocket, and left as many sparks.
awk '/particles born/ { bursts = ($3 - $1) / 400; exit !(bursts >= 5 && bursts == int(bursts)) }
    ' "$work/1" || fail 'other sparks than of whole bursts'
# A slot for each dot and each burst, in as many frames.
awk '/particles born/ { bursts = ($3 - $1) / 400 }
    /^[0-9]* dots/ { exit !($1 > 0 && $7 == $1 + bursts && /in 120 frames$/) }' "$work/1" ||
    fail 'other slots than dots and bursts went back'

if grep -q 'built without libpng' "$work/1.err"; then
    echo 'SKIP: the pictures, because this was built without libpng'
else
    for threads in 1 2 5; do
        sed -n 's/^frame .* \([0-9]*\) pixels lit$/640 x 360, \1 lit/p' "$work/$threads" \
            > "$work/expected"
        "$LIT" "$work/pictures-$threads"/frame-*.png > "$work/actual" 2>&1
        cmp -s "$work/expected" "$work/actual" ||
            fail "$threads threads: pictures with $(tr '\n' ';' < "$work/actual")"
    done
fi

"$PARTICLES" --threads 0 > "$work/1" 2> "$work/1.err"
[ $? -eq 2 ] || fail 'no threads are not refused'
"$PARTICLES" --frames 2 --output /dev/null/none > "$work/1" 2> "$work/1.err"
status=$?
[ $status -eq 5 ] || [ $status -eq 0 ] && grep -q 'libpng\|/dev/null' "$work/1.err" ||
    fail "a folder that cannot be: status $status"

if [ $failed -ne 0 ]; then
    echo "$failed failed"
    exit 1
fi
echo "all passed"
