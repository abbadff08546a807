#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-spdx.sh - the list of what a release holds names each file with its licence, and a file
# that is changed, added or removed since is noticed.

. "${srcdir:-.}/tests/harness/script.sh"
make=$(cd "${srcdir:-.}" && pwd)/doc/make-spdx.sh
folder=$work/release

begin() {
    rm -rf "$folder"
    mkdir -p "$folder/lib" "$folder/build-aux"
    cp "${srcdir:-.}/LICENSE" "$folder"
    echo 'a document' > "$folder/NEWS"
    echo '/* SPDX-License-Identifier: MIT */' > "$folder/lib/other.c"
    echo '# generated' > "$folder/build-aux/ltmain.sh"
    SOURCE_DATE_EPOCH=0 sh "$make" "$folder" some 1.2.3 || complain 'no list is made'
}

check() { sh "$make" check "$folder" some > "$work/output" 2>&1; }

# licence FILE NAME
licence() {
    awk -v file="$1" '$1 == "FileName:" { on = $2 == file }
        on && sub(/^LicenseConcluded: /, "") { print }' "$folder/some.spdx" | grep -qxF "$2" ||
        complain "$1 has not the licence $2"
}

begin
check || complain "the list is not of its own files: $(cat "$work/output")"
[ "$(grep -c '^FileName:' "$folder/some.spdx")" -eq 4 ] || complain 'there are not four files'
grep -q '^PackageVersion: 1.2.3$' "$folder/some.spdx" || complain 'it has no version'
grep -q '^Created: 1970-01-01T00:00:00Z$' "$folder/some.spdx" || complain 'it has no date'
licence ./lib/other.c MIT
licence ./NEWS BSD-2-Clause
licence ./build-aux/ltmain.sh 'GPL-2.0-or-later WITH Libtool-exception'
echo more >> "$folder/NEWS"
! check || complain 'a changed file is not noticed'
begin
touch "$folder/lib/new.c"
! check || complain 'a new file is not noticed'
begin
rm "$folder/NEWS"
! check || complain 'a removed file is not noticed'

[ "$status" -ne 0 ] || echo 'the list of a release holds'
exit "$status"
