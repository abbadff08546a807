/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_guard_unit.c - sites and gaps of checked slots (lib/guard.h), alone.
 */
#include "support.h"

#include <string.h>

#include "guard.h"

enum { CAPACITY = 50 };

static const struct shape {
    size_t size;
    size_t stride;
} shapes[] = { { 1, 9 }, { 8, 16 }, { 24, 32 }, { 100, 128 }, { 10, 500 } };

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static struct cpi_slab *slab;
static int site_a; /* two addresses to tell apart */
static int site_b;

/* Memory that begins as something else's. */
static void make_slab(int shape)
{
    size_t size = CPI_GUARD_GAP + CAPACITY * shapes[shape].stride;
    struct cpi_extent extent;
    struct cpi_extent side;
    char *memory = support_lines(size);
    const struct cpi_slab_shape slab_shape = { shapes[shape].size, shapes[shape].stride, CAPACITY,
                                               CAPACITY, CAPACITY };

    memset(memory, 0x5C, size);
    slab = support_lines(sizeof(*slab));
    cpi_extent_init_committed(&extent, memory, size);
    cpi_extent_init_committed(&side, support_lines(CAPACITY * CPI_GUARD_SIZE),
                              CAPACITY * CPI_GUARD_SIZE);
    cpi_slab_init(slab, &extent, CPI_GUARD_GAP, &slab_shape);
    cpi_slab_set_side(slab, CPI_SIDE_GUARDS, &side, CPI_GUARD_SIZE);
    REQUIRE(cpi_slab_bump(slab, CPI_BOUNDS(CAPACITY, 0), CAPACITY));
    cpi_guard_bumped(slab, 0, CAPACITY);
}

static unsigned char *slot_of(uintptr_t index)
{
    return cpi_slab_slot(slab, index);
}

START_TEST(site_is_the_last_one_set)
{
    make_slab(_i);
    for (uintptr_t i = 0; i < CAPACITY; i++) {
        cpi_guard_set_site(slab, i, &site_a);
        memset(slot_of(i), (int)i, shapes[_i].size);
        REQUIRE(cpi_guard_site(slab, i) == &site_a);
        cpi_guard_set_site(slab, i, &site_b);
        REQUIRE(cpi_guard_site(slab, i) == &site_b);
        REQUIRE(cpi_guard_is_filled(slab, i));
        REQUIRE(cpi_guard_verify(slab, i) == CPI_GUARD_GOOD);
        REQUIRE(slot_of(i)[0] == (unsigned char)i);
    }
}
END_TEST

START_TEST(site_before_first_use_is_null)
{
    make_slab(_i);
    for (uintptr_t i = 0; i < CAPACITY; i++)
        REQUIRE(cpi_guard_site(slab, i) == NULL);
}
END_TEST

/* A change of any of the bytes that are looked at is found, once. */
static void require_found(uintptr_t index, unsigned char *byte, enum cpi_guard_finding finding)
{
    unsigned char before = *byte;

    for (unsigned bit = 1; bit < 256; bit *= 2) {
        *byte = (unsigned char)(*byte ^ bit);
        REQUIRE(cpi_guard_verify(slab, index) == finding);
        REQUIRE(*byte == before);
        REQUIRE(cpi_guard_verify(slab, index) == CPI_GUARD_GOOD);
    }
}

START_TEST(damage_found_and_repaired)
{
    size_t gap = shapes[_i].stride - shapes[_i].size;
    size_t reach = gap < CPI_GUARD_REACH ? gap : CPI_GUARD_REACH;

    make_slab(_i);
    for (uintptr_t i = 0; i < CAPACITY; i++) {
        size_t before = i == 0 ? CPI_GUARD_GAP : reach;

        cpi_guard_set_site(slab, i, &site_a);
        for (size_t byte = 0; byte < reach; byte++) {
            require_found(i, slot_of(i) + shapes[_i].size + byte, CPI_GUARD_DAMAGE_AFTER);
            require_found(i, slot_of(i) + shapes[_i].stride - 1 - byte, CPI_GUARD_DAMAGE_AFTER);
        }
        for (size_t byte = 1; byte <= before; byte++)
            require_found(i, slot_of(i) - byte, CPI_GUARD_DAMAGE_BEFORE);
        REQUIRE(cpi_guard_site(slab, i) == &site_a);
    }
}
END_TEST

/* The gap of a slot that is on its way to another thread may not be filled yet. */
START_TEST(gap_before_is_looked_at_once_it_is_filled)
{
    make_slab(_i);
    atomic_store_explicit(
        (_Atomic uintptr_t *)(void *)(slab->sides[CPI_SIDE_GUARDS].extent.base +
                                      4 * CPI_GUARD_SIZE),
        0, memory_order_relaxed);
    slot_of(5)[-1] ^= 1;
    REQUIRE(cpi_guard_verify(slab, 5) == CPI_GUARD_GOOD);
    cpi_guard_set_site(slab, 4, &site_a);
    REQUIRE(cpi_guard_verify(slab, 5) == CPI_GUARD_DAMAGE_BEFORE);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(site_is_the_last_one_set, SHAPES),
        TIMES(site_before_first_use_is_null, SHAPES),
        TIMES(damage_found_and_repaired, SHAPES),
        TIMES(gap_before_is_looked_at_once_it_is_filled, SHAPES),
    };

    return SUPPORT_RUN("watch", tests);
}
