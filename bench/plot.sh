#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# plot.sh - pictures of a benchmark's results, as SVG and PNG, by gnuplot.
#
#   plot.sh RESULTS.csv DIRECTORY [MACHINE]
#
# MACHINE is a line of text for the foot of each picture.  Writes threads,
# bursts, latency-1 (one thread) and latency-P (as many as processors).

set -eu

results=${1:?usage: plot.sh RESULTS.csv DIRECTORY [MACHINE]}
directory=${2:?usage: plot.sh RESULTS.csv DIRECTORY [MACHINE]}
machine=${3:-}
gnuplot=${GNUPLOT:-gnuplot}
script=$(dirname "$0")/plot.gp

[ -s "$results" ] || { echo "there is no $results: run make bench first"; exit 1; }
command -v "$gnuplot" >/dev/null || { echo "gnuplot is not installed"; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Who is drawn, in the order of the legend.
rivals="cpool cpool-cache tcmalloc jemalloc mimalloc malloc tbb ck_stack mutex"

# Rows of the results that match: x and the median, for one rival.
select_rows() { # X_COLUMN RIVAL CONDITION
    awk -F, -v x="$1" -v rival="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) name[$i] = i; next }
        $name["rival"] == rival && $name["status"] == "done" &&
            $name["order"] == "lifo" && ('"$3"') { print $name[x], $name["median"] }' "$results" |
        sort -n
}

# The largest number of threads with a latency, which is that of processors.
processors=$(awk -F, '$1 == "latency" && $5 > most { most = $5 } END { print most + 0 }' "$results")

for rival in $rivals; do
    select_rows threads "$rival" '$name["workload"] == "burst" && $name["parameter"] == 256 &&
        $name["slot_size"] == 64 && $name["metric"] == "throughput"' >"$work/threads.$rival"
    select_rows parameter "$rival" '$name["workload"] == "burst" && $name["threads"] == 1 &&
        $name["slot_size"] == 64 && $name["metric"] == "ns"' >"$work/bursts.$rival"
    for threads in $(printf "1\n%s\n" "$processors" | sort -un); do
        # The x axis is "one in so many": 2 for the median, 100 for p99, ...
        for point in p50:2 p99:100 p99.9:1000 p99.99:10000 max:100000; do
            select_rows threads "$rival" '$name["workload"] == "latency" &&
                $name["threads"] == '"$threads"' && $name["metric"] == "alloc.'"${point%:*}"'"' |
                sed "s/^[0-9]* /${point#*:} /"
        done >"$work/latency-$threads.$rival"
    done
done

for format in svg png; do
    for picture in threads bursts $(printf "latency-1\nlatency-%s\n" "$processors" | sort -u); do
        present=
        for rival in $rivals; do
            [ ! -s "$work/$picture.$rival" ] || present="$present $rival"
        done
        if [ -z "$present" ]; then
            echo "$picture: nothing was measured"
            continue
        fi
        "$gnuplot" -e "format='$format'; picture='$picture'; data='$work'; rivals='$present'; \
output='$directory/$picture.$format'; machine='$machine'" "$script"
        echo "$directory/$picture.$format"
    done
done
