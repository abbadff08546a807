/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_chaos_program.c - programs that ask for chance in their pools by the environment, and
 * requests for memory that are refused by chance (lib/chaos.h).
 *
 * Includes support.h, and pool_impl.h to see the chances.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pool_impl.h"

enum { CAPACITY = 200, SLOT_SIZE = 32 };

static const struct cpi_pool *inside_of(const cpool_t *pool)
{
    return pool->state;
}

static void set_options(const char *text)
{
    REQUIRE_EQUAL(setenv("CPOOL_OPTIONS", text, 1), 0);
}

/*
 * ---- Seeds and the environment -------------------------------------------
 */

static void print_course(void *options)
{
    cpool_t *pool;

    set_options(options);
    pool = support_create_plain(SLOT_SIZE, CAPACITY);
    for (int turn = 0; turn < 40; turn++) {
        void *slots[3] = { cpool_alloc(pool), cpool_alloc(pool), cpool_alloc(pool) };

        fprintf(stderr, "%zu ", cpool_index(pool, slots[0]));
        cpool_free_bulk(pool, slots, 3);
    }
    fprintf(stderr, "(%u)", (unsigned)support_stats(pool).cas_retries);
}

static void require_course(char *options, struct support_outcome *outcome)
{
    support_fork(print_course, options, outcome);
    REQUIRE_EQUAL(outcome->status, 0);
}

static char seed_5[] = "chaos=5";
static char seed_6[] = "chaos=6";
static char any_seed[] = "chaos";

START_TEST(same_seed_has_the_same_course)
{
    struct support_outcome first;
    struct support_outcome second;

    require_course(seed_5, &first);
    require_course(seed_5, &second);
    REQUIRE(strcmp(first.text, second.text) == 0);
    REQUIRE(strstr(first.text, "CPOOL_OPTIONS=chaos=5 ") != NULL);
    require_course(seed_6, &second);
    REQUIRE(strcmp(strchr(first.text, '\n'), strchr(second.text, '\n')) != 0);
}
END_TEST

START_TEST(drawn_seed_is_told_once_and_repeats_the_course)
{
    struct support_outcome first;
    struct support_outcome second;
    char options[64] = "chaos=";
    const char *told;

    require_course(any_seed, &first);
    told = strstr(first.text, "CPOOL_OPTIONS=chaos=");
    REQUIRE(told != NULL && strstr(told + 1, "CPOOL_OPTIONS") == NULL);
    REQUIRE(sscanf(told, "CPOOL_OPTIONS=chaos=%40[0-9]", options + strlen(options)) == 1);
    require_course(options, &second);
    REQUIRE(strcmp(first.text, second.text) == 0);
}
END_TEST

static void use_callers_memory(void *options)
{
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);
    cpool_t *pool;

    set_options(options);
    config.memory_size = cpool_memory_required(&config);
    config.memory = support_lines(config.memory_size);
    pool = support_create(&config);
    REQUIRE(inside_of(pool)->depot.chaos != NULL);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

START_TEST(memory_required_includes_the_chaos)
{
    support_in_child(use_callers_memory, seed_5);
}
END_TEST

/* The program's own magazines are fewer and larger, and take less memory. */
static void require_room_for_few_rounds(void *unused)
{
    cpool_config_t config = support_config(SLOT_SIZE, 100 * CAPACITY);
    cpool_config_t quiet;
    cpool_t *pool;

    (void)unused;
    config.magazine_rounds = 16;
    quiet = config;
    config.flags = CPOOL_CHAOS;
    config.memory_size = cpool_memory_required(&config);
    quiet.flags = CPOOL_TRACKED;
    REQUIRE(cpool_memory_required(&quiet) < config.memory_size);
    config.memory = support_lines(config.memory_size);
    pool = support_create(&config);
    REQUIRE(support_stats(pool).magazine_rounds <= 4);
    support_destroy_empty(pool);
    config.memory_size -= CPOOL_MEMORY_ALIGN;
    REQUIRE_EQUAL(cpool_create(&pool, &config), CPOOL_EMEMSIZE);
    REQUIRE(pool == NULL);
}

