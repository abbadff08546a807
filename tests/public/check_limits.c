/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_limits.c - processes that may have little address space (`ulimit -v`) or little
 * memory.
 *
 * A limit on the memory of a process (RLIMIT_DATA) is also what a system without overcommit
 * is like (vm.overcommit_memory=2), for a process.  The kernel refuses both at the same calls:
 * those that make a private range writable.
 */
#include "growth.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define NO_LIMIT "sanitizers need address space and memory of their own"

/* The two limits, which no type has in common in all C libraries. */
enum resource { ADDRESSES,
                MEMORY };

static void set_limit(enum resource resource, rlim_t bytes)
{
    struct rlimit limit;

    REQUIRE_EQUAL(resource == ADDRESSES ? getrlimit(RLIMIT_AS, &limit)
                                        : getrlimit(RLIMIT_DATA, &limit),
                  0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    REQUIRE_EQUAL(resource == ADDRESSES ? setrlimit(RLIMIT_AS, &limit)
                                        : setrlimit(RLIMIT_DATA, &limit),
                  0);
}

/* A pool as large as this reserves more than a small machine has. */
static cpool_t *create_huge(unsigned flags)
{
    return SUPPORT_CREATE(64, (size_t)1 << 20, .flags = flags, .max_capacity = (size_t)1 << 30);
}

/* No address space is left beside what was reserved: the pool goes on. */
static void live_without_address_space(void *argument)
{
    cpool_t *pool = create_huge(*(const unsigned *)argument);
    struct hold hold = hold_of(pool);

    REQUIRE_EQUAL(hold_take(&hold, 1000), 1000);
    support_limit_address_space(0);
    REQUIRE_EQUAL(hold_take(&hold, 50000), 50000);
    hold_free(&hold, 25000);
    REQUIRE_EQUAL(cpool_reserve(pool, 100), 0);
    REQUIRE_EQUAL(cpool_trim(pool), 0);
    hold_verify(&hold);
    support_require_live(pool, hold.count);
    REQUIRE_EQUAL(hold_take(&hold, 25000), 25000);
    set_limit(ADDRESSES, RLIM_INFINITY);
    hold_free_all(&hold);
    REQUIRE_EQUAL(cpool_reserve(pool, 100), 0);
    REQUIRE(cpool_trim(pool) > 0 || (*(const unsigned *)argument & CPOOL_CHECKED) != 0);
    support_require_live(pool, 0);
    hold_end(&hold);
}

TEST_TIMES(huge_pool_without_address_space_goes_on, GROWTH_KINDS)
{
    unsigned flags = growth_kinds[_i];

    SKIP_IF(SUPPORT_SANITIZED, NO_LIMIT);
    support_in_child(live_without_address_space, &flags);
}

/* Bytes of private memory that the process may have. */
enum { LIMIT = 64 * 1024 * 1024 };

/* The system commits no more: NULL, until it does again. */
static void live_without_memory(void *argument)
{
    cpool_t *pool = create_huge(*(const unsigned *)argument);
    size_t taken = 0;
    void *first = cpool_alloc(pool);
    size_t before;

    REQUIRE(first != NULL);
    set_limit(MEMORY, (rlim_t)LIMIT);
    while (cpool_alloc(pool) != NULL)
        taken++;
    REQUIRE(taken > 1000 && taken < LIMIT / 64);
    REQUIRE_EQUAL(support_stats(pool).live, taken + 1);
    cpool_free(pool, first);
    REQUIRE(cpool_alloc(pool) == first);
    before = taken;
    set_limit(MEMORY, RLIM_INFINITY);
    while (taken < before + 100000 && cpool_alloc(pool) != NULL)
        taken++;
    REQUIRE_EQUAL(taken, before + 100000);
    REQUIRE_EQUAL(cpool_reset(pool), taken + 1);
    support_require_live(pool, 0);
    support_destroy_empty(pool);
}

TEST_TIMES(huge_pool_without_memory_is_dry_until_there_is_some, GROWTH_KINDS)
{
    unsigned flags = growth_kinds[_i];

    SKIP_IF(SUPPORT_SANITIZED, NO_LIMIT);
    support_in_child(live_without_memory, &flags);
}

#ifdef MCL_FUTURE

/* A program that locks all its memory, without the right to lock as much as it likes, pays
 * with its limit for addresses that are merely reserved. */
static void create_locked(void *skipped)
{
    enum { BYTES = 65536, LOCKED = 8 << 20 };
    const struct rlimit limit = {LOCKED, LOCKED};

    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || (geteuid() == 0 && setuid(65534) != 0) ||
        mlockall(MCL_FUTURE) != 0) {
        *(volatile bool *)skipped = true;
        return;
    }
    for (size_t size = 1; size <= BYTES; size *= 2) {
        cpool_config_t config = CPOOL_CONFIG_INIT;
        cpool_t *pool;
        void *slot;

        config.slot_size = size;
        config.capacity = BYTES / size;
        REQUIRE_EQUAL(cpool_create(&pool, &config), CPOOL_OK);
        slot = cpool_alloc(pool);
        REQUIRE(slot != NULL);
        cpool_free(pool, slot);
        REQUIRE_EQUAL(cpool_destroy(pool), CPOOL_OK);
    }
}

TEST(small_pools_fit_into_a_limit_of_locked_memory)
{
    bool *skipped = mmap(NULL, sizeof(bool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                         -1, 0);

    SKIP_IF(SUPPORT_SANITIZED, NO_LIMIT);
    REQUIRE(skipped != MAP_FAILED);
    support_in_child(create_locked, skipped);
    SKIP_IF(*skipped, "memory cannot be locked");
    munmap(skipped, sizeof(bool));
}

#endif
