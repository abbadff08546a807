#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-headers.sh - each public header compiles alone, as the first thing of a file, in C11 and in
# C++11.  All of them together, with a user's program that uses them and the macros, compile as C99
# to C23 and C++11 to C++23, without a warning, with the configured compilers and with those of GNU
# and LLVM where they are found.
#
# With CPOOL_TEST_QUICK only with the configured compilers, in the oldest and the newest language.

. "${srcdir:-.}/tests/harness/script.sh"
compiled=0

warnings='-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Werror
-pedantic-errors'
warnings_cxx='-Wold-style-cast -Wuseless-cast -Weffc++ -Wcast-qual -Wno-unknown-warning-option'

# A user's actions, and macros for typed pools, in any language.
typed='
#include <cpool.h>
#include <cpool/frame.h>
#include <cpool/object_frame.h>
#include <cpool/object_typed.h>
#include <cpool/print.h>
#include <cpool/retire.h>
#include <cpool/sized.h>
#include <cpool/track.h>
struct job { int number; double number_too; };
CPOOL_DECLARE(jobs, struct job);
CPOOL_DECLARE_HANDLES(jobs, struct job);
CPOOL_DECLARE_FRAMES(jobs, struct job);
CPOOL_DECLARE_NOTICES(jobs, struct job);
CPOOL_DEFINE(jobs, struct job, .capacity = 10);
#if defined(__GNUC__)
CPOOL_DEFINE_INLINE(one, struct job, .capacity = 10);
#endif
CPOOL_OBJECTS_DECLARE(makers, struct job);
CPOOL_OBJECTS_DECLARE_FRAMES(makers, struct job);
CPOOL_OBJECTS_DEFINE(makers, struct job, CPOOL_OBJECT_HOOKS(.create = NULL), .max_capacity = 9, .growth = 1);
int work(void);
int work(void)
{
    cpool_sized_config_t config = CPOOL_SIZED_CONFIG_INIT;
    cpool_iter_t iter = CPOOL_ITER_INIT(jobs_pool(), 0, CPOOL_CAPACITY_MAX);
    struct job *job = jobs_calloc();
    struct job *maker = makers_get();
    config.max_size = CPOOL_SIZED_MAX / CPOOL_SIZED_GRAIN;
    jobs_free(job);
    makers_put(maker);
    if (iter.handle != CPOOL_HANDLE_NONE)
        return CPOOL_ENULL;
    if (jobs_alloc_bulk(&job, config.max_size, 0) > 0)
        jobs_free_bulk(&job, 1);
    return jobs_close();
}
size_t day(cpool_t *pool, cpool_cache_t *cache, cpool_error_handler_t handler);
size_t day(cpool_t *pool, cpool_cache_t *cache, cpool_error_handler_t handler)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_iter_t iter = CPOOL_ITER_INIT(pool, 0, cpool_index_limit(pool));
    void *slots[2];

    config.slot_align = CPOOL_ALIGN_MAX;
    config.capacity = CPOOL_CAPACITY_MAX;
    config.thread_caches = CPOOL_THREAD_CACHES_MAX;
    config.magazine_rounds = CPOOL_ROUNDS_MAX;
    config.flags = CPOOL_CHECKED;
    if (cpool_create(&pool, &config) != CPOOL_OK || cpool_cache_create(&cache, pool) != CPOOL_OK)
        return 0;
    cpool_cache_free(cache, cpool_cache_alloc(cache));
    if (cpool_alloc_bulk(pool, slots, 2, 2) == 2)
        cpool_free_bulk(pool, slots, 2);
    cpool_free_uncached(pool, cpool_alloc_uncached(pool));
    cpool_free(pool, cpool_alloc_wait(pool, NULL));
    cpool_cache_flush(cache);
    if (cpool_iter_next(&iter) == NULL && cpool_wait_close(pool) == 0)
        cpool_wait_open(pool);
    handler = cpool_set_error_handler(handler);
    return cpool_wait_cancel(pool) + cpool_trim(pool) + (handler.report != NULL) +
           cpool_print(pool, CPOOL_DUMP_JSON, stderr);
}
unsigned char *form(cpool_reader_t *reader, cpool_handle_t *handle);
unsigned char *form(cpool_reader_t *reader, cpool_handle_t *handle)
{
    static unsigned char room[CPOOL_MEMORY_BYTES(sizeof(struct job), 10, 2)];
    cpool_iter_t iter = CPOOL_ITER_INIT(jobs_pool(), 0, CPOOL_CAPACITY_MAX);
    cpool_object_frame_t *objects;
    cpool_frame_t *frame;
    struct job *job;

    cpool_read_begin(reader);
    job = jobs_resolve(*handle);
    if (job == NULL)
        job = jobs_iter_next(&iter);
    *handle = jobs_handle(job);
    cpool_read_end(reader);
    if (jobs_frame_begin(&frame) != 0 || jobs_frame_adopt(frame, jobs_frame_alloc(frame)) != 0 ||
        makers_frame_begin(&objects) != 0 || makers_frame_get(objects) == NULL)
        return NULL;
    jobs_free(jobs_alloc_or_notify());
    jobs_free(jobs_alloc_or_notify());
    return room;
}'

