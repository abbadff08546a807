/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * malloc.c - malloc and its family over <cpool/sized.h>, for LD_PRELOAD.
 *
 * Its purpose is proof: whole programs run on pools.  It has the library inside, and asks it for
 * classes by sized_impl.h.  Blocks above the largest class are large.c's.
 *
 * Start.  The classes are made by the first call of all.  Making them may call malloc
 * again, because the C library allocates for handlers of fork and of exit.  Another
 * thread may call it meanwhile.  Such calls are served from a small array, and blocks from
 * there are never used again.
 *
 * ORDERING TABLE
 *   begin  | state CAS   | relaxed | - | one thread makes the classes
 *   ready  | blocks store | release | serve | all of the allocator
 *   serve  | blocks load  | acquire | ready | likewise
 *   bump   | first_used load, CAS | relaxed | - | no more than an offset
 *   look   | next_look load, CAS | acquire | looked | what the last look has seen
 *   looked | next_look store | release | look | likewise
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cpool/sized.h>

#include "large.h"
#include "sized/sized_impl.h"

/* The alignment that malloc's callers expect of any block. */
#define ALIGN _Alignof(max_align_t)

/* Bytes of each class, and, where address space is short, so many at most, and further settings
 * that need less of it.  Forty classes with this part each take a quarter of a limited one. */
#define CLASS_BYTES ((size_t)1 << (sizeof(size_t) > 4 ? 34 : 22))
#define CLASS_BYTES_SHORT (CLASS_BYTES / 16)
#define CLASS_BYTES_LEAST ((size_t)1 << 18)
#define CACHES_SHORT 64
#define LIMIT_PART 512

/* Bytes of the array that serves calls until the classes are made. */
#define FIRST_BYTES ((size_t)256 * 1024)

static _Atomic(cpool_sized_t *) made;
static atomic_bool begun;

static _Alignas(max_align_t) unsigned char first[FIRST_BYTES];
static _Atomic size_t first_used;

/* --- Until the classes are made --- */

/* A block's size is before it.  No block is empty, so that each begins in the array. */
static void *first_alloc(size_t size)
{
    size_t bytes = ALIGN + (size > 0 ? (size + ALIGN - 1) / ALIGN * ALIGN : ALIGN);
    size_t at = atomic_load_explicit(&first_used, memory_order_relaxed); /* [bump] */

    do {
        if (size > FIRST_BYTES || bytes > FIRST_BYTES - at)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&first_used, &at, at + bytes,
                                                    memory_order_relaxed,
                                                    memory_order_relaxed)); /* [bump] */
    memcpy(first + at, &bytes, sizeof bytes);
    return first + at + ALIGN;
}

static bool is_first(const void *block)
{
    return (uintptr_t)block - (uintptr_t)first < FIRST_BYTES;
}

static size_t first_size(const void *block)
{
    size_t bytes;

    memcpy(&bytes, (const unsigned char *)block - ALIGN, sizeof bytes);
    return bytes - ALIGN;
}

/* --- Blocks above the largest class --- */

static size_t whole_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes + page - 1) & ~(page - 1);
}

/* Whether the last block of this thread's is known to be zero, for calloc. */
static _Thread_local bool last_is_zero __attribute__((__tls_model__("initial-exec")));

static void *block_alloc(size_t bytes, size_t align, void *context)
{
    size_t page = whole_pages(1);

    (void)context;
    return large_alloc(whole_pages(bytes), align > page ? align : page, &last_is_zero);
}

static void block_free(void *block, size_t bytes, size_t align, void *context)
{
    (void)align;
    (void)context;
    large_free(block, whole_pages(bytes));
}

static void *block_resize(void *block, size_t bytes, size_t align, size_t wanted, void *context)
{
    size_t page = whole_pages(1);

    (void)context;
    return large_resize(block, whole_pages(bytes), whole_pages(wanted),
                        align > page ? align : page);
}

/* --- Memory of classes that are idle --- */

/* A thread looks for such classes after so many bytes of blocks, and the process so often,
 * nanoseconds.  Less free memory stays. */
#define IDLE_BYTES ((intptr_t)1024 * 1024)
#define IDLE_PERIOD ((uint64_t)20 * 1000 * 1000)
#define IDLE_LEAST ((size_t)256 * 1024)

