#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-names.sh - what is said of the interface names what the public headers declare.  Said in
# documents, in notes of manual pages, and in the comments and strings of all sources:
#
#   cpool_x, CPOOL_X    declared, or `struct cpool_x` after that word alone
#   cpool_x(3)          a page of doc/local.mk
#   cpool/x.h           a header
#   cpool::x            in a header for C++
#   <name>_x            a function of typed pools: name##_x in a header
#   stats.x, config.x   a member of a public structure, and so for the names below
#
# check-json.sh has the names of metrics.

. "${srcdir:-.}/tests/harness/script.sh"
export LC_ALL=C
cd "$top" || exit 1

# No header has these.
cat > "$work/others" << 'END_OF_LIST'
CPOOL_OPTIONS           the environment of a program (cpool_debug.3)
CPOOL_MALLOC_PRINT      the environment of a program with libcpool-malloc.so
CPOOL_PREFIX            two files: before each name (lib/amalgamate.sh)
CPOOL_MALLOC            an option of CMake
cpool_dep               the dependency of Meson
cpool_shared            a target of CMake
cpool_static            a target of CMake
cpool_library_version   in configure.ac
END_OF_LIST

# code FILE... - C without its comments.
code() { cat "$@" | sed 's,/\*,\n&,g; s,\*/,&\n,g' | sed '/^\/\*.*\*\/$/d; /^\/\*/,/\*\/$/d'; }

# words WHAT - each word of the input, as a line of what is known.
words() { tr -cs 'A-Za-z0-9_' '\n' | awk -v what="$1" 'NF && !known[$1]++ { print what, $1 }'; }

code include/*.h include/cpool/*.h > "$work/c"
code include/cpool/*.hpp > "$work/c++"
{
    sed -E 's/(struct|enum) cpool_[a-z_]+//g' "$work/c" | cat - "$work/c++" | words name
    sed 's/ .*//' "$work/others" | words name
    grep -oE '(struct|enum) cpool_[a-z_]+' "$work/c" | sed 's/.* //' | words tag
    grep -oE '[A-Za-z_]*##_[a-z_]+' "$work/c" | sed 's/.*##//' | words typed
    sed -n '/^ *typedef struct cpool_/,/^ *}/p' "$work/c" | words member
    tr ' \t' '\n\n' < doc/local.mk | sed -n 's,^doc/man/\(.*\)\.[37]$,\1,p' | words page
    words ns < "$work/c++"
    printf 'ns %s\n' cpool cpool_shared cpool_static
    for header in include/cpool/*; do
        echo "header ${header#include/}"
    done
} > "$work/known"

find lib ext include tests stress bench examples doc debian gdb ./*.md NEWS cpool.pc.in \
    -type f ! -path '*/planted/*' ! -path 'doc/performance/*' ! -path 'doc/plots/*' \
    \( -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.md' -o -name '*.txt' -o -name '*.py' -o \
    -name '*.map' -o -name NEWS -o -path 'debian/*' \) -print > "$work/files"

# shellcheck disable=SC2046 # no file's name has a blank
awk -v known="$work/known" '
    BEGIN { while ((getline line < known) > 0) is[line] = 1 }

    function complain(name) { print FILENAME ":" FNR ": nothing is named " name; bad = 1 }

    # Comments and strings.
    function said(rest,    text, found, end) {
        while (rest != "")
            if (inside) {
                end = index(rest, "*/")
                text = text " " (end ? substr(rest, 1, end - 1) : rest)
                rest = end ? substr(rest, end + 2) : ""
                inside = !end
            } else if (match(rest, /"([^"\\]|\\.)*"|\/\*|\/\/.*/)) {
                found = substr(rest, RSTART, RLENGTH)
                rest = substr(rest, RSTART + RLENGTH)
                inside = found == "/*"
                text = text " " found
            } else
                rest = ""
        return text
    }

    # A name of C, with what stands before and behind it: "..." and `.c` are more of another name.
    # Tests have an environment of their own.
    function judge(name, before, behind) {
        if (before ~ /[A-Za-z0-9_]$/ || name ~ /^CPOOL_(TEST_.*|[A-Z_]*_H)$/)
            return
        if (before ~ /(struct|enum) $/ && ("tag " name) in is)
            return
        if (before ~ /man $/ || behind ~ /^(\([37]\)|\.[37]|\.txt)/) {
            if (!(("page " name) in is))
                complain(name " as a page")
        } else if (!(("name " name) in is) && behind !~ /^(\*|\.\.\.|\.[ch]`)/)
            complain(name)
    }

    # find TEXT, PATTERN, LENGTH, KIND - what is behind the first LENGTH signs of each match.
    function find(text, pattern, from, kind,    name) {
        while (match(text, pattern)) {
            name = substr(text, RSTART, RLENGTH)
            sub(from, "", name)
            if (!((kind " " name) in is))
                complain(substr(text, RSTART, RLENGTH))
            text = substr(text, RSTART + RLENGTH)
        }
    }

    FNR == 1 { inside = 0 }
    {
        text = FILENAME ~ /\.([ch]|[ch]pp)$/ ? said($0) : $0
        if (FILENAME == "doc/JSON.md")
            gsub(/^    .*|\| `cpool_[a-z_]+` \|/, "", text)
        find(text, "cpool/[a-z_]+\\.h(pp)?", "^$", "header")
        find(text, "cpool::[a-z_]+", "^cpool::", "ns")
        find(text, "<name>_[a-z_]+", "^<name>", "typed")
        find(text, "(stats|config|view|iter)\\.[a-z_][a-z_]+", "^[a-z]*.", "member")
        before = " "
        while (match(text, /(cpool|CPOOL)_[A-Za-z0-9_]+/)) {
            judge(substr(text, RSTART, RLENGTH), before substr(text, 1, RSTART - 1),
                substr(text, RSTART + RLENGTH))
            count++
            before = "_"
            text = substr(text, RSTART + RLENGTH)
        }
    }
    END {
        if (count < 1000) { print "hardly any name was found: " count; bad = 1 }
        if (!bad) print count " names are known"
        exit bad
    }' $(cat "$work/files")
