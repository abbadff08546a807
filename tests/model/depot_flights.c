/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * depot_flights.c - operations without a cache come and go, while a thread waits for those that
 * were in flight when it looked.
 *
 * Holds: it goes on when they have left, with all that they did, while another one is in flight.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 1
#define MODEL_MAGAZINES 6
#include "store.h"

static _Atomic int shown; /* in place of an exchange, by which the thread knows of the operation */
static int done[2];       /* plain */

static void operate(void)
{
    struct cpi_uncached uncached;

    cpi_depot_enter(&model_depot, &uncached);
    cpi_store(&shown, 1, release);
    done[0] = 1;
    cpi_depot_leave(&model_depot, &uncached);
}

/* Keeps the epoch that it finds in use. */
static void operate_twice(void)
{
    struct cpi_uncached uncached;

    cpi_depot_enter(&model_depot, &uncached);
    cpi_depot_leave(&model_depot, &uncached);
    cpi_depot_enter(&model_depot, &uncached);
    done[1] = 1;
    cpi_depot_leave(&model_depot, &uncached);
}

static void await(void)
{
    uint64_t flights;

    if (cpi_load(&shown, acquire) == 0)
        return;
    flights = cpi_depot_flights(&model_depot);
    if (!cpi_depot_have_left(&model_depot, flights))
        __VERIFIER_assume(cpi_depot_have_left(&model_depot, flights));
    assert(done[0] == 1);
}

int main(void)
{
    model_open_committed_depot();
    model_depot.uncached = 2;
    MODEL_RUN(operate, operate_twice, await);
    assert(cpi_depot_in_flight(cpi_depot_flights(&model_depot)) == 0);
    assert(done[1] == 1);
    return 0;
}
