/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_memory.c - what a pool costs: creation touches nothing, slots become
 * resident when their user writes them, free slots are never touched, memory of
 * the caller's is all that is taken, and a refusal of the system does no harm.
 */
#include "support.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KIB ((size_t)1024)
#define MIB (KIB * KIB)
#define GIB (KIB * MIB)

/* The sanitizer's own memory for the memory it watches counts as ours. */
#define REQUIRE_BELOW(bytes, limit) REQUIRE(SUPPORT_SANITIZED || (bytes) < (limit))

static const unsigned kinds[] = { 0, CPOOL_TRACKED, CPOOL_CHECKED };

/* --- Creation --- */

static void require_cheap(size_t slot_size, size_t capacity, unsigned flags)
{
    size_t resident;
    size_t space;
    cpool_t *pool;

    support_destroy_empty(support_create_kind(slot_size, capacity, flags));
    space = support_address_space();
    resident = support_resident();
    pool = support_create_kind(slot_size, capacity, flags);
    REQUIRE_BELOW(support_resident(), resident + 64 * KIB);
    REQUIRE_EQUAL(support_resident_inside(cpool_at(pool, 0), 16 * MIB), 0);
    REQUIRE_EQUAL(support_resident_inside(support_page_of(cpool_at(pool, capacity - 1)),
                                          support_page_size()), 0);
    REQUIRE(support_stats(pool).reserved_bytes >= slot_size * capacity);
    REQUIRE(support_stats(pool).committed_bytes < 64 * KIB);
    support_destroy_empty(pool);
    REQUIRE_EQUAL(support_address_space(), space);
    REQUIRE_BELOW(support_resident(), resident + 64 * KIB);
}

TEST_TIMES(create_huge_touches_nothing, SUPPORT_SANITIZED ? 1 : SUPPORT_LENGTH(kinds))
{
    require_cheap(64, MIB, kinds[_i]);
    require_cheap(16, GIB, kinds[_i]);
    require_cheap(64, SUPPORT_COUNT(GIB, 64 * MIB), kinds[_i]);
    require_cheap(1, CPOOL_CAPACITY_MAX, kinds[_i]);
}

TEST(create_huge_aligned_touches_nothing)
{
    cpool_config_t config = support_config(64, 10000);
    size_t resident;
    cpool_t *pool;

    config.slot_align = CPOOL_ALIGN_MAX;
    support_destroy_empty(support_create(&config));
    resident = support_resident();
    pool = support_create(&config);
    REQUIRE_BELOW(support_resident(), resident + 64 * KIB);
    support_destroy_empty(pool);
}

/* --- Use --- */

enum { PAGES = 2000 };

/* Slots of a page each: not a page of them is touched by the library, where their guards do not
 * lie in them. */
TEST_TIMES(alloc_and_free_touch_no_slot, SUPPORT_LENGTH(kinds) - 1)
{
    cpool_t *pool = support_create_kind(support_page_size(), PAGES, kinds[_i]);
    void *slots[PAGES];
    void *base = cpool_at(pool, 0);

    for (int round = 0; round < 3; round++) {
        REQUIRE_EQUAL(support_take_all(pool, slots), PAGES);
        cpool_free_bulk(pool, slots, PAGES);
        cpool_flush(pool);
    }
    REQUIRE_EQUAL(cpool_reset(pool), 0);
    REQUIRE_EQUAL(support_resident_inside(base, PAGES * support_page_size()), 0);
    for (int i = 0; i < PAGES; i++) {
        slots[i] = cpool_alloc(pool);
        if (i % 10 == 0)
            *(char *)slots[i] = 1;
    }
    REQUIRE_EQUAL(support_resident_inside(base, PAGES * support_page_size()),
                  PAGES / 10 * support_page_size());
    REQUIRE_EQUAL(support_destroy(pool), PAGES);
}

/* The user may give pages of free slots back to the system himself. */
TEST(free_slots_stay_given_back)
{
    cpool_t *pool = support_create_plain(support_page_size(), PAGES);
    void *slots[PAGES];
    char *base = cpool_at(pool, 0);
    size_t size = PAGES * support_page_size();

    REQUIRE_EQUAL(support_take_all(pool, slots), PAGES);
    for (int i = 0; i < PAGES; i++)
        memset(slots[i], 1, support_page_size());
    REQUIRE_EQUAL(support_resident_inside(base, size), size);
    cpool_free_bulk(pool, slots, PAGES);
    REQUIRE_EQUAL(madvise(base, size, MADV_DONTNEED), 0);
    for (int round = 0; round < 3; round++) {
        REQUIRE_EQUAL(support_take_all(pool, slots), PAGES);
        for (int i = 0; i < PAGES; i++)
            cpool_free(pool, slots[i]);
    }
    REQUIRE_EQUAL(support_resident_inside(base, size), 0);
    support_destroy_empty(pool);
}

