/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_retire.c - slots that go back when no reader can see them any more.
 *
 * Includes the public API only.
 */
#include "retire_domain.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <cpool/client.h>
#include <cpool/track.h>

/* --- One thread --- */

TEST_TIMES(slots_go_back_without_sections, MODES)
{
    cpool_reader_t *by;

    make(modes[_i]);
    by = reader();
    retire(by, CAPACITY / 2);
    REQUIRE(domain_stats(domain).held <= HELD);
    support_require_live(pool, domain_stats(domain).held);
    REQUIRE_EQUAL(cpool_retire(by, pool, NULL), 0);
    REQUIRE_EQUAL(cpool_retire_flush(by, CPOOL_FLUSH_WAIT), 0);
    REQUIRE_EQUAL(domain_stats(domain).held, 0);
    support_require_live(pool, 0);
    support_require_obtainable(pool, 0);
    cpool_reader_destroy(by);
    end();
}

TEST_TIMES(section_holds_back_what_was_retired_since, 2 * MODES)
{
    cpool_reader_t *by;
    cpool_reader_t *other;
    void *slot;

    make(modes[(size_t)_i % MODES]);
    by = reader();
    other = reader();
    if ((size_t)_i >= MODES) /* begins inline from now on, where it can */
        pass_through(other);
    REQUIRE(domain_stats(domain).oldest == NULL);
    cpool_read_begin(other);
    cpool_read_begin(other);
    retire(by, HELD);
    REQUIRE(domain_stats(domain).oldest == other);
    slot = cpool_alloc(pool);
    REQUIRE_EQUAL(cpool_retire(by, pool, slot), CPOOL_EHELD);
    REQUIRE_EQUAL(cpool_retire_flush(by, 0), HELD);
    cpool_read_end(other);
    REQUIRE_EQUAL(cpool_retire_flush(by, 0), HELD);
    support_require_live(pool, HELD + 1);
    cpool_read_end(other);
    cpool_read_begin(other); /* began after all of them */
    REQUIRE_EQUAL(cpool_retire(by, pool, slot), 0);
    REQUIRE_EQUAL(domain_stats(domain).held, 1);
    cpool_read_end(other);
    REQUIRE_EQUAL(cpool_retire_flush(by, 0), 0);
    support_require_live(pool, 0);
    end();
}

TEST(own_section_holds_back_too)
{
    cpool_reader_t *by;

    make(0);
    by = reader();
    cpool_read_begin(by);
    retire(by, 1);
    REQUIRE_EQUAL(cpool_retire_flush(by, 0), 1);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_retire_flush(by, CPOOL_FLUSH_WAIT), 1);
    REQUIRE_REPORT(CPOOL_EREADER);
    cpool_reader_destroy(by);
    REQUIRE_REPORT(CPOOL_EREADER);
    REQUIRE_EQUAL(cpool_domain_destroy(domain), CPOOL_EREADER);
    support_release_reports();
    cpool_read_end(by);
    REQUIRE_EQUAL(cpool_retire_flush(by, CPOOL_FLUSH_WAIT), 0);
    support_require_live(pool, 0);
    end();
}

TEST(slots_of_several_pools)
{
    cpool_config_t config = support_config(100, HELD);
    cpool_reader_t *by;
    cpool_t *second;

    make(0);
    REQUIRE_EQUAL(cpool_create(&second, &config), 0);
    by = reader();
    for (size_t i = 0; i < HELD / 2; i++) {
        retire(by, 1);
        REQUIRE_EQUAL(cpool_retire(by, second, cpool_alloc(second)), 0);
    }
    REQUIRE_EQUAL(cpool_retire_flush(by, CPOOL_FLUSH_WAIT), 0);
    support_require_live(pool, 0);
    support_destroy_empty(second);
    end();
}

static cpool_reader_t *reader_of_ready;

static void retire_when_ready(cpool_t *of, void *other)
{
    (void)of;
    REQUIRE_EQUAL(cpool_retire(reader_of_ready, other, cpool_alloc(other)), 0);
}

