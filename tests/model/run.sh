#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh - runs models under GenMC, a model checker for C11 programs.
#
#   run.sh LIB MODEL...
#
# LIB     folder of the library's sources that are checked
# MODEL   names of models here, without .c, or of variants.txt
# GENMC   the checker, by default the one in the path
#
# Prints a line for each model: how many executions were explored, and how many
# were dropped because they had chosen a failure that could not be.  Exit status:
# 0, all hold; 1, one fails; 77, skipped, there is no checker.
#
# Which of the checker's simplifications are off, and why:
#   spin-assume      drops iterations that failed, and with them the failure
#                    order of their compare-and-swap
#   function-inliner does not come to an end on cache.c
#   ipr              takes unordered writes for an error
#   mm-detector, estimation: no use here

here=$(dirname "$0")
lib=$1
shift

genmc=$(command -v "${GENMC:-genmc}") || {
    echo "skipped: no genmc"
    exit 77
}

# The value of a line of the checker's report, or 0 if it is not there.
figure() {
    sed -n "s/^$1: *//p" "$report" | grep . || echo 0
}

report=$(mktemp) || exit 1
trap 'rm -f "$report"' EXIT

failed=0
for model in "$@"; do
    line=$(grep "^$model *|" "$here/variants.txt" || echo "|$model.c")
    source=$(echo "$line" | cut -d '|' -f 2 | tr -d ' ')
    # shellcheck disable=SC2046 # several words
    "$genmc" --rc11 --disable-spin-assume --disable-function-inliner \
        --disable-ipr --disable-mm-detector --disable-estimation -- \
        -std=c11 -Wno-gnu-variable-sized-type-not-at-end -I"$lib" -I"$lib/../ext" -I"$here" -I"$here/../../include" \
        $(echo "$line" | cut -s -d '|' -f 3) "$here/$source" >"$report" 2>&1
    status=$?
    complete=$(figure 'Number of complete executions explored')
    dropped=$(figure 'Number of blocked executions seen')
    verdict=holds
    # Five warnings are no finding.  One is of names for the checker's reports, and one tells
    # that a structure is copied member by member.  One is of a memset that clears memory of a
    # model that is zero already.
    if grep -q '^Error' "$report"; then
        verdict="FAILS: $(sed -n 's/^Error: *//p' "$report" | head -n 1)"
    elif [ $status -ne 0 ] || [ "$complete" -eq 0 ] ||
        grep -i warning "$report" | grep -qv \
            'Unfreed memory\|Unordered writes\|naming info\|Memory intrinsic\|mem intrinsic'; then
        verdict="NOT CHECKED (status $status)"
    fi
    printf '%-16s %8s explored %8s dropped %9s  %s\n' "$model" "$complete" "$dropped" \
        "$(figure 'Total wall-clock time')" "$verdict"
    if [ "$verdict" != holds ]; then
        failed=1
        # The lines of the report beside the events of the execution.
        grep -v '^[[:space:]]*([0-9]' "$report" | head -n "${MODEL_LINES:-20}"
    fi
done
exit $failed
