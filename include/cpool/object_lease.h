/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/object_lease.h - all objects obtained in a frame go back at once, constructed.
 *
 * OVERVIEW
 *
 *     cpool_object_lease_t *frame = cpool_object_lease_begin(effects);
 *     ...
 *     struct effect *effect = cpool_object_lease_get(frame);   any thread, as often as it likes
 *     ...
 *     cpool_object_lease_end(frame);                           all of them are inactive again
 *
 * A loop of frames opens one lease, and each frame ends with cpool_object_lease_reset(frame).
 *
 * No object is put back by itself.  At the end of the lease all of them are inactive, and stay
 * constructed.  Each is reset when it is got again, if ever.  The cost of the end depends on
 * the number of threads that took part, and not on the number of objects.
 *
 * NOTES
 *
 * The notes on the end hold for a reset, too.
 *
 * Cost: the end is proportional to the number of objects where something is to be done for each.
 * That is so with the hook deactivate, with a reset and CPOOL_OBJECT_EAGER, with max_inactive,
 * CPOOL_OBJECT_COUNTED, CPOOL_OBJECT_FAKE or CPOOL_WAITABLE, and in priority pools.  Each get
 * under the lease then also writes a word that all its threads share.  The end is proportional in
 * pools with CPOOL_TRACKED or CPOOL_CHECKED, too.
 *
 * Objects of a lease count as active in the figures and against the capacity.  They are the
 * lease's, and no caller's: cpool_object_is_active is false for them, cpool_object_each does not
 * visit them, a put is refused as CPOOL_EINACTIVE, and cpool_objects_put_all and
 * cpool_object_shrink leave them alone.  A priority pool does not reclaim them.
 *
 * Hooks: the hooks of a get run in cpool_object_lease_get, and those of a put at the end of the
 * lease, in the thread that ends it.  The object of a hook left by longjmp stays out of use, and
 * the next cpool_object_lease_end goes on with the others.
 *
 * Threads: any number of threads may get and adopt under one lease at once, but none beside its
 * end.  The objects of a thread stay with the lease when the thread ends.
 *
 * Fork: in the child open leases stay open, with the objects that all threads had obtained,
 * except for those that another thread was getting or giving back at that moment.
 *
 * Destruction: cpool_objects_destroy ends all leases of the pool.  The objects in them count as
 * active.  Such a lease must not be used later.
 *
 * Memory: the first lease of a pool takes 4 bytes for each object that max_capacity allows, of
 * which only those in use are resident.
 */
#ifndef CPOOL_OBJECT_LEASE_H
#define CPOOL_OBJECT_LEASE_H

#include <cpool/lease.h>
#include <cpool/object.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Leases of objects (cpool_object_lease.3) ------------------------------
 */

/* A lease of objects, known to the library alone. */
typedef struct cpool_object_lease cpool_object_lease_t;

/*
 * cpool_object_lease_begin - opens a lease on an object pool.
 *
 * Returns the lease, or NULL if CPOOL_LEASES_MAX are open, or there is no memory or no cache left
 * for it.  NULL also in a pool for CPOOL_CAPACITY_MAX objects, if an end is proportional there.
 * Any thread.  It may block, and the first one of a pool makes system calls.
 * (Collective reset: "Unity C# memory management for game developers", part 3, 2013.)
 */
CPOOL_API cpool_object_lease_t *cpool_object_lease_begin(cpool_objects_t *pool) CPOOL_MUST_USE_
    CPOOL_NONNULL_(1);

/*
 * cpool_object_lease_get - gets an object that goes back with the lease.
 *
 * lease   open, begun by any thread
 *
 * Returns the object, recycled or new, or NULL if there is none, as cpool_object_get.  Also returns
 * NULL after CPOOL_ELEASE was reported: the lease has ended.  That is recognised until
 * CPOOL_LEASES_MAX others of the pool have begun.
 * Any thread, progress as cpool_lease_alloc and cpool_object_get.
 */
CPOOL_API void *cpool_object_lease_get(cpool_object_lease_t *lease) CPOOL_MUST_USE_
    CPOOL_NONNULL_(1);

