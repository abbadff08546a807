/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_info.c - questions: which address is a slot, the figures, with the peak and the average
 * of live slots, the meaning of the codes, and the bytes that a small pool takes.
 */
#include "support.h"

#include <errno.h>

/* --- Addresses --- */

/* The strides are those of slots of 1 to 40 bytes. */
TEST_TIMES(index_and_at_are_inverse, 40)
{
    int stride = _i + 1;
    cpool_t *pool = support_create_plain((size_t)stride, 1000);
    size_t limit = cpool_index_limit(pool);

    REQUIRE(limit >= 1000);
    for (size_t i = 0; i < limit; i += i < 1000 || i + 100 > limit ? 1 : 97) {
        char *slot = cpool_at(pool, i);

        REQUIRE(slot != NULL);
        REQUIRE(cpool_owns(pool, slot));
        REQUIRE_EQUAL(cpool_index(pool, slot), i);
        REQUIRE(slot == (char *)cpool_at(pool, 0) + i * (size_t)stride);
        REQUIRE((cpool_at)(pool, i) == slot && (cpool_index)(pool, slot) == i);
        REQUIRE(stride == 1 || !cpool_owns(pool, slot + 1));
        REQUIRE(stride == 1 || cpool_index(pool, slot + stride - 1) == SIZE_MAX);
    }
    REQUIRE(cpool_at(pool, limit) == NULL);
    REQUIRE(cpool_at(pool, SIZE_MAX) == NULL);
    REQUIRE(!cpool_owns(pool, (char *)cpool_at(pool, limit - 1) + stride));
    REQUIRE(!cpool_owns(pool, (char *)cpool_at(pool, 0) - stride));
    REQUIRE(!cpool_owns(pool, NULL));
    REQUIRE(cpool_index(pool, NULL) == SIZE_MAX);
    /* Asking uses nothing. */
    REQUIRE_EQUAL(support_stats(pool).fresh, 1000);
    support_destroy_empty(pool);
}

TEST(index_limit_is_the_largest_capacity)
{
    static _Alignas(64) char memory[64 * 1024];
    cpool_config_t config = support_config(16, 100);
    cpool_t *pool = support_create(&config);

    REQUIRE_EQUAL(cpool_index_limit(pool), 100);
    support_destroy_empty(pool);
    config.max_capacity = 300;
    pool = support_create(&config);
    REQUIRE_EQUAL(cpool_index_limit(pool), 300);
    support_destroy_empty(pool);
    config.memory = memory;
    config.memory_size = sizeof(memory);
    pool = support_create(&config);
    REQUIRE_EQUAL(cpool_index_limit(pool), 300);
    support_destroy_empty(pool);
}

/* --- Figures --- */

TEST(stats_wrong_arguments_refused)
{
    cpool_t *pool = support_create_plain(32, 10);
    cpool_stats_t stats = CPOOL_STATS_INIT;
    static const size_t sizes[] = { 0, 1, sizeof(size_t) - 1, 4097, SIZE_MAX };

    REQUIRE_EQUAL(cpool_read_stats(NULL, &stats), CPOOL_ENULL);
    REQUIRE_EQUAL(cpool_read_stats(pool, NULL), CPOOL_ENULL);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        stats.size = sizes[i];
        stats.live = 4711;
        REQUIRE_EQUAL(cpool_read_stats(pool, &stats), CPOOL_ESTRUCT);
        REQUIRE_EQUAL(stats.live, 4711);
    }
    support_destroy_empty(pool);
}

TEST(stats_of_new_pool_show_all_fresh)
{
    cpool_t *pool = support_create_plain(32, 10);
    struct figures stats = support_stats(pool);

    REQUIRE_EQUAL(stats.capacity, 10);
    REQUIRE_EQUAL(stats.fresh, 10);
    REQUIRE_EQUAL(stats.live + stats.in_depot + stats.in_caches + stats.circulating, 0);
    REQUIRE_EQUAL(stats.slot_size, 32);
    REQUIRE_EQUAL(stats.slot_stride, 32);
    REQUIRE(stats.magazine_rounds >= 1);
    REQUIRE_EQUAL(stats.magazines, 0);
    REQUIRE_EQUAL(stats.caches, 0);
    REQUIRE_EQUAL(stats.exchanges, 0);
    REQUIRE_EQUAL(stats.max_capacity, 10);
    REQUIRE_EQUAL(stats.reclaims + stats.growths + stats.waits, 0);
    REQUIRE(stats.reserved_bytes >= 320);
    REQUIRE(stats.committed_bytes <= stats.reserved_bytes);
    support_destroy_empty(pool);
}

