#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-orders.sh - holds the ordering tables of lib/ against the atomic sites.
#
# A concurrent file has in a comment the line ` * ORDERING TABLE`, and after it,
# to the end of the comment, rows of the form
#
#     *   tag | operation | order | pairs with | publishes
#
# A row without a tag goes on with the one above: another order that the same
# operation has in other circumstances.
#
# Each atomic operation, which is a call of a macro of lib/base/atomic.h, cites in a
# comment on its lines, or directly above, the tags of its rows: ` [tag] `.  So
# does the barrier of the operating system, with the order "-".  Fences for the
# compiler alone need no tag.  Complains of: a site without a tag, a tag cited
# and not in the table, a row cited nowhere, a row of another order than the
# sites that cite it, a site with an order that none of its tags has, an
# operation past lib/base/atomic.h, and in include/ an operation without an order.

. "${srcdir:-.}/tests/harness/script.sh"

# The macros that are operations, as alternatives of a regular expression.
operations=$(sed -n 's/^#define \(cpi_[a-z_]*\)(.*/\1/p' "$top/lib/base/atomic.h" | sort -u |
    tr '\n' '|' | sed 's/|$//')
[ -n "$operations" ] || { echo "no operations found in $top/lib/base/atomic.h"; exit 1; }
operations="$operations|cpi_os_barrier|cpi_barrier_passed|system->barrier"

check_file='
function complain(line, what) {
    printf "%s:%d: %s\n", FILENAME, line, what
    bad = 1
}

# Splits a line into code[n] and note[n], outside and inside comments.  The
# contents of strings go.
function split_line(text, n,    at, rest) {
    code[n] = ""
    note[n] = ""
    while (text != "") {
        if (inside) {
            at = index(text, "*/")
            note[n] = note[n] " " (at ? substr(text, 1, at - 1) : text)
            text = at ? substr(text, at + 2) : ""
            inside = !at
        } else {
            at = index(text, "/*")
            code[n] = code[n] " " (at ? substr(text, 1, at - 1) : text)
            text = at ? substr(text, at + 2) : ""
            inside = at > 0
        }
    }
    gsub(/"([^"\\]|\\.)*"/, "\"\"", code[n])
    sub(/\/\/.*/, "", code[n])
}

# Takes the row of a table that this line of a comment may be.
function take_row(text, n,    cell, count, tag, order) {
    count = split(text, cell, "|")
    if (count < 4)
        return
    tag = cell[1]
    gsub(/[ *]/, "", tag)
    order = cell[3]
    gsub(/ /, "", order)
    if (tag == "tag")
        return
    if (tag == "" && last_tag != "")
        tag = last_tag
    else if (tag !~ /^[a-z][a-z0-9-]*$/)
        complain(n, "a row of the table with the tag \"" tag "\"")
    else if (tag in row)
        complain(n, "the tag [" tag "] has two rows")
    if (order !~ /^(relaxed|acquire|release|acq_rel|seq_cst|-)$/)
        complain(n, "the row of [" tag "] has the order \"" order "\"")
    if (!(tag in row))
        row[tag] = n
    last_tag = tag
    orders[tag] = orders[tag] " " order " "
}

# The number of lines that the call starting at position `at` of line n takes.
# Leaves its text in `call`.
function read_call(n, at,    text, depth, i, lines, c) {
    text = substr(code[n], at)
    call = ""
    depth = 0
    for (lines = 1; ; lines++) {
        for (i = 1; i <= length(text); i++) {
            c = substr(text, i, 1)
            call = call c
            if (c == "(")
                depth++
            if (c == ")" && --depth == 0)
                return lines
        }
        if (n + lines > last)
            return lines
        text = code[n + lines]
    }
}

# The orders that stand at the end of the argument list, in found[].
function read_orders(    argument, count, i, word) {
    split("", found)
    if (call ~ /^(cpi_os_barrier|cpi_barrier_passed|system->barrier)\(/) {
        found["-"] = 1
        return 1
    }
    sub(/\)$/, "", call)
    count = split(call, argument, ",")
    for (i = count; i > 1; i--) {
        word = argument[i]
        gsub(/[ \t]/, "", word)
        if (word !~ /^(relaxed|acquire|release|acq_rel|seq_cst)$/)
            break
        found[word] = 1
    }
    return i < count
}

# Uses the tags in a comment for the site at line n.  Returns how many there were.
function use_tags(text, n,    tag, count, order, here) {
    count = 0
    while (match(text, /\[[a-z][a-z0-9-]*\]/)) {
        tag = substr(text, RSTART + 1, RLENGTH - 2)
        text = substr(text, RSTART + RLENGTH)
        count++
        if (!(tag in row)) {
            complain(n, "[" tag "] is not in the table of this file")
            continue
        }
        used[tag] = 1
        here = 0
        for (order in found)
            if (index(orders[tag], " " order " "))
                here = met[order] = 1
        if (!here)
            complain(n, "[" tag "] is" orders[tag] "in the table, and not here")
    }
    return count
}

