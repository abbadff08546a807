/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_lease.c - a thread stops at every step of an alloc under a lease, of a theft
 * from it, or of an adoption, and another one ends the lease, adopts the same slot, or forks
 * meanwhile.  All places of uncached operations are taken.
 *
 * Includes steps.h, and pool_impl.h to see what forks leave behind.
 */
#include "steps.h" /* first: it says which system interfaces are wanted */

#include <sys/wait.h>
#include <unistd.h>

#include "inside.h"
#include "party.h"

/* The end is refused while the worker is inside a cache of the lease. */
static bool end_beside(unsigned flags, struct worker *worker, size_t nth)
{
    struct party party = begin(flags, worker, ROUNDS);
    struct steps_stop stop;
    size_t reports;
    size_t ended;
    bool stopped;

    support_capture_reports();
    stopped = steps_run(&stop, worker, NULL, nth, take, &party);
    ended = end_at_last(&party, &stop, worker);
    REQUIRE(ended >= ROUNDS);
    reports = support_take_reports(NULL);
    REQUIRE(stopped || reports == 0);
    REQUIRE(party.got == ROUNDS + 1 || reports > 0);
    support_release_reports();
    if ((flags & (CPOOL_CHECKED | CPOOL_TRACKED)) == 0) {
        support_require_live(party.pool, 0);
        support_require_obtainable(party.pool, 0);
    }
    support_destroy(party.pool);
    return stopped;
}

START_TEST(end_beside_an_alloc_leaves_the_pool_whole)
{
    struct worker *worker = worker_start();
    size_t nth = 1;

    while (end_beside(modes[_i], worker, nth))
        nth++;
    REQUIRE(nth > 10);
    worker_stop(worker);
}
END_TEST

/* The slot of the alloc goes back with the lease, or the alloc is refused. */
static bool end_has_all(unsigned flags, struct worker *worker, size_t nth)
{
    struct party party = begin(flags, worker, ROUNDS + 1); /* free rounds are left */
    struct steps_stop stop;
    bool stopped;
    size_t ended;

    support_capture_reports();
    stopped = steps_run(&stop, worker, NULL, nth, take, &party);
    ended = end_at_last(&party, &stop, worker);
    REQUIRE_EQUAL(ended, party.got);
    REQUIRE(support_take_reports(NULL) > 0 || party.got == ROUNDS + 2);
    support_require_obtainable(party.pool, 0);
    REQUIRE_NO_REPORT();
    support_release_reports();
    support_destroy_empty(party.pool);
    return stopped;
}

START_TEST(end_has_all_slots_of_an_alloc_beside_it_or_is_refused)
{
    struct worker *worker = worker_start();
    size_t nth = 1;

    while (end_has_all(modes[1 + _i], worker, nth))
        nth++;
    REQUIRE(nth > 10);
    worker_stop(worker);
}
END_TEST

/* --- Beside a theft --- */

static void alloc_one(void *argument)
{
    struct party *party = argument;

    party->got = cpool_alloc(party->pool) != NULL;
}

/* Of the free slots only those are left that two threads have loaded under the lease. */
static void use_up(cpool_t *pool)
{
    size_t loaded = support_stats(pool).in_caches;

    REQUIRE(loaded > 0);
    while (support_stats(pool).in_depot + support_stats(pool).fresh > 0 ||
           support_stats(pool).in_caches > loaded)
        REQUIRE(cpool_alloc(pool) != NULL);
}

/* The thief claims the worker's cache first, and the end that of this thread. */
static bool end_beside_theft(struct worker *worker, struct worker *thief, size_t nth)
{
    struct party party = begin(CPOOL_EXACT, worker, 1);
    struct party theft = {party.pool, NULL, 0, 0};
    struct steps_stop stop;
    bool stopped;
    size_t live;

    REQUIRE(cpool_lease_alloc(party.lease) != NULL);
    use_up(party.pool);
    live = support_stats(party.pool).live;
    stopped = steps_run(&stop, thief, NULL, nth, alloc_one, &theft);
    steps_plan(STEPS_LOCK, 2, resume, &stop);
    REQUIRE_EQUAL(cpool_lease_end(party.lease), 2);
    if (!steps_drop())
        steps_resume(&stop);
    worker_await(thief);
    REQUIRE_EQUAL(theft.got, 1);
    support_require_live(party.pool, live - 1);
    support_destroy(party.pool);
    return stopped;
}

START_TEST(end_beside_a_theft_waits_without_the_lock)
{
    struct worker *worker = worker_start();
    struct worker *thief = worker_start();
    size_t nth = 1;

    while (end_beside_theft(worker, thief, nth))
        nth++;
    REQUIRE(nth > 20);
    worker_stop(thief);
    worker_stop(worker);
}
END_TEST

