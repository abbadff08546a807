#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-jobs.sh - the job system's counts against find and wc, and its answers
# to trees that are not as they should be.
#
# Run by `make check` in the build directory.  srcdir is the source directory.
# By hand: srcdir=. JOBS=path/to/jobs sh examples/check-jobs.sh

JOBS=${JOBS:-./examples/jobs/jobs}
LC_ALL=C
export LC_ALL

work=$(mktemp -d "${TMPDIR:-/tmp}/check-jobs.XXXXXX") || exit 99
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
trap 'exit 99' HUP INT TERM
failed=0

fail() {
    failed=$((failed + 1))
    echo "FAIL: $*"
    sed 's/^/      | /' "$work/out" "$work/err"
}

# run ARGUMENT... - runs the program, with output in $work/out and errors in $work/err.
run() {
    "$JOBS" "$@" >"$work/out" 2>"$work/err"
    status=$?
}

# expect STATUS TEXT ARGUMENT...: the exit status, and a message that says TEXT.
expect() {
    expected=$1 text=$2
    shift 2
    run "$@"
    if [ "$status" -ne "$expected" ]; then
        fail "'$*' exits with $status instead of $expected"
    elif ! cat "$work/out" "$work/err" | grep -q -e "$text"; then
        fail "'$*' does not say '$text'"
    fi
}

# ---- A tree with everything that is awkward ----------------------------------

# fill N: N bytes of words, cut off wherever that is.
fill() {
    awk -v n="$1" 'BEGIN {
        for (i = 0; length(s) < 4096; i++) s = s "word" i " x_" i "(0x1F);\n"
        for (; n > length(s); n -= length(s)) printf "%s", s
        printf "%s", substr(s, 1, n)
    }'
}

# blank N BYTE: N times the byte.
blank() {
    head -c "$1" /dev/zero | tr '\000' "$2"
}

make_borders() {
    # Words and identifiers across the border between two pieces, which is at 65536.
    for before in 0 1 2 3 7 8 70 71 72 90; do
        { fill $((65536 - before)); printf ' '; fill 200; } >"border-$before-words"
        { blank $((65536 - before)) ' '; printf 'across_the_border(1)'; } >"border-$before-name"
        { blank $((65536 - before)) '\n'; printf '0x1Fabc_123 '; } >"border-$before-number"
        { blank $((65536 - before)) '\t'; blank 180 A; printf ' end'; } >"border-$before-long"
        { printf 'a'; blank $((65536 - before)) '\001'; printf 'b c\n'; } >"border-$before-control"
        { printf ' '; blank $((65536 - before)) '\377'; printf '\001 c\n'; } >"border-$before-high"
    done
    fill 65535 >one-less
    fill 65536 >exactly-one
    fill 65537 >one-more
    fill 131072 >exactly-two
    fill 1000000 >many
    blank 200000 q >one-long-name
    blank 200000 '\001' >no-word-or-one
    # One word that goes through whole pieces in which nothing begins one.
    { printf 'a'; blank 200000 '\001'; printf 'b'; } >one-word
    blank 200000 ' ' >only-blanks
}

make_contents() {
    : >empty
    printf 'no newline at the end' >unended
    printf '\n\n\n' >newlines
    printf 'one\r\ntwo\rthree\fout\vin\tside\r\n' >separators
    printf 'na\303\257ve \342\200\224 caf\303\251 \302\240 \302\251\n' >utf-8
    # Bytes that count, 71, and one more.
    for i in x y; do
        { blank 70 L; printf '%s ' $i; blank 71 M; printf '%s\n' $i; } >"long-$i"
    done
    printf '9lives lives9 _ __ a1_b2 0x1F 1e9 x' >numbers
    i=0
    while [ $i -lt 256 ]; do
        printf "\\$(printf %03o $i)"
        i=$((i + 1))
    done >bytes
    for i in 1 2 3 4 5 6 7 8 9 10; do
        cat bytes bytes >more && mv more bytes
    done
}

make_surroundings() {
    mkdir -p hollow/hollow 'name with  blanks' 'odd
name' deep/$(awk 'BEGIN { for (i = 0; i < 100; i++) printf "d%d/", i }')
    printf 'int main(void);\n' >'name with  blanks/ file '
    printf 'int main(void);\n' >'odd
name/odd
file'
    printf 'bottom' >deep/$(awk 'BEGIN { for (i = 0; i < 100; i++) printf "d%d/", i }')file
    printf 'long name' >"$(blank 255 n)"
    ln many hard-link
    ln -s many soft-link
    ln -s nowhere dangling-link
    mkfifo pipe
    mkdir wide && (cd wide && for i in $(awk 'BEGIN { for (i = 0; i < 300; i++) print i }'); do
        printf 'int file_%d = %d;\n' "$i" "$i" >"$i.c"
    done)
}

mkdir "$work/tree" "$work/nothing" "$work/hollow" "$work/hollow/hollow"
(cd "$work/tree" && make_borders && make_contents && make_surroundings) || exit 99

# ---- What find and wc say ---------------------------------------------------------

# wc_sum DIRECTORY: lines, words and bytes of all its files, each by wc.  Without POSIX's rules
# that of GNU coreutils 9.5 and later takes the byte 0xa0 for a blank.
wc_sum() {
    POSIXLY_CORRECT=1 find "$1" -type f -exec sh -c 'for file; do wc <"$file"; done' sh {} + |
        awk '{ l += $1; w += $2; b += $3 } END { printf "%.0f %.0f %.0f\n", l, w, b }'
}

# all_names DIRECTORY: count and name of every identifier, the most frequent first.
all_names() {
    find "$1" -type f -exec sh -c '
        for file; do tr -cs A-Za-z0-9_ "[\n*]" <"$file"; echo; done' sh {} + |
        grep '^[A-Za-z_]' | cut -c 1-71 | sort | uniq -c | awk '{ print $1, $2 }' |
        sort -k 1,1nr -k 2,2
}

