/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/fast.h - the inline path of libcpool, and the layouts that it needs.
 *
 * Included by <cpool.h>.  Never include it yourself.
 *
 * An alloc is about 13 instructions and a free about 17, on memory that only the calling thread
 * writes.  To be inlined into the caller, they need the layout of three things, and only these are
 * frozen:
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
 * plus the word: no load is needed to find it.
 *
 * One comparison with the entry's `limit` tells whether there is a round, or room for one, and
 * whether the loaded magazine is the thread's own.  A limit of 0 closes the entry: the thread has
 * no cache yet, or the pool was destroyed or needs more work for each operation, or another thread
 * found the pool dry and takes back slots, or a thread waits for a slot.  Then each alloc and each
 * free is a call.  Before it compares, the owner sets the top bit of `count`, so that a thread that
 * has closed the entry sees whether the owner is inside (lib/cache/cache.h).  An entry of zeroes is
 * closed.  Threads without a cache share one, in which they set the mark.
 *
 * Names that end in an underscore are only for this file.
 *
 * The number of the layouts, as in cpool_thread_word_abi1, is part of the names of the word and of
 * each function that inline code of any header calls.  A change to a layout that inline code knows
 * raises it in all these names.  A program built against another layout then fails to link instead
 * of running.
 */
#ifndef CPOOL_FAST_H
#define CPOOL_FAST_H

#ifndef CPOOL_H
#error "include <cpool.h> instead of <cpool/fast.h>"
#endif

/*
 * A pool's descriptor is constant from creation to destruction, so that all processors can share
 * its cache line.
 */
struct cpool_pool {
    uintptr_t base;    /* address of slot 0 */
    uintptr_t inverse; /* inverse of the stride's odd part, modulo 2^word */
    uintptr_t shift;   /* log2 of the stride's power-of-two part */
    void *state;       /* the library's own part of the pool; NULL: not a pool */
    uintptr_t slots;   /* slots that have an address; 0: not a pool */
    uintptr_t stride;  /* bytes from slot to slot */
    uintptr_t client;  /* of a face, its client, or 0 (cpool/client.h); else 1 plus twice the bytes
                          of a slot */
    uintptr_t direct;  /* as `slots`, or 0 if some slots are elsewhere, because they are sampled */
};

/*
 * One owner's cache of one pool, on its own cache line.  Only its owner writes it, except that any
 * thread may close it.
 */
struct cpool_cache {
    uintptr_t count; /* atomic: rounds in the loaded magazine, and CPOOL_BUSY_ while the owner is
                        inside */
    uintptr_t limit; /* atomic: rounds a magazine can hold, or 0 while the entry is closed */
    void **rounds;   /* the loaded magazine's rounds */
    uintptr_t bound; /* slots below this index have been handed out.  The slow path
                        raises it */
    cpool_t *pool;   /* its pool; a descriptor without a pool while unused */
    void *home;      /* the library's own part of this cache */
    uintptr_t reserved[2]; /* for future layouts */
};

/* The owner's mark in its count. */
#define CPOOL_BUSY_ (~(~CPOOL_NUMBER_(uintptr_t, 0) >> 1))

/* The slow paths, called when a cache is empty, full or closed, or when a pointer is NULL or not a
 * slot.  The arguments are the results of the inline path: the calling thread's entry for the pool,
 * and the slot's index.  For an explicit cache the entry also takes the place of the pool. */
CPOOL_API void *cpool_alloc_abi1(cpool_t *pool, cpool_cache_t *cache) CPOOL_NO_PLT_;
CPOOL_API void cpool_free_abi1(cpool_t *pool, void *slot, uintptr_t index,
                               cpool_cache_t *cache) CPOOL_NO_PLT_;

#if defined(__GNUC__)

/*
 * Initial-exec: a load from a constant offset to the thread pointer, and no call into the dynamic
 * linker.  It takes eight bytes of the static TLS block, which leaves room for libraries loaded
 * with dlopen as well. __thread, because C99 has no other name for it.
 */
#if defined(_WIN32) && !defined(__clang__) /* in a TLS slot of the system */
#define cpool_thread_word_abi1 (*cpool_thread_word_())
uintptr_t *cpool_thread_word_(void);
#else
extern CPOOL_API __thread uintptr_t cpool_thread_word_abi1
#if defined(__ELF__) && !defined(CPOOL_PLAIN_POSIX)
    __attribute__((tls_model("initial-exec")))
#endif
    ;
#endif

#define CPOOL_LIKELY_(x) __builtin_expect(!!(x), 1)
#define CPOOL_UNLIKELY_(x) __builtin_expect(!!(x), 0)