/* The slots of the magazine that the thief was at may stay behind, and nothing else is lost. */
static void use_after_theft(void *argument)
{
    struct party *loot = argument;
    size_t live = support_stats(loot->pool).live;
    size_t slots;

    steps_allow(0);
    support_capture_reports();
    slots = cpool_lease_end(loot->lease);
    REQUIRE(slots == ROUNDS || slots == ROUNDS + 1);
    for (slots = 0; cpool_alloc(loot->pool) != NULL; slots++)
        ;
    REQUIRE(slots >= ROUNDS && slots <= CAPACITY - live + ROUNDS + 1);
    REQUIRE_NO_REPORT();
    support_release_reports();
}

/* The cache is the forking thread's own. */
static bool fork_beside_theft(struct worker *thief, size_t nth)
{
    cpool_t *pool = steps_pool(CPOOL_EXACT, CAPACITY, 0, ROUNDS);
    struct party loot = {pool, cpool_lease_begin(pool), 0, 0};
    struct party theft = {pool, NULL, 0, 0};
    struct steps_stop stop;
    bool stopped;
    size_t i;

    for (i = 0; i < ROUNDS + 1; i++)
        REQUIRE(cpool_lease_alloc(loot.lease) != NULL);
    while (support_stats(pool).in_depot + support_stats(pool).fresh > 0)
        REQUIRE(cpool_depot_alloc(pool) != NULL);
    stopped = steps_run(&stop, thief, NULL, nth, alloc_one, &theft);
    support_in_child(use_after_theft, &loot);
    steps_go_on(&stop);
    REQUIRE_EQUAL(theft.got, 1);
    REQUIRE_EQUAL(cpool_lease_end(loot.lease), ROUNDS + 1);
    support_destroy(pool);
    return stopped;
}

START_TEST(fork_beside_a_theft_leaves_the_lease_whole)
{
    struct worker *thief = worker_start();
    size_t nth = 1;

    while (fork_beside_theft(thief, nth))
        nth++;
    REQUIRE(nth > 20);
    worker_stop(thief);
}
END_TEST

/* The thread that forks has said that it is inside, after the thief has looked, and has not
 * looked itself. */
struct inwards {
    struct steps_stop *thief;
    pid_t child; /* 0: this is one */
};

static void fork_inwards(void *argument)
{
    struct inwards *inwards = argument;

    inwards->child = fork();
    if (inwards->child != 0)
        steps_resume(inwards->thief);
}

/* No slot goes back twice. */
static void require_distinct_slots(cpool_t *pool)
{
    bool taken[4 * CAPACITY] = {false};
    void *slot;

    while ((slot = cpool_alloc(pool)) != NULL) {
        size_t index = cpool_index(pool, slot);

        REQUIRE(index < 4 * CAPACITY && !taken[index]);
        taken[index] = true;
    }
}

/* The thief is at its nth step in the function.  `out` slots of the magazine are handed out. */
static bool fork_on_the_way(struct worker *thief, size_t out, const char *function, size_t nth)
{
    cpool_t *pool = steps_pool(CPOOL_EXACT, CAPACITY, 0, 2 * ROUNDS);
    struct party loot = {pool, cpool_lease_begin(pool), out, 0};
    struct party theft = {pool, NULL, 0, 0};
    struct steps_stop stop;
    struct inwards inwards = {&stop, 0};
    bool stopped;
    int status;

    take(&loot);
    while (support_stats(pool).in_depot + support_stats(pool).fresh > 0)
        REQUIRE(cpool_depot_alloc(pool) != NULL);
    loot.wanted = 1; /* which it gets unless the thief has had all */
    stopped = steps_run(&stop, thief, function, nth, alloc_one, &theft);
    steps_plan("cpi_mark_begin", 2, fork_inwards, &inwards);
    take(&loot);
    (void)steps_drop();
    if (stopped && inwards.child == 0) {
        REQUIRE(cpool_lease_end(loot.lease) <= 2 * ROUNDS + 1);
        require_distinct_slots(pool);
        _exit(0);
    }
    if (stopped) {
        REQUIRE_EQUAL(waitpid(inwards.child, &status, 0), inwards.child);
        REQUIRE_EQUAL(status, 0);
    }
    steps_go_on(&stop);
    REQUIRE(loot.got + theft.got > out);
    REQUIRE_EQUAL(cpool_lease_end(loot.lease), loot.got);
    require_distinct_slots(pool);
    support_destroy(pool);
    return stopped;
}

