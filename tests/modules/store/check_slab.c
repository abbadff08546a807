/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_slab.c - geometry and the fresh watermark (lib/store/slab.h).
 */
#include "support.h"

#include <string.h>

#include "host/os.h"
#include "store/slab.h"

enum { CAPACITY = 1000, LEAD = 40 };

static const size_t strides[] = { 1, 2, 3, 7, 24, 64, 100, 1000, 4096, 12345 };

#define STRIDES (sizeof(strides) / sizeof(strides[0]))

/* A slab with slots a byte smaller than their stride, if they can be. */
static struct cpi_slab *make_slab(size_t stride)
{
    size_t size = LEAD + CAPACITY * stride;
    struct cpi_slab *slab = support_lines(sizeof(*slab));
    struct cpi_extent extent;
    void *memory = support_lines(size);
    const struct cpi_slab_shape shape = { stride > 1 ? stride - 1 : 1, stride, CAPACITY, CAPACITY };

    cpi_extent_init_committed(&extent, memory, size);
    cpi_slab_init(slab, &extent, LEAD, &shape);
    return slab;
}

TEST_TIMES(slot_and_index_are_inverse, STRIDES)
{
    struct cpi_slab *slab = make_slab(strides[_i]);

    REQUIRE(cpi_slab_slot(slab, 0) == (void *)(slab->extent.base + LEAD));
    for (uintptr_t i = 0; i < CAPACITY; i++) {
        char *slot = cpi_slab_slot(slab, i);

        REQUIRE(slot == slab->extent.base + LEAD + i * strides[_i]);
        REQUIRE(cpi_slab_index(slab, slot) == i);
        for (size_t byte = 1; byte < strides[_i]; byte++)
            REQUIRE(cpi_slab_index(slab, slot + byte) >= CAPACITY);
    }
    for (size_t before = 1; before <= LEAD; before++)
        REQUIRE(cpi_slab_index(slab, slab->extent.base + LEAD - before) >= CAPACITY);
}

TEST(claim_at_watermark_only)
{
    struct cpi_slab *slab = make_slab(24);

    REQUIRE_EQUAL(cpi_slab_fresh(slab), 0);
    REQUIRE(!cpi_slab_bump(slab, CPI_BOUNDS(CAPACITY, 1), 5));
    REQUIRE(cpi_slab_bump(slab, CPI_BOUNDS(CAPACITY, 0), 5));
    REQUIRE_EQUAL(cpi_slab_fresh(slab), 5);
    REQUIRE(!cpi_slab_bump(slab, CPI_BOUNDS(CAPACITY, 0), 5));
    REQUIRE(!cpi_slab_bump(slab, CPI_BOUNDS(CAPACITY, 4), 1));
    REQUIRE(cpi_slab_bump(slab, CPI_BOUNDS(CAPACITY, 5), CAPACITY - 5));
    REQUIRE_EQUAL(cpi_slab_fresh(slab), CAPACITY);
    cpi_slab_reset(slab);
    REQUIRE_EQUAL(cpi_slab_fresh(slab), 0);
    REQUIRE(cpi_slab_bump(slab, CPI_BOUNDS(CAPACITY, 0), 1));
}

TEST(set_bounds_down_makes_slots_fresh)
{
    struct cpi_slab *slab = make_slab(24);

    REQUIRE(cpi_slab_bump(slab, CPI_BOUNDS(CAPACITY, 0), 10));
    REQUIRE(!cpi_slab_set_bounds(slab, CPI_BOUNDS(CAPACITY, 9), CPI_BOUNDS(CAPACITY, 7)));
    REQUIRE(cpi_slab_set_bounds(slab, CPI_BOUNDS(CAPACITY, 10), CPI_BOUNDS(CAPACITY, 6)));
    REQUIRE_EQUAL(cpi_slab_fresh(slab), 6);
    REQUIRE(!cpi_slab_bump(slab, CPI_BOUNDS(CAPACITY, 10), 1));
    REQUIRE(cpi_slab_bump(slab, CPI_BOUNDS(CAPACITY, 6), 1));
}

