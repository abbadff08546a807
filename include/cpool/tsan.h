/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/tsan.h - what ThreadSanitizer has to be told of slots.
 *
 * Included by <cpool.h> where CPOOL_TSAN is not 0.  Never include it yourself.
 *
 * A program that is compiled with -fsanitize=thread links the library as it was
 * installed, without instrumentation.  ThreadSanitizer then does not see by what
 * one thread's free comes before another thread's alloc of the same slot, and
 * would take every slot that changes hands for a race.  So in such programs the
 * functions below stand in place of those that hand slots out or take them back:
 *
 *   before a free    the slot is released: the thread's use of it is over
 *   after an alloc   the slot is acquired: all uses before the release come before
 *
 * A thread's accesses to a slot after its free are not ordered, and are found as soon
 * as another thread uses the slot.
 *
 * The names of the functions are macros without parameters: a pointer to one of them is
 * announced, too.  Where the library is instrumented itself nothing has to be
 * announced, and -DCPOOL_TSAN=0 finds more.  An error handler should not leave
 * cpool_calloc by longjmp in such a program, because the thread's later accesses would
 * not be looked at.
 */
#ifndef CPOOL_TSAN_H
#define CPOOL_TSAN_H

#ifndef CPOOL_FAST_H
#error "include <cpool.h> instead of <cpool/tsan.h>"
#endif

/* ThreadSanitizer's run-time library. */
void __tsan_acquire(void *address);
void __tsan_release(void *address);
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);

/* Only the addresses of slots: others may be none of the program's at all. */
static inline void cpool_tsan_release_(const cpool_t *pool, void *slot)
{
    if (cpool_owns(pool, slot))
        __tsan_release(slot);
}

/* The slot as it is, NULL included. */
static inline void *cpool_tsan_acquire_(void *slot)
{
    if (slot != NULL)
        __tsan_acquire(slot);
    return slot;
}

/*
 * ---- Single slots --------------------------------------------------------
 */

static inline void *cpool_tsan_alloc_(cpool_t *pool)
{
    return cpool_tsan_acquire_(cpool_alloc(pool));
}

static inline void cpool_tsan_free_(cpool_t *pool, void *slot)
{
    cpool_tsan_release_(pool, slot);
    cpool_free(pool, slot);
}

/* The zeroes are written by memset, which ThreadSanitizer sees in every library,
 * and before it can be told by which thread the slot was freed. */
static inline void *cpool_tsan_calloc_(cpool_t *pool)
{
    void *slot;

    __tsan_ignore_thread_begin();
    slot = cpool_calloc(pool);
    __tsan_ignore_thread_end();
    return cpool_tsan_acquire_(slot);
}

static inline void *cpool_tsan_depot_alloc_(cpool_t *pool)
{
    return cpool_tsan_acquire_(cpool_depot_alloc(pool));
}

static inline void cpool_tsan_depot_free_(cpool_t *pool, void *slot)
{
    cpool_tsan_release_(pool, slot);
    cpool_depot_free(pool, slot);
}

static inline void *cpool_tsan_cache_alloc_(cpool_cache_t *cache)
{
    return cpool_tsan_acquire_(cpool_cache_alloc(cache));
}

static inline void cpool_tsan_cache_free_(cpool_cache_t *cache, void *slot)
{
    cpool_tsan_release_(cache->pool, slot);
    cpool_cache_free(cache, slot);
}

static inline void *cpool_tsan_ticket_alloc_(cpool_ticket_t *ticket)
{
    return cpool_tsan_acquire_(cpool_ticket_alloc(ticket));
}

/*
 * ---- Waiting -------------------------------------------------------------
 */

static inline void *cpool_tsan_alloc_wait_(cpool_t *pool, const struct timespec *timeout)
{
    return cpool_tsan_acquire_(cpool_alloc_wait(pool, timeout));
}

static inline void *cpool_tsan_alloc_or_help_(cpool_t *pool, bool (*help)(void *arg), void *arg)
{
    return cpool_tsan_acquire_(cpool_alloc_or_help(pool, help, arg));
}

/*
 * ---- Many slots ----------------------------------------------------------
 */

static inline size_t cpool_tsan_alloc_bulk_(cpool_t *pool, void **slots, size_t n)
{
    size_t count = cpool_alloc_bulk(pool, slots, n);
    size_t i;

    for (i = 0; i < count; i++)
        __tsan_acquire(slots[i]);
    return count;
}

static inline int cpool_tsan_alloc_bulk_all_(cpool_t *pool, void **slots, size_t n)
{
    int code = cpool_alloc_bulk_all(pool, slots, n);
    size_t i;

    for (i = 0; code == CPOOL_OK && i < n; i++)
        __tsan_acquire(slots[i]);
    return code;
}

static inline void cpool_tsan_free_bulk_(cpool_t *pool, void *const *slots, size_t n)
{
    size_t i;

    for (i = 0; slots != NULL && i < n; i++)
        cpool_tsan_release_(pool, slots[i]);
    cpool_free_bulk(pool, slots, n);
}

/*
 * ---- In place of ---------------------------------------------------------
 */

#define cpool_alloc cpool_tsan_alloc_
#define cpool_alloc_bulk cpool_tsan_alloc_bulk_
#define cpool_alloc_bulk_all cpool_tsan_alloc_bulk_all_
#define cpool_alloc_or_help cpool_tsan_alloc_or_help_
#define cpool_alloc_wait cpool_tsan_alloc_wait_
#define cpool_cache_alloc cpool_tsan_cache_alloc_
#define cpool_cache_free cpool_tsan_cache_free_
#define cpool_calloc cpool_tsan_calloc_
#define cpool_depot_alloc cpool_tsan_depot_alloc_
#define cpool_depot_free cpool_tsan_depot_free_
#define cpool_free cpool_tsan_free_
#define cpool_free_bulk cpool_tsan_free_bulk_
#define cpool_ticket_alloc cpool_tsan_ticket_alloc_

#endif /* CPOOL_TSAN_H */
