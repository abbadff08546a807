/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * feature.h - what the folders above do in the life of a pool, beside its gate.
 *
 * Includes pool_impl.h, pool_config.h.
 *
 * Called for all pools.  Each function decides for itself whether the pool concerns it.
 */
#ifndef CPI_FEATURE_H
#define CPI_FEATURE_H

#include "pool/pool_config.h"
#include "pool/pool_impl.h"

/* Bytes for a part of the pool, and beside each slot, for this configuration. */
void cpi_watch_plan(struct cpi_layout *layout, const cpool_config_t *config);
void cpi_track_plan(struct cpi_layout *layout);
void cpi_check_plan(struct cpi_layout *layout);
void cpi_wait_plan(struct cpi_layout *layout);

/* The pool is built but for this, and its parts are zero.  In this order: the last gate counts. */
void cpi_watch_begin(struct cpi_pool *pool);
void cpi_track_begin(struct cpi_pool *pool);
void cpi_check_begin(struct cpi_pool *pool);
void cpi_wait_begin(struct cpi_pool *pool);

/* Nobody uses the pool any more. */
void cpi_watch_end(struct cpi_pool *pool);
void cpi_wait_end(struct cpi_pool *pool);

/* At a reset, before all slots are fresh again.  With the lock held. */
void cpi_watch_reset(struct cpi_pool *pool);
void cpi_track_reset(struct cpi_pool *pool);

/* As cpi_pool_alloc and cpi_pool_free, for tracked pools that are nothing else, with the kernel's
 * barrier. */
void *cpi_track_alloc(const cpool_t *handle, struct cpi_cache *cache, struct cpi_call call);
void cpi_track_free(const cpool_t *handle, struct cpi_cache *cache, void *slot, uintptr_t index,
                    struct cpi_call call);

/* From now on slots may also come to a look that no operation calls for: retired ones, when
 * sections have ended (cpool/retire.h).  May block. */
void cpi_wait_delayed(struct cpi_pool *pool);

/* An alloc has found nothing.  Has slots come back that were retired, and returns whether there
 * were any.  Takes the lock. */
bool cpi_retire_dry(struct cpi_pool *pool);

/* Before a reset or the end: no bag has a slot of the pool any more. */
void cpi_retire_settle(struct cpi_pool *pool);

/* In the child of a fork, after the caches were reclaimed.  With the lock held. */
void cpi_wait_forked(struct cpi_pool *pool);

/* As the process ends: the variables of the typed pool's program may be unmapped from now on,
 * and the pool be used by its handle.  With the lock held. */
void cpi_watch_parted(struct cpi_pool *pool);

/* At the end, if so many slots are live. */
void cpi_watch_leaked(struct cpi_pool *pool);
void cpi_check_leaked(struct cpi_pool *pool, size_t live);

/* Fill in figures, with the lock held. */
void cpi_wait_figures(const struct cpi_pool *pool, cpool_stats_t *stats);
void cpi_retire_figures(const struct cpi_pool *pool, cpool_stats_t *stats);

/* Looks for damage, and returns how much it has reported. */
size_t cpi_check_look(struct cpi_pool *pool, const char *function);

/* Lists live slots to the sink, and returns how many there are. */
size_t cpi_check_list(const struct cpi_pool *pool, cpi_line_sink *sink, void *context);

/* For a report: the place of the slot's last alloc or free, or NULL, the details of the address or
 * else of the slot, and how to learn more. */
const void *cpi_check_site(const struct cpi_pool *pool, uintptr_t index);
void cpi_check_tell(struct cpi_text *text, const struct cpi_pool *pool, const void *address,
                    uintptr_t index);
void cpi_check_tell_how(struct cpi_text *text, const struct cpi_pool *pool);

#endif /* CPI_FEATURE_H */
