/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slots.h - what is done to a slot on its way to a user and back.
 *
 * Includes pool.h, guards.h.
 *
 * Every path by which a slot is obtained ends with cpi_pool_passes, and every path by which it is
 * given back starts with cpi_pool_returns.  In a plain pool both do nothing; only there an entry
 * can be open to the inline path.
 */
#ifndef CPI_SLOTS_H
#define CPI_SLOTS_H

#include "check/guards.h"
#include "check/samples.h"
#include "host/os.h"
#include "pool/pool.h"

#include <cpool/client.h>

/* Prepares a slot for the caller, who does not have it yet.  Returns false, after a report, if it
 * is live already: the caller has to obtain another one. */
bool cpi_pool_taken(struct cpi_pool *pool, void *slot, struct cpi_call call);

static inline bool cpi_pool_passes(struct cpi_pool *pool, void *slot, struct cpi_call call)
{
    return CPI_LIKELY(cpi_pool_is_plain(pool)) || cpi_pool_taken(pool, slot, call);
}

/* Takes a slot from the caller.  Returns false, after a report, if it may not go back. */
bool cpi_pool_given(struct cpi_pool *pool, void *slot, struct cpi_call call);

static inline bool cpi_pool_returns(struct cpi_pool *pool, void *slot, struct cpi_call call)
{
    return CPI_LIKELY(cpi_pool_is_plain(pool)) || cpi_pool_given(pool, slot, call);
}

/* The samples of a pool, or NULL if it has none; and a part of each alloc, which counts it and
 * `ahead` inline ones to come, and now and then gives the slot a place beside a page that traps. */
struct cpi_samples *cpi_pool_begin_samples(const struct cpi_slab *slab,
                                           const cpool_config_t *config, size_t align);
void *cpi_pool_sample_now(struct cpi_pool *pool, struct cpi_cache *cache, void *slot,
                          const void *site);

static inline void *cpi_pool_sample(struct cpi_pool *pool, struct cpi_cache *cache, void *slot,
                                    uintptr_t ahead, const void *site)
{
    if (CPI_LIKELY(pool->samples == NULL))
        return slot;
    if (CPI_UNLIKELY(cache == NULL) || CPI_UNLIKELY(cache->sample_in <= ahead + 1))
        return cpi_pool_sample_now(pool, cache, slot, site);
    cache->sample_in -= (uint32_t)(ahead + 1);
    return slot;
}

/* Ends an alloc, and sets *slot to what the user gets.  A slot has its place before it is live,
 * because whoever sees it live looks for the place.  If false, the caller obtains another slot. */
static inline bool cpi_pool_hand(struct cpi_pool *pool, struct cpi_cache *cache, void **slot,
                                 uintptr_t ahead, struct cpi_call call)
{
    void *own = *slot;

    *slot = cpi_pool_sample(pool, cache, own, ahead, call.site);
    if (CPI_LIKELY(cpi_pool_passes(pool, own, call)))
        return true;
    if (*slot != own)
        (void)cpi_sample_close(pool->samples, *slot, cpi_slab_index(&pool->slab, own), call.site);
    return false;
}

/* Closes the place of a slot that has been freed.  Returns false, after a report, if another thread
 * was faster. */
bool cpi_pool_close_sample(struct cpi_pool *pool, const void *slot, uintptr_t index,
                           struct cpi_call call);

/* What an address is for the pool, like cpi_slab_place.  The index of a sampled slot is that of the
 * slab's slot. */
int cpi_pool_place(const struct cpi_pool *pool, const void *address, uintptr_t *index);

/* The address that the user of a slot has. */
void *cpi_pool_slot(const struct cpi_pool *pool, uintptr_t index);

/* In a pool with words: performs a step of retiring a slot.  Returns 0, or a code if the slot is
 * not live, or is in a frame. */
int cpi_pool_retired(const struct cpi_pool *pool, uintptr_t index, enum cpool_client_step step);

/* Like cpi_pool_alloc and cpi_pool_free, for pools that are only tracked, on systems with the
 * kernel's barrier. */
void *cpi_track_alloc(const cpool_t *handle, struct cpi_cache *cache, struct cpi_call call);
void cpi_track_free(const cpool_t *handle, struct cpi_cache *cache, void *slot, uintptr_t index,
                    struct cpi_call call);

/* Makes clients give back slots that they hold: after an alloc has found nothing those that they
 * can spare, before a reset or the end (`ends`) all.  Returns how many.  Takes the lock. */
size_t cpi_client_give_back(struct cpi_pool *pool, bool ends);

/* Fills in the figures of slots that clients hold back.  With the lock held. */
void cpi_client_figures(const struct cpi_pool *pool, cpool_stats_t *stats);

/* Set once by client.c.  NULL while no client holds slots back. */
extern const cpool_client_hooks_t *_Atomic cpi_client_hooks;

/* destroy.c.  Looks at the gaps around a slot of a checked pool, which has been handed out,
 * concurrently with threads that use the pool.  Returns 0, or CPOOL_EGUARD after a report of damage
 * on one side, which is repaired. */
int cpi_pool_verify_slot(const struct cpi_pool *pool, uintptr_t index, const char *function);

/* Before the library itself frees a slot: in a checked pool, reports and repairs what was
 * overwritten on either side, so that the free does not refuse it. */
void cpi_pool_mend_slot(const struct cpi_pool *pool, const void *slot, const char *function);

/* Looks at all gaps of a checked pool until they are intact.  Returns 0 or CPOOL_EGUARD. */
int cpi_pool_verify_all(const struct cpi_pool *pool, const char *function);

/* build.c.  Whether a tool would watch the bytes of such a pool, between whose slots there are
 * bytes of the library's then.  cpi_announce, with the lock held, tells the tools that the pool's
 * life begins or ends. */
bool cpi_announce_wanted(const cpool_config_t *config);
void cpi_announce(const struct cpi_pool *pool, bool opens);

/* --- While the depot is drained (memory.c) --- */

/* Waits until a draining thread that holds the depot's magazines has given some back.  Takes no
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
