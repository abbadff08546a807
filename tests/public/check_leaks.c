/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_leaks.c - what checked pools write to standard error: the message of an
 * abort with the site of the last operation, and the live slots at destruction
 * by the address that allocated them.  Compiled a second time with
 * CPOOL_NO_INLINE.
 */
#include "support.h"

#include <time.h>

#include <cpool/debug.h>
#include <cpool/print.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* The largest distance of a return address from its function's start, bytes. */
#define FUNCTION_SIZE ((uintptr_t)4096)

enum { CAPACITY = 200, NAP = 30 /* milliseconds */ };

/* Whether call sites are known, also those of calls that are not inlined: the library's
 * own calls have to be jumps, which they are not where arguments lie on the stack. */
#if defined(CPOOL_NO_INLINE) &&                                                \
    (!defined(__OPTIMIZE__) || SUPPORT_SANITIZED || defined(__i386__))
#define SITES false
#else
#define SITES true
#endif

static cpool_t *make_checked(void)
{
    return support_create_kind(24, CAPACITY, CPOOL_CHECKED);
}

/* Keeps the calls below from becoming jumps, which return elsewhere. */
static void *volatile sink;

__attribute__((__noinline__)) static void leak_here(cpool_t *pool, int count)
{
    for (int i = 0; i < count; i++)
        sink = cpool_alloc(pool);
}

__attribute__((__noinline__)) static void leak_there(cpool_t *pool, int count)
{
    for (int i = 0; i < count; i++)
        sink = cpool_calloc(pool);
}

typedef void leaker_t(cpool_t *pool, int count);

/* Whether the text has a line saying that `count` were allocated in `leaker`,
 * one of them at an address that is a slot. */
static bool names_site(const char *text, const cpool_t *pool, size_t count, leaker_t *leaker)
{
    const char *line = text;

    while ((line = strchr(line, '\n')) != NULL) {
        const char *bracket;
        size_t slots;
        void *site;
        void *example;

        line++;
        bracket = strchr(line, '[');
        if (bracket != NULL && sscanf(line, "cpool:   %zu allocated at ", &slots) == 1 &&
            sscanf(bracket, "[%p], thread %*u, one at %p, live for ", &site, &example) == 2 &&
            slots == count && (uintptr_t)site - (uintptr_t)leaker < FUNCTION_SIZE &&
            cpool_owns(pool, example))
            return true;
    }
    return false;
}

/* --- Leaks --- */

static size_t count_lines(const char *text)
{
    size_t lines = 0;

    while ((text = strchr(text, '\n')) != NULL) {
        lines++;
        text++;
    }
    return lines;
}

/* One way to take slots each: not inlined, so that the address tells which. */
#define LEAKER(name) __attribute__((__noinline__)) static void name(cpool_t *pool, int count)

static void *taken[CAPACITY];

LEAKER(leak_bulk)
{
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, taken, (size_t)count, 0), count);
    sink = taken[0];
}

LEAKER(leak_created_cache)
{
    cpool_cache_t *cache = NULL;

    REQUIRE_EQUAL(cpool_cache_create(&cache, pool), 0);
    for (int i = 0; i < count; i++)
        sink = cpool_cache_alloc(cache);
}

LEAKER(leak_depot)
{
    for (int i = 0; i < count; i++)
        sink = cpool_alloc_uncached(pool);
}

LEAKER(leak_waited)
{
    for (int i = 0; i < count; i++)
        sink = cpool_alloc_wait(pool, NULL);
}

static leaker_t *const leakers[] = {
    leak_here, leak_there, leak_bulk, leak_created_cache, leak_depot, leak_waited,
};

/* A different number by each, so that lines cannot be mixed up. */
static void leak_by_all(void *argument)
{
    int total = 0;

    for (int i = 0; i < SUPPORT_LENGTH(leakers); i++) {
        leakers[i](argument, i + 3);
        total += i + 3;
    }
    REQUIRE_EQUAL(support_destroy(argument), total);
}

TEST(destroy_names_the_site_of_every_function_that_takes)
{
    struct support_outcome outcome;
    cpool_t *pool = support_create_kind(24, CAPACITY, CPOOL_CHECKED);

    support_fork(leak_by_all, pool, &outcome);
    REQUIRE_EQUAL(outcome.status, 0);
    REQUIRE_EQUAL(count_lines(outcome.text), 1 + SUPPORT_LENGTH(leakers));
    for (size_t i = 0; i < SUPPORT_LENGTH(leakers); i++)
        if (!names_site(outcome.text, pool, i + 3, leakers[i]))
            support_fail(__FILE__, __LINE__, outcome.text);
    support_destroy_empty(pool);
}

