/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/object_typed.h - object pools of one type, with inline functions.
 *
 * Included by <cpool/object.h>.  Never include it yourself.
 */
#ifndef CPOOL_OBJECT_TYPED_H
#define CPOOL_OBJECT_TYPED_H

#ifndef CPOOL_OBJECT_H
#error "include <cpool/object.h> instead of <cpool/object_typed.h>"
#endif

/*
 * ---- Typed object pools (cpool_object_typed.3) -----------------------------
 */

/*
 * CPOOL_OBJECTS_DECLARE - declares a typed object pool and defines its functions, which are
 * inline.
 *
 * At file scope, in a header or before CPOOL_OBJECTS_DEFINE.  The type need not be complete,
 * so only the source file with the definition can make objects:
 *
 *     type *<name>_get(void);                       as cpool_object_get
 *     int <name>_get_with(type **object, cpool_grant_t *grant);   as cpool_object_get_with
 *     void <name>_put(type *object);                as cpool_object_put
 *     type *<name>_next(cpool_object_info_t *info); as cpool_objects_next
 *     cpool_objects_t *<name>_objects(void);        the pool; creates it if there is none;
 *                                                   NULL if that fails
 *     int <name>_open(const cpool_objects_config_t *config);
 *     int <name>_close(void);
 *
 * The pool is created on first use, by any thread.  If that fails, a get returns NULL
 * and get_with the code, and the next call tries again.  The first failure of a get is
 * reported.  The pool is populated when other
 * threads can already use it.  Objects that cannot be created then are created on demand.
 *
 * <name>_open creates the pool now.  NULL means the settings of the definition.  In a
 * configuration, type and name may be NULL.  Returns 0, the code of cpool_objects_create,
 * CPOOL_ESLOTSIZE for a type of another size, or CPOOL_EOPEN if the pool exists already and
 * a configuration was given.
 *
 * <name>_close destroys the pool, as cpool_objects_destroy.  The next use creates it anew.
 * cpool_objects_destroy must not be used on a typed pool.  dlclose closes the pools of the
 * module that it unloads.  The end of the process closes none.
 */
