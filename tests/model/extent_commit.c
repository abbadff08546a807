/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * extent_commit.c - two threads commit memory for magazines at once, one of
 * them in two steps, and a third one makes a magazine of what it finds
 * committed.
 *
 * Holds: no thread uses memory before it is committed, and committed memory is never
 * forgotten.
 */
#define MODEL_LIMIT 2
#define MODEL_MAGAZINES 4
#include "store.h"

static void reach(uint32_t magazines)
{
    bool reached = cpi_extent_reach(&model_depot.for_slots,
                                    magazines * sizeof(struct model_magazine));

    assert(reached);
    assert(cpi_load(&model_depot.for_slots.committed, relaxed) >=
           magazines * sizeof(struct model_magazine));
    model_touch(magazines);
}

static void stepper(void)
{
    reach(1);
    reach(2);
}

/* The one that is granted all there is. */
static void leaper(void)
{
    reach(MODEL_MAGAZINES);
}

static void maker(void)
{
    model_touch(make_any(&model_depot));
}

int main(void)
{
    model_open_depot();
    MODEL_RUN(stepper, leaper, maker);
    return 0;
}