# Which of the two rules for words this wc follows.
if [ "$(printf '\001' | wc -w)" -eq 1 ]; then rule=any; else rule=printable; fi

# jobs_sum, jobs_names: the same of the program's output.
jobs_sum() {
    awk -v rule=$rule '
        $1 == "lines" { l = $2 }
        $1 == "bytes" { b = $2 }
        $1 == "words" { w = $2 }
        rule == "printable" && / as wc of GNU coreutils before:/ { w = $1 }
        END { print l, w, b }' "$work/out"
}
jobs_names() {
    awk '$1 == "identifiers" { print $2 + 0, $3 }
         NF == 3 && $1 ~ /^[0-9]+$/ { print $2, $3 }' "$work/out"
}

# compare DIRECTORY WHAT: the last run's totals.
compare() {
    if [ "$(jobs_sum)" != "$sum" ]; then
        fail "$2: $(jobs_sum) instead of $sum"
    elif [ "$(jobs_names)" != "$names" ]; then
        fail "$2: other identifiers than tr, sort and uniq find"
    fi
}

# ---- Counts ---------------------------------------------------------------------------

sum=$(wc_sum "$work/tree")
all_names "$work/tree" >"$work/names"
names=$(awk '{ n += $1 } END { print n, NR }' "$work/names"; head -n 50 "$work/names")

for threads in 1 2 4 16; do
    run --check --repeat 1 --top 50 --threads $threads "$work/tree"
    [ "$status" -eq 0 ] || fail "--threads $threads exits with $status"
    compare "$work/tree" "--threads $threads"
    grep -q 'the totals of all runs are equal' "$work/out" || fail "--threads $threads: not equal"
done

# Too few job nodes: a job that does not get one runs in place.
for jobs in 1 2 7 64; do
    run --allocator cpool --jobs $jobs --repeat 1 --top 50 --threads 4 "$work/tree"
    [ "$status" -eq 0 ] || fail "--jobs $jobs exits with $status"
    compare "$work/tree" "--jobs $jobs"
    awk '/run in place, pool dry/ { exit !($NF > 0) }' "$work/out" ||
        fail "--jobs $jobs: no job was run in place"
done

# A tree of ordinary files, literally as in the documentation.
find "${srcdir:-.}/include" -type f -print0 | xargs -0 wc >"$work/wc"
sum=$(awk 'END { print $1, $2, $3 }' "$work/wc")
run --allocator malloc --repeat 1 "${srcdir:-.}/include/"
[ "$(jobs_sum)" = "$sum" ] || fail "include/: $(jobs_sum) instead of $sum"

# ---- What is left out -------------------------------------------------------------------

expect 0 '2 symbolic links, not followed' --repeat 1 "$work/tree"
expect 0 '1 devices, pipes and sockets' --repeat 1 "$work/tree"

mkdir "$work/loops" && ln -s . "$work/loops/here" && ln -s itself "$work/loops/itself"
mkdir "$work/loops/below" && ln -s ../../loops "$work/loops/below/up"
printf 'x\n' >"$work/loops/file"
expect 0 '3 symbolic links that form a loop' --repeat 1 --check "$work/loops"
expect 0 'below/up: ' --repeat 1 "$work/loops"
expect 0 'files *1$' --repeat 1 "$work/loops"

# Root can read everything: then there is nothing to see here.
mkdir "$work/closed" "$work/closed/directory"
printf 'a b\n' >"$work/closed/open"
printf 'c d\n' >"$work/closed/file"
chmod 0 "$work/closed/directory" "$work/closed/file"
if [ -r "$work/closed/file" ]; then
    echo "SKIP: unreadable files, which this user can read nevertheless"
else
    expect 1 '1 files that cannot be read' --repeat 1 --check "$work/closed"
    expect 1 '1 directories that cannot be read' --repeat 1 "$work/closed"
    expect 1 'closed/file: ' --repeat 1 "$work/closed"
    expect 1 'bytes *4$' --repeat 1 "$work/closed"
    rm -f "$work/closed/open"
    expect 1 'there is no file to count' "$work/closed"
    expect 2 'cannot read this directory' "$work/closed/directory"
fi

# ---- Mistakes ----------------------------------------------------------------------------

expect 2 'there is no such directory' "$work/missing"
expect 2 'this is not a directory' "$work/tree/many"
expect 2 'form a loop' "$work/loops/itself"
expect 3 'there is no file to count' "$work/nothing"
expect 3 'there is no file to count' "$work/hollow"
expect 2 'one directory at a time' "$work/tree" "$work/nothing"
expect 2 'takes a number' --threads two "$work/tree"
expect 2 'takes a number' --threads -1 "$work/tree"
expect 2 'takes a number' --repeat 0 "$work/tree"
expect 2 'takes a number' --top 101 "$work/tree"
expect 2 'takes cpool, malloc or both' --allocator mine "$work/tree"
expect 2 'help shows the options' --unknown
expect 5 'the pool of results are not enough' --results 100 "$work/tree"
expect 0 'usage: jobs' --help
expect 0 'run 1, jobs/s' --no-warm-up --repeat 1 --threads 1 "$work/tree"
run --no-warm-up --progress --repeat 1 --allocator malloc "$work/tree"
! grep -q warm-up "$work/err" || fail '--no-warm-up warms up'
expect 0 ' jobs, ' --progress --repeat 5 --threads 1 --allocator malloc "$work/tree"

if [ $failed -ne 0 ]; then
    echo "$failed failed"
    exit 1
fi
echo "all passed; wc counts words by the rule '$rule'"
