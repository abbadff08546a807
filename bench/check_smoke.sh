#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# check_smoke.sh - runs every workload with every rival once, tiny, and looks at
# the output: all cells are there, none failed, and absent ones are named with a
# reason.
#
# Asserts nothing about time.  Environment: BENCH (bench/bench), srcdir.

set -u

bench=${BENCH:-bench/bench}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

fail() {
    echo "FAILED: $*"
    exit 1
}

[ -x "$bench" ] || fail "$bench is not built"

"$bench" --smoke --csv "$work/csv" --json "$work/json" --histograms "$work/histograms" \
    >"$work/table" 2>"$work/progress" || {
    cat "$work/table" "$work/progress"
    fail "bench --smoke ended with an error"
}

# All workloads, from the program itself.
"$bench" --list >"$work/list" || fail "bench --list ended with an error"
sed -n '/^rivals$/,/^workloads$/s/^  \([^ ]*\) .*/\1/p' "$work/list" >"$work/rivals"
sed -n '/^workloads$/,$s/^  \([^ ]*\) .*/\1/p' "$work/list" >"$work/workloads"
[ -s "$work/rivals" ] && [ -s "$work/workloads" ] || fail "bench --list lists nothing"

# CSV: as many fields in every line as in the first, known statuses, a figure
# above zero wherever one was measured.
awk -F, '
    NR == 1 { fields = NF; for (i = 1; i <= NF; i++) column[$i] = i; next }
    NF != fields { print "FAILED: line " NR " of the CSV has " NF " fields, not " fields; bad = 1 }
    $column["status"] == "done" && $column["metric"] == "ns" && $column["median"] + 0 <= 0 {
        print "FAILED: no time in line " NR " of the CSV: " $0; bad = 1 }
    $column["status"] !~ /^(done|absent)$/ { print "FAILED: " $0; bad = 1 }
    END { if (NR < 2) { print "FAILED: the CSV is empty"; bad = 1 }; exit bad }' "$work/csv" ||
    exit 1

# Every workload with every rival, and libcpool and malloc in all of them.
while read -r workload; do
    while read -r rival; do
        grep -q "^$workload,.*,$rival,\(done\|absent\)," "$work/csv" ||
            fail "there is no cell for $workload with $rival"
    done <"$work/rivals"
    grep -q "^$workload,.*,cpool,done," "$work/csv" || fail "cpool did not do $workload"
    case $workload in
    # Workloads that malloc lacks: pools to create, a capacity, a cache to
    # recall from, a thread to wait for, handles, visits, frames, objects, priorities and readers.
    create | occupancy | last-slot | recall | grow | hand-off | waiters | pressure | \
        resolve | foreach | frame-end | object-frame | reclaim | retire) ;;
    *)
        # A sanitizer's malloc gives nothing back.
        if [ "$workload" = locality ] && grep -q INSTRUMENTED "$work/table"; then
            continue
        fi
        grep -q "^$workload,.*,malloc,done," "$work/csv" || fail "malloc did not do $workload"
        ;;
    esac
done <"$work/workloads"

# Typed pools of every size that the plan has.
for size in 8 64 4096; do
    grep -q "^[a-z-]*,[0-9]*,lifo,$size,1,cpool-typed,done," "$work/csv" ||
        fail "there is no typed pool of slots of $size bytes"
done

# Every mode is measured in the lines of the modes, beside the plain pool and malloc, and in
# no other line: its workloads are those of another rival.
modes=$(sed -n '/^The modes/,/The same as ratios/s/^  \(cpool[a-z-]*\) .*/\1/p' "$work/table")
[ "$(echo "$modes" | wc -l)" -ge 9 ] || fail "the table of the modes lacks some: $modes"
for mode in $modes; do
    grep -q "^\(same-slot\|burst\),.*,$mode,done,ns," "$work/csv" || fail "$mode was not measured"
done
for table in 'The same as ratios to cpool, the plain' 'longer the fastest malloc takes'; do
    sed -n "/$table/,/^  mimalloc/p" "$work/table" |
        grep -q '^  cpool-typed-tracked  *[0-9]*\.[0-9][0-9] ' || fail "no ratio of a mode: $table"
done
grep -q '^frame,.*,cpool-typed-tracked,absent,' "$work/csv" || fail "a mode has a line of its own"
[ "$(grep -c '^pressure,64,.*,\(cpool\|cpool-object\|condvar\),done,ns,' "$work/csv")" -eq 9 ] ||
    fail "pressure lacks libcpool, its objects, or the condition variable"

# Retired nodes are held back, and those that are freed at once are not.
awk -F, '$1 == "retire" && $6 == "cpool" && $8 == "held" && $10 + 0 > 0 { held++ }
    $1 == "retire" && $6 == "no-grace" && $8 == "held" && $10 + 0 > 0 { held = -9 }
    END { exit held != 4 }' "$work/csv" || fail "retire counts no nodes that are held back"

# The table names every rival, and an absent one with its reason.
while read -r rival; do
    grep -q "^  $rival " "$work/table" || fail "the table does not name $rival"
done <"$work/rivals"
! grep -q 'ABSENT: *$' "$work/table" || fail "a rival is absent without a reason"

# Every table is headed by the processor.  Cycles and instructions are there for every
# time that libcpool took, or the table says why they are not.
[ "$(grep -c '^(.*processors)$' "$work/table")" -ge 9 ] || fail "a table names no processor"
if grep -q '^  without cycles and instructions: ..*' "$work/table"; then
    ! grep -q ',\(cycles\|instructions\),' "$work/csv" || fail "cycles without counters"
