/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_late.c - a thread obtains slots under a lease in an exact pool.  Meanwhile another
 * one ends the lease, which is a mistake.
 *
 * Holds: the end is refused while an alloc is at work.  Each slot that is obtained goes back
 * once, at the end that succeeds.  An alloc after it is refused.
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
        obtained += cpool_lease_alloc_abi3(model_lease) != NULL;
    model_barrier_end();
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {owner, model_ender};

    model_open_lease(true, true);
    model_run(2, bodies);
    model_end_at_last();
    assert(model_ended == obtained);
    model_audit_lease();
    return 0;
}
