/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slot_word.c - a thread takes a tracked slot, two threads free it at the same time, and one
 * of them looks at it by its handle before.
 *
 * Holds: of two frees one succeeds.  A thread to which a handle resolves sees what the slot
 * held when it was taken, also where the handle came to it without any order.  The handle
 * of a freed slot does not resolve for the thread that freed it.
 */
#define MODEL_COINS 1
#include "model.h"

#include "track/words.h"

static _Atomic uint64_t words[4];
static _Atomic uint64_t mailbox;
static int content; /* of the slot, plain */
static int freed[3];

static const struct cpi_slotmap map = {words, 16};

static void taker(void)
{
    content = 7;
    assert(cpi_slotmap_take(&map, 3));
    cpi_store(&mailbox, cpi_slotmap_live(&map, 3), relaxed);
    freed[0] = cpi_slotmap_give(&map, 3) == 0;
    assert(cpi_slotmap_live(&map, 3) == 0);
}

static void finder(void)
{
    uint64_t handle;

    handle = cpi_load(&mailbox, relaxed);
    if (handle == 0)
        return;
    assert(cpi_slotmap_index(&map, handle) == 3);
    if (cpi_slotmap_live(&map, 3) == handle)
        assert(content == 7);
    freed[1] = cpi_slotmap_give(&map, 3) == 0;
    assert(!freed[1] || cpi_slotmap_live(&map, 3) != handle);
}

int main(void)
{
    MODEL_RUN(taker, finder);
    assert(freed[0] + freed[1] == 1);
    assert(cpi_slotmap_state(&map, 3) == CPOOL_EDOUBLEFREE);
    return 0;
}
