/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_validate.c - every free is verified: foreign, misaligned and unused
 * addresses are refused and reported, through every door, and for any stride.
 */
#include "support.h"

enum { CAPACITY = 500 };

/* Odd, even, powers of two, one, and some with large odd parts. */
static const size_t strides[] = { 1, 2, 3, 7, 8, 12, 24, 40, 56, 64, 100, 343, 1000, 4096, 4100,
                                  65537, 99999 };

#define STRIDES (sizeof(strides) / sizeof(strides[0]))

/* The functions that free. */
static void free_alone(cpool_t *pool, void *slot)
{
    cpool_free(pool, slot);
}

static void free_in_bulk(cpool_t *pool, void *slot)
{
    cpool_free_bulk(pool, &slot, 1);
}

static void free_to_depot(cpool_t *pool, void *slot)
{
    cpool_free_uncached(pool, slot);
}

static void free_to_cache(cpool_t *pool, void *slot)
{
    cpool_cache_t *cache;

    REQUIRE_EQUAL(cpool_cache_create(&cache, pool), 0);
    cpool_cache_free(cache, slot);
    cpool_cache_destroy(cache);
}

static const struct door {
    const char *name;
    void (*give)(cpool_t *pool, void *slot);
} doors[] = {
    { "cpool_free", free_alone },
    { "cpool_free_bulk", free_in_bulk },
    { "cpool_free_uncached", free_to_depot },
    { "cpool_cache_free", free_to_cache },
};

#define DOORS (sizeof(doors) / sizeof(doors[0]))

/* The reference division's answer about an address. */
static int classify(const cpool_t *pool, uintptr_t address)
{
    struct figures stats = support_stats(pool);
    uintptr_t base = (uintptr_t)cpool_at(pool, 0);
    uintptr_t offset = address - base;

    if (address < base || offset / stats.slot_stride >= cpool_index_limit(pool))
        return CPOOL_EFOREIGN;
    if (offset % stats.slot_stride != 0)
        return CPOOL_EMISALIGNED;
    return offset / stats.slot_stride < stats.circulating ? CPOOL_OK : CPOOL_EUNUSED;
}

/* The address is refused, by this code, at this door.  The pool is as before. */
static void require_refused(cpool_t *pool, const struct door *door, uintptr_t address)
{
    struct figures before = support_stats(pool);
    int code = classify(pool, address);
    struct support_report report;
    struct figures after;

    REQUIRE(code != CPOOL_OK);
    door->give(pool, (void *)address);
    report = REQUIRE_REPORT(code);
    REQUIRE(report.pool == pool);
    REQUIRE_EQUAL(report.size, sizeof(cpool_error_t));
    REQUIRE(strcmp(report.function, door->name) == 0);
    REQUIRE(strcmp(report.name, "tested") == 0);
    REQUIRE((uintptr_t)report.address == address);
    REQUIRE(report.slot != NULL && report.slot == cpool_at(pool, report.index));
    after = support_stats(pool);
    REQUIRE_EQUAL(after.live, before.live);
    REQUIRE_EQUAL(after.in_caches, before.in_caches);
    REQUIRE_EQUAL(after.in_depot, before.in_depot);
}

/* A pool of which the first half or so has been used. */
static cpool_t *make_half_used(size_t slot_size)
{
    cpool_t *pool = support_create_plain(slot_size, CAPACITY);

    support_capture_reports();
    for (int i = 0; i < CAPACITY / 2; i++)
        REQUIRE(cpool_alloc(pool) != NULL);
    return pool;
}

TEST_TIMES(free_foreign_address_refused, STRIDES)
{
    cpool_t *pool = make_half_used(strides[_i]);
    cpool_t *other = support_create_plain(strides[_i], CAPACITY);
    uintptr_t base = (uintptr_t)cpool_at(pool, 0);
    uintptr_t end = base + cpool_index_limit(pool) * strides[_i];
    int local;
    void *from_heap = support_calloc(1, 100);
    const uintptr_t wrong[] = {
        1, 2, 16, 4096, (uintptr_t)&local, (uintptr_t)from_heap, (uintptr_t)pool,
        (uintptr_t)cpool_alloc(other), (uintptr_t)&free_alone, (uintptr_t)"text",
        base - 1, base - strides[_i], base - 2 * strides[_i], base / 2,
        end, end + 1, end + strides[_i], end + 1000 * strides[_i],
        UINTPTR_MAX, UINTPTR_MAX - strides[_i] + 1, UINTPTR_MAX / 2, UINTPTR_MAX / 2 + 1,
    };

    for (size_t door = 0; door < DOORS; door++)
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
            REQUIRE_EQUAL(classify(pool, wrong[i]), CPOOL_EFOREIGN);
            require_refused(pool, &doors[door], wrong[i]);
        }
    free(from_heap);
    REQUIRE_EQUAL(support_destroy(other), 1);
    REQUIRE_EQUAL(support_destroy(pool), CAPACITY / 2);
}

