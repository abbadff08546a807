/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/fast.h - the inline path of libcpool, and the little it may know.
 *
 * Included by <cpool.h>.  Never include it yourself.
 *
 * Allocating and freeing a slot are a dozen instructions on memory that only
 * the calling thread writes.  To be inlined into the caller they need to know
 * the layout of three things, and those three only are frozen:
 *
 *   a pool's descriptor      the address of the slab, and the numbers that replace a
 *                            division by the stride.  It is what a cpool_t points to
 *   a thread's cache entry   how many rounds its loaded magazine holds
 *   the thread's word        thread-local storage: the distance from the array of
 *                            descriptors to the thread's array of cache entries
 *
 *   descriptors                        table of a thread
 *   | none | pool A | pool B | ...     | zero | entry | entry | ...
 *          ^ cpool_t *                        ^   | rounds
 *          |                                  |   v
 *          +------ + thread's word -----------+ [ slot | slot | slot |   |   ]
 *                                                  0      1      2 = count - 1
 *
 * Descriptors and entries have the same size, so the entry is at the descriptor's address
 * plus the word: no load is needed to find it.  A thread that has never used the pool finds
 * zeroes there: an entry that is both empty (count 0) and full (limit 0), so that the
 * first alloc or free takes the slow path without any test for "no cache yet".
 * The entries of destroyed pools, and of pools whose mode needs more work for each
 * operation, are always like that.
 *
 * The names ending in an underscore are not for use outside this file.
 *
 * The number of the layouts, as in cpool_thread_word_abi3, ends the name of the word, and of each
 * function that inline code of any header calls out of line.  A change to a layout that inline code
 * knows raises it in all of these names.  A program built against another layout then fails to link
 * instead of running.
 */
#ifndef CPOOL_FAST_H
#define CPOOL_FAST_H

#ifndef CPOOL_H
#error "include <cpool.h> instead of <cpool/fast.h>"
#endif

/*
 * A pool's descriptor: constant from creation to destruction, so that all processors
 * can share its cache line.
 */
struct cpool_t {
    uintptr_t base;    /* address of slot 0 */
    uintptr_t inverse; /* inverse of the stride's odd part, modulo 2^word */
    uintptr_t shift;   /* log2 of the stride's power-of-two part */
    void *state;       /* the library's own part of the pool, or NULL for no pool */
    uintptr_t slots;   /* slots that have an address, 0 for no pool */
    uintptr_t turn;    /* advanced when a pool is destroyed */
    uintptr_t asked;   /* atomic: 0 unless somebody waits for a slot of a waitable pool */
    uintptr_t stride;  /* bytes from slot to slot */
};

/*
 * One owner's cache of one pool, in a separate cache line.  Only its owner writes it.
 * Others read `count` for statistics, hence it is atomic.
 */
struct cpool_cache_t {
    uintptr_t count; /* atomic: rounds in the loaded magazine */
    uintptr_t limit; /* rounds the loaded magazine can hold, or 0 if none is loaded */
    void **rounds;   /* the loaded magazine's rounds, the next one on top */
    uintptr_t bound; /* slots below this index have been handed out.  The slow path
                        raises it */
    cpool_t *pool;   /* the pool it caches, or none while unused */
    void *home;      /* the library's own part of this cache.  In an exact pool's entry that
                        is no handle it is not NULL while a pop is under way */
    uintptr_t frees; /* atomic: odd while a push to an exact pool is under way */
    uintptr_t locked_by; /* atomic: the thread that takes an exact pool's rounds back, or 0 */
};

/* The out-of-line halves, entered when a cache is empty or full, when a
 * pointer is NULL or not a slot, or when the pool has no inline path.  They have the
 * results of the inline path: the calling thread's entry for the pool, and the slot's index.
 * The entry of an explicit cache stands in the pool's place, too. */
CPOOL_API void *cpool_alloc_abi3(cpool_t *pool, cpool_cache_t *cache) CPOOL_NO_PLT_;
CPOOL_API void cpool_free_abi3(cpool_t *pool, void *slot, uintptr_t index,
                               cpool_cache_t *cache) CPOOL_NO_PLT_;

#if defined(__GNUC__)

/*
 * Initial-exec: one load from a constant offset to the thread pointer, and no
 * call into the dynamic linker.  It takes eight bytes of the static TLS block,
 * which leaves room for libraries loaded with dlopen as well.  __thread, because
 * C99 knows no other name for it.
 */
