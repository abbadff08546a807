/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_guard_unit.c - states and gaps of checked slots (lib/guard.h), alone.
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
    cpi_extent_init_committed(&side, support_lines(CAPACITY * CPI_GUARD_STATE_SIZE),
                              CAPACITY * CPI_GUARD_STATE_SIZE);
    cpi_slab_init(slab, &extent, CPI_GUARD_GAP, &slab_shape);
    cpi_slab_set_side(slab, &side, CPI_GUARD_STATE_SIZE);
    REQUIRE(cpi_slab_bump(slab, CPI_BOUNDS(CAPACITY, 0), CAPACITY));
    cpi_guard_bumped(slab, 0, CAPACITY);
}

static unsigned char *slot_of(uintptr_t index)
{
    return cpi_slab_slot(slab, index);
}

START_TEST(alloc_and_free_alternate)
{
    make_slab(_i);
    for (int round = 0; round < 3; round++)
        for (uintptr_t i = 0; i < CAPACITY; i++) {
            REQUIRE(cpi_guard_free(slab, i, &site_a) == CPI_GUARD_FREE);
            REQUIRE(cpi_guard_alloc(slab, i, &site_a) == CPI_GUARD_GOOD);
            REQUIRE(cpi_guard_site(slab, i) == &site_a);
            memset(slot_of(i), (int)i, shapes[_i].size);
            REQUIRE(cpi_guard_free(slab, i, &site_b) == CPI_GUARD_GOOD);
            REQUIRE(cpi_guard_site(slab, i) == &site_b);
            REQUIRE(cpi_guard_free(slab, i, &site_a) == CPI_GUARD_FREE);
            REQUIRE(cpi_guard_site(slab, i) == &site_b);
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
        REQUIRE(cpi_guard_free(slab, index, &site_a) == finding);
        REQUIRE(*byte == before);
        REQUIRE(cpi_guard_verify(slab, index) == CPI_GUARD_GOOD);
    }
}

START_TEST(free_after_damage_found_and_repaired)
{
    size_t gap = shapes[_i].stride - shapes[_i].size;
    size_t reach = gap < CPI_GUARD_REACH ? gap : CPI_GUARD_REACH;

    make_slab(_i);
    for (uintptr_t i = 0; i < CAPACITY; i++)
        REQUIRE(cpi_guard_alloc(slab, i, &site_a) == CPI_GUARD_GOOD);
    for (uintptr_t i = 0; i < CAPACITY; i++) {
        size_t before = i == 0 ? CPI_GUARD_GAP : reach;

        for (size_t byte = 0; byte < reach; byte++) {
            require_found(i, slot_of(i) + shapes[_i].size + byte, CPI_GUARD_DAMAGE_AFTER);
            require_found(i, slot_of(i) + shapes[_i].stride - 1 - byte, CPI_GUARD_DAMAGE_AFTER);
        }
        for (size_t byte = 1; byte <= before; byte++)
            require_found(i, slot_of(i) - byte, CPI_GUARD_DAMAGE_BEFORE);
        REQUIRE(cpi_guard_site(slab, i) == &site_a);
        REQUIRE(cpi_guard_free(slab, i, &site_b) == CPI_GUARD_GOOD);
    }
}
END_TEST

START_TEST(alloc_after_damage_found_and_live)
{
    make_slab(_i);
    slot_of(3)[shapes[_i].size] ^= 1;
    REQUIRE(cpi_guard_alloc(slab, 3, &site_a) == CPI_GUARD_DAMAGE_AFTER);
    slot_of(9)[-1] ^= 1;
    REQUIRE(cpi_guard_alloc(slab, 9, &site_a) == CPI_GUARD_DAMAGE_BEFORE);
    REQUIRE(cpi_guard_free(slab, 3, &site_a) == CPI_GUARD_GOOD);
    REQUIRE(cpi_guard_free(slab, 9, &site_a) == CPI_GUARD_GOOD);
}
END_TEST

START_TEST(clear_makes_free)
{
    make_slab(_i);
    REQUIRE(cpi_guard_alloc(slab, 3, &site_a) == CPI_GUARD_GOOD);
    cpi_guard_clear(slab, 3);
    cpi_guard_clear(slab, 4);
    for (uintptr_t i = 3; i <= 4; i++) {
        REQUIRE(cpi_guard_free(slab, i, &site_a) == CPI_GUARD_FREE);
        REQUIRE(cpi_guard_alloc(slab, i, &site_a) == CPI_GUARD_GOOD);
        REQUIRE(cpi_guard_free(slab, i, &site_a) == CPI_GUARD_GOOD);
    }
}
END_TEST

/* The generation comes round without passing for a slot that was never used. */
START_TEST(alloc_after_all_generations_goes_on)
{
    struct cpi_guard_state *states;

    make_slab(0);
    states = (struct cpi_guard_state *)(void *)slab->side.base;
    atomic_store_explicit(&states[5].generation, UINT32_MAX - 1, memory_order_relaxed);
    for (int round = 0; round < 3; round++) {
        REQUIRE(cpi_guard_alloc(slab, 5, &site_a) == CPI_GUARD_GOOD);
        REQUIRE(cpi_guard_free(slab, 5, &site_a) == CPI_GUARD_GOOD);
        REQUIRE(cpi_guard_free(slab, 5, &site_a) == CPI_GUARD_FREE);
        REQUIRE(atomic_load_explicit(&states[5].generation, memory_order_relaxed) != 0);
    }
    /* The neighbour still looks at the gap between the two. */
    REQUIRE(cpi_guard_alloc(slab, 6, &site_a) == CPI_GUARD_GOOD);
    slot_of(6)[-1] ^= 1;
    REQUIRE(cpi_guard_free(slab, 6, &site_a) == CPI_GUARD_DAMAGE_BEFORE);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(alloc_and_free_alternate, SHAPES),
        TIMES(site_before_first_use_is_null, SHAPES),
        TIMES(free_after_damage_found_and_repaired, SHAPES),
        TIMES(alloc_after_damage_found_and_live, SHAPES),
        TIMES(clear_makes_free, SHAPES),
        ONCE(alloc_after_all_generations_goes_on),
    };

    return SUPPORT_RUN("watch", tests);
}