static void require_figures(cpool_t *pool, size_t capacity, size_t live, size_t circulating)
{
    struct figures stats = support_stats(pool);

    REQUIRE_EQUAL(stats.capacity, capacity);
    REQUIRE_EQUAL(stats.live, live);
    REQUIRE_EQUAL(stats.fresh, capacity - circulating);
    REQUIRE_EQUAL(stats.circulating, circulating);
    REQUIRE_EQUAL(stats.in_depot + stats.in_caches, circulating - live);
}

TEST(cache_flush_moves_the_slots_to_the_depot)
{
    cpool_t *pool = support_create_plain(64, 1000);
    cpool_cache_t *cache;
    void *slot;

    REQUIRE_EQUAL(cpool_cache_create(&cache, pool), 0);
    for (int round = 0; round < 2; round++) {
        slot = cpool_cache_alloc(cache);
        REQUIRE(slot != NULL);
        REQUIRE(support_stats(pool).in_caches > 0);
        cpool_cache_free(cache, slot);
        cpool_cache_flush(cache);
        REQUIRE_EQUAL(support_stats(pool).in_caches, 0);
        REQUIRE(support_stats(pool).in_depot > 0);
    }
    cpool_cache_destroy(cache);
    support_destroy_empty(pool);
}

/* Each way of running out counts once. */
TEST(failures_are_counted)
{
    const struct timespec soon = {0, 1000000};
    cpool_t *pool = support_create_plain(16, 8);
    void *slots[9];

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 9, 9), 0);
    REQUIRE_EQUAL(support_stats(pool).failures, 1);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 8, 8), 8);
    REQUIRE_EQUAL(support_stats(pool).failures, 1);
    REQUIRE(cpool_alloc(pool) == NULL);
    REQUIRE(cpool_calloc(pool) == NULL);
    REQUIRE(cpool_alloc_uncached(pool) == NULL);
    REQUIRE_EQUAL(support_stats(pool).failures, 4);
    REQUIRE(cpool_alloc_wait(pool, &soon) == NULL);
    REQUIRE(cpool_alloc_or_notify(pool) == NULL);
    REQUIRE_EQUAL(support_stats(pool).failures, 6);
    cpool_free_bulk(pool, slots, 8);
    support_destroy_empty(pool);
}

TEST(stats_after_shrinking_are_exact)
{
    /* All magazines that are taken are whole. */
    cpool_t *pool = SUPPORT_CREATE(64, 1000, .max_capacity = 2000, .magazine_rounds = 8);
    struct figures before;
    struct figures after;
    void *slots[600];

    for (size_t i = 0; i < 600; i++)
        REQUIRE(cpool_index(pool, slots[i] = cpool_alloc(pool)) == i);
    require_figures(pool, 1000, 600, 600);
    before = support_stats(pool);
    REQUIRE_EQUAL(cpool_shrink(pool, 150), 150);
    require_figures(pool, 850, 600, 600);
    for (size_t i = 200; i < 600; i++)
        cpool_free(pool, slots[i]);
    require_figures(pool, 850, 200, 600);
    cpool_flush(pool);
    REQUIRE_EQUAL(cpool_shrink(pool, 350), 350); /* 250 of them fresh */
    require_figures(pool, 500, 200, 500);
    REQUIRE_EQUAL(cpool_shrink(pool, SIZE_MAX), 300);
    require_figures(pool, 200, 200, 200);
    after = support_stats(pool);
    REQUIRE_EQUAL(after.in_depot + after.in_caches, 0);
    REQUIRE_EQUAL(after.max_capacity, 2000);
    REQUIRE_EQUAL(after.reserved_bytes, before.reserved_bytes);
    REQUIRE(after.committed_bytes <= before.committed_bytes);
    REQUIRE_EQUAL(after.growths, 0);
    REQUIRE_EQUAL(cpool_grow(pool, 100), 100);
    require_figures(pool, 300, 200, 200);
    REQUIRE_EQUAL(support_stats(pool).growths, 1);
    REQUIRE_EQUAL(support_destroy(pool), 200);
}

/* --- Codes --- */

/* Each range of codes, from the first to the last: the codes have no gaps. */
static const struct {
    int first;
    int last;
} ranges[] = {
    { CPOOL_OK, CPOOL_OK },
    { CPOOL_ESTRUCT, CPOOL_ECOPIES },
    { CPOOL_ENULL, CPOOL_EKIND },
    { CPOOL_ENOMEM, CPOOL_EHELD },
};

