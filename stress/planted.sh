#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# planted.sh - shows that the stress finds bugs, by planting some.
#
# usage: planted.sh SOURCE_DIR BUILD_DIR SOURCE...
#
# Each row of the table below: plants BUG of tests/planted/list.txt in a copy of the library,
# builds the stress program with it as KIND, and runs MODES in THREADS threads with RUNS
# different seeds until each run fails.  A run that does not fail
# within PLANTED_SECONDS has missed the bug, and so has this script then.  The same
# program without the bug is the stress itself.
#
# Environment: as for build.sh, STRESS_REPEATS in place of every RUNS,
# PLANTED_SECONDS (120), PLANTED_ROWS, a pattern that selects rows (.).
#
# BUG               KIND    MODES      THREADS  RUNS
table='
no-tag              native  same       8        10
no-tag              native  transfer   8        10
no-tag              native  all        8        3
relaxed-pop         tsan    all        4        5
check-none          native  bound      4        3
dry-not-closed      native  bound      4        3
duplicate-round     native  all        4        5
duplicate-round     tsan    all        4        3
lost-magazine       native  all        4        5
lost-magazine       tsan    all        4        3
resolve-any         native  tracked    4        3
typed-created-twice native  typed      4        3
lanes-free-twice    native  lanes      4        3
sized-realloc-forgets     native sized 4        3
fallback-counted-by-store native sized 4        3
sized-class-glanced tsan    sized      4        3
priority-lock-glanced native priority  4        3
object-vacant-twice native  objects    4        3
retire-frees-at-once  native retire    4        3
retire-frees-at-once  tsan  retire     4        3
retire-begins-nothing native retire    4        3
retire-looks-early  native  retire     4        3
'

set -eu

source_dir=$(cd "$1" && pwd)
build_dir=$2
shift 2

limit=${PLANTED_SECONDS:-120}
missed=0

# Copies the sources to DIR with the bug in them.
plant() { # DIR BUG
    rm -rf "$1"
    mkdir -p "$1/tests/harness"
    cp -R "$source_dir/stress" "$source_dir/include" "$1"
    cp "$source_dir/tests/harness/random.h" "$1/tests/harness"
    sh "$source_dir/tests/planted/plant.sh" "$source_dir/lib" "$1/lib" "$2" || exit 1
    chmod -R u+w "$1"
}

# Runs the program until it fails.  Prints how long that took and how it failed.
hunt() { # PROGRAM MODES THREADS SEED LOG TIMES
    start=$(date +%s%N)
    status=0
    # A shell remarks on a crash: this one, to nowhere.
    (
        TSAN_OPTIONS='halt_on_error=1 second_deadlock_stack=1' \
            timeout -k 10 $((limit + 30)) "$1" --seconds "$limit" --mode "$2" \
            --threads "$3" --seed "$4" --quiet >"$5" 2>&1
        exit $?
    ) 2>/dev/null || status=$?
    end=$(date +%s%N)
    elapsed=$(((end - start) / 10000000))
    seconds=$((elapsed / 100)).$(printf '%02d' $((elapsed % 100)))
    how=$(sed -n -e 's/^stress: FAILED: //p' -e 's/^SUMMARY: //p' "$5" | head -n 1)
    where=$(sed -n 's/^stress: mode \([a-z]*\), .*/\1/p' "$5" | head -n 1)
    case $status in
    0)
        echo "  seed $4: MISSED in $seconds s"
        return 1
        ;;
    124 | 137) echo "  seed $4: hung in mode ${where:-unknown}, ended after $seconds s" ;;
    *) echo "  seed $4: $seconds s, mode ${where:-unknown}: ${how:-status $status}" ;;
    esac
    echo "$seconds" >>"$6"
}

# Of how long the runs that found the bug took.
summary() { # TIMES RUNS
    sort -n "$1" | awk -v runs="$2" '
        { time[NR] = $1 }
        END { if (NR > 0) printf "  found in %d of %d runs; seconds: least %s, median %s, most %s\n",
                                 NR, runs, time[1], time[int((NR + 1) / 2)], time[NR] }'
}

row() { # BUG KIND MODES THREADS RUNS SOURCE...
    bug=$1 kind=$2 modes=$3 threads=$4 runs=${STRESS_REPEATS:-$5}
    shift 5
    dir=$build_dir/$bug-$kind
    if [ ! -x "$dir/stress" ]; then
        plant "$dir/source" "$bug"
        # Sources are looked up in the current directory first: so not from a
        # source tree's own.
        absolute=$(cd "$dir" && pwd)
        top=$(pwd)
        (
            STRESS_FLAGS="-I$absolute/source/lib -I$absolute/source/include -I$top -I$top/include ${STRESS_FLAGS-}"
            export STRESS_FLAGS
            cd "$absolute"
            sh source/stress/build.sh "$kind" source . "$@" >build.log 2>&1 || {
                cat build.log >&2
                exit 1
            }
        )
    fi
    echo "$bug ($kind build, mode $modes, $threads threads):"
    times=$dir/times-$modes
    : >"$times"
    seed=0
    while [ $seed -lt "$runs" ]; do
        seed=$((seed + 1))
        hunt "$dir/stress" "$modes" "$threads" "$seed" "$dir/log-$modes-$seed" "$times" ||
            missed=$((missed + 1))
    done
    summary "$times" "$runs"
}

mkdir -p "$build_dir"
rm -rf "${build_dir:?}"/*
printf '%s\n' "$table" | grep . | grep -e "${PLANTED_ROWS:-.}" >"$build_dir/rows"
while read -r bug kind modes threads runs; do
    row "$bug" "$kind" "$modes" "$threads" "$runs" "$@" </dev/null
done <"$build_dir/rows"

if [ $missed -ne 0 ]; then
    echo "planted.sh: $missed runs missed the bug" >&2
    exit 1
fi
echo "planted.sh: every run found its bug"
