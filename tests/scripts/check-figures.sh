#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-figures.sh - holds figures in documents against the sources that they come from.
#
#   instructions  the table of doc/PERFORMANCE.md has the counts of
#                 bench/golden-instructions.txt, for gcc and clang
#   facts         a document has the words on the left, and a source the line on the right

. "${srcdir:-.}/tests/harness/script.sh"
cd "$top" || exit 1

# --- Instructions: "N / M" in the columns of an alloc and of a free ---

awk -F '|' '
    FNR == NR { split($0, part, " ")
                if (part[1] == "x86_64") golden[part[2], part[5]] = 1
                next }
    /^## / { on = /^## Instructions/ }
    on && /^\|.*[0-9] \/ [0-9]/ {
        for (i = 3; i <= 4; i++)
            if (split($i, count, "/") == 2) {
                figures++
                for (j = 1; j <= 2; j++) {
                    gsub(/[ ,]/, "", count[j])
                    if (!((j == 1 ? "gcc-12" : "clang-14", count[j]) in golden)) {
                        print FILENAME ":" FNR ": no golden count is" $i
                        bad = 1
                    }
                }
            }
    }
    END {
        if (figures < 20) { print "only " figures + 0 " counts were found"; bad = 1 }
        exit bad
    }' bench/golden-instructions.txt doc/PERFORMANCE.md || status=1

# --- Facts ---

# fact DOCUMENT WORDS SOURCE TEXT - one line of each.
# shellcheck disable=SC2016 # the backquotes are meant
facts=0
fact() {
    facts=$((facts + 1))
    grep -qF -- "$2" "$1" || complain "$1: no longer says: $2"
    grep -qF -- "$4" "$3" || complain "$3: no longer has: $4, as $1 says: $2"
}
fact doc/TESTING.md 'the first 800 of each scenario' tests/sched/check_schedules.c '#define QUICK_RUNS 800'
fact doc/TESTING.md 'draws 20,000' tests/sched/check_schedules.c '#define RANDOM_RUNS 20000'
fact doc/TESTING.md 'at random (500,000)' tests/sched/local.mk 'SCHED_RANDOM = 500000'
fact doc/TESTING.md '| 1,000 executions | 8,000 |' tests/weak/models.sh 'default=8000'
fact doc/TESTING.md '| 1,000 executions | 8,000 |' tests/weak/models.sh 'default=1000'
fact doc/TESTING.md 'after 6,000 steps' tests/weak/weak_threads.c 'STEPS_MAX = 6000'
fact doc/TESTING.md '`STRESS_SECONDS` (60' stress/local.mk 'STRESS_SECONDS = 60'
fact doc/TESTING.md '20 times (`OFTEN`)' tests/local.mk 'OFTEN = 20'
fact doc/TESTING.md 'seconds (600, or 0' tests/harness/limit.c 'DEFAULT_LIMIT = 600'
fact doc/TESTING.md 'requires 95 and 85 per cent' tests/analysis/coverage.sh 'COVERAGE_LINES:-95'
fact doc/TESTING.md 'requires 95 and 85 per cent' tests/analysis/coverage.sh 'COVERAGE_BRANCHES:-85'
fact doc/DESIGN.md '512 for 63 rounds, 2176 for 271' lib/pool/config.c 'ROUNDS_DEFAULT ((size_t)63)'
fact doc/DESIGN.md '512 for 63 rounds, 2176 for 271' lib/pool/config.c 'ROUNDS_LARGE ((size_t)271)'
fact doc/DESIGN.md '16,383 (1,023 on 32-bit' lib/process/descriptor.h '16384u : 1024u'
fact doc/DESIGN.md 'not before 1,023 others' lib/process/descriptor.h '1023u : 255u'
fact doc/CONCURRENCY.md 'waited for 1 ms' lib/wait/waiters.h 'CPI_STARVING_AFTER 1000000u'
kilobytes() { sed -n "s/^$1=\([0-9]*\) .*/\1/p" tests/scripts/check-text.sh | awk '{ printf "%.0f KB", $1 / 1000 }'; }
fact doc/ADOPTING.md "carries $(kilobytes budget) of the library, and $(kilobytes collected)" \
    tests/scripts/check-text.sh budget

[ "$status" -ne 0 ] || echo "instructions and $facts facts are those of the sources"
exit "$status"
