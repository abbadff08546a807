/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_memory.c - growing, shrinking, trimming, taking and freeing, each
 * done by one thread at every step of each done by another: everything adds up.
 *
 * Includes steps.h.
 */
#include "steps.h"

enum { CAPACITY = 100, TAKEN = 40, ROUNDS = 8 };

/*
 * ---- Operations ----------------------------------------------------------
 */

/* One of two threads that use a pool. */
struct party {
    struct hold hold;
    size_t added;
    size_t removed;
};

static void op_take(void *argument)
{
    struct party *party = argument;

    hold_take(&party->hold, 25);
}

static void op_free(void *argument)
{
    struct party *party = argument;

    hold_free(&party->hold, party->hold.count / 2);
}

static void op_flush(void *argument)
{
    struct party *party = argument;

    cpool_flush(party->hold.pool);
}

static void op_grow(void *argument)
{
    struct party *party = argument;

    party->added += cpool_grow(party->hold.pool, 10);
}

static void op_shrink(void *argument)
{
    struct party *party = argument;

    party->removed += cpool_shrink(party->hold.pool, 35);
}

static void op_trim(void *argument)
{
    struct party *party = argument;

    cpool_trim(party->hold.pool);
}

static void (*const ops[])(void *argument) = {
    op_take, op_free, op_flush, op_grow, op_shrink, op_trim,
};

enum { OPS = sizeof(ops) / sizeof(ops[0]) };

/*
 * ---- Each at every step of each ------------------------------------------
 */

struct encounter {
    cpool_t *pool;
    struct party here;
    struct party there;
    struct worker *worker;
    struct steps_stop stop;
    void (*theirs)(void *argument);
};

/* Up to where it would have to wait for what this thread may hold. */
static void meet(void *argument)
{
    struct encounter *encounter = argument;

    (void)steps_run(&encounter->stop, encounter->worker, STEPS_LOCK, 1, encounter->theirs,
                    &encounter->there);
}

/* Some slots live, some cached, some in the depot.  The topmost ones were never
 * handed out, or are free in the depot. */
static void prepare(struct encounter *encounter, bool fresh)
{
    if (!fresh) {
        hold_take(&encounter->here.hold, CAPACITY);
        hold_free_all(&encounter->here.hold);
        cpool_flush(encounter->pool);
    }
    hold_take(&encounter->here.hold, TAKEN);
    op_take(&encounter->here);
    worker_do(encounter->worker, op_take, &encounter->there);
    op_free(&encounter->here);
    worker_do(encounter->worker, op_free, &encounter->there);
}

/* The slots added and removed are the change of the capacity, and that many
 * slots can be had, and no more. */
static void require_sums(struct encounter *encounter, size_t before)
{
    size_t capacity = before + encounter->here.added + encounter->there.added -
                      encounter->here.removed - encounter->there.removed;
    size_t live = encounter->here.hold.count + encounter->there.hold.count;

    growth_require_capacity(encounter->pool, capacity);
    support_require_live(encounter->pool, live);
    worker_do(encounter->worker, op_flush, &encounter->there);
    hold_take(&encounter->here.hold, SIZE_MAX);
    live = encounter->here.hold.count + encounter->there.hold.count;
    REQUIRE_EQUAL(live, capacity);
    hold_verify(&encounter->there.hold);
    hold_free_all(&encounter->there.hold);
    hold_free_all(&encounter->here.hold);
    support_require_live(encounter->pool, 0);
}

/* Does one operation, and another thread's in the middle.  Returns false if the first
 * one has fewer steps than that. */
static bool meet_at(struct encounter *encounter, void (*ours)(void *argument), bool fresh,
                    size_t nth)
{
    size_t before;
    bool met;

    encounter->pool = steps_pool(0, CAPACITY, 0, ROUNDS);
    hold_init(&encounter->here.hold, encounter->pool);
    hold_init(&encounter->there.hold, encounter->pool);
    encounter->here.removed = cpool_shrink(encounter->pool, 20); /* room to grow */
    encounter->there.removed = 0;
    encounter->here.added = 0;
    encounter->there.added = 0;
    before = CAPACITY;
    prepare(encounter, fresh);
    steps_plan(NULL, nth, meet, encounter);
    ours(&encounter->here);
    met = steps_drop();
    if (met)
        steps_go_on(&encounter->stop);
    require_sums(encounter, before);
    hold_fini(&encounter->here.hold);
    hold_fini(&encounter->there.hold);
    support_destroy_empty(encounter->pool);
    return met;
}