#if defined(_WIN32) && !defined(__clang__) /* in a slot of the system's */
#define cpool_thread_word_abi3 (*cpool_thread_word_())
uintptr_t *cpool_thread_word_(void);
#else
extern CPOOL_API __thread uintptr_t cpool_thread_word_abi3
#if defined(__ELF__) && !defined(CPOOL_PLAIN_POSIX)
    __attribute__((tls_model("initial-exec")))
#endif
    ;
#endif

#define CPOOL_LIKELY_(x) __builtin_expect(!!(x), 1)
#define CPOOL_UNLIKELY_(x) __builtin_expect(!!(x), 0)

/*
 * The calling thread's entry for a pool.  The empty statement has its address
 * added up in one register, at no instruction more.  Otherwise clang addresses
 * `count` as base + index, and processors that hand a store on to a later load
 * without delay do so only for simple addresses: on Intel's Golden Cove each alloc
 * and each free took five cycles more.  GCC adds them up by itself.
 */
#if defined(__clang__)
#define CPOOL_ADD_UP_(cache) __asm__("" : "+r"(cache))
#else
#define CPOOL_ADD_UP_(cache) ((void)0)
#endif

#define CPOOL_OWN_ENTRY_(cache, pool)                                                   \
    do {                                                                               \
        (cache) = CPOOL_CAST_(cpool_cache_t *,                                         \
                              CPOOL_CAST_(uintptr_t, pool) + cpool_thread_word_abi3);  \
        CPOOL_ADD_UP_(cache);                                                          \
    } while (0)

/*
 * Validation of a freed pointer, for any stride, without a division.  With
 * stride = odd * 2^shift, multiplying the byte offset by the inverse of `odd`
 * modulo 2^word divides it exactly when it is divisible by `odd`, and the
 * rotation then moves any bit below 2^shift to the top.  An offset that is not
 * a multiple of the stride becomes a number larger than every possible index
 * (Granlund and Montgomery, "Division by invariant integers using
 * multiplication", PLDI 1994, section 9).  One comparison therefore refuses
 * pointers below the slab, above it, between two slots, and to slots never
 * handed out, and NULL too.
 */
#define CPOOL_INDEX_(pool, slot, index)                                                \
    do {                                                                               \
        uintptr_t cpool_scaled_ = (CPOOL_CAST_(uintptr_t, slot) - (pool)->base) *      \
                                  (pool)->inverse;                                     \
        uintptr_t cpool_word_ = sizeof(uintptr_t) * 8u;                                \
        (index) = (cpool_scaled_ >> (pool)->shift) |                                   \
                  (cpool_scaled_ << ((cpool_word_ - (pool)->shift) & (cpool_word_ - 1u))); \
    } while (0)

/* The empty statement has clang go on with this number.  Otherwise it keeps the one that
 * the number was computed from as well, at one instruction more.  Models have none, because
 * their checker reads no assembly. */
#if defined(CPOOL_KEEP_)
#elif defined(__clang__)
#define CPOOL_KEEP_(number) __asm__("" : "+r"(number))
#else
#define CPOOL_KEEP_(number) ((void)0)
#endif

/* Tests and models have something happen before each access. */
#if !defined(CPOOL_POINT_)
#define CPOOL_POINT_() ((void)0)
#endif

/*
 * One pop and one push of the loaded magazine, for all of the library.  A slot is taken,
 * or the statement `empty` follows.  A slot is given where the condition `valid` holds, there
 * is room, and then `ready` holds, too, or the statement `full` follows.  A slot is read
 * last, which takes one register less, as nobody else writes to the owner's rounds.
 *
 * Orders.  `count` has one writer, so its own thread needs no order at all, and a relaxed load
 * does.  The stores are releases.  A thread that acquires a count sees the round below it (the
 * child of a fork that takes over the cache of a thread that did not survive), and what the owner
 * did before: a thread that finds nothing loaded finds the spare that the magazine became.  On x86
 * a release is a plain store.
 *
 * `read` and `show` are the accesses.  The library's own files have theirs, which tests follow.
 */
