/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * place.c - entering and leaving the depot without a cache.
 *
 * ORDERING TABLE
 *   known | used load           | acquire | places | nothing but the number
 *   enter | holder CAS          | acquire | leave  | the counters
 *   leave | turns store, holder store | release | enter, held | all that the uncached
 *                                                               operation did
 *   held  | turns, holder load  | acquire | leave  | all that the operation did that has left
 *   places | used CAS           | release | known  | nothing but the number
 *   own   | turns, holder, used load, CAS failure | relaxed | - | -
 *
 * A thread that looks for slots sees the holder because it acquires an exchange of the
 * uncached operation's, which comes later.
 */
#include "cache/place.h"

#include "base/atomic.h"
#include "host/os.h"

size_t cpi_place_used(const struct cpi_places *places)
{
    return cpi_load(&places->used, acquire); /* [known] */
}

/* Before the place has its holder: a thread that sees what an uncached operation did also looks
 * at its place. */
static void note_used(struct cpi_places *places, uint32_t count)
{
    uint32_t used = cpi_load(&places->used, relaxed); /* [own] */

    while (used < count)
        /* [places] [own] */
        if (cpi_cas_weak(&places->used, &used, count, release, relaxed))
            return;
}

/* The i-th place, or NULL if it is taken. */
static struct cpi_uncached *try_place(struct cpi_places *places, uint32_t i)
{
    struct cpi_uncached *uncached = &places->at[i];
    uintptr_t none = 0;

    if (cpi_load(&uncached->holder, relaxed) != 0) /* [own] */
        return NULL;
    note_used(places, i + 1);
    /* [enter] [own] */
    return cpi_cas_strong(&uncached->holder, &none, cpi_thread_token(), acquire, relaxed)
               ? uncached
               : NULL;
}

struct cpi_uncached *cpi_place_try_enter(struct cpi_places *places)
{
    uint32_t i;

    for (i = 0; i < places->count; i++) {
        struct cpi_uncached *uncached = try_place(places, i);

        if (uncached != NULL)
            return uncached;
    }
    return NULL;
}

struct cpi_uncached *cpi_place_enter(struct cpi_places *places)
{
    struct cpi_uncached *uncached;
    unsigned times = 0;

    CPI_ASSERT(!cpi_lock_is_held());
    while ((uncached = cpi_place_try_enter(places)) == NULL)
        cpi_os_back_off(times++);
    return uncached;
}

void cpi_place_leave(struct cpi_places *places, struct cpi_uncached *uncached)
{
    (void)places;
    cpi_place_vacate(uncached);
}

bool cpi_place_is_held(const struct cpi_uncached *uncached)
{
    uintptr_t holder = cpi_load(&uncached->holder, acquire); /* [held] */

    return holder != 0 && holder != cpi_thread_token();
}

uint32_t cpi_place_turns(const struct cpi_uncached *uncached)
{
    return cpi_load(&uncached->turns, acquire); /* [held] */
}

void cpi_place_vacate(struct cpi_uncached *uncached)
{
    uint32_t turns = cpi_load(&uncached->turns, relaxed); /* [own] */

    CPI_ASSERT(cpi_load(&uncached->holder, relaxed) != 0); /* [own] */
    /* In this order: a thread that reads `turns` and then finds a holder, and later
     * other turns, knows that the holder it found has left. */
    cpi_store(&uncached->turns, turns + 1, release); /* [leave] */
    cpi_store(&uncached->holder, 0, release);        /* [leave] */
}

CPI_COLD bool cpi_place_forked(struct cpi_places *places)
{
    bool any = false;
    size_t i;

    for (i = 0; i < cpi_place_used(places); i++)
        if (cpi_place_is_held(&places->at[i])) {
            cpi_place_vacate(&places->at[i]);
            any = true;
        }
    return any;
}
