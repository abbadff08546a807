/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_registry.c - which caches a pool has, and the threads' tables
 * (lib/registry.h, lib/roster.h, lib/thread.h), seen inside real pools.
 */
#include "support.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "pool_impl.h"
#include "recall.h"

enum { CAPACITY = 2000, ROUNDS = 20 };

static cpool_t *pool;

static void make_pool(size_t thread_caches)
{
    cpool_config_t config = support_config(16, CAPACITY);

    config.thread_caches = thread_caches;
    config.magazine_rounds = ROUNDS;
    pool = support_create(&config);
}

static struct cpi_registry_figures figures(void)
{
    struct cpi_registry_figures result;

    cpi_lock();
    cpi_registry_figures(&pool->registry, &result);
    cpi_unlock();
    return result;
}

static bool known(const cpool_t *candidate)
{
    bool result;

    cpi_lock();
    result = cpi_registry_knows(candidate);
    cpi_unlock();
    return result;
}

/* All but what the frozen layout leaves unused, and the prefix of no pool that a
 * handle finds whose cache has ended. */
static bool is_clear(const cpool_cache_t *entry)
{
    const struct cpool_prefix *prefix = (const struct cpool_prefix *)(const void *)entry->pool;

    return entry->count == 0 && entry->limit == 0 && entry->rounds == NULL && entry->bound == 0 &&
           entry->home == NULL && (prefix == NULL || prefix->library == NULL);
}

static cpool_cache_t *table_entry(const cpool_t *of)
{
    return (cpool_cache_t *)(void *)(cpool_thread_table_abi1 + of->slab.prefix.table_offset);
}

/*
 * ---- Threads -------------------------------------------------------------
 */

static void *use_table(void *threads)
{
    struct cpi_thread **seen = threads;

    REQUIRE(cpi_thread_known() == NULL);
    REQUIRE(is_clear(table_entry(pool)));
    REQUIRE(cpi_thread_self() != NULL);
    REQUIRE(cpi_thread_known() == cpi_thread_self());
    REQUIRE(cpool_thread_table_abi1 == (char *)cpi_thread_self()->table);
    for (size_t i = 0; i < CPI_TABLE_ENTRIES; i += 97)
        REQUIRE(is_clear(&cpi_thread_self()->table[i]));
    *seen = cpi_thread_self();
    cpool_free(pool, cpool_alloc(pool));
    REQUIRE(!is_clear(table_entry(pool)));
    return NULL;
}

START_TEST(end_thread_hands_its_table_to_the_next)
{
    struct cpi_thread *first;
    struct cpi_thread *next;

    make_pool(0);
    support_in_thread(use_table, &first);
    for (int i = 0; i < 20; i++) {
        support_in_thread(use_table, &next);
        REQUIRE(next == first);
    }
    support_destroy_empty(pool);
}
END_TEST

START_TEST(destroy_pool_clears_its_entry_in_the_table)
{
    uintptr_t offset;

    for (int i = 0; i < 20; i++) {
        make_pool(0);
        REQUIRE(is_clear(table_entry(pool)));
        cpool_free(pool, cpool_alloc(pool));
        REQUIRE(table_entry(pool)->pool == pool);
        REQUIRE_EQUAL(table_entry(pool)->count, ROUNDS);
        offset = pool->slab.prefix.table_offset;
        support_destroy_empty(pool);
        REQUIRE(is_clear((cpool_cache_t *)(void *)(cpool_thread_table_abi1 + offset)));
    }
}
END_TEST

START_TEST(create_pools_gives_each_an_entry_of_its_own)
{
    cpool_t *pools[50];

    for (int i = 0; i < 50; i++) {
        pools[i] = support_create_plain(16, 10);
        REQUIRE(pools[i]->slab.prefix.table_offset != 0);
        REQUIRE_EQUAL(pools[i]->slab.prefix.table_offset % sizeof(cpool_cache_t), 0);
        for (int j = 0; j < i; j++)
            REQUIRE(pools[i]->slab.prefix.table_offset != pools[j]->slab.prefix.table_offset);
    }
    for (int i = 0; i < 50; i++)
        support_destroy_empty(pools[i]);
}
END_TEST

/*
 * ---- Caches --------------------------------------------------------------
 */

