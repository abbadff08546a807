#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-ways.sh - holds how many files of lib/ an alloc enters out of line: one that swaps the
# loaded magazine with a spare, one that exchanges it with the depot, and one that finds the pool
# dry.  A reader who follows such an alloc reads these files.
#
#   check-ways.sh        compares
#   check-ways.sh -v     and lists the files
#
# The sources are compiled without optimisation, so that inline functions are entered by a call
# too, and with -finstrument-functions, which notes the address of each function entered.
# addr2line names its file.

. "${srcdir:-.}/tests/harness/script.sh"
compiler=${CC:-cc}
command -v addr2line > /dev/null || { echo 'SKIP: ways: no addr2line'; exit 77; }

cat > "$work/ways.c" << 'END'
#include <stdio.h>
#include <stdlib.h>
#include <cpool.h>

#define ROUNDS 16u
#define SLOTS (64u * ROUNDS)

static void *functions[100000];
static size_t entered;
static int notes;

__attribute__((__no_instrument_function__)) void __cyg_profile_func_enter(void *function, void *site);
__attribute__((__no_instrument_function__)) void __cyg_profile_func_exit(void *function, void *site);

void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    if (notes && entered < sizeof functions / sizeof functions[0])
        functions[entered++] = function;
}

void __cyg_profile_func_exit(void *function, void *site)
{
    (void)function;
    (void)site;
}

/* Prints the functions that an alloc enters, with its number before each. */
static void *alloc_noting(cpool_t *pool, unsigned number)
{
    void *slot;
    size_t i;

    entered = 0;
    notes = 1;
    slot = cpool_alloc(pool);
    notes = 0;
    for (i = 0; i < entered; i++)
        printf("%u %p\n", slot != NULL ? number : 0, functions[i]);
    return slot;
}

int main(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    static void *slots[SLOTS];
    unsigned number = 0;
    cpool_t *pool;
    size_t i;

    config.slot_size = 64;
    config.capacity = SLOTS;
    config.magazine_rounds = ROUNDS;
    if (cpool_create(&pool, &config) != 0)
        return 1;
    for (i = 0; i < SLOTS; i++)
        slots[i] = cpool_alloc(pool);
    for (i = 0; i < SLOTS; i++)
        cpool_free(pool, slots[i]);
    while (alloc_noting(pool, ++number) != NULL)
        ;
    return number <= SLOTS;
}
END
# shellcheck disable=SC2086 # the compiler may have options of its own
$compiler -std=c11 -gdwarf-4 -O0 -no-pie -finstrument-functions -D_GNU_SOURCE -I"$top/include" \
    -I"$top/lib" -I"$top/ext" -Iinclude -pthread "$work/ways.c" \
    "$top"/lib/*/*.c "$top"/ext/*/*.c -o "$work/ways" 2> "$work/errors" ||
    { cat "$work/errors"; exit 1; }
"$work/ways" > "$work/noted" || { echo 'check-ways: the program failed'; exit 1; }
awk '!seen[$2]++ { print $2 }' "$work/noted" > "$work/addresses"
addr2line -f -e "$work/ways" < "$work/addresses" | sed 's/ (discriminator.*//; s/:[0-9?]*$//' |
    paste - - > "$work/places"
# A line for each function of an alloc: its number, the function, its file.
paste "$work/addresses" "$work/places" | awk '
    NR == FNR { function_of[$1] = $2; sub(/.*\/lib\//, "lib/", $3); file_of[$1] = $3; next }
    file_of[$2] ~ /^lib\// { print $1, function_of[$2], file_of[$2] }
' - "$work/noted" > "$work/all"

# way NAME FUNCTION ANOTHER MOST: of the last alloc that enters the one function and not the other
way() {
    number=0
    [ "$1" = dry ] || number=$(awk -v with="$2" -v without="$3" '
        $2 == with { has[$1] = 1 } $2 == without { bad[$1] = 1 }
        END { for (n in has) if (n != 0 && !(n in bad) && n > last) last = n + 0; print last + 0 }
    ' "$work/all")
    awk -v number="$number" '$1 == number { print $3 }' "$work/all" | sort -u > "$work/files"
    files=$(wc -l < "$work/files")
    verdict=
    if [ "$files" -eq 0 ] || [ "$files" -gt "$4" ]; then
        verdict='  ABOVE ITS CEILING, OR NOT SEEN' status=1
    fi
    printf 'files that %-10s enters %24s of %3s%s\n' "$1" "$files" "$4" "$verdict"
    [ "$verbose" = no ] || sed 's/^/    /' "$work/files"
}

verbose=no
[ "${1:-}" != -v ] || verbose=yes
way swap cpi_cache_refill_from_spare cpi_cache_refill_from_depot 3
way exchange cpi_cache_refill_from_depot cpi_cache_refill_slow 5
way dry '' '' 10
exit "$status"
