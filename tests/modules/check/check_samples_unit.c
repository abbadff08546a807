/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_samples_unit.c - the places of sampled slots (lib/check/samples.c), alone.
 */
#include "support.h"

#include "check/samples.h"
#include "process/thread.h"

/* Of two threads that free a slot at once, both have seen it open. */
TEST(place_is_claimed_once_and_again_after_it_was_let_go)
{
    const struct cpi_slab slab = {.slot_size = 40, .stride = 40, .slots = 10};
    struct cpi_samples *samples;
    uintptr_t index;
    void *slot;

    cpi_lock();
    samples = cpi_samples_begin(&slab, 8, 0, 1);
    cpi_unlock();
    slot = cpi_sample_open(samples, 7, samples);
    REQUIRE(cpi_sample_of(samples, 7) == slot && cpi_sample_of(samples, 6) == NULL);
    REQUIRE(cpi_sample_claim(samples, slot, &index) && index == 7);
    REQUIRE(!cpi_sample_claim(samples, slot, &index) && cpi_sample_of(samples, 7) == NULL);
    cpi_sample_close(samples, slot, false, NULL);
    REQUIRE(cpi_sample_of(samples, 7) == slot && cpi_sample_claim(samples, slot, &index));
    cpi_sample_close(samples, slot, true, NULL); /* a fiber may begin with the call */
    REQUIRE(!cpi_sample_claim(samples, slot, &index));
    REQUIRE_EQUAL(cpi_sample_place(samples, slot, &index), CPOOL_EDOUBLEFREE);
    cpi_samples_end(samples);
}
