#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh - runs unit tests, by way of an emulator or another launcher.
#
#   run.sh RESULTS PROGRAM...
#
# RESULTS    folder for each program's log, and its result as automake writes it
# PROGRAM    of the configured tree that is the working directory
#
# Environment:
#   MACHINES_LAUNCH   the words to put before a program's name
#   MACHINES_LIMIT    this machine's tests/harness/limit
#   MACHINES_TRAITS   words that describe the machine
#
# A failure that a line of known.txt explains, for one of the traits, counts as skipped:
# the test was run, and failed in just that way, for the reason given there.  Any other
# failure is one.  A program with tests that are not to be run at all runs the others
# one by one.  Prints a line for each program, each skipped test with its reason, and
# the sums.  The exit status is 1 if a test failed.

here=$(dirname "$0")
results=$1
shift
mkdir -p "$results"
rm -f "$results"/*.log "$results"/*.trs "$results"/skipped "$results"/counts

# judge NAME STATUS < output - holds a program's output against known.txt.  Prints
# "SKIP:", "FAIL:" lines, and as its last one the counts: passed failed skipped.
judge() {
    awk -F ' *[|] *' -v name="$1" -v status="$2" -v traits=" $MACHINES_TRAITS " '
        NR == FNR {
            if (NF == 5 && index(traits, " " $1 " ") && $2 == name && $4 == "-") {
                left_out++
                print "SKIP: " name " " $3 ": not run: " $5
            } else if (NF == 5 && index(traits, " " $1 " ") && $2 == name) {
                n++; test[n] = $3; message[n] = $4; reason[n] = $5
            }
            next
        }
        /^[0-9]+%: Checks: / {
            counted = 1
            split($0, word, /[ ,]+/)
            checks += word[3]; wrong += word[5] + word[7]
        }
        /^SKIP: / { print; next }
        /^skipped [0-9]+ of [0-9]+ tests$/ { skipped_itself += $2; next }
        /^[^ ]+:[0-9]+:[FE]:/ {
            split($0, part, ":")
            told++
            for (i = 1; i <= n; i++)
                if ((part[4] == test[i] || test[i] == "*") && index($0, message[i]))
                    break
            if (i <= n) {
                skipped++
                print "SKIP: " name " " part[4] ":" part[6] ": " reason[i]
            } else {
                print "FAIL: " $0
            }
        }
        END {
            failed = told - skipped
            if (status == 77 && !counted) {
                skipped_itself = 1
            } else if (status == 0 && !counted) {
                checks = 1
            } else if (!counted || told != wrong || (status > 1 && status != 77) ||
                       (status == 1 && told == 0)) {
                print "FAIL: " name ": status " status ", without a report"
                failed++
            }
            passed = checks - told - skipped_itself
            print (passed > 0 ? passed : 0), failed + 0, skipped + left_out + skipped_itself
        }' "$here/known.txt" -
}

# not_run NAME - names of the program's tests that are not to be run
not_run() {
    awk -F ' *[|] *' -v name="$1" -v traits=" $MACHINES_TRAITS " '
        NF == 5 && index(traits, " " $1 " ") && $2 == name && $4 == "-" { print $3 }
    ' "$here/known.txt"
}

# start NAME PROGRAM - runs its tests, all at once if all are to be run.
start() {
    left_out=$(not_run "$1")
    if [ -z "$left_out" ]; then
        # shellcheck disable=SC2086 # several words
        ./libtool --mode=execute ${MACHINES_LIMIT-} $MACHINES_LAUNCH "$2" </dev/null
        return
    fi
    cases=$(sed -En 's/^(START_)?TEST(_TIMES)?\(([a-z0-9_]*)[,)].*/\3/p' "$here/../../$2.c")
    [ -n "$cases" ] || return 2
    worst=77
    for case in $cases; do
        echo "$left_out" | grep -qx "$case" && continue
        [ "$worst" -ne 77 ] || worst=0
        # shellcheck disable=SC2086 # several words
        CK_RUN_CASE=$case ./libtool --mode=execute ${MACHINES_LIMIT-} $MACHINES_LAUNCH "$2" </dev/null || worst=$?
    done
    return $worst
}

failed=0
for program in "$@"; do
    name=${program##*/}
    log=$results/$name.log
    began=$(date +%s)
    start "$name" "$program" >"$results/output" 2>&1
    judge "$name" $? <"$results/output" >"$results/verdict"
    took=$(($(date +%s) - began))
    # shellcheck disable=SC2046 # three words
    set -- $(tail -n 1 "$results/verdict")
    echo "$name $*" >>"$results/counts"
    grep '^SKIP:' "$results/verdict" >>"$results/skipped"
    # The figures in the log are those that count.  The program's own go indented.
    {
        sed 's/^/  /' "$results/output"
        sed '$d' "$results/verdict"
        echo "100%: Checks: $(($1 + $2)), Failures: $2, Errors: 0"
    } >"$log"
    verdict=PASS
    if [ "$2" -ne 0 ]; then
        verdict=FAIL
        failed=1
        grep '^FAIL:' "$results/verdict"
        grep -q '^FAIL:.*without a report$' "$results/verdict" && tail -n 5 "$results/output"
    fi
    echo ":global-test-result: $verdict" >"$results/$name.trs"
    printf '%s: %-24s %4d passed, %d failed, %d skipped, %4d s\n' "$verdict" "$name" \
        "$1" "$2" "$3" "$took"
done
sort "$results/skipped" | sed 's/:[0-9]*: /: /' | uniq
awk '{ p += $2; f += $3; s += $4 }
    END { print "tests: " p + 0 " passed, " f + 0 " failed, " s + 0 " skipped" }' "$results/counts"
rm -f "$results/output" "$results/verdict"
exit $failed
