/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * script.c - shared by the tests of forks (script.h).
 *
 * Includes pool_impl.h, to count magazines.
 */
#include "script.h"

#include <stdlib.h>
#include <string.h>

#include "cache/mark.h"
#include "inside.h"

/* More steps than any child needs: one that makes more goes round in circles. */
enum { ENDLESS = 1000000 };

/*
 * ---- What the vanished thread does ---------------------------------------
 */

static void *take_cached(struct script *script)
{
    return cpool_alloc(script->pool);
}

static void give_cached(struct script *script, void *slot)
{
    cpool_free(script->pool, slot);
}

static void flush_cached(struct script *script)
{
    cpool_flush(script->pool);
}

static void *take_from_cache(struct script *script)
{
    return cpool_cache_alloc(script->cache);
}

static void give_to_cache(struct script *script, void *slot)
{
    cpool_cache_free(script->cache, slot);
}

/* There is no public way to flush such a cache and go on using it. */
static void flush_cache(struct script *script)
{
    (void)script;
}

static void *take_from_depot(struct script *script)
{
    return cpool_depot_alloc(script->pool);
}

static void give_to_depot(struct script *script, void *slot)
{
    cpool_depot_free(script->pool, slot);
}

const struct script_door script_doors[SCRIPT_DOORS] = {
    { take_cached, give_cached, flush_cached },
    { take_from_cache, give_to_cache, flush_cache },
    { take_from_depot, give_to_depot, flush_cache },
};

const unsigned script_kinds[SCRIPT_KINDS] = { 0, CPOOL_EXACT, CPOOL_WAITABLE };

/* With slack for as many caches as there may be. */
static cpool_t *create(unsigned flags, size_t capacity)
{
    cpool_config_t config = support_config(16, capacity);

    config.flags = flags;
    config.magazine_rounds = SCRIPT_ROUNDS;
    config.thread_caches = SCRIPT_CACHES;
    config.stall_limit = 1; /* the threads that stop are not to be waited for */
    return support_create(&config);
}

void script_init(struct script *script, unsigned flags, size_t capacity,
                        const struct script_door *door, struct worker *worker)
{
    memset(script, 0, sizeof(*script));
    script->pool = create(flags, capacity);
    script->capacity = capacity;
    script->door = door;
    if (door->take == take_from_cache)
        REQUIRE_EQUAL(cpool_cache_create(&script->cache, script->pool), 0);
    /* Its cache is registered, so that it does not take the library's lock, for
     * which the fork would wait. */
    worker_do(worker, script_begin, script);
}

void script_take(struct script *script, size_t n)
{
    for (; n > 0; n--) {
        void *slot;

        script->taking = true;
        slot = script->door->take(script);
        REQUIRE(slot != NULL);
        script->live[script->count++] = slot;
        script->taking = false;
    }
}

void script_give(struct script *script, size_t n)
{
    for (; n > 0; n--) {
        script->freeing = script->live[--script->count];
        script->door->give(script, script->freeing);
        script->freeing = NULL;
    }
}

void script_begin(void *argument)
{
    struct script *script = argument;

    script_take(script, 1);
    script_give(script, 1);
    script->door->flush(script);
}

void script_fork(void (*body)(void *argument), void *argument)
{
    steps_allow(ENDLESS);
    support_in_child(body, argument);
    steps_allow(0);
}

/*
 * ---- What the child finds ------------------------------------------------
 */

static void see(const struct cpi_depot *depot, unsigned char *seen, uint32_t node)
{
    if (node == 0)
        return;
    REQUIRE(node <= depot->for_slots_max + cpi_depot_made(depot));
    REQUIRE(!seen[node]);
    seen[node] = 1;
}

static void see_stack(const struct cpi_depot *depot, unsigned char *seen,
                      const struct cpi_tagstack *stack)
{
    uint32_t node;

    /* One that goes round in a circle is seen twice. */
    for (node = cpi_tagstack_top(stack); node != 0; node = cpi_tagstack_below(&depot->links, node))
        see(depot, seen, node);
}