TEST(claim_after_the_capacity_changed_fails)
{
    struct cpi_slab *slab = make_slab(24);
    uint64_t seen = cpi_slab_bounds(slab);

    REQUIRE_EQUAL(cpi_slab_capacity(slab), CAPACITY);
    REQUIRE(!cpi_slab_set_bounds(slab, CPI_BOUNDS(CAPACITY - 1, 0), CPI_BOUNDS(7, 0)));
    REQUIRE(cpi_slab_set_bounds(slab, seen, CPI_BOUNDS(7, 0)));
    REQUIRE_EQUAL(cpi_slab_capacity(slab), 7);
    REQUIRE(!cpi_slab_bump(slab, seen, 1));
    cpi_slab_reset(slab);
    REQUIRE_EQUAL(cpi_slab_capacity(slab), 7);
}

/* The kind of an address, by division. */
static enum cpi_place place_of(const struct cpi_slab *slab, uintptr_t offset, uintptr_t fresh)
{
    if (offset >= CAPACITY * slab->stride)
        return CPI_PLACE_OUTSIDE;
    if (offset % slab->stride != 0)
        return CPI_PLACE_INSIDE;
    return offset / slab->stride < fresh ? CPI_PLACE_SLOT : CPI_PLACE_UNUSED;
}

TEST_TIMES(place_agrees_with_division, STRIDES)
{
    struct cpi_slab *slab = make_slab(strides[_i]);
    char *base = cpi_slab_slot(slab, 0);
    uintptr_t size = CAPACITY * strides[_i];
    uintptr_t step = size > 100000 ? 97 : 1;

    REQUIRE(cpi_slab_bump(slab, CPI_BOUNDS(CAPACITY, 0), CAPACITY / 3));
    for (uintptr_t offset = 0; offset < size + 1000; offset += step) {
        uintptr_t index = SIZE_MAX;
        enum cpi_place place = cpi_slab_place(slab, (void *)((uintptr_t)base + offset), &index);

        REQUIRE(place == place_of(slab, offset, CAPACITY / 3));
        REQUIRE(index == (offset < size ? offset / strides[_i] : CAPACITY - 1));
    }
    for (uintptr_t before = 1; before < 1000; before++) {
        uintptr_t index = SIZE_MAX;

        REQUIRE(cpi_slab_place(slab, (void *)((uintptr_t)base - before), &index) ==
                CPI_PLACE_OUTSIDE);
        REQUIRE_EQUAL(index, 0);
    }
}

TEST(provide_makes_slots_and_side_memory_usable)
{
    size_t page = cpi_os_page_size();
    size_t size = 64 * page;
    char *memory = cpi_os_reserve((1 + CPI_SIDES) * size, cpi_os_page_size());
    struct cpi_extent extent;
    const struct cpi_slab_shape shape = { page / 4, page / 4, 252, 252 };
    struct cpi_slab *slab = support_lines(sizeof(*slab));

    REQUIRE(memory != NULL);
    cpi_extent_init(&extent, memory, size, page);
    cpi_slab_init(slab, &extent, 16, &shape);
    for (unsigned side = 0; side < CPI_SIDES; side++) {
        cpi_extent_init(&extent, memory + (1 + side) * size, size, page);
        cpi_slab_set_side(slab, side, &extent, 16);
    }
    for (uintptr_t i = 0; i < 252; i++) {
        REQUIRE(cpi_slab_provide(slab, i + 1));
        memset(cpi_slab_slot(slab, i), 1, page / 4);
        for (unsigned side = 0; side < CPI_SIDES; side++)
            memset(slab->sides[side].extent.base + i * 16, 1, 16);
    }
    cpi_os_release(memory, (1 + CPI_SIDES) * size);
}