START_TEST(fork_on_the_way_inside_beside_a_theft_records_no_slot_twice)
{
    static const char *const functions[] = {"detach_free", "close_gap"};
    struct worker *thief = worker_start();
    static const size_t outs[] = {1, 2, 3, 5, 6};
    size_t out = outs[_i / 2];
    size_t nth = 1;

    while (fork_on_the_way(thief, out, functions[_i % 2], nth))
        nth++;
    REQUIRE(nth > 1);
    worker_stop(thief);
}
END_TEST

/* --- A late alloc --- */

struct late {
    struct steps_stop stop;
    bool goes_on; /* beside the rest of the end, else after it */
};

/* It comes to its end, or to a place where it waits. */
static void go_on_late(void *argument)
{
    struct late *late = argument;

    (void)steps_go_on_to(&late->stop, STEPS_LOCK, 1);
    if (late->goes_on)
        steps_resume(&late->stop);
}

/* The alloc has found the lease open and its thread's cache, and is about to go inside. */
static bool alloc_beside_end(unsigned flags, struct worker *worker, bool goes_on, size_t nth)
{
    struct party party = begin(flags, worker, ROUNDS);
    struct late late = {.goes_on = goes_on};
    size_t reports;
    size_t ended;
    bool done;

    party.wanted = ROUNDS + 1;
    support_capture_reports();
    REQUIRE(steps_run(&late.stop, worker, "cpi_mark_begin", 1, take, &party));
    steps_plan(NULL, nth, go_on_late, &late);
    ended = cpool_lease_end(party.lease);
    done = steps_drop();
    steps_go_on(&late.stop);
    if (ended == 0)
        REQUIRE(cpool_lease_end(party.lease) >= ROUNDS);
    reports = support_take_reports(NULL);
    REQUIRE(party.got == 2 * ROUNDS + 1 || reports > 0);
    support_release_reports();
    if ((flags & (CPOOL_CHECKED | CPOOL_TRACKED)) == 0) {
        support_require_live(party.pool, 0);
        support_require_obtainable(party.pool, 0);
        support_destroy_empty(party.pool);
    } else {
        support_destroy(party.pool);
    }
    return done;
}

START_TEST(late_alloc_beside_an_end_leaves_the_pool_whole)
{
    struct worker *worker = worker_start();
    size_t nth = 1;

    while (alloc_beside_end(modes[_i / 2], worker, _i % 2 == 1, nth))
        nth++;
    REQUIRE(nth > 20);
    worker_stop(worker);
}
END_TEST

/* --- An end beside an adoption, or beside an alloc in a dry pool --- */

struct adoption {
    cpool_lease_t *lease;
    void *slot;
    int code;
};

static void adopt(void *argument)
{
    struct adoption *adoption = argument;

    adoption->code = cpool_lease_adopt(adoption->lease, adoption->slot);
}

/* The slot is the lease's, or the caller's as before. */
static bool end_beside_adoption(unsigned flags, struct worker *worker, size_t nth)
{
    struct party party = begin(flags, worker, ROUNDS);
    struct adoption adoption = {party.lease, cpool_alloc(party.pool), -1};
    struct steps_stop stop;
    size_t ended;
    bool stopped;

    support_capture_reports();
    stopped = steps_run(&stop, worker, NULL, nth, adopt, &adoption);
    ended = end_at_last(&party, &stop, worker);
    REQUIRE(adoption.code == 0 || adoption.code == CPOOL_ELEASE);
    REQUIRE(support_take_reports(NULL) > 0 || adoption.code == 0);
    REQUIRE_EQUAL(ended, ROUNDS + (adoption.code == 0));
    if (adoption.code != 0)
        cpool_free(party.pool, adoption.slot);
    REQUIRE_NO_REPORT();
    support_release_reports();
    support_require_obtainable(party.pool, 0);
    support_destroy_empty(party.pool);
    return stopped;
}

START_TEST(end_beside_an_adoption_leaves_a_slot_that_is_leased_or_the_callers)
{
    struct worker *worker = worker_start();
    size_t nth = 1;

    while (end_beside_adoption(modes[_i], worker, nth))
        nth++;
    REQUIRE(nth > 3);
    worker_stop(worker);
}
END_TEST

/* Free slots are in the magazines of this thread alone. */
static size_t take_all_but_own(cpool_t *pool, void **slots)
{
    size_t count = 0;

    while ((slots[count] = cpool_alloc(pool)) != NULL)
        count++;
    for (size_t i = 0; i < 3 * ROUNDS; i++)
        cpool_free(pool, slots[--count]);
    return count;
}