#define CPOOL_POP_BY_(read, show, entry, slot, empty)                                  \
    do {                                                                               \
        uintptr_t cpool_left_ = read(&(entry)->count) - 1u;                            \
        if (CPOOL_UNLIKELY_(CPOOL_NUMBER_(intptr_t, cpool_left_) < 0))                 \
            empty;                                                                     \
        else                                                                           \
            CPOOL_ROUND_BY_(show, entry, cpool_left_, slot);                           \
    } while (0)

#define CPOOL_ROUND_BY_(show, entry, left, slot)                                       \
    do {                                                                               \
        void **cpool_rounds_ = (entry)->rounds;                                        \
        CPOOL_KEEP_(left);                                                             \
        show(&(entry)->count, left);                                                   \
        (slot) = cpool_rounds_[left];                                                  \
    } while (0)

#define CPOOL_PUSH_BY_(read, show, entry, slot, valid, ready, full)                    \
    do {                                                                               \
        uintptr_t cpool_count_ = read(&(entry)->count);                                \
        if (CPOOL_LIKELY_(valid) && CPOOL_LIKELY_(cpool_count_ < (entry)->limit) &&    \
            CPOOL_LIKELY_(ready)) {                                                    \
            (entry)->rounds[cpool_count_] = (slot);                                    \
            show(&(entry)->count, cpool_count_ + 1u);                                  \
        } else {                                                                       \
            full;                                                                      \
        }                                                                              \
    } while (0)

#define CPOOL_COUNT_(word) (CPOOL_POINT_(), __atomic_load_n((word), __ATOMIC_RELAXED))
#define CPOOL_SHOW_(word, count)                                                       \
    (CPOOL_POINT_(), __atomic_store_n((word), (count), __ATOMIC_RELEASE))
#define CPOOL_POP_(entry, slot, empty)                                                 \
    CPOOL_POP_BY_(CPOOL_COUNT_, CPOOL_SHOW_, entry, slot, empty)
#define CPOOL_PUSH_(entry, slot, valid, full)                                          \
    CPOOL_PUSH_BY_(CPOOL_COUNT_, CPOOL_SHOW_, entry, slot, valid, 1, full)

/* Keeps the compiler's order of what stands before and after.  Models have their own. */
#if !defined(CPOOL_FENCE_)
#define CPOOL_FENCE_() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#endif

/*
 * The same in a bounded pool, between the marks of the owner (lib/cache/mark.h has their orders).
 * A thread that finds the pool dry locks the entry, makes every processor pass a barrier, and
 * takes the loaded magazine unless it sees a mark.  So the owner's mark and its look at the lock
 * need an order of the compiler's alone.  The look is an acquire, because a magazine may have been
 * taken.  A mark is a release, so that a thread that sees it knows its owner.  So is its end: a
 * thread that finds no mark sees all that was done.
 *
 * The lock is 0, or an address, which is above any count, so that a pop finds the magazine empty or
 * locked by one comparison.  A push asks for the lock first, because the limit that it compares
 * with may be written while there is a lock.
 *
 * `empty` and `full` leave the function.  They stand where no mark is left.  A push asks for the
 * bound and thus for an entry in use before it writes.
 */
#define CPOOL_MARK_(word, value)                                                       \
    (CPOOL_POINT_(), __atomic_store_n((word), (value), __ATOMIC_RELEASE))
#define CPOOL_LOCK_(entry)                                                             \
    (CPOOL_POINT_(), __atomic_load_n(&(entry)->locked_by, __ATOMIC_ACQUIRE))

#define CPOOL_POP_BESIDE_BY_(read, show, entry, lock, slot, empty)                     \
    do {                                                                               \
        uintptr_t cpool_count_ = read(&(entry)->count);                                \
        if (CPOOL_UNLIKELY_(cpool_count_ <= (lock))) {                                 \
            empty;                                                                     \
        } else {                                                                       \
            cpool_count_--;                                                            \
            CPOOL_ROUND_BY_(show, entry, cpool_count_, slot);                          \
        }                                                                              \
    } while (0)

#define CPOOL_POP_MARKED_(entry, slot, empty)                                          \
    do {                                                                               \
        uintptr_t cpool_lock_;                                                         \
                                                                                       \
        CPOOL_MARK_(&(entry)->home, CPOOL_CAST_(void *, entry));                       \
        CPOOL_FENCE_();                                                                \
        cpool_lock_ = CPOOL_LOCK_(entry);                                              \
        CPOOL_POP_BESIDE_BY_(CPOOL_COUNT_, CPOOL_SHOW_, entry, cpool_lock_, slot,      \
                             CPOOL_MARK_(&(entry)->home, NULL); empty);                \
        CPOOL_MARK_(&(entry)->home, NULL);                                             \
    } while (0)

