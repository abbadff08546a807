#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# amalgamate.sh - writes the library as two files, cpool.c and cpool.h, or a library of ext/ as two
# files that stand beside these.
#
#   sh lib/amalgamate.sh [FOLDER]          cpool.c and cpool.h into FOLDER, or into `amalgamation`
#   sh lib/amalgamate.sh FOLDER retire     cpool_retire.c and cpool_retire.h, and so for the others
#   sh lib/amalgamate.sh FOLDER all        all of these
#
# With -DCPOOL_STATIC the object that contains cpool.c shows no name of the library's to others,
# and with -DCPOOL_PREFIX=sdk_ all names begin with that (amalgamate.awk).  Sources with
# cpool.h define the same.
#
# Takes nothing but a shell and awk, so a fresh clone needs no configure for it.  AWK: another
# awk.

set -euf
export LC_ALL=C
top=$(dirname "$0")/..
folder=${1:-amalgamation}
ext=${2:-}
mkdir -p "$folder"

# Each library of ext/ has two files of its own.
outside='objects sized retire lanes'
if [ "$ext" = all ]; then
    for ext in '' $outside; do
        sh "$0" "$folder" "$ext"
    done
    exit
fi

# headers_of LIBRARY - its public headers, as lib/sources.mk names them
headers_of() {
    awk -v name="ext_$1_headers" '$1 == name { on = 1; next } !/^\t/ { on = 0 } on { print $1 }' \
        "$top/lib/sources.mk"
}

# list PATTERN... - the files of these names
# shellcheck disable=SC2048,SC2086 # patterns
list() { (cd "$top" && set +f && ls $*); }

headers=$(list 'include/cpool.h include/cpool/*.h')
for name in $outside; do
    for header in $(headers_of "$name"); do
        headers=$(echo "$headers" | grep -vx "$header")
    done
done
below=
file=cpool
if [ -z "$ext" ]; then
    sources=$(list 'lib/*/*.[ch]')
else
    case " $outside " in
    *" $ext "*) ;;
    *) echo "amalgamate.sh: no two files of $ext" >&2; exit 1 ;;
    esac
    below=$headers
    headers=$(headers_of "$ext")
    sources=$(list 'ext/*.h' "ext/$ext/*.[ch]")
    file=cpool_$ext
fi

# part FILE PART FROM... - writes the file once it is whole.
part() {
    made=$1 part=$2
    shift 2
    # shellcheck disable=SC2086 # its lines become words
    ${AWK:-awk} -v top="$top" -v part="$part" -v ext="$ext" -v below="$(echo $below)" \
        -f "$top/lib/amalgamate.awk" "$@" > "$folder/$made.tmp"
    mv "$folder/$made.tmp" "$folder/$made"
}
# shellcheck disable=SC2086 # no file's name has a blank
part "$file.h" header $headers
# shellcheck disable=SC2086
part "$file.c" source $sources
