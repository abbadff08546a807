/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_reclaim.c - closing entries, taking what lies in them, counts that tell of changes, and
 * waiting for owners (lib/cache/reclaim.h), on caches without a pool and inside real pools.
 *
 * Includes fixture.h, inside.h.
 */
#include "fixture.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/atomic.h"
#include "inside.h"

enum { CAPACITY = 2000, ROUNDS = 20, LIMIT = FIXTURE_LIMIT };

static const struct timespec a_while = { 0, 20000000 };

/*
 * ---- Closing and taking --------------------------------------------------
 */

/* A cache with so many free slots, the entry open. */
static struct cpi_cache *filled_cache(uint32_t quota, bool inline_path, size_t n)
{
    struct cpi_cache *cache = fixture_cache(quota, inline_path);
    void *slots[FIXTURE_CAPACITY];

    fixture_take(cache, slots, n);
    fixture_give(cache, slots, n);
    REQUIRE(fixture_is_open(cache));
    REQUIRE(cpi_cache_rounds(cache) > 0);
    return cache;
}

static void require_taken(const struct cpi_cache *cache)
{
    REQUIRE(!fixture_is_open(cache));
    REQUIRE_EQUAL(cpi_load(&cache->loaded, relaxed), 0);
    REQUIRE(!cpi_cache_has_spare(cache));
    REQUIRE_EQUAL(cpi_cache_rounds(cache), 0);
}

/* Of two caches, with whatever they hold. */
TEST(reclaim_takes_all_of_owners_outside)
{
    struct cpi_cache *caches[2];

    for (size_t n = 1; n < 100; n += 7) {
        fixture_init();
        caches[0] = filled_cache(FIXTURE_PLACES, true, n);
        caches[1] = filled_cache(1, false, 100 - n);
        REQUIRE(fixture_reclaim());
        for (int i = 0; i < 2; i++)
            require_taken(caches[i]);
        REQUIRE_EQUAL(fixture_in_depot(), cpi_slab_fresh(fixture_slab));
    }
}

/* What is closed and empty, or has never been opened, needs none. */
TEST(barrier_is_passed_for_a_reason_only)
{
    struct cpi_cache *cache;
    uint64_t one;
    void *slot;

    fixture_init();
    one = cpi_has_barrier();
    cache = fixture_cache(1, true);
    cpi_reclaim_begin(fixture_registry);
    REQUIRE(cpi_reclaim_all(fixture_registry, NULL, false));
    REQUIRE_EQUAL(cpi_load(&fixture_registry->barriers, relaxed), 0);
    REQUIRE(cpi_reclaim_all(fixture_registry, NULL, true));
    REQUIRE_EQUAL(cpi_load(&fixture_registry->barriers, relaxed), one);
    cpi_reclaim_end(fixture_registry, cpi_thread_forks());
    fixture_take(cache, &slot, 1);
    REQUIRE(fixture_is_open(cache));
    for (int round = 0; round < 3; round++) { /* closed once, by the first */
        REQUIRE(fixture_reclaim());
        REQUIRE_EQUAL(cpi_load(&fixture_registry->barriers, relaxed), 2 * one);
    }
}

/* Full spares, and what was loaded if it is not empty. */
TEST(taken_magazines_are_counted)
{
    struct cpi_cache *cache;
    void *slots[5 * LIMIT];
    size_t n;

    fixture_init();
    cache = filled_cache(4, true, 5 * LIMIT);
    n = cpi_cache_stocked(cache) + (cpi_cache_count(cache) > 0);
    REQUIRE(fixture_reclaim());
    REQUIRE_EQUAL(cpi_load(&fixture_registry->recalls, relaxed), n);
    cpi_cache_flush(cache);
    fixture_take(cache, slots, LIMIT);
    while (cpi_cache_count(cache) > 0)
        fixture_take(cache, slots, 1);
    REQUIRE(cpi_cache_loaded(cache) != 0);
    REQUIRE(fixture_reclaim());
    require_taken(cache);
    REQUIRE_EQUAL(cpi_load(&fixture_registry->recalls, relaxed), n);
}

/* What it has loaded is in an operation's hands.  Its spares are not, and the others' caches
 * are taken in any case. */
TEST_TIMES(owner_inside_is_left_alone, 2)
{
    struct cpi_cache *inside_one, *other;
    uintptr_t count;
    uint32_t node;

    fixture_init();
    inside_one = filled_cache(3, _i == 0, 5 * LIMIT);
    other = filled_cache(2, true, 3 * LIMIT);
    REQUIRE(cpi_cache_enter(inside_one, cpi_cache_active(inside_one)));
    node = cpi_cache_loaded(inside_one);
    count = cpi_cache_count(inside_one);
    REQUIRE(count > 0);
    for (int round = 0; round < 3; round++) {
        REQUIRE(!fixture_reclaim());
        REQUIRE_EQUAL(cpi_cache_loaded(inside_one), node);
        REQUIRE_EQUAL(cpi_cache_count(inside_one), count);
        REQUIRE_EQUAL(cpi_cache_rounds(inside_one), count);
        REQUIRE(!fixture_is_open(inside_one));
        require_taken(other);
    }
    cpi_cache_leave(inside_one, cpi_cache_active(inside_one));
    REQUIRE(fixture_reclaim());
    require_taken(inside_one);
    REQUIRE_EQUAL(fixture_in_depot(), cpi_slab_fresh(fixture_slab));
}

