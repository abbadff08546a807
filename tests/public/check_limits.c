/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_limits.c - processes that may have little address space (`ulimit -v`) or little
 * memory.
 *
 * A limit on the memory of a process (RLIMIT_DATA) is also what a system without overcommit
 * is like (vm.overcommit_memory=2), for a process.  The kernel refuses both at the same calls:
 * those that make a private range writable.
 *
 * Includes the public API only.
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

/*
 * ---- A small pool under every limit --------------------------------------
 */

/* Slots take more than the first step of memory. */
enum { SLOT_SIZE = 512,
       CAPACITY = 600,
       MOST = 900,
       RESERVED = 50 };

/* How far a process has come.  Shared by all. */
struct progress {
    size_t refused_creations;
    size_t without_cache;
    size_t dry_early;
    size_t complete;
};

struct trial {
    unsigned flags;
    enum resource resource;
    size_t more; /* bytes beyond what the process has */
    struct progress *progress;
};

static void limit(const struct trial *trial)
{
    size_t now = trial->resource == ADDRESSES ? support_address_space() : support_writable();

    set_limit(trial->resource, (rlim_t)(now + trial->more));
}

/* Takes all that can be had, as a thread that has not used the pool before. */
static void use_first(void *argument)
{
    struct hold *hold = argument;

    hold_take(hold, SIZE_MAX);
    hold_verify(hold);
    hold_free(hold, hold->count / 2);
}

static void require_all(cpool_t *pool, struct hold *hold)
{
    hold_take(hold, SIZE_MAX);
    hold_verify(hold);
    REQUIRE(hold->count >= MOST);
    REQUIRE_EQUAL(hold->count, support_stats(pool).live);
    hold_free_all(hold);
    support_require_live(pool, 0);
}

static void use_within_limit(cpool_t *pool, struct hold *hold, const struct trial *trial)
{
    struct progress *progress = trial->progress;
    size_t most;
    int code;

    use_first(hold);
    most = support_stats(pool).circulating;
    progress->without_cache += support_stats(pool).thread_caches == 0;
    progress->dry_early += most < MOST;
    progress->complete += most >= MOST && support_stats(pool).thread_caches == 1;
    (void)cpool_trim(pool);
    code = cpool_reserve(pool, RESERVED);
    REQUIRE(code == 0 || code == CPOOL_ENOMEM);
    (void)cpool_shrink(pool, RESERVED);
    hold_verify(hold);
}

/* All that is not the library's own is there before the limit is. */
static void live_within_limit(void *argument)
{
    const struct trial *trial = argument;
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);
    cpool_t *first = support_create_plain(SLOT_SIZE, MOST);
    struct worker *worker = worker_start();
    struct hold hold;
    cpool_t *pool;
    int code;

    config.flags = trial->flags;
    config.max_capacity = MOST;
    hold_init(&hold, first);
    support_destroy_empty(first);
    limit(trial);
    code = cpool_create(&pool, &config);
    if (code != 0) {
        REQUIRE_EQUAL(code, CPOOL_ENOMEM);
        trial->progress->refused_creations++;
        set_limit(trial->resource, RLIM_INFINITY);
        REQUIRE_EQUAL(cpool_create(&pool, &config), 0);
    }
    hold.pool = pool;
    use_within_limit(pool, &hold, trial);
    set_limit(trial->resource, RLIM_INFINITY);
    cpool_grow(pool, SIZE_MAX);
    require_all(pool, &hold);
    worker_do(worker, use_first, &hold);
    REQUIRE(hold.count > 0);
    hold_free_all(&hold);
    worker_stop(worker);
    require_all(pool, &hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}

/* Limits rise from none to more than the pool can use, fast enough to be few, and slowly enough to
 * end everywhere: a thread's table takes a MiB of addresses and some pages of memory. */
static struct progress try_limits(unsigned flags, enum resource resource)
{
    struct progress *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct trial trial = {flags, resource, 0, shared};
    struct progress progress;

    REQUIRE(shared != MAP_FAILED);
    while (trial.more < (size_t)16 * 1024 * 1024) {
        support_in_child(live_within_limit, &trial);
        trial.more += resource == ADDRESSES ? trial.more / 16 + 128 * 1024
                                            : trial.more / 4 + support_page_size();
    }
    progress = *shared;
    munmap(shared, sizeof *shared);
    return progress;
}

TEST_TIMES(any_limit_on_addresses_leaves_pool_whole, GROWTH_KINDS)
{
    struct progress progress;

    SKIP_IF(SUPPORT_SANITIZED, NO_LIMIT);
    progress = try_limits(growth_kinds[_i], ADDRESSES);
    REQUIRE(progress.refused_creations > 0);
    /* With 32 bits a thread's table is smaller than the steps. */
    REQUIRE(progress.without_cache > 0 || sizeof(void *) < 8);
    REQUIRE(progress.complete > 0);
}

TEST_TIMES(any_limit_on_memory_leaves_pool_whole, GROWTH_KINDS)
{
    struct progress progress;

    SKIP_IF(SUPPORT_SANITIZED, NO_LIMIT);
    progress = try_limits(growth_kinds[_i], MEMORY);
    REQUIRE(progress.refused_creations > 0);
    REQUIRE(progress.without_cache > 0);
    REQUIRE(progress.dry_early > 0);
    REQUIRE(progress.complete > 0);
}

/*
 * ---- A huge pool ---------------------------------------------------------
 */

/* A pool as large as this reserves more than a small machine has. */
static cpool_t *create_huge(unsigned flags)
{
    cpool_config_t config = support_config(64, (size_t)1 << 20);

    config.flags = flags;
    config.max_capacity = (size_t)1 << 30;
    return support_create(&config);
}

/* No address space is left beside what was reserved: the pool goes on. */
static void live_without_address_space(void *argument)
{
    cpool_t *pool = create_huge(*(const unsigned *)argument);
    struct hold hold;

    hold_init(&hold, pool);
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
    hold_fini(&hold);
    support_destroy_empty(pool);
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
