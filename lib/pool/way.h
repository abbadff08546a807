/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * way.h - what a feature does where slots change hands.
 *
 * Includes call.h.
 */
#ifndef CPI_WAY_H
#define CPI_WAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/call.h"

struct cpi_pool;

/* Between a pool and its users.  Plain pools have none. */
struct cpi_gate {
    /* A slot was obtained, and the caller does not have it yet.  Returns false after a report
     * that it is live already: another one has to be obtained. */
    bool (*taken)(struct cpi_pool *pool, void *slot, struct cpi_call call);

    /* A slot is about to go back.  Returns false after a report why it does not. */
    bool (*given)(struct cpi_pool *pool, void *slot, struct cpi_call call);

    /* Takes a slot that may go back, and gives it to the depot in its own time.  NULL in most
     * gates. */
    void (*keep)(struct cpi_pool *pool, void *slot);
};

#endif /* CPI_WAY_H */
