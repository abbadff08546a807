# SPDX-License-Identifier: BSD-2-Clause
# plot_scale.awk - draws scale.csv, the output of `bench --scale`, as SVG: a panel for
# each workload, throughput over the number of threads, both logarithmic.
#
#   awk -F, -v machine='...' -f plot_scale.awk scale.csv >scale.svg
#
# Needs nothing but awk, so that one archive and a compiler suffice.

BEGIN {
    split("cpool-typed cpool malloc jemalloc tcmalloc mimalloc dpdk", rivals, " ")
    split("#000000 #d55e00 #999999 #0072b2 #009e73 #e69f00 #cc79a7", colours, " ")
    for (i = 1; i in rivals; i++) colour[rivals[i]] = colours[i]
    panel_width = 380; panel_height = 270; columns = 3
    left = 58; right = 76; top = 34; bottom = 36
}

NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }

$column["metric"] == "throughput" && $column["status"] == "done" && $column["median"] > 0 {
    panel = $column["workload"] ($column["parameter"] + 0 ? " " $column["parameter"] : "")
    if (!(panel in number)) { number[panel] = ++panels; name[panels] = panel }
    rival = $column["rival"]; p = number[panel]
    if (!((p, rival) in points)) drawn[p] = drawn[p] " " rival
    n = ++points[p, rival]
    x[p, rival, n] = $column["threads"]; y[p, rival, n] = $column["median"] / 1e6
    if (!(p in low) || y[p, rival, n] < low[p]) low[p] = y[p, rival, n]
    if (!(p in high) || y[p, rival, n] > high[p]) high[p] = y[p, rival, n]
    if (!(p in first) || x[p, rival, n] < first[p]) first[p] = x[p, rival, n]
    if (!(p in last) || x[p, rival, n] > last[p]) last[p] = x[p, rival, n]
    all[p, x[p, rival, n]] = 1
}

function escape(text) {
    gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text)
    return text
}

function across(p, value) {
    if (last[p] == first[p]) return left
    return left + (panel_width - left - right) * log(value / first[p]) / log(last[p] / first[p])
}

function up(p, value) {
    value = log(value / low[p]) / log(high[p] / low[p])
    return panel_height - bottom - (panel_height - top - bottom) * value
}

function text_at(px, py, anchor, size, fill, what) {
    printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\" fill=\"%s\">%s</text>\n",
        px, py, anchor, size, fill, escape(what)
}

function axes(p,    value, step, digit, key, part) {
    text_at(left, top - 12, "start", 14, "#111111", name[p])
    for (step = 1e-4; step < 1e7; step *= 10)
        for (digit = 1; digit <= 5; digit += digit == 1 ? 1 : 3) {
            value = step * digit
            if (value < low[p] || value > high[p]) continue
            printf "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#e6e6e6\"/>\n",
                left, panel_width - right, up(p, value), up(p, value)
            text_at(left - 6, up(p, value) + 4, "end", 11, "#555555", value "")
        }
    for (key in all) {
        split(key, part, SUBSEP)
        if (part[1] == p)
            text_at(across(p, part[2]), panel_height - bottom + 16, "middle", 11, "#555555", part[2])
    }
}

# Names at the ends of the curves, moved apart.
function names(p, count, who, at,    i, j, round, lack, swap) {
    for (i = 2; i <= count; i++)
        for (j = i; j > 1 && at[j] < at[j - 1]; j--) {
            swap = at[j]; at[j] = at[j - 1]; at[j - 1] = swap
            swap = who[j]; who[j] = who[j - 1]; who[j - 1] = swap
        }
    for (round = 0; round < 200; round++)
        for (i = 1; i < count; i++) {
            lack = 13 - (at[i + 1] - at[i])
            if (lack > 0) { at[i] -= lack / 2; at[i + 1] += lack / 2 }
        }
    for (i = 1; i <= count; i++)
        text_at(panel_width - right + 6, at[i] + 4, "start", 11, colour[who[i]], who[i])
}

function curves(p,    order, count, i, n, rival, who, at) {
    count = split(drawn[p], order, " ")
    for (i = 1; i <= count; i++) {
        rival = order[i]
        if (!(rival in colour)) colour[rival] = "#56b4e9"
        printf "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" points=\"", colour[rival],
            rival ~ /^cpool/ ? "2.4" : "1.4"
        for (n = 1; n <= points[p, rival]; n++)
            printf "%.1f,%.1f ", across(p, x[p, rival, n]), up(p, y[p, rival, n])
        printf "\"/>\n"
        for (n = 1; n <= points[p, rival]; n++)
            printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.4\" fill=\"%s\"/>\n",
                across(p, x[p, rival, n]), up(p, y[p, rival, n]), colour[rival]
        who[i] = rival; at[i] = up(p, y[p, rival, points[p, rival]])
    }
    names(p, count, who, at)
}

END {
    if (panels == 0) { print "plot_scale.awk: nothing was measured" > "/dev/stderr"; exit 1 }
    rows = int((panels + columns - 1) / columns)
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" " \
        "font-family=\"DejaVu Sans,Verdana,sans-serif\">\n", columns * panel_width,
        rows * panel_height + 74
    print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
    text_at(20, 28, "start", 18, "#111111", "Million operations a second over the number of threads")
    text_at(20, rows * panel_height + 62, "start", 11, "#8a8a8a", machine)
    for (p = 1; p <= panels; p++) {
        low[p] /= 1.3; high[p] *= 1.3
        printf "<g transform=\"translate(%d,%d)\">\n", (p - 1) % columns * panel_width,
            int((p - 1) / columns) * panel_height + 40
        axes(p)
        curves(p)
        print "</g>"
    }
    print "</svg>"
}
