/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/sized.h - blocks of many sizes, from one pool for each class of sizes.
 *
 * OVERVIEW
 *
 *     cpool_sized_config_t config = CPOOL_SIZED_CONFIG_INIT;
 *     cpool_sized_t *blocks;
 *
 *     config.name = "documents";
 *     if (cpool_sized_create(&blocks, &config) != 0)
 *         ...
 *     char *text = cpool_sized_alloc(blocks, length + 1);
 *     ...
 *     cpool_sized_free(blocks, text);
 *     ...
 *     cpool_sized_destroy(blocks);
 *
 * The pool of the smallest class that fits serves a request.  All pools are
 * in one range of reserved addresses, in parts of equal length, a power of two.  So a
 * subtraction and a shift find the class of a block's address, and a free needs no
 * size.  A request that is larger than every class, or finds its class dry, goes to a
 * fallback, which is malloc unless the program names another.  A free gives such a block
 * back there.
 *
 * NOTES
 *
 * The pools are plain ones.  They hand out slots as cpool_alloc does, from the calling
 * thread's cache, without a lock.  A class gets its pool when its first block is wanted, the
 * smallest one at creation.  Memory of a class is committed when its slots are first
 * used, and stays with the class until cpool_sized_trim.
 *
 * A block is aligned to the largest power of two that divides its class's size, and always
 * to CPOOL_SIZED_GRAIN.  The default classes are aligned to max_align_t and more.  A block of
 * the fallback, also one for a class that is dry, is aligned to max_align_t alone.  An alignment
 * that must hold for each block is asked for by cpool_sized_alloc_aligned.
 *
 * The child of a fork may go on using all blocks, and free those of its parent.  If malloc
 * itself is built on these blocks, fork can deadlock with a thread inside fflush(NULL) if the
 * functions of a custom stream allocate: fork takes this library's locks before the C
 * library's lock of all streams, and the thread takes them in the other order.
 *
 * (Size classes over fixed-size pools: B. Kenwright, "Fast Efficient Fixed-Size Memory
 * Pool", COMPUTATION TOOLS 2012, and S. Reinalter, "Memory allocation strategies", 2012.
 * Four classes in each doubling: J. Evans, jemalloc.)
 */
#ifndef CPOOL_SIZED_H
#define CPOOL_SIZED_H

#include <cpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Configuration (cpool_sized.3) ------------------------------------------
 */

/* An allocator of blocks of many sizes. */
typedef struct cpool_sized cpool_sized_t;

/* Bytes of which each class's size is a multiple. */
#define CPOOL_SIZED_GRAIN CPOOL_NUMBER_(size_t, 8)

/* The largest size of a class, bytes. */
#define CPOOL_SIZED_MAX CPOOL_NUMBER_(size_t, 1024 * 1024)

/* The largest number of classes. */
#define CPOOL_SIZED_CLASSES_MAX CPOOL_NUMBER_(size_t, 128)

/*
 * A flag, with a bit that no flag of cpool_config_t has.
 *
 * CPOOL_SIZED_BOUNDED  There is no fallback, and the configuration must not name one.  An
 *                      alloc returns NULL if no class can serve it
 */
#define CPOOL_SIZED_BOUNDED 0x1000000u

/*
 * The source of blocks that no class can serve.  Any thread may call each of these at any
 * time.  `bytes` and `align` are the same when a block is freed as when it was allocated.
 * `bytes` never exceeds PTRDIFF_MAX.  Start from CPOOL_SIZED_FALLBACK_INIT.
 */
typedef struct cpool_sized_fallback {
    size_t size; /* sizeof(cpool_sized_fallback_t), set by the initialiser */
    void *arg;   /* handed to the functions */
    void *(*alloc)(size_t bytes, size_t align, void *arg); /* returns bytes aligned to
                      align, a power of two, or NULL */
    void (*free)(void *block, size_t bytes, size_t align, void *arg); /* takes
                      them back */
    void *(*resize)(void *block, size_t bytes, size_t align, size_t wanted, void *arg); /*
                      returns the block, with `wanted` bytes, in its place or in another,
                      or NULL, after which it is as it was.  NULL: there is no such
                      function, and contents are copied */
} cpool_sized_fallback_t;

#define CPOOL_SIZED_FALLBACK_INIT                                              \
    {                                                                          \
        sizeof(cpool_sized_fallback_t), NULL, NULL, NULL, NULL                 \
    }

/*
 * The configuration.  Start from CPOOL_SIZED_CONFIG_INIT.
 */
