/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.c - tables, the thread key, the lock for everything rare, fork handlers, unloading.
 *
 * ORDERING TABLE
 *   started | startup_done store | release | startup | the key exists
 *   startup | startup_done load  | acquire | started | the key exists
 *   end     | exits store, load | relaxed | - | -
 *   forks   | forks load, store | relaxed | - | -
 *   gone    | tables_gone store, load  | relaxed | - | -
 *   register | handlers_registered exchange, store | relaxed | - | -
 *   holder  | lock_holder load, store | relaxed | - | -
 *
 * doc/CONCURRENCY.md 5 says what happens to pools when a thread ends, the process forks or exits,
 * or the library is unloaded, and what startup and unloading have to do.
 */
#include "process/thread.h"

#include <stdlib.h>

#include "base/atomic.h"
#include "base/list.h"
#include "host/options.h"
#include "host/os.h"
#include "host/sync.h"

/* Words that point to two tables of zeroes, which overlap because all entries are alike. */
#define CPI_NO_TABLE offsetof(struct cpi_handles, zeroes[0]) /* no table yet */
#define CPI_ENDED offsetof(struct cpi_handles, zeroes[1])    /* none any more */
const uintptr_t cpi_thread_no_table = CPI_NO_TABLE;

/* A structure with its table, bytes. */
#define CPI_THREAD_SIZE                                                                \
    (offsetof(struct cpi_thread, table) + CPI_HANDLES * sizeof(cpool_cache_t))

#if !CPI_OS_KEEPS_WORD /* otherwise os_windows.c has these two */
__attribute__((__used__)) /* by instructions of the inline path */
CPI_INITIAL_EXEC _Thread_local uintptr_t cpool_thread_word_abi1 = CPI_NO_TABLE;
/* Operations until the thread asks for a cache again. */
static CPI_INITIAL_EXEC _Thread_local unsigned pause_left;
#endif

#if defined(__ELF__)
/* An alias of the word that no other copy of the library can preempt.  The word's own name may be a
 * macro (lib/amalgamate.sh). */
#define CPI_TEXT_OF(name) #name
#define CPI_NAME_OF(name) CPI_TEXT_OF(name)
extern CPI_INITIAL_EXEC _Thread_local uintptr_t cpi_own_word
    __attribute__((__alias__(CPI_NAME_OF(cpool_thread_word_abi1)), __visibility__("hidden")));

bool cpi_thread_word_is_own(void)
{
    return &cpi_own_word == &cpool_thread_word_abi1;
}
#else
bool cpi_thread_word_is_own(void)
{
    return true;
}
#endif

static struct cpi_thread *used_threads;
static struct cpi_thread *spare_threads;
static cpi_key_t thread_key;
static _Atomic bool handlers_registered;
static _Atomic bool startup_done;
unsigned cpi_thread_exits;
static bool exits; /* set when the library is unloaded */
unsigned cpi_thread_forked; /* number of forks since the library was loaded */
static bool unloaded; /* guarded by the lock */
static _Atomic bool tables_gone; /* the words of other threads dangle */

/* --- The lock --- */

static cpi_mutex_t library_lock = CPI_MUTEX_INIT;
static _Atomic uintptr_t lock_holder; /* the token of the thread that holds the lock, or 0 */

/* How often a lock is tried at the end of the process, pausing 0.1 ms each time. */
#define CPI_END_TRIES 1000u

void cpi_lock(void)
{
    CPI_ASSERT(!cpi_lock_is_held());
    cpi_mutex_lock(&library_lock);
    cpi_store(&lock_holder, CPI_THREAD_TOKEN(), relaxed); /* [holder] */
}

bool cpi_try_lock(void)
{
    bool locked = cpi_mutex_trylock(&library_lock) == 0;

    if (locked)
        cpi_store(&lock_holder, CPI_THREAD_TOKEN(), relaxed); /* [holder] */
    return locked;
}

void cpi_unlock(void)
{
    CPI_ASSERT(cpi_lock_is_held());
    cpi_store(&lock_holder, 0, relaxed); /* [holder] */
    cpi_mutex_unlock(&library_lock);
}

bool cpi_lock_is_held(void)
{
    return cpi_load(&lock_holder, relaxed) == CPI_THREAD_TOKEN(); /* [holder] */
}

