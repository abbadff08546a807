/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/client.h - for libraries over pools, such as object pools, blocks of many sizes, lanes and
 * retired slots.  Programs do not need it.
 *
 * OVERVIEW
 *
 * A client is a structure of such a library, with one or more pools whose slots only the client
 * takes and gives:
 *
 *     struct stack {
 *         cpool_client_t client;
 *         cpool_t *slots;
 *         ...
 *     };
 *
 *     stack->client.size = sizeof stack->client;
 *     stack->client.kind = CPOOL_VIEW_OBJECTS;
 *     stack->client.owner = stack;
 *     stack->client.name = stack->name;
 *     code = cpool_client_create(&stack->client, &config);
 *     if (code == CPOOL_OK) {
 *         stack->slots = stack->client.pool;
 *         cpool_client_show(&stack->client, true);
 *     }
 *     ...
 *     cpool_client_show(&stack->client, false);
 *     cpool_destroy(stack->slots);
 *
 * Such a pool has two descriptors.  The client takes and gives slots through the first one, `pool`,
 * with the functions of <cpool.h>.  Everybody else sees the second one, its `face`: cpool_of,
 * cpool_each, cpool_read_stats, cpool_print and reports show the client by kind and name.
 * Functions that take or give slots, or change their number, report a face as CPOOL_EPOOL.
 * cpool_index and cpool_at need no call for a face, but they do for `pool`.
 *
 * NOTES
 *
 * Slots: a client that decides itself how many slots there are creates the pool with `capacity`
 * equal to `max_capacity`, and lowers the capacity with cpool_shrink before the first alloc.  Such
 * a pool never grows by itself, and its figures show as capacity how many slots were handed out.
 *
 * The inline path: if `direct` is true, allocs and frees only pop a slot from the thread's loaded
 * magazine, or push it.  A client may do that with CPOOL_OWN_ENTRY_, CPOOL_POP_ and CPOOL_PUSH_ of
 * <cpool/fast.h>.  If the pop finds nothing, it calls cpool_client_take(pool, CPOOL_CLIENT_NEAR,
 * NULL) or cpool_alloc_abi1; if the push fails, cpool_free_abi1.  With `none`, a descriptor without
 * a pool, every pop finds nothing and every push fails.
 *
 * The lock: cpool_client_lock takes the library's only lock, for which a fork waits.  The library
 * calls `figures`, `retired` and `ended` with it held.  Functions of this header and
 * cpool_read_stats may be called with it held, other functions only if they say so.
 */
#ifndef CPOOL_CLIENT_H
#define CPOOL_CLIENT_H

#include <cpool.h>
#include <cpool/pools.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Clients of pools (cpool_client.3) --------------------------------------
 */

/* A flag for a pool's configuration and cpool_client_memory: addresses without memory.  In a
 * configuration, `memory` and `memory_size` are then addresses that the client has reserved.  The
 * pool commits what it needs of them, and gives memory back when it is trimmed.  They start at a
 * page, or at a huge page with CPOOL_HUGE_PAGES.  cpool_memory_required accepts the flag,
 * too, but cpool_create refuses it. */
#define CPOOL_CLIENT_RESERVED 0x10000000u

/* Flags of cpool_client_memory.  HUGE: start at a huge page.  SPARING: fail if this is more than
 * half of a limited address space. */
#define CPOOL_CLIENT_HUGE 0x20000000u
#define CPOOL_CLIENT_SPARING 0x40000000u

struct cpool_frame; /* <cpool/frame.h> */

/* What the library knows about the process, and does for a client. */
typedef struct cpool_client_system {
    const unsigned *forks;   /* atomic: another number in the child of each fork.  Threads that
                                worked under another number may have vanished */
    const unsigned *ends;    /* atomic: 1 once exit has been called */
    uint64_t (*now)(void);   /* the monotonic clock, nanoseconds */
    void (*back_off)(unsigned times); /* lets a thread run that this one waits for, for the
                                `times`-th time in a row.  From 32 on it sleeps for a tenth of a
                                millisecond */
    bool (*barrier)(void);   /* every thread that runs passes a full memory barrier.  False if the
                                system has none, or refuses it */
    bool (*has_barrier)(void); /* false from then on, for everybody.  Wait-free */
    void *(*frame_take)(struct cpool_frame *frame); /* takes the slot that was recorded last off
                                the frame, or returns NULL.  The frame's owner */
    void (*frame_each)(const cpool_t *pool, void (*visit)(struct cpool_frame *frame, void *arg),
                       void *arg); /* visits the frames of a client's pool that are open, when the
                                pool ends */
    bool (*block)(void *block, size_t size, bool taken); /* tells Memcheck of a block that somebody
                                points to, inside one that nobody does, and of its end.  The outer
                                one does not move meanwhile.  NULL: tells nothing.  False if there
                                is no Memcheck */
} cpool_client_system_t;

