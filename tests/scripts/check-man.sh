#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-man.sh - every exported function has a manual page, by which it is found:
# its own or one that refers to the page of its topic, which names it.  The pages
# that doc/local.mk lists are those that the headers give.  No formatter that is
# found complains.
#
# srcdir: top of the source tree.  CPOOL_TEST_QUICK: no formatter, and no HTML.

. "${srcdir:-.}/tests/harness/script.sh"
mkdir "$work/man3"

headers=$(sed -n -e ':a' -e '/\\$/{ N; s/\\\n//; ta' -e '}' -e 's/^man_headers = //p' "$top/doc/local.mk")
# shellcheck disable=SC2086 # several headers
(cd "$top" && ${AWK:-awk} -v out="$work/man3" -v version=1.2.3 -v date=2000-01-01 -v notes=doc/man \
    -f doc/man/make-pages.awk $headers) || complain 'the pages cannot be made'

# Functions that only the inline path and the macros of typed pools call need none.
functions=$(sed -n 's/^ *\(cpool_[a-z_]*\);.*/\1/p' "$top/lib/libcpool.map")
count=0
for function in $functions; do
    page=$work/man3/$function.3
    count=$((count + 1))
    [ -e "$page" ] || { complain "$function: has no manual page"; continue; }
    read -r request target < "$page"
    [ "$request" != .so ] || page=$work/$target
    [ -e "$page" ] || { complain "$function: its page refers to $target, which is none"; continue; }
    sed -n '/^\.SH NAME/,/^\.SH LIBRARY/p' "$page" | grep -qw "$function" ||
        complain "$function: is not in the NAME section of ${page##*/}"
    grep -q "^\\\\fB.*[ *]$function(" "$page" || complain "$function: ${page##*/} does not declare it"
    header=$(cd "$top/include" && grep -lE "^CPOOL_API.*[ *]$function\(" cpool.h cpool/*.h | xargs grep -L 'Included by <cpool.h>')
    grep -q "^\.B #include <${header:-cpool.h}>" "$page" || complain "$function: ${page##*/} does not include its header"
done
[ "$count" -gt 10 ] || complain "only $count functions found in lib/libcpool.map"

(cd "$work/man3" && ls) | sort > "$work/made"
sed 's/#.*//' "$top/doc/local.mk" | tr ' \t' '\n\n' |
    sed -n 's,^doc/man/\([cC][a-zA-Z_]*\.[0-9]\)$,\1,p' | sort -u > "$work/listed"
diff "$work/listed" "$work/made" > "$work/difference" ||
    complain "doc/local.mk (<) lists other pages than are made (>): $(grep '^[<>]' "$work/difference")"

formatters=
for formatter in mandoc groff; do
    [ -z "${CPOOL_TEST_QUICK:-}" ] && command -v "$formatter" > /dev/null || continue
    formatters="$formatters $formatter"
    for page in $(grep -L '^\.so ' "$work"/man3/*); do
        case $formatter in
        mandoc) mandoc -T lint -W style "$page" ;;
        groff) groff -man -T utf8 -ww -z "$page" ;;
        esac > "$work/lint" 2>&1
        [ ! -s "$work/lint" ] || complain "$formatter, ${page##*/}: $(cat "$work/lint")"
    done
done

# The same as HTML: every page is in the index, and every link has a target.
if [ -z "${CPOOL_TEST_QUICK:-}" ] && command -v mandoc > /dev/null; then
    "$top/doc/man/make-html.sh" "$work/html" "$work"/man3/* || complain 'no HTML can be made'
    for name in $(cat "$work/made"); do
        grep -q "href=\"$name.html\"" "$work/html/index.html" || complain "$name: not in index.html"
    done
    for name in $(cat "$work"/html/*.html | grep -o 'href="[^"#]*"' | cut -d '"' -f 2 | sort -u); do
        [ -s "$work/html/$name" ] || complain "$name: a link without a page"
    done
    [ "$(cat "$work"/html/cpool_wait.3.html | grep -c '<a href="cpool')" -gt 0 ] ||
        complain 'cpool_wait.3.html: no links'
fi

[ "$status" -ne 0 ] || echo "$count functions have pages; formatters:${formatters:- none}"
exit "$status"
