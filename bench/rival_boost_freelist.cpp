/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_boost_freelist.cpp - the free list beneath Boost.Lockfree's containers:
 * a Treiber stack with a 16-bit tag in the unused bits of the pointer.
 *
 * An internal class of Boost, but the one that people copy.  Its slot is a type,
 * so it takes part with slots of SLOT_SIZE bytes only.  The links lie in the
 * free slots and are read while another thread may be writing there: a data
 * race, so it is left out under ThreadSanitizer.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "rivals.h"

#if defined(__has_include)
#if __has_include(<boost/lockfree/detail/freelist.hpp>)
#define FOUND 1
#endif
#endif

#ifdef FOUND

#include <boost/lockfree/detail/freelist.hpp>
#include <boost/version.hpp>

#include <memory>
#include <new>

#define SLOT_SIZE 64

namespace {

/* Made and unmade at no cost, for any bytes. */
struct slot {
    slot() {}
    char bytes[SLOT_SIZE];
};

typedef boost::lockfree::detail::freelist_stack<slot, std::allocator<slot> > freelist;

} // namespace

static const char *rival_absent(void)
{
#ifdef BENCH_SANITIZER
    return "left out under " BENCH_SANITIZER;
#else
    return NULL;
#endif
}

static const char *rival_version(void)
{
    return "Boost " BOOST_LIB_VERSION;
}

static void *rival_create(const struct bench_cell *cell)
{
    return new (std::nothrow) freelist(std::allocator<slot>(), cell->capacity);
}

static void rival_destroy(void *pool)
{
    delete static_cast<freelist *>(pool);
}

static inline void *rival_alloc(void *handle)
{
    return static_cast<freelist *>(handle)->construct<true, true>();
}

static inline void *rival_calloc(void *handle, size_t size)
{
    return bench_clear(rival_alloc(handle), size);
}

static inline void rival_free(void *handle, void *memory)
{
    static_cast<freelist *>(handle)->destruct<true>(static_cast<slot *>(memory));
}

#include "workloads.h"

const struct bench_rival bench_rival_boost_freelist = {
    "boost-list", "Boost.Lockfree's freelist_stack, slots of 64 bytes only",
    BENCH_POOL | BENCH_EAGER, SLOT_SIZE, SLOT_SIZE,
    rival_absent, rival_version, rival_create, rival_destroy, NULL, NULL, rival_workloads, NULL
};

#else

BENCH_ABSENT(boost_freelist, "boost-list", "Boost.Lockfree's freelist_stack",
             "Boost was not installed when this was built")

#endif
