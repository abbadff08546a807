/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_config.c - configurations: each mistake gives its own code and leaves
 * nothing behind.  Caller-provided memory of exactly the size required serves.
 */
#include "support.h"

#include <sys/mman.h>

#include <cpool/client.h>

#define KIB ((size_t)1024)
#define MIB (KIB * KIB)

/* --- Mistakes --- */

/* One member of a good configuration set to a wrong value. */
struct mistake {
    size_t member; /* its offset */
    size_t value;
    int code;
};

#define MISTAKE(member, value, code) { offsetof(cpool_config_t, member), (value), (code) }

static const struct mistake mistakes[] = {
    MISTAKE(size, 0, CPOOL_ESTRUCT),
    MISTAKE(size, 1, CPOOL_ESTRUCT),
    MISTAKE(size, sizeof(size_t) - 1, CPOOL_ESTRUCT),
    MISTAKE(size, 4097, CPOOL_ESTRUCT),
    MISTAKE(size, SIZE_MAX, CPOOL_ESTRUCT),
    MISTAKE(slot_size, 0, CPOOL_ESLOTSIZE),
    MISTAKE(slot_align, 3, CPOOL_EALIGN),
    MISTAKE(slot_align, 24, CPOOL_EALIGN),
    MISTAKE(slot_align, CPOOL_ALIGN_MAX - 1, CPOOL_EALIGN),
    MISTAKE(slot_align, CPOOL_ALIGN_MAX * 2, CPOOL_EALIGN),
    MISTAKE(slot_align, SIZE_MAX, CPOOL_EALIGN),
    MISTAKE(slot_align, SIZE_MAX / 2 + 1, CPOOL_EALIGN),
    MISTAKE(slot_offset, 65, CPOOL_EALIGN),
    MISTAKE(slot_offset, SIZE_MAX, CPOOL_EALIGN),
    MISTAKE(capacity, 0, CPOOL_ECAPACITY),
    MISTAKE(capacity, CPOOL_CAPACITY_MAX + 1, CPOOL_ECAPACITY),
    MISTAKE(capacity, SIZE_MAX, CPOOL_ECAPACITY),
    MISTAKE(max_capacity, 1, CPOOL_ECAPACITY),
    MISTAKE(max_capacity, 99, CPOOL_ECAPACITY),
    MISTAKE(max_capacity, CPOOL_CAPACITY_MAX + 1, CPOOL_ECAPACITY),
    MISTAKE(max_capacity, SIZE_MAX, CPOOL_ECAPACITY),
    MISTAKE(slot_size, SIZE_MAX, CPOOL_ECAPACITY),
    MISTAKE(slot_size, SIZE_MAX / 100 + 1, CPOOL_ECAPACITY),
    MISTAKE(slot_size, SIZE_MAX / 2 + 1, CPOOL_ECAPACITY),
    MISTAKE(magazine_rounds, CPOOL_ROUNDS_MAX + 1, CPOOL_EROUNDS),
    MISTAKE(magazine_rounds, SIZE_MAX, CPOOL_EROUNDS),
    MISTAKE(thread_caches, CPOOL_THREAD_CACHES_MAX + 1, CPOOL_ECACHES),
    MISTAKE(thread_caches, SIZE_MAX, CPOOL_ECACHES),
};

#define MISTAKES (sizeof(mistakes) / sizeof(mistakes[0]))

static cpool_config_t good_config(void)
{
    return support_config(64, 100);
}

/* Creation must fail with this code and give no pool. */
static void require_refused(const cpool_config_t *config, int code)
{
    int marker;
    cpool_t *pool = (cpool_t *)(void *)&marker;

    REQUIRE_EQUAL(cpool_create(&pool, config), code);
    REQUIRE(pool == NULL);
}

static cpool_config_t wrong_config(const struct mistake *mistake)
{
    cpool_config_t config = good_config();

    memcpy((char *)&config + mistake->member, &mistake->value, sizeof(mistake->value));
    return config;
}

