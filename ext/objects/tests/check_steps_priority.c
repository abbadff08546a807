/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_priority.c - a thread stops at every step of what it does with a priority pool,
 * and another one forks, or does the same.
 *
 * Includes steps_objects.h.
 */
#include "steps_objects.h" /* first: it says which system interfaces are wanted */

#include "granted.h"

#include <cpool/priority.h>

enum { OBJECTS = 4 };

static cpool_objects_t *make_pool(cpool_object_type_t *type, unsigned flags)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_objects_t *pool;

    type->object_size = 64;
    config.type = type;
    config.capacity = OBJECTS;
    config.flags = flags | CPOOL_OBJECT_PRIORITY;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    return pool;
}

static struct granted obtain(cpool_objects_t *pool, int64_t priority)
{
    struct granted grant = {0};

    REQUIRE_EQUAL(object_granted(pool, priority, &grant), 0);
    return grant;
}

struct player {
    cpool_objects_t *pool;
    cpool_claim_t claims[OBJECTS];
    struct granted grant;
};

static struct player begin_of(cpool_object_type_t *type, unsigned flags)
{
    struct player player = {.pool = make_pool(type, flags)};

    for (int64_t i = 0; i < OBJECTS; i++)
        player.claims[i] = obtain(player.pool, i).claim;
    return player;
}

static struct player begin(unsigned flags)
{
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;

    return begin_of(&type, flags);
}

static void end(struct player *player)
{
    (void)cpool_objects_reset(player->pool, SIZE_MAX - 1);
    (void)cpool_objects_reset(player->pool, SIZE_MAX);
    REQUIRE_EQUAL(cpool_objects_destroy(player->pool), 0);
}

/* --- Fork --- */

/* Takes the first object, and works with the last one. */
static void play(void *argument)
{
    struct player *player = argument;

    player->grant = obtain(player->pool, 10);
    REQUIRE_EQUAL(cpool_priority_set(player->pool, player->claims[OBJECTS - 1], 11), 0);
    REQUIRE_EQUAL(cpool_priority_put(player->pool, player->grant.claim), 0);
}

/* All objects can be had but the kept one, and the object that the vanished thread had in
 * hand. */
static void take_in_child(void *argument)
{
    struct player *player = argument;
    cpool_claim_t kept = player->claims[2];
    size_t second = 0;

    steps_allow(0);
    for (int i = 0; i < 2 * OBJECTS; i++) {
        cpool_claim_t ended = obtain(player->pool, 20).ended;

        REQUIRE(ended != kept);
        second += ended == player->claims[1];
    }
    REQUIRE_EQUAL(second, 1);
    REQUIRE_EQUAL(cpool_priority_set(player->pool, kept, 0), 0);
    REQUIRE(obtain(player->pool, 20).ended == kept);
}

/* A fork that waits for the thread that stands still makes more steps than it may. */
static bool fork_beside_play(struct worker *worker, size_t nth)
{
    struct player player = begin(CPOOL_OBJECT_COUNTED);
    struct steps_stop stop;
    bool stopped;

    REQUIRE_EQUAL(cpool_priority_set(player.pool, player.claims[2], CPOOL_PRIORITY_KEPT), 0);
    stopped = steps_run(&stop, worker, NULL, nth, play, &player);
    steps_allow(1000);
    support_in_child(take_in_child, &player);
    steps_allow(0);
    steps_go_on(&stop);
    end(&player);
    return stopped;
}

TEST(fork_beside_a_priority_pool_does_not_wait)
{
    STEPS_SWEEP(fork_beside_play(worker, nth), 1, 20);
}

/* --- Fork beside an end --- */

static void destroy(void *pool)
{
    REQUIRE_EQUAL(cpool_objects_destroy(pool), CPOOL_ELIVE);
}

/* Ends a use in the dry pool, and each of the others, in every way. */
static void use_and_destroy(cpool_objects_t *pool)
{
    struct granted grants[OBJECTS];

    for (int i = 0; i < OBJECTS; i++)
        grants[i] = obtain(pool, i);
    REQUIRE(obtain(pool, OBJECTS).ended == grants[0].claim);
    REQUIRE_EQUAL(cpool_priority_put(pool, grants[1].claim), 0);
    cpool_object_put(pool, grants[2].object);
    REQUIRE_EQUAL(cpool_objects_reset(pool, 1), 1);
    REQUIRE_EQUAL(cpool_priority_set(pool, grants[3].claim, 1), CPOOL_EINACTIVE);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), 1);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}

static cpool_objects_stats_t stats_of(const cpool_objects_t *pool)
{
    cpool_objects_stats_t stats = CPOOL_OBJECTS_STATS_INIT;

    REQUIRE_EQUAL(cpool_objects_read_stats(pool, &stats), 0);
    return stats;
}

/* Another one, beside that which the vanished thread was destroying. */
static void use_other(void *pool)
{
    use_and_destroy(pool);
    use_and_destroy(make_pool(&(cpool_object_type_t)CPOOL_OBJECT_TYPE_INIT, 0));
}

