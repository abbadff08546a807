/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_alloc.c - taking and giving back slots, by one thread, of every size,
 * capacity and alignment.
 *
 * Built twice: with the inline path, and with CPOOL_NO_INLINE, against the symbols that the
 * library emits.
 */
#include "support.h"

#define KIB ((size_t)1024)
#define MIB (KIB * KIB)

static const size_t slot_sizes[] = { 1, 3, 7, 8, 24, 4 * KIB, 1 * MIB };
static const size_t capacities[] = { 1, 63, 64, 65, 1 * MIB };

#define SLOT_SIZES (sizeof(slot_sizes) / sizeof(slot_sizes[0]))
#define CAPACITIES (sizeof(capacities) / sizeof(capacities[0]))
#define GEOMETRIES (SLOT_SIZES * CAPACITIES)

/* Pools of up to this many bytes are written to the last byte. */
#define WRITTEN_MAX (64 * MIB)

/* The largest power of two that divides the size, at most max_align_t's. */
static size_t natural_alignment(size_t size)
{
    size_t align = _Alignof(max_align_t);

    while (size % align != 0)
        align /= 2;
    return align;
}

/* The pool of geometry number i.  A sanitizer makes a smaller one of the largest. */
static cpool_t *make_geometry(int i)
{
    size_t slot_size = slot_sizes[(size_t)i % SLOT_SIZES];
    size_t capacity = capacities[(size_t)i / SLOT_SIZES];

    if (capacity == 1 * MIB)
        capacity = SUPPORT_COUNT(capacity, slot_size < MIB ? 16 * KIB : 1 * KIB);
    return support_create_plain(slot_size, capacity);
}

static unsigned char stamp_of(size_t index)
{
    return (unsigned char)(index * 31 + index / 256 + 1);
}

/* Fresh slots come in order of address, all of them, and then none. */
static void take_fresh(cpool_t *pool, void **slots)
{
    struct figures stats = support_stats(pool);
    size_t align = natural_alignment(stats.slot_size);

    for (size_t i = 0; i < stats.capacity; i++) {
        slots[i] = cpool_alloc(pool);
        REQUIRE(slots[i] != NULL);
        REQUIRE(cpool_index(pool, slots[i]) == i);
        REQUIRE(cpool_at(pool, i) == slots[i]);
        REQUIRE((uintptr_t)slots[i] % align == 0);
        REQUIRE(i == 0 || (char *)slots[i] - (char *)slots[i - 1] == (ptrdiff_t)stats.slot_stride);
    }
    for (int i = 0; i < 3; i++)
        REQUIRE(cpool_alloc(pool) == NULL);
}

static void stamp_all(void **slots, const struct figures *stats)
{
    for (size_t i = 0; i < stats->capacity; i++)
        memset(slots[i], stamp_of(i), stats->slot_size);
}

static void require_stamp(const cpool_t *pool, const unsigned char *slot, size_t size)
{
    unsigned char stamp = stamp_of(cpool_index(pool, slot));

    for (size_t i = 0; i < size; i++)
        REQUIRE(slot[i] == stamp);
}

/* Gives back in an order that is neither that of taking nor its reverse. */
static void free_shuffled(cpool_t *pool, void **slots, size_t count)
{
    uint64_t state = 88172645463325252u;

    for (size_t i = count; i > 1; i--) {
        size_t other = random_below(&state, i);
        void *slot = slots[i - 1];

        slots[i - 1] = slots[other];
        slots[other] = slot;
    }
    for (size_t i = 0; i < count; i++)
        cpool_free(pool, slots[i]);
}

