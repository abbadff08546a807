#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# fuzz.sh - looks for programs of calls that do not do what the model says.
#
# usage: fuzz.sh SECONDS SOURCE...
#
# Builds the library and the target with assertions, UndefinedBehaviorSanitizer and
# libFuzzer in tests/fuzz/build, and begins with the corpus of the tree and with what the
# last run has found.  At the end it leaves, in tests/fuzz/build:
#
#   corpus.txt       the fewest programs that reach what those of the tree and the others reach,
#                    to be taken into the tree
#   found-*          programs that fail, one file each: tests/fuzz/replay -f FILE, with
#                    FUZZ_TRACE in the environment, says at which call and why
#
# Environment: CC (clang), srcdir, COMPILE and LINK, FUZZ_FLAGS for libFuzzer.
# Exit: 0, 1 if a program failed, or 77 where the compiler has no libFuzzer.

set -eu
seconds=$1
shift
build=tests/fuzz/build
flags='-g -O1 -std=c11 -fsanitize=fuzzer,undefined -fno-sanitize-recover=all'

mkdir -p $build/programs
cat > $build/probe.c << 'END'
int LLVMFuzzerTestOneInput(const unsigned char *bytes, unsigned long size);
int LLVMFuzzerTestOneInput(const unsigned char *bytes, unsigned long size)
{
    return bytes == 0 && size != 0;
}
END
# shellcheck disable=SC2086 # lists of words
if ! $CC $flags $build/probe.c -o $build/probe 2> $build/probe.log; then
    echo "SKIP: make fuzz needs clang with libFuzzer (FUZZ_CC)"
    exit 77
fi

for source do
    shift
    case $source in
    *.c) [ -f "$source" ] && set -- "$@" "$source" || set -- "$@" "${srcdir:-.}/$source" ;;
    esac
done
# shellcheck disable=SC2086
$CC $flags -DCPI_DEBUG=1 ${COMPILE-} "$@" -pthread ${LINK-} -o $build/target

tests/fuzz/replay -u $build/programs "${srcdir:-.}/tests/fuzz/corpus.txt"
status=0
# The library's reports of leaks go to standard error, which is closed.
# shellcheck disable=SC2086
$build/target -max_len=1500 -max_total_time="$seconds" -timeout=300 -close_fd_mask=2 \
    -artifact_prefix=$build/found- -print_final_stats=1 ${FUZZ_FLAGS-} $build/programs \
    > $build/log 2>&1 || status=1
tail -n 15 $build/log
rm -rf $build/least
mkdir $build/least
$build/target -set_cover_merge=1 -use_counters=0 -close_fd_mask=2 $build/least \
    $build/programs > $build/merge.log 2>&1 || status=1
tests/fuzz/replay -p $build/least/* > $build/corpus.txt
echo "$(wc -l < $build/corpus.txt) programs in $build/corpus.txt"
exit $status
