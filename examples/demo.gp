# SPDX-License-Identifier: BSD-2-Clause
# demo.gp - draws the figures of demo.sh, which sets data, output and rows: four panels
# with a bar for each allocator.

set terminal pngcairo size 1600,1000 enhanced rounded font "DejaVu Sans,13" fontscale 1.2 \
    background "white"
set output output
set encoding utf8
set datafile separator ":"

set border 0
set style fill solid noborder
set boxwidth 0.7
unset key
unset xtics
set ytics scale 0 nomirror textcolor rgb "#333333"
set lmargin 13
set rmargin 3

# Pools in one colour, mallocs in another, which the colour-blind can tell apart.
colour(row) = row < 2 ? 0xd55e00 : 0x7a8fa6
text(value) = value < 10 ? sprintf("%.2f", value) : value < 100 ? sprintf("%.1f", value) : \
    sprintf("%.0f", value)

set multiplot layout 2,2 margins 0.1,0.97,0.05,0.93 spacing 0.12,0.1

do for [panel = 1:4] {
    field = word("2 3 5 7", panel) + 0
    scale = panel == 1 ? 1e-6 : 1
    if (panel == 1) { set title "{/:Bold million jobs a second}, more is better" }
    if (panel == 2) { set title "{/:Bold nanoseconds a node} in the allocator, less is better" }
    if (panel == 3) { set title "{/:Bold milliseconds of a frame}, 99 % take no more" }
    if (panel == 4) { set title "{/:Bold KiB of memory} for the nodes, less is better" }
    set xrange [*:*]
    set yrange [*:*]
    stats data using (column(field) * scale) nooutput name "S"
    set xrange [0:S_max * 1.15]
    set yrange [rows - 0.4:-0.6]
    plot data using (column(field) * scale * 0.5):0:(0):(column(field) * scale):($0 - 0.33):($0 + 0.33):(colour($0)):ytic(1) \
            with boxxyerror linecolor rgb variable, \
        data using (column(field) * scale):0:(text(column(field) * scale)) with labels left offset 0.6,0 \
            textcolor rgb "#333333"
}
unset multiplot