# Without GNU extensions.  The C library's headers define types then that gcc knows already.
plain='-U__GNUC__ -U__GNUG__ -D_Float32=float32_ -D_Float64=float64_ -D_Float32x=float32x_ -D_Float64x=float64x_
-Wno-unused-function -Wno-missing-field-initializers'

# knows COMPILER LANGUAGE STANDARD
knows() {
    echo 'int x;' > "$work/empty"
    $1 -x "$2" -std="$3" -fsyntax-only "$work/empty" 2> /dev/null && return
    echo "left out: $1 does not know $3"
    return 1
}

# compile COMPILER LANGUAGE STANDARD FILE [OPTION...]
compile() {
    compiler=$1 language=$2 standard=$3 file=$4
    shift 4
    compiled=$((compiled + 1))
    [ "$language" = c ] && more= || more=$warnings_cxx
    # shellcheck disable=SC2086 # the compiler may have options of its own
    $compiler -x "$language" -std="$standard" $warnings $more -I"$top/include" "$@" \
        -fsyntax-only "$file"
}

public='cpool.h cpool/client.h cpool/debug.h cpool/frame.h cpool/lanes.h cpool/object.h cpool/object_frame.h
cpool/sized.h cpool/pools.h cpool/print.h cpool/priority.h cpool/retire.h cpool/track.h cpool/version.h'

# headers COMPILER LANGUAGE STANDARD OPTION... - those in the file $work/source, with each option.
headers() {
    compiler_of=$1 language_of=$2 standard_of=$3
    shift 3
    for option; do
        # shellcheck disable=SC2086 # several words
        compile "$compiler_of" "$language_of" "$standard_of" "$work/source" $option && continue
        echo "$(head -n 1 "$work/source") does not compile with" \
            "$compiler_of -x $language_of -std=$standard_of $option"
        exit 1
    done
}

# alone COMPILER LANGUAGE STANDARD - each header, twice: the second time nothing may be
# left of it.
alone() {
    for header in $public; do
        printf '#include <%s>\n' "$header" "$header" cpool/version.h > "$work/source"
        echo 'int use = CPOOL_VERSION_MAJOR;' >> "$work/source"
        headers "$1" "$2" "$3" -UCPOOL_NO_INLINE
    done
}

# program LANGUAGE - all headers in one file, each twice in C++, and uses of all that they have.
program() {
    echo '/* all headers */'
    [ "$1" = c ] || echo '#include <cpool/cpool.hpp>'
    printf '#include <%s>\n' $public
    [ "$1" = c ] || echo '#include <cpool/cpool.hpp>'
    echo "$typed"
    [ "$1" = c ] || for part in $cxx_parts; do
        part_body "$part"
    done
}

