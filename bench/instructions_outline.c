/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * instructions_outline.c - libcpool through its symbols, as a foreign-function
 * user or a program compiled with CPOOL_NO_INLINE calls it.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#define CPOOL_NO_INLINE 1

#include "instructions.h"

void *outline_alloc_measured(cpool_t *pool)
{
    void *slot = cpool_alloc(pool);

    INSTRUCTIONS_HIDE(slot);
    return slot;
}

void outline_free_measured(cpool_t *pool, void *slot)
{
    cpool_free(pool, slot);
    INSTRUCTIONS_HIDE(slot);
}