/* Every byte of a slot but the first one: of the first slot, of one in the
 * middle, of a fresh one, and of the last one. */
TEST_TIMES(free_every_byte_inside_slot_refused, STRIDES)
{
    size_t stride = strides[_i];
    cpool_t *pool = make_half_used(stride);
    const size_t slots[] = { 0, CAPACITY / 3, CAPACITY - 1, cpool_index_limit(pool) - 1 };
    size_t step = stride > 5000 ? SUPPORT_COUNT((size_t)13, (size_t)677) : 1;

    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
        uintptr_t slot = (uintptr_t)cpool_at(pool, slots[i]);

        for (size_t byte = 1; byte < stride; byte += step)
            require_refused(pool, &doors[byte % DOORS], slot + byte);
    }
    REQUIRE_EQUAL(support_destroy(pool), CAPACITY / 2);
}

TEST_TIMES(free_unused_slot_refused, STRIDES)
{
    cpool_t *pool = make_half_used(strides[_i]);
    size_t circulating = support_stats(pool).circulating;

    REQUIRE(circulating < CAPACITY);
    for (size_t door = 0; door < DOORS; door++) /* the first one of all */
        require_refused(pool, &doors[door], (uintptr_t)cpool_at(pool, circulating));
    for (size_t index = circulating; index < cpool_index_limit(pool); index += 1 + index / 1000) {
        require_refused(pool, &doors[index % DOORS], (uintptr_t)cpool_at(pool, index));
        REQUIRE_EQUAL(support_stats(pool).circulating, circulating);
    }
    REQUIRE_EQUAL(support_destroy(pool), CAPACITY / 2);
}

/* The first slot that was never handed out, with room for it in the cache. */
TEST_TIMES(free_first_unused_slot_refused, DOORS)
{
    cpool_t *pool = support_create_plain(16, CAPACITY);

    support_capture_reports();
    for (int i = 0; i < CAPACITY / 2; i++)
        REQUIRE(cpool_alloc(pool) != NULL);
    cpool_free(pool, cpool_at(pool, 0));
    require_refused(pool, &doors[_i],
                    (uintptr_t)cpool_at(pool, 0) +
                        support_stats(pool).circulating * support_stats(pool).slot_stride);
    REQUIRE_EQUAL(support_destroy(pool), CAPACITY / 2 - 1);
}

/* In the padding between slots, and in a slab that begins inside its memory. */
TEST(free_address_in_padding_refused)
{
    cpool_t *pool = SUPPORT_CREATE(40, CAPACITY, .slot_align = 256, .slot_offset = 24);

    support_capture_reports();
    for (int i = 0; i < CAPACITY / 2; i++)
        REQUIRE(cpool_alloc(pool) != NULL);
    for (size_t byte = 1; byte < 256; byte++)
        require_refused(pool, &doors[byte % DOORS], (uintptr_t)cpool_at(pool, 5) + byte);
    for (size_t byte = 1; byte < 1000; byte++)
        require_refused(pool, &doors[byte % DOORS], (uintptr_t)cpool_at(pool, 0) - byte);
    REQUIRE_EQUAL(support_destroy(pool), CAPACITY / 2);
}

/* The mistake of a child, and the slot nearest to its address. */
struct misuse {
    cpool_t *pool;
    const struct door *door;
    void *address;
    size_t nearest;
};

/* Says first which addresses it has: without a fork the child has others than the test. */
static void misuse(void *argument)
{
    struct misuse *what = argument;

    fprintf(stderr, "%p %p %p\n", (void *)what->pool, what->address,
            cpool_at(what->pool, what->nearest));
    what->door->give(what->pool, what->address);
}

/* The message names the pool, the function, the address, and the nearest slot
 * by index and by address, in one line. */
