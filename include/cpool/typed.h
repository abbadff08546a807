/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/typed.h - pools of one type, declared once.
 *
 * Included by <cpool.h>.  Never include it yourself.
 *
 * OVERVIEW
 *
 *     CPOOL_DECLARE(jobs, struct job);                     in a header
 *     CPOOL_DEFINE(jobs, struct job, .capacity = 100000);  in one source file
 *     CPOOL_DEFINE_INLINE(jobs, struct job, .capacity = 100000);   or both, in a header
 *
 *     struct job *job = jobs_alloc();                      NULL when all are out
 *     jobs_free(job);
 *
 * There is no pool to create or to pass around, and the compiler checks the type.  A thread finds
 * its cache entry by a thread-local variable of the program, the size of a slot is a constant, and
 * a variable of the program holds the bounds of the addresses.  On x86-64 with GCC an alloc takes
 * 13 instructions as a function, and a free 17.
 *
 * The pool is created on first use, by any thread, with the settings of the definition. jobs_pool()
 * returns it for all other functions, which any thread may use together with those of the type.
 *
 * An editor with clangd lists these functions at the name CPOOL_DECLARE.  From clangd 19 on it
 * shows the comment before CPOOL_DECLARE for each of them.
 *
 * NOTES: cpool_typed(3) has notes on checks, types, names, thread-local storage, the end of threads
 * and unloading (doc/man/cpool_typed.txt).
 */
#ifndef CPOOL_TYPED_H
#define CPOOL_TYPED_H

#ifndef CPOOL_H
#error "include <cpool.h> instead of <cpool/typed.h>"
#endif

/*
 * CPOOL_DECLARE - declares a typed pool and defines its functions, which are inline.
 *
 * At file scope, in a header or before CPOOL_DEFINE:
 *
 *     type *<name>_alloc(void);          as cpool_alloc
 *     type *<name>_calloc(void);         as cpool_calloc
 *     void <name>_free(type *slot);      as cpool_free
 *     size_t <name>_alloc_bulk(type **slots, size_t n, size_t least);   as cpool_alloc_bulk
 *     void <name>_free_bulk(type *const *slots, size_t n);     as cpool_free_bulk
 *     type *<name>_alloc_wait(const struct timespec *timeout); as cpool_alloc_wait
 *     type *<name>_alloc_uncached(void);    as cpool_alloc_uncached
 *     void <name>_free_uncached(type *slot);
 *     type *<name>_cache_alloc(cpool_cache_t *cache);          as cpool_cache_alloc
 *     void <name>_cache_free(cpool_cache_t *cache, type *slot);
 *     size_t <name>_index(const type *slot);                   as cpool_index
 *     type *<name>_at(size_t index);     as cpool_at
 *     cpool_t *<name>_pool(void);        the pool; creates it if there is none;
 *                                        NULL if that fails
 *     int <name>_open(const cpool_config_t *config);
 *     int <name>_close(void);
 *
 * If the pool cannot be created, an alloc returns NULL, and the next one tries again.  The first
 * failure is reported with its code.  Wrong constant settings are compile-time errors: in C++
 * always, and in C with optimisation.  CPOOL_DECLARE_HANDLES (<cpool/track.h>),
 * CPOOL_DECLARE_FRAMES (<cpool/frame.h>) and CPOOL_DECLARE_NOTICES (<cpool/wait.h>) add
 * functions.
 *
 * <name>_open creates the pool now.  NULL means the settings of the definition.  In a
 * configuration, slot_size and slot_align may be 0, which means the type's, and name may be NULL.
 * Returns 0, or cpool_create's code, CPOOL_ESLOTSIZE if slot_size differs from the type's,
 * CPOOL_EALIGN if slot_align is below the type's, or CPOOL_EOPEN if the pool exists already and a
 * configuration was given.  With NULL it then returns 0.
 *
 * <name>_close destroys the pool, under cpool_destroy's conditions and with its result.
 * It returns 0 if there is none.  The next use creates it anew.  cpool_destroy on
 * <name>_pool() does the same.
 */
