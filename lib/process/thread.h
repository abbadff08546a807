/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.h - what the library keeps per thread, the end of threads, fork, and
 * the lock for everything rare.
 *
 * A thread that has never entered a slow path owns nothing: its word leads to one static table of
 * closed entries, shared by all such threads.  The first slow path gives it a `struct
 * cpi_thread` with a table of its own.  When the thread ends its caches are given back, its word
 * leads to a second table of closed entries, and the structure is kept for the next thread.
 */
#ifndef CPI_THREAD_H
#define CPI_THREAD_H

#include <stdbool.h>
#include <stddef.h>

#include <cpool/client.h>

#include "base/compiler.h"
#include "process/descriptor.h"
#include "host/os.h"

struct cpi_cache;
struct cpi_registry;

struct cpi_thread;

/* All members are guarded by the lock, but for `table`, which is its thread's. */
struct cpi_thread {
    struct cpi_thread *next;  /* in the list of used or of spare ones */
    struct cpi_cache *caches; /* the caches it owns, the registry's list */
    struct cpi_registry *leaves; /* the pool that a cache of this thread, which has
                                  ended, is being given back to, or NULL */
    cpool_client_owned_t *owned; /* its other things (cpool/client.h) */
    bool ending;              /* which runs its destructors */
    _Alignas(CPI_LINE) cpool_cache_t table[];
};

/* Of cache/ and wait/: called once before the first pool, when a thread ends, which gives all its
 * caches back, and in the child of a fork, for each thread that did not survive, and after all
 * those.  All but thread_ended with the lock held. */
void cpi_barrier_startup(void);
void cpi_waiters_thread_ended(struct cpi_thread *thread);
void cpi_registry_thread_vanished(struct cpi_thread *thread);
void cpi_waiters_fork_done(void);

/*
 * Makes the thread key and chooses the barrier, once per process.  Called before each creation of
 * a pool.  Later calls cost a test.  False if the operating system refuses.  A later call tries
 * again.  Takes the lock.
 */
bool cpi_thread_startup(void);

/* Whether exit() has been called: other threads may be running, and destructors of
 * modules leave their pools to them.  Wait-free. */
bool cpi_thread_process_ends(void);

/* What these two return, for clients, atomic (cpool/client.h). */
extern unsigned cpi_thread_forked, cpi_thread_exits;

/* Whether the library has been unloaded, or the process has come to its end, while other
 * threads had tables, and these are gone: no pool can be created.  With the lock held. */
bool cpi_thread_tables_gone(void);

/* Whether no other thread has a structure.  With the lock held. */
bool cpi_thread_is_alone(void);

/*
 * The calling thread's structure, made if need be.  NULL in a thread that has run its destructors
 * already, or if there is no memory.  Takes the lock: not to be called with it held.
 */
struct cpi_thread *cpi_thread_self(void);

/*
 * Asking for what the system may refuse, on each operation of a thread that has no cache: after a
 * refusal the thread does not ask for CPI_PATIENT_ASKS operations.  may_ask also is false in a
 * thread that has ended.  pause_asking with 0 ends the pause.  The calling thread's own, wait-free.
 */
#define CPI_PATIENT_ASKS 4096u
bool cpi_thread_may_ask(void);
void cpi_thread_pause_asking(unsigned operations);

/* The same, but NULL if the thread has none yet.  Wait-free. */
struct cpi_thread *cpi_thread_known(void);

/* A thread owns a thing from now on, or no longer.  With the lock held. */
void cpi_thread_own(struct cpi_thread *thread, cpool_client_owned_t *owned);
void cpi_thread_disown(cpool_client_owned_t *owned);

/* Whether programs that use this copy of the library use this copy's word: the dynamic
 * linker may give them that of another copy.  Wait-free. */
bool cpi_thread_word_is_own(void);

#ifndef CPI_THREAD_TOKEN /* the threads of an explorer share one address */
#define CPI_THREAD_TOKEN() ((uintptr_t)&cpool_thread_word_abi1)
#endif

/* A number that no other living thread has, never 0.  The forking thread keeps its own
 * in the child.  Wait-free. */
static inline uintptr_t cpi_thread_token(void)
{
    return CPI_THREAD_TOKEN();
}

/* A number that is another one in the child of each fork.  Threads that worked under another
 * number may have vanished.  Wait-free. */
unsigned cpi_thread_forks(void);

/* The calling thread's entry of a pool, one of zeroes if it has none.  Wait-free. */
static inline cpool_cache_t *cpi_thread_entry(const cpool_t *handle)
{
    uintptr_t word;

    CPOOL_THREAD_WORD_(word);
    return (cpool_cache_t *)((uintptr_t)handle + word);
}

/* Any thread's.  With the lock held. */
static inline cpool_cache_t *cpi_thread_entry_of(struct cpi_thread *thread, const cpool_t *handle)
{
    return &thread->table[handle - cpi_handles()->handles];
}

/*
 * The one lock for creation, destruction, registration, the end of threads,
 * fork, and figures.  Never taken on a path that exchanges magazines.
 *
 * at_end is for the end of the process.  It returns false if the calling thread holds the lock,
 * or another one for a tenth of a second: a handler of a signal may call exit on top of the holder,
 * which then never lets go.
 */
void cpi_lock(void);
bool cpi_try_lock(void);
bool cpi_lock_at_end(void);
void cpi_unlock(void);

/* Whether the calling thread holds it. */
bool cpi_lock_is_held(void);

/* Takes it, and returns whether the calling thread did not hold it already. */
static inline bool cpi_lock_unless_held(void)
{
    if (cpi_lock_is_held())
        return false;
    cpi_lock();
    return true;
}

#endif /* CPI_THREAD_H */
