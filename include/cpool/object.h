/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/object.h - pools of objects that are constructed once and used again.
 *
 * OVERVIEW
 *
 * An object pool has slots with constructed objects in them.  A type has the hooks that
 * create, activate, deactivate, reset and destroy objects.  An object stays constructed when
 * it is put back, so the next get returns an open connection, an initialised mutex or an
 * already grown buffer:
 *
 *     static int open_it(void *object, void *arg)
 *     {
 *         struct connection *connection = object;
 *
 *         connection->socket = connect_to(arg);
 *         return connection->socket >= 0 ? 0 : errno;
 *     }
 *     ...
 *     cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
 *     cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
 *     cpool_objects_t *connections;
 *
 *     type.object_size = sizeof(struct connection);
 *     type.create = open_it;
 *     type.destroy = close_it;
 *     config.type = &type;
 *     config.growth = 1;
 *     config.max_capacity = 8;
 *     if (cpool_objects_create(&connections, &config) != 0)
 *         ...
 *     struct connection *connection = cpool_object_get(connections);
 *     ...
 *     cpool_object_put(connections, connection);
 *
 * An object is inactive while it is in the pool, and active while a caller has it.
 * The pool knows each active object: it refuses to take an inactive one back, lists the
 * active ones, and can put all of them back at once.
 *
 * NOTES: cpool_object(3) has notes on capacity, the order of hooks, what hooks may do, memory,
 * fork and fake pools (doc/man/cpool_object.txt).
 */
#ifndef CPOOL_OBJECT_H
#define CPOOL_OBJECT_H

#include <cpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A pool of objects. */
typedef struct cpool_objects cpool_objects_t;

/*
 * ---- Object pools (cpool_object.3) -----------------------------------------
 */

/*
 * Flags of a configuration, besides those of cpool_config_t.
 *
 * CPOOL_OBJECT_EAGER    Objects are reset when they are put back.  Otherwise they are
 *                       reset when they are handed out again, if ever.
 */
#define CPOOL_OBJECT_EAGER 0x10000u

/*
 * CPOOL_OBJECT_COUNTED  The numbers of active objects, now and at most, are exact.  Each
 *                       get and put then changes one word that all threads share.
 */
#define CPOOL_OBJECT_COUNTED 0x20000u

/*
 * CPOOL_OBJECT_TRACED   Time and caller of each get are kept, for cpool_objects_next.
 *                       Each get then reads the clock.
 */
#define CPOOL_OBJECT_TRACED 0x40000u

/*
 * CPOOL_OBJECT_FAKE     The pool keeps no objects (see cpool_object(3)).
 */
#define CPOOL_OBJECT_FAKE 0x80000u

/*
 * CPOOL_OBJECT_NO_DEACTIVATE  Active objects that cpool_objects_destroy or
 *                       cpool_objects_resize destroys are not deactivated before.
 */
#define CPOOL_OBJECT_NO_DEACTIVATE 0x100000u

/*
 * CPOOL_OBJECT_WAITABLE  Threads may wait for an object: cpool_object_get_with.  Room for another
 *                       object is then offered to them one by one, which takes more time
 *                       than room that nobody waits for.
 */
#define CPOOL_OBJECT_WAITABLE 0x800000u

/*
 * CPOOL_OBJECT_PRIORITY  A dry pool reclaims its least important object: <cpool/priority.h>.  Its
 *                       active objects are counted.  Not with CPOOL_OBJECT_WAITABLE.
 */
#define CPOOL_OBJECT_PRIORITY 0x400000u

/*
 * CPOOL_OBJECT_KEEP_LARGER  With CPOOL_OBJECT_PRIORITY: a get reclaims no object with a larger
 *                       number than its own.  It returns CPOOL_EDRY instead.
 */
#define CPOOL_OBJECT_KEEP_LARGER 0x8000000u

/*
 * The type of a pool's objects.  Start from CPOOL_OBJECT_TYPE_INIT.  Several pools may
 * have the same type.  Any hook may be NULL.  `arg` is passed to all of them.
 */
