/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_samples_unit.c - the places of sampled slots (lib/check/samples.c), alone.
 */
#include "support.h"

#include "check/samples.h"
#include "process/thread.h"

/* Of two threads that free a slot at once, both have seen it open. */
TEST(place_is_closed_once_by_who_frees_its_slot)
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
    REQUIRE(!cpi_sample_close(samples, slot, 6, NULL));
    REQUIRE(cpi_sample_close(samples, slot, 7, NULL)); /* a fiber may begin with the call */
    REQUIRE(!cpi_sample_close(samples, slot, 7, NULL) && cpi_sample_of(samples, 7) == NULL);
    REQUIRE_EQUAL(cpi_sample_place(samples, slot, &index), CPOOL_EDOUBLEFREE);
    cpi_samples_end(samples);
}

/* What is 64 times as large as the slots would be beyond the end of memory. */
TEST(slots_whose_places_have_no_addresses_are_not_sampled)
{
    const size_t size = SIZE_MAX / CPI_SAMPLES;
    const struct cpi_slab slab = {.slot_size = size, .stride = size, .slots = 1};

    cpi_lock();
    REQUIRE(cpi_samples_begin(&slab, 8, 0, 1) == NULL);
    cpi_unlock();
}
