/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_fake.c - the memory of fake pools' objects.
 *
 *   from malloc   | padding | pool, index, proof | object ...
 *
 * ORDERING TABLE
 *   block | block load and store | relaxed | - | -
 *   pools | fake_pools fetch-and-add, load | relaxed | - | -
 *
 * The record of an object orders what lies in its block.
 */
#include "object/object.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "host/os.h"

/* Lies before an object. */
struct front {
    cpool_objects_t *pool;
    uintptr_t index;
    uintptr_t proof; /* made of the address, so that other memory hardly has it */
};

#define CPI_PROOF ((uintptr_t)0x6f626a65)

static _Atomic size_t fake_pools; /* of this process, now */

static size_t lead_of(const cpool_objects_t *pool)
{
    return cpi_align_up(sizeof(struct front), pool->align);
}

bool cpi_object_fake_open(cpool_objects_t *pool, uintptr_t index)
{
    size_t lead = lead_of(pool);
    struct front *front;
    size_t size;
    char *memory;

    if (!cpi_add(lead, pool->type.object_size, &size) ||
        !cpi_align_up_checked(size, pool->align, &size))
        return false;
    memory = cpi_os_block(pool->align, size);
    if (memory == NULL)
        return false;
    front = (struct front *)(void *)(memory + lead) - 1;
    front->pool = pool;
    front->index = index;
    front->proof = (uintptr_t)(memory + lead) ^ CPI_PROOF;
    cpi_store(&pool->blocks[index], memory + lead, relaxed); /* [block] */
    return true;
}

void cpi_object_fake_close(cpool_objects_t *pool, uintptr_t index)
{
    char *object = cpi_load(&pool->blocks[index], relaxed); /* [block] */

    if (object == NULL)
        return;
    cpi_store(&pool->blocks[index], NULL, relaxed); /* [block] */
    ((struct front *)(void *)object - 1)->proof = 0;
    cpi_os_free_block(object - lead_of(pool));
}

uintptr_t cpi_object_fake_index(const cpool_objects_t *pool, const void *object)
{
    const struct front *front = (const struct front *)object - 1;

    if (front->proof != ((uintptr_t)object ^ CPI_PROOF) || front->pool != pool ||
        front->index >= pool->max ||
        cpi_load(&pool->blocks[front->index], relaxed) != object) /* [block] */
        return CPI_OBJECT_NONE;
    return front->index;
}

void cpi_object_fake_count(size_t by)
{
    cpi_fetch_add(&fake_pools, by, relaxed); /* [pools] */
}

cpool_objects_t *cpi_object_fake_pool(const void *object)
{
    const struct front *front = (const struct front *)object - 1;

    if (cpi_load(&fake_pools, relaxed) == 0 || /* [pools] */
        (uintptr_t)object % sizeof(void *) != 0)
        return NULL;
    return front->proof == ((uintptr_t)object ^ CPI_PROOF) ? front->pool : NULL;
}
