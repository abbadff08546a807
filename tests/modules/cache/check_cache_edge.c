/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_cache_edge.c - refill and spill at the edges of a magazine (lib/cache/cache.h) do
 * the same, whether their caller knows the state of the cache or not.
 *
 * The same random calls are made twice, beside another cache and a thread that steals and
 * closes: once by cpi_cache_take and cpi_cache_give alone, and once by the four of cache.h where
 * their conditions hold.  After each call everything that a cache and the depot know must be the
 * same, but for the bound, which a short swap does not look at.
 */
#include "fixture.h"

#include "base/atomic.h"
#include "random.h"

enum { LIMIT = FIXTURE_LIMIT, CALLS = 20000, SEEDS = 4, MOST = 600 };

enum way { SWAP_TAKES, EXCHANGE_TAKES, SWAP_GIVES, EXCHANGE_GIVES, WAYS };

/* The compared words, without padding. */
struct state {
    uint64_t slot; /* that was allocated, + 1, or 0 */
    uint64_t loaded, count, stocked, open, calm;
    uint64_t spares[FIXTURE_PLACES];
    uint64_t full, empty, partial, fresh;
    uint64_t counters[4];
};

static struct state states[CALLS];
static size_t times[WAYS];
static void *held[FIXTURE_CAPACITY];
static size_t holds;

static void note(struct state *state, struct cpi_cache *cache, const void *slot)
{
    const struct cpi_counters *counters = &cache->counters;

    memset(state, 0, sizeof *state);
    state->slot = slot != NULL ? cpi_slab_index(fixture_slab, slot) + 1 : 0;
    state->loaded = cpi_cache_loaded(cache);
    state->count = cpi_cache_count(cache);
    state->stocked = cpi_cache_stocked(cache);
    state->open = fixture_is_open(cache);
    state->calm = cache->calm;
    for (uint32_t i = 0; i < cache->quota_max; i++)
        state->spares[i] = cpi_load(&cache->spare[i], relaxed);
    state->full = cpi_tagstack_top(&fixture_depot->stocked);
    state->empty = cpi_tagstack_top(&fixture_depot->empty);
    state->partial = cpi_load(&fixture_depot->partial, relaxed);
    state->fresh = cpi_slab_fresh(fixture_slab);
    state->counters[0] = cpi_load(&counters->stocked_in, relaxed);
    state->counters[1] = cpi_load(&counters->stocked_out, relaxed);
    state->counters[2] = cpi_load(&counters->others, relaxed);
    state->counters[3] = cpi_load(&cache->swaps, relaxed);
}

/* As lib/pool/alloc.c does it, of an owner that is inside an open entry. */
static void *take_by_edge(struct cpi_cache *cache, cpool_cache_t *active)
{
    uint32_t stocked = cpi_cache_stocked(cache);
    void **round = NULL;

    if (cpi_cache_count(cache) != 0)
        return NULL;
    if (stocked == 0) {
        round = cpi_cache_refill_from_depot(cache, active, 1);
        times[EXCHANGE_TAKES] += round != NULL;
    } else {
        round = cpi_cache_refill_from_spare(cache, active, stocked - 1, 1);
        times[SWAP_TAKES] += round != NULL;
    }
    return round != NULL ? *round : NULL;
}

static void *take_shortly(struct cpi_cache *cache)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    void *slot = NULL;

    if (cpi_cache_enter(cache, active))
        slot = take_by_edge(cache, active);
    cpi_cache_leave(cache, active);
    return slot;
}

static bool give_by_edge(struct cpi_cache *cache, cpool_cache_t *active, void *slot)
{
    uint32_t stocked = cpi_cache_stocked(cache);
    uint32_t node;

    if (!cpi_cache_is_just_full(cache, active, cpi_slab_index(cache->slab, slot)))
        return false;
    if (stocked < cache->quota && cpi_cache_spill_to_spare(cache, active, stocked, slot)) {
        times[SWAP_GIVES]++;
        return true;
    }
    times[EXCHANGE_GIVES]++;
    return cpi_cache_spill_to_depot(cache, slot, &node) ||
           cpi_cache_spill_slow(cache, node, slot);
}

static bool give_shortly(struct cpi_cache *cache, void *slot)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    bool given = false;

    if (cpi_cache_enter(cache, active))
        given = give_by_edge(cache, active, slot);
    cpi_cache_leave(cache, active);
    return given;
}