/* A slot that goes back has another one retired.  That one goes back, too. */
TEST_TIMES(slots_retired_by_a_handler_go_back, 2)
{
    cpool_config_t config = support_config(32, 1);
    cpool_t *waitable;
    void *slot;

    make(0);
    REQUIRE_EQUAL(cpool_create(&waitable, &config), 0);
    reader_of_ready = reader();
    cpool_set_ready(waitable, retire_when_ready, pool);
    REQUIRE((slot = cpool_alloc(waitable)) != NULL);
    REQUIRE(cpool_alloc_or_notify(waitable) == NULL);
    REQUIRE_EQUAL(cpool_retire(reader_of_ready, waitable, slot), 0);
    if (_i == 0) {
        REQUIRE_EQUAL(cpool_retire_flush(reader_of_ready, 0), 1);
        support_require_live(pool, 1);
        REQUIRE_EQUAL(cpool_retire_flush(reader_of_ready, 0), 0);
    } else {
        cpool_reader_destroy(reader_of_ready);
        REQUIRE_EQUAL(domain_stats(domain).held, 1);
        REQUIRE_EQUAL(cpool_retire_flush(reader(), 0), 0);
        REQUIRE_EQUAL(domain_stats(domain).held, 0);
    }
    support_require_live(pool, 0);
    cpool_set_ready(waitable, NULL, NULL);
    support_destroy_empty(waitable);
    end();
}

TEST(flushes_leave_room_for_all_that_may_be_held)
{
    cpool_reader_t *by;
    cpool_reader_t *other;
    void *slot;

    make(0);
    by = reader();
    other = reader();
    cpool_read_begin(other);
    for (size_t i = 0; i < HELD; i++) {
        retire(by, 1);
        REQUIRE_EQUAL(cpool_retire_flush(by, 0), i + 1);
    }
    slot = cpool_alloc(pool);
    REQUIRE_EQUAL(cpool_retire(by, pool, slot), CPOOL_EHELD);
    cpool_read_end(other);
    REQUIRE_EQUAL(cpool_retire(by, pool, slot), 0);
    REQUIRE_EQUAL(cpool_retire_flush(by, CPOOL_FLUSH_WAIT), 0);
    support_require_live(pool, 0);
    end();
}

TEST_TIMES(destroyed_reader_leaves_its_slots_to_others, 2)
{
    cpool_reader_t *readers[READERS];
    cpool_reader_t *left = NULL;

    make(0);
    for (size_t i = 0; i < READERS; i++)
        readers[i] = reader();
    REQUIRE_EQUAL(cpool_reader_create(&left, domain, CPOOL_READER_UNOWNED), CPOOL_ELIMIT);
    REQUIRE_EQUAL(cpool_reader_create(&left, domain, 0), CPOOL_ELIMIT);
    REQUIRE_EQUAL(cpool_reader_create(&left, domain, 2), CPOOL_EFLAGS);
    REQUIRE(left == NULL);
    REQUIRE_EQUAL(cpool_reader_create(&left, NULL, 0), CPOOL_ENULL);
    REQUIRE_EQUAL(cpool_reader_create(NULL, domain, 0), CPOOL_ENULL);
    cpool_read_begin(readers[0]);
    retire(readers[1], HELD);
    cpool_reader_destroy(readers[1]);
    REQUIRE_EQUAL(domain_stats(domain).held, HELD);
    REQUIRE(reader_in(domain, CPOOL_READER_UNOWNED) == NULL); /* its bags are in use */
    cpool_read_end(readers[0]);
    if (_i == 0)
        REQUIRE(reader_in(domain, CPOOL_READER_UNOWNED) == readers[1]);
    else
        REQUIRE_EQUAL(cpool_retire_flush(readers[2], 0), 0);
    support_require_live(pool, 0);
    end();
}

TEST_TIMES(end_of_the_domain_gives_all_back, MODES)
{
    cpool_reader_t *other;

    make(modes[_i]);
    other = reader();
    cpool_read_begin(other);
    retire(reader(), HELD);
    retire(reader(), 1);
    cpool_read_end(other);
    support_require_live(pool, HELD + 1);
    end();
}

