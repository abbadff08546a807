#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh - runs models under the explorer of weak memory.
#
#   run.sh LIB MODEL...
#
# LIB              folder of the library's sources that are checked
# MODEL            names of models in tests/model, without .c, or of variants.txt there, or
#                  of whole.txt
# CC               the compiler, which has to know -fsanitize=thread
# WEAK_EXECUTIONS  how many executions of each model, 20000 by default.  A model of
#                  whole.txt with MODEL_SHARE has that part of them
# WEAK_SEED        the origin of their random choices, 1 by default
# WEAK_REPLAY      a seed that a failure printed: that execution alone, each step
# WEAK_OBJECTS     folder in which the explorer's objects are kept from one call to
#                  the next
#
# Prints a line for each model, as tests/model/run.sh does.  Exit status: 0, all
# hold; 1, one fails; 77, skipped, the compiler or the system lacks something.

here=$(dirname "$0")
top=$(cd "$here/../.." && pwd)
models=$here/../model
lib=$1
shift

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
objects=${WEAK_OBJECTS:-$work}
log=$work/log

skip() {
    echo "skipped: $1"
    tail -n 3 "$log"
    exit 77
}

. "$here/build.sh"

# The line of the source in place of a data race's address, if there is a tool.
places() {
    while IFS= read -r line; do
        address=$(expr "$line" : '.* at \(0x[0-9a-f]*\)[,:] ' || true)
        place=$(addr2line -e "$program" "$(printf %#x $((address - 1)))" 2>/dev/null)
        [ -z "$address" ] || [ -z "$place" ] ||
            line="${line%% at 0x*} at ${place##*/}${line#* at "$address"}"
        printf '%s\n' "$line"
    done
}

failed=0
for model in "$@"; do
    program=$work/$model
    printf '%-22s ' "$model"
    line=$(grep -h "^$model *|" "$here/whole.txt" "$models/variants.txt" || echo "|$model.c")
    source=$(echo "$line" | cut -d '|' -f 2 | tr -d ' ')
    case $model in
    whole_*) set -- build_whole "$source" ;;
    *) set -- build_model "$models/$source" ;;
    esac
    # shellcheck disable=SC2046 # several words
    "$@" "$program" $(echo "$line" | cut -s -d '|' -f 3) || {
        echo "NOT CHECKED: it does not compile or link"
        cat "$log"
        failed=1
        continue
    }
    # A model with long executions has a part of them.
    share=$(echo "$line" | sed -n 's/.*-DMODEL_SHARE=\([0-9]*\).*/\1/p')
    # shellcheck disable=SC2086 # two words
    "$program" --executions $((${WEAK_EXECUTIONS:-20000} / ${share:-1})) --seed "${WEAK_SEED:-1}" \
        ${WEAK_REPLAY:+--replay $WEAK_REPLAY} >"$log" 2>&1
    status=$?
    places <"$log"
    [ $status -eq 0 ] || failed=1
done
exit $failed
