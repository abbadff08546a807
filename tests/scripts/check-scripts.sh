#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-scripts.sh - the other scripts find what they are for: each is run on a
# copy of the sources into which one mistake was planted, and must complain, in its form of
# `make check`.

. "${srcdir:-.}/tests/harness/script.sh"
planted=0

# The sources alone: a build in the same folder leaves a hundred times as much.
mkdir "$work/tree"
(cd "$top" && find lib ext include tests stress bench examples gdb doc cmake debian .ci ./*.md ./*.a[cm] \
    NEWS LICENSE CMakeLists.txt meson.build meson_options.txt cpool.pc.in .clang-format -type f \
    ! -path '*/.libs/*' ! -path '*/.deps/*' ! -name '*.o' ! -name '*.lo' ! -name '*.log' \
    ! -name '*.trs' ! -perm -u+x -size -512k -print0; \
    find tests stress bench examples lib ext doc -name '*.sh' -print0; printf '.ci/run\0') |
    (cd "$top" && tar -c --null -T - -f -) | tar -x -C "$work/tree" -f - || exit 1
chmod -R u+w "$work/tree"

. "$top/tests/planted/share.sh"

# plant SCRIPT FILE EDIT WORDS - the script complains with these words of the
# file edited by sed, or of an empty new one if there is no such file.
plant() {
    in_share || return
    file=$work/tree/$2
    planted=$((planted + 1))
    if [ -e "$file" ]; then
        cp "$file" "$work/whole"
        sed "$3" "$work/whole" > "$file"
        if cmp -s "$work/whole" "$file"; then
            echo "planting '$3' did not change $2"
            status=1
            return
        fi
    else
        rm -f "$work/whole"
        echo "$3" > "$file"
    fi
    CPOOL_TEST_QUICK=yes srcdir=$work/tree ${SHELL:-/bin/sh} "$work/tree/tests/scripts/$1" \
        > "$work/output" 2>&1
    if [ $? -ne 1 ] || ! grep -qF -- "$4" "$work/output"; then
        echo "$1 did not say '$4' about '$3' in $2, but:"
        cat "$work/output"
        status=1
    fi
    rm "$file"
    [ ! -e "$work/whole" ] || mv "$work/whole" "$file"
}

# Without a mistake they say nothing: those that are fast.
for script in check-builds.sh check-ceilings.sh check-docs.sh check-figures.sh check-folders.sh check-names.sh \
    check-orders.sh; do
    srcdir=$work/tree ${SHELL:-/bin/sh} "$work/tree/tests/scripts/$script" > "$work/output" 2>&1 ||
        { echo "$script complains of the copy:"; cat "$work/output"; status=1; }
done

plant check-folders.sh lib/base/bits.h 's,#include <stdint.h>,#include "depot/slab.h",' 'does not stand before'
plant check-folders.sh lib/depot/slab.h 's,"base/compiler.h","compiler.h",' 'by no folder'
plant check-folders.sh lib/depot/slab.h '$s,$,\n#ifdef _WIN32\n#endif,' 'outside host/'
plant check-folders.sh lib/README.md 's,^| `depot/` .*,,' 'is not in lib/README.md'

plant check-orders.sh lib/depot/slab.c 's/\[bump\]//' 'cited by no operation'
plant check-orders.sh lib/depot/slab.c 's/\[[a-z]*\]//g' 'without a tag'
plant check-orders.sh lib/depot/slab.c 's/\[bump\]/[bupm]/' 'not in the table'
plant check-orders.sh lib/depot/slab.h 's/\(cpi_load([^)]*\), acquire/\1, relaxed/' 'none of the tags cited'
plant check-orders.sh lib/depot/slab.h 's/cpi_load(\([^,]*\), acquire)/atomic_load(\1)/' 'past lib/base/atomic.h'
plant check-orders.sh lib/depot/slab.c 's/^ \*   bounds  |/ *   other   |/' 'not in the table'
plant check-orders.sh lib/cache/cache.h "s/reclaim.c's seen/reclaim.c's seem/" 'has no row of [seem]'
plant check-orders.sh include/cpool/fast.h 's/, __ATOMIC_RELAXED//' 'without an order'
! command -v clang > /dev/null || plant check-orders.sh lib/process/thread.c \
    's/return cpi_load(&tables_gone, relaxed);/return tables_gone;/' 'implicit use of sequentially-consistent'

plant check-exports.sh lib/libcpool.map 's/^ *cpool_free;//' 'cpool_free'
plant check-exports.sh lib/libcpool.map 's/^\( *\)cpool_free;/\1cpool_free; cpool_free_all;/' 'differences'
plant check-exports.sh include/cpool/cache.h 's/^CPOOL_API void cpool_flush/void cpool_flush/' 'cpool_flush'
plant check-exports.sh examples/spool.c 's/cpool_wait_open(pages)/(void)pages/' 'cpool_wait_open'

plant check-exports.sh include/cpool/typed.h 's/^    size_t slot_align;.*/    unsigned slot_align;/' 'raise the number'
plant check-exports.sh include/cpool/fast.h 's/cpool_alloc_abi1/cpool_alloc_slow/' 'cpool_alloc_slow'

plant check-headers.sh include/cpool.h 's/#include <stddef.h>//; s/#include <std.*>//' 'unknown type name'
plant check-headers.sh include/cpool/create.h 's/^CPOOL_API int cpool_destroy/CPOOL_API int class; int cpool_destroy/' 'does not compile'
plant check-headers.sh include/cpool/fast.h 's/^#error.*//' 'does not say what to include'
plant check-headers.sh include/cpool/typed.h 's/CPOOL_CAST_(void \*\*, cpool_slots_)/(void **)cpool_slots_/' 'old-style'
plant check-headers.sh include/cpool/pool.hpp 's/#include <utility>/#include <memory>/' 'too many to compile fast'
plant check-headers.sh include/cpool/pooled.hpp 's,#include <cpool/sized.hpp>,,' 'pooled.hpp> does not compile'
plant check-headers.sh include/cpool/new.h '/* new */' 'compiled by none'
plant check-analyze.sh include/cpool/analyze.h 's/CPOOL_TAKEN_BY_(name##_free, 1) //' 'does not say'
plant check-editor.sh include/cpool/typed.h '/^     \* int <name>_close(void)/s/_close/_end/' 'and those listed'

plant check-builds.sh lib/sources.mk 's,lib/depot/slab.c,,' 'lacks lib/depot/slab.c'
plant check-builds.sh lib/sources.mk 's,lib/depot/slab.c,& lib/depot/slob.c,' 'names lib/depot/slob.c'
plant check-builds.sh cpool.pc.in 's/@libdir@/@libdirs@/' 'sets no libdirs'
plant check-builds.sh lib/base/compiler.h 's/^#define _GNU_SOURCE.*//' 'does not compile'

if command -v clang-format > /dev/null; then
    plant check-format.sh lib/depot/slab.c 's/^    /  /' 'are formatted otherwise'
fi

plant check-man.sh include/cpool/cache.h 's/^ \* cpool_flush - / * flush - /' 'cpool_flush'
plant check-man.sh include/cpool/memory.h 's/^CPOOL_API size_t cpool_trim.*//' 'cpool_trim'
plant check-man.sh doc/local.mk 's, doc/man/cpool_free.3,,' 'cpool_free.3'

plant check-names.sh doc/ADOPTING.md 's/`cpool_trim`, by/`cpool_reap`, by/' 'nothing is named cpool_reap'
plant check-names.sh doc/ADOPTING.md 's/`cpool_read_stats`, /`cpool_stats`, /' 'nothing is named cpool_stats'
plant check-names.sh NEWS 's/cpool_debug(3)/cpool_verify_all(3)/' 'nothing is named cpool_verify_all as a page'
plant check-names.sh lib/pool/dump.c 's/"cpool_dump"/"cpool_write"/' 'nothing is named cpool_write'
plant check-names.sh include/cpool/wait.h 's/as cpool_alloc_or_notify/as cpool_alloc_notify/' 'cpool_alloc_notify'
plant check-names.sh include/cpool/alloc.h 's/stats.stalls/stats.exchanges/' 'stats.exchanges'
plant check-names.sh README.md 's,cpool_alloc_wait,cpool_alloc_waits,' 'nothing is named cpool_alloc_waits'
plant check-names.sh doc/ADOPTING.md 's/cpool::static_pool/cpool::singleton/' 'nothing is named cpool::singleton'

plant check-json.sh doc/JSON.md 's/^| `waits`.*//' '> waits number'
plant check-json.sh doc/JSON.md 's/`cpool_live`/`cpool_alive`/' '> cpool_live'
! /usr/bin/python3 -c 'import jsonschema, prometheus_client' 2> /dev/null ||
    plant check-json.sh doc/json-schema.json '/"live"/s/{.*}/{"type": "string"}/' 'is not valid'
plant check-json.sh include/cpool/info.h 's/^    size_t peak; /    size_t top; /' '> top'

plant check-listed.sh tests/public/check_new.c '/* new */' 'is in no list'
plant check-listed.sh tests/machines/known.txt 's/reset_often_takes_no/reset_once_takes_no/' 'no test reset_once'
plant check-listed.sh tests/scripts/check-new.sh '# new' 'is in no list'

plant check-docs.sh doc/CONCURRENCY.md 's/`cpi_depot_provide`/`cpi_depot_provides`/' 'cpi_depot_provides'
plant check-docs.sh doc/DESIGN.md 's,`lib/cache/registry.c`,`lib/registries.c`,' 'no file lib/registries.c'
plant check-docs.sh doc/DESIGN.md 's/`look_as_waiter`/`look_as_sleeper`/' 'has no look_as_sleeper'
plant check-docs.sh doc/TESTING.md 's/`check_steady`/`check_steadily`/' 'check_steadily'

plant check-docs.sh doc/TESTING.md 's/`make check-cxx`/`make check-cxxx`/' 'no target check-cxxx'
plant check-docs.sh HACKING.md 's/`--enable-plain-posix`/`--enable-plain-posixx`/' 'has no option plain-posixx'

plant check-docs.sh HACKING.md 's/^| `--enable-plain-posix`.*//' 'lacks the option plain-posix'
plant check-docs.sh doc/TESTING.md 's/`make schedules`/`make schedule`/' 'lacks make schedules'
plant check-docs.sh doc/TESTING.md 's,`tests/sched[`/],`tests/lines`,g' 'lacks the folder tests/sched'
plant check-docs.sh doc/TESTING.md 's,`weak/planted.sh`\(.*| no | yes\),\1,' 'not among the tests of check-all'
plant check-docs.sh doc/TESTING.md 's/`OFTEN_LOOPS`/`OFTEN_LOOP`/' 'nothing is named OFTEN_LOOP'
plant check-docs.sh doc/TESTING.md 's/`look_again()`/`look_twice()`/' 'nothing is named look_twice'
plant check-docs.sh doc/REAL_TIME.md 's/`cpool_trim` //' 'no row has cpool_trim'
plant check-docs.sh doc/REAL_TIME.md 's/^| `cpool_calloc`/& `cpool_grow`/' 'does not call cpool_grow'
plant check-docs.sh doc/PORTING.md '1s/$/ A port is planned./' 'is planned'

plant check-figures.sh doc/PERFORMANCE.md 's,| 12 / 11 |,| 10 / 11 |,' 'no golden count'
plant check-figures.sh doc/TESTING.md 's/the first 800 of/the first 900 of/' 'no longer says'
plant check-docs.sh doc/TESTING.md 's/`retire.c` and //' 'models compile retire.c'

plant check-builds.sh NEWS 's/library version 0/library version 1/' 'NEWS: begins with'
plant check-builds.sh NEWS 's/^\( *0:0:0 *\)0/\11/' 'interface history lacks'
plant check-builds.sh debian/changelog '1s/0\.1\.0/0.1.1/' 'debian/changelog'
plant check-builds.sh include/cpool/version.h 's/PATCH 0/PATCH 7/' 'NEWS: begins with'
plant check-builds.sh CMakeLists.txt 's/VERSION ${cpool_version}/VERSION 0.1.0/' 'has the release again'

plant check-ceilings.sh lib/base/new.h "$(yes x | head -n 26000)" 'above its ceiling'

# unskipped SCRIPT - with a compiler that makes dying programs, or none, the script fails
# instead of skipping.  The tools that it looks for are there, and do nothing wrong.
mkdir "$work/bin"
cat > "$work/bin/dying" << 'END'
#!/bin/sh
case " $* " in
*typed_builds.c*) exit 1 ;;
*empty.c*) command='exit 0' ;;
*) command='kill -ABRT $$' ;;
esac
while [ $# -gt 1 ]; do
    [ "$1" != -o ] || { printf '#!/bin/sh\n%s\n' "$command" > "$2"; chmod +x "$2"; }
    shift
done
END
printf '#!/bin/sh\necho 42\n' > "$work/bin/gdb"
printf '#!/bin/sh\nwhile case $1 in -*) ;; *) false ;; esac do shift; done\nexec "$@"\n' > "$work/bin/valgrind"
for compiler in gcc clang; do
    cp "$work/bin/dying" "$work/bin/$compiler"
done
chmod +x "$work"/bin/*
unskipped() {
    planted=$((planted + 1))
    (PATH=$work/bin:$PATH CC=dying srcdir=$top ${SHELL:-/bin/sh} "$top/tests/scripts/$1") > "$work/output" 2>&1
    [ $? -eq 1 ] || grep -Eq '^skipped: (there is no|the library (is built for|has no debug))' "$work/output" || {
        echo "$1 does not fail with programs that die:"
        cat "$work/output"
        status=1
    }
}
unskipped check-memcheck.sh
unskipped check-gdb.sh
unskipped check-typed.sh

[ "$status" -ne 0 ] || echo "$planted planted mistakes were found"
exit "$status"
