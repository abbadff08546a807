/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_registry_recall.c - how the caches of a pool share out spares, rounds taken back
 * from them, and counts that tell of changes (lib/cache/registry.h, lib/cache/recall.h),
 * inside real pools.
 */
#include "support.h"

#include "inside.h"
#include "cache/recall.h"

enum { CAPACITY = 2000, ROUNDS = 20 };

static cpool_t *pool;

static void make_pool(void)
{
    cpool_config_t config = support_config(16, CAPACITY);

    config.magazine_rounds = ROUNDS;
    pool = support_create(&config);
}

/*
 * ---- Sharing out and recalling -------------------------------------------
 */

/* Bursts that make a cache want more spares than it began with. */
static void burst(size_t n)
{
    void *slots[CAPACITY];

    for (int round = 0; round < 10; round++) {
        REQUIRE_EQUAL(cpool_alloc_bulk_all(pool, slots, n), 0);
        cpool_free_bulk(pool, slots, n);
    }
}

/* Registers explicit caches until the quotas are out, and beyond.  Returns the number
 * of spares they have beyond the first of each. */
static size_t register_caches(cpool_cache_t **caches, size_t n)
{
    size_t more = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t quota;

        REQUIRE_EQUAL(cpool_cache_create(&caches[i], pool), 0);
        quota = ((struct cpi_cache *)caches[i]->home)->quota;
        REQUIRE(quota >= CPI_QUOTA_MIN && quota <= inside(pool)->registry.quota_max);
        more += quota - CPI_QUOTA_MIN;
    }
    return more;
}

START_TEST(register_shares_out_no_more_than_there_is)
{
    enum { QUOTA = 9, EXTRA = 5 };
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_cache_t *caches[200];
    size_t whole;
    size_t n;

    config.slot_size = 16;
    config.capacity = 1000;
    config.magazine_rounds = 10;
    config.cache_slots = (QUOTA + 1) * 10;
    config.thread_caches = 200;
    REQUIRE_EQUAL(cpool_create(&pool, &config), 0);
    REQUIRE_EQUAL(inside(pool)->registry.quota_max, QUOTA);
    whole = inside(pool)->registry.spares_max / (QUOTA - CPI_QUOTA_MIN);
    n = whole + EXTRA;
    REQUIRE(whole > 1 && n <= 200);
    for (int round = 0; round < 2; round++) {
        REQUIRE_EQUAL(register_caches(caches, n), inside(pool)->registry.spares_max);
        REQUIRE_EQUAL(inside(pool)->registry.spares_left, 0);
        REQUIRE_EQUAL(((struct cpi_cache *)caches[0]->home)->quota, QUOTA);
        REQUIRE_EQUAL(((struct cpi_cache *)caches[n - 1]->home)->quota, CPI_QUOTA_MIN);
        REQUIRE_EQUAL(inside_figures(pool).spares,
                      n * CPI_QUOTA_MIN + inside(pool)->registry.spares_max);
        for (size_t i = 0; i < n; i++)
            cpool_cache_destroy(caches[i]);
        REQUIRE_EQUAL(inside(pool)->registry.spares_left, inside(pool)->registry.spares_max);
        REQUIRE_EQUAL(inside_figures(pool).spares, 0);
    }
    support_destroy_empty(pool);
}
END_TEST

static struct support_door door;

static void *fill_and_wait(void *unused)
{
    burst(CAPACITY / 4);
    support_door_wait(&door);
    return unused;
}

