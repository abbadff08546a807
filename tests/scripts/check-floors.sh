#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-floors.sh - holds the floor plan of lib/ against its #include lines.
#
# A file includes its own header, headers of lower floors and public headers.
# Of its own floor it includes only the files that the table lists.  Every file
# of lib/ stands in the table, and says the same floor in its head comment (a .c
# file with a header of its own says it there).
#
# srcdir: top of the source tree.

set -u
lib=${srcdir:-.}/lib
status=0

# file, floor, and the files it may include of its own floor beside its own
# header.  The words are in HACKING.md.  Layers above the pool, from floor 7 on, use pools by
# the public interface: they include nothing of floors 2 to 6.
plan='
compiler.h     0
atomic.h       0
bits.h         0
error.h        0 compiler.h
error.c        0 atomic.h compiler.h probes.h tools.h
text.h         0 compiler.h
text.c         0
probes.h       0
structs.h      0
structs.c      0 tools.h
tools.h        0 compiler.h
tools.c        0
version.c      0
options.h      1
chaos.h        1
chaos.c        1 os.h
options.c      1 chaos.h os.h trace.h
trace.h        1
trace.c        1 quiet.h
os.h           1
os_posix.c     1 chaos.h os.h quiet.h
handle.h       1
handle.c       1
thread.h       1 handle.h
thread.c       1 os.h ranges.h trace.h
quiet.h        1
quiet.c        1 thread.h
extent.h       1
extent.c       1 chaos.h os.h
ranges.h       1 handle.h
ranges.c       1 os.h
queue.h        2
slab.h         2
slab.c         2
swaps.h        2
swaps.c        2
tagstack.h     2
usage.h        2
usage.c        2
magazine.h     3
depot.h        3 magazine.h
depot.c        3
slotmap.h      3
slotmap.c      3
fake.h         3
fake.c         3
record.h       4
guard.h        4 record.h
guard.c        4
log.h          4
log.c          4
quarantine.h   4
quarantine.c   4
site.h         4 record.h
site.c         4
cache.h        5
cache.c        5 cache_swap.h
cache_swap.h   5 cache.h
cache_edge.h   5 cache_swap.h recall.h
cache_shared.c 5 cache.h
registry.h     5 cache.h
registry.c     5 lease.h recall.h
registry_list.c 5 registry.h
recall.h       5 registry.h
recall.c       5 lease.h
lease.h        5 cache.h registry.h
lease.c        5 cache_swap.h recall.h
lease_open.c   5 lease.h
pool_forms.c   6 pool_impl.h
pool_impl.h    6
inline.c       6
pool_alloc.c   6 pool_impl.h
pool_audit.c   6 pool_impl.h
pool_bulk.c    6 pool_impl.h
pool_cache.c   6 pool_impl.h
pool_drain.h 6 pool_impl.h
pool_drain.c 6
pool_config.c  6 pool_impl.h
pool_options.c 6 pool_impl.h
pool_create.c  6 pool_impl.h
pool_fake.c    6 pool_impl.h
pool_info.c    6 pool_impl.h
pool_debug.c   6 pool_impl.h
pool_lease.h   6 pool_impl.h
pool_lease.c   6 pool_lease.h
pool_lease_end.c 6 pool_lease.h
pool_layer.c   6 pool_impl.h
pool_mark.c    6 pool_impl.h pool_tell.h
pool_quarantine.c 6 pool_impl.h
pool_tell.c    6
pool_tell.h    6 pool_impl.h
pool_memory.c  6 pool_drain.h
pool_report.c  6 pool_impl.h pool_tell.h
pool_reserve.c 6 pool_drain.h
pool_slow.c    6 pool_impl.h
pool_ticket.c  6 pool_impl.h
pool_tools.c   6 pool_impl.h
pool_track.c   6 pool_impl.h
pool_typed.c   6 pool_impl.h
pool_wait.c    6 pool_impl.h pool_wait.h
pool_wait.h    6 pool_impl.h
pool_call.c    6 pool_impl.h pool_wait.h
pool_events.c  6 pool_impl.h pool_wait.h
pools.c        6 pool_impl.h
pools_tag.c    6 pool_impl.h
pool_print.c   6 pool_impl.h
sized_impl.h   8
sized.c        8 sized_impl.h
sized_create.c 8 sized_impl.h
sized_fallback.c 8 sized_impl.h
sized_info.c   8 sized_impl.h
object.h       7
object.c       7
object_create.c 7 object.h
object_fake.c  7 object.h
lanes.c        7
object_heap.h  7
object_heap.c  7
object_list.c  7 object.h
object_priority.c 7 object.h object_heap.h
object_room.c  7 object.h
object_resize.c 7 object.h
object_trim.c  7 object.h
object_typed.c 7 object.h
object_wait.c  7 object.h
'

complain() {
    echo "$*"
    status=1
}

floor_of() {
    echo "$plan" | awk -v file="$1" '$1 == file { print $2 }'
}

neighbours_of() {
    echo "$plan" | awk -v file="$1" '$1 == file { for (i = 3; i <= NF; i++) print $i }'
}

# The files of lib/ that a file includes, one a line.
includes_of() {
    sed -n 's/^[ \t]*#[ \t]*include[ \t]*"\([^"]*\)".*/\1/p' "$1"
}

check_include() { # file, its floor, the included header
    theirs=$(floor_of "$3")
    if [ -z "$theirs" ]; then
        complain "$1: includes \"$3\", which is no header of the floor plan"
    elif [ "$2" -ge 7 ] && [ "$theirs" -ge 2 ] && [ "$theirs" -lt 7 ]; then
        complain "$1 (floor $2): includes $3 of floor $theirs, past the public interface"
    elif [ "$theirs" -gt "$2" ]; then
        complain "$1 (floor $2): includes $3 of floor $theirs, above it"
    elif [ "$theirs" -eq "$2" ] && [ "$3" != "${1%.c}.h" ] &&
        ! neighbours_of "$1" | grep -qxF "$3"; then
        complain "$1: includes its neighbour $3, which the floor plan does not list"
    fi
}

# The floor that a file states.  A .c file leaves it to its own header.
check_statement() { # file, its floor
    stated=$(sed -n 's/.*[^A-Za-z]Floor \([0-9]\)\..*/\1/p' "$lib/$1" | head -n 1)
    if [ -z "$stated" ] && [ "${1%.c}" != "$1" ] && [ -e "$lib/${1%.c}.h" ]; then
        return
    fi
    [ "$stated" = "$2" ] || complain "$1: states floor '$stated', the plan says $2"
}

files=0
for path in "$lib"/*.c "$lib"/*.h; do
    file=${path##*/}
    floor=$(floor_of "$file")
    files=$((files + 1))
    if [ -z "$floor" ]; then
        complain "$file: is not in the floor plan"
        continue
    fi
    check_statement "$file" "$floor"
    for header in $(includes_of "$path"); do
        check_include "$file" "$floor" "$header"
    done
done

for file in $(echo "$plan" | awk 'NF { print $1 }'); do
    [ -e "$lib/$file" ] || complain "$file: is in the floor plan, but does not exist"
done
# Files that use the public interface alone include no file of lib/.
for path in "${srcdir:-.}"/include/*.h "${srcdir:-.}"/include/cpool/*.h; do
    [ -z "$(includes_of "$path")" ] || complain "$path: includes files of lib/"
done
[ "$files" -gt 0 ] || complain "no files found in $lib"

[ "$status" -ne 0 ] || echo "$files files on their floors"
exit "$status"
