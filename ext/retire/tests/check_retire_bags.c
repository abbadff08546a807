/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_retire_bags.c - when retired slots go back by themselves: a full bag, and to a thread that
 * sleeps until there is a slot.
 *
 * Includes the public API only.
 */
#include "retire_domain.h"

#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>


enum { BAG = HELD / 4 };

/* Whether a reader that was inside begins inline then: not where the system has no barrier. */
static bool begins_inline(const cpool_reader_t *by)
{
    return (uintptr_t)by->epoch % 2 == 0;
}

static void fill_bags(cpool_reader_t *by, size_t bags)
{
    size_t held = domain_stats(domain).held;

    retire(by, bags * BAG - held);
    REQUIRE_EQUAL(domain_stats(domain).held, bags * BAG);
}

TEST_TIMES(full_bag_goes_back_if_no_reader_was_inside, MODES)
{
    cpool_reader_t *by;

    make(modes[_i]);
    by = reader();
    (void)reader();
    for (int i = 0; i < 6; i++) {
        fill_bags(by, 1);
        retire(by, 1);
        REQUIRE_EQUAL(domain_stats(domain).held, 1);
    }
    end();
}

/* Of three full bags, for a reader that has come to rest.  Then it is in the way of none. */
TEST_TIMES(three_full_bags_go_back_together, MODES)
{
    cpool_reader_t *by;
    cpool_reader_t *other;

    make(modes[_i]);
    by = reader();
    other = reader();
    for (int i = 0; i < 3; i++) {
        pass_through(other);
        if (begins_inline(other))
            fill_bags(by, 3);
        for (int k = 0; k < 3; k++) {
            retire(by, 1);
            REQUIRE_EQUAL(domain_stats(domain).held, 1);
            fill_bags(by, 1);
        }
        REQUIRE_EQUAL(cpool_retire_flush(by, 0), 0);
    }
    end();
}

/* Each bag takes as long as the next one that is filled. */
TEST_TIMES(full_bag_goes_back_when_readers_go_on, 2 * MODES)
{
    cpool_reader_t *by;
    cpool_reader_t *other;

    make(modes[_i / 2]);
    by = reader();
    other = reader();
    cpool_read_begin(other);
    if (_i % 2 == 0)
        cpool_read_end(other);
    for (int i = 0; i < 6; i++) {
        fill_bags(by, _i % 2 == 0 && !begins_inline(other) ? 1 : i == 0 ? 1 : 2);
        retire(by, 1);
        REQUIRE_EQUAL(domain_stats(domain).held,
                      _i % 2 == 0 && !begins_inline(other) ? 1 : BAG + 1);
        if (_i % 2 == 0)
            pass_through(other);
        else
            cpool_read_quiescent(other);
    }
    if (_i % 2 != 0)
        cpool_read_end(other);
    end();
}

/* A thread that retires need not read. */
TEST_TIMES(full_bag_goes_back_when_readers_retire, MODES)
{
    cpool_reader_t *by;
    cpool_reader_t *other;
    size_t both;

    make(modes[_i]);
    by = reader();
    other = reader();
    pass_through(by);
    pass_through(other);
    both = begins_inline(other) ? BAG + 1 : 1;
    retire(by, BAG + 1);
    REQUIRE_EQUAL(domain_stats(domain).held, both);
    retire(other, BAG + 1);
    REQUIRE_EQUAL(domain_stats(domain).held, 2 * both);
    retire(by, BAG);
    REQUIRE_EQUAL(domain_stats(domain).held, 2 * both);
    end();
}

static cpool_reader_t *filler;
static bool has_forked;
static bool is_in_child;

/* The child fills all bags again before it comes back from here. */
static void fork_when_ready(cpool_t *of, void *other)
{
    pid_t child = fork();
    int status = 0;

    (void)of;
    REQUIRE(child >= 0);
    has_forked = true;
    if (child != 0) {
        REQUIRE_EQUAL(waitpid(child, &status, 0), child);
        REQUIRE_EQUAL(status, 0);
        return;
    }
    is_in_child = true;
    REQUIRE_EQUAL(cpool_retire_flush(filler, 0), 0);
    cpool_read_begin(other);
    fill_bags(filler, 4);
}

/* Two bags go back, and the first one's slot has the handler called. */
static void flush_and_fork(void *unused)
{
    cpool_config_t config = support_config(32, 1);
    cpool_reader_t *other = reader();
    cpool_t *waitable;
    void *slot;

    (void)unused;
    REQUIRE_EQUAL(cpool_create(&waitable, &config), 0);
    cpool_set_ready(waitable, fork_when_ready, other);
    REQUIRE((slot = cpool_alloc(waitable)) != NULL);
    REQUIRE(cpool_alloc_or_notify(waitable) == NULL);
    cpool_read_begin(other);
    REQUIRE_EQUAL(cpool_retire(filler, waitable, slot), 0);
    REQUIRE_EQUAL(cpool_retire_flush(filler, 0), 1);
    retire(filler, 1);
    REQUIRE_EQUAL(cpool_retire_flush(filler, 0), 2);
    cpool_read_end(other);
    (void)cpool_retire_flush(filler, 0);
    REQUIRE_EQUAL(domain_stats(domain).held, is_in_child ? HELD : 0);
    REQUIRE(has_forked);
}

