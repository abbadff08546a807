/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_small.c - what a small pool costs: the bytes that it takes, what its creation and its
 * end ask of the operating system, and that a pool in the region of a destroyed one finds
 * nothing of it.
 *
 * Includes growth.h.
 */
#include "growth.h"

#include <cpool/lease.h>

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

#define KIB ((size_t)1024)

enum { SLOT_SIZE = 32, CAPACITY = 256, MANY = 200, TURNS = 100 };

static const unsigned kinds[] = { 0, CPOOL_EXACT, CPOOL_WAITABLE, CPOOL_TRACKED };

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static cpool_t *create(unsigned flags)
{
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);

    config.flags = flags;
    return support_create(&config);
}

/*
 * ---- Bytes ---------------------------------------------------------------
 */

START_TEST(pool_of_ten_slots_commits_little)
{
    cpool_t *pool;
    size_t writable;

    SKIP_IF(SUPPORT_SANITIZED, "sanitizers commit what they watch");
    pool = support_create_plain(64, 100); /* the thread's table */
    cpool_free(pool, cpool_alloc(pool));
    writable = support_writable();
    support_destroy_empty(pool);
    pool = support_create_plain(24, 10);
    support_require_obtainable(pool, 0);
    REQUIRE(support_stats(pool).committed_bytes <= 32 * KIB);
    REQUIRE(support_writable() <= writable + 32 * KIB);
    support_destroy_empty(pool);
}
END_TEST

/* 8,192 are slots, 2,048 at least the addresses of free ones.  The system's lock and condition
 * take a line more on Windows. */
#if defined(_WIN32)
#define MOST_BYTES (15 * KIB)
#else
#define MOST_BYTES (14 * KIB)
#endif

START_TEST(pool_in_callers_memory_takes_whole_lines)
{
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);

    SKIP_IF(SUPPORT_SANITIZED || sizeof(void *) < 8, "structures have other sizes");
    config.thread_caches = 2;
    REQUIRE(cpool_memory_required(&config) <= MOST_BYTES);
}
END_TEST

/* The size is a constant: an array may have it. */
typedef char static_memory_t[CPOOL_MEMORY_BYTES(SLOT_SIZE, CAPACITY, 2)];

/* By more than a sixth nowhere. */
static void require_bounded(size_t size, size_t slots, size_t caches)
{
    cpool_config_t config = support_config(size, slots);
    size_t bytes = CPOOL_MEMORY_BYTES(size, slots, caches);
    size_t required;

    config.thread_caches = caches;
    required = cpool_memory_required(&config);
    REQUIRE(required > 0 && required <= bytes);
    REQUIRE(sizeof(void *) < 8 || bytes - required <= required / 6);
    config.flags = CPOOL_EXACT;
    REQUIRE(cpool_memory_required(&config) <= bytes);
}

START_TEST(bytes_known_to_the_compiler_suffice)
{
    const size_t most = (size_t)64 << 20;

    for (size_t size = 1; size < 4096; size += size < 65 ? 1 : size / 3)
        for (size_t slots = 1; size * slots < most; slots += slots < 300 ? 1 : slots / 3)
            for (size_t caches = 1; caches < 5000; caches += 1 + caches / 2)
                require_bounded(size, slots, caches);
    REQUIRE(sizeof(static_memory_t) <= 15 * KIB);
}
END_TEST

/*
 * ---- System calls --------------------------------------------------------
 */

#if defined(__linux__)
static void create_and_destroy(unsigned flags)
{
    cpool_t *pool = create(flags);

    cpool_free(pool, cpool_alloc(pool));
    REQUIRE_EQUAL(cpool_destroy(pool), 0);
}
#endif

/* Makes the same memory usable again, and blocks signals.  Nothing is mapped, and no memory given
 * back. */
static void create_under_filter(void *flags)
{
#if defined(__linux__)
    static const long allowed[] = { SYS_exit_group, SYS_write, SYS_mprotect, SYS_rt_sigprocmask };

    create_and_destroy(*(const unsigned *)flags);
    REQUIRE(growth_allow_only(allowed, sizeof(allowed) / sizeof(allowed[0])));
    for (int turn = 0; turn < TURNS; turn++)
        create_and_destroy(*(const unsigned *)flags);
#else
    (void)flags;
#endif
}

