#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-docs.sh - holds names in documents against the sources.
#
#   files       every `path/file.c` (.h .sh .mk .txt .md) and every target of a link
#               exists, below the top or below lib/, include/, tests/ or doc/
#   places      in "`path/file.c`, `name`" the file has the function
#   functions   every `cpi_...` and `CPI_...` stands in the sources (check-names.sh has cpool_...)
#   targets     every `make ...` is one of the Makefile, and each of the Makefile is in HACKING.md
#               or doc/TESTING.md
#   options     every `--enable-...` and `--with...` is one of configure, each of configure is in
#               HACKING.md, and every `-Dname=` is one of Meson
#   variables   every `NAME` in capitals of HACKING.md and doc/TESTING.md stands in the sources,
#               and every `name()` of any document
#   folders     each folder of tests/ is in doc/TESTING.md, and so is each test of check-all,
#               and each source that a model includes
#   state       no document says that something is planned
#   evidence    every name in the table of claims of doc/TESTING.md stands in
#               a test, a model, a scenario or a stress mode; "..." in a name stands for a part left out
#   deadlines   each function has a row in doc/REAL_TIME.md, and check_real_time.c calls those that
#               make no system call
#   tests       in "`check_file` `name`, `name`" of this document the file has the tests

. "${srcdir:-.}/tests/harness/script.sh"
export LC_ALL=C
cd "$top" || exit 1

documents='README.md HACKING.md CONTRIBUTING.md SECURITY.md lib/README.md NEWS'
for document in doc/*.md doc/performance/*.md; do
    documents="$documents $document"
done

find lib ext include tests stress bench examples doc cmake debian gdb .ci ./*.md ./*.a[cm] CMakeLists.txt \
    \( -name build -o -name results -o -name .libs \) -prune -o -type f -print > "$work/files"
# shellcheck disable=SC2046 # no file's name has a blank
cat $(grep -E '^\.ci/run$|\.(c|h|in|cpp|hpp|map|mk|sh|txt|inc|awk)$' "$work/files" | grep -v '/scripts/') \
    configure.ac Makefile.am > "$work/sources"
# Each file by its name, with any number of the folders before it.
awk '{ for (rest = $0; match(rest, /^[^\/]*\//); rest = substr(rest, RLENGTH + 1)) print rest
    print rest }' "$work/files" | sort -u > "$work/paths"
# Each word of the sources once.
tr -cs 'A-Za-z0-9_' '\n' < "$work/sources" | awk '!known[$0]++' | sort > "$work/words"

# Names in backquotes, one a line.  NEWS has no backquotes.
# shellcheck disable=SC2016 # the backquotes are meant
names_of() {
    case $1 in
    NEWS) sed 's/(3)//g' NEWS | tr -s ' ,;:()<>' '\n' | grep '_' ;;
    *) awk '/^```/ { fenced = !fenced } !fenced' "$1" | grep -o '`[^`]*`' | tr -d '`' ;;
    esac
}

# absent FILE - those lines of the input that are none of the sorted file.
absent() { sort -u | comm -23 - "$1"; }

# shellcheck disable=SC2046 # no file's name has a blank
cat Makefile.am $(grep '/local\.mk$' "$work/files") > "$work/makefile"
# The targets and options of the tools themselves, and those of our files.
{
    printf '%s\n' check install uninstall clean dist distcheck html
    grep -E '^[a-z].*:|^machines_targets' "$work/makefile" |
        sed 's/:.*//' | tr -s ' =' '\n\n'
} | sort -u > "$work/targets"
{
    printf '%s\n' shared static
    grep -oE '(AC_ARG_(ENABLE|WITH)|CPOOL_OPTIONAL_MODULE|CPOOL_EXT)\(\[[a-z-]+' configure.ac | sed 's/.*\[//' |
        tee "$work/own-options"
} | sort -u > "$work/options"
# Those that another one calls, or that accept what has been measured, are for a local.mk alone.
awk '
    /^\.PHONY:/ { on = 1; sub(/^[^:]*:/, "") }
    on { for (i = 1; i <= NF; i++) if ($i ~ /^[a-z-]+$/ && $i !~ /^(machines|clean)-/) print $i }
    !/\\$/ { on = 0 }' "$work/makefile" | sort -u > "$work/phony"

for document in $documents; do
    names_of "$document" > "$work/names"
    grep -oE '^make [a-z][a-z0-9-]*' "$work/names" | sed 's/make //' | absent "$work/targets" |
        sed "s|^|$document: make has no target |"
    grep -oE '^--(enable|disable|with|without)-[a-z-]+' "$work/names" | sed 's/^--[a-z]*-//' |
        absent "$work/options" | sed "s|^|$document: configure has no option |"
    grep -E '^[A-Za-z0-9_./-]+\.(c|h|sh|mk|txt|md|py|map)$' "$work/names" | absent "$work/paths" |
        sed "s|^|$document: no file |"
    sed -n 's/^-D\([a-z_]*\)=.*/\1/p' "$work/names" | sort -u |
        while read -r name; do
            grep -q "^option('$name'" meson_options.txt || echo "$document: Meson has no option $name"
        done
    case $document in HACKING.md | doc/TESTING.md) capitals='[A-Z][A-Z_]*' ;; *) capitals= ;; esac
    sed -n "s/^\($capitals\)\(=.*\)\{0,1\}\$/\1/p; s/^\([a-z_]*\)()\$/\1/p" "$work/names" |
        grep . | absent "$work/words" | sed "s|^|$document: nothing is named |"
    grep -oE '`[a-z_/]+\.[ch]`, `[a-z_]+`' "$document" | tr -d '`,' |
        while read -r name function; do
            grep -qE "\<$function\(" "$name" || echo "$document: $name has no $function"
        done
    grep -oE '\]\([^)#]+' "$document" | sed 's/^](//' | grep -v '^http' | sort -u |
        while read -r name; do
            [ -e "$(dirname "$document")/$name" ] || echo "$document: no target $name"
        done
    grep -oE '\<(cpi|CPI)_[A-Za-z0-9_]*[A-Za-z0-9]' "$work/names" | absent "$work/words" |
        while read -r name; do
            grep -qF "$name" "$work/words" || echo "$document: nothing is named $name"
        done