# whole COMPILER LANGUAGE STANDARD OPTION... - the program, with each option.
whole() {
    knows "$1" "$2" "$3" || return 0
    program "$2" > "$work/source"
    headers "$@"
}

# languages COMPILER LANGUAGE STANDARD... - the whole in each of them, and with options in the
# oldest and the newest one.
languages() {
    whole_compiler=$1 whole_language=$2 without=
    [ "$2" = c ] || without='-fno-exceptions -fno-rtti'
    shift 2
    oldest=$1
    for standard; do
        whole "$whole_compiler" "$whole_language" "$standard" -UCPOOL_NO_INLINE
    done
    for standard in "$oldest" "$standard"; do
        whole "$whole_compiler" "$whole_language" "$standard" \
            '-DCPOOL_NO_INLINE -DCPOOL_API= -D_GNU_SOURCE' "-DCPOOL_ANALYZE $without"
    done
}

# extensionless COMPILER LANGUAGE STANDARD... - a compiler that knows none of GNU's.
extensionless() {
    echo "/* typed pools */ $typed" > "$work/source"
    plain_compiler=$1 plain_language=$2
    shift 2
    for standard; do
        knows "$plain_compiler" "$plain_language" "$standard" || continue
        # shellcheck disable=SC2086 # several options
        compile "$plain_compiler" "$plain_language" "$standard" "$work/source" $plain && continue
        echo "typed pools do not compile without extensions: $plain_compiler -std=$standard"
        exit 1
    done
}

# microsofts - a user's file for Microsoft's compiler, as clang reads it.  The few headers of
# its library that the public headers include are stand-ins.
microsofts() {
    mkdir "$work/windows"
    echo 'typedef long long time_t; struct timespec { time_t tv_sec; long tv_nsec; };' \
        > "$work/windows/time.h"
    for header in 'stdio.h typedef struct FILE FILE; extern FILE *stderr;
        size_t fwrite(const void *, size_t, size_t, FILE *);' 'string.h void *memset(void *, int, size_t);'; do
        printf '#include <stddef.h>\n#ifdef __cplusplus\nextern "C" {\n#endif\n%s\n#ifdef __cplusplus\n}\n#endif\n' \
            "${header#*.h }" > "$work/windows/${header%%.h*}.h"
    done
    echo "/* typed pools */ $typed" > "$work/source"
    target='--target=x86_64-pc-windows-msvc -fms-compatibility -ffreestanding -Wno-unused-function
-Wno-missing-field-initializers'
    for standard in c99 c11 c17 c++20; do
        for option in -UCPOOL_STATIC -DCPOOL_STATIC; do
            # shellcheck disable=SC2086 # several options
            compile clang "$(echo "$standard" | tr -d 0-9)" "$standard" "$work/source" $target \
                -isystem "$work/windows" $option && continue
            echo "typed pools do not compile for Microsoft's compiler, -std=$standard $option"
            exit 1
        done
    done
}

cxx_parts='error pool inplace cache owner live frame sized pooled object retire resource'

