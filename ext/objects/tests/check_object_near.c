/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_object_near.c - which object a get takes: one of the thread's own, a new one, or one that
 * another thread has in its cache.
 *
 * Includes object.h, growth.h.
 */
#include "object.h"

#include "growth.h"

#include <errno.h>
#include <string.h>

enum { OBJECTS = 4,
       ROOM = 400,
       ROUNDS = 50 };

/* A get by each way. */
static const struct {
    bool hooks;
    unsigned flags;
} ways[] = {
    {false, 0},
    {true, 0},
    {true, CPOOL_OBJECT_EAGER},
    {true, CPOOL_OBJECT_COUNTED},
    {true, CPOOL_OBJECT_TRACED},
    {true, CPOOL_OBJECT_WAITABLE},
    {true, CPOOL_CHECKED},
};

enum { WAYS = sizeof(ways) / sizeof(ways[0]),
       WAITABLE = 5 };

static struct account account;
static cpool_objects_t *pool;

static cpool_objects_config_t configure(int way, size_t capacity)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;

    config.name = "near";
    config.capacity = capacity;
    config.flags = ways[way].flags;
    return config;
}

static void open_pool(int way, cpool_objects_config_t *config)
{
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;

    memset(&account, 0, sizeof account);
    type.object_size = sizeof(struct thing);
    if (ways[way].hooks) {
        type = thing_type(&account);
        config->reset = thing_pool_reset;
    }
    pool = thing_pool(config, &type);
}

/* So many objects in the hands of one thread. */
struct held {
    void *object[OBJECTS];
    size_t n;
};

static void get_all(void *argument)
{
    struct held *hold = argument;

    for (size_t i = 0; i < hold->n; i++) {
        hold->object[i] = cpool_object_get(pool);
        REQUIRE(hold->object[i] != NULL);
    }
}

static void put_all(void *argument)
{
    struct held *hold = argument;

    for (size_t i = 0; i < hold->n; i++)
        cpool_object_put(pool, hold->object[i]);
}

static void get_and_put_all(void *argument)
{
    get_all(argument);
    put_all(argument);
}

static uint64_t recalls(void)
{
    return support_stats(cpool_objects_pool(pool)).reclaims;
}

static bool is_in(const struct held *hold, const void *object)
{
    for (size_t i = 0; i < hold->n; i++)
        if (hold->object[i] == object)
            return true;
    return false;
}

TEST_TIMES(threads_with_room_keep_their_objects, WAYS)
{
    cpool_objects_config_t config = configure(_i, ROOM);
    struct worker *worker = worker_start();
    struct held theirs = {.n = OBJECTS};
    struct held ours = {.n = OBJECTS};

    open_pool(_i, &config);
    for (int i = 0; i < ROUNDS; i++) {
        worker_do(worker, get_and_put_all, &theirs);
        get_and_put_all(&ours);
        REQUIRE_EQUAL(thing_stats(pool).creations, 2 * OBJECTS);
        for (size_t k = 0; k < OBJECTS; k++)
            REQUIRE(!is_in(&theirs, ours.object[k]));
    }
    REQUIRE_EQUAL(recalls(), 0);
    worker_stop(worker);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}

TEST_TIMES(get_at_the_capacity_finds_what_another_thread_has, WAYS)
{
    cpool_objects_config_t config = configure(_i, OBJECTS);
    struct worker *worker = worker_start();
    struct held theirs = {.n = OBJECTS};
    struct held ours = {.n = OBJECTS};

    open_pool(_i, &config);
    worker_do(worker, get_and_put_all, &theirs);
    get_all(&ours);
    REQUIRE(cpool_object_get(pool) == NULL);
    REQUIRE_EQUAL(thing_stats(pool).creations, OBJECTS);
    for (size_t k = 0; k < OBJECTS; k++)
        REQUIRE(is_in(&theirs, ours.object[k]));
    put_all(&ours);
    worker_stop(worker);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}

TEST_TIMES(pool_that_grows_looks_everywhere_before_it_grows, WAYS)
{
    cpool_objects_config_t config = configure(_i, 0);
    struct worker *worker = worker_start();
    struct held theirs = {.n = OBJECTS};
    struct held ours = {.n = OBJECTS};

    config.growth = 1;
    config.max_capacity = ROOM;
    open_pool(_i, &config);
    worker_do(worker, get_and_put_all, &theirs);
    get_and_put_all(&ours);
    REQUIRE_EQUAL(thing_stats(pool).capacity, OBJECTS);
    worker_stop(worker);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}

/* Otherwise each put beside a full cache of another thread would destroy what the get before it
 * created. */
TEST_TIMES(few_inactive_objects_are_looked_for_everywhere, WAYS)
{
    cpool_objects_config_t config = configure(_i, ROOM);
    struct worker *worker = worker_start();
    struct held theirs = {.n = OBJECTS};
    struct held ours = {.n = OBJECTS};

    config.max_inactive = OBJECTS;
    open_pool(_i, &config);
    worker_do(worker, get_and_put_all, &theirs);
    get_and_put_all(&ours);
    REQUIRE_EQUAL(thing_stats(pool).creations, OBJECTS);
    worker_stop(worker);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}