CPI_COLD bool cpi_lock_at_end(void)
{
    unsigned tries = 0;

    while (!cpi_try_lock()) {
        if (tries == CPI_END_TRIES || cpi_lock_is_held())
            return false;
        cpi_os_back_off(tries++);
    }
    return true;
}

/* --- Tables --- */

/* The word is read by instructions that the compiler does not understand, hence the fence.  Not
 * inlined: where the library is compiled into the program, the compiler could keep the word's
 * address across a switch of fibers to another thread. */
CPI_APART static void set_word(uintptr_t word)
{
    cpool_thread_word_abi1 = word;
    CPOOL_FENCE_();
}

static bool has_ended(void)
{
    uintptr_t word;

    CPOOL_THREAD_WORD_(word);
    return word == CPI_ENDED;
}

struct cpi_thread *cpi_thread_known(void)
{
    uintptr_t word;

    CPOOL_THREAD_WORD_(word);
    if (word == CPI_NO_TABLE || word == CPI_ENDED || cpi_load(&tables_gone, relaxed)) /* [gone] */
        return NULL;
    return (struct cpi_thread *)((uintptr_t)cpi_handles() + word -
                                 offsetof(struct cpi_thread, table));
}

/* With the lock held.  The caches are gone, so the table is all zeroes again. */
static void retire_thread(struct cpi_thread *thread)
{
    CPI_ASSERT(cpi_lock_is_held());
    CPI_LIST_REMOVE(thread);
    thread->ending = false;
    CPI_LIST_ADD(&spare_threads, thread);
}

/* With the lock held. */
static void end_owned(struct cpi_thread *thread, bool vanished)
{
    while (thread->owned != NULL)
        thread->owned->hooks->ended(thread->owned, vanished);
}

/* Gives back the caches and the structure, unless the tables have been released.  Sets the thread's
 * word to `word`. */
static void give_up(struct cpi_thread *thread, uintptr_t word)
{
    cpi_lock();
    if (cpi_load(&tables_gone, relaxed)) { /* [gone] */
        cpi_unlock();
        return;
    }
    thread->ending = true;
    end_owned(thread, false);
    cpi_unlock();
    cpi_waiters_thread_ended(thread);
    cpi_lock();
    end_owned(thread, false); /* taken by a program's notice of slots since */
    set_word(word);
    retire_thread(thread);
    cpi_unlock();
}

CPI_COLD static void thread_ended(void *thread)
{
    give_up(thread, CPI_ENDED);
}

/* The lock is held by this thread, in the child as well. */
CPI_COLD static void mend_child(void)
{
    struct cpi_thread *self = cpi_thread_known();
    struct cpi_thread *thread = used_threads;

    cpi_word_store(&cpi_thread_forked, cpi_thread_forks() + 1, relaxed); /* [forks] */
    while (thread != NULL) {
        struct cpi_thread *next = thread->next;

        if (thread != self) {
            end_owned(thread, true);
            cpi_registry_thread_vanished(thread);
            retire_thread(thread);
        }
        thread = next;
    }
    cpi_trace_forked();
    cpi_waiters_fork_done();
    cpi_unlock();
    cpi_mutex_init(&library_lock); /* which may still name the parent's thread, and its waiters */
}

unsigned cpi_thread_forks(void)
{
    return cpi_word_load(&cpi_thread_forked, relaxed); /* [forks] */
}

/* Called once, by the first thread, and again if the system refused. */
static bool register_fork_handlers(void)
{
    if (cpi_exchange(&handlers_registered, true, relaxed)) /* [register] */
        return true;
    if (cpi_at_fork(cpi_lock, cpi_unlock, mend_child) == 0) {
        cpi_mutex_init(&library_lock);
        return true;
    }
    cpi_store(&handlers_registered, false, relaxed); /* [register] */
    return false;
}

/* Runs before the constructors of programs, which have no priority. */
__attribute__((__constructor__(101))) static void library_loaded(void)
{
    register_fork_handlers();
}

/* Runs before the destructors of all modules. */
static void note_end(void)
{
    cpi_word_store(&cpi_thread_exits, cpi_os_ends(), relaxed); /* [end] */
}

bool cpi_thread_process_ends(void)
{
    return cpi_word_load(&cpi_thread_exits, relaxed) != 0; /* [end] */
}

