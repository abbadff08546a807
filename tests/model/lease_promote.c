/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_promote.c - a thread promotes a slot that it has obtained under a lease, while another
 * one ends the lease.
 *
 * Holds: the slot is the thread's, or it has gone back with the end.  It is in one place.
 */
#define MODEL_SYMMETRIC
#define MODEL_SHARE 16
#define MODEL_COINS 1
#define MODEL_LIMIT 2
#define MODEL_SLOTS 2
#define MODEL_MAGAZINES 8
#define MODEL_VISITORS 2u
#include "leases.h"

static void *slot;
static int code;

static void *owner(void *number)
{
    model_begin(number);
    code = cpool_lease_promote(model_lease, slot);
    assert(code == 0 || code == CPOOL_ELEASE || code == CPOOL_EDRY);
    if (code == 0)
        model_use_slot(slot);
    model_barrier_end();
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {owner, model_ender};

    model_open_lease(true, true);
    model_self = 1;
    assert(cpool_lease_alloc_slow(model_lease) != NULL);
    slot = cpool_lease_alloc_slow(model_lease);
    assert(slot != NULL);
    model_self = 0;
    model_run(2, bodies);
    assert(model_ended == (code == 0 ? 1 : 2));
    if (code == 0)
        assert(cpi_depot_free_slot(&model_depot, &model_counters[0], slot));
    model_audit_lease();
    return 0;
}