typedef struct cpool_object_type {
    size_t size;                               /* sizeof(cpool_object_type_t), set by the
                                                  initialiser */
    size_t object_size;                        /* bytes, 1 or more */
    size_t object_align;                       /* as slot_align of cpool_config_t */
    int (*create)(void *object, void *arg);    /* constructs it, once.  Returns 0, or a code
                                                  for the caller of the get, which is passed
                                                  on as it is: there is then no object.  The
                                                  library's own codes are negative */
    int (*activate)(void *object, void *arg);  /* readies it for a caller.  Returns 0, or a
                                                  code: the object is unfit, and destroyed.
                                                  A recycled one is replaced by a new one,
                                                  if there is a hook create */
    void (*deactivate)(void *object, void *arg); /* the caller is done with it */
    void (*reset)(void *object, void *arg);    /* makes it as good as new */
    void (*destroy)(void *object, void *arg);  /* the reverse of create */
    void *arg;                                 /* the user's */
} cpool_object_type_t;

#define CPOOL_OBJECT_TYPE_INIT                                                 \
    {                                                                          \
        sizeof(cpool_object_type_t), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL  \
    }

/*
 * A pool's configuration.  Start from CPOOL_OBJECTS_CONFIG_INIT and set what you need.
 */
typedef struct cpool_objects_config {
    size_t size;                            /* sizeof(cpool_objects_config_t), set by the
                                               initialiser */
    const char *name;                       /* as of cpool_config_t */
    const cpool_object_type_t *type;        /* copied */
    void (*reset)(void *object, void *arg); /* the pool's own, after the type's, or NULL */
    void *reset_arg;                        /* the user's */
    size_t capacity;         /* objects that may exist at first, 0 or more */
    size_t max_capacity;     /* objects that may ever exist.  0: capacity, or for a
                                pool that grows by itself 16 million, fewer if the
                                address space has no room for them */
    size_t growth;           /* objects by which a dry pool raises its capacity, and which
                                it creates at once.  0: it does not grow by itself */
    size_t populate;         /* objects created with the pool, up to the capacity */
    size_t max_inactive;     /* a put beyond this number of inactive objects destroys its
                                object.  0: all are kept */
    unsigned flags;          /* CPOOL_OBJECT_EAGER ..., and those of the pool of slots:
                                CPOOL_CHECKED ..., or 0.  CPOOL_NO_POISON is always set */
    size_t thread_caches;    /* as of cpool_config_t */
} cpool_objects_config_t;

#define CPOOL_OBJECTS_CONFIG_INIT                                              \
    {                                                                          \
        sizeof(cpool_objects_config_t), NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0u, 0        \
    }

/*
 * cpool_objects_create - makes an object pool.
 *
 * pool     receives the pool, set to NULL on failure
 * config   copied, with its type
 *
 * Returns 0, CPOOL_ENULL (also without a type), CPOOL_ECAPACITY if no object could ever exist
 * or populate is above max_inactive, CPOOL_EFLAGS, or the code of cpool_create or of the
 * create hook that failed while the pool was populated.  A failure leaves nothing behind.
 * Any thread.  It may block, makes system calls and calls the hook create.
 * (Hooks, growth and the fake pool: H. Tulleken, "Design and implementation of object
 * pools", 2024.)
 */
CPOOL_API int cpool_objects_create(cpool_objects_t **pool, const cpool_objects_config_t *config)
    CPOOL_MUST_USE_;

/*
 * cpool_objects_destroy - destroys all objects, and the pool.
 *
 * pool   no thread may be using it, or use it later.  NULL is a no-op
 *
 * Active objects are deactivated, unless the pool has CPOOL_OBJECT_NO_DEACTIVATE, and
 * destroyed, too.
 *
 * Returns 0, CPOOL_ELIVE if objects were active, CPOOL_EHOOK, which is reported, if
 * a hook was left without returning, or the code of cpool_destroy.  In the child of a
 * fork, objects that other threads were getting or putting at that moment count as active.
 * The pool is gone with every code.
 * It may block, makes system calls and calls the hooks deactivate and destroy.
 */
