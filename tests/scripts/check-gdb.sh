#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-gdb.sh - the script gdb/cpool.py tells the truth about the pools of a program: in a
# process, in a core file, and loaded by gdb itself from beside the library.

. "${srcdir:-.}/tests/harness/script.sh"
top=$(cd "$top" && pwd)

command -v gdb > /dev/null || skip 'there is no gdb'
[ "$(gdb -nx -batch -ex 'python print(6 * 7)' 2> /dev/null)" = 42 ] || skip 'gdb has no Python'
library=lib/.libs/libcpool.so
[ -e "$library" ] || skip 'there is no shared library'
readelf -S "$library" 2> /dev/null | grep -q '\.debug_info' ||
    skip 'the library has no debug information'
! nm -D "$library" | grep -q '__[amt]san_init' || skip 'the library is built for a sanitizer'

cat > "$work/program.c" << 'END'
#include <cpool.h>
#include <cpool/retire.h>
#include <cpool/sized.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
void *live, *cached, *unused, *inside, *guarded, *freed;
void stop_here(void);
static cpool_t *jobs;
static cpool_t *checked;
static cpool_t *awaited;
static cpool_t *single;
static cpool_t *tracked;
static cpool_sized_t *documents;
void stop_here(void)
{
}
static void *take(cpool_t *pool)
{
    return cpool_alloc(pool);
}
static void *wait_for_one(void *pool)
{
    return cpool_alloc_wait(pool, NULL);
}
static void await_two(cpool_t *pool)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;
    pthread_t threads[2];
    (void)!cpool_alloc(pool);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, wait_for_one, pool);
    while (cpool_read_stats(pool, &stats) == 0 && stats.waits < 2)
        sched_yield();
}
static void retire_one(cpool_t *pool)
{
    cpool_domain_config_t config = CPOOL_DOMAIN_CONFIG_INIT;
    cpool_domain_t *domain;
    cpool_reader_t *reader;
    void *slot = cpool_alloc(pool);
    config.readers = 1;
    config.max_held = 9;
    if (cpool_domain_create(&domain, &config) != 0 || cpool_reader_create(&reader, domain, 0) != 0)
        abort();
    cpool_read_begin(reader);
    (void)cpool_retire(reader, pool, slot);
}
static void *work(void *arg)
{
    void *slots[10];
    for (int i = 0; i < 10; i++)
        slots[i] = cpool_alloc(jobs);
    for (int i = 0; i < 9; i++)
        cpool_free(jobs, slots[i]);
    return arg;
}
int main(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_sized_config_t blocks = CPOOL_SIZED_CONFIG_INIT;
    pthread_t thread;
    config.name = "jobs";
    config.slot_size = 48;
    config.capacity = 1000;
    if (cpool_create(&jobs, &config) != 0)
        return 1;
    config.name = "verified";
    config.flags = CPOOL_CHECKED;
    if (cpool_create(&checked, &config) != 0)
        return 1;
    for (int i = 0; i < 5; i++)
        live = cpool_alloc(jobs);
    cached = cpool_alloc(jobs);
    cpool_free(jobs, cached);
    unused = cpool_at(jobs, 999);
    inside = (char *)live + 5;
    guarded = take(checked);
    freed = take(checked);
    cpool_free(checked, freed);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    config.name = "awaited\033";
    config.capacity = 1;
    config.flags = 0;
    if (cpool_create(&awaited, &config) != 0)
        return 1;
    await_two(awaited);
    blocks.name = "documents";
    blocks.class_bytes = 65536;
    if (cpool_sized_create(&documents, &blocks) != 0)
        return 1;
    (void)!cpool_sized_alloc(documents, 16);
    (void)!cpool_sized_alloc(documents, 16);
    (void)!cpool_sized_alloc(documents, 1000);
    config.name = "single";
    config.capacity = 10;
    if (cpool_create(&single, &config) != 0)
        return 1;
    cpool_free(single, cpool_alloc(single));
    config.name = "tracked";
    config.flags = CPOOL_TRACKED;
    if (cpool_create(&tracked, &config) != 0)
        return 1;
    (void)!cpool_alloc(tracked);
    retire_one(tracked);
    stop_here();
    cpool_free(single, cpool_alloc(single));
    cpool_flush(single);
    return 0;
}
END
# shellcheck disable=SC2086 # the compiler may have options of its own
${CC:-cc} -std=gnu11 -g -O0 -I"$top/include" "$work/program.c" "$library" -pthread \
    -o "$work/program" || exit 1
LD_LIBRARY_PATH=$(pwd)/lib/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# A program that dies without gdb as well is no reason to skip.
"$work/program" || { echo "the program ends with $?"; exit 1; }

# debug ARGUMENT... - gdb without the user's settings.
debug() {
    timeout 300 gdb -nx -q -batch -iex 'set debuginfod enabled off' "$@" > "$work/output" 2>&1
}

# shows PATTERN
shows() {
    grep -qE "$1" "$work/output" || {
        echo "$when: no line '$1' in:"
        sed 's/^/  | /' "$work/output"
        status=1
    }
}

