/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_layout.c - from a configuration to a layout (lib/pool/config.c), near the
 * limits of 32 bits.  The slots are as many as were asked for, every part has the room it
 * needs, and a layout that does not fit is refused.
 */
#include "support.h"

#include "inside.h"
#include "pool/config.h"
#include "pool/pool.h"

enum { PAGE = 4096 };

/* Computes in 64 bits what the layout computes in size_t, which may have fewer. */
struct part {
    uint64_t at;
    uint64_t size;
};

static uint64_t depot_magazines(const struct cpi_layout *layout)
{
    return (uint64_t)layout->slots / layout->rounds + 1 + 2 * (uint64_t)layout->uncached;
}

struct parts {
    struct part part[32];
    size_t count;
};

static void add(struct parts *parts, uint64_t at, uint64_t size)
{
    REQUIRE(parts->count < sizeof(parts->part) / sizeof(parts->part[0]));
    parts->part[parts->count++] = (struct part){at, size};
}

/* Each part begins where the one before has ended, or later, and the last one ends
 * within the whole. */
static void require_parts(const struct cpi_layout *layout)
{
    uint64_t stride = cpi_depot_stride(layout->rounds);
    struct parts parts = {.count = 0};

    add(&parts, 0, sizeof(struct cpi_pool));
    add(&parts, sizeof(struct cpi_pool), cpi_registry_bytes(layout->caches, layout->quota));
    add(&parts, layout->for_slots_at, depot_magazines(layout) * stride);
    add(&parts, layout->for_caches_at,
        (uint64_t)cpi_registry_magazines(layout->caches, layout->spares) * stride);
    for (size_t i = 0; i < CPI_SIDES; i++)
        add(&parts, layout->sides_at[i], (uint64_t)layout->slots * layout->sides[i]);
    add(&parts, layout->lead_at, (uint64_t)layout->slots * layout->stride);
    add(&parts, layout->total, 0);
    for (size_t i = 0; i + 1 < parts.count; i++)
        REQUIRE(parts.part[i].at + parts.part[i].size <= parts.part[i + 1].at);
}

/* As many slots as were asked for.  A watermark at the end does not spill into the capacity
 * beside it. */
static void require_slots(const struct cpi_layout *layout, uint64_t most)
{
    REQUIRE_EQUAL(layout->slots, most);
    REQUIRE_EQUAL(CPI_BOUNDS_FRESH(CPI_BOUNDS(most, layout->slots)), most);
    REQUIRE_EQUAL(CPI_BOUNDS_CAPACITY(CPI_BOUNDS(most, layout->slots)), most);
}

static void require_layout(const cpool_config_t *config)
{
    uint64_t most = config->max_capacity != 0 ? config->max_capacity : config->capacity;
    struct cpi_layout layout;
    int code = cpi_layout_compute(&layout, config, PAGE);

    if (code != 0) {
        /* It is refused only where it does not fit. */
        REQUIRE_EQUAL(code, CPOOL_ECAPACITY);
        REQUIRE(sizeof(size_t) < 8 || config->slot_size > SIZE_MAX / UINT32_MAX / 2);
        return;
    }
    REQUIRE(layout.rounds >= 1 && layout.caches >= 1);
    require_slots(&layout, most);
    require_parts(&layout);
}

static const size_t sizes[] = {
    1, 8, 64, 4096, (size_t)1 << 20, SIZE_MAX / UINT32_MAX, SIZE_MAX / 2, SIZE_MAX,
};

static const unsigned flag_sets[] = { 0, CPOOL_CHECKED, CPOOL_TRACKED };

/* Slots that lack to the largest number. */
static const uint32_t lacking[] = { 0, 1, 2, 63, 4095, 4096, 258047, 258048, 258049, 1u << 24 };

enum {
    SIZES = sizeof(sizes) / sizeof(sizes[0]),
    FLAG_SETS = sizeof(flag_sets) / sizeof(flag_sets[0]),
    LACKING = sizeof(lacking) / sizeof(lacking[0]),
};

TEST_TIMES(slots_near_the_end_are_counted_or_refused, SIZES * FLAG_SETS)
{
    cpool_config_t config = support_config(sizes[_i % SIZES], 1);

    config.flags = flag_sets[_i / SIZES];
    for (size_t i = 0; i < LACKING; i++) {
        static const size_t caches[] = { 0, 1, CPOOL_THREAD_CACHES_MAX };

        for (size_t c = 0; c < sizeof(caches) / sizeof(caches[0]); c++) {
            config.thread_caches = caches[c];
            config.capacity = CPOOL_CAPACITY_MAX - lacking[i];
            config.max_capacity = 0;
            require_layout(&config);
            config.capacity = 1000;
            config.max_capacity = CPOOL_CAPACITY_MAX - lacking[i];
            require_layout(&config);
        }
    }
}

/* The rounds of all caches may be more than 32 bits count. */
TEST_TIMES(large_magazines_of_many_caches_add_no_slot, FLAG_SETS)
{
    cpool_config_t config = support_config(1, CPOOL_ROUNDS_MAX);

    config.flags = flag_sets[_i];
    config.magazine_rounds = CPOOL_ROUNDS_MAX;
    config.thread_caches = CPOOL_THREAD_CACHES_MAX;
    for (size_t i = 0; i < LACKING; i++) {
        config.max_capacity = CPOOL_CAPACITY_MAX - lacking[i];
        require_layout(&config);
    }
}