/* Entries come back: there are fewer than a process may make pools in its life. */
START_TEST(destroy_pool_gives_its_entry_back)
{
    cpool_t *first;
    cpool_t *second;
    size_t offset;

    make_pool(0);
    first = pool;
    offset = first->slab.prefix.table_offset;
    REQUIRE(offset != 0);
    make_pool(0);
    second = pool;
    for (int round = 0; round < 3; round++) {
        support_destroy_empty(first);
        make_pool(0);
        first = pool;
        REQUIRE_EQUAL(first->slab.prefix.table_offset, offset);
    }
    support_destroy_empty(first);
    support_destroy_empty(second);
}
END_TEST

START_TEST(own_cache_is_made_once)
{
    struct cpi_cache *cache;

    make_pool(0);
    REQUIRE(cpi_registry_known_cache(&pool->registry) == NULL);
    cache = cpi_registry_own_cache(&pool->registry);
    REQUIRE(cache != NULL);
    REQUIRE(cpi_registry_own_cache(&pool->registry) == cache);
    REQUIRE(cpi_registry_known_cache(&pool->registry) == cache);
    REQUIRE(cache->entry == table_entry(pool));
    REQUIRE(cache->entry->pool == pool);
    REQUIRE(cache->owner == cpi_thread_known());
    REQUIRE_EQUAL(figures().caches, 1);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(remove_cache_frees_its_place)
{
    struct cpi_cache *caches[3];

    make_pool(3);
    for (int round = 0; round < 5; round++) {
        struct cpi_cache *before = caches[2];

        for (size_t i = 0; i < 3; i++) {
            caches[i] = cpi_registry_add_cache(&pool->registry);
            REQUIRE(caches[i] != NULL);
            REQUIRE(caches[i]->owner == NULL);
            REQUIRE(caches[i]->entry->home == caches[i]);
            REQUIRE_EQUAL(figures().caches, i + 1);
        }
        REQUIRE(cpi_registry_add_cache(&pool->registry) == NULL);
        REQUIRE(cpi_registry_own_cache(&pool->registry) == NULL);
        REQUIRE(round == 0 || caches[0] == before || caches[1] == before || caches[2] == before);
        for (size_t i = 0; i < 3; i++)
            cpi_registry_remove_cache(&pool->registry, caches[i]);
        REQUIRE_EQUAL(figures().caches, 0);
    }
    support_destroy_empty(pool);
}
END_TEST

START_TEST(end_caches_ends_all)
{
    struct cpi_cache *own;

    make_pool(0);
    own = cpi_registry_own_cache(&pool->registry);
    for (int i = 0; i < 3; i++)
        REQUIRE(cpi_registry_add_cache(&pool->registry) != NULL);
    REQUIRE(cpi_cache_refill(own));
    cpi_lock();
    cpi_registry_end_caches(&pool->registry);
    cpi_unlock();
    REQUIRE_EQUAL(figures().caches, 0);
    REQUIRE_EQUAL(figures().rounds, 0);
    REQUIRE(cpi_registry_known_cache(&pool->registry) == NULL);
    REQUIRE(is_clear(table_entry(pool)));
    REQUIRE_EQUAL(cpool_reset(pool), ROUNDS);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(knows_living_pools_only)
{
    cpool_t *pools[100];

    for (int i = 0; i < 100; i++)
        pools[i] = support_create_plain(16, 10);
    for (int i = 0; i < 100; i++)
        REQUIRE(known(pools[i]));
    REQUIRE(!known(NULL));
    REQUIRE(!known((cpool_t *)(void *)pools));
    REQUIRE(!known((cpool_t *)((uintptr_t)pools[0] + 1)));
    for (int i = 0; i < 100; i++) {
        support_destroy_empty(pools[i]);
        REQUIRE(!known(pools[i]));
        REQUIRE(i == 99 || known(pools[99]));
    }
}
END_TEST

static void forbid(const cpool_t *of, int protection)
{
    const struct cpi_extent *caches = &of->registry.caches;

    REQUIRE_EQUAL(mprotect(caches->base, caches->committed, protection), 0);
}

/* Their caches may not even be read, but for those of the neighbours in the list. */
START_TEST(destroy_looks_at_no_cache_of_other_pools)
{
    enum { POOLS = 7 };
    cpool_t *pools[POOLS];

    for (int i = 0; i < POOLS; i++) {
        pools[i] = support_create_plain(16, 10);
        cpool_free(pools[i], cpool_alloc(pools[i]));
    }
    for (int i = 0; i < POOLS; i++)
        if (i < POOLS / 2 - 1 || i > POOLS / 2 + 1)
            forbid(pools[i], PROT_NONE);
    support_destroy_empty(pools[POOLS / 2]);
    for (int i = 0; i < POOLS; i++)
        if (i < POOLS / 2 - 1 || i > POOLS / 2 + 1)
            forbid(pools[i], PROT_READ | PROT_WRITE);
    for (int i = 0; i < POOLS; i++)
        if (i != POOLS / 2)
            support_destroy_empty(pools[i]);
}
END_TEST

/* As pools lie behind each other in address space, of small pages and of huge ones. */
START_TEST(pools_at_any_distance_share_out_the_buckets)
{
    enum { BUCKETS = 1024, EACH = 16 };
    static const uintptr_t starts[] = { 0, (uintptr_t)1 << 30, (uintptr_t)0x7f3a5c000000 };
    size_t counts[BUCKETS] = { 0 };
    uintptr_t distance = (uintptr_t)1 << (_i / 3 + 6);

    SKIP_IF(distance > UINTPTR_MAX / BUCKETS / EACH / 2, "there are not enough addresses");
    for (uintptr_t n = 1; n <= BUCKETS * EACH; n++) {
        const void *address = (const void *)(starts[_i % 3] + n * distance);

        REQUIRE(cpi_registry_bucket(address, BUCKETS) < BUCKETS);
        counts[cpi_registry_bucket(address, BUCKETS)]++;
    }
    for (size_t i = 0; i < BUCKETS; i++)
        REQUIRE(counts[i] <= 4 * EACH);
}
END_TEST

START_TEST(figures_count_what_is_where)
{
    void *slots[200];

    make_pool(0);
    REQUIRE_EQUAL(cpool_alloc_bulk_all(pool, slots, 200), 0);
    cpool_free_bulk(pool, slots, 150);
    REQUIRE_EQUAL((size_t)figures().stocked, cpi_depot_count_stocked(&pool->depot));
    REQUIRE_EQUAL((size_t)figures().stocked * ROUNDS + figures().rounds +
                      cpi_depot_partial_rounds(&pool->depot),
                  cpi_slab_fresh(&pool->slab) - 50);
    REQUIRE_EQUAL(figures().retries, 0);
    REQUIRE_EQUAL(support_destroy(pool), 50);
}
END_TEST

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

/* Registers explicit caches until the quotas are out, and beyond; returns how many
 * spares they have beyond the first of each. */
static size_t register_caches(cpool_cache_t **caches, size_t n)
{
    size_t more = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t quota;

        REQUIRE_EQUAL(cpool_cache_create(&caches[i], pool), 0);
        quota = ((struct cpi_cache *)caches[i]->home)->quota;
        REQUIRE(quota >= CPI_QUOTA_MIN && quota <= pool->registry.quota_max);
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
    REQUIRE_EQUAL(pool->registry.quota_max, QUOTA);
    whole = pool->registry.spares_max / (QUOTA - CPI_QUOTA_MIN);
    n = whole + EXTRA;
    REQUIRE(whole > 1 && n <= 200);
    for (int round = 0; round < 2; round++) {
        REQUIRE_EQUAL(register_caches(caches, n), pool->registry.spares_max);
        REQUIRE_EQUAL(pool->registry.spares_left, 0);
        REQUIRE_EQUAL(((struct cpi_cache *)caches[0]->home)->quota, QUOTA);
        REQUIRE_EQUAL(((struct cpi_cache *)caches[n - 1]->home)->quota, CPI_QUOTA_MIN);
        REQUIRE_EQUAL(figures().spares, n * CPI_QUOTA_MIN + pool->registry.spares_max);
        for (size_t i = 0; i < n; i++)
            cpool_cache_destroy(caches[i]);
        REQUIRE_EQUAL(pool->registry.spares_left, pool->registry.spares_max);
        REQUIRE_EQUAL(figures().spares, 0);
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

    make_pool(0);
    uncached = cpi_registry_enter(&pool->registry);
    support_door_init(&door);
    thread = support_start(fill_and_wait, NULL);
    support_door_await(&door, 1);
    cached = support_stats(pool).in_caches;
    REQUIRE(cached > ROUNDS);
    while (cpi_recall_spare(&pool->registry, uncached))
        ;
    /* What the thread has loaded stays with it. */
    REQUIRE(figures().caches == 1);
    support_door_open(&door);
    support_join(thread);
    cpi_registry_leave(uncached);
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

    make_pool(0);
    REQUIRE_EQUAL(cpool_alloc_bulk_all(pool, slots, 6 * ROUNDS), 0);
    cpool_free_bulk(pool, slots, 6 * ROUNDS);
    uncached = cpi_registry_enter(&pool->registry);
    while (cpi_recall_spare(&pool->registry, uncached))
        REQUIRE_EQUAL(figures().recalls, ++recalls);
    REQUIRE(recalls > 0);
    cpi_registry_leave(uncached);
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

    make_pool(0);
    cache = cpi_registry_own_cache(&pool->registry);
    uncached = cpi_registry_enter(&pool->registry);
    token = cpi_load(&uncached->holder, relaxed);
    before = cpi_recall_out_of_reach(&pool->registry);
    cpi_store(&uncached->holder, token + 1, relaxed); /* as if it were another's */
    REQUIRE_EQUAL(cpi_recall_out_of_reach(&pool->registry), before + hands);
    cpi_store(&uncached->holder, token, relaxed);
    REQUIRE_EQUAL(cpi_recall_out_of_reach(&pool->registry), before);
    REQUIRE(cpi_recall_enter(cache));
    REQUIRE_EQUAL(cpi_recall_out_of_reach(&pool->registry), before + hands);
    cpi_recall_leave(cache);
    cpi_registry_leave(uncached);
    support_destroy_empty(pool);
}
END_TEST

/* As a user sees it: a dry pool takes back what waiting threads have spare. */
START_TEST(alloc_when_dry_recalls_spares_of_waiting_threads)
{
    enum { WAITING = 3 };
    pthread_t threads[WAITING];
    void *slots[CAPACITY];
    size_t got;

    make_pool(0);
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

    cpi_recall_activity(&pool->registry, &activity);
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
    REQUIRE(cpool_depot_alloc(pool) == slot);
    REQUIRE(moves() != before);
    /* What an owner gives to the depot. */
    cpool_free(pool, slot);
    before = moves();
    cpool_flush(pool);
    REQUIRE(moves() != before);
    /* And what it takes: the partial magazine. */
    before = moves();
    REQUIRE(cpool_alloc(pool) == slot);
    REQUIRE(moves() != before);
    REQUIRE_EQUAL(support_destroy(pool), 1);
}
END_TEST

/* As a signal handler does inside an operation of its own thread: that one ends after
 * the handler only, and is not waited for. */
START_TEST(alloc_inside_an_operation_of_the_thread_does_not_wait)
{
    void *slots[CAPACITY + 1];
    struct cpi_cache *cache;
    size_t n;

    make_pool(0);
    for (n = 0; n < CAPACITY; n++)
        slots[n] = cpool_alloc(pool);
    while (n > 0 && cpool_depot_alloc(pool) != NULL)
        ; /* the slack */
    cache = cpi_registry_own_cache(&pool->registry);
    REQUIRE(cache != NULL && cpi_depot_is_dry(&pool->depot));
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
        ONCE(end_thread_hands_its_table_to_the_next),
        ONCE(destroy_pool_clears_its_entry_in_the_table),
        ONCE(create_pools_gives_each_an_entry_of_its_own),
        ONCE(destroy_pool_gives_its_entry_back),
        ONCE(recall_is_counted),
        ONCE(hands_of_others_are_out_of_reach),
        ONCE(own_cache_is_made_once),
        ONCE(remove_cache_frees_its_place),
        ONCE(end_caches_ends_all),
        ONCE(knows_living_pools_only),
        ONCE(destroy_looks_at_no_cache_of_other_pools),
        TIMES(pools_at_any_distance_share_out_the_buckets, 3 * 27),
        ONCE(figures_count_what_is_where),
        ONCE(register_shares_out_no_more_than_there_is),
        ONCE(recall_gives_spares_of_a_waiting_thread_to_the_depot),
        TIMES(alloc_when_dry_recalls_spares_of_waiting_threads, 2),
        TIMES(activity_tells_of_fresh_slots_and_visitors, 2),
        ONCE(alloc_inside_an_operation_of_the_thread_does_not_wait),
    };

    return SUPPORT_RUN("registry", tests);
}
