/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_quiet.c - disturbances of a quiet scope are counted, and reported on request.
 * A frame that was prepared well has none.
 *
 * Includes quiet_scope.h.
 */
#include "quiet_scope.h"

#include <stdlib.h>
#include <string.h>

enum { FRAME = 20 };

static void require_silence(cpool_quiet_t counts)
{
    REQUIRE_EQUAL(counts.growths, 0);
    REQUIRE_EQUAL(counts.system_calls, 0);
    REQUIRE_EQUAL(counts.fresh_slots, 0);
    REQUIRE_EQUAL(counts.exchanges, 0);
}

/* In a process that has never made a pool, or the first test, if all are run in the
 * same process. */
START_TEST(begin_before_any_pool_refused)
{
    REQUIRE_EQUAL(cpool_quiet_begin(0), CPOOL_EPOOL);
    support_destroy_empty(support_create_plain(8, 8));
    REQUIRE_EQUAL(cpool_quiet_begin(0), 0);
    require_silence(end_scope());
}
END_TEST

START_TEST(begin_and_end_with_wrong_arguments_refused)
{
    cpool_t *pool = create(0, 0);

    REQUIRE_EQUAL(cpool_quiet_begin(0x10u), CPOOL_EFLAGS);
    REQUIRE_EQUAL(cpool_quiet_begin(~0u), CPOOL_EFLAGS);
    REQUIRE_EQUAL(cpool_quiet_begin(ALL_TRAPS), 0);
    REQUIRE_EQUAL(cpool_quiet_end(NULL), CPOOL_ENULL);
    (void)end_scope();
    support_destroy_empty(pool);
}
END_TEST

/*
 * ---- Each kind of disturbance --------------------------------------------
 */