# part_body PART - a user's actions with this part, which instantiate its templates.
part_body() {
    echo "namespace $1_user {"
    echo 'struct job { int number; }; void use();'
    echo 'void use() {'
    case $1 in
    error) echo 'cpool::detail::require(cpool_destroy(nullptr));' ;;
    pool) echo 'cpool::pool<job> jobs(9), others(std::move(jobs)); job *one = others.create();
        others.destroy(one); others.wait_close(); (void)others.trim();' ;;
    inplace) echo 'static cpool::inplace_pool<job, 9, 2> jobs; jobs->destroy(jobs->create());' ;;
    cache) echo 'cpool::pool<job> jobs(9); cpool::cache<job> cache(jobs), other(std::move(cache));
        other.destroy(other.create()); other.flush();' ;;
    owner) echo 'cpool::pool<job> jobs(9); cpool::pointer<cpool::pool<job>> one = jobs.make();' ;;
    live) echo 'for (job &each : cpool::live_range<job>(nullptr, 0, 9)) each.number = 1;
        (void)std::hash<cpool::handle<job>>()(cpool::handle<job>());' ;;
    frame) echo 'cpool::frame<job> frame(static_cast<cpool_t *>(nullptr)); (void)frame.create();' ;;
    sized) echo 'cpool::allocator<job> jobs; jobs.deallocate(jobs.allocate(1), 1);
        cpool::sized blocks; blocks.deallocate(blocks.allocate(1));' ;;
    pooled) echo 'struct task : cpool::pooled<> { int number = 0; }; delete new task;' ;;
    object) echo 'cpool::object_pool<job> jobs(9); (void)jobs.get();' ;;
    retire) echo 'cpool::pool<job> jobs(9); cpool::domain domain(1, 4);
        cpool::read_section section(domain);
        cpool::retire_deleter<job>(domain, jobs)(jobs.create());' ;;
    esac
    echo '}'
    [ "$1" != pool ] || echo 'CPOOL_STATIC_POOL(statics, job); void make();
        void make() { using all = cpool::static_pool<job, statics_tag>; all::destroy(all::create()); }'
    [ "$1" != resource ] || echo '#if CPOOL_HAS_PMR_
        void make(); void make() { cpool::sized_resource blocks; cpool::pool_resource slots(8, 8, 9); }
        #endif'
    echo '}'
}

# light COMPILER - those for pools and the allocator stay short.  The time to compile follows
# the lines: with <memory> they are more than twice as many, with <functional> five times.
light() {
    printf '#include <cpool/%s.hpp>\n' pool sized > "$work/light"
    # shellcheck disable=SC2086
    lines=$($1 -x c++ -std=c++17 -I"$top/include" -E -P "$work/light" | wc -l)
    [ "$lines" -le 8500 ] && [ "$lines" -gt 500 ] && return
    echo "<cpool/pool.hpp> and <cpool/sized.hpp> are $lines lines with $1, too many to compile fast"
    exit 1
}

# cxx_each COMPILER - each part alone, and no part but these.
cxx_each() {
    for part in $cxx_parts; do
        { echo "#include <cpool/$part.hpp>"; part_body "$part"; } > "$work/source"
        headers "$1" c++ c++11 -fexceptions
    done
    ! knows "$1" c++ c++17 || headers "$1" c++ c++17 -fexceptions
}

# every CONFIGURED NAME... - the compilers to try, each once.
every() {
    [ -z "$1" ] || echo "$1"
    for name; do
        [ "$name" != "$1" ] && command -v "$name" > /dev/null && echo "$name"
    done
}

every "${CC:-cc}" gcc clang > "$work/c"
every "${CXX:-}" g++ clang++ > "$work/cxx"
standards_c='c99 gnu99 c11 gnu11 c17 c2x gnu2x'
standards_cxx='c++11 c++14 c++17 gnu++17 c++20 c++2b'
if [ -n "${CPOOL_TEST_QUICK:-}" ]; then
    standards_c='c99 gnu2x'
    standards_cxx='c++11 c++2b'
    for list in c cxx; do
        sed -i 1q "$work/$list"
    done
fi

