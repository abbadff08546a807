/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_debug.c - <cpool/debug.h>: damage found by alloc, free, destroy, audit and verify,
 * and the details of the reports.
 */
#include "support.h"

#include <inttypes.h>
#include <time.h>

#include <cpool/debug.h>

enum { CAPACITY = 200, SIZE = 24 };

static cpool_t *make_pool(unsigned flags)
{
    support_capture_reports();
    return support_create_kind(SIZE, CAPACITY, CPOOL_CHECKED | flags);
}

/* More than a function of this file has, bytes. */
#define FUNCTION_SIZE ((uintptr_t)4096)

__attribute__((__noinline__)) static unsigned char *take(cpool_t *pool)
{
    unsigned char *slot = cpool_alloc(pool);

    REQUIRE(slot != NULL);
    return slot;
}

static void require_said(const struct support_report *report, const char *what)
{
    if (strstr(report->details, what) == NULL) {
        fprintf(stderr, "not said: %s\n", what);
        support_fail(__FILE__, __LINE__, report->details);
    }
}

/* Not a jump, which would return elsewhere. */
__attribute__((__noinline__)) static void give(cpool_t *pool, void *slot)
{
    cpool_free(pool, slot);
    __asm__ volatile("");
}

static time_t begun;

static time_t seconds_now(void)
{
    struct timespec now;

    REQUIRE_EQUAL(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return now.tv_sec;
}

/* Where the word is followed by an age that this program has. */
static const char *find_age(const char *text, const char *word)
{
    unsigned seconds, milliseconds;

    for (; (text = strstr(text, word)) != NULL; text++)
        if (sscanf(text + strlen(word), " %u.%3u s", &seconds, &milliseconds) == 2 &&
            (time_t)seconds <= seconds_now() - begun)
            break;
    return text;
}

/* The address after this word and its age lies in the function. */
static void require_site(const struct support_report *report, const char *word, uintptr_t function)
{
    const char *at = find_age(report->details, word);
    uintptr_t site;

    at = at != NULL ? strchr(at, '[') : NULL;
    if (at == NULL || sscanf(at, "[0x%" SCNxPTR "]", &site) != 1 ||
        site - function >= FUNCTION_SIZE)
        support_fail(__FILE__, __LINE__, report->details);
}

static void require_unsaid(const struct support_report *report, const char *what)
{
    if (strstr(report->details, what) != NULL)
        support_fail(__FILE__, __LINE__, report->details);
}

/* --- Gaps --- */

TEST(free_after_overflow_tells_offset_bytes_and_culprit)
{
    cpool_t *pool = make_pool(0);
    unsigned char *slots[3] = { take(pool), take(pool), take(pool) };
    struct support_report report;
    char text[100];

    snprintf(text, sizeof(text), "expected %02x %02x", slots[1][SIZE], slots[1][SIZE + 1]);
    memcpy(slots[1] + SIZE, "AB", 2);
    cpool_free(pool, slots[1]);
    report = REQUIRE_REPORT(CPOOL_EGUARD);
    require_said(&report, "2 bytes were overwritten, the first at offset 24, 0 past the end of "
                          "slot 1 (0x");
    require_said(&report, text);
    require_said(&report, "found    41 42 ");
    require_said(&report, "probably the user of slot 1 wrote past its end");
    require_said(&report, "slot 1 at ");
    require_said(&report, "slot 2 at ");
    require_said(&report, "is live\n");
    require_site(&report, "allocated", (uintptr_t)take);
    require_unsaid(&report, "freed");
    REQUIRE_EQUAL(cpool_reset(pool), 3);
    support_destroy_empty(pool);
}

TEST(free_after_underflow_tells_offset_bytes_and_culprit)
{
    cpool_t *pool = make_pool(0);
    unsigned char *slots[3] = { take(pool), take(pool), take(pool) };
    struct support_report report;

    slots[1][-1] ^= 0xFF;
    cpool_free(pool, slots[1]);
    report = REQUIRE_REPORT(CPOOL_EGUARD);
    require_said(&report, "1 bytes were overwritten, the first at offset -1, before the start of "
                          "slot 1 (0x");
    require_said(&report, "probably the user of slot 1 wrote before its start");
    require_said(&report, "slot 0 at ");
    slots[0][SIZE + 3] ^= 1;
    cpool_free(pool, slots[1]);
    report = REQUIRE_REPORT(CPOOL_EGUARD);
    require_said(&report, "a stray write");
    REQUIRE_EQUAL(cpool_reset(pool), 3);
    support_destroy_empty(pool);
}

/* Neither gap is the freed slot's own: it is reported, and the slot is freed. */
TEST(free_finds_damage_beyond_its_neighbours)
{
    cpool_t *pool = make_pool(0);
    unsigned char *slots[5];
    struct support_report report;

    for (int i = 0; i < 5; i++)
        slots[i] = take(pool);
    slots[3][SIZE] ^= 1;
    cpool_free(pool, slots[2]);
    report = REQUIRE_REPORT(CPOOL_EGUARD);
    REQUIRE(report.slot == slots[3]);
    support_require_live(pool, 4);
    slots[0][SIZE + 7] ^= 1;
    slots[2] = take(pool);
    cpool_free(pool, slots[2]);
    report = REQUIRE_REPORT(CPOOL_EGUARD);
    REQUIRE(report.slot == slots[1]);
    support_require_live(pool, 4);
    REQUIRE_EQUAL(cpool_reset(pool), 4);
    support_destroy_empty(pool);
}

TEST(verify_and_destroy_look_at_every_slot)
{
    cpool_t *pool = make_pool(0);
    void *slots[CAPACITY];
    unsigned char *slot;

    REQUIRE_EQUAL(support_take_all(pool, slots), CAPACITY);
    for (size_t i = 0; i < CAPACITY; i++) {
        slot = cpool_at(pool, i);
        slot[SIZE] ^= 1;
        REQUIRE_EQUAL(cpool_verify(pool, NULL), CPOOL_EGUARD);
        REQUIRE_EQUAL(REQUIRE_REPORT(CPOOL_EGUARD).index, i);
        REQUIRE_EQUAL(cpool_verify(pool, NULL), 0);
    }
    cpool_free_bulk(pool, slots, CAPACITY);
    slot = cpool_at(pool, CAPACITY - 1);
    slot[SIZE] ^= 1;
    REQUIRE_EQUAL(cpool_destroy(pool), CPOOL_EGUARD);
    REQUIRE(strcmp(REQUIRE_REPORT(CPOOL_EGUARD).function, "cpool_destroy") == 0);
}

TEST(verify_judges_any_address)
{
    cpool_t *pool = make_pool(0);
    cpool_t *plain = support_create_plain(SIZE, CAPACITY);
    unsigned char *slot = take(pool);
    int elsewhere = 0;

    for (int i = 0; i < 2; i++) {
        cpool_t *judge = i == 0 ? pool : plain;
        unsigned char *own = i == 0 ? slot : cpool_alloc(plain);

        REQUIRE_EQUAL(cpool_verify(judge, own), 0);
        REQUIRE_NO_REPORT();
        REQUIRE_EQUAL(cpool_verify(judge, own + 1), CPOOL_EMISALIGNED);
        (void)REQUIRE_REPORT(CPOOL_EMISALIGNED);
        REQUIRE_EQUAL(cpool_verify(judge, &elsewhere), CPOOL_EFOREIGN);
        (void)REQUIRE_REPORT(CPOOL_EFOREIGN);
        REQUIRE_EQUAL(cpool_verify(judge, cpool_at(judge, CAPACITY - 1)), CPOOL_EUNUSED);
        (void)REQUIRE_REPORT(CPOOL_EUNUSED);
    }
    slot[SIZE] ^= 1;
    REQUIRE_EQUAL(cpool_verify(pool, slot), CPOOL_EGUARD);
    (void)REQUIRE_REPORT(CPOOL_EGUARD);
    REQUIRE_EQUAL(cpool_verify(plain, NULL), 0);
    REQUIRE_EQUAL(support_destroy(plain), 1);
    cpool_free(pool, slot);
    support_destroy_empty(pool);
}

/* --- Beside running threads --- */

struct work {
    cpool_t *pool;
    bool stop; /* atomic */
};

static void *churn(void *argument)
{
    struct work *work = argument;
    unsigned char *slots[30];

    while (!__atomic_load_n(&work->stop, __ATOMIC_RELAXED)) {
        for (int i = 0; i < 30; i++) {
            slots[i] = cpool_alloc(work->pool);
            memset(slots[i], i, SIZE);
        }
        for (int i = 0; i < 30; i++)
            cpool_free(work->pool, slots[i]);
    }
    return NULL;
}

TEST(audit_beside_threads_finds_nothing_that_is_not)
{
    struct work work = { make_pool(0), false };
    pthread_t threads[3];

    for (int i = 0; i < 3; i++)
        threads[i] = support_start(churn, &work);
    for (size_t i = 0; i < SUPPORT_COUNT(2000, 200); i++)
        REQUIRE_EQUAL(cpool_verify(work.pool, NULL), 0);
    __atomic_store_n(&work.stop, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++)
        support_join(threads[i]);
    REQUIRE_NO_REPORT();
    support_destroy_empty(work.pool);
}

/* --- Double free, and the way to learn more --- */

TEST(free_twice_tells_both_sites)
{
    cpool_t *pool = make_pool(0);
    unsigned char *slot = take(pool);
    struct support_report report;

    give(pool, slot);
    cpool_free(pool, slot);
    report = REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    require_said(&report, "slot 0 at ");
    require_said(&report, "24 bytes, is free\ncpool:     freed ");
    require_site(&report, "freed", (uintptr_t)give);
    require_site(&report, "allocated", (uintptr_t)take);
    require_unsaid(&report, "CPOOL_OPTIONS");
    support_destroy_empty(pool);
}

/* The pool that the address belongs to is named by any other pool. */
TEST(free_of_foreign_pointer_names_its_pool)
{
    cpool_t *pools[2] = { make_pool(0), support_create_plain(SIZE, CAPACITY) };
    struct support_report report;
    char expected[100];
    cpool_t *other = support_create_named("the other", SIZE, CAPACITY, CPOOL_CHECKED);
    char *slot = (char *)take(other);

    for (int i = 0; i < 2; i++) {
        cpool_free(pools[i], slot);
        report = REQUIRE_REPORT(CPOOL_EFOREIGN);
        snprintf(expected, sizeof(expected), "another pool, 'the other' %p, at the start of slot 0",
                 (void *)other);
        require_said(&report, expected);
        require_site(&report, "allocated", (uintptr_t)take);
        cpool_free(pools[i], slot + 3);
        report = REQUIRE_REPORT(CPOOL_EFOREIGN);
        require_said(&report, "inside or behind slot 0");
        cpool_free(pools[i], &report);
        report = REQUIRE_REPORT(CPOOL_EFOREIGN);
        require_unsaid(&report, "another pool");
        support_destroy_empty(pools[i]);
    }
    cpool_free(other, slot);
    support_destroy_empty(other);
}

TEST(free_in_plain_pool_tells_how_to_learn_more)
{
    cpool_t *pool = support_create_plain(SIZE, CAPACITY);
    struct support_report report;

    support_capture_reports();
    cpool_free(pool, pool);
    report = REQUIRE_REPORT(CPOOL_EFOREIGN);
    require_said(&report, "CPOOL_OPTIONS=checked in the environment");
    support_destroy_empty(pool);
}

int main(void)
{
    begun = seconds_now();
    return support_run_all("debug");
}
