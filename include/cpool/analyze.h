/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/analyze.h - declarations for static analysis.
 *
 * Included by <cpool.h> where CPOOL_ANALYZE is defined, and by itself for clang's analyzer.
 * Never include it yourself.
 *
 *     gcc -fanalyzer -DCPOOL_ANALYZE -c job.c     GCC 11 or newer
 *     clang --analyze job.c                       scan-build and clang-tidy, too
 *
 * They find slots that are used after their free, freed twice or leaked, as they do with malloc:
 * slots of handles and of typed pools, and blocks of <cpool/sized.h>.  GCC also finds
 * free(jobs_alloc()) and jobs_free(malloc(9)).  They take slots that the program leaves to
 * cpool_reset or cpool_destroy for leaks, and GCC does not let a typed pool's free take a slot of
 * cpool_alloc.  To clang the bytes of a new slot are uninitialised, as to Memcheck.
 *
 * GCC compiles the same program, only slower: alloc and free are calls.  It cannot be linked with
 * -flto.
 */
#ifndef CPOOL_ANALYZE_H
#define CPOOL_ANALYZE_H

#ifndef CPOOL_H
#error "include <cpool.h> instead of <cpool/analyze.h>"
#endif

/* A function that frees the slot in its n-th argument, and one that returns a slot to be freed
 * so. */
#if defined(__clang__)
#define CPOOL_TAKES_(n) __attribute__((__ownership_takes__(__malloc__, n)))
#define CPOOL_TAKEN_BY_(function, n)
#define CPOOL_GIVES_ __attribute__((__ownership_returns__(__malloc__)))
#else
#define CPOOL_TAKES_(n)
#if __GNUC__ >= 11
#define CPOOL_TAKEN_BY_(function, n) __attribute__((__malloc__(function, n)))
#else
#define CPOOL_TAKEN_BY_(function, n)
#endif
#define CPOOL_GIVES_
#endif

/* GCC knows a set of functions for each slot, any of which frees it. */
#define CPOOL_TAKEN_BY_ANY_                                                            \
    CPOOL_TAKEN_BY_(cpool_free, 2) CPOOL_TAKEN_BY_(cpool_cache_free, 2)               \
    CPOOL_TAKEN_BY_(cpool_free_uncached, 2)

/* The functions of <cpool.h> with these attributes.  An analyzer looks into cpool_calloc. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"
void cpool_free(cpool_t *pool, void *slot) CPOOL_TAKES_(2);
void cpool_cache_free(cpool_cache_t *cache, void *slot) CPOOL_TAKES_(2);
void cpool_free_uncached(cpool_t *pool, void *slot) CPOOL_TAKES_(2);
void *cpool_alloc(cpool_t *pool) CPOOL_TAKEN_BY_ANY_ CPOOL_GIVES_;
void *cpool_cache_alloc(cpool_cache_t *cache) CPOOL_TAKEN_BY_ANY_ CPOOL_GIVES_;
void *cpool_alloc_uncached(cpool_t *pool) CPOOL_TAKEN_BY_ANY_ CPOOL_GIVES_;
void *cpool_alloc_wait(cpool_t *pool, const struct timespec *timeout) CPOOL_TAKEN_BY_ANY_
    CPOOL_GIVES_;
#pragma GCC diagnostic pop

/*
 * An analyzer looks into a function whose body it sees, and ignores its attributes.  So the
 * functions of a typed pool are only declared.  Another function, with the macro's body, has their
 * name for the linker.
 */
#define CPOOL_ALONE_(result, function, arguments, attributes)                          \
    CPOOL_ALONE_AS_(result, function, arguments, attributes, __COUNTER__)

/* The number distinguishes functions of one name in several namespaces. */
#define CPOOL_ALONE_AS_(result, function, arguments, attributes, number)               \
    result function arguments CPOOL_LABEL_(CPOOL_NUMBERED_(function, number)) attributes; \
    static __attribute__((__used__)) result function##_ arguments                      \
        CPOOL_LABEL_(CPOOL_NUMBERED_(function, number));                               \
    static __attribute__((__used__)) result function##_ arguments