/* With nothing loaded there is nothing to wait for. */
TEST(owner_inside_without_a_magazine_is_not_left_alone)
{
    struct cpi_cache *cache;

    fixture_init();
    cache = filled_cache(3, true, 5 * LIMIT);
    REQUIRE(fixture_reclaim());
    REQUIRE(!cpi_cache_enter(cache, cpi_cache_active(cache)));
    REQUIRE(fixture_reclaim());
    cpi_cache_leave(cache, cpi_cache_active(cache));
}

/* An operation of the inline path that is under way goes on with what it has seen. */
TEST(owner_inside_may_end_its_operation_after_the_closing)
{
    struct cpi_cache *cache;
    cpool_cache_t *active;
    uintptr_t count;
    void *slot;

    fixture_init();
    cache = filled_cache(1, true, LIMIT);
    active = cpi_cache_active(cache);
    count = cpi_entry_count(active);
    REQUIRE(count - 1 < cpi_cache_mark(cache, active, count));
    REQUIRE(!fixture_reclaim());
    slot = active->rounds[count - 1];
    cpi_cache_unmark(active, count - 1);
    REQUIRE(fixture_reclaim());
    require_taken(cache);
    REQUIRE_EQUAL(fixture_in_depot() + 1, cpi_slab_fresh(fixture_slab));
    fixture_give(cache, &slot, 1);
    REQUIRE_EQUAL(fixture_in_depot(), cpi_slab_fresh(fixture_slab));
}

static struct cpi_cache *busy_one;

static void *leave_after_a_while(void *unused)
{
    REQUIRE_EQUAL(nanosleep(&a_while, NULL), 0);
    cpi_cache_leave(busy_one, cpi_cache_active(busy_one));
    return unused;
}

/* As long as the backoff has it, and no longer. */
TEST_TIMES(reclaim_has_the_patience_of_its_backoff, 2)
{
    struct cpi_backoff backoff = { UINT64_C(60000000000), 0, 0 };
    pthread_t thread;

    fixture_init();
    if (_i == 1)
        backoff.limit = 1;
    busy_one = filled_cache(1, true, LIMIT);
    REQUIRE(cpi_cache_enter(busy_one, cpi_cache_active(busy_one)));
    if (_i == 0)
        thread = support_start(leave_after_a_while, NULL);
    cpi_reclaim_begin(fixture_registry);
    REQUIRE_EQUAL(cpi_reclaim_all(fixture_registry, &backoff, false), _i == 0);
    cpi_reclaim_end(fixture_registry, cpi_thread_forks());
    if (_i == 0) {
        support_join(thread);
        require_taken(busy_one);
    } else {
        cpi_cache_leave(busy_one, cpi_cache_active(busy_one));
    }
}

/* One at a time, until there is none, with entries that stay open. */
TEST(reclaim_spare_disturbs_nobody)
{
    struct cpi_cache *caches[2];
    size_t before = 0;
    size_t spares = 0;

    fixture_init();
    REQUIRE(!cpi_reclaim_spare(fixture_registry));
    for (size_t i = 0; i < 2; i++)
        caches[i] = filled_cache(3, i == 0, 5 * LIMIT);
    for (size_t i = 0; i < 2; i++)
        spares += cpi_cache_stocked(caches[i]);
    before = fixture_in_depot();
    REQUIRE(cpi_cache_enter(caches[0], cpi_cache_active(caches[0])));
    for (size_t n = 1; n <= spares; n++) {
        REQUIRE(cpi_reclaim_spare(fixture_registry));
        REQUIRE_EQUAL(fixture_in_depot(), before + n * LIMIT);
        REQUIRE_EQUAL(cpi_load(&fixture_registry->recalls, relaxed), n);
    }
    REQUIRE(!cpi_reclaim_spare(fixture_registry));
    cpi_cache_leave(caches[0], cpi_cache_active(caches[0]));
    for (size_t i = 0; i < 2; i++)
        REQUIRE(fixture_is_open(caches[i]) && cpi_cache_rounds(caches[i]) > 0);
    REQUIRE_EQUAL(cpi_load(&fixture_registry->barriers, relaxed), 0);
}

/*
 * ---- Many at once --------------------------------------------------------
 */

