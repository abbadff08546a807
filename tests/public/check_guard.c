/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_guard.c - checked pools: bytes overwritten before and after a slot are
 * found when it or its neighbour is freed or allocated, and when the pool is
 * reset.  The slot itself is the user's.
 */
#include "doors.h"

enum { CAPACITY = 200 };

static cpool_t *make_checked(size_t slot_size, size_t align)
{
    support_capture_reports();
    return SUPPORT_CREATE(slot_size, CAPACITY, .slot_align = align, .flags = CPOOL_CHECKED);
}

static const struct shape {
    size_t size;
    size_t align;
} shapes[] = { { 1, 0 }, { 3, 0 }, { 7, 0 }, { 8, 0 },   { 24, 0 },  { 24, 16 },
               { 40, 64 }, { 100, 128 }, { 333, 0 }, { 9, 4096 } };

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static cpool_t *make_full(int shape, unsigned char **slots)
{
    cpool_t *pool = make_checked(shapes[shape].size, shapes[shape].align);

    for (size_t i = 0; i < CAPACITY; i++) {
        slots[i] = cpool_alloc(pool);
        REQUIRE(slots[i] == (unsigned char *)cpool_at(pool, i));
        memset(slots[i], (int)i, shapes[shape].size);
    }
    REQUIRE_NO_REPORT();
    return pool;
}

/* Changes one byte to any other value. */
static void damage(unsigned char *byte)
{
    *byte ^= 0x5A;
}

/* The free is refused and reported.  The slot is live, and can be freed then. */
static void require_found_once(cpool_t *pool, unsigned char *slot, int door)
{
    size_t live = support_stats(pool).live;
    struct support_report report;

    free_through(door, pool, slot);
    report = REQUIRE_REPORT(CPOOL_EGUARD);
    REQUIRE(report.address == slot && report.slot == slot);
    REQUIRE(report.site != NULL);
    REQUIRE_EQUAL(support_stats(pool).live, live);
    cpool_free(pool, slot);
    REQUIRE_NO_REPORT();
    REQUIRE_EQUAL(support_stats(pool).live, live - 1);
}

/* Of a large gap the first and the last 64 bytes are verified (doc/ADOPTING.md). */
enum { WIDE_REACH = 64 };

TEST_TIMES(free_after_write_to_the_last_verified_byte_reported, DOORS)
{
    static const struct shape wide[] = {{9, 256}, {9, 4096}, {1000, 2048}};
    const struct shape *shape = &wide[_i % 3];
    cpool_t *pool = make_checked(shape->size, shape->align);
    unsigned char *slots[3];

    REQUIRE_EQUAL(cpool_cache_create(&handed, pool), 0);
    for (size_t i = 0; i < 3; i++)
        slots[i] = cpool_alloc(pool);
    damage(slots[1] + shape->size + WIDE_REACH - 1);
    require_found_once(pool, slots[1], _i);
    damage(slots[2] - WIDE_REACH);
    require_found_once(pool, slots[2], _i);
    REQUIRE_EQUAL(cpool_reset(pool), 1);
    support_destroy_empty(pool);
}

/* By a write behind the slot, or before it. */
TEST_TIMES(alloc_after_damage_while_free_reported, 2 * DOORS)
{
    cpool_t *pool = support_create_kind(24, 1, CPOOL_CHECKED);
    unsigned char *slot;

    support_capture_reports();
    REQUIRE_EQUAL(cpool_cache_create(&handed, pool), 0);
    slot = cpool_alloc(pool);
    cpool_free(pool, slot);
    damage(_i < DOORS ? slot + 24 : slot - 1);
    REQUIRE(alloc_through(_i % DOORS, pool) == (void *)slot);
    (void)REQUIRE_REPORT(CPOOL_EGUARD);
    cpool_free(pool, slot);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

TEST_TIMES(reset_finds_every_damaged_guard, SHAPES)
{
    unsigned char *slots[CAPACITY];
    cpool_t *pool = make_full(_i, slots);

    damage(slots[0] - 1);
    for (size_t i = 10; i < CAPACITY; i += 10)
        damage(slots[i] + shapes[_i].size);
    REQUIRE_EQUAL(cpool_reset(pool), CAPACITY);
    REQUIRE_EQUAL(support_take_reports(NULL), 1 + (CAPACITY - 1) / 10);
    support_require_live(pool, 0);
    REQUIRE_EQUAL(cpool_reset(pool), 0);
    support_require_obtainable(pool, 0);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

/* Every byte of a slot is the user's: writing all of them damages nothing, and
 * the library writes none of them. */
TEST_TIMES(free_after_writing_all_of_slot_accepted, SHAPES)
{
    unsigned char *slots[CAPACITY];
    cpool_t *pool = make_full(_i, slots);

    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < CAPACITY; i++)
            cpool_free(pool, slots[i]);
        for (size_t i = 0; i < CAPACITY; i++) {
            slots[i] = round % 2 == 0 ? cpool_calloc(pool) : cpool_alloc(pool);
            REQUIRE(slots[i] != NULL);
            REQUIRE(round % 2 != 0 || slots[i][shapes[_i].size - 1] == 0);
            memset(slots[i], (int)i, shapes[_i].size);
        }
    }
    for (size_t i = 0; i < CAPACITY; i++)
        for (size_t byte = 0; byte < shapes[_i].size; byte++)
            REQUIRE(slots[i][byte] == (unsigned char)i);
    REQUIRE_NO_REPORT();
    REQUIRE_EQUAL(cpool_reset(pool), CAPACITY);
    support_destroy_empty(pool);
}

/* The guard of one slot in the place of another one's is damage, too: a copy of several slots,
 * with what lies between them. */
TEST(free_of_slot_with_anothers_guard_reported)
{
    unsigned char *slots[8];
    cpool_t *pool = support_create_kind(24, 8, CPOOL_CHECKED);

    support_capture_reports();
    for (size_t i = 0; i < 8; i++)
        slots[i] = cpool_alloc(pool);
    memcpy(slots[5], slots[2], (size_t)(slots[3] - slots[2]));
    cpool_free(pool, slots[5]);
    REQUIRE_REPORT(CPOOL_EGUARD);
    for (size_t i = 0; i < 8; i++)
        if (i != 5)
            cpool_free(pool, slots[i]);
    REQUIRE_NO_REPORT();
    REQUIRE_EQUAL(cpool_reset(pool), 1); /* the damaged one */
    support_destroy_empty(pool);
}

#if defined(__GLIBC__)
/* Volatile, because compilers see that it is no block. */
static void free_as_block(void *slot)
{
    void *volatile block = slot;

    free(block);
}

/* free() finds a size before the block that it cannot believe, and says so.  It neither crashes
 * without a word nor takes the slot. */
TEST_TIMES(libc_free_of_a_slot_refused_with_a_message, 4)
{
    static const size_t sizes[] = {16, 24, 64, 100};
    struct support_outcome outcome;
    cpool_t *pool;

    if (SUPPORT_SANITIZED)
        SKIP("a sanitizer has its own free");
    pool = support_create_kind(sizes[_i % 4], 40, CPOOL_CHECKED);
    for (int i = 0; i < 40; i++) {
        support_require_abort(free_as_block, cpool_alloc(pool), &outcome);
        REQUIRE(strstr(outcome.text, "free(): invalid ") != NULL ||
                strstr(outcome.text, "double free or corruption") != NULL);
    }
    REQUIRE_EQUAL(cpool_reset(pool), 40);
    support_destroy_empty(pool);
}
#endif
