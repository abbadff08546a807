/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_guard_unit.c - the gaps between checked slots (lib/check/guards.c), alone.
 */
#include "support.h"

#include "check/guards.h"

enum { CAPACITY = 50 };

static const struct shape {
    size_t size;
    size_t stride;
} shapes[] = { { 1, 9 }, { 8, 16 }, { 24, 32 }, { 100, 128 }, { 10, 500 } };

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static struct cpi_slab *slab;

/* Memory that begins as something else's. */
static void make_slab(int shape)
{
    size_t size = CPI_GUARD_GAP + CAPACITY * shapes[shape].stride;
    size_t side = CAPACITY * sizeof(struct cpi_record);
    char *memory = support_lines(size);

    memset(memory, 0x5C, size);
    slab = support_lines(sizeof(*slab));
    slab->slot_size = shapes[shape].size;
    slab->stride = shapes[shape].stride;
    slab->slots = CAPACITY;
    slab->lead = CPI_GUARD_GAP;
    slab->sides[CPI_SIDE_RECORDS].size = sizeof(struct cpi_record);
    cpi_extent_init(&slab->extent, memory, size, 1, size);
    cpi_extent_init(&slab->sides[CPI_SIDE_RECORDS].extent, support_lines(side), side, 1, side);
    cpi_slab_init(slab, CAPACITY);
    REQUIRE(cpi_slab_bump(slab, CPI_BOUNDS(CAPACITY, 0), CAPACITY));
    cpi_guard_bumped(slab, 0, CAPACITY);
}

static unsigned char *slot_of(uintptr_t index)
{
    return cpi_slab_slot(slab, index);
}

TEST_TIMES(fresh_slots_are_filled_and_good, SHAPES)
{
    struct cpi_damage damage;

    make_slab(_i);
    for (uintptr_t i = 0; i < CAPACITY; i++) {
        REQUIRE(cpi_guard_is_filled(slab, i));
        REQUIRE(cpi_guard_verify(slab, i, &damage));
        memset(slot_of(i), (int)i, shapes[_i].size);
        REQUIRE(cpi_guard_verify(slab, i, &damage));
        REQUIRE(slot_of(i)[shapes[_i].size - 1] == (unsigned char)i);
    }
}

/* A change of any of the bytes that are looked at is found, once, with its place. */
static void require_found(uintptr_t index, unsigned char *byte, enum cpi_damage_place place,
                          size_t offset)
{
    unsigned char before = *byte;
    struct cpi_damage damage;

    for (unsigned bit = 1; bit < 256; bit *= 2) {
        *byte = (unsigned char)(*byte ^ bit);
        REQUIRE(!cpi_guard_verify(slab, index, &damage));
        REQUIRE(damage.place == place && damage.index == index);
        REQUIRE_EQUAL(damage.first, offset);
        REQUIRE_EQUAL(damage.last, offset);
        REQUIRE(damage.shown > 0 && damage.expected[0] == before);
        REQUIRE(damage.found[0] == (before ^ bit));
        REQUIRE(*byte == before);
        REQUIRE(cpi_guard_verify(slab, index, &damage));
    }
}

TEST_TIMES(damage_found_and_repaired, SHAPES)
{
    size_t gap = shapes[_i].stride - shapes[_i].size;
    size_t reach = gap < CPI_GUARD_REACH ? gap : CPI_GUARD_REACH;

    make_slab(_i);
    for (uintptr_t i = 0; i < CAPACITY; i++) {
        size_t before = i == 0 ? CPI_GUARD_GAP : reach;
        size_t size = i == 0 ? CPI_GUARD_GAP : gap;

        for (size_t byte = 0; byte < reach; byte++) {
            require_found(i, slot_of(i) + shapes[_i].size + byte, CPI_DAMAGE_AFTER, byte);
            require_found(i, slot_of(i) + shapes[_i].stride - 1 - byte, CPI_DAMAGE_AFTER,
                          gap - 1 - byte);
        }
        for (size_t byte = 1; byte <= before; byte++)
            require_found(i, slot_of(i) - byte, CPI_DAMAGE_BEFORE, size - byte);
    }
}

/* The bytes that are shown end with the verified ones: those between are nobody's, and the
 * pattern is not expected there. */
TEST(last_verified_bytes_of_a_wide_gap_are_shown_alone)
{
    size_t gap = 500 - 10;
    unsigned char *end;
    struct cpi_damage damage;

    make_slab(SHAPES - 1);
    end = slot_of(3) + 10;
    end[CPI_GUARD_REACH - 1] ^= 1;
    REQUIRE(!cpi_guard_verify(slab, 3, &damage));
    REQUIRE(damage.first == CPI_GUARD_REACH - 1 && damage.last == damage.first);
    REQUIRE_EQUAL(damage.shown, 1);
    end[gap - CPI_GUARD_REACH] ^= 1;
    REQUIRE(!cpi_guard_verify(slab, 4, &damage));
    REQUIRE(damage.first == gap - CPI_GUARD_REACH && damage.last == damage.first);
    REQUIRE_EQUAL(damage.shown, CPI_DAMAGE_SHOWN);
    for (size_t i = 1; i < damage.shown; i++)
        REQUIRE(damage.expected[i] == damage.found[i]);
    end[CPI_GUARD_REACH] ^= 1;
    end[gap - CPI_GUARD_REACH - 1] ^= 1;
    REQUIRE(cpi_guard_verify(slab, 3, &damage) && cpi_guard_verify(slab, 4, &damage));
}

/* The gap of a slot that is on its way to another thread may not be filled yet. */
TEST_TIMES(gap_before_is_looked_at_once_it_is_filled, SHAPES)
{
    struct cpi_damage damage;

    make_slab(_i);
    atomic_store_explicit(&cpi_record_of(slab, 4)->filled, 0, memory_order_relaxed);
    slot_of(5)[-1] ^= 1;
    REQUIRE(cpi_guard_verify(slab, 5, &damage));
    atomic_store_explicit(&cpi_record_of(slab, 4)->filled, 1, memory_order_relaxed);
    REQUIRE(!cpi_guard_verify(slab, 5, &damage));
    REQUIRE(damage.place == CPI_DAMAGE_BEFORE);
}