START_TEST(create_after_destroy_maps_nothing)
{
    unsigned flags = kinds[_i];

    SKIP_IF(SUPPORT_SANITIZED, "sanitizers make system calls of their own");
    SKIP_IF(!growth_has_filters(), "no filter of system calls here");
    support_in_child(create_under_filter, &flags);
}
END_TEST

/*
 * ---- Regions used again --------------------------------------------------
 */

/* Writes n slots, and fills the depot without a cache, so that a place counts magazines. */
static uintptr_t leave_traces(cpool_t *pool, size_t n)
{
    uintptr_t first = (uintptr_t)cpool_at(pool, 0);
    void *slots[CAPACITY];

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, n), n);
    for (size_t i = 0; i < n; i++)
        memset(slots[i], 0xA5, SLOT_SIZE);
    for (size_t i = 0; i < n; i++)
        cpool_depot_free(pool, slots[i]);
    return first;
}

static void require_new(cpool_t *pool)
{
    static const char zeroes[SLOT_SIZE];
    void *slots[CAPACITY];

    REQUIRE_EQUAL(support_stats(pool).live, 0);
    REQUIRE_EQUAL(support_stats(pool).circulating, 0);
    REQUIRE_EQUAL(support_stats(pool).registrations, 0);
    cpool_depot_free(pool, cpool_depot_alloc(pool));
    REQUIRE_EQUAL(support_stats(pool).live, 0);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, CAPACITY), CAPACITY);
    for (size_t i = 0; i < CAPACITY; i++)
        REQUIRE(memcmp(slots[i], zeroes, SLOT_SIZE) == 0);
    REQUIRE_EQUAL(support_stats(pool).live, CAPACITY);
    cpool_free_bulk(pool, slots, CAPACITY);
}

START_TEST(pool_in_a_region_used_again_is_new)
{
    cpool_t *pool = create(kinds[_i]);
    uintptr_t first = leave_traces(pool, MANY);

    support_destroy_empty(pool);
    pool = create(kinds[_i]);
    REQUIRE(SUPPORT_SANITIZED || (uintptr_t)cpool_at(pool, 0) == first);
    require_new(pool);
    support_destroy_empty(pool);
}
END_TEST

/*
 * Regions of pools whose parts have other sizes, and yet the slots at the same place.  Where one
 * has magazines another has the words of its slots, or its own fixed part.
 */
struct layout {
    unsigned flags;
    size_t caches, rounds, capacity;
};

static cpool_t *create_as(const struct layout *layout)
{
    cpool_config_t config = support_config(8, layout->capacity);

    config.flags = layout->flags;
    config.thread_caches = layout->caches;
    config.magazine_rounds = layout->rounds;
    return support_create(&config);
}

/* Returns where its slots were. */
static uintptr_t use_and_destroy(const struct layout *layout, void **slots)
{
    cpool_t *pool = create_as(layout);
    uintptr_t at = (uintptr_t)cpool_at(pool, 0);

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, layout->capacity), layout->capacity);
    for (size_t i = 0; i < layout->capacity; i++)
        cpool_depot_free(pool, slots[i]);
    support_destroy_empty(pool);
    return at;
}

/* It has leases, and all its slots are free.  Returns where they were. */
static uintptr_t require_usable(const struct layout *layout, void **slots)
{
    cpool_t *pool = create_as(layout);
    uintptr_t at = (uintptr_t)cpool_at(pool, 0);
    cpool_lease_t *lease;

    lease = cpool_lease_begin(pool); /* first: it has the only cache */
    REQUIRE(lease != NULL);
    REQUIRE_EQUAL(cpool_lease_end(lease), 0);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, layout->capacity), layout->capacity);
    cpool_free_bulk(pool, slots, layout->capacity);
    support_destroy_empty(pool);
    return at;
}

static const struct layout later[] = { { CPOOL_TRACKED, 1, 4, 512 }, { CPOOL_EXACT, 1, 4, 4096 } };
static const struct layout earlier[] = { { CPOOL_EXACT, 16, 4, 512 }, { 0, 4, 64, 3200 } };

START_TEST(pool_of_another_layout_finds_nothing)
{
    enum { OTHERS = 40, STEP = 32 };
    static void *slots[8192];
    struct layout before = earlier[_i];
    size_t met = 0;

    SKIP_IF(SUPPORT_SANITIZED, "no region is used again");
    for (size_t i = 0; i < OTHERS; i++, before.capacity += STEP) {
        uintptr_t at = use_and_destroy(&before, slots);

        met += require_usable(&later[_i], slots) == at;
    }
    REQUIRE(met > 0 || sizeof(void *) < 8);
}
END_TEST

