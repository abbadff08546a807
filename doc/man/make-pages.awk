# SPDX-License-Identifier: BSD-2-Clause
#
# make-pages.awk - the manual pages, from the comments in the public headers.
#
#   awk -v out=FOLDER -v version=1.2.3 -v date=2026-01-31 -v notes=FOLDER -f make-pages.awk HEADER...
#
# It understands the shape that the headers have:
#
#   the head comment       becomes cpool.7, or cpool_name.3 for cpool/name.h: "OVERVIEW"
#                          and "NOTES" are headings, and in the notes of cpool.h so is
#                          what stands before a colon.  Its first sentence is the page's NAME.  A
#                          head without an overview makes no page.  "Included by <cpool.h>" says
#                          what a program includes instead.  "NOTES:" is in the place of long
#                          notes, which are in a file of the page's name in the folder `notes`
#   ---- Title (page) ---- as the first line of a comment begins a section, whose
#                          text and declarations go to that page
#   name, name - text      begins the contract of the declarations that follow
#   word   text            with two blanks or more, or indented lines below, is a
#                          list of terms; so are the members of structures
#   four blanks            begin an example
#
# Each function that is not the name of a page gets a page that refers to its own.

# ---- Text ------------------------------------------------------------------------

function escape(s)
{
    gsub(/\\/, "\\e", s)
    return s
}

