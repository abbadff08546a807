/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_retry.c - an exchange with the depot that another one overtakes: it is made
 * again, and counted among the retries.
 *
 * Includes steps.h.
 */
#include "steps.h"

/* A magazine has one round, so each operation without a cache is an exchange. */
enum { CAPACITY = 12, ROUNDS = 1 };

static void *taken;

static void take_one(cpool_t *pool)
{
    taken = cpool_depot_alloc(pool);
    REQUIRE(taken != NULL);
}

static void give_one(cpool_t *pool)
{
    cpool_depot_free(pool, taken);
}

static void do_nothing(cpool_t *pool)
{
    (void)pool;
}

/* An operation with an exchange of each kind, the function of the exchange, and the
 * preparation and the end. */
static const struct exchange {
    const char *function;
    void (*before)(cpool_t *pool);
    void (*act)(cpool_t *pool);
    void (*after)(cpool_t *pool);
} exchanges[] = {
    {"cpi_tagstack_pop", do_nothing, take_one, give_one},
    {"cpi_tagstack_push", take_one, give_one, do_nothing},
};

enum { EXCHANGES = sizeof(exchanges) / sizeof(exchanges[0]) };

/* Another slot goes out and in again, so both stacks change. */
static void overtake(void *pool)
{
    cpool_depot_free(pool, cpool_depot_alloc(pool));
}

/* Retries of the operation that is overtaken at its nth step in the function.  Sets *reached to
 * whether there is such a step. */
static uint64_t retries_at(cpool_t *pool, const struct exchange *exchange, size_t nth,
                           bool *reached)
{
    uint64_t before;

    exchange->before(pool);
    before = support_stats(pool).cas_retries;
    steps_plan(exchange->function, nth, overtake, pool);
    exchange->act(pool);
    *reached = steps_drop();
    exchange->after(pool);
    return support_stats(pool).cas_retries - before;
}

TEST_TIMES(overtaken_exchange_counts_its_retry, EXCHANGES)
{
    cpool_t *pool = steps_pool(0, CAPACITY, 0, ROUNDS);
    uint64_t retries = 0;
    bool reached = true;

    support_require_obtainable(pool, 0);
    cpool_flush(pool);
    for (size_t nth = 1; reached; nth++) {
        uint64_t more = retries_at(pool, &exchanges[_i], nth, &reached);

        REQUIRE(more <= reached); /* the action is never overtaken */
        retries += more;
        REQUIRE(nth > 2 || reached);
    }
    REQUIRE(retries > 0);
    support_destroy_empty(pool);
}