/* More call sites than the report tells apart. */
#define LEAK_ONE sink = cpool_alloc(pool);
#define LEAK_FIVE LEAK_ONE LEAK_ONE LEAK_ONE LEAK_ONE LEAK_ONE
#define LEAK_TWENTY LEAK_FIVE LEAK_FIVE LEAK_FIVE LEAK_FIVE

static void destroy_with_many_sites(void *argument)
{
    cpool_t *pool = argument;

    LEAK_TWENTY
    LEAK_TWENTY
    LEAK_TWENTY
    LEAK_TWENTY
    LEAK_TWENTY
    REQUIRE_EQUAL(support_destroy(pool), 100);
}

TEST(destroy_with_many_call_sites_accounts_for_every_slot)
{
    cpool_t *pool = make_checked();
    struct support_outcome outcome;
    const char *line;
    size_t total = 0;

    support_fork(destroy_with_many_sites, pool, &outcome);
    REQUIRE_EQUAL(outcome.status, 0);
    for (line = strchr(outcome.text, '\n'); line != NULL; line = strchr(line + 1, '\n')) {
        size_t slots;

        if (sscanf(line, "\ncpool:   %zu allocated", &slots) == 1)
            total += slots;
    }
    REQUIRE_EQUAL(total, 100);
    REQUIRE_EQUAL(count_lines(outcome.text), 1 + 64);
    support_destroy_empty(pool);
}

/* --- What a line says of its slots --- */

/* Milliseconds, of the clock that ages are taken from. */
static uint64_t now(void)
{
    struct timespec time;

    REQUIRE_EQUAL(clock_gettime(CLOCK_MONOTONIC, &time), 0);
    return (uint64_t)time.tv_sec * 1000u + (uint64_t)time.tv_nsec / 1000000u;
}

/* At least so many milliseconds. */
static void nap(uint64_t duration)
{
    const struct timespec ms = {0, 1000000};
    uint64_t end = now() + duration;

    while (now() <= end)
        nanosleep(&ms, NULL);
}

/* A moment between two readings of the clock. */
struct moment {
    uint64_t after;
    uint64_t before;
};

/* An alloc by a thread. */
struct taking {
    cpool_t *pool;
    void *slot;
    struct moment when;
    unsigned long thread; /* 0 where its number is unknown */
};

/* Not inlined, so that all its slots are from one place. */
__attribute__((__noinline__)) static void *take(void *argument)
{
    struct taking *taking = argument;

#if defined(__linux__) && !defined(CPOOL_PLAIN_POSIX) /* which has no numbers of threads */
    taking->thread = (unsigned long)syscall(SYS_gettid);
#endif
    taking->when.after = now();
    taking->slot = cpool_alloc(taking->pool);
    taking->when.before = now();
    return NULL;
}

/* An age as it is printed, in whole milliseconds, fits the time from one moment to the other.
 * Each reading of the clock may have dropped up to a millisecond. */
static bool fits(const char *seconds, struct moment from, struct moment to)
{
    unsigned long whole;
    unsigned long rest;
    uint64_t age;

    if (sscanf(seconds, "%lu.%3lu s", &whole, &rest) != 2)
        return false;
    age = (uint64_t)whole * 1000u + rest;
#if defined(_WIN32) /* where a process that repeated the test, naps and all, has printed it */
    return age + 2 >= NAP;
#endif
    return age + 2 >= to.after - from.before && age <= to.before - from.after + 2;
}

/* A group of slots as its line shows it. */
struct group {
    size_t slots;
    const struct taking *oldest;
    const struct taking *youngest; /* NULL for a group of one */
};

static void require_line(const char *line, const struct group *group, struct moment listed)
{
    const char *thread;
    unsigned long number;
    const char *age;
    const char *to;
    size_t slots;
    void *example;

    REQUIRE(line != NULL);
    thread = strstr(line, ", thread ");
    REQUIRE(thread != NULL && (age = strstr(thread, "live for ")) != NULL);
    REQUIRE_EQUAL(sscanf(line, "cpool:   %zu allocated at ", &slots), 1);
    REQUIRE_EQUAL(slots, group->slots);
    REQUIRE_EQUAL(sscanf(thread, ", thread %lu, one at %p, live for ", &number, &example), 2);
    REQUIRE(example == group->oldest->slot);
    REQUIRE(group->oldest->thread == 0 || group->oldest->thread == number);
    age += strlen("live for ");
    REQUIRE(fits(age, group->oldest->when, listed));
    to = strstr(age, " to ");
    REQUIRE((to != NULL && to < strchr(age, '\n')) == (group->youngest != NULL));
    REQUIRE(group->youngest == NULL || fits(to + strlen(" to "), group->youngest->when, listed));
}

