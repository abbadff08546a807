/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_late.c - a thread obtains slots under a lease in an exact pool.  Meanwhile another
 * one ends the lease, which is a mistake.
 *
 * Holds: what the thread obtains goes back once, at the end.  An alloc after it is refused.
 */
#ifndef MODEL_BARRIER
#define MODEL_SHARE 16
#define MODEL_SYMMETRIC
#endif
#define MODEL_COINS 1
#define MODEL_LIMIT 2
#define MODEL_SLOTS 2
#define MODEL_MAGAZINES 8
#define MODEL_VISITORS 2u
#include "leases.h"

static size_t obtained;

static void *owner(void *number)
{
    int i;

    model_begin(number);
    for (i = 0; i < 2; i++)
        obtained += cpool_lease_alloc_slow(model_lease) != NULL;
    model_barrier_end();
    return NULL;
}

/* It was the last one in the common cache, as if it had adopted a slot without a cache. */
static void *ender(void *number)
{
    model_begin(number);
    cpi_recall_use(model_cache(1));
    return model_ender(number);
}

int main(void)
{
    static model_thread *const bodies[] = {owner, ender};

    model_open_lease(true, true);
    model_run(2, bodies);
    assert(model_ended == obtained);
    model_audit_lease();
    return 0;
}
