/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steady.c - the steady state: a pool that has what it needs asks the operating system
 * for nothing more.  Two readings of the counters say so, and a filter that ends a process
 * which makes a system call.
 */
#include "growth.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include <cpool/object.h>

enum { SLOT_SIZE = 64, CAPACITY = 10000, FRAME = 20, MANY = 2000, TURNS = 500 };

static const unsigned kinds[] = { 0, CPOOL_TRACKED, CPOOL_CHECKED };

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static cpool_t *create(unsigned flags, size_t max_capacity)
{
    return growth_pool(SLOT_SIZE, flags, CAPACITY, max_capacity);
}

static void *slots[CAPACITY];

/* Takes n slots and frees them.  More than a cache holds go by the depot. */
static void use(cpool_t *pool, size_t n)
{
    for (size_t i = 0; i < n; i++)
        REQUIRE((slots[i] = cpool_alloc(pool)) != NULL);
    for (size_t i = 0; i < n; i++)
        cpool_free(pool, slots[i]);
}

/* The first turns fetch what the others need. */
static cpool_t *warm(unsigned flags)
{
    cpool_t *pool = create(flags, 0);

    REQUIRE_EQUAL(cpool_reserve(pool, MANY), 0);
    use(pool, MANY);
    use(pool, MANY);
    use(pool, FRAME);
    return pool;
}

static void require_same(const struct figures *before, const struct figures *after)
{
    REQUIRE_EQUAL(after->system_calls, before->system_calls);
    REQUIRE_EQUAL(after->growths, before->growths);
    REQUIRE_EQUAL(after->registrations, before->registrations);
    REQUIRE_EQUAL(after->circulating, before->circulating);
    REQUIRE_EQUAL(after->committed_bytes, before->committed_bytes);
}

TEST_TIMES(frame_in_the_steady_state_changes_no_counter, KINDS)
{
    cpool_t *pool = warm(kinds[_i]);
    struct figures before = support_stats(pool);
    struct figures after;

    REQUIRE(before.magazine_rounds > FRAME);
    for (int turn = 0; turn < TURNS; turn++)
        use(pool, FRAME);
    after = support_stats(pool);
    require_same(&before, &after);
    REQUIRE_EQUAL(after.exchanges, before.exchanges);
    support_destroy_empty(pool);
}

TEST_TIMES(long_frame_in_the_steady_state_makes_exchanges_alone, KINDS)
{
    cpool_t *pool = warm(kinds[_i]);
    struct figures before = support_stats(pool);
    struct figures after;

    for (int turn = 0; turn < TURNS / 10; turn++)
        use(pool, MANY);
    after = support_stats(pool);
    require_same(&before, &after);
    REQUIRE(after.exchanges > before.exchanges);
    support_destroy_empty(pool);
}

static void *use_one(void *pool)
{
    cpool_free(pool, cpool_alloc(pool));
    return NULL;
}

TEST_TIMES(each_first_registration_is_counted, KINDS)
{
    cpool_t *pool = create(kinds[_i], 0);
    cpool_cache_t *cache;

    REQUIRE_EQUAL(support_stats(pool).registrations, 0);
    use(pool, FRAME);
    use(pool, FRAME);
    REQUIRE_EQUAL(support_stats(pool).registrations, 1);
    support_in_thread(use_one, pool);
    support_in_thread(use_one, pool);
    REQUIRE_EQUAL(support_stats(pool).registrations, 3);
    REQUIRE_EQUAL(cpool_cache_create(&cache, pool), 0);
    cpool_cache_free(cache, cpool_cache_alloc(cache));
    REQUIRE_EQUAL(support_stats(pool).registrations, 4);
    cpool_cache_destroy(cache);
    REQUIRE_EQUAL(support_stats(pool).registrations, 4);
    support_destroy_empty(pool);
}

/*
 * ---- Under a filter ------------------------------------------------------
 *
 * The process may end, and tell of a failure.  Any other system call ends it by SIGSYS.
 */

static bool forbid_calls(void)
{
#if defined(__linux__)
    static const long allowed[] = { SYS_exit_group, SYS_write };

    return growth_allow_only(allowed, sizeof(allowed) / sizeof(allowed[0]));
#else
    return false;
#endif
}

struct steady {
    unsigned flags;
    void (*beside)(cpool_t *pool); /* in each turn, or NULL */
};

static void use_under_filter(void *argument)
{
    const struct steady *steady = argument;
    cpool_t *pool = warm(steady->flags);

    REQUIRE(forbid_calls());
    for (int turn = 0; turn < TURNS / 10; turn++) {
        use(pool, FRAME);
        use(pool, MANY);
        if (steady->beside != NULL)
            steady->beside(pool);
    }
}

#define SKIP_WITHOUT_FILTERS()                                                   \
    do {                                                                         \
        SKIP_IF(SUPPORT_SANITIZED, "sanitizers make system calls of their own"); \
        SKIP_IF(!growth_has_filters(), "no filter of system calls here");        \
    } while (0)

TEST_TIMES(steady_state_makes_no_system_call, KINDS)
{
    struct steady steady = { kinds[_i], NULL };

    SKIP_WITHOUT_FILTERS();
    support_in_child(use_under_filter, &steady);
}

/* The filter finds memory that is given back, made resident, or committed. */
static void trim(cpool_t *pool)
{
    (void)cpool_trim(pool);
}

static void reserve(cpool_t *pool)
{
    (void)cpool_reserve(pool, MANY);
}

static void use_all(cpool_t *pool)
{
    use(pool, CAPACITY);
}

static void (*const noises[])(cpool_t *pool) = { trim, reserve, use_all };

enum { NOISES = sizeof(noises) / sizeof(noises[0]) };

TEST_TIMES(system_call_in_the_steady_state_is_found, KINDS * NOISES)
{
    struct steady steady = { kinds[_i % KINDS], noises[_i / KINDS] };
    struct support_outcome outcome;

    SKIP_WITHOUT_FILTERS();
    support_fork(use_under_filter, &steady, &outcome);
    REQUIRE(WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGSYS);
}

enum { OBJECTS = 200 };

static void use_objects(cpool_objects_t *pool, size_t n)
{
    for (size_t i = 0; i < n; i++)
        REQUIRE((slots[i] = cpool_object_get(pool)) != NULL);
    for (size_t i = 0; i < n; i++)
        cpool_object_put(pool, slots[i]);
}

static int construct(void *object, void *arg)
{
    (void)arg;
    memset(object, 1, SLOT_SIZE);
    return 0;
}

static void use_objects_under_filter(void *argument)
{
    bool more = *(bool *)argument;
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;

    type.object_size = SLOT_SIZE;
    type.create = construct;
    config.type = &type;
    config.capacity = CAPACITY;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    use_objects(pool, OBJECTS);
    use_objects(pool, OBJECTS);
    REQUIRE(forbid_calls());
    for (int turn = 0; turn < TURNS; turn++)
        use_objects(pool, OBJECTS);
    if (more)
        use_objects(pool, CAPACITY);
}

TEST(objects_in_the_steady_state_make_no_system_call)
{
    bool more = false;

    SKIP_WITHOUT_FILTERS();
    support_in_child(use_objects_under_filter, &more);
}
