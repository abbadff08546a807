/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slots.h - what is done to a slot on its way to a user and back.
 *
 * Includes pool.h, guards.h.
 *
 * The last step of every way by which a slot is obtained is cpi_pool_passes, and the first step of
 * every way by which it is given back is cpi_pool_returns.  In a plain pool they are nothing, and
 * only there an entry is open to the inline path.
 */
#ifndef CPI_SLOTS_H
#define CPI_SLOTS_H

#include "check/guards.h"
#include "host/os.h"
#include "pool/pool.h"

#include <cpool/client.h>

/* A slot was obtained, and the caller does not have it yet.  Returns false after a report
 * that it is live already: another one has to be obtained. */
bool cpi_pool_taken(struct cpi_pool *pool, void *slot, struct cpi_call call);

static inline bool cpi_pool_passes(struct cpi_pool *pool, void *slot, struct cpi_call call)
{
    return CPI_LIKELY(cpi_pool_is_plain(pool)) || cpi_pool_taken(pool, slot, call);
}

/* A slot is about to go back.  Returns false after a report why it does not. */
bool cpi_pool_given(struct cpi_pool *pool, void *slot, struct cpi_call call);

static inline bool cpi_pool_returns(struct cpi_pool *pool, void *slot, struct cpi_call call)
{
    return CPI_LIKELY(cpi_pool_is_plain(pool)) || cpi_pool_given(pool, slot, call);
}

/* In a pool with words: this step of a slot that is retired.  Returns 0, or the code for a slot
 * that is not live, or that is in a frame. */
int cpi_pool_retired(const struct cpi_pool *pool, uintptr_t index, enum cpi_retiring step);

/* As cpi_pool_alloc and cpi_pool_free, for tracked pools that are nothing else, with the kernel's
 * barrier. */
void *cpi_track_alloc(const cpool_t *handle, struct cpi_cache *cache, struct cpi_call call);
void cpi_track_free(const cpool_t *handle, struct cpi_cache *cache, void *slot, uintptr_t index,
                    struct cpi_call call);

/* An alloc has found nothing.  Clients give slots back that they hold, and it returns
 * whether there were any.  Takes the lock. */
bool cpi_client_dry(struct cpi_pool *pool);

/* Before a reset or the end: no client holds a slot of the pool back any more. */
void cpi_client_settle(struct cpi_pool *pool);

/* Fills in figures of what clients hold back, with the lock held. */
void cpi_client_figures(const struct cpi_pool *pool, cpool_stats_t *stats);

/* client.c sets them, once.  NULL while no client holds slots back. */
extern const cpool_client_hooks_t *_Atomic cpi_client_hooks;

/* destroy.c.  Looks at the gaps of a checked pool's slots from *index to before `end`, and at those
 * that are free and filled, concurrently with threads that use the pool, until one is damaged.
 * *index is then that slot's.  Returns 0 or the code that was reported.  Takes the lock. */
int cpi_pool_verify_next(const struct cpi_pool *pool, uintptr_t *index, uintptr_t end,
                         const char *function);

/* Looks at all slots, if the pool is checked, and returns how much damage was reported. */
size_t cpi_pool_verify_all(const struct cpi_pool *pool, const char *function);

/*
 * announce.c.  The tools to which a pool is announced, and what they are told of its memory.
 * wanted says whether one would watch the bytes of such a pool, between whose slots there are
 * bytes of the library's then.  begin is for a pool that is built but for this, leaked for the end
 * of a pool with live slots, and part for the end of the process: a typed pool's program may be
 * unmapped from then on.
 */
bool cpi_announce_wanted(const cpool_config_t *config);
void cpi_announce_begin(struct cpi_pool *pool);
void cpi_announce_reset(struct cpi_pool *pool);
void cpi_announce_leaked(struct cpi_pool *pool);
void cpi_announce_part(struct cpi_pool *pool);
void cpi_announce_end(struct cpi_pool *pool);

/* --- While the depot is drained (memory.c) --- */

/* Returns once a draining thread that has the depot's magazines has given some back, without a
 * lock. */
static inline void cpi_drain_await(const struct cpi_depot *depot)
{
    uint32_t now = cpi_depot_drains(depot);
    unsigned times = 0;

    while (now % 2 != 0 && !cpi_depot_has_stocked(depot) && cpi_depot_partial_rounds(depot) == 0 &&
           cpi_depot_drains(depot) == now)
        cpi_os_back_off(times++);
}

#endif /* CPI_SLOTS_H */
