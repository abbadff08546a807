/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_object_retain.c - a thread that visits inactive objects stands still at any step,
 * and another one gets all objects, or forks and gets them in the child.
 *
 * Includes steps.h.
 */
#include "steps.h" /* first: it says which system interfaces are wanted */

#include <cpool/object.h>

enum { OBJECTS = 12 };

static cpool_objects_t *make_of(size_t objects, unsigned flags)
{
    cpool_object_config_t config = CPOOL_OBJECT_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;

    type.object_size = 64;
    config.type = &type;
    config.capacity = objects;
    config.populate = objects;
    config.flags = flags;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    return pool;
}

static cpool_objects_t *make_with(size_t objects)
{
    return make_of(objects, 0);
}

static cpool_objects_t *make(void)
{
    return make_with(OBJECTS);
}

static bool keep_odd(const cpool_object_idle_t *idle, void *arg)
{
    (void)arg;
    return idle->index % 2 != 0;
}

static void retain(void *pool)
{
    (void)cpool_object_retain(pool, 0, keep_odd, NULL);
}

/* Each object once. */
static size_t get_all(cpool_objects_t *pool)
{
    bool taken[OBJECTS] = {false};
    size_t count = 0;
    void *object;

    for (; (object = cpool_object_get(pool)) != NULL; count++) {
        size_t index = cpool_index(cpool_objects_pool(pool), object);

        REQUIRE(index < OBJECTS && !taken[index]);
        taken[index] = true;
    }
    return count;
}

/* A thread that vanished inside the pool of slots may have left all of them behind. */
static void get_in_child(void *pool)
{
    steps_allow(0);
    (void)get_all(pool);
    REQUIRE(cpool_object_get(pool) == NULL);
}

/* Without a fork it stops where it has one object in hand at most. */
static bool get_beside_retain(const char *function, struct worker *worker, size_t nth)
{
    cpool_objects_t *pool = make();
    struct steps_stop stop;
    bool stopped;

    retain(pool); /* so that the other one has its memory */
    REQUIRE_EQUAL(cpool_object_populate(pool, OBJECTS, NULL), OBJECTS / 2);
    stopped = steps_run(&stop, worker, function, nth, retain, pool);
    if (function == NULL)
        support_in_child(get_in_child, pool);
    else if (stopped)
        REQUIRE(get_all(pool) >= OBJECTS - 1);
    steps_go_on(&stop);
    (void)cpool_objects_reset(pool, SIZE_MAX);
    REQUIRE_EQUAL(get_all(pool), OBJECTS);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), OBJECTS);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    return stopped;
}

TEST_TIMES(objects_can_be_had_beside_a_retain, 3)
{
    const char *const functions[] = {NULL, "cpi_object_set_bit", "cpi_object_take_bit"};
    struct worker *worker = worker_start();
    size_t nth = 1;

    while (get_beside_retain(functions[_i], worker, nth))
        nth++;
    REQUIRE(nth > OBJECTS);
    worker_stop(worker);
}

/* --- Objects that a get overtakes --- */

struct get {
    struct steps_stop stop;
    cpool_objects_t *pool;
    void *object;
    int code;
};

static void get_one(void *argument)
{
    struct get *get = argument;

    get->code = cpool_object_obtain(get->pool, &get->object, NULL);
}

static bool keep_none(const cpool_object_idle_t *idle, void *arg)
{
    (void)idle;
    (void)arg;
    return false;
}

/* The get sees no room, then no inactive object, because the only one is destroyed, and then no
 * room again, because another thread creates an object in it.  Meanwhile an object is put back.  So
 * there always is something to be had, which it misses.  The next get finds it. */
TEST(get_that_others_overtake_twice_is_followed_by_one_that_succeeds)
{
    struct worker *workers[] = { worker_start(), worker_start() };
    cpool_objects_t *pool = make_with(2);
    void *back = cpool_object_get(pool), *gone = cpool_object_get(pool);
    struct get get = { .pool = pool };
    struct get other = { .pool = pool };

    REQUIRE_EQUAL(cpool_object_put(pool, gone), 0);
    REQUIRE(steps_run(&get.stop, workers[0], "cpi_object_count_in", 1, get_one, &get));
    REQUIRE(steps_go_on_to(&get.stop, NULL, 1)); /* it has seen that there is no room */
    REQUIRE_EQUAL(cpool_object_retain(pool, 0, keep_none, NULL), 1);
    REQUIRE(steps_go_on_to(&get.stop, "cpi_object_count_in", 1)); /* and no inactive object */
    REQUIRE(steps_run(&other.stop, workers[1], "cpi_object_count_in", 1, get_one, &other));
    REQUIRE_EQUAL(cpool_object_put(pool, back), 0);
    steps_go_on(&other.stop);
    REQUIRE(other.code == 0 && other.object != back);
    steps_go_on(&get.stop);
    REQUIRE_EQUAL(get.code, CPOOL_EDRY);
    worker_do(workers[0], get_one, &get);
    REQUIRE(get.code == 0 && get.object == back);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), 2);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    for (size_t i = 0; i < 2; i++)
        worker_stop(workers[i]);
}

static void wait_for_one(void *argument)
{
    const struct timespec timeout = { 0, 1000000 };
    struct get *get = argument;

    get->code = cpool_object_wait(get->pool, &get->object, NULL, &timeout);
}

/* The waiter comes to its end while the first object is looked at. */
static bool keep_beside_the_waiter(const cpool_object_idle_t *idle, void *argument)
{
    struct get *get = argument;

    if (get->code == CPOOL_EHOOK)
        steps_go_on(&get->stop);
    REQUIRE(idle->object != get->object);
    return true;
}

/* The waiter sees that all objects are active, and sleeps when they are back and held. */
TEST(waiter_finds_an_object_that_a_retain_holds)
{
    struct worker *worker = worker_start();
    cpool_objects_t *pool = make_of(2, CPOOL_OBJECT_WAITABLE);
    struct get get = { .pool = pool, .code = CPOOL_EHOOK };

    retain(pool); /* so that the other one has its memory */
    while (cpool_object_get(pool) != NULL)
        ;
    REQUIRE(steps_run(&get.stop, worker, "cpi_object_count_in", 2, wait_for_one, &get));
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), 2);
    REQUIRE_EQUAL(cpool_object_retain(pool, 0, keep_beside_the_waiter, &get), 0);
    REQUIRE(get.code == 0 && get.object != NULL);
    REQUIRE_EQUAL(cpool_object_put(pool, get.object), 0);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    worker_stop(worker);
}
