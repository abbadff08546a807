/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.c - tables, the thread key, fork handlers, unloading.
 *
 * ORDERING TABLE
 *   started | startup_done store | release | startup | the key exists
 *   startup | startup_done load  | acquire | started | the key exists
 *   holder  | holder load, store | relaxed | - | -
 *   end     | process_ends store, load | relaxed | - | -
 *   register | handlers_registered exchange, store | relaxed | - | -
 *
 * The end of a thread.  A pthread key's destructor gives the caches back, and has the
 * thread's word lead to a second table of zeroes: a destructor that allocates or frees
 * after ours, or the C library after all of them, works without a cache, instead of
 * making one that nobody would give back.  (One case remains.  A thread that uses a
 * pool for the very first time in its last round of destructors, or later, leaves its
 * cache registered.)
 *
 * Startup.  The fork handlers are registered when the library is loaded, before
 * anybody can have taken the lock: a child in which they have not run would find
 * it held by a thread that does not exist there.  (A malloc made of a pool may
 * come before that; the first pool then registers them.)  The key is made with
 * the first pool.  Both are made without the lock, as the C library may allocate
 * meanwhile.
 *
 * Unloading.  The destructor of the shared object deletes the key, so that no
 * thread that ends later jumps into unmapped code.  The C library drops the
 * fork handlers of an object that it unloads.  The same destructor runs when
 * the process exits, possibly with threads that go on using pools meanwhile,
 * and it cannot tell the two apart: it releases the tables that no thread uses
 * and that of the calling thread, and leaves other threads theirs.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* musl shows signal masks to POSIX programs only */
#endif

#include "thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "atomic.h"
#include "bits.h"
#include "os.h"
#include "ranges.h"
#include "tools.h"
#include "trace.h"

/* Words that lead to two tables of zeroes, which overlap, as all of their entries are
 * the same. */
#define CPI_NO_TABLE offsetof(struct cpi_handles, zeroes[0]) /* no table yet */
#define CPI_ENDED offsetof(struct cpi_handles, zeroes[1])    /* and none any more */

_Thread_local uintptr_t cpool_thread_word_abi2 = CPI_NO_TABLE;

#if defined(__ELF__)
/* The same word under a name that no other copy of the library can answer to. */
extern CPI_INITIAL_EXEC _Thread_local uintptr_t cpi_own_word
    __attribute__((__alias__("cpool_thread_word_abi2"), __visibility__("hidden")));

bool cpi_thread_word_is_own(void)
{
    return &cpi_own_word == &cpool_thread_word_abi2;
}
#else
bool cpi_thread_word_is_own(void)
{
    return true;
}
#endif

/* Operations until the thread asks for a cache again. */
static CPI_INITIAL_EXEC _Thread_local unsigned pause_left;

#define CPI_THREAD_SIZE \
    (offsetof(struct cpi_thread, table) + CPI_HANDLES * sizeof(cpool_cache_t))

/* Addresses of descriptors below which lead() spends address space. */
#define CPI_NEAR ((uintptr_t)64 * 1024 * 1024)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uintptr_t holder; /* the token of the thread that has it; 0: nobody */
static struct cpi_signals mask_before; /* the holder's, to be restored */
static struct cpi_thread *used_threads;
static struct cpi_thread *spare_threads;
static const struct cpi_thread_hooks *hooks; /* NULL before startup */
static pthread_key_t key;
static _Atomic bool handlers_registered;
static _Atomic bool startup_done;
static _Atomic bool process_ends;
static bool unloaded; /* guarded by the lock */

_Static_assert(sizeof(sigset_t) <= sizeof(struct cpi_signals), "a mask of signals fits");