#define RANGES (sizeof(ranges) / sizeof(ranges[0]))
#define UNKNOWN_CODE (-1000)

TEST(codes_lie_in_their_ranges)
{
    REQUIRE(ranges[1].first == -1 && ranges[1].last > -100);
    REQUIRE(ranges[2].first == -101 && ranges[2].last > -200);
    REQUIRE(ranges[3].first == -201 && ranges[3].last > -300);
}

TEST(strerror_of_every_code_is_distinct)
{
    const char *unknown = cpool_strerror(UNKNOWN_CODE);
    const char *texts[400];
    size_t count = 0;

    for (size_t range = 0; range < RANGES; range++)
        for (int code = ranges[range].first; code >= ranges[range].last; code--)
            texts[count++] = cpool_strerror(code);
    for (size_t a = 0; a < count; a++) {
        REQUIRE(texts[a] != NULL && texts[a][0] != '\0');
        REQUIRE(strchr(texts[a], '\n') == NULL);
        REQUIRE(strcmp(texts[a], unknown) != 0);
        for (size_t b = 0; b < a; b++)
            REQUIRE(strcmp(texts[a], texts[b]) != 0);
    }
}

TEST(strerror_of_unknown_code_is_text)
{
    static const int codes[] = { 1, 1000, CPOOL_ECOPIES - 1, -100, CPOOL_EKIND - 1, -200,
                                 CPOOL_EHELD - 1, UNKNOWN_CODE, INT32_MAX, INT32_MIN };

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        REQUIRE(cpool_strerror(codes[i]) != NULL);
        REQUIRE(strcmp(cpool_strerror(codes[i]), cpool_strerror(UNKNOWN_CODE)) == 0);
    }
    REQUIRE(strcmp(cpool_strerror(UNKNOWN_CODE), cpool_strerror(CPOOL_OK)) != 0);
}

/* The library and its header are of one build here. */
TEST(version_at_run_time_is_the_headers)
{
    unsigned major = cpool_version() / 1000000u;
    unsigned minor = cpool_version() / 1000u % 1000u;
    unsigned patch = cpool_version() % 1000u;
    char text[64];

    REQUIRE_EQUAL(cpool_version(), CPOOL_VERSION_NUMBER);
    snprintf(text, sizeof(text), "%u.%u.%u", major, minor, patch);
    REQUIRE(strncmp(CPOOL_VERSION, text, strlen(text)) == 0);
    REQUIRE_EQUAL(major, CPOOL_VERSION_MAJOR);
    REQUIRE_EQUAL(minor, CPOOL_VERSION_MINOR);
    REQUIRE_EQUAL(patch, CPOOL_VERSION_PATCH);
}

/* Functions that succeed leave errno alone, and so do those that fail. */
TEST(use_leaves_errno_alone)
{
    cpool_config_t config = support_config(1 << 20, CPOOL_CAPACITY_MAX);
    cpool_t *pool;
    void *slots[100];

    errno = 4711;
    REQUIRE(cpool_create(&pool, &config) != 0);
    REQUIRE_EQUAL(errno, 4711);
    config = support_config(24, 100);
    REQUIRE_EQUAL(cpool_create(&pool, &config), 0);
    REQUIRE_EQUAL(support_take_all(pool, slots), 100);
    cpool_free_bulk(pool, slots, 100);
    REQUIRE_EQUAL(cpool_destroy(pool), 0);
    REQUIRE_EQUAL(errno, 4711);
}

/* --- Peak and average --- */

enum { CAPACITY = 4096 };

/* A burst within a magazine meets no exchange. */
TEST(stats_peak_is_never_below_what_is_live)
{
    cpool_t *pool = support_create_plain(32, CAPACITY);
    void *slots[5];

    REQUIRE_EQUAL(support_stats(pool).peak, 0);
    for (size_t i = 0; i < 5; i++)
        slots[i] = cpool_alloc(pool);
    REQUIRE_EQUAL(support_stats(pool).live, 5);
    REQUIRE_EQUAL(support_stats(pool).peak, 5);
    cpool_free_bulk(pool, slots, 5);
    REQUIRE_EQUAL(support_stats(pool).peak, 5);
    support_destroy_empty(pool);
}

static const unsigned kinds[] = { 0, CPOOL_CHECKED };