TEST(wrong_numbers_refused)
{
    static const size_t wrong[][2] = {
        {0, HELD}, {CPOOL_READERS_MAX + 1, HELD}, {1, 3}, {1, CPOOL_HELD_MAX + 1}};

    REQUIRE_EQUAL(domain_create(NULL, 1, HELD, 0), CPOOL_ENULL);
    REQUIRE_EQUAL(cpool_domain_create(&domain, NULL), CPOOL_ENULL);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        domain = (cpool_domain_t *)&wrong;
        REQUIRE_EQUAL(domain_create(&domain, wrong[i][0], wrong[i][1], 0), CPOOL_ECAPACITY);
        REQUIRE(domain == NULL);
    }
    REQUIRE_EQUAL(cpool_domain_destroy(NULL), 0);
    cpool_reader_destroy(NULL);
}

/* Of a program that was built against a later header, and against an earlier one. */
TEST(domain_structures_of_other_sizes)
{
    struct {
        cpool_domain_config_t config;
        size_t more;
    } later = {{sizeof later, 1, HELD, 0}, 0};
    struct {
        cpool_domain_stats_t stats;
        size_t more;
    } figures = {{sizeof figures, 9, NULL}, 9};
    cpool_domain_stats_t few = {offsetof(cpool_domain_stats_t, oldest), 9, NULL};

    REQUIRE_EQUAL(cpool_domain_create(&domain, &later.config), 0);
    REQUIRE_EQUAL(cpool_domain_read_stats(domain, NULL), CPOOL_ENULL);
    REQUIRE_EQUAL(cpool_domain_read_stats(domain, &figures.stats), 0);
    REQUIRE(figures.stats.size == sizeof figures && figures.stats.held == 0 && figures.more == 0);
    cpool_read_begin(reader_in(domain, 0));
    REQUIRE_EQUAL(cpool_domain_read_stats(domain, &few), 0);
    REQUIRE(few.size == offsetof(cpool_domain_stats_t, oldest) && few.held == 0);
    REQUIRE(few.oldest == NULL && domain_stats(domain).oldest != NULL);
    cpool_read_end(reader_in(domain, 0));
    few.size = 1;
    REQUIRE_EQUAL(cpool_domain_read_stats(domain, &few), CPOOL_ESTRUCT);
    REQUIRE_EQUAL(cpool_domain_destroy(domain), 0);
    later.more = 1;
    REQUIRE_EQUAL(cpool_domain_create(&domain, &later.config), CPOOL_ESTRUCT);
    later.config.size = 1;
    REQUIRE_EQUAL(cpool_domain_create(&domain, &later.config), CPOOL_ESTRUCT);
}

static void require_made(size_t readers, size_t held)
{
    REQUIRE_EQUAL(domain_create(&domain, readers, held, 0), 0);
    REQUIRE_EQUAL(cpool_domain_destroy(domain), 0);
}

/* A domain has a descriptor, of which there are 16384. */
TEST(domains_of_every_size_follow_each_other)
{
    require_made(CPOOL_READERS_MAX, 4);
    require_made(1, CPOOL_HELD_MAX);
    for (unsigned i = SUPPORT_COUNT(0u, 16000u); i < 17000; i++)
        require_made(1, 4);
}

/* Of slots that may be held no memory is kept.  That of too many readers is not kept either, but
 * that of other domains stays. */
TEST(domain_destroy_of_a_large_one_leaves_mistakes_reported)
{
    cpool_domain_t *large;
    cpool_domain_t *small;
    cpool_reader_t *by;
    void *slot;

    make(0);
    small = domain;
    REQUIRE_EQUAL(cpool_domain_destroy(small), 0);
    require_made(CPOOL_READERS_MAX, 4);
    REQUIRE_EQUAL(domain_create(&large, 64, 65536, 0), 0);
    by = reader_in(large, CPOOL_READER_UNOWNED);
    REQUIRE_EQUAL(cpool_domain_destroy(large), 0);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_domain_destroy(small), CPOOL_EPOOL);
    REQUIRE_REPORT(CPOOL_EPOOL);
    slot = cpool_alloc(pool);
    REQUIRE_EQUAL(cpool_retire(by, pool, slot), CPOOL_EPOOL);
    REQUIRE_REPORT(CPOOL_EPOOL);
    cpool_free(pool, slot);
    support_destroy_empty(pool);
}

#if defined(__ELF__)

