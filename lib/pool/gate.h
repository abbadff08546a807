/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gate.h - what a feature does where slots change hands.
 *
 * Includes compiler.h.
 *
 * A pool has at most one gate.  With a gate, no entry of the pool is open to the inline path.
 */
#ifndef CPI_GATE_H
#define CPI_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct cpi_pool;

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

#endif /* CPI_GATE_H */
