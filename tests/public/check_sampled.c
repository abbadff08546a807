/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_sampled.c - sampled slots: an access beyond an end of a slot, or after its free, traps
 * where it happens, and is reported.  In everything else they are as other slots.
 */
#include "doors.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include <cpool/frame.h>
#include <cpool/pools.h>
#include <cpool/track.h>

enum { CAPACITY = 500, SIZE = 48, PLACES = 64 };

struct thing {
    char bytes[SIZE];
};

CPOOL_DECLARE(things, struct thing);
CPOOL_DEFINE(things, struct thing, .capacity = CAPACITY, .sample = 1);

CPOOL_DECLARE(rarities, struct thing);
CPOOL_DECLARE_FRAMES(rarities, struct thing);
CPOOL_DEFINE(rarities, struct thing, .capacity = 20000, .sample = 400);

static const unsigned kinds[] = {0, CPOOL_TRACKED, CPOOL_CHECKED};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* The program's own handler, which the library calls after its report. */
static _Thread_local sigjmp_buf back;
static _Thread_local volatile sig_atomic_t trapped;

static void leave_trap(int number, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    REQUIRE_EQUAL(number, SIGSEGV);
    trapped++;
    siglongjmp(back, 1);
}

static void catch_traps(void)
{
    const struct sigaction action = {.sa_sigaction = leave_trap, .sa_flags = SA_SIGINFO};

    REQUIRE_EQUAL(sigaction(SIGSEGV, &action, NULL), 0);
}

enum { RACES = 300 };

/* Two threads free one slot at the same time, in each round. */
struct race {
    cpool_t *pool;
    void *slot;
    _Atomic size_t round;
    _Atomic size_t done;
};

/* The address, of which compilers know nothing: the mistakes are on purpose. */
static void *hide_origin(const void *slot)
{
    static const void *volatile kept;

    kept = slot;
    return (void *)(uintptr_t)kept;
}

/* Whether a write to this byte traps. */
static bool write_traps(char *at)
{
    char *volatile hidden = hide_origin(at);

    trapped = 0;
    if (sigsetjmp(back, 1) == 0)
        *(volatile char *)hidden = 1;
    return trapped != 0;
}

static bool read_traps(const char *at)
{
    const char *volatile hidden = hide_origin(at);

    trapped = 0;
    if (sigsetjmp(back, 1) == 0)
        (void)*(const volatile char *)hidden;
    return trapped != 0;
}

static struct support_report require_trap(char *at)
{
    REQUIRE(write_traps(at));
    return REQUIRE_REPORT(CPOOL_ETRAP);
}

/* Whether the slot lies outside of the pool's range, as sampled ones do. */
static bool is_sampled(cpool_t *pool, const void *slot)
{
    void *first;
    size_t bytes = cpool_span(pool, &first);

    return (uintptr_t)slot - (uintptr_t)first >= bytes;
}

/* Two neighbours: the one begins where its page does, the other ends there. */
static void take_pair(cpool_t *pool, char **first, char **last, int door)
{
    *first = alloc_through(door, pool);
    *last = alloc_through(door, pool);
    REQUIRE(is_sampled(pool, *first) && is_sampled(pool, *last));
    if ((uintptr_t)*first % support_page_size() != 0) {
        char *kept = *first;

        *first = *last;
        *last = kept;
    }
    REQUIRE((uintptr_t)*first % support_page_size() == 0);
    REQUIRE((uintptr_t)(*last + SIZE) % support_page_size() == 0);
}

static cpool_t *begin_test(int i, unsigned flags, char **first, char **last)
{
    cpool_t *pool;

    catch_traps();
    support_capture_reports();
    pool = SUPPORT_CREATE(SIZE, CAPACITY, .sample = 1, .flags = flags);
    if (i >= 0)
        REQUIRE_EQUAL(cpool_cache_create(&handed, pool), 0);
    take_pair(pool, first, last, i < 0 ? 0 : i);
    return pool;
}

/* --- Each mistake, with each kind of pool and through each door --- */