#define CPOOL_DECLARE(name, type)                                                      \
    /* type *<name>_alloc(void)         takes a slot, or returns NULL                  \
     * type *<name>_calloc(void)        the same, its bytes set to zero                \
     * void <name>_free(type *slot)     gives a slot back, from any thread             \
     * size_t <name>_alloc_bulk(type **slots, size_t n, size_t least)   takes least to n, or none \
     * void <name>_free_bulk(type *const *slots, size_t n)   gives n slots back        \
     * type *<name>_alloc_wait(const struct timespec *timeout)   sleeps until a slot is free \
     * type *<name>_alloc_uncached(void), void <name>_free_uncached(type *slot)   without a cache \
     * type *<name>_cache_alloc(cpool_cache_t *cache)        takes a slot by an explicit cache \
     * void <name>_cache_free(cpool_cache_t *cache, type *slot)   gives one back by it \
     * size_t <name>_index(const type *slot)   the index of a slot, or SIZE_MAX        \
     * type *<name>_at(size_t index)    the slot of an index, or NULL                  \
     * cpool_t *<name>_pool(void)       the pool, for all functions of <cpool.h>       \
     * int <name>_open(const cpool_config_t *config)         creates the pool now: 0 or a code \
     * int <name>_close(void)           destroys the pool: 0 or a code */              \
    CPOOL_TYPED_PATH_(name, type)                                                      \
    CPOOL_TYPED_DECLARE_(name, type)

/*
 * CPOOL_DEFINE - defines a typed pool that CPOOL_DECLARE has declared.
 *
 * At file scope, in one source file of the program or module.  The settings are designated
 * initialisers of cpool_config_t, `.capacity` at least, in C++ in the order of the members.
 */
#define CPOOL_DEFINE(name, type, ...)                                                  \
    CPOOL_TYPED_STORAGE_(, name)                                                       \
    CPOOL_TYPED_DEFINE_(, name, type, __VA_ARGS__)

/*
 * CPOOL_DEFINE_INLINE - declares and defines a typed pool in a header.
 *
 * Replaces CPOOL_DECLARE and CPOOL_DEFINE, in C and in C++.  All source files of a program or
 * module that include the header share one pool.  The settings must be the same in each of them.
 * It needs GNU extensions.  In C++ it stands outside of namespaces, though the type may be in one.
 */
#if defined(__GNUC__)
#define CPOOL_DEFINE_INLINE(name, type, ...)                                           \
    /* The functions that CPOOL_DECLARE lists. */                                      \
    CPOOL_DECLARE(name, type);                                                         \
    CPOOL_TYPED_GLOBAL_(name)                                                          \
    CPOOL_TYPED_STORAGE_(CPOOL_TYPED_ONE_, name)                                       \
    CPOOL_TYPED_DEFINE_(CPOOL_TYPED_ONE_, name, type, __VA_ARGS__)
/* The linker keeps one of several definitions. */
#if defined(_WIN32)
#define CPOOL_TYPED_ONE_ __attribute__((__selectany__))
#else
#define CPOOL_TYPED_ONE_ __attribute__((__weak__))
#endif
/* Of weak definitions with one name in two namespaces the linker would say nothing, and the
 * thread's entry, which is extern "C", would be the same for both pools. */
