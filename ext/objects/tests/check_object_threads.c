/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_object_threads.c - object pools under several threads, beside threads that wait, and
 * in the child of a fork.
 *
 * Includes object.h.
 */
#include "object.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, HELD = 12, CAPACITY = 30 };

static const struct {
    unsigned flags;
    size_t max_inactive;
} kinds[] = {
    { 0, 0 },
    { CPOOL_OBJECT_EAGER | CPOOL_OBJECT_COUNTED, 0 },
    { CPOOL_OBJECT_TRACED, 5 },
    { CPOOL_OBJECT_WAITABLE, 0 },
    { CPOOL_OBJECT_WAITABLE, 5 },
    { CPOOL_CHECKED, 0 },
    { CPOOL_OBJECT_FAKE, 0 },
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static struct account account;
static cpool_object_type_t type;
static cpool_objects_t *pool;

static cpool_objects_config_t configure(int kind)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;

    memset(&account, 0, sizeof account);
    type = thing_type(&account);
    config.name = "things";
    config.reset = thing_pool_reset;
    config.capacity = CAPACITY;
    config.flags = kinds[kind].flags;
    config.max_inactive = kinds[kind].max_inactive;
    return config;
}

/*
 * ---- Together ------------------------------------------------------------
 */

struct player {
    uint64_t random;
    struct thing *held[HELD];
    size_t count;
    bool manages;
};

static void take_one(struct player *player)
{
    struct thing *thing = cpool_object_get(pool);

    if (thing == NULL)
        return;
    REQUIRE(thing->state == THING_ACTIVE && thing->holders++ == 0);
    player->held[player->count++] = thing;
}

static void give_one(struct player *player)
{
    size_t i = random_below(&player->random, player->count);
    struct thing *thing = player->held[i];

    player->held[i] = player->held[--player->count];
    REQUIRE(--thing->holders == 0);
    cpool_object_put(pool, thing);
}

static void manage(struct player *player)
{
    size_t n = random_below(&player->random, 10);

    switch (random_below(&player->random, 4)) {
    case 0:
        REQUIRE(cpool_objects_resize(pool, (ptrdiff_t)n, 0) <= n);
        break;
    case 1:
        REQUIRE(cpool_objects_resize(pool, -(ptrdiff_t)n, 0) <= n);
        break;
    case 2:
        REQUIRE(cpool_objects_populate(pool, n, NULL) <= n);
        break;
    default:
        cpool_objects_resize(pool, 0, 0);
    }
}

static void *play(void *argument)
{
    struct player *player = argument;
    int rounds = SUPPORT_COUNT(20000, 2000);

    for (int i = 0; i < rounds; i++) {
        if (player->manages && i % 16 == 0)
            manage(player);
        if (player->count < HELD &&
            (player->count == 0 || random_below(&player->random, 2) == 0))
            take_one(player);
        else
            give_one(player);
    }
    while (player->count > 0)
        give_one(player);
    return NULL;
}

TEST_TIMES(threads_share_objects_and_all_come_back, KINDS)
{
    cpool_objects_config_t config = configure(_i);
    static struct player players[THREADS];
    pthread_t threads[THREADS];

    config.max_capacity = 2 * CAPACITY;
    pool = thing_pool(&config, &type);
    for (size_t i = 0; i < THREADS; i++) {
        players[i] = (struct player){ .random = i + 1, .manages = i == 0 };
        threads[i] = support_start(play, &players[i]);
    }
    for (size_t i = 0; i < THREADS; i++)
        support_join(threads[i]);
    thing_require(pool, &account, 0);
    cpool_objects_resize(pool, CAPACITY, 0);
    for (size_t i = 0; i < thing_stats(pool).capacity; i++)
        REQUIRE(cpool_object_get(pool) != NULL);
    REQUIRE(cpool_object_get(pool) == NULL);
    thing_require(pool, &account, thing_stats(pool).capacity);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), thing_stats(pool).capacity);
    thing_end(pool, &account);
}

static struct thing *disputed;
static _Atomic size_t refused;
static pthread_barrier_t start;