CPOOL_API int cpool_objects_destroy(cpool_objects_t *pool);

/* One use of one object, from a get until it is put back.  0: none. */
typedef uint64_t cpool_claim_t;

/* What a get is told, and what it tells beside the object.  Start from CPOOL_GRANT_INIT. */
typedef struct cpool_grant {
    size_t size;         /* sizeof(cpool_grant_t), set by the initialiser */
    int64_t priority;    /* told: the object's number, in a priority pool */
    uint64_t wait_ns;    /* told: the longest time to wait for an object, in nanoseconds.
                            UINT64_MAX: as long as it takes */
    cpool_claim_t claim; /* its use from now on, or 0 without an object */
    cpool_claim_t ended; /* the use that ended for it, or 0 if the object was not
                            reclaimed */
    uint64_t uses;       /* times the object has been handed out since its creation, modulo
                            2^29.  1: it is new */
} cpool_grant_t;

#define CPOOL_GRANT_INIT                                                       \
    {                                                                          \
        sizeof(cpool_grant_t), 0, 0, 0, 0, 0                                   \
    }

/*
 * cpool_object_get - gets an object, recycled or new.
 *
 * Returns the object, or NULL if there is none.  cpool_object_get_with returns the reason.
 * Any thread.  Without hooks progress is that of cpool_alloc.  Otherwise it takes as long as the
 * hooks activate, reset, create and destroy.
 */
CPOOL_API void *cpool_object_get(cpool_objects_t *pool) CPOOL_MUST_USE_ CPOOL_NONNULL_(1);

/*
 * cpool_object_get_with - cpool_object_get with a priority or a wait, and with the reason for a
 * failure.
 *
 * object   receives the object, or NULL
 * grant    has the object's priority and the time to wait, and receives its claim and how often it
 *          was handed out.  NULL: a priority of 0, and no wait, as cpool_object_get
 *
 * A thread waits in a pool with CPOOL_OBJECT_WAITABLE, as in cpool_alloc_wait.  In a fake pool it
 * looks again every tenth of a millisecond.
 *
 * Returns 0, CPOOL_EDRY if max_capacity is active or the pool may not grow, and the time to wait is
 * up or cpool_wait_close has ended it, CPOOL_ENOMEM, CPOOL_ESTRUCT for a wrong grant,
 * CPOOL_EKIND, which is reported, for a wait in another pool, or the code of the failed hook,
 * create or activate.  A failure loses no object.  <cpool/priority.h> says what a dry priority pool
 * does.
 *
 * It looks for room and for an inactive object in turn.  If other threads destroy the last inactive
 * object between two looks, put back another one and use the room for a new object, it misses
 * both and returns CPOOL_EDRY, though there was always one of the two.  The next call finds what
 * is left.  A call that waits does not miss it.
 * Any thread, progress as cpool_object_get.  It blocks if it is to wait.
 */
CPOOL_API int cpool_object_get_with(cpool_objects_t *pool, void **object, cpool_grant_t *grant)
    CPOOL_MUST_USE_ CPOOL_NONNULL_(1) CPOOL_NONNULL_(2);

/*
 * cpool_object_put - gives an object back, from any thread.
 *
 * object   from a get on the same pool.  NULL is a no-op
 *
 * A mistake is reported, and changes nothing: CPOOL_EFOREIGN or CPOOL_EMISALIGNED for an address
 * that is not one of the pool's objects, CPOOL_EINACTIVE for an inactive one.  If several threads
 * put an object back at once, all calls but one are reported.  CPOOL_EGUARD, in pools with
 * CPOOL_CHECKED: the bytes around the object were overwritten.  They are repaired, the object
 * stays active, and the next put succeeds.
 * Any thread.  Without hooks progress is that of cpool_free.  Otherwise it takes as long as the
 * hooks deactivate, reset and destroy.
 */
CPOOL_API void cpool_object_put(cpool_objects_t *pool, void *object) CPOOL_NONNULL_(1);