TEST_TIMES(access_beyond_an_end_traps, KINDS * DOORS)
{
    struct support_report report;
    char *first;
    char *last;
    cpool_t *pool = begin_test(_i % DOORS, kinds[_i / DOORS], &first, &last);

    memset(first, 1, SIZE);
    memset(last, 2, SIZE);
    report = require_trap(last + SIZE);
    REQUIRE(report.address == last + SIZE && report.slot == last);
    REQUIRE(report.index == cpool_index(pool, last) && report.pool == pool);
    REQUIRE(strstr(report.details, " is 0 bytes past the end of slot ") != NULL);
    REQUIRE(strstr(report.details, "allocated ") != NULL && strstr(report.details, "now ") != NULL);
    report = require_trap(last + SIZE + 9);
    REQUIRE(strstr(report.details, " is 9 bytes past the end of slot ") != NULL);
    report = require_trap(first - 1);
    REQUIRE(report.address == first - 1 && report.slot == first);
    REQUIRE(strstr(report.details, " is 1 byte before the start of slot ") != NULL);
    REQUIRE_EQUAL(last[SIZE - 1], 2);
    free_through(_i % DOORS, pool, first);
    free_through(_i % DOORS, pool, last);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

TEST_TIMES(access_after_free_traps, KINDS * DOORS)
{
    struct support_report report;
    char *first;
    char *last;
    cpool_t *pool = begin_test(_i % DOORS, kinds[_i / DOORS], &first, &last);

    free_through(_i % DOORS, pool, first);
    free_through(_i % DOORS, pool, last);
    report = require_trap(first + 7);
    REQUIRE(report.slot == first);
    REQUIRE(strstr(report.details, " is 7 bytes into slot ") != NULL);
    REQUIRE(strstr(report.details, "which has been freed") != NULL);
    REQUIRE(strstr(report.details, "freed ") != NULL && strstr(report.details, "now ") != NULL);
    (void)require_trap(last + SIZE - 1);
    support_destroy_empty(pool);
}

TEST_TIMES(free_twice_is_reported_and_refused, KINDS * DOORS)
{
    struct support_report report;
    char *first;
    char *last;
    cpool_t *pool = begin_test(_i % DOORS, kinds[_i / DOORS], &first, &last);

    free_through(_i % DOORS, pool, hide_origin(first));
    free_through(_i % DOORS, pool, hide_origin(first));
    report = REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    REQUIRE(report.address == first && report.slot == first);
    REQUIRE(strstr(report.details, "freed ") != NULL);
    free_through(_i % DOORS, pool, hide_origin(last + 1));
    REQUIRE_REPORT(CPOOL_EMISALIGNED);
    free_through(_i % DOORS, pool, hide_origin(first + SIZE));
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    support_require_live(pool, 1);
    free_through(_i % DOORS, pool, last);
    support_destroy_empty(pool);
}

TEST(typed_pools_are_sampled)
{
    struct thing *first;
    struct thing *second;

    catch_traps();
    support_capture_reports();
    first = things_alloc();
    second = things_alloc();
    REQUIRE(is_sampled(things_pool(), first) && is_sampled(things_pool(), second));
    REQUIRE(things_at(things_index(first)) == first);
    things_free(first);
    (void)require_trap(first->bytes);
    things_free(first);
    REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    things_free(second);
    REQUIRE_EQUAL(things_close(), 0);
}

/* Both threads and both places are told. */
static void *free_elsewhere(void *slot)
{
    cpool_release(slot);
    return NULL;
}

TEST(report_names_both_threads)
{
    struct support_report report;
    unsigned long took;
    unsigned long freed;
    char *first;
    char *last;
    cpool_t *pool = begin_test(-1, 0, &first, &last);
    const char *at;

    support_in_thread(free_elsewhere, first);
    report = require_trap(first);
    at = strstr(report.details, "allocated ");
    REQUIRE(at != NULL && sscanf(strstr(at, "thread "), "thread %lu", &took) == 1);
    at = strstr(report.details, "cpool:     freed ");
    REQUIRE(at != NULL && sscanf(strstr(at, "thread "), "thread %lu", &freed) == 1);
    REQUIRE(took != freed);
    cpool_free(pool, last);
    support_destroy_empty(pool);
}

/* --- Without a handler of the program --- */

static void write_beyond(void *unused)
{
    char *slots[2];
    cpool_t *pool = SUPPORT_CREATE(SIZE, CAPACITY, .sample = 1);

    (void)unused;
    for (size_t i = 0; i < 2; i++)
        slots[i] = cpool_alloc(pool);
    for (size_t i = 0; i < 2; i++)
        slots[i][SIZE] = 1;
}

TEST(trap_without_a_handler_is_reported_and_ends_the_process)
{
    struct support_outcome outcome;

    SKIP_IF(SUPPORT_SANITIZED, "the sanitizer has a handler");
    signal(SIGSEGV, SIG_DFL);
    support_fork(write_beyond, NULL, &outcome);
    REQUIRE(WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGSEGV);
    REQUIRE(strstr(outcome.text, "cpool: access: ") != NULL);
    REQUIRE(strstr(outcome.text, "(pool 'tested' ") != NULL);
    REQUIRE(strstr(outcome.text, " past the end of slot ") != NULL);
}

static volatile sig_atomic_t noted_signals;

static void note_once(int number)
{
    (void)number;
    noted_signals++;
    if (noted_signals > 1)
        _exit(99);
}

static void write_with_a_handler(void *of_once)
{
    const struct sigaction once = {.sa_handler = note_once, .sa_flags = (int)SA_RESETHAND};
    const struct sigaction ignored = {.sa_handler = SIG_IGN, .sa_flags = SA_SIGINFO};

    sigaction(SIGSEGV, of_once != NULL ? &once : &ignored, NULL);
    free_elsewhere(cpool_alloc(SUPPORT_CREATE(SIZE, CAPACITY, .sample = 1)));
    raise(SIGSEGV);
    if (of_once != NULL)
        raise(SIGSEGV);
}

/* A handler that is installed for one signal gets one, and an ignored signal is ignored. */
TEST_TIMES(signals_that_are_sent_find_what_the_program_has_set, 2)
{
    struct support_outcome outcome;

    SKIP_IF(SUPPORT_SANITIZED, "the sanitizer has a handler");
    support_fork(write_with_a_handler, _i == 1 ? &outcome : NULL, &outcome);
    REQUIRE_EQUAL(WIFSIGNALED(outcome.status) ? WTERMSIG(outcome.status) : 0,
                  _i == 1 ? SIGSEGV : 0);
}

/* Any other access that traps is the program's own. */
TEST(trap_elsewhere_is_not_reported)
{
    char *first;
    char *last;
    cpool_t *pool = begin_test(-1, 0, &first, &last);

    REQUIRE(write_traps((char *)64));
    REQUIRE_NO_REPORT();
    cpool_free(pool, first);
    cpool_free(pool, last);
    support_destroy_empty(pool);
}

/* --- All other functions --- */

static const struct shape {
    size_t size;
    size_t align;
    size_t offset;
} shapes[] = {{1, 0, 0}, {3, 0, 0}, {8, 64, 0}, {40, 16, 8}, {333, 0, 0}, {4096, 0, 0},
              {4097, 0, 0}, {100, 4096, 0}, {9000, 256, 24}, {70000, 0, 0}};

enum { SHAPES = sizeof shapes / sizeof shapes[0] };

TEST_TIMES(slots_of_every_shape_have_their_bytes_and_alignment, SHAPES)
{
    const struct shape *shape = &shapes[_i];
    size_t align = shape->align != 0 ? shape->align : 1;
    cpool_t *pool = SUPPORT_CREATE(shape->size, CAPACITY, .slot_align = shape->align,
                                   .slot_offset = shape->offset, .sample = 1);
    unsigned char *slots[2 * PLACES];
    size_t sampled = 0;

    for (size_t i = 0; i < 2 * PLACES; i++) {
        slots[i] = cpool_alloc(pool);
        REQUIRE_EQUAL(((uintptr_t)slots[i] + shape->offset) % align, 0);
        memset(slots[i], (int)i, shape->size);
        sampled += is_sampled(pool, slots[i]);
    }
    REQUIRE(sampled > 0 && sampled <= PLACES);
    for (size_t i = 0; i < 2 * PLACES; i++) {
        void *around = NULL;

        for (size_t byte = 0; byte < shape->size; byte++)
            REQUIRE_EQUAL(slots[i][byte], i);
        REQUIRE(cpool_at(pool, cpool_index(pool, slots[i])) == slots[i]);
        REQUIRE(cpool_owns(pool, slots[i]));
        REQUIRE(cpool_of(slots[i] + shape->size - 1, &around) == pool && around == slots[i]);
        cpool_release(slots[i]);
    }
    support_destroy_empty(pool);
}

TEST_TIMES(tracked_pools_know_the_addresses_of_their_users, 2)
{
    cpool_t *pool = SUPPORT_CREATE(SIZE, CAPACITY, .sample = 1, .flags = kinds[1 + _i]);
    void *slots[PLACES];
    cpool_iter_t iter = CPOOL_ITER_INIT(pool, 0, SIZE_MAX);
    size_t found = 0;
    void *slot;

    for (size_t i = 0; i < PLACES; i++) {
        slots[i] = cpool_alloc(pool);
        REQUIRE(cpool_resolve(pool, cpool_handle(pool, slots[i])) == slots[i]);
    }
    while ((slot = cpool_iter_next(&iter)) != NULL) {
        REQUIRE(slot == slots[found++]);
        REQUIRE(cpool_handle(pool, slot) == iter.handle);
    }
    REQUIRE_EQUAL(found, PLACES);
    for (size_t i = 0; i < PLACES; i++) {
        cpool_handle_t handle = cpool_handle(pool, slots[i]);

        cpool_free(pool, slots[i]);
        REQUIRE(cpool_resolve(pool, handle) == NULL);
        REQUIRE_EQUAL(cpool_handle(pool, slots[i]), CPOOL_HANDLE_NONE);
    }
    support_destroy_empty(pool);
}

TEST_TIMES(frames_close_their_samples, 2 * KINDS)
{
    bool ends = _i < KINDS;
    char *first;
    char *last;
    cpool_t *pool = begin_test(-1, kinds[_i % KINDS], &first, &last);
    const struct timespec rest = {0, 280000000};
    cpool_frame_t *frame;
    char *own;

    REQUIRE_EQUAL(cpool_frame_begin(&frame, pool), 0);
    for (size_t round = 0; round < 3; round++) {
        nanosleep(&rest, NULL); /* closed places are used again */
        do
            own = cpool_frame_alloc(frame);
        while (!is_sampled(pool, own));
        memset(own, 1, SIZE);
        if (round == 0)
            REQUIRE_EQUAL(cpool_frame_adopt(frame, last), 0);
        for (size_t i = 0; i < CAPACITY / 2; i++)
            memset(cpool_frame_alloc(frame), 2, SIZE);
        if (ends && round == 2)
            cpool_frame_end(frame);
        else
            cpool_frame_reset(frame);
        support_require_live(pool, 1);
        (void)require_trap(own);
        (void)require_trap(last);
    }
    if (!ends)
        cpool_frame_end(frame);
    memset(first, 3, SIZE);
    cpool_free(pool, first);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

/* In pools with the inline path, of which frames record slots, too. */
TEST_TIMES(frames_with_one_sample_among_many_close_it, 2)
{
    bool typed = _i == 1;
    cpool_frame_t *frame;
    cpool_t *pool;
    char *sampled;

    catch_traps();
    support_capture_reports();
    pool = typed ? rarities_pool() : SUPPORT_CREATE(SIZE, 20000, .sample = 400);
    REQUIRE_EQUAL(cpool_frame_begin(&frame, pool), 0);
    for (size_t round = 0; round < 20; round++) {
        size_t n = 0;

        do {
            sampled = typed ? (char *)rarities_frame_alloc(frame) : cpool_frame_alloc(frame);
            memset(sampled, 1, SIZE);
            n++;
        } while (!is_sampled(pool, sampled));
        support_require_live(pool, n);
        cpool_frame_reset(frame);
        support_require_live(pool, 0);
        (void)require_trap(sampled);
    }
    cpool_frame_end(frame);
    support_require_obtainable(pool, 0);
    support_destroy_whole(pool);
}

static void *free_at_once(void *arg)
{
    struct race *race = arg;

    for (size_t round = 1; round <= RACES; round++) {
        while (atomic_load_explicit(&race->round, memory_order_acquire) != round)
            sched_yield();
        cpool_free(race->pool, race->slot);
        atomic_fetch_add_explicit(&race->done, 1, memory_order_release);
    }
    return NULL;
}

/* Both find the slot live, and one of them closes its place. */
TEST_TIMES(free_by_two_threads_at_once_frees_one_slot, KINDS)
{
    struct race race = {.slot = NULL};
    size_t refused = 0;
    pthread_t other;

    support_capture_reports();
    race.pool = SUPPORT_CREATE(SIZE, CAPACITY, .sample = 1, .flags = kinds[_i]);
    other = support_start(free_at_once, &race);
    for (size_t round = 1; round <= RACES; round++) {
        while (!is_sampled(race.pool, race.slot = cpool_alloc(race.pool)))
            cpool_free(race.pool, race.slot);
        atomic_store_explicit(&race.round, round, memory_order_release);
        cpool_free(race.pool, hide_origin(race.slot));
        while (atomic_load_explicit(&race.done, memory_order_acquire) != round)
            sched_yield();
        refused += support_take_reports(NULL);
        REQUIRE_EQUAL(refused, round);
    }
    support_join(other);
    support_require_live(race.pool, 0);
    support_destroy_whole(race.pool);
}

static jmp_buf refused;

static void leave_report(const cpool_error_t *error, void *told)
{
    *(const void **)told = error->slot;
    longjmp(refused, 1);
}

static void free_and_leave(cpool_t *pool, void *slot)
{
    const void *told = NULL;

    (void)cpool_set_error_handler((cpool_error_handler_t){leave_report, &told});
    if (setjmp(refused) == 0)
        cpool_free(pool, slot);
    support_capture_reports();
    REQUIRE(*(const void *volatile *)&told == slot);
}

TEST(place_stays_open_if_the_handler_leaves_a_refused_free)
{
    cpool_t *pool = SUPPORT_CREATE(SIZE, CAPACITY, .sample = 1, .flags = CPOOL_CHECKED);
    cpool_frame_t *frame;
    char *slot;

    REQUIRE_EQUAL(cpool_frame_begin(&frame, pool), 0);
    slot = cpool_frame_alloc(frame);
    free_and_leave(pool, slot);
    REQUIRE(is_sampled(pool, memset(slot, 1, SIZE)));
    cpool_frame_end(frame);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

static void *watched[PLACES];

static void *own_watched(void *arg)
{
    struct race *race = arg;

    for (size_t i = 0; i < PLACES; i++)
        watched[i] = cpool_alloc(race->pool);
    atomic_store_explicit(&race->done, 1, memory_order_release);
    while (atomic_load_explicit(&race->round, memory_order_acquire) == 0)
        sched_yield();
    cpool_free_bulk(race->pool, watched, PLACES);
    return NULL;
}

TEST_TIMES(visits_and_handles_find_the_place_of_a_slot_that_comes_or_goes, 60)
{
    static struct { void *slot; cpool_handle_t handle; } seen[100000];
    struct race race = {.pool = SUPPORT_CREATE(SIZE, CAPACITY, .sample = 1, .flags = kinds[1])};
    pthread_t owner = support_start(own_watched, &race);
    size_t count = 0;

    while (atomic_load_explicit(&race.done, memory_order_acquire) == 0) {
        cpool_iter_t iter = CPOOL_ITER_INIT(race.pool, 0, SIZE_MAX);

        while (count < SUPPORT_LENGTH(seen) && (seen[count].slot = cpool_iter_next(&iter)) != NULL)
            seen[count++].handle = iter.handle;
    }
    while (count-- > 0)
        REQUIRE(cpool_resolve(race.pool, seen[count].handle) == seen[count].slot);
    for (size_t i = 0; i < PLACES; i++)
        seen[i].handle = cpool_handle(race.pool, watched[i]);
    atomic_store_explicit(&race.round, 1, memory_order_release);
    for (size_t i = 0; i < PLACES; i++)
        while ((seen[i].slot = cpool_resolve(race.pool, seen[i].handle)) != NULL) {
            REQUIRE(seen[i].slot == watched[i]);
            for (cpool_iter_t iter = CPOOL_ITER_INIT(race.pool, 0, SIZE_MAX);
                 _i % 2 != 0 && (seen[i].slot = cpool_iter_next(&iter)) != NULL;)
                REQUIRE(is_sampled(race.pool, seen[i].slot));
        }
    support_join(owner);
    support_destroy_empty(race.pool);
}

TEST_TIMES(reset_and_trim_leave_the_pool_whole, KINDS)
{
    char *first;
    char *last;
    cpool_t *pool = begin_test(-1, kinds[_i], &first, &last);
    static void *slots[CAPACITY];

    cpool_free(pool, first);
    (void)cpool_trim(pool);
    memset(last, 1, SIZE);
    REQUIRE_EQUAL(cpool_reset(pool), 1);
    (void)require_trap(last);
    REQUIRE_EQUAL(support_take_all(pool, slots), CAPACITY);
    cpool_free_bulk(pool, slots, CAPACITY);
    (void)cpool_trim(pool);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, CAPACITY, CAPACITY), CAPACITY);
    for (size_t i = 0; i < CAPACITY; i++)
        memset(slots[i], 1, SIZE);
    cpool_free_bulk(pool, slots, CAPACITY);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

static void use_in_child(void *pair)
{
    char **slots = pair;
    cpool_t *pool = cpool_of(slots[0], NULL);

    memset(slots[0], 5, SIZE);
    cpool_free(pool, slots[0]);
    (void)require_trap(slots[0]);
    REQUIRE(is_sampled(pool, cpool_alloc(pool)));
}

TEST(child_of_a_fork_has_samples_of_its_own)
{
    char *pair[2];
    cpool_t *pool = begin_test(-1, 0, &pair[0], &pair[1]);

    support_in_child(use_in_child, pair);
    pair[0][0] = 1;
    cpool_free(pool, pair[0]);
    cpool_free(pool, pair[1]);
    support_destroy_empty(pool);
}

/* --- One in many --- */

enum { LOAD_THREADS = 3, BURST = 400, EVERY = 1000 };

struct load {
    cpool_t *pool;
    _Atomic bool found;
};

static void *work_with_stamps(void *arg)
{
    struct load *load = arg;
    static _Thread_local unsigned char *slots[BURST];

    for (unsigned round = 0; !load->found; round++) {
        size_t n = cpool_alloc_bulk(load->pool, (void **)slots, BURST / (1 + round % 3), 0);

        for (size_t i = 0; i < n; i++)
            memset(slots[i], (int)(round + i) % 251, SIZE);
        for (size_t i = 0; i < n; i++) {
            for (size_t byte = 0; byte < SIZE; byte++)
                REQUIRE_EQUAL(slots[i][byte], (round + i) % 251);
            cpool_free(load->pool, slots[i]);
        }
    }
    return NULL;
}

/* Reads, which are harmless in a slot that is not sampled. */
static const struct mistake {
    bool freed;
    ptrdiff_t at;
} mistakes[] = {{true, 0}, {true, SIZE - 1}, {false, SIZE}, {false, -1}};

enum { MISTAKES = sizeof mistakes / sizeof mistakes[0] };

/* Makes the mistake until it is reported.  At the ends of the slab it traps without a report. */
static bool is_mistake_found(cpool_t *pool, const struct mistake *mistake)
{
    static struct support_report last;
    static char *slots[BURST];
    bool found = false;

    for (unsigned round = 0; round < 100000 && !found; round++) {
        for (size_t i = 0; i < BURST; i++)
            slots[i] = cpool_alloc(pool);
        for (size_t i = 0; i < BURST; i++) {
            if (slots[i] == NULL)
                continue;
            if (!mistake->freed)
                (void)read_traps(slots[i] + mistake->at);
            cpool_free(pool, slots[i]);
            if (mistake->freed)
                (void)read_traps(slots[i] + mistake->at);
            found = found || support_take_reports(&last) > 0;
        }
    }
    REQUIRE(!found || last.code == CPOOL_ETRAP);
    return found;
}

TEST_TIMES(mistake_is_found_under_load, 2 * MISTAKES)
{
    pthread_t threads[LOAD_THREADS];
    struct load load = {.found = false};

    catch_traps();
    support_capture_reports();
    load.pool = SUPPORT_CREATE(SIZE, 100000, .sample = EVERY, .flags = kinds[_i / MISTAKES]);
    for (size_t i = 0; i < LOAD_THREADS; i++)
        threads[i] = support_start(work_with_stamps, &load);
    load.found = is_mistake_found(load.pool, &mistakes[_i % MISTAKES]);
    REQUIRE(load.found);
    for (size_t i = 0; i < LOAD_THREADS; i++)
        support_join(threads[i]);
    REQUIRE_EQUAL(support_destroy(load.pool), 0);
}

/* About one alloc in so many, and never more places than there are. */
TEST_TIMES(samples_are_as_rare_as_asked_for, 3)
{
    static const size_t rates[] = {5, 50, 400};
    cpool_t *pool = SUPPORT_CREATE(SIZE, 20000, .sample = rates[_i]);
    size_t sampled = 0;

    for (size_t i = 0; i < 20 * rates[_i]; i++) {
        void *slot = cpool_alloc(pool);

        REQUIRE(slot != NULL);
        sampled += is_sampled(pool, slot);
    }
    REQUIRE(sampled >= 4 && sampled <= PLACES);
    REQUIRE_EQUAL(cpool_reset(pool), 20 * rates[_i]);
    support_destroy_empty(pool);
}

/* --- The profile --- */

static char profile_text[65536];
static size_t profile_length;

static void keep_text(const char *text, size_t length, void *unused)
{
    (void)unused;
    REQUIRE(profile_length + length < sizeof profile_text);
    memcpy(profile_text + profile_length, text, length);
    profile_length += length;
}

TEST(profile_has_the_stacks_of_live_samples)
{
    cpool_t *pool = SUPPORT_CREATE(SIZE, CAPACITY, .sample = 2);
    unsigned long long slots = 0;
    unsigned long long sums[2];
    void *taken[PLACES];
    size_t lines = 0;
    char *at;

    for (size_t i = 0; i < PLACES; i++)
        taken[i] = cpool_alloc(pool);
    lines = cpool_dump(pool, CPOOL_DUMP_PROFILE, keep_text, NULL);
    REQUIRE(lines > 4 && lines <= PLACES);
    REQUIRE_EQUAL(sscanf(profile_text, "heap profile: %llu: %llu [0: 0] @ heapprofile\n",
                         &sums[0], &sums[1]), 2);
    REQUIRE(sums[0] == 2 * lines && sums[1] == sums[0] * SIZE);
    at = strchr(profile_text, '\n') + 1;
    for (size_t i = 0; i < lines; i++, at = strchr(at, '\n') + 1) {
        unsigned long long some[2];
        unsigned long long site;

        REQUIRE_EQUAL(sscanf(at, "%llu: %llu [0: 0] @ 0x%llx", &some[0], &some[1], &site), 3);
        slots += some[0];
    }
    REQUIRE(slots == sums[0] && strncmp(at, "\nMAPPED_LIBRARIES:\n", 19) == 0);
    for (size_t i = 0; i < PLACES; i++)
        cpool_free(pool, taken[i]);
    profile_length = 0;
    memset(profile_text, 0, sizeof profile_text);
    REQUIRE_EQUAL(cpool_dump(pool, CPOOL_DUMP_PROFILE, keep_text, NULL), 0);
    REQUIRE(strncmp(profile_text, "heap profile: 0: 0 [0: 0] @ heapprofile\n", 40) == 0);
    support_destroy_empty(pool);
}

/* --- Pools that are not sampled --- */

TEST(pools_that_keep_their_bytes_are_not_sampled)
{
    static _Alignas(CPOOL_MEMORY_ALIGN) unsigned char memory[1 << 20];
    cpool_config_t config = support_config(SIZE, CAPACITY);

    config.sample = 1;
    for (unsigned i = 0; i < 3; i++) {
        cpool_t *pool;
        void *slot;

        config.flags = i == 0 ? CPOOL_KEEP_PAGES : i == 1 ? CPOOL_NO_POISON : 0;
        config.memory = i == 2 ? memory : NULL;
        config.memory_size = i == 2 ? sizeof memory : 0;
        pool = support_create(&config);
        slot = cpool_alloc(pool);
        REQUIRE(!is_sampled(pool, slot));
        cpool_free(pool, slot);
        support_destroy_empty(pool);
    }
}