static void *put_disputed(void *unused)
{
    (void)unused;
    for (int round = 0; round < 2000; round++) {
        pthread_barrier_wait(&start);
        cpool_object_put(pool, disputed);
        if (pthread_barrier_wait(&start) == PTHREAD_BARRIER_SERIAL_THREAD) {
            REQUIRE_EQUAL(refused, 1);
            refused = 0;
            disputed = cpool_object_get(pool);
            REQUIRE(disputed != NULL);
        }
        pthread_barrier_wait(&start);
    }
    return NULL;
}

static void count_refusal(const cpool_error_t *error, void *arg)
{
    (void)arg;
    REQUIRE_EQUAL(error->code, CPOOL_EINACTIVE);
    refused++;
}

/* With deactivate to run and without. */
TEST_TIMES(of_two_puts_of_one_object_one_is_refused, 2)
{
    cpool_objects_config_t config = configure(0);
    pthread_t other;

    config.capacity = 1;
    if (_i == 1) {
        type = (cpool_object_type_t)CPOOL_OBJECT_TYPE_INIT;
        type.object_size = sizeof(struct thing);
        config.reset = NULL;
    }
    pool = thing_pool(&config, &type);
    disputed = cpool_object_get(pool);
    cpool_set_error_handler((cpool_error_handler_t){ count_refusal, NULL });
    REQUIRE_EQUAL(pthread_barrier_init(&start, NULL, 2), 0);
    other = support_start(put_disputed, NULL);
    put_disputed(NULL);
    support_join(other);
    pthread_barrier_destroy(&start);
    cpool_set_error_handler((cpool_error_handler_t){ NULL, NULL });
    cpool_object_put(pool, disputed);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}

/*
 * ---- Waiting -------------------------------------------------------------
 */

enum { WAITED_FOR_PUT, WAITED_FOR_GROWTH, WAITED_IN_FAKE, WAITS };

/* Longer than any test takes that passes. */
static const uint64_t long_enough = UINT64_C(60000000000);

static void *wait_for_one(void *code)
{
    void *object;

    *(int *)code = object_wait(pool, &object, long_enough);
    return object;
}

/* Each event that makes a get possible wakes a thread that waits for it. */
TEST_TIMES(thread_that_waits_gets_an_object, WAITS)
{
    cpool_objects_config_t config = configure(_i == WAITED_IN_FAKE ? KINDS - 1 : 3);
    struct timespec moment = { 0, 1000000 };
    struct thing *thing;
    pthread_t waiter;
    void *object;
    int code;

    config.capacity = 1;
    config.max_capacity = 2;
    config.reset = NULL;
    pool = thing_pool(&config, &type);
    thing = cpool_object_get(pool);
    REQUIRE_EQUAL(object_wait(pool, &object, 1000000), CPOOL_EDRY);
    REQUIRE(object == NULL);
    waiter = support_start(wait_for_one, &code);
    nanosleep(&moment, NULL);
    if (_i == WAITED_FOR_GROWTH)
        REQUIRE_EQUAL(cpool_objects_resize(pool, 1, 0), 1);
    else
        cpool_object_put(pool, thing);
    REQUIRE_EQUAL(pthread_join(waiter, &object), 0);
    REQUIRE(code == 0 && object != NULL);
    REQUIRE(((struct thing *)object)->state == THING_ACTIVE);
    cpool_object_put(pool, object);
    if (_i == WAITED_FOR_GROWTH)
        cpool_object_put(pool, thing);
    thing_end(pool, &account);
}

enum { CROWD = 20 };

/* More threads than slots that are offered at once. */
TEST(growth_serves_all_threads_that_wait)
{
    cpool_objects_config_t config = configure(3);
    pthread_t waiters[CROWD];
    int codes[CROWD];
    void *object;

    config.capacity = 1;
    config.max_capacity = 1 + CROWD;
    config.reset = NULL;
    pool = thing_pool(&config, &type);
    REQUIRE(cpool_object_get(pool) != NULL);
    for (size_t i = 0; i < CROWD; i++)
        waiters[i] = support_start(wait_for_one, &codes[i]);
    while (support_stats(cpool_objects_pool(pool)).waits < CROWD)
        sched_yield();
    REQUIRE_EQUAL(cpool_objects_resize(pool, CROWD, 0), CROWD);
    for (size_t i = 0; i < CROWD; i++) {
        REQUIRE_EQUAL(pthread_join(waiters[i], &object), 0);
        REQUIRE(codes[i] == 0 && object != NULL);
    }
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), CROWD + 1);
    thing_end(pool, &account);
}

