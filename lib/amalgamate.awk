# SPDX-License-Identifier: BSD-2-Clause
# amalgamate.awk - the library as two files, cpool.h and cpool.c, or a library of ext/ as two files
# that stand beside these.
#
#   awk -v top=DIRECTORY -v part=header -f amalgamate.awk include/cpool.h ...  > cpool.h
#   awk -v top=DIRECTORY -v part=source -f amalgamate.awk lib/base/atomic.h ...     > cpool.c
#   awk ... -v ext=lanes -v below="include/cpool.h ..." ...                 > cpool_lanes.h and .c
#
# top: top of the source tree, in which the files lie.  below: the headers that cpool.h has.
#
# Each header of ours takes the place of the first line that includes it.  In one file
# all static names meet, and those of the system's headers.  So static functions have the
# name of their source added, and so has any other static name that several sources use.
# Macros of a source end with it.
#
# Names of the sources alone are hidden from other shared objects.  Names of the system's
# headers are not, so each of those is included between two lines that say so.
#
# With CPOOL_PREFIX, as in -DCPOOL_PREFIX=sdk_, a macro puts it before each name of
# ours that a linker could see: before cpool_ in cpool.h, and before cpi_ in cpool.c.  The macros
# are of all such words, because types and members may have another name as well.

function fail(text) {
    print "amalgamate.awk: " text > "/dev/stderr"
    failed = 1
    exit 1
}

