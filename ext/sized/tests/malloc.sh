#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# malloc.sh - whole programs run on pools: malloc's family from several threads, python3's
# own tests, a compiler, sqlite3 and redis, each as far as it is found.  Their output
# is that of a run without the library.
#
#   malloc.sh         a few seconds, as a part of make check
#   malloc.sh all     more of each (make check-malloc)
#
# srcdir: top of the source tree.  CC: the configured compiler.  Run in the top of the
# build tree.

set -u
top=$(cd "${srcdir:-.}" && pwd)
all=${1:-}
library=$(pwd)/ext/sized/malloc/.libs/libcpool-malloc.so
status=0
passed=
left=
work=$(mktemp -d) || exit 1
server=
full=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null; rm -rf "$work"' EXIT

complain() {
    echo "$*"
    status=1
}

[ -e "$library" ] || { echo 'SKIP: malloc over pools: there is no shared library'; exit 77; }
if nm -D "$library" 2> /dev/null | grep -q ' U __[atm]san_'; then
    echo "SKIP: malloc over pools: a sanitizer has a malloc of its own"
    exit 77
fi

# on COMMAND... - with the library.  Its figures show that it was in use
on() {
    CPOOL_MALLOC_PRINT=yes LD_PRELOAD=$library "$@"
}

used() { # FILE
    grep -q "^sized 'malloc'" "$1" || complain "$2 did not use the library"
}

# same NAME COMMAND... - prints the same with the library as without
same() {
    name=$1
    shift
    "$@" > "$work/expected" 2> "$work/errors" || { complain "$name fails by itself"; return; }
    on "$@" > "$work/found" 2> "$work/errors" ||
        complain "$name fails: $(tail -n 5 "$work/errors")"
    cmp -s "$work/expected" "$work/found" || complain "$name prints something else"
    used "$work/errors" "$name"
    passed="$passed $name,"
}

# --- malloc's family ---

if [ -n "$all" ]; then rounds=200000; else rounds=10000; fi
same exercise ext/sized/tests/exercise $rounds
CPOOL_OPTIONS=checked on ext/sized/tests/exercise 2000 > "$work/found" 2>&1 ||
    complain "exercise fails with checked pools: $(tail -n 5 "$work/found")"
# With little address space the classes are smaller.
(ulimit -v 4000000 && on ext/sized/tests/exercise 2000) > "$work/found" 2>&1 ||
    complain "exercise fails in little address space: $(tail -n 5 "$work/found")"
# What one phase of a program has used, another one's sizes have.
on ext/sized/tests/exercise phases > "$work/found" 2>&1
grep -q 'given back' "$work/found" || complain "free memory stays: $(head -n 1 "$work/found")"
# With less there are no classes.  How little a program needs to start differs.
for limit in 16000 12000 8000; do
    (ulimit -v $limit && LD_PRELOAD=$library ext/sized/tests/exercise full) > "$work/found" 2>&1 ||
        grep -q -e 'shared libraries' -e 'cannot be preloaded' "$work/found" ||
        complain "exercise ends without classes: $(tail -n 5 "$work/found")"
    ! grep -q full "$work/found" || { full=yes; break; }
done
[ -n "$full" ] || left="$left a program without classes;"

# --- python3 ---

some_tests='test_list test_dict'
more_tests='test_set test_tuple test_bytes test_unicode test_array
test_json test_pickle test_re test_sqlite3 test_threading test_thread test_queue test_fork1
test_subprocess test_gc test_weakref test_zlib test_memoryview test_heapq test_deque
test_ordered_dict test_collections test_itertools test_decimal test_io test_csv'
python=
for candidate in python3 /usr/bin/python3; do
    [ -z "$python" ] && command -v "$candidate" > /dev/null &&
        "$candidate" -c 'import test.test_list' 2> /dev/null && python=$candidate
done
if [ -n "$python" ]; then
    tests=$some_tests
    [ -z "$all" ] || tests="$some_tests $more_tests"
    cat > "$work/some.py" << 'END'
import json, threading
def work(n):
    for i in range(60):
        data = {str(k): [k] * (k % 40) for k in range(300)}
        assert json.loads(json.dumps(data)) == data
threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
print(sum(len(str(i)) for i in range(100000)))
END
    PYTHONMALLOC=malloc
    export PYTHONMALLOC
    same python3 "$python" "$work/some.py"
    mkdir "$work/python"
    # Without the figures, because these tests look at what programs print.
    # shellcheck disable=SC2086 # several tests
    (cd "$work/python" && LD_PRELOAD=$library "$python" -m test -j1 $tests) > "$work/found" 2>&1
    case $? in
    0) passed="$passed python3's $(echo "$tests" | wc -w) tests," ;;
    *)
        # A test that fails by itself here says nothing.
        failed=$(sed -n '/tests\{0,1\} failed:/,/^$/p' "$work/found" | grep -o 'test_[a-z0-9_]*' | sort -u)
        [ -n "$failed" ] || complain "python3's tests end: $(tail -n 5 "$work/found")"
        for test in $failed; do
            if (cd "$work/python" && "$python" -m test -j1 "$test") > "$work/alone" 2>&1; then
                complain "python3's $test fails: $(grep -m 3 -e '^ERROR' -e '^FAIL' "$work/found")"
            else
                left="$left python3's $test (fails by itself);"
            fi
        done
        passed="$passed python3's $(echo "$tests" | wc -w) tests,"
        ;;
    esac
    unset PYTHONMALLOC
else
    left="$left python3's tests;"
fi

# --- A compiler, at work on this library ---

sources='ext/sized/sized.c'
[ -z "$all" ] || sources=$(cd "$top" && echo lib/*/*.c ext/*/*.c)
# shellcheck disable=SC2086 # several sources and words
compile() { # FOLDER
    mkdir "$1" && for source in $sources; do
        ${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -DCPOOL_TSAN=0 -I"$top/include" -I"$top/lib" -I"$top/ext" -Iinclude \
            -c "$top/$source" -o "$1/${source##*/}.o" || return 1
    done
}
compile "$work/expected-objects" || complain 'the compiler fails by itself'
(LD_PRELOAD=$library && export LD_PRELOAD && compile "$work/objects") > "$work/errors" 2>&1 ||
    complain "the compiler fails: $(tail -n 5 "$work/errors")"
diff -r "$work/expected-objects" "$work/objects" > "$work/difference" ||
    complain "the compiler writes something else: $(head -n 3 "$work/difference")"
passed="$passed compiler,"

# --- sqlite3 ---

if command -v sqlite3 > /dev/null; then
    if [ -n "$all" ]; then rows=200000; else rows=10000; fi
    cat > "$work/some.sql" << END
create table t(a integer primary key, b text, c blob);
with recursive n(i) as (select 1 union all select i + 1 from n where i < $rows)
insert into t select i, hex(i * 7919 % 1009) || ' ' || i, zeroblob(i % 300) from n;
create index tb on t(b);
delete from t where a % 3 = 0;
update t set b = b || b where a % 5 = 0;
select count(*), sum(length(b)), sum(length(c)) from t;
select b, count(*) from t group by substr(b, 1, 3) order by 2 desc, 1 limit 20;
vacuum;
pragma integrity_check;
END
    same sqlite3 sqlite3 :memory: ".read $work/some.sql"
else
    left="$left sqlite3;"
fi

# --- redis ---

redis() {
    socket=$work/redis.sock
    CPOOL_MALLOC_PRINT=yes LD_PRELOAD=$library redis-server --port 0 --unixsocket "$socket" \
        --dir "$work" --save '' --appendonly no > "$work/redis.log" 2>&1 &
    server=$!
    seconds=0
    while [ ! -S "$socket" ] && [ $((seconds += 1)) -le 60 ]; do sleep 1; done
    [ -S "$socket" ] || { complain "redis does not start: $(tail -n 3 "$work/redis.log")"; return; }
    redis-benchmark -s "$socket" -q -n "$1" -d 100 -r 10000 \
        -t set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100 > "$work/found" 2>&1 ||
        complain "redis-benchmark fails: $(tail -n 3 "$work/found")"
    [ "$(redis-cli -s "$socket" ping)" = PONG ] || complain 'redis has ended'
    redis-cli -s "$socket" bgsave > /dev/null
    redis-cli -s "$socket" shutdown nosave > /dev/null 2>&1
    wait "$server" || complain "redis fails: $(tail -n 3 "$work/redis.log")"
    server=
    used "$work/redis.log" redis
    passed="$passed redis,"
}
# Where it calls mallocx of jemalloc, it mixes the blocks of two allocators under LD_PRELOAD.
if command -v redis-server > /dev/null && command -v redis-benchmark > /dev/null &&
    ! grep -q mallocx "$(command -v redis-server)"; then
    if [ -n "$all" ]; then redis 100000; else redis 2000; fi
else
    left="$left redis;"
fi

[ -z "$left" ] || echo "SKIP: malloc over pools:$left"
[ "$status" -ne 0 ] || echo "passed:${passed%,}"
exit "$status"
