/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake.c - blocks of malloc in the place of slots.
 *
 * ORDERING TABLE
 *   block | block load and store, was load and store | relaxed | - | -
 *
 * A chain belongs to the lock of its bucket.  The block in an entry changes hands along
 * with the slot.  A thread that reads the entry without that is one that resolves a handle
 * or looks for an address, and compares afterwards.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "fake.h"

#include <stdlib.h>

#include "atomic.h"
#include "bits.h"

static size_t buckets_for(size_t slots)
{
    size_t buckets = CPI_FAKE_LOCKS;

    while (buckets < slots && buckets < CPI_FAKE_BUCKETS_MAX)
        buckets *= 2;
    return buckets;
}

size_t cpi_fake_size(size_t slots)
{
    return sizeof(struct cpi_fake) + buckets_for(slots) * sizeof(uint32_t);
}

static void make_locks(struct cpi_fake *fake)
{
    unsigned i;

    for (i = 0; i < CPI_FAKE_LOCKS; i++)
        fake->locks[i] = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

void cpi_fake_init(struct cpi_fake *fake, const struct cpi_slab *slab, size_t size, size_t align,
                   size_t offset)
{
    fake->slab = slab;
    fake->entries = (struct cpi_fake_entry *)(void *)slab->sides[CPI_SIDE_BLOCKS].extent.base;
    fake->size = size;
    fake->align = align;
    fake->lead = (align - offset % align) % align;
    fake->buckets = buckets_for(slab->slots);
    make_locks(fake);
}

void cpi_fake_fini(struct cpi_fake *fake)
{
    unsigned i;

    for (i = 0; i < CPI_FAKE_LOCKS; i++)
        pthread_mutex_destroy(&fake->locks[i]);
}

/* --- Chains --- */

/* Blocks differ in middle bits most of all. */
static size_t bucket_of(const struct cpi_fake *fake, uintptr_t block)
{
    uint64_t mixed = (uint64_t)block * UINT64_C(0x9e3779b97f4a7c15);

    return (size_t)(mixed >> 40) & (fake->buckets - 1);
}

static pthread_mutex_t *lock_of(struct cpi_fake *fake, size_t bucket)
{
    return &fake->locks[bucket % CPI_FAKE_LOCKS];
}

static uintptr_t block_at(const struct cpi_fake *fake, uintptr_t index)
{
    return cpi_load(&fake->entries[index].block, relaxed); /* [block] */
}

/* With the bucket's lock held. */
static void link_entry(struct cpi_fake *fake, size_t bucket, uintptr_t index)
{
    fake->entries[index].next = fake->chains[bucket];
    fake->chains[bucket] = (uint32_t)(index + 1);
}

/* The link that leads to this block's entry, or to the end of the chain.  With the bucket's
 * lock held. */
static uint32_t *find_link(struct cpi_fake *fake, size_t bucket, uintptr_t block)
{
    uint32_t *link = &fake->chains[bucket];

    while (*link != 0 && block_at(fake, *link - 1) != block)
        link = &fake->entries[*link - 1].next;
    return link;
}

void cpi_fake_forked(struct cpi_fake *fake)
{
    uintptr_t fresh = cpi_slab_fresh(fake->slab);
    uintptr_t index;
    size_t bucket;

    make_locks(fake);
    for (bucket = 0; bucket < fake->buckets; bucket++)
        fake->chains[bucket] = 0;
    for (index = 0; index < fresh; index++)
        if (block_at(fake, index) != 0)
            link_entry(fake, bucket_of(fake, block_at(fake, index)), index);
}

/* --- Blocks --- */

/* Exactly as many bytes as are needed, so that a tool sees the first one beyond. */
static char *allocate(const struct cpi_fake *fake)
{
    void *memory = NULL;
    size_t size;

    if (!cpi_add(fake->lead, fake->size, &size))
        return NULL;
    if (fake->align <= cpi_lowest_bit(size) && fake->align <= _Alignof(max_align_t))
        return malloc(size);
    if (posix_memalign(&memory, fake->align < sizeof(void *) ? sizeof(void *) : fake->align, size))
        return NULL;
    return memory;
}

void *cpi_fake_open(struct cpi_fake *fake, uintptr_t index)
{
    char *memory = allocate(fake);
    uintptr_t block;
    size_t bucket;

    if (memory == NULL)
        return NULL;
    block = (uintptr_t)memory + fake->lead;
    bucket = bucket_of(fake, block);
    pthread_mutex_lock(lock_of(fake, bucket));
    cpi_store(&fake->entries[index].block, block, relaxed); /* [block] */
    cpi_store(&fake->entries[index].was, block, relaxed);   /* [block] */
    link_entry(fake, bucket, index);
    pthread_mutex_unlock(lock_of(fake, bucket));
    return (void *)block;
}

bool cpi_fake_close(struct cpi_fake *fake, uintptr_t index)
{
    uintptr_t block = block_at(fake, index);
    size_t bucket = bucket_of(fake, block);
    uint32_t *link;
    bool found;

    if (block == 0)
        return false;
    pthread_mutex_lock(lock_of(fake, bucket));
    link = find_link(fake, bucket, block);
    found = *link == index + 1;
    if (found) {
        *link = fake->entries[index].next;
        cpi_store(&fake->entries[index].block, (uintptr_t)0, relaxed); /* [block] */
    }
    pthread_mutex_unlock(lock_of(fake, bucket));
    if (found)
        free((char *)block - fake->lead);
    return found;
}

void cpi_fake_clear(struct cpi_fake *fake)
{
    uintptr_t fresh = cpi_slab_fresh(fake->slab);
    uintptr_t index;

    for (index = 0; index < fresh; index++)
        (void)cpi_fake_close(fake, index);
}

uintptr_t cpi_fake_index(struct cpi_fake *fake, const void *block)
{
    size_t bucket = bucket_of(fake, (uintptr_t)block);
    uint32_t found;

    if (block == NULL)
        return CPI_FAKE_NONE;
    pthread_mutex_lock(lock_of(fake, bucket));
    found = *find_link(fake, bucket, (uintptr_t)block);
    pthread_mutex_unlock(lock_of(fake, bucket));
    return found != 0 ? found - 1 : CPI_FAKE_NONE;
}

void *cpi_fake_block(const struct cpi_fake *fake, uintptr_t index)
{
    return index < cpi_slab_fresh(fake->slab) ? (void *)block_at(fake, index) : NULL;
}

void *cpi_fake_was(const struct cpi_fake *fake, uintptr_t index)
{
    if (index >= cpi_slab_fresh(fake->slab))
        return NULL;
    return (void *)cpi_load(&fake->entries[index].was, relaxed); /* [block] */
}

/* Live blocks first: malloc may have given one of them the addresses of one that was. */
uintptr_t cpi_fake_around(const struct cpi_fake *fake, const void *address)
{
    uintptr_t fresh = cpi_slab_fresh(fake->slab);
    uintptr_t was = CPI_FAKE_NONE;
    uintptr_t index;

    for (index = 0; index < fresh; index++) {
        uintptr_t block = (uintptr_t)cpi_fake_was(fake, index);

        if (block == 0 || (uintptr_t)address - block >= fake->size)
            continue;
        if (block_at(fake, index) == block)
            return index;
        was = index;
    }
    return was;
}
