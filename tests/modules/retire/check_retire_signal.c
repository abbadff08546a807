/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_retire_signal.c - a signal handler finds a pool dry that has retired slots.
 *
 * The library's assertions see a cache that is used by its owner and within that use.
 */
#include "support.h"

#include <signal.h>
#include <sys/time.h>

#include <cpool/retire.h>

#include "random.h"

enum { CAPACITY = 24, HELD = 64, MICROSECONDS = 37 };

static cpool_t *pool;
static void *volatile handlers; /* a slot, or NULL */

static void take_or_give(int number)
{
    void *slot = handlers;

    (void)number;
    handlers = NULL;
    if (slot != NULL)
        cpool_depot_free(pool, slot);
    else
        handlers = cpool_depot_alloc(pool);
}

static void set_timer(long microseconds)
{
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};

    REQUIRE_EQUAL(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

START_TEST(handler_that_finds_the_pool_dry_uses_no_cache)
{
    static const unsigned flags[] = {0, CPOOL_EXACT, CPOOL_TRACKED};
    size_t turns = SUPPORT_COUNT(2000000, 300000);
    cpool_config_t config = support_config(64, CAPACITY);
    uint64_t random = 1;
    void *slots[HELD];
    cpool_domain_t *domain;
    cpool_reader_t *reader;
    size_t n = 0;

    support_set_flags(&config, flags[_i]);
    config.magazine_rounds = 3;
    pool = support_create(&config);
    REQUIRE_EQUAL(cpool_domain_create(&domain, 4, HELD, 0), 0);
    REQUIRE((reader = cpool_domain_reader(domain)) != NULL);
    REQUIRE(signal(SIGALRM, take_or_give) != SIG_ERR);
    set_timer(MICROSECONDS);
    for (size_t i = 0; i < turns; i++) {
        void *slot = n < HELD && random_below(&random, 2) == 0 ? cpool_alloc(pool) : NULL;

        if (slot != NULL)
            slots[n++] = slot;
        else if (n > 0 && random_below(&random, 3) != 0)
            cpool_free(pool, slots[--n]);
        else if (n > 0 && cpool_retire(reader, pool, slots[n - 1]) == 0)
            n--;
    }
    set_timer(0);
    cpool_free_bulk(pool, slots, n);
    cpool_depot_free(pool, handlers);
    REQUIRE_EQUAL(cpool_domain_destroy(domain), 0);
    support_destroy_empty(pool);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(handler_that_finds_the_pool_dry_uses_no_cache, 3),
    };

    return SUPPORT_RUN("retire_signal", tests);
}
