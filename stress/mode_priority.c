/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_priority.c - priority pools with fewer objects than the threads want.
 *
 * Includes worker.h.  Any thread's get may end the use of any object.  A holder keeps its object
 * while it accesses it (CPOOL_PRIORITY_KEPT).  Each use has one end: the put that succeeds, the get
 * that reclaims the object, or the release.  All are counted, and must add up to the gets.  The
 * hook deactivate notices if a kept object is reclaimed, and activate if one is handed out twice.
 *
 * In episodes without puts the threads exchange their claims, and set the priorities of each
 * other's objects.  There only a get keeps its object, before other threads know the claim.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

#include <cpool/priority.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define PRIORITY_MOST 48
#define PRIORITY_CLAIMS 32
#define PRIORITY_PLACES 64

enum priority_state { PRIORITY_RESTING = 0x5001, PRIORITY_ACTIVE };

struct voice {
    uint64_t state;       /* plain: the pool orders it */
    cpool_claim_t claim;  /* the holder's, written while the object is kept, or 0 */
    int64_t priority;     /* with which it was got, if there is a claim */
    _Atomic bool kept;
};

struct priority {
    cpool_objects_t *pool;
    unsigned flags;
    size_t capacity;
    bool puts;  /* or the threads share their claims */
    bool moves; /* priorities of objects change */
    _Atomic uint64_t created, destroyed;
    _Atomic uint64_t begun, ended; /* uses */
    _Atomic cpool_claim_t claims[PRIORITY_PLACES];
};

/* ---- Hooks --------------------------------------------------------------------- */

static int priority_create(void *object, void *arg)
{
    struct voice *voice = object;
    struct priority *priority = arg;

    memset(voice, 0, sizeof *voice);
    voice->state = PRIORITY_RESTING;
    priority->created++;
    return 0;
}

static int priority_activate(void *object, void *arg)
{
    struct voice *voice = object;

    (void)arg;
    STRESS_REQUIRE(voice->state == PRIORITY_RESTING && !voice->kept);
    voice->state = PRIORITY_ACTIVE;
    return 0;
}

static void priority_deactivate(void *object, void *arg)
{
    struct voice *voice = object;

    (void)arg;
    STRESS_REQUIRE(voice->state == PRIORITY_ACTIVE);
    if (voice->kept)
        stress_fail("a kept object was taken back");
    voice->state = PRIORITY_RESTING;
}

static void priority_destroy(void *object, void *arg)
{
    struct voice *voice = object;
    struct priority *priority = arg;

    STRESS_REQUIRE(voice->state == PRIORITY_RESTING);
    voice->state = 0;
    priority->destroyed++;
}

/* ---- Threads ------------------------------------------------------------------- */

/* A use that this thread has begun. */
struct hold {
    cpool_claim_t claim;
    struct voice *voice;
};

/* Keeps the object of a use, unless the use has ended. */
static bool priority_enter(const struct priority *priority, struct hold hold)
{
    if (cpool_priority_set(priority->pool, hold.claim, CPOOL_PRIORITY_KEPT) != 0)
        return false;
    hold.voice->kept = true;
    STRESS_REQUIRE(hold.voice->state == PRIORITY_ACTIVE);
    return true;
}

static void priority_leave(const struct priority *priority, struct hold hold)
{
    STRESS_REQUIRE(hold.voice->state == PRIORITY_ACTIVE);
    hold.voice->kept = false;
    STRESS_REQUIRE(cpool_priority_set(priority->pool, hold.claim, hold.voice->priority) == 0);
}

/* The use that ended for this one had a priority not above it, if the priorities do not change. */
static void priority_compare(const struct priority *priority, const struct voice *voice,
                             cpool_claim_t ended, int64_t wanted)
{
    bool kept = (priority->flags & CPOOL_OBJECT_KEEP_LARGER) != 0;

    if (kept && !priority->moves && voice->claim == ended && voice->priority > wanted)
        stress_fail("an object of priority %lld was reclaimed by one of %lld",
                    (long long)voice->priority, (long long)wanted);
}