/*
 * cpool_object_release - cpool_object_put, on the pool of the object.
 *
 * object   an active object of any object pool.  NULL is a no-op
 *
 * So an object can give itself back, and a caller need not remember its pool.  An
 * address in no object pool is reported as CPOOL_EFOREIGN.  While fake pools exist
 * the bytes before such an address are read.
 * Any thread, progress as cpool_object_put and cpool_of.
 */
CPOOL_API void cpool_object_release(void *object);

/*
 * ---- Number of objects (cpool_object_size.3) -------------------------------
 */

/* cpool_objects_resize's flag: active objects may be destroyed, too, as cpool_objects_destroy
 * does it, after all inactive ones.  Their callers must not use them any more. */
#define CPOOL_OBJECT_ACTIVE_TOO 0x200000u

/*
 * cpool_objects_resize - raises or lowers the capacity by up to so many objects.
 *
 * by      objects more, within max_capacity, or fewer, if it is negative
 * flags   0, or CPOOL_OBJECT_ACTIVE_TOO.  With any other, reported as CPOOL_EFLAGS, it does nothing
 *
 * More: it creates none.  Gets create objects when they need them, or cpool_objects_populate does.
 *
 * Fewer: objects that do not exist yet go first, then inactive ones, which are destroyed.  Of a
 * priority pool's active ones the least important go first, and those of CPOOL_PRIORITY_KEPT stay.
 * Then pages that hold only destroyed objects go back to the operating system, also where `by` is
 * 0.  A pool that grows by itself may grow again.
 *
 * Returns the number of objects by which the capacity was raised or lowered.
 * Any thread.  Raising is lock-free, but in a pool with CPOOL_OBJECT_WAITABLE it may block.
 * Lowering takes as long as the hooks deactivate and destroy, may block and makes system calls.  It
 * gives back at most 4 MiB, or one object, at a time, and meanwhile a fork waits, and so does a get
 * that finds no other slot.
 */
CPOOL_API size_t cpool_objects_resize(cpool_objects_t *pool, ptrdiff_t by, unsigned flags)
    CPOOL_NONNULL_(1);

/*
 * cpool_objects_populate - creates up to n inactive objects, within the capacity.
 *
 * code   receives 0, or the reason for creating fewer: CPOOL_EDRY at the capacity or at
 *        max_inactive, CPOOL_ENOMEM, CPOOL_EPOOL, which is reported, or the code of the hook
 *        create.  May be NULL
 *
 * Returns the number created.  A fake pool creates none.  In a pool with CPOOL_OBJECT_WAITABLE it
 * may be up to eight fewer than there is room for, with CPOOL_EDRY: waiting threads get those.
 * Any thread.  It takes as long as the hook create.
 */
CPOOL_API size_t cpool_objects_populate(cpool_objects_t *pool, size_t n, int *code)
    CPOOL_NONNULL_(1);

/*
 * A pool's figures.  While other threads use the pool, `active`, `inactive` and `available`
 * are estimates unless the pool is counted.  Start from CPOOL_OBJECTS_STATS_INIT.
 */
typedef struct cpool_objects_stats {
    size_t size;            /* sizeof(cpool_objects_stats_t), set by the initialiser */
    size_t capacity;        /* objects that may exist now */
    size_t max_capacity;    /* objects that may ever exist */
    size_t objects;         /* objects that exist: active, inactive, or in a hook */
    size_t active;          /* objects that callers have */
    size_t inactive;        /* objects in the pool */
    size_t available;       /* objects that gets may find or create, if no hook fails */
    size_t peak;            /* the most that were ever active at once, with
                               CPOOL_OBJECT_COUNTED, in a priority pool or in a fake pool.
                               Otherwise the largest number of objects that ever existed */
    uint64_t creations;     /* objects created so far */
    uint64_t destructions;  /* objects destroyed so far */
    uint64_t hook_failures; /* of create and activate so far */
} cpool_objects_stats_t;