/* A handler that was registered before the library's runs with its lock held. */
static bool has_handler;
static bool allocs_in_handler;
static bool lock_was_kept;

static void alloc_in_handler(void)
{
    if (!allocs_in_handler)
        return;
    cpool_free(pool, cpool_alloc(pool));
    lock_was_kept = !cpool_client_lock();
}

static void do_nothing(void *argument)
{
    (void)argument;
}

static void register_handler(void)
{
    has_handler = pthread_atfork(alloc_in_handler, NULL, NULL) == 0;
}

__attribute__((__section__(".preinit_array"), __used__)) static void (*const first)(void) =
    register_handler;

TEST(alloc_in_a_handler_of_fork_leaves_the_lock)
{
    cpool_reader_t *by;

    SKIP_IF(!has_handler, "the C library calls nothing before constructors");
    make(0);
    by = reader();
    cpool_read_begin(by);
    retire(by, 1);
    for (int live = 0; live < CAPACITY - 1; live++)
        REQUIRE(cpool_alloc(pool) != NULL);
    allocs_in_handler = true;
    support_in_child(do_nothing, NULL);
    allocs_in_handler = false;
    REQUIRE(lock_was_kept);
    cpool_read_end(by);
    REQUIRE_EQUAL(cpool_domain_destroy(domain), 0);
    REQUIRE_EQUAL(cpool_reset(pool), CAPACITY - 1);
    support_destroy_empty(pool);
}

#endif

TEST(slots_held_are_rounded_up)
{
    cpool_reader_t *other;
    cpool_reader_t *by;
    void *slot;

    make(0);
    REQUIRE_EQUAL(cpool_domain_destroy(domain), 0);
    REQUIRE_EQUAL(domain_create(&domain, 2, 5, 0), 0);
    other = reader();
    by = reader();
    cpool_read_begin(other);
    retire(by, 8);
    slot = cpool_alloc(pool);
    REQUIRE_EQUAL(cpool_retire(by, pool, slot), CPOOL_EHELD);
    REQUIRE_EQUAL(support_stats(pool).retired, 8);
    cpool_read_end(other);
    REQUIRE_EQUAL(cpool_retire(by, pool, slot), 0);
    end();
}

/* The bag that is older than the section goes back by a barrier, for a reader is at rest. */
TEST(section_lasts_while_an_older_bag_goes_back)
{
    cpool_reader_t *other;
    cpool_reader_t *by;

    make(0);
    other = reader();
    by = reader();
    (void)reader();
    retire(by, HELD / 4 + 1); /* the first bag is closed */
    cpool_read_begin(other);
    retire(by, HELD - 1);
    REQUIRE_EQUAL(cpool_retire_flush(by, 0), HELD);
    cpool_read_end(other);
    end();
}

TEST(reader_is_free_when_slots_that_it_left_can_go)
{
    cpool_reader_t *other;

    make(0);
    other = reader();
    cpool_read_begin(other);
    for (int i = 0; i < READERS - 1; i++) {
        cpool_reader_t *by = reader();

        retire(by, 1);
        cpool_reader_destroy(by);
    }
    REQUIRE(reader_in(domain, 0) == NULL);
    cpool_read_end(other);
    REQUIRE(reader_in(domain, 0) != NULL);
    end();
}

TEST(oldest_reader_has_the_oldest_section)
{
    cpool_reader_t *inside[READERS - 1];
    cpool_reader_t *by;

    make(0);
    by = reader_in(domain, 0);
    for (int i = READERS - 2; i >= 0; i--)
        inside[i] = reader();
    for (int i = 0; i < READERS - 1; i++) {
        cpool_read_begin(inside[i]);
        retire(by, 1);
        (void)cpool_retire_flush(by, 0);
    }
    for (int i = 0; i < READERS - 1; i++) {
        REQUIRE(domain_stats(domain).oldest == inside[i]);
        cpool_read_end(inside[i]);
    }
    REQUIRE(domain_stats(domain).oldest == NULL);
    end();
}

