#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-analyze.sh - gcc -fanalyzer and clang --analyze find mistakes with slots by the header's
# form for analysis (<cpool/analyze.h>), and none in right programs.  In that form a program
# compiles without a warning, and works.
#
# srcdir: top of the source tree.  CC: the configured compiler.  Run in the top of the
# build tree.  Exit status: 77 without either of them.

. "${srcdir:-.}/tests/harness/script.sh"
warnings='-std=c11 -Wall -Wextra -Wpedantic -Wredundant-decls -Wmissing-prototypes -Werror'

cat > "$work/head.h" << 'END'
#include <stdlib.h>
#include <cpool.h>
#include <cpool/sized.h>
struct job { int number; struct job *next; };
CPOOL_DECLARE(jobs, struct job);
CPOOL_DECLARE(tasks, struct job);
int use(cpool_t *pool, cpool_cache_t *cache, cpool_sized_t *blocks, struct job **list);
END

# function_of NAME BODY - a function with one job.  The compiler takes it for a file of this name.
function_of() {
    cat << END
#line 1 "$1"
int $1(cpool_t *pool, cpool_cache_t *cache, cpool_sized_t *blocks, struct job **list)
{
    struct job *job;
    (void)pool; (void)cache; (void)blocks; (void)list;
    $2
    return 0;
}
END
}

# Each compiler runs once for all functions: they are many, and short.
found=0
number=0
cp "$work/head.h" "$work/bodies.c"

# note GCC CLANG BODY - one more function, of which they have to say that, or nothing if it is
# empty.  Clang is not asked where it is `-`.
note() {
    number=$((number + 1))
    function_of "body_$number" "$3" >> "$work/bodies.c"
    printf '%s|%s|%s|%s\n' "body_$number" "$1" "$2" "$3" >> "$work/expected"
}
# wrong GCC CLANG BODY - each finds that.
wrong() {
    note "$1" "${2:--}" "$3"
    found=$((found + 1))
}
right() {
    note '' '' "$1"
}

# complain COMPILER PATTERN NAME BODY
complain() {
    echo "$1 does not say '$2' of: $4"
    grep "^$3:" "$work/$1" | sed 's/^/  | /'
    status=1
}

# compare COMPILER COLUMN - what it has said with what is expected.
compare() {
    ! grep 'error:' "$work/$1" || { echo "$1: the functions do not compile"; status=1; return; }
    while IFS='|' read -r name of_gcc of_clang body; do
        [ "$2" = 1 ] && pattern=$of_gcc || pattern=$of_clang
        case $pattern in
        -) ;;
        '') ! grep -q "^$name:" "$work/$1" || complain "$1" '' "$name" "$body" ;;
        *)
            grep -q "^$name:.* warning: .*$pattern" "$work/$1" ||
                complain "$1" "$pattern" "$name" "$body"
            ;;
        esac
    done < "$work/expected"
}

has_gcc='' has_clang=''
if command -v gcc > /dev/null && [ "$(gcc -dumpversion | cut -d. -f1)" -ge 11 ]; then
    has_gcc=yes
else
    echo 'left out: gcc -fanalyzer'
fi
command -v clang > /dev/null && has_clang=yes || echo 'left out: clang --analyze'
[ -n "$has_gcc$has_clang" ] || exit 77

used='analyzer-use-after-free' twice='analyzer-double-free' lost='analyzer-malloc-leak'
other='analyzer-mismatching-deallocation'
# That of gcc 16 takes memory that memset has cleared for known elsewhere.
[ -z "$has_gcc" ] || [ "$(gcc -dumpversion | cut -d. -f1)" -lt 15 ] || lost=-
clang_used='Use of memory after it is freed' clang_twice='Attempt to free released memory'
clang_lost='Potential leak of memory'

# each KIND ALLOC FREE - all mistakes, with the job of this alloc and this free.
each() {
    takes="job = (struct job *)$1; if (job == NULL) return 1; job->number = 1;"
    wrong "$used" "$clang_used" "$takes $2; return job->number;"
    wrong "$twice" "$clang_twice" "$takes $2; $2;"
    wrong "$other" '' "$takes free(job);"
    wrong "$other" '' "job = (struct job *)malloc(sizeof *job); $2;"
    wrong "$lost" "$clang_lost" "$takes"
    right "$takes $2;"
    right "job = (struct job *)$1; $2;"
    right "$takes job->next = *list; *list = job;"
}
each 'jobs_alloc()' 'jobs_free(job)'
each 'jobs_calloc()' 'jobs_free(job)'
each 'tasks_alloc()' 'tasks_free(job)'
each 'cpool_alloc(pool)' 'cpool_free(pool, job)'
each 'cpool_cache_alloc(cache)' 'cpool_cache_free(cache, job)'
each 'cpool_alloc_uncached(pool)' 'cpool_free_uncached(pool, job)'
each 'cpool_alloc_wait(pool, NULL)' 'cpool_free(pool, job)'
each 'cpool_sized_alloc(blocks, sizeof *job)' 'cpool_sized_free(blocks, job)'
each 'cpool_sized_alloc_aligned(blocks, 64, 64)' 'cpool_sized_free(blocks, job)'
wrong "$other" '' 'job = tasks_alloc(); jobs_free(job);'
wrong "$other" '' 'free(cpool_calloc(pool));'
wrong "$other" '' 'free(cpool_sized_calloc(blocks, 1, 9));'

