/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.h - from a handle to its pool, and reports of mistakes.
 *
 * Includes pool.h.
 */
#ifndef CPI_REPORT_H
#define CPI_REPORT_H

#include "check/guards.h"
#include "pool/pool.h"

/* The size of the longest details of a report, with the zero byte.  Longer ones are cut. */
#define CPI_DETAILS_MAX 4096

/* Report a mistake: in the use of the pool as a whole; with a slot; slots freed twice, of which
 * only the number is known; with an address near a slot; the same, with the given slot and details;
 * damage; a handle without a pool. */
void cpi_pool_report(int code, const char *function, const struct cpi_pool *pool);
void cpi_pool_report_slot(int code, const char *function, const struct cpi_pool *pool,
                          uintptr_t index);
void cpi_pool_report_surplus(const char *function, const struct cpi_pool *pool, uint64_t slots);
void cpi_pool_report_address(int code, const char *function, const struct cpi_pool *pool,
                             const void *address, uintptr_t index);
void cpi_pool_report_details(int code, const char *function, const struct cpi_pool *pool,
                             const void *address, const void *slot, uintptr_t index,
                             struct cpi_text *details);
void cpi_pool_report_damage(const struct cpi_pool *pool, const struct cpi_damage *damage,
                            const char *function);
CPI_COLD void cpi_pool_report_handle(const char *function, const cpool_t *handle);

/* The word for a client of this kind. */
const char *cpi_client_title(unsigned kind);

/* Reports that a typed pool of this name cannot be created on first use, and why. */
CPI_COLD void cpi_pool_report_unmade(const char *name, int code);

/*
 * The pool of a handle.  Reports CPOOL_EPOOL on behalf of `function` and returns NULL if the handle
 * is NULL, or not a descriptor of this copy of the library, or its pool has been destroyed.
 */
static inline struct cpi_pool *cpi_pool_of(const cpool_t *handle, const char *function)
{
    if (CPI_LIKELY(cpi_handle_is_alive(handle)))
        return handle->state;
    cpi_pool_report_handle(function, handle);
    return NULL;
}

/* The pool behind a face, or NULL.  Wait-free. */
static inline struct cpi_pool *cpi_pool_behind(const cpool_t *face)
{
    return cpi_handle_is_one(face) ? (struct cpi_pool *)cpi_handle_behind(face) : NULL;
}

/* The pool of any handle or face, or NULL. */
static inline struct cpi_pool *cpi_pool_at(const cpool_t *handle)
{
    return CPI_LIKELY(cpi_handle_is_alive(handle)) ? handle->state : cpi_pool_behind(handle);
}

/* Like cpi_pool_of, but also accepts faces: for functions that neither take nor give slots. */
static inline struct cpi_pool *cpi_pool_seen(const cpool_t *handle, const char *function)
{
    struct cpi_pool *pool = cpi_pool_at(handle);

    return CPI_LIKELY(pool != NULL) ? pool : cpi_pool_of(handle, function);
}

/* Returns 0 and the index if `slot` is a slot that has been handed out.  Otherwise reports on
 * behalf of `function`, and returns the code. */
int cpi_pool_judge(const struct cpi_pool *pool, const void *slot, const char *function,
                   uintptr_t *index);

#endif /* CPI_REPORT_H */
