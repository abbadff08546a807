#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# plot.sh - pictures of a benchmark's results, as SVG and PNG, by gnuplot.
#
#   plot.sh RESULTS PICTURES
#
# RESULTS is the folder of results.csv, results.json (for the machine) and
# histograms.csv (for latencies).  Writes to PICTURES, each as .svg and .png:
#
#   throughput     256 slots out and back, over the number of threads
#   handover       producers to consumers, over the number of threads
#   bursts-one     n slots out and back, over n, with one thread
#   bursts-all     the same with a thread on every processor
#   latency-one    the distribution of single allocations, one thread, in bursts of
#                  every length up to the longest measured
#   latency-all    the same with a thread on every processor
#
# This script selects the figures and finds places for the names at the ends of
# the curves, so that none lies on another.  plot.gp draws.

set -eu

usage="usage: plot.sh RESULTS PICTURES"
results=${1:?$usage}
pictures=${2:?$usage}
gnuplot=${GNUPLOT:-gnuplot}
script=$(dirname "$0")/plot.gp

[ -s "$results/results.csv" ] || { echo "no results.csv in $results: run make bench first"; exit 1; }
command -v "$gnuplot" >/dev/null || { echo "gnuplot is not installed"; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The curves: name in the results, name in the picture, colour, width, dashes.  Colours
# are those of M.  Okabe and K.  Ito, which the colour-blind can tell apart.  The others
# are grey, and told apart by dashes.
cat >"$work/styles" <<'END'
cpool libcpool #d55e00 4.5 1
cpool-cache libcpool,_explicit #e69f00 2.5 1
cpool-typed libcpool,_typed #000000 3.5 1
tcmalloc tcmalloc #0072b2 1.8 1
jemalloc jemalloc #009e73 1.8 1
mimalloc mimalloc #cc79a7 1.8 1
malloc glibc_malloc #222222 1.8 1
tbb oneTBB #56b4e9 1.8 1
dpdk DPDK_mempool #7a5c00 1.8 2
gslice GSlice #888888 1.5 3
ck_stack ck\\_stack #888888 1.5 4
mutex mutex_+_list #888888 1.5 1
END

# ---- What the pictures say below themselves ----------------------------------------

fact() { sed -n 's/^    "'"$1"'": "\(.*\)",\{0,1\}$/\1/p' "$results/results.json" 2>/dev/null | head -n 1; }
number() { sed -n 's/^  "'"$1"'": \([0-9]*\),$/\1/p' "$results/results.json" 2>/dev/null; }

processors=$(fact processors | sed 's/ .*//')
: "${processors:=1}"
machine="$(fact processor | sed 's/, family.*//; s/([RrTtMm]*)//g; s/  */ /g'), $processors processors, \
$(fact system | sed 's/ x86_64/, x86-64,/; s/ aarch64/, aarch64,/'), $(fact build | sed 's/, CFLAGS=/ /; s/ -g / /')"
machine="$machine\\nmedians of $(number repetitions) interleaved runs of $(number milliseconds) ms; \
slots of 64 bytes, written and read each time$(awk -F, '
    $6 == "cpool" && $8 == "ns" { lines++; disturbed += $NF }
    END { if (disturbed * 4 > lines) print "; DISTURBED by other programs" }' "$results/results.csv")"

# ---- Figures --------------------------------------------------------------------------

# select_rows X_COLUMN RIVAL CONDITION - x and the median, sorted.
select_rows() {
    awk -F, -v x="$1" -v rival="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) name[$i] = i; next }
        $name["rival"] == rival && $name["status"] == "done" && $name["slot_size"] == 64 &&
            $name["order"] == "lifo" && ('"$3"') { print $name[x], $name["median"] }' \
        "$results/results.csv" | sort -n
}

longest=0
if [ -s "$results/histograms.csv" ]; then
    longest=$(awk -F, '$2 + 0 > most { most = $2 } END { print most + 0 }' \
        "$results/histograms.csv")
fi

# select_latencies RIVAL THREADS - one operation in so many takes longer than so
# long: as far as at least five did, so that chance draws no curve.
select_latencies() {
    [ -s "$results/histograms.csv" ] || return 0
    awk -F, -v rival="$1" -v threads="$2" -v longest="$longest" '
        $2 == longest && $5 == rival && $4 == threads && $6 == "alloc" {
            time[++n] = $7 < 1 ? 1 : $7; share[n] = $9; total += $8 }
        END { for (i = 1; i <= n; i++)
                  if ((1 - share[i]) * total > 4.5 && share[i] <= 0.999999)
                      print 1 / (1 - share[i]), time[i] }' "$results/histograms.csv"
}

while read -r rival _; do
    case $rival in cpool-cache) latency=no ;; *) latency=yes ;; esac
    select_rows threads "$rival" '$name["workload"] == "burst" && $name["parameter"] == 256 &&
        $name["metric"] == "throughput"' | awk '{ print $1, $2 / 1e6 }' >"$work/throughput.$rival"
    select_rows threads "$rival" '$name["workload"] == "pipe" && $name["metric"] == "throughput"' |
        awk '{ print $1, $2 / 1e6 }' >"$work/handover.$rival"
    select_rows parameter "$rival" '$name["workload"] == "burst" && $name["threads"] == 1 &&
        $name["metric"] == "ns"' >"$work/bursts-one.$rival"
    select_rows parameter "$rival" '$name["workload"] == "burst" && $name["metric"] == "ns" &&
        $name["threads"] == '"$processors" >"$work/bursts-all.$rival"
    [ $latency = yes ] || continue
    select_latencies "$rival" 1 >"$work/latency-one.$rival"
    select_latencies "$rival" "$processors" >"$work/latency-all.$rival"
