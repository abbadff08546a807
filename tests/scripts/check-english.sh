#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-english.sh - counts two habits that make prose hard to read, and fails
# where a group of files has more of them than its bound (HACKING.md, English).
#
#   who      the words `who`, `whose`, `whom`, `whoever`, and `what` at the
#            start of a clause, as in `What is freed is lost`, in 1,000 words
#   semi     semicolons in 1,000 words
#   chains   sentences with more than one colon or semicolon, in 1,000 words
#
# Prose is Markdown, NEWS, manual pages, and comments of C, shell, awk and make.
# Code, tables, diagrams and indented lines of comments do not count.
#
#   check-english.sh            the table, and an exit status of 1 above a bound
#   check-english.sh -l PATH... each hit in these files or folders, by line
#
# srcdir: top of the source tree.

set -u

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# Turns files into lines "file:line<TAB>words", with an empty one after each
# paragraph.
cat > "$work/prose.awk" << 'AWK'
function stop() { print "" }
function say(text) { print FILENAME ":" FNR "\t" text }

FNR == 1 {
    stop()
    fenced = inside = listed = hash = 0
    blank = 1
    kind = "hash"
    if (FILENAME ~ /\.md$/) kind = "markdown"
    else if (FILENAME ~ /NEWS$/) kind = "text"
    else if (FILENAME ~ /\.[1-9]$/) kind = "manual"
    else if (FILENAME ~ /\.(c|h|cpp|hpp)(\.in)?$/) kind = "c"
}

/SPDX-License|^#!/ { next }

kind == "text" {
    if ($0 ~ /^[-=]*$/ || $0 ~ /^ *\*/) stop()
    sub(/^ *\* /, "")
    say($0)
    next
}

kind == "markdown" {
    if ($0 ~ /^ *```/) { fenced = !fenced; stop(); next }
    if (fenced || $0 ~ /^ *\|/ || $0 ~ /^ *!\[/) { stop(); next }
    if ($0 ~ /^ *$/) { stop(); blank = 1; next }
    if ($0 ~ /^    / && !listed && blank) next
    if ($0 ~ /^ *([-*]|[0-9]+\.) /) { stop(); listed = 1 }
    else if ($0 !~ /^ / && blank) listed = 0
    blank = 0
    gsub(/`[^`]*`/, "code")
    gsub(/\]\([^)]*\)/, "]")
    sub(/^ *([-*]|[0-9]+\.) /, "")
    say($0)
    if ($0 ~ /^#/) stop()
    next
}

kind == "manual" {
    if ($0 ~ /^\.(Bd|nf|EX|Sh SYNOPSIS)/) fenced = 1
    else if ($0 ~ /^\.(Ed|fi|EE|Sh)/) fenced = 0
    if (fenced || $0 ~ /^\.\\"/ || $0 ~ /^\.(Pp|S[hs]|It|[BE][ldk]|D[dt]|Os|N[md]|TH|so)/) {
        stop()
        next
    }
    sub(/^\.[A-Za-z]+ /, "")
    say($0)
    next
}

# A comment of several lines, and those behind code.
kind == "c" {
    rest = $0
    if (!inside) gsub(/"([^"\\]|\\.)*"/, "\"\"", rest)
    while (rest != "") {
        if (inside) {
            at = index(rest, "*/")
            text = at ? substr(rest, 1, at - 1) : rest
            if (!begun && text ~ /^ *\*/) sub(/^ *\*/, "", text)
            else sub(/^ */, "", text)
            comment(text)
            begun = 0
            if (!at) break
            stop()
            inside = 0
            rest = substr(rest, at + 2)
        } else {
            at = match(rest, /\/\*|\/\//)
            if (!at) break
            if (substr(rest, at, 2) == "//") { comment(substr(rest, at + 2)); stop(); break }
            rest = substr(rest, at + 2)
            sub(/^[*!]*/, "", rest)
            inside = begun = 1
            if (rest == "") begun = 0
        }
    }
    begun = 0
    next
}

