/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_sampled.c - sampled slots: an access beyond an end of a slot, or after its free, traps
 * where it happens, and is reported.  Which slots are sampled, and their profile.
 */
#include "sampled.h"

#include <cpool/pools.h>

CPOOL_DECLARE(things, struct thing);
CPOOL_DEFINE(things, struct thing, .capacity = CAPACITY, .sample = 1);

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

static bool read_traps(const char *at)
{
    const char *volatile hidden = hide_origin(at);

    trapped = 0;
    if (sigsetjmp(back, 1) == 0)
        (void)*(const volatile char *)hidden;
    return trapped != 0;
}

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