TEST_TIMES(alloc_every_geometry_gives_all_in_order_and_keeps_bytes, GEOMETRIES)
{
    cpool_t *pool = make_geometry(_i);
    struct figures stats = support_stats(pool);
    void **slots = support_calloc(stats.capacity, sizeof(*slots));
    bool written = stats.slot_size <= WRITTEN_MAX / stats.capacity;

    REQUIRE_EQUAL(stats.slot_stride, stats.slot_size);
    take_fresh(pool, slots);
    support_require_live(pool, stats.capacity);
    if (written)
        stamp_all(slots, &stats);
    free_shuffled(pool, slots, stats.capacity);
    support_require_live(pool, 0);
    REQUIRE_EQUAL(support_take_all(pool, slots), stats.capacity);
    for (size_t i = 0; written && i < stats.capacity; i++)
        require_stamp(pool, slots[i], stats.slot_size);
    for (size_t i = 0; i < stats.capacity; i++)
        cpool_free(pool, slots[i]);
    support_destroy_empty(pool);
    free(slots);
}

static void require_aligned(size_t align, size_t offset, unsigned flags)
{
    cpool_t *pool = SUPPORT_CREATE(40, 20, .slot_align = align, .slot_offset = offset,
                                   .flags = flags);
    struct figures stats = support_stats(pool);

    for (size_t i = 0; i < stats.capacity; i++) {
        char *slot = cpool_alloc(pool);

        REQUIRE(slot != NULL);
        REQUIRE(((uintptr_t)slot + offset) % align == 0);
        memset(slot, 1, stats.slot_size);
    }
    REQUIRE_EQUAL(stats.slot_stride % align, 0);
    REQUIRE(stats.slot_stride >= stats.slot_size);
    REQUIRE(flags != 0 || stats.slot_stride < stats.slot_size + align);
    REQUIRE(cpool_alloc(pool) == NULL);
    REQUIRE_EQUAL(cpool_reset(pool), stats.capacity);
    support_destroy_empty(pool);
}

TEST(alloc_aligned_holds_for_every_alignment_and_offset)
{
    static const size_t offsets[] = { 0, 1, 7, 8, 24, 39, 40 };

    for (size_t align = 1; align <= CPOOL_ALIGN_MAX; align *= 2)
        for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
            require_aligned(align, offsets[i], 0);
            require_aligned(align, offsets[i], CPOOL_CHECKED);
        }
}

/* As many as a cache holds.  Slots that go through the depot come in another order. */
TEST(alloc_after_frees_is_last_in_first_out)
{
    cpool_t *pool = support_create_plain(32, 10000);
    void *slots[500];
    size_t count = sizeof(slots) / sizeof(slots[0]);

    for (size_t i = 0; i < count; i++)
        slots[i] = cpool_alloc(pool);
    for (size_t i = 0; i < count; i++)
        cpool_free(pool, slots[i]);
    for (size_t i = count; i-- > 0;)
        REQUIRE(cpool_alloc(pool) == slots[i]);
    REQUIRE_EQUAL(support_destroy(pool), count);
}

/* The example of the text that the lazy watermark is from (<cpool/create.h>). */
TEST_TIMES(alloc_in_a_pool_of_four_follows_the_example, 3)
{
    static const unsigned flags[] = { 0, CPOOL_TRACKED, CPOOL_CHECKED };
    cpool_t *pool = support_create_kind(4, 4, flags[_i]);
    void *slots[3];

    for (size_t i = 0; i < 3; i++)
        REQUIRE_EQUAL(cpool_index(pool, slots[i] = cpool_alloc(pool)), i);
    cpool_free(pool, slots[0]);
    cpool_free(pool, slots[2]);
    REQUIRE(cpool_alloc(pool) == slots[2]);
    REQUIRE(cpool_alloc(pool) == slots[0]);
    REQUIRE_EQUAL(cpool_reset(pool), 3);
    support_destroy_empty(pool);
}

TEST(alloc_first_use_gives_zeroes)
{
    cpool_t *pool = support_create_plain(333, 100);

    for (int i = 0; i < 100; i++) {
        const unsigned char *slot = cpool_alloc(pool);

        for (size_t byte = 0; byte < 333; byte++)
            REQUIRE(slot[byte] == 0);
    }
    REQUIRE_EQUAL(support_destroy(pool), 100);
}