TEST(alloc_commits_as_it_goes)
{
    cpool_t *pool = support_create_plain(64 * KIB, 16 * KIB); /* 1 GiB */
    size_t reserved = support_stats(pool).reserved_bytes;

    for (size_t taken = 0; taken < 16 * KIB; taken++) {
        size_t needed = (taken + 1) * 64 * KIB;

        REQUIRE(cpool_alloc(pool) != NULL);
        if (taken % 64 != 0)
            continue;
        /* Never less than is in use, seldom more than twice that, and the
         * length of a step. */
        REQUIRE(support_stats(pool).committed_bytes >= needed);
        REQUIRE(support_stats(pool).committed_bytes <= 2 * needed + 72 * MIB);
        REQUIRE_EQUAL(support_stats(pool).reserved_bytes, reserved);
    }
    REQUIRE(support_stats(pool).committed_bytes <= reserved);
    REQUIRE_EQUAL(support_destroy(pool), 16 * KIB);
}

/* Bookkeeping: nothing for a slot that was never freed, 8 bytes for one that
 * was, and a little for the magazines' heads. */
TEST(free_takes_eight_bytes_a_slot)
{
    size_t count = SUPPORT_COUNT(1000000, 20000);
    cpool_t *pool = support_create_plain(64, count);
    void **slots = support_calloc(count, sizeof(*slots));
    size_t resident;

    memset(slots, 1, count * sizeof(*slots));
    cpool_free(pool, cpool_alloc(pool));
    resident = support_resident();
    for (size_t i = 0; i < count; i++)
        slots[i] = cpool_alloc(pool);
    REQUIRE_BELOW(support_resident(), resident + 64 * KIB);
    for (size_t i = 0; i < count; i++)
        cpool_free(pool, slots[i]);
    REQUIRE_BELOW(support_resident(), resident + count * 9 + 64 * KIB);
    support_destroy_empty(pool);
    free(slots);
}

/* --- Memory of the caller's --- */

/* Bytes of addresses that a table may take: a MiB where addresses have 64 bits. */
#define TABLE_MOST (MIB + 64 * KIB)
/* The same of the descriptors of all pools, and beside each an entry of zeroes and two words. */
#define DESCRIPTORS_MOST (2 * MIB + 320 * KIB)

enum { IN_MEMORY = 5000 };

static _Alignas(64) char callers_memory[2 * 1024 * 1024];

/* Every function that might want memory.  None of the test's own comes from the
 * heap. */
static void *use_every_function(void *argument)
{
    static void *slots[IN_MEMORY];
    cpool_t *pool = argument;
    cpool_cache_t *cache = NULL;
    size_t got;

    REQUIRE_EQUAL(cpool_reserve(pool, IN_MEMORY / 2), 0);
    REQUIRE_EQUAL(cpool_grow(pool, 100), 100);
    got = cpool_alloc_bulk(pool, slots, IN_MEMORY, 0);
    REQUIRE(got > IN_MEMORY / 2);
    cpool_free_bulk(pool, slots, got);
    cpool_free_uncached(pool, cpool_alloc_uncached(pool));
    cpool_free(pool, cpool_calloc(pool));
    REQUIRE_EQUAL(cpool_cache_create(&cache, pool), 0);
    cpool_cache_free(cache, cpool_cache_alloc(cache));
    cpool_cache_destroy(cache);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 100, 0), 100);
    cpool_free_bulk(pool, slots, 100);
    cpool_flush(pool);
    (void)cpool_trim(pool);
    REQUIRE(cpool_shrink(pool, 100) > 0);
    (void)support_stats(pool);
    return NULL;
}

static cpool_t *create_in_callers(unsigned flags)
{
    return SUPPORT_CREATE(32, IN_MEMORY - 1000, .flags = flags, .max_capacity = IN_MEMORY,
                          .memory = callers_memory, .memory_size = sizeof(callers_memory));
}

static void *do_nothing(void *unused)
{
    return unused;
}

/* In a process without any pool before. */
TEST(pool_in_callers_memory_takes_a_table_for_each_thread_and_no_other)
{
    static const unsigned flags[] = { 0, CPOOL_CHECKED };
    size_t table;
    size_t space;
    size_t before;
    cpool_t *pool;

    support_in_thread(do_nothing, NULL); /* memory that threads take themselves */
    before = support_address_space();
    support_destroy_empty(create_in_callers(0)); /* the first pool reserves the descriptors */
    space = support_address_space();
    REQUIRE(SUPPORT_SANITIZED || space <= before + DESCRIPTORS_MOST);
    pool = create_in_callers(0);
    REQUIRE(SUPPORT_SANITIZED || support_address_space() == space);
    cpool_free(pool, cpool_alloc(pool));
    table = support_address_space() - space;
    REQUIRE(SUPPORT_SANITIZED || space == 0 || (table > 0 && table <= TABLE_MOST));
    support_in_thread(use_every_function, pool);
    REQUIRE(SUPPORT_SANITIZED || support_address_space() == space + 2 * table);
    support_destroy_empty(pool);
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        pool = create_in_callers(flags[i]);
        REQUIRE_EQUAL(support_stats(pool).reserved_bytes, support_stats(pool).committed_bytes);
        (void)use_every_function(pool);
        support_in_thread(use_every_function, pool);
        REQUIRE_EQUAL(cpool_reset(pool), 0);
        support_destroy_empty(pool);
        REQUIRE(SUPPORT_SANITIZED || support_address_space() == space + 2 * table);
    }
    memset(callers_memory, 0xEE, sizeof(callers_memory)); /* it is still there */
}