/* Only what the kept regions take is left for the last pool. */
static void create_at_the_limit(void *unused)
{
    struct layout layout = { 0, 4, 63, 400 };
    cpool_t *pools[8];

    for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
        pools[i] = create_as(&layout);
    for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
        support_destroy_empty(pools[i]);
    support_limit_address_space(0);
    layout.capacity = 2000;
    support_destroy_empty(create_as(&layout));
    (void)unused;
}

START_TEST(kept_regions_are_released_where_addresses_are_refused)
{
    SKIP_IF(SUPPORT_SANITIZED, "no region is kept");
    support_in_child(create_at_the_limit, NULL);
}
END_TEST

/* After a reset, or a shrink, more slots hold bytes than have been handed out. */
static void reset(cpool_t *pool)
{
    REQUIRE_EQUAL(cpool_reset(pool), 0);
}

static void shrink(cpool_t *pool)
{
    REQUIRE(cpool_shrink(pool, CAPACITY - 10) > 0);
}

static void (*const lower[])(cpool_t *pool) = { reset, shrink };

START_TEST(slots_handed_out_before_are_zero)
{
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);
    cpool_t *pool;

    config.memory_flags = CPOOL_MEMORY_KEEP_PAGES;
    config.flags = kinds[_i % KINDS];
    pool = support_create(&config);
    leave_traces(pool, MANY);
    cpool_flush(pool);
    lower[_i / KINDS](pool);
    support_destroy_empty(pool);
    pool = create(kinds[_i % KINDS]);
    require_new(pool);
    support_destroy_empty(pool);
}
END_TEST

/* A thread with the address of a slot is to notice, if the slot was live or the pool checked. */
static void touch_slot_of_destroyed(void *checked)
{
    cpool_t *pool = create(*(bool *)checked ? CPOOL_CHECKED : 0);
    volatile char *slot = cpool_alloc(pool);

    if (*(bool *)checked)
        cpool_free(pool, (void *)slot);
    REQUIRE_EQUAL(cpool_destroy(pool), *(bool *)checked ? 0 : CPOOL_ELIVE);
    *slot = 1;
}

START_TEST(slot_of_a_destroyed_pool_traps)
{
    bool checked = _i != 0;
    struct support_outcome outcome;

    SKIP_IF(SUPPORT_SANITIZED, "sanitizers report the access");
    support_fork(touch_slot_of_destroyed, &checked, &outcome);
    REQUIRE(WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGSEGV);
}
END_TEST

/* They may be stacks with a guard page each, or tables that are sealed together. */
START_TEST(pages_of_slots_may_be_protected)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    cpool_config_t config = support_config(_i == 0 ? page : 64, _i == 0 ? 8 : 240);
    char *start;

    SKIP_IF(SUPPORT_SANITIZED, "sanitizers may write to a slot that is freed");
    config.slot_align = config.slot_size;
    for (int time = 0; time < 2; time++) { /* the second one in the first one's region */
        cpool_t *pool = support_create(&config);
        void *slots[256];
        size_t count = 0;

        while ((slots[count] = cpool_alloc(pool)) != NULL)
            memset(slots[count++], 1, config.slot_size);
        REQUIRE_EQUAL(count, config.capacity);
        start = slots[0];
        for (size_t i = 1; i < count; i++)
            if ((char *)slots[i] < start)
                start = slots[i];
        start += page - (uintptr_t)start % page;
        REQUIRE_EQUAL(mprotect(start, page, time == 0 ? PROT_READ : PROT_NONE), 0);
        while (count > 0)
            cpool_free(pool, slots[--count]);
        support_destroy_empty(pool);
    }
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        ONCE(pool_of_ten_slots_commits_little),
        ONCE(pool_in_callers_memory_takes_whole_lines),
        ONCE(bytes_known_to_the_compiler_suffice),
        TIMES(create_after_destroy_maps_nothing, KINDS),
        TIMES(pool_in_a_region_used_again_is_new, KINDS),
        TIMES(pool_of_another_layout_finds_nothing, sizeof(later) / sizeof(later[0])),
        ONCE(kept_regions_are_released_where_addresses_are_refused),
        TIMES(slots_handed_out_before_are_zero, 2 * KINDS),
        TIMES(slot_of_a_destroyed_pool_traps, 2),
        TIMES(pages_of_slots_may_be_protected, 2),
    };

    return SUPPORT_RUN("small", tests);
}