#define CPOOL_OBJECTS_DECLARE(name, type)                                              \
    /* type *<name>_get(void)           takes an object, or returns NULL               \
     * int <name>_get_with(type **object, cpool_grant_t *grant)   the same: 0 or a code \
     * void <name>_put(type *object)    gives an object back                           \
     * type *<name>_next(cpool_object_info_t *info)   the next active object, or NULL  \
     * cpool_objects_t *<name>_objects(void)   the pool, for all functions of <cpool/object.h> \
     * int <name>_open(const cpool_objects_config_t *config)  creates the pool now: 0 or a code \
     * int <name>_close(void)           destroys the pool: 0 or a code */              \
    extern struct cpool_objects_typed name##_objects_ CPOOL_TYPED_VISIBLE_;            \
                                                                                       \
    CPOOL_TYPED_INLINE_ cpool_objects_t *name##_objects(void)                          \
    {                                                                                  \
        cpool_objects_t *cpool_pool_;                                                  \
                                                                                       \
        if (CPOOL_OBJECTS_FOUND_(name##_objects_, cpool_pool_))                        \
            return cpool_pool_;                                                        \
        return cpool_typed_objects_open_abi1(&name##_objects_, NULL, NULL);            \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ int name##_open(const cpool_objects_config_t *cpool_config_)   \
    {                                                                                  \
        int cpool_code_;                                                               \
                                                                                       \
        (void)cpool_typed_objects_open_abi1(&name##_objects_, cpool_config_, &cpool_code_); \
        return cpool_code_;                                                            \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ int name##_close(void)                                         \
    {                                                                                  \
        return cpool_typed_objects_close_abi1(&name##_objects_, false);                     \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ type *name##_get(void)                                         \
    {                                                                                  \
        cpool_objects_t *cpool_pool_ = name##_objects();                               \
        void *cpool_any_ = cpool_pool_ != NULL ? cpool_object_get(cpool_pool_) : NULL; \
                                                                                       \
        return CPOOL_CAST_(type *, cpool_any_);                                        \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ int name##_get_with(type **cpool_object_, cpool_grant_t *cpool_grant_) \
    {                                                                                  \
        int cpool_code_;                                                               \
        cpool_objects_t *cpool_pool_ = cpool_typed_objects_open_abi1(&name##_objects_, NULL, \
                                                                     &cpool_code_);    \
        void *cpool_any_ = NULL;                                                       \
                                                                                       \
        if (cpool_pool_ != NULL)                                                       \
            cpool_code_ = cpool_object_get_with(cpool_pool_, &cpool_any_, cpool_grant_); \
        *cpool_object_ = CPOOL_CAST_(type *, cpool_any_);                              \
        return cpool_code_;                                                            \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ type *name##_next(cpool_object_info_t *cpool_info_)            \
    {                                                                                  \
        cpool_objects_t *cpool_pool_ = name##_objects();                               \
        void *cpool_any_ = NULL;                                                       \
                                                                                       \
        if (cpool_pool_ != NULL)                                                       \
            cpool_any_ = cpool_objects_next(cpool_pool_, cpool_info_);                 \
        return CPOOL_CAST_(type *, cpool_any_);                                        \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_APART_ void name##_put_apart_(type *cpool_object_)                     \
    {                                                                                  \
        cpool_objects_t *cpool_pool_ = name##_objects();                               \
                                                                                       \
        if (cpool_pool_ != NULL)                                                       \
            cpool_object_put(cpool_pool_, cpool_object_);                              \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ void name##_put(type *cpool_object_)                           \
    {                                                                                  \
        cpool_objects_t *cpool_pool_;                                                  \
                                                                                       \
        if (CPOOL_OBJECTS_FOUND_(name##_objects_, cpool_pool_))                        \
            cpool_object_put(cpool_pool_, cpool_object_);                              \
        else if (cpool_object_ != NULL)                                                \
            name##_put_apart_(cpool_object_);                                          \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_END_

/* The hooks of a definition, designated initialisers of cpool_object_type_t. */
#define CPOOL_OBJECT_HOOKS(...) __VA_ARGS__

/*
 * CPOOL_OBJECTS_DEFINE - defines a typed object pool that CPOOL_OBJECTS_DECLARE has declared.
 *
 * At file scope, in one source file of the program or module.  `hooks` is
 * CPOOL_OBJECT_HOOKS with any of the hooks, and the settings are designated initialisers of
 * cpool_objects_config_t.  C++ requires both in the order of the members:
 *
 *     CPOOL_OBJECTS_DECLARE(connections, struct connection);
 *     CPOOL_OBJECTS_DEFINE(connections, struct connection,
 *                          CPOOL_OBJECT_HOOKS(.create = open_it, .destroy = close_it),
 *                          .max_capacity = 8, .growth = 1);
 */
#define CPOOL_OBJECTS_DEFINE(name, type_, hooks, ...)                                  \
    CPOOL_TYPED_SETTINGS_BEGIN_                                                        \
    static const cpool_object_type_t name##_object_type_ = {                           \
        .size = sizeof(cpool_object_type_t), .object_size = sizeof(type_),             \
        .object_align = CPOOL_TYPED_ALIGN_(type_), hooks };                            \
    static const cpool_objects_config_t name##_object_config_ = {                      \
        .size = sizeof(cpool_objects_config_t), __VA_ARGS__ };                         \
    CPOOL_TYPED_SETTINGS_END_                                                          \
                                                                                       \
    struct cpool_objects_typed name##_objects_ = { NULL, &name##_object_config_,       \
                                                   &name##_object_type_, #name, 0, { 0, 0, 0 } }; \
                                                                                       \
    CPOOL_TYPED_LAST_(name##_objects_unload_,                                          \
                      name##_objects_.settings == &name##_object_config_,              \
                      cpool_typed_objects_close_abi1(&name##_objects_, true), (void)0) \
                                                                                       \
    CPOOL_TYPED_END_

/*
 * The parts of the macros above.  Nothing below is for use outside this header.
 */

/* A typed object pool, as the program and the library share it. */
struct cpool_objects_typed {
    cpool_objects_t *pool;                 /* atomic; NULL: there is none */
    const cpool_objects_config_t *settings; /* for its creation on first use */
    const cpool_object_type_t *type;       /* unless the settings have one */
    const char *name;                      /* likewise */
    uintptr_t told; /* atomic: 1 if it has been reported why there is none */
    uintptr_t reserved[3]; /* for future layouts */
};

/* True if the pool exists. */
#if defined(__GNUC__)
#define CPOOL_OBJECTS_FOUND_(typed, found)                                             \
    CPOOL_LIKELY_(((found) = __atomic_load_n(&(typed).pool, __ATOMIC_ACQUIRE)) != NULL)
#else
#define CPOOL_OBJECTS_FOUND_(typed, found)                                             \
    (((found) = cpool_typed_objects_open_abi1(&(typed), NULL, NULL)) != NULL)
#endif

/* The out-of-line parts of the functions that the macros define.  Without a place for the code the
 * first failure is reported. */
CPOOL_API cpool_objects_t *cpool_typed_objects_open_abi1(struct cpool_objects_typed *typed,
                                                         const cpool_objects_config_t *config,
                                                         int *code);
CPOOL_API int cpool_typed_objects_close_abi1(struct cpool_objects_typed *typed, bool unloading);

#endif /* CPOOL_OBJECT_TYPED_H */