#if defined(__cplusplus)
#define CPOOL_TYPED_GLOBAL_(name)                                                      \
    typedef char name##_is_outside_of_namespaces_;                                     \
    static_assert(sizeof(::name##_is_outside_of_namespaces_) == 1, "");
#else
#define CPOOL_TYPED_GLOBAL_(name)
#endif
#endif

/*
 * The parts of the macros above.  Nothing below is for use outside this header.
 */
#define CPOOL_TYPED_DECLARE_(name, type)                                               \
    CPOOL_TYPED_INLINE_ type *name##_calloc(void)                                      \
    {                                                                                  \
        type *cpool_slot_ = name##_alloc();                                            \
                                                                                       \
        if (cpool_slot_ != NULL)                                                       \
            cpool_typed_zero_(cpool_slot_, sizeof(type));                              \
        return cpool_slot_;                                                            \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ cpool_t *name##_pool(void)                                     \
    {                                                                                  \
        return CPOOL_TYPED_OPENED_(&name##_typed_);                                    \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ size_t name##_alloc_bulk(type **cpool_slots_, size_t cpool_n_, \
                                                 size_t cpool_least_)                  \
    {                                                                                  \
        cpool_t *cpool_pool_ = name##_pool();                                          \
        void **cpool_any_ = CPOOL_CAST_(void **, cpool_slots_);                        \
                                                                                       \
        if (cpool_pool_ == NULL)                                                       \
            return 0;                                                                  \
        return cpool_alloc_bulk(cpool_pool_, cpool_any_, cpool_n_, cpool_least_);      \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_FREES_(name, type)                                                     \
    CPOOL_TYPED_TAKE_(name, type, name##_alloc_uncached, (void),                          \
                      name##_pool() != NULL ? cpool_alloc_uncached(name##_pool()) : NULL) \
    CPOOL_TYPED_TAKE_(name, type, name##_cache_alloc, (cpool_cache_t *cpool_cache_),   \
                      cpool_cache_alloc(cpool_cache_))                                 \
    CPOOL_TYPED_TAKE_(name, type, name##_alloc_wait, (const struct timespec *cpool_time_), \
                      name##_pool() != NULL ? cpool_alloc_wait(name##_pool(), cpool_time_) : NULL) \
    CPOOL_TYPED_INLINE_ size_t name##_index(const type *cpool_slot_)                   \
    {                                                                                  \
        cpool_t *cpool_pool_ = name##_pool();                                          \
                                                                                       \
        return cpool_pool_ != NULL ? cpool_index(cpool_pool_, cpool_slot_) : SIZE_MAX; \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ type *name##_at(size_t cpool_i_)                               \
    {                                                                                  \
        cpool_t *cpool_pool_ = name##_pool();                                          \
                                                                                       \
        return CPOOL_CAST_(type *, cpool_pool_ != NULL ? cpool_at(cpool_pool_, cpool_i_) : NULL); \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ int name##_open(const cpool_config_t *cpool_config_)           \
    {                                                                                  \
        return cpool_typed_open_abi1(&name##_typed_, cpool_config_);                        \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ int name##_close(void)                                         \
    {                                                                                  \
        return cpool_typed_close_abi1(&name##_typed_, false);                               \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_ASSERT_(sizeof(type) >= CPOOL_TYPED_ALIGN_(type) &&                    \
                            CPOOL_TYPED_ALIGN_(type) <= CPOOL_ALIGN_MAX,               \
                        "cpool: " #type " is empty, or aligned to more than CPOOL_ALIGN_MAX")

/* <cpool/analyze.h> redefines these. */
#define CPOOL_TYPED_TAKE_(name, type, function, parameters, call)                      \
    CPOOL_TYPED_INLINE_ type *function parameters { return CPOOL_CAST_(type *, call); }

#define CPOOL_TYPED_FREES_(name, type)                                                 \
    CPOOL_TYPED_INLINE_ void name##_free_uncached(type *cpool_slot_)                      \
    {                                                                                  \
        if (cpool_slot_ != NULL)                                                       \
            cpool_free_uncached(name##_pool(), cpool_slot_);                              \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ void name##_cache_free(cpool_cache_t *cpool_cache_, type *cpool_slot_) \
    {                                                                                  \
        cpool_cache_free(cpool_cache_, cpool_slot_);                                   \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ void name##_free_bulk(type *const *cpool_slots_, size_t cpool_n_) \
    {                                                                                  \
        cpool_t *cpool_pool_ = cpool_n_ > 0 ? name##_pool() : NULL;                    \
                                                                                       \
        if (cpool_pool_ != NULL)                                                       \
            cpool_free_bulk(cpool_pool_, CPOOL_CAST_(void *const *, cpool_slots_), cpool_n_); \
    }

#define CPOOL_TYPED_DEFINE_(linkage, name, type, ...)                                  \
    CPOOL_TYPED_SETTINGS_BEGIN_                                                        \
    static const cpool_config_t name##_settings_ = { .size = sizeof(cpool_config_t),   \
                                                     __VA_ARGS__ };                    \
    CPOOL_TYPED_SETTINGS_END_                                                          \
                                                                                       \
    static const struct cpool_typed_functions name##_functions_ = {                    \
        #name "_alloc", #name "_free"                                                  \
    };                                                                                 \
                                                                                       \
    linkage struct cpool_typed name##_typed_ = { 0, NULL, &name##_settings_, #name, sizeof(type),\
                                         CPOOL_TYPED_ALIGN_(type), &name##_functions_, \
                                         CPOOL_TYPED_NONE_(name), 0, { 0, 0 } };       \
                                                                                       \
    CPOOL_TYPED_LAST_(name##_unload_, name##_typed_.settings == &name##_settings_,     \
                      cpool_typed_close_abi1(&name##_typed_, true),                    \
                      CPOOL_TYPED_SETTLED_(name##_settings_, type))                    \
                                                                                       \
    CPOOL_TYPED_SETTINGS_BEGIN_                                                        \
    CPOOL_TYPED_SETTLED_BY_(#name, type, __VA_ARGS__)                                  \
    CPOOL_TYPED_SETTINGS_END_                                                          \
    CPOOL_TYPED_END_

/* The names of a typed pool's functions, for reports. */
struct cpool_typed_functions {
    const char *alloc;
    const char *free;
};

/* A typed pool, shared by the program and the library.  Frozen, like the layouts in <cpool/fast.h>,
 * and with the same number in the names below. */
struct cpool_typed {
    uintptr_t origin;               /* address of slot 0 times the inverse of the odd part
                                       of slot_size, while threads point to their entries */
    cpool_t *pool;                  /* atomic; NULL: no pool */
    const cpool_config_t *settings; /* for its creation on first use */
    const char *name;               /* used unless the settings have one */
    size_t slot_size;               /* bytes of the type */
    size_t slot_align;              /* its alignment */
    const struct cpool_typed_functions *functions;
    cpool_cache_t *none;   /* the closed entry of threads without a cache, or NULL without the
                              inline path */
    uintptr_t refused;     /* atomic: 1 after the failure to create the pool was reported */
    uintptr_t reserved[2]; /* for future layouts */
};

/* The out-of-line halves of what the macros below define: the thread's variable that points to its
 * entry comes last, and the slot first, so that it stays in its register. */
CPOOL_API void *cpool_typed_alloc_abi1(struct cpool_typed *typed, cpool_cache_t **entry);
CPOOL_API void cpool_typed_free_abi1(void *slot, struct cpool_typed *typed,
                                     cpool_cache_t **entry);
CPOOL_API cpool_t *cpool_typed_pool_abi1(struct cpool_typed *typed);
CPOOL_API int cpool_typed_open_abi1(struct cpool_typed *typed, const cpool_config_t *config);
CPOOL_API int cpool_typed_close_abi1(struct cpool_typed *typed, bool unloading);

#if defined(__cplusplus)
#define CPOOL_TYPED_ASSERT_(condition, text) static_assert(condition, text)
#define CPOOL_TYPED_ALIGN_(type) alignof(type)
#elif defined(__GNUC__) /* in C99, too */
#define CPOOL_TYPED_ASSERT_(condition, text) __extension__ _Static_assert(condition, text)
#define CPOOL_TYPED_ALIGN_(type) (__extension__ _Alignof(type))
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define CPOOL_TYPED_ASSERT_(condition, text) _Static_assert(condition, text)
#define CPOOL_TYPED_ALIGN_(type) _Alignof(type)
#else
#define CPOOL_TYPED_ASSERT_(condition, text) extern char cpool_typed_[(condition) ? 1 : -1]
#if defined(_MSC_VER)
#define CPOOL_TYPED_ALIGN_(type) __alignof(type)
#else
#define CPOOL_TYPED_ALIGN_(type) (sizeof(struct { char before; type slot; }) - sizeof(type))
#endif
#endif

#if !defined(CPOOL_TYPED_VISIBILITY)
#define CPOOL_TYPED_VISIBILITY "hidden"
#define CPOOL_TYPED_HIDDEN_
#endif

#if defined(__GNUC__) && !defined(_WIN32)
#define CPOOL_TYPED_VISIBLE_ __attribute__((__visibility__(CPOOL_TYPED_VISIBILITY)))
#else
#define CPOOL_TYPED_VISIBLE_
#endif
#define CPOOL_TYPED_INLINE_ CPOOL_LOCAL_
#if defined(__GNUC__)
#define CPOOL_TYPED_APART_ static __attribute__((__unused__, __noinline__, __cold__))
/* A definition that was replaced by another module's must not close that module's pool. */
#define CPOOL_TYPED_LAST_(function, is_own, close, settled)                            \
    static __attribute__((__destructor__)) void function(void)                         \
    {                                                                                  \
        settled;                                                                       \
        (void)((is_own) && (close) == 0);                                              \
    }
#else
#define CPOOL_TYPED_APART_ CPOOL_LOCAL_
#define CPOOL_TYPED_LAST_(function, is_own, close, settled)
#endif

/*
 * Wrong constant settings end the compilation.  In C++ the members of a constant are constants; in
 * C they are only after constant folding, so the compiler must optimise.  Mistakes that pass here
 * are reported on first use.
 */
#define CPOOL_TYPED_LACKS_(settings)                                                   \
    ((settings).capacity == 0 ||                                                       \
     ((settings).max_capacity != 0 && (settings).max_capacity < (settings).capacity))
#define CPOOL_TYPED_LACKS_TEXT_ ".capacity is missing or 0, or .max_capacity is below it"
#define CPOOL_TYPED_MISFITS_(settings, type)                                           \
    (((settings).slot_align & ((settings).slot_align - 1u)) != 0 ||                    \
     ((settings).slot_align != 0 && (settings).slot_align < CPOOL_TYPED_ALIGN_(type)) || \
     ((settings).slot_size != 0 && (settings).slot_size != sizeof(type)))
#define CPOOL_TYPED_MISFITS_TEXT_                                                      \
    ".slot_align is not a power of two of the type's alignment or more, or .slot_size is " \
    "not the type's"

#if defined(__cplusplus) && defined(__GNUC__)
#define CPOOL_TYPED_SETTLED_(settings, type) ((void)0)
#define CPOOL_TYPED_SETTLED_BY_(name, type, ...)                                       \
    CPOOL_TYPED_IS_NOT_(CPOOL_TYPED_LACKS_(CPOOL_TYPED_GIVEN_(__VA_ARGS__)),           \
                        "cpool: " name ": " CPOOL_TYPED_LACKS_TEXT_);                  \
    CPOOL_TYPED_IS_NOT_(CPOOL_TYPED_MISFITS_(CPOOL_TYPED_GIVEN_(__VA_ARGS__), type),   \
                        "cpool: " name ": " CPOOL_TYPED_MISFITS_TEXT_);
#define CPOOL_TYPED_GIVEN_(...) cpool_config_t{ .size = sizeof(cpool_config_t), __VA_ARGS__ }
#define CPOOL_TYPED_IS_NOT_(mistake, text)                                             \
    static_assert(!__builtin_constant_p(mistake) || !(mistake), text)
#elif defined(__has_attribute) && defined(__GNUC__)
#if __has_attribute(__error__)
extern void cpool_typed_lacks_(void) __attribute__((__error__(CPOOL_TYPED_LACKS_TEXT_)));
extern void cpool_typed_misfits_(void) __attribute__((__error__(CPOOL_TYPED_MISFITS_TEXT_)));
#define CPOOL_TYPED_SETTLED_(settings, type)                                           \
    CPOOL_TYPED_IS_NOT_(CPOOL_TYPED_LACKS_(settings), cpool_typed_lacks_);             \
    CPOOL_TYPED_IS_NOT_(CPOOL_TYPED_MISFITS_(settings, type), cpool_typed_misfits_)
#define CPOOL_TYPED_IS_NOT_(mistake, function)                                         \
    do {                                                                               \
        if (__builtin_constant_p(mistake) && (mistake))                                \
            function();                                                                \
    } while (0)
#endif
#endif
#if !defined(CPOOL_TYPED_SETTLED_)
#define CPOOL_TYPED_SETTLED_(settings, type) ((void)0)
#endif
#if !defined(CPOOL_TYPED_SETTLED_BY_)
#define CPOOL_TYPED_SETTLED_BY_(name, type, ...)
#endif

/* The pool, created by a call if there is none. */
#if defined(__GNUC__)
CPOOL_TYPED_INLINE_ cpool_t *cpool_typed_opened_(struct cpool_typed *typed)
{
    cpool_t *pool = __atomic_load_n(&typed->pool, __ATOMIC_ACQUIRE);

    return CPOOL_LIKELY_(pool != NULL && pool->state != NULL) ? pool : cpool_typed_pool_abi1(typed);
}
#define CPOOL_TYPED_OPENED_(typed) cpool_typed_opened_(typed)
#else
#define CPOOL_TYPED_OPENED_(typed) cpool_typed_pool_abi1(typed)
#endif

/* In a function of its own, because clang-tidy warns about memset where it is called. */
CPOOL_TYPED_INLINE_ void cpool_typed_zero_(void *slot, size_t size)
{
    memset(slot, 0, size); /* NOLINT */
}

/* Settings with designators, an extension in C++ before C++20. */
#if defined(__cplusplus) && defined(__GNUC__)
#define CPOOL_TYPED_SETTINGS_BEGIN_                                                    \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wpragmas\"")     \
    _Pragma("GCC diagnostic ignored \"-Wunknown-warning-option\"")                     \
    _Pragma("GCC diagnostic ignored \"-Wpedantic\"")                                   \
    _Pragma("GCC diagnostic ignored \"-Wc++20-extensions\"")                           \
    _Pragma("GCC diagnostic ignored \"-Wc++20-designator\"")                           \
    _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")
#define CPOOL_TYPED_SETTINGS_END_ _Pragma("GCC diagnostic pop")
#else
#define CPOOL_TYPED_SETTINGS_BEGIN_
#define CPOOL_TYPED_SETTINGS_END_
#endif

#if defined(__GNUC__) && !defined(CPOOL_NO_INLINE)

/*
 * The model of thread-local storage.  A program's own variables are at constant distances from the
 * thread pointer; a shared library loads the distance.
 *
 * CPOOL_TYPED_ENTRY_ is the thread's pointer to its entry, read by CPOOL_READ_NEAR_ or
 * CPOOL_READ_FAR_.  A model that the user chose may need a call, so each pool has a function for it
 * that is not inlined.  The empty statement in it keeps compilers from treating its result as a
 * constant.
 */
#if defined(CPOOL_TYPED_TLS)
#define CPOOL_TYPED_ENTRY_CALL_(name)                                                  \
    static __attribute__((__unused__, __noinline__))                                   \
    cpool_cache_t *name##_entry_call_(void)                                            \
    {                                                                                  \
        __asm__ volatile("");                                                          \
        return name##_entry_;                                                          \
    }
#if !defined(CPOOL_TYPED_ENTRY_)
#define CPOOL_TYPED_ENTRY_(entry, name)                                                \
    do {                                                                               \
        if (sizeof(CPOOL_TYPED_TLS) > sizeof("initial-exec"))                          \
            (entry) = name##_entry_call_();                                            \
        else                                                                           \
            CPOOL_READ_FAR_(entry, name##_entry_);                                     \
    } while (0)
#endif
#elif defined(CPOOL_TYPED_HIDDEN_) && (!defined(__PIC__) || defined(__PIE__))
#define CPOOL_TYPED_TLS "local-exec"
#if !defined(CPOOL_TYPED_ENTRY_)
#define CPOOL_TYPED_ENTRY_(entry, name) CPOOL_READ_NEAR_(entry, name##_entry_)
#endif
#else
#define CPOOL_TYPED_TLS "initial-exec"
#if !defined(CPOOL_TYPED_ENTRY_)
#define CPOOL_TYPED_ENTRY_(entry, name) CPOOL_READ_FAR_(entry, name##_entry_)
#endif
#endif
#if !defined(CPOOL_TYPED_ENTRY_CALL_)
#define CPOOL_TYPED_ENTRY_CALL_(name)
#endif

#define CPOOL_TYPED_ALIGNED_ __attribute__((__aligned__(64)))
#define CPOOL_TYPED_TLS_ __attribute__((__tls_model__(CPOOL_TYPED_TLS)))

/* The inverse of an odd number modulo 2^word by Newton's method: five bits are right at first, and
 * each step doubles their number.  A constant if the number is one. */
__attribute__((__always_inline__)) CPOOL_TYPED_INLINE_ uintptr_t cpool_typed_inverse_(uintptr_t odd)
{
    uintptr_t x = (3u * odd) ^ 2u;

    x *= 2u - odd * x;
    x *= 2u - odd * x;
    x *= 2u - odd * x;
    x *= 2u - odd * x;
    return x;
}

/* See CPOOL_INDEX_ in <cpool/fast.h>.  Here the numbers are constants, and the origin is multiplied
 * already, which saves an instruction. */
#define CPOOL_TYPED_INDEX_(origin, size, slot, index)                                  \
    do {                                                                               \
        const uintptr_t cpool_size_ = (size);                                          \
        const uintptr_t cpool_shift_ = CPOOL_NUMBER_(uintptr_t, __builtin_ctzll(size)); \
        const uintptr_t cpool_word_ = sizeof(uintptr_t) * 8u;                          \
        uintptr_t cpool_scaled_ = CPOOL_CAST_(uintptr_t, slot) *                       \
                                      cpool_typed_inverse_(cpool_size_ >> cpool_shift_) - \
                                  (origin);                                            \
        (index) = (cpool_scaled_ >> cpool_shift_) |                                    \
                  (cpool_scaled_ << ((cpool_word_ - cpool_shift_) & (cpool_word_ - 1u))); \
    } while (0)

/* Read by its assembly name, which C++ mangles in a namespace unless it is extern "C". */
#if defined(__cplusplus)
#define CPOOL_TYPED_EXTERN_ extern "C"
#else
#define CPOOL_TYPED_EXTERN_ extern
#endif

/* The thread's entry outlives the thread, because another thread may be closing it.  So the thread
 * has a pointer, which at first points to a closed entry.  The slow path also needs the pointer's
 * address, which is computed in functions of their own, inside which no fiber changes threads. */
#define CPOOL_TYPED_PATH_(name, type)                                                  \
    extern struct cpool_typed name##_typed_ CPOOL_TYPED_VISIBLE_;                      \
    extern cpool_cache_t name##_none_ CPOOL_TYPED_VISIBLE_;                            \
    CPOOL_TYPED_EXTERN_ __thread cpool_cache_t *name##_entry_ CPOOL_TYPED_VISIBLE_     \
        CPOOL_TYPED_TLS_;                                                              \
    CPOOL_TYPED_ENTRY_CALL_(name)                                                      \
                                                                                       \
    CPOOL_TYPED_APART_ void *name##_alloc_slow_(void)                                  \
    {                                                                                  \
        return cpool_typed_alloc_abi1(&name##_typed_, &name##_entry_);                 \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_APART_ void name##_free_slow_(void *cpool_slot_)                       \
    {                                                                                  \
        cpool_typed_free_abi1(cpool_slot_, &name##_typed_, &name##_entry_);            \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ type *name##_alloc(void)                                       \
    {                                                                                  \
        cpool_cache_t *cpool_entry_;                                                   \
        void *cpool_slot_;                                                             \
                                                                                       \
        CPOOL_TYPED_ENTRY_(cpool_entry_, name);                                        \
        CPOOL_POP_(cpool_entry_, cpool_slot_,                                          \
                   return CPOOL_CAST_(type *, name##_alloc_slow_()));                  \
        return CPOOL_CAST_(type *, cpool_slot_);                                       \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ void name##_free(type *cpool_slot_)                            \
    {                                                                                  \
        cpool_cache_t *cpool_entry_;                                                   \
        uintptr_t cpool_index_;                                                        \
                                                                                       \
        CPOOL_TYPED_ENTRY_(cpool_entry_, name);                                        \
        CPOOL_TYPED_INDEX_(name##_typed_.origin, sizeof(type), cpool_slot_, cpool_index_);\
        CPOOL_PUSH_(cpool_entry_, cpool_slot_, cpool_index_ < cpool_entry_->bound,     \
                    name##_free_slow_(cpool_slot_));                                   \
    }

#define CPOOL_TYPED_STORAGE_(linkage, name)                                            \
    linkage cpool_cache_t name##_none_ CPOOL_TYPED_ALIGNED_;                           \
    linkage __attribute__((__used__)) __thread cpool_cache_t *name##_entry_ = &name##_none_;

#define CPOOL_TYPED_NONE_(name) &name##_none_

#else /* without the inline path: through the pool's descriptor */

#define CPOOL_TYPED_PATH_(name, type)                                                  \
    extern struct cpool_typed name##_typed_ CPOOL_TYPED_VISIBLE_;                      \
                                                                                       \
    CPOOL_TYPED_INLINE_ type *name##_alloc(void)                                       \
    {                                                                                  \
        cpool_t *cpool_pool_ = cpool_typed_pool_abi1(&name##_typed_);                       \
                                                                                       \
        return cpool_pool_ != NULL ? CPOOL_CAST_(type *, cpool_alloc(cpool_pool_)) : NULL; \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ void name##_free(type *cpool_slot_)                            \
    {                                                                                  \
        cpool_t *cpool_pool_ = cpool_slot_ != NULL ? cpool_typed_pool_abi1(&name##_typed_) : NULL;\
                                                                                       \
        if (cpool_pool_ != NULL)                                                       \
            cpool_free(cpool_pool_, cpool_slot_);                                      \
    }

#define CPOOL_TYPED_STORAGE_(linkage, name)
#define CPOOL_TYPED_NONE_(name) NULL

#endif
#endif /* CPOOL_TYPED_H */
