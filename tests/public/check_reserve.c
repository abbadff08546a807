/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_reserve.c - after a reservation, allocs neither enter the kernel nor take a
 * page fault.
 */
#include "growth.h"

#include <sys/resource.h>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

enum { SLOT_SIZE = 512, CAPACITY = 5000, COUNT = 2000 };

static const unsigned kinds[] = { 0, CPOOL_CHECKED };

static cpool_t *create(unsigned flags, size_t max_capacity)
{
    return growth_pool(SLOT_SIZE, flags, CAPACITY, max_capacity);
}

TEST_TIMES(reserve_of_more_than_is_free_refused, SUPPORT_LENGTH(kinds))
{
    cpool_t *pool = create(kinds[_i], 0);
    struct hold hold = hold_of(pool);

    REQUIRE_EQUAL(cpool_reserve(pool, 0), 0);
    support_require_live(pool, 0);
    REQUIRE_EQUAL(cpool_reserve(pool, CAPACITY), 0);
    REQUIRE_EQUAL(cpool_reserve(pool, CAPACITY + 1), CPOOL_EDRY);
    REQUIRE_EQUAL(cpool_reserve(pool, SIZE_MAX), CPOOL_EDRY);
    support_require_live(pool, 0);
    REQUIRE_EQUAL(hold_take(&hold, COUNT), COUNT);
    REQUIRE_EQUAL(cpool_reserve(pool, CAPACITY - COUNT), 0);
    REQUIRE_EQUAL(cpool_reserve(pool, CAPACITY - COUNT + 1), CPOOL_EDRY);
    hold_verify(&hold);
    support_require_live(pool, COUNT);
    support_require_obtainable(pool, COUNT);
    hold_end(&hold);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_reserve(NULL, 1), CPOOL_EPOOL);
    REQUIRE_REPORT(CPOOL_EPOOL);
}

static void take_and_free_all(void *hold)
{
    REQUIRE_EQUAL(hold_take(hold, SIZE_MAX), CAPACITY);
    hold_free_all(hold);
}

/* Another thread's cache holds many of the free slots. */
TEST_TIMES(reserve_counts_free_slots_of_other_caches, SUPPORT_LENGTH(kinds))
{
    cpool_t *pool = create(kinds[_i], 0);
    struct worker *worker = worker_start();
    struct hold hold = hold_of(pool);

    worker_do(worker, take_and_free_all, &hold);
    REQUIRE(support_stats(pool).in_caches > 0);
    REQUIRE_EQUAL(cpool_reserve(pool, CAPACITY), 0);
    worker_stop(worker);
    hold_fini(&hold);
    support_destroy_whole(pool);
}

TEST_TIMES(reserve_grows_the_pool, SUPPORT_LENGTH(kinds))
{
    cpool_t *pool = create(kinds[_i], 2 * CAPACITY);

    REQUIRE_EQUAL(cpool_reserve(pool, 2 * CAPACITY), 0);
    REQUIRE_EQUAL(support_stats(pool).capacity, 2 * CAPACITY);
    REQUIRE_EQUAL(cpool_reserve(pool, 2 * CAPACITY + 1), CPOOL_EDRY);
    support_destroy_whole(pool);
}

