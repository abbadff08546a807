#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# make-html.sh - the manual pages as HTML, each name of a page linked with that page.
#
#   make-html.sh DIRECTORY PAGE...     DIRECTORY receives them, and index.html
#
# MANDOC: the formatter.

set -eu
out=$1
shift
mkdir -p "$out"

{
    echo '<!DOCTYPE html>'
    echo '<html lang="en"><head><meta charset="utf-8"/><title>libcpool: manual</title></head>'
    echo '<body><h1>libcpool: manual</h1><ul>'
} > "$out/index.html"

names=$(for page; do basename "$page"; done)
for page; do
    name=$(basename "$page")
    # A page that refers to another one has its text.
    target=$(sed -n 's,^\.so ,,p' "$page")
    [ -z "$target" ] || page=$(dirname "$page")/$(basename "$target")
    "${MANDOC:-mandoc}" -T html "$page" |
        awk -v names="$names" '
        BEGIN { split(names, list, "\n"); for (i in list) known[list[i]] = 1 }
        {
            out = ""
            while (match($0, /<b>[A-Za-z_]+<\/b>\([37]\)/)) {
                reference = substr($0, RSTART, RLENGTH)
                title = reference
                gsub(/<\/?b>|[()]/, " ", title)
                split(title, part, " ")
                file = part[1] "." part[2]
                if (file in known)
                    reference = "<a href=\"" file ".html\">" reference "</a>"
                out = out substr($0, 1, RSTART - 1) reference
                $0 = substr($0, RSTART + RLENGTH)
            }
            print out $0
        }' > "$out/$name.html"
    brief=$(sed -n '/^\.SH NAME/,/^\.SH LIBRARY/{/^\.SH/!p;}' "$page" | tr '\n' ' ' |
        sed 's/.*\\- //; s/\\//g; s/ *$//')
    echo "<li><a href=\"$name.html\">$name</a> - $brief</li>" >> "$out/index.html"
done
echo '</ul></body></html>' >> "$out/index.html"
