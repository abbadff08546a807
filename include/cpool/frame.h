/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/frame.h - frames: everything obtained in a frame goes back at once.
 *
 * OVERVIEW
 *
 *     cpool_frame_t *frame;
 *
 *     if (cpool_frame_begin(&frame, particles) != CPOOL_OK)
 *         ...
 *     struct particle *p = cpool_frame_alloc(frame);     as often as you like
 *     ...
 *     cpool_frame_adopt(frame, q);                       q came from cpool_alloc
 *     ...
 *     cpool_frame_end(frame);                            all these slots are free again
 *
 * A loop opens one frame, and ends each iteration with cpool_frame_reset(frame).
 *
 * The slots of a frame are not freed one by one.  An alloc takes a slot from the calling thread's
 * cache, as cpool_alloc does, and records its address in the frame.  The record consists of
 * magazines, and the end gives each full magazine to the depot with one compare-and-swap.  So an
 * end costs about as much as freeing one slot of each magazine.
 *
 * NOTES: cpool_frame(3) has notes on threads, freeing, every kind of pool, mistakes, fork, error
 * handlers and memory (doc/man/cpool_frame.txt).
 */
#ifndef CPOOL_FRAME_H
#define CPOOL_FRAME_H

#include <cpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Frames (cpool_frame.3) ------------------------------------------------
 */

/* A frame.  Its members are for the library only. */
typedef struct cpool_frame cpool_frame_t;

/* The number of frames of one pool that may be open at once. */
#define CPOOL_FRAMES_MAX 32u

/*
 * cpool_frame_begin - opens a frame on a pool.
 *
 * Returns 0 and sets *frame.  Otherwise sets *frame to NULL and returns CPOOL_ELIMIT if
 * CPOOL_FRAMES_MAX are open, CPOOL_ENOMEM if the operating system refuses memory for the first one,
 * CPOOL_ENULL if an argument is NULL, or CPOOL_EPOOL, which is reported.  Any thread, lock-free,
 * except for the first frame of a pool, which may block and makes system calls.
 * (Regions: M. Tofte and J.-P. Talpin, "Region-Based Memory Management", Information and
 * Computation 132, 1997.)
 */
CPOOL_API int cpool_frame_begin(cpool_frame_t **frame, cpool_t *pool);

/*
 * cpool_frame_alloc - takes a slot that goes back with the frame.
 *
 * Returns the slot, or NULL if there is none, like cpool_alloc.  Also returns NULL after
 * CPOOL_EFRAME was reported, because the frame has ended.  For the frame's owner, progress as
 * cpool_alloc.
 */
CPOOL_LOCAL_ void *cpool_frame_alloc(cpool_frame_t *frame) CPOOL_MUST_USE_
    CPOOL_NONNULL_(1);

/*
 * cpool_frame_adopt - moves a live slot into the frame.
 *
 * slot   obtained by any thread with any function of the frame's pool, in no frame, and not freed
 *        since.  NULL is a no-op
 *
 * From then on the slot is treated as if obtained by cpool_frame_alloc.
 *
 * Returns 0, or a reported code, after which the slot is still the caller's.  CPOOL_EFRAME: the
 * frame has ended.  CPOOL_EFOREIGN, CPOOL_EMISALIGNED or CPOOL_EUNUSED: the address is wrong, as in
 * cpool_free.  CPOOL_EDOUBLEFREE: the slot is free (tracked and checked pools), or slots were freed
 * more often than they were obtained.  CPOOL_ERETIRED: the slot is retired (tracked and checked
 * pools).  CPOOL_EFRAMED: the slot is in a frame already (checked pools).  For the frame's owner,
 * progress as cpool_free.
 */
CPOOL_API int cpool_frame_adopt(cpool_frame_t *frame, void *slot);

/*
 * cpool_frame_end - gives every slot of the frame back, and closes it.
 *
 * frame   NULL is a no-op
 *
 * Nobody may use the slots afterwards.  CPOOL_EFRAME is reported if the frame has ended before.
 * CPOOL_EGUARD is reported as by cpool_free, but the slot still goes back.  For the frame's owner,
 * progress as cpool_free.
 */
CPOOL_API void cpool_frame_end(cpool_frame_t *frame);

/*
 * cpool_frame_reset - gives every slot of the frame back, and leaves it open.
 *
 * Like cpool_frame_end otherwise.  In a pool with the inline path, the slots of a frame that has
 * filled no magazine go into the thread's cache, in a few dozen instructions.  For the frame's
 * owner, progress as cpool_free.
 * (apr_pool_clear of the Apache Portable Runtime, Arena::Reset of Protocol Buffers.)
 */
CPOOL_API void cpool_frame_reset(cpool_frame_t *frame);

/* The slow path, called when the record is full, the thread's cache is empty, or the pool has no
 * inline path.  Refuses a frame of another pool than `typed`, unless that is NULL. */
CPOOL_API void *cpool_frame_alloc_abi1(cpool_frame_t *frame, const struct cpool_typed *typed);

