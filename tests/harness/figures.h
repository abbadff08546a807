/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * figures.h - all figures of a pool, also those of its mechanism, which cpool_dump writes.
 *
 * Includes the public API only.  Without Check, as the stress and the benchmark have none.
 */
#ifndef CPOOL_TESTS_FIGURES_H
#define CPOOL_TESTS_FIGURES_H

#include <cpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Named as in doc/JSON.md. */
#define FIGURES(SIZE, COUNT)                                                           \
    SIZE(capacity) SIZE(max_capacity) SIZE(live) SIZE(free) SIZE(peak) SIZE(average)   \
    SIZE(circulating) SIZE(slot_size) SIZE(slot_stride) SIZE(reserved_bytes)           \
    SIZE(committed_bytes) SIZE(retired) SIZE(in_depot) SIZE(in_caches) SIZE(fresh)     \
    SIZE(magazine_rounds) SIZE(magazines) SIZE(caches) SIZE(spare_limit)             \
    COUNT(failures) COUNT(stalls) COUNT(waits) COUNT(reclaims) COUNT(system_calls)     \
    COUNT(exchanges) COUNT(growths) COUNT(registrations)

#define FIGURES_SIZE(name) size_t name;
#define FIGURES_COUNT(name) uint64_t name;

struct figures {
    FIGURES(FIGURES_SIZE, FIGURES_COUNT)
};

/* Returns false if the pool is none, or a figure is missing. */
bool figures_read(const cpool_t *pool, struct figures *figures);

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_TESTS_FIGURES_H */
