#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-text.sh - what a program with one typed pool pays in text and in bss, linked with the
# static library that `gcc -O2` makes, is within a budget: linked as it is, and with
# -Wl,--gc-sections.  As it is linked, its text has a ceiling, too (check-ceilings.sh), and the
# budget is the ratchet above it.
#
#   check-text.sh        compares
#   check-text.sh -l     and prints each object's text, and the object and the symbol that
#                        drew it in
#
# A function that a typed program does not reach stands in another file than those that it reaches,
# where that saves enough.  The budget is what gcc 12 has reached, and raised for a reason alone:
# from 73000 and 63000 for sampled slots, which CPOOL_OPTIONS turns on in any program.
# Other versions may take a fiftieth more.

. "${srcdir:-.}/tests/harness/script.sh"
ceiling=60000
budget=80000    # bytes, on x86-64
collected=69500 # with --gc-sections
blank=16384     # of bss, linked either way
compiler=${CC:-cc}

# shellcheck disable=SC2086 # the compiler may have options of its own
macros=$($compiler -dM -E -xc /dev/null) || exit 1
case $macros in
*__clang__*) macros= ;;
*__SANITIZE_*) macros= ;;
esac
case $macros in
*__GNUC__*__x86_64__* | *__x86_64__*__GNUC__*) ;;
*)
    echo 'SKIP: text: the budget is for gcc on x86-64, without sanitizers'
    exit 77
    ;;
esac

if [ "$($compiler -dumpversion | cut -d. -f1)" -ne 12 ]; then
    budget=$((budget + budget / 50)) collected=$((collected + collected / 50))
fi
flags="-std=c11 -O2 -ffunction-sections -fdata-sections -D_GNU_SOURCE -DCPOOL_TSAN=0 -I$top/include -I$top/lib -I$top/ext -Iinclude"

for source in "$top"/lib/*/*.c "$top"/ext/*/*.c; do
    object=${source##*/}
    # shellcheck disable=SC2086 # several words
    $compiler $flags -c "$source" -o "$work/${object%.c}.o" || exit 1
done
ar rc "$work/libcpool.a" "$work"/*.o || exit 1

cat > "$work/empty.c" << 'END'
int main(void) { return 0; }
END
cat > "$work/program.c" << 'END'
#include <cpool.h>
struct job { long words[8]; };
CPOOL_DECLARE(jobs, struct job);
CPOOL_DEFINE(jobs, struct job, .capacity = 1000);
int main(void)
{
    struct job *job = jobs_alloc();

    jobs_free(job);
    return job == NULL;
}
END

# sizes NAME [OPTION] - bytes of text and of bss of the program, linked with the library as far
# as it needs it
sizes() {
    # shellcheck disable=SC2086 # several words
    $compiler $flags "$work/$1.c" "$work/libcpool.a" -pthread -Wl,-Map="$work/$1.map" ${2:-} \
        -o "$work/$1" && size "$work/$1" | awk 'NR == 2 { print $1, $3 }'
}

# paid [OPTION] - what the pool costs, when the program was seen to work
paid() {
    empty=$(sizes empty "$@") && program=$(sizes program "$@") || exit 1
    "$work/program" || { echo 'the program fails' >&2; exit 1; }
    echo $((${program% *} - ${empty% *})) $((${program#* } - ${empty#* }))
}

least=$(paid -Wl,--gc-sections) || exit 1
paid=$(paid) || exit 1
bss=${paid#* }
[ "${least#* }" -le "$bss" ] || bss=${least#* }
paid=${paid% *}
least=${least% *}

# The objects are those that the linker's map names first, each with a cause.
objects() {
    sed -n '/^Archive member/,/^Discarded\|^Memory/p' "$work/program.map" |
        awk '/^[^ ].*libcpool\.a\(/ { sub(/.*\(/, ""); sub(/\).*/, ""); object = $0 }
            /^ .*\(/ && object != "" { sub(/^.*\//, ""); print object, $0; object = "" }' |
        while read -r object cause; do
            printf '%7d  %-20s %s\n' "$(size "$work/$object" | awk 'NR == 2 { print $1 }')" \
                "$object" "$cause"
        done | sort -rn
}

[ "${1:-}" != -l ] || objects
above=
[ "$paid" -le "$ceiling" ] || above=", above its ceiling of $ceiling"
echo "$paid bytes of text for one typed pool, budget $budget$above"
echo "$least with --gc-sections, budget $collected"
echo "$bss bytes of bss, budget $blank"
[ "$bss" -le "$blank" ] || { echo 'descriptors and large tables are reserved, not linked'; exit 1; }
[ "$paid" -le "$budget" ] && [ "$least" -le "$collected" ] && exit 0
objects | head -n 12
exit 1