# Names stand out.  A line must not begin with what the formatter takes as its own.
function marked(s,    result, name)
{
    s = escape(s)
    gsub(/  +/, " ", s)
    gsub(/-fsanitize/, "\\-fsanitize", s)
    gsub(/-DCPOOL/, "\\-DCPOOL", s)
    result = ""
    while (match(s, /(cpool_[a-z_]+[a-z]|CPOOL_[A-Z_]+[A-Z])/)) {
        name = substr(s, RSTART, RLENGTH)
        result = result substr(s, 1, RSTART - 1) "\\fB" name "\\fR"
        s = substr(s, RSTART + RLENGTH)
    }
    result = result s
    while (match(result, /`[^`]+`/))
        result = substr(result, 1, RSTART - 1) "\\fI" \
            substr(result, RSTART + 1, RLENGTH - 2) "\\fR" substr(result, RSTART + RLENGTH)
    if (result ~ /^[.']/)
        result = "\\&" result
    return result
}

function literal(s)
{
    s = escape(s)
    gsub(/-/, "\\-", s)
    gsub(/'/, "\\(aq", s)
    gsub(/\^/, "\\(ha", s)
    gsub(/~/, "\\(ti", s)
    return s ~ /^[.']/ ? "\\&" s : s
}

# Begins with a capital, unless that is a name.
function sentence(s)
{
    return s ~ /^cpool_/ ? s : toupper(substr(s, 1, 1)) substr(s, 2)
}

# A declaration in lines of a page's width.
function declaration(s,    cut, result)
{
    result = ""
    while (length(s) > 70) {
        for (cut = 70; cut > 0 && substr(s, cut, 2) != ", "; cut--)
            ;
        if (cut == 0)
            break
        result = result "\\fB" literal(substr(s, 1, cut)) "\\fR\n"
        s = "    " substr(s, cut + 2)
    }
    return result "\\fB" literal(s) "\\fR\n"
}

function indent_of(s)
{
    match(s, /^ */)
    return RLENGTH
}

# The length of the term that this line begins with, 0 if none.
function term_length(s,    rest, start)
{
    start = indent_of(s)
    rest = substr(s, start + 1)
    if (match(rest, /^[^ ]+( [^ ]+)*   +[^ ]/) || match(rest, /^[^ ]*[^ .:;,?]  +[^ ]/)) {
        rest = substr(rest, 1, RLENGTH - 1)
        sub(/ +$/, "", rest)
        return start + length(rest)
    }
    return 0
}

# ---- Paragraphs ------------------------------------------------------------------

# Lines D[first] to D[last], none of them blank.
function code(first, last,    i, least, result)
{
    least = 1000
    for (i = first; i <= last; i++)
        if (D[i] != "" && indent_of(D[i]) < least)
            least = indent_of(D[i])
    result = ".PP\n.RS 4\n.nf\n"
    for (i = first; i <= last; i++)
        result = result (D[i] == "" ? ".sp" : literal(substr(D[i], least + 1))) "\n"
    return result ".fi\n.RE\n"
}

# A list of terms from D[first] on; leaves the number of the line after it in `after`.
function list(first, last,    i, start, length_of, text, result)
{
    start = indent_of(D[first])
    result = ""
    for (i = first; i <= last; i++) {
        length_of = indent_of(D[i]) == start ? term_length(D[i]) : 0
        if (length_of > 0) {
            text = substr(D[i], length_of + 1)
            sub(/^ +/, "", text)
            result = result ".TP\n\\fB" literal(substr(D[i], start + 1, length_of - start)) \
                "\\fR\n" marked(text) "\n"
        } else if (indent_of(D[i]) > start) {
            text = D[i]
            sub(/^ +/, "", text)
            result = result marked(text) "\n"
        } else {
            break
        }
    }
    after = i
    return result
}

function text(first, last,    i, line, result)
{
    result = ".PP\n"
    for (i = first; i <= last; i++) {
        line = D[i]
        sub(/^ +/, "", line)
        if (i > first && line ~ /^(Any thread|May block|Progress as)/)
            result = result ".br\n"
        result = result marked(line) "\n"
    }
    return result
}

# An example goes on over blank lines.
function example_end(i,    end)
{
    end = i
    for (; i <= nd; i++) {
        if (D[i] == "")
            continue
        if (indent_of(D[i]) < 4)
            break
        end = i
    }
    return end
}

# The comment D from line `first` on.
function paragraphs(first,    i, last, result)
{
    result = ""
    for (i = first; i <= nd; i++) {
        if (D[i] == "")
            continue
        if (indent_of(D[i]) >= 4) {
            last = example_end(i)
            result = result code(i, last)
            i = last
            continue
        }
        if (term_length(D[i]) > 0) {
            result = result list(i, nd)
            i = after - 1
            continue
        }
        for (last = i; last < nd; last++)
            if (D[last + 1] == "" || term_length(D[last + 1]) > 0 || indent_of(D[last + 1]) >= 4)
                break
        result = result text(i, last)
        i = last
    }
    return result
}

# ---- Pages -----------------------------------------------------------------------

function add(s)
{
    body[page] = body[page] s
}

function add_name(name)
{
    if (names[page] ~ ("(^|, )" name "(,|$)"))
        return
    names[page] = names[page] (names[page] == "" ? "" : ", ") name
    page_of[name] = page
}

# "---- Title (page) ----"
function begin_section(line,    title)
{
    title = line
    sub(/^---- /, "", title)
    sub(/ -*$/, "", title)
    page = ""
    if (match(title, /\([a-z_]+\.[0-9]\)$/) == 0)
        return
    page = substr(title, RSTART + 1, RLENGTH - 2)
    sub(/ *\([^(]*$/, "", title)
    if (!(page in body)) {
        pages[++page_count] = page
        body[page] = names[page] = synopsis[page] = titles[page] = ""
        includes[page] = included
    }
    if (!(page in has_head))
        titles[page] = titles[page] (titles[page] == "" ? "" : ", ") tolower(title)
    if (page == "cpool.7")
        add(".SS " title "\n")
    add(paragraphs(2))
}

# The names before " - "; the first line becomes a sentence of its own.
function contract_names(    list_of)
{
    if (!match(D[1], /^(cpool|CPOOL|NAME)_[A-Za-z_]+(, *(cpool|CPOOL|NAME)_[A-Za-z_]+)* - /))
        return ""
    list_of = substr(D[1], 1, RLENGTH - 3)
    D[1] = substr(D[1], RLENGTH + 1)
    D[1] = sentence(D[1])
    return list_of
}

function finish_functions(    list_of, part, i, count)
{
    list_of = contract_names()
    if (list_of == "" && F[1] ~ / \*?cpool_[a-z_]+_abi[0-9]+\(/)
        return # called by macros and inline functions
    if (list_of == "") {
        print FILENAME ": no contract begins with the name of: " F[1] > "/dev/stderr"
        failed = 1
    }
    count = split(list_of, part, /, */)
    for (i = 1; i <= count; i++)
        add_name(part[i])
    add(".SS " list_of "\n.nf\n")
    for (i = 1; i <= nf; i++) {
        synopsis[page] = synopsis[page] declaration(F[i])
        add(declaration(F[i]))
    }
    add(".fi\n" paragraphs(1))
}

function finish_members(    i)
{
    if (struct_name != "")
        add(".SS " struct_name "\n")
    if (callback != "")
        add(".nf\n" declaration(callback) ".fi\n")
    add(paragraphs(1))
    for (i = 1; i <= nm; i++)
        add(".TP\n\\fB" literal(member[i]) "\\fR\n" marked(meaning[i]) "\n")
}

function finish_defines(    i, joined)
{
    if (D[1] == "Flags.") {
        add(".SS Flags\n")
        D[1] = ""
    }
    if (D[1] == "" || D[1] ~ /^CPOOL_[A-Z_]+  /) {
        add(paragraphs(1))
        return
    }
    joined = ""
    for (i = 1; i <= nx; i++)
        joined = joined (i > 1 ? ", " : "") defined[i]
    add(".TP\n\\fB" literal(joined) "\\fR\n")
    for (i = 1; i <= nd; i++)
        add(marked(D[i]) "\n")
}

# The gathered text is complete.
function finish()
{
    if (page != "") {
        if (nf > 0)
            finish_functions()
        else if (nm > 0 || callback != "")
            finish_members()
        else if (nx > 0 && nd > 0)
            finish_defines()
    }
    nd = nf = nm = nx = 0
    struct_name = callback = ""
}

# ---- The head comment ------------------------------------------------------------

# Adds the notes that are in a file of their own.
function read_notes(    file, line)
{
    file = header
    gsub(/\//, "_", file)
    sub(/\.h$/, ".txt", file)
    whole[++whole_count] = "NOTES"
    whole[++whole_count] = ""
    while ((getline line < (notes "/" file)) > 0)
        whole[++whole_count] = line
    close(notes "/" file)
    if (whole[whole_count] == "") {
        print notes "/" file ": no notes" > "/dev/stderr"
        failed = 1
    }
}

function head_comment(    i, line, in_notes, colon)
{
    page = ""
    included = header
    for (i = 1; i <= nd && D[i] != "OVERVIEW"; i++)
        if (match(D[i], /^Included by <[^>]*>/))
            included = substr(D[i], 14, RLENGTH - 14)
    if (i > nd)
        return
    whole_count = 0
    for (i++; i <= nd && D[i] !~ /^NOTES: /; i++)
        whole[++whole_count] = D[i]
    if (i <= nd)
        read_notes()
    page = "cpool.7"
    if (header != "cpool.h") {
        page = header
        gsub(/\//, "_", page)
        sub(/\.h$/, ".3", page)
    }
    pages[++page_count] = page
    includes[page] = included
    has_head[page] = 1
    titles[page] = D[1]
    for (i = 2; i <= nd && D[i] != ""; i++)
        titles[page] = titles[page] " " D[i]
    sub(/^[^ ]* - (a )?/, "", titles[page])
    sub(/\.(  .*)?$/, "", titles[page])
    names[page] = synopsis[page] = body[page] = ""
    # What follows is given to paragraphs() piece by piece, under headings of its own.
    in_notes = 0
    nd = 0
    for (i = 1; i <= whole_count; i++) {
        line = whole[i]
        if (line == "NOTES") {
            add(paragraphs(1))
            nd = 0
            in_notes = 1
        } else if (in_notes && page == "cpool.7" && nd > 0 && D[nd] == "" && match(line, /^[A-Z][A-Za-z]+: /)) {
            colon = index(line, ":")
            add(paragraphs(1))
            add(".SS " substr(line, 1, colon - 1) "\n")
            D[nd = 1] = sentence(substr(line, colon + 2))
        } else {
            D[++nd] = line
        }
    }
    add(paragraphs(1))
    nd = 0
    if (page == "cpool.7")
        page = ""
}

# ---- Reading ---------------------------------------------------------------------

FNR == 1 {
    finish()
    page = ""
    header = FILENAME
    sub(/.*include\//, "", header)
    comments = 0
}

function comment_line(line)
{
    if (line ~ /\*\/[ \t]*$/)
        in_comment = 0
    sub(/[ \t]*\*\/[ \t]*$/, "", line)
    sub(/^\/\*[ \t]?/, "", line)
    sub(/^ \* ?/, "", line)
    sub(/[ \t]+$/, "", line)
    if (nd > 0 || line != "")
        D[++nd] = line
    if (!in_comment)
        comment_done()
}

function comment_done()
{
    comments++
    if (D[1] ~ /^SPDX/) {
        comments--
        nd = 0
    } else if (comments == 1) {
        head_comment()
        nd = 0
    } else if (D[1] ~ /^---- /) {
        begin_section(D[1])
        nd = 0
    }
}

# A comment behind a member may go on over several lines.
function member_line(line,    declared)
{
    if (in_meaning == 0) {
        declared = line
        sub(/[ \t]*\/\*.*/, "", declared)
        sub(/^[ \t]+/, "", declared)
        sub(/[,;]$/, "", declared)
        if (declared == "")
            return
        member[++nm] = declared
        meaning[nm] = ""
        if (line !~ /\/\*/)
            return
        sub(/.*\/\* */, "", line)
        in_meaning = 1
    }
    if (line ~ /\*\//)
        in_meaning = 0
    sub(/[ \t]*\*\/.*/, "", line)
    sub(/^[ \t]+/, "", line)
    meaning[nm] = meaning[nm] (meaning[nm] == "" ? "" : " ") line
}

# Bodies of inline functions.
/^#if CPOOL_IS_INLINE_/ { in_bodies = 1 }
in_bodies {
    if ($0 ~ /^#endif .*CPOOL_IS_INLINE_/)
        in_bodies = 0
    next
}

in_comment { comment_line($0); next }

in_members {
    if ($0 ~ /^}/)
        in_members = 0
    else
        member_line($0)
    next
}

in_define { in_define = $0 ~ /\\$/; next }

in_declaration && $0 == "{" { # a definition, which was declared before
    nf--
    in_declaration = 0
    next
}

in_declaration {
    line = $0
    sub(/^ +/, " ", line)
    F[nf] = F[nf] line
    in_declaration = $0 !~ /;[ \t]*$/
    if (!in_declaration)
        declaration_done()
    next
}

/^\/\*/ {
    finish()
    in_comment = 1
    comment_line($0)
    next
}

/^typedef struct [a-z_]+ \{/ {
    struct_name = $3 ~ /_t$/ ? $3 : $3 "_t"
    in_members = 1
    next
}

/^enum \{/ { in_members = 1; next }

/^#define / {
    name = $2
    in_define = $0 ~ /\\$/
    if (name ~ /_(\(.*)?$/)
        next # not for use outside
    if (nf == 0 && nm == 0)
        defined[++nx] = name
    if (nd > 0 && D[1] ~ /^(CPOOL|NAME)_[A-Z_]+(, (CPOOL|NAME)_[A-Z_]+)* - / && name ~ /\(/) {
        line = $0
        sub(/^#define /, "", line)
        sub(/\).*/, ")", line)
        F[++nf] = line
    }
    next
}

/^(CPOOL_API|CPOOL_LOCAL_|typedef .*\()/ {
    F[++nf] = $0
    in_declaration = $0 !~ /;[ \t]*$/
    if (!in_declaration)
        declaration_done()
    next
}

# As the program sees it: without attributes.
function declaration_done()
{
    sub(/^CPOOL_(API|LOCAL_) /, "", F[nf])
    sub(/^CPOOL_INLINE_ /, "", F[nf])
    gsub(/ CPOOL_[A-Z_]+_(\([a-z_0-9]+\))?/, "", F[nf])
    if (F[nf] ~ /^typedef/) {
        # Described in words; it has no page of its own.
        match(F[nf], /\*[a-z_]+\)/)
        struct_name = substr(F[nf], RSTART + 1, RLENGTH - 2)
        callback = F[nf--]
    }
}

# ---- Writing ---------------------------------------------------------------------

function head(file, name, section_number)
{
    print ".\\\" SPDX-License-Identifier: BSD-2-Clause" > file
    print ".\\\" Made from the public headers by doc/man/make-pages.awk." > file
    print ".TH " toupper(name) " " section_number " " date " \"libcpool " version "\"" > file
}

function see_also(file, self,    i, name, joined)
{
    print ".SH SEE ALSO" > file
    joined = ""
    for (i = 1; i <= page_count; i++) {
        if (pages[i] == self)
            continue
        name = pages[i]
        sub(/\./, "\\fR(", name)
        joined = joined (joined == "" ? "" : ",\n") ".BR " substr(name, 1, index(name, "\\fR") - 1) \
            " (" substr(name, length(name)) ")"
    }
    gsub(/\),\n/, ") ,\n", joined)
    print joined > file
}

# In lines of 80 bytes, but for examples; a heading begins a paragraph by itself.
function write_text(file, s,    line, count, i, cut, filled)
{
    filled = 1
    count = split(s, line, "\n")
    for (i = 1; i < count; i++) {
        if (line[i] == ".nf" || line[i] == ".fi")
            filled = line[i] == ".fi"
        if (line[i] == ".PP" && (i == 1 || line[i - 1] ~ /^\.SS /))
            continue
        while (filled && length(line[i]) > 80 && line[i] !~ /^\./) {
            for (cut = 80; cut > 0 && substr(line[i], cut, 1) != " "; cut--)
                ;
            if (cut == 0)
                break
            print substr(line[i], 1, cut - 1) > file
            line[i] = substr(line[i], cut + 1)
            if (line[i] ~ /^[.']/)
                line[i] = "\\&" line[i]
        }
        print line[i] > file
    }
}

function write_page(self,    name, number, file, described)
{
    name = self
    sub(/\..*/, "", name)
    number = substr(self, length(self))
    file = out "/" self
    described = names[self] == "" ? name : names[self]
    head(file, name, number)
    print ".SH NAME" > file
    write_text(file, described " \\- " titles[self] "\n")
    print ".SH LIBRARY\nlibcpool (\\-lcpool)\n.SH SYNOPSIS\n.nf" > file
    print ".B #include <" includes[self] ">\n.PP" > file
    printf "%s.fi\n.SH DESCRIPTION\n", synopsis[self] > file
    write_text(file, body[self])
    see_also(file, self)
    close(file)
}

END {
    finish()
    for (i = 1; i <= page_count; i++)
        write_page(pages[i])
    for (name in page_of) {
        if ((name ".3") in body)
            continue
        file = out "/" name ".3"
        print ".so man3/" page_of[name] > file
        close(file)
    }
    exit failed
}
