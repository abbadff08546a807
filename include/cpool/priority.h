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
 *     cpool_objects_create(&voices, &config);            max_capacity is 32
 *     cpool_priority_attach(voices, 0);
 *     ...
 *     grant.priority = loudness;
 *     if (cpool_object_obtain(voices, &voice, &grant) == 0)
 *         play(voice, sound);
 *     ...
 *     cpool_priority_put(voices, grant.claim);           unless it has been reclaimed
 *
 * An object that is reclaimed goes through the hooks deactivate, reset and activate, as if
 * it had been put back and got again.
 *
 * NOTES: cpool_priority(3) has notes on order, claims, pins, cost and fork
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

/* cpool_priority_attach's flag: a get reclaims no object with a larger number than its own.
 * It returns CPOOL_EDRY instead. */
#define CPOOL_PRIORITY_KEEP_LARGER 0x400000u

/*
 * cpool_priority_attach - makes an object pool a priority pool, for the rest of its life.
 *
 * Its gets take an inactive object, a new one, or the least important active one, in O(log n) with
 * the pool's lock held.  They return CPOOL_EDRY if all objects are pinned, kept by
 * CPOOL_PRIORITY_KEEP_LARGER, or being got or put by other threads at this moment.
 *
 * pool    without active objects, and not used by another thread meanwhile.  It
 *         may be typed or fake
 * flags   0, or CPOOL_PRIORITY_KEEP_LARGER
 *
 * Returns 0, CPOOL_ENULL, CPOOL_EFLAGS for another flag or a pool with
 * CPOOL_OBJECT_WAITABLE, CPOOL_EOPEN if it is a priority pool already,
 * CPOOL_ELIVE if objects are active, CPOOL_ENOMEM or CPOOL_ESYSTEM.
 * It may block.
 */
CPOOL_API int cpool_priority_attach(cpool_objects_t *pool, unsigned flags) CPOOL_MUST_USE_;

/*
 * cpool_priority_put - gives back the object of a claim.
 *
 * Returns 0, or CPOOL_EINACTIVE if the use has ended: the object was reclaimed or put back.
 * If several threads end a use at once, exactly one call returns 0.
 * Any thread.  It takes as long as the hooks deactivate, reset and destroy, and O(log n) with
 * the pool's lock held.
 */
CPOOL_API int cpool_priority_put(cpool_objects_t *pool, cpool_claim_t claim) CPOOL_NONNULL_(1);

/*
 * cpool_priority_set - gives an object another number.
 *
 * Returns 0 or CPOOL_EINACTIVE.
 * Any thread, O(log n) with the pool's lock held.
 */
CPOOL_API int cpool_priority_set(cpool_objects_t *pool, cpool_claim_t claim, int64_t priority)
    CPOOL_NONNULL_(1);

/*
 * cpool_priority_pin, cpool_priority_unpin - keep an object from being reclaimed meanwhile.
 *
 * Pins are counted.  While there is one, neither a get nor cpool_object_shrink ends the use,
 * nor cpool_objects_reset of so many objects.  Every kind of put does, and so does the reset of all
 * of them, and the pins end with it.
 *
 * pin returns the object, or NULL if the use has ended.  unpin returns 0, or CPOOL_EINACTIVE
 * if the use has ended or is not pinned.
 * Any thread, O(log n) with the pool's lock held.
 */
CPOOL_API void *cpool_priority_pin(cpool_objects_t *pool, cpool_claim_t claim) CPOOL_MUST_USE_
    CPOOL_NONNULL_(1);
CPOOL_API int cpool_priority_unpin(cpool_objects_t *pool, cpool_claim_t claim) CPOOL_NONNULL_(1);

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_PRIORITY_H */
