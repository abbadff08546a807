#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# models.sh - shows that the models notice when the library is wrong.
#
#   models.sh LIB [NAME...]     the sources, and which mutants
#
# CHECKER is the script that runs models: tests/model/run.sh, which uses GenMC, or
# tests/weak/run.sh.  Plants the bugs that list.txt leaves to models one by one in a copy of
# the library, and counts those that it leaves to the other checker.  Exit status: 0, each is killed, or holds and is known to be
# sound; 1, one survived, or its edit no longer applies; 77, skipped, there is no
# checker.

here=$(dirname "$0")
lib=$1
shift

exhaustive=$here/../model/run.sh
checker=${CHECKER:-$exhaustive}
"$checker" "$lib" # no model: says whether there is a checker
[ $? -ne 77 ] || exit 77

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# The explorer compiles itself once.
WEAK_OBJECTS=$work
export WEAK_OBJECTS

# The verdict on the mutant planted in $work/lib, from the models in $1.
judge() {
    for model in $1; do
        line=$(MODEL_LINES=0 "$checker" "$work/lib" "$model")
        case $line in
        *" FAILS: "*)
            echo "killed by $model: ${line##*FAILS: }"
            return
            ;;
        *" holds") ;;
        *)
            echo "not checked: $line"
            return
            ;;
        esac
    done
    echo "survives $1"
}

own=weak
[ "$checker" != "$exhaustive" ] || own=genmc
. "$here/share.sh"
killed=0
sound=0
left=0
failed=0
while IFS='|' read -r name file by edit; do
    name=$(echo $name)
    file=$(echo $file)
    case $name in '' | '#'*) continue ;; esac
    if [ $# -gt 0 ]; then
        case " $* " in *" $name "*) ;; *) continue ;; esac
    fi
    models=
    others=
    for word in ${by%%sound:*}; do
        case $word in
        model:* | "$own:"*) models="$models ${word#*:}" ;;
        genmc:* | weak:*) others="$others ${word#*:}" ;;
        esac
    done
    if [ -z "$models" ]; then
        [ -z "$others" ] || left=$((left + 1))
        continue
    fi
    in_share || continue
    rm -rf "$work/lib"
    if ! "$here/plant.sh" "$lib" "$work/lib" "$name"; then
        failed=$((failed + 1))
        continue
    fi
    verdict=$(judge "${models# }")
    case $by:$verdict in
    *sound:*:survives*)
        verdict="sound, holds in ${verdict#survives }"
        sound=$((sound + 1))
        ;;
    *:killed*) killed=$((killed + 1)) ;;
    *)
        verdict="FAILED: $verdict"
        failed=$((failed + 1))
        ;;
    esac
    printf '%-20s %-10s  %s\n' "$name" "$file" "$verdict"
done <"${PLANTED_LIST:-$here/list.txt}"
echo "$killed killed, $sound sound, $failed failed, $left left to the other checker"
[ $failed -eq 0 ] && [ $((killed + sound)) -gt 0 ]
