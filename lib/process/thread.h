/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.h - the library's data of each thread, the end of threads, fork, and the lock for
 * everything rare.
 *
 * A thread's word leads to a table of closed entries that all threads share until its first slow
 * path gives it a `struct cpi_thread` with a table, and to a second one after the thread's end.
 */
#ifndef CPI_THREAD_H
#define CPI_THREAD_H

#include <cpool/client.h>

#include "base/compiler.h"
#include "process/descriptor.h"
#include "host/os.h"

struct cpi_cache;
struct cpi_registry;

/* The lock guards all members except `table`, which belongs to the thread. */
struct cpi_thread {
    struct cpi_thread *next;  /* in the list of used or of spare structures */
    struct cpi_thread **link; /* the pointer to this structure in that list */
    struct cpi_cache *caches; /* the thread's caches, in the registry's list */
    struct cpi_registry *leaves; /* the pool that a cache of this thread, which has
                                  ended, is being given back to, or NULL */
    cpool_client_owned_t *owned; /* its other possessions (cpool/client.h) */
    bool ending;              /* the thread is running its destructors */
    _Alignas(CPI_LINE) cpool_cache_t table[];
};

/* Functions of cache/ and wait/.  They are called, in this order: once before the first pool; when
 * a thread ends, to give its caches back; in the child of a fork, for each thread that did not
 * survive; and after all of those.  With the lock held, except thread_ended. */
void cpi_barrier_startup(void);
void cpi_waiters_thread_ended(struct cpi_thread *thread);
void cpi_registry_thread_vanished(struct cpi_thread *thread);
void cpi_waiters_fork_done(void);

/* Creates the thread key and chooses the barrier, once per process.  Called before each creation of
 * a pool; later calls cost one test.  Returns false if the operating system refuses, and the next
 * call tries again.  Takes the lock. */
bool cpi_thread_startup(void);

/* Whether exit() has been called.  Other threads may still be running, so destructors of modules
 * leave their pools to them.  Wait-free. */
bool cpi_thread_process_ends(void);

/* The values of these two functions, for clients.  Atomic (cpool/client.h). */
extern unsigned cpi_thread_forked, cpi_thread_exits;

/* Whether the library was unloaded or the process ended, and released the tables of threads that
 * still run, so that no pool can be created.  With the lock held. */
bool cpi_thread_tables_gone(void);

/* The calling thread's structure, created if necessary.  NULL in a thread that has run its
 * destructors, or if there is no memory.  Takes the lock, so the caller must not hold it. */
struct cpi_thread *cpi_thread_self(void);

/* A thread without a cache asks the system for one on each operation.  After a refusal it does not
 * ask again for CPI_PATIENT_ASKS operations. may_ask also returns false in a thread that has ended.
 * For the calling thread, wait-free. */
#define CPI_PATIENT_ASKS 4096u
bool cpi_thread_may_ask(void);
void cpi_thread_pause_asking(void);

/* The calling thread's structure, or NULL if it has none.  Wait-free. */
struct cpi_thread *cpi_thread_known(void);

/* Whether programs that use this copy of the library also use its thread word: the dynamic linker
 * may have bound them to the word of another copy.  Wait-free. */
bool cpi_thread_word_is_own(void);

/* A number that no other live thread has, and never 0.  The forking thread keeps it in the child.
 * Wait-free. */
#ifndef CPI_THREAD_TOKEN /* the explorer's threads share one address */
#define CPI_THREAD_TOKEN() ((uintptr_t)&cpool_thread_word_abi1)
#endif

/* A number that changes in the child of each fork.  Threads that worked under another number may
 * not exist any more.  Wait-free. */
unsigned cpi_thread_forks(void);

/* The calling thread's entry for a pool; an entry of zeroes if it has no table.  Wait-free. */
static inline cpool_cache_t *cpi_thread_entry(const cpool_t *handle)
{
    uintptr_t word;

    CPOOL_THREAD_WORD_(word);
    return (cpool_cache_t *)((uintptr_t)handle + word);
}

/* The entry of any thread.  With the lock held. */
static inline cpool_cache_t *cpi_thread_entry_of(struct cpi_thread *thread, const cpool_t *handle)
{
    return &thread->table[handle - cpi_handles()->handles];
}

/* The library's lock (doc/CONCURRENCY.md 3.10).  cpi_lock_at_end is for the end of the process.  It
 * returns false if the calling thread holds the lock, or another one does for a tenth of a second:
 * exit may have been called in a signal handler that interrupted the holder, which then never
 * unlocks. */
void cpi_lock(void);
bool cpi_try_lock(void);
bool cpi_lock_at_end(void);
void cpi_unlock(void);

/* Whether the calling thread holds the lock. */
bool cpi_lock_is_held(void);

/* Takes the lock unless the calling thread holds it.  Returns true if it took it. */
static inline bool cpi_lock_unless_held(void)
{
    if (cpi_lock_is_held())
        return false;
    cpi_lock();
    return true;
}

static inline void cpi_unlock_if(bool locked)
{
    if (locked)
        cpi_unlock();
}

#endif /* CPI_THREAD_H */