# The functions mix as their contracts say.
right 'job = (struct job *)cpool_calloc(pool); if (job != NULL && job->number == 0) cpool_free_uncached(pool, job); else cpool_free(pool, job);'
right 'job = (struct job *)cpool_alloc(pool); cpool_cache_free(cache, job);'
right 'job = jobs_alloc(); jobs_free_bulk(&job, 1);'
right 'if (jobs_alloc_bulk(&job, 1, 0) == 1) { job->number = 1; jobs_free(job); }'
right 'while ((job = *list) != NULL) { *list = job->next; jobs_free(job); }'
right 'job = (struct job *)cpool_sized_calloc(blocks, 1, sizeof *job); if (job != NULL && job->number == 0) job = (struct job *)cpool_sized_realloc(blocks, job, 99); cpool_sized_free(blocks, job);'

if [ -n "$has_gcc" ]; then
    gcc -std=c11 -O1 -DCPOOL_ANALYZE -fanalyzer -I"$top/include" -Iinclude -c "$work/bodies.c" \
        -o "$work/bodies.o" > "$work/gcc" 2>&1
    compare gcc 1
fi
if [ -n "$has_clang" ]; then
    clang --analyze --analyzer-output text -std=c11 -I"$top/include" -Iinclude "$work/bodies.c" \
        > "$work/clang" 2>&1
    compare clang 2
fi

# Programs of two files, one of them in the form for analysis.
cat > "$work/main.c" << 'END'
#include "head.h"
CPOOL_DEFINE(jobs, struct job, .capacity = 10);
CPOOL_DEFINE(tasks, struct job, .capacity = 10);
int main(void)
{
    struct job *job = jobs_alloc();
    struct job *task = tasks_calloc();

    if (job == NULL || task == NULL || task->number != 0)
        return 1;
    job->next = task;
    if (use(jobs_pool(), NULL, NULL, &job) != 0 || job != NULL)
        return 2;
    return jobs_close() != 0 ? 3 : tasks_close() != 0 ? 4 : 0;
}
END
{ cat "$work/head.h" && function_of use 'job = *list; *list = NULL; tasks_free(job->next); jobs_free_bulk(&job, 1);
    if ((job = jobs_alloc()) == NULL) return 1;
    cpool_free(pool, job);'; } > "$work/body.c"
for compiler in "${CC:-cc}" gcc clang; do
    # shellcheck disable=SC2086 # a compiler may come with options
    set -- $compiler
    command -v "$1" > /dev/null || continue
    for main in '' -DCPOOL_ANALYZE; do
        # shellcheck disable=SC2086 # several words
        "$@" $warnings -O2 -I"$top/include" -Iinclude $main -c "$work/main.c" -o "$work/main.o" &&
            "$@" $warnings -O2 -I"$top/include" -Iinclude -DCPOOL_ANALYZE -c "$work/body.c" \
                -o "$work/body.o" &&
            "$@" "$work/main.o" "$work/body.o" "$library" -pthread -Wl,-rpath,"$(pwd)/lib/.libs" \
                -o "$work/program" && "$work/program" && continue
        echo "a program in the form for analysis fails with $? ($compiler $main)"
        status=1
    done
done

# In C++ two namespaces of a file may have pools of one name.
cat > "$work/names.cpp" << 'END'
#include <cpool.h>
struct job { int number; };
namespace first {
CPOOL_DECLARE(jobs, job);
CPOOL_DEFINE(jobs, job, .capacity = 10);
}
namespace second {
CPOOL_DECLARE(jobs, job);
CPOOL_DEFINE(jobs, job, .capacity = 10);
}
int main()
{
    job *one = first::jobs_alloc(), *two = second::jobs_alloc();

    if (one == nullptr || two == nullptr)
        return 1;
    first::jobs_free(one);
    second::jobs_free(two);
    return first::jobs_close() != 0 || second::jobs_close() != 0 ? 2 : 0;
}
END
for compiler in g++ clang++; do
    command -v "$compiler" > /dev/null || continue
    "$compiler" -std=c++20 -Wall -Wextra -Wredundant-decls -Werror -I"$top/include" -Iinclude \
        -DCPOOL_ANALYZE "$work/names.cpp" "$library" -pthread \
        -Wl,-rpath,"$(pwd)/lib/.libs" -o "$work/program" && "$work/program" && continue
    echo "pools of one name in two namespaces fail with $? ($compiler)"
    status=1
done

[ "$status" -ne 0 ] || echo "$found mistakes found"
exit "$status"
