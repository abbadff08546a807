/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_adopt.c - a lease adopts a slot that a thread has used, while another thread ends the
 * lease.
 *
 * Holds: the slot goes back with the end, or stays the thread's.  The next thread that
 * obtains it sees what the first one wrote.
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

static void *adopter(void *number)
{
    model_begin(number);
    model_use_slot(slot);
    code = cpool_lease_adopt(model_lease, slot);
    assert(code == 0 || code == CPOOL_ELEASE);
    model_barrier_end();
    return NULL;
}

static void *ender(void *number)
{
    void *next;

    model_ender(number);
    next = cpi_depot_alloc_slot(&model_depot, model_own_counters());
    if (next == NULL)
        return NULL;
    model_use_slot(next);
    assert(cpi_depot_free_slot(&model_depot, model_own_counters(), next));
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {adopter, ender};

    model_open_lease(true, true);
    slot = cpi_depot_alloc_slot(&model_depot, &model_counters[0]);
    assert(slot != NULL);
    model_run(2, bodies);
    model_end_at_last();
    assert(model_ended == (code == 0));
    if (code != 0)
        assert(cpi_depot_free_slot(&model_depot, &model_counters[0], slot));
    model_audit_lease();
    return 0;
}