static void use(cpool_t *pool, void **slots, size_t n)
{
    for (size_t i = 0; i < n; i++)
        slots[i] = cpool_alloc(pool);
    for (size_t i = 0; i < n; i++)
        cpool_free(pool, slots[i]);
}

static cpool_t *create(unsigned flags)
{
    return SUPPORT_CREATE(32, CAPACITY, .flags = flags, .magazine_rounds = 8);
}

/* With one thread each count is exact. */
TEST_TIMES(stats_average_is_that_of_the_counts, sizeof(kinds) / sizeof(kinds[0]))
{
    static void *held[1000];
    static void *slots[200];
    cpool_t *pool = create(kinds[_i]);
    struct figures stats;

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, held, 1000, 0), 1000);
    for (size_t round = 0; round < 1000; round++)
        use(pool, slots, 200);
    cpool_free_bulk(pool, held, 1000);
    stats = support_stats(pool);
    REQUIRE_EQUAL(stats.live, 0);
    REQUIRE(stats.average >= 990 && stats.average <= 1200);
    REQUIRE(stats.peak >= stats.average && stats.peak <= 1200);
    support_destroy_empty(pool);
}

/* --- The bytes of a small pool --- */

#define KIB ((size_t)1024)

enum { SMALL_SIZE = 32, SMALL = 256 };

TEST(create_of_ten_slots_commits_little)
{
    cpool_t *pool;
    size_t writable;

    SKIP_IF(SUPPORT_SANITIZED, "sanitizers commit what they watch");
    pool = support_create_plain(64, 100); /* the thread's table */
    cpool_free(pool, cpool_alloc(pool));
    writable = support_writable();
    support_destroy_empty(pool);
    pool = support_create_plain(24, 10);
    support_require_obtainable(pool, 0);
    REQUIRE(support_stats(pool).committed_bytes <= 32 * KIB);
    REQUIRE(support_writable() <= writable + 32 * KIB);
    support_destroy_empty(pool);
}

/* 8,192 are slots, 2,048 at least the addresses of free ones.  The system's lock and condition
 * take a line more on Windows. */
#if defined(_WIN32)
#define MOST_BYTES (15 * KIB)
#else
#define MOST_BYTES (14 * KIB)
#endif

TEST(memory_required_is_whole_lines)
{
    cpool_config_t config = support_config(SMALL_SIZE, SMALL);

    SKIP_IF(SUPPORT_SANITIZED || sizeof(void *) < 8, "structures have other sizes");
    config.thread_caches = 2;
    REQUIRE(cpool_memory_required(&config) <= MOST_BYTES);
}

/* The size is a constant: an array may have it. */
typedef char static_memory_t[CPOOL_MEMORY_BYTES(SMALL_SIZE, SMALL, 2)];

/* By little more than a fifth of the structures nowhere. */
static void require_bounded(size_t size, size_t slots, size_t caches)
{
    cpool_config_t config = support_config(size, slots);
    size_t bytes = CPOOL_MEMORY_BYTES(size, slots, caches);
    size_t required;

    config.thread_caches = caches;
    required = cpool_memory_required(&config);
    REQUIRE(required > 0 && required <= bytes);
    REQUIRE(sizeof(void *) < 8 || bytes - required <= 512 + 64 * caches + required / 16);
}

TEST(memory_bytes_known_to_the_compiler_suffice)
{
    const size_t most = (size_t)64 << 20;

    for (size_t size = 1; size < 4096; size += size < 65 ? 1 : size / 3)
        for (size_t slots = 1; size * slots < most; slots += slots < 300 ? 1 : slots / 3)
            for (size_t caches = 1; caches < 5000; caches += 1 + caches / 2)
                require_bounded(size, slots, caches);
    REQUIRE(sizeof(static_memory_t) <= 15 * KIB);
}

TEST_TIMES(span_is_the_memory_of_all_slots, 2)
{
    unsigned flags = _i == 0 ? 0 : CPOOL_CHECKED;
    cpool_t *pool = SUPPORT_CREATE(100, 50, .max_capacity = 70, .flags = flags);
    void *first;

    REQUIRE_EQUAL(cpool_span(pool, &first), 70 * support_stats(pool).slot_stride);
    REQUIRE(first == cpool_at(pool, 0));
    support_destroy_empty(pool);
    support_capture_reports();
    REQUIRE(cpool_span(pool, &first) == 0 && first == NULL);
    REQUIRE_REPORT(CPOOL_EPOOL);
}
