#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# demo.sh - allocators in a job system, on real files.
#
#   demo.sh            counts the words of the tree by jobs for directories, files and
#                      pieces of files, and then its lines, frame by frame, by a job for
#                      each line, with every allocator.  Shows a table, draws demo.png, or
#                      bars without gnuplot, and ends with one sentence
#   demo.sh publish    the same, and puts the table into doc/PERFORMANCE.md and the picture into
#                      doc/plots
#
# Run in the top of the build tree.  srcdir is the top of the source tree.
#
#   DEMO_DIR       the tree (/usr/include)
#   DEMO_THREADS   worker threads, or 0 for as many as there are processors
#   DEMO_FLAGS     further options of the word count
#   DEMO_SECONDS   how long all of it may take, about (24)
#   DEMO_ROUNDS    how often each allocator has its turn (3)
#   GNUPLOT        the program that draws

set -u
top=${srcdir:-.}
tree=${DEMO_DIR:-/usr/include}
threads=${DEMO_THREADS:-0}
rounds=${DEMO_ROUNDS:-3}
gnuplot=${GNUPLOT:-gnuplot}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
begin=$(date +%s)

# ---- The word count ----------------------------------------------------------------

# Status 1 says that some files could not be read, which the program has reported and
# which is no failure of the demonstration.
# shellcheck disable=SC2086 # options
examples/jobs/jobs --threads "$threads" --allocator cpool --no-warm-up --repeat 1 --top 5 \
    ${DEMO_FLAGS-} "$tree"
status=$?
[ $status -le 1 ] || exit $status

# ---- A job for each line -----------------------------------------------------------

# The allocators: name, option, library to be preloaded.  A sanitizer has a malloc of its
# own, and takes no other.
rivals='jemalloc tcmalloc_minimal mimalloc tbbmalloc_proxy'
for program in examples/jobs/lines examples/jobs/.libs/lines; do
    ! nm "$program" 2> /dev/null | grep -q '__[amt]san_init' || rivals=