static struct hold priority_get(struct worker *worker, struct priority *priority)
{
    int64_t wanted = (int64_t)random_below(&worker->random, 100) - 50;
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    struct hold hold = {0, NULL};
    void *object;
    int code;

    grant.priority = wanted;
    code = cpool_object_get_with(priority->pool, &object, &grant);
    STRESS_REQUIRE(code == 0 || code == CPOOL_EDRY);
    if (code != 0) {
        worker->dry++;
        return hold;
    }
    hold = (struct hold){grant.claim, object};
    worker->operations++;
    priority->begun++;
    priority->ended += grant.ended != 0;
    STRESS_REQUIRE(grant.claim != 0 && grant.claim != grant.ended);
    if (!priority_enter(priority, hold))
        return hold; /* reclaimed already */
    if (grant.ended != 0)
        priority_compare(priority, hold.voice, grant.ended, wanted);
    hold.voice->claim = grant.claim;
    hold.voice->priority = wanted;
    priority_leave(priority, hold);
    return hold;
}

static void priority_put(struct worker *worker, struct priority *priority, cpool_claim_t claim)
{
    int code = cpool_priority_put(priority->pool, claim);

    STRESS_REQUIRE(code == 0 || code == CPOOL_EINACTIVE);
    priority->ended += code == 0;
    worker->operations += code == 0;
    /* The use has ended, and must not begin again. */
    STRESS_REQUIRE(cpool_priority_put(priority->pool, claim) == CPOOL_EINACTIVE);
    STRESS_REQUIRE(cpool_priority_set(priority->pool, claim, 0) == CPOOL_EINACTIVE);
}

static void priority_move(struct worker *worker, const struct priority *priority,
                          cpool_claim_t claim)
{
    int64_t wanted = (int64_t)random_below(&worker->random, 100) - 50;
    int code;

    if (!priority->moves)
        return;
    code = cpool_priority_set(priority->pool, claim, wanted);
    STRESS_REQUIRE(code == 0 || code == CPOOL_EINACTIVE);
}

/* Uses an object whose claim no other thread knows. */
static void priority_use(const struct priority *priority, struct hold hold)
{
    if (!priority->puts || hold.claim == 0 || !priority_enter(priority, hold))
        return;
    STRESS_REQUIRE(hold.voice->claim == hold.claim);
    priority_leave(priority, hold);
}

static void priority_step(struct worker *worker, struct priority *priority, struct hold *hold)
{
    size_t place = random_below(&worker->random, PRIORITY_PLACES);

    switch (random_below(&worker->random, 8)) {
    case 0:
        priority_move(worker, priority, hold->claim);
        break;
    case 1:
        if (!priority->puts) /* from now on another thread's */
            hold->claim = atomic_exchange(&priority->claims[place], hold->claim);
        break;
    case 2:
    case 3:
        priority_use(priority, *hold);
        break;
    case 4:
        if (random_once_in(&worker->random, 20))
            priority->ended += cpool_objects_reset(priority->pool, 3);
        break;
    default:
        if (priority->puts && hold->claim != 0)
            priority_put(worker, priority, hold->claim);
        *hold = priority_get(worker, priority);
    }
}

static void priority_body(struct worker *worker)
{
    struct priority *priority = worker->context;
    struct hold holds[PRIORITY_CLAIMS] = {{0, NULL}};

    while (!episode_over(worker->episode))
        priority_step(worker, priority, &holds[random_below(&worker->random, PRIORITY_CLAIMS)]);
    for (size_t i = 0; i < PRIORITY_CLAIMS && priority->puts; i++)
        if (holds[i].claim != 0)
            priority_put(worker, priority, holds[i].claim);
}