static _Atomic bool is_over;

static void *reclaim_again_and_again(void *unused)
{
    while (!atomic_load_explicit(&is_over, memory_order_relaxed)) { /* no more than a flag */
        (void)fixture_reclaim();
        sched_yield();
    }
    return unused;
}

/* The owner goes on as two threads close its entry and take what it has, and has what is its own
 * at any time. */
TEST_TIMES(owner_and_two_that_reclaim_share_the_slots, 2)
{
    enum { HELD = 3 * LIMIT };
    struct cpi_cache *cache;
    pthread_t threads[2];
    void *slots[HELD];
    uintptr_t *owned;

    fixture_init();
    cache = fixture_cache(2, _i == 0);
    for (size_t i = 0; i < 2; i++)
        threads[i] = support_start(reclaim_again_and_again, NULL);
    for (size_t round = 0; round < SUPPORT_COUNT(20000u, 1000u); round++) {
        size_t n = round % HELD + 1;

        fixture_take(cache, slots, n);
        for (size_t i = 0; i < n; i++) {
            owned = slots[i];
            *owned = i;
        }
        for (size_t i = 0; i < n; i++) {
            owned = slots[i];
            REQUIRE_EQUAL(*owned, i);
        }
        fixture_give(cache, slots, n);
        REQUIRE(cpi_slab_fresh(fixture_slab) <= FIXTURE_CAPACITY);
    }
    atomic_store_explicit(&is_over, true, memory_order_relaxed); /* as above */
    for (size_t i = 0; i < 2; i++)
        support_join(threads[i]);
    cpi_cache_flush(cache);
    REQUIRE_EQUAL(fixture_in_depot(), cpi_slab_fresh(fixture_slab));
    REQUIRE_EQUAL(cpi_load(&fixture_registry->closed, relaxed), 0);
}

/*
 * ---- In pools ------------------------------------------------------------
 */

static cpool_t *pool;

static void make_pool(void)
{
    cpool_config_t config = support_config(16, CAPACITY);

    config.magazine_rounds = ROUNDS;
    pool = support_create(&config);
}

static struct support_door door;

static struct cpi_registry *registry(void)
{
    return &inside(pool)->registry;
}

static void *close_and_wait(void *unused)
{
    unsigned begun = cpi_reclaim_begin(registry());

    REQUIRE(cpi_reclaim_all(registry(), NULL, true));
    support_door_wait(&door);
    cpi_reclaim_end(registry(), begun);
    return unused;
}

/* The forking thread was closing, too, and ends in the child what it began in the parent. */
static void end_in_child(void *begun)
{
    REQUIRE_EQUAL(cpi_load(&registry()->closed, relaxed), 0);
    cpi_reclaim_end(registry(), *(const unsigned *)begun);
    REQUIRE_EQUAL(cpi_load(&registry()->closed, relaxed), 0);
    for (unsigned i = 0; i <= CPI_CALM; i++)
        cpool_free(pool, cpool_alloc(pool));
    REQUIRE(fixture_is_open(cpi_registry_known_cache(registry())));
    support_require_obtainable(pool, 0);
}

TEST(child_of_a_fork_has_nobody_that_closes)
{
    pthread_t thread;
    unsigned begun;

    make_pool();
    cpool_free(pool, cpool_alloc(pool));
    support_door_init(&door);
    thread = support_start(close_and_wait, NULL);
    support_door_await(&door, 1);
    begun = cpi_reclaim_begin(registry());
    support_in_child(end_in_child, &begun);
    REQUIRE_EQUAL(cpi_load(&registry()->closed, relaxed), 2);
    support_door_open(&door);
    support_join(thread);
    cpi_reclaim_end(registry(), begun);
    REQUIRE_EQUAL(cpi_load(&registry()->closed, relaxed), 0);
    support_destroy_empty(pool);
}

/*
 * ---- Activity ------------------------------------------------------------
 */

static uint64_t moves(void)
{
    return cpi_reclaim_activity(&inside(pool)->registry);
}

/* Each kind of step alone: a fresh slot moves the watermark and nothing else, and
 * uncached operations are counted by what they exchange. */
TEST(activity_tells_of_fresh_slots_and_visitors)
{
    cpool_config_t config = support_config(16, 100);
    uint64_t before;
    void *slot;

    pool = support_create(&config);
    before = moves();
    REQUIRE_EQUAL(moves(), before);
    slot = cpool_depot_alloc(pool);
    REQUIRE(slot != NULL);
    REQUIRE(moves() != before);
    before = moves();
    cpool_depot_free(pool, slot);
    REQUIRE(moves() != before);
    before = moves();
    slot = cpool_depot_alloc(pool);
    REQUIRE(slot != NULL);
    REQUIRE(moves() != before);
    /* The magazines that an owner gives to the depot. */
    cpool_free(pool, slot);
    before = moves();
    cpool_flush(pool);
    REQUIRE(moves() != before);
    /* And the one it takes: the partial magazine. */
    before = moves();
    REQUIRE(cpool_alloc(pool) == slot);
    REQUIRE(moves() != before);
    REQUIRE_EQUAL(support_destroy(pool), 1);
}

