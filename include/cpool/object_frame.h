/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/object_frame.h - all objects obtained in a frame go back at once, constructed.
 *
 * OVERVIEW
 *
 *     cpool_object_frame_t *frame;
 *
 *     if (cpool_object_frame_begin(&frame, effects) != CPOOL_OK)
 *         ...
 *     struct effect *effect = cpool_object_frame_get(frame);   as often as you like
 *     ...
 *     cpool_object_frame_end(frame);                           all of them are inactive again
 *
 * No object is put back by itself.  At the end of the frame all of them are inactive, and stay
 * constructed.  Each is reset when it is got again, if ever.
 *
 * NOTES
 *
 * A frame of objects is a frame of their slots (cpool/frame.h), and what is said there of owners,
 * threads, mistakes and memory holds here.
 *
 * Cost: the end costs as much as that of a frame of slots, unless something is to be done for
 * each object.  That is so with the hook deactivate, with a reset and CPOOL_OBJECT_EAGER, with
 * max_inactive, CPOOL_OBJECT_COUNTED, CPOOL_OBJECT_FAKE or CPOOL_OBJECT_WAITABLE, in priority
 * pools, and in pools with CPOOL_TRACKED or CPOOL_CHECKED.  The end then puts the objects back
 * one by one.
 *
 * Objects of a frame count as active in the figures and against the capacity.  They are the
 * frame's, and no caller's: cpool_objects_next does not find them, a put is refused as
 * CPOOL_EINACTIVE, and cpool_objects_reset and cpool_objects_resize leave them alone.  In a
 * pool with CPOOL_OBJECT_FAKE they are active objects.  No priority pool reclaims them.
 *
 * Hooks: the hooks of a get run in cpool_object_frame_get, and those of a put at the end of the
 * frame, in its owner.  The object of a hook left by longjmp stays out of use, and the next end of
 * the frame goes on with the others.
 *
 * Destruction: cpool_objects_destroy ends all frames of the pool.  The objects in them count as
 * active.  In a pool with CPOOL_OBJECT_FAKE every frame is ended before.
 */
#ifndef CPOOL_OBJECT_FRAME_H
#define CPOOL_OBJECT_FRAME_H

#include <cpool/frame.h>
#include <cpool/object.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Frames of objects (cpool_object_frame.3) ------------------------------
 */

/* A frame of objects, known to the library alone. */
typedef struct cpool_object_frame cpool_object_frame_t;

/*
 * cpool_object_frame_begin - opens a frame on an object pool.
 *
 * Returns 0 and sets *frame, or sets it to NULL and returns a code of cpool_frame_begin.
 * Any thread, progress as cpool_frame_begin.
 * (Collective reset: "Unity C# memory management for game developers", part 3, 2013.)
 */
CPOOL_API int cpool_object_frame_begin(cpool_object_frame_t **frame, cpool_objects_t *pool);

/*
 * cpool_object_frame_get - gets an object that goes back with the frame.
 *
 * Returns the object, recycled or new, or NULL if there is none, as cpool_object_get.  Also returns
 * NULL after CPOOL_EFRAME was reported: the frame has ended.
 * The frame's owner, progress as cpool_object_get.
 */
CPOOL_API void *cpool_object_frame_get(cpool_object_frame_t *frame) CPOOL_MUST_USE_
    CPOOL_NONNULL_(1);

/*
 * cpool_object_frame_end - gives every object of the frame back, and closes it.
 *
 * frame   NULL is a no-op
 *
 * Nobody may use the objects afterwards.  CPOOL_EFRAME is reported if the frame has ended before.
 * The frame's owner, progress as cpool_frame_end.  It takes as long as the hooks of that many
 * puts, if there are any.
 */
CPOOL_API void cpool_object_frame_end(cpool_object_frame_t *frame);

/*
 * CPOOL_OBJECTS_DECLARE_FRAMES - defines the functions of a typed object pool
 * (CPOOL_OBJECTS_DECLARE) for frames, which are inline.
 *
 * At file scope, after the declaration of the pool.  cpool_object_frame_end takes such a frame:
 *
 *     int <name>_frame_begin(cpool_object_frame_t **frame);    as cpool_object_frame_begin
 *     type *<name>_frame_get(cpool_object_frame_t *frame);     as cpool_object_frame_get
 */
#define CPOOL_OBJECTS_DECLARE_FRAMES(name, type)                                       \
    /* int <name>_frame_begin(cpool_object_frame_t **frame)    opens a frame: 0 or a code \
     * type *<name>_frame_get(cpool_object_frame_t *frame)     an object that goes back with it */ \
    CPOOL_TYPED_INLINE_ int name##_frame_begin(cpool_object_frame_t **cpool_frame_)    \
    {                                                                                  \
        int cpool_code_;                                                               \
        cpool_objects_t *cpool_pool_ = cpool_typed_objects_open_abi1(&name##_objects_, NULL, \
                                                                     &cpool_code_);    \
                                                                                       \
        *cpool_frame_ = NULL;                                                          \
        if (cpool_code_ == 0)                                                          \
            cpool_code_ = cpool_object_frame_begin(cpool_frame_, cpool_pool_);         \
        return cpool_code_;                                                            \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ type *name##_frame_get(cpool_object_frame_t *cpool_frame_)     \
    {                                                                                  \
        return CPOOL_CAST_(type *, cpool_object_frame_get(cpool_frame_));              \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_END_

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_OBJECT_FRAME_H */