/* One call of the owner.  Returns the slot that it took. */
static void *call(struct cpi_cache *cache, bool takes, bool shortly)
{
    void *slot = NULL;

    if (takes && holds < FIXTURE_CAPACITY) {
        slot = shortly ? take_shortly(cache) : NULL;
        if (slot == NULL)
            slot = cpi_cache_take(cache);
        if (slot != NULL)
            held[holds++] = slot;
    } else if (!takes && holds > 0) {
        if (!shortly || !give_shortly(cache, held[holds - 1]))
            REQUIRE(cpi_cache_give(cache, held[holds - 1]));
        holds--;
    }
    return slot;
}

/* The calls of others meanwhile. */
static void disturb(uint64_t *random, struct cpi_cache *cache, struct cpi_cache *other)
{
    void *slots[3 * LIMIT];
    uint32_t node;

    if (random_once_in(random, 50)) {
        size_t n = 0;

        while (n < 3 * LIMIT && (slots[n] = cpi_cache_take(other)) != NULL)
            n++;
        fixture_give(other, slots, n);
    }
    if (random_once_in(random, 100)) {
        node = cpi_cache_steal(cache, false);
        if (node != 0)
            cpi_depot_give(fixture_depot, &other->counters, node);
    }
    if (random_once_in(random, 1000))
        REQUIRE(fixture_reclaim());
    if (random_once_in(random, 1000))
        cpi_cache_flush(other);
}

/* Longer and longer, a thread takes more than it gives, then gives more than it takes. */
static void run(uint64_t seed, uint32_t quota, bool shortly)
{
    struct cpi_cache *cache, *other;
    uint64_t random = random_derive(seed, 0);
    struct state now;
    bool grows = true;

    fixture_init();
    cache = fixture_cache(quota, true);
    other = fixture_cache(1, true);
    holds = 0;
    for (size_t step = 0; step < CALLS; step++) {
        void *slot;

        if (random_once_in(&random, 100 + step / 50))
            grows = !grows;
        disturb(&random, cache, other);
        slot = call(cache, random_once_in(&random, 8) != grows, shortly);
        note(&now, cache, slot);
        if (!shortly)
            states[step] = now;
        else
            REQUIRE_EQUAL(memcmp(&states[step], &now, sizeof now), 0);
    }
    fixture_give(cache, held, holds);
}

/* With every quota. */
TEST_TIMES(parts_leave_what_the_whole_leaves, FIXTURE_PLACES)
{
    memset(times, 0, sizeof times);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        run(seed, (uint32_t)_i + 1, false);
        run(seed, (uint32_t)_i + 1, true);
    }
    for (size_t way = 0; way < WAYS; way++)
        REQUIRE(times[way] > 20);
}

/* Takes some slots, and gives them back until the loaded magazine is full.  Returns how many
 * are left. */
static size_t fill_loaded(struct cpi_cache *cache, void **slots)
{
    size_t n = 2 * LIMIT;

    fixture_take(cache, slots, n);
    while (cpi_cache_count(cache) < LIMIT)
        fixture_give(cache, &slots[--n], 1);
    REQUIRE(n > 0 && cpi_cache_stocked(cache) == 0);
    return n;
}

/* The full magazine stays loaded, and its own count 0. */
TEST(spill_without_an_empty_spare_changes_nothing)
{
    struct cpi_cache *cache = fixture_begin(1, true);
    void *slots[2 * LIMIT];
    cpool_cache_t *active;
    size_t n;

    active = cpi_cache_active(cache);
    n = fill_loaded(cache, slots);
    REQUIRE(cpi_cache_is_just_full(cache, active, active->bound - 1));
    REQUIRE(!cpi_cache_is_just_full(cache, active, active->bound)); /* none of the pool's slots */
    REQUIRE(cpi_cache_enter(cache, active));
    REQUIRE(!cpi_cache_spill_to_spare(cache, active, 0, slots[0]));
    REQUIRE(cpi_cache_is_valid(cache));
    REQUIRE_EQUAL(cpi_cache_count(cache), LIMIT);
    cpi_cache_leave(cache, active);
    fixture_give(cache, slots, n);
}

/* Each magazine stays as long as all others. */
TEST(spares_of_a_cache_that_only_gives_leave_in_turn)
{
    enum { QUOTA = 3, FILLED = 12 };
    struct cpi_cache *cache = fixture_begin(QUOTA, true);
    void *slots[FILLED * LIMIT + 1];
    uint32_t filled[FILLED];
    size_t n = FILLED * LIMIT + 1;

    fixture_take(cache, slots, n);
    for (size_t i = 0; i < FILLED; i++) {
        while (n > 0 && cpi_cache_count(cache) < LIMIT)
            fixture_give(cache, &slots[--n], 1);
        filled[i] = cpi_cache_loaded(cache);
        if (i > QUOTA)
            REQUIRE_EQUAL(cpi_tagstack_top(&fixture_depot->stocked), filled[i - QUOTA - 1]);
        if (n > 0)
            fixture_give(cache, &slots[--n], 1);
    }
    fixture_give(cache, slots, n);
}