function check_site(n, at,    lines, i, count, order) {
    lines = read_call(n, at)
    sites++
    if (!read_orders()) {
        complain(n, "an operation without an order")
        return
    }
    split("", met)
    count = 0
    for (i = n; i < n + lines; i++)
        count += use_tags(note[i], n)
    for (i = n - 1; count == 0 && i > 0 && code[i] ~ /^[ \t]*$/ && note[i] != ""; i--)
        count += use_tags(note[i], n)
    if (count == 0) {
        complain(n, "an operation without a tag")
        return
    }
    for (order in found)
        if (!(order in met))
            complain(n, "the order " order " is that of none of the tags cited")
}

# The barrier is declared and defined in host/, and used by later folders.
/^(void|bool) / {
    sub(/cpi_(os_barrier|barrier_passed)\(void\)/, "")
}

{
    last = FNR
    split_line($0, FNR)
    if (note[FNR] ~ /ORDERING TABLE/)
        table = 1
    else if (table && note[FNR] ~ /\|/)
        take_row(note[FNR], FNR)
    if (!inside) {
        table = 0
        last_tag = ""
    }
    if (note[FNR] ~ /ORDERING TABLE/)
        tables++
}

END {
    pattern = "(^|[^A-Za-z0-9_])(" operations ")\\("
    for (n = 1; n <= last; n++) {
        if (code[n] ~ /(^|[^A-Za-z0-9_])(atomic_(load|store|exchange|compare|fetch|thread_fence|flag)|__atomic_|__sync_)/)
            complain(n, "an operation past lib/base/atomic.h")
        at = 1
        while (match(substr(code[n], at), pattern)) {
            at = at + RSTART - 1
            if (substr(code[n], at, 1) !~ /c/ || substr(code[n], at, 4) != "cpi_")
                at++
            check_site(n, at)
            at += 4
        }
    }
    for (tag in row)
        if (!(tag in used))
            complain(row[tag], "[" tag "] is cited by no operation")
    if (tables > 0 && sites == 0)
        complain(1, "a table, and no operations")
    printf "%d\n", sites > "/dev/stderr"
    exit bad
}'

total=0
for path in "$top"/lib/*/*.[ch] "$top"/ext/*/*.[ch]; do
    [ "${path##*/}" != atomic.h ] || continue
    if ! { sites=$(awk -v operations="$operations" "$check_file" "$path" 2>&1 >&3); } 3>&1; then
        status=1
    fi
    case $sites in
    '' | *[!0-9]*)
        echo "$path: awk failed: $sites"
        exit 1
        ;;
    esac
    total=$((total + sites))
done
[ "$total" -gt 0 ] || { echo "no operations found in $top/lib"; exit 1; }

# In "FILE's tag tag" of a row, that file has rows of these tags.
# shellcheck disable=SC2046 # no file's name has a blank
awk '
    FNR == 1 { table = 0; base = FILENAME; sub(/.*\//, "", base) }
    /ORDERING TABLE/ { table = 1; next }
    /\*\// { table = 0 }
    table && /\|/ {
        tag = $2
        if (tag ~ /^[a-z][a-z0-9-]*$/)
            row[base, tag] = 1
        text = $0
        while (match(text, /[a-z_]+\.[ch]\047s( [a-z][a-z0-9-]*)+/)) {
            at[++count] = FILENAME ":" FNR
            cited[count] = substr(text, RSTART, RLENGTH)
            text = substr(text, RSTART + RLENGTH)
        }
    }
    END {
        for (i = 1; i <= count; i++) {
            n = split(cited[i], word, " ")
            file = word[1]
            sub(/\047s$/, "", file)
            for (j = 2; j <= n; j++)
                if (!((file, word[j]) in row)) {
                    print at[i] ": " file " has no row of [" word[j] "]"
                    bad = 1
                }
        }
        if (count == 0) {
            print "no references between tables were found"
            bad = 1
        }
        exit bad
    }' $(find "$top/lib" "$top/ext" -name '*.[ch]') || status=1

# Public headers name the order in every operation.
for path in "$top"/include/*.h "$top"/include/cpool/*.h; do
    awk '
        /(^|[^A-Za-z0-9_])(atomic_(load|store|exchange|fetch_[a-z]+|compare_exchange_[a-z]+)|__sync_[a-z_]+) *\(/ {
            printf "%s:%d: an operation without an order\n", FILENAME, FNR
            bad = 1
        }
        /(^|[^A-Za-z0-9_])__atomic_[a-z_]+ *\(/ && !/__ATOMIC_[A-Z_]+/ {
            printf "%s:%d: an operation without an order on its line\n", FILENAME, FNR
            bad = 1
        }
        END { exit bad }' "$path" || status=1
done

[ "$status" -eq 0 ] || exit 1

# An apparent assignment is an operation too, if its object is atomic.  One
# compiler tells, and takes all sources at once as the two files.
if command -v clang > /dev/null; then
    sh "$top/lib/amalgamate.sh" "$work" all &&
        clang -std=c11 -fsyntax-only -Werror=atomic-implicit-seq-cst "$work"/*.c || status=1
else
    echo "left out: operations in the form of assignments, which clang would tell"
fi

[ "$status" -ne 0 ] || echo "$total operations agree with their tables"
exit "$status"
