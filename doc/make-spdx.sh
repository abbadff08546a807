#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# make-spdx.sh - lists what a release holds, with licences and sums, as SPDX 2.3 has it.
#
#   make-spdx.sh FOLDER NAME VERSION   writes FOLDER/NAME.spdx
#   make-spdx.sh check FOLDER NAME     fails if a file is not listed, or is another one
#
# The licence of a file is that of its SPDX-License-Identifier.  One without is ours, under
# LICENSE, or comes from the autotools, which these names tell.

set -u
if [ "$1" = check ]; then
    cd "$2" || exit 1
    list=$3.spdx
    awk '$1 == "FileName:" { name = $2 } $2 == "SHA1:" { print $3 "  " name }' "$list" > "$list.sums"
    sed 's/^[^ ]*  //' "$list.sums" | sort > "$list.named"
    find . -type f ! -name "$list*" | sort | diff "$list.named" - && sha1sum -c --quiet "$list.sums"
    status=$?
    files=$(wc -l < "$list.named")
    rm -f "$list.sums" "$list.named"
    [ "$status" -eq 0 ] && echo "$files files are as $list says"
    exit "$status"
fi

cd "$1" || exit 1
name=$2 version=$3 list=$2.spdx
find . -type f ! -name "$list*" | sort | xargs sha1sum > "$list.sums" || exit 1
code=$(cut -d ' ' -f 1 "$list.sums" | sort | tr -d '\n' | sha1sum | cut -d ' ' -f 1)

# licence FILE
licence() {
    tag=$(head -n 5 "$1" | sed -n 's/.*SPDX-License-Identifier: *\([A-Za-z0-9.-]*\).*/\1/p' | head -n 1)
    case $1 in
    ./configure) echo 'FSFUL' ;;
    ./Makefile.in) echo 'FSFULLRWD' ;;
    ./aclocal.m4) echo 'FSFULLR' ;;
    ./build-aux/install-sh) echo 'X11' ;;
    ./build-aux/config.*) echo 'GPL-3.0-or-later WITH Autoconf-exception-generic-3.0' ;;
    ./build-aux/ltmain.sh) echo 'GPL-2.0-or-later WITH Libtool-exception' ;;
    ./build-aux/*) echo 'GPL-2.0-or-later WITH Autoconf-exception-generic' ;;
    ./m4/libtool.m4) echo 'FSFULLR AND GPL-2.0-or-later WITH Libtool-exception' ;;
    ./m4/lt*.m4) echo 'FSFULLR' ;;
    *) echo "${tag:-BSD-2-Clause}" ;;
    esac
}

{
    cat << END
SPDXVersion: SPDX-2.3
DataLicense: CC0-1.0
SPDXID: SPDXRef-DOCUMENT
DocumentName: $name-$version
DocumentNamespace: https://spdx.org/spdxdocs/$name-$version-$code
Creator: Tool: make-spdx.sh
Created: $(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%Y-%m-%dT%H:%M:%SZ)

PackageName: $name
SPDXID: SPDXRef-Package
PackageVersion: $version
PackageDownloadLocation: NOASSERTION
FilesAnalyzed: true
PackageVerificationCode: $code
PackageLicenseConcluded: BSD-2-Clause
PackageLicenseDeclared: BSD-2-Clause
PackageCopyrightText: <text>$(sed -n 's/^Copyright/&/p' LICENSE | head -n 1)</text>
Relationship: SPDXRef-DOCUMENT DESCRIBES SPDXRef-Package
END
    number=0
    while read -r sum file; do
        number=$((number + 1))
        found=$(licence "$file")
        printf '\nFileName: %s\nSPDXID: SPDXRef-File-%d\nFileChecksum: SHA1: %s\n' "$file" $number "$sum"
        printf 'LicenseConcluded: %s\nLicenseInfoInFile: NOASSERTION\n' "$found"
        printf 'FileCopyrightText: NOASSERTION\n'
    done < "$list.sums"
} > "$list.new" && mv "$list.new" "$list"
status=$?
rm -f "$list.sums"
exit "$status"
