#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-limit.sh - tests/harness/limit hands on how a program ended.  It ends one that hangs,
# with all that it has started, and shows where its threads were.  make's tests are
# started by it.
#
# srcdir: top of the source tree.  CC: the configured compiler.  Run in the top
# of the build tree.

set -u
limit=$(pwd)/tests/harness/limit
status=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

complain() {
    echo "$*"
    status=1
}

[ -x "$limit" ] || { echo "$limit is not built"; exit 1; }

# ends STATUS COMMAND
ends() {
    "$limit" sh -c "$2" > "$work/output" 2>&1
    [ $? -eq "$1" ] || complain "'$2' did not end with $1: $(cat "$work/output")"
}
ends 0 'exit 0'
ends 1 'exit 1'
ends 77 'exit 77'
ends 99 'exit 99'
ends 143 'kill -TERM $$'
grep -q 'signal 15' "$work/output" || complain 'the signal is not named'
"$limit" "$work/nothing" > "$work/output" 2>&1 && complain 'a program that is not there passes'
"$limit" > "$work/output" 2>&1 && complain 'no program passes'
[ "$("$limit" echo 'one  word' two)" = 'one  word two' ] || complain 'arguments are not handed on'

# gone FILE - the process with the number that FILE holds has ended, or is about to.
gone() {
    pid=$(cat "$1")
    waited=0
    while [ $((waited += 1)) -le 60 ]; do
        state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$pid/status" 2> /dev/null)
        case $state in '' | Z | X) return 0 ;; esac
        sleep 1
    done
    return 1
}

# A program of two threads and a child that listens to nobody, in a process group
# of its own, none of which ever ends.
cat > "$work/hang.c" << 'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
void stand_still(void);
void *stand_in_thread(void *file);
void stand_still(void)
{
    for (;;)
        pause();
}
void *stand_in_thread(void *file)
{
    FILE *out = fopen(file, "w");
    fprintf(out, "%ld\n", (long)getpid());
    fclose(out);
    stand_still();
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 3)
        return 1;
    signal(SIGTERM, SIG_IGN);
    if (fork() == 0) {
        setpgid(0, 0);
        stand_in_thread(argv[2]);
    }
    pthread_create(&thread, NULL, stand_in_thread, argv[1]);
    stand_still();
}
END
${CC:-cc} -g -O0 -pthread "$work/hang.c" -o "$work/hang" || { echo 'nothing compiles'; exit 1; }
# On a busy machine they may take a while to come to hang.
seconds=1
while [ ! -s "$work/parent" ] || [ ! -s "$work/child" ]; do
    rm -f "$work/parent" "$work/child"
    CPOOL_TEST_LIMIT=$seconds "$limit" "$work/hang" "$work/parent" "$work/child" \
        > "$work/output" 2>&1
    [ $? -eq 124 ] || complain 'a program that hangs does not end with 124'
    grep -q "not ended within $seconds second" "$work/output" ||
        complain 'it is not said that it hangs'
    seconds=$((2 * seconds))
done
for file in parent child; do
    gone "$work/$file" || complain "the $file is still there"
    [ ! -d /proc/self ] || grep -q "^limit: process $(cat "$work/$file") hang" "$work/output" ||
        complain "the $file is not named"
done
# Of three threads, with their functions where a debugger is there and may look.
if [ -d /proc/self ]; then
    [ "$(grep -c '^  thread ' "$work/output")" -eq 3 ] || complain 'not three threads are shown'
    [ "$(grep -c 'State:' "$work/output")" -eq 3 ] || complain 'not three states are shown'
fi
if grep -q '^#0 ' "$work/output"; then
    grep -q '^#.* stand_in_thread ' "$work/output" || complain 'a thread of the program is not shown'
fi
[ "$status" -eq 0 ] || cat "$work/output"

# Time that is granted beside the limit, and no limit.
CPOOL_TEST_LIMIT=1 "$limit" -a 60 sleep 2 || complain 'further seconds are not granted'
CPOOL_TEST_LIMIT=0 "$limit" sleep 1 || complain 'a limit of 0 is one'

# Processes left behind are ended.
"$limit" sh -c "sleep 1000 & echo \$! > '$work/left'; exit 3"
[ $? -eq 3 ] || complain 'the status of a program that leaves another is lost'
gone "$work/left" || complain 'what a program left is still there'


grep -q '^LOG_COMPILER = tests/harness/limit' Makefile || complain 'make does not start the tests by it'

exit "$status"
