/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * feature.h - what a feature does in the life of a pool, beside its way and its gate.
 *
 * Includes pool_impl.h, pool_config.h.
 *
 * The kernel knows of a feature no more than its number (way.h).  It goes through the list of
 * those that this build has (lib/features/list.c) and calls the hooks that are there, for all
 * pools.  Each decides for itself whether the pool concerns it.
 */
#ifndef CPI_FEATURE_H
#define CPI_FEATURE_H

#include "pool/pool_config.h"
#include "pool/pool_impl.h"

struct cpi_feature {
    unsigned flags; /* those of a pool that the feature serves */

    /* Bytes for the feature's part and beside each slot, for this configuration. */
    void (*plan)(struct cpi_layout *layout, const cpool_config_t *config);

    /* The pool is built but for this, and its parts are zero.  Returns 0 or a code: then it is
     * not to be.  end is called in any case, when nobody uses the pool any more. */
    int (*begin)(struct cpi_pool *pool, const struct cpi_layout *layout,
                 const cpool_config_t *config);
    void (*end)(struct cpi_pool *pool);

    /* An alloc has found nothing.  Has slots come back that are on their way, and returns whether
     * there were any.  Takes the lock. */
    bool (*dry)(struct cpi_pool *pool);

    /* In the child of a fork, after the caches were reclaimed.  With the lock held. */
    void (*forked)(struct cpi_pool *pool);

    /* Before a reset or the end: looks for damage, and returns how much it has reported. */
    size_t (*look)(struct cpi_pool *pool, const char *function);

    /* At a reset, before all slots are fresh again.  With the lock held. */
    void (*reset)(struct cpi_pool *pool);

    /* As the process ends: the variables of the typed pool's program may be unmapped from now on,
     * and the pool be used by its handle.  With the lock held. */
    void (*parted)(struct cpi_pool *pool);

    /* At the end, if so many slots are live. */
    void (*leaked)(struct cpi_pool *pool, size_t live);

    /* Fills in figures, with the lock held. */
    void (*figures)(const struct cpi_pool *pool, cpool_stats_t *stats);

    /* Lists its live slots to the sink, and returns how many there are. */
    size_t (*list)(const struct cpi_pool *pool, cpi_line_sink *sink, void *context);

    /* For a report: the place of the slot's last alloc or free, or NULL, the details of the
     * address or else of the slot, and how to learn more. */
    const void *(*site)(const struct cpi_pool *pool, uintptr_t index);
    void (*tell)(struct cpi_text *text, const struct cpi_pool *pool, const void *address,
                 uintptr_t index);
    void (*tell_how)(struct cpi_text *text, const struct cpi_pool *pool);
};

/* By their numbers.  NULL: not in this build. */
extern const struct cpi_feature *const cpi_features[CPI_FEATURES];

/* Goes through the features that have a hook. */
#define CPI_EACH_FEATURE(feature, hook)                                                \
    for (const struct cpi_feature *const *cpi_at = cpi_features;                       \
         cpi_at < cpi_features + CPI_FEATURES; cpi_at++)                               \
        for (const struct cpi_feature *feature = *cpi_at;                              \
             feature != NULL && feature->hook != 0; feature = NULL)

#endif /* CPI_FEATURE_H */
