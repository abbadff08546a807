# SPDX-License-Identifier: BSD-2-Clause
# plot.gp - draws one picture; plot.sh sets format, picture, data, processors,
# output and machine, and wrote data/picture.gp: range, names, curves.

if (format eq "svg") {
    set terminal svg size 900,560 dynamic enhanced rounded font "DejaVu Sans,Verdana,sans-serif,14" \
        background "white"
} else {
    set terminal pngcairo size 1800,1120 enhanced rounded font "DejaVu Sans,14" fontscale 1.9 linewidth 2
}
set output output

ink = "#333333"
pale = "#8a8a8a"

set border 1 linecolor rgb "#999999"
set tics nomirror textcolor rgb ink
set xtics out scale 0.6
set ytics scale 0 textcolor rgb ink
set mytics 1
set grid ytics linetype 1 linecolor rgb "#e6e6e6" linewidth 0.8
unset key
set encoding utf8
set lmargin at screen 0.085
set rmargin at screen 0.775
set tmargin at screen 0.835
set bmargin at screen 0.2
set logscale y
set ytics (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, "1,000" 1000, "2,000" 2000, \
    "5,000" 5000, "10,000" 1e4, "20,000" 2e4)
latency = picture[1:7] eq "latency"
all = picture[strlen(picture) - 2:] eq "all"
who = all ? sprintf("%d threads, one on each processor", processors) : "one thread"

if (picture eq "throughput") {
    title = "256 slots out, 256 back"
    subtitle = "million pairs of alloc and free a second, all threads together; higher is better"
}
if (picture eq "handover") {
    title = "From producers to consumers"
    subtitle = "million slots handed over a second, half of the threads each; higher is better"
}
if (picture[1:6] eq "bursts") {
    title = "n slots out, n back"
    subtitle = "nanoseconds for an alloc and a free, ".who."; lower is better"
}
if (latency) {
    title = "A single allocation, at worst"
    subtitle = who."; reading the clock is subtracted; lower is better"
    set ytics ("1 ns" 1, "10 ns" 10, "100 ns" 100, "1 µs" 1e3, "10 µs" 1e4, "100 µs" 1e5, \
        "1 ms" 1e6, "10 ms" 1e7, "100 ms" 1e8)
}
set label 1 "{/:Bold ".title."}" at screen 0.022, screen 0.945 left font ",18" textcolor rgb "#111111"
set label 2 subtitle at screen 0.022, screen 0.885 left textcolor rgb "#555555"
set label 3 machine at screen 0.022, screen 0.058 left font ",10" textcolor rgb pale noenhanced

if (picture eq "throughput" || picture eq "handover") {
    set xlabel "threads" textcolor rgb ink
    set logscale x 2
    stats data."/".picture.".cpool" using 1 nooutput name "X"
    set xrange [X_min:X_max]
    if (X_max > processors) {
        set object 1 rectangle from first processors, graph 0 to graph 1, graph 1 behind \
            fillcolor rgb "#f4f4f4" fillstyle solid noborder
        set label 4 " more threads than processors" at first processors, graph 0.965 left \
            font ",11" textcolor rgb pale
    }
}
if (picture[1:6] eq "bursts") {
    set xlabel "n, slots out at once" textcolor rgb ink
    set logscale x 4
    set xtics (1, 4, 16, 64, 256, "1,024" 1024, "4,096" 4096)
    stats data."/".picture.".cpool" using 1 nooutput name "X"
    set xrange [X_min:X_max * 1.001]
}
if (latency) {
    set xlabel "share of all allocations that took no longer" textcolor rgb ink
    set logscale x 10
    set xtics ("50 %%" 2, "90 %%" 10, "99 %%" 100, "99.9 %%" 1000, "99.99 %%" 1e4, \
        "99.999 %%" 1e5, "99.9999 %%" 1e6)
}

load data."/".picture.".gp"

name(i) = word(curves, i)
marks(i) = latency ? 0 : name(i) eq "cpool" ? 0.9 : 0.55
plot for [i = 1:words(curves)] data."/".picture.".".name(i) using 1:2 with linespoints \
    linestyle word(styles, i) + 0 pointtype 7 pointsize marks(i) title name(i) noenhanced
