/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * script.c - shared by the tests of forks (script.h).
 */
#include "inline_steps.h" /* first */

#include "script.h"

#include "cache/reclaim.h"
#include "inside.h"

/* More steps than any child needs: one that makes more goes round in circles. */
enum { ENDLESS = 1000000 };

/* --- What the vanished thread does --- */

struct seat {
    uint64_t words[2];
};

CPOOL_DECLARE(seats, struct seat);
CPOOL_DEFINE(seats, struct seat, .capacity = 1);

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

static void *take_typed(struct script *script)
{
    (void)script;
    return seats_alloc();
}

static void give_typed(struct script *script, void *slot)
{
    (void)script;
    seats_free(slot);
}

static void *take_from_depot(struct script *script)
{
    return cpool_alloc_uncached(script->pool);
}

static void give_to_depot(struct script *script, void *slot)
{
    cpool_free_uncached(script->pool, slot);
}

const struct script_door script_doors[SCRIPT_DOORS] = {
    { take_cached, give_cached, flush_cached, 0, false },
    { take_from_cache, give_to_cache, flush_cache, 0, false },
    { take_typed, give_typed, flush_cached, 0, true },
    { take_cached, give_cached, flush_cached, CPOOL_TRACKED, false },
    { take_from_cache, give_to_cache, flush_cache, CPOOL_TRACKED, false },
    { take_from_depot, give_to_depot, flush_cache, 0, false },
};

static cpool_t *create(const struct script_door *door, size_t capacity)
{
    cpool_config_t config = support_config(sizeof(struct seat), capacity);

    config.flags = door->flags;
    config.magazine_rounds = SCRIPT_ROUNDS;
    config.thread_caches = SCRIPT_CACHES;
    if (!door->typed)
        return support_create(&config);
    REQUIRE_EQUAL(seats_open(&config), 0);
    return seats_pool();
}

/* The threads that stop are not to be waited for, not even for the least that can be set. */
static cpool_t *create_impatient(const struct script_door *door, size_t capacity)
{
    cpool_t *pool = create(door, capacity);

    inside(pool)->stall_limit_ns = 1;
    return pool;
}

void script_init(struct script *script, size_t capacity, const struct script_door *door,
                 struct worker *worker)
{
    memset(script, 0, sizeof(*script));
    script->pool = create_impatient(door, capacity);
    script->capacity = capacity;
    script->door = door;
    if (door->take == take_from_cache)
        REQUIRE_EQUAL(cpool_cache_create(&script->cache, script->pool), 0);
    /* Its cache is registered, so that it does not take the library's lock, for
     * which the fork would wait. */
    worker_do(worker, script_begin, script);
}

static bool take_one(struct script *script)
{
    void *slot;

    script->taking = true;
    slot = script->door->take(script);
    if (slot != NULL)
        script->live[script->count++] = slot;
    script->taking = false;
    return slot != NULL;
}

void script_take(struct script *script, size_t n)
{
    for (; n > 0; n--)
        REQUIRE(take_one(script));
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

static void take_up_to(struct script *script, size_t count)
{
    while (script->count < count && take_one(script))
        ;
}

static void give_down_to(struct script *script, size_t count)
{
    if (script->count > count)
        script_give(script, script->count - count);
}

void script_play(void *argument)
{
    struct script *script = argument;

    take_up_to(script, 2 * SCRIPT_ROUNDS + 1);
    give_down_to(script, SCRIPT_ROUNDS - 1);
    script->door->flush(script);
    take_up_to(script, 4 * SCRIPT_ROUNDS - 1);
    give_down_to(script, 2 * SCRIPT_ROUNDS - 2);
    take_up_to(script, 2 * SCRIPT_ROUNDS);
    give_down_to(script, 1);
    script->door->flush(script);
    give_down_to(script, 0);
}

void script_use_up_fresh(struct script *script)
{
    void *slots[SCRIPT_CAPACITY];

    REQUIRE_EQUAL(support_take_all(script->pool, slots), script->capacity);
    cpool_free_bulk(script->pool, slots, script->capacity);
    cpool_flush(script->pool);
}

void script_close_entries(struct script *script)
{
    struct cpi_registry *registry = &inside(script->pool)->registry;
    unsigned begun = cpi_reclaim_begin(registry);

    (void)cpi_reclaim_all(registry, NULL, false);
    cpi_reclaim_end(registry, begun);
}

void script_take_more(struct script *script)
{
    script->more_count = script_take_rest(script, script->more);
}

void script_give_more(struct script *script)
{
    cpool_free_bulk(script->pool, script->more, script->more_count);
    script->more_count = 0;
    cpool_flush(script->pool);
}

void script_fork(void (*body)(void *argument), void *argument)
{
    steps_allow(ENDLESS);
    support_in_child(body, argument);
    steps_allow(0);
}

/* --- What the child finds --- */

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
    /* One that goes round in a circle is seen twice. */
    for (uint32_t node = cpi_tagstack_top(stack); node != 0;
         node = cpi_tagstack_below(&depot->links, node))
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
    struct cpi_registry_figures sums;

    cpi_registry_add_up(&inside(pool)->registry, &sums);
    REQUIRE_EQUAL(sums.stocked, cpi_depot_count_stocked(&inside(pool)->depot));
}

static size_t hands_of(const struct cpi_cache *cache)
{
    if (atomic_load_explicit(&cache->busy, memory_order_acquire) % 2 != 0)
        return SCRIPT_HANDS;
    return (__atomic_load_n(&cpi_cache_active(cache)->count, __ATOMIC_ACQUIRE) & CPI_BUSY) != 0;
}

size_t script_count_hands(const cpool_t *pool)
{
    const struct cpi_registry *registry = &inside(pool)->registry;
    uint64_t flights = atomic_load_explicit(&registry->depot->flights, memory_order_relaxed);
    size_t hands = SCRIPT_HANDS * cpi_depot_in_flight(flights);

    for (size_t i = 0; i < cpi_registry_made(registry); i++)
        hands += hands_of(cpi_registry_cache(registry, i));
    return hands;
}

size_t script_in_transit(const struct script *script)
{
    return script->taking || script->freeing != NULL ? 1 : 0;
}

/* No thread is inside any more, and none closes entries. */
void script_require_no_hands(const cpool_t *pool)
{
    REQUIRE_EQUAL(script_count_hands(pool), 0);
    REQUIRE_EQUAL(inside(pool)->registry.closed, 0);
}

/* All that can be had, beside what was live: each slot once. */
size_t script_take_rest(const struct script *script, void **slots)
{
    bool taken[SCRIPT_CAPACITY] = { false };
    size_t count = 0;
    void *slot;

    REQUIRE_EQUAL(cpool_index_limit(script->pool), script->capacity);
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
    void *slots[SCRIPT_CAPACITY];
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

void script_fini(struct script *script)
{
    script_give_more(script);
    script_require_whole(script, 0, 0);
    if (script->cache != NULL)
        cpool_cache_destroy(script->cache);
    support_require_live(script->pool, 0);
    support_destroy_empty(script->pool);
}
