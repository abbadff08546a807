/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * malloc.c - malloc and its family over <cpool/sized.h>, for LD_PRELOAD.
 *
 * Its purpose is proof: whole programs run on pools.  It has the library inside, and asks it for
 * classes by sized_impl.h.
 *
 * Start.  The classes are made by the first call of all.  Making them may call malloc
 * again, because the C library allocates for handlers of fork and of exit.  Another
 * thread may call it meanwhile.  Such calls are served from a small array, and blocks from
 * there are never used again.
 *
 * ORDERING TABLE
 *   begin  | begun CAS   | relaxed | - | one thread makes the classes
 *   ready  | made store  | release | serve | all of the allocator
 *   serve  | made load   | acquire | ready | all of the allocator
 *   bump   | first_used load, CAS | relaxed | - | no more than an offset
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cpool/sized.h>
#include <cpool/print.h>

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

/* --- Blocks above the largest class: each is a mapping, whose bytes are zero at first --- */

static size_t whole_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes + page - 1) & ~(page - 1);
}

/* Maps as much more as the alignment may take, and unmaps what is not needed. */
static void *map_block(size_t bytes, size_t align, void *arg)
{
    size_t page = whole_pages(1);
    size_t size = whole_pages(bytes);
    size_t more = align > page ? align - page : 0;
    char *start = MAP_FAILED;
    size_t before;

    (void)arg;
    if (size <= PTRDIFF_MAX - more)
        start = mmap(NULL, size + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    before = (size_t)(-(uintptr_t)start & (align - 1));
    if (before > 0)
        munmap(start, before);
    if (before < more)
        munmap(start + before + size, more - before);
    return start + before;
}

static void unmap_block(void *block, size_t bytes, size_t align, void *arg)
{
    (void)align;
    (void)arg;
    munmap(block, whole_pages(bytes));
}

/* Aligned to a page alone where it moves: realloc promises no more.  Where the program's madvise,
 * mprotect or mlock of a part has made several mappings of the block, it cannot grow as one. */
static void *remap_block(void *block, size_t bytes, size_t align, size_t wanted, void *arg)
{
    void *moved = mremap(block, whole_pages(bytes), whole_pages(wanted), MREMAP_MAYMOVE);

    if (moved != MAP_FAILED)
        return moved;
    moved = map_block(wanted, align, arg);
    if (moved != NULL) {
        memcpy(moved, block, bytes < wanted ? bytes : wanted);
        unmap_block(block, bytes, align, arg);
    }
    return moved;
}

/* --- Start and end --- */

static cpool_sized_t *choose_blocks(void)
{
    cpool_sized_fallback_t maps = {sizeof maps, NULL, map_block, unmap_block, remap_block};
    cpool_sized_config_t config = CPOOL_SIZED_CONFIG_INIT;
    struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
    cpool_sized_t *blocks = NULL;

    config.name = "malloc";
    config.max_size = CPOOL_SIZED_MAX;
    config.class_bytes = CLASS_BYTES;
    config.fallback = &maps;
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
static cpool_sized_t *start_blocks(void)
{
    int saved = errno;
    cpool_sized_t *blocks;
    bool expected = false;

    if (!atomic_compare_exchange_strong_explicit(&begun, &expected, true, memory_order_relaxed,
                                                 memory_order_relaxed)) /* [begin] */
        return NULL;
    blocks = choose_blocks();
    atomic_store_explicit(&made, blocks, memory_order_release); /* [ready] */
    errno = saved;
    return blocks;
}

static inline cpool_sized_t *get_blocks(void)
{
    cpool_sized_t *blocks = atomic_load_explicit(&made, memory_order_acquire); /* [serve] */

    return blocks != NULL ? blocks : start_blocks();
}

/* With CPOOL_MALLOC_PRINT in the environment the figures are printed. */
__attribute__((__destructor__)) static void print_figures(void)
{
    if (getenv("CPOOL_MALLOC_PRINT") != NULL && get_blocks() != NULL)
        (void)cpool_print(NULL, CPOOL_DUMP_TEXT, stderr);
}

/* --- The family --- */

#pragma GCC visibility push(default)
/* No header of musl's declares these. */
void *pvalloc(size_t size);
int malloc_trim(size_t pad);

/* NULL sets errno. */
static inline void *or_enomem(void *block)
{
    if (block == NULL)
        errno = ENOMEM;
    return block;
}

static bool is_power_of_two(size_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

static void *alloc_aligned(size_t align, size_t size)
{
    cpool_sized_t *blocks = get_blocks();

    if (blocks == NULL)
        return align <= ALIGN ? first_alloc(size) : NULL;
    return cpool_sized_alloc_aligned(blocks, size, align < ALIGN ? ALIGN : align);
}

void *malloc(size_t size)
{
    cpool_sized_t *blocks = get_blocks();

    if (blocks == NULL)
        return or_enomem(first_alloc(size));
    return or_enomem(cpool_sized_alloc(blocks, size));
}

/* Where there are no classes, all blocks lie in the first array. */
void free(void *block)
{
    int saved = errno;
    cpool_sized_t *blocks;

    if (block == NULL || is_first(block))
        return;
    blocks = get_blocks();
    if (blocks != NULL)
        cpool_sized_free(blocks, block);
    errno = saved;
}

void *calloc(size_t count, size_t size)
{
    cpool_sized_t *blocks = get_blocks();
    size_t bytes;
    void *block;

    if (__builtin_mul_overflow(count, size, &bytes))
        return or_enomem(NULL);
    block = blocks != NULL ? cpool_sized_alloc(blocks, bytes) : first_alloc(bytes);
    /* A class's block is as it was left. */
    if (block != NULL && blocks != NULL && cpi_sized_number(blocks, block) < blocks->classes)
        memset(block, 0, bytes);
    return or_enomem(block);
}

void *realloc(void *block, size_t size)
{
    cpool_sized_t *blocks = get_blocks();
    void *moved;

    if (block != NULL && size == 0) {
        free(block);
        return NULL;
    }
    if (block == NULL)
        return malloc(size);
    if (!is_first(block) && blocks == NULL)
        return or_enomem(NULL);
    if (!is_first(block))
        return or_enomem(cpool_sized_realloc(blocks, block, size));
    moved = malloc(size);
    if (moved != NULL)
        memcpy(moved, block, size < first_size(block) ? size : first_size(block));
    return moved;
}

void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        return or_enomem(NULL);
    return realloc(block, bytes);
}

void *memalign(size_t align, size_t size)
{
    size_t power = ALIGN;

    while (power < align && power <= SIZE_MAX / 4)
        power *= 2;
    return or_enomem(alloc_aligned(power, size));
}

void *aligned_alloc(size_t align, size_t size)
{
    if (!is_power_of_two(align)) {
        errno = EINVAL;
        return NULL;
    }
    return or_enomem(alloc_aligned(align, size));
}

int posix_memalign(void **block, size_t align, size_t size)
{
    int saved = errno;
    void *found;

    if (!is_power_of_two(align) || align % sizeof(void *) != 0)
        return EINVAL;
    found = alloc_aligned(align, size);
    errno = saved;
    if (found == NULL)
        return ENOMEM;
    *block = found;
    return 0;
}

void *valloc(size_t size)
{
    return or_enomem(alloc_aligned(whole_pages(1), size));
}

void *pvalloc(size_t size)
{
    size_t bytes = whole_pages(size > 0 ? size : 1);

    return or_enomem(bytes >= size ? alloc_aligned(whole_pages(1), bytes) : NULL);
}

size_t malloc_usable_size(void *block)
{
    cpool_sized_t *blocks = get_blocks();

    if (block != NULL && is_first(block))
        return first_size(block);
    return blocks != NULL ? cpool_sized_usable_size(blocks, block) : 0;
}

/* Classes keep the memory of free blocks until they are asked. */
int malloc_trim(size_t pad)
{
    cpool_sized_t *blocks = get_blocks();

    (void)pad;
    return blocks != NULL && cpool_sized_trim(blocks) > 0;
}

#pragma GCC visibility pop