START_TEST(growth_is_counted)
{
    cpool_t *pool = create(kinds[_i], 3 * CAPACITY);
    struct hold hold;
    uint64_t growths;

    hold_init(&hold, pool);
    REQUIRE_EQUAL(cpool_quiet_begin(0), 0);
    REQUIRE_EQUAL(cpool_grow(pool, 100), 100);
    REQUIRE_EQUAL(end_scope().growths, 1);
    growths = support_stats(pool).growths;
    REQUIRE_EQUAL(cpool_quiet_begin(0), 0);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), 3 * CAPACITY);
    REQUIRE_EQUAL(end_scope().growths, support_stats(pool).growths - growths);
    REQUIRE(support_stats(pool).growths > growths);
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(fresh_slots_are_counted)
{
    cpool_t *pool = create(kinds[_i], 0);
    struct hold hold;
    size_t before;

    hold_init(&hold, pool);
    REQUIRE_EQUAL(hold_take(&hold, 1), 1);
    before = support_stats(pool).high_water;
    REQUIRE_EQUAL(cpool_quiet_begin(0), 0);
    REQUIRE_EQUAL(hold_take(&hold, 5000), 5000);
    REQUIRE_EQUAL(end_scope().fresh_slots, support_stats(pool).high_water - before);
    hold_free_all(&hold);
    /* They have all been in use now. */
    REQUIRE_EQUAL(cpool_quiet_begin(0), 0);
    REQUIRE_EQUAL(hold_take(&hold, 5000), 5000);
    REQUIRE_EQUAL(end_scope().fresh_slots, 0);
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(system_calls_are_counted)
{
    cpool_t *pool = create(kinds[_i], 0);
    struct hold hold;

    hold_init(&hold, pool);
    REQUIRE_EQUAL(cpool_quiet_begin(0), 0);
    REQUIRE_EQUAL(hold_take(&hold, CAPACITY), CAPACITY);
    REQUIRE(end_scope().system_calls > 0);
    hold_free_all(&hold);
    /* None where none is made.  check_quiet_calls asks the kernel for the number
     * elsewhere. */
    REQUIRE_EQUAL(cpool_quiet_begin(0), 0);
    REQUIRE_EQUAL(hold_take(&hold, CAPACITY / 2), CAPACITY / 2);
    hold_free_all(&hold);
    REQUIRE_EQUAL(end_scope().system_calls, 0);
    REQUIRE_EQUAL(cpool_quiet_begin(0), 0);
    cpool_trim(pool);
    REQUIRE(end_scope().system_calls > 0);
    REQUIRE_EQUAL(cpool_quiet_begin(0), 0);
    REQUIRE_EQUAL(cpool_reserve(pool, 1), 0);
    REQUIRE(end_scope().system_calls > 0);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(exchanges_are_counted)
{
    cpool_t *pool = create(kinds[_i], 0);
    struct hold hold;
    uint64_t before;
    uint64_t counted;

    hold_init(&hold, pool);
    REQUIRE_EQUAL(hold_take(&hold, 5000), 5000);
    before = support_stats(pool).exchanges;
    REQUIRE_EQUAL(cpool_quiet_begin(0), 0);
    hold_free_all(&hold);
    counted = end_scope().exchanges;
    REQUIRE(counted > 0);
    REQUIRE_EQUAL(support_stats(pool).exchanges, before + counted);
    before += counted;
    REQUIRE_EQUAL(cpool_quiet_begin(0), 0);
    REQUIRE_EQUAL(hold_take(&hold, 5000), 5000);
    counted = end_scope().exchanges;
    REQUIRE(counted > 0);
    REQUIRE_EQUAL(support_stats(pool).exchanges, before + counted);
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

/*
 * ---- Scopes --------------------------------------------------------------
 */

START_TEST(begin_starts_at_zero)
{
    cpool_t *pool = create(0, 2 * CAPACITY);

    REQUIRE_EQUAL(cpool_quiet_begin(0), 0);
    REQUIRE_EQUAL(cpool_grow(pool, 1), 1);
    REQUIRE_EQUAL(cpool_quiet_begin(0), 0);
    REQUIRE_EQUAL(end_scope().growths, 0);
    /* Outside nothing is counted. */
    REQUIRE_EQUAL(cpool_grow(pool, 1), 1);
    REQUIRE_EQUAL(cpool_quiet_begin(0), 0);
    REQUIRE_EQUAL(end_scope().growths, 0);
    support_destroy_empty(pool);
}
END_TEST

static void make_noise(void *argument)
{
    cpool_t *pool = argument;
    struct hold hold;

    hold_init(&hold, pool);
    REQUIRE_EQUAL(cpool_grow(pool, 100), 100);
    REQUIRE_EQUAL(hold_take(&hold, 1000), 1000);
    hold_free_all(&hold);
    cpool_trim(pool);
    hold_fini(&hold);
}

START_TEST(noise_of_other_threads_is_not_counted)
{
    cpool_t *pool = create(kinds[_i], 2 * CAPACITY);
    struct worker *worker = worker_start();

    support_capture_reports();
    REQUIRE_EQUAL(cpool_quiet_begin(ALL_TRAPS), 0);
    worker_do(worker, make_noise, pool);
    require_silence(end_scope());
    REQUIRE_NO_REPORT();
    worker_stop(worker);
    support_destroy_empty(pool);
}
END_TEST

/*
 * ---- Traps ---------------------------------------------------------------
 */

START_TEST(trap_reports_what_it_was_set_for)
{
    cpool_t *pool = create(kinds[_i], 2 * CAPACITY);
    struct hold hold;

    hold_init(&hold, pool);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_quiet_begin(CPOOL_TRAP_GROWTHS), 0);
    REQUIRE_EQUAL(hold_take(&hold, 5000), 5000); /* fresh, and committed: no matter */
    REQUIRE_NO_REPORT();
    REQUIRE_EQUAL(cpool_grow(pool, 1), 1);
    REQUIRE_REPORT(CPOOL_ENOTQUIET);
    REQUIRE_EQUAL(cpool_grow(pool, 1), 1);
    REQUIRE_REPORT(CPOOL_ENOTQUIET);
    REQUIRE_EQUAL(end_scope().growths, 2);
    REQUIRE_EQUAL(cpool_grow(pool, 1), 1);
    REQUIRE_NO_REPORT();
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

static size_t reports_of_taking(unsigned traps, struct hold *hold, size_t n)
{
    REQUIRE_EQUAL(cpool_quiet_begin(traps), 0);
    REQUIRE_EQUAL(hold_take(hold, n), n);
    (void)end_scope();
    return support_take_reports(NULL);
}

START_TEST(trap_reports_fresh_slots_exchanges_and_system_calls)
{
    cpool_t *pool = create(kinds[_i], 0);
    struct hold hold;

    hold_init(&hold, pool);
    support_capture_reports();
    REQUIRE(reports_of_taking(CPOOL_TRAP_FRESH_SLOTS, &hold, 1000) > 0);
    REQUIRE(reports_of_taking(CPOOL_TRAP_SYSTEM_CALLS, &hold, CAPACITY - 1000) > 0);
    hold_free_all(&hold);
    REQUIRE_EQUAL(reports_of_taking(CPOOL_TRAP_FRESH_SLOTS, &hold, CAPACITY), 0);
    hold_free_all(&hold);
    REQUIRE(reports_of_taking(CPOOL_TRAP_EXCHANGES, &hold, CAPACITY) > 0);
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

/* Each function that may exchange magazines, with some slots live. */
struct noise {
    cpool_t *pool;
    cpool_cache_t *cache;
    size_t count;
    void *slots[3 * ROOM];
};

static void free_by_one(struct noise *noise)
{
    while (noise->count > 0)
        cpool_free(noise->pool, noise->slots[--noise->count]);
}

static void free_by_cache(struct noise *noise)
{
    while (noise->count > 0)
        cpool_cache_free(noise->cache, noise->slots[--noise->count]);
}

static void free_in_bulk(struct noise *noise)
{
    cpool_free_bulk(noise->pool, noise->slots, noise->count);
    noise->count = 0;
}

static void alloc_in_bulk(struct noise *noise)
{
    noise->count += cpool_alloc_bulk(noise->pool, noise->slots + noise->count, ROOM);
}

static void alloc_in_bulk_all(struct noise *noise)
{
    REQUIRE_EQUAL(cpool_alloc_bulk_all(noise->pool, noise->slots + noise->count, ROOM), 0);
    noise->count += ROOM;
}

static void draw_and_return(struct noise *noise)
{
    cpool_ticket_t ticket = CPOOL_TICKET_INIT;

    REQUIRE_EQUAL(cpool_ticket_draw(&ticket, noise->pool, noise->slots + noise->count, ROOM), 0);
    REQUIRE_EQUAL(cpool_ticket_return(&ticket), ROOM);
}

static void use_depot(struct noise *noise)
{
    for (size_t i = 0; i < ROOM; i++)
        noise->slots[noise->count++] = cpool_depot_alloc(noise->pool);
    while (noise->count > 0)
        cpool_depot_free(noise->pool, noise->slots[--noise->count]);
}

static void flush(struct noise *noise)
{
    cpool_flush(noise->pool);
}

static void trim(struct noise *noise)
{
    cpool_trim(noise->pool);
}

static void reserve(struct noise *noise)
{
    REQUIRE_EQUAL(cpool_reserve(noise->pool, ROOM), 0);
}

/* And by what name it is reported. */
static const struct {
    void (*make)(struct noise *noise);
    const char *function;
} noises[] = {
    { free_by_one, "cpool_free" },
    { free_by_cache, "cpool_cache_free" },
    { free_in_bulk, "cpool_free_bulk" },
    { alloc_in_bulk, "cpool_alloc_bulk" },
    { alloc_in_bulk_all, "cpool_alloc_bulk_all" },
    { draw_and_return, "cpool_ticket_return" },
    { use_depot, "cpool_depot_free" },
    { flush, "cpool_flush" },
    { trim, "cpool_trim" },
    { reserve, "cpool_reserve" },
};

enum { NOISES = sizeof(noises) / sizeof(noises[0]) };

/* The function itself reports it, not the one that is called next. */
START_TEST(trap_reports_before_the_function_returns)
{
    struct noise noise = { create(kinds[_i % KINDS], 0), NULL, 0, { NULL } };
    struct support_report report;

    REQUIRE_EQUAL(cpool_cache_create(&noise.cache, noise.pool), 0);
    alloc_in_bulk(&noise);
    alloc_in_bulk(&noise);
    cpool_free_bulk(noise.pool, noise.slots + ROOM, ROOM);
    noise.count -= ROOM;
    cpool_flush(noise.pool);
    cpool_free(noise.pool, cpool_alloc(noise.pool)); /* something to flush */
    support_capture_reports();
    REQUIRE_EQUAL(cpool_quiet_begin(CPOOL_TRAP_EXCHANGES), 0);
    noises[_i / KINDS].make(&noise);
    REQUIRE(support_take_reports(&report) > 0);
    REQUIRE(strcmp(report.function, noises[_i / KINDS].function) == 0);
    REQUIRE(strstr(report.text, noises[_i / KINDS].function) == report.text);
    REQUIRE(end_scope().exchanges > 0);
    support_release_reports();
    free_in_bulk(&noise);
    cpool_cache_destroy(noise.cache);
    support_destroy_empty(noise.pool);
}
END_TEST

static void grow_in_scope(void *argument)
{
    (void)argument;
    (void)cpool_grow(create(0, 2 * CAPACITY), 1); /* outside: nothing happens */
    REQUIRE_EQUAL(cpool_quiet_begin(CPOOL_TRAP_GROWTHS), 0);
    (void)cpool_grow(create(0, 2 * CAPACITY), 1);
}

START_TEST(trap_without_handler_aborts)
{
    struct support_outcome outcome;

    support_require_abort(grow_in_scope, NULL, &outcome);
    REQUIRE(outcome.length > 0);
}
END_TEST

/*
 * ---- Frames --------------------------------------------------------------
 */

/* Every trap is set, and each frame takes and frees. */
START_TEST(frame_after_reserve_is_quiet)
{
    cpool_t *pool = create(kinds[_i], 2 * CAPACITY);
    struct hold hold;

    hold_init(&hold, pool);
    support_capture_reports();
    REQUIRE(support_stats(pool).magazine_rounds > FRAME);
    REQUIRE_EQUAL(cpool_reserve(pool, 2000), 0);
    for (int frame = 0; frame < 1000; frame++) {
        REQUIRE_EQUAL(cpool_quiet_begin(ALL_TRAPS), 0);
        REQUIRE_EQUAL(hold_take(&hold, FRAME), FRAME);
        hold_free_all(&hold);
        require_silence(end_scope());
    }
    /* A long frame meets the depot, and nothing worse. */
    REQUIRE_EQUAL(cpool_quiet_begin(ALL_TRAPS & ~(unsigned)CPOOL_TRAP_EXCHANGES), 0);
    REQUIRE_EQUAL(hold_take(&hold, 2000), 2000);
    hold_free_all(&hold);
    REQUIRE(end_scope().exchanges > 0);
    REQUIRE_NO_REPORT();
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

static void *begin_and_end(void *unused)
{
    REQUIRE_EQUAL(cpool_quiet_begin(ALL_TRAPS), 0);
    return unused;
}

static void *use_beside_no_scope(void *pool)
{
    cpool_free(pool, cpool_alloc(pool));
    return NULL;
}

/* A scope ends with its thread: the next one, which may get what the first one had, is in
 * none. */
START_TEST(scope_ends_with_its_thread)
{
    cpool_t *pool = create(kinds[_i], 0);

    support_capture_reports();
    support_in_thread(begin_and_end, NULL);
    support_in_thread(use_beside_no_scope, pool);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        ONCE(begin_before_any_pool_refused),
        ONCE(begin_and_end_with_wrong_arguments_refused),
        TIMES(growth_is_counted, KINDS),
        TIMES(fresh_slots_are_counted, KINDS),
        TIMES(system_calls_are_counted, KINDS),
        TIMES(exchanges_are_counted, KINDS),
        ONCE(begin_starts_at_zero),
        TIMES(noise_of_other_threads_is_not_counted, KINDS),
        TIMES(trap_reports_what_it_was_set_for, KINDS),
        TIMES(trap_reports_fresh_slots_exchanges_and_system_calls, KINDS),
        TIMES(trap_reports_before_the_function_returns, NOISES * KINDS),
        ONCE(trap_without_handler_aborts),
        TIMES(scope_ends_with_its_thread, KINDS),
        TIMES(frame_after_reserve_is_quiet, KINDS),
    };

    return SUPPORT_RUN("quiet", tests);
}