done > "$work/missing"

# shellcheck disable=SC2086 # several documents
grep -nEi '(is|are) planned|\<(TODO|FIXME)\>' $documents >> "$work/missing"

# The other way: nothing is left out.
names_of HACKING.md > "$work/names"
while read -r name; do
    grep -qE "^--(enable|disable|with|without)-$name\>" "$work/names" ||
        echo "HACKING.md: lacks the option $name of configure"
done < "$work/own-options" >> "$work/missing"
cat HACKING.md doc/TESTING.md | grep -oE '`make [a-z -]*' | tr ' ' '\n' | sort -u |
    comm -13 - "$work/phony" | sed 's|^|doc/TESTING.md: lacks make |' >> "$work/missing"
awk '/^##/ { on = /^### Which test is where/ } on && /^\|/' doc/TESTING.md > "$work/where.md"
for folder in bench $(sed -nE 's,^(tests/[a-z]*)/.*\.(c|sh|txt)$,\1,p' "$work/files" | sort -u); do
    grep -q "\`${folder}[\`/]" "$work/where.md" || [ "$folder" = tests/harness ] ||
        echo "doc/TESTING.md: its table lacks the folder $folder"
done >> "$work/missing"
for name in $(sed -n 's,^ *#include ".*/\([a-z_]*\.c\)",\1,p' tests/model/*.[ch] | sort -u); do
    grep -qF "\`$name\`" doc/TESTING.md || echo "doc/TESTING.md: does not say that models compile $name"
done >> "$work/missing"
# shellcheck disable=SC2016 # the backquotes are meant
for name in $(sed -n '/^tests_long = /,/[^\\]$/p' tests/local.mk | grep -o '[a-z/_-]*\.sh'); do
    grep -q "^| .*\`$(echo "$name" | sed 's,^tests/,,; s,^scripts/,,; s,^bench/,,')\`.* | no | yes |" doc/TESTING.md ||
        echo "doc/TESTING.md: has $name not among the tests of check-all"
done >> "$work/missing"

document=doc/REAL_TIME.md
for name in $(sed -n 's/^ *\(cpool_[a-z_]*\);.*/\1/p' lib/libcpool.map); do
    grep -q "^|.*\`$name\`" "$document" || echo "$document: no row has $name"
done >> "$work/missing"
awk -F '|' '/^## / { on = /^## Between/ } on' "$document" | grep -o '`cpool_[a-z_]*`' | tr -d '`' | sort -u |
    while read -r name; do
        grep -q "\<$name(" tests/public/check_real_time.c || echo "$document: check_real_time.c does not call $name"
    done >> "$work/missing"

document=doc/TESTING.md
awk '/^## / { on = /^## Claims/ } on && /^\|/' "$document" > "$work/table.md"
[ -s "$work/table.md" ] || complain "$document has no table of claims"
names_of "$work/table.md" | awk '{ gsub(/\.\.\./, "\n"); print }' | grep -E '[a-z]' |
    absent "$work/words" |
    while read -r name; do
        grep -qF -- "$name" "$work/files" || grep -qF -- "$name" "$work/sources" ||
            echo "$document: no test is named $name"
    done >> "$work/missing"

# "FILE TEST" for each test that stands right behind its file.
tests_of() {
    awk '{
        while (match($0, /`check_[a-z0-9_]+` `[a-z0-9_.]+`(, `[a-z0-9_.]+`)*/)) {
            count = split(substr($0, RSTART, RLENGTH), name, /[`, ]+/)
            for (i = 3; i < count; i++)
                print name[2], name[i]
            $0 = substr($0, RSTART + RLENGTH)
        }
    }' "$1"
}

grep -E '/check_[a-z0-9_]+\.(c|cpp)$' "$work/files" | xargs grep -oE '^(TEST[A-Z_]*|STEPS_SWEEP)\([a-z0-9_]+' |
    sed 's|.*/||; s/\.[cp]*:[A-Z_]*(/ /' > "$work/there"
tests_of "$document" > "$work/tests"
[ "$(wc -l < "$work/tests")" -gt 10 ] || complain "$document: no tests were found"
awk -v document="$document" '
    NR == FNR { tests[$1] = tests[$1] " " $2 " "; next }
    { pattern = $2; gsub(/\.\.\./, "[a-z0-9_]*", pattern) }
    tests[$1] !~ " " pattern " " { print document ": " $1 " has no test " $2 }
    ' "$work/there" "$work/tests" >> "$work/missing"

if [ -s "$work/missing" ]; then
    cat "$work/missing"
    status=1
fi
[ "$(wc -l < "$work/sources")" -gt 10000 ] || complain 'the sources were not found'
[ "$status" -ne 0 ] || echo 'files, functions and tests that documents name exist'
exit "$status"