struct cpool_client_owned;

/* What a library wants to be told, once for all its clients.  Only one library in a process may
 * have `give_back` and `retired`; all others leave both NULL. */
typedef struct cpool_client_hooks {
    size_t (*give_back)(cpool_t *pool, bool ends); /* an alloc has found nothing, or the pool `ends`
                                or is reset.  Frees retired slots of the pool, and returns their
                                number.  If the pool ends, forgets all others.  Any thread,
                                without the lock */
    void (*retired)(const cpool_t *pool, cpool_stats_t *stats); /* adds the number of retired slots
                                of the pool to stats->retired.  With the lock held */
    void (*ended)(struct cpool_client_owned *owned, bool vanished); /* takes a possession from its
                                thread, which ends, or has vanished in a fork.  Calls
                                cpool_client_own with a NULL key.  With the lock held, which it
                                may release meanwhile if the thread has not vanished */
} cpool_client_hooks_t;

/* A client, in its own memory, initially zero.  The first members are set before
 * cpool_client_create, which sets the others. */
typedef struct cpool_client {
    size_t size;       /* sizeof(cpool_client_t) */
    unsigned kind;     /* CPOOL_VIEW_OBJECTS, _SIZED or _LANES.  0: it is not shown */
    void *owner;       /* the client's own structure, as cpool_view_t has it */
    const char *name;  /* of the client */
    bool sums;         /* `figures` adds up those of several pools, and none of them is shown */
    /* Changes the figures of `pool`, or fills in those of all pools, which are 0.  With the lock
     * held.  NULL: the figures of `pool` are shown. */
    void (*figures)(const void *owner, cpool_stats_t *stats);
    const cpool_client_hooks_t *hooks; /* or NULL */

    cpool_t *pool;     /* the pool that was created last */
    cpool_t *face;     /* what everybody else sees of it */
    cpool_t *none;     /* a descriptor of no pool */
    unsigned flags;    /* the pool's flags, with those of CPOOL_OPTIONS */
    bool direct;       /* see the notes on the inline path */
    const cpool_client_system_t *system;

    /* For the library, while the client is shown. */
    bool shown;
    uint64_t number;
    struct cpool_client *next;
} cpool_client_t;

/*
 * cpool_client_create - makes a pool whose slots are a client's, or a key.
 *
 * client   it may have others, and be shown already
 * config   as of cpool_create.  NULL: `pool` is a key, a descriptor without slots, under which
 *          each thread may keep something (cpool_client_own)
 *
 * A pool ends with cpool_destroy.  A client has one key at most, and no pools beside it.  The key
 * ends when the client is hidden, or at once if it was never shown.
 *
 * Returns 0, or a code of cpool_create.
 * Any thread, also with the lock held if an equal one was created before.  It may block.
 */
CPOOL_API int cpool_client_create(cpool_client_t *client, const cpool_config_t *config)
    CPOOL_MUST_USE_;

/*
 * cpool_client_show - shows a client, which is complete, or hides it again.
 *
 * From then on cpool_each shows it, and addresses lead to it: in the pool that was created last,
 * and in those that are created later.  It is hidden before its pools are destroyed.
 *
 * Any thread.  It takes the lock, if the thread has not got it.
 */
CPOOL_API void cpool_client_show(cpool_client_t *client, bool shown);

/* Where cpool_client_take looks. */
enum cpool_client_from {
    CPOOL_CLIENT_NEAR, /* in the calling thread's cache and in the depot.  Other threads' caches
                          may have free slots, too: cpool_alloc looks there */
    CPOOL_CLIENT_FRESH /* slots that were never handed out, or not since a reset: past all caches,
                          and beyond the capacity, which stays as it is */
};

/*
 * cpool_client_take - takes a slot of one origin.
 *
 * pool   a client's, or none
 * n      of fresh slots that lie side by side, how many to take.  Set to their number, which is 1
 *        in tracked and checked pools.  NULL: one
 *
 * Returns the first slot, or NULL if there is none there, or the operating system refuses memory.
 * Any thread, lock-free.
 */
CPOOL_API void *cpool_client_take(cpool_t *pool, enum cpool_client_from from, size_t *n)
    CPOOL_MUST_USE_ CPOOL_NONNULL_(1);

/*
 * cpool_client_discard - gives the pages within n slots back to the operating system.
 *
 * first   the one with the lowest address.  All are live, and the client's
 *
 * The bytes of these slots on such pages become zero.  Checked pools, and pools in caller-provided
 * memory, keep theirs.
 *
 * Returns the bytes given back.
 * Any thread, lock-free.
 */
CPOOL_API size_t cpool_client_discard(cpool_t *pool, void *first, size_t n) CPOOL_NONNULL_(1);