#define CPOOL_NUMBERED_(function, number) #function "_" #number
#define CPOOL_LABEL_(text) CPOOL_LABEL_BEHIND_(__USER_LABEL_PREFIX__, text)
#define CPOOL_LABEL_BEHIND_(prefix, text) CPOOL_LABEL_JOINED_(prefix, text)
#define CPOOL_LABEL_JOINED_(prefix, text) __asm__(#prefix text)

#define CPOOL_TYPED_TAKEN_BY_ANY_(name)                                                \
    CPOOL_TAKEN_BY_(name##_free, 1) CPOOL_TAKEN_BY_(name##_free_uncached, 1)              \
    CPOOL_TAKEN_BY_(name##_cache_free, 2) CPOOL_TAKEN_BY_ANY_ CPOOL_GIVES_

#undef CPOOL_TYPED_PATH_
#define CPOOL_TYPED_PATH_(name, type)                                                  \
    extern struct cpool_typed name##_typed_ CPOOL_TYPED_VISIBLE_;                      \
                                                                                       \
    CPOOL_ALONE_(void, name##_free, (type *cpool_slot_), CPOOL_TAKES_(1))              \
    {                                                                                  \
        cpool_t *cpool_pool_ = cpool_slot_ != NULL ? cpool_typed_pool_abi1(&name##_typed_) : NULL;\
                                                                                       \
        if (cpool_pool_ != NULL)                                                       \
            cpool_free(cpool_pool_, cpool_slot_);                                      \
    }                                                                                  \
                                                                                       \
    CPOOL_ALONE_(void, name##_free_uncached, (type *cpool_slot_), CPOOL_TAKES_(1))        \
    {                                                                                  \
        if (cpool_slot_ != NULL)                                                       \
            cpool_free_uncached(cpool_typed_pool_abi1(&name##_typed_), cpool_slot_);      \
    }                                                                                  \
                                                                                       \
    CPOOL_ALONE_(void, name##_cache_free, (cpool_cache_t *cpool_cache_, type *cpool_slot_), \
                 CPOOL_TAKES_(2))                                                      \
    {                                                                                  \
        cpool_cache_free(cpool_cache_, cpool_slot_);                                   \
    }                                                                                  \
                                                                                       \
    CPOOL_ALONE_(type *, name##_alloc, (void), CPOOL_TYPED_TAKEN_BY_ANY_(name))        \
    {                                                                                  \
        cpool_t *cpool_pool_ = cpool_typed_pool_abi1(&name##_typed_);                  \
                                                                                       \
        return cpool_pool_ != NULL ? CPOOL_CAST_(type *, cpool_alloc(cpool_pool_)) : NULL; \
    }

#undef CPOOL_TYPED_TAKE_
#define CPOOL_TYPED_TAKE_(name, type, function, parameters, call)                      \
    CPOOL_ALONE_(type *, function, parameters, CPOOL_TYPED_TAKEN_BY_ANY_(name))        \
    {                                                                                  \
        return CPOOL_CAST_(type *, call);                                              \
    }

#undef CPOOL_TYPED_FREES_
#define CPOOL_TYPED_FREES_(name, type)                                                 \
    CPOOL_ALONE_(void, name##_free_bulk, (type *const *cpool_slots_, size_t cpool_n_), ) \
    {                                                                                  \
        cpool_t *cpool_pool_ = cpool_n_ > 0 ? name##_pool() : NULL;                    \
                                                                                       \
        if (cpool_pool_ != NULL)                                                       \
            cpool_free_bulk(cpool_pool_, CPOOL_CAST_(void *const *, cpool_slots_), cpool_n_); \
    }

#endif /* CPOOL_ANALYZE_H */
