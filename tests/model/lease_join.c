/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_join.c - a thread joins a lease and obtains a slot, while another one ends the lease.
 *
 * Holds: the slot goes back at the end, or the thread is refused.  No cache is left in a
 * lease that has ended.
 */
#define MODEL_SYMMETRIC
#define MODEL_SHARE 16
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 2
#define MODEL_MAGAZINES 8
#define MODEL_VISITORS 2u
#include "leases.h"

static void *obtained;

static void *joiner(void *number)
{
    model_begin(number);
    obtained = cpool_lease_alloc_abi3(model_lease);
    model_barrier_end();
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {joiner, model_ender};

    model_open_lease(true, false);
    model_run(2, bodies);
    model_end_at_last();
    assert(model_ended == (obtained != NULL));
    assert(obtained != NULL || cpi_load(&model_reports, relaxed) > 0);
    assert(!model_cache(2)->used && !model_cache(1)->used);
    assert(model_entries[1].home == NULL);
    model_audit_lease();
    return 0;
}
