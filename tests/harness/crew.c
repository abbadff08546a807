/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crew.c - shared by the tests of recall (crew.h).
 *
 * Includes mark.h.
 */
#include "crew.h"

#include <errno.h>

#include "cache/mark.h"

#if defined(__linux__)
#include <sys/syscall.h>
#endif

bool crew_is_exact(unsigned flags)
{
    return (flags & (CPOOL_EXACT | CPOOL_WAITABLE)) != 0;
}

cpool_t *crew_create(unsigned flags, size_t capacity, size_t rounds)
{
    cpool_config_t config = support_config(CREW_SLOT_SIZE, capacity);

    config.flags = flags;
    config.magazine_rounds = rounds;
    config.thread_caches = 2 * CREW_MAX;
    return support_create(&config);
}

size_t crew_most_live(const cpool_t *pool, unsigned flags)
{
    cpool_stats_t stats = support_stats(pool);

    return stats.capacity + (crew_is_exact(flags) ? 0 : (CREW_MAX + 1) * stats.magazine_rounds);
}

void crew_require_obtainable_here(cpool_t *pool, unsigned flags)
{
    size_t most = crew_most_live(pool, flags);
    struct hold hold;

    hold_init(&hold, pool);
    hold_take(&hold, SIZE_MAX);
    REQUIRE(hold.count >= support_stats(pool).capacity);
    REQUIRE(hold.count <= most);
    hold_free_all(&hold);
    hold_fini(&hold);
}

/*
 * ---- The two barriers ----------------------------------------------------
 */

struct refused {
    void (*body)(void *argument);
    void *argument;
};

static void refuse_barrier(void *argument)
{
    const struct refused *refused = argument;

#if defined(__linux__) && defined(SYS_membarrier)
    SKIP_IF(!growth_refuse_call(SYS_membarrier, ENOSYS), "no way here to refuse the barrier");
#endif
    cpi_mark_startup(); /* there may have been a pool before this test */
    REQUIRE(!cpi_mark_has_barrier);
    refused->body(refused->argument);
    REQUIRE(!cpi_mark_has_barrier);
}

void crew_without_barrier(void (*body)(void *argument), void *argument)
{
    struct refused refused = { body, argument };

    support_in_child(refuse_barrier, &refused);
}

struct variant {
    void (*body)(unsigned flags);
    unsigned flags;
};

static void run_body(void *argument)
{
    const struct variant *variant = argument;

    variant->body(variant->flags);
}

void crew_run_variant(int variant, void (*body)(unsigned flags))
{
    struct variant chosen = { body, growth_kinds[variant % GROWTH_KINDS] };

    if (variant < GROWTH_KINDS)
        run_body(&chosen);
    else
        crew_without_barrier(run_body, &chosen);
}

/*
 * ---- Threads that take turns ---------------------------------------------
 */

static void take(void *argument)
{
    struct member *member = argument;

    member->got = hold_take(&member->hold, member->wanted);
}

static void give(void *argument)
{
    struct member *member = argument;

    hold_free_all(&member->hold);
}

size_t crew_take(struct member *member, size_t wanted)
{
    member->wanted = wanted;
    worker_do(member->worker, take, member);
    return member->got;
}

void crew_give(struct member *member)
{
    worker_do(member->worker, give, member);
}

void crew_init(struct crew *crew, struct worker **workers, size_t count, cpool_t *pool)
{
    crew->pool = pool;
    crew->count = count;
    for (size_t i = 0; i < count; i++) {
        crew->members[i].worker = workers[i];
        hold_init(&crew->members[i].hold, pool);
    }
}

void crew_fini(struct crew *crew)
{
    for (size_t i = 0; i < crew->count; i++)
        hold_fini(&crew->members[i].hold);
}

void crew_fill_caches(struct crew *crew)
{
    for (size_t i = 0; i < crew->count; i++) {
        crew_take(&crew->members[i], SIZE_MAX);
        crew_give(&crew->members[i]);
    }
}