static long faults(void)
{
    struct rusage usage;

    REQUIRE_EQUAL(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_minflt + usage.ru_majflt;
}

/* Faults while so many are taken and written to.  Afterwards they are free. */
static long count_faults(cpool_t *pool, size_t reserved)
{
    static void *slots[COUNT];
    long before;
    long after;

    for (int i = 0; i < COUNT; i++)
        slots[i] = pool; /* so that the array itself is there */
    REQUIRE_EQUAL(cpool_reserve(pool, reserved), 0);
    before = faults();
    for (int i = 0; i < COUNT; i++) {
        slots[i] = cpool_alloc(pool);
        REQUIRE(slots[i] != NULL);
        *(volatile char *)slots[i] = 1;
        ((volatile char *)slots[i])[SLOT_SIZE - 1] = 1;
    }
    after = faults();
    cpool_free_bulk(pool, slots, COUNT);
    return after - before;
}

/* The system may make a page inaccessible for purposes of its own, which shows as
 * a fault: so the least of several tries counts. */
static long least_faults(unsigned flags, size_t reserved)
{
    long least = -1;

    for (int i = 0; i < 10; i++) {
        cpool_t *pool = create(flags, 0);
        long count = count_faults(pool, reserved);

        if (least < 0 || count < least)
            least = count;
        support_destroy_empty(pool);
    }
    return least;
}

TEST_TIMES(alloc_after_reserve_takes_no_page_fault, SUPPORT_LENGTH(kinds))
{
    REQUIRE(least_faults(kinds[_i], 0) > 0);
    SKIP_IF(SUPPORT_SANITIZED || !growth_populates(),
            "sanitizers take page faults of their own, or the system cannot populate");
    REQUIRE_EQUAL(least_faults(kinds[_i], COUNT), 0);
}

struct silence {
    unsigned flags;
    size_t reserved;
    bool at_once; /* the thread has not used the pool before */
};

/* Nothing is allowed but to end, and to tell of a failure. */
static void alloc_in_silence(void *argument)
{
#if defined(__linux__)
    static const long allowed[] = { SYS_exit_group, SYS_write };
    const struct silence *silence = argument;
    cpool_t *pool = create(silence->flags, 0);

    if (!silence->at_once)
        cpool_free(pool, cpool_alloc(pool));
    REQUIRE_EQUAL(cpool_reserve(pool, silence->reserved), 0);
    SKIP_IF(!growth_allow_only(allowed, sizeof(allowed) / sizeof(allowed[0])),
            "no filter of system calls here");
    for (int i = 0; i < COUNT; i++) {
        void *slot = cpool_alloc(pool);

        REQUIRE(slot != NULL);
        *(volatile char *)slot = 1;
    }
#else
    (void)argument;
#endif
}

/* Sanitizers make calls of their own. */
TEST_TIMES(alloc_after_reserve_makes_no_system_call, SUPPORT_LENGTH(kinds))
{
    struct silence silence = { kinds[_i], COUNT, false };

    SKIP_IF(SUPPORT_SANITIZED, "sanitizers make system calls of their own");
    support_in_child(alloc_in_silence, &silence);
    silence.at_once = true;
    support_in_child(alloc_in_silence, &silence);
}

/* --- Pools that have all their memory --- */

static void require_resident(const cpool_t *pool)
{
    void *first;
    size_t bytes = cpool_span(pool, &first);

    if (growth_populates())
        REQUIRE(support_resident_inside(first, bytes) + 2 * support_page_size() >= bytes);
}

TEST_TIMES(resident_pool_has_all_its_memory_and_keeps_it, 3)
{
    const unsigned flags[] = { 0, CPOOL_TRACKED, CPOOL_CHECKED };
    cpool_t *pool = SUPPORT_CREATE(3072, 500, .max_capacity = 1000,
                                   .flags = flags[_i] | CPOOL_RESIDENT);
    struct hold hold = hold_of(pool);

    require_resident(pool);
    for (size_t i = 0; i < 1000; i++) /* each would trap where it is not committed */
        REQUIRE_EQUAL(*(volatile char *)cpool_at(pool, i), 0);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), 1000);
    hold_free_all(&hold);
    REQUIRE_EQUAL(cpool_trim(pool), 0);
    REQUIRE_EQUAL(cpool_shrink(pool, 900), 900);
    require_resident(pool);
    hold_end(&hold);
}

/* There is memory for the first capacity. */
static void create_with_little_memory(void *unused)
{
    cpool_config_t config = support_config(3072, 500);
    cpool_t *pool;

    (void)unused;
    config.max_capacity = 20000;
    config.flags = CPOOL_RESIDENT;
    support_limit_writable((size_t)3 << 20);
    REQUIRE_EQUAL(cpool_create(&pool, &config), CPOOL_ENOMEM);
    REQUIRE(pool == NULL);
    config.flags = 0;
    support_destroy_empty(support_create(&config));
}

TEST(resident_pool_that_the_system_refuses_memory_is_not_made)
{
    SKIP_IF(SUPPORT_SANITIZED, "sanitizers need memory of their own");
    support_in_child(create_with_little_memory, NULL);
}