done
{
    echo "typed pool:typed:"
    echo "pool:pool:"
    echo "libc:malloc:"
    for name in $rivals; do
        for path in /usr/lib/*/lib$name.so.[0-9]* /usr/lib/lib$name.so.[0-9]* \
            /usr/lib64/lib$name.so.[0-9]*; do
            [ -e "$path" ] && { echo "${name%_*}:malloc:$path"; break; }
        done
    done
} > "$work/allocators"
count=$(grep -c . "$work/allocators")

# In turns, so that whatever else the machine does befalls all of them.  The seconds of each
# run of a round are what is left for it, less what a run takes to read the text and to
# replay: that is known after the first round.
used=0
for round in $(seq "$rounds"); do
    now=$(date +%s)
    seconds=$(awk -v limit="${DEMO_SECONDS:-24}" -v gone=$((now - begin)) -v runs="$count" \
        -v rounds=$((rounds - round + 1)) -v last="${last:-}" -v used="$used" 'BEGIN {
            rest = last == "" ? 0.3 : last / runs - used
            each = (limit - gone) / runs / rounds - rest
            printf "%.2f", each < 0.05 ? 0.05 : each }')
    while IFS=: read -r name option library; do
        LD_PRELOAD=$library examples/jobs/lines --allocator "$option" --threads "$threads" \
            --seconds "$seconds" "$tree" < /dev/null > "$work/run" || exit 1
        sed "s/^/$name:/" "$work/run" >> "$work/runs"
    done < "$work/allocators"
    last=$(($(date +%s) - now))
    used=$seconds
done

# ---- The table ---------------------------------------------------------------------

# name:jobs:ns:median:p99:worst:peak, medians of the rounds, but of the worst the worst.
while IFS=: read -r name option library; do
    printf '%s' "$name"
    for figure in jobs/s ns/node median-ms p99-ms worst-ms peak-KiB; do
        sed -n "s,^$name:$figure ,,p" "$work/runs" | sort -n | awk -v figure=$figure '
            { value[NR] = $1 }
            END { printf ":%s", figure == "worst-ms" ? value[NR] : value[int((NR + 1) / 2)] }'
    done
    echo
done < "$work/allocators" > "$work/figures"

awk -F: -v threads="$(sed -n 's/^typed pool:threads //p' "$work/runs" | head -n 1)" \
    -v rounds="$rounds" -v seconds="$seconds" 'BEGIN {
        printf "\na job for each line, %d worker threads; medians of %d runs of %s s or so\n\n",
            threads, rounds, seconds
        printf "%-12s %13s %12s %12s %10s %10s %10s\n", "allocator", "million jobs", "ns a node",
            "median", "99 % of", "worst", "memory,"
        printf "%-12s %13s %12s %12s %10s %10s %10s\n", "", "a second", "in replay", "frame, ms",
            "frames", "frame", "KiB" }
    { printf "%-12s %13.2f %12.1f %12.3f %10.3f %10.3f %10d\n", $1, $2 / 1e6, $3, $4, $5, $6, $7 }
    ' "$work/figures"
cat << 'END'

  replay   time of an alloc, the first write to the node and its free, all threads' together,
           when nothing is done but the calls that some frames made
  frame    up to 4,096 lines.  On a machine that does other work as well, the slowest frames
           are those in which a worker had no processor
  memory   by which the frames raised the peak of the process
END

# ---- The picture -------------------------------------------------------------------

if command -v "$gnuplot" > /dev/null; then
    "$gnuplot" -e "data='$work/figures'; output='demo.png'; rows=$count" "$top/examples/demo.gp" ||
        exit 1
    echo
    echo "picture: $(pwd)/demo.png"
else
    echo
    awk -F: '{ name[NR] = $1; ns[NR] = $3; if ($3 > most) most = $3 }
        END {
            for (i = 1; i <= NR; i++) {
                bar = "#"
                for (n = 1; n < ns[i] / most * 50; n++)
                    bar = bar "#"
                printf "  %-12s %s %.1f ns a node\n", name[i], bar, ns[i]
            }
        }' "$work/figures"
    echo "no picture: gnuplot is not installed"
fi

# ---- What it was -------------------------------------------------------------------

echo
awk -F: -v threads="$(sed -n 's/^typed pool:threads //p' "$work/runs" | head -n 1)" '
    $1 == "typed pool" { pool = $3 }
    $1 == "libc" {
        printf "You saw %d threads make a job for each line of real files: the memory of a job " \
            "costs %.1f ns in a typed pool and %.1f ns by the malloc of this system", threads, pool, $3
        print(pool > 0 ? sprintf(", %.1f times as much.", $3 / pool) : ".")
    }' "$work/figures"

# ---- The page ----------------------------------------------------------------------

[ "${1:-}" = publish ] || exit 0
[ -s demo.png ] || { echo "nothing to publish without the picture"; exit 1; }
awk -F: 'BEGIN {
        printf "| allocator | million jobs a second | ns a node | median frame, ms "
        print "| 99 % | worst | KiB |"
        print "|---|---|---|---|---|---|---|" }
    { printf "| %s | %.2f | %.1f | %.3f | %.3f | %.3f | %d |\n",
        $1, $2 / 1e6, $3, $4, $5, $6, $7 }' "$work/figures" > "$work/rows"
awk -v rows="$work/rows" '
    /^<!-- end of demo -->$/ { inside = 0 }
    !inside { print }
    /^<!-- demo -->$/ { inside = found = 1; while ((getline line < rows) > 0) print line }
    END { exit !found || inside }' "$top/doc/PERFORMANCE.md" > "$work/page.md" ||
    { echo "doc/PERFORMANCE.md has no place for the table"; exit 1; }
cp "$work/page.md" "$top/doc/PERFORMANCE.md" && cp demo.png "$top/doc/plots/demo.png"
