/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crew.c - shared by the tests of recall (crew.h).
 */
#include "crew.h"

#include <errno.h>

#include "cache/reclaim.h"

#if defined(__linux__)
#include <sys/syscall.h>
#endif

cpool_t *crew_create(unsigned flags, size_t capacity, size_t rounds)
{
    return SUPPORT_CREATE(CREW_SLOT_SIZE, capacity, .flags = flags, .magazine_rounds = rounds,
                          .thread_caches = 2 * CREW_MAX);
}

void crew_require_obtainable_here(cpool_t *pool)
{
    struct hold hold = hold_of(pool);

    hold_take(&hold, SIZE_MAX);
    REQUIRE_EQUAL(hold.count, support_stats(pool).capacity);
    hold_free_all(&hold);
    hold_fini(&hold);
}

/* --- The two barriers --- */

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
    cpi_barrier_startup(); /* there may have been a pool before this test */
    REQUIRE(!cpi_has_barrier());
    refused->body(refused->argument);
    REQUIRE(!cpi_has_barrier());
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

/* --- Threads that take turns --- */

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
        crew->members[i].hold = hold_of(pool);
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
