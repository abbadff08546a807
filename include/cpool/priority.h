/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/priority.h - object pools that reclaim the least important object when dry.
 *
 * OVERVIEW
 *
 * A game has 32 voices and has to play a 33rd sound.  A priority pool ends the sound that
 * matters least, and hands its voice out anew:
 *
 *     cpool_grant_t grant = CPOOL_GRANT_INIT;
 *
 *     config.max_capacity = 32;
 *     config.flags = CPOOL_OBJECT_PRIORITY;
 *     cpool_objects_create(&voices, &config);
 *     ...
 *     grant.priority = loudness;
 *     if (cpool_object_get_with(voices, &voice, &grant) == 0)
 *         play(voice, sound);
 *     ...
 *     cpool_priority_put(voices, grant.claim);           unless it has been reclaimed
 *
 * An object that is reclaimed goes through the hooks deactivate, reset and activate, as if
 * it had been put back and got again.
 *
 * NOTES: cpool_priority(3) has notes on order, claims, cost and fork
 * (doc/man/cpool_priority.txt).
 */
#ifndef CPOOL_PRIORITY_H
#define CPOOL_PRIORITY_H

#include <cpool/object.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Priority pools (cpool_priority.3) -------------------------------------
 */

/*
 * A pool with CPOOL_OBJECT_PRIORITY is a priority pool.  Its gets take an inactive object, a new
 * one, or the least important active one, in O(log n) with the pool's lock held.  They return
 * CPOOL_EDRY if all objects have the number CPOOL_PRIORITY_KEPT, are kept by
 * CPOOL_OBJECT_KEEP_LARGER, or are being got or put by other threads at this moment.
 *
 * CPOOL_PRIORITY_KEPT   an object with this number is not reclaimed: neither a get nor
 *                       cpool_objects_resize ends its use, nor cpool_objects_reset with a number
 *                       below SIZE_MAX.  Every kind of put does, and so does the reset of all of
 *                       them.  A thread that works with an object gives it this number meanwhile
 */
#define CPOOL_PRIORITY_KEPT INT64_MAX

/*
 * cpool_priority_put - gives back the object of a claim.
 *
 * Returns 0, CPOOL_EINACTIVE if the use has ended: the object was reclaimed or put back, or
 * CPOOL_EPOOL for a pool that was destroyed.
 * If several threads end a use at once, exactly one call returns 0.
 * Any thread.  It takes as long as the hooks deactivate, reset and destroy, and O(log n) with
 * the pool's lock held.
 */
CPOOL_API int cpool_priority_put(cpool_objects_t *pool, cpool_claim_t claim) CPOOL_NONNULL_(1);

/*
 * cpool_priority_set - gives an object another number.
 *
 * Returns 0, CPOOL_EINACTIVE or CPOOL_EPOOL.
 * Any thread, O(log n) with the pool's lock held.
 */
CPOOL_API int cpool_priority_set(cpool_objects_t *pool, cpool_claim_t claim, int64_t priority)
    CPOOL_NONNULL_(1);

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_PRIORITY_H */
