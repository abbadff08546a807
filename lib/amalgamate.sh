#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# amalgamate.sh - writes the library as two files, cpool.c and cpool.h.
#
#   sh lib/amalgamate.sh [FOLDER]     into FOLDER, or into `amalgamation`
#
# With -DCPOOL_STATIC the object that contains cpool.c shows no name of the library's to others,
# and with -DCPOOL_PREFIX=sdk_ all names begin with that (amalgamate.awk).  Sources with
# cpool.h define the same.
#
# Takes nothing but a shell and awk, so a fresh clone needs no configure for it.  AWK: another
# awk.

set -eu
top=$(dirname "$0")/..
folder=${1:-amalgamation}
mkdir -p "$folder"
# part NAME FILE... - writes the file once it is whole.
part() {
    name=$1 part=$2
    shift 2
    ${AWK:-awk} -v top="$top" -v part="$part" -f "$top/lib/amalgamate.awk" "$@" > "$folder/$name.tmp"
    mv "$folder/$name.tmp" "$folder/$name"
}
# shellcheck disable=SC2046 # no file's name has a blank
part cpool.h header $(cd "$top" && ls include/cpool.h include/cpool/*.h)
# shellcheck disable=SC2046
part cpool.c source $(cd "$top" && for part in lib ext; do ls $part/*.h $part/*/*.[ch] 2> /dev/null | LC_ALL=C sort; done)