static void require_message(const struct misuse *what, int code)
{
    struct support_outcome outcome;
    char said[3][32];
    const char *text;
    char expected[64];

    support_require_abort(misuse, (void *)(uintptr_t)what, &outcome);
    REQUIRE_EQUAL(sscanf(outcome.text, "%31s %31s %31s", said[0], said[1], said[2]), 3);
    text = strchr(outcome.text, '\n') + 1;
    snprintf(expected, sizeof(expected), "(pool 'tested' %s,", said[0]);
    REQUIRE(strstr(text, expected) != NULL);
    REQUIRE(strstr(text, what->door->name) != NULL);
    REQUIRE(strstr(text, cpool_strerror(code)) != NULL);
    REQUIRE(strstr(text, said[1]) != NULL);
    REQUIRE(strstr(text, said[2]) != NULL);
    snprintf(expected, sizeof(expected), " %zu ", what->nearest);
    REQUIRE(strstr(text, expected) != NULL);
    /* The second line says how to learn more. */
    REQUIRE(strncmp(strchr(text, '\n'), "\ncpool:   CPOOL_OPTIONS=checked", 30) == 0);
}

TEST(free_wrong_address_by_default_aborts_with_message)
{
    /* The nearest is one that there is, without growing. */
    cpool_t *pool = SUPPORT_CREATE(24, CAPACITY, .max_capacity = 2 * CAPACITY);
    char *slot = NULL;
    char *end = (char *)cpool_at(pool, cpool_index_limit(pool) - 1);

    for (int i = 0; i < 100; i++)
        slot = cpool_alloc(pool);
    REQUIRE(slot == (char *)cpool_at(pool, 99));
    for (size_t door = 0; door < DOORS; door++) {
        struct misuse inside = { pool, &doors[door], slot + 5, 99 };
        struct misuse below = { pool, &doors[door], (char *)cpool_at(pool, 0) - 1000000, 0 };
        struct misuse above = { pool, &doors[door], end + 1000000, CAPACITY - 1 };
        struct misuse unused = { pool, &doors[door], cpool_at(pool, CAPACITY - 1),
                                 CAPACITY - 1 };

        require_message(&inside, CPOOL_EMISALIGNED);
        require_message(&below, CPOOL_EFOREIGN);
        require_message(&above, CPOOL_EFOREIGN);
        require_message(&unused, CPOOL_EUNUSED);
    }
    REQUIRE_EQUAL(support_destroy(pool), 100);
}

/* Volatile, because compilers see a slot that is freed twice. */
static void give(cpool_t *pool, void *slot, bool to_depot)
{
    void *volatile given = slot;

    if (to_depot)
        cpool_free_uncached(pool, given);
    else
        cpool_free(pool, given);
}

static void require_surplus(const char *function, const char *count)
{
    struct support_report report = REQUIRE_REPORT(CPOOL_EDOUBLEFREE);

    REQUIRE(strcmp(report.function, function) == 0);
    REQUIRE(strstr(report.text, count) != NULL);
    REQUIRE(strcmp(report.name, "tested") == 0);
    REQUIRE(report.slot == NULL);
    REQUIRE(strstr(report.details, "CPOOL_OPTIONS=checked") != NULL);
}

/* Through a cache or past it: three in one pool, and the pool is the same one to
 * the end. */
TEST_TIMES(free_twice_is_found_by_destroy, 2)
{
    cpool_t *pool = support_create_plain(64, CAPACITY);
    bool to_depot = _i != 0;
    void *slots[3];

    support_capture_reports();
    for (int i = 0; i < 3; i++)
        slots[i] = cpool_alloc(pool);
    for (int i = 0; i < 3; i++)
        give(pool, slots[i], to_depot);
    for (int i = 0; i < 3; i++)
        give(pool, slots[i], to_depot);
    REQUIRE_NO_REPORT();
    REQUIRE_EQUAL(support_stats(pool).live, 0);
    REQUIRE_EQUAL(cpool_destroy(pool), CPOOL_EDOUBLEFREE);
    require_surplus("cpool_destroy", " 3 slots ");
}

TEST_TIMES(free_twice_is_found_by_reset_and_gone_then, 2)
{
    cpool_t *pool = support_create_plain(64, CAPACITY);
    void *slot = cpool_alloc(pool);

    support_capture_reports();
    give(pool, slot, _i != 0);
    give(pool, slot, _i != 0);
    REQUIRE_EQUAL(cpool_reset(pool), 0);
    require_surplus("cpool_reset", " 1 slot ");
    support_require_obtainable(pool, 0);
    REQUIRE_EQUAL(cpool_destroy(pool), 0);
    REQUIRE_NO_REPORT();
}