/* --- Refusals --- */

/* Where there is no memory for a magazine of slots, there is for fewer. */
TEST_IN_CHILD(alloc_uses_what_memory_there_is)
{
    cpool_t *pool;
    size_t limit;

    SKIP_IF(SUPPORT_SANITIZED, "sanitizers need memory of their own");
    /* Few addresses, for machines of 32 bits. */
    pool = SUPPORT_CREATE(MIB, 200, .magazine_rounds = 32, .thread_caches = 1);
    cpool_free(pool, cpool_alloc(pool));
    limit = support_writable() + 8 * MIB;
    support_limit_writable(8 * MIB);
    while (cpool_alloc(pool) != NULL)
        ;
    REQUIRE(support_writable() + 2 * MIB > limit);
    cpool_destroy(pool);
}

/* Memory of the caller's may hold anything, and is not given back by a trim. */
TEST_TIMES(create_in_memory_that_was_used_starts_anew, 3)
{
    static const unsigned flags[] = { 0, CPOOL_TRACKED, CPOOL_CHECKED };
    enum { CAPACITY = 500, PAGE = 4096 };
    cpool_config_t config = support_config(PAGE, CAPACITY);
    cpool_t *pool;
    void *slot;

    config.slot_align = PAGE; /* so that whole pages are free */
    config.flags = flags[_i];
    config.memory_size = cpool_memory_required(&config);
    REQUIRE(config.memory_size != 0);
    REQUIRE_EQUAL(posix_memalign(&config.memory, CPOOL_MEMORY_ALIGN, config.memory_size), 0);
    memset(config.memory, 0xa5, config.memory_size);
    pool = support_create(&config);
    slot = cpool_alloc_uncached(pool);
    REQUIRE(slot != NULL);
    cpool_free_uncached(pool, slot);
    support_require_obtainable(pool, 0);
    support_require_live(pool, 0);
    REQUIRE_EQUAL(cpool_trim(pool), 0);
    support_destroy_empty(pool);
    support_capture_reports();
    REQUIRE(cpool_alloc(pool) == NULL); /* asked of memory that is still there */
    REQUIRE_REPORT(CPOOL_EPOOL);
    free(config.memory);
}

/* Most of it is room for caches, which a small pool has few of. */
TEST(small_pool_reserves_few_addresses)
{
    cpool_t *pool = support_create_plain(64, 1000);

    REQUIRE(support_stats(pool).reserved_bytes < (size_t)2 << 20);
    support_destroy_whole(pool);
}

/* --- Around the slots --- */

/* Whether the page of an address can be read: the system call refuses other addresses. */
static bool is_there(uintptr_t address)
{
    int ends[2];
    bool there;

    REQUIRE(pipe(ends) == 0);
    there = syscall(SYS_write, ends[1], (const void *)address, (size_t)1) == 1;
    REQUIRE(there || errno == EFAULT);
    close(ends[0]);
    close(ends[1]);
    return there;
}

/* Pages from this one on, in one direction, that can be read. */
static size_t pages_until_a_trap(uintptr_t address, intptr_t step)
{
    size_t pages;

    for (pages = 0; pages < 1000 && is_there(address); pages++)
        address += (uintptr_t)step;
    return pages;
}

enum { NEIGHBOURS = 3, FEW = 64 };

/* Regions that are reserved one after the other mostly lie side by side. */
TEST_TIMES(addresses_around_the_slots_trap, SUPPORT_LENGTH(kinds))
{
    intptr_t page = sysconf(_SC_PAGESIZE);
    cpool_t *pools[NEIGHBOURS];
    void *slots[FEW];

    for (size_t i = 0; i < NEIGHBOURS; i++)
        pools[i] = support_create_kind(64, FEW, kinds[_i]);
    for (size_t i = 0; i < NEIGHBOURS; i++) {
        uintptr_t first;
        uintptr_t last;

        REQUIRE_EQUAL(cpool_alloc_bulk(pools[i], slots, FEW, 0), FEW);
        first = (uintptr_t)cpool_at(pools[i], 0);
        last = (uintptr_t)cpool_at(pools[i], cpool_index_limit(pools[i]) - 1);
        /* Slots that were never used may lie before the trap, and trap as well. */
        REQUIRE(pages_until_a_trap((uintptr_t)slots[0], page) <=
                (last - first) / (uintptr_t)page + 3);
        REQUIRE(pages_until_a_trap(first, -page) <= 2);
        cpool_free_bulk(pools[i], slots, FEW);
    }
    for (size_t i = 0; i < NEIGHBOURS; i++)
        REQUIRE_EQUAL(cpool_destroy(pools[i]), 0);
}
