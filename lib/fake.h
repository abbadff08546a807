/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake.h - blocks of malloc in the place of slots, for pools that exist to be compared
 * with, and to be looked into by tools that know malloc.
 *
 * Floor 3.  Includes slab.h.
 *
 *   slot of the slab    block of malloc
 *   | 0 |  <--------->  | ............ |     the caller has the block, and all that the
 *   | 1 |               (free)               pool itself counts and moves is the slot,
 *   | 2 |  <--------->  | ............ |     which is one byte of addresses
 *
 *   buckets             | 2 | - | 0 | ...    chains of live entries by the block's address
 *   side memory         | entry 0 | entry 1 | entry 2 | ...
 *
 * A block begins where malloc says, but for `lead` bytes that an offset may ask for, so that
 * tools see the bytes before it and behind it.
 *
 * In the child of a fork another thread may have vanished with a lock, or within a chain.
 * The child makes the locks and the chains anew out of the entries.
 */
#ifndef CPI_FAKE_H
#define CPI_FAKE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slab.h"

/* The most buckets, and the number of locks, of which each has every so many-th bucket. */
#define CPI_FAKE_BUCKETS_MAX ((size_t)1 << 20)
#define CPI_FAKE_LOCKS 64u

#define CPI_FAKE_NONE UINTPTR_MAX

struct cpi_fake_entry {
    _Atomic uintptr_t block; /* while the slot is live, else 0 */
    _Atomic uintptr_t was;   /* the last one */
    uint32_t next;           /* in the chain: an index and one, or 0.  The bucket's lock */
};

struct cpi_fake {
    const struct cpi_slab *slab;    /* constant */
    struct cpi_fake_entry *entries; /* constant: in the slab's side memory */
    size_t size;                    /* constant: bytes of a block */
    size_t align;                   /* constant: of block + offset, bytes */
    size_t lead;                    /* constant: bytes of malloc's before the block */
    size_t buckets;                 /* constant: a power of two */
    pthread_mutex_t locks[CPI_FAKE_LOCKS];
    uint32_t chains[]; /* an index and one, or 0, by the locks */
};

/* Bytes of a struct cpi_fake for so many slots, and of their buckets. */
size_t cpi_fake_size(size_t slots);

/* `fake` lies in memory of cpi_fake_size bytes that are zero.  Blocks have `size` bytes, and
 * block + offset is aligned.  The slab has its side memory. */
void cpi_fake_init(struct cpi_fake *fake, const struct cpi_slab *slab, size_t size, size_t align,
                   size_t offset);

/* Frees all live blocks.  No thread uses the pool. */
void cpi_fake_clear(struct cpi_fake *fake);

/* The end, after a clear. */
void cpi_fake_fini(struct cpi_fake *fake);

/* In the child of a fork. */
void cpi_fake_forked(struct cpi_fake *fake);

/* A block for a slot that the caller has.  NULL if malloc has none.  May block. */
void *cpi_fake_open(struct cpi_fake *fake, uintptr_t index);

/* Frees the block of a slot.  Returns false if it has none: of several threads one gets
 * true.  May block. */
bool cpi_fake_close(struct cpi_fake *fake, uintptr_t index);

/* The index of a live block, or CPI_FAKE_NONE for any other address, which is not looked
 * at.  May block. */
uintptr_t cpi_fake_index(struct cpi_fake *fake, const void *block);

/* The live block of a slot, or NULL.  Wait-free. */
void *cpi_fake_block(const struct cpi_fake *fake, uintptr_t index);

/* The block that a slot had last, live or not, or NULL.  Wait-free. */
void *cpi_fake_was(const struct cpi_fake *fake, uintptr_t index);

/* The slot with a block, live or the last one, that an address lies in, or CPI_FAKE_NONE.
 * Looks at all slots handed out so far.  Wait-free. */
uintptr_t cpi_fake_around(const struct cpi_fake *fake, const void *address);

#endif /* CPI_FAKE_H */
