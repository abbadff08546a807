/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * allocator.h - where the nodes of the job system come from: a pool, or malloc.
 *
 * The one interface through which jobs and result nodes are taken and given
 * back, so that the same run can be made with both and compared.  An allocator
 * serves nodes of one size.  A program has one for each kind of node.
 *
 * Includes <cpool.h>.
 */
#ifndef JOBS_ALLOCATOR_H
#define JOBS_ALLOCATOR_H

#include <stddef.h>

#include <cpool.h>

struct allocator {
    /* Takes a node: node_size bytes of any content, or NULL if there is none.  Gives one
     * back, from any thread.  Both from any thread. */
    void *(*alloc)(struct allocator *self);
    void (*free)(struct allocator *self, void *node);

    size_t node_size; /* bytes; constant */
    cpool_t *pool;    /* NULL when malloc serves; constant */
};

/* Makes an allocator on a pool that is configured in all its details.  Returns 0 or a
 * CPOOL_E... */
int allocator_init_config(struct allocator *self, const cpool_config_t *config);

/* Makes an allocator on a typed pool: see pools.c. */
void allocator_init_typed(struct allocator *self, size_t node_size, cpool_t *pool,
                          void *(*alloc)(struct allocator *self),
                          void (*free)(struct allocator *self, void *node));

/* Makes an allocator on malloc and free. */
void allocator_init_malloc(struct allocator *self, size_t node_size);

/* Nodes that are in use now.  For malloc, which cannot tell, 0. */
size_t allocator_live(const struct allocator *self);

/* Destroys the pool, if it has one. */
void allocator_fini(struct allocator *self);

#endif /* JOBS_ALLOCATOR_H */
