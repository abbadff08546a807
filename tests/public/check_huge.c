/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_huge.c - pools with slots in huge pages, where there are any.
 */
#include "support.h"

#include <inttypes.h>
#include <sys/mman.h>

#define MIB ((size_t)1024 * 1024)

enum { SLOT_SIZE = 4096 };

/* Bytes of the mappings that overlap the range and lie in huge pages.  0 also
 * where the system does not tell. */
static size_t huge_bytes(const void *start, size_t size)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    bool inside = false;
    size_t bytes = 0;
    char line[256];

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        uintptr_t from, to;
        size_t kilobytes;

        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
            inside = from < (uintptr_t)start + size && to > (uintptr_t)start;
        else if (inside && sscanf(line, "AnonHugePages: %zu kB", &kilobytes) == 1)
            bytes += kilobytes * 1024;
    }
    if (file != NULL)
        fclose(file);
    return bytes;
}

/* Whether a program that asks for huge pages gets them here at this moment: they
 * may be switched off, memory too fragmented, or this an emulator. */
static bool system_makes_huge_pages(void)
{
    size_t size = 16 * MIB;
    size_t bytes = 0;
#if defined(MADV_HUGEPAGE)
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    REQUIRE(memory != MAP_FAILED);
    if (madvise(memory, size, MADV_HUGEPAGE) == 0) {
        memset(memory, 1, size);
        bytes = huge_bytes(memory, size);
    }
    REQUIRE(munmap(memory, size) == 0);
#endif
    return bytes >= size / 2;
}

static cpool_t *create(size_t capacity, unsigned flags)
{
    return support_create_kind(SLOT_SIZE, capacity, flags);
}

/* At least half of them, or the system has none for anybody. */
static bool slots_lie_well(void)
{
    size_t capacity = 64 * MIB / SLOT_SIZE;
    cpool_t *pool = create(capacity, CPOOL_HUGE_PAGES);
    cpool_t *plain = create(capacity, 0);
    void **slots = support_calloc(capacity, sizeof *slots);
    bool well;

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, capacity, 0), capacity);
    for (size_t i = 0; i < capacity; i++)
        memset(slots[i], 1, SLOT_SIZE);
    /* No sanitizer's shadow, and no other mapping, is between the slots. */
    well = huge_bytes(cpool_at(pool, 0), capacity * SLOT_SIZE) >= 32 * MIB ||
           !system_makes_huge_pages();
    REQUIRE_EQUAL(huge_bytes(cpool_at(plain, 0), 1), 0);
    cpool_free_bulk(pool, slots, capacity);
    support_destroy_whole(pool);
    support_destroy_empty(plain);
    free(slots);
    return well;
}

/* The system may have had none to spare while the slots were written to, and some afterwards. */
TEST(slots_lie_in_huge_pages)
{
    bool well = false;

#if defined(CPOOL_PLAIN_POSIX)
    SKIP("plain POSIX has no huge pages");
#endif
    for (int i = 0; i < 10 && !well; i++)
        well = slots_lie_well();
    REQUIRE(well);
}

TEST(trim_gives_whole_huge_pages_back)
{
    size_t capacity = 16 * MIB / SLOT_SIZE;
    cpool_t *pool = create(capacity, CPOOL_HUGE_PAGES);
    void **slots = support_calloc(capacity, sizeof *slots);
    size_t back;

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, capacity, 0), capacity);
    for (size_t i = 0; i < capacity; i++)
        memset(slots[i], 1, SLOT_SIZE);
    cpool_free_bulk(pool, slots, capacity);
    back = cpool_trim(pool);
    REQUIRE(back >= 12 * MIB && back <= 16 * MIB);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, capacity, 0), capacity);
    for (size_t i = 0; i < capacity; i++)
        memset(slots[i], 2, SLOT_SIZE);
    cpool_free_bulk(pool, slots, capacity);
    support_destroy_empty(pool);
    free(slots);
}

TEST(callers_memory_ignores_it)
{
    cpool_config_t config = support_config(SLOT_SIZE, 100);
    cpool_t *pool;

    config.flags = CPOOL_HUGE_PAGES;
    config.memory_size = cpool_memory_required(&config);
    config.flags = 0;
    REQUIRE_EQUAL(config.memory_size, cpool_memory_required(&config));
    config.flags = CPOOL_HUGE_PAGES;
    config.memory = support_lines(config.memory_size);
    pool = support_create(&config);
    support_destroy_whole(pool);
}
