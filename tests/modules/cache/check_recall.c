/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_recall.c - empty means empty: the capacity can be had by any mix of
 * threads, for any content of the caches of threads that sleep.
 *
 * Every test runs with the kernel's barrier, where there is one, and in a child that the kernel
 * refuses it.
 */
#include "crew.h"

enum { K_MAX = 200 };

/* Each takes k while the caches of all the others are as full as they get.
 * Then nothing is left. */
static void require_everyone_gets(struct crew *crew, size_t k, size_t first)
{
    for (size_t i = 0; i < crew->count; i++)
        REQUIRE_EQUAL(crew_take(&crew->members[(first + i) % crew->count], k), k);
    REQUIRE_EQUAL(support_stats(crew->pool).live, crew->count * k);
    for (size_t i = 0; i < crew->count; i++)
        REQUIRE_EQUAL(crew_take(&crew->members[i], SIZE_MAX), 0);
    for (size_t i = 0; i < crew->count; i++)
        crew_give(&crew->members[i]);
}

/* Each in turn gets everything. */
static void require_each_gets_all(struct crew *crew, size_t capacity)
{
    for (size_t i = 0; i < crew->count; i++) {
        REQUIRE_EQUAL(crew_take(&crew->members[i], SIZE_MAX), capacity);
        crew_give(&crew->members[i]);
    }
}

static void require_capacity(struct worker **workers, size_t count, unsigned flags, size_t k)
{
    const size_t rounds[] = { 0, 1, k, count * k };
    cpool_t *pool = crew_create(flags, count * k, rounds[k % 4]);
    struct crew crew;

    crew_init(&crew, workers, count, pool);
    crew_fill_caches(&crew);
    require_everyone_gets(&crew, k, 0);
    crew_fill_caches(&crew);
    require_everyone_gets(&crew, k, count - 1);
    require_each_gets_all(&crew, count * k);
    crew_fini(&crew);
    support_destroy_empty(pool);
}

static void everyone_gets_k(unsigned flags)
{
    static const size_t counts[] = { 1, 2, 3, CREW_MAX };
    struct worker *workers[CREW_MAX];

    workers_start(workers, CREW_MAX);
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
        for (size_t k = 1; k <= K_MAX; k += SUPPORT_COUNT(1u, 13u))
            require_capacity(workers, counts[c], flags, k);
    workers_stop(workers, CREW_MAX);
}

TEST_TIMES(alloc_with_all_others_asleep_on_full_caches_succeeds, CREW_VARIANTS)
{
    crew_run_variant(_i, everyone_gets_k);
}
