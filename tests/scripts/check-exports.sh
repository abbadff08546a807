#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-exports.sh - the exported symbols are the same three times: those that
# the public headers mark with CPOOL_API, those that lib/libcpool.map lists, and
# those that the shared library shows.  The tag of each public structure is the name of its
# type without _t, or with it if a function or the C++ namespace has that name.
#
# Each function that programs call is called in examples/.
#
# The layouts that inline code knows have a number, which ends the names that such code needs.
# A program with headers of another number does not link.

. "${srcdir:-.}/tests/harness/script.sh"

# The declared name: the one before the first parenthesis after CPOOL_API, or,
# of a variable, the last of the line.
cat "$top"/include/*.h "$top"/include/cpool/*.h |
    sed -n -e '/^ *#/d' -e 's/.*CPOOL_API//p' |
    sed -e 's/(.*//' -e 's/[ ;]*$//' -e 's/.*[^A-Za-z0-9_]//' | sort -u > "$work/headers"

sed -e 's/#.*//' -e '1,/global:/d' -e '/local:/,$d' "$top/lib/libcpool.map" |
    tr -d ' \t' | tr ';' '\n' | grep . | sort > "$work/map"

[ -s "$work/headers" ] || { echo 'no declaration found in the headers'; exit 1; }

# compare NAME NAME - the two lists.
compare() {
    if ! diff "$work/$1" "$work/$2" > "$work/difference"; then
        echo "differences, < $1, > $2:"
        grep '^[<>]' "$work/difference"
        status=1
    fi
}

uniq -d "$work/map" > "$work/twice"
[ ! -s "$work/twice" ] || { echo "twice in the map:" "$(cat "$work/twice")"; status=1; }
compare headers map

# Also functions that each program has its own copy of.
sed -n 's/^CPOOL_LOCAL_ .*[ *]\(cpool_[a-z_]*[a-z]\)(.*/\1/p' "$top"/include/cpool/*.h |
    sort -u - "$work/map" | grep -v -e '^cpool_client_' -e '_abi[0-9]*$' > "$work/functions"
find "$top/examples" -name '*.[ch]' -exec sed -e '/^ \*/d' -e 's@/\*.*@@' {} + |
    grep -o 'cpool_[a-z_]*(' | tr -d '(' | sort -u > "$work/called"
unused=$(comm -23 "$work/functions" "$work/called")
[ -z "$unused" ] || { echo "called by no program in examples/:" "$unused"; status=1; }

# Lines "tag type", and the tag that the rule above gives.
cat "$top"/include/*.h "$top"/include/cpool/*.h |
    awk '/^typedef struct [a-z_]+ [a-z_]+;/ { sub(/;/, ""); print $3, $4 }
        /^typedef struct [a-z_]+ \{/ { tag = $3 }
        /^\} [a-z_]+;/ && tag != "" { sub(/;/, ""); print tag, $2; tag = "" }' > "$work/types"
[ "$(wc -l < "$work/types")" -gt 15 ] || { echo 'hardly a type found in the headers'; status=1; }
while read -r tag type; do
    want=${type%_t}
    [ "$want" != cpool ] || want=cpool_pool
    ! grep -qx "$want" "$work/headers" || { echo "struct $want is a function, too"; status=1; }
    [ "$tag" = "$want" ] || { echo "struct $tag is $type, and not struct $want"; status=1; }
done < "$work/types"

library=lib/.libs/libcpool.so
if [ -e "$library" ]; then
    # Without versions, and without what compilers and linkers add.
    ${NM:-nm} -D --defined-only "$library" | sed -e 's/.* //' -e 's/@.*//' |
        grep -v -e '^_' -e '^LIBCPOOL_' | sort > "$work/library"
    compare map library
else
    echo 'left out: there is no shared library to compare with'
fi

# --- The number of the layouts ---

# The members of the structures that inline code knows, and the number that stands for them.
layouts='abi1 1689361682'
number=$(sed -n 's/^cpool_.*_\(abi[0-9]*\)$/\1/p' "$work/map" | sort -u)
for frozen in fast.h:cpool_pool fast.h:cpool_cache typed.h:cpool_typed_functions typed.h:cpool_typed \
    object_typed.h:cpool_objects_typed retire.h:cpool_reader; do
    awk -v head="struct ${frozen#*:} {" '!body && index($0, head) { body = 1 }
        body { text = text $0 "\n" } body && /^}/ { exit }
        END { gsub(/\/\*([^*]|\*[^\/])*\*\//, "", text); gsub(/[ \n]+/, " ", text); print text }' \
        "$top/include/cpool/${frozen%:*}"
done > "$work/layouts"
[ "$(grep -c '; }' "$work/layouts")" -eq 6 ] || { echo 'a layout is not found'; status=1; }
is="$number $(cksum < "$work/layouts" | cut -d ' ' -f 1)"
[ "$is" = "$layouts" ] || {
    echo "the layouts of inline code are $is, and not $layouts: raise the number (HACKING.md)"
    status=1
}

# Each shape of program, with the headers of another number and with ours.
cp -r "$top/include" "$work/other"
sed -i "s/_$number\\>/_abi0/g" "$work/other/cpool"/*.h
# link HEADERS OPTION
link() {
    # shellcheck disable=SC2086 # the compiler may have options of its own
    ${CC:-cc} -std=gnu11 -O2 $2 -I"$1" -Iinclude "$work/shape.c" "$library" -pthread \
        -Wl,-rpath,"$(pwd)/lib/.libs" -o "$work/shape" > "$work/output" 2>&1
}
# shape TEXT [OPTION]
shape() {
    printf '%s\n' '#include <cpool/frame.h>' '#include <cpool/object.h>' '#include <cpool/retire.h>' \
        'struct job { long number; };' 'int main(void) { return 0; }' "$1" > "$work/shape.c"
    for options in '' ${2:-}; do
        link "$top/include" "$options" || { echo "does not link: $1"; cat "$work/output"; status=1; }
        ! link "$work/other" "$options" || { echo "links with the headers of abi0: $1"; status=1; }
    done
}
if [ -e "$library" ]; then
    shape 'CPOOL_DECLARE(jobs, struct job); CPOOL_DEFINE(jobs, struct job, .capacity = 9);
        void use(void); void use(void) { jobs_free(jobs_alloc()); }' -DCPOOL_NO_INLINE
    shape 'CPOOL_OBJECTS_DECLARE(jobs, struct job);
        CPOOL_OBJECTS_DEFINE(jobs, struct job, CPOOL_OBJECT_HOOKS(.arg = 0), .capacity = 9);
        void use(void); void use(void) { jobs_put(jobs_get()); }' -DCPOOL_NO_INLINE
    # Not in main, where nothing is inlined.
    shape 'void *use(cpool_t *pool); void *use(cpool_t *pool) { return cpool_alloc(pool); }'
    shape 'void *use(cpool_cache_t *own); void *use(cpool_cache_t *own) { return cpool_cache_alloc(own); }'
    shape 'void use(cpool_cache_t *own, void *slot);
        void use(cpool_cache_t *own, void *slot) { cpool_cache_free(own, slot); }'
    shape 'void *use(cpool_frame_t *frame); void *use(cpool_frame_t *frame) { return cpool_frame_alloc(frame); }'
    shape 'void use(cpool_reader_t *reader); void use(cpool_reader_t *reader) { cpool_read_begin(reader); }'
fi

[ "$status" -ne 0 ] || echo "$(wc -l < "$work/headers") symbols"
exit "$status"