START_TEST(too_little_memory_for_chaos_is_refused)
{
    support_in_child(require_room_for_few_rounds, NULL);
}
END_TEST

static char too_much[] = "log=1048576";

/* A pool goes without the options that it has no room for, and keeps its own chaos. */
static void require_own_chaos(void *unused)
{
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);
    cpool_t *pool;

    (void)unused;
    set_options(too_much);
    config.flags = CPOOL_CHAOS;
    config.memory_size = (size_t)1 << 20; /* enough but for the log */
    config.memory = support_lines(config.memory_size);
    pool = support_create(&config);
    REQUIRE(support_stats(pool).magazine_rounds <= 4);
    support_destroy_empty(pool);
}

START_TEST(chaos_of_the_program_stays_without_the_options)
{
    support_in_child(require_own_chaos, NULL);
}
END_TEST

static void require_plain(void *unused)
{
    cpool_t *pool = support_create_plain(SLOT_SIZE, CAPACITY);

    (void)unused;
    REQUIRE(inside_of(pool)->depot.chaos == NULL && inside_of(pool)->registry.inline_path);
    REQUIRE_EQUAL(cpi_chaos_refused_part, 0);
    support_destroy_empty(pool);
}

START_TEST(pools_that_ask_for_nothing_have_none)
{
    support_in_child(require_plain, NULL);
}
END_TEST

/* The largest capacity needs larger magazines. */
static void create_largest(void *options)
{
    cpool_config_t config = support_config(1, 1000);

    set_options(options);
    config.max_capacity = sizeof(void *) >= 8 ? CPOOL_CAPACITY_MAX : 1 << 20;
    REQUIRE(inside_of(support_create(&config))->depot.chaos != NULL);
}

START_TEST(largest_pool_has_it_as_well)
{
    support_in_child(create_largest, seed_6);
}
END_TEST

/*
 * ---- Refusals ------------------------------------------------------------
 */

static char refusals[] = "chaos=3,refuse=3";

/* Where a third of all requests is refused, each function says so or does without, and
 * nothing is lost. */
static void live_on_the_rest(void *options)
{
    size_t refused = 0;
    size_t made = 0;

    set_options(options);
    for (int turn = 0; turn < 40; turn++) {
        cpool_config_t config = support_config(4096, CAPACITY);
        cpool_t *pool;
        void *slots[CAPACITY];
        size_t n = 0;
        int code = cpool_create(&pool, &config);

        if (code != 0) {
            REQUIRE(code == CPOOL_ENOMEM && pool == NULL);
            refused++;
            continue;
        }
        made++;
        for (int i = 0; i < CAPACITY; i++)
            if ((slots[n] = cpool_alloc(pool)) != NULL)
                n++;
        REQUIRE_EQUAL(support_stats(pool).live, n);
        cpool_free_bulk(pool, slots, n);
        cpool_trim(pool);
        support_destroy_empty(pool);
    }
    fprintf(stderr, "created %zu, refused %zu\n", made, refused);
}

START_TEST(refused_requests_lose_nothing)
{
    struct support_outcome first;
    struct support_outcome second;
    const char *counts;
    size_t refused;
    size_t made;

    SKIP_IF(SUPPORT_SANITIZED, "a sanitizer's pools make requests of their own");
    support_fork(live_on_the_rest, refusals, &first);
    REQUIRE_EQUAL(first.status, 0);
    counts = strstr(first.text, "created ");
    REQUIRE(counts != NULL && sscanf(counts, "created %zu, refused %zu", &made, &refused) == 2);
    REQUIRE(refused > 2 && made > 2);
    support_fork(live_on_the_rest, refusals, &second);
    REQUIRE(strcmp(first.text, second.text) == 0);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        ONCE(same_seed_has_the_same_course),
        ONCE(drawn_seed_is_told_once_and_repeats_the_course),
        ONCE(memory_required_includes_the_chaos),
        ONCE(too_little_memory_for_chaos_is_refused),
        ONCE(chaos_of_the_program_stays_without_the_options),
        ONCE(pools_that_ask_for_nothing_have_none),
        ONCE(largest_pool_has_it_as_well),
        ONCE(refused_requests_lose_nothing),
    };

    return SUPPORT_RUN("chaos_program", tests);
}