done <"$work/styles"

# ---- Names at the ends of the curves ----------------------------------------------------

# place PICTURE - gnuplot commands for the range of y, the curves and their names.
# Names are moved apart until each has a line's height, as a share of the picture.
place() {
    for file in "$work/$1".*; do
        [ ! -s "$file" ] || awk -v name="${file##*/"$1".}" '
            { if (!n++ || $2 < low) low = $2; if ($2 > high) high = $2; x = $1; y = $2 }
            END { print name, x, y, low, high }' "$file"
    done | awk -v picture="$1" -v work="$work" -v gap=0.052 '
        FNR == NR { text[$1] = $2; colour[$1] = $3; width[$1] = $4; dashes[$1] = $5
                    rank[$1] = FNR; next }
        { name[++n] = $1; x[n] = $2; y[n] = $3
          if ($2 > right) right = $2
          if (n == 1 || $4 < low) low = $4; if (n == 1 || $5 > high) high = $5 }
        END {
            if (n == 0) exit
            bottom = log(low / 1.35); top = log(high * (picture ~ /^[th]/ ? 1.9 : 1.35))
            for (i = 1; i <= n; i++) { at[i] = (log(y[i]) - bottom) / (top - bottom); order[i] = i }
            for (i = 2; i <= n; i++)
                for (j = i; j > 1 && at[order[j]] < at[order[j - 1]]; j--) {
                    k = order[j]; order[j] = order[j - 1]; order[j - 1] = k }
            for (i = 1; i <= n; i++) place[i] = at[order[i]]
            for (round = 0; round < 400; round++)
                for (i = 1; i < n; i++) {
                    lack = gap - (place[i + 1] - place[i])
                    if (lack > 0) { place[i] -= lack / 2; place[i + 1] += lack / 2 }
                    if (place[1] < 0) place[1] = 0
                    if (place[n] > 1) place[n] = 1
                }
            printf "set yrange [%g:%g]\n", exp(bottom), exp(top)
            if (picture ~ /^latency/) printf "set xrange [1.3:%g]\n", right
            for (i = 1; i <= n; i++) {
                j = order[i]; who = name[j]; shown = text[who]; gsub(/_/, " ", shown)
                gsub(/\\ /, "\\\\_", shown)
                if (who == "cpool") shown = "{/:Bold " shown "}"
                printf "set label \"%s\" at graph 1.035, graph %.4f left textcolor rgb \"%s\"\n", \
                    shown, place[i], colour[who] == "#e69f00" ? "#b87f00" : colour[who]
                printf "set arrow from first %g, first %g to graph 1.03, graph %.4f nohead " \
                    "linecolor rgb \"%s\" linewidth 0.7\n", x[j], y[j], place[i], colour[who]
            }
            # Ours last, so that it lies on top.
            for (r = 99; r > 0; r--)
                for (i = 1; i <= n; i++)
                    if (rank[name[i]] == r) {
                        who = name[i]; curves = curves " " who; styles = styles " " r
                        printf "set style line %d linewidth %s dashtype %s linecolor rgb \"%s\"\n", \
                            r, width[who], dashes[who], colour[who]
                    }
            printf "curves = \"%s\"\nstyles = \"%s\"\n", curves, styles
        }' "$work/styles" -
}

for picture in throughput handover bursts-one bursts-all latency-one latency-all; do
    place "$picture" >"$work/$picture.gp"
    if [ ! -s "$work/$picture.gp" ]; then
        echo "$picture: nothing was measured"
        continue
    fi
    for format in svg png; do
        "$gnuplot" -e "format='$format'; picture='$picture'; data='$work'; \
processors=$processors; output='$pictures/$picture.$format'; machine=\"$machine\"" "$script"
        echo "$pictures/$picture.$format"
    done
done