# A new public header belongs into this script.
c_parts='alloc analyze attributes cache create error fast info memory typed wait'
for path in "$top"/include/*.h "$top"/include/cpool/*; do
    name=${path#"$top"/include/}
    case " $(echo $public) cpool/cpool.hpp cpool/object_typed.h$(printf ' cpool/%s.h' $c_parts)$(printf \
        ' cpool/%s.hpp' $cxx_parts) " in
    *" $name "*) ;;
    *)
        echo "$path: is compiled by none of the lines below"
        exit 1
        ;;
    esac
done

# parts HEADER NAME... - these parts of the header say that it is the one to include.
parts() {
    whole=$1
    shift
    for part; do
        echo "#include <cpool/$part.h>" > "$work/part"
        compile "$(head -n 1 "$work/c")" c c11 "$work/part" 2> "$work/message"
        grep -q "include <$whole> instead" "$work/message" || {
            echo "<cpool/$part.h> does not say what to include instead"
            exit 1
        }
    done
}

# shellcheck disable=SC2086 # several names
parts cpool.h $c_parts
parts cpool/object.h object_typed

# First the headers alone, for an error by the name of its header.
alone "$(sed 1q "$work/c")" c c11
if [ -s "$work/cxx" ]; then
    alone "$(sed 1q "$work/cxx")" c++ c++11
    cxx_each "$(sed 1q "$work/cxx")"
fi
# shellcheck disable=SC2086 # several standards
while read -r compiler; do
    languages "$compiler" c $standards_c
    extensionless "$compiler" c c99 c11 c17
done < "$work/c"
# shellcheck disable=SC2086
while read -r compiler; do
    light "$compiler"
    languages "$compiler" c++ $standards_cxx
    extensionless "$compiler" c++ c++20
done < "$work/cxx"

if command -v clang > /dev/null; then
    microsofts
else
    echo "left out: clang in the mode of Microsoft's compiler"
fi

# tidy FILE STANDARD OPTION... - a user's clang-tidy has nothing to say of the macros, or the headers.
tidy() {
    file=$1 standard=$2
    shift 2
    clang-tidy --quiet --config='{}' -warnings-as-errors='*' "$@" "$file" -- -std="$standard" \
        -I"$top/include" > "$work/message" 2> /dev/null && return
    cat "$work/message"
    echo 'clang-tidy warns of the macros for typed pools, or of a header for C++'
    exit 1
}

if [ -n "${CPOOL_TEST_QUICK:-}" ]; then
    echo 'left out here: clang-tidy over the macros for typed pools'
elif command -v clang-tidy > /dev/null; then
    program c > "$work/whole.c"
    program c++ > "$work/whole.cpp"
    tidy "$work/whole.c" c11
    tidy "$work/whole.c" c11 \
        -checks='-*,bugprone-*,-bugprone-easily-swappable-parameters,-bugprone-reserved-identifier'
    tidy "$work/whole.cpp" c++17
else
    echo 'left out: clang-tidy over the macros for typed pools'
fi

# misuse COMPILER STATEMENT - which the compiler has to warn of.
misuse() {
    {
        echo '#include <cpool.h>'
        echo '#include <stdlib.h>'
        echo 'void use(cpool_t *pool, void *slot);'
        echo "void use(cpool_t *pool, void *slot) { (void)pool; (void)slot; $2; }"
    } > "$work/misuse"
    "$1" -x c -std=c11 -Wall -Werror -O1 -I"$top/include" -c "$work/misuse" \
        -o "$work/object" 2> "$work/message" && {
        echo "$1 does not warn of: $2"
        exit 1
    }
    grep -q 'Werror' "$work/message" || { cat "$work/message"; exit 1; }
}

for compiler in gcc clang; do
    command -v "$compiler" > /dev/null || continue
    misuse "$compiler" 'cpool_alloc(pool)'
    misuse "$compiler" 'cpool_create(&pool, NULL)'
    misuse "$compiler" 'cpool_alloc_bulk(pool, &slot, 1, 0)'
    misuse "$compiler" 'cpool_free(NULL, slot)'
done
if command -v gcc > /dev/null && [ "$(gcc -dumpversion | cut -d. -f1)" -ge 11 ]; then
    misuse gcc 'free(cpool_alloc_uncached(pool))'
fi

[ "$compiled" -gt 10 ] || { echo "only $compiled compilations"; exit 1; }
echo "$compiled compilations, with $(tr '\n' ' ' < "$work/c")$(tr '\n' ' ' < "$work/cxx")"