static _Thread_local intptr_t until_look __attribute__((__tls_model__("initial-exec")));
static _Atomic uint64_t next_look;
/* Exchanges of each class at the last look, all bits inverted once it was trimmed. */
static uint64_t exchanges[CPOOL_SIZED_CLASSES_MAX];

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Gives free pages back once no magazine has moved since the last look. */
static void look_at_class(cpool_t *pool, size_t number)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    if (pool == NULL || cpool_stats(pool, &stats) != 0)
        return;
    if (exchanges[number] == ~stats.exchanges)
        return;
    if (exchanges[number] == stats.exchanges &&
        (stats.circulating - stats.live) * stats.slot_stride >= IDLE_LEAST) {
        cpool_trim(pool);
        (void)cpool_stats(pool, &stats);
        stats.exchanges = ~stats.exchanges;
    }
    exchanges[number] = stats.exchanges;
}

/* One thread at a time: the others find that it is not time yet. */
__attribute__((__noinline__, __cold__)) static void look_for_idle_classes(cpool_sized_t *blocks)
{
    uint64_t due = atomic_load_explicit(&next_look, memory_order_acquire); /* [look] */

    until_look = IDLE_BYTES;
    if (due > now() || !atomic_compare_exchange_strong_explicit(
                           &next_look, &due, UINT64_MAX, memory_order_acquire,
                           memory_order_relaxed)) /* [look] */
        return;
    for (size_t number = 0; number < blocks->classes; number++)
        look_at_class(cpi_sized_pool(blocks, number), number);
    /* [looked] */
    atomic_store_explicit(&next_look, now() + IDLE_PERIOD, memory_order_release);
}

static inline void note_use(cpool_sized_t *blocks, size_t size)
{
    until_look -= size < (size_t)IDLE_BYTES ? (intptr_t)size : IDLE_BYTES;
    if (__builtin_expect(until_look < 0, 0))
        look_for_idle_classes(blocks);
}

/* --- Start and end --- */

/* Another thread may have been at work on them. */
static void look_again(void)
{
    atomic_store_explicit(&next_look, 0, memory_order_release); /* [looked] */
}

static cpool_sized_t *make(void)
{
    cpool_sized_fallback_t large = { sizeof large, NULL, block_alloc, block_free, block_resize };
    cpool_sized_config_t config = CPOOL_SIZED_CONFIG_INIT;
    struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
    cpool_sized_t *blocks = NULL;

    config.name = "malloc";
    config.max_size = CPOOL_SIZED_MAX;
    config.class_bytes = CLASS_BYTES;
    config.fallback = &large;
    large_begin();
    (void)pthread_atfork(NULL, NULL, look_again); /* without it, memory stays */
    (void)getrlimit(RLIMIT_AS, &limit);
    if (limit.rlim_cur == RLIM_INFINITY && cpool_sized_create(&blocks, &config) == 0)
        return blocks;
    config.max_size = 0;
    config.thread_caches = CACHES_SHORT;
    config.class_bytes = CLASS_BYTES_SHORT;
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur / LIMIT_PART < CLASS_BYTES_SHORT)
        config.class_bytes = (size_t)limit.rlim_cur / LIMIT_PART;
    while (config.class_bytes >= CLASS_BYTES_LEAST && cpool_sized_create(&blocks, &config) != 0)
        config.class_bytes /= 4;
    return blocks;
}

/* NULL while another call makes them, and where there is no room for them. */
static cpool_sized_t *start(void)
{
    int saved = errno;
    cpool_sized_t *blocks;
    bool expected = false;

    if (!atomic_compare_exchange_strong_explicit(&begun, &expected, true, memory_order_relaxed,
                                                 memory_order_relaxed)) /* [begin] */
        return NULL;
    blocks = make();
    atomic_store_explicit(&made, blocks, memory_order_release); /* [ready] */
    errno = saved;
    return blocks;
}

static inline cpool_sized_t *get(void)
{
    cpool_sized_t *blocks = atomic_load_explicit(&made, memory_order_acquire); /* [serve] */

    return blocks != NULL ? blocks : start();
}

/* With CPOOL_MALLOC_PRINT in the environment the figures of the classes that were ever used are
 * printed. */
__attribute__((__destructor__)) static void print_figures(void)
{
    cpool_sized_class_t class = CPOOL_SIZED_CLASS_INIT;
    cpool_sized_stats_t sum = CPOOL_SIZED_STATS_INIT;
    cpool_stats_t stats = CPOOL_STATS_INIT;

    if (getenv("CPOOL_MALLOC_PRINT") == NULL || get() == NULL)
        return;
    fprintf(stderr, "%10s %12s %12s %14s %10s %10s\n", "bytes", "live", "circulating",
            "committed", "dry", "lent");
    for (; cpool_sized_class(get(), class.block_size + 1, &class) == 0;)
        if (class.pool != NULL && cpool_stats(class.pool, &stats) == 0 && stats.circulating > 0)
            fprintf(stderr, "%10zu %12zu %12zu %14zu %10" PRIu64 " %10" PRIu64 "\n",
                    class.block_size, stats.live, stats.circulating, stats.committed_bytes,
                    class.dry, class.lent);
    if (cpool_sized_stats(get(), &sum) == 0)
        fprintf(stderr, "%10s %12zu %12s %14zu\n", "fallback", sum.fallback_live, "",
                sum.fallback_bytes);
}

