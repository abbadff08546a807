#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-json.sh - the members and metrics that doc/JSON.md lists are those that are written, with
# their types.  The figures that it says will stay are the members of cpool_stats_t.
#
# With Debian's python3-jsonschema and python3-prometheus-client, what is written for pools of every
# kind, all and each, is as doc/json-schema.json says and as these parsers read it, and the metrics
# are the figures of the JSON.  Each document is also spoilt, and must be refused.

. "${srcdir:-.}/tests/harness/script.sh"
export LC_ALL=C
export LD_LIBRARY_PATH="lib/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

skip_without_plain_library

# Pools of every kind, at rest.  All of them, and then each one alone: the JSON and the metrics.
cat > "$work/print.c" << 'END_OF_SOURCE'
#include <cpool/lanes.h>
#include <cpool/object.h>
#include <cpool/pools.h>
#include <cpool/print.h>
#include <cpool/sized.h>
#include <stdlib.h>
CPOOL_DEFINE_INLINE(typed, long long, .capacity = 50);
static _Alignas(CPOOL_MEMORY_ALIGN) unsigned char memory[1 << 20];
static cpool_t *alone[100];
static size_t count;
static void write_forms(const cpool_t *pool)
{
    cpool_print(pool, CPOOL_DUMP_JSON, stdout);
    cpool_print(pool, CPOOL_DUMP_PROMETHEUS, stdout);
}
static bool note(const cpool_view_t *view, void *arg)
{
    (void)arg;
    if (view->pool != NULL)
        alone[count++] = view->pool;
    return true;
}
static cpool_t *make(const char *name, unsigned flags, void *at)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    void *slots[100];
    cpool_t *pool;
    config.name = name;
    config.slot_size = 24;
    config.capacity = 100;
    config.flags = flags;
    config.memory = at;
    config.memory_size = at != NULL ? sizeof memory : 0;
    if (cpool_create(&pool, &config) != 0 || cpool_alloc_bulk(pool, slots, 100, 0) != 100 ||
        cpool_alloc(pool) != NULL)
        exit(1);
    cpool_free_bulk(pool, slots, 30);
    return pool;
}
int main(void)
{
    if (typed_alloc() == NULL)
        return 1;
    make("", 0, NULL);
    make("a \"quoted\" {name}\\,x=\"1\"", CPOOL_TRACKED, NULL);
    make("a line\n# HELP \xc3\xbc\t", CPOOL_CHECKED, NULL);
    make("twice", CPOOL_CHECKED | CPOOL_COLOUR, NULL);
    make("twice", CPOOL_COLOUR, memory);
    make("0123456789012345678901234567\"\\\n\n", CPOOL_HUGE_PAGES, NULL);
#ifdef WITH_EXT
    cpool_objects_config_t objects_config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_sized_config_t sized_config = CPOOL_SIZED_CONFIG_INIT;
    cpool_lanes_config_t lanes_config = CPOOL_LANES_CONFIG_INIT;
    cpool_config_t slots = CPOOL_CONFIG_INIT;
    cpool_objects_t *objects;
    cpool_sized_t *sized;
    cpool_lanes_t *lanes;
    type.object_size = slots.slot_size = 40;
    objects_config.type = &type;
    objects_config.capacity = slots.capacity = lanes_config.lanes = 9;
    lanes_config.slots = &slots;
    sized_config.name = "sizes";
    if (cpool_objects_create(&objects, &objects_config) != 0 || cpool_object_get(objects) == NULL ||
        cpool_sized_create(&sized, &sized_config) != 0 || cpool_sized_alloc(sized, 99) == NULL ||
        cpool_lanes_create(&lanes, &lanes_config) != 0 || cpool_lane_alloc(lanes, 1) == NULL)
        return 1;
#endif
    cpool_each(note, NULL);
    write_forms(NULL);
    for (size_t i = 0; i < count; i++)
        write_forms(alone[i]);
    return 0;
}
END_OF_SOURCE
ext=
[ "$(nm "$library" 2> /dev/null | grep -cE ' T cpool_(objects|sized|lanes)_create$')" -lt 3 ] || ext=-DWITH_EXT
# shellcheck disable=SC2086 # the compiler may have options of its own
${CC:-cc} -std=c11 $ext -I"$top/include" "$work/print.c" "$library" -pthread -ldl -lm -o "$work/print" || exit 1
"$work/print" > "$work/written" || exit 1
grep '^{' "$work/written" > "$work/json"
sed -n 1p "$work/json" > "$work/json-of-all"
sed -n 2p "$work/json" > "$work/json-of-one"