/* The two ways to the list. */
static void print_live(void *pool)
{
    REQUIRE_EQUAL(cpool_print(pool, CPOOL_DUMP_LIVE, stderr), 5);
}

static void destroy_live(void *pool)
{
    REQUIRE_EQUAL(support_destroy(pool), 5);
}

/* The first slot of four from one place is neither the oldest nor the youngest, because it was
 * freed and taken again in between.  Another thread took the oldest. */
TEST_TIMES(print_and_destroy_list_the_ages_and_the_oldest_slot, 2)
{
    static void (*const ways[])(void *) = {print_live, destroy_live};
    cpool_t *pool = make_checked();
    struct taking first = {.pool = pool};
    struct taking oldest = first;
    struct taking between = first;
    struct taking again = first;
    struct taking alone = first;
    struct taking youngest = first;
    const struct group four = {4, &oldest, &youngest};
    const struct group one = {1, &alone, NULL};
    struct support_outcome outcome;
    struct moment listed;

    take(&first);
    support_in_thread(take, &oldest);
    nap(NAP);
    take(&between);
    alone.when.after = now();
    alone.slot = cpool_alloc(pool);
    alone.when.before = now();
    nap(NAP);
    cpool_free(pool, first.slot);
    take(&again);
    REQUIRE(again.slot == first.slot && cpool_index(pool, first.slot) == 0);
    nap(NAP);
    take(&youngest);
    nap(NAP);
    listed.after = now();
    support_fork(ways[_i], pool, &outcome);
    listed.before = now();
    REQUIRE_EQUAL(outcome.status, 0);
    require_line(strstr(outcome.text, "cpool:   4 "), &four, listed);
    require_line(strstr(outcome.text, "cpool:   1 "), &one, listed);
    REQUIRE_EQUAL(cpool_reset(pool), 5);
    support_destroy_empty(pool);
}

/* --- Aborts --- */

__attribute__((__noinline__)) static void free_here(cpool_t *pool, void *slot)
{
    cpool_free(pool, slot);
    sink = slot;
}

static void free_twice(void *argument)
{
    cpool_t *pool = argument;
    void *slot = cpool_alloc(pool);

    free_here(pool, slot);
    cpool_free_uncached(pool, slot);
}

struct rows {
    cpool_t *pool;
    void *slot; /* of the second row */
    char text[1024];
};

/* Another place takes the slot of a row that has not been written yet. */
static void write_and_take(const char *text, size_t length, void *arg)
{
    struct rows *rows = arg;

    if (rows->slot != NULL) {
        cpool_free(rows->pool, rows->slot);
        leak_there(rows->pool, 1);
        rows->slot = NULL;
    }
    strncat(rows->text, text, length);
}

TEST(list_names_the_places_that_it_has_counted)
{
    struct rows rows = {.pool = make_checked(), .text = "\n"};

    rows.slot = cpool_at(rows.pool, 0);
    leak_here(rows.pool, 1);
    leak_there(rows.pool, 2);
    REQUIRE_EQUAL(cpool_dump(rows.pool, CPOOL_DUMP_LIVE, write_and_take, &rows), 3);
    REQUIRE(rows.slot == NULL);
    REQUIRE(names_site(rows.text, rows.pool, 2, leak_there));
    REQUIRE(names_site(rows.text, rows.pool, 1, leak_here));
    (void)support_destroy(rows.pool);
}

TEST(free_twice_by_default_aborts_with_the_site_of_the_first)
{
    cpool_t *pool = make_checked();
    struct support_outcome outcome;
    const char *text;
    void *site = NULL;

    support_require_abort(free_twice, pool, &outcome);
    REQUIRE(strstr(outcome.text, "cpool_free_uncached") != NULL);
    REQUIRE(strstr(outcome.text, cpool_strerror(CPOOL_EDOUBLEFREE)) != NULL);
    text = strstr(outcome.text, "last taken or freed at ");
    REQUIRE(text != NULL);
    REQUIRE_EQUAL(sscanf(text, "last taken or freed at %p", &site), 1);
    REQUIRE((uintptr_t)site - (uintptr_t)free_here < FUNCTION_SIZE);
    support_destroy_empty(pool);
}

int main(void)
{
    if (!SITES)
        return support_skip_all("leaks",
                                "only optimised symbols keep the caller's address on slow paths");
    return support_run_all("leaks");
}
