#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-planted.sh - every edit of tests/planted/list.txt changes one line of the sources as
# they are, and the tests that shall find the bug exist.

. "${srcdir:-.}/tests/harness/script.sh"
tests=$top/tests
list=$tests/planted/list.txt

sh "$tests/planted/plant.sh" --check "$tests/../lib" || status=1

[ -z "$(cut -d '|' -f 1 "$list" | grep -v '^#' | grep . | sort | uniq -d)" ] ||
    complain "list.txt: a name stands twice"

# Those of `make model`.
checked=$(sed -n '/^model_names = /,/[^\\]$/s/[^a-z_]/ /gp' "$tests/model/local.mk")

for word in $(grep -v '^#' "$list" | cut -d '|' -f 3 | sed 's/sound:.*//; s/same code//' |
    tr ' ' '\n' | sort -u); do
    case $word in
    weak:*)
        [ -e "$tests/model/${word#*:}.c" ] ||
            grep -q "^${word#*:} *|" "$tests/model/variants.txt" "$tests/weak/whole.txt" ||
            complain "list.txt: no model $word"
        ;;
    model:* | genmc:*)
        printf '%s\n' $checked | grep -qx "${word#*:}" ||
            complain "list.txt: the exhaustive check runs no model $word"
        ;;
    explorer:*)
        grep -q "\"${word#*:}\"" "$tests"/sched/*.c || complain "list.txt: no scenario $word"
        ;;
    explorer | stress) ;;
    check_*)
        grep -q "/$word\( \|\$\)" "$tests"/*/local.mk "$tests"/../ext/*/local.mk || complain "list.txt: no program $word"
        ;;
    *) complain "list.txt: $word is no test" ;;
    esac
done
exit "$status"