questions() {
    shows '^0x[0-9a-f]+ +jobs +6 +[0-9]+ +1000 +48 +0 *$'
    shows '^0x[0-9a-f]+ +verified +1 +[0-9]+ +1000 +48 +0  checked$'
    shows '^0x[0-9a-f]+ +awaited\? +1 +[0-9]+ +1 +48 +2  *$'
    shows '^0x[0-9a-f]+ +tracked +2 +[0-9]+ +10 +48 +0  tracked$'
    shows '^0x[0-9a-f]+ +documents +3 +[0-9]+ +[0-9]+ +- +0  sized, reserved$'
    [ "$(grep -c ' documents ' "$work/output")" -eq 1 ] || shows 'one line for all classes'
    shows "^pool '16 documents' at 0x[0-9a-f]+, sized"
    shows "^pool 'jobs' at 0x"
    shows '^  now        live 6, in depot [0-9]+, in caches [0-9]+, never used [0-9]+$'
    shows "pool 'jobs', slot 4 at 0x[0-9a-f]+, live$"
    shows '^  5 bytes inside the slot$'
    shows "pool 'jobs', slot 5 at 0x[0-9a-f]+, free, in cache 0$"
    shows "pool 'jobs', slot 999 at 0x[0-9a-f]+, never used$"
    shows 'in no slot of any pool$'
    shows "^pool 'jobs', cache 0: of .*, [0-9]+ loaded, 0 in spares$"
    shows "^6 live slots of pool 'jobs'$"
    shows '^  and 3 more$'
    shows "^1 live slot of pool 'verified'$"
    shows '^  1 allocated by take at .*program.c:[0-9]+$'
    shows '^  last taken by take at .*program.c:[0-9]+$'
    shows '^  last freed by main at .*program.c:[0-9]+$'
    shows "^2 live slots of pool 'tracked'$"
    shows '^cpool live POOL \[COUNT\]$'
    shows 'no pool has the name nothing$'
    ! grep -q 'Error' "$work/output" || shows 'no error in Python'
}

set -- -ex 'cpool list' -ex 'cpool show jobs' -ex 'cpool show 16 documents' -ex 'cpool whatis live' -ex 'cpool whatis inside' \
    -ex 'cpool whatis cached' -ex 'cpool whatis unused' -ex 'cpool whatis &live' -ex 'cpool whatis freed' \
    -ex 'cpool caches' -ex 'cpool live jobs 3' -ex 'cpool live verified' \
    -ex 'cpool live tracked' -ex 'cpool live tracked all'

when='in a process'
debug -x "$top/gdb/cpool.py" -ex 'break stop_here' -ex run "$@" -ex "gcore $work/core" \
    -ex 'cpool show nothing' "$work/program"
grep -q 'Breakpoint 1, stop_here' "$work/output" || skip 'gdb starts no program here'
questions

# stops_inside WORD - at the first store from stop_here on to this word of the single pool's
# cache, or of its entry, by which an owner says that it is inside.
stops_inside() {
    when="at a store to $1"
    debug -x "$top/gdb/cpool.py" -ex 'break stop_here' -ex run -ex 'set scheduler-locking on' \
        -ex 'set can-use-hw-watchpoints 0' -ex 'cpool caches' -ex 'echo stores\n' \
        -ex "python cache = next(the_pool('single').caches())[1]" \
        -ex "python word = cache['busy'] if '$1' == 'busy' else entry_of(cache)['$1']" \
        -ex "python gdb.execute('watch *(%s *)%d' % (word.type, int(word.address)))" \
        -ex continue -ex 'cpool caches' "$work/program"
    shows "^pool 'single', cache 0: of .*, 0 in spares, inside an operation$"
    ! sed '/^stores$/,$d' "$work/output" | grep -q 'inside an operation' ||
        shows 'nobody inside at stop_here'
}
stops_inside count
stops_inside busy

when='in a core file'
debug -x "$top/gdb/cpool.py" "$@" -ex 'cpool show nothing' "$work/program" "$work/core"
questions

when='without debug information'
objcopy --strip-debug "$library" "$work/bare.so" 2> /dev/null || cp "$library" "$work/bare.so"
if ! readelf -S "$work/bare.so" | grep -q '\.debug_info'; then
    mkdir "$work/bare"
    mv "$work/bare.so" "$work/bare/libcpool.so.0"
    (LD_LIBRARY_PATH=$work/bare debug -x "$top/gdb/cpool.py" -ex 'break stop_here' -ex run \
        -ex 'cpool list' "$work/program")
    shows 'compiled without -g'
fi
debug -x "$top/gdb/cpool.py" -ex 'cpool list' -ex starti -ex 'cpool list' /bin/true
shows 'there is no process'
shows 'no libcpool in this process'

when='by itself'
real=$(readlink "$library")
mkdir "$work/lib"
cp "$library" "$work/lib/$real"
ln -s "$real" "$work/lib/libcpool.so.0"
cp "$top/gdb/cpool.py" "$work/lib/$real-gdb.py"
LD_LIBRARY_PATH=$work/lib
debug -iex "add-auto-load-safe-path $work/lib" -ex 'break stop_here' -ex run -ex 'cpool list' \
    "$work/program"
shows '^0x[0-9a-f]+ +jobs +6 '

[ "$status" -ne 0 ] || echo 'gdb shows pools'
exit "$status"
