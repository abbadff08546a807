/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_ticket.c - slots drawn beforehand.
 *
 * Floor 6.
 */
#include "pool_impl.h"

int cpool_ticket_draw(cpool_ticket_t *ticket, cpool_t *pool, void **slots, size_t n)
{
    int code = cpi_pool_alloc_bulk_all(pool, slots, n, "cpool_ticket_draw", CPI_CALLER());

    ticket->pool = pool;
    ticket->slots = slots;
    ticket->left = code == 0 ? n : 0;
    return code;
}

void *cpool_ticket_alloc(cpool_ticket_t *ticket)
{
    return ticket->left > 0 ? ticket->slots[--ticket->left] : NULL;
}

size_t cpool_ticket_return(cpool_ticket_t *ticket)
{
    size_t left = ticket->left;

    ticket->left = 0;
    cpi_pool_free_bulk(ticket->pool, ticket->slots, left, "cpool_ticket_return", CPI_CALLER());
    return left;
}