TEST(child_that_a_handler_makes_keeps_what_it_retires)
{
    make(0);
    filler = reader();
    support_in_child(flush_and_fork, NULL);
    end();
}

/* It has no owner who could mend it. */
TEST(retired_slot_that_was_overrun_goes_back)
{
    cpool_config_t config = support_config(32, 2);
    cpool_reader_t *by;
    cpool_t *checked;
    char *slot;

    make(0);
    config.flags = CPOOL_CHECKED;
    REQUIRE_EQUAL(cpool_create(&checked, &config), 0);
    by = reader();
    slot = cpool_alloc(checked);
    REQUIRE_EQUAL(cpool_retire(by, checked, slot), 0);
    slot[32] ^= 1;
    support_capture_reports();
    REQUIRE_EQUAL(cpool_retire_flush(by, 0), 0);
    REQUIRE_REPORT(CPOOL_EGUARD);
    support_require_live(checked, 0);
    end();
    support_destroy_empty(checked);
}

static cpool_reader_t *noticed;

static void obtain_when_ready(cpool_t *of, void *unused)
{
    (void)of;
    (void)unused;
    REQUIRE_EQUAL(cpool_reader_create(&noticed, domain, 0), 0);
}

/* A thread has one reader, also if a notice obtains it in the midst of its own obtaining: all
 * readers are of the past, and the slots in their bags are awaited. */
TEST(reader_that_a_notice_obtains_is_the_threads)
{
    cpool_config_t config = support_config(32, READERS);
    cpool_reader_t *readers[READERS];
    cpool_reader_t *guard;
    cpool_reader_t *own;
    cpool_t *waitable;

    make(0);
    REQUIRE_EQUAL(cpool_create(&waitable, &config), 0);
    cpool_set_ready(waitable, obtain_when_ready, NULL);
    for (size_t i = 0; i < READERS; i++)
        readers[i] = reader();
    guard = readers[0];
    cpool_read_begin(guard);
    for (size_t i = 0; i < READERS; i++)
        REQUIRE_EQUAL(cpool_retire(readers[i], waitable, cpool_alloc(waitable)), 0);
    for (size_t i = 1; i < READERS; i++)
        cpool_reader_destroy(readers[i]);
    REQUIRE(cpool_alloc_or_notify(waitable) == NULL);
    cpool_read_end(guard);
    noticed = NULL;
    REQUIRE_EQUAL(cpool_reader_create(&own, domain, 0), 0);
    REQUIRE(noticed == own);
    for (size_t i = 2; i < READERS; i++)
        REQUIRE(reader() != own);
    REQUIRE_EQUAL(cpool_reader_create(&noticed, domain, CPOOL_READER_UNOWNED), CPOOL_ELIMIT);
    end();
    support_destroy_empty(waitable);
}

enum { SLEEPERS = 2 };

struct sleeper {
    cpool_t *waitable;
    void *slot;
};

static void *sleep_until_there_is_one(void *argument)
{
    struct sleeper *sleeper = argument;

    sleeper->slot = cpool_alloc_wait(sleeper->waitable, NULL);
    return NULL;
}

/* No thread does anything with the domain after the retires, but for the end of a section.  A
 * sleeper looks once more when it has waited for a millisecond, and the retires come later. */
TEST_TIMES(sleepers_get_slots_that_are_retired, 2 * MODES)
{
    cpool_config_t config = support_config(32, SLEEPERS);
    struct sleeper sleepers[SLEEPERS];
    pthread_t threads[SLEEPERS];
    void *slots[SLEEPERS];
    cpool_reader_t *by;
    cpool_reader_t *other;
    cpool_t *waitable;

    make(0);
    support_set_flags(&config, modes[_i / 2]);
    REQUIRE_EQUAL(cpool_create(&waitable, &config), 0);
    by = reader();
    other = reader();
    REQUIRE_EQUAL(cpool_alloc_bulk(waitable, slots, SLEEPERS, 0), SLEEPERS);
    for (int i = 0; i < SLEEPERS; i++) {
        sleepers[i].waitable = waitable;
        threads[i] = support_start(sleep_until_there_is_one, &sleepers[i]);
    }
    while (support_stats(waitable).waits < SLEEPERS)
        sched_yield();
    (void)nanosleep(&(struct timespec){0, 20000000}, NULL);
    for (int i = 0; i < SLEEPERS; i++) {
        if (_i % 2 != 0 && i == 1)
            cpool_read_begin(other);
        REQUIRE_EQUAL(cpool_retire(by, waitable, slots[i]), 0);
    }
    if (_i % 2 != 0)
        cpool_read_end(other);
    for (int i = 0; i < SLEEPERS; i++) {
        support_join(threads[i]);
        cpool_free(waitable, sleepers[i].slot);
    }
    support_destroy_empty(waitable);
    end();
}
