/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fallback.h - blocks of malloc that a pool hands out when it is dry.
 *
 *   places   | block | 0 | was | block | 0 | ...    by the block's address, and on from there
 *
 * Each live block is at one place of a table twice as large, or more, as there may be blocks.  A
 * place that was left keeps the address, marked, until another block takes it: so a block that
 * is freed twice is told from an address that never was one.  No block was ever put further than
 * `reach` places from where its search begins, so no search goes on longer.
 *
 * It is lock-free but for malloc, and the child of a fork goes on using it.  A thread that was
 * between two steps of a take or a give leaves the limit lower by one there, until a reset.
 */
#ifndef CPI_FALLBACK_H
#define CPI_FALLBACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "pool/way.h"

struct cpi_fallback {
    /* Constant. */
    size_t bytes; /* of all this */
    size_t limit; /* blocks that may be live */
    size_t size;  /* bytes of a block */
    size_t align; /* bytes: of block + offset */
    size_t lead;  /* bytes of malloc's before a block */
    size_t mask;  /* places, which are a power of two, less one */
    bool alone;   /* pool_fallback.c's: blocks are all that the pool hands out */
    struct cpi_way way;           /* and likewise the pool's way */
    const struct cpi_way *passed; /* which takes the place of this one */

    _Alignas(CPI_LINE) _Atomic size_t live; /* blocks, and takes that may still fail */
    _Atomic size_t placed; /* blocks in places, or about to be, which has_room compares, so that
                              nobody sleeps for good beside a take that fails */
    _Atomic size_t peak;
    _Atomic size_t reach;
    _Alignas(CPI_LINE) _Atomic uintptr_t places[];
};

/* The state of an address, which is not looked at. */
enum cpi_block { CPI_BLOCK_NONE, CPI_BLOCK_FREED, CPI_BLOCK_LIVE };

/* pool_fallback.c's. */
extern const struct cpi_feature cpi_fallback_feature;

/* NULL if the system refuses memory.  block + offset is aligned. */
CPI_COLD struct cpi_fallback *cpi_fallback_create(size_t limit, size_t size, size_t align,
                                                  size_t offset);

/* Frees all blocks and the table.  NULL is a no-op, as for clear, which returns 0. */
CPI_COLD void cpi_fallback_destroy(struct cpi_fallback *fallback);

/* Frees all live blocks, and looks no further than the last of them, while nobody else uses the
 * pool.  Returns how many were live. */
CPI_COLD size_t cpi_fallback_clear(struct cpi_fallback *fallback);

/* At a glance: whether a take would be refused for no reason but malloc's. */
bool cpi_fallback_has_room(const struct cpi_fallback *fallback);

/* A block, or NULL when as many are live as may be, or malloc has none. */
CPI_COLD void *cpi_fallback_take(struct cpi_fallback *fallback);
CPI_COLD enum cpi_block cpi_fallback_find(const struct cpi_fallback *fallback, const void *block);

/* The same, and a live block is the caller's: of several threads one gets CPI_BLOCK_LIVE.  It
 * restores the block, which is live again, or retires it and then frees its `lead` as well. */
CPI_COLD enum cpi_block cpi_fallback_claim(struct cpi_fallback *fallback, const void *block);
CPI_COLD void cpi_fallback_restore(struct cpi_fallback *fallback, const void *block);
CPI_COLD void cpi_fallback_retire(struct cpi_fallback *fallback);

#endif /* CPI_FALLBACK_H */