/* The pool may grow again by the object that the shrink destroys. */
TEST(thread_that_waits_gets_an_object_after_a_shrink)
{
    cpool_objects_config_t config = configure(3);
    pthread_t waiter;
    void *object;
    int code;

    config.capacity = 1;
    config.max_capacity = 2;
    config.growth = 1;
    config.reset = NULL;
    pool = thing_pool(&config, &type);
    for (size_t i = 0; i < 2; i++)
        REQUIRE(cpool_object_get(pool) != NULL);
    waiter = support_start(wait_for_one, &code);
    while (support_stats(cpool_objects_pool(pool)).waits == 0)
        sched_yield();
    REQUIRE_EQUAL(cpool_objects_resize(pool, -1, CPOOL_OBJECT_ACTIVE_TOO), 1);
    REQUIRE_EQUAL(pthread_join(waiter, &object), 0);
    REQUIRE(code == 0 && object != NULL);
    thing_require(pool, &account, 2);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), 2);
    thing_end(pool, &account);
}

static _Thread_local bool fails_here;
static pthread_t late;
static int late_code;

/* While the object is in this hook, the pool is dry, and another thread waits. */
static int activate_with_a_waiter(void *object, void *arg)
{
    if (!fails_here)
        return thing_activate(object, arg);
    late = support_start(wait_for_one, &late_code);
    while (support_stats(cpool_objects_pool(pool)).waits == 0)
        sched_yield();
    return EPIPE;
}

static int create_elsewhere(void *object, void *arg)
{
    return fails_here ? EIO : thing_create(object, arg);
}

/* The slot of an object that could not be replaced is there for the thread that waits. */
TEST(thread_that_waits_creates_where_another_failed)
{
    cpool_objects_config_t config = configure(3);
    struct thing *thing;
    void *object;

    type.create = create_elsewhere;
    type.activate = activate_with_a_waiter;
    config.capacity = 1;
    pool = thing_pool(&config, &type);
    thing = cpool_object_get(pool);
    cpool_object_put(pool, thing);
    fails_here = true;
    REQUIRE_EQUAL(cpool_object_get_with(pool, &object, NULL), EIO);
    fails_here = false;
    REQUIRE_EQUAL(pthread_join(late, &object), 0);
    REQUIRE(late_code == 0 && object != NULL && account.created == 2);
    cpool_object_put(pool, object);
    thing_end(pool, &account);
}

static int create_with_a_waiter(void *object, void *arg)
{
    return fails_here ? activate_with_a_waiter(object, arg) : thing_create(object, arg);
}

/* The room that it had taken is there for the thread that waits. */
TEST(thread_that_waits_creates_where_a_populate_failed)
{
    cpool_objects_config_t config = configure(3);
    void *object;
    int code;

    type.create = create_with_a_waiter;
    config.capacity = 1;
    config.max_capacity = 1;
    pool = thing_pool(&config, &type);
    fails_here = true;
    REQUIRE_EQUAL(cpool_objects_populate(pool, 1, &code), 0);
    REQUIRE_EQUAL(code, EPIPE);
    fails_here = false;
    REQUIRE_EQUAL(pthread_join(late, &object), 0);
    REQUIRE(late_code == 0 && object != NULL);
    cpool_object_put(pool, object);
    thing_end(pool, &account);
}

static void *wait_and_put(void *unused)
{
    (void)unused;
    for (int i = SUPPORT_COUNT(3000, 300); i > 0; i--) {
        void *object;
        int code = object_wait(pool, &object, UINT64_MAX);

        REQUIRE(code == 0 || code == EAGAIN);
        if (code != 0)
            continue;
        REQUIRE(((struct thing *)object)->holders++ == 0);
        REQUIRE(--((struct thing *)object)->holders == 0);
        cpool_object_put(pool, object);
    }
    return NULL;
}

static _Atomic unsigned calls;

static int fail_at_times(void *object, void *arg)
{
    if (++calls % 3 == 0)
        return EAGAIN;
    return thing_create(object, arg);
}