START_TEST(recall_gives_spares_of_a_waiting_thread_to_the_depot)
{
    struct cpi_uncached *uncached;
    pthread_t thread;
    size_t cached;

    make_pool();
    uncached = cpi_registry_enter(&inside(pool)->registry);
    support_door_init(&door);
    thread = support_start(fill_and_wait, NULL);
    support_door_await(&door, 1);
    cached = support_stats(pool).in_caches;
    REQUIRE(cached > ROUNDS);
    while (cpi_recall_spare(&inside(pool)->registry, uncached))
        ;
    /* The loaded magazine stays with the thread. */
    REQUIRE(inside_figures(pool).caches == 1);
    support_door_open(&door);
    support_join(thread);
    cpi_registry_leave(&inside(pool)->registry, uncached);
    support_require_live(pool, 0);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

/* Spares taken out of caches are counted, one by one. */
START_TEST(recall_is_counted)
{
    struct cpi_uncached *uncached;
    void *slots[6 * ROUNDS];
    uint64_t recalls = 0;

    make_pool();
    REQUIRE_EQUAL(cpool_alloc_bulk_all(pool, slots, 6 * ROUNDS), 0);
    cpool_free_bulk(pool, slots, 6 * ROUNDS);
    uncached = cpi_registry_enter(&inside(pool)->registry);
    while (cpi_recall_spare(&inside(pool)->registry, uncached))
        REQUIRE_EQUAL(inside_figures(pool).recalls, ++recalls);
    REQUIRE(recalls > 0);
    cpi_registry_leave(&inside(pool)->registry, uncached);
    support_destroy_empty(pool);
}
END_TEST

/* Another thread's operation may have two magazines in its hands, whether it has a
 * cache or an uncached operation's place. */
START_TEST(hands_of_others_are_out_of_reach)
{
    const size_t hands = 2 * (size_t)ROUNDS;
    struct cpi_cache *cache;
    struct cpi_uncached *uncached;
    uintptr_t token;
    size_t before;

    make_pool();
    cache = cpi_registry_own_cache(&inside(pool)->registry);
    uncached = cpi_registry_enter(&inside(pool)->registry);
    token = cpi_load(&uncached->holder, relaxed);
    before = cpi_recall_out_of_reach(&inside(pool)->registry);
    cpi_store(&uncached->holder, token + 1, relaxed); /* as if it were another's */
    REQUIRE_EQUAL(cpi_recall_out_of_reach(&inside(pool)->registry), before + hands);
    cpi_store(&uncached->holder, token, relaxed);
    REQUIRE_EQUAL(cpi_recall_out_of_reach(&inside(pool)->registry), before);
    REQUIRE(cpi_recall_enter(cache));
    REQUIRE_EQUAL(cpi_recall_out_of_reach(&inside(pool)->registry), before + hands);
    cpi_recall_leave(cache);
    cpi_registry_leave(&inside(pool)->registry, uncached);
    support_destroy_empty(pool);
}
END_TEST

struct word {
    uint64_t value;
};

CPOOL_DECLARE(words, struct word);
CPOOL_DEFINE(words, struct word, .capacity = 5 * ROUNDS, .magazine_rounds = ROUNDS);

static size_t words_out_of_reach(void)
{
    return cpi_recall_out_of_reach(&inside(words_pool())->registry);
}

static void *use_word_and_wait(void *unused)
{
    words_free(words_alloc());
    REQUIRE(support_stats(words_pool()).in_caches < ROUNDS);
    REQUIRE_EQUAL(words_out_of_reach(), support_stats(words_pool()).in_caches);
    support_door_wait(&door);
    return unused;
}

/* The typed entry of another thread is not read, because its memory goes with the thread or
 * the module.  Its magazine counts as full.  That of the calling thread is counted. */
START_TEST(loaded_magazines_of_other_typed_entries_count_as_full)
{
    pthread_t thread;

    REQUIRE_EQUAL(words_out_of_reach(), 0);
    support_door_init(&door);
    thread = support_start(use_word_and_wait, NULL);
    support_door_await(&door, 1);
    REQUIRE_EQUAL(words_out_of_reach(), ROUNDS);
    support_door_open(&door);
    support_join(thread);
    REQUIRE_EQUAL(words_out_of_reach(), 0);
    REQUIRE_EQUAL(words_close(), CPOOL_OK);
}
END_TEST

/* As a user sees it: a dry pool takes back what waiting threads have spare. */
START_TEST(alloc_when_dry_recalls_spares_of_waiting_threads)
{
    enum { WAITING = 3 };
    pthread_t threads[WAITING];
    void *slots[CAPACITY];
    size_t got;

    make_pool();
    support_door_init(&door);
    for (size_t i = 0; i < WAITING; i++) {
        threads[i] = support_start(fill_and_wait, NULL);
        support_door_await(&door, i + 1);
        cpool_flush(pool);
    }
    got = _i == 0 ? support_take_all(pool, slots) : cpool_alloc_bulk(pool, slots, CAPACITY);
    REQUIRE_EQUAL(got, CAPACITY);
    cpool_free_bulk(pool, slots, got);
    support_door_open(&door);
    for (size_t i = 0; i < WAITING; i++)
        support_join(threads[i]);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

/*
 * ---- What tells of changes ------------------------------------------------
 */

static uint64_t moves(void)
{
    struct cpi_activity activity;

    cpi_recall_activity(&inside(pool)->registry, &activity);
    return activity.moves;
}

/* Each kind of step alone: a fresh slot moves the watermark and nothing else, and
 * uncached operations are counted by what they exchange. */
START_TEST(activity_tells_of_fresh_slots_and_visitors)
{
    cpool_config_t config = support_config(16, 100);
    uint64_t before;
    void *slot;

    config.flags = _i == 0 ? 0 : CPOOL_EXACT;
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
END_TEST

/* Uses each place once. */
static void use_all_places(struct cpi_registry *registry)
{
    uint32_t places = registry->depot->uncached;

    while (cpi_registry_try_enter(registry) != NULL)
        ;
    cpi_registry_leave(registry, cpi_registry_enter(registry));
    for (uint32_t i = 0; i + 1 < places; i++)
        cpi_registry_leave(registry, &registry->uncached[i]);
    REQUIRE_EQUAL(cpi_registry_uncached_used(registry), places);
}

/* There lie freed slots that wait. */
START_TEST(what_lies_behind_the_last_place_is_no_place)
{
    enum { PUT_OFF = 100 };
    struct cpi_backoff backoff = {1, 0, 0};
    cpool_config_t config = support_config(16, CAPACITY);
    cpool_debug_t debug = CPOOL_DEBUG_INIT;
    struct cpi_registry *registry;
    void *slots[PUT_OFF];
    uint64_t before;
    size_t reach;

    debug.quarantine = PUT_OFF;
    config.debug = &debug;
    pool = support_create(&config);
    registry = &inside(pool)->registry;
    REQUIRE((void *)&registry->uncached[registry->depot->uncached] ==
            (void *)inside(pool)->quarantine.places);
    use_all_places(registry);
    REQUIRE_EQUAL(cpool_alloc_bulk_all(pool, slots, PUT_OFF), 0);
    before = moves();
    reach = cpi_recall_out_of_reach(registry);
    for (int i = 0; i < PUT_OFF; i++)
        cpool_free(pool, slots[i]);
    REQUIRE_EQUAL(cpi_quarantine_count(&inside(pool)->quarantine), PUT_OFF);
    REQUIRE_EQUAL(moves(), before);
    REQUIRE_EQUAL(cpi_recall_out_of_reach(registry), reach);
    REQUIRE(cpi_recall_await(registry, &backoff));
    REQUIRE(!cpi_recall_uncached_forked(registry));
    support_destroy_empty(pool);
}
END_TEST

/* As a signal handler does inside an operation of its own thread: that one ends after
 * the handler only, and is not waited for. */
START_TEST(alloc_inside_an_operation_of_the_thread_does_not_wait)
{
    void *slots[CAPACITY + 1];
    struct cpi_cache *cache;
    size_t n;

    make_pool();
    for (n = 0; n < CAPACITY; n++)
        slots[n] = cpool_alloc(pool);
    while (n > 0 && cpool_depot_alloc(pool) != NULL)
        ; /* the slack */
    cache = cpi_registry_own_cache(&inside(pool)->registry);
    REQUIRE(cache != NULL && cpi_depot_is_dry(&inside(pool)->depot));
    REQUIRE(cpi_recall_enter(cache));
    REQUIRE(cpool_depot_alloc(pool) == NULL || support_stats(pool).slack > 0);
    cpi_recall_leave(cache);
    REQUIRE_EQUAL(support_stats(pool).stalls, 0);
    for (n = 0; n < CAPACITY; n++)
        cpool_free(pool, slots[n]);
    cpool_destroy(pool);
}
END_TEST
int main(void)
{
    const struct support_test tests[] = {
        ONCE(register_shares_out_no_more_than_there_is),
        ONCE(recall_gives_spares_of_a_waiting_thread_to_the_depot),
        ONCE(recall_is_counted),
        ONCE(hands_of_others_are_out_of_reach),
        ONCE(loaded_magazines_of_other_typed_entries_count_as_full),
        TIMES(alloc_when_dry_recalls_spares_of_waiting_threads, 2),
        TIMES(activity_tells_of_fresh_slots_and_visitors, 2),
        ONCE(what_lies_behind_the_last_place_is_no_place),
        ONCE(alloc_inside_an_operation_of_the_thread_does_not_wait),
    };

    return SUPPORT_RUN("registry_recall", tests);
}
