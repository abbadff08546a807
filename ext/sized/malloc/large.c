/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * large.c - blocks above the largest class: pieces of one range of reserved addresses.
 *
 *   base                          top                          base + RANGE
 *   | live | free | live | free | | reserved, nothing behind it |
 *
 * A range that is reserved at the start serves also a program that lowers its limit of address
 * space later, which refuses every new map.  Freed pieces stay usable, so that a program that frees
 * and allocates large blocks in turn has their pages again.  At most KEPT_BYTES, or half of what
 * is live, stay so.  Where there is no range, and once it is full, each block is a map of its own.
 *
 * Invariants, with the lock held: free pieces ascend by address, and no two of them touch.  Pages
 * of a piece that is not dirty are zero.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "large.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* Bytes of the range. */
#define RANGE ((size_t)1 << (sizeof(size_t) > 4 ? 40 : 0))

/* Bytes of free pages that are kept in any case: as much as libc keeps at most. */
#define KEPT_BYTES ((size_t)64 * 1024 * 1024)

/* Free pieces.  Addresses of further ones are not used again. */
#define PIECES_MAX 4096

struct piece {
    char *start;
    size_t size;  /* bytes */
    size_t dirty; /* of them, bytes that may be resident and not zero */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *base;  /* constant: NULL without a range */
static char *top;   /* where usable pages end */
static size_t live; /* bytes of blocks */
static size_t kept; /* dirty bytes of all pieces */
static struct piece pieces[PIECES_MAX];
static size_t count;

/* --- Maps of their own --- */

static void *map(size_t size, int protection)
{
    void *block = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return block != MAP_FAILED ? block : NULL;
}

static void *map_aligned(size_t size, size_t align)
{
    char *block = size <= SIZE_MAX - align ? map(size + align, PROT_READ | PROT_WRITE) : NULL;
    size_t before;

    if (block == NULL)
        return NULL;
    before = (size_t)(-(uintptr_t)block & (align - 1));
    if (before > 0)
        munmap(block, before);
    munmap(block + before + size, align - before);
    return block + before;
}

static bool in_range(const void *block)
{
    return base != NULL && (uintptr_t)block - (uintptr_t)base < RANGE;
}

/* --- Free pieces, with the lock held --- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static struct piece remove_piece(size_t i)
{
    struct piece piece = pieces[i];

    kept -= piece.dirty;
    count--;
    memmove(&pieces[i], &pieces[i + 1], (count - i) * sizeof pieces[0]);
    return piece;
}

/* The first piece that ends at this address or above it. */
static size_t piece_at(const char *address)
{
    size_t i = 0;

    while (i < count && pieces[i].start + pieces[i].size < address)
        i++;
    return i;
}

/* One piece more, joined with those that it touches. */
static void add_piece(char *start, size_t size, size_t dirty)
{
    struct piece new = {start, size, dirty};
    size_t i = piece_at(start);

    if (size == 0)
        return;
    while (i < count && pieces[i].start <= start + size) {
        struct piece near = remove_piece(i);

        new.start = near.start < new.start ? near.start : new.start;
        new.size += near.size;
        new.dirty += near.dirty;
    }
    if (count < PIECES_MAX) {
        memmove(&pieces[i + 1], &pieces[i], (count++ - i) * sizeof pieces[0]);
        pieces[i] = new;
        kept += new.dirty;
    } else {
        madvise(new.start, new.size, MADV_DONTNEED);
    }
}

/* Gives the pages of the dirtiest pieces back until few enough are kept. */
static void purge(void)
{
    while (kept > (live / 2 > KEPT_BYTES ? live / 2 : KEPT_BYTES)) {
        size_t worst = 0;

        for (size_t i = 1; i < count; i++)
            if (pieces[i].dirty > pieces[worst].dirty)
                worst = i;
        if (madvise(pieces[worst].start, pieces[worst].size, MADV_DONTNEED) != 0)
            return; /* locked pages */
        kept -= pieces[worst].dirty;
        pieces[worst].dirty = 0;
    }
}

/* Takes the bytes from `start` on out of a piece that holds them.  Any of its pages may be the
 * dirty ones. */
static void cut_piece(size_t i, char *start, size_t size)
{
    struct piece piece = remove_piece(i);
    size_t before = (size_t)(start - piece.start);
    size_t after = piece.size - before - size;

    add_piece(piece.start, before, least(before, piece.dirty));
    add_piece(start + size, after, least(after, piece.dirty));
}

/* Makes addresses above the top usable.  They begin at the top, or, aligned, above it. */
static char *raise_top(size_t size, size_t align)
{
    size_t before = (size_t)(-(uintptr_t)top & (align - 1));
    size_t left = RANGE - (size_t)(top - base);
    char *start = top + before;

    if (before > left || size > left - before ||
        mprotect(top, before + size, PROT_READ | PROT_WRITE) != 0)
        return NULL;
    add_piece(top, before, 0);
    top = start + size;
    return start;
}

/* Takes an aligned block out of the smallest piece that holds one. */
static char *take(size_t size, size_t align, bool *zero)
{
    size_t best = count;
    char *start;

    for (size_t i = 0; i < count; i++) {
        size_t before = (size_t)(-(uintptr_t)pieces[i].start & (align - 1));

        if (pieces[i].size >= before && pieces[i].size - before >= size &&
            (best == count || pieces[i].size < pieces[best].size))
            best = i;
    }
    *zero = best == count || pieces[best].dirty == 0;
    if (best == count)
        return raise_top(size, align);
    start = pieces[best].start;
    start += -(uintptr_t)start & (align - 1);
    cut_piece(best, start, size);
    return start;
}

/* Takes the addresses behind a block. */
static bool take_behind(char *end, size_t more)
{
    size_t i = piece_at(end + 1);

    if (end == top)
        return raise_top(more, 1) != NULL;
    if (i == count || pieces[i].start != end || pieces[i].size < more)
        return false;
    cut_piece(i, end, more);
    return true;
}

/* --- Blocks --- */

static void lock_pieces(void)
{
    pthread_mutex_lock(&lock);
}

static void unlock_pieces(void)
{
    pthread_mutex_unlock(&lock);
}

void large_begin(void)
{
    struct rlimit limit;

    if (RANGE == 1 || getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY ||
        pthread_atfork(lock_pieces, unlock_pieces, unlock_pieces) != 0)
        return;
    top = map(RANGE, PROT_NONE);
    base = top;
}

void *large_alloc(size_t size, size_t align, bool *zero)
{
    char *block = NULL;

    if (base != NULL) {
        lock_pieces();
        block = take(size, align, zero);
        live += block != NULL ? size : 0;
        unlock_pieces();
    }
    if (block != NULL)
        return block;
    *zero = true;
    return map_aligned(size, align);
}

void large_free(void *block, size_t size)
{
    if (!in_range(block)) {
        munmap(block, size);
        return;
    }
    lock_pieces();
    live -= size;
    add_piece(block, size, size);
    purge();
    unlock_pieces();
}

static bool resize_in_place(char *block, size_t size, size_t wanted)
{
    bool done = true;

    if (!in_range(block))
        return false;
    lock_pieces();
    if (wanted < size)
        add_piece(block + wanted, size - wanted, size - wanted);
    else if (wanted > size)
        done = take_behind(block + size, wanted - size);
    if (done)
        live += wanted - size;
    purge();
    unlock_pieces();
    return done;
}

void *large_resize(void *block, size_t size, size_t wanted, size_t align)
{
    bool zero;
    void *moved;

    if (resize_in_place(block, size, wanted))
        return block;
    moved = large_alloc(wanted, align, &zero);
    if (moved != NULL) {
        memcpy(moved, block, least(size, wanted));
        large_free(block, size);
    }
    return moved;
}