/*
 * A word of the calling thread's thread-local storage, read at this point of the program: see
 * CPOOL_IS_READ_ in <cpool/attributes.h>.  `name` is a variable of a pointer's size in static
 * thread-local storage.  It has the same name in assembly, even if it is a macro.
 *
 *   CPOOL_READ_NEAR_   a variable of the program itself (local-exec)
 *   CPOOL_READ_FAR_    a variable of another module (initial-exec).  The linker turns it into the
 *                      first where it can.  The distance from the thread pointer is the same in all
 *                      threads, and for the whole run, so compilers may keep it.  The large unused
 *                      number makes GCC consider reading it so expensive that it keeps the result
 *                      throughout a loop
 */
#define CPOOL_TEXT_OF_(name) #name
#define CPOOL_TEXT_(name) CPOOL_TEXT_OF_(name)

#if !CPOOL_IS_READ_
#elif defined(__x86_64__) /* {AT&T|Intel} */
#define CPOOL_READ_NEAR_(value, name)                                                  \
    __asm__ volatile("mov{q\t%%fs:" CPOOL_TEXT_(name) "@tpoff, %0|"                    \
                     "\t%0, QWORD PTR fs:" CPOOL_TEXT_(name) "@tpoff}"                 \
                     : "=r"(value))
#define CPOOL_READ_DISTANCE_(distance, name)                                           \
    __asm__("mov{q\t" CPOOL_TEXT_(name) "@gottpoff(%%rip), %0|"                        \
            "\t%0, QWORD PTR " CPOOL_TEXT_(name) "@gottpoff[rip]}"                     \
            : "=r"(distance)                                                           \
            : "i"(INT64_MAX))
#define CPOOL_READ_AT_(value, distance)                                                \
    __asm__ volatile("mov{q\t%%fs:(%1), %0|\t%0, QWORD PTR fs:[%1]}"                   \
                     : "=r"(value)                                                     \
                     : "r"(distance))
#elif defined(__aarch64__)
#define CPOOL_READ_NEAR_(value, name)                                                  \
    __asm__ volatile("mrs\t%0, tpidr_el0\n\t"                                          \
                     "add\t%0, %0, #:tprel_hi12:" CPOOL_TEXT_(name) ", lsl #12\n\t"   \
                     "ldr\t%0, [%0, #:tprel_lo12_nc:" CPOOL_TEXT_(name) "]"            \
                     : "=r"(value))
#define CPOOL_READ_DISTANCE_(distance, name)                                           \
    __asm__("adrp\t%0, :gottprel:" CPOOL_TEXT_(name) "\n\t"                           \
            "ldr\t%0, [%0, #:gottprel_lo12:" CPOOL_TEXT_(name) "]"                     \
            : "=r"(distance))
#define CPOOL_READ_AT_(value, distance)                                                \
    __asm__ volatile("mrs\t%0, tpidr_el0\n\t"                                          \
                     "ldr\t%0, [%0, %1]"                                               \
                     : "=&r"(value)                                                    \
                     : "r"(distance))
#endif

#define CPOOL_READ_FAR_(value, name)                                                   \
    do {                                                                               \
        uintptr_t cpool_distance_;                                                     \
                                                                                       \
        CPOOL_READ_DISTANCE_(cpool_distance_, name);                                   \
        CPOOL_READ_AT_(value, cpool_distance_);                                        \
    } while (0)

/* The thread's word.  Without these instructions only the library reads it, and no fiber leaves the
 * library's functions in the middle.  Models have their own. */
#if defined(CPOOL_THREAD_WORD_)
#elif CPOOL_IS_READ_
#define CPOOL_THREAD_WORD_(word) CPOOL_READ_FAR_(word, cpool_thread_word_abi1)
#if defined(__x86_64__) /* adds the word by the instruction that reads it */
#define CPOOL_ADD_WORD_(address)                                                       \
    do {                                                                               \
        uintptr_t cpool_distance_;                                                     \
                                                                                       \
        CPOOL_READ_DISTANCE_(cpool_distance_, cpool_thread_word_abi1);                 \
        __asm__ volatile("add{q\t%%fs:(%1), %0|\t%0, QWORD PTR fs:[%1]}"               \
                         : "+r"(address)                                               \
                         : "r"(cpool_distance_)                                        \
                         : "cc");                                                      \
    } while (0)
#endif
#else
#define CPOOL_THREAD_WORD_(word) ((void)((word) = cpool_thread_word_abi1))
#endif

/*
 * The calling thread's entry for a pool.  The empty statement makes clang compute its address in
 * one register, which costs no instruction.  Otherwise clang addresses `count` as base + index, and
 * some processors forward a store to a later load without delay only for simple addresses: on
 * Intel's Golden Cove each alloc and each free took five cycles more.  GCC needs no help.
 */
