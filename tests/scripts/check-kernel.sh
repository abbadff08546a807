#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-kernel.sh - the kernel builds and works without any feature.
#
# Copies the sources, takes away every folder of lib/README.md below the kernel's five, and their
# lines in lib/features/list.c, builds what is left of lib/sources.mk with -Werror, and runs
# the tests of the kernel's folders, and the public ones, that need nothing else.  A test needs
# a feature if it does not build without it, or names a flag or a setting that a feature serves.
# Where the harness names such a flag, its pools are plain instead.
#
# Settings of features are refused.
#
# srcdir: top of the source tree.  CC: the configured compiler.  Run in the top of the
# build tree, or in the top of the sources.

set -u
top=$(cd "${srcdir:-.}" && pwd) || exit 1
compiler=${CC:-cc}
least=20     # programs that have run
kernel='base host store cache pool'

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/o" "$work/h" "$work/t"
cp -r "$top/lib" "$top/include" "$top/tests" "$work" || exit 1

features=
for folder in $(sed -n 's/^| `\([a-z]*\)\/` .*/\1/p' "$top/lib/README.md"); do
    case " $kernel features " in *" $folder "*) continue ;; esac
    features="$features $folder"
done
flags_of=$(cd "$work/lib" && echo $features | tr ' ' '\n' | sed 's|.*|&/*.c|' | xargs sh -c \
    'cat $* | grep -oh "\.flags = CPOOL_[A-Z]*" | sed "s/.*= //" | sort -u' sh)
for folder in $features; do
    rm -r "$work/lib/$folder" || exit 1
    sed -i "/#include \"$folder\//d" "$work/lib/features/list.c"
done
sed -i -e '/^    \[CPI_PART_/d' -e 's/^};/    NULL};/' "$work/lib/features/list.c"

# --- The kernel ---

warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'
flags="-std=c11 -D_GNU_SOURCE -O2 -ffunction-sections -fdata-sections -pthread -I$work/lib -I$work/include"
sources=$(grep -o 'lib/[a-z]*/[a-z_]*\.c' "$top/lib/sources.mk" | while read -r source; do
    [ ! -e "$work/$source" ] || echo "$work/$source"
done)
count=$(echo "$sources" | wc -l)
[ "$count" -gt 30 ] || { echo "only $count sources of the kernel"; exit 1; }
# shellcheck disable=SC2086 # several words
(cd "$work/o" && echo "$sources" | xargs -P 4 -n 6 $compiler $flags $warnings -c) || exit 1
ar rc "$work/libkernel.a" "$work"/o/*.o || exit 1

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
# shellcheck disable=SC2086 # several words
$compiler $flags "$work/program.c" "$work/libkernel.a" -Wl,--gc-sections -o "$work/program" &&
    "$work/program" || { echo 'a program with the kernel alone fails'; exit 1; }

cat > "$work/refused.c" << 'END'
#include <cpool.h>
static int code(unsigned flags)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *pool;

    config.slot_size = 64;
    config.capacity = 100;
    config.flags = flags;
    return cpool_create(&pool, &config);
}
int main(void)
{
    return code(0) != 0 || code(CPOOL_CHECKED) != CPOOL_EFLAGS || code(CPOOL_FILL) != CPOOL_EFLAGS;
}
END
# shellcheck disable=SC2086 # several words
$compiler $flags "$work/refused.c" "$work/libkernel.a" -o "$work/refused" && "$work/refused" ||
    { echo 'the kernel accepts a setting of a feature'; exit 1; }

echo "$count sources"

# --- Its tests ---

libs=${CHECK_LIBS-$(pkg-config --libs check 2> /dev/null)}
[ -n "$libs" ] || { echo 'SKIP: the tests need Check'; exit 77; }
test_flags="$flags -I$work/tests/harness ${CHECK_CFLAGS:-}"
names=$(echo "$flags_of" | tr '\n' '|' | sed 's/|$//')
[ -n "$names" ] || { echo 'no feature serves a flag'; exit 1; }
sed -i -E "s/\<($names)\>/0/g" "$work"/tests/harness/*.[ch]
# shellcheck disable=SC2086 # several words
for source in "$work"/tests/harness/*.c; do
    case $source in */points.c | */limit.c) continue ;; esac
    $compiler $test_flags -c "$source" -o "$work/h/$(basename "$source" .c).o" 2> /dev/null
done
ar rc "$work/libharness.a" "$work"/h/*.o || exit 1

ran=0
failed=0
for source in $(for folder in $kernel; do echo "$work/tests/modules/$folder"/check_*.c; done) \
    "$work"/tests/public/check_*.c; do
    program=$work/t/$(basename "$source" .c)
    ! grep -qE "\<($names|CPOOL_OPTIONS)\>" "$source" || continue
    # What no test calls in the harness may need a feature.
    # shellcheck disable=SC2086 # several words
    $compiler $test_flags "$source" "$work/libharness.a" "$work/libkernel.a" \
        $libs -ldl -lm -Wl,--gc-sections -o "$program" 2> /dev/null || continue
    ran=$((ran + 1))
    (cd "$work/t" && CK_TIMEOUT_MULTIPLIER=4 "$program") > "$program.log" 2>&1
    status=$?
    [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || {
        failed=$((failed + 1))
        echo "FAILED: ${source#"$work/"}"
        tail -n 3 "$program.log"
    }
done
echo "$ran programs of the kernel's tests, $failed failed"
[ "$ran" -ge "$least" ] || { echo "these are fewer than $least"; exit 1; }
[ "$failed" -eq 0 ]
