/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_walk.c - all pools of the process, one after the other, beside pools that come
 * and go.
 */
#include "support.h"

#include <stdatomic.h>

#include <cpool/pools.h>

enum { POOLS = 5, THREADS = 2 };

CPOOL_DECLARE(things, double);
CPOOL_DEFINE(things, double, .capacity = 100);

/* --- Their names --- */

TEST(each_shows_what_is_kept_of_a_long_name)
{
    cpool_t *pool = support_create_named("a name of more than thirty-one bytes, one", 16, 100, 0);

    REQUIRE(support_find(0, "a name of more than thirty-one ") == pool);
    support_destroy_empty(pool);
}

TEST(each_shows_a_typed_pool_by_the_name_of_its_functions)
{
    double *thing;

    REQUIRE(support_find(0, "things") == NULL);
    thing = things_alloc();
    REQUIRE(support_find(0, "things") == things_pool());
    things_free(thing);
    REQUIRE_EQUAL(things_close(), 0);
    REQUIRE(support_find(0, "things") == NULL);
}

/* --- One after the other --- */

struct walk {
    cpool_t *expected[POOLS];
    size_t seen[POOLS];
    size_t others;
    size_t most; /* visits until the visitor ends the walk */
    bool destroys;
};

static bool note(const cpool_view_t *view, void *argument)
{
    struct walk *walk = argument;
    cpool_stats_t stats = CPOOL_STATS_INIT;
    bool known = false;

    for (size_t i = 0; i < POOLS; i++) {
        if (view->pool != walk->expected[i])
            continue;
        known = true;
        walk->seen[i]++;
        REQUIRE_EQUAL(cpool_read_stats(view->pool, &stats), 0);
        REQUIRE_EQUAL(view->size, sizeof(*view));
        REQUIRE_EQUAL(view->stats->capacity, 100);
        REQUIRE_EQUAL(view->stats->live, i);
        REQUIRE_EQUAL(view->stats->live, stats.live);
        REQUIRE_EQUAL(view->stats->reserved_bytes, stats.reserved_bytes);
        REQUIRE(view->first == cpool_at(view->pool, 0));
        REQUIRE_EQUAL(view->slots, cpool_index_limit(view->pool));
        REQUIRE_EQUAL(view->flags, i == 1 ? CPOOL_CHECKED : i == 2 ? CPOOL_TRACKED : 0);
        REQUIRE_EQUAL(view->kind, 0);
        REQUIRE(view->name[0] == (char)('a' + i) && view->name[1] == '\0');
        if (walk->destroys)
            REQUIRE_EQUAL(cpool_destroy(view->pool), i > 0 ? CPOOL_ELIVE : 0);
    }
    walk->others += !known;
    return --walk->most > 0;
}

static void make_walk(struct walk *walk)
{
    static const unsigned flags[POOLS] = {0, CPOOL_CHECKED, CPOOL_TRACKED, 0, 0};

    memset(walk, 0, sizeof(*walk));
    walk->most = SIZE_MAX;
    for (size_t i = 0; i < POOLS; i++) {
        char name[] = {(char)('a' + i), '\0'};

        walk->expected[i] = support_create_named(name, 16, 100, flags[i]);
        for (size_t n = 0; n < i; n++)
            REQUIRE(cpool_alloc(walk->expected[i]) != NULL);
    }
}

TEST(each_visits_every_pool_once_with_its_figures)
{
    struct walk walk;

    make_walk(&walk);
    REQUIRE_EQUAL(cpool_each(note, &walk), POOLS);
    for (size_t i = 0; i < POOLS; i++)
        REQUIRE_EQUAL(walk.seen[i], 1);
    REQUIRE_EQUAL(walk.others, 0);
    walk.most = 2;
    REQUIRE_EQUAL(cpool_each(note, &walk), 2);
    for (size_t i = 0; i < POOLS; i++)
        (void)support_destroy(walk.expected[i]);
    walk.most = SIZE_MAX;
    REQUIRE_EQUAL(cpool_each(note, &walk), 0);
}

TEST(each_with_visitor_that_destroys_visits_all)
{
    struct walk walk;

    make_walk(&walk);
    walk.destroys = true;
    REQUIRE_EQUAL(cpool_each(note, &walk), POOLS);
    REQUIRE_EQUAL(cpool_each(note, &walk), 0);
}

static bool kind_of(const cpool_view_t *view, void *kind)
{
    *(unsigned *)kind = view->kind;
    return true;
}

TEST(each_tells_kinds)
{
    cpool_config_t config = support_config(16, 10);
    unsigned kind = 0;
    cpool_t *pool;

    things_free(things_alloc());
    cpool_each(kind_of, &kind);
    REQUIRE_EQUAL(kind, CPOOL_VIEW_TYPED);
    REQUIRE_EQUAL(things_close(), 0);
    config.memory_size = cpool_memory_required(&config);
    config.memory = support_lines(config.memory_size);
    pool = support_create(&config);
    cpool_each(kind_of, &kind);
    REQUIRE_EQUAL(kind, CPOOL_VIEW_CALLERS);
    support_destroy_empty(pool);
}

/* --- Beside others --- */

static _Atomic bool over;

static void *churn(void *unused)
{
    while (!over) {
        cpool_t *pool = support_create_named("churn", 16, 100, 0);
        void *slots[50];

        REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 50, 0), 50);
        cpool_free_bulk(pool, slots, 50);
        support_destroy_empty(pool);
    }
    return unused;
}

static bool count_constant(const cpool_view_t *view, void *seen)
{
    if (strcmp(view->name, "constant") == 0) {
        REQUIRE_EQUAL(view->stats->live, 1);
        ++*(size_t *)seen;
    } else {
        REQUIRE(strcmp(view->name, "churn") == 0);
        REQUIRE_EQUAL(view->stats->capacity, 100);
    }
    return true;
}

TEST(each_beside_create_and_destroy_meets_what_stays_once)
{
    cpool_t *pools[2] = {support_create_named("constant", 16, 100, 0),
                         support_create_named("constant", 16, 100, 0)};
    void *slots[2] = {cpool_alloc(pools[0]), cpool_alloc(pools[1])};
    pthread_t threads[THREADS];

    over = false;
    for (size_t i = 0; i < THREADS; i++)
        threads[i] = support_start(churn, NULL);
    for (size_t i = 0; i < SUPPORT_COUNT(2000, 200); i++) {
        size_t seen = 0;

        cpool_each(count_constant, &seen);
        REQUIRE_EQUAL(seen, 2);
    }
    over = true;
    for (size_t i = 0; i < THREADS; i++)
        support_join(threads[i]);
    for (size_t i = 0; i < 2; i++) {
        cpool_free(pools[i], slots[i]);
        support_destroy_empty(pools[i]);
    }
}