#if defined(__clang__)
#define CPOOL_ADD_UP_(cache) __asm__("" : "+r"(cache))
#else
#define CPOOL_ADD_UP_(cache) ((void)0)
#endif

#if !defined(CPOOL_ADD_WORD_)
#define CPOOL_ADD_WORD_(address)                                                       \
    do {                                                                               \
        uintptr_t cpool_thread_;                                                       \
                                                                                       \
        CPOOL_THREAD_WORD_(cpool_thread_);                                             \
        (address) += cpool_thread_;                                                    \
        CPOOL_ADD_UP_(address);                                                        \
    } while (0)
#endif

#define CPOOL_OWN_ENTRY_(cache, pool)                                                  \
    do {                                                                               \
        uintptr_t cpool_address_ = CPOOL_CAST_(uintptr_t, pool);                       \
                                                                                       \
        CPOOL_ADD_WORD_(cpool_address_);                                               \
        (cache) = CPOOL_CAST_(cpool_cache_t *, cpool_address_);                        \
    } while (0)

/*
 * Validation of a freed pointer, for any stride, without a division.  With stride = odd * 2^shift,
 * multiplying the byte offset by the inverse of `odd` modulo 2^word divides it exactly if it is
 * divisible by `odd`, and the rotation then moves any bit below 2^shift to the top.  An offset that
 * is not a multiple of the stride becomes a number larger than every possible index (Granlund and
 * Montgomery, "Division by invariant integers using multiplication", PLDI 1994, section 9).  So one
 * comparison refuses pointers below the slab, above it, between two slots, to slots never handed
 * out, and NULL.
 */
#define CPOOL_INDEX_(pool, slot, index)                                                \
    do {                                                                               \
        uintptr_t cpool_scaled_ = (CPOOL_CAST_(uintptr_t, slot) - (pool)->base) *      \
                                  (pool)->inverse;                                     \
        uintptr_t cpool_word_ = sizeof(uintptr_t) * 8u;                                \
        (index) = (cpool_scaled_ >> (pool)->shift) |                                   \
                  (cpool_scaled_ << ((cpool_word_ - (pool)->shift) & (cpool_word_ - 1u))); \
    } while (0)

/* The empty statement makes clang continue with this number.  Otherwise it also keeps the number
 * from which this one was computed, which costs an instruction.  Models define it as empty, because
 * their checker reads no assembly. */
#if defined(CPOOL_KEEP_)
#elif defined(__clang__)
#define CPOOL_KEEP_(number) __asm__("" : "+r"(number))
#else
#define CPOOL_KEEP_(number) ((void)0)
#endif

/* A hook of tests and models before each access. */
#if !defined(CPOOL_POINT_)
#define CPOOL_POINT_() ((void)0)
#endif

/* Keeps the compiler from reordering accesses across it.  Models have their own. */
#if !defined(CPOOL_FENCE_)
#define CPOOL_FENCE_() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#endif

#define CPOOL_COUNT_(word) (CPOOL_POINT_(), __atomic_load_n((word), __ATOMIC_RELAXED))
#define CPOOL_MARK_(word, value)                                                       \
    (CPOOL_POINT_(), __atomic_store_n((word), (value), __ATOMIC_RELAXED))
#define CPOOL_SHOW_(word, count)                                                       \
    (CPOOL_POINT_(), __atomic_store_n((word), (count), __ATOMIC_RELEASE))

/* The owner enters: sets its mark, and `rounds` to its count. */
#define CPOOL_ENTER_(entry, rounds)                                                    \
    ((rounds) = CPOOL_COUNT_(&(entry)->count),                                         \
     CPOOL_MARK_(&(entry)->count, (rounds) | CPOOL_BUSY_), CPOOL_FENCE_())

/*
 * One pop from the loaded magazine, and one push to it.  The pop executes the statement `empty` if
 * there is no slot.  The push executes `full` if the condition `valid` does not hold or there is no
 * room.  The mark stays set then, for the call in that statement.  A count that has the mark
 * already is above any limit, so a signal handler that interrupts the owner takes the slow path,
 * too.
 *
 * Orders.  Only the compiler must keep the order of the mark and the load of the limit, because a
 * thread that closes the entry makes every processor pass a barrier before it reads the mark.  Both
 * are relaxed: an owner that reads a nonzero limit has stored it itself, or learnt of it from the
 * previous owner.  The last store is a release, also in a pop, because a thread that acquires a
 * count takes the magazine, and writes where the owner has read.  On x86 a release is a plain
 * store.
 */