# differ WHAT LISTED WRITTEN
differ() {
    diff "$2" "$3" > "$work/difference" && return
    echo "$1: differences, < doc/JSON.md, > written:"
    grep '^[<>]' "$work/difference"
    status=1
}

# rows HEADING - the rows of the table below a heading: a name, and its type or metric.
rows() {
    awk -v heading="## $1" '
        /^## / { on = $0 == heading }
        on && /^\| `/ { gsub(/[`|]/, " "); print $1, $2 }' "$top/doc/JSON.md"
}

# members FILE - the name and type of each member.
members() {
    sed -e 's/\([[{,]\)"\([a-z_]*\)":/\n\1 \2 /g' "$1" |
        awk 'NF > 1 {
            print $2, $3 ~ /^"/ ? "string" : $3 ~ /^(true|false)/ ? "boolean" : \
                $3 ~ /^\[/ ? "array" : $3 ~ /^[0-9]/ ? "number" : "none"
        }' | sort
}

{
    rows 'Figures that stay'
    rows 'Figures of the mechanism'
} > "$work/figures"
{
    rows 'Names and flags'
    sed 's/ .*/ number/' "$work/figures"
} | sort > "$work/of-one"
{
    awk '/^\*\*Metrics/ { exit } /^\| `/ { gsub(/[`|]/, " "); print $1, $2 }' "$top/doc/JSON.md"
    cat "$work/of-one"
} | sort -u > "$work/of-all"
members "$work/json-of-one" > "$work/said"
differ 'members of a pool' "$work/of-one" "$work/said"
members "$work/json-of-all" | sort -u > "$work/said"
differ 'members of all pools' "$work/of-all" "$work/said"
[ "$(wc -l < "$work/of-one")" -gt 30 ] || { echo 'hardly anything is listed'; status=1; }

sed -n '/^typedef struct cpool_stats {/,/^}/s/^    [a-z0-9_]*t \([a-z_]*\);.*/\1/p' \
    "$top/include/cpool/info.h" | grep -vx size | sort > "$work/kept"
rows 'Figures that stay' | sed 's/ .*//' | sort > "$work/said"
differ 'figures that stay, beside cpool_stats_t' "$work/said" "$work/kept"

sed 's/.* //' "$work/figures" | sort > "$work/said"
sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' "$work/written" | sort -u > "$work/kept"
differ metrics "$work/said" "$work/kept"
[ "$status" -eq 0 ] || exit "$status"

cat > "$work/held.py" << 'END_OF_SOURCE'
import copy, json, re, sys
from jsonschema import Draft202012Validator as Validator, exceptions
from prometheus_client.openmetrics import parser as strict
from prometheus_client.parser import text_string_to_metric_families as families

schema = json.load(open(sys.argv[1]))
Validator.check_schema(schema)
exact = copy.deepcopy(schema)  # what this version writes: everything, and nothing else
for part in exact["$defs"].values():
    if "properties" in part:
        part.update(additionalProperties=False, required=list(part["properties"]))
tried = 0

def require(told, *what):
    global tried
    tried += 1
    if not told:
        sys.exit("%.70s...: %.300s" % (name, " ".join(map(str, what))))

def fits(document, by):
    return Validator(by).is_valid(document)