typedef struct cpool_sized_config {
    size_t size;            /* sizeof(cpool_sized_config_t), set by the initialiser */
    const char *name;       /* for reports and figures, as in cpool_config_t, may be NULL */
    const size_t *classes;  /* the classes' sizes, bytes, ascending, each a multiple of
                               CPOOL_SIZED_GRAIN up to CPOOL_SIZED_MAX.  NULL: 16 to 128
                               by sixteens, then four in each doubling */
    size_t class_count;     /* of them, up to CPOOL_SIZED_CLASSES_MAX */
    size_t max_size;        /* bytes, up to CPOOL_SIZED_MAX: the largest of the default
                               classes.  0: 32 KiB */
    size_t class_bytes;     /* bytes of blocks that each class may hold at once.  They are
                               address space until they are used.  0: 1 GiB (2 MiB on
                               32-bit systems), or less if the system refuses it or
                               all classes would take over half of a limited space */
    size_t thread_caches;   /* as in cpool_config_t, for each class.  0: as there, or 16 on
                               32-bit systems and where address space is short */
    unsigned flags;         /* CPOOL_SIZED_BOUNDED, and those of the pools: CPOOL_CHECKED,
                               CPOOL_HUGE_PAGES ..., or 0 */
    const cpool_sized_fallback_t *fallback; /* copied.  NULL: malloc, or none with
                               CPOOL_SIZED_BOUNDED */
} cpool_sized_config_t;

#define CPOOL_SIZED_CONFIG_INIT                                                \
    {                                                                          \
        sizeof(cpool_sized_config_t), NULL, NULL, 0, 0, 0, 0, 0u, NULL         \
    }

/*
 * ---- Creation and destruction (cpool_sized.3) --------------------------------
 */

/*
 * cpool_sized_create - makes an allocator.
 *
 * blocks   receives the allocator, set to NULL on every failure
 * config   copied, need not outlive the call
 *
 * Reserves address space for all classes, and makes the pool of the smallest.
 *
 * Returns 0, CPOOL_ENULL, CPOOL_ESLOTSIZE for wrong sizes of classes, CPOOL_EFLAGS
 * for unknown flags and for a fallback with CPOOL_SIZED_BOUNDED, or a code of
 * cpool_create.  A failure leaves nothing behind.
 * Any thread.  It may block and makes system calls.
 */
CPOOL_API int cpool_sized_create(cpool_sized_t **blocks, const cpool_sized_config_t *config)
    CPOOL_MUST_USE_;

/*
 * cpool_sized_destroy - returns all classes to the operating system, live blocks too.
 *
 * blocks   no thread may be using it, or use it later.  NULL is a no-op.
 *
 * Live blocks of the fallback stay live, and cannot be freed any more.
 *
 * Returns 0, CPOOL_ELIVE if blocks were still live, or another code of
 * cpool_destroy.  The allocator is gone in any case.
 * It may block and makes system calls.
 */
CPOOL_API int cpool_sized_destroy(cpool_sized_t *blocks);

/*
 * ---- Allocating and freeing (cpool_sized.3) -----------------------------------
 *
 * In this group `blocks` must be a living allocator.  Progress is that of cpool_alloc and
 * cpool_free if a class serves the call, else that of the fallback.  The first alloc from a
 * class makes its pool, for which it may block and makes system calls.  While they are refused
 * the class is dry, and each alloc tries again.
 */

/*
 * cpool_sized_free - gives a block back, from any thread.
 *
 * block   from an alloc of the same allocator, not freed since.  NULL is a no-op.
 *
 * Verified as by cpool_free.  An address outside the classes that the fallback has not handed
 * out is reported as CPOOL_EFOREIGN if it is another pool's slot, or if the bytes before it
 * are not those of a block.
 * Any thread.
 */
CPOOL_API void cpool_sized_free(cpool_sized_t *blocks, void *block) CPOOL_NONNULL_(1);

/*
 * cpool_sized_alloc - takes a block of at least `size` bytes.
 *
 * size   bytes.  0 counts as 1
 *
 * Returns the block, its bytes as they were last left, or NULL if there is none.
 * Any thread.
 */
CPOOL_API void *cpool_sized_alloc(cpool_sized_t *blocks, size_t size) CPOOL_MUST_USE_
    CPOOL_NONNULL_(1);

/*
 * cpool_sized_alloc_aligned - takes a block at a multiple of `align` bytes.
 *
 * align   a power of two.  Another number is reported as CPOOL_EALIGN, and NULL returned
 *
 * The block comes from the smallest class that is aligned so, or from the fallback.  malloc as the
 * fallback is asked for up to `align` bytes more, in which the block is then aligned.
 * Any thread.
 */
CPOOL_API void *cpool_sized_alloc_aligned(cpool_sized_t *blocks, size_t size, size_t align)
    CPOOL_MUST_USE_ CPOOL_NONNULL_(1);

/*
 * cpool_sized_calloc - a block for `count` objects of `size` bytes, all set to zero.
 *
 * Returns NULL also if the product is too large for a size_t.
 * Any thread.
 */
CPOOL_LOCAL_ void *cpool_sized_calloc(cpool_sized_t *blocks, size_t count, size_t size)
    CPOOL_MUST_USE_ CPOOL_NONNULL_(1);

