/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * allocator.c - see allocator.h.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "allocator.h"

#include <stdlib.h>

static void *pool_take(struct allocator *self)
{
    return cpool_alloc(self->pool);
}

static void pool_give(struct allocator *self, void *node)
{
    cpool_free(self->pool, node);
}

static void *malloc_take(struct allocator *self)
{
    return malloc(self->node_size);
}

static void malloc_give(struct allocator *self, void *node)
{
    (void)self;
    free(node);
}

int allocator_init_config(struct allocator *self, const cpool_config_t *config)
{
    self->alloc = pool_take;
    self->free = pool_give;
    self->node_size = config->slot_size;
    return cpool_create(&self->pool, config);
}

void allocator_init_typed(struct allocator *self, size_t node_size, cpool_t *pool,
                          void *(*alloc)(struct allocator *self),
                          void (*free)(struct allocator *self, void *node))
{
    self->alloc = alloc;
    self->free = free;
    self->node_size = node_size;
    self->pool = pool;
}

void allocator_init_malloc(struct allocator *self, size_t node_size)
{
    self->alloc = malloc_take;
    self->free = malloc_give;
    self->node_size = node_size;
    self->pool = NULL;
}

size_t allocator_live(const struct allocator *self)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    if (self->pool == NULL || cpool_read_stats(self->pool, &stats) != 0)
        return 0;
    return stats.live;
}

void allocator_fini(struct allocator *self)
{
    cpool_destroy(self->pool);
    self->pool = NULL;
}
