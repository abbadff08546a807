/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * way.h - what a feature does where slots change hands.
 *
 * Includes compiler.h.
 *
 * A pool has one way and at most one gate.  Where the inline path does not show the loaded
 * magazine, an alloc or a free takes the pool's way, which asks the gate.  The way `plain` has
 * all there is to do, and any other way comes down to it.
 */
#ifndef CPI_WAY_H
#define CPI_WAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct cpi_cache;
struct cpi_pool;

/*
 * How a slot is obtained and given back.  The cache is the calling thread's own, an explicit
 * one, or NULL for none.
 */
struct cpi_way {
    const struct cpi_brief *brief; /* serves most operations sooner (cache.h), or NULL */

    /* After a pop or a push between marks nothing is left but to look whether the descriptor says
     * that somebody waits. */
    bool tells;

    /* NULL if there is none. */
    void *(*alloc)(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call);

    /* Takes any address.  NULL is a no-op, and a wrong address is reported.  The slot is where
     * the public functions have it. */
    void (*free)(struct cpi_pool *pool, void *slot, struct cpi_cache *cache,
                 struct cpi_call call);

    /* The others are NULL in pools without waiters.  From now on slots may also come to a look
     * that no operation calls for: retired ones, when sections have ended (cpool/retire.h).  May
     * block. */
    void (*delayed)(struct cpi_pool *pool);

    /* An operation has left something there, or slots came into the depot or into being.  May
     * block. */
    void (*came)(struct cpi_pool *pool, struct cpi_cache *cache);
};

enum cpi_retiring { CPI_RETIRING_ASKED, CPI_RETIRING_OUT, CPI_RETIRING_BACK };

/* Between a pool and its users.  Plain pools have none. */
struct cpi_gate {
    /* A slot was obtained, and the caller does not have it yet.  Returns false after a report
     * that it is live already: another one has to be obtained. */
    bool (*taken)(struct cpi_pool *pool, void *slot, struct cpi_call call);

    /* A slot is about to go back.  Returns false after a report why it does not. */
    bool (*given)(struct cpi_pool *pool, void *slot, struct cpi_call call);

    /* Whether a slot may be retired (cpool/retire.h), or a live slot is retired, or a retired one
     * is about to go back.  Returns 0, or the code for a slot that is not live.  NULL where
     * nothing is known of it. */
    int (*retired)(struct cpi_pool *pool, uintptr_t index, enum cpi_retiring step);
};

#endif /* CPI_WAY_H */