/* Frozen, like the layouts in <cpool/fast.h>.  Only the frame's owner uses it. */
struct cpool_frame {
    cpool_t *pool; /* the pool of its slots, or NULL once it has ended */
    void **next;   /* where the next slot is recorded */
    void **end;    /* the inline path records only below this; NULL: never */
    void **first;  /* the record, as many slots as in a magazine */
    void *state;   /* the library's: all frames of the pool */
    uintptr_t full; /* the library's: magazines with earlier records, or 0 */
    void *owner;   /* the owner of a frame of objects, or NULL */
    uintptr_t reserved;
};

#if CPOOL_IS_INLINE_

/* The slot is stored before the record counts it, for the child of a fork. */
#define CPOOL_FRAME_NOTE_(frame, at, slot)                                             \
    do {                                                                               \
        *(at) = (slot);                                                                \
        __atomic_store_n(&(frame)->next, (at) + 1, __ATOMIC_RELEASE);                  \
    } while (0)

CPOOL_LOCAL_ void *cpool_frame_alloc(cpool_frame_t *frame)
{
    void **next = frame->next;
    cpool_cache_t *cache;
    void *slot;

    if (CPOOL_UNLIKELY_(next >= frame->end))
        return cpool_frame_alloc_abi1(frame, NULL);
    CPOOL_OWN_ENTRY_(cache, frame->pool);
    CPOOL_POP_(cache, slot, return cpool_frame_alloc_abi1(frame, NULL));
    if (slot == NULL) /* saves the caller of an inlined call its own test */
        __builtin_unreachable();
    CPOOL_FRAME_NOTE_(frame, next, slot);
    return slot;
}

/* Whether the inline path may record one more slot of this pool in the frame. */
#define CPOOL_FRAME_HAS_ROOM_(frame, of)                                               \
    (CPOOL_LIKELY_((frame)->next < (frame)->end) && CPOOL_LIKELY_((frame)->pool == (of)))

#else
CPOOL_LOCAL_ void *cpool_frame_alloc(cpool_frame_t *frame)
{
    return cpool_frame_alloc_abi1(frame, NULL);
}

#define CPOOL_FRAME_HAS_ROOM_(frame, of) 0
#define CPOOL_FRAME_NOTE_(frame, at, slot) ((void)(frame), (void)(at))
#endif /* CPOOL_IS_INLINE_ */

/*
 * CPOOL_DECLARE_FRAMES - defines the functions of a typed pool (CPOOL_DECLARE) for frames, which
 * are inline.
 *
 * At file scope, after the declaration of the pool.  cpool_frame_end and cpool_frame_reset take
 * such a frame:
 *
 *     int <name>_frame_begin(cpool_frame_t **frame);    as cpool_frame_begin
 *     type *<name>_frame_alloc(cpool_frame_t *frame);   as cpool_frame_alloc
 *     int <name>_frame_adopt(cpool_frame_t *frame, type *slot);   as cpool_frame_adopt
 *
 * <name>_frame_alloc takes as long as <name>_alloc and a record of the slot.  On a frame of another
 * pool it reports CPOOL_EFRAME and returns NULL.
 */
#define CPOOL_DECLARE_FRAMES(name, type)                                               \
    /* int <name>_frame_begin(cpool_frame_t **frame)     opens a frame: 0 or a code    \
     * type *<name>_frame_alloc(cpool_frame_t *frame)    takes a slot that goes back with it \
     * int <name>_frame_adopt(cpool_frame_t *frame, type *slot)   moves one: 0 or a code */    \
    CPOOL_TYPED_INLINE_ int name##_frame_begin(cpool_frame_t **cpool_frame_)           \
    {                                                                                  \
        int cpool_code_ = cpool_typed_open_abi1(&name##_typed_, NULL);                 \
                                                                                       \
        if (cpool_code_ == 0)                                                          \
            return cpool_frame_begin(cpool_frame_, name##_pool());                     \
        *cpool_frame_ = NULL;                                                          \
        return cpool_code_;                                                            \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ type *name##_frame_alloc(cpool_frame_t *cpool_frame_)          \
    {                                                                                  \
        type *cpool_slot_;                                                             \
                                                                                       \
        if (!CPOOL_FRAME_HAS_ROOM_(cpool_frame_, name##_typed_.pool))                  \
            return CPOOL_CAST_(type *, cpool_frame_alloc_abi1(cpool_frame_,            \
                                                              &name##_typed_));        \
        cpool_slot_ = name##_alloc();                                                  \
        if (cpool_slot_ != NULL)                                                       \
            CPOOL_FRAME_NOTE_(cpool_frame_, cpool_frame_->next, cpool_slot_);          \
        return cpool_slot_;                                                            \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ int name##_frame_adopt(cpool_frame_t *cpool_frame_, type *cpool_slot_) \
    {                                                                                  \
        return cpool_frame_adopt(cpool_frame_, cpool_slot_);                           \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_END_

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_FRAME_H */