/* Slots of a reader that is in use are its own to wait for. */
TEST(barrier_does_not_wait_for_slots_of_others)
{
    cpool_reader_t *other;

    make(0);
    other = reader();
    cpool_read_begin(other);
    retire(other, 3);
    REQUIRE_EQUAL(cpool_retire_flush(reader_in(domain, 0), CPOOL_FLUSH_WAIT), 0);
    REQUIRE_EQUAL(domain_stats(domain).held, 3);
    cpool_read_end(other);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_retire_flush(other, CPOOL_FLUSH_WAIT | 2u), 3);
    REQUIRE_REPORT(CPOOL_EFLAGS);
    support_release_reports();
    end();
}

static void require_inside(cpool_reader_t *by)
{
    support_capture_reports();
    cpool_reader_destroy(by);
    REQUIRE_REPORT(CPOOL_EREADER);
    REQUIRE_EQUAL(cpool_domain_destroy(domain), CPOOL_EREADER);
    support_release_reports();
    cpool_read_end(by);
}

/* Begun before the fork, and afterwards. */
static void child(void *by)
{
    require_inside(by);
    cpool_read_begin(by);
    require_inside(by);
    cpool_reader_destroy(by);
    REQUIRE_EQUAL(cpool_retire_flush(reader(), 0), 0);
    support_require_live(pool, 0);
    end();
}

TEST_TIMES(sections_are_noticed_in_the_child_of_a_fork, 2)
{
    cpool_reader_t *by;

    make(0);
    by = _i == 0 ? reader() : reader_in(domain, 0);
    retire(by, 3);
    cpool_read_begin(by);
    support_in_child(child, by);
    cpool_read_end(by);
    REQUIRE_EQUAL(cpool_retire_flush(by, CPOOL_FLUSH_WAIT), 0);
    end();
}

TEST(slot_of_no_pool_refused)
{
    cpool_reader_t *by;
    void *slot;

    make(0);
    by = reader();
    slot = cpool_alloc(pool);
    REQUIRE_EQUAL(cpool_retire(by, pool, NULL), 0);
    REQUIRE_EQUAL(cpool_retire(by, NULL, NULL), 0);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_retire(by, NULL, slot), CPOOL_EPOOL);
    REQUIRE_REPORT(CPOOL_EPOOL);
    support_release_reports();
    REQUIRE_EQUAL(domain_stats(domain).held, 0);
    cpool_free(pool, slot);
    end();
}

/* --- A thread's own reader --- */

static void *retire_and_end(void *count)
{
    cpool_reader_t *by = reader_in(domain, 0);

    REQUIRE(by != NULL && reader_in(domain, 0) == by);
    cpool_read_begin(by); /* ends with the thread */
    retire(by, *(const size_t *)count);
    return NULL;
}

TEST_TIMES(end_of_a_thread_gives_its_reader_up, MODES)
{
    static const size_t count = 3;
    cpool_reader_t *other;

    make(modes[_i]);
    other = reader();
    cpool_read_begin(other);
    for (size_t i = 0; i < READERS - 1; i++)
        support_join(support_start(retire_and_end, (void *)(uintptr_t)&count));
    REQUIRE_EQUAL(domain_stats(domain).held, count * (READERS - 1));
    REQUIRE(reader_in(domain, CPOOL_READER_UNOWNED) == NULL);
    cpool_read_end(other);
    REQUIRE_EQUAL(cpool_retire_flush(other, CPOOL_FLUSH_WAIT), 0);
    support_require_live(pool, 0);
    for (size_t i = 0; i < 2 * READERS; i++)
        support_join(support_start(retire_and_end, (void *)(uintptr_t)&count));
    end();
}

static void child_of_owner(void *unused)
{
    cpool_reader_t *by = reader_in(domain, 0);

    (void)unused;
    REQUIRE(by != NULL);
    REQUIRE_EQUAL(cpool_retire_flush(by, CPOOL_FLUSH_WAIT), 0);
    support_require_live(pool, 0);
    end();
}

static _Atomic int stage;

static void *stay_inside(void *unused)
{
    cpool_reader_t *by = reader_in(domain, 0);

    (void)unused;
    cpool_read_begin(by);
    retire(by, 3);
    atomic_store(&stage, 1);
    while (atomic_load(&stage) != 2)
        sched_yield();
    cpool_read_end(by);
    return NULL;
}