/* Sizes that overflow anywhere are refused. */
TEST_TIMES(sizes_that_do_not_fit_are_refused, FLAG_SETS)
{
    struct cpi_layout layout;
    cpool_config_t config = support_config(SIZE_MAX, 1);

    config.flags = flag_sets[_i];
    REQUIRE_EQUAL(cpi_layout_compute(&layout, &config, PAGE), CPOOL_ECAPACITY);
    config.slot_size = SIZE_MAX - PAGE;
    REQUIRE_EQUAL(cpi_layout_compute(&layout, &config, PAGE), CPOOL_ECAPACITY);
    config.slot_size = SIZE_MAX / 2;
    config.capacity = 3;
    REQUIRE_EQUAL(cpi_layout_compute(&layout, &config, PAGE), CPOOL_ECAPACITY);
    config.slot_size = SIZE_MAX / UINT32_MAX + 1;
    config.capacity = CPOOL_CAPACITY_MAX;
    REQUIRE_EQUAL(cpi_layout_compute(&layout, &config, PAGE), CPOOL_ECAPACITY);
    REQUIRE_EQUAL(cpool_memory_required(&config), 0);
}

/* The last magazine of the largest pool that is accepted can be numbered, for any
 * padding of the first extent. */
TEST_TIMES(last_magazine_has_a_number, 4)
{
    static const size_t pages[] = { PAGE, 65536, (size_t)2 << 20, (size_t)512 << 20 };
    cpool_config_t config = support_config(1, 1);
    size_t accepted = 0;
    size_t refused = CPI_INDEX_MAX;
    struct cpi_layout layout;
    size_t stride;

    config.magazine_rounds = 1;
    config.thread_caches = 1;
    while (refused - accepted > 1) {
        size_t middle = accepted + (refused - accepted) / 2;

        config.capacity = middle;
        *(cpi_layout_compute(&layout, &config, pages[_i]) == 0 ? &accepted : &refused) = middle;
    }
    config.capacity = accepted;
    REQUIRE_EQUAL(cpi_layout_compute(&layout, &config, pages[_i]), 0);
    stride = cpi_depot_stride(1);
    REQUIRE((layout.for_caches_at - layout.for_slots_at) / stride +
                cpi_registry_magazines(layout.caches, layout.spares) <=
            CPI_INDEX_MAX);
}

/* The watermark stands where it does after as many allocs. */
TEST(last_slots_of_the_largest_pool_are_slots)
{
    enum { LAST = 1000 };
    const size_t first = CPOOL_CAPACITY_MAX - LAST;
    struct cpi_slab *slab;
    void *slots[LAST];
    cpool_t *pool;

    SKIP_IF(sizeof(size_t) < 8 || SUPPORT_SANITIZED, "there are not enough addresses");
    pool = support_create_plain(1, CPOOL_CAPACITY_MAX);
    slab = &inside(pool)->slab;
    SKIP_IF(!cpi_depot_provide(&inside(pool)->depot, CPOOL_CAPACITY_MAX) ||
                !cpi_slab_provide(slab, CPOOL_CAPACITY_MAX),
            "there is not enough memory");
    REQUIRE(cpi_slab_set_bounds(slab, cpi_slab_bounds(slab),
                                CPI_BOUNDS(CPOOL_CAPACITY_MAX, first)));
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < LAST; i++) {
            slots[i] = cpool_alloc(pool);
            REQUIRE(slots[i] != NULL && cpool_at(pool, cpool_index(pool, slots[i])) == slots[i]);
            REQUIRE(cpool_index(pool, slots[i]) >= first);
        }
        REQUIRE(cpool_alloc(pool) == NULL);
        for (size_t i = 0; i < LAST; i++)
            cpool_free(pool, slots[i]);
    }
    REQUIRE_EQUAL(support_destroy(pool), first);
}

/* The first lines of as many slots as a cache has sets fall on all of its sets, and
 * no slot is where its alignment forbids. */
TEST_TIMES(coloured_slots_meet_every_set, 3)
{
    static const size_t aligns[] = { 0, 16, CPI_LINE };
    enum { SETS = 64 };

    for (size_t size = 1; size <= 8192; size += size < 128 ? 1 : 64) {
        cpool_config_t config = support_config(size, 1000);
        struct cpi_layout plain, coloured;
        bool met[SETS] = { false };

        config.slot_align = aligns[_i];
        REQUIRE_EQUAL(cpi_layout_compute(&plain, &config, PAGE), 0);
        config.flags = CPOOL_COLOUR;
        REQUIRE_EQUAL(cpi_layout_compute(&coloured, &config, PAGE), 0);
        REQUIRE(coloured.stride == plain.stride || coloured.stride == plain.stride + CPI_LINE);
        REQUIRE_EQUAL(coloured.stride % plain.align, 0);
        if (coloured.stride % CPI_LINE != 0)
            continue;
        for (size_t slot = 0; slot < SETS; slot++)
            met[slot * coloured.stride / CPI_LINE % SETS] = true;
        for (size_t set = 0; set < SETS; set++)
            REQUIRE(met[set]);
    }
}

TEST_TIMES(colour_gives_way_to_alignment, 6)
{
    cpool_config_t config = support_config(4096, 1000);
    struct cpi_layout layout;

    config.slot_align = 2 * CPI_LINE << _i;
    config.flags = CPOOL_COLOUR;
    REQUIRE_EQUAL(cpi_layout_compute(&layout, &config, PAGE), 0);
    REQUIRE_EQUAL(layout.stride, 4096);
}