TEST_TIMES(get_that_cannot_create_takes_what_another_thread_has, WAYS)
{
    cpool_objects_config_t config = configure(_i, ROOM);
    struct worker *worker = worker_start();
    struct held theirs = {.n = 1};
    void *object;

    open_pool(_i, &config);
    worker_do(worker, get_and_put_all, &theirs);
    account.create_fails = EIO;
    REQUIRE_EQUAL(cpool_object_get_with(pool, &object, NULL), 0);
    REQUIRE(!ways[_i].hooks || object == theirs.object[0]);
    if (ways[_i].hooks)
        REQUIRE_EQUAL(cpool_object_get_with(pool, &theirs.object[0], NULL), EIO);
    cpool_object_put(pool, object);
    worker_stop(worker);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}

/* The slots for threads that wait, which it passes by in its own cache, are there again. */
TEST(get_that_looks_everywhere_leaves_the_offers)
{
    cpool_objects_config_t config = configure(WAITABLE, OBJECTS);
    struct worker *worker = worker_start();
    struct held theirs = {.n = 1};
    struct held ours = {.n = 1};
    struct figures stats;

    config.growth = 1;
    config.max_capacity = OBJECTS;
    open_pool(WAITABLE, &config);
    worker_do(worker, get_and_put_all, &theirs);
    REQUIRE_EQUAL(cpool_objects_resize(pool, 1 - OBJECTS, 0), OBJECTS - 1);
    get_all(&ours);
    REQUIRE(is_in(&theirs, ours.object[0]));
    stats = support_stats(cpool_objects_pool(pool));
    REQUIRE(stats.in_caches + stats.in_depot > 0);
    put_all(&ours);
    worker_stop(worker);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}

/* How many slots a thread takes at once, in pools of so many objects of so many bytes. */
static const struct {
    size_t capacity, size;
    unsigned flags;
    size_t slots;
} stretches[] = {
    {1 << 15, 64, 0, 1024},
    {1 << 15, 8, 0, 1024}, /* no more records than that */
    {1 << 15, 1000, 0, 64},
    {1 << 15, 8192, 0, 16},
    {64, 1 << 17, 0, 1},
    {4096, 64, 0, 256},
    {500, 64, 0, 16},
    {10, 64, 0, 10},
    {1 << 15, 64, CPOOL_OBJECT_WAITABLE, 1},
};

enum { STRETCHES = sizeof(stretches) / sizeof(stretches[0]) };

static size_t slots_between(const void *one, const void *other)
{
    return ((uintptr_t)other - (uintptr_t)one) /
           support_stats(cpool_objects_pool(pool)).slot_stride;
}

/* The calling thread, which has created the pool, has the first stretch. */
static void require_far(struct worker *worker, size_t capacity, size_t slots)
{
    struct held theirs = {.n = 1};
    struct held ours = {.n = 1};
    struct held more = {.n = 1};

    get_all(&ours);
    worker_do(worker, get_all, &theirs);
    get_all(&more);
    if (slots < capacity)
        REQUIRE_EQUAL(slots_between(ours.object[0], theirs.object[0]), slots);
    REQUIRE_EQUAL(slots_between(ours.object[0], more.object[0]),
                  slots == 1 || slots == capacity ? 2u : 1u);
    put_all(&ours);
    put_all(&theirs);
    put_all(&more);
}

/* There are 64 places for stretches, and so many threads have one each. */
enum { WORKERS = 20 };

TEST_TIMES(threads_create_objects_far_from_each_other, STRETCHES)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    struct worker *workers[WORKERS];

    type.object_size = stretches[_i].size;
    config.type = &type;
    config.capacity = stretches[_i].capacity;
    config.flags = stretches[_i].flags;
    for (int n = 0; n < WORKERS; n++) {
        workers[n] = worker_start();
        REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
        require_far(workers[n], config.capacity, stretches[_i].slots);
        REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    }
    for (int n = 0; n < WORKERS; n++)
        worker_stop(workers[n]);
}

/* More threads than places for stretches, so that some of them share one. */
enum { MANY_THREADS = 80,
       MANY_OBJECTS = 8000,
       EACH = 130 };

static pthread_barrier_t together;

static void *create_some(void *count)
{
    size_t *created = count;

    pthread_barrier_wait(&together);
    while (*created < EACH && cpool_object_get(pool) != NULL)
        ++*created;
    return NULL;
}

TEST(threads_create_as_many_objects_as_there_is_room_for)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    pthread_t threads[MANY_THREADS];
    size_t created[MANY_THREADS] = {0};
    size_t sum = 0;

    type.object_size = 8;
    config.type = &type;
    config.capacity = MANY_OBJECTS;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    REQUIRE_EQUAL(pthread_barrier_init(&together, NULL, MANY_THREADS), 0);
    for (size_t i = 0; i < MANY_THREADS; i++)
        threads[i] = support_start(create_some, &created[i]);
    for (size_t i = 0; i < MANY_THREADS; i++) {
        support_join(threads[i]);
        sum += created[i];
    }
    REQUIRE_EQUAL(sum, MANY_OBJECTS);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), MANY_OBJECTS);
    REQUIRE_EQUAL(pthread_barrier_destroy(&together), 0);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}