/*
 * cpool_client_lock, cpool_client_unlock - the library's lock.
 *
 * Returns false, and takes nothing, if the calling thread has it already.
 * Any thread.  It blocks.
 */
CPOOL_API bool cpool_client_lock(void);
CPOOL_API void cpool_client_unlock(void);

/*
 * cpool_client_report - tells the error handler of a caller's mistake.
 *
 * error    with the members that are known.  `text` is made from the format, as printf does
 *
 * It returns if the handler does, which may also leave it by longjmp or by an exception.
 * Any thread.  It takes the lock for a moment, if the thread has not got it.
 */
CPOOL_API void cpool_client_report(cpool_error_t *error, const char *format, ...)
#if defined(__GNUC__) && !defined(__MINGW32__)
    __attribute__((__format__(__printf__, 2, 3)))
#endif
    ;

/*
 * cpool_client_memory - memory of whole pages, which reads as zero, past malloc.
 *
 * flags   0, CPOOL_CLIENT_RESERVED, CPOOL_CLIENT_HUGE and CPOOL_CLIENT_SPARING
 *
 * It is resident as far as it is touched.  Returns NULL if the operating system refuses it.
 * Any thread.  It makes system calls.
 */
CPOOL_API void *cpool_client_memory(size_t size, unsigned flags) CPOOL_MUST_USE_;

/*
 * cpool_client_release - gives memory of cpool_client_memory back, whole.
 *
 * flags   as for cpool_client_memory
 * ended   a word in a structure that lies there.  It is set to 1, and the memory stays until 255
 *         others have ended, or 1 MiB of them.  So functions that are given the structure after
 *         its end can refuse it.  NULL: nothing of it stays
 *
 * Any thread, and without the lock.
 */
CPOOL_API void cpool_client_release(void *memory, size_t size, unsigned flags,
                                    uintptr_t *ended);

/* Something that a thread owns until its end. */
typedef struct cpool_client_owned {
    const cpool_client_hooks_t *hooks; /* `ended` is called at the thread's end */

    /* The library's. */
    void *thread; /* NULL: nobody owns it */
    cpool_t *key;
    struct cpool_client_owned *next;
    struct cpool_client_owned **link;
} cpool_client_owned_t;

/*
 * cpool_client_own - the calling thread owns a thing under a key, or nobody does any more.
 *
 * key     NULL: nobody
 * owned   NULL: readies the thread, so that the call with the lock held that follows does not fail
 *
 * Returns 0, or CPOOL_ENOMEM: without memory, in a thread that has run its destructors, or with the
 * lock held in a thread that is not ready.
 * Any thread, with the lock held or without.
 */
CPOOL_API int cpool_client_own(cpool_t *key, cpool_client_owned_t *owned);

#if defined(__GNUC__)
/* The thing that the calling thread owns under a key, or NULL.  Wait-free. */
CPOOL_LOCAL_ cpool_client_owned_t *cpool_client_find(const cpool_t *key)
{
    const cpool_cache_t *entry;

    CPOOL_OWN_ENTRY_(entry, key);
    return CPOOL_CAST_(cpool_client_owned_t *, entry->home);
}

/* The owner of a pool by its face, as cpool_of returns it: of a client of this kind, from when it
 * is shown until its pools end.  NULL: there is none.  Wait-free, async-signal-safe. */
CPOOL_LOCAL_ void *cpool_client_owner(const cpool_t *face, unsigned kind)
{
    uintptr_t word = __atomic_load_n(&face->client, __ATOMIC_ACQUIRE);
    const cpool_client_t *client = CPOOL_CAST_(const cpool_client_t *, word);

    return word % 2 == 0 && client != NULL && client->kind == kind ? client->owner : NULL;
}
#endif

/* The steps of slots that are retired. */
enum cpool_client_step {
    CPOOL_CLIENT_NOTED, /* slots of this pool will be retired.  Returns 1 if the pool keeps their
                           states, so that it has to know of the other steps, 0 if it does not, or
                           CPOOL_EPOOL */
    CPOOL_CLIENT_ASKED, /* may they be retired? */
    CPOOL_CLIENT_OUT,   /* they are retired now */
    CPOOL_CLIENT_BACK   /* they may be freed from now on */
};

/*
 * cpool_client_retire - n slots of anybody's pool are retired, or come back.
 *
 * Returns 0, or why a slot may not be retired, which is reported.  Addresses that are not slots
 * pass: they are reported when they are freed.
 * Any thread, lock-free but for CPOOL_CLIENT_NOTED, which may block.
 */
CPOOL_API int cpool_client_retire(const cpool_t *pool, void *const *slots, size_t n,
                                  enum cpool_client_step step);

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_CLIENT_H */