#define CPOOL_PUSH_MARKED_(entry, slot, valid, full)                                   \
    do {                                                                               \
        uintptr_t cpool_frees_;                                                        \
                                                                                       \
        if (CPOOL_UNLIKELY_(!(valid)))                                                 \
            full;                                                                      \
        cpool_frees_ = CPOOL_COUNT_(&(entry)->frees);                                  \
        CPOOL_MARK_(&(entry)->frees, cpool_frees_ + 1u);                               \
        CPOOL_FENCE_();                                                                \
        if (CPOOL_UNLIKELY_(CPOOL_LOCK_(entry) != 0)) {                                \
            CPOOL_MARK_(&(entry)->frees, cpool_frees_ + 2u);                           \
            full;                                                                      \
        }                                                                              \
        CPOOL_PUSH_(entry, slot, 1, CPOOL_MARK_(&(entry)->frees, cpool_frees_ + 2u);   \
                    full);                                                             \
        CPOOL_MARK_(&(entry)->frees, cpool_frees_ + 2u);                               \
    } while (0)

#endif /* __GNUC__ */

#if CPOOL_IS_INLINE_

/* The contracts are at the declarations in <cpool.h>. */
CPOOL_API CPOOL_INLINE_ void *cpool_cache_alloc(cpool_cache_t *cache)
{
    void *slot;

    CPOOL_POP_(cache, slot, return cpool_alloc_abi3(CPOOL_CAST_(cpool_t *, cache), cache));
    return slot;
}

CPOOL_API CPOOL_INLINE_ void *cpool_alloc(cpool_t *pool)
{
    cpool_cache_t *cache;
    void *slot;

    CPOOL_OWN_ENTRY_(cache, pool);
    CPOOL_POP_(cache, slot, return cpool_alloc_abi3(pool, cache));
    return slot;
}

CPOOL_API CPOOL_INLINE_ void cpool_cache_free(cpool_cache_t *cache, void *slot)
{
    uintptr_t index;

    CPOOL_INDEX_(cache->pool, slot, index);
    CPOOL_PUSH_(cache, slot, index < cache->bound,
                cpool_free_abi3(CPOOL_CAST_(cpool_t *, cache), slot, index, cache));
}

CPOOL_API CPOOL_INLINE_ void cpool_free(cpool_t *pool, void *slot)
{
    cpool_cache_t *cache;
    uintptr_t index;

    CPOOL_INDEX_(pool, slot, index); /* first, which takes GCC an instruction less */
    CPOOL_OWN_ENTRY_(cache, pool);
    CPOOL_PUSH_(cache, slot, index < cache->bound, cpool_free_abi3(pool, slot, index, cache));
}

/* The answers of the calls, which are made for all but a slot of a living pool. */
CPOOL_LOCAL_ size_t cpool_index_near_(const cpool_t *pool, const void *slot)
{
    uintptr_t index;

    if (CPOOL_LIKELY_(pool != NULL)) {
        CPOOL_INDEX_(pool, slot, index);
        if (CPOOL_LIKELY_(index < pool->slots))
            return index;
    }
    return (cpool_index)(pool, slot);
}

CPOOL_LOCAL_ void *cpool_at_near_(const cpool_t *pool, size_t index)
{
    if (CPOOL_LIKELY_(pool != NULL) && CPOOL_LIKELY_(index < pool->slots))
        return CPOOL_CAST_(void *, pool->base + index * pool->stride);
    return (cpool_at)(pool, index);
}

#define cpool_index(pool, slot) cpool_index_near_(pool, slot)
#define cpool_at(pool, index) cpool_at_near_(pool, index)

#endif /* CPOOL_IS_INLINE_ */

/* By calls, which notice a pointer that is no pool's. */
CPOOL_LOCAL_ bool cpool_owns(const cpool_t *pool, const void *p)
{
    return (cpool_index)(pool, p) != SIZE_MAX;
}

CPOOL_LOCAL_ size_t cpool_index_limit(const cpool_t *pool)
{
    return (cpool_at)(pool, 0) != NULL ? pool->slots : 0;
}

#endif /* CPOOL_FAST_H */
