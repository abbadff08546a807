/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_gslice.c - GLib's slice allocator: g_slice_alloc and g_slice_free1.
 *
 * Looked up when the program runs, so nothing is needed to build it.  Since
 * GLib 2.76 slices are malloc under another name.  The version tells.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <stdio.h>
#include <string.h>

#define RIVAL_HAS_HANDLES
#include "bench.h"

#define LIBRARY "libglib-2.0.so.0"

static void *(*slice_alloc)(size_t size);
static void *(*slice_alloc0)(size_t size);
static void (*slice_free1)(size_t size, void *memory);

static const char *rival_absent(void)
{
    slice_alloc = (void *(*)(size_t))bench_symbol(LIBRARY, "g_slice_alloc");
    slice_alloc0 = (void *(*)(size_t))bench_symbol(LIBRARY, "g_slice_alloc0");
    slice_free1 = (void (*)(size_t, void *))bench_symbol(LIBRARY, "g_slice_free1");
    if (slice_alloc == NULL || slice_alloc0 == NULL || slice_free1 == NULL)
        return LIBRARY " is not installed";
    return NULL;
}

static const char *rival_version(void)
{
    static char text[32];
    unsigned number[2] = { 0, 0 };
    bench_function minor = bench_symbol(LIBRARY, "glib_minor_version");
    bench_function micro = bench_symbol(LIBRARY, "glib_micro_version");
    const unsigned *address;

    memcpy(&address, &minor, sizeof address);
    number[0] = minor != NULL ? *address : 0;
    memcpy(&address, &micro, sizeof address);
    number[1] = micro != NULL ? *address : 0;
    snprintf(text, sizeof text, "GLib 2.%u.%u", number[0], number[1]);
    return text;
}

/* The handle is the size, as in rival_malloc.c. */
static void *rival_create(const struct bench_cell *cell)
{
    return (void *)(uintptr_t)cell->slot_size;
}

static void rival_destroy(void *pool)
{
    (void)pool;
}

static inline void *rival_alloc(void *handle)
{
    return slice_alloc((size_t)(uintptr_t)handle);
}

static inline void *rival_calloc(void *handle, size_t size)
{
    (void)handle;
    return slice_alloc0(size);
}

static inline void rival_free(void *handle, void *slot)
{
    slice_free1((size_t)(uintptr_t)handle, slot);
}

#include "workloads.h"

const struct bench_rival bench_rival_gslice = {
    "gslice", "GLib's g_slice_alloc and g_slice_free1",
    0, 8, SIZE_MAX,
    rival_absent, rival_version, rival_create, rival_destroy, NULL, NULL,
    rival_workloads, NULL
};