/* A search for the last slot sees each of them, and none that found nothing. */
TEST(activity_tells_of_each_operation_of_a_closed_entry)
{
    struct cpi_cache *cache;
    void *slots[FIXTURE_CAPACITY];
    uint64_t before;

    fixture_init();
    cache = fixture_cache(2, true);
    cpi_reclaim_begin(fixture_registry);
    for (size_t i = 0; i < FIXTURE_CAPACITY; i++) {
        before = cpi_reclaim_activity(fixture_registry);
        fixture_take(cache, slots + i, 1);
        REQUIRE(cpi_reclaim_activity(fixture_registry) != before);
    }
    before = cpi_reclaim_activity(fixture_registry);
    REQUIRE(cpi_cache_take(cache) == NULL);
    REQUIRE(cpi_reclaim_all(fixture_registry, NULL, true));
    REQUIRE_EQUAL(cpi_reclaim_activity(fixture_registry), before);
    for (size_t i = 0; i < FIXTURE_CAPACITY; i++) {
        before = cpi_reclaim_activity(fixture_registry);
        fixture_give(cache, slots + i, 1);
        REQUIRE(cpi_reclaim_activity(fixture_registry) != before);
    }
    for (size_t i = 0; i < FIXTURE_CAPACITY; i++) {
        before = cpi_reclaim_activity(fixture_registry);
        fixture_take(cache, slots + i, 1);
        REQUIRE(cpi_reclaim_activity(fixture_registry) != before);
    }
    cpi_reclaim_end(fixture_registry, cpi_thread_forks());
}

/*
 * ---- Waiting -------------------------------------------------------------
 */

/* One more operation of the same owner is not the one that was seen. */
TEST(await_inside_ends_without_patience_at_an_owner_that_stays)
{
    struct cpi_backoff impatient = { 1, 0, 0 };
    struct cpi_uncached uncached;
    struct cpi_cache *cache;

    fixture_init();
    cache = fixture_cache(1, true);
    REQUIRE(cpi_await_inside(fixture_registry, &impatient));
    (void)cpi_cache_enter(cache, cpi_cache_active(cache));
    REQUIRE(!cpi_await_inside(fixture_registry, &impatient));
    cpi_cache_leave(cache, cpi_cache_active(cache));
    cpi_depot_enter(fixture_depot, &uncached);
    impatient = (struct cpi_backoff){ 1, 0, 0 };
    REQUIRE(!cpi_await_inside(fixture_registry, &impatient));
    cpi_depot_leave(fixture_depot, &uncached);
    impatient = (struct cpi_backoff){ 1, 0, 0 };
    REQUIRE(cpi_await_inside(fixture_registry, &impatient));
}

TEST(await_inside_waits_for_an_owner_that_leaves)
{
    struct cpi_backoff patient = { UINT64_C(60000000000), 0, 0 };
    pthread_t thread;

    fixture_init();
    busy_one = fixture_cache(1, true);
    (void)cpi_cache_enter(busy_one, cpi_cache_active(busy_one));
    thread = support_start(leave_after_a_while, NULL);
    REQUIRE(cpi_await_inside(fixture_registry, &patient));
    REQUIRE_EQUAL(cpi_load(&busy_one->busy, relaxed) % 2, 0);
    support_join(thread);
}

static void *destroy(void *unused)
{
    REQUIRE_EQUAL(cpool_destroy(pool), 0);
    atomic_store_explicit(&is_over, true, memory_order_release);
    return unused;
}

static bool is_destroyed(void)
{
    REQUIRE_EQUAL(nanosleep(&a_while, NULL), 0);
    return atomic_load_explicit(&is_over, memory_order_acquire);
}

/* An operation that has given its last slot, and has not begun to call or has not ended, is
 * still inside. */
TEST_TIMES(destroy_waits_for_an_owner_that_is_inside, 2)
{
    struct cpi_cache *cache;
    pthread_t thread;

    make_pool();
    cache = cpi_registry_own_cache(&inside(pool)->registry);
    REQUIRE(cache != NULL);
    if (_i == 0)
        (void)cpi_cache_enter(cache, cpi_cache_active(cache));
    else
        cpi_store(&cache->calls, 1u, relaxed);
    thread = support_start(destroy, NULL);
    REQUIRE(!is_destroyed());
    if (_i == 0)
        cpi_cache_leave(cache, cpi_cache_active(cache));
    else
        cpi_store(&cache->calls, 0u, release);
    support_join(thread);
}