# One comment is one paragraph.  Another one in the same column continues it.
kind == "hash" {
    if ($0 ~ /^[ \t]*#( |$)/) {
        sub(/^[ \t]*#/, "")
        comment($0)
    } else if (match($0, /[ \t]# [A-Za-z]/) && $0 !~ /["'].*# .*["']/) {
        stop()
        comment(substr($0, RSTART + 2))
        stop()
    } else
        stop()
}

# A line of a comment: prose unless it is empty, indented like code, or in columns.  A
# term, a gap and a text begin an item.  Its further lines stand below the text.
function comment(text) {
    match(text, /^ */)
    if (text ~ /^ *$/ || text ~ / \| |----|====|\+--/) {
        stop()
        hang = 0
        return
    }
    if (RLENGTH == hang && hang) {
        sub(/^ */, "", text)
    } else {
        hang = 0
        if (RLENGTH > 4) { stop(); return }
        if (match(text, /[^ .]   *[^ ]/) && RLENGTH > 3) {
            stop()
            hang = RSTART + RLENGTH - 2
            text = substr(text, hang + 1)
            if (text ~ /[^ .]   +[^ ]/) { hang = 0; return }
        }
    }
    gsub(/`[^`]*`/, "code", text)
    say(text)
}
AWK

# Counts.  With list=1 it prints the hits.
cat > "$work/count.awk" << 'AWK'
function hit(kind, word) {
    n[kind]++
    if (list) print place ": " kind ": " word
}
# A sentence ended.
function over() {
    if (marks > 1) {
        n["chains"]++
        if (list) print began ": chains: " marks " in a sentence"
    }
    marks = 0
    start = clause = 1
}

BEGIN { FS = "\t"; start = clause = 1 }

$0 == "" { over(); next }

{
    place = $1
    count = split($2, word, /[ ]+/)
    for (i = 1; i <= count; i++) {
        w = word[i]
        if (w == "") continue
        opened = w ~ /^["(]/
        plain = tolower(w)
        gsub(/[^a-z']/, "", plain)
        sub(/'s$/, "", plain)
        if (start) { began = place; start = 0 }
        if (plain != "") n["words"]++
        if (plain ~ /^(who|whose|whom|whoever|whomever)$/) hit("who", w)
        if (plain ~ /^(what|whatever)$/ && (clause || opened)) hit("who", w)
        tail = w
        gsub(/[])"'*_]+$/, "", tail)
        clause = tail ~ /[,;:]$/ || plain ~ /^(and|but|or|nor)$/
        if (tail ~ /;$/) { hit("semi", w); marks++ }
        if (tail ~ /:$/) marks++
        if (tail ~ /[.!?]$/ && plain !~ /^(eg|ie|etc|cf|no)$/) over()
    }
}

END {
    over()
    if (list) exit
    if (n["words"] < 200) { print group ": only " n["words"] + 0 " words found"; exit 1 }
    split(bounds, most, " ")
    k = 1000 / n["words"]
    line = sprintf("%-9s %6d", group, n["words"])
    split("who semi chains", kinds, " ")
    for (i = 1; i <= 3; i++) {
        rate = n[kinds[i]] * k
        line = line sprintf("  %6.2f %s %4.1f", rate, rate > most[i] ? ">" : "<", most[i])
        if (rate > most[i]) bad = 1
    }
    print line (bad ? "  too many: check-english.sh -l shows them" : "")
    exit bad
}
AWK

# Files of prose below the given names, but for what is generated.
prose_of() {
    find "$@" \( -name build -o -name results -o -name .libs \) -prune -o -type f \
        \( -name '*.md' -o -name '*.[1-9]' -o -name '*.c' -o -name '*.h' -o -name '*.h.in' \
        -o -name '*.cpp' -o -name '*.hpp' -o -name '*.sh' -o -name '*.awk' -o -name '*.mk' \
        -o -name NEWS -o -name README \) -print | sort
}

if [ "${1:-}" = -l ]; then
    shift
    # shellcheck disable=SC2046 # no file's name has a blank
    awk -f "$work/prose.awk" $(prose_of "$@") | awk -v list=1 -f "$work/count.awk"
    exit
fi

cd "${srcdir:-.}" || exit 1
status=0
printf '%-9s %6s  %14s %15s %15s\n' group words who semi chains

# group NAME BOUNDS PATH... - at most so many of the three in 1,000 words
group() {
    name=$1
    bounds=$2
    shift 2
    # shellcheck disable=SC2046
    awk -f "$work/prose.awk" $(prose_of "$@") |
        awk -v group="$name" -v bounds="$bounds" -f "$work/count.awk" || status=1
}

group top '0.2 5 1' README.md HACKING.md CONTRIBUTING.md SECURITY.md
group news '6 8 3' NEWS
group doc '0.2 5 1' doc
group include '0.2 5 1' include
group lib '0.2 5 1' lib
group tests '0.2 5 1' tests
group stress '0.2 5 1' stress
group bench '0.2 5 1' bench
group examples '0.2 5 1' examples

# phrases PATH... - idioms of another language, in what users read.  Reports of the library,
# which documents quote, may have "the address lies in".
phrases() {
    files=$(prose_of "$@" | grep -v '/performance/')
    [ "$(echo "$files" | wc -l)" -gt 5 ] || { echo "hardly a file in $*"; status=1; }
    # shellcheck disable=SC2086
    ! grep -nE \
        -e 'can(not)? be had|\<for ever\>|comes? round|[^r]\<in hand\>|(is|are) told of|\<wants\>' \
        -e '\<as far as\>|in the (name|hands) of|\<parted\>|whichever thread|\<all the same\>' \
        -e '\<sees? to it\>|(go|goes|does|do) without|\<asked (for|of)\>|\<in vain\>' \
        -e '\<stands? (in|at|on|beside)\>|\<lies? (at|on|beside|one)\>' \
        -e '\<tells? (how|why|which|whether|of)\>|\<tells what\>|\<says what\>' \
        -e '(^|/?[*] )(False (if|for|when|where)|Whether) ' \
        -e 'for the sake of|[^e] is no (power|garbage|slot|structure)\>' \
        $files || {
        echo 'plain English has other words'
        status=1
    }
}
phrases README.md HACKING.md CONTRIBUTING.md SECURITY.md NEWS doc include examples
exit "$status"