TEST(swap_with_a_spare_is_a_move)
{
    struct cpi_cache *cache = fixture_begin(1, true);
    void *slots[2 * LIMIT];
    uint64_t exchanged;
    uint64_t before;

    fixture_take(cache, slots, 2 * LIMIT);
    fixture_give(cache, slots, 2 * LIMIT);
    exchanged = cpi_depot_exchanged(&cache->counters);
    before = cpi_cache_moves(cache);
    fixture_take(cache, slots, LIMIT + 1);
    REQUIRE_EQUAL(cpi_cache_moves(cache), before + 1);
    REQUIRE_EQUAL(cpi_depot_exchanged(&cache->counters), exchanged);
    fixture_give(cache, slots, LIMIT + 1);
}

/* Each round once, and none beside the slot before or behind it. */
static void require_dispersed(void *const *rounds, const char *slots, uint32_t count)
{
    char found[MOST] = { 0 };

    for (uint32_t i = 0; i < count; i++) {
        size_t slot = (size_t)((const char *)rounds[i] - slots);
        size_t before = i > 0 ? (size_t)((const char *)rounds[i - 1] - slots) : 0;

        REQUIRE(slot < count && found[slot] == 0);
        found[slot] = 1;
        REQUIRE(i == 0 || slot > before + 8 || slot + 8 < before);
    }
}

TEST(dispersed_rounds_are_the_same_ones)
{
    static char slots[MOST];
    static struct cpi_cache cache;
    static struct cpi_depot depot;
    struct cpi_magazine *magazine = support_lines(sizeof(*magazine) + MOST * sizeof(void *));

    cache.depot = &depot;
    atomic_init(&cache.active, &cache.own);
    for (uint32_t count = CPI_DISPERSE_MIN; count <= MOST; count++) {
        void *loaded[MOST + 1] = { slots };

        depot.limit = count;
        cache.own.rounds = loaded;
        cache.own.count = 1;
        for (uint32_t i = 0; i < count; i++)
            magazine->rounds[i] = &slots[i];
        cpi_cache_disperse(&cache, magazine);
        require_dispersed(magazine->rounds, slots, count);
        REQUIRE(loaded[0] == slots && loaded[count] == NULL);
    }
}

/* How many of so many slots, in the order in which they come, lie beside the one before. */
static size_t take_neighbours(cpool_t *pool, size_t length, size_t size)
{
    size_t neighbours = 0;
    char *before = NULL;

    for (size_t i = 0; i < length; i++) {
        char *slot = cpool_alloc(pool);

        REQUIRE(slot != NULL);
        neighbours += slot == before + size || before == slot + size;
        before = slot;
    }
    return neighbours;
}

/* The slots of a thread and of a cache that only frees: dispersed, others than this thread's write
 * to such slots, before any of them is read because of its neighbour. */
TEST_TIMES(slots_come_with_their_neighbours_unless_magazines_are_dispersed, 4)
{
    enum { SIZE = 16, LENGTH = 6400, LONG = 64 };
    cpool_t *pool =
        SUPPORT_CREATE(SIZE, 100000, .magazine_rounds = LONG, .cache_slots = 2 * LONG);
    bool disperses = _i % 2 != 0;
    cpool_cache_t *cache;
    void *slots[LENGTH];
    size_t neighbours;

    cpi_cache_disperses = disperses;
    REQUIRE_EQUAL(cpool_cache_create(&cache, pool), 0);
    for (int burst = 0; burst < 2; burst++) { /* the first one leaves empty magazines */
        for (size_t i = 0; i < LENGTH; i++)
            REQUIRE((slots[i] = _i < 2 ? cpool_alloc(pool) : cpool_cache_alloc(cache)) != NULL);
        for (size_t i = 0; i < LENGTH; i++)
            if (_i < 2)
                cpool_free(pool, slots[i]);
            else
                cpool_cache_free(cache, slots[i]);
    }
    cpool_cache_destroy(cache);
    neighbours = take_neighbours(pool, LENGTH / 2, SIZE);
    REQUIRE(disperses ? neighbours < LENGTH / 16 : neighbours > LENGTH / 4);
    support_require_live(pool, LENGTH / 2);
    support_require_obtainable(pool, LENGTH / 2);
    REQUIRE_EQUAL(cpool_reset(pool), LENGTH / 2);
    support_destroy_empty(pool);
}