static int fail_activation_at_times(void *object, void *arg)
{
    if (++calls % 5 == 0)
        return EAGAIN;
    return thing_activate(object, arg);
}

/* Objects fail and are replaced while threads wait: none of them waits for ever. */
TEST_TIMES(threads_that_wait_beside_failing_hooks_go_on, 2)
{
    cpool_objects_config_t config = configure(3);
    pthread_t threads[THREADS];

    type.create = fail_at_times;
    type.activate = fail_activation_at_times;
    config.capacity = 2;
    config.max_inactive = _i == 1 ? 1 : 0;
    pool = thing_pool(&config, &type);
    for (size_t i = 0; i < THREADS; i++)
        threads[i] = support_start(wait_and_put, NULL);
    for (size_t i = 0; i < THREADS; i++)
        support_join(threads[i]);
    thing_require(pool, &account, 0);
    thing_end(pool, &account);
}

/*
 * ---- Fork ----------------------------------------------------------------
 */

static void use_in_child(void *held)
{
    struct thing *thing = held;
    void *objects[CAPACITY];
    size_t count = 0;

    while (count < CAPACITY && (objects[count] = cpool_object_get(pool)) != NULL)
        count++;
    REQUIRE(count >= CAPACITY - 1 - 3);
    while (count > 0)
        cpool_object_put(pool, objects[--count]);
    REQUIRE(thing->state == THING_ACTIVE);
    cpool_object_put(pool, thing);
}

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

TEST(time_to_wait_is_waited)
{
    cpool_objects_config_t config = configure(0);
    struct thing *thing;
    void *object;
    double before;

    config.capacity = 1;
    config.growth = 0;
    config.flags |= CPOOL_OBJECT_WAITABLE;
    pool = thing_pool(&config, &type);
    thing = cpool_object_get(pool);
    before = seconds_now();
    REQUIRE_EQUAL(object_wait(pool, &object, 50000000), CPOOL_EDRY);
    REQUIRE(seconds_now() - before >= 0.05);
    cpool_object_put(pool, thing);
    thing_end(pool, &account);
}

/* A hook's code ends the wait, also one that the pool itself could return. */
TEST_TIMES(hook_that_says_dry_ends_the_wait, 2)
{
    cpool_objects_config_t config = configure(_i == 0 ? KINDS - 1 : 3);
    const uint64_t some_time = 20000000;
    void *object = &config;

    config.capacity = 2;
    pool = thing_pool(&config, &type);
    account.create_fails = CPOOL_EDRY;
    REQUIRE_EQUAL(object_wait(pool, &object, some_time), CPOOL_EDRY);
    REQUIRE(object == NULL && thing_stats(pool).hook_failures == 1);
    account.create_fails = 0;
    REQUIRE_EQUAL(object_wait(pool, &object, some_time), 0);
    cpool_object_put(pool, object);
    thing_end(pool, &account);
}

TEST_TIMES(hook_that_says_dry_ends_the_creation, KINDS - 1)
{
    cpool_objects_config_t config = configure(_i);

    config.type = &type;
    config.populate = 4;
    account.create_fails = CPOOL_EDRY;
    account.after = 3;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), CPOOL_EDRY);
    REQUIRE(pool == NULL && account.created == 3 && account.destroyed == 3);
}

static _Atomic bool over;

static void *churn(void *unused)
{
    (void)unused;
    while (!over) {
        void *object = cpool_object_get(pool);

        if (object != NULL)
            cpool_object_put(pool, object);
    }
    return NULL;
}

/* The thread that churns may have one object in its hands, or magazines of them. */
TEST_TIMES(child_of_a_fork_goes_on_with_the_pool, KINDS - 1)
{
    cpool_objects_config_t config = configure(_i);
    struct thing *thing;
    pthread_t thread;

    pool = thing_pool(&config, &type);
    thing = cpool_object_get(pool);
    over = false;
    thread = support_start(churn, NULL);
    for (int i = 0; i < 20; i++)
        support_in_child(use_in_child, thing);
    over = true;
    support_join(thread);
    cpool_object_put(pool, thing);
    thing_require(pool, &account, 0);
    thing_end(pool, &account);
}