TEST(create_wrong_member_names_the_mistake)
{
    static const struct {
        int code;
        size_t most;
    } bounds[] = {
        { CPOOL_EALIGN, CPOOL_ALIGN_MAX },          { CPOOL_ECAPACITY, CPOOL_CAPACITY_MAX },
        { CPOOL_ECAPACITY, CPOOL_CAPACITY_MAX }, { CPOOL_EROUNDS, CPOOL_ROUNDS_MAX },
        { CPOOL_ECACHES, CPOOL_THREAD_CACHES_MAX }, { CPOOL_EMEMORY, CPOOL_MEMORY_ALIGN },
    };

    support_capture_reports();
    for (size_t i = 0; i < MISTAKES; i++) {
        cpool_config_t config = wrong_config(&mistakes[i]);

        require_refused(&config, mistakes[i].code);
        REQUIRE_EQUAL(cpool_memory_required(&config), 0);
    }
    /* Not a caller's mistake in the use of a pool: only the code tells, and its text what to do. */
    REQUIRE_NO_REPORT();
    REQUIRE(strstr(cpool_strerror(CPOOL_ESTRUCT), "CPOOL_CONFIG_INIT") != NULL);
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        char digits[32];

        snprintf(digits, sizeof(digits), " %zu", bounds[i].most);
        REQUIRE(strstr(cpool_strerror(bounds[i].code), digits) != NULL);
    }
}

TEST(create_null_pointers_refused)
{
    cpool_config_t config = good_config();

    REQUIRE_EQUAL(cpool_create(NULL, &config), CPOOL_ENULL);
    require_refused(NULL, CPOOL_ENULL);
    REQUIRE_EQUAL(cpool_create(NULL, NULL), CPOOL_ENULL);
    REQUIRE_EQUAL(cpool_memory_required(NULL), 0);
}

#if defined(_WIN32) /* which refuses them */
#define HUGE_PAGES 0u
#else
#define HUGE_PAGES CPOOL_HUGE_PAGES
#endif
#define KNOWN_FLAGS                                                                    \
    (CPOOL_CHECKED | CPOOL_TRACKED | HUGE_PAGES | CPOOL_COLOUR | CPOOL_KEEP_PAGES |     \
     CPOOL_NO_POISON | CPOOL_RESIDENT)

TEST(create_any_unknown_flag_refused)
{
    for (unsigned bit = 0; bit < sizeof(unsigned) * 8; bit++) {
        cpool_config_t config = good_config();

        config.flags = 1u << bit;
        if ((config.flags & KNOWN_FLAGS) != 0)
            continue;
        require_refused(&config, CPOOL_EFLAGS);
        config.flags |= KNOWN_FLAGS;
        require_refused(&config, CPOOL_EFLAGS);
        REQUIRE((cpool_memory_required(&config) == 0) == (1u << bit != CPOOL_CLIENT_RESERVED));
    }
}

/* With more magazines than the depot can tell apart. */
TEST(create_rounds_too_few_for_capacity_refused)
{
    cpool_config_t config = support_config(1, CPOOL_CAPACITY_MAX);

    config.magazine_rounds = 1;
    require_refused(&config, CPOOL_EROUNDS);
    config.magazine_rounds = CPOOL_ROUNDS_MAX;
    REQUIRE_EQUAL(cpool_destroy(support_create(&config)), 0);
}

TEST(create_bounds_accepted)
{
    static const struct mistake bounds[] = {
        MISTAKE(slot_size, 1, 0),
        MISTAKE(slot_align, 1, 0),
        MISTAKE(slot_align, CPOOL_ALIGN_MAX, 0),
        MISTAKE(slot_offset, 64, 0),
        MISTAKE(capacity, 1, 0),
        MISTAKE(capacity, CPOOL_CAPACITY_MAX, 0),
        MISTAKE(max_capacity, 100, 0),
        MISTAKE(max_capacity, CPOOL_CAPACITY_MAX, 0),
        MISTAKE(magazine_rounds, 1, 0),
        MISTAKE(thread_caches, 1, 0),
        MISTAKE(thread_caches, CPOOL_THREAD_CACHES_MAX, 0),
    };

    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        cpool_config_t config = wrong_config(&bounds[i]);
        cpool_t *pool;

        if (SUPPORT_SANITIZED && (config.capacity == CPOOL_CAPACITY_MAX ||
                                  config.max_capacity == CPOOL_CAPACITY_MAX))
            config.slot_size = 1;
        pool = support_create(&config);
        REQUIRE(cpool_memory_required(&config) > 0);
        cpool_free(pool, cpool_alloc(pool));
        support_destroy_empty(pool);
    }
}