/* Requires that each magazine that was ever made is in one place, but for so many
 * that are in none. */
static void require_magazines(const cpool_t *pool, size_t lost)
{
    const struct cpi_depot *depot = &inside(pool)->depot;
    size_t room = depot->for_slots_max + cpi_depot_made(depot) + 1;
    unsigned char *seen = support_calloc(room, 1);
    size_t count = 0;

    see_stack(depot, seen, &depot->stocked);
    see_stack(depot, seen, &depot->empty);
    see(depot, seen, atomic_load_explicit(&depot->partial, memory_order_relaxed));
    for (size_t i = 0; i < cpi_registry_made(&inside(pool)->registry); i++) {
        const struct cpi_cache *cache = cpi_registry_cache(&inside(pool)->registry, i);

        if (!cache->used)
            continue;
        see(depot, seen, cpi_cache_loaded(cache));
        for (uint32_t s = 0; s < cache->quota_max; s++)
            see(depot, seen, atomic_load_explicit(&cache->spare[s], memory_order_relaxed));
    }
    for (size_t i = 0; i < room; i++)
        count += seen[i];
    REQUIRE(count + lost >= cpi_depot_made(depot));
    free(seen);
}

/* Live slots are told by it. */
static void require_account(const cpool_t *pool)
{
    REQUIRE_EQUAL(inside_figures(pool).stocked, cpi_depot_count_stocked(&inside(pool)->depot));
}

bool script_is_inside(const cpool_t *pool)
{
    const struct cpi_registry *registry = &inside(pool)->registry;

    for (size_t i = 0; i < cpi_registry_made(registry); i++)
        if (cpi_mark_is_seen(cpi_registry_cache(registry, i)))
            return true;
    return cpi_depot_in_flight(
               atomic_load_explicit(&registry->depot->flights, memory_order_relaxed)) != 0;
}

/* No thread has a hand in any cache any more. */
void script_require_no_hands(const cpool_t *pool)
{
    for (size_t i = 0; i < cpi_registry_made(&inside(pool)->registry); i++) {
        const struct cpi_cache *cache = cpi_registry_cache(&inside(pool)->registry, i);

        REQUIRE_EQUAL(cache->hidden.locked_by, 0);
    }
    REQUIRE(!script_is_inside(pool));
}

/* All that can be had, beside what was live: each slot once. */
size_t script_take_rest(struct script *script, void **slots)
{
    bool taken[SCRIPT_ROOM] = { false };
    size_t limit = cpool_index_limit(script->pool);
    size_t count = 0;
    void *slot;

    REQUIRE(limit <= SCRIPT_ROOM);
    for (size_t i = 0; i < script->count; i++)
        taken[cpool_index(script->pool, script->live[i])] = true;
    for (size_t i = 0; i < script->more_count; i++)
        taken[cpool_index(script->pool, script->more[i])] = true;
    while ((slot = cpool_alloc(script->pool)) != NULL) {
        size_t index = cpool_index(script->pool, slot);

        REQUIRE(!taken[index]);
        taken[index] = true;
        slots[count++] = slot;
    }
    return count;
}

void script_require_whole(struct script *script, size_t lost_slots, size_t lost_magazines)
{
    void *slots[SCRIPT_ROOM];
    size_t count;

    script_require_no_hands(script->pool);
    require_magazines(script->pool, lost_magazines);
    require_account(script->pool);
    count = script_take_rest(script, slots);
    REQUIRE(count + script->count + lost_slots >= script->capacity);
    cpool_free_bulk(script->pool, slots, count);
    /* Of what the vanished thread had live the child may dispose. */
    cpool_free_bulk(script->pool, script->live, script->count);
    count += script->count;
    script->count = 0;
    REQUIRE_EQUAL(script_take_rest(script, slots), count);
    cpool_free_bulk(script->pool, slots, count);
    require_magazines(script->pool, lost_magazines);
    require_account(script->pool);
}