TEST_TIMES(two_operations_at_every_step_add_up, OPS * OPS)
{
    struct encounter encounter;
    int ours = _i % OPS;
    int theirs = _i / OPS;
    size_t stride = SUPPORT_COUNT(1u, 11u);

    encounter.worker = worker_start();
    encounter.theirs = ops[theirs];
    for (int fresh = 0; fresh <= 1; fresh++) {
        size_t nth = 1;

        while (meet_at(&encounter, ops[ours], fresh != 0, nth))
            nth += stride;
        REQUIRE(nth > 1); /* there were steps */
    }
    worker_stop(encounter.worker);
}

/*
 * ---- Claims and bounds ---------------------------------------------------
 */

/* A slot is handed out for the first time while the pool shrinks to what is live,
 * and the other way round: no more than the new capacity is ever live. */
struct squeeze {
    cpool_t *pool;
    struct hold hold;
    struct worker *worker;
    size_t removed;
};

static void shrink_there(void *argument)
{
    struct squeeze *squeeze = argument;

    squeeze->removed = cpool_shrink(squeeze->pool, 50);
}

static void shrink_meanwhile(void *argument)
{
    struct squeeze *squeeze = argument;

    worker_do(squeeze->worker, shrink_there, squeeze);
}

static bool claim_at(struct worker *worker, size_t nth)
{
    cpool_t *pool = steps_pool(0, CAPACITY, 0, ROUNDS);
    struct squeeze squeeze = { .pool = pool, .worker = worker };
    bool met;

    hold_init(&squeeze.hold, squeeze.pool);
    while (squeeze.hold.count < 50)
        hold_add(&squeeze.hold, cpool_depot_alloc(squeeze.pool));
    steps_plan(NULL, nth, shrink_meanwhile, &squeeze);
    hold_take(&squeeze.hold, 1);
    met = steps_drop();
    growth_require_capacity(squeeze.pool, CAPACITY - squeeze.removed);
    hold_take(&squeeze.hold, SIZE_MAX);
    REQUIRE_EQUAL(squeeze.hold.count, CAPACITY - squeeze.removed);
    hold_free_all(&squeeze.hold);
    hold_fini(&squeeze.hold);
    support_destroy_empty(squeeze.pool);
    return met;
}

TEST(claim_while_the_pool_shrinks_keeps_the_capacity)
{
    struct worker *worker = worker_start();
    size_t nth = 1;

    while (claim_at(worker, nth))
        nth++;
    REQUIRE(nth > 10);
    worker_stop(worker);
}

static void take_to_sixty(void *argument)
{
    struct squeeze *squeeze = argument;
    void *slot;

    while (squeeze->hold.count < 60 && (slot = cpool_depot_alloc(squeeze->pool)) != NULL)
        hold_add(&squeeze->hold, slot);
}

static void claim_meanwhile(void *argument)
{
    struct squeeze *squeeze = argument;

    worker_do(squeeze->worker, take_to_sixty, squeeze);
}

static bool shrink_at(struct worker *worker, size_t nth)
{
    cpool_t *pool = steps_pool(0, CAPACITY, 0, ROUNDS);
    struct squeeze squeeze = { .pool = pool, .worker = worker };
    size_t removed;
    bool met;

    hold_init(&squeeze.hold, squeeze.pool);
    while (squeeze.hold.count < 50)
        hold_add(&squeeze.hold, cpool_depot_alloc(squeeze.pool));
    steps_plan(NULL, nth, claim_meanwhile, &squeeze);
    removed = cpool_shrink(squeeze.pool, 50);
    met = steps_drop();
    growth_require_capacity(squeeze.pool, CAPACITY - removed);
    REQUIRE(squeeze.hold.count <= CAPACITY - removed);
    hold_take(&squeeze.hold, SIZE_MAX);
    REQUIRE_EQUAL(squeeze.hold.count, CAPACITY - removed);
    hold_free_all(&squeeze.hold);
    hold_fini(&squeeze.hold);
    support_destroy_empty(squeeze.pool);
    return met;
}

TEST(shrink_while_slots_are_claimed_keeps_the_capacity)
{
    struct worker *worker = worker_start();
    size_t nth = 1;

    while (shrink_at(worker, nth))
        nth++;
    REQUIRE(nth >= 2);
    worker_stop(worker);
}

static void grow_all(void *pool)
{
    REQUIRE(cpool_grow(pool, CAPACITY) > 0);
}

TEST(reserve_uses_the_room_that_another_thread_made)
{
    bool met = true;

    for (size_t nth = 1; met; nth++) {
        cpool_t *pool = steps_pool(0, TAKEN, CAPACITY, ROUNDS);

        steps_plan(NULL, nth, grow_all, pool);
        REQUIRE_EQUAL(cpool_reserve(pool, TAKEN + 1), 0);
        met = steps_drop();
        support_destroy_empty(pool);
    }
}