/* The sum of the sizes passes no single test, and yet exceeds what any
 * address space has to give. */
TEST(create_more_than_address_space_refused)
{
    cpool_config_t config = support_config(MIB, CPOOL_CAPACITY_MAX);
    cpool_t *pool = NULL;
    int code = cpool_create(&pool, &config);

    REQUIRE(code == CPOOL_ENOMEM || code == CPOOL_ECAPACITY);
    REQUIRE(pool == NULL);
}

/* --- Caller-provided memory --- */

/* A region of memory with bytes on both sides that must not change. */
struct region {
    unsigned char *map;
    size_t map_size;
    unsigned char *memory; /* aligned to CPOOL_MEMORY_ALIGN and to no more */
    size_t size;
};

#define MARGIN ((size_t)4096)
#define MARK 0xC3

static struct region make_region(size_t size, size_t shift)
{
    struct region region;

    region.size = size;
    region.map_size = size + shift + 2 * MARGIN;
    region.map = mmap(NULL, region.map_size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(region.map != MAP_FAILED);
    region.memory = region.map + MARGIN + shift;
    memset(region.map, MARK, MARGIN + shift);
    memset(region.memory + size, MARK, MARGIN);
    return region;
}

static void require_margins(const struct region *region)
{
    for (const unsigned char *p = region->map; p < region->memory; p++)
        REQUIRE(*p == MARK);
    for (size_t i = 0; i < MARGIN; i++)
        REQUIRE(region->memory[region->size + i] == MARK);
}

static void drop_region(struct region *region)
{
    REQUIRE_EQUAL(munmap(region->map, region->map_size), 0);
}

/* Takes all, writes all, gives all back, and takes them once more. */
static void use_all(cpool_t *pool)
{
    struct figures stats = support_stats(pool);
    void **slots = support_calloc(stats.capacity, sizeof(*slots));

    for (int round = 0; round < 2; round++) {
        REQUIRE_EQUAL(support_take_all(pool, slots), stats.capacity);
        for (size_t i = 0; i < stats.capacity; i++)
            memset(slots[i], (int)i, stats.slot_size);
        for (size_t i = 0; i < stats.capacity; i++)
            cpool_free(pool, slots[i]);
    }
    cpool_flush(pool);
    free(slots);
}

/* Exactly the memory required is enough at this address.  A byte less is not. */
static void require_exact(cpool_config_t config, size_t shift)
{
    size_t required = cpool_memory_required(&config);
    struct region region = make_region(required, shift);
    cpool_t *pool;

    REQUIRE(required > 0);
    config.memory = region.memory;
    config.memory_size = required - 1;
    require_refused(&config, CPOOL_EMEMSIZE);
    config.memory_size = required;
    pool = support_create(&config);
    use_all(pool);
    for (size_t i = 0; i < config.capacity; i++) {
        unsigned char *slot = cpool_at(pool, i);

        REQUIRE(slot >= region.memory);
        REQUIRE(slot + config.slot_size <= region.memory + required);
    }
    support_destroy_empty(pool);
    require_margins(&region);
    drop_region(&region);
}

/* With these members, and the defaults for the others. */
#define SHAPE(...) { .size = sizeof(cpool_config_t), .name = "shape", __VA_ARGS__ }

static const cpool_config_t shapes[] = {
    SHAPE(.slot_size = 1, .capacity = 1),
    SHAPE(.slot_size = 3, .capacity = 1000),
    SHAPE(.slot_size = 7, .capacity = 63, .thread_caches = 1),
    SHAPE(.slot_size = 64, .capacity = 64, .thread_caches = 2),
    SHAPE(.slot_size = 40, .slot_align = 64, .capacity = 65),
    SHAPE(.slot_size = 40, .slot_align = 128, .slot_offset = 24, .capacity = 500,
          .magazine_rounds = 8),
    SHAPE(.slot_size = 100, .slot_align = 4096, .capacity = 33, .magazine_rounds = 1,
          .thread_caches = 3),
    SHAPE(.slot_size = 5000, .slot_align = 4096, .slot_offset = 8, .capacity = 10),
    SHAPE(.slot_size = 1, .slot_align = 2 * MIB, .slot_offset = 1, .capacity = 3,
          .thread_caches = 1),
    SHAPE(.slot_size = 16, .capacity = 100000, .thread_caches = 64),
    SHAPE(.slot_size = 24, .capacity = 200, .flags = CPOOL_CHECKED),
    SHAPE(.slot_size = 1, .capacity = 77, .flags = CPOOL_CHECKED, .thread_caches = 1),
    SHAPE(.slot_size = 9, .slot_align = 4096, .slot_offset = 5, .capacity = 7,
          .flags = CPOOL_CHECKED, .thread_caches = 2),
    SHAPE(.slot_size = 24, .capacity = 200),
    SHAPE(.slot_size = 24, .capacity = 200, .flags = KNOWN_FLAGS),
};

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

TEST(create_exact_memory_serves_wherever_it_lies)
{
    for (size_t i = 0; i < SHAPES; i++)
        for (size_t shift = 0; shift <= 4096; shift += i % 2 == 0 ? 64 : 1088)
            require_exact(shapes[i], shift);
}

TEST(create_memory_too_small_refused)
{
    cpool_config_t config = good_config();
    static _Alignas(64) char memory[64];

    config.memory = memory;
    for (size_t size = 0; size <= sizeof(memory); size++) {
        config.memory_size = size;
        require_refused(&config, CPOOL_EMEMSIZE);
    }
}

TEST(create_memory_misaligned_refused)
{
    cpool_config_t config = good_config();
    size_t required = cpool_memory_required(&config);
    struct region region = make_region(required + CPOOL_MEMORY_ALIGN, 0);

    config.memory_size = required;
    for (size_t shift = 1; shift < CPOOL_MEMORY_ALIGN; shift++) {
        config.memory = region.memory + shift;
        require_refused(&config, CPOOL_EMEMORY);
    }
    require_margins(&region);
    drop_region(&region);
}

TEST(create_memory_size_without_memory_refused)
{
    cpool_config_t config = good_config();

    config.memory_size = 1 * MIB;
    require_refused(&config, CPOOL_EMEMORY);
    config.memory_size = 1;
    require_refused(&config, CPOOL_EMEMORY);
    /* Of no matter for what would be required. */
    REQUIRE(cpool_memory_required(&config) > 0);
}

TEST(memory_required_ignores_memory_and_rises_with_capacity)
{
    cpool_config_t config = good_config();
    size_t required = cpool_memory_required(&config);

    config.memory = &config;
    config.memory_size = 7;
    REQUIRE_EQUAL(cpool_memory_required(&config), required);
    config.capacity++;
    REQUIRE(cpool_memory_required(&config) >= required + 64);
}

TEST(create_config_changed_afterwards_is_of_no_matter)
{
    char name[] = "jobs";
    cpool_config_t config = good_config();
    cpool_t *pool;

    config.name = name;
    pool = support_create(&config);
    memset(name, 'x', sizeof(name) - 1);
    memset(&config, 0xFF, sizeof(config));
    REQUIRE_EQUAL(support_stats(pool).capacity, 100);
    support_capture_reports();
    cpool_free(pool, &config);
    REQUIRE(strcmp(REQUIRE_REPORT(CPOOL_EFOREIGN).name, "jobs") == 0);
    support_release_reports();
    support_destroy_empty(pool);
}
