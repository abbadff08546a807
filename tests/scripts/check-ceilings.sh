#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-ceilings.sh - holds the size of the tree against ceilings, and prints each figure with
# its ceiling.  Ceilings are not raised: a change that does not fit is taken apart, or makes room
# elsewhere.
#
# A figure that is still above its ceiling has a ratchet, the figure of the day on which it was
# set, and fails above that.  Whoever makes room lowers the ratchet, and deletes it once the figure is
# below its ceiling.  check-text.sh has the ceiling of a program's text.

. "${srcdir:-.}/tests/harness/script.sh"
cd "$top" || exit 1

# ceiling NAME FIGURE CEILING [RATCHET]
ceiling() {
    verdict=
    if [ "$2" -gt "$3" ]; then
        verdict='  above its ceiling'
        if [ $# -lt 4 ]; then
            status=1
        elif [ "$2" -gt "$4" ]; then
            verdict="$verdict, and above its ratchet of $4"
            status=1
        fi
    fi
    printf '%-46s %6s of %6s%s\n' "$1" "$2" "$3" "$verdict"
}

# lines FOLDER... - of C sources and headers, without tests
lines() {
    find "$@" -type f -name '*.[ch]' ! -path '*/tests/*' -exec cat {} + | wc -l
}

# Functions named in these sections of the map: library, ext or all.
exported() {
    awk -v of="$1" '/^ *# / { section = $2 ~ /^ext\// ? "ext" : "library" }
        /^ *cpool_[a-z_0-9]*;/ && (of == "all" || of == section) { n++ }
        END { print n + 0 }' lib/libcpool.map
}

# The implementations of one alloc: functions of lib/ that return a slot and take the program's
# call, which a report names.  One that only passes the call on to another one, and returns what
# that returns or NULL, does not count, nor does an inline part.
implementations() {
    cat lib/*/*.c | awk '
        /^[A-Za-z].*[ *]void \*[a-z_0-9]+\(|^void \*[a-z_0-9]+\(/ { head = ""; in_head = 1 }
        in_head { head = head $0 }
        in_head && /;$/ { in_head = 0 }
        in_head && /^{/ {
            in_head = 0
            in_body = head ~ /struct cpi_call/ && head !~ /inline/
            obtains = 0
        }
        in_body && /^ +return / { value = "" ; in_value = 1 }
        in_body && in_value { value = value $0 }
        in_body && in_value && /;/ {
            in_value = 0
            gsub(/ +/, " ", value)
            sub(/^ return /, "", value)
            sub(/^[^?]*\? /, "", value)
            if (value !~ /^(NULL|[a-z_]+\(.*call.*\))( : (NULL|[a-z_]+\(.*call.*\)))?;/)
                obtains = 1
        }
        in_body && /^}/ { n += obtains; in_body = 0 }
        END { print n + 0 }'
}

# A second system takes a file of its own, and a header for what both systems have.
windows=$(lines lib/host/os_windows.c lib/host/os_windows.h lib/host/sync.h)
ceiling 'lines of lib/ without Windows' $(($(lines lib) - windows)) 12500
ceiling 'lines of ext/ without its tests' "$(lines ext)" 6000
# What a build in the source tree leaves there has other names.
ceiling 'lines of tests/' "$(find tests -type f \( -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.sh' -o \
    -name '*.txt' -o -name '*.mk' \) -exec cat {} + | wc -l)" 50000
# A member of a structure that is a pointer to a function: "    int (*name)(...)".
ceiling 'pointers to functions in structures of lib/' \
    "$(cat lib/*/*.[ch] | grep -c '^    [a-z][a-z_0-9 ]*[ *](\*[a-z_0-9]*)(')" 12
ceiling 'implementations of one alloc' "$(implementations)" 3
ceiling 'exported functions of lib/' "$(exported library)" 65
ceiling 'exported functions of lib/ and ext/' "$(exported all)" 110
exit "$status"