static bool fork_beside_destroy(struct worker *worker, size_t nth)
{
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *older = make_pool(&type, 0);
    struct player player = begin(0);
    cpool_objects_t *newer = make_pool(&type, 0);
    struct steps_stop stop;
    bool stopped = steps_run(&stop, worker, NULL, nth, destroy, player.pool);

    steps_allow(5000);
    support_in_child(use_other, older);
    support_in_child(use_other, newer);
    steps_allow(0);
    steps_go_on(&stop);
    use_and_destroy(older);
    use_and_destroy(newer);
    return stopped;
}

TEST(child_of_a_fork_uses_priority_pools_beside_one_that_was_ending)
{
    STEPS_SWEEP(fork_beside_destroy(worker, nth), 1, 20);
}

/* --- Two gets --- */

static void obtain_one(void *argument)
{
    struct player *player = argument;

    player->grant = obtain(player->pool, 10);
}

static void resume(void *stop)
{
    steps_resume(stop);
}

/* The thread that stands still may have the pool's lock. */
static bool obtain_beside(unsigned flags, struct worker *worker, size_t nth)
{
    struct player player = begin(flags);
    struct steps_stop stop;
    struct granted ours;
    size_t ended = 0;
    bool stopped;

    stopped = steps_run(&stop, worker, NULL, nth, obtain_one, &player);
    steps_plan(STEPS_LOCK, 1, resume, &stop);
    ours = obtain(player.pool, 10);
    (void)steps_drop();
    steps_go_on(&stop);
    for (size_t i = 0; i < OBJECTS; i++) {
        bool told = ours.ended == player.claims[i] || player.grant.ended == player.claims[i];

        REQUIRE(told == (cpool_priority_set(player.pool, player.claims[i], 0) != 0));
        ended += told;
    }
    REQUIRE_EQUAL(ended, 2);
    end(&player);
    return stopped;
}

TEST_TIMES(each_use_that_a_get_ends_is_told, 2)
{
    STEPS_SWEEP(obtain_beside(_i == 0 ? 0 : CPOOL_OBJECT_FAKE, worker, nth), 1, 5);
}

/* --- An object that lies in the pool --- */

static void put_and_shrink(void *argument)
{
    struct player *player = argument;

    REQUIRE_EQUAL(cpool_priority_put(player->pool, player->claims[2]), 0);
    REQUIRE_EQUAL(cpool_objects_resize(player->pool, -1, 0), 1);
    REQUIRE_EQUAL(stats_of(player->pool).inactive, 1);
}

/* There is an inactive object all the time, though fewer objects than were active before. */
TEST(get_beside_put_and_shrink_ends_no_use)
{
    struct player player = begin(0);

    REQUIRE_EQUAL(cpool_priority_put(player.pool, player.claims[3]), 0);
    steps_plan("cpi_object_is_used_up", 2, put_and_shrink, &player);
    player.grant = obtain(player.pool, 10);
    REQUIRE(steps_drop());
    REQUIRE_EQUAL(player.grant.ended, 0);
    REQUIRE_EQUAL(obtain(player.pool, 20).ended, player.claims[0]);
    end(&player);
}

static bool unfit;

static int be_fit(void *object, void *arg)
{
    (void)object;
    (void)arg;
    return unfit ? 7 : 0;
}

/* Its get takes an object from another one, and can neither activate nor replace it. */
static void obtain_in_vain(void *argument)
{
    struct player *player = argument;
    struct granted grant = {0};

    unfit = true;
    REQUIRE_EQUAL(object_granted(player->pool, 10, &grant), 7);
}

/* An object that was put back is there for the next get. */
static void obtain_and_put(void *argument)
{
    struct player *player = argument;

    unfit = false;
    for (int i = 0; i < 3; i++) {
        struct granted grant = obtain(player->pool, 20);

        REQUIRE(i == 0 || grant.ended == 0);
        REQUIRE_EQUAL(cpool_priority_put(player->pool, grant.claim), 0);
    }
}

/* Stops where the object of a get that fails is uncounted and given up. */
TEST_TIMES(get_that_fails_is_counted_out_before_its_room_is_free, 6)
{
    static const char *const functions[] = { "uncount_active", "cpi_object_vacate",
                                             "cpi_object_count_out" };
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    struct worker *worker = worker_start();
    struct player player;
    struct steps_stop stop;

    type.create = be_fit;
    type.activate = be_fit;
    unfit = false;
    player = begin_of(&type, 0);
    REQUIRE(steps_run(&stop, worker, functions[_i / 2], 1, obtain_in_vain, &player));
    if (_i % 2 == 0)
        support_in_child(obtain_and_put, &player);
    else
        obtain_and_put(&player);
    unfit = true;
    steps_go_on(&stop);
    worker_stop(worker);
    end(&player);
}