static bool end_beside_dry_alloc(unsigned flags, struct worker *worker, size_t nth)
{
    struct party party = begin(flags, worker, ROUNDS);
    void *slots[4 * CAPACITY];
    size_t count = take_all_but_own(party.pool, slots);
    struct steps_stop stop;
    size_t ended;
    bool stopped;

    support_capture_reports();
    stopped = steps_run(&stop, worker, NULL, nth, take, &party);
    ended = end_at_last(&party, &stop, worker);
    REQUIRE(support_take_reports(NULL) > 0 || party.got == ROUNDS + 1);
    REQUIRE_EQUAL(ended, party.got);
    cpool_free_bulk(party.pool, slots, count);
    REQUIRE_NO_REPORT();
    support_release_reports();
    support_require_obtainable(party.pool, 0);
    support_destroy_empty(party.pool);
    return stopped;
}

START_TEST(end_beside_an_alloc_in_a_dry_pool_loses_no_slot)
{
    struct worker *worker = worker_start();
    size_t nth = 1;

    while (end_beside_dry_alloc(modes[_i], worker, nth))
        nth++;
    REQUIRE(nth > 20);
    worker_stop(worker);
}
END_TEST

/* --- Two adoptions --- */

static bool adopt_beside(struct worker *worker, size_t nth)
{
    struct party party = begin(CPOOL_CHECKED, worker, 1);
    struct adoption theirs = {party.lease, cpool_alloc(party.pool), -1};
    struct adoption ours = theirs;
    struct steps_stop stop;
    bool stopped;

    REQUIRE(cpool_lease_alloc(party.lease) != NULL);
    support_capture_reports();
    stopped = steps_run(&stop, worker, NULL, nth, adopt, &theirs);
    adopt(&ours);
    steps_go_on(&stop);
    REQUIRE(ours.code == 0 ? theirs.code == CPOOL_ELEASED
                           : ours.code == CPOOL_ELEASED && theirs.code == 0);
    REQUIRE_REPORT(CPOOL_ELEASED);
    REQUIRE_EQUAL(cpool_lease_end(party.lease), 3);
    REQUIRE_NO_REPORT();
    support_release_reports();
    support_destroy_empty(party.pool);
    return stopped;
}

START_TEST(one_of_two_adoptions_succeeds)
{
    struct worker *worker = worker_start();
    size_t nth = 1;

    while (adopt_beside(worker, nth))
        nth++;
    REQUIRE(nth > 3);
    worker_stop(worker);
}
END_TEST

/* --- All places taken --- */

static struct cpi_uncached *places[128];

static void take_places(cpool_t *pool)
{
    size_t i;

    for (i = 0; (places[i] = cpi_place_try_enter(&inside(pool)->registry.places)) != NULL; i++)
        REQUIRE(i + 1 < sizeof places / sizeof places[0]);
}

/* A holder of a place may have to fork, as a signal handler. */
static void leave_places(void *unused)
{
    (void)unused;
    REQUIRE(!cpi_lock_is_held());
    for (size_t i = 0; places[i] != NULL; i++)
        cpi_place_vacate(places[i]);
}

START_TEST(end_and_trim_wait_for_a_place_without_the_lock)
{
    struct worker *worker = worker_start();
    struct party party = begin(modes[_i], worker, ROUNDS);

    take_places(party.pool);
    steps_plan(STEPS_LOCK, 2, leave_places, NULL);
    REQUIRE_EQUAL(cpool_lease_end(party.lease), ROUNDS);
    REQUIRE(steps_drop());
    take_places(party.pool);
    steps_plan(STEPS_LOCK, 2, leave_places, NULL);
    cpool_trim(party.pool);
    REQUIRE(steps_drop());
    worker_stop(worker);
    support_destroy_empty(party.pool);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(end_beside_an_alloc_leaves_the_pool_whole, MODES),
        TIMES(end_has_all_slots_of_an_alloc_beside_it_or_is_refused, MODES - 1),
        ONCE(end_beside_a_theft_waits_without_the_lock),
        ONCE(fork_beside_a_theft_leaves_the_lease_whole),
        TIMES(fork_on_the_way_inside_beside_a_theft_records_no_slot_twice, 2 * 5),
        TIMES(late_alloc_beside_an_end_leaves_the_pool_whole, 2 * MODES),
        TIMES(end_beside_an_adoption_leaves_a_slot_that_is_leased_or_the_callers, MODES),
        TIMES(end_beside_an_alloc_in_a_dry_pool_loses_no_slot, MODES),
        ONCE(one_of_two_adoptions_succeeds),
        TIMES(end_and_trim_wait_for_a_place_without_the_lock, MODES),
    };

    return SUPPORT_RUN("steps_lease", tests);
}