/*
 * cpool_object_lease_adopt - moves an active object into the lease.
 *
 * object   from a get on the lease's pool, and not put back since.  NULL is a no-op
 *
 * From then on it is as if obtained by cpool_object_lease_get.  So cpool_object_obtain and
 * cpool_object_wait serve a lease, too.
 *
 * Returns 0, or a reported code, after which the object is still the caller's: CPOOL_ELEASE if
 * the lease has ended, or a code of cpool_object_put.  If several threads adopt or put one
 * object at once, exactly one call returns 0.
 * Any thread, progress as cpool_lease_adopt.
 */
CPOOL_API int cpool_object_lease_adopt(cpool_object_lease_t *lease, void *object)
    CPOOL_NONNULL_(1);

/*
 * cpool_object_lease_end - gives every object of the lease back, and closes it.
 *
 * The caller guarantees, by joining threads or otherwise, that no thread gets or adopts under the
 * lease meanwhile or later, and that none touches its objects afterwards.
 *
 * Returns the number of objects given back.  Returns 0 after CPOOL_ELEASE was reported: the lease
 * is NULL, has ended before, or is in use, as with cpool_lease_end.
 * Any thread.  It may block, and makes system calls.  It takes as long as the hooks of that many
 * puts, if there are any.
 */
CPOOL_API size_t cpool_object_lease_end(cpool_object_lease_t *lease);

/*
 * cpool_object_lease_reset - gives every object of the lease back, and leaves it open.
 *
 * The caller guarantees what cpool_object_lease_end says, but that threads may get and adopt later.
 * Where the end costs the same for any number of objects, and the calling thread alone has taken
 * part, the reset takes no lock (cpool_lease_reset).
 *
 * Returns the number of objects given back.  Returns 0 after CPOOL_ELEASE was reported: the lease
 * is NULL, has ended, or is in use.
 * Any thread, progress as cpool_lease_reset and cpool_object_lease_end.
 * (As cpool_lease_reset.)
 */
CPOOL_API size_t cpool_object_lease_reset(cpool_object_lease_t *lease);

/*
 * CPOOL_OBJECTS_DECLARE_LEASES - defines the functions of a typed object pool
 * (CPOOL_OBJECTS_DECLARE) for leases, which are inline.
 *
 * At file scope, after the declaration of the pool.  cpool_object_lease_end and
 * cpool_object_lease_reset take such a lease:
 *
 *     cpool_object_lease_t *<name>_lease_begin(void);          as cpool_object_lease_begin
 *     type *<name>_lease_get(cpool_object_lease_t *lease);     as cpool_object_lease_get
 *     int <name>_lease_adopt(cpool_object_lease_t *lease, type *object);
 *                                                              as cpool_object_lease_adopt
 */
#define CPOOL_OBJECTS_DECLARE_LEASES(name, type)                                       \
    /* cpool_object_lease_t *<name>_lease_begin(void)          opens a lease, or returns NULL \
     * type *<name>_lease_get(cpool_object_lease_t *lease)     an object that goes back with it \
     * int <name>_lease_adopt(cpool_object_lease_t *lease, type *object)   0 or a code */ \
    CPOOL_TYPED_INLINE_ cpool_object_lease_t *name##_lease_begin(void)                 \
    {                                                                                  \
        cpool_objects_t *cpool_pool_ = name##_objects();                               \
                                                                                       \
        return cpool_pool_ != NULL ? cpool_object_lease_begin(cpool_pool_) : NULL;     \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ type *name##_lease_get(cpool_object_lease_t *cpool_lease_)     \
    {                                                                                  \
        return CPOOL_CAST_(type *, cpool_object_lease_get(cpool_lease_));              \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ int name##_lease_adopt(cpool_object_lease_t *cpool_lease_,     \
                                               type *cpool_object_)                    \
    {                                                                                  \
        return cpool_object_lease_adopt(cpool_lease_, cpool_object_);                  \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_END_

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_OBJECT_LEASE_H */
