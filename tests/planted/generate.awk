# SPDX-License-Identifier: BSD-2-Clause
# generate.awk - makes planted bugs of each comparison, memory order and statement of files.
#
#   awk -f generate.awk FILE...      prints them in the form of list.txt
#
# One bug each:
#
#   eq  a comparison becomes its neighbour or its reverse: == and !=, < and <=, > and >=
#   or  && becomes ||, and || becomes &&
#   mo  a memory order becomes a weaker one
#   st  a statement is left out
#
# The name has the file, the line and a number.  Assertions, comments, declarations and
# statements of more than one line are left alone.

# The tests that come first, and the models, by file.
function tests_of(file) {
    if (file ~ /^tagstack/) return "check_tagstack check_depot check_chaos explorer:stack explorer:exchange"
    if (file ~ /^depot/) return "check_depot check_drain check_chaos check_quiet check_lease check_steps_empty explorer:exchange explorer:uncached"
    if (file ~ /^cache/) return "check_cache check_cache_target check_share check_typed check_quiet check_steps_empty check_steps_steal explorer:ring"
    if (file ~ /^recall/) return "check_recall check_registry_recall check_registry check_steps_empty check_trim check_share check_typed check_barrier check_steps_stall check_steps_lease check_steps_steal check_steps_fork explorer:exact explorer:ring-exact explorer:lease-late"
    if (file ~ /^registry/) return "check_registry check_registry_recall check_thread check_info check_quiet check_chaos check_steps_signal explorer:exit"
    if (file ~ /^(slab|extent)/) return "check_slab check_extent check_grow check_chaos check_fault_use explorer:exchange"
    if (file ~ /^queue/) return "check_wait check_wait_fair check_wait_crowd check_steps_queue explorer:wait-two explorer:fair"
    if (file ~ /^slotmap/) return "check_slotmap check_slotmap_narrow check_track explorer:track-double"
    if (file ~ /lease/) return "check_lease check_lease_promote check_lease_threads check_fault_use check_steps_lease explorer:lease explorer:lease-late explorer:lease-shared"
    return "check_alloc explorer:exchange explorer:recall"
}

function models_of(file) {
    if (file ~ /^tagstack/) return "model:stack_own model:stack_aba model:stack_handoff model:depot_exchange model:empty_refill model:lease_promote"
    if (file ~ /^depot/) return "model:depot_exchange model:depot_partial model:depot_slots model:empty_drain model:empty_partial model:empty_flush"
    if (file ~ /^cache/) return "model:cache_exchange model:cache_steal model:cache_offer model:cache_edge model:empty_steal model:empty_flush model:empty_loaded"
    if (file ~ /^(recall|registry)/) return "model:recall_loaded model:recall_barrier model:recall_reopen model:empty_loaded model:empty_steal model:lease_late"
    if (file ~ /^extent/) return "model:extent_commit model:slab_bump"
    if (file ~ /^slab/) return "model:slab_bump model:slab_lower model:empty_fresh"
    if (file ~ /^queue/) return "model:wait_sleep model:wait_pass model:wait_bell"
    if (file ~ /^slotmap/) return "model:slot_word"
    if (file ~ /lease/) return "model:lease_late model:lease_join model:lease_adopt model:lease_promote model:lease_steal"
    return "model:empty_flush model:empty_loaded"
}

function emit(kind, edit, by) {
    name = file
    gsub(/[._]/, "-", name)
    printf "%s-%d-%s%d | %s | %s | %d%s\n", name, FNR, kind, ++number[kind], file, by, FNR, edit
}

# Each place in the code of this line at which `from` stands becomes `to`.
function swap(kind, from, to, by,    rest, n, at) {
    rest = code
    for (n = 1; (at = index(rest, from)) > 0; n++) {
        emit(kind, "s/" quoted(from) "/" quoted(to) "/" n, by)
        rest = substr(rest, at + length(from))
    }
}

function quoted(text) {
    gsub(/&/, "\\\\&", text)
    return text
}

function weaken(from, to) {
    swap("mo", ", " from, ", " to, models_of(file))
    if (code ~ "^ *" from ",")
        emit("mo", "s/^\\( *\\)" from ",/\\1" to ",/", models_of(file))
}

FNR == 1 {
    file = FILENAME
    sub(/.*\//, "", file)
    inside = 0
    continued = 0
}
{
    delete number
    code = $0
}
/^ *\/?\*/ || /^#/ { next }
{
    sub(/ *\/\*.*/, "", code)
    if (comment || (code == "" && $0 != "")) {
        comment = $0 !~ /\*\//
        next
    }
    comment = $0 ~ /\/\*/ && $0 !~ /\*\//
}
/^\{/ { inside = 1; whole = 1; next }
/^\}/ { inside = 0 }
!inside || code == "" { next }
code !~ /CPI_ASSERT/ {
    tests = tests_of(file)
    swap("eq", " == ", " != ", tests)
    swap("eq", " != ", " == ", tests)
    swap("eq", " < ", " <= ", tests)
    swap("eq", " <= ", " < ", tests)
    swap("eq", " > ", " >= ", tests)
    swap("eq", " >= ", " > ", tests)
    swap("or", " && ", " || ", tests)
    swap("or", " || ", " && ", tests)
    weaken("acquire", "relaxed")
    weaken("release", "relaxed")
    weaken("acq_rel", "acquire")
    weaken("acq_rel", "release")
    weaken("seq_cst", code ~ /cpi_load/ ? "acquire" : code ~ /cpi_store/ ? "release" : "acq_rel")
}
# A statement that begins and ends on its line, and declares nothing.
whole && code ~ /^ +[^ ].*;$/ && code !~ /CPI_ASSERT/ &&
    code !~ /^ +(return|break|continue|goto|for|while|case|default|do|if|else|\}|;)/ &&
    code !~ /^ +((const|static|struct|union|enum|unsigned|_Atomic|volatile) |[a-z_0-9]+(_t)? \**[a-z_0-9]+( =|;|\[))/ {
    emit("st", "s/^\\( *\\)[^ ].*;/\\1(void)0;/", tests_of(file))
}
{
    whole = code ~ /[;{}:]$/ || code ~ /^ *(if|for|while|else).*(\)|else)$/
}
