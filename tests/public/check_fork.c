/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fork.c - the child of a fork goes on using every pool: slots that other
 * threads had cached return, and slots that they had live stay live.
 *
 * Includes the public API only.  Children of a process with several threads
 * start none themselves, because ThreadSanitizer does not let them.
 */
#include "support.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { CAPACITY = 3000, THREADS = 4, HELD = 50 };

static const unsigned modes[] = { 0, CPOOL_CHECKED };

static cpool_t *make_pool(unsigned flags)
{
    return support_create_kind(sizeof(size_t), CAPACITY, flags);
}

/*
 * ---- One thread ----------------------------------------------------------
 */

static void use_and_destroy(void *argument)
{
    cpool_t *pool = argument;
    void *mine;

    support_require_live(pool, 1);
    mine = cpool_alloc(pool);
    REQUIRE(cpool_owns(pool, mine));
    cpool_free(pool, mine);
    support_require_obtainable(pool, 1);
    cpool_flush(pool);
    REQUIRE(cpool_cache(pool) != NULL);
    REQUIRE_EQUAL(support_destroy(pool), 1);
    /* And makes new ones. */
    pool = make_pool(0);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

TEST_TIMES(fork_single_thread_child_uses_and_destroys, 2)
{
    cpool_t *pool = make_pool(modes[_i]);
    size_t *slot = cpool_alloc(pool);

    *slot = 4711;
    cpool_free(pool, cpool_alloc(pool));
    support_in_child(use_and_destroy, pool);
    REQUIRE_EQUAL(*slot, 4711);
    support_require_live(pool, 1);
    support_require_obtainable(pool, 1);
    cpool_free(pool, slot);
    support_destroy_empty(pool);
}

static void fork_before_first_use(void *argument)
{
    cpool_t *pool = argument;

    REQUIRE_EQUAL(support_stats(pool).fresh, CAPACITY);
    support_require_obtainable(pool, 0);
}

TEST_TIMES(fork_before_first_use_child_gets_all, 2)
{
    cpool_t *pool = make_pool(modes[_i]);

    support_in_child(fork_before_first_use, pool);
    REQUIRE_EQUAL(support_stats(pool).fresh, CAPACITY);
    support_destroy_empty(pool);
}

static void *use_briefly(void *pool)
{
    cpool_free(pool, cpool_alloc(pool));
    return NULL;
}

/*
 * ---- Several threads, at rest --------------------------------------------
 */

struct crew {
    cpool_t *pool;
    struct support_door door;
    pthread_t threads[THREADS];
    size_t *held[THREADS][HELD];
    _Atomic size_t next; /* thread number */
};

/* Holds some slots, leaves others in the cache, and waits. */
static void *hold_and_wait(void *argument)
{
    struct crew *crew = argument;
    size_t number = atomic_fetch_add_explicit(&crew->next, 1, memory_order_relaxed);
    void *slots[300];

    for (int i = 0; i < 300; i++)
        slots[i] = cpool_alloc(crew->pool);
    for (int i = HELD; i < 300; i++)
        cpool_free(crew->pool, slots[i]);
    for (size_t i = 0; i < HELD; i++) {
        crew->held[number][i] = slots[i];
        *crew->held[number][i] = number * HELD + i;
    }
    support_door_wait(&crew->door);
    for (int i = 0; i < HELD; i++)
        cpool_free(crew->pool, slots[i]);
    return NULL;
}

static void start_crew(struct crew *crew, unsigned flags)
{
    crew->pool = make_pool(flags);
    support_door_init(&crew->door);
    atomic_init(&crew->next, 0);
    for (size_t i = 0; i < THREADS; i++)
        crew->threads[i] = support_start(hold_and_wait, crew);
    support_door_await(&crew->door, THREADS);
}

static void end_crew(struct crew *crew)
{
    support_door_open(&crew->door);
    for (size_t i = 0; i < THREADS; i++)
        support_join(crew->threads[i]);
    support_require_obtainable(crew->pool, 0);
    support_destroy_empty(crew->pool);
}

static void require_held_untouched(struct crew *crew)
{
    for (size_t number = 0; number < THREADS; number++)
        for (size_t i = 0; i < HELD; i++)
            REQUIRE_EQUAL(*crew->held[number][i], number * HELD + i);
}

/* In the child: takes all that is left, writes it, and finds what the vanished
 * threads had live as they left it. */
static void adopt(void *argument)
{
    struct crew *crew = argument;
    size_t **slots = support_calloc(CAPACITY, sizeof(*slots));
    size_t count;

    support_require_live(crew->pool, THREADS * HELD);
    REQUIRE(support_stats(crew->pool).thread_caches <= 1);
    count = support_take_all(crew->pool, (void **)slots);
    REQUIRE_EQUAL(count, CAPACITY - THREADS * HELD);
    for (size_t i = 0; i < count; i++)
        *slots[i] = SIZE_MAX;
    require_held_untouched(crew);
    for (size_t i = 0; i < count; i++)
        cpool_free(crew->pool, slots[i]);
    /* They may be freed by the thread that is left. */
    for (size_t i = 0; i < THREADS * HELD; i++)
        cpool_free(crew->pool, crew->held[i / HELD][i % HELD]);
    support_require_obtainable(crew->pool, 0);
    free(slots);
}

TEST_TIMES(fork_threads_at_rest_child_adopts_their_caches, 4)
{
    struct crew crew;

    start_crew(&crew, modes[_i % 2]);
    if (_i / 2 == 1) /* with and without a cache of the forking thread's */
        use_briefly(crew.pool);
    support_in_child(adopt, &crew);
    require_held_untouched(&crew);
    support_require_live(crew.pool, THREADS * HELD);
    support_in_child(adopt, &crew);
    end_crew(&crew);
}

static void destroy_in_child(void *argument)
{
    struct crew *crew = argument;

    REQUIRE_EQUAL(support_destroy(crew->pool), THREADS * HELD);
}

static void reset_in_child(void *argument)
{
    struct crew *crew = argument;

    REQUIRE_EQUAL(cpool_reset(crew->pool), THREADS * HELD);
    support_require_obtainable(crew->pool, 0);
    support_destroy_empty(crew->pool);
}

TEST(fork_child_destroys_or_resets_pool_of_vanished_threads)
{
    struct crew crew;

    start_crew(&crew, 0);
    support_in_child(destroy_in_child, &crew);
    support_in_child(reset_in_child, &crew);
    end_crew(&crew);
}

/* A cache that no thread owns belongs to the child as well. */
struct handed {
    cpool_t *pool;
    cpool_cache_t *cache;
    void *slots[100];
};

static void use_handed_cache(void *argument)
{
    struct handed *handed = argument;

    for (int i = 0; i < 100; i++)
        cpool_cache_free(handed->cache, handed->slots[i]);
    for (int i = 0; i < 100; i++)
        REQUIRE(cpool_owns(handed->pool, cpool_cache_alloc(handed->cache)));
    cpool_cache_destroy(handed->cache);
    support_require_live(handed->pool, 100);
    support_require_obtainable(handed->pool, 100);
}

TEST_TIMES(fork_created_cache_works_in_child, 2)
{
    struct handed handed;

    handed.pool = make_pool(modes[_i]);
    REQUIRE_EQUAL(cpool_cache_create(&handed.cache, handed.pool), 0);
    for (int i = 0; i < 100; i++)
        handed.slots[i] = cpool_cache_alloc(handed.cache);
    support_in_child(use_handed_cache, &handed);
    use_handed_cache(&handed);
    REQUIRE_EQUAL(support_destroy(handed.pool), 100);
}

/*
 * ---- Several threads, at work --------------------------------------------
 */

struct load {
    cpool_t *pool;
    _Atomic bool stop;
};

static void *create_and_destroy(void *argument)
{
    struct load *load = argument;

    while (!atomic_load_explicit(&load->stop, memory_order_relaxed)) {
        cpool_t *pool = support_create_plain(24, 100);

        use_briefly(pool);
        use_briefly(load->pool);
        cpool_set_error_handler(NULL, NULL);
        support_destroy_empty(pool);
    }
    return NULL;
}

/* The library's locks must be free in the child. */
static void create_in_child(void *argument)
{
    struct load *load = argument;
    cpool_t *pool = make_pool(0);

    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
    cpool_set_error_handler(NULL, NULL);
    use_briefly(load->pool);
}

TEST(fork_while_pools_are_created_child_creates_pools)
{
    struct load load;
    pthread_t threads[THREADS];

    load.pool = make_pool(0);
    atomic_init(&load.stop, false);
    for (int i = 0; i < THREADS; i++)
        threads[i] = support_start(create_and_destroy, &load);
    for (size_t i = 0; i < SUPPORT_COUNT(300, 30); i++)
        support_in_child(create_in_child, &load);
    atomic_store_explicit(&load.stop, true, memory_order_relaxed);
    for (int i = 0; i < THREADS; i++)
        support_join(threads[i]);
    support_require_obtainable(load.pool, 0);
    support_destroy_empty(load.pool);
}