/* Its neighbours are live and adjoin.  Not a byte of theirs may change. */
static void require_zeroes_one(size_t size)
{
    cpool_t *pool = support_create_plain(size, 3);
    unsigned char *slots[3];

    for (size_t i = 0; i < 3; i++) {
        slots[i] = cpool_alloc(pool);
        memset(slots[i], 0xA5, size);
    }
    cpool_free(pool, slots[1]);
    REQUIRE(cpool_calloc(pool) == (void *)slots[1]);
    for (size_t byte = 0; byte < size; byte++) {
        REQUIRE(slots[0][byte] == 0xA5);
        REQUIRE(slots[1][byte] == 0);
        REQUIRE(slots[2][byte] == 0xA5);
    }
    REQUIRE(cpool_calloc(pool) == NULL);
    REQUIRE_EQUAL(support_destroy(pool), 3);
}

TEST(calloc_used_slot_zeroes_exactly_slot_size)
{
    for (size_t i = 0; i < SLOT_SIZES; i++)
        require_zeroes_one(slot_sizes[i]);
    for (size_t size = 1; size <= 80; size++)
        require_zeroes_one(size);
}

/* The gap between two slots for the sake of alignment is the user's too. */
TEST(calloc_padded_slot_leaves_padding_alone)
{
    cpool_t *pool = SUPPORT_CREATE(40, 2, .slot_align = 64);
    unsigned char *slot = cpool_alloc(pool);

    memset(slot, 0xA5, 64);
    cpool_free(pool, slot);
    REQUIRE(cpool_calloc(pool) == (void *)slot);
    for (size_t byte = 0; byte < 64; byte++)
        REQUIRE(slot[byte] == (byte < 40 ? 0 : 0xA5));
    cpool_free(pool, slot);
    support_destroy_empty(pool);
}

TEST(free_null_does_nothing)
{
    cpool_t *pool = support_create_plain(8, 10);
    void *slot;

    support_capture_reports();
    cpool_free(pool, NULL);
    slot = cpool_alloc(pool);
    cpool_free(pool, NULL);
    cpool_free_uncached(pool, NULL);
    support_require_live(pool, 1);
    cpool_free(pool, slot);
    cpool_free(pool, NULL);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

/* The two lines of doc/ADOPTING.md ("From malloc"). */
TEST(alloc_dry_pool_and_malloc_go_back_where_they_came_from)
{
    cpool_t *pool = support_create_plain(40, 10);
    void *held[15];

    support_capture_reports();
    for (size_t i = 0; i < 15; i++) {
        held[i] = cpool_alloc(pool);
        if (held[i] == NULL)
            held[i] = malloc(40);
        REQUIRE(held[i] != NULL && cpool_owns(pool, held[i]) == (i < 10));
        memset(held[i], 0xA5, 40);
    }
    for (size_t i = 0; i < 15; i++)
        cpool_owns(pool, held[i]) ? cpool_free(pool, held[i]) : free(held[i]);
    REQUIRE_NO_REPORT();
    support_release_reports();
    support_destroy_empty(pool);
}

TEST(depot_alloc_gives_all_and_mixes_with_the_cached_pair)
{
    cpool_t *pool = support_create_plain(24, 300);
    void *slots[300];
    size_t count = 0;

    for (size_t i = 0; i < 100; i++) {
        slots[count++] = cpool_alloc_uncached(pool);
        slots[count++] = cpool_alloc(pool);
    }
    while (count < 300) /* those in this thread's cache, too */
        REQUIRE((slots[count++] = cpool_alloc_uncached(pool)) != NULL);
    REQUIRE(cpool_alloc_uncached(pool) == NULL);
    support_require_live(pool, 300);
    for (size_t i = 0; i < 300; i++) {
        if (i % 3 == 0)
            cpool_free(pool, slots[i]);
        else
            cpool_free_uncached(pool, slots[i]);
    }
    support_destroy_whole(pool);
}
