#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-format.sh - holds the sources of the library and the public headers against
# .clang-format, where there is a clang-format of version 14 or later.
#
# Comments and the spaces before them are the author's.  Versions of the tool differ in
# some lines, and no option of the tool gives the indentation of some tables.  So a
# file may differ in 2 lines, and in 4 of 100 more.

. "${srcdir:-.}/tests/harness/script.sh"
cd "$top" || exit 1
version=$(clang-format --version 2> /dev/null | sed 's/.*version \([0-9]*\).*/\1/')
[ "${version:-0}" -ge 14 ] || skip 'no clang-format of version 14 or later'
count=0

# Without comments, and with single spaces but for the indentation.
code() {
    sed -E 's@[ \t]*/\*.*@@; s@[ \t]*\\$@@; s@([^ ])  +@\1 @g; s@ +$@@; s@\{ @{@g; s@ \}@}@g'
}

# One process formats a copy of all, because the tool takes long to start.
cp .clang-format "$work/"
tar -cf - lib/*/*.[ch] ext/*/*.[ch] include/*.h include/cpool/*.h | tar -xf - -C "$work" || exit 1
chmod -R u+w "$work"
(cd "$work" && clang-format --style=file -i lib/*/*.[ch] ext/*/*.[ch] include/*.h include/cpool/*.h) || exit 1

for file in lib/*/*.[ch] ext/*/*.[ch] include/*.h include/cpool/*.h; do
    code < "$work/$file" > "$work/tidy"
    code < "$file" > "$work/ours"
    diff "$work/ours" "$work/tidy" > "$work/difference"
    differ=$(grep -c '^[<]' "$work/difference")
    lines=$(wc -l < "$file")
    count=$((count + 1))
    if [ "$differ" -gt $((2 + lines * 4 / 100)) ]; then
        echo "$file: $differ lines are formatted otherwise (<) than .clang-format has it (>):"
        head -n 20 "$work/difference"
        status=1
    fi
done
[ "$count" -gt 20 ] || { echo "only $count files found"; exit 1; }
[ "$status" -ne 0 ] || echo "$count files as .clang-format has them"
exit "$status"