/* A thread would not survive blocking the signals that its own instructions raise. */
void cpi_block_signals(struct cpi_signals *before)
{
    static const int raised[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t blocked;
    sigset_t mask;
    size_t i;

    sigfillset(&blocked);
    for (i = 0; i < sizeof raised / sizeof raised[0]; i++)
        sigdelset(&blocked, raised[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &mask);
    memcpy(before, &mask, sizeof mask);
}

void cpi_restore_signals(const struct cpi_signals *before)
{
    sigset_t mask;

    memcpy(&mask, before, sizeof mask);
    cpi_tools_wrote(&mask, sizeof mask);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void cpi_lock(void)
{
    struct cpi_signals before;

    cpi_block_signals(&before);
    CPI_ASSERT(!cpi_lock_is_held());
    pthread_mutex_lock(&lock);
    cpi_store(&holder, cpi_thread_token(), relaxed); /* [holder] */
    mask_before = before;
}

bool cpi_try_lock(void)
{
    struct cpi_signals before;

    cpi_block_signals(&before);
    if (pthread_mutex_trylock(&lock) == 0) {
        cpi_store(&holder, cpi_thread_token(), relaxed); /* [holder] */
        mask_before = before;
        return true;
    }
    cpi_restore_signals(&before);
    return false;
}

void cpi_unlock(void)
{
    struct cpi_signals before = mask_before;

    CPI_ASSERT(cpi_lock_is_held());
    cpi_store(&holder, 0, relaxed); /* [holder] */
    pthread_mutex_unlock(&lock);
    cpi_restore_signals(&before);
}

bool cpi_lock_is_held(void)
{
    return cpi_load(&holder, relaxed) == cpi_thread_token(); /* [holder] */
}

struct cpi_thread *cpi_thread_known(void)
{
    uintptr_t word = cpool_thread_word_abi2;

    if (word == CPI_NO_TABLE || word == CPI_ENDED)
        return NULL;
    return (struct cpi_thread *)((uintptr_t)cpi_handles.handles + word -
                                 offsetof(struct cpi_thread, table));
}

bool cpi_thread_is_alone(void)
{
    CPI_ASSERT(cpi_lock_is_held());
    return used_threads == NULL ||
           (used_threads == cpi_thread_known() && used_threads->next == NULL);
}

static void unlink_used(struct cpi_thread *thread)
{
    struct cpi_thread **link = &used_threads;

    CPI_ASSERT(cpi_lock_is_held() && thread->used);
    while (*link != thread)
        link = &(*link)->next;
    *link = thread->next;
}

/* With the lock held.  The caches are gone, so the table is all zeroes again. */
static void retire(struct cpi_thread *thread)
{
    unlink_used(thread);
    thread->used = false;
    thread->next = spare_threads;
    spare_threads = thread;
}

/* Gives the caches and the structure back.  The thread's word becomes this one. */
static void give_up(struct cpi_thread *thread, uintptr_t word)
{
    hooks->ended(thread);
    cpi_lock();
    cpool_thread_word_abi2 = word;
    retire(thread);
    cpi_unlock();
}

static void thread_ended(void *thread)
{
    give_up(thread, CPI_ENDED);
}

static void before_fork(void)
{
    cpi_lock();
}

static void after_fork_in_parent(void)
{
    cpi_unlock();
}

/* This very thread holds the lock, also in the child. */
static void after_fork_in_child(void)
{
    struct cpi_thread *self = cpi_thread_known();
    struct cpi_thread *thread = used_threads;

    while (thread != NULL) {
        struct cpi_thread *next = thread->next;

        if (thread != self) {
            hooks->forked(thread);
            retire(thread);
        }
        thread = next;
    }
    cpi_trace_forked();
    if (hooks != NULL)
        hooks->fork_done();
    cpi_unlock();
}

/* Once, by the first thread, and again if the system refused. */
static bool register_fork_handlers(void)
{
    if (cpi_exchange(&handlers_registered, true, relaxed)) /* [register] */
        return true;
    if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0)
        return true;
    cpi_store(&handlers_registered, false, relaxed); /* [register] */
    return false;
}

/* Before the constructors of programs, which have no priority. */
__attribute__((__constructor__(101))) static void library_loaded(void)
{
    register_fork_handlers();
}

/* Before the destructors of all modules. */
static void note_end(void)
{
    cpi_store(&process_ends, true, relaxed); /* [end] */
}

bool cpi_thread_process_ends(void)
{
    return cpi_load(&process_ends, relaxed); /* [end] */
}

bool cpi_thread_startup(const struct cpi_thread_hooks *thread_hooks)
{
    pthread_key_t candidate;
    bool lost;

    if (cpi_load(&startup_done, acquire)) /* [startup] */
        return true;
    if (!register_fork_handlers() || atexit(note_end) != 0 ||
        pthread_key_create(&candidate, thread_ended) != 0)
        return false;
    cpi_lock();
    lost = cpi_load(&startup_done, acquire); /* [startup] */
    if (!lost) {
        key = candidate;
        hooks = thread_hooks;
        hooks->started();
        cpi_store(&startup_done, true, release); /* [started] */
    }
    cpi_unlock();
    if (lost) /* another thread's is in use */
        pthread_key_delete(candidate);
    return true;
}

bool cpi_thread_started(void)
{
    return cpi_load(&startup_done, acquire); /* [startup] */
}

/*
 * Bytes of address space below a thread's structure.  An alloc of the handle NULL looks
 * for an entry as far below the thread's table as the descriptors' address says, and traps
 * if nothing lies there.  In a program of fixed addresses that is so near that anything
 * might.  Elsewhere it is far away from all memory, or no address at all.
 */
static size_t lead(void)
{
    uintptr_t far = (uintptr_t)cpi_handles.handles;

    return far < CPI_NEAR ? cpi_align_up(far, cpi_os_page_size()) : 0;
}

static struct cpi_thread *map_structure(void)
{
    size_t below = lead();
    size_t size = below + cpi_align_up(CPI_THREAD_SIZE, cpi_os_page_size());
    char *start = cpi_os_reserve(size, cpi_os_page_size());

    if (start == NULL)
        return NULL;
    if (cpi_os_commit(start + below, size - below))
        return (struct cpi_thread *)(void *)(start + below);
    cpi_os_release(start, size);
    return NULL;
}

static void release_structure(struct cpi_thread *thread)
{
    size_t below = lead();

    cpi_os_release((char *)thread - below,
                   below + cpi_align_up(CPI_THREAD_SIZE, cpi_os_page_size()));
}

/* With the lock held. */
static struct cpi_thread *take_structure(void)
{
    struct cpi_thread *thread = spare_threads;

    if (thread != NULL)
        spare_threads = thread->next;
    else
        thread = map_structure();
    if (thread != NULL) {
        thread->used = true;
        thread->next = used_threads;
        used_threads = thread;
    }
    return thread;
}

/* Frees the structure again if the thread's end could not be noticed. */
static struct cpi_thread *notice_end(struct cpi_thread *thread)
{
    /* Without the lock, because this may allocate, possibly with an allocator made of a
     * pool. */
    if (pthread_setspecific(key, thread) == 0)
        return thread;
    give_up(thread, CPI_NO_TABLE); /* with the caches that what it allocated with has made */
    return NULL;
}

CPI_COLD static struct cpi_thread *make_self(void)
{
    struct cpi_thread *thread = NULL;

    cpi_lock();
    if (!unloaded)
        thread = take_structure();
    /* Before the unlock: a fork finds either both or none. */
    if (thread != NULL)
        cpool_thread_word_abi2 = (uintptr_t)thread->table - (uintptr_t)cpi_handles.handles;
    cpi_unlock();
    return thread != NULL ? notice_end(thread) : NULL;
}

bool cpi_thread_may_ask(void)
{
    if (CPI_LIKELY(pause_left == 0))
        return cpool_thread_word_abi2 != CPI_ENDED;
    pause_left--;
    return false;
}

void cpi_thread_refused(void)
{
    pause_left = CPI_PATIENT_ASKS;
}

void cpi_thread_ask_at_once(void)
{
    pause_left = 0;
}

struct cpi_thread *cpi_thread_self(void)
{
    struct cpi_thread *thread = cpi_thread_known();

    if (thread != NULL || cpool_thread_word_abi2 == CPI_ENDED)
        return thread;
    return make_self();
}

static void release_spares(void)
{
    while (spare_threads != NULL) {
        struct cpi_thread *next = spare_threads->next;

        release_structure(spare_threads);
        spare_threads = next;
    }
}

/* After the destructors of typed pools, which have no priority. */
__attribute__((__destructor__(101))) static void library_unloaded(void)
{
    struct cpi_thread *self = cpi_thread_known();

    if (!cpi_load(&startup_done, acquire)) /* [startup] */
        return;
    cpi_lock();
    unloaded = true;
    pthread_key_delete(key);
    if (hooks->idle()) {
        if (self != NULL) {
            cpool_thread_word_abi2 = CPI_ENDED;
            retire(self);
        }
        release_spares();
        cpi_ranges_release();
    }
    cpi_unlock();
}
