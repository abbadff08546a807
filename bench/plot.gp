# SPDX-License-Identifier: BSD-2-Clause
# plot.gp - draws one picture; plot.sh sets format, picture, data, rivals, output
# and machine.

if (format eq "svg") {
    set terminal svg size 800,480 dynamic font "sans-serif,13" background "white"
} else {
    set terminal pngcairo size 1200,720 font "sans-serif,15"
}
set output output
set border 3 linecolor rgb "#555555"
set tics nomirror
set grid ytics linecolor rgb "#dddddd"
set key outside right top
if (strlen(machine) > 0) {
    set label 1 machine at screen 0.01, screen 0.02 font ",10" textcolor rgb "#777777"
    set bmargin 5
}

# libcpool stands out; the others are told apart.
colour(name) = name eq "cpool" ? 0xc0392b : name eq "cpool-cache" ? 0xe67e22 : \
    name eq "tcmalloc" ? 0x2c6fbb : name eq "jemalloc" ? 0x27915c : \
    name eq "mimalloc" ? 0x8e44ad : name eq "malloc" ? 0x444444 : \
    name eq "tbb" ? 0x16a5a5 : name eq "ck_stack" ? 0xa0762b : 0x999999
width(name) = name[1:5] eq "cpool" ? 3 : 1.7

set logscale y
if (picture eq "threads") {
    set title "256 slots out, 256 back: pairs a second, all threads together"
    set xlabel "threads"
    set ylabel "million pairs a second"
    set logscale x 2
    scale = 1e-6
} else {
    scale = 1
    if (picture eq "bursts") {
        set title "n slots out, n back, one thread: nanoseconds per pair"
        set xlabel "n"
        set ylabel "nanoseconds"
        set logscale x 4
    } else {
        set title sprintf("A single allocation, %s thread%s: the slowest of how many", \
            picture[9:], picture[9:] eq "1" ? "" : "s")
        set xlabel "one operation in"
        set ylabel "nanoseconds"
        set logscale x 10
        set xtics ("2" 2, "100" 100, "1000" 1000, "10,000" 10000, "worst" 100000)
        set yrange [0.8:*]
    }
}

plot for [name in rivals] data."/".picture.".".name using 1:($2 * scale) \
    with linespoints linewidth width(name) pointtype 7 pointsize 0.6 \
    linecolor rgb colour(name) title name noenhanced