TEST_TIMES(child_of_a_fork_has_no_readers_of_other_threads, MODES)
{
    pthread_t other;

    make(modes[_i]);
    atomic_store(&stage, 0);
    other = support_start(stay_inside, NULL);
    while (atomic_load(&stage) != 1)
        sched_yield();
    retire(reader_in(domain, 0), 2);
    support_in_child(child_of_owner, NULL);
    atomic_store(&stage, 2);
    support_join(other);
    end();
}

TEST(quiescent_state_ends_and_begins_a_section)
{
    cpool_reader_t *by;
    cpool_reader_t *other;

    make(0);
    by = reader();
    other = reader_in(domain, 0);
    cpool_read_quiescent(other);
    REQUIRE(domain_stats(domain).oldest == NULL);
    cpool_read_begin(other);
    retire(by, 3);
    REQUIRE_EQUAL(cpool_retire_flush(by, 0), 3);
    cpool_read_begin(other);
    cpool_read_quiescent(other);
    REQUIRE_EQUAL(cpool_retire_flush(by, 0), 3);
    cpool_read_end(other);
    cpool_read_quiescent(other);
    REQUIRE(domain_stats(domain).oldest == other);
    REQUIRE_EQUAL(cpool_retire_flush(by, 0), 0);
    cpool_read_end(other);
    end();
}

/* --- Dry pools, and their ends --- */

TEST_TIMES(dry_pool_takes_back_what_no_section_sees, MODES)
{
    static void *slots[CAPACITY];
    cpool_reader_t *by;
    cpool_reader_t *other;

    make(modes[_i]);
    by = reader();
    other = reader();
    for (size_t i = 0; i < CAPACITY; i++)
        REQUIRE((slots[i] = cpool_alloc(pool)) != NULL);
    for (size_t i = 0; i < 3; i++)
        REQUIRE_EQUAL(cpool_retire(by, pool, slots[i]), 0);
    cpool_read_begin(other);
    for (size_t i = 3; i < 6; i++)
        REQUIRE_EQUAL(cpool_retire(by, pool, slots[i]), 0);
    REQUIRE_EQUAL(support_stats(pool).retired, 6);
    REQUIRE(cpool_alloc(pool) == NULL); /* one bag has them all, and the section holds it */
    cpool_read_end(other);
    for (size_t i = 0; i < 6; i++)
        REQUIRE((slots[i] = cpool_alloc(pool)) != NULL);
    REQUIRE(cpool_alloc(pool) == NULL);
    REQUIRE_EQUAL(support_stats(pool).retired, 0);
    for (size_t i = 0; i < CAPACITY; i++)
        cpool_free(pool, slots[i]);
    end();
}

/* The slot does not go into the thread's own cache, out of which such an alloc would recall it. */
TEST(alloc_from_the_depot_finds_what_was_retired)
{
    void *slots[CAPACITY / 4];
    cpool_reader_t *by;
    cpool_t *small;

    make(0);
    by = reader();
    small = support_create_plain(64, CAPACITY / 4);
    for (size_t i = 0; i < CAPACITY / 4; i++)
        REQUIRE((slots[i] = cpool_alloc(small)) != NULL);
    REQUIRE_EQUAL(cpool_retire(by, small, slots[0]), 0);
    REQUIRE(cpool_alloc_uncached(small) == slots[0]);
    REQUIRE_EQUAL(support_stats(small).reclaims, 0);
    REQUIRE(cpool_alloc_uncached(small) == NULL);
    cpool_free_bulk(small, slots, CAPACITY / 4);
    support_destroy_empty(small);
    end();
}

TEST_TIMES(reset_forgets_what_a_section_holds, MODES)
{
    cpool_reader_t *other;

    make(modes[_i]);
    other = reader();
    cpool_read_begin(other);
    retire(reader_in(domain, 0), 5);
    (void)cpool_reset(pool);
    REQUIRE_EQUAL(domain_stats(domain).held, 0);
    cpool_read_end(other);
    support_require_obtainable(pool, 0);
    end();
}

