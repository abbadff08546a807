#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-editor.sh - an editor shows what the functions of typed pools do, although macros make
# them: at a macro's name the list in its body, which has each function, and with clangd 19 or
# newer at each function the user's comment before the macro.
#
# srcdir: top of the source tree.  CC: the configured compiler.  CLANGD: another clangd.

. "${srcdir:-.}/tests/harness/script.sh"
top=$(cd "$top" && pwd) || exit 1

cat > "$work/user.c" << 'END'
#include <cpool.h>
#include <cpool/object.h>
struct job { int number; };
/* The jobs of this server. */
CPOOL_DECLARE(jobs, struct job);
/* The tasks of this server. */
CPOOL_DECLARE(tasks, struct job);
/* The makers of this server. */
CPOOL_OBJECTS_DECLARE(makers, struct job);
END

cat > "$work/more.c" << 'END'
#include <cpool/object_frame.h>
#include <cpool/track.h>
struct job { int number; };
CPOOL_DECLARE_HANDLES(bodies, struct job);
CPOOL_DECLARE_FRAMES(sparks, struct job);
CPOOL_DECLARE_NOTICES(buffers, struct job);
CPOOL_OBJECTS_DECLARE_FRAMES(effects, struct job);
END

# lists MACRO POOL HEADER - the functions that the macro makes are those in its body and those in
# the contract before it.
lists() {
    # shellcheck disable=SC2086 # the compiler may have options of its own
    ${CC:-cc} -std=c11 -I"$top/include" -E -P "$work/user.c" "$work/more.c" | sed 's,[;{}],\n,g' |
        sed -n "s/^ *static .*[ *]\($2_[a-z_]*[a-z]\) *(.*/\1/p" | sort -u > "$work/made"
    [ -s "$work/made" ] || complain "$1 makes no function"
    awk -v macro="#define $1(" 'index($0, macro) == 1 { body = 1 } body; body && !/\\$/ { exit }' \
        "$top/include/$3" | grep -o '<name>_[a-z_]*(' | sed "s/<name>/$2/; s/(//" | sort -u > "$work/listed"
    awk -v macro="$1" '/^\/\*$/ { text = "" } { text = text $0 "\n" }
        index($0, "#define " macro "(") == 1 { printf "%s", text; exit }' "$top/include/$3" |
        sed -n "s/^ \* .*[ *]<name>\(_[a-z_]*\)(.*;.*/$2\1/p" | sort -u > "$work/promised"
    for file in listed promised; do
        diff "$work/made" "$work/$file" || complain "$1: the functions made, and those $file"
    done
}
lists CPOOL_DECLARE jobs cpool/typed.h
lists CPOOL_OBJECTS_DECLARE makers cpool/object_typed.h
lists CPOOL_DECLARE_HANDLES bodies cpool/track.h
lists CPOOL_DECLARE_FRAMES sparks cpool/frame.h
lists CPOOL_DECLARE_NOTICES buffers cpool/wait.h
lists CPOOL_OBJECTS_DECLARE_FRAMES effects cpool/object_frame.h

# --- What clangd shows ---

clangd=${CLANGD:-clangd}
version=$("$clangd" --version 2> /dev/null | sed -n 's/.*clangd version \([0-9]*\).*/\1/p')
if [ -z "$version" ]; then
    echo 'left out: clangd'
    exit "$status"
fi
cat >> "$work/user.c" << 'END'
void use(void);
void use(void)
{
    jobs_free(jobs_alloc());
    tasks_free(tasks_alloc());
    makers_put(makers_get());
}
END
printf '%s\n' -std=c11 "-I$top/include" > "$work/compile_flags.txt"

say() { printf 'Content-Length: %d\r\n\r\n%s' "${#1}" "$1"; }

# at WORD - what clangd shows at the last use of this name in the file.
at() {
    place=$(awk -v word="$1(" 'index($0, word) { place = "\"line\":" NR - 1 ",\"character\":" index($0, word) }
        END { print place }' "$work/user.c")
    text=$(sed 's/\\/\\\\/g; s/"/\\"/g; s/$/\\n/' "$work/user.c" | tr -d '\n')
    uri="\"uri\":\"file://$work/user.c\""
    {
        say '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}'
        say "{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/didOpen\",\"params\":{\"textDocument\":{$uri,\"languageId\":\"c\",\"version\":1,\"text\":\"$text\"}}}"
        say "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"textDocument/hover\",\"params\":{\"textDocument\":{$uri},\"position\":{$place}}}"
        say '{"jsonrpc":"2.0","id":3,"method":"shutdown"}'
        say '{"jsonrpc":"2.0","method":"exit"}'
    } | HOME=$work XDG_CACHE_HOME=$work timeout 120 "$clangd" --sync --log=error \
        --background-index=false 2> "$work/errors" | tr '\r' '\n' | grep '"id":2' > "$work/hover"
}

# shows WORD TEXT...
shows() {
    at "$1"
    word=$1
    shift
    for text; do
        grep -qF -- "$text" "$work/hover" && continue
        complain "clangd $version does not show '$text' at $word, but: $(cat "$work/hover")"
    done
}

shows CPOOL_DECLARE 'type *<name>_alloc(void)' 'int <name>_close(void)'
shows CPOOL_OBJECTS_DECLARE 'type *<name>_get(void)' 'int <name>_close(void)'
shows jobs_alloc 'struct job *jobs_alloc('
if [ "$version" -ge 19 ]; then
    shows jobs_alloc 'The jobs of this server.'
    shows jobs_free 'The jobs of this server.'
    shows tasks_free 'The tasks of this server.'
    shows makers_get 'The makers of this server.'
fi
[ "$status" -ne 0 ] || echo "clangd $version shows the functions of typed pools"
exit "$status"
