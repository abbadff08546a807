/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_typed_object.c - libcpool by a typed object pool: things_get().
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#define RIVAL_HAS_HANDLES
#define RIVAL_MAKES_POOLS
#include "rival_cpool.h"

#include <cpool/object.h>

struct thing {
    uint64_t words[8];
};

CPOOL_OBJECTS_DECLARE(things, struct thing);
CPOOL_OBJECTS_DEFINE(things, struct thing, CPOOL_OBJECT_HOOKS(.arg = NULL), .capacity = 1);

#define RIVAL_ID bench_rival_cpool_typed_object
#define RIVAL_NAME "cpool-typed-object"
#define RIVAL_SUMMARY "libcpool by a typed object pool: things_get()"
#define RIVAL_TRAITS (BENCH_OURS | BENCH_MODE)
#define RIVAL_SMALLEST sizeof(struct thing)
#define RIVAL_LARGEST sizeof(struct thing)

/* The one pool of the type, opened as the cell says. */
static int objects_make(cpool_objects_t **pool, const cpool_objects_config_t *config)
{
    int code = things_open(config);

    *pool = code == CPOOL_OK ? things_objects() : NULL;
    return code;
}

static void objects_unmake(cpool_objects_t *pool)
{
    (void)pool;
    things_close();
}

static inline void *rival_alloc(void *handle)
{
    (void)handle;
    return things_get();
}

static inline void rival_free(void *handle, void *slot)
{
    (void)handle;
    things_put((struct thing *)slot);
}

#include "rival_cpool_object.h"