CPI_COLD bool cpi_thread_startup(void)
{
    cpi_key_t candidate;

    if (cpi_load(&startup_done, acquire)) /* [startup] */
        return true;
    if (!register_fork_handlers() || atexit(note_end) != 0 ||
        cpi_key_create(&candidate, thread_ended) != 0)
        return false;
    cpi_lock();
    if (cpi_load(&startup_done, acquire)) { /* [startup] by another thread's key */
        cpi_unlock();
        cpi_key_delete(candidate);
        return true;
    }
    thread_key = candidate;
    cpi_barrier_startup();
    cpi_store(&startup_done, true, release); /* [started] */
    cpi_unlock();
    return true;
}

/* With the lock held. */
CPI_COLD static struct cpi_thread *take_thread(void)
{
    struct cpi_thread *thread = spare_threads;

    if (thread != NULL)
        CPI_LIST_REMOVE(thread);
    else
        thread = cpi_os_map(CPI_THREAD_SIZE);
    if (thread != NULL)
        CPI_LIST_ADD(&used_threads, thread);
    return thread;
}

CPI_COLD static struct cpi_thread *make_self(void)
{
    struct cpi_thread *thread;

    cpi_lock();
    thread = unloaded ? NULL : take_thread();
    /* Before the unlock, so that a fork finds either both or neither. */
    if (thread != NULL)
        set_word((uintptr_t)thread->table - (uintptr_t)cpi_handles());
    cpi_unlock();
    /* Without the lock, because this may allocate, possibly from an allocator made of a pool. */
    if (thread != NULL && cpi_key_set(thread_key, thread) != 0) {
        give_up(thread, CPI_NO_TABLE); /* with the caches that allocating here has created */
        thread = NULL;
    }
    return thread;
}

bool cpi_thread_may_ask(void)
{
    if (CPI_LIKELY(pause_left == 0))
        return !has_ended();
    pause_left--;
    return false;
}

void cpi_thread_pause_asking(void)
{
    pause_left = CPI_PATIENT_ASKS;
}

struct cpi_thread *cpi_thread_self(void)
{
    struct cpi_thread *thread = cpi_thread_known();

    if (thread != NULL || has_ended())
        return thread;
    return make_self();
}

bool cpi_thread_tables_gone(void)
{
    return cpi_load(&tables_gone, relaxed); /* [gone] */
}

/* Releases the structures in a list, except those of threads that are about to return them. */
static void release_list(struct cpi_thread **list)
{
    struct cpi_thread *thread = *list;

    *list = NULL;
    while (thread != NULL) {
        struct cpi_thread *next = thread->next;

        if (thread->ending)
            CPI_LIST_ADD(list, thread);
        else
            cpi_os_release(thread, CPI_THREAD_SIZE);
        thread = next;
    }
}

/* With the lock held, when no pool is alive. */
CPI_COLD static void release_tables(void)
{
    struct cpi_thread *self = cpi_thread_known();

    if (self != NULL) {
        set_word(CPI_ENDED);
        retire_thread(self);
    }
    release_list(&spare_threads);
    if (used_threads != NULL)
        cpi_store(&tables_gone, true, relaxed); /* [gone] */
    release_list(&used_threads);
}

/* Runs before the library's own atexit handlers, which also run at an unload. */
__attribute__((__destructor__)) static void note_exit(void)
{
    exits = cpi_thread_process_ends();
}

/* Runs after the destructors of typed pools, which have no priority. */
__attribute__((__destructor__(101))) static void library_unloaded(void)
{
    if (!cpi_load(&startup_done, acquire) || cpi_os_process_is_dying()) /* [startup] */
        return;
    if (!exits)
        cpi_lock();
    else if (!cpi_lock_at_end())
        return;
    unloaded = true;
    if (!exits)
        cpi_os_catch_traps(NULL);
    if (!cpi_handle_is_held()) {
        release_tables();
        if (!exits)
            cpi_handle_release();
    }
    if (!exits) {
        cpi_ended_release();
        cpi_options_release();
    }
    cpi_unlock();
    cpi_key_delete(thread_key); /* without the lock, because an ending thread may wait for it */
    if (!exits)
        cpi_os_unload();
}
