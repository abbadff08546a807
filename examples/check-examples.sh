#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-examples.sh - the small examples run and print the expected lines.  The
# first is the one in README.md.
#
# Run by `make check` in the build directory.  srcdir is the source directory, and EXAMPLES_WITHOUT
# the libraries of ext/ that configure has left out.
# By hand: srcdir=. EXAMPLES=folder/of/the/programs sh examples/check-examples.sh

srcdir=${srcdir:-.}
EXAMPLES=${EXAMPLES:-./examples}
failed=0

# has LIBRARY: whether it is there
has() {
    case " ${EXAMPLES_WITHOUT:-} " in *" $1 "*) return 1 ;; esac
}

# check NAME [LIBRARY]: compares the program's output with standard input, if this library is there.
check() {
    expected=$(cat)
    has "${2:-none}" || return 0
    actual=$("$EXAMPLES/$1" 2>&1)
    status=$?
    if [ $status -ne 0 ] || [ "$actual" != "$expected" ]; then
        failed=$((failed + 1))
        printf 'FAIL: %s exits with %d and prints\n%s\ninstead of\n%s\n' "$1" $status \
            "$actual" "$expected"
    fi
}

# check_part NAME PART: the program prints a line with this part.
check_part() {
    output=$("$EXAMPLES/$1" 2>&1)
    status=$?
    case $status:$output in
    0:*"$2"*) ;;
    *)
        failed=$((failed + 1))
        printf 'FAIL: %s exits with %d and prints\n%s\nwithout %s\n' "$1" $status "$output" "$2"
        ;;
    esac
}

check first < /dev/null
# A loop is not always too fast.
check_part eventloop '400 messages of 4 clients written, with 8 buffers; reading stopped '
readme=$(sed -n '/^```c$/,/^```$/p' "$srcdir/README.md" | grep -v '^```')
if [ "$readme" != "$(sed '1,/^ \*\/$/d' "$srcdir/examples/first.c")" ]; then
    failed=$((failed + 1))
    echo 'FAIL: the example in README.md is not examples/first.c'
fi

check frame <<'OUTPUT'
frame 1: 100 contacts, 101 live, 1 after its end
frame 2: 200 contacts, 201 live, 1 after its end
frame 3: 249 contacts, 250 live, 0 after its end
OUTPUT

check caller_memory <<'OUTPUT'
16 messages, 16 of them in our own memory
one more: none left
OUTPUT

check fiber_cache <<'OUTPUT'
step 0 on thread 0: 100 nodes allocated
step 1 on thread 1: 100 nodes allocated
step 2 on thread 2: 100 nodes allocated
step 3 on thread 0: 100 nodes freed
step 4 on thread 1: 100 nodes freed
step 5 on thread 2: 100 nodes freed
OUTPUT

# configure has found liburing, or not, and many kernels refuse io_uring.
if [ -x "$EXAMPLES/fixed_buffers" ]; then
    refused=$("$EXAMPLES/fixed_buffers" 2>&1)
    if [ $? -eq 77 ]; then
        echo "SKIP: fixed_buffers: $refused"
    else
        check fixed_buffers <<'OUTPUT'
100 of 100 blocks read into 8 fixed buffers as they were written
OUTPUT
    fi
fi

check quota <<'OUTPUT'
network: 70 of at most 70
disk: 30 of at most 60
disk: 60 of at most 60
OUTPUT

check spool <<'OUTPUT'
first day: 50 pages, then no paper, as 3 programs were told; 8 pages wait
second day: 301 pages in all, in order: yes
OUTPUT

check packets <<'OUTPUT'
6 packets came through, one of them to keep the line alive
16 of 8000 kept packets were worth sending
the pool grew for them, and has 64 buffers again
OUTPUT

check entities <<'OUTPUT'
level 1: 12 hits, 8 missiles without their target, and at the end 6 monsters and 0 missiles
level 2: 12 hits, 8 missiles without their target, and at the end 6 monsters and 0 missiles
OUTPUT

check plugins <<'OUTPUT'
careful: no mistake
sloppy: bytes around the slot were overwritten
sloppy: notes not freed: 1
busy: the slot is free already
forgetful: notes not freed: 3
OUTPUT

check metrics <<'OUTPUT'
/health: all pools have room
orders are nearly all taken
/health: orders: 19 of 20 are live
/metrics: cpool_live{pool="orders",number="1",kind="pool"} 19
/pools: {"version":"0.1.0","pools":[{"name":"sessions","capacity":10...
OUTPUT

# configure has found a C++ compiler, or not.
[ -z "${CXX:-}" ] || check orders <<'OUTPUT'
Eve's order finds no room
morning: 4 of 4 orders are open
  Anna: 100 at 12
  Bo: 50 at 10
  Cem: 30 at 11
  Dana: 20 at 15
70 pieces cost 720
Bo cancels too late
Anna cancels in time
Eve's order is in the book
Bo cancels too late
evening: 3 of 4 orders are open
  Eve: 1 at 9
  Cem: 10 at 11
  Dana: 20 at 15
no more orders today
OUTPUT

check lockstep lanes <<'OUTPUT'
inputs on time: 120 frames
inputs late: 144 frames simulated again, 120 of 120 the same
joined in frame 60: 60 of 60 the same
OUTPUT

check index sized <<'OUTPUT'
the: 1 2 4 5
sea: 1
it: 4 5
56 blocks of 12 classes, 1 of malloc
the end took the rest: slots were still live
OUTPUT

check broker sized <<'OUTPUT'
500 blocks of 2048 bytes are in use
2000 messages of 1453500 bytes were read, and the journal is written
OUTPUT

check effects objects <<'OUTPUT'
level loaded: 36 meshes
frame 1: 1 explosions, 1 of smoke, 1 labels
frame 2: 3 explosions, 2 of smoke, 2 labels
frame 3: 6 explosions, 3 of smoke, 3 labels
frame 4: 9 explosions, 4 of smoke, 4 labels
frame 5: 12 explosions, 5 of smoke, 4 labels
frame 6: 15 explosions, 6 of smoke, 4 labels
level over: 6 of smoke, at 6 places; 36 meshes stay
OUTPUT

check mixer objects <<'OUTPUT'
speech: to be heard
music: to be heard
wind: to be heard
bird: not to be heard
truck: in place of a quieter one
wind: was not to be heard any more
horn: in place of a quieter one
wind: ends, unheard
music: ends, unheard
truck: ends, and leaves its voice
horn: ends, and leaves its voice
speech: ends, and leaves its voice
OUTPUT

check routes retire <<'OUTPUT'
3 threads forwarded their packets, and 0 went astray
after 500 changes 0 old tables are held back
OUTPUT

check connections objects <<'OUTPUT'
320 of 320 requests answered
8 clients, no more than 3 connections at once
connections were used again, and replaced when the server had hung up
1 idle connection stays open
OUTPUT

# Without a file descriptor for the server it ends, and says why.
if has objects; then
    # shellcheck disable=SC3045 # all shells have this limit
    output=$({ ulimit -n 7 && exec timeout 60 "$EXAMPLES/connections"; } 2>&1)
    status=$?
    case $status:$output in
    1:*"no connection: "*) ;;
    *)
        failed=$((failed + 1))
        printf 'FAIL: connections with 7 descriptors exits with %d and prints\n%s\n' $status "$output"
        ;;
    esac
fi

if [ $failed -ne 0 ]; then
    echo "$failed failed"
    exit 1
fi
echo "all passed"
