/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_priority_threads.c - priority pools under several threads that take objects from
 * each other, and in the child of a fork.
 *
 * Includes object.h.
 */
#include "object.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <cpool/priority.h>

/* A thread wants more than there is, so that it takes objects from others, and from itself where
 * the others have not begun. */
enum { THREADS = 4, HELD = 16, CAPACITY = 10 };

static const unsigned kinds[] = { 0, CPOOL_OBJECT_COUNTED | CPOOL_OBJECT_EAGER, CPOOL_OBJECT_FAKE };

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static struct account account;
static cpool_object_type_t type;
static cpool_objects_t *pool;

static void make(int kind)
{
    cpool_object_config_t config = CPOOL_OBJECT_CONFIG_INIT;

    memset(&account, 0, sizeof account);
    type = thing_type(&account);
    config.reset = thing_pool_reset;
    config.capacity = CAPACITY;
    config.flags = kinds[kind];
    pool = thing_pool(&config, &type);
    REQUIRE_EQUAL(cpool_priority_attach(pool, 0), 0);
}

/*
 * ---- Together ------------------------------------------------------------
 */

struct player {
    uint64_t random;
    cpool_claim_t claims[HELD]; /* some of which other threads have ended */
    size_t granted, ended, put, released;
};

/* A pinned object is this thread's alone, though others want it. */
static void work_with(cpool_claim_t claim)
{
    struct thing *thing = cpool_priority_pin(pool, claim);

    if (thing == NULL)
        return;
    REQUIRE(thing->state == THING_ACTIVE && thing->holders++ == 0);
    sched_yield();
    REQUIRE(thing->state == THING_ACTIVE && --thing->holders == 0);
    REQUIRE_EQUAL(cpool_priority_unpin(pool, claim), 0);
}

static void take_one(struct player *player, size_t i)
{
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    int code;

    if (player->claims[i] != 0 && cpool_priority_put(pool, player->claims[i]) == 0)
        player->put++;
    player->claims[i] = 0;
    code = cpool_priority_obtain(pool, (int64_t)random_below(&player->random, 9), &grant);
    if (code == CPOOL_EDRY)
        return;
    REQUIRE_EQUAL(code, 0);
    player->claims[i] = grant.claim;
    player->granted++;
    player->ended += grant.ended != 0;
}

static void *play(void *argument)
{
    struct player *player = argument;
    int rounds = SUPPORT_COUNT(10000, 1000);

    for (int round = 0; round < rounds; round++) {
        size_t i = random_below(&player->random, HELD);

        switch (random_below(&player->random, 7)) {
        case 0:
            player->released += cpool_priority_reclaim(pool, 1);
            break;
        case 1:
            (void)cpool_priority_set(pool, player->claims[i], (int64_t)i);
            break;
        case 2:
        case 3:
            work_with(player->claims[i]);
            break;
        default:
            take_one(player, i);
        }
    }
    return NULL;
}

/* Each use ends once: it was reclaimed, put back or released, or it is still there. */
TEST_TIMES(threads_take_objects_from_each_other, KINDS)
{
    static struct player players[THREADS];
    pthread_t threads[THREADS];
    struct player all = { .random = 0 };
    size_t active;

    make(_i);
    for (size_t i = 0; i < THREADS; i++) {
        players[i] = (struct player){ .random = i + 1 };
        threads[i] = support_start(play, &players[i]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        support_join(threads[i]);
        all.granted += players[i].granted;
        all.ended += players[i].ended;
        all.put += players[i].put;
        all.released += players[i].released;
    }
    active = thing_stats(pool).active;
    thing_require(pool, &account, active);
    REQUIRE(all.granted > 0 && all.ended > 0 && all.put > 0 && all.released > 0);
    REQUIRE_EQUAL(account.activated, all.granted);
    REQUIRE_EQUAL(account.deactivated + active, all.granted);
    REQUIRE_EQUAL(all.ended + all.put + all.released + active, all.granted);
    REQUIRE_EQUAL(cpool_priority_reclaim(pool, SIZE_MAX), active);
    thing_end(pool, &account);
}

/*
 * ---- Fork ----------------------------------------------------------------
 */

static _Atomic bool over;

static void *keep_busy(void *unused)
{
    cpool_grant_t grant = CPOOL_GRANT_INIT;

    (void)unused;
    while (!over)
        REQUIRE_EQUAL(cpool_priority_obtain(pool, 0, &grant), 0);
    return NULL;
}

/* The other threads' objects are active in the child, and can be reclaimed, but for those
 * that were in a hook or on their way. */
static void use_in_child(void *unused)
{
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    cpool_claim_t last = 0;

    (void)unused;
    for (int i = 0; i < CAPACITY; i++) {
        REQUIRE_EQUAL(cpool_priority_obtain(pool, 1, &grant), 0);
        REQUIRE(grant.claim != last);
        last = grant.claim;
    }
    REQUIRE(cpool_priority_pin(pool, last) == grant.object);
    REQUIRE_EQUAL(cpool_priority_put(pool, last), 0);
}

TEST(child_of_a_fork_goes_on_with_the_order)
{
    pthread_t threads[2];

    make(0);
    over = false;
    for (int i = 0; i < 2; i++)
        threads[i] = support_start(keep_busy, NULL);
    for (int i = SUPPORT_COUNT(30, 5); i > 0; i--)
        support_in_child(use_in_child, NULL);
    over = true;
    for (int i = 0; i < 2; i++)
        support_join(threads[i]);
    REQUIRE_EQUAL(cpool_objects_put_all(pool), CAPACITY);
    thing_end(pool, &account);
}