TEST(section_that_stays_is_reported_once)
{
    static const struct timespec moment = {0, 3000000};
    cpool_reader_t *other;
    struct support_report report;
    cpool_reader_t *by;

    make(0);
    REQUIRE_EQUAL(cpool_domain_destroy(domain), 0);
    REQUIRE_EQUAL(domain_create(&domain, READERS, HELD, 1), 0);
    other = reader();
    by = reader();
    cpool_read_begin(other);
    retire(by, 1);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_retire_flush(by, 0), 1);
    REQUIRE_EQUAL(nanosleep(&moment, NULL), 0);
    REQUIRE_EQUAL(cpool_retire_flush(by, 0), 1);
    REQUIRE_EQUAL(support_take_reports(&report), 1);
    REQUIRE_EQUAL(report.code, CPOOL_ESTALLED);
    REQUIRE(report.address == other);
    REQUIRE_EQUAL(nanosleep(&moment, NULL), 0);
    REQUIRE_EQUAL(cpool_retire_flush(by, 0), 1);
    REQUIRE_NO_REPORT();
    cpool_read_quiescent(other); /* another section, which holds back what follows */
    retire(by, 1);
    REQUIRE_EQUAL(cpool_retire_flush(by, 0), 1);
    REQUIRE_NO_REPORT();
    support_release_reports();
    cpool_read_end(other);
    end();
}

/*
 * ---- Pools that know their retired slots -------------------------------------
 */

static const unsigned knows[] = {CPOOL_TRACKED, CPOOL_CHECKED};

TEST_TIMES(retired_slot_refused, 2)
{
    struct support_report report;
    cpool_reader_t *by;
    cpool_reader_t *other;
    cpool_handle_t handle;
    void *slot;
    void *live;

    make(knows[_i]);
    by = reader();
    other = reader();
    cpool_read_begin(other);
    slot = cpool_alloc(pool);
    handle = cpool_handle(pool, slot);
    REQUIRE_EQUAL(cpool_retire(by, pool, slot), 0);
    REQUIRE(cpool_resolve(pool, handle) == NULL);
    REQUIRE(cpool_handle(pool, slot) == CPOOL_HANDLE_NONE);
    REQUIRE_EQUAL(support_count_live(pool), 0);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_retire(by, pool, slot), CPOOL_ERETIRED);
    REQUIRE_REPORT(CPOOL_ERETIRED);
    cpool_free(pool, slot);
    report = REQUIRE_REPORT(CPOOL_ERETIRED);
    REQUIRE(knows[_i] != CPOOL_CHECKED || strstr(report.details, ", is retired\n") != NULL);
    retire(by, HELD - 1);
    REQUIRE_EQUAL(cpool_retire(by, pool, slot), CPOOL_ERETIRED);
    REQUIRE_REPORT(CPOOL_ERETIRED);
    live = cpool_alloc(pool);
    REQUIRE_EQUAL(cpool_retire(by, pool, live), CPOOL_EHELD);
    cpool_free(pool, live);
    REQUIRE_NO_REPORT();
    cpool_read_end(other);
    REQUIRE_EQUAL(cpool_retire_flush(by, 0), 0);
    REQUIRE_EQUAL(cpool_retire(by, pool, slot), CPOOL_EDOUBLEFREE);
    support_release_reports();
    support_require_obtainable(pool, 0);
    end();
}

/* The first pool is plain.  One that is made in its place is not. */
TEST_TIMES(pool_in_the_place_of_another_one_is_known, 2)
{
    cpool_config_t config = support_config(32, 4);
    const cpool_t *place;
    cpool_reader_t *by;
    void *slot;

    make(0);
    place = pool;
    by = reader();
    for (unsigned i = 0; i < 3; i++)
        REQUIRE_EQUAL(cpool_retire(by, pool, cpool_alloc(pool)), 0);
    support_destroy_empty(pool);
    support_set_flags(&config, knows[_i]);
    REQUIRE_EQUAL(cpool_create(&pool, &config), 0);
    while (pool != place) { /* comes again after many others */
        support_destroy_empty(pool);
        REQUIRE_EQUAL(cpool_create(&pool, &config), 0);
    }
    slot = cpool_alloc(pool);
    REQUIRE_EQUAL(cpool_retire(by, pool, slot), 0);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_retire(by, pool, slot), CPOOL_ERETIRED);
    support_release_reports();
    end();
}
