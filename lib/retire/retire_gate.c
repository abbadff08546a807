/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire_gate.c - what pools know of their retired slots.
 *
 * ORDERING TABLE
 *   bits  | pools load, CAS | relaxed | - | -
 *   noted | noted store     | relaxed | - | -
 *
 * [bits] A dry pool that does not find its bit comes before the retire.
 */
#include "retire/retire_impl.h"

#include "pool/pool_report.h"

/* A dry pool asks the domains that have its bit. */
static void set_bit(struct cpool_domain *domain, uint64_t bit)
{
    uint64_t seen = cpi_load(&domain->pools, relaxed); /* [bits] */

    while ((seen & bit) == 0 &&
           !cpi_cas_weak(&domain->pools, &seen, seen | bit, relaxed, relaxed)) /* [bits] */
        ;
}

/* The gate that knows retired slots, or NULL. */
static const struct cpi_gate *gate_of(const struct cpi_pool *pool)
{
    const struct cpi_gate *gate = pool->gate;

    return gate != NULL && gate->retired != NULL ? gate : NULL;
}

int cpi_retire_note(struct cpi_reader *reader, const cpool_t *handle, bool *gated)
{
    struct cpi_pool *pool = cpi_pool_of(handle, "cpool_retire");

    if (pool == NULL)
        return CPOOL_EPOOL;
    set_bit(reader->domain, cpi_retire_bit(handle));
    if (pool->way->delayed != NULL)
        pool->way->delayed(pool);
    *gated = gate_of(pool) != NULL;
    cpi_store(&reader->noted, *gated ? CPI_NOTED_NONE : handle, relaxed); /* [noted] */
    return 0;
}

/* Addresses that are no slots are judged when they go back. */
static int pass_gate(struct cpi_pool *pool, void *slot, enum cpi_retiring step)
{
    uintptr_t index;

    if (cpi_slab_place(&pool->slab, slot, &index) != CPI_PLACE_SLOT)
        return 0;
    return gate_of(pool)->retired(pool, index, step);
}

int cpi_retire_out(cpool_t *handle, void *slot)
{
    return pass_gate(handle->state, slot, CPI_RETIRING_OUT);
}

int cpi_retire_ask(cpool_t *handle, void *slot)
{
    return pass_gate(handle->state, slot, CPI_RETIRING_ASKED);
}

void cpi_retire_refuse(int code, const cpool_t *handle, const void *slot)
{
    const struct cpi_pool *pool = handle->state;

    cpi_pool_report_slot(code, "cpool_retire", pool, cpi_slab_index(&pool->slab, slot));
}

void cpi_retire_back(const cpool_t *handle, void *const *slots, size_t n)
{
    struct cpi_pool *pool = cpi_handle_is_alive(handle) ? handle->state : NULL;

    if (pool == NULL || CPI_LIKELY(gate_of(pool) == NULL))
        return;
    for (size_t i = 0; i < n; i++)
        (void)pass_gate(pool, slots[i], CPI_RETIRING_BACK);
}