#define CPOOL_POP_(entry, slot, empty)                                                 \
    do {                                                                               \
        uintptr_t cpool_left_;                                                         \
                                                                                       \
        CPOOL_ENTER_(entry, cpool_left_);                                              \
        cpool_left_--;                                                                 \
        CPOOL_KEEP_(cpool_left_);                                                      \
        if (CPOOL_UNLIKELY_(cpool_left_ >= CPOOL_COUNT_(&(entry)->limit))) {           \
            empty;                                                                     \
        } else {                                                                       \
            (slot) = (entry)->rounds[cpool_left_];                                     \
            CPOOL_SHOW_(&(entry)->count, cpool_left_);                                 \
        }                                                                              \
    } while (0)

#define CPOOL_PUSH_(entry, slot, valid, full)                                          \
    do {                                                                               \
        uintptr_t cpool_count_;                                                        \
                                                                                       \
        if (CPOOL_LIKELY_(valid) &&                                                    \
            CPOOL_LIKELY_((CPOOL_ENTER_(entry, cpool_count_),                          \
                           cpool_count_ < CPOOL_COUNT_(&(entry)->limit)))) {           \
            (entry)->rounds[cpool_count_] = (slot);                                    \
            CPOOL_SHOW_(&(entry)->count, cpool_count_ + 1u);                           \
        } else {                                                                       \
            full;                                                                      \
        }                                                                              \
    } while (0)

#endif /* __GNUC__ */

#if CPOOL_IS_INLINE_

/* The slow path.  The library's own functions pass on where they were called. */
#if !defined(CPOOL_ALLOC_OUT_)
#define CPOOL_ALLOC_OUT_(pool, cache) cpool_alloc_abi1(pool, cache)
#define CPOOL_FREE_OUT_(pool, slot, index, cache) cpool_free_abi1(pool, slot, index, cache)
#endif

/* The contracts are at the declarations in <cpool.h>. */
CPOOL_API CPOOL_INLINE_ void *cpool_cache_alloc(cpool_cache_t *cache)
{
    void *slot;

    CPOOL_POP_(cache, slot, return CPOOL_ALLOC_OUT_(CPOOL_CAST_(cpool_t *, cache), cache));
    return slot;
}

CPOOL_API CPOOL_INLINE_ void *cpool_alloc(cpool_t *pool)
{
    cpool_cache_t *cache;
    void *slot;

    CPOOL_OWN_ENTRY_(cache, pool);
    CPOOL_POP_(cache, slot, return CPOOL_ALLOC_OUT_(pool, cache));
    return slot;
}

CPOOL_API CPOOL_INLINE_ void cpool_cache_free(cpool_cache_t *cache, void *slot)
{
    uintptr_t index;

    CPOOL_INDEX_(cache->pool, slot, index);
    CPOOL_PUSH_(cache, slot, index < cache->bound,
                CPOOL_FREE_OUT_(CPOOL_CAST_(cpool_t *, cache), slot, index, cache));
}

CPOOL_API CPOOL_INLINE_ void cpool_free(cpool_t *pool, void *slot)
{
    cpool_cache_t *cache;
    uintptr_t index;

    CPOOL_INDEX_(pool, slot, index); /* first: saves GCC an instruction */
    CPOOL_OWN_ENTRY_(cache, pool);
    CPOOL_PUSH_(cache, slot, index < cache->bound, CPOOL_FREE_OUT_(pool, slot, index, cache));
}

/* The results of the calls, which are made unless it is a slot of a live pool. */
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
    if (CPOOL_LIKELY_(pool != NULL) && CPOOL_LIKELY_(index < pool->direct))
        return CPOOL_CAST_(void *, pool->base + index * pool->stride);
    return (cpool_at)(pool, index);
}

#define cpool_index(pool, slot) cpool_index_near_(pool, slot)
#define cpool_at(pool, index) cpool_at_near_(pool, index)

#endif /* CPOOL_IS_INLINE_ */

CPOOL_LOCAL_ void *cpool_calloc(cpool_t *pool)
{
    void *slot = cpool_alloc(pool);

    if (slot != NULL)
        memset(slot, 0, pool->client >> 1);
    return slot;
}

/* These make calls, which detect a pointer that is not a pool. */
CPOOL_LOCAL_ bool cpool_owns(const cpool_t *pool, const void *p)
{
    return (cpool_index)(pool, p) != SIZE_MAX;
}

CPOOL_LOCAL_ size_t cpool_index_limit(const cpool_t *pool)
{
    return (cpool_at)(pool, 0) != NULL ? pool->slots : 0;
}

CPOOL_LOCAL_ size_t cpool_span(const cpool_t *pool, void **first)
{
    *first = (cpool_at)(pool, 0) != NULL ? CPOOL_CAST_(void *, pool->base) : NULL;
    return *first != NULL ? pool->slots * pool->stride : 0;
}

#endif /* CPOOL_FAST_H */