def spoil_json(document, part, stays):
    """Each member is needed, and has its type.  `part` is the object in the document."""
    for member, value in list(part.items()):
        del part[member]
        require(not fits(document, exact), "is accepted without", member)
        require(fits(document, schema) != (member in stays), "is judged wrongly without", member)
        for wrong in (None, -1, 0.5, 2**64, 1, True, "\"", [0], {}):
            if type(wrong) is not type(value) or wrong in (-1, 2**64, "\""):
                part[member] = wrong
                require(not fits(document, schema), "is accepted with", member, wrong)
        part[member] = value
    part["more"] = 1
    require(not fits(document, exact) and fits(document, schema), "is judged wrongly with more")
    del part["more"]

def read_metrics(text):
    """The samples, and whether the metric is a counter.  Raises ValueError."""
    read = {}
    for family in families(text):
        if family.type not in ("gauge", "counter") or family.name in [n for n, *_ in read]:
            raise ValueError("type or place of " + family.name)
        for sample in family.samples:
            if sorted(sample.labels) != ["kind", "number", "pool"]:
                raise ValueError("labels of " + family.name)
            key = (family.name,) + tuple(v for _, v in sorted(sample.labels.items()))
            if key in read:
                raise ValueError("twice: %s" % (key,))
            read[key] = (family.type, sample.value)
    # The stricter format has the same lines, but for the names of types and an end.
    typed = re.sub(r"^(# TYPE \S+)_total counter$", r"\1 counter", text, flags=re.M)
    same = [s for f in strict.text_string_to_metric_families(typed + "# EOF\n") for s in f.samples]
    if len(same) != len(read):
        raise ValueError("lines")
    return read

def are_equal(text, pools):
    expected = {("cpool_" + member, p["kind"], str(p["number"]), p["name"]):
                (types.get("cpool_" + member), float(value)) for p in pools
                for member, value in p.items() if type(value) is int and member != "number"}
    try:
        return read_metrics(text) == expected and len(expected) == len(types) * len(pools)
    except ValueError:
        return False

# By the table of doc/JSON.md: a name that ends in _total is a counter's.
types = {n[:-6] if n.endswith("_total") else n: "counter" if n.endswith("_total") else "gauge"
         for n in open(sys.argv[2]).read().split()}
stays = schema["$defs"]["pool"]["required"] + ["version", "pools"]
for written in re.split("^(?={)", open(sys.argv[3]).read(), flags=re.M)[1:]:
    name, text = written.split("\n", 1)
    document = json.loads(name)
    pools = document.get("pools", [document])
    wrong = exceptions.best_match(Validator(exact).iter_errors(document))
    require(wrong is None and fits(document, schema), wrong and wrong.message[-200:])
    spoil_json(document, pools[-1], stays)
    if "pools" in document:
        spoil_json(document, document, stays)
        require({p["kind"] for p in pools} == set(sys.argv[4].split()), "kinds")
        for flag, value in pools[0].items():
            if type(value) is bool:
                require({p[flag] for p in pools} == {True, False}, flag, "is always the same")
        require({"a ?quoted? {name}?,x=?1?", "a line?# HELP ???"} < {p["name"] for p in pools}, "names")
    require(are_equal(text, pools), "the metrics have other figures than the JSON")
    lines = text.splitlines(True)
    for spoilt in ("".join(lines[1:]), text[:-2] + "\n", text + lines[-1], lines[-1] + text,
                   text + lines[1], text.replace(" counter", " gauge", 1), text.replace('",k', '"",k', 1),
                   text.replace("{pool=", "{poool=", 1), text.replace("cpool_live{", "cpool_lives{", 1)):
        require(spoilt != text and not are_equal(spoilt, pools), "accepted:", spoilt[:300])
print(tried, "by parsers")
END_OF_SOURCE
kinds='pool objects sized lanes'
[ -n "$ext" ] || kinds=pool
for python in python3 /usr/bin/python3; do
    $python -c 'import jsonschema, prometheus_client' 2> /dev/null || continue
    $python "$work/held.py" "$top/doc/json-schema.json" "$work/said" "$work/written" "$kinds"
    exit $?
done
echo 'skipped: no python3-jsonschema or no python3-prometheus-client'
exit 77
