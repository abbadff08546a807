/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_ticket.c - slots drawn beforehand.
 *
 * Floor 6.
 */
#include "pool_impl.h"

#include "site.h"
#include "structs.h"

/* A ticket without room for what is drawn would lose it. */
static int read_ticket(cpool_ticket_t *known, const cpool_ticket_t *ticket)
{
    int code = cpi_struct_read(known, sizeof *known, ticket);

    return code == 0 && ticket->size < sizeof *ticket ? CPOOL_ESTRUCT : code;
}

int cpool_ticket_draw(cpool_ticket_t *ticket, cpool_t *pool, void **slots, size_t n)
{
    cpool_ticket_t drawn;
    int code = read_ticket(&drawn, ticket);

    if (code != 0)
        return code;
    code = cpi_pool_alloc_bulk_all(pool, slots, n, "cpool_ticket_draw", CPI_CALLER());
    drawn.pool = pool;
    drawn.slots = slots;
    drawn.left = code == 0 ? n : 0;
    cpi_struct_write(ticket, &drawn, sizeof drawn);
    return code;
}

/* Nothing was ever drawn into it: it is empty, and not a mistake. */
static bool is_new(const cpool_ticket_t *ticket)
{
    return ticket->pool == NULL && ticket->left == 0;
}

void *cpool_ticket_alloc(cpool_ticket_t *ticket)
{
    const struct cpi_pool *pool;
    void *slot;

    if (is_new(ticket))
        return NULL;
    pool = cpi_pool_of(ticket->pool, "cpool_ticket_alloc");
    if (pool == NULL || ticket->left == 0)
        return NULL;
    slot = ticket->slots[--ticket->left];
    if (CPI_UNLIKELY(pool->checked))
        cpi_site_move(&pool->slab, cpi_slab_index(&pool->slab, slot), CPI_CALLER());
    return slot;
}

size_t cpool_ticket_return(cpool_ticket_t *ticket)
{
    size_t left = ticket->left;

    if (is_new(ticket))
        return 0;
    ticket->left = 0;
    cpi_pool_free_bulk(ticket->pool, ticket->slots, left, "cpool_ticket_return", CPI_CALLER());
    return left;
}