static void priority_meanwhile(struct episode *episode, void *context)
{
    struct priority *priority = context;
    uint64_t *random = &episode->random;
    cpool_object_info_t info = CPOOL_OBJECT_INFO_INIT;

    switch (random_below(random, 4)) {
    case 0:
        cpool_objects_resize(priority->pool, -(ptrdiff_t)(random_below(random, 4)), 0);
        break;
    case 1:
        cpool_objects_resize(priority->pool, PRIORITY_MOST, 0);
        break;
    case 2:
        cpool_objects_resize(priority->pool, 0, 0);
        break;
    default:
        while (cpool_objects_next(priority->pool, &info) != NULL)
            STRESS_REQUIRE(info.index < PRIORITY_MOST);
    }
    sched_yield();
}

/* ---- The episode --------------------------------------------------------------- */

static void priority_open(struct priority *priority, uint64_t *random)
{
    static const unsigned flags[] = {0, CPOOL_OBJECT_EAGER, CPOOL_OBJECT_COUNTED,
                                     CPOOL_OBJECT_TRACED, CPOOL_OBJECT_FAKE};
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;

    memset(priority, 0, sizeof *priority);
    priority->flags = random_once_in(random, 2) ? CPOOL_OBJECT_KEEP_LARGER : 0;
    priority->puts = random_once_in(random, 2);
    priority->moves = random_once_in(random, 2);
    type.object_size = sizeof(struct voice);
    type.create = priority_create;
    type.activate = priority_activate;
    type.deactivate = priority_deactivate;
    type.destroy = priority_destroy;
    type.arg = priority;
    config.name = "voices";
    config.type = &type;
    config.capacity = random_between(random, 1, PRIORITY_MOST);
    config.max_capacity = PRIORITY_MOST;
    config.max_inactive = random_once_in(random, 3) ? random_between(random, 1, 8) : 0;
    config.flags = flags[random_below(random, sizeof flags / sizeof flags[0])];
    config.flags |= CPOOL_OBJECT_PRIORITY | priority->flags;
    STRESS_REQUIRE(cpool_objects_create(&priority->pool, &config) == 0);
}

/* Each use has ended once, or is that of an active object. */
static void priority_audit(struct priority *priority)
{
    cpool_objects_stats_t stats = CPOOL_OBJECTS_STATS_INIT;
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    void *object;
    size_t got = 0;

    STRESS_REQUIRE(cpool_objects_read_stats(priority->pool, &stats) == 0);
    if (priority->begun - priority->ended != stats.active)
        stress_fail("%llu uses began and %llu ended, but %zu objects are active",
                    (unsigned long long)priority->begun, (unsigned long long)priority->ended,
                    stats.active);
    STRESS_REQUIRE(cpool_objects_reset(priority->pool, SIZE_MAX - 1) == stats.active);
    STRESS_REQUIRE(cpool_objects_read_stats(priority->pool, &stats) == 0 && stats.active == 0);
    cpool_objects_resize(priority->pool, PRIORITY_MOST, 0);
    while (cpool_object_get_with(priority->pool, &object, &grant) == 0 && grant.ended == 0)
        got++;
    if (got != PRIORITY_MOST)
        stress_fail("%zu of %u objects can be had before one is reclaimed", got, PRIORITY_MOST);
    STRESS_REQUIRE(cpool_objects_reset(priority->pool, SIZE_MAX) == PRIORITY_MOST);
    STRESS_REQUIRE(cpool_objects_destroy(priority->pool) == 0);
    STRESS_REQUIRE(priority->created == priority->destroyed);
}

static void priority_run(struct episode *episode)
{
    struct priority priority;

    priority_open(&priority, &episode->random);
    crew_run(episode, priority_body, &priority, priority_meanwhile);
    priority_audit(&priority);
}

const struct mode mode_priority = {
    .name = "priority",
    .purpose = "objects that any get may reclaim, unless they are kept",
    .run = priority_run,
};