# The words of a line that are `from` become `to`, except in strings, as members, and where
# a memory order is meant instead of the function of that name.
function rename(text, from, to,    out, word, before, quoted, order) {
    out = ""
    order = from ~ /^(relaxed|acquire|release|acq_rel|seq_cst)$/
    while (match(text, /[A-Za-z_][A-Za-z0-9_]*/)) {
        before = substr(text, 1, RSTART - 1)
        word = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        out = out before
        gsub(/\\.|'"'/, "", before)
        quoted = (quoted + gsub(/"/, "", before)) % 2
        if (word == from && !quoted && out !~ /(\.|->)$/ && (!order || text ~ /^\(/))
            word = to
        out = out word
    }
    return out text
}

# The name that a line of a source makes known in the whole file, or "".  Sets is_function.
function static_name(text) {
    is_function = 0
    if (match(text, /^(struct|enum|union) [a-z_0-9]+ \{/)) {
        sub(/ \{.*/, "", text)
        sub(/.* /, "", text)
        return text
    }
    sub(/^__attribute__\(\(.*\)\) /, "", text)
    if (text !~ /^([A-Z_]+ )*static /)
        return ""
    gsub(/(_Atomic|CPI_[A-Z_]+|__attribute__) *\([^()]*\)/, "", text)
    is_function = text ~ /^[^[=;]*\(/
    sub(/ *[[(=;].*/, "", text)
    sub(/.*[ *]/, "", text)
    return text
}

# The static names of a source, and how many sources use each.
function find_static_names(path,    line, name) {
    while ((getline line < (top "/" path)) > 0) {
        name = static_name(line)
        if (name ~ /^(void|bool|int|unsigned|char|size_t)$/)
            fail(path ": not read: " line)
        if (name != "" && !((path, name) in used)) {
            used[path, name] = 1
            users[name]++
            names[path] = names[path] " " name
            if (is_function)
                functions[path, name] = 1
        }
    }
    close(top "/" path)
}

# The name of the file that a line includes, or "".
function included(line) {
    if (line !~ /^[ \t]*#[ \t]*include[ \t]*[<"]/)
        return ""
    sub(/^[^<"]*[<"]/, "", line)
    sub(/[>"].*/, "", line)
    return line
}

# Where a file of ours lies, or "" for a header of the system.
function place(name,    home) {
    if (name ~ /^cpool(\.h|\/)/)
        return "include/" name
    if (part == "source" && name ~ /^[a-z_\/]+\.h$/)
        for (home = 1; home <= 2; home++)
            if (((home == 1 ? "lib/" : "ext/") name) in ours)
                return (home == 1 ? "lib/" : "ext/") name
    return ""
}

# The words of a file that begin like names of ours, outside comments, in their order.
function find_names(path, begin,    line, word, comment) {
    while ((getline line < (top "/" path)) > 0) {
        if (comment && !sub(/^.*\*\//, "", line))
            continue
        gsub(/\/\*([^*]|\*[^\/])*\*\//, " ", line)
        comment = sub(/\/\*.*/, "", line)
        while (match(line, /[A-Za-z_][A-Za-z0-9_]*/)) {
            word = substr(line, RSTART, RLENGTH)
            line = substr(line, RSTART + RLENGTH)
            if (index(word, begin) == 1 && word != begin && !(word in known)) {
                known[word] = 1
                known_names[++known_count] = word
            }
        }
    }
    close(top "/" path)
}

function put_prefixes(    i) {
    print "#if defined(CPOOL_PREFIX)"
    if (part == "header" && ext == "") {
        print "#define CPOOL_JOIN_(prefix, name) prefix##name"
        print "#define CPOOL_PREFIXED_(prefix, name) CPOOL_JOIN_(prefix, name)"
    }
    for (i = 1; i <= known_count; i++)
        print "#define " known_names[i] " CPOOL_PREFIXED_(CPOOL_PREFIX, " known_names[i] ")"
    print "#endif"
}

# Whether what follows is declared for other shared objects, too.
function declare(by_others) {
    if (part == "source" && by_others != declared_by_others) {
        print "#pragma GCC visibility " (by_others ? "push(default)" : "pop")
        declared_by_others = by_others
    }
}

function put_file(path,    line, name, count, words, macros, i, base) {
    if (path in done)
        return
    done[path] = 1
    printf "\n/* ---- %s ---- */\n", path
    base = path
    gsub(/^.*\/|\.[ch]$/, "", base)
    count = 0
    split(names[path], words, " ")
    while ((getline line < (top "/" path)) > 0) {
        name = included(line)
        if (name != "" && place(name) ~ /^include/ && !(part == "header" && place(name) in ours))
            continue
        if (name != "" && place(name) != "") {
            put_file(place(name))
            continue
        }
        declare(name != "")
        # Where the prefix's macro has a function's name, no macro of ours takes it.
        if (line ~ /^# *(define cpool_[a-z_]*\(|undef cpool_)/) {
            print "#if !defined(CPOOL_PREFIX)\n" line "\n#endif"
            continue
        }
        if (line ~ /^# *(define|ifndef) c(pool|pi)_/) { # a macro of ours, instead of the prefix's
            name = line
            sub(/^# *[a-z]* /, "", name)
            sub(/[^A-Za-z0-9_].*/, "", name)
            print "#undef " name
        }
        if (path ~ /\.c$/) {
            if (line ~ /^# *define [A-Z]/) {
                name = line
                sub(/^# *define /, "", name)
                sub(/[^A-Za-z0-9_].*/, "", name)
                macros[++count] = name
            }
            for (i in words)
                if (users[words[i]] > 1 || (path, words[i]) in functions)
                    line = rename(line, words[i], words[i] "_of_" base)
        }
        if (line !~ /SPDX-License-Identifier/)
            print line
    }
    declare(0)
    close(top "/" path)
    for (i = 1; i <= count; i++)
        print "#undef " macros[i]
}

function put_licence(    line) {
    while ((getline line < (top "/LICENSE")) > 0)
        print line == "" ? " *" : " * " line
    close(top "/LICENSE")
}

BEGIN {
    if (part != "header" && part != "source")
        fail("no such part: " part)
    # cpool.h has the macros of these names.
    count = split(below, files, " ")
    for (i = 1; i <= count; i++)
        find_names(files[i], "cpool_")
    known_count = 0
    for (i = 1; i < ARGC; i++) {
        if ((getline line < (top "/" ARGV[i])) <= 0)
            fail("no file " top "/" ARGV[i])
        close(top "/" ARGV[i])
        ours[ARGV[i]] = 1
        if (ARGV[i] ~ /\.c$/)
            find_static_names(ARGV[i])
        find_names(ARGV[i], part == "header" ? "cpool_" : "cpi_")
    }
    print "/*"
    if (ext == "")
        print " * libcpool in two files, cpool.h and cpool.c, made by lib/amalgamate.sh.  Edit the"
    else
        print " * ext/" ext " of libcpool in two files beside cpool.h and cpool.c, cpool_" ext ".h and\n" \
            " * cpool_" ext ".c, made by lib/amalgamate.sh.  Edit the"
    print " * sources that they are made from, not these."
    print " *"
    put_licence()
    print " */"
    if (part == "header" && ext != "")
        print "#include \"cpool.h\""
    if (part == "source") {
        print "#ifndef _GNU_SOURCE"
        print "#define _GNU_SOURCE 1"
        print "#endif"
        print "#if defined(CPOOL_H) && defined(CPOOL_NO_INLINE)"
        print "#error \"with CPOOL_NO_INLINE, include cpool" (ext == "" ? "" : "_" ext) ".c before cpool.h\""
        print "#endif"
        if (ext == "") {
            print "#define CPOOL_EMIT_ 1"
            print "#include \"cpool.h\""
        } else {
            print "#include \"cpool.h\""
            print "#if defined(CPOOL_NO_INLINE) /* cpool.c has the inline functions of cpool.h */"
            print "#undef CPOOL_IS_INLINE_"
            print "#undef CPOOL_INLINE_"
            print "#define CPOOL_IS_INLINE_ 1"
            print "#define CPOOL_INLINE_ __attribute__((__noinline__))"
            print "#endif"
            print "#include \"cpool_" ext ".h\""
        }
        print "#pragma GCC visibility push(hidden)"
    }
    put_prefixes()
    for (i = 1; i < ARGC; i++)
        if (part == "header" || ARGV[i] ~ /\.c$/)
            put_file(ARGV[i])
    if (part == "source")
        print "#pragma GCC visibility pop"
    exit
}

END {
    exit failed
}