#define CPOOL_OBJECTS_STATS_INIT                                               \
    {                                                                          \
        sizeof(cpool_objects_stats_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0            \
    }

/*
 * cpool_objects_read_stats - reads the figures.
 *
 * Returns 0, CPOOL_ENULL, CPOOL_ESTRUCT, or CPOOL_EPOOL, which is reported.
 * Any thread.  It may block.
 */
CPOOL_API int cpool_objects_read_stats(const cpool_objects_t *pool, cpool_objects_stats_t *stats);

/*
 * ---- Active objects (cpool_objects_next.3) ---------------------------------
 */

/* An active object, and how far an iteration has come.  Start from CPOOL_OBJECT_INFO_INIT. */
typedef struct cpool_object_info {
    size_t size;      /* sizeof(cpool_object_info_t), set by the initialiser */
    size_t next;      /* index of the next object to examine */
    void *object;     /* the one found last, or NULL */
    size_t index;     /* below max_capacity.  No other object of the pool has it now */
    const void *site; /* the caller that got it (CPOOL_OBJECT_TRACED), or NULL */
    uint64_t uses;    /* as in cpool_grant_t */
    uint64_t age_ns;  /* nanoseconds since it was handed out (CPOOL_OBJECT_TRACED), or 0 */
} cpool_object_info_t;

#define CPOOL_OBJECT_INFO_INIT                                                 \
    {                                                                          \
        sizeof(cpool_object_info_t), 0, NULL, 0, NULL, 0, 0                    \
    }

/*
 * cpool_objects_next - the next active object.
 *
 *     cpool_object_info_t info = CPOOL_OBJECT_INFO_INIT;
 *
 *     while (cpool_objects_next(connections, &info) != NULL)
 *         printf("%p: %llu ns\n", info.object, (unsigned long long)info.age_ns);
 *
 * info   receives the object.  It holds nothing between two calls, and need not be closed
 *
 * The loop may use the pool.  Objects active throughout it are found exactly once, and those that
 * become or cease to be active meanwhile at most once.  Nothing keeps the object active: the
 * caller ensures that nobody puts back an object that the loop touches.
 *
 * Returns the object, or NULL if there are no more, or after CPOOL_ESTRUCT or CPOOL_EPOOL was
 * reported.
 * Any thread, wait-free.  The cost of all calls depends on the largest number of objects that ever
 * existed at once.
 */
CPOOL_API void *cpool_objects_next(const cpool_objects_t *pool, cpool_object_info_t *info)
    CPOOL_NONNULL_(1) CPOOL_NONNULL_(2);

/*
 * cpool_objects_reset - puts up to n active objects back, on behalf of their callers.
 *
 * n   SIZE_MAX is all of them
 *
 * Of a priority pool the least important ones go first, and those of CPOOL_PRIORITY_KEPT stay
 * unless n is SIZE_MAX.  Their callers must not use them any more.  A late put is refused as
 * CPOOL_EINACTIVE, unless the object has been handed out again.
 *
 * Returns the number put back.  It is smaller than n if fewer objects were active, kept ones and
 * those that other threads were getting or putting at this moment aside.
 * Any thread, progress as that many puts.
 */
CPOOL_API size_t cpool_objects_reset(cpool_objects_t *pool, size_t n) CPOOL_NONNULL_(1);

/*
 * cpool_objects_pool - the pool of the objects' slots, or NULL for a fake pool.
 *
 * It serves cpool_index, cpool_at, cpool_owns, cpool_print and other queries, and cpool_wait_close,
 * _open and _cancel for threads that wait in cpool_object_get_with.  cpool_read_stats
 * counts as live all slots but those of inactive objects, and cpool_print those of active
 * objects.  The object pool owns its slots: functions that allocate or free slots, or change
 * their number, report it as CPOOL_EPOOL.
 * Returns NULL for a pool that has ended, too.
 * Any thread, wait-free.
 */
CPOOL_LOCAL_ cpool_t *cpool_objects_pool(const cpool_objects_t *pool) CPOOL_NONNULL_(1);

CPOOL_LOCAL_ cpool_t *cpool_objects_pool(const cpool_objects_t *pool)
{
    const void *first = pool; /* the pool of slots is the first word */

    return *CPOOL_CAST_(cpool_t *const *, first);
}

#include <cpool/object_typed.h>

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_OBJECT_H */
