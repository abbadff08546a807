#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# malloc_bench.sh - programs with malloc over pools beside the C library's malloc and each other
# that is found: seconds and peak memory, the best of RUNS, interleaved.
#
# RUNS: 3 unless set.  srcdir: top of the source tree.  Run in the top of the build tree.

set -u
top=$(cd "${srcdir:-.}" && pwd)
runs=${RUNS:-3}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# name library, one a line
echo "libc" > "$work/rivals"
echo "cpool $(pwd)/ext/sized/malloc/.libs/libcpool-malloc.so" >> "$work/rivals"
for name in jemalloc mimalloc tcmalloc_minimal tbbmalloc_proxy; do
    for path in /usr/lib/*/lib$name.so.[0-9]* /usr/lib/lib$name.so.[0-9]* /usr/lib64/lib$name.so.[0-9]*; do
        [ -e "$path" ] && { echo "${name%_*} $path"; break; }
    done
done >> "$work/rivals"

cat > "$work/trees.py" << 'END'
import json
for i in range(40):
    data = {str(k): [str(j) for j in range(k % 60)] for k in range(1500)}
    assert len(json.loads(json.dumps(data))) == 1500
END
cat > "$work/rows.sql" << 'END'
create table t(a integer primary key, b text, c blob);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 150000)
insert into t select i, hex(i * 7919 % 1009) || ' ' || i, zeroblob(i % 300) from n;
create index tb on t(b);
select b, count(*) from t group by substr(b, 1, 3) order by 2 desc, 1 limit 20;
END

# row NAME COMMAND... - a line of the table
row() {
    row=$1
    shift
    for _ in $(seq "$runs"); do
        while read -r name library; do
            ext/sized/tests/cost "${library:-}" "$@" < /dev/null >> "$work/$name.cost" || echo "- -" >> "$work/$name.cost"
        done < "$work/rivals"
    done
    printf '| %s |' "$row"
    while read -r name library; do
        printf ' %s s, %s MiB |' "$(cut -d' ' -f1 "$work/$name.cost" | sort -n | head -n 1)" \
            "$(cut -d' ' -f2 "$work/$name.cost" | sort -n | head -n 1)"
        rm "$work/$name.cost"
    done < "$work/rivals"
    echo
}

printf '| |'
while read -r name library; do printf ' %s |' "$name"; done < "$work/rivals"
printf '\n|---|'
while read -r name library; do printf -- '---|'; done < "$work/rivals"
echo

row 'malloc, 4 threads' ext/sized/tests/exercise 100000
if command -v python3 > /dev/null; then
    PYTHONMALLOC=malloc
    export PYTHONMALLOC
    row 'python3, JSON' python3 "$work/trees.py"
fi
command -v sqlite3 > /dev/null && row 'sqlite3, 150,000 rows' sqlite3 :memory: ".read $work/rows.sql"
row 'C compiler' "${CC:-cc}" -std=c11 -D_GNU_SOURCE -O2 -DCPOOL_TSAN=0 -I"$top/include" -I"$top/lib" -I"$top/ext" -Iinclude \
    -c "$top/lib/cache/registry.c" -o "$work/object"
exit 0
