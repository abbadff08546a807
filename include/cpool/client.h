/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/client.h - for libraries over pools, such as retired slots.  Programs do not need it.
 *
 * OVERVIEW
 *
 * A client is a structure of such a library.  It has a key, under which each thread may own a part
 * of it until the thread's end, and it may ask to be told when a pool is dry or ends:
 *
 *     domain->client.size = sizeof domain->client;
 *     domain->client.hooks = &hooks;
 *     code = cpool_client_create(&domain->client, NULL);
 *     if (code == CPOOL_OK)
 *         cpool_client_show(&domain->client, true);
 *     ...
 *     cpool_client_show(&domain->client, false);
 *
 * NOTES
 *
 * The lock: cpool_client_lock takes the one lock of the library, which a fork waits for.  The
 * library calls `retired` and `ended` with it held.  Functions of this header may be called with it
 * held, other functions may not, unless it says so.
 */
#ifndef CPOOL_CLIENT_H
#define CPOOL_CLIENT_H

#include <cpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Clients of pools (cpool_client.3) --------------------------------------
 */

/* What the library knows of the process, and does for a client. */
typedef struct cpool_client_system {
    const unsigned *forks;   /* atomic: another number in the child of each fork.  Threads that
                                worked under another number may have vanished */
    uint64_t (*now)(void);   /* the monotonic clock, nanoseconds */
    void (*back_off)(unsigned times); /* lets a thread run that this one waits for, for the
                                `times`-th time in a row.  From 32 on it sleeps for a tenth of a
                                millisecond */
    bool (*barrier)(void);   /* every thread that runs passes a full memory barrier.  False if the
                                system has none, or refuses it */
} cpool_client_system_t;

/* What a library asks to be told of pools with retired slots, once for all of its clients. */
typedef struct cpool_client_hooks {
    /* An alloc has found nothing, or the pool `ends` or is reset.  Gives retired slots of the pool
     * back, and returns how many these were.  When the pool ends it forgets all others.  Called
     * without the lock, by any thread. */
    size_t (*give_back)(cpool_t *pool, bool ends);
    /* Adds the slots of the pool that are retired to stats->retired.  With the lock held. */
    void (*retired)(const cpool_t *pool, cpool_stats_t *stats);
} cpool_client_hooks_t;

/* A client, in memory of its own that is zero at first.  The first members are set before
 * cpool_client_create, which sets the others. */
typedef struct cpool_client {
    size_t size;    /* sizeof(cpool_client_t) */
    const cpool_client_hooks_t *hooks; /* or NULL */

    cpool_t *pool;  /* the key */
    cpool_t *none;  /* a key under which no thread owns anything */
    const cpool_client_system_t *system;
} cpool_client_t;

/*
 * cpool_client_create - makes the key of a client, which is a descriptor without slots.
 *
 * config   NULL
 *
 * The key ends when the client is hidden.
 *
 * Returns 0, CPOOL_ENOMEM, CPOOL_EPOOLS or CPOOL_ESYSTEM.
 * Any thread.  It may block.
 */
CPOOL_API int cpool_client_create(cpool_client_t *client, const cpool_config_t *config)
    CPOOL_MUST_USE_;

/*
 * cpool_client_show - has the library know a client, which is complete, or ends its key.
 *
 * Any thread.  It takes the lock, if the thread has not got it.
 */
CPOOL_API void cpool_client_show(cpool_client_t *client, bool shown);

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
 * flags   0
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
    /* Takes it from the thread, which ends, or has vanished in a fork.  It calls cpool_client_own
     * to have it owned by nobody.  With the lock held, which it may leave meanwhile if the thread
     * has not vanished. */
    void (*ended)(struct cpool_client_owned *owned, bool vanished);

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
