/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_usage.c - the peak and the average of live slots (lib/usage.h), by a clock of
 * the test's own, and as cpool_stats tells them.
 */
#include "support.h"

#include <stdatomic.h>

#include "usage.h"

static void require_figures(struct cpi_usage *usage, uint64_t live, uint64_t now, uint64_t peak,
                            uint64_t average)
{
    uint64_t seen_peak;
    uint64_t seen_average;

    cpi_usage_read(usage, live, now, &seen_peak, &seen_average);
    REQUIRE_EQUAL(seen_peak, peak);
    REQUIRE_EQUAL(seen_average, average);
}

START_TEST(average_is_weighted_by_time)
{
    struct cpi_usage usage;

    cpi_usage_init(&usage, 1000);
    require_figures(&usage, 0, 1000, 0, 0);
    cpi_usage_note(&usage, 100, 1000); /* at once */
    require_figures(&usage, 100, 2000, 100, 100);
    cpi_usage_note(&usage, 200, 2000);
    require_figures(&usage, 200, 5000, 200, (1000 * 100 + 3000 * 200) / 4000);
}
END_TEST

/* Between two samples it counts as half of both. */
START_TEST(average_between_samples_is_half_of_both)
{
    struct cpi_usage usage;

    cpi_usage_init(&usage, 0);
    require_figures(&usage, 100, 1000, 100, 50);
    require_figures(&usage, 300, 2000, 300, (50 + 200) / 2);
    require_figures(&usage, 0, 2000, 300, (50 + 200) / 2);
}
END_TEST

/* Sums that no 64-bit count of slots and nanoseconds could hold. */
START_TEST(average_of_years_is_right)
{
    const uint64_t year = (uint64_t)365 * 24 * 3600 * 1000000000u;
    struct cpi_usage usage;

    cpi_usage_init(&usage, 0);
    cpi_usage_note(&usage, UINT32_MAX, 0);
    require_figures(&usage, UINT32_MAX, 10 * year, UINT32_MAX, UINT32_MAX);
}
END_TEST

START_TEST(sample_with_an_older_clock_moves_no_time)
{
    struct cpi_usage usage;

    cpi_usage_init(&usage, 1000);
    cpi_usage_note(&usage, 10, 1000);
    cpi_usage_note(&usage, 10, 3000);
    cpi_usage_note(&usage, 500, 2000);
    require_figures(&usage, 10, 3000, 500, 10);
}
END_TEST

START_TEST(sample_is_due_after_the_period)
{
    struct cpi_usage usage;

    cpi_usage_init(&usage, CPI_SAMPLE_PERIOD);
    REQUIRE(!cpi_usage_is_due(&usage, CPI_SAMPLE_PERIOD - 1));
    REQUIRE(cpi_usage_is_due(&usage, CPI_SAMPLE_PERIOD));
    cpi_usage_note(&usage, 1, CPI_SAMPLE_PERIOD);
    require_figures(&usage, 1, CPI_SAMPLE_PERIOD + 1, 1, 1); /* sets nothing */
    REQUIRE(!cpi_usage_is_due(&usage, 2 * CPI_SAMPLE_PERIOD - 1));
    REQUIRE(cpi_usage_is_due(&usage, 2 * CPI_SAMPLE_PERIOD));
}
END_TEST

START_TEST(sample_beside_another_thread_is_left_out)
{
    struct cpi_usage usage;

    cpi_usage_init(&usage, 0);
    atomic_store_explicit(&usage.busy, 1, memory_order_relaxed);
    cpi_usage_note(&usage, 100, 1000);
    REQUIRE_EQUAL(usage.peak, 0);
    cpi_usage_forked(&usage);
    cpi_usage_note(&usage, 100, 1000);
    REQUIRE_EQUAL(usage.peak, 100);
}
END_TEST

START_TEST(restart_begins_with_what_is_live)
{
    struct cpi_usage usage;

    cpi_usage_init(&usage, 0);
    cpi_usage_note(&usage, 1000, 500);
    cpi_usage_restart(&usage, 20, 1000);
    require_figures(&usage, 20, 1000, 20, 20);
    require_figures(&usage, 20, 2000, 20, 20);
}
END_TEST

/*
 * ---- As cpool_stats tells them -------------------------------------------
 */

#define CAPACITY 4096

START_TEST(stats_show_the_largest_number_they_saw)
{
    cpool_t *pool = support_create_plain(32, CAPACITY);
    void *slots[100];

    REQUIRE_EQUAL(support_stats(pool).live_peak, 0);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 100), 100);
    REQUIRE_EQUAL(support_stats(pool).live_peak, 100);
    cpool_free_bulk(pool, slots, 60);
    REQUIRE_EQUAL(support_stats(pool).live_peak, 100);
    REQUIRE(support_stats(pool).live_average <= 100);
    cpool_stats_restart(pool);
    REQUIRE_EQUAL(support_stats(pool).live_peak, 40);
    REQUIRE_EQUAL(support_stats(pool).live_average, 40);
    cpool_free_bulk(pool, slots + 60, 40);
    support_destroy_empty(pool);
}
END_TEST

static const unsigned kinds[] = { 0, CPOOL_EXACT, CPOOL_CHECKED, CPOOL_WAITABLE };

/* Nothing is live when cpool_stats looks, so allocs have seen all that it shows. */
START_TEST(allocs_sample_what_is_live)
{
    static void *slots[CAPACITY];
    cpool_config_t config = support_config(32, CAPACITY);
    cpool_t *pool;
    cpool_stats_t stats = CPOOL_STATS_INIT;

    config.flags = kinds[_i];
    config.magazine_rounds = 8;
    pool = support_create(&config);
    for (size_t round = 0; round < 20000; round++) {
        for (size_t i = 0; i < CAPACITY; i++)
            slots[i] = cpool_alloc(pool);
        for (size_t i = 0; i < CAPACITY; i++)
            cpool_free(pool, slots[i]);
        stats = support_stats(pool);
        REQUIRE_EQUAL(stats.live, 0);
        REQUIRE(stats.live_peak <= stats.high_water);
        REQUIRE(stats.live_average <= stats.live_peak);
        if (stats.live_peak >= CAPACITY / 2 && stats.live_average > 0)
            break;
    }
    REQUIRE(stats.live_peak >= CAPACITY / 2);
    REQUIRE(stats.live_average > 0);
    support_destroy_empty(pool);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        ONCE(average_is_weighted_by_time),
        ONCE(average_between_samples_is_half_of_both),
        ONCE(average_of_years_is_right),
        ONCE(sample_with_an_older_clock_moves_no_time),
        ONCE(sample_is_due_after_the_period),
        ONCE(sample_beside_another_thread_is_left_out),
        ONCE(restart_begins_with_what_is_live),
        ONCE(stats_show_the_largest_number_they_saw),
        TIMES(allocs_sample_what_is_live, sizeof(kinds) / sizeof(kinds[0])),
    };

    return SUPPORT_RUN("usage", tests);
}