/* --- The family --- */

#pragma GCC visibility push(default)
void *pvalloc(size_t size); /* which no header of musl's declares */

/* NULL sets errno. */
static inline void *result(void *block)
{
    if (block == NULL)
        errno = ENOMEM;
    return block;
}

static bool is_power_of_two(size_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

static void *aligned(size_t align, size_t size)
{
    cpool_sized_t *blocks = get();

    if (blocks == NULL)
        return align <= ALIGN ? first_alloc(size) : NULL;
    return cpool_sized_alloc_aligned(blocks, size, align < ALIGN ? ALIGN : align);
}

void *malloc(size_t size)
{
    cpool_sized_t *blocks = get();

    if (blocks == NULL)
        return result(first_alloc(size));
    note_use(blocks, size);
    return result(cpool_sized_alloc(blocks, size));
}

/* Where there are no classes, all blocks lie in the first array. */
void free(void *block)
{
    int saved = errno;
    cpool_sized_t *blocks;

    if (block == NULL || is_first(block))
        return;
    blocks = get();
    if (blocks != NULL)
        cpool_sized_free(blocks, block);
    errno = saved;
}

void *calloc(size_t count, size_t size)
{
    cpool_sized_t *blocks = get();
    size_t bytes;
    void *block;

    if (__builtin_mul_overflow(count, size, &bytes))
        return result(NULL);
    if (blocks != NULL)
        note_use(blocks, bytes);
    last_is_zero = blocks == NULL; /* blocks of a class are as they were left */
    block = blocks != NULL ? cpool_sized_alloc(blocks, bytes) : first_alloc(bytes);
    if (block != NULL && !last_is_zero)
        memset(block, 0, bytes);
    return result(block);
}

void *realloc(void *block, size_t size)
{
    cpool_sized_t *blocks = get();
    void *moved;

    if (block != NULL && size == 0) {
        free(block);
        return NULL;
    }
    if (block == NULL)
        return malloc(size);
    if (!is_first(block) && blocks == NULL)
        return result(NULL);
    if (!is_first(block)) {
        note_use(blocks, size);
        return result(cpool_sized_realloc(blocks, block, size));
    }
    moved = malloc(size);
    if (moved != NULL)
        memcpy(moved, block, size < first_size(block) ? size : first_size(block));
    return moved;
}

void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        return result(NULL);
    return realloc(block, bytes);
}

void *memalign(size_t align, size_t size)
{
    size_t power = ALIGN;

    while (power < align && power <= SIZE_MAX / 4)
        power *= 2;
    return result(aligned(power, size));
}

void *aligned_alloc(size_t align, size_t size)
{
    if (!is_power_of_two(align)) {
        errno = EINVAL;
        return NULL;
    }
    return result(aligned(align, size));
}

int posix_memalign(void **block, size_t align, size_t size)
{
    int saved = errno;
    void *found;

    if (!is_power_of_two(align) || align % sizeof(void *) != 0)
        return EINVAL;
    found = aligned(align, size);
    errno = saved;
    if (found == NULL)
        return ENOMEM;
    *block = found;
    return 0;
}

void *valloc(size_t size)
{
    return result(aligned(whole_pages(1), size));
}

void *pvalloc(size_t size)
{
    size_t bytes = whole_pages(size > 0 ? size : 1);

    return result(bytes >= size ? aligned(whole_pages(1), bytes) : NULL);
}

/* The four words before a block of no class say what it is.  Before somebody else's mapping there
 * may be none. */
static bool has_bytes_before(const void *block)
{
    size_t page = whole_pages(1);
    unsigned char resident;

    return (uintptr_t)block % page >= 4 * sizeof(size_t) ||
           mincore((void *)(((uintptr_t)block & ~(page - 1)) - page), 1, &resident) == 0;
}

size_t malloc_usable_size(void *block)
{
    cpool_sized_t *blocks = get();

    if (block != NULL && is_first(block))
        return first_size(block);
    if (block == NULL || blocks == NULL ||
        (cpi_sized_number(blocks, block) >= blocks->classes && !has_bytes_before(block)))
        return 0;
    return cpool_sized_usable_size(blocks, block);
}

#pragma GCC visibility pop