else
    grep -q '^  Cycles per operation' "$work/table" || fail "the table has no cycles"
    for metric in cycles instructions; do
        awk -F, -v metric=$metric '$7 == "done" && $8 == metric && $10 + 0 > 0 { n++ }
            END { exit n == 0 }' "$work/csv" || fail "the CSV has no $metric"
    done
fi

# Histograms: the shares of every distribution rise, and reach 1.
awk -F, '
    NR == 1 { next }
    { key = $1 "," $2 "," $4 "," $5 "," $6 }
    key != last { if (NR > 2 && share < 1) { print "FAILED: " last " ends at " share; bad = 1 }
                  share = 0; time = -1; last = key; distributions++ }
    $9 < share || $7 <= time || $8 < 1 { print "FAILED: histogram, line " NR ": " $0; bad = 1 }
    { share = $9; time = $7 }
    END { if (share < 1 || !distributions) { print "FAILED: no whole distribution"; bad = 1 }
          exit bad }' "$work/histograms" || exit 1

# Variants of libcpool take part under their own names, with their own settings.
"$bench" --smoke --workload burst:16 --rival cpool,small,cached --csv "$work/variants" \
    --variant small:magazine_rounds=8,flags=tracked --variant cached:rival=cpool-cache \
    --config capacity=5000 >/dev/null 2>&1 || fail "variants cannot be measured"
for name in cpool small cached; do
    grep -q "^burst,.*,$name,done," "$work/variants" || fail "there is no variant $name"
done
! "$bench" --smoke --workload burst:16 --rival cpool --config capacity=1 >/dev/null 2>&1 ||
    fail "a pool of 1 slot served a burst of 16: --config changes nothing"
! "$bench" --smoke --workload burst:16 --rival cpool --config nonsense=1 >/dev/null 2>&1 ||
    fail "a setting that does not exist was accepted"

# A workload with roles for its threads is refused with other numbers of threads, by the
# parent and by a measuring process.
"$bench" --smoke --workload hand-off --threads 4 >/dev/null 2>"$work/refused" &&
    fail "hand-off was measured with 4 threads"
grep -q 'two threads.*hand-off' "$work/refused" || fail "hand-off is refused without a reason"
"$bench" --cell cpool hand-off 0 0 64 4 0 1 '' | grep -q '^absent .*two threads' ||
    fail "a process measured hand-off with 4 threads"
"$bench" --smoke --workload pipe --threads 1 >/dev/null 2>&1 &&
    fail "pipe was measured with 1 thread"

# Over the number of threads: shares and exchanges in a table, and a picture that can
# be read.
"$bench" --scale --rival cpool,malloc --threads 1,2 --lines same-slot,burst,pipe \
    --milliseconds 0 --repetitions 1 --csv "$work/scale.csv" >"$work/scale" 2>&1 || {
    cat "$work/scale"
    fail "bench --scale ended with an error"
}
for text in '^  No rival is installed' '^  burst 4096: .*million pairs a second' \
    'as a share of the first row' 'exchanges with the depot'; do
    grep -q "$text" "$work/scale" || fail "bench --scale does not say: $text"
done
grep -q '^burst,4096,.*,cpool,done,exchanges_per_s,1,' "$work/scale.csv" ||
    fail "bench --scale counts no exchanges"
awk -F, -v machine='<&>' -f "${srcdir:-.}/bench/plot_scale.awk" "$work/scale.csv" >"$work/svg" ||
    fail "bench --scale cannot be drawn"
[ "$(grep -c '<polyline' "$work/svg")" -eq 8 ] || fail "the picture lacks curves"
grep -q '&lt;&amp;>' "$work/svg" && grep -q '^</svg>$' "$work/svg" ||
    fail "the picture is not well-formed"

# A run that is recorded makes the file of its own family, and replaces no other.
family=$(sed -n 's/^  family  *//p' "$work/table")
threads=$(sed -n 's/^  processors  *\([0-9]*\) usable$/\1/p' "$work/table")
mkdir "$work/record"
for name in another "$family"; do echo "figures of old" >"$work/record/$name.md"; done
"$bench" --smoke --workload same-slot,burst:64 --threads "$threads" --record "$work/record" \
    --sources 'these sources' >/dev/null 2>&1 || fail "bench --record ended with an error"
[ "$(cat "$work/record/another.md")" = "figures of old" ] || fail "another family was replaced"
[ "$(ls "$work/record" | wc -l)" -eq 2 ] || fail "bench --record leaves more than a file"
for text in "# $family" '<!-- rows -->' "| $family | $threads | same slot | " \
    "| $family | $threads | 64 out, 64 back | " 'these sources' '^Throughput, ' '^```$'; do
    grep -q -- "$text" "$work/record/$family.md" || fail "the record lacks: $text"
done

# JSON: any reader that is here must be able to read it.
if command -v python3 >/dev/null; then
    python3 -m json.tool "$work/json" >/dev/null || fail "the JSON is not well-formed"
elif command -v jq >/dev/null; then
    jq . "$work/json" >/dev/null || fail "the JSON is not well-formed"
else
    echo "neither python3 nor jq is installed: the JSON was not looked at"
fi

grep 'ABSENT' "$work/table"
echo "$(grep -c ',done,ns,' "$work/csv") cells ran," \
    "$(grep -c ',absent,ns,' "$work/csv") were left out."