/*
 * cpool_sized_realloc - changes the size of a block, and keeps its contents.
 *
 * block   as for cpool_sized_free.  NULL: this is an alloc
 * size    bytes.  0 counts as 1
 *
 * The block stays in its place while its class fits the size and is not more than
 * twice as large as needed.  Otherwise the contents move, and an alignment above the
 * class's own is lost.
 *
 * Returns the block, or NULL if there is none.  On failure the old block is unchanged.
 * Any thread.
 */
CPOOL_API void *cpool_sized_realloc(cpool_sized_t *blocks, void *block, size_t size)
    CPOOL_MUST_USE_ CPOOL_NONNULL_(1);

/*
 * cpool_sized_usable_size - the number of bytes that a block really has, all of them usable.
 *
 * Returns 0 for NULL, and after CPOOL_EFOREIGN was reported for an address that is not a
 * block's.
 * Any thread, wait-free.
 */
CPOOL_API size_t cpool_sized_usable_size(const cpool_sized_t *blocks, const void *block)
    CPOOL_NONNULL_(1);

/*
 * ---- Classes and figures (cpool_sized.3) ---------------------------------------
 */

/* One class. */
typedef struct cpool_sized_class {
    size_t size;       /* sizeof(cpool_sized_class_t), set by the initialiser */
    size_t block_size; /* bytes of its blocks */
    cpool_t *pool;     /* for cpool_read_stats and other queries.  Functions that allocate or free
                          slots, or change their number, refuse it.  NULL: no block of the
                          class was wanted yet */
    cpool_t *source;   /* the same pool for cpool_alloc, which takes a block on the inline path.
                          It goes back by cpool_sized_free.  NULL like `pool` */
    uint64_t dry;      /* requests for this class that found it dry */
} cpool_sized_class_t;

#define CPOOL_SIZED_CLASS_INIT                                                 \
    {                                                                          \
        sizeof(cpool_sized_class_t), 0, NULL, NULL, 0                          \
    }

/*
 * cpool_sized_class_of - describes the class for requests of this size.
 *
 * size   bytes.  That of 0 is the smallest, and that of block_size + 1 the next larger one
 *
 * Returns 0, CPOOL_ENULL, CPOOL_ESTRUCT, or CPOOL_ESLOTSIZE if the fallback serves them.
 * Any thread, wait-free.
 */
CPOOL_API int cpool_sized_class_of(const cpool_sized_t *blocks, size_t size,
                                cpool_sized_class_t *description) CPOOL_NONNULL_(1);

/* The figures of all classes and of the fallback. */
typedef struct cpool_sized_stats {
    size_t size;             /* sizeof(cpool_sized_stats_t), set by the initialiser */
    size_t class_count;      /* classes */
    size_t live;             /* blocks of all classes that callers hold */
    size_t live_bytes;       /* of their classes' sizes */
    size_t reserved_bytes;   /* address space taken */
    size_t committed_bytes;  /* of it, bytes that may become resident */
    size_t fallback_live;    /* blocks of the fallback that callers hold */
    size_t fallback_bytes;   /* bytes requested of it for them */
    uint64_t fallback_total; /* blocks ever requested of it */
    uint64_t dry;            /* requests that found their class dry */
} cpool_sized_stats_t;

#define CPOOL_SIZED_STATS_INIT                                                 \
    {                                                                          \
        sizeof(cpool_sized_stats_t), 0, 0, 0, 0, 0, 0, 0, 0, 0                 \
    }

/*
 * cpool_sized_read_stats - reads the figures, which are exact while no thread uses the blocks.
 *
 * Returns 0, CPOOL_ENULL, CPOOL_ESTRUCT, or CPOOL_EPOOL, which is reported.
 * Any thread.  It may block.
 */
CPOOL_API int cpool_sized_read_stats(const cpool_sized_t *blocks, cpool_sized_stats_t *stats)
    CPOOL_NONNULL_(1);

/*
 * cpool_sized_trim - cpool_trim for each class that has a pool.
 *
 * Returns the bytes given back.
 * Any thread.  It may block and makes system calls.
 */
CPOOL_API size_t cpool_sized_trim(cpool_sized_t *blocks) CPOOL_NONNULL_(1);

CPOOL_LOCAL_ void *cpool_sized_calloc(cpool_sized_t *blocks, size_t count, size_t size)
{
    void *block = NULL;

    if (size == 0 || count <= SIZE_MAX / size)
        block = cpool_sized_alloc(blocks, count * size);
    if (block != NULL)
        memset(block, 0, count * size);
    return block;
}

#if CPOOL_IS_ANALYZED_ /* <cpool/analyze.h> */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"
void cpool_sized_free(cpool_sized_t *blocks, void *block) CPOOL_TAKES_(2);
void *cpool_sized_alloc(cpool_sized_t *blocks, size_t size) CPOOL_TAKEN_BY_(cpool_sized_free, 2)
    CPOOL_GIVES_;
void *cpool_sized_alloc_aligned(cpool_sized_t *blocks, size_t size, size_t align)
    CPOOL_TAKEN_BY_(cpool_sized_free, 2) CPOOL_GIVES_;
#pragma GCC diagnostic pop
#endif

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_SIZED_H */
