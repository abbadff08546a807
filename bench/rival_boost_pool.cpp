/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_boost_pool.cpp - Boost.Pool's fast_pool_allocator with its mutex: one
 * pool for the whole program and every type of the same size.
 *
 * Its slot is a type, so it takes part with slots of SLOT_SIZE bytes only.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "rivals.h"

#if defined(__has_include)
#if __has_include(<boost/pool/pool_alloc.hpp>)
#define FOUND 1
#endif
#endif

#ifdef FOUND

#include <boost/pool/pool_alloc.hpp>
#include <boost/version.hpp>

#include <mutex>

#define SLOT_SIZE 64

namespace {

struct slot {
    char bytes[SLOT_SIZE];
};

typedef boost::fast_pool_allocator<slot, boost::default_user_allocator_new_delete, std::mutex>
    allocator;

} // namespace

static const char *rival_version(void)
{
    return "Boost " BOOST_LIB_VERSION;
}

/* There is one pool, which makes itself.  This address stands for it. */
static void *rival_create(const struct bench_cell *cell)
{
    static char pool;

    (void)cell;
    return &pool;
}

static void rival_destroy(void *pool)
{
    (void)pool;
}

static inline void *rival_alloc(void *handle)
{
    (void)handle;
    return allocator::allocate();
}

static inline void *rival_calloc(void *handle, size_t size)
{
    return bench_clear(rival_alloc(handle), size);
}

static inline void rival_free(void *handle, void *memory)
{
    (void)handle;
    allocator::deallocate(static_cast<slot *>(memory));
}

#include "workloads.h"

const struct bench_rival bench_rival_boost_pool = {
    "boost-pool", "Boost.Pool's fast_pool_allocator with a mutex, slots of 64 bytes only",
    0, SLOT_SIZE, SLOT_SIZE,
    NULL, rival_version, rival_create, rival_destroy, NULL, NULL, rival_workloads, NULL
};

#else

BENCH_ABSENT(boost_pool, "boost-pool", "Boost.Pool's fast_pool_allocator",
             "Boost was not installed when this was built")

#endif
